#include "firn_executor.h"

#include <stdbool.h>
#include <stddef.h>

#if defined(__APPLE__)

// Older systems have no function for this, so Swift's own check is used.
int firn_is_current_executor(uintptr_t identity, uintptr_t implementation) {
    (void)identity;
    (void)implementation;
    return -1;
}

#else

struct executor {
    uintptr_t identity;
    uintptr_t implementation;
};

// A function of Swift's runtime library, since 6.2. Without flags it returns false instead of stopping the program.
__attribute__((weak, swiftcall)) bool swift_task_isCurrentExecutorWithFlags(struct executor executor, uint64_t flags);

int firn_is_current_executor(uintptr_t identity, uintptr_t implementation) {
    if (swift_task_isCurrentExecutorWithFlags == NULL) return -1;
    struct executor executor = {identity, implementation};
    return swift_task_isCurrentExecutorWithFlags(executor, 0) ? 1 : 0;
}

#endif
