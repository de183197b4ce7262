#ifndef FIRN_SCRATCH_H
#define FIRN_SCRATCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nodes of checkpoints in memory of the calling thread: chunks that it has unpacked, and copies of nodes that are too
 * many to be kept decrypted. The key of an entry is the address of the node in its mapping with the mapping's number.
 * The memory is freed when the thread ends.
 *
 * Each ring has entries of its own. So a thread that holds a chunk may read any number of blobs, which replace only
 * other blobs. */
enum {
    FIRN_SCRATCH_UNPACKED,  /* unpacked chunks and leaves */
    FIRN_SCRATCH_CHUNKS,    /* copies of chunks, packed or not */
    FIRN_SCRATCH_BLOBS,     /* copies of blobs */
    FIRN_SCRATCH_INDEXES,   /* copies of leaves of indexes */
    FIRN_SCRATCH_LISTS,     /* copies of leaves of collections */
    FIRN_SCRATCH_RING_COUNT
};

/* The entries of a ring. In the ring of copies of chunks there are twice as many, because unpacking a chunk may take
 * two of them: the chunk and its dictionary. */
enum { FIRN_SCRATCH_COUNT = 16, FIRN_SCRATCH_CHUNK_COUNT = 2 * FIRN_SCRATCH_COUNT };

/* If the entries of a ring have more memory than this, the oldest ones are freed, except for the last
 * FIRN_SCRATCH_LARGE_COUNT. Only blobs are so long. */
enum { FIRN_SCRATCH_RING_BYTES = 16 << 20, FIRN_SCRATCH_LARGE_COUNT = 4 };

/* The memory of an entry, or NULL. */
void *_Nullable firn_scratch_find(unsigned ring, uintptr_t address, uint64_t mapping);

/* The memory of an entry of any ring of copies, or NULL. */
void *_Nullable firn_scratch_find_copy(uintptr_t address, uint64_t mapping);

/* Memory for an entry, aligned to 16; NULL if none is left. It replaces the entry whose last request is oldest. If
 * `is_kept` is false, the entry lives as long but is never found again. */
void *_Nullable firn_scratch_make(unsigned ring, uintptr_t address, uint64_t mapping, size_t length, bool is_kept);

/* Ends the copy that has this memory, if there is one: it is not found any more. */
void firn_scratch_drop(const void *_Nonnull memory);

/* Whether the thread has ever had a copy. */
bool firn_scratch_has_copies(void);

/* Whether an address lies in a copy that the thread has. */
bool firn_scratch_has_copy(const void *_Nonnull address);

/* Tests only: how many entries a ring of copies has, at most FIRN_SCRATCH_COUNT, in threads that have not used one yet.
 * Memory of an entry that is replaced is then overwritten and freed, so that its use is noticed. */
void firn_scratch_set_test_count(unsigned count);

#endif
