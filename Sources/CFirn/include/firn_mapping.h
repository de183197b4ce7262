#ifndef FIRN_SPACE_H
#define FIRN_SPACE_H
#include <stdint.h>

/* A run of addresses at which the files of a checkpoint lie, and which of its nodes have been touched: checked and made ready to be read. It begins at
 * a multiple of 4 GiB, so that the upper half of an address finds it. FirnCore's `CheckpointMapping` owns it and says how a node is touched. */
typedef struct firn_mapping {
    uintptr_t base;
    uintptr_t length;
    uint64_t *_Nonnull touched; /* a bit for every 32 bytes: the node that begins there has been touched */
    uint64_t number;            /* no other space of the process has had it */
    void *_Nonnull owner;       /* the CheckpointMapping, not retained */
} firn_mapping_t;

enum { FIRN_SPACE_SHIFT = 32, FIRN_SPACE_COUNT = 1 << 16, FIRN_DISK_UNIT = 32 };

/* By the upper half of an address. An entry changes only while no node of the space can be reached. */
extern firn_mapping_t *_Nullable firn_mappings[FIRN_SPACE_COUNT];

/* How a node is touched: gives its address, or that of a node to read instead. Set once, before the first space is entered. */
extern void *_Nonnull (*_Nullable firn_validate)(firn_mapping_t *_Nonnull mapping, uintptr_t address);
void firn_set_validate(void *_Nonnull (*_Nonnull touch)(firn_mapping_t *_Nonnull mapping, uintptr_t address));

/* Where the calling thread notes damage that it meets, instead of stopping: FirnCore's `Faults`. NULL where it stops. Not inlined, so that no address of
 * thread-local memory outlives a call. */
void *_Nullable firn_fault_record(void);
/* Sets it, and returns what it was. */
void *_Nullable firn_set_fault_record(void *_Nullable record);

/* Enters a space, or takes it out. */
void firn_register_mapping(firn_mapping_t *_Nonnull mapping);
void firn_unregister_mapping(firn_mapping_t *_Nonnull mapping);

/* The node that a reference with its lowest bit set leads to: its address, touched. */
static inline __attribute__((always_inline)) void *_Nonnull firn_disk_node(uint64_t word) {
    uintptr_t address = (uintptr_t)(word & ~(uint64_t)15);
    firn_mapping_t *mapping = firn_mappings[address >> FIRN_SPACE_SHIFT & (FIRN_SPACE_COUNT - 1)];
    uintptr_t unit = (address - mapping->base) / FIRN_DISK_UNIT;
    uint64_t bits = __atomic_load_n(&mapping->touched[unit >> 6], __ATOMIC_ACQUIRE);
    if (__builtin_expect((bits >> (unit & 63) & 1) == 0, 0)) {
        return __atomic_load_n(&firn_validate, __ATOMIC_RELAXED)(mapping, address);
    }
    return (void *)address;
}

/* The space that an address lies in, or NULL. */
static inline firn_mapping_t *_Nullable firn_mapping_of(uintptr_t address) {
    return firn_mappings[address >> FIRN_SPACE_SHIFT & (FIRN_SPACE_COUNT - 1)];
}

static inline void firn_set_touched(firn_mapping_t *_Nonnull mapping, uintptr_t address) {
    uintptr_t unit = (address - mapping->base) / FIRN_DISK_UNIT;
    __atomic_fetch_or(&mapping->touched[unit >> 6], (uint64_t)1 << (unit & 63), __ATOMIC_RELEASE);
}

static inline int firn_is_touched(firn_mapping_t *_Nonnull mapping, uintptr_t address) {
    uintptr_t unit = (address - mapping->base) / FIRN_DISK_UNIT;
    return (int)(__atomic_load_n(&mapping->touched[unit >> 6], __ATOMIC_ACQUIRE) >> (unit & 63) & 1);
}

#endif
