#ifndef FIRN_SYSTEM_H
#define FIRN_SYSTEM_H

// What Swift can't say of the operating system: the thread's identity without a call, OFD locks, futexes, writeback, what
// happens to locks at fork, and atomics on memory that other processes have mapped.

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// A number that tells the running threads apart. `pure`, and not `const`: the compiler may drop a second call, and needs
// no retain and release around it (an opaque call costs every property access about 18 ns), yet may not move it over a
// point where the thread can change.
static inline __attribute__((always_inline, pure)) uintptr_t firn_thread_id(void) {
#if defined(__APPLE__)
    return (uintptr_t)pthread_self();
#elif defined(__clang__) || __GNUC__ >= 11
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

// Starts a joinable thread with every signal blocked, so that the application's handlers run on the application's threads.
// Returns 0 or an error number.
int firn_thread_start(pthread_t *_Nonnull thread, const char *_Nonnull name,
                      void *_Nullable (*_Nonnull body)(void *_Nonnull), void *_Nonnull context);

// A condition variable whose deadlines are the monotonic clock's. All return 0 or an error number.
int firn_condition_init(pthread_cond_t *_Nonnull condition);
// Waits until signalled or until `deadline` (nanoseconds of the monotonic clock); ETIMEDOUT when it has passed.
int firn_condition_wait_until(pthread_cond_t *_Nonnull condition, pthread_mutex_t *_Nonnull mutex, int64_t deadline);

#endif
