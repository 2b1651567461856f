/* cases.h - declares tensors of random layouts for the tests of operations on single elements, and numbers of all types
 * by definitions that share no code with the library. */
#ifndef BP_TESTS_ELEMENTWISE_CASES_H
#define BP_TESTS_ELEMENTWISE_CASES_H

#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define I64(...) ((const int64_t[]){__VA_ARGS__})

int64_t between(int64_t low, int64_t high); /* random, both included */
double uniform(void);                       /* random, from -1 to 1 */

/* Read and write one element. Numbers of a floating type are rounded to nearest even. */
long double get_number(bp_dtype dtype, const void *from);
void set_number(bp_dtype dtype, void *to, long double value);

/* The distance of the numbers of a floating type next to `value`. */
long double spacing(bp_dtype dtype, long double value);

/* A tensor in memory of its own. The bytes around its elements are checked by end_tensor(). */
typedef struct tensor {
    bp_view view;
    bp_dtype dtype;
    unsigned char *memory;
    size_t bytes;
} tensor;

typedef enum layout { COMPACT, CHANNELS_LAST, GAPS, REVERSED_ORDER, NEGATIVE, BROADCAST, LAYOUTS } layout;

/* Makes a tensor with random elements that its type can hold; BROADCAST: with random strides of 0, for inputs. */
void begin_tensor(tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, layout how);
/* Fails if bytes that are no element were written. */
void end_tensor(tensor *t);
int64_t count_of(const tensor *t);
void *element_of(const tensor *t, int64_t index); /* index in row-major order */
long double value_at(const tensor *t, int64_t index);

/* Settings of instruction sets and thread counts, for bp_options_new(). */
extern const char *const all_settings[];
enum { SETTINGS = 7, INSTRUCTION_SETS = 3 };
enum { MARGIN = 64 }; /* bytes before and after the elements of a tensor */

/* Fails with the library's message unless the status is `wanted`. */
#define assert_status(call, wanted)                                                                                    \
    do {                                                                                                               \
        const bp_status status_ = (call);                                                                              \
        if (status_ != (wanted)) {                                                                                     \
            fail_msg("%s: status %d instead of %d: %s", #call, (int)status_, (int)(wanted), bp_last_error());          \
        }                                                                                                              \
    } while (0)

#endif
