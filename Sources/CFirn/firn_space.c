#include "firn_space.h"

firn_space_t *firn_spaces[FIRN_SPACE_COUNT];
void *(*firn_touch)(firn_space_t *space, uintptr_t address);

void firn_set_touch(void *(*touch)(firn_space_t *space, uintptr_t address)) {
    __atomic_store_n(&firn_touch, touch, __ATOMIC_RELEASE);
}

static __thread void *fault_record;

__attribute__((noinline)) void *firn_fault_record(void) { return fault_record; }

__attribute__((noinline)) void *firn_set_fault_record(void *record) {
    void *before = fault_record;
    fault_record = record;
    return before;
}

static void set_entries(firn_space_t *space, firn_space_t *entry) {
    uintptr_t first = space->base >> FIRN_SPACE_SHIFT;
    uintptr_t last = (space->base + space->length - 1) >> FIRN_SPACE_SHIFT;
    for (uintptr_t place = first; place <= last; place++) firn_spaces[place & (FIRN_SPACE_COUNT - 1)] = entry;
}

void firn_enter_space(firn_space_t *space) { set_entries(space, space); }
void firn_leave_space(firn_space_t *space) { set_entries(space, 0); }
