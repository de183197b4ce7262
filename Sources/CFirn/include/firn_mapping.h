#ifndef FIRN_MAPPING_H
#define FIRN_MAPPING_H
#include <stdint.h>

/* The range of addresses that the files of a checkpoint are mapped to, and which of its nodes have been validated:
 * checked and made ready to be read. The range begins at a multiple of 4 GiB, so that the upper half of an address
 * leads to it. FirnCore's `CheckpointMapping` owns it and describes how a node is validated. */
typedef struct firn_mapping {
    uintptr_t base;
    uintptr_t length;
    uint64_t *_Nonnull validated; /* a bit for every 32 bytes: the node that begins there has been validated */
    uint64_t number;              /* unique among all mappings that the process has ever had */
    void *_Nonnull owner;         /* the CheckpointMapping, not retained */
} firn_mapping_t;

enum { FIRN_MAPPING_SHIFT = 32, FIRN_MAPPING_COUNT = 1 << 16, FIRN_DISK_UNIT = 32 };

/* All mappings, indexed by the upper half of an address. An entry changes only while no node of its mapping can be
 * reached. */
extern firn_mapping_t *_Nullable firn_mappings[FIRN_MAPPING_COUNT];

/* Validates a node and returns its address, or the address of a stand-in to read instead. Set once, before the first
 * mapping is registered. */
extern void *_Nonnull (*_Nullable firn_validate)(firn_mapping_t *_Nonnull mapping, uintptr_t address);
void firn_set_validate(void *_Nonnull (*_Nonnull validate)(firn_mapping_t *_Nonnull mapping, uintptr_t address));

/* The record (FirnCore's `DamageRecord`) in which the calling thread notes damage that it meets. NULL if damage stops
 * the program. Not inlined, so that no address of thread-local memory outlives a call. */
void *_Nullable firn_damage_record(void);
/* Sets the record and returns the old one. */
void *_Nullable firn_set_damage_record(void *_Nullable record);

/* Adds a mapping to the table, or removes it. */
void firn_register_mapping(firn_mapping_t *_Nonnull mapping);
void firn_unregister_mapping(firn_mapping_t *_Nonnull mapping);

/* Validates the node that a reference with its lowest bit set leads to, and returns its address. */
static inline __attribute__((always_inline)) void *_Nonnull firn_disk_node(uint64_t word) {
    uintptr_t address = (uintptr_t)(word & ~(uint64_t)15);
    firn_mapping_t *mapping = firn_mappings[address >> FIRN_MAPPING_SHIFT & (FIRN_MAPPING_COUNT - 1)];
    uintptr_t unit = (address - mapping->base) / FIRN_DISK_UNIT;
    uint64_t bits = __atomic_load_n(&mapping->validated[unit >> 6], __ATOMIC_ACQUIRE);
    if (__builtin_expect((bits >> (unit & 63) & 1) == 0, 0)) {
        return __atomic_load_n(&firn_validate, __ATOMIC_RELAXED)(mapping, address);
    }
    return (void *)address;
}

/* The mapping that contains an address, or NULL. */
static inline firn_mapping_t *_Nullable firn_mapping_of(uintptr_t address) {
    return firn_mappings[address >> FIRN_MAPPING_SHIFT & (FIRN_MAPPING_COUNT - 1)];
}

static inline void firn_set_validated(firn_mapping_t *_Nonnull mapping, uintptr_t address) {
    uintptr_t unit = (address - mapping->base) / FIRN_DISK_UNIT;
    __atomic_fetch_or(&mapping->validated[unit >> 6], (uint64_t)1 << (unit & 63), __ATOMIC_RELEASE);
}

static inline int firn_is_validated(firn_mapping_t *_Nonnull mapping, uintptr_t address) {
    uintptr_t unit = (address - mapping->base) / FIRN_DISK_UNIT;
    return (int)(__atomic_load_n(&mapping->validated[unit >> 6], __ATOMIC_ACQUIRE) >> (unit & 63) & 1);
}

#endif
