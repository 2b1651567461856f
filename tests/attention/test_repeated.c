/* test_repeated.c - gradients of attention where tensors are repeated by a stride of 0, as numpy.broadcast_to and
 * torch.expand make them. Each has the gradient of the same call on compact copies, whose tensors have no such stride.
 */
#include "backplane.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 2, HEADS = 3, QUERIES = 4, KEYS = 5, SIZE = 3, COLUMNS = 2, MOST = ITEMS * HEADS * QUERIES * KEYS };
enum { QUERY, KEY, VALUE, MASK, OUTPUT_GRADIENT, REPEATABLE, OUTPUT = REPEATABLE, LOGSUMEXP, TENSORS };
enum { GRADIENTS = 4 }; /* by query, key, value and mask */

static const char *const kernels[] = {"cuda.mem_efficient_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false"};
static const int64_t sizes[TENSORS][2] = {{QUERIES, SIZE},    {KEYS, SIZE},       {KEYS, COLUMNS}, {QUERIES, KEYS},
                                          {QUERIES, COLUMNS}, {QUERIES, COLUMNS}, {QUERIES, 1}};

/* The tensors of a call: ITEMS x HEADS matrices. */
typedef struct tensors {
    double of[TENSORS][MOST], gradient[GRADIENTS][MOST];
    bp_view view[TENSORS], by[GRADIENTS];
} tensors;

/* Makes a tensor that has one matrix for all in the dimensions of `repeated`: bit 0 for the items, bit 1 for heads. */
static void make(tensors *t, int which, int repeated) {
    const int64_t rows = sizes[which][0], columns = sizes[which][1], matrix = rows * columns;
    const int64_t shape[] = {ITEMS, HEADS, rows, columns};
    const int64_t strides[] = {repeated & 1 ? 0 : HEADS * matrix, repeated & 2 ? 0 : matrix, columns, 1};
    for (int64_t i = 0; i < ITEMS * HEADS * matrix; i++) {
        t->of[which][i] = sin((double)(7 * i + 3 * which + 1));
    }
    assert_int_equal(bp_view_init(&t->view[which], t->of[which], BP_F64, which == LOGSUMEXP ? 3 : 4, shape, strides),
                     BP_OK);
}

static void copy_of(const tensors *t, tensors *copies) {
    memset(copies, 0, sizeof *copies);
    for (int i = 0; i < TENSORS; i++) {
        const int ndim = t->view[i].tensor.ndim;
        assert_int_equal(bp_view_init(&copies->view[i], copies->of[i], BP_F64, ndim, t->view[i].shape, NULL), BP_OK);
        assert_int_equal(bp_copy(&copies->view[i].tensor, &t->view[i].tensor, NULL), BP_OK);
    }
}

/* Computes the gradients of the set `wanted`; the others stay as they are. */
static void run(tensors *t, const char *kernel, int wanted) {
    DLTensor *by[GRADIENTS] = {NULL};
    bp_options *options;
    for (int i = 0; i < GRADIENTS; i++) {
        for (int e = 0; e < MOST; e++) {
            t->gradient[i][e] = NAN;
        }
        assert_int_equal(bp_view_init(&t->by[i], t->gradient[i], BP_F64, 4, t->view[i].shape, NULL), BP_OK);
        by[i] = wanted >> i & 1 ? &t->by[i].tensor : NULL;
    }
    bp_attention_call call = {.struct_size = sizeof call,
                              .query = &t->view[QUERY].tensor,
                              .key = &t->view[KEY].tensor,
                              .value = &t->view[VALUE].tensor,
                              .mask = &t->view[MASK].tensor,
                              .output = &t->view[OUTPUT].tensor,
                              .logsumexp = &t->view[LOGSUMEXP].tensor};
    assert_int_equal(bp_options_new(&options, kernel), BP_OK);
    assert_int_equal(bp_attention_run(options, &call), BP_OK);
    call.pass = BP_ATTENTION_BACKWARD;
    call.output_gradient = &t->view[OUTPUT_GRADIENT].tensor;
    call.query_gradient = by[0];
    call.key_gradient = by[1];
    call.value_gradient = by[2];
    call.mask_gradient = by[3];
    assert_int_equal(bp_attention_run(options, &call), BP_OK);
    bp_options_release(options);
}

/* `repeated` has two bits for each tensor. */
static void compare(const char *kernel, int repeated, int wanted) {
    static tensors t, copies;
    for (int i = 0; i < TENSORS; i++) {
        make(&t, i, i < REPEATABLE ? repeated >> (2 * i) & 3 : 0);
    }
    copy_of(&t, &copies);
    run(&t, kernel, wanted);
    run(&copies, kernel, wanted);
    for (int i = 0; i < GRADIENTS; i++) {
        const int64_t count = ITEMS * HEADS * sizes[i][0] * sizes[i][1];
        for (int64_t e = 0; e < count && wanted >> i & 1; e++) {
            const double got = t.gradient[i][e], want = copies.gradient[i][e];
            if (!(fabs(got - want) <= 1e-13)) {
                fail_msg("%s, repeated %#x: gradient %d, element %d is %.17g; it must be %.17g", kernel,
                         (unsigned)repeated, i, (int)e, got, want);
            }
        }
    }
}

/* Each set of tensors that are repeated over items, heads, or both. */
static void repeated_tensors_have_gradients_of_their_own(void **state) {
    (void)state;
    for (int kernel = 0; kernel < 3; kernel++) {
        for (int repeated = 0; repeated < 1 << 2 * REPEATABLE; repeated++) {
            compare(kernels[kernel], repeated, 15);
        }
    }
}

/* Keys and values that are repeated over all, and each set of gradients. */
static void each_set_of_gradients_is_written(void **state) {
    (void)state;
    for (int kernel = 0; kernel < 3; kernel++) {
        for (int wanted = 1; wanted < 1 << GRADIENTS; wanted++) {
            for (int dimensions = 1; dimensions < 4; dimensions++) {
                compare(kernels[kernel], dimensions << 2 * KEY | dimensions << 2 * VALUE, wanted);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_tensors_have_gradients_of_their_own),
        cmocka_unit_test(each_set_of_gradients_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
