#ifndef FIRN_CRC32C_H
#define FIRN_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/// CRC32C (Castagnoli, reflected, initial value and final complement all ones) of `count` bytes.
///
/// It continues from `crc`, the checksum of the bytes before them (0 at the start). It uses SSE 4.2 or the ARMv8 CRC
/// instructions if the processor has them.
uint32_t firn_crc32c(uint32_t crc, const void *_Nullable bytes, size_t count);

/// The same checksum by tables alone, for processors without such an instruction, and for tests to compare with.
uint32_t firn_crc32c_software(uint32_t crc, const void *_Nullable bytes, size_t count);

#endif
