#include "firn_system.h"

#include "firn_core.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#else
#include <mach/vm_inherit.h>
#include <malloc/malloc.h>
#include <os/os_sync_wait_on_address.h>
#include <sys/mount.h>
#include <sys/param.h>
#endif

// Commands for locks of open file descriptions. Every system that Firn supports has them under one of these numbers.
#if !defined(F_OFD_SETLK)
#if defined(__linux__)
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#elif defined(__APPLE__)
#define F_OFD_SETLK 90
#define F_OFD_GETLK 92
#else
#error "Firn needs locks of open file descriptions (F_OFD_SETLK)"
#endif
#endif

// MARK: threads

enum { firn_thread_stack_size = 4 << 20, firn_thread_name_size = 16 };

// The data that a new thread needs to begin. The thread frees it.
struct firn_thread_start_context {
    void *(*body)(void *);
    void *context;
    char name[firn_thread_name_size];
};

static void *firn_thread_main(void *argument) {
    struct firn_thread_start_context start = *(struct firn_thread_start_context *)argument;
    free(argument);
#if defined(__APPLE__)
    pthread_setname_np(start.name);
#else
    pthread_setname_np(pthread_self(), start.name);
#endif
    return start.body(start.context);
}

int firn_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *context) {
    struct firn_thread_start_context *start = calloc(1, sizeof *start);
    if (start == NULL) return ENOMEM;
    start->body = body;
    start->context = context;
    // The system allows names of at most 15 bytes and refuses a longer one.
    strncpy(start->name, name, sizeof start->name - 1);

    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        error = pthread_attr_setstacksize(&attributes, firn_thread_stack_size);
        if (error == 0) {
            sigset_t all, before;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
            error = pthread_create(thread, &attributes, firn_thread_main, start);
            pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
        pthread_attr_destroy(&attributes);
    }
    if (error != 0) free(start);
    return error;
}

// It only rises; 64 bits never overflow.
static uint64_t last_thread_number = 0;
__thread uint64_t firn_own_thread_number = 0;

uint64_t firn_thread_number(void) {
    if (firn_own_thread_number == 0) {
        firn_own_thread_number = __atomic_add_fetch(&last_thread_number, 1, __ATOMIC_RELAXED);
    }
    return firn_own_thread_number;
}

static void (*thread_end)(void *value) = NULL;
static pthread_key_t thread_end_key;
static int thread_end_error = 0;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void firn_thread_ends(void *value) { __atomic_load_n(&thread_end, __ATOMIC_ACQUIRE)(value); }

static void firn_make_thread_end_key(void) { thread_end_error = pthread_key_create(&thread_end_key, firn_thread_ends); }

int firn_thread_set_end(void *value, void (*end)(void *value)) {
    __atomic_store_n(&thread_end, end, __ATOMIC_RELEASE);
    pthread_once(&thread_end_once, firn_make_thread_end_key);
    return thread_end_error != 0 ? thread_end_error : pthread_setspecific(thread_end_key, value);
}

static __thread int callback_depth = 0;

int firn_callback_depth(int change) { return callback_depth += change; }

void *firn_thread_end_value(void) {
    pthread_once(&thread_end_once, firn_make_thread_end_key);
    return thread_end_error != 0 ? NULL : pthread_getspecific(thread_end_key);
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

static __thread uint64_t lock_ranks = 0;

uint64_t firn_lock_ranks(void) { return lock_ranks; }

void firn_lock_ranks_set(uint64_t ranks) { lock_ranks = ranks; }

// MARK: fork

uint32_t firn_fork_generation_value = 0;

// The descriptors of lock files and folders, guarded by the mutex. A fork takes the mutex too, so that no descriptor is
// open but not listed in the child.
static pthread_mutex_t lock_list_mutex = PTHREAD_MUTEX_INITIALIZER;
static int *lock_list = NULL;
static size_t lock_list_count = 0;
static size_t lock_list_capacity = 0;

struct firn_global firn_globals[FIRN_GLOBAL_COUNT] = {
    [0 ... FIRN_GLOBAL_COUNT - 1] = {.mutex = PTHREAD_MUTEX_INITIALIZER},
};

void *firn_shared_objects[FIRN_SHARED_OBJECT_COUNT];

static uint64_t process_seed = 0;

uint64_t firn_process_seed(void) { return __atomic_load_n(&process_seed, __ATOMIC_RELAXED); }

uint64_t firn_set_process_seed(uint64_t seed) {
    uint64_t before = 0;
    bool is_set = __atomic_compare_exchange_n(
        &process_seed, &before, seed, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return is_set ? seed : before;
}

// Ids need only its lowest 24 bits.
static uint32_t object_id_count = 0;

uint32_t firn_next_object_id_count(void) { return __atomic_add_fetch(&object_id_count, 1, __ATOMIC_RELAXED); }

// The array lies in the .bss section, so it does not make the program's file longer.
static _Alignas(4096) unsigned char zeros[FIRN_ZERO_BYTE_COUNT];

const void *firn_zeros(void) { return zeros; }

static void firn_fork_prepare(void) {
    // Only debug builds record which locks a thread holds. Such a lock would be locked in the child for ever, and if it
    // is one of those below, this thread would wait for itself here.
    if (lock_ranks != 0) {
        static const char message[] =
            "Firn: a thread forks while it holds one of Firn's locks. A thread that forks must hold none of them.\n";
        ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
        (void)written;
        abort();
    }
    // Lock in the order of the numbers.
    for (size_t i = 0; i < FIRN_GLOBAL_COUNT; i++) pthread_mutex_lock(&firn_globals[i].mutex);
    pthread_mutex_lock(&lock_list_mutex);
    firn_core_fork_prepare();
}

static void firn_fork_release(void) {
    pthread_mutex_unlock(&lock_list_mutex);
    for (size_t i = FIRN_GLOBAL_COUNT; i > 0; i--) pthread_mutex_unlock(&firn_globals[i - 1].mutex);
}

static void firn_fork_parent(void) {
    firn_core_fork_parent();
    firn_fork_release();
}

// Closing the child's descriptor leaves the parent's open file, and so the lock, as it is.
static void firn_fork_child(void) {
    for (size_t i = 0; i < lock_list_count; i++) close(lock_list[i]);
    lock_list_count = 0;
    __atomic_store_n(&process_seed, 0, __ATOMIC_RELAXED);
    __atomic_fetch_add(&firn_fork_generation_value, 1, __ATOMIC_SEQ_CST);
    firn_core_fork_child();
    firn_fork_release();
}

// An application's own fork handlers must not call Firn, nor release Firn's objects. The system calls the handlers
// before a fork in the reverse order of their registration, and the handlers after it in the order of registration.
// These handlers are registered when the program is loaded, so nearly all others are called before these locks are
// taken and after they are released. But a handler of an image that was loaded earlier runs while its own thread holds
// the locks, and would wait for ever. In the child, a handler that runs before `firn_fork_child` would use the parent's
// objects, because neither the fork generation nor the cores have changed yet.
__attribute__((constructor)) static void firn_fork_watch(void) {
    pthread_atfork(firn_fork_prepare, firn_fork_parent, firn_fork_child);
}

// MARK: opening

int firn_open(int folder, const char *name, int flags, mode_t mode) {
    int result;
    do result = openat(folder, name, flags | O_CLOEXEC, mode);
    while (result < 0 && errno == EINTR);
    if (result < 0) return -errno;
    if (result > 2) return result;
    int moved = fcntl(result, F_DUPFD_CLOEXEC, 3);
    int error = errno;
    close(result);
    return moved < 0 ? -error : moved;
}

// MARK: identity

#if defined(__linux__)
// The fields that statx fills in, as far as they are used here. The C libraries of older systems do not declare the
// struct.
struct firn_statx {
    uint32_t mask;
    uint32_t unused[7];
    uint64_t number;
    uint64_t unused_too[12];
    uint32_t device_major, device_minor;
    uint64_t rest[14];
};
_Static_assert(offsetof(struct firn_statx, number) == 32, "the inode's number");
_Static_assert(offsetof(struct firn_statx, device_major) == 136, "the device's number");
_Static_assert(sizeof(struct firn_statx) == 256, "all that the system may write");
enum { FIRN_STATX_INO = 0x100 };
#endif

int firn_identify(int folder, const char *name, uint64_t *device, uint64_t *number) {
    int result;
#if defined(__linux__) && defined(SYS_statx)
    struct firn_statx found;
    do result = (int)syscall(SYS_statx, folder, name, AT_SYMLINK_NOFOLLOW, FIRN_STATX_INO, &found);
    while (result < 0 && errno == EINTR);
    if (result == 0 && (found.mask & FIRN_STATX_INO)) {
        *device = makedev(found.device_major, found.device_minor);
        *number = found.number;
        return 0;
    }
    // Kernels before 4.11 do not have the call, and some containers forbid it.
    if (result < 0 && errno != ENOSYS && errno != EPERM) return errno;
#endif
    struct stat status;
    do result = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW);
    while (result < 0 && errno == EINTR);
    if (result < 0) return errno;
    *device = (uint64_t)status.st_dev;
    *number = (uint64_t)status.st_ino;
    return 0;
}

// MARK: locks

int firn_lock_open(int folder, const char *name, int flags, mode_t mode) {
    pthread_mutex_lock(&lock_list_mutex);
    int result = 0;
    if (lock_list_count == lock_list_capacity) {
        size_t capacity = lock_list_capacity == 0 ? 16 : 2 * lock_list_capacity;
        int *grown = realloc(lock_list, capacity * sizeof *grown);
        if (grown == NULL) {
            result = -ENOMEM;
        } else {
            lock_list = grown;
            lock_list_capacity = capacity;
        }
    }
    if (result == 0) {
        result = firn_open(folder, name, flags, mode);
        if (result >= 0) lock_list[lock_list_count++] = result;
    }
    pthread_mutex_unlock(&lock_list_mutex);
    return result;
}

// A lock belongs to the open file, and not to the descriptor. While another thread starts a program (vfork,
// posix_spawn), that program has a copy of the descriptor until its exec, and would keep the locks: no fork handler
// closes the copy.
static void firn_unlock_all(int descriptor) {
    struct flock request;
    memset(&request, 0, sizeof request);
    request.l_type = F_UNLCK;
    request.l_whence = SEEK_SET;
    // Errors mean that there was no lock.
    while (fcntl(descriptor, F_OFD_SETLK, &request) < 0 && errno == EINTR) {}
    while (flock(descriptor, LOCK_UN) < 0 && errno == EINTR) {}
}

void firn_lock_close(int descriptor) {
    pthread_mutex_lock(&lock_list_mutex);
    for (size_t i = 0; i < lock_list_count; i++) {
        if (lock_list[i] == descriptor) {
            lock_list[i] = lock_list[--lock_list_count];
            firn_unlock_all(descriptor);
            close(descriptor);
            break;
        }
    }
    pthread_mutex_unlock(&lock_list_mutex);
}

static struct flock firn_lock_request(off_t byte, short type) {
    struct flock request;
    memset(&request, 0, sizeof request);
    request.l_type = type;
    request.l_whence = SEEK_SET;
    request.l_start = byte;
    request.l_len = 1;
    return request;
}

static int firn_lock_set(int descriptor, off_t byte, short type) {
    struct flock request = firn_lock_request(byte, type);
    int result;
    do result = fcntl(descriptor, F_OFD_SETLK, &request);
    while (result < 0 && errno == EINTR);
    if (result == 0) return 0;
    return errno == EACCES ? EAGAIN : errno;
}

int firn_lock_try(int descriptor, off_t byte, bool exclusive) {
    return firn_lock_set(descriptor, byte, exclusive ? F_WRLCK : F_RDLCK);
}

int firn_lock_test(int descriptor, off_t byte, bool exclusive) {
    struct flock request = firn_lock_request(byte, exclusive ? F_WRLCK : F_RDLCK);
    int result;
    do result = fcntl(descriptor, F_OFD_GETLK, &request);
    while (result < 0 && errno == EINTR);
    if (result < 0) return errno;
    return request.l_type == F_UNLCK ? 0 : EAGAIN;
}

int firn_lock_release(int descriptor, off_t byte) { return firn_lock_set(descriptor, byte, F_UNLCK); }

int firn_lock_folder(int descriptor, int operation) {
    int result;
    do result = flock(descriptor, operation | LOCK_NB);
    while (result < 0 && errno == EINTR);
    // Any other error means that folders can't be locked here, or not through this descriptor (O_PATH), or not by this
    // user. The lock is an addition to the locks of bytes, so such an error is no reason to refuse a store.
    return result < 0 && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

// MARK: files

void firn_start_writeback(int descriptor, off_t offset, off_t length) {
#if defined(__linux__)
    sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
#else
    (void)descriptor, (void)offset, (void)length;
#endif
}

int firn_deallocate_range(int descriptor, off_t offset, off_t length) {
    int result;
#if defined(__linux__)
    do result = fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
    while (result < 0 && errno == EINTR);
#else
    struct fpunchhole hole = {.fp_flags = 0, .reserved = 0, .fp_offset = offset, .fp_length = length};
    do result = fcntl(descriptor, F_PUNCHHOLE, &hole);
    while (result < 0 && errno == EINTR);
#endif
    if (result == 0) return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS ? ENOTSUP : errno;
}

int firn_reserve(int descriptor, off_t length) {
    struct stat status;
    if (fstat(descriptor, &status) < 0) return errno;
    if (status.st_size >= length && (off_t)status.st_blocks * 512 >= status.st_size) return 0;
#if defined(__linux__)
    int result;
    do result = fallocate(descriptor, 0, 0, length);
    while (result < 0 && errno == EINTR);
    if (result == 0) return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
#endif
    return firn_reserve_by_writing(descriptor, length);
}

// Linux has this flag since 5.14. Older headers lack its number.
#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

// Allocates blocks for the holes in a file's first `length` bytes. Other processes may have these bytes mapped and
// write to them meanwhile, so the bytes must not be read and written again.
static int firn_fill_holes(int descriptor, off_t length) {
    if (length == 0) return 0;
#if defined(__linux__)
    // This makes the pages writable as a write to each would, but changes nothing. It fails where a write would stop
    // the process.
    void *base = mmap(NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (base == MAP_FAILED) return errno;
    int result;
    do result = madvise(base, (size_t)length, MADV_POPULATE_WRITE);
    while (result < 0 && errno == EINTR);
    int error = result < 0 ? errno : 0;
    munmap(base, (size_t)length);
    // EFAULT says that writing to a page would stop the process, but not why. The writes below return the reason.
    if (error != EINVAL && error != EFAULT) return error;
#endif
    // Otherwise do what posix_fallocate does on a file system without support: write a zero over a zero byte in every
    // 512 bytes, the smallest block. If another process writes that very byte in between, its value is lost. So the
    // byte is one that is always zero: in the shared page (`SharedPage`), a byte without meaning, or one in the upper
    // half of a process id.
    enum { sector = 512, unchanged = 132 };
    for (off_t start = 0; start < length; start += sector) {
        off_t offset = start + unchanged < length ? start + unchanged : length - 1;
        char byte = 0;
        ssize_t count;
        do count = pread(descriptor, &byte, 1, offset);
        while (count < 0 && errno == EINTR);
        if (count < 0) return errno;
        if (byte != 0) continue;
        do count = pwrite(descriptor, &byte, 1, offset);
        while (count < 0 && errno == EINTR);
        if (count < 0) return errno;
    }
    return 0;
}

int firn_reserve_by_writing(int descriptor, off_t length) {
    struct stat status;
    if (fstat(descriptor, &status) < 0) return errno;
    int error = firn_fill_holes(descriptor, status.st_size < length ? status.st_size : length);
    if (error != 0) return error;
    static const char zeros[64 << 10];
    for (off_t offset = status.st_size; offset < length;) {
        size_t left = (size_t)(length - offset);
        ssize_t count = pwrite(descriptor, zeros, left < sizeof zeros ? left : sizeof zeros, offset);
        if (count < 0 && errno != EINTR) return errno;
        if (count > 0) offset += count;
    }
    return 0;
}

int firn_volume_of(int descriptor, const char *path, struct firn_volume *volume) {
    struct statfs status;
    int result;
    do result = path != NULL ? statfs(path, &status) : fstatfs(descriptor, &status);
    while (result < 0 && errno == EINTR);
    if (result < 0) return errno;
    memset(volume, 0, sizeof *volume);
    volume->available = (uint64_t)status.f_bavail * (uint64_t)status.f_bsize;
#if defined(__linux__)
    struct stat file;
    do result = path != NULL ? stat(path, &file) : fstat(descriptor, &file);
    while (result < 0 && errno == EINTR);
    if (result < 0) return errno;
    volume->type = (uint32_t)status.f_type;
    volume->is_local = true;
    volume->device_major = (uint32_t)major(file.st_dev);
    volume->device_minor = (uint32_t)minor(file.st_dev);
#else
    strncpy(volume->name, status.f_fstypename, sizeof volume->name - 1);
    volume->is_local = (status.f_flags & MNT_LOCAL) != 0;
#endif
    return 0;
}

// MARK: reserved addresses

// Linux counts a writable private mapping at its full length, even if it maps a file, and refuses a mapping that is
// longer than all memory and swap. Few pages of the mappings made here are ever written to, so they must not be
// counted.
#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif

void *firn_reserve_memory(size_t length, size_t alignment) {
    size_t mapped = length + alignment;
    char *start = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    char *base = (char *)(((uintptr_t)start + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (base > start) munmap(start, (size_t)(base - start));
    size_t excess = (size_t)(start + mapped - (base + length));
    if (excess > 0) munmap(base + length, excess);
    return base;
}

int firn_map_private(int descriptor, off_t offset, void *address, size_t length) {
    int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    void *result = mmap(address, length, PROT_READ | PROT_WRITE, flags, descriptor, offset);
    if (result == MAP_FAILED) return errno;
    firn_exclude_from_fork(address, length);
    return 0;
}

int firn_fill_reserved(void *address, size_t length) {
    int flags = MAP_PRIVATE | MAP_ANON | MAP_FIXED | MAP_NORESERVE;
    void *result = mmap(address, length, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (result == MAP_FAILED) return errno;
    firn_exclude_from_fork(address, length);
    return 0;
}

int firn_clear_reserved(void *address, size_t length) {
    void *result = mmap(address, length, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (result == MAP_FAILED) return errno;
    firn_exclude_from_fork(address, length);
    return 0;
}

void firn_discard_memory(void *address, size_t length) {
#if defined(__linux__)
    madvise(address, length, MADV_DONTNEED);
#else
    madvise(address, length, MADV_FREE);
#endif
}

void firn_exclude_from_fork(void *address, size_t length) {
#if defined(__linux__)
    madvise(address, length, MADV_DONTFORK);
#else
    minherit(address, length, VM_INHERIT_NONE);
#endif
}

int firn_open_nameless(int folder) {
#if defined(O_TMPFILE)
    int result = firn_open(folder, ".", O_TMPFILE | O_RDWR | O_EXCL, 0600);
    // These are the errors of kernels and file systems that do not know the flag and try to open the folder itself.
    return result == -EOPNOTSUPP || result == -EISDIR || result == -EINVAL ? -ENOTSUP : result;
#else
    (void)folder;
    return -ENOTSUP;
#endif
}

void firn_release_memory(void *address, size_t length) { munmap(address, length); }

// MARK: shared mappings of files

// Widens a range to whole pages.
static void *firn_whole_pages(void *address, size_t *length) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)address & ~(page - 1);
    uintptr_t end = ((uintptr_t)address + *length + page - 1) & ~(page - 1);
    *length = end - start;
    return (void *)start;
}

int firn_write_back(void *address, size_t length) {
    void *start = firn_whole_pages(address, &length);
    int result;
    do result = msync(start, length, MS_SYNC);
    while (result < 0 && errno == EINTR);
    return result < 0 ? errno : 0;
}

void firn_return_freed_memory(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#elif defined(__APPLE__)
    malloc_zone_pressure_relief(NULL, 0);
#endif
    // musl returns it by itself.
}

void firn_page_out(void *address, size_t length) {
    void *start = firn_whole_pages(address, &length);
#if defined(__linux__)
    enum { firn_page_out = 21 };  // MADV_PAGEOUT, since Linux 5.4
    if (madvise(start, length, firn_page_out) == 0) return;
#endif
    // For a shared mapping of a file this unmaps the pages from the process. Their contents stay in the page cache and
    // the file.
    madvise(start, length, MADV_DONTNEED);
}

// MARK: words to wait for

#if defined(__linux__)

int firn_word_wait(const uint32_t *word, uint32_t expected, int64_t timeout, bool is_shared) {
    struct timespec left = {.tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000};
    int operation = is_shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
    long result = syscall(SYS_futex, word, operation, expected, timeout < 0 ? NULL : &left, NULL, 0);
    return result < 0 && errno == ETIMEDOUT ? ETIMEDOUT : 0;
}

void firn_word_wake(const uint32_t *word, int count, bool is_shared) {
    syscall(SYS_futex, word, is_shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#else

int firn_word_wait(const uint32_t *word, uint32_t expected, int64_t timeout, bool is_shared) {
    os_sync_wait_on_address_flags_t flags =
        is_shared ? OS_SYNC_WAIT_ON_ADDRESS_SHARED : OS_SYNC_WAIT_ON_ADDRESS_NONE;
    int result;
    if (timeout < 0)
        result = os_sync_wait_on_address((void *)word, expected, sizeof *word, flags);
    else if (timeout == 0)  // the call below refuses a timeout of 0
        return __atomic_load_n(word, __ATOMIC_SEQ_CST) == expected ? ETIMEDOUT : 0;
    else
        result = os_sync_wait_on_address_with_timeout(
            (void *)word, expected, sizeof *word, flags, OS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)timeout);
    return result < 0 && errno == ETIMEDOUT ? ETIMEDOUT : 0;
}

void firn_word_wake(const uint32_t *word, int count, bool is_shared) {
    os_sync_wake_by_address_flags_t flags =
        is_shared ? OS_SYNC_WAKE_BY_ADDRESS_SHARED : OS_SYNC_WAKE_BY_ADDRESS_NONE;
    if (count > 1) {
        os_sync_wake_by_address_all((void *)word, sizeof *word, flags);
    } else {
        os_sync_wake_by_address_any((void *)word, sizeof *word, flags);
    }
}

#endif
