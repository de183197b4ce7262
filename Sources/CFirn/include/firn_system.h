#ifndef FIRN_SYSTEM_H
#define FIRN_SYSTEM_H

// What Swift can't say of the operating system: the thread's identity without a call, OFD locks, futexes, writeback, what
// happens to locks at fork, and atomics on memory that other processes have mapped.

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

// The number of the calling thread, which no other thread of the process gets, not even after this one has ended; 0 for a thread that has not
// asked for one yet (`firn_thread_number`). `initial-exec`: one load beside the thread register, and no call, also in a shared library.
#if defined(__APPLE__)
extern __thread uint64_t firn_own_thread_number;
#else
extern __thread uint64_t firn_own_thread_number __attribute__((tls_model("initial-exec")));
#endif

// No thread's number.
#define FIRN_NO_THREAD UINT64_MAX

// `pure`, and not `const`: the compiler may drop a second call, and needs no retain and release around it (an opaque call costs every property
// access about 18 ns), yet may not move it over a point where the thread can change.
static inline __attribute__((always_inline, pure)) uint64_t firn_thread_id(void) { return firn_own_thread_number; }

// The number of the calling thread, given to it now if it has none.
uint64_t firn_thread_number(void);

// Calls `end` with `value` when the calling thread ends, on it, once; not on the main thread, with which the process ends. Every call passes the same
// `end`. Returns 0 or an error number.
int firn_thread_set_end(void *_Nonnull value, void (*_Nonnull end)(void *_Nonnull value));
// Changes the calling thread's depth of callbacks within callbacks by `change`, and returns it.
int firn_callback_depth(int change);

// What the calling thread has set so; NULL where it has not, or its end has begun.
void *_Nullable firn_thread_end_value(void);

// Starts a joinable thread with every signal blocked, so that the application's handlers run on the application's threads.
// Returns 0 or an error number.
int firn_thread_start(pthread_t *_Nonnull thread, const char *_Nonnull name,
                      void *_Nullable (*_Nonnull body)(void *_Nonnull), void *_Nonnull context);

// A condition variable whose deadlines are the monotonic clock's. All return 0 or an error number.
int firn_condition_init(pthread_cond_t *_Nonnull condition);
// Waits until signalled or until `deadline` (nanoseconds of the monotonic clock); ETIMEDOUT when it has passed.
int firn_condition_wait_until(pthread_cond_t *_Nonnull condition, pthread_mutex_t *_Nonnull mutex, int64_t deadline);

// The ranks of the locks that the calling thread holds, a bit each: what debug builds check the order of locks by (`LockRank`).
uint64_t firn_lock_ranks(void);
void firn_lock_ranks_set(uint64_t ranks);

// MARK: fork

// A number that rises by one in a forked child. Whoever remembers it knows that it has become a child, and that locks,
// threads and the writer's role have stayed with the parent.
extern uint32_t firn_fork_generation_value;
static inline __attribute__((always_inline)) uint32_t firn_fork_generation(void) {
    return __atomic_load_n(&firn_fork_generation_value, __ATOMIC_RELAXED);
}

// The locks that live as long as the process, by number (`GlobalLock`), each with a value to guard. Static, so that a
// fork never finds one half made. Every fork takes all of them, so that they are free in the child whatever thread of
// the parent had one. They are held for a few instructions, and none is taken under another.
enum { FIRN_GLOBAL_COUNT = 16 };
struct firn_global {
    pthread_mutex_t mutex;
    void *_Nullable value;
};
extern struct firn_global firn_globals[FIRN_GLOBAL_COUNT];
static inline pthread_mutex_t *_Nonnull firn_global_mutex(int32_t number) { return &firn_globals[number].mutex; }
static inline void *_Nullable firn_global_value(int32_t number) {
    return __atomic_load_n(&firn_globals[number].value, __ATOMIC_ACQUIRE);
}
// Sets the value, which stays; false where there is one.
static inline bool firn_global_set_value(int32_t number, void *_Nonnull value) {
    void *none = NULL;
    return __atomic_compare_exchange_n(
        &firn_globals[number].value, &none, value, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Objects that live as long as the process, by number (`SharedObject`), made at their first use without a lock that a
// fork could find taken.
enum { FIRN_SHARED_OBJECT_COUNT = 8 };
extern void *_Nullable firn_shared_objects[FIRN_SHARED_OBJECT_COUNT];
static inline void *_Nullable firn_shared_object(int32_t number) {
    return __atomic_load_n(&firn_shared_objects[number], __ATOMIC_ACQUIRE);
}
// Sets the object, which stays; false where there is one.
static inline bool firn_set_shared_object(int32_t number, void *_Nonnull object) {
    void *none = NULL;
    return __atomic_compare_exchange_n(
        &firn_shared_objects[number], &none, object, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Zeros that nobody writes to, at a page's beginning.
enum { FIRN_ZERO_BYTE_COUNT = 64 << 10 };
const void *_Nonnull firn_zeros(void);

// MARK: locks

// Opens a lock file with `flags` and `mode` and enters its descriptor in the list of those that a forked child closes: a lock
// belongs to the open file, which the child would share, so that the lock would not go with the parent. Returns the descriptor,
// or minus an error number.
int firn_lock_open(const char *_Nonnull path, int flags, mode_t mode);
// Closes the descriptor and strikes it off the list.
void firn_lock_close(int descriptor);
// Tries to lock one byte for the open file. 0, EAGAIN where another holds it, or another error number.
int firn_lock_try(int descriptor, off_t byte, bool exclusive);
// Whether `firn_lock_try` would be refused because of another open file, locking nothing: EAGAIN if so, 0 if not, or another error number.
int firn_lock_test(int descriptor, off_t byte, bool exclusive);
// Releases one byte. 0 or an error number.
int firn_lock_release(int descriptor, off_t byte);

// MARK: files

// Makes data and length durable, to the medium. 0 or an error number.
int firn_sync_data(int descriptor);
// Begins writing a range out where the system can; no result, as it promises nothing.
void firn_start_writeback(int descriptor, off_t offset, off_t length);
// Gives the blocks of a range of whole 4 KiB back: it reads as zeros from then on, and the file keeps its length. 0 or an error number, ENOTSUP where this file system can't.
int firn_deallocate_range(int descriptor, off_t offset, off_t length);
// Gives a file blocks for its first `length` bytes and at least that length; never shortens it. 0 or an error number.
int firn_reserve(int descriptor, off_t length);

struct firn_volume {
    // The file system's magic number; 0 where the system names it.
    uint32_t type;
    // The file system's name; empty where the system numbers it.
    char name[16];
    // False where the system says that it is on another machine.
    bool is_local;
    uint64_t available;
};
// What the volume that holds `path` is like. 0 or an error number.
int firn_volume_of(const char *_Nonnull path, struct firn_volume *_Nonnull volume);

// MARK: reserved addresses

// Reserves `length` bytes of addresses that begin at a multiple of `alignment` (a power of two); NULL where there are none. Nothing can be read there
// until it is filled by one of the two below, whose ranges are whole pages. They return an errno.
void *_Nullable firn_reserve_memory(size_t length, size_t alignment);
// Puts the file's bytes at `address`. What is changed there is this process's alone and never reaches the file.
int firn_map_private(int descriptor, off_t offset, void *_Nonnull address, size_t length);
// Puts zeros at `address`, as ordinary memory.
int firn_fill_reserved(void *_Nonnull address, size_t length);
// Takes away what lies at `address`; the addresses stay reserved.
int firn_clear_reserved(void *_Nonnull address, size_t length);
void firn_release_memory(void *_Nonnull address, size_t length);

// Takes a mapping out of what a forked child gets: whoever touches it there is stopped by the system instead of reading what the parent has put there since.
void firn_keep_from_children(void *_Nonnull address, size_t length);

// MARK: shared mappings of files

// Opens a file without a name in a folder, for its owner to read and write. Returns the descriptor, or minus an error number: ENOTSUP where the file system has no such files.
int firn_open_nameless(const char *_Nonnull folder);

// Writes what was changed in a range out to the file. Returns when it is there: 0 or an error number.
int firn_write_back(void *_Nonnull address, size_t length);
// Asks the system to take back the memory of a range that has been written out. What lies there stays readable, from the file. A hint.
void firn_give_back(void *_Nonnull address, size_t length);

// Memory at a multiple of 16, for `firn_deallocate`. Swift's own call for raw memory without a known type goes by posix_memalign, which
// costs three times as much. NULL where there is none left.
static inline __attribute__((always_inline)) void *_Nullable firn_allocate(size_t size) { return malloc(size); }
static inline __attribute__((always_inline)) void *_Nullable firn_allocate_zeros(size_t count, size_t size) {
    return calloc(count, size);
}
static inline __attribute__((always_inline)) void firn_deallocate(void *_Nonnull memory) { free(memory); }

// MARK: words to wait for

// Waits while the word is `expected`, until woken or for `timeout` nanoseconds (below 0: without end). 0 when woken or when the
// word was another (it may be `expected` still: look again), ETIMEDOUT when the time has passed. `is_shared`: other processes
// may wake it, by memory that both have mapped; within one process it is cheaper without.
int firn_word_wait(const uint32_t *_Nonnull word, uint32_t expected, int64_t timeout, bool is_shared);
// Wakes one waiter, or all where `count` is above 1. `is_shared` as the waiters have it.
void firn_word_wake(const uint32_t *_Nonnull word, int count, bool is_shared);

// All sequentially consistent: the shared page is touched a few times a commit, where a barrier costs nothing to speak of.
#define FIRN_ATOMICS(bits)                                                                                              \
    static inline __attribute__((always_inline)) uint##bits##_t firn_atomic_load_##bits(                              \
        const uint##bits##_t *_Nonnull word) {                                                                          \
        return __atomic_load_n(word, __ATOMIC_SEQ_CST);                                                                 \
    }                                                                                                                   \
    static inline __attribute__((always_inline)) void firn_atomic_store_##bits(                                       \
        uint##bits##_t *_Nonnull word, uint##bits##_t value) {                                                          \
        __atomic_store_n(word, value, __ATOMIC_SEQ_CST);                                                                \
    }                                                                                                                   \
    static inline __attribute__((always_inline)) uint##bits##_t firn_atomic_exchange_##bits(                          \
        uint##bits##_t *_Nonnull word, uint##bits##_t value) {                                                          \
        return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);                                                      \
    }                                                                                                                   \
    static inline __attribute__((always_inline)) uint##bits##_t firn_atomic_add_##bits(                               \
        uint##bits##_t *_Nonnull word, uint##bits##_t value) {                                                          \
        return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                                   \
    static inline __attribute__((always_inline)) bool firn_atomic_compare_exchange_##bits(                            \
        uint##bits##_t *_Nonnull word, uint##bits##_t *_Nonnull expected, uint##bits##_t desired) {                     \
        return __atomic_compare_exchange_n(word, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);         \
    }
FIRN_ATOMICS(32)
FIRN_ATOMICS(64)
#undef FIRN_ATOMICS

#endif
