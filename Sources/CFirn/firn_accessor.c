#include "firn_accessor.h"

__thread bool firn_making_accessor;

__attribute__((noinline)) bool firn_set_making_accessor(bool value) {
    bool before = firn_making_accessor;
    firn_making_accessor = value;
    return before;
}
