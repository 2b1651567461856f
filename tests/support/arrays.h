/* arrays.h - random tensors of any layout for tests of operations. Linked into every test program.
 *
 * This is the type of tensors for tests: its layouts have names, so that a test takes all of them or a certain one, it
 * takes any strides, and the bytes before, between and behind its elements are checked.
 */
#ifndef BP_TESTS_SUPPORT_ARRAYS_H
#define BP_TESTS_SUPPORT_ARRAYS_H

#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>

extern _Thread_local uint64_t test_array_random; /* state of the thread's random numbers, not 0 */
int64_t test_array_between(int64_t low, int64_t high);
uint64_t test_array_next(void);  /* any 64 bits */
double test_array_uniform(void); /* between -1 and 1 */

/* Draws 0 to 5 sizes: mostly small ones, in every third shape a large one, and in every sixteenth one 0 unless it has
 * to have elements. Returns how many they are. */
int test_array_shape(int64_t shape[5], bool has_elements);

/* A tensor with memory of its own, and a part of it may lie between its elements. The functions take one that was
 * assigned too, but calls of the library need the view where it was made. */
typedef struct test_array {
    bp_view view;
    bp_dtype dtype;
    char *memory; /* from the lowest element on; NULL: there is no tensor */
    int64_t all;  /* elements from the lowest to the highest one, with those between them */
    char *block;  /* as allocated: the memory, with bytes before and behind it */
    size_t bytes; /* of the block */
    bool guarded; /* nothing is before and behind the memory, but for a page without access at one end */
} test_array;

typedef enum test_layout {
    TEST_COMPACT,
    TEST_GAPS,                         /* with memory between the elements */
    TEST_PERMUTED,                     /* dimensions in a random order */
    TEST_REVERSED,                     /* negative strides, and some gaps */
    TEST_LAYOUTS,                      /* number of those above */
    TEST_CHANNELS_LAST = TEST_LAYOUTS, /* compact, with dimension 1 the fastest */
    TEST_SCATTERED,                    /* some dimensions in another order, with gaps between rows and elements */
    TEST_MIXED,                        /* the same, with some negative strides */
    TEST_ALL_LAYOUTS,                  /* number of those above */
    TEST_BROADCAST = TEST_ALL_LAYOUTS  /* some strides are 0: for tensors that are only read */
} test_layout;

/* Makes a tensor whose memory has a mark everywhere. */
void test_array_make(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout);
/* The same with certain strides. The element with index 0 lies `past` bytes (0 to 63) behind a multiple of 64. */
void test_array_make_strided(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides,
                             size_t past);
/* Moves a tensor so that its memory ends at a page without access, or begins behind one. */
void test_array_guard(test_array *t);
/* Makes a tensor with the same layout, address modulo 64, and contents. */
void test_array_copy(test_array *to, const test_array *from);
/* Writes the contents of a copy back, also outside of the elements. */
void test_array_restore(test_array *t, const test_array *copy);
void test_array_free(test_array *t); /* Does nothing if there is none. */
/* Under AddressSanitizer the bytes before and behind the elements cannot be accessed, until test_array_open(). The
 * functions of this file may be called at any time. */
void test_array_open(const test_array *t);
void test_array_close(const test_array *t);
/* Gives all of the memory the mark that it had in the beginning. */
void test_array_mark(test_array *t);
/* Sets all elements to random numbers between -scale and scale. */
void test_array_fill(test_array *t, double scale);

int64_t test_array_count(const test_array *t);           /* 0 if there is none */
char *test_array_at(const test_array *t, int64_t index); /* in row-major order */

/* Read and write elements; of i64 as f64 only those below 2^53. Written numbers are rounded once. The imaginary part of
 * real numbers is 0. */
double test_array_get(const test_array *t, int64_t index);
void test_array_set(test_array *t, int64_t index, double value);
bp_scalar test_array_get_complex(const test_array *t, int64_t index);
void test_array_set_complex(test_array *t, int64_t index, bp_scalar value);
int64_t test_array_get_i64(const test_array *t, int64_t index);
void test_array_set_i64(test_array *t, int64_t index, int64_t value);

/* Fails the test if memory before, between or behind the elements was written. Does nothing if there is no tensor. */
void test_array_check_gaps(const test_array *t, const char *text);
/* Fails the test if any byte differs from a copy. */
void test_array_check_unchanged(const test_array *t, const test_array *copy, const char *text);

/* Whether it is a type of integers or bool. */
bool test_array_is_whole(bp_dtype dtype);
/* Rounds a number to a type. */
double test_array_rounded(bp_dtype dtype, double value);
/* Half of a unit in the last place of 1, and half of the smallest number above 0. */
double test_array_eps(bp_dtype dtype);
double test_array_tiny(bp_dtype dtype);

#endif
