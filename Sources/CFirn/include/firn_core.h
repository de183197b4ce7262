#ifndef FIRN_CORE_H
#define FIRN_CORE_H

#include "firn_layout.h"

// The cores of realms. All cores are in one list, so that a forked child can make all of them unusable: it raises their
// generations and sets their threads to none. The checks that each access makes anyway then stop the child, so accesses
// in the parent cost nothing more.

// Makes a core of zeros and adds it to the list. NULL if there is no memory.
firn_realm_core_t *_Nullable firn_core_make(void);
void firn_core_free(firn_realm_core_t *_Nonnull core);

// Counts an accessor that was released on a thread other than the core's. Returns how many such releases
// `firn_core_subtract_released` has yet to subtract.
int64_t firn_core_count_released(firn_realm_core_t *_Nonnull core);
// Subtracts these releases from the count of accessors. Only the owning thread calls it. Returns the number of
// accessors that are left.
int64_t firn_core_subtract_released(firn_realm_core_t *_Nonnull core);

// Sets the function that a forked child calls with the owner of each core in order to retain the owner. The parent's
// objects must not be cleaned up in the child, because that would wait for locks held by threads that do not exist
// there. Set once, before the first core is made.
void firn_core_set_retain_at_fork(void (*_Nonnull keep)(void *_Nonnull owner));

// The fork handlers for the cores, which `firn_system.c` calls.
void firn_core_fork_prepare(void);
void firn_core_fork_parent(void);
void firn_core_fork_child(void);

#endif
