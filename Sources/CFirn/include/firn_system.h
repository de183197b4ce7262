#ifndef FIRN_SYSTEM_H
#define FIRN_SYSTEM_H

// System services that Swift can't express: the thread's identity without a call, OFD locks, futexes, writeback, the
// handling of locks at a fork, and atomics on memory that other processes have mapped.

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

// The number of the calling thread. No other thread of the process gets this number, not even after this thread has
// ended. It is 0 until `firn_thread_number` is called on the thread. `initial-exec` makes a read one load relative to
// the thread register, without a call, even in a shared library.
#if defined(__APPLE__)
extern __thread uint64_t firn_own_thread_number;
#else
extern __thread uint64_t firn_own_thread_number __attribute__((tls_model("initial-exec")));
#endif

// A number that no thread has.
#define FIRN_NO_THREAD UINT64_MAX

// It is `pure`, so the compiler may drop a second call and needs no retain and release around it (an opaque call costs
// every property access about 18 ns). It is not `const`, so the compiler may not move it past a point where the thread
// can change.
static inline __attribute__((always_inline, pure)) uint64_t firn_thread_id(void) { return firn_own_thread_number; }

// The number of the calling thread. A thread that has none yet gets one now.
uint64_t firn_thread_number(void);

// Calls `end` with `value` once, on the calling thread, when that thread ends. It is not called on the main thread,
// with which the process ends. Every call must pass the same `end`. Returns 0 or an error number.
int firn_thread_set_end(void *_Nonnull value, void (*_Nonnull end)(void *_Nonnull value));
// Changes the calling thread's depth of nested callbacks by `change`, and returns it.
int firn_callback_depth(int change);

// The value that the calling thread has passed to `firn_thread_set_end`. NULL if it has passed none, or its end has
// begun.
void *_Nullable firn_thread_end_value(void);

// The number of innermost frames of the calling thread's stack, up to `limit`, that can be found by frame pointers
// without reading outside of the stack. Behind code that was compiled without frame pointers, the register may hold
// anything. 0 on other systems than Linux, and on other processors than x86-64 and ARM.
int firn_frame_count(int limit);

// The number of frames, up to `limit`, of the chain that begins at `frame`, as far as they lie between two addresses.
// The chain ends at a frame whose caller's frame does not lie above it.
int firn_frames_between(const void *_Nonnull frame, const void *_Nonnull start, const void *_Nonnull end, int limit);

// A thread of the system. Where the type is a pointer, its nullability must be stated.
#if defined(__GLIBC__)
#define FIRN_THREAD pthread_t
#else
#define FIRN_THREAD pthread_t _Nullable
#endif

// Starts a joinable thread with every signal blocked, so that the application's handlers run on the application's
// threads. Returns 0 or an error number.
int firn_thread_start(FIRN_THREAD *_Nonnull thread, const char *_Nonnull name,
                      void *_Nullable (*_Nonnull body)(void *_Nonnull), void *_Nonnull context);

// A condition variable whose deadlines are times of the monotonic clock. Both functions return 0 or an error number.
int firn_condition_init(pthread_cond_t *_Nonnull condition);
// Waits for a signal. Returns ETIMEDOUT once `deadline` (nanoseconds of the monotonic clock) has passed.
int firn_condition_wait_until(pthread_cond_t *_Nonnull condition, pthread_mutex_t *_Nonnull mutex, int64_t deadline);

// The ranks of the locks that the calling thread holds, one bit each. Debug builds use them to check the order of locks
// (`LockRank`).
uint64_t firn_lock_ranks(void);
void firn_lock_ranks_set(uint64_t ranks);

// MARK: fork

// A number that rises by one in a forked child. Code that remembers the number can tell that it now runs in a child,
// and that locks, threads and the writer's role have stayed with the parent.
extern uint32_t firn_fork_generation_value;
static inline __attribute__((always_inline)) uint32_t firn_fork_generation(void) {
    return __atomic_load_n(&firn_fork_generation_value, __ATOMIC_RELAXED);
}

// The locks that live as long as the process, by number (`GlobalLock`), each with the value that it guards. They are
// static, so that no fork finds a half-initialised lock. Every fork takes all of them, so that they are free in the
// child, whichever thread of the parent held them. They are held for a few instructions only, and none is taken while
// another is held.
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
// Sets the value, which then never changes. False if a value is set already.
static inline bool firn_global_set_value(int32_t number, void *_Nonnull value) {
    void *none = NULL;
    return __atomic_compare_exchange_n(
        &firn_globals[number].value, &none, value, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Objects that live as long as the process, by number (`SharedObject`). Each is made at its first use, without a lock
// that another thread could hold during a fork.
enum { FIRN_SHARED_OBJECT_COUNT = 8 };
extern void *_Nullable firn_shared_objects[FIRN_SHARED_OBJECT_COUNT];
static inline void *_Nullable firn_shared_object(int32_t number) {
    return __atomic_load_n(&firn_shared_objects[number], __ATOMIC_ACQUIRE);
}
// Sets the object, which then never changes. False if an object is set already.
static inline bool firn_set_shared_object(int32_t number, void *_Nonnull object) {
    void *none = NULL;
    return __atomic_compare_exchange_n(
        &firn_shared_objects[number], &none, object, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// A random number of this process; 0 until it is set. It is 0 in a forked child, so that the child makes its own.
uint64_t firn_process_seed(void);
// Sets the number, unless another thread has set it. Returns the number that is set now.
uint64_t firn_set_process_seed(uint64_t seed);
// Returns a number that rises by one with each call, on whatever thread.
uint32_t firn_next_object_id_count(void);

// Zeros that nobody writes to. They begin at a page boundary.
enum { FIRN_ZERO_BYTE_COUNT = 64 << 10 };
const void *_Nonnull firn_zeros(void);

// MARK: locks

// Opens a lock file, or a folder, with `flags` and `mode` and adds its descriptor to the list of descriptors that a
// forked child closes. A lock belongs to the open file, which the child would share, so the lock would outlive the
// parent. `folder` is as for `firn_open`. Returns the descriptor, or minus an error number.
int firn_lock_open(int folder, const char *_Nonnull name, int flags, mode_t mode);
// Closes the descriptor and removes it from the list.
void firn_lock_close(int descriptor);
// Tries to lock one byte for the open file. Returns 0, EAGAIN if another open file has an excluding lock on it, or
// another error number.
int firn_lock_try(int descriptor, off_t byte, bool exclusive);
// Tests whether `firn_lock_try` would fail because of another open file, without locking anything. Returns EAGAIN if it
// would, 0 if not, or another error number.
int firn_lock_test(int descriptor, off_t byte, bool exclusive);
// Releases one byte. Returns 0 or an error number.
int firn_lock_release(int descriptor, off_t byte);
// Tries to lock a folder, or unlocks it: `operation` is LOCK_SH, LOCK_EX or LOCK_UN. A new lock replaces the one that
// the open folder has. Returns EWOULDBLOCK if another open folder's lock excludes the new one. Otherwise returns 0,
// even where folders can't be locked.
int firn_lock_folder(int descriptor, int operation);

// MARK: files

// Opens a file like `open`, close-on-exec, but never with a descriptor from 0 to 2: a process that has closed its
// streams, as some daemons do, would otherwise write its messages to that file. A call that a signal interrupts is
// repeated. `name` is relative to `folder`, a descriptor or AT_FDCWD. Returns the descriptor, or minus an error number.
int firn_open(int folder, const char *_Nonnull name, int flags, mode_t mode);

// Identifies the file that a name leads to; a link is not followed. `name` is relative to `folder`, a descriptor or
// AT_FDCWD. Returns 0 or an error number.
//
// Unlike `fstatat` it does not read the file's times. Linux notes for each file whether somebody has read its times
// since they last changed. If so, the next write changes them, which the next sync then has to write.
int firn_identify(int folder, const char *_Nonnull name, uint64_t *_Nonnull device, uint64_t *_Nonnull number);

// Begins to write a range out, if the system can. There is no result, because nothing is promised.
void firn_start_writeback(int descriptor, off_t offset, off_t length);
// Punches a hole: releases the blocks of a range, which must be whole blocks of 4 KiB. The range then reads as zeros,
// and the file keeps its length. Returns 0 or an error number, ENOTSUP if this file system can't do it.
int firn_deallocate_range(int descriptor, off_t offset, off_t length);
// Allocates blocks for a file's first `length` bytes and makes it at least that long; never shortens it. Returns 0 or
// an error number.
int firn_reserve(int descriptor, off_t length);
// The part of `firn_reserve` for file systems without fallocate.
int firn_reserve_by_writing(int descriptor, off_t length);

struct firn_volume {
    // The file system's magic number; 0 if the system identifies file systems by name.
    uint32_t type;
    // The file system's name; empty if the system identifies file systems by number.
    char name[16];
    // False if the system says that the volume is on another machine.
    bool is_local;
    // On Linux the numbers of the volume's device, by which /proc/self/mountinfo lists it.
    uint32_t device_major, device_minor;
    uint64_t available;
};
// Describes the volume that contains `path`. If `path` is NULL, describes the volume of the open file. Returns 0 or an
// error number.
int firn_volume_of(int descriptor, const char *_Nullable path, struct firn_volume *_Nonnull volume);

// MARK: reserved addresses

// Reserves `length` bytes of addresses that begin at a multiple of `alignment` (a power of two). NULL if not enough
// addresses are left. Nothing can be read there until one of the next two functions fills it. Their ranges are whole
// pages, and they return 0 or an error number.
void *_Nullable firn_reserve_memory(size_t length, size_t alignment);
// Maps the file's bytes to `address`. Changes there are private to this process and never reach the file.
int firn_map_private(int descriptor, off_t offset, void *_Nonnull address, size_t length);
// Maps zeros to `address`, as ordinary memory.
int firn_fill_reserved(void *_Nonnull address, size_t length);
// Removes the mapping at `address`; the addresses stay reserved.
int firn_clear_reserved(void *_Nonnull address, size_t length);
// Gives up the contents of whole pages, whose memory the system may then use for others. Reading them afterwards gives
// anything.
void firn_discard_memory(void *_Nonnull address, size_t length);
void firn_release_memory(void *_Nonnull address, size_t length);

// Excludes a mapping from the memory of forked children. The system then stops a child that accesses the mapping,
// instead of letting it read what the parent has written there since the fork.
void firn_exclude_from_fork(void *_Nonnull address, size_t length);

// MARK: shared mappings of files

// Opens a file without a name in a folder, which only its owner may read and write. Returns the descriptor, or minus an
// error number: ENOTSUP if the file system has no such files.
int firn_open_nameless(int folder);

// Writes the changes in a range out to the file, and waits until they are there. Returns 0 or an error number.
int firn_write_back(void *_Nonnull address, size_t length);
// Hints to the system to reclaim the memory of a range that has been written out. The range stays readable, from the
// file.
void firn_page_out(void *_Nonnull address, size_t length);

// Allocates memory at a multiple of 16, to be freed by `firn_deallocate`. NULL if none is left. Swift's own call for
// raw memory without a known type uses posix_memalign, which costs three times as much.
static inline __attribute__((always_inline)) void *_Nullable firn_allocate(size_t size) { return malloc(size); }
static inline __attribute__((always_inline)) void *_Nullable firn_allocate_zeros(size_t count, size_t size) {
    return calloc(count, size);
}
static inline __attribute__((always_inline)) void firn_deallocate(void *_Nonnull memory) { free(memory); }
// Returns the memory that was freed to the system, as far as it makes up whole pages. malloc keeps it otherwise.
void firn_return_freed_memory(void);

// MARK: words to wait for

// Waits while the word equals `expected`, until it is woken or for `timeout` nanoseconds (below 0: without limit).
// Returns 0 if woken or if the word had another value (it may still be `expected`: check again), ETIMEDOUT if the time
// has passed. If `is_shared` is true, other processes may wake it, through memory that both have mapped. If it is
// false, the wait is cheaper, but works within one process only.
int firn_word_wait(const uint32_t *_Nonnull word, uint32_t expected, int64_t timeout, bool is_shared);
// Wakes one waiter, or all if `count` is above 1. `is_shared` must be the same as the waiters'.
void firn_word_wake(const uint32_t *_Nonnull word, int count, bool is_shared);

// All operations are sequentially consistent: the shared page is accessed a few times per commit, where the cost of a
// barrier is negligible.
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
