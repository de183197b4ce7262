#include "firn_system.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

// MARK: threads

enum { firn_thread_stack_size = 4 << 20, firn_thread_name_size = 16 };

struct firn_thread_start_context {
    void *(*body)(void *);
    void *context;
    char name[firn_thread_name_size];
    bool taken;
    pthread_mutex_t lock;
    pthread_cond_t started;
};

static void *firn_thread_main(void *argument) {
    struct firn_thread_start_context *start = argument;
    void *(*body)(void *) = start->body;
    void *context = start->context;
#if defined(__APPLE__)
    pthread_setname_np(start->name);
#else
    pthread_setname_np(pthread_self(), start->name);
#endif
    pthread_mutex_lock(&start->lock);
    start->taken = true;
    pthread_cond_signal(&start->started);
    pthread_mutex_unlock(&start->lock);
    return body(context);
}

int firn_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *context) {
    struct firn_thread_start_context start = {.body = body, .context = context, .taken = false};
    // The system keeps 15 bytes of a name; a longer one would be refused.
    strncpy(start.name, name, sizeof start.name - 1);
    pthread_mutex_init(&start.lock, NULL);
    pthread_cond_init(&start.started, NULL);

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        error = pthread_attr_setstacksize(&attributes, firn_thread_stack_size);
        if (error == 0) {
            sigset_t all, before;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
            error = pthread_create(thread, &attributes, firn_thread_main, &start);
            pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
        pthread_attr_destroy(&attributes);
    }
    if (error == 0) {
        pthread_mutex_lock(&start.lock);
        while (!start.taken) pthread_cond_wait(&start.started, &start.lock);
        pthread_mutex_unlock(&start.lock);
    }
    pthread_cond_destroy(&start.started);
    pthread_mutex_destroy(&start.lock);
    return error;
}

// MARK: conditions

int firn_condition_init(pthread_cond_t *condition) {
#if defined(__APPLE__)
    return pthread_cond_init(condition, NULL);
#else
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error != 0) return error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (error == 0) error = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
#endif
}

int firn_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline) {
    if (deadline < 0) deadline = 0;
#if defined(__APPLE__)
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = deadline - (now.tv_sec * INT64_C(1000000000) + now.tv_nsec);
    if (left <= 0) return ETIMEDOUT;
    struct timespec relative = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    return pthread_cond_timedwait_relative_np(condition, mutex, &relative);
#else
    struct timespec absolute = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
    return pthread_cond_timedwait(condition, mutex, &absolute);
#endif
}
