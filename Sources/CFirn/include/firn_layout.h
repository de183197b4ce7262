#ifndef FIRN_LAYOUT_H
#define FIRN_LAYOUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The layout of nodes that C code uses; it is part of the file format. FirnCore's `NodeLayout` and `Chunk.Slot` read
 * these numbers from here, and define all others except FIRN_DISK_UNIT in firn_mapping.h. */
enum {
    FIRN_REF_BYTES = 8,
    FIRN_LEAF_CHUNKS = 64, /* where a leaf's references to its chunks begin */
};

/* The special values that a slot of a variable chunk may have in place of a length, in ascending order. `Chunk` draws a
 * slot. */
enum {
    FIRN_SLOT_TREE = 0xFFFD, /* a reference to the tree of a collection, in the heap */
    FIRN_SLOT_BLOB = 0xFFFE, /* a reference to a blob, in the heap */
    FIRN_SLOT_NULL = 0xFFFF,
};

/* The stamps of a realm's core while nothing may be written in place: in a frozen realm, and in a live one outside a
 * transaction. No node has either stamp. */
static const uint64_t FIRN_STAMP_FROZEN = 0;
static const uint64_t FIRN_STAMP_READ_ONLY = UINT64_MAX;

/* The state of a realm that its accessors read at each access. It belongs to the realm's thread. The state of a frozen
 * realm never changes. */
typedef struct firn_realm_core {
    uint64_t generation; /* rises whenever an accessor's leaf may be gone or its row may have moved */
    uint64_t thread;     /* the owning thread's number; compared under the mask */
    uint64_t mask;       /* 0 if any thread may read */
    uint64_t stamp;      /* nodes with this stamp may be written in place: the running transaction's stamp */
    uint64_t root;       /* the address of the version's root node; 0 if nothing is pinned */
    int64_t accessors;   /* the number of accessors counted on this core; changed only by the realm's own work */
    int64_t released;    /* the number of these that were released on other threads; atomic */
    /* The thread on which a release is the realm's own work. FIRN_NO_THREAD if the realm belongs to a main queue that
     * moves between threads. */
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
