/* support_cases.c - see cases.h. */
#include "pool/cases.h"
#include "reference/pool.h"

#include "tensor/internal.h"
#include "support/passes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Makes a tensor of any layout. */
static void make(test_array *t, bp_dtype dtype, int ndim, const int64_t *shape) {
    test_array_make(t, dtype, ndim, shape, (test_layout)test_array_between(0, TEST_ALL_LAYOUTS - 1));
}

/* ---- Cases ---- */

static void random_kernel(pool_case *c) {
    bp_pool_call *call = &c->call;
    for (int d = 0; d < call->ndim; d++) {
        c->kernel[d] = test_array_between(1, 4);
        c->stride[d] = test_array_between(1, 4);
        c->dilation[d] = call->kind == BP_POOL_MAX ? test_array_between(1, 3) : 1;
        c->padding[d] = test_array_between(0, (c->dilation[d] * (c->kernel[d] - 1) + 1) / 2);
    }
    call->kernel = c->kernel;
    call->stride = test_array_between(0, 3) ? c->stride : NULL;
    call->dilation = call->kind == BP_POOL_MAX ? c->dilation : NULL;
    call->padding = c->padding;
    call->ceil_mode = (int)test_array_between(0, 1);
    if (call->kind == BP_POOL_AVERAGE) {
        call->exclude_padding = (int)test_array_between(0, 1);
        call->divisor = call->exclude_padding || test_array_between(0, 3) ? 0 : test_array_between(-2, 5);
    }
}

static void describe(pool_case *c) {
    const DLTensor *in = &c->input.view.tensor;
    size_t used = (size_t)snprintf(c->text, sizeof c->text, "%s %s %s, ceil %d, shape", bp_dtype_name(c->dtype),
                                   c->call.output_size ? "adaptive" : "", c->call.kind ? "average" : "maximum",
                                   c->call.ceil_mode);
    for (int d = 0; d < in->ndim && used < sizeof c->text; d++) {
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, " %d", (int)in->shape[d]);
    }
    for (int d = 0; d < c->call.ndim && used < sizeof c->text; d++) {
        used += (size_t)snprintf(c->text + used, sizeof c->text - used, ", kernel %d stride %d dilation %d padding %d",
                                 (int)c->kernel[d], (int)c->stride[d], (int)c->dilation[d], (int)c->padding[d]);
    }
}

void pool_begin(pool_case *c, bp_dtype dtype, bp_pool_kind kind, bool wild) {
    int64_t shape[BP_MAX_NDIM];
    int rank, out_rank;
    bp_dtype type;
    for (;;) {
        memset(c, 0, sizeof *c);
        c->dtype = dtype;
        c->call = (bp_pool_call){.struct_size = sizeof c->call, .kind = kind, .ndim = (int)test_array_between(1, 3)};
        if (test_array_between(0, 2) == 0) {
            for (int d = 0; d < c->call.ndim; d++) {
                c->output_size[d] = test_array_between(test_array_between(0, 9) ? 1 : 0, 6);
            }
            c->call.output_size = c->output_size;
        } else {
            random_kernel(c);
        }
        rank = 0;
        if (test_array_between(0, 5)) {
            shape[rank++] = test_array_between(0, 8) ? test_array_between(1, 3) : 0;
        }
        shape[rank++] = test_array_between(0, 9) ? test_array_between(1, 20) : test_array_between(250, 270);
        for (int d = 0; d < c->call.ndim; d++) {
            shape[rank++] = c->call.ndim == 1 && test_array_between(0, 5) == 0 ? test_array_between(250, 600)
                                                                               : test_array_between(1, 11);
        }
        make(&c->input, dtype, rank, shape);
        c->call.input = &c->input.view.tensor;
        if (bp_pool_shape(&c->call, &type, &out_rank, shape) == BP_OK) {
            break;
        }
        test_array_free(&c->input);
    }
    describe(c);
    assert_int_equal(type, dtype);
    make(&c->output, dtype, out_rank, shape);
    c->call.output = &c->output.view.tensor;
    if (kind == BP_POOL_MAX && test_array_between(0, 2)) {
        make(&c->indices, BP_I64, out_rank, shape);
        c->call.indices = &c->indices.view.tensor;
    }
    for (int64_t i = 0; i < test_array_count(&c->input); i++) {
        const bool strange = wild && test_array_between(0, 15) == 0;
        test_array_set(&c->input, i,
                       strange ? (test_array_between(0, 1) ? NAN : -INFINITY) : (double)test_array_between(-4, 4));
    }
}

bool pool_fill(pool_case *c, int ndim, const int64_t *shape, test_layout layout, bool indices) {
    int64_t out[BP_MAX_NDIM];
    int rank;
    bp_dtype type;
    test_array_make(&c->input, c->dtype, ndim, shape, layout);
    c->call.input = &c->input.view.tensor;
    if (bp_pool_shape(&c->call, &type, &rank, out) != BP_OK) {
        test_array_free(&c->input);
        return false;
    }
    describe(c);
    test_array_make(&c->output, c->dtype, rank, out, layout);
    c->call.output = &c->output.view.tensor;
    if (indices) {
        test_array_make(&c->indices, BP_I64, rank, out, layout);
        c->call.indices = &c->indices.view.tensor;
    }
    for (int64_t i = 0; i < test_array_count(&c->input); i++) {
        test_array_set(&c->input, i, (double)test_array_between(-4, 4));
    }
    return true;
}

void pool_end(pool_case *c) {
    test_array_free(&c->input);
    test_array_free(&c->output);
    test_array_free(&c->indices);
}

/* ---- Comparisons ---- */

static double quotient(bp_dtype dtype, double a, double b) {
    return dtype == BP_F64 ? a / b : test_array_rounded(dtype, (double)((float)a / (float)b));
}

static reference_pool *open_reference(const pool_case *c) {
    reference_pool *made;
    assert_int_equal(reference_pool_open(&made, &c->call), BP_OK);
    return made;
}

void pool_compare_output(const pool_case *c) {
    reference_pool *p = open_reference(c);
    for (int64_t i = 0; i < test_array_count(&c->output); i++) {
        const reference_window w = reference_pool_window(p, i);
        const double want =
            c->call.kind == BP_POOL_MAX ? (double)w.most : quotient(c->dtype, (double)w.sum, (double)w.divisor);
        const double got = test_array_get(&c->output, i);
        if (!(got == want || (isnan(got) && isnan(want)))) {
            fail_msg("%s: output %d is %g instead of %g", c->text, (int)i, got, want);
        }
        if (c->call.indices && test_array_get(&c->indices, i) != (double)w.index) {
            fail_msg("%s: index %d is %g instead of %d", c->text, (int)i, test_array_get(&c->indices, i), (int)w.index);
        }
    }
    reference_pool_close(p);
    test_array_check_gaps(&c->output, c->text);
    test_array_check_gaps(&c->indices, c->text);
}

void pool_compare_gradient(const pool_case *c) {
    const int64_t all = test_array_count(&c->input);
    reference_number *want = reference_numbers(all);
    reference_pool *p = open_reference(c);
    assert_non_null(want);
    assert_int_equal(reference_pool_gradient(p, c->dtype == BP_F64 ? 0x1p-53L : 0x1p-24L, want), BP_OK);
    for (int64_t i = 0; i < all; i++) {
        /* The last rounding is that to the type. Gradients of maxima are sums of whole numbers. */
        const double value = (double)want[i].value, got = test_array_get(&c->input, i);
        const double bound = (double)want[i].error + test_array_eps(c->dtype) * (fabs(value) + (double)want[i].error);
        if (!(fabs(got - value) <= (c->call.kind == BP_POOL_MAX ? 0 : bound))) {
            fail_msg("%s: gradient %d is %.17g instead of %.17g", c->text, (int)i, got, value);
        }
    }
    free(want);
    reference_pool_close(p);
    test_array_check_gaps(&c->input, c->text);
}

void pool_turn(pool_case *c) {
    test_call_to_pass("pool", &c->call, BP_POOL_BACKWARD);
    test_array_mark(&c->input);
    for (int64_t i = 0; i < test_array_count(&c->output); i++) {
        test_array_set(&c->output, i, (double)test_array_between(-4, 4));
    }
}
