#ifndef FIRN_SCRATCH_H
#define FIRN_SCRATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of the calling thread for the last few chunks that it has unpacked, by the address of the packed node and
 * the number of its mapping. It is freed when the thread ends. */
enum { FIRN_SCRATCH_COUNT = 16 };

/* What was unpacked from this address, or NULL. */
void *_Nullable firn_scratch_find(uintptr_t address, uint64_t mapping);

/* Memory to unpack into, aligned to 16; NULL if there is no memory. It replaces the entry that was requested longest
 * ago. Without `is_kept` it is never found again, but lasts as long. */
void *_Nullable firn_scratch_make(uintptr_t address, uint64_t mapping, size_t length, bool is_kept);

#endif
