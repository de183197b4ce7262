#ifndef FIRN_KERNELS_H
#define FIRN_KERNELS_H
#include <stdint.h>

/* Column kernels: each looks at the values of one chunk, up to 256, and answers with a mask of 4 words, bit i for row i. They are called once
 * per chunk, never per row. Rows at and behind `count` come out 0. No kernel reads behind the values it is told of. */

/* A function compiled for several instruction sets, chosen when the program is loaded. That needs ifunc, which glibc on x86-64 has; elsewhere
 * the compiler's baseline must do (on arm64 that is NEON). */
#if defined(__x86_64__) && defined(__linux__)
#include <features.h>
#endif
/* The resolvers run before a sanitizer has set itself up, and would crash in its hooks. */
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

/* low <= value <= high. Every comparison with a constant is such a range (or its complement); NaN lies in none. */
void firn_select_i64(const int64_t *values, uint32_t count, int64_t low, int64_t high, uint64_t *mask);
void firn_select_f64(const double *values, uint32_t count, double low, double high, uint64_t *mask);
void firn_select_f32(const float *values, uint32_t count, float low, float high, uint64_t *mask);
void firn_select_u8(const uint8_t *values, uint32_t count, uint8_t low, uint8_t high, uint64_t *mask);
void firn_select_u16(const uint16_t *values, uint32_t count, uint16_t low, uint16_t high, uint64_t *mask);
void firn_select_u32(const uint32_t *values, uint32_t count, uint32_t low, uint32_t high, uint64_t *mask);

/* Values of 16 bytes: seconds and nanoseconds; two unsigned words. Values of 12 bytes: three unsigned words. */
void firn_select_date(const uint8_t *values, uint32_t count, int64_t low, int32_t low_ns, int64_t high, int32_t high_ns, uint64_t *mask);
void firn_select_u128(const uint8_t *values, uint32_t count, const uint64_t *low, const uint64_t *high, uint64_t *mask);
void firn_select_u96(const uint8_t *values, uint32_t count, const uint32_t *low, const uint32_t *high, uint64_t *mask);

/* Column against column: left < right, left == right. The other comparisons are these with the sides exchanged or joined. */
void firn_less_i64(const int64_t *left, const int64_t *right, uint32_t count, uint64_t *mask);
void firn_equal_i64(const int64_t *left, const int64_t *right, uint32_t count, uint64_t *mask);
void firn_less_f64(const double *left, const double *right, uint32_t count, uint64_t *mask);
void firn_equal_f64(const double *left, const double *right, uint32_t count, uint64_t *mask);

/* Variable values: slots of (offset u16, length u16) and the heap they point into. `rows` holds the candidates and is narrowed to those that
 * match; `others` gets the candidates whose value lies in a node of its own, for the caller to look at. Nulls never match. */
void firn_bytes_equal(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);
void firn_bytes_begin(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);
void firn_bytes_end(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);
void firn_bytes_contain(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint64_t *rows, uint64_t *others);

/* Values whose order against `needle` is among `wanted`: bit 0 below, bit 1 equal, bit 2 above; by unsigned bytes, then length. */
void firn_bytes_order(const uint32_t *slots, const uint8_t *heap, uint32_t count, const uint8_t *needle, uint32_t length, uint32_t wanted, uint64_t *rows, uint64_t *others);

/* One value: order by unsigned bytes, then length; the first place of `needle` in `value`, or -1. */
int64_t firn_bytes_compare(const void *left, int64_t left_count, const void *right, int64_t right_count);
int64_t firn_bytes_find(const void *value, int64_t count, const void *needle, int64_t length);

/* Rows whose slot is null. */
void firn_bytes_null(const uint32_t *slots, uint32_t count, uint64_t *mask);

/* The exact sum of up to 256 integers, as 128 bits: two words, the low one first. */
void firn_sum_i64(const int64_t *values, uint32_t count, uint64_t *sum);
double firn_sum_f64(const double *values, uint32_t count);
double firn_sum_f32(const float *values, uint32_t count);

/* The lowest and highest value, `range[0]` and `range[1]`, which hold what was found before and are widened. NaN is passed over. */
void firn_range_i64(const int64_t *values, uint32_t count, int64_t *range);
void firn_range_f64(const double *values, uint32_t count, double *range);
void firn_range_f32(const float *values, uint32_t count, float *range);

/* Sorting: pairs of an order-preserving word and a number, ascending by word and stable. The result lies in the first two places. Bytes of the
 * word that are the same everywhere cost nothing. */
void firn_sort_pairs(uint64_t *words, uint32_t *numbers, uint64_t *other_words, uint32_t *other_numbers, int64_t count);

/* The words that sort a chunk's values: the value with its sign turned, NaN lowest, -0 as 0; kept off 0 and UINT64_MAX, which stand for null and for
 * what lies behind a nil link. Only ends of the range fall together by that: 1 and UINT64_MAX - 1 are ambiguous. */
void firn_words_i64(const int64_t *values, uint32_t count, uint64_t *words);
void firn_words_f64(const double *values, uint32_t count, uint64_t *words);

/* Unpacking the chunks of a checkpoint. `target[i] = base + i * step + numbers[i]`, numbers of `width` bytes (0, 1, 2, 4). */
void firn_unpack_i64(const void *numbers, uint32_t width, int64_t base, int64_t step, uint32_t count, int64_t *target);
/* The sum of `count` (at most 256) numbers of `width` bytes (0, 1, 2, 4). */
uint64_t firn_sum_numbers(const void *numbers, uint32_t width, uint32_t count);
/* A byte of 0 or 1 for each bit. */
void firn_unpack_bits(const void *bits, uint32_t count, void *target);
/* The slots of values that lie behind one another, by their lengths of `width` bytes (1, 2). */
void firn_unpack_slots(const void *lengths, uint32_t width, uint32_t count, void *slots);
/* How far behind the first value that of a row begins. `lengths` lies at a multiple of 16. */
uint32_t firn_text_offset(const void *lengths, uint8_t width, uint32_t row);

/* Tells the processor that a loop waits for another core. */
static inline __attribute__((always_inline)) void firn_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Begins to load what lies at an address. */
static inline __attribute__((always_inline)) void firn_prefetch(const void *address) { __builtin_prefetch(address); }

#endif
