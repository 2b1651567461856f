/* test_short_forms.c - tests that layers in one line, such as bp_linear(), give the bits of the calls that take a
 * struct, and refuse what these refuse. */
#include "backplane.h"
#include "support/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 2 * 6 * 9 * 9 };
#define I64(...) ((const int64_t[]){__VA_ARGS__})
#define SHAPE(...) (int)(sizeof(I64(__VA_ARGS__)) / sizeof(int64_t)), I64(__VA_ARGS__)

/* Inputs, and both results. */
static double memory[6][MOST], got[MOST], want[MOST];

static void fill(void) {
    test_array_random = 97;
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < MOST; j++) {
            memory[i][j] = test_array_uniform() + (i == 2 ? 2.5 : 0); /* 2: variances */
        }
    }
}

static bp_view *tensor(double *data, int ndim, const int64_t *shape) {
    static bp_view views[16];
    static int next;
    bp_view *made = &views[next++ % 16];
    assert_int_equal(bp_view_init(made, data, BP_F64, ndim, shape, NULL), BP_OK);
    return made;
}

/* The same elements with dimensions of another order, which ends with the first one. */
static bp_view *turned(double *data, int ndim, const int64_t *shape) {
    bp_view *made = tensor(data, ndim, shape);
    int64_t step = shape[0];
    made->strides[0] = 1;
    for (int d = 1; d < ndim; d++) {
        made->strides[d] = step;
        step *= shape[d];
    }
    made->tensor.strides = made->strides;
    return made;
}

#define IN(i, ...) (&(strided ? turned : tensor)(memory[i], SHAPE(__VA_ARGS__))->tensor)
#define OUT(result, ...) (&tensor(result, SHAPE(__VA_ARGS__))->tensor)

static void begin(void) {
    memset(got, 0xee, sizeof got);
    memset(want, 0xee, sizeof want);
}

static void same(bp_status by_form, bp_status by_struct) {
    assert_int_equal(by_form, BP_OK);
    assert_int_equal(by_struct, BP_OK);
    assert_memory_equal(got, want, sizeof got);
}

static void linear_layers(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool strided = i & 1, bias = i & 2, empty = i & 4;
        const int64_t rows = empty ? 0 : 7;
        bp_linear_call call = {.struct_size = sizeof call,
                               .input = IN(0, rows, 5),
                               .weight = IN(1, 3, 5),
                               .bias = bias ? IN(3, 3) : NULL,
                               .output = OUT(want, rows, 3)};
        begin();
        same(bp_linear(call.input, call.weight, call.bias, OUT(got, rows, 3)), bp_linear_run(NULL, &call));
    }
}

/* In one, two and three dimensions. */
static void convolutions(void **state) {
    static const int64_t inputs[][5] = {{2, 3, 9}, {2, 3, 9, 8}, {2, 3, 5, 4, 3}},
                         weights[][5] = {{4, 3, 3}, {4, 3, 3, 2}, {4, 3, 2, 2, 1}}, steps[] = {2, 1, 2},
                         rows[] = {1, 0, 1};
    (void)state;
    for (int i = 0; i < 24; i++) {
        const int ndim = 1 + i % 3;
        const bool strided = i & 4;
        bp_dtype dtype;
        int rank;
        int64_t shape[BP_MAX_NDIM];
        bp_conv_call call = {.struct_size = sizeof call,
                             .ndim = ndim,
                             .stride = i & 8 ? steps : NULL,
                             .padding = i & 16 ? rows : NULL,
                             .input = &(strided ? turned : tensor)(memory[0], ndim + 2, inputs[ndim - 1])->tensor,
                             .weight = &tensor(memory[1], ndim + 2, weights[ndim - 1])->tensor,
                             .bias = i & 1 ? IN(3, 4) : NULL};
        assert_int_equal(bp_conv_shape(&call, &dtype, &rank, shape), BP_OK);
        call.output = &tensor(want, rank, shape)->tensor;
        begin();
        same(bp_conv(call.input, call.weight, call.bias, call.stride, call.padding, &tensor(got, rank, shape)->tensor),
             bp_conv_run(NULL, &call));
    }
}

static void normalizations(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool strided = i & 1, scaled = i & 2, shifted = i & 4;
        bp_batch_norm_call batch = {.struct_size = sizeof batch,
                                    .eps = 1e-5,
                                    .input = IN(0, 2, 6, 9),
                                    .weight = scaled ? IN(3, 6) : NULL,
                                    .bias = shifted ? IN(4, 6) : NULL,
                                    .running_mean = OUT(memory[1], 6),
                                    .running_var = OUT(memory[2], 6),
                                    .output = OUT(want, 2, 6, 9)};
        begin();
        same(bp_batch_norm(batch.input, batch.running_mean, batch.running_var, batch.weight, batch.bias, 1e-5,
                           OUT(got, 2, 6, 9)),
             bp_batch_norm_run(NULL, &batch));
        for (int dims = 1; dims <= 2; dims++) {
            const int64_t *row = dims == 1 ? I64(9) : I64(6, 9);
            const bool given = scaled || shifted;
            bp_layer_norm_call layer = {.struct_size = sizeof layer,
                                        .row_ndim = given ? dims : 1,
                                        .eps = 1e-5,
                                        .input = IN(0, 2, 6, 9),
                                        .weight = scaled ? &tensor(memory[3], dims, row)->tensor : NULL,
                                        .bias = shifted ? &tensor(memory[4], dims, row)->tensor : NULL,
                                        .output = OUT(want, 2, 6, 9)};
            begin();
            same(bp_layer_norm(layer.input, layer.weight, layer.bias, 1e-5, OUT(got, 2, 6, 9)),
                 bp_layer_norm_run(NULL, &layer));
            layer.kind = BP_RMS_NORM;
            layer.bias = NULL;
            layer.row_ndim = scaled ? dims : 1;
            begin();
            same(bp_rms_norm(layer.input, layer.weight, 1e-5, OUT(got, 2, 6, 9)), bp_layer_norm_run(NULL, &layer));
        }
    }
}

static void attention(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++) {
        const bool strided = i & 1, masked = i / 2 == 1;
        bp_attention_call call = {.struct_size = sizeof call,
                                  .is_causal = i / 2 == 2,
                                  .query = IN(0, 2, 5, 4),
                                  .key = IN(1, 2, 7, 4),
                                  .value = IN(3, 2, 7, 3),
                                  .mask = masked ? IN(4, 5, 7) : NULL,
                                  .output = OUT(want, 2, 5, 3)};
        begin();
        same(bp_attention(call.query, call.key, call.value, call.mask, call.is_causal, OUT(got, 2, 5, 3)),
             bp_attention_run(NULL, &call));
    }
}

static void refused(bp_status status, bp_status wanted, const char *words) {
    if (status != wanted || !strstr(bp_last_error(), words)) {
        fail_msg("%s instead of %s: %s", bp_status_name(status), bp_status_name(wanted), bp_last_error());
    }
}

static void wrong_arguments(void **state) {
    const bool strided = false;
    const DLTensor *x = IN(0, 2, 6, 9), *w = IN(1, 4, 6, 3), *c = IN(3, 6);
    DLTensor *y = OUT(got, 2, 6, 9);
    (void)state;
    refused(bp_linear(x, NULL, NULL, y), BP_E_ARGUMENT, "weight");
    refused(bp_linear(x, w, NULL, y), BP_E_SHAPE, "weight has 3 dimensions");
    refused(bp_conv(x, NULL, NULL, NULL, NULL, y), BP_E_ARGUMENT, "weight");
    refused(bp_conv(x, c, NULL, NULL, NULL, y), BP_E_ARGUMENT, "ndim is -1");
    refused(bp_conv(NULL, w, NULL, NULL, NULL, y), BP_E_ARGUMENT, "input");
    refused(bp_conv(x, w, NULL, NULL, NULL, NULL), BP_E_ARGUMENT, "output");
    refused(bp_conv(x, w, NULL, I64(0), NULL, y), BP_E_ARGUMENT, "stride is 0");
    refused(bp_batch_norm(x, NULL, c, NULL, NULL, 0, y), BP_E_ARGUMENT, "running_mean");
    refused(bp_batch_norm(x, c, c, NULL, NULL, -1, y), BP_E_ARGUMENT, "eps is -1");
    refused(bp_layer_norm(x, c, NULL, 0, y), BP_E_SHAPE, "weight has shape (6); it must have shape (9)");
    refused(bp_layer_norm(NULL, NULL, NULL, 0, y), BP_E_ARGUMENT, "input");
    refused(bp_rms_norm(x, NULL, 0, NULL), BP_E_ARGUMENT, "output");
    refused(bp_attention(x, x, NULL, NULL, 0, y), BP_E_ARGUMENT, "value");
    refused(bp_attention(x, x, x, IN(4, 6, 6), 1, y), BP_E_ARGUMENT, "mask");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(linear_layers), cmocka_unit_test(convolutions),
                                       cmocka_unit_test(normalizations), cmocka_unit_test(attention),
                                       cmocka_unit_test(wrong_arguments)};
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
