#include "firn_crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

// The polynomial 0x1EDC6F41, bits reflected.
#define POLYNOMIAL 0x82F63B78u

// The hardware path runs three streams at once, because a CRC instruction takes three cycles but a new one may start in
// each cycle. To join the three results, a CRC is shifted over a whole block of zeros, which takes four table look-ups.
#define LONG_BLOCK 8192
#define SHORT_BLOCK 256

static uint32_t tables[8][256];      // slicing by eight
static uint32_t longShift[4][256];   // shifts a CRC over LONG_BLOCK zero bytes
static uint32_t shortShift[4][256];  // shifts a CRC over SHORT_BLOCK zero bytes
static int kind;

// Applies a linear map of 32 bits, which has one column per bit.
static uint32_t apply(const uint32_t *matrix, uint32_t vector) {
    uint32_t sum = 0;
    for (int i = 0; vector != 0; i++, vector >>= 1)
        if (vector & 1) sum ^= matrix[i];
    return sum;
}

static void square(uint32_t *result, const uint32_t *matrix) {
    for (int i = 0; i < 32; i++) result[i] = apply(matrix, matrix[i]);
}

// Fills `shift` with the map "shift over `byteCount` zero bytes"; byteCount is a power of two.
static void fillShift(uint32_t shift[4][256], size_t byteCount) {
    uint32_t even[32], odd[32];
    odd[0] = POLYNOMIAL;  // one zero bit
    for (int i = 1; i < 32; i++) odd[i] = 1u << (i - 1);
    square(even, odd);  // two bits
    square(odd, even);  // four bits
    uint32_t *from = odd, *to = even;
    for (size_t bytes = byteCount; bytes != 0; bytes >>= 1) {  // squaring four bits gives one byte, then it doubles
        square(to, from);
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int byte = 0; byte < 4; byte++) shift[byte][i] = apply(from, i << (8 * byte));
}

#if defined(__x86_64__) || defined(__aarch64__)
static inline uint32_t shifted(uint32_t shift[4][256], uint32_t crc) {
    return shift[0][crc & 0xff] ^ shift[1][(crc >> 8) & 0xff] ^ shift[2][(crc >> 16) & 0xff] ^ shift[3][crc >> 24];
}
#endif

uint32_t firn_crc32c_software(uint32_t crc, const void *bytes, size_t count) {
    const uint8_t *p = bytes;
    uint32_t c = ~crc;
    while (count >= 8) {
        uint32_t low = c ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        c = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^ tables[4][low >> 24]
            ^ tables[3][p[4]] ^ tables[2][p[5]] ^ tables[1][p[6]] ^ tables[0][p[7]];
        p += 8;
        count -= 8;
    }
    while (count-- > 0) c = tables[0][(c ^ *p++) & 0xff] ^ (c >> 8);
    return ~c;
}

#if defined(__x86_64__)
// Newer compilers have a separate feature for these instructions, which older ones don't know.
#if defined(__clang__) && __clang_major__ >= 14
#define TARGET __attribute__((target("sse4.2,crc32")))
#else
#define TARGET __attribute__((target("sse4.2")))
#endif
#define STEP8(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#define STEP1(crc, byte) _mm_crc32_u8((crc), (byte))
#elif defined(__aarch64__)
#define TARGET __attribute__((target("crc")))
#define STEP8(crc, word) __crc32cd((crc), (word))
#define STEP1(crc, byte) __crc32cb((crc), (byte))
#endif

#ifdef TARGET
static inline uint64_t word(const uint8_t *p) {
    uint64_t w;
    memcpy(&w, p, 8);
    return w;
}

TARGET static uint32_t hardware(uint32_t crc, const uint8_t *p, size_t count) {
    uint32_t c = ~crc;
    while (count >= 3 * LONG_BLOCK) {
        uint32_t c1 = 0, c2 = 0;
        for (const uint8_t *end = p + LONG_BLOCK; p < end; p += 8) {
            c = STEP8(c, word(p));
            c1 = STEP8(c1, word(p + LONG_BLOCK));
            c2 = STEP8(c2, word(p + 2 * LONG_BLOCK));
        }
        c = shifted(longShift, shifted(longShift, c) ^ c1) ^ c2;
        p += 2 * LONG_BLOCK;
        count -= 3 * LONG_BLOCK;
    }
    while (count >= 3 * SHORT_BLOCK) {
        uint32_t c1 = 0, c2 = 0;
        for (const uint8_t *end = p + SHORT_BLOCK; p < end; p += 8) {
            c = STEP8(c, word(p));
            c1 = STEP8(c1, word(p + SHORT_BLOCK));
            c2 = STEP8(c2, word(p + 2 * SHORT_BLOCK));
        }
        c = shifted(shortShift, shifted(shortShift, c) ^ c1) ^ c2;
        p += 2 * SHORT_BLOCK;
        count -= 3 * SHORT_BLOCK;
    }
    for (; count >= 8; p += 8, count -= 8) c = STEP8(c, word(p));
    while (count-- > 0) c = STEP1(c, *p++);
    return ~c;
}
#endif

__attribute__((constructor)) static void prepare(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++) c = (c >> 1) ^ (c & 1 ? POLYNOMIAL : 0);
        tables[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int t = 1; t < 8; t++) tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
    fillShift(longShift, LONG_BLOCK);
    fillShift(shortShift, SHORT_BLOCK);
#if defined(__x86_64__)
    __builtin_cpu_init();
    kind = __builtin_cpu_supports("sse4.2") ? 1 : 0;
#elif defined(__aarch64__) && defined(__linux__)
    kind = (getauxval(AT_HWCAP) & (1 << 7)) ? 2 : 0;  // HWCAP_CRC32
#elif defined(__aarch64__) && defined(__APPLE__)
    kind = 2;  // every 64-bit ARM processor that Apple makes has the instructions
#endif
}

uint32_t firn_crc32c(uint32_t crc, const void *bytes, size_t count) {
#ifdef TARGET
    if (kind != 0) return hardware(crc, bytes, count);
#endif
    return firn_crc32c_software(crc, bytes, count);
}
