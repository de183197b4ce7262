#ifndef FIRN_ACCESSOR_H
#define FIRN_ACCESSOR_H

#include <stdbool.h>

// Set on a thread while it makes the accessor of a managed object, so that the object's initial values are not computed:
// nobody would read them. The initialisers of @Persisted look at it, inlined into the application's module.
extern __thread bool firn_making_accessor;

static inline __attribute__((always_inline, pure)) bool firn_is_making_accessor(void) { return firn_making_accessor; }

// Returns what was set before. Not inlined: the compiler must not move it over the object's initialiser.
bool firn_set_making_accessor(bool value);

#endif
