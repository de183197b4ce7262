#ifndef FIRN_ACCESSOR_H
#define FIRN_ACCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firn_layout.h"
#include "firn_system.h"

// The kind of object that this thread is making:
//   0                      no accessor; objects get their initial values.
//   FIRN_MAKING_ACCESSOR   the accessor of a managed object. Its initial values are not computed, as nobody would read
//                          them. The initialisers of @Persisted check this, inlined into the application's module.
//   FIRN_MAKING_SAMPLE     the first instance of a class, with its initial values.
//   another number         the address of the first object that was made since one of these two was set. It tells the
//                          caller whether that was the requested object, or another one that the object's initialiser
//                          made.
extern __thread uintptr_t firn_accessor_state;

enum { FIRN_MAKING_ACCESSOR = 1, FIRN_MAKING_SAMPLE = 2 };

static inline __attribute__((always_inline, pure)) bool firn_is_making_accessor(void) {
    return firn_accessor_state == FIRN_MAKING_ACCESSOR;
}

// Whether the next object that is made must record its address.
static inline __attribute__((always_inline, pure)) bool firn_is_awaiting_object(void) {
    return firn_accessor_state - 1 < FIRN_MAKING_SAMPLE;
}

// Sets the state and returns the old one. Not inlined, because the compiler must not move it past the object's
// initialiser.
uintptr_t firn_set_accessor_state(uintptr_t state);

// The chunk in which an accessor may write a cell in place. NULL if it may not, which has one of these reasons: its row
// is not up to date; its realm may not be used on the calling thread; a write concerns more than the cell (the column
// is negative); the chunk does not have the stamp of the running transaction. Outside a transaction no chunk has that
// stamp.
//
// This is C, because the compiler inlines a setter into the application's code only if it consists of few steps, and
// counts this function as one step. It is `pure` for the same reason as `firn_thread_id`.
static inline __attribute__((always_inline, pure)) void *_Nullable firn_writable_chunk(
    const firn_realm_core_t *_Nonnull core, const void *_Nonnull leaf, uint64_t generation, int32_t column) {
    if (column < 0 || core->generation != generation || ((core->thread ^ firn_thread_id()) & core->mask) != 0)
        return NULL;
    uint64_t chunk = *(const uint64_t *)((const char *)leaf + FIRN_LEAF_CHUNKS + (size_t)column * FIRN_REF_BYTES);
    // A tagged reference leads to a checkpoint, which is never written.
    if ((chunk & 1) != 0 || *(const uint64_t *)(uintptr_t)chunk != core->stamp) return NULL;
    return (void *)(uintptr_t)chunk;
}

// The bytes before the properties of each instance of a Swift class: the class and the reference counts.
enum { FIRN_INSTANCE_HEADER = 16 };

// The size of an instance of a Swift class in bytes, header included.
size_t firn_instance_byte_count(const void *_Nonnull metadata);

// Makes an instance of a Swift class with one reference to it. Everything behind its header is copied from `bytes`,
// another instance, which must hold no reference there. No initialiser is called.
void *_Nonnull firn_copy_instance(const void *_Nonnull metadata, size_t byte_count, const void *_Nonnull bytes);

// The reference counts of an instance, in one word. The word of a new instance says that there is one strong reference,
// and no weak or unowned one. No other state has the same word.
static inline __attribute__((always_inline)) uint64_t firn_reference_counts(const void *_Nonnull instance) {
    return __atomic_load_n((const uint64_t *)instance + 1, __ATOMIC_ACQUIRE);
}

// Sets the reference counts of an instance. The caller must have the only reference to it, of whatever kind, so that
// nobody else can change the counts at the same time.
static inline __attribute__((always_inline)) void firn_set_reference_counts(void *_Nonnull instance, uint64_t counts) {
    __atomic_store_n((uint64_t *)instance + 1, counts, __ATOMIC_RELAXED);
}

// Retains an instance. False if its last reference has been released. Its memory must still be allocated.
bool firn_try_retain(void *_Nonnull instance);

#endif
