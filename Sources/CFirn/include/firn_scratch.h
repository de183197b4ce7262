#ifndef FIRN_SCRATCH_H
#define FIRN_SCRATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cache in the calling thread of the last few chunks that it has unpacked. The key is the address of the packed node
 * with the number of its mapping. The memory is freed when the thread ends. */
enum { FIRN_SCRATCH_COUNT = 16 };

/* The memory with the unpacked form of the node at this address, or NULL. */
void *_Nullable firn_scratch_find(uintptr_t address, uint64_t mapping);

/* Memory to unpack into, aligned to 16; NULL if none is left. It replaces the entry whose last request is oldest. If
 * `is_kept` is false, the entry lives as long but is never found again. */
void *_Nullable firn_scratch_make(uintptr_t address, uint64_t mapping, size_t length, bool is_kept);

#endif
