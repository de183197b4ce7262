#include "firn_mapping.h"

firn_mapping_t *firn_mappings[FIRN_SPACE_COUNT];
void *(*firn_validate)(firn_mapping_t *mapping, uintptr_t address);

void firn_set_validate(void *(*touch)(firn_mapping_t *mapping, uintptr_t address)) {
    __atomic_store_n(&firn_validate, touch, __ATOMIC_RELEASE);
}

static __thread void *fault_record;

__attribute__((noinline)) void *firn_fault_record(void) { return fault_record; }

__attribute__((noinline)) void *firn_set_fault_record(void *record) {
    void *before = fault_record;
    fault_record = record;
    return before;
}

static void set_entries(firn_mapping_t *mapping, firn_mapping_t *entry) {
    uintptr_t first = mapping->base >> FIRN_SPACE_SHIFT;
    uintptr_t last = (mapping->base + mapping->length - 1) >> FIRN_SPACE_SHIFT;
    for (uintptr_t place = first; place <= last; place++) firn_mappings[place & (FIRN_SPACE_COUNT - 1)] = entry;
}

void firn_register_mapping(firn_mapping_t *mapping) { set_entries(mapping, mapping); }
void firn_unregister_mapping(firn_mapping_t *mapping) { set_entries(mapping, 0); }
