#include "firn_accessor.h"

__thread uintptr_t firn_accessor_state;

__attribute__((noinline)) uintptr_t firn_set_accessor_state(uintptr_t state) {
    uintptr_t before = firn_accessor_state;
    firn_accessor_state = state;
    return before;
}
