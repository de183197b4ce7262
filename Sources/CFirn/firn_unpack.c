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

FIRN_CLONES void firn_unpack_bits(const void *bits, uint32_t count, void *target) {
    const uint8_t *from = bits;
    uint8_t *to = target;
    for (uint32_t i = 0; i < count; i++) to[i] = from[i >> 3] >> (i & 7) & 1;
}

void firn_unpack_slots(const void *lengths, uint32_t width, uint32_t count, void *slots) {
    uint32_t *to = slots;
    uint32_t offset = 0;
    if (width == 1) {
        const uint8_t *from = lengths;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t length = from[i];
            uint32_t special = length >= 0xFD;
            to[i] = offset | (special ? length | 0xFF00 : length) << 16;
            offset += special ? (length == 0xFF ? 0 : 8) : length;
        }
    } else {
        const uint8_t *from = lengths;
        for (uint32_t i = 0; i < count; i++) {
            uint16_t length;
            memcpy(&length, from + 2 * (size_t)i, 2);
            to[i] = offset | (uint32_t)length << 16;
            offset += length >= FIRN_SLOT_TREE ? (length == FIRN_SLOT_NULL ? 0 : 8) : length;
        }
    }
}
