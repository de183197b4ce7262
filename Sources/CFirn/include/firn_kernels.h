#ifndef FIRN_KERNELS_H
#define FIRN_KERNELS_H
#include <stdint.h>

/* Column kernels. A kernel that selects rows checks the values of one chunk, at most 256, and returns a mask of 4
 * words, with bit i for row i. The bits of rows from `count` on are 0. Kernels are called once per chunk, never per
 * row, and do not read beyond the `count` values. */

/* FIRN_CLONES compiles a function for several instruction sets; one of them is chosen when the program is loaded.
 * That needs ifunc, which glibc on x86-64 has. Elsewhere the function is compiled for the compiler's baseline only
 * (on arm64 that includes NEON). */
#if defined(__x86_64__) && defined(__linux__)
#include <features.h>
#endif
/* Not with a sanitizer: the resolvers run before the sanitizer is initialised, and would crash in its hooks. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define FIRN_SANITIZED 1
#endif
#endif
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__clang__) && !defined(FIRN_SANITIZED)
#define FIRN_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FIRN_CLONES
#endif

/* Select the rows with low <= value <= high. Every comparison with a constant is such a range (or its complement).
 * NaN is in no range. */
void firn_select_i64(const int64_t *values, uint32_t count, int64_t low, int64_t high, uint64_t *mask);
void firn_select_f64(const double *values, uint32_t count, double low, double high, uint64_t *mask);
void firn_select_f32(const float *values, uint32_t count, float low, float high, uint64_t *mask);
void firn_select_u8(const uint8_t *values, uint32_t count, uint8_t low, uint8_t high, uint64_t *mask);
void firn_select_u16(const uint16_t *values, uint32_t count, uint16_t low, uint16_t high, uint64_t *mask);
void firn_select_u32(const uint32_t *values, uint32_t count, uint32_t low, uint32_t high, uint64_t *mask);

/* Select the rows with low <= value <= high for values of 16 bytes (seconds and nanoseconds; two unsigned words) and of
 * 12 bytes (three unsigned words). */
void firn_select_date(const uint8_t *values, uint32_t count, int64_t low, int32_t low_ns, int64_t high, int32_t high_ns, uint64_t *mask);
void firn_select_u128(const uint8_t *values, uint32_t count, const uint64_t *low, const uint64_t *high, uint64_t *mask);
void firn_select_u96(const uint8_t *values, uint32_t count, const uint32_t *low, const uint32_t *high, uint64_t *mask);

/* Compare two columns: left < right, left == right. The other comparisons are made of these, by exchanging the sides or
 * joining both masks. */
void firn_less_i64(const int64_t *left, const int64_t *right, uint32_t count, uint64_t *mask);
void firn_equal_i64(const int64_t *left, const int64_t *right, uint32_t count, uint64_t *mask);
void firn_less_f64(const double *left, const double *right, uint32_t count, uint64_t *mask);
void firn_equal_f64(const double *left, const double *right, uint32_t count, uint64_t *mask);

/* Variable values: slots of (offset u16, length u16), and the heap that they point into. `rows` has the candidates, and
 * each function leaves only those that match. `others` gets the candidates whose value is in a node of its own, which
 * the caller must check. Nulls never match. */
void firn_bytes_equal(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);
void firn_bytes_begin(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);
void firn_bytes_end(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);
void firn_bytes_contain(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);

/* Selects the values whose order relative to `needle` is in the bit set `wanted`: bit 0 for below, bit 1 for equal, bit
 * 2 for above. The order is by unsigned bytes, then by length. */
void firn_bytes_order(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint32_t wanted, uint64_t *rows, uint64_t *others);

/* For single values: `compare` orders by unsigned bytes, then by length, and returns a negative number, 0 or a positive
 * one. `find` returns the first offset of `needle` in `value`, or -1. */
int64_t firn_bytes_compare(const void *left, int64_t left_count, const void *right, int64_t right_count);
int64_t firn_bytes_find(const void *value, int64_t count, const void *needle, int64_t length);

/* Selects the rows whose slot is null. */
void firn_bytes_null(const uint32_t *slots, uint32_t count, uint64_t *mask);

/* The exact sum of at most 256 integers in 128 bits: two words, the low one first. */
void firn_sum_i64(const int64_t *values, uint32_t count, uint64_t *sum);
double firn_sum_f64(const double *values, uint32_t count);
double firn_sum_f32(const float *values, uint32_t count);

/* The lowest and the highest value. `range[0]` and `range[1]` are the bounds of earlier values, and are widened. NaN is
 * ignored. */
void firn_range_i64(const int64_t *values, uint32_t count, int64_t *range);
void firn_range_f64(const double *values, uint32_t count, double *range);
void firn_range_f32(const float *values, uint32_t count, float *range);

/* Sorts pairs of an order-preserving word and a number by word, in ascending order. The sort is stable. The result is
 * in the first two arrays; the other two are scratch memory. Bytes of the word that are equal in all pairs cost no
 * pass. */
void firn_sort_pairs(uint64_t *words, uint32_t *numbers, uint64_t *other_words, uint32_t *other_numbers, int64_t count);

/* The words by which a chunk's values are sorted: for integers, the value with its sign bit inverted. Every NaN has the
 * same word, which is the lowest, and -0 has the word of 0. No word is 0 or UINT64_MAX, which represent null and a
 * value behind a nil link. So the integers at the ends of the range share the words 1 and UINT64_MAX - 1 with their
 * neighbours, and these words are ambiguous. */
void firn_words_i64(const int64_t *values, uint32_t count, uint64_t *words);
void firn_words_f64(const double *values, uint32_t count, uint64_t *words);

/* Unpacks numbers in a chunk of a checkpoint: `target[i] = base + i * step + numbers[i]`, with numbers of `width` bytes
 * (0, 1, 2, 4). */
void firn_unpack_i64(const void *numbers, uint32_t width, int64_t base, int64_t step, uint32_t count, int64_t *target);
/* The sum of `count` (at most 256) numbers of `width` bytes (0, 1, 2, 4). */
uint64_t firn_sum_numbers(const void *numbers, uint32_t width, uint32_t count);
/* Unpacks each bit to a byte of 0 or 1. */
void firn_unpack_bits(const void *bits, uint32_t count, void *target);
/* Makes the slots of values that are stored one after another without gaps, from their lengths of `width` bytes (1,
 * 2). */
void firn_unpack_slots(const void *lengths, uint32_t width, uint32_t count, void *slots);
/* The offset of a row's value from the first value. The address of `lengths` is a multiple of 16. */
uint32_t firn_value_offset(const void *lengths, uint8_t width, uint32_t row);

/* Tells the processor that a loop waits for another core. */
static inline __attribute__((always_inline)) void firn_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Starts loading the cache line at an address. */
static inline __attribute__((always_inline)) void firn_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
