#include "firn_secrets.h"

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

void *firn_secret_allocate(size_t length) {
    void *secret = mmap(NULL, whole_pages(length), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (secret == MAP_FAILED) return NULL;
    // The limit of locked memory may be used up. The secret is then as safe as the system's swap.
    (void)mlock(secret, whole_pages(length));
    firn_exclude_from_dumps(secret, whole_pages(length));
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
