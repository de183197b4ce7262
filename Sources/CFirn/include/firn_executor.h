#ifndef FIRN_EXECUTOR_H
#define FIRN_EXECUTOR_H

// What Swift's runtime knows of the executor that the calling thread runs on.

#include <stdint.h>

// Whether the caller runs on a serial executor, given the two words of Swift's `UnownedSerialExecutor`: 1 if it does,
// 0 if the runtime knows of no such thing, and -1 if it can't be asked.
int firn_is_current_executor(uintptr_t identity, uintptr_t implementation);

#endif
