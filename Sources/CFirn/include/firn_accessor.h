#ifndef FIRN_ACCESSOR_H
#define FIRN_ACCESSOR_H

#include <stdbool.h>
#include <stdint.h>

// What this thread is making:
//   0                      no accessor; objects get their initial values.
//   FIRN_MAKING_ACCESSOR   the accessor of a managed object, whose initial values are not computed, as nobody would read them. The
//                          initialisers of @Persisted look at it, inlined into the application's module.
//   another number         the address of the object whose initial values were not computed. It tells the caller whether that was the
//                          accessor, or another object that the accessor's initialiser made.
extern __thread uintptr_t firn_accessor_state;

enum { FIRN_MAKING_ACCESSOR = 1 };

static inline __attribute__((always_inline, pure)) bool firn_is_making_accessor(void) {
    return firn_accessor_state == FIRN_MAKING_ACCESSOR;
}

// Returns what was set before. Not inlined: the compiler must not move it over the object's initialiser.
uintptr_t firn_set_accessor_state(uintptr_t state);

#endif
