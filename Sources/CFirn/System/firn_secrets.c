#include "firn_secrets.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif
#if defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#endif

size_t firn_page_byte_count(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static size_t whole_pages(size_t length) {
    size_t page = firn_page_byte_count();
    return (length + page - 1) / page * page;
}

void firn_exclude_from_dumps(void *address, size_t length) {
#if defined(MADV_DONTDUMP)
    madvise(address, length, MADV_DONTDUMP);
#else
    (void)address;
    (void)length;
#endif
}

// Whether this process ever had a secret.
static atomic_bool had_secret = false;

void *firn_secret_allocate(size_t length) {
    void *secret = mmap(NULL, whole_pages(length), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (secret == MAP_FAILED) return NULL;
    // The limit of locked memory may be used up. The secret is then as safe as the system's swap.
    (void)mlock(secret, whole_pages(length));
    firn_exclude_from_dumps(secret, whole_pages(length));
    atomic_store_explicit(&had_secret, true, memory_order_relaxed);
    return secret;
}

// Overwrites bytes with zeros, in a way that the compiler does not leave out.
static void erase(void *bytes, size_t length) {
    memset(bytes, 0, length);
    __asm__ __volatile__("" : : "r"(bytes) : "memory");
}

void firn_secret_free(void *secret, size_t length) {
    erase(secret, length);
    munmap(secret, whole_pages(length));
    firn_forget_copies();
}

static void __attribute__((noinline)) erase_stack(void) {
    char bytes[48 << 10];
    erase(bytes, sizeof bytes);
}

// malloc gives blocks that were just freed to the next caller who asks for their size.
static void erase_freed_blocks(void) {
    enum { least = 32, most = 1024, step = 16, count = 8 };
    for (size_t size = least; size <= most; size += step) {
        void *blocks[count];
        for (int index = 0; index < count; index++) {
            blocks[index] = malloc(size);
            if (blocks[index] != NULL) erase(blocks[index], size);
        }
        for (int index = 0; index < count; index++) free(blocks[index]);
    }
}

void firn_forget_copies(void) {
    if (!atomic_load_explicit(&had_secret, memory_order_relaxed)) return;
    erase_freed_blocks();
    erase_stack();
}

bool firn_random(void *target, size_t length) {
    char *next = target;
    while (length > 0) {
        size_t count = length < 256 ? length : 256;
        if (getentropy(next, count) != 0) return false;
        next += count;
        length -= count;
    }
    return true;
}

bool firn_has_aes(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__APPLE__)
    return true;
#elif defined(__linux__) && defined(__aarch64__)
    return (getauxval(AT_HWCAP) & (1 << 3)) != 0;
#else
    return false;
#endif
}
