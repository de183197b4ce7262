#include "firn_core.h"

#include <pthread.h>
#include <stdlib.h>

#include "firn_system.h"

static pthread_mutex_t cores_mutex = PTHREAD_MUTEX_INITIALIZER;
// The list's head. Guarded by the mutex.
static firn_realm_core_t *cores = NULL;
static void (*keep_owner)(void *owner) = NULL;

firn_realm_core_t *firn_core_make(void) {
    firn_realm_core_t *core = calloc(1, sizeof *core);
    if (core == NULL) return NULL;
    pthread_mutex_lock(&cores_mutex);
    core->next = cores;
    if (cores != NULL) cores->previous = core;
    cores = core;
    pthread_mutex_unlock(&cores_mutex);
    return core;
}

void firn_core_free(firn_realm_core_t *core) {
    pthread_mutex_lock(&cores_mutex);
    if (core->previous != NULL) {
        core->previous->next = core->next;
    } else if (cores == core) {
        cores = core->next;
    }
    if (core->next != NULL) core->next->previous = core->previous;
    pthread_mutex_unlock(&cores_mutex);
    free(core);
}

int64_t firn_core_count_released(firn_realm_core_t *core) {
    return __atomic_add_fetch(&core->released, 1, __ATOMIC_SEQ_CST);
}

int64_t firn_core_subtract_released(firn_realm_core_t *core) {
    core->accessors -= __atomic_exchange_n(&core->released, 0, __ATOMIC_SEQ_CST);
    return core->accessors;
}

void firn_core_set_retain_at_fork(void (*keep)(void *owner)) { __atomic_store_n(&keep_owner, keep, __ATOMIC_RELEASE); }

void firn_core_fork_prepare(void) { pthread_mutex_lock(&cores_mutex); }

void firn_core_fork_parent(void) { pthread_mutex_unlock(&cores_mutex); }

void firn_core_fork_child(void) {
    for (firn_realm_core_t *core = cores, *next; core != NULL; core = next) {
        next = core->next;
        core->previous = core->next = NULL;
        core->generation += 1;
        core->thread = FIRN_NO_THREAD;
        core->counter = FIRN_NO_THREAD;
        core->mask = UINT64_MAX;
        void (*keep)(void *owner) = __atomic_load_n(&keep_owner, __ATOMIC_ACQUIRE);
        if (keep != NULL && core->owner != NULL) keep(core->owner);
    }
    // The child's own realms begin a new list.
    cores = NULL;
    pthread_mutex_unlock(&cores_mutex);
}
