#include "firn_kernels.h"
#include "firn_layout.h"

#include <string.h>

#define FIRN_UNPACK(TYPE)                                                                                   \
    do {                                                                                                    \
        const TYPE *from = numbers;                                                                         \
        for (uint32_t i = 0; i < count; i++) target[i] = (int64_t)(first + (uint64_t)i * by + from[i]);     \
    } while (0)

FIRN_CLONES void firn_unpack_i64(const void *numbers, uint32_t width, int64_t base, int64_t step, uint32_t count, int64_t *target) {
    uint64_t first = (uint64_t)base, by = (uint64_t)step;
    switch (width) {
    case 1: FIRN_UNPACK(uint8_t); break;
    case 2: FIRN_UNPACK(uint16_t); break;
    case 4: FIRN_UNPACK(uint32_t); break;
    default:
        for (uint32_t i = 0; i < count; i++) target[i] = (int64_t)(first + (uint64_t)i * by);
    }
}

#define FIRN_SUM(TYPE, PART)                                              \
    do {                                                                  \
        const TYPE *from = numbers;                                       \
        PART part = 0;                                                    \
        for (uint32_t i = 0; i < count; i++) part += from[i];             \
        return part;                                                      \
    } while (0)

FIRN_CLONES uint64_t firn_sum_numbers(const void *numbers, uint32_t width, uint32_t count) {
    switch (width) {
    case 1: FIRN_SUM(uint8_t, uint32_t);
    case 2: FIRN_SUM(uint16_t, uint32_t);
    case 4: FIRN_SUM(uint32_t, uint64_t);
    default: return 0;
    }
}

FIRN_CLONES void firn_unpack_bits(const void *bits, uint32_t count, void *target) {
    const uint8_t *from = bits;
    uint8_t *to = target;
    for (uint32_t i = 0; i < count; i++) to[i] = from[i >> 3] >> (i & 7) & 1;
}

/* A length of one byte is special if it is at least the low byte of the lowest special slot value. */
enum { FIRN_BYTE_SPECIAL = FIRN_SLOT_TREE & 0xFF, FIRN_BYTE_NULL = FIRN_SLOT_NULL & 0xFF };

/* The number of heap bytes that a slot of this length takes. */
static inline uint32_t firn_slot_bytes(uint16_t length) {
    return length >= FIRN_SLOT_TREE ? (length == FIRN_SLOT_NULL ? 0 : FIRN_REF_BYTES) : length;
}

void firn_unpack_slots(const void *lengths, uint32_t width, uint32_t count, void *slots) {
    uint32_t *to = slots;
    uint32_t offset = 0;
    if (width == 1) {
        const uint8_t *from = lengths;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t length = from[i];
            uint32_t special = length >= FIRN_BYTE_SPECIAL;
            to[i] = offset | (special ? length | 0xFF00 : length) << 16;
            offset += special ? (length == FIRN_BYTE_NULL ? 0 : FIRN_REF_BYTES) : length;
        }
    } else {
        const uint8_t *from = lengths;
        for (uint32_t i = 0; i < count; i++) {
            uint16_t length;
            memcpy(&length, from + 2 * (size_t)i, 2);
            to[i] = offset | (uint32_t)length << 16;
            offset += firn_slot_bytes(length);
        }
    }
}

typedef uint8_t firn_bytes16 __attribute__((vector_size(16)));
typedef uint16_t firn_words8 __attribute__((vector_size(16)));

uint32_t firn_value_offset(const void *lengths, uint8_t width, uint32_t row) {
    if (width == 2) {
        const uint8_t *from = lengths;
        uint32_t offset = 0;
        for (uint32_t i = 0; i < row; i++) {
            uint16_t length;
            memcpy(&length, from + 2 * (size_t)i, 2);
            offset += firn_slot_bytes(length);
        }
        return offset;
    }
    /* The lengths begin at a multiple of 32 bytes. So the last 16 bytes that are read lie within the node's last
     * unit, although some of them are not lengths. */
    static const firn_bytes16 lanes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const firn_bytes16 *from = lengths;
    firn_words8 sums = {0};
    for (uint32_t begin = 0; begin < row; begin += 16) {
        firn_bytes16 length = *from++;
        firn_bytes16 isSpecial = (firn_bytes16)(length >= FIRN_BYTE_SPECIAL), isNull = (firn_bytes16)(length == FIRN_BYTE_NULL);
        length = (length & ~isSpecial) | (isSpecial & ~isNull & FIRN_REF_BYTES);
        uint32_t left = row - begin;
        if (left < 16) length &= (firn_bytes16)(lanes < (uint8_t)left);
        sums += ((firn_words8)length & 0x00FF) + ((firn_words8)length >> 8);
    }
    uint32_t offset = 0;
    for (int lane = 0; lane < 8; lane++) offset += sums[lane];
    return offset;
}
