#ifndef FIRN_CORE_H
#define FIRN_CORE_H

#include "firn_layout.h"

// The cores of realms. All are listed, so that a forked child can make each of them unusable in one step: it moves their generations and gives them
// to no thread. So the checks that an access makes anyway stop the child, and an access costs the parent nothing more.

// A core with zeros, listed. NULL where there is no memory.
firn_realm_core_t *_Nullable firn_core_make(void);
void firn_core_free(firn_realm_core_t *_Nonnull core);

// Counts an accessor that was released on another thread than the core's. Returns how many such wait to be counted off by then.
int64_t firn_core_count_released(firn_realm_core_t *_Nonnull core);
// Counts all of them off, which the owning thread does. Returns how many accessors are left.
int64_t firn_core_settle(firn_realm_core_t *_Nonnull core);

// Called with the owner of each core in a forked child, where it retains it: what belongs to the parent must not be cleaned up there, as that would wait for
// locks of threads that the child does not have. Set once, before the first core is made.
void firn_core_set_keep(void (*_Nonnull keep)(void *_Nonnull owner));

// What is done with the cores at fork; `firn_system.c` calls these.
void firn_core_fork_prepare(void);
void firn_core_fork_parent(void);
void firn_core_fork_child(void);

#endif
