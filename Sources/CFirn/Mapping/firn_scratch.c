#include "firn_scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    uintptr_t address;
    uint64_t mapping;
    char *memory;
    size_t capacity;
    uint64_t used; /* the value of `clock` at the last request */
};

struct ring {
    struct entry entries[FIRN_SCRATCH_CHUNK_COUNT];
    unsigned count;
    unsigned last; /* the entry of the last request */
    size_t bytes;  /* of all entries */
};

struct scratch {
    struct ring rings[FIRN_SCRATCH_RING_COUNT];
    uint64_t clock;  /* rises with each request */
    bool has_copies; /* whether a copy was ever made */
};

static __thread struct scratch *own;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned test_count;

static void release(void *pointer) {
    struct scratch *scratch = pointer;
    for (unsigned number = 0; number < FIRN_SCRATCH_RING_COUNT; number++) {
        struct ring *ring = &scratch->rings[number];
        for (unsigned slot = 0; slot < ring->count; slot++) free(ring->entries[slot].memory);
    }
    free(scratch);
    own = NULL;
}

static void make_key(void) { pthread_key_create(&key, release); }

void firn_scratch_set_test_count(unsigned count) { __atomic_store_n(&test_count, count, __ATOMIC_RELAXED); }

static struct scratch *make_scratch(void) {
    pthread_once(&once, make_key);
    struct scratch *scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL) return NULL;
    unsigned count = __atomic_load_n(&test_count, __ATOMIC_RELAXED);
    for (unsigned ring = 0; ring < FIRN_SCRATCH_RING_COUNT; ring++) {
        scratch->rings[ring].count = ring == FIRN_SCRATCH_CHUNKS ? FIRN_SCRATCH_CHUNK_COUNT : FIRN_SCRATCH_COUNT;
        if (count != 0 && ring != FIRN_SCRATCH_UNPACKED) {
            scratch->rings[ring].count = ring == FIRN_SCRATCH_CHUNKS ? 2 * count : count;
        }
    }
    pthread_setspecific(key, scratch);
    own = scratch;
    return scratch;
}

static void *find(struct scratch *scratch, struct ring *ring, uintptr_t address, uint64_t mapping) {
    struct entry *last = &ring->entries[ring->last];
    if (last->address == address && last->mapping == mapping) {
        last->used = ++scratch->clock;
        return last->memory;
    }
    for (unsigned slot = 0; slot < ring->count; slot++) {
        struct entry *entry = &ring->entries[slot];
        if (entry->address == address && entry->mapping == mapping) {
            ring->last = slot;
            entry->used = ++scratch->clock;
            return entry->memory;
        }
    }
    return NULL;
}

void *firn_scratch_find(unsigned ring, uintptr_t address, uint64_t mapping) {
    struct scratch *scratch = own;
    return scratch == NULL ? NULL : find(scratch, &scratch->rings[ring], address, mapping);
}

void *firn_scratch_find_copy(uintptr_t address, uint64_t mapping) {
    struct scratch *scratch = own;
    if (scratch == NULL || !scratch->has_copies) return NULL;
    for (unsigned ring = FIRN_SCRATCH_CHUNKS; ring < FIRN_SCRATCH_RING_COUNT; ring++) {
        void *memory = find(scratch, &scratch->rings[ring], address, mapping);
        if (memory != NULL) return memory;
    }
    return NULL;
}

static void empty(struct ring *ring, struct entry *entry) {
    if (__atomic_load_n(&test_count, __ATOMIC_RELAXED) != 0 && entry->memory != NULL) {
        memset(entry->memory, 0xA5, entry->capacity);
    }
    free(entry->memory);
    ring->bytes -= entry->capacity;
    entry->memory = NULL;
    entry->capacity = 0;
    entry->address = 0;
}

/* The entry whose last request is oldest. The callers of the latest requests may still read the memory that they got,
 * so this one is reused. */
static struct entry *oldest(struct ring *ring) {
    struct entry *oldest = &ring->entries[0];
    for (unsigned slot = 1; slot < ring->count; slot++) {
        if (ring->entries[slot].used < oldest->used) oldest = &ring->entries[slot];
    }
    return oldest;
}

/* Frees the oldest entries of a ring that has too much memory. */
static void trim(struct ring *ring, size_t added) {
    while (ring->bytes + added > FIRN_SCRATCH_RING_BYTES) {
        struct entry *entry = NULL;
        unsigned filled = 0;
        for (unsigned slot = 0; slot < ring->count; slot++) {
            if (ring->entries[slot].memory == NULL) continue;
            filled++;
            if (entry == NULL || ring->entries[slot].used < entry->used) entry = &ring->entries[slot];
        }
        if (filled < FIRN_SCRATCH_LARGE_COUNT) return;
        empty(ring, entry);
        entry->used = 0;
    }
}

void *firn_scratch_make(unsigned number, uintptr_t address, uint64_t mapping, size_t length, bool is_kept) {
    struct scratch *scratch = own;
    if (scratch == NULL) {
        scratch = make_scratch();
        if (scratch == NULL) return NULL;
    }
    struct ring *ring = &scratch->rings[number];
    if (number != FIRN_SCRATCH_UNPACKED) scratch->has_copies = true;
    struct entry *entry = oldest(ring);
    /* No node has the address 0. */
    entry->address = 0;
    bool is_tested = __atomic_load_n(&test_count, __ATOMIC_RELAXED) != 0;
    if (entry->capacity < length || entry->capacity > FIRN_SCRATCH_RING_BYTES / FIRN_SCRATCH_COUNT || is_tested) {
        empty(ring, entry);
        trim(ring, length);
        entry->memory = malloc(length);
        if (entry->memory == NULL) return NULL;
        entry->capacity = length;
        ring->bytes += length;
    }
    entry->used = ++scratch->clock;
    ring->last = (unsigned)(entry - ring->entries);
    entry->address = is_kept ? address : 0;
    entry->mapping = mapping;
    return entry->memory;
}

void firn_scratch_drop(const void *memory) {
    if (own == NULL) return;
    for (unsigned number = FIRN_SCRATCH_CHUNKS; number < FIRN_SCRATCH_RING_COUNT; number++) {
        struct ring *ring = &own->rings[number];
        for (unsigned slot = 0; slot < ring->count; slot++) {
            if (ring->entries[slot].memory == memory) ring->entries[slot].address = 0;
        }
    }
}

bool firn_scratch_has_copies(void) { return own != NULL && own->has_copies; }

bool firn_scratch_has_copy(const void *address) {
    struct scratch *scratch = own;
    if (scratch == NULL || !scratch->has_copies) return false;
    for (unsigned number = FIRN_SCRATCH_CHUNKS; number < FIRN_SCRATCH_RING_COUNT; number++) {
        struct ring *ring = &scratch->rings[number];
        for (unsigned slot = 0; slot < ring->count; slot++) {
            uintptr_t distance = (uintptr_t)address - (uintptr_t)ring->entries[slot].memory;
            if (distance < ring->entries[slot].capacity) return true;
        }
    }
    return false;
}
