#ifndef FIRN_SECRETS_H
#define FIRN_SECRETS_H

// Memory for keys, and what the processor has for ciphers.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Allocates zeroed pages of their own for a secret. As far as the system and the user's limits allow, they are never
// written to swap (`mlock`) and not part of a core dump. NULL if no memory is left.
void *_Nullable firn_secret_allocate(size_t length);
// Overwrites a secret with zeros, frees its pages, and forgets copies as `firn_forget_copies` does.
void firn_secret_free(void *_Nonnull secret, size_t length);

// Overwrites what functions that have returned have left of secrets in the calling thread's memory: 48 KiB of the free
// part of its stack, and small blocks that it has freed. Libraries of cryptography zero their keys, but not all copies
// of them: BoringSSL leaves a cipher's key schedule in its context. Does nothing in a process that never had a secret.
// Costs some 30 us. To be called before a thread ends that may have used a secret.
void firn_forget_copies(void);

// The unit in which the system gives memory, in bytes.
size_t firn_page_byte_count(void);

// Excludes memory from core dumps, if the system can do that.
void firn_exclude_from_dumps(void *_Nonnull address, size_t length);

// Fills a buffer from the system's generator, in one call for up to 256 bytes. False if that fails.
bool firn_random(void *_Nonnull target, size_t length);

// Whether the processor has instructions for AES.
bool firn_has_aes(void);

#endif
