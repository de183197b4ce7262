#include "firn_mapping.h"

firn_mapping_t *firn_mappings[FIRN_MAPPING_COUNT];
void *(*firn_validate)(firn_mapping_t *mapping, uintptr_t address);

void firn_set_validate(void *(*validate)(firn_mapping_t *mapping, uintptr_t address)) {
    __atomic_store_n(&firn_validate, validate, __ATOMIC_RELEASE);
}

static __thread void *damage_record;

__attribute__((noinline)) void *firn_damage_record(void) { return damage_record; }

__attribute__((noinline)) void *firn_set_damage_record(void *record) {
    void *before = damage_record;
    damage_record = record;
    return before;
}

static void set_entries(firn_mapping_t *mapping, firn_mapping_t *entry) {
    uintptr_t first = mapping->base >> FIRN_MAPPING_SHIFT;
    uintptr_t last = (mapping->base + mapping->length - 1) >> FIRN_MAPPING_SHIFT;
    for (uintptr_t index = first; index <= last; index++) firn_mappings[index & (FIRN_MAPPING_COUNT - 1)] = entry;
}

void firn_register_mapping(firn_mapping_t *mapping) { set_entries(mapping, mapping); }
void firn_unregister_mapping(firn_mapping_t *mapping) { set_entries(mapping, 0); }
