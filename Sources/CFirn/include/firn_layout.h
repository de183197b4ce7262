#ifndef FIRN_LAYOUT_H
#define FIRN_LAYOUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Offsets in a node, in bytes. FirnCore's `Node`, `Chunk`, `Leaf` and `RowNode` draw the layouts. The numbers are
 * defined here so that the C kernels and the code that is inlined into the user's module use the same ones. They are
 * part of the file format. */
enum {
    FIRN_NODE_STAMP = 0,     /* u64: the stamp of the transaction that made it */
    FIRN_NODE_LINK = 8,      /* u64: heap only: its index in the owner's list; 0 on disk */
    FIRN_NODE_KIND = 16,     /* u8 */
    FIRN_NODE_FORM = 17,     /* u8 */
    FIRN_NODE_WIDTH = 18,    /* u16: bytes per value, or the level of an inner node */
    FIRN_NODE_COUNT = 20,    /* u32 */
    FIRN_NODE_CAPACITY = 24, /* u32 */
    FIRN_NODE_BYTES = 28,    /* u32: length of the whole node */
    FIRN_NODE_HEADER = 32,

    FIRN_CHUNK_MARKS = 32, /* 256 bits */
    FIRN_CHUNK_DATA = 64,

    FIRN_LEAF_FIRST_KEY = 32, /* i64 */
    FIRN_LEAF_KEYS = 40,      /* reference to the keys' chunk; 0 if the keys are FIRST_KEY, +1, +2 ... */
    FIRN_LEAF_COLUMNS = 48,   /* u32 */
    FIRN_LEAF_CHUNKS = 64,    /* a reference for each column */

    FIRN_LEAF_ROWS = 256,
    FIRN_FANOUT = 64,

    FIRN_FORM_FIXED = 0,
    FIRN_FORM_VARIABLE = 1,

    FIRN_SLOT_NULL = 0xFFFF,
    FIRN_SLOT_BLOB = 0xFFFE,
    FIRN_SLOT_TREE = 0xFFFD,
};

/* The state of a realm that its accessors read at each access. It belongs to the realm's thread. That of a frozen
 * realm never changes. */
typedef struct firn_realm_core {
    uint64_t generation; /* rises whenever an accessor's leaf may be gone or its row may have moved */
    uint64_t thread;     /* the owning thread's number; compared under the mask */
    uint64_t mask;       /* 0 if any thread may read */
    uint64_t stamp;      /* the stamp of the running transaction; UINT64_MAX outside one */
    uint64_t root;       /* the address of the version's root node; 0 if nothing is pinned */
    int64_t accessors;   /* how many accessors are counted on this core; changed by the realm's own work only */
    int64_t released;    /* how many of them were released on other threads; atomic */
    /* The thread on which a release is the realm's own work. None if the realm belongs to a main queue that moves
     * between threads. */
    uint64_t counter;
    void *_Nullable owner; /* the realm object, not retained */
    /* The list of all cores, which a forked child walks (firn_core.h). */
    struct firn_realm_core *_Nullable previous;
    struct firn_realm_core *_Nullable next;
} firn_realm_core_t;

/* Whether two runs of bytes are equal. */
static inline bool firn_same_bytes(const void *_Nullable a, const void *_Nullable b, size_t count) {
    return count == 0 || memcmp(a, b, count) == 0;
}

#endif
