#ifndef FIRN_ACCESSOR_H
#define FIRN_ACCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What this thread is making:
//   0                      no accessor; objects get their initial values.
//   FIRN_MAKING_ACCESSOR   the accessor of a managed object. Its initial values are not computed, as nobody would read
//                          them. The initialisers of @Persisted check this, inlined into the application's module.
//   FIRN_MAKING_SAMPLE     the first instance of a class, with its initial values.
//   another number         the address of the first object that was made since one of the two was set. By it the caller
//                          knows whether that was the object it asked for, or another one that the object's
//                          initialiser made.
extern __thread uintptr_t firn_accessor_state;

enum { FIRN_MAKING_ACCESSOR = 1, FIRN_MAKING_SAMPLE = 2 };

static inline __attribute__((always_inline, pure)) bool firn_is_making_accessor(void) {
    return firn_accessor_state == FIRN_MAKING_ACCESSOR;
}

// Whether the next object that is made must record its address.
static inline __attribute__((always_inline, pure)) bool firn_is_awaiting_object(void) {
    return firn_accessor_state - 1 < FIRN_MAKING_SAMPLE;
}

// Sets the state and returns the one before. Not inlined, because the compiler must not move it past the object's
// initialiser.
uintptr_t firn_set_accessor_state(uintptr_t state);

// What lies before the properties of each instance of a Swift class: the class and the reference counts.
enum { FIRN_INSTANCE_HEADER = 16 };

// The bytes of an instance of a Swift class, header included.
size_t firn_instance_byte_count(const void *_Nonnull metadata);

// Makes an instance of a Swift class with one reference to it. What lies behind its header is copied from `bytes`, which
// are those of another instance, so they must hold no reference. No initialiser is called.
void *_Nonnull firn_copy_instance(const void *_Nonnull metadata, size_t byte_count, const void *_Nonnull bytes);

// The reference counts of an instance, in one word. The word of a new instance says that one reference is held, and no
// weak or unowned one; no other state has the same word.
static inline __attribute__((always_inline)) uint64_t firn_reference_counts(const void *_Nonnull instance) {
    return __atomic_load_n((const uint64_t *)instance + 1, __ATOMIC_ACQUIRE);
}

// Retains an instance, unless its last reference has gone. Its memory must still be there.
bool firn_try_retain(void *_Nonnull instance);

#endif
