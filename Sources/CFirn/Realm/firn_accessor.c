#include "firn_accessor.h"

#include <string.h>

__thread uintptr_t firn_accessor_state;

__attribute__((noinline)) uintptr_t firn_set_accessor_state(uintptr_t state) {
    uintptr_t before = firn_accessor_state;
    firn_accessor_state = state;
    return before;
}

// Swift's runtime. Swift code must not name these functions.
struct extents {
    size_t negative;
    size_t positive;
};
extern void *swift_allocObject(const void *metadata, size_t byte_count, size_t alignment_mask);
extern void *swift_tryRetain(void *object);
extern __attribute__((swiftcall)) struct extents _swift_getSwiftClassInstanceExtents(const void *metadata);

size_t firn_instance_byte_count(const void *metadata) { return _swift_getSwiftClassInstanceExtents(metadata).positive; }

void *firn_copy_instance(const void *metadata, size_t byte_count, const void *bytes) {
    char *instance = swift_allocObject(metadata, byte_count, 15);
    memcpy(
        instance + FIRN_INSTANCE_HEADER, (const char *)bytes + FIRN_INSTANCE_HEADER,
        byte_count - FIRN_INSTANCE_HEADER);
    return instance;
}

bool firn_try_retain(void *instance) { return swift_tryRetain(instance) != NULL; }
