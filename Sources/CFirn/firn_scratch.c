#include "firn_scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct scratch {
    uintptr_t address[FIRN_SCRATCH_COUNT];
    uint64_t mapping[FIRN_SCRATCH_COUNT];
    void *memory[FIRN_SCRATCH_COUNT];
    size_t capacity[FIRN_SCRATCH_COUNT];
    uint64_t used[FIRN_SCRATCH_COUNT]; /* when it was asked for last, by `clock` */
    uint64_t clock;
    unsigned last;
};

static __thread struct scratch *own;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release(void *pointer) {
    struct scratch *scratch = pointer;
    for (int place = 0; place < FIRN_SCRATCH_COUNT; place++) free(scratch->memory[place]);
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
    for (unsigned place = 0; place < FIRN_SCRATCH_COUNT; place++) {
        if (scratch->address[place] == address && scratch->mapping[place] == mapping) {
            scratch->last = place;
            scratch->used[place] = ++scratch->clock;
            return scratch->memory[place];
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
    /* Whoever has just been given one may still read it, found or made: so the one that was asked for longest ago goes. */
    unsigned place = 0;
    for (unsigned other = 1; other < FIRN_SCRATCH_COUNT; other++) {
        if (scratch->used[other] < scratch->used[place]) place = other;
    }
    scratch->address[place] = 0;
    if (scratch->capacity[place] < length) {
        free(scratch->memory[place]);
        scratch->memory[place] = malloc(length);
        scratch->capacity[place] = scratch->memory[place] == NULL ? 0 : length;
        if (scratch->memory[place] == NULL) return NULL;
    }
    scratch->used[place] = ++scratch->clock;
    scratch->last = place;
    /* No node lies at 0. */
    scratch->address[place] = is_kept ? address : 0;
    scratch->mapping[place] = mapping;
    return scratch->memory[place];
}
