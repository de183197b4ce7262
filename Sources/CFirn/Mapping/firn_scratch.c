#include "firn_scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct scratch {
    uintptr_t address[FIRN_SCRATCH_COUNT];
    uint64_t mapping[FIRN_SCRATCH_COUNT];
    void *memory[FIRN_SCRATCH_COUNT];
    size_t capacity[FIRN_SCRATCH_COUNT];
    uint64_t used[FIRN_SCRATCH_COUNT]; /* the value of `clock` at the last request */
    uint64_t clock;                    /* rises with each request */
    unsigned last;                     /* the slot of the last request */
};

static __thread struct scratch *own;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release(void *pointer) {
    struct scratch *scratch = pointer;
    for (int slot = 0; slot < FIRN_SCRATCH_COUNT; slot++) free(scratch->memory[slot]);
    free(scratch);
    own = NULL;
}

static void make_key(void) { pthread_key_create(&key, release); }

void *firn_scratch_find(uintptr_t address, uint64_t mapping) {
    struct scratch *scratch = own;
    if (scratch == NULL) return NULL;
    unsigned last = scratch->last;
    if (scratch->address[last] == address && scratch->mapping[last] == mapping) {
        scratch->used[last] = ++scratch->clock;
        return scratch->memory[last];
    }
    for (unsigned slot = 0; slot < FIRN_SCRATCH_COUNT; slot++) {
        if (scratch->address[slot] == address && scratch->mapping[slot] == mapping) {
            scratch->last = slot;
            scratch->used[slot] = ++scratch->clock;
            return scratch->memory[slot];
        }
    }
    return NULL;
}

void *firn_scratch_make(uintptr_t address, uint64_t mapping, size_t length, bool is_kept) {
    struct scratch *scratch = own;
    if (scratch == NULL) {
        pthread_once(&once, make_key);
        scratch = calloc(1, sizeof *scratch);
        if (scratch == NULL) return NULL;
        pthread_setspecific(key, scratch);
        own = scratch;
    }
    /* The callers of the latest requests may still read the memory that they got. So the slot whose last request is
     * oldest is reused. */
    unsigned slot = 0;
    for (unsigned other = 1; other < FIRN_SCRATCH_COUNT; other++) {
        if (scratch->used[other] < scratch->used[slot]) slot = other;
    }
    scratch->address[slot] = 0;
    if (scratch->capacity[slot] < length) {
        free(scratch->memory[slot]);
        scratch->memory[slot] = malloc(length);
        scratch->capacity[slot] = scratch->memory[slot] == NULL ? 0 : length;
        if (scratch->memory[slot] == NULL) return NULL;
    }
    scratch->used[slot] = ++scratch->clock;
    scratch->last = slot;
    /* No node has the address 0. */
    scratch->address[slot] = is_kept ? address : 0;
    scratch->mapping[slot] = mapping;
    return scratch->memory[slot];
}
