#ifndef FIRN_CORE_H
#define FIRN_CORE_H

#include "firn_layout.h"

// The cores of realms. All cores are in one list, so that a forked child can make each of them unusable in one step:
// it raises their generations and sets their thread to none. So the checks that each access makes anyway stop the
// child, and accesses in the parent cost nothing more.

// Makes a core of zeros and adds it to the list. NULL if there is no memory.
firn_realm_core_t *_Nullable firn_core_make(void);
void firn_core_free(firn_realm_core_t *_Nonnull core);

// Counts an accessor that was released on another thread than the core's. Returns how many such releases
// `firn_core_subtract_released` has yet to subtract.
int64_t firn_core_count_released(firn_realm_core_t *_Nonnull core);
// Subtracts these releases from the count of accessors. Only the owning thread calls it. Returns how many accessors
// are left.
int64_t firn_core_subtract_released(firn_realm_core_t *_Nonnull core);

// Sets the function that a forked child calls with the owner of each core, and which retains the owner. The parent's
// objects must not be cleaned up in the child, because that would wait for locks of threads that the child does not
// have. Set once, before the first core is made.
void firn_core_set_retain_at_fork(void (*_Nonnull keep)(void *_Nonnull owner));

// What happens to the cores at fork; `firn_system.c` calls these.
void firn_core_fork_prepare(void);
void firn_core_fork_parent(void);
void firn_core_fork_child(void);

#endif
