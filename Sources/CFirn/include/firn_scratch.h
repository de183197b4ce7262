#ifndef FIRN_SCRATCH_H
#define FIRN_SCRATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory of the calling thread for the last few chunks that it has unpacked, by the address of the packed node and the number of its space. It goes with the thread. */
enum { FIRN_SCRATCH_COUNT = 16 };

/* What was unpacked from there, or NULL. */
void *_Nullable firn_scratch_find(uintptr_t address, uint64_t mapping);

/* Memory to unpack into, in the place of what was asked for longest ago; NULL where there is no memory. Aligned to 16. It lasts as long either way; what is
 * not kept is never found again. */
void *_Nullable firn_scratch_make(uintptr_t address, uint64_t mapping, size_t length, bool is_kept);

#endif
