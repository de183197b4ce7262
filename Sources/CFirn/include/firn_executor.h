#ifndef FIRN_EXECUTOR_H
#define FIRN_EXECUTOR_H

// Asks Swift's runtime for the executor that the calling thread runs on.

#include <stdint.h>

// Whether the caller runs on the serial executor given by the two words of Swift's `UnownedSerialExecutor`: 1 if it
// does, 0 if the runtime does not know that it does, and -1 if the runtime has no function for this question.
int firn_is_current_executor(uintptr_t identity, uintptr_t implementation);

#endif
