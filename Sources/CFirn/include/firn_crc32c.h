#ifndef FIRN_CRC32C_H
#define FIRN_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/// CRC32C (Castagnoli, reflected, initial value and final complement all ones) of `count` bytes, going on from `crc`, the
/// value of the bytes before them (0 at the start). Uses SSE 4.2 or the ARMv8 CRC instructions where the processor has them.
uint32_t firn_crc32c(uint32_t crc, const void *_Nullable bytes, size_t count);

/// The same by tables alone, for comparison in tests and where the hardware has no instruction for it.
uint32_t firn_crc32c_software(uint32_t crc, const void *_Nullable bytes, size_t count);

/// Which form is in use: 0 tables, 1 SSE 4.2, 2 ARMv8.
int firn_crc32c_kind(void);

#endif
