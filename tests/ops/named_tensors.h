/* named_tensors.h - makes tensors in a few arrays of a test, for calls by name. */
#ifndef BP_TESTS_OPS_NAMED_TENSORS_H
#define BP_TESTS_OPS_NAMED_TENSORS_H

#include "support/arrays.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define I64(...) ((int64_t[]){__VA_ARGS__})

static double in[4][32], out[96];

static inline bp_view *view(double *memory, bp_dtype dtype, int ndim, const int64_t *shape) {
    static bp_view views[32];
    static int next;
    bp_view *made = &views[next++ % 32];
    assert_int_equal(bp_view_init(made, memory, dtype, ndim, shape, NULL), BP_OK);
    return made;
}
#define TENSOR(memory, dtype, ndim, ...) (&view(memory, dtype, ndim, I64(__VA_ARGS__))->tensor)

/* An output of a list for named_operands(), whose tensors are not written. */
static inline DLTensor *written(const DLTensor *tensor) {
    return (DLTensor *)(uintptr_t)tensor;
}

/* A setup that fills `in` with random numbers. */
static inline int fill(void **state) {
    (void)state;
    for (int i = 0; i < 4 * 32; i++) {
        in[i / 32][i % 32] = test_array_uniform();
    }
    return 0;
}

#endif
