#include "firn_kernels.h"
#include "firn_layout.h"

#include <stddef.h>
#include <string.h>

/* Comparing vectors gives a vector of 0 and -1. Converted to a vector of `bool`, it is the mask. clang compiles this to
 * one instruction if the machine has one (vpcmp into a mask register, movmskp, pmovmskb). */
typedef _Bool firn_bits8 __attribute__((ext_vector_type(8)));
typedef _Bool firn_bits16 __attribute__((ext_vector_type(16)));
typedef _Bool firn_bits32 __attribute__((ext_vector_type(32)));
typedef _Bool firn_bits64 __attribute__((ext_vector_type(64)));

#define FIRN_BITS(LANES, CONDITION, INTO)                                             \
    do {                                                                              \
        firn_bits##LANES bits_ = __builtin_convertvector((CONDITION), firn_bits##LANES); \
        __builtin_memcpy(&(INTO), &bits_, sizeof(INTO));                              \
    } while (0)

/* Scans the rows of one chunk: 64 at a time by vectors, and the rest one by one. `VECTOR` and `SCALAR` are the
 * condition on the value at `i`. The bits of each vector are stored at their offset in the mask, which is little-endian
 * like everything here. */
#define FIRN_SCAN(LANES, WORD, LOAD, VECTOR, SCALAR)                                       \
    do {                                                                                   \
        for (uint32_t word = 0; word < 4; word++) {                                        \
            uint32_t base = word * 64;                                                     \
            if (base + 64 <= count) {                                                      \
                for (uint32_t k = 0; k < 64; k += LANES) {                                 \
                    uint32_t i = base + k;                                                 \
                    WORD part;                                                             \
                    LOAD;                                                                  \
                    FIRN_BITS(LANES, VECTOR, part);                                        \
                    __builtin_memcpy((uint8_t *)mask + (base + k) / 8, &part, sizeof part); \
                }                                                                          \
            } else {                                                                       \
                uint64_t bits = 0;                                                         \
                for (uint32_t i = base; i < count; i++) {                                  \
                    bits |= (uint64_t)(SCALAR) << (i - base);                              \
                }                                                                          \
                mask[word] = bits;                                                         \
            }                                                                              \
        }                                                                                  \
    } while (0)

#define FIRN_RANGE_KERNEL(NAME, TYPE, LANES, WORD)                                                                 \
    FIRN_CLONES void NAME(const TYPE *values, uint32_t count, TYPE low, TYPE high, uint64_t *mask) {               \
        typedef TYPE vector __attribute__((ext_vector_type(LANES)));                                               \
        FIRN_SCAN(LANES, WORD, vector v; __builtin_memcpy(&v, values + i, sizeof v), (v >= (vector)low) & (v <= (vector)high), \
                  (values[i] >= low) & (values[i] <= high));                                                       \
    }

FIRN_RANGE_KERNEL(firn_select_i64, int64_t, 8, uint8_t)
FIRN_RANGE_KERNEL(firn_select_f64, double, 8, uint8_t)
FIRN_RANGE_KERNEL(firn_select_f32, float, 16, uint16_t)
FIRN_RANGE_KERNEL(firn_select_u8, uint8_t, 64, uint64_t)
FIRN_RANGE_KERNEL(firn_select_u16, uint16_t, 32, uint32_t)
FIRN_RANGE_KERNEL(firn_select_u32, uint32_t, 16, uint16_t)

#define FIRN_PAIR_KERNEL(NAME, TYPE, OPERATOR)                                                                                \
    FIRN_CLONES void NAME(const TYPE *left, const TYPE *right, uint32_t count, uint64_t *mask) {                              \
        typedef TYPE vector __attribute__((ext_vector_type(8)));                                                              \
        FIRN_SCAN(8, uint8_t, vector a; vector b; __builtin_memcpy(&a, left + i, sizeof a); __builtin_memcpy(&b, right + i, sizeof b), \
                  a OPERATOR b, left[i] OPERATOR right[i]);                                                                   \
    }

FIRN_PAIR_KERNEL(firn_less_i64, int64_t, <)
FIRN_PAIR_KERNEL(firn_equal_i64, int64_t, ==)
FIRN_PAIR_KERNEL(firn_less_f64, double, <)
FIRN_PAIR_KERNEL(firn_equal_f64, double, ==)

void firn_select_date(const uint8_t *values, uint32_t count, int64_t low, int32_t low_ns, int64_t high, int32_t high_ns, uint64_t *mask) {
    memset(mask, 0, 32);
    for (uint32_t i = 0; i < count; i++) {
        int64_t seconds;
        int32_t ns;
        memcpy(&seconds, values + 16 * (size_t)i, 8);
        memcpy(&ns, values + 16 * (size_t)i + 8, 4);
        uint64_t above = (seconds > low) | ((seconds == low) & (ns >= low_ns));
        uint64_t below = (seconds < high) | ((seconds == high) & (ns <= high_ns));
        mask[i >> 6] |= (above & below) << (i & 63);
    }
}

void firn_select_u128(const uint8_t *values, uint32_t count, const uint64_t *low, const uint64_t *high, uint64_t *mask) {
    memset(mask, 0, 32);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t v[2];
        memcpy(v, values + 16 * (size_t)i, 16);
        uint64_t above = (v[0] > low[0]) | ((v[0] == low[0]) & (v[1] >= low[1]));
        uint64_t below = (v[0] < high[0]) | ((v[0] == high[0]) & (v[1] <= high[1]));
        mask[i >> 6] |= (above & below) << (i & 63);
    }
}

void firn_select_u96(const uint8_t *values, uint32_t count, const uint32_t *low, const uint32_t *high, uint64_t *mask) {
    memset(mask, 0, 32);
    uint64_t low_rest = (uint64_t)low[1] << 32 | low[2], high_rest = (uint64_t)high[1] << 32 | high[2];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v[3];
        memcpy(v, values + 12 * (size_t)i, 12);
        uint64_t rest = (uint64_t)v[1] << 32 | v[2];
        uint64_t above = (v[0] > low[0]) | ((v[0] == low[0]) & (rest >= low_rest));
        uint64_t below = (v[0] < high[0]) | ((v[0] == high[0]) & (rest <= high_rest));
        mask[i >> 6] |= (above & below) << (i & 63);
    }
}

/* ---- Bytes ---- */

/* Whether n bytes are equal. The loads overlap, and stay within the n bytes. */
static inline __attribute__((always_inline)) int firn_same(const uint8_t *a, const uint8_t *b, uint32_t n) {
    if (n >= 8) {
        uint64_t x, y;
        uint32_t i = 0;
        for (; i + 8 <= n; i += 8) {
            memcpy(&x, a + i, 8);
            memcpy(&y, b + i, 8);
            if (x != y) return 0;
        }
        memcpy(&x, a + n - 8, 8);
        memcpy(&y, b + n - 8, 8);
        return x == y;
    }
    if (n >= 4) {
        uint32_t x, y, z, w;
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        memcpy(&z, a + n - 4, 4);
        memcpy(&w, b + n - 4, 4);
        return ((x ^ y) | (z ^ w)) == 0;
    }
    if (n >= 2) {
        uint16_t x, y, z, w;
        memcpy(&x, a, 2);
        memcpy(&y, b, 2);
        memcpy(&z, a + n - 2, 2);
        memcpy(&w, b + n - 2, 2);
        return ((x ^ y) | (z ^ w)) == 0;
    }
    return n == 0 || *a == *b;
}

/* The greatest length of a value that lies in the heap itself. */
enum { FIRN_SLOT_LENGTH_MAX = FIRN_SLOT_TREE - 1 };

/* Selects the rows whose slot has a length in low ... high. */
FIRN_CLONES static void firn_select_lengths(const uint32_t *values, uint32_t count, uint32_t low, uint32_t high, uint64_t *mask) {
    typedef uint32_t vector __attribute__((ext_vector_type(16)));
    FIRN_SCAN(16, uint16_t, vector v; __builtin_memcpy(&v, values + i, sizeof v); v >>= 16, (v >= (vector)low) & (v <= (vector)high),
              ((values[i] >> 16) >= low) & ((values[i] >> 16) <= high));
}

void firn_bytes_null(const uint32_t *slots, uint32_t count, uint64_t *mask) {
    firn_select_lengths(slots, count, FIRN_SLOT_NULL, FIRN_SLOT_NULL, mask);
}

/* Leaves in `rows` only those whose value is in the heap and has a length in low ... high. Rows whose value is in a
 * node of its own are moved to `others`. */
static void firn_candidates(const uint32_t *slots, uint32_t count, uint32_t low, uint32_t high, uint64_t *rows, uint64_t *others) {
    uint64_t fitting[4], elsewhere[4];
    firn_select_lengths(slots, count, FIRN_SLOT_TREE, FIRN_SLOT_BLOB, elsewhere);
    if (low > high || low > FIRN_SLOT_LENGTH_MAX) {
        memset(fitting, 0, sizeof fitting);
    } else {
        firn_select_lengths(slots, count, low, high < FIRN_SLOT_LENGTH_MAX ? high : FIRN_SLOT_LENGTH_MAX, fitting);
    }
    for (int w = 0; w < 4; w++) {
        others[w] = rows[w] & elsewhere[w];
        rows[w] &= fitting[w];
    }
}

#define FIRN_EACH_ROW(KEEP)                                                   \
    for (uint32_t w = 0; w < 4; w++) {                                        \
        uint64_t left = rows[w], kept = 0;                                    \
        while (left != 0) {                                                   \
            uint32_t bit = (uint32_t)__builtin_ctzll(left);                   \
            left &= left - 1;                                                 \
            uint32_t slot = slots[w * 64 + bit];                              \
            const uint8_t *value = heap + (slot & 0xFFFF);                    \
            uint32_t size = slot >> 16;                                       \
            (void)size;                                                       \
            kept |= (uint64_t)((KEEP) != 0) << bit;                           \
        }                                                                     \
        rows[w] = kept;                                                       \
    }

void firn_bytes_equal(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others) {
    firn_candidates(slots, count, length, length, rows, others);
    FIRN_EACH_ROW(firn_same(value, needle, length))
}

void firn_bytes_begin(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others) {
    firn_candidates(slots, count, length, FIRN_SLOT_LENGTH_MAX, rows, others);
    FIRN_EACH_ROW(firn_same(value, needle, length))
}

void firn_bytes_end(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others) {
    firn_candidates(slots, count, length, FIRN_SLOT_LENGTH_MAX, rows, others);
    FIRN_EACH_ROW(firn_same(value + size - length, needle, length))
}

/* Whether a value contains the needle. Values have at most 1 KiB here, so a quadratic worst case stays small, but a
 * call per candidate offset would cost more than the loop. So 16 offsets are tried at a time, by the needle's first and
 * last byte. */
static inline int firn_holds(const uint8_t *value, uint32_t size, const uint8_t *needle, uint32_t length) {
    typedef uint8_t vector __attribute__((ext_vector_type(16)));
    if (length == 0) return 1;
    uint32_t offset_count = size - length + 1, at = 0;
    vector first = (vector)needle[0], last = (vector)needle[length - 1];
    for (; at + 16 <= offset_count; at += 16) {
        vector a, b;
        uint16_t bits;
        __builtin_memcpy(&a, value + at, sizeof a);
        __builtin_memcpy(&b, value + at + length - 1, sizeof b);
        FIRN_BITS(16, (a == first) & (b == last), bits);
        while (bits != 0) {
            uint32_t bit = (uint32_t)__builtin_ctz(bits);
            bits &= (uint16_t)(bits - 1);
            if (firn_same(value + at + bit, needle, length)) return 1;
        }
    }
    for (; at < offset_count; at++) {
        if (value[at] == needle[0] && value[at + length - 1] == needle[length - 1] && firn_same(value + at, needle, length)) return 1;
    }
    return 0;
}

void firn_bytes_contain(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others) {
    firn_candidates(slots, count, length, FIRN_SLOT_LENGTH_MAX, rows, others);
    FIRN_EACH_ROW(firn_holds(value, size, needle, length))
}

static inline uint32_t firn_order_bit(const uint8_t *value, uint32_t size, const uint8_t *needle, uint32_t length) {
    uint32_t shared = size < length ? size : length;
    int order = shared == 0 ? 0 : memcmp(value, needle, shared);
    if (order == 0) order = size < length ? -1 : size > length;
    return order < 0 ? 1 : order == 0 ? 2 : 4;
}

void firn_bytes_order(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint32_t wanted, uint64_t *rows, uint64_t *others) {
    firn_candidates(slots, count, 0, FIRN_SLOT_LENGTH_MAX, rows, others);
    FIRN_EACH_ROW(firn_order_bit(value, size, needle, length) & wanted)
}

int64_t firn_bytes_compare(const void *left, int64_t left_count, const void *right, int64_t right_count) {
    int64_t shared = left_count < right_count ? left_count : right_count;
    int order = shared == 0 ? 0 : memcmp(left, right, (size_t)shared);
    return order != 0 ? order : left_count - right_count;
}

int64_t firn_bytes_find(const void *value, int64_t count, const void *needle, int64_t length) {
    if (length == 0) return 0;
    const uint8_t *at = value, *end = (const uint8_t *)value + (count - length) + 1;
    while (at < end && (at = memchr(at, *(const uint8_t *)needle, (size_t)(end - at))) != NULL) {
        if (memcmp(at, needle, (size_t)length) == 0) return at - (const uint8_t *)value;
        at++;
    }
    return -1;
}

/* ---- Aggregates ---- */

/* The sum of 256 values of at most 55 bits can't overflow a word. So a chunk is first summed by plain additions, while
 * `wide` collects which bits are used. A chunk with wider values, which is rare, is then summed again in 128 bits. */
FIRN_CLONES void firn_sum_i64(const int64_t *values, uint32_t count, uint64_t *sum) {
    typedef int64_t vector __attribute__((ext_vector_type(8)));
    vector sums[2] = {0, 0}, wide[2] = {0, 0};
    uint32_t i = 0;
    for (; i + 16 <= count; i += 16) {
        for (int k = 0; k < 2; k++) {
            vector v;
            __builtin_memcpy(&v, values + i + 8 * k, sizeof v);
            sums[k] += v;
            wide[k] |= v ^ (v < (vector)0);
        }
    }
    vector all = sums[0] + sums[1], any = wide[0] | wide[1];
    int64_t total = 0, bits = 0;
    for (int k = 0; k < 8; k++) {
        total = (int64_t)((uint64_t)total + (uint64_t)all[k]);
        bits |= any[k];
    }
    for (; i < count; i++) {
        total = (int64_t)((uint64_t)total + (uint64_t)values[i]);
        bits |= values[i] ^ (values[i] < 0 ? -1 : 0);
    }
    __int128 exact = total;
    if (bits >> 54 != 0) {
        exact = 0;
        for (i = 0; i < count; i++) exact += values[i];
    }
    sum[0] = (uint64_t)exact;
    sum[1] = (uint64_t)(exact >> 64);
}

FIRN_CLONES double firn_sum_f64(const double *values, uint32_t count) {
    typedef double vector __attribute__((ext_vector_type(8)));
    vector sums[4] = {0, 0, 0, 0};
    uint32_t i = 0;
    for (; i + 32 <= count; i += 32) {
        for (int k = 0; k < 4; k++) {
            vector v;
            __builtin_memcpy(&v, values + i + 8 * k, sizeof v);
            sums[k] += v;
        }
    }
    vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double sum = 0;
    for (int k = 0; k < 8; k++) sum += all[k];
    for (; i < count; i++) sum += values[i];
    return sum;
}

FIRN_CLONES double firn_sum_f32(const float *values, uint32_t count) {
    double sums[8] = {0};
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8) {
        for (int k = 0; k < 8; k++) sums[k] += (double)values[i + k];
    }
    double sum = 0;
    for (int k = 0; k < 8; k++) sum += sums[k];
    for (; i < count; i++) sum += (double)values[i];
    return sum;
}

/* A comparison with NaN is false, so NaN never replaces an earlier bound. */
#define FIRN_RANGE_OF_KERNEL(NAME, TYPE)                                               \
    FIRN_CLONES void NAME(const TYPE *values, uint32_t count, TYPE *range) {           \
        typedef TYPE vector __attribute__((ext_vector_type(8)));                       \
        vector low = (vector)range[0], high = (vector)range[1];                        \
        uint32_t i = 0;                                                                \
        for (; i + 8 <= count; i += 8) {                                               \
            vector v;                                                                  \
            __builtin_memcpy(&v, values + i, sizeof v);                                \
            low = v < low ? v : low;                                                   \
            high = v > high ? v : high;                                                \
        }                                                                              \
        for (int k = 0; k < 8; k++) {                                                  \
            range[0] = low[k] < range[0] ? low[k] : range[0];                          \
            range[1] = high[k] > range[1] ? high[k] : range[1];                        \
        }                                                                              \
        for (; i < count; i++) {                                                       \
            range[0] = values[i] < range[0] ? values[i] : range[0];                    \
            range[1] = values[i] > range[1] ? values[i] : range[1];                    \
        }                                                                              \
    }

FIRN_RANGE_OF_KERNEL(firn_range_i64, int64_t)
FIRN_RANGE_OF_KERNEL(firn_range_f64, double)
FIRN_RANGE_OF_KERNEL(firn_range_f32, float)

/* ---- Sorting ---- */

void firn_sort_pairs(uint64_t *words, uint32_t *numbers, uint64_t *other_words, uint32_t *other_numbers, int64_t count) {
    if (count < 64) {
        for (int64_t i = 1; i < count; i++) {
            uint64_t word = words[i];
            uint32_t number = numbers[i];
            int64_t at = i;
            for (; at > 0 && words[at - 1] > word; at--) {
                words[at] = words[at - 1];
                numbers[at] = numbers[at - 1];
            }
            words[at] = word;
            numbers[at] = number;
        }
        return;
    }
    uint64_t any = 0, all = UINT64_MAX;
    for (int64_t i = 0; i < count; i++) {
        any |= words[i];
        all &= words[i];
    }
    uint64_t differing = any & ~all;
    if (differing == 0) return;
    /* The highest 32 bits that differ separate nearly all pairs. They take four passes; pairs that are equal in these
     * bits are then sorted among themselves. */
    int top = 64 - __builtin_clzll(differing), bottom = top > 32 ? top - 32 : 0;
    uint64_t *from = words, *to = other_words;
    uint32_t *from_numbers = numbers, *to_numbers = other_numbers;
    for (int shift = bottom; shift < top; shift += 8) {
        if ((differing >> shift & 0xFF) == 0) continue;
        int64_t starts[256] = {0};
        for (int64_t i = 0; i < count; i++) starts[from[i] >> shift & 0xFF]++;
        int64_t sum = 0;
        for (int k = 0; k < 256; k++) {
            int64_t here = starts[k];
            starts[k] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < count; i++) {
            int64_t at = starts[from[i] >> shift & 0xFF]++;
            to[at] = from[i];
            to_numbers[at] = from_numbers[i];
        }
        uint64_t *words_before = from;
        uint32_t *numbers_before = from_numbers;
        from = to;
        from_numbers = to_numbers;
        to = words_before;
        to_numbers = numbers_before;
    }
    if (from != words) {
        memcpy(words, from, (size_t)count * sizeof *words);
        memcpy(numbers, from_numbers, (size_t)count * sizeof *numbers);
    }
    if (bottom == 0) return;
    /* At most 32 bits are left to sort by, so the recursion is at most two levels deep. */
    for (int64_t start = 0; start < count;) {
        int64_t end = start + 1;
        while (end < count && words[end] >> bottom == words[start] >> bottom) end++;
        if (end - start > 1) {
            firn_sort_pairs(words + start, numbers + start, other_words + start, other_numbers + start, end - start);
        }
        start = end;
    }
}

static inline __attribute__((always_inline)) uint64_t firn_word_within(uint64_t word) {
    word = word < 1 ? 1 : word;
    return word > UINT64_MAX - 1 ? UINT64_MAX - 1 : word;
}

FIRN_CLONES void firn_words_i64(const int64_t *values, uint32_t count, uint64_t *words) {
    for (uint32_t i = 0; i < count; i++) words[i] = firn_word_within((uint64_t)values[i] ^ ((uint64_t)1 << 63));
}

FIRN_CLONES void firn_words_f64(const double *values, uint32_t count, uint64_t *words) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits;
        double value = values[i] + 0.0; /* -0 becomes 0 */
        memcpy(&bits, &value, 8);
        uint64_t word = bits ^ ((uint64_t)((int64_t)bits >> 63) | ((uint64_t)1 << 63));
        /* Every NaN has one word, whatever its sign and payload. That word is below the word of -infinity,
         * 0x000FFFFFFFFFFFFF. */
        words[i] = value != value ? 2 : word;
    }
}
