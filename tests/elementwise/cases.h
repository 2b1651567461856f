/* cases.h - declares tensors for the tests of operations on single elements, and numbers of all types by definitions
 * that share no code with the library. */
#ifndef BP_TESTS_ELEMENTWISE_CASES_H
#define BP_TESTS_ELEMENTWISE_CASES_H

#include "support/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

/* Read and write one element. Numbers of a floating type are rounded to nearest even. */
long double get_number(bp_dtype dtype, const void *from);
void set_number(bp_dtype dtype, void *to, long double value);

/* The distance of the numbers of a floating type next to `value`. */
long double spacing(bp_dtype dtype, long double value);

/* The largest number of a floating type. */
long double greatest(bp_dtype dtype);

/* Whether the formula of the function gives NaN for -infinity, as PyTorch does, and the reference another value. */
bool undefined_at_minus_infinity(bp_unary_kind kind);

/* Sets element `index` of the input of a function of one element: special numbers first, then numbers near 1, random
 * bits, and numbers near the limits of the functions. */
void set_awkward(bp_dtype dtype, void *to, int64_t index);

/* Makes a tensor with random elements that its type can hold. */
void begin_tensor(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape, test_layout layout);
/* Fails if bytes that are no element were written. */
void end_tensor(test_array *t);
long double value_at(const test_array *t, int64_t index);

/* Settings of instruction sets and thread counts, for bp_options_new(). */
extern const char *const all_settings[];
enum { SETTINGS = 7, INSTRUCTION_SETS = 3 };

/* Fails with the library's message unless the status is `wanted`. */
#define assert_status(call, wanted)                                                                                    \
    do {                                                                                                               \
        const bp_status status_ = (call);                                                                              \
        if (status_ != (wanted)) {                                                                                     \
            fail_msg("%s: status %d instead of %d: %s", #call, (int)status_, (int)(wanted), bp_last_error());          \
        }                                                                                                              \
    } while (0)

#endif
