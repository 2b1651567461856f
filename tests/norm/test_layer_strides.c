/* test_layer_strides.c - layer and RMS normalization of rows whose elements or rows are strided: results are as of
 * compact tensors, and nothing is written between the elements. */
#include "backplane.h"
#include "support/arrays.h"
#include "support/conditions.h"
#include "support/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows compact, elements of different rows side by side, elements two apart, reversed, and columns two apart. */
typedef enum layout { COMPACT, COLUMNS, SPARSE, REVERSED, SPARSE_COLUMNS, LAYOUTS } layout;
enum { INPUT, OUTPUT, GRADIENT, IMAGES };

static const bp_dtype dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
static const char *const settings[] = {"", "cpu.capability=default", "cpu.capability=avx2", "num_threads=2"};

static void open_matrix(test_array *m, bp_dtype dtype, int64_t rows, int64_t columns, layout how) {
    const int64_t apart = how == COLUMNS ? 1 : 2, shape[] = {rows, columns};
    const int64_t strides[LAYOUTS][2] = {[COMPACT] = {columns, 1},
                                         [COLUMNS] = {apart, apart * rows + 3},
                                         [SPARSE] = {2 * columns, 2},
                                         [REVERSED] = {columns, -1},
                                         [SPARSE_COLUMNS] = {apart, apart * rows + 3}};
    test_array_make_strided(m, dtype, 2, shape, strides[how], 0);
}

/* Gives both matrices the same random numbers. */
static void fill(test_array *compact, test_array *strided) {
    for (int64_t i = 0; i < test_array_count(compact); i++) {
        test_array_set(compact, i, 2.3 * test_array_uniform() + 1);
        memcpy(test_array_at(strided, i), test_array_at(compact, i), bp_dtype_size(compact->dtype));
    }
}

/* What is compared: bits, or numbers up to `units` of rounding. */
static void compare(const test_array *got, const test_array *want, double units, const char *what) {
    for (int64_t i = 0; i < test_array_count(got); i++) {
        if (memcmp(test_array_at(got, i), test_array_at(want, i), bp_dtype_size(got->dtype)) != 0) {
            const double x = test_array_get(got, i), y = test_array_get(want, i);
            if (!(fabs(x - y) <= units * test_array_eps(got->dtype) * (fabs(y) + 1))) {
                fail_msg("%s of %s %lldx%lld: element %lld is %a in place of %a", what, bp_dtype_name(got->dtype),
                         (long long)got->view.shape[0], (long long)got->view.shape[1], (long long)i, x, y);
            }
        }
    }
}

/* The same call on compact and on strided tensors. */
typedef struct pair {
    test_array compact[IMAGES], strided[IMAGES];
    char *weight, *bias;
    bp_view weights[2];
    double statistics[2][2][256]; /* mean and inverse deviation of both */
    bp_view kept[2][2];
} pair;

static void open_pair(pair *p, bp_dtype dtype, int64_t rows, int64_t columns, const layout *how) {
    const int64_t shape[] = {columns};
    for (int k = 0; k < IMAGES; k++) {
        open_matrix(&p->compact[k], dtype, rows, columns, COMPACT);
        open_matrix(&p->strided[k], dtype, rows, columns, how[k]);
        fill(&p->compact[k], &p->strided[k]);
    }
    p->weight = calloc((size_t)columns, 8);
    p->bias = calloc((size_t)columns, 8);
    assert_int_equal(bp_view_init(&p->weights[0], p->weight, dtype, 1, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&p->weights[1], p->bias, dtype, 1, shape, NULL), BP_OK);
    for (int64_t j = 0; j < columns; j++) {
        const size_t size = bp_dtype_size(dtype);
        memcpy(p->weight + (size_t)j * size, test_array_at(&p->compact[1], j), size);
        memcpy(p->bias + (size_t)j * size, test_array_at(&p->compact[2], (rows - 1) * columns + j), size);
    }
    memset(p->statistics, 0, sizeof p->statistics);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(bp_view_init(&p->kept[k / 2][k % 2], p->statistics[k / 2][k % 2], dtype, 1, &rows, NULL),
                         BP_OK);
    }
}

static void close_pair(pair *p) {
    for (int k = 0; k < IMAGES; k++) {
        test_array_free(&p->compact[k]);
        test_array_free(&p->strided[k]);
    }
    free(p->weight);
    free(p->bias);
}

static void run(pair *p, bool strided, bp_layer_norm_call call, const char *setting) {
    test_array *m = strided ? p->strided : p->compact;
    bp_options *options = test_options(setting);
    call.struct_size = sizeof call;
    call.row_ndim = 1;
    call.eps = 1e-5;
    call.input = &m[INPUT].view.tensor;
    const bool backward = call.pass == BP_LAYER_NORM_BACKWARD;
    call.output = backward ? NULL : &m[OUTPUT].view.tensor;
    call.output_gradient = backward ? &m[OUTPUT].view.tensor : NULL;
    call.weight = call.weight ? &p->weights[0].tensor : NULL;
    call.input_gradient = backward ? &m[GRADIENT].view.tensor : NULL;
    call.inverse_std = &p->kept[strided][1].tensor;
    call.mean = call.kind == BP_LAYER_NORM ? &p->kept[strided][0].tensor : NULL;
    if (backward) {
        call.mean = call.inverse_std = NULL;
    }
    const bp_status status = bp_layer_norm_run(options, &call);
    if (status != BP_OK) {
        fail_msg("%s", bp_last_error());
    }
    bp_options_release(options);
}

/* Bits are equal, except of rows that are lanes of vectors, whose sums have another order. */
static void try_one(bp_dtype dtype, int64_t rows, int64_t columns, const layout *how, const char *setting) {
    static const DLTensor some;
    const double units = 40 + (dtype == BP_F64 ? (double)columns : 0);
    const bool lanes = how[INPUT] == COLUMNS && how[OUTPUT] == COLUMNS;
    for (int kind = BP_LAYER_NORM; kind <= BP_RMS_NORM; kind++) {
        pair p;
        open_pair(&p, dtype, rows, columns, how);
        bp_layer_norm_call call = {.kind = (bp_layer_norm_kind)kind, .weight = &some};
        call.bias = kind == BP_LAYER_NORM ? &p.weights[1].tensor : NULL;
        run(&p, false, call, setting);
        run(&p, true, call, setting);
        compare(&p.strided[OUTPUT], &p.compact[OUTPUT], lanes ? units : 0, "the output");
        test_array_check_gaps(&p.strided[OUTPUT], setting);
        for (int64_t i = 0; i < 2 * 256 && !lanes; i++) {
            assert_memory_equal(&p.statistics[1][i / 256][i % 256], &p.statistics[0][i / 256][i % 256], 8);
        }
        call = (bp_layer_norm_call){.kind = (bp_layer_norm_kind)kind, .pass = BP_LAYER_NORM_BACKWARD, .weight = &some};
        fill(&p.compact[OUTPUT], &p.strided[OUTPUT]);
        run(&p, false, call, setting);
        run(&p, true, call, setting);
        compare(&p.strided[GRADIENT], &p.compact[GRADIENT], columns > 8192 ? units : 0, "the gradient");
        test_array_check_gaps(&p.strided[GRADIENT], setting);
        close_pair(&p);
    }
}

static void strided_rows_have_the_results_of_compact_ones(void **state) {
    (void)state;
    static const int64_t rows[] = {1, 2, 15, 31, 33, 64, 65, 130}, columns[] = {1, 2, 7, 17, 40};
    const bool few = test_sanitized();
    int number = 0;
    for (int r = 0; r < 8; r++) {
        for (int c = 0; c < 5; c++) {
            for (int l = 0; l < LAYOUTS * LAYOUTS; l++, number++) {
                const layout how[IMAGES] = {(layout)(l / LAYOUTS), (layout)(l % LAYOUTS),
                                            (layout)((l + r + c) % LAYOUTS)};
                if (!few || number % 7 == 0) {
                    try_one(dtypes[number % 4], rows[r], columns[c], how, settings[number / 4 % 4]);
                }
            }
        }
    }
}

/* Longer than a block, and than what is copied at once. */
static void long_rows(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{3, 8193}, {35, 1025}, {3, 20001}, {70, 2050}};
    for (int s = 0; s < 4; s++) {
        for (int l = 0; l < LAYOUTS; l++) {
            const layout how[IMAGES] = {(layout)l, (layout)(l == SPARSE ? COLUMNS : l), (layout)((l + 1) % LAYOUTS)};
            try_one(dtypes[s % 2], sizes[s][0], sizes[s][1], how, settings[l % 4]);
        }
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    static const layout layouts[][IMAGES] = {{COLUMNS, COLUMNS, COLUMNS}, {COLUMNS, COMPACT, SPARSE}};
    for (int l = 0; l < 2; l++) {
        pair p;
        open_pair(&p, BP_F32, 200, 1500, layouts[l]);
        run(&p, true, (bp_layer_norm_call){.kind = BP_LAYER_NORM}, "num_threads=1");
        const test_array *output = &p.strided[OUTPUT];
        test_array alone;
        test_array_copy(&alone, output);
        for (int threads = 2; threads < 8; threads += 2 + threads % 2) {
            char setting[32];
            snprintf(setting, sizeof setting, "num_threads=%d", threads);
            run(&p, true, (bp_layer_norm_call){.kind = BP_LAYER_NORM}, setting);
            assert_memory_equal(alone.memory, output->memory, (size_t)output->all * bp_dtype_size(BP_F32));
        }
        test_array_free(&alone);
        close_pair(&p);
    }
}

/* Several dimensions of rows and of elements that cannot be merged, and a mean that is large. */
static void dimensions_and_means(void **state) {
    (void)state;
    enum { A = 30, B = 5, C = 30, D = 40, COUNT = A * B * C * D, SPACE = A * (B + 1) * C * D };
    static double x[SPACE], y[SPACE], want[COUNT], plain[COUNT];
    const int64_t shape[] = {A, B, C, D}, strides[] = {B + 1, 1, A * (B + 1) * D, A * (B + 1)};
    bp_view in, out, compact_in, compact;
    assert_int_equal(bp_view_init(&in, x, BP_F64, 4, shape, strides), BP_OK);
    assert_int_equal(bp_view_init(&out, y, BP_F64, 4, shape, strides), BP_OK);
    assert_int_equal(bp_view_init(&compact_in, plain, BP_F64, 4, shape, NULL), BP_OK);
    assert_int_equal(bp_view_init(&compact, want, BP_F64, 4, shape, NULL), BP_OK);
    for (int i = 0; i < COUNT; i++) {
        plain[i] = 2.3 * test_array_uniform() + 1e6;
    }
    assert_int_equal(bp_tensor_copy(&in.tensor, &compact_in.tensor), BP_OK);
    bp_layer_norm_call call = {.struct_size = sizeof call,
                               .kind = BP_LAYER_NORM,
                               .row_ndim = 2,
                               .input = &compact_in.tensor,
                               .output = &compact.tensor};
    assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
    for (int which = 0; which < 3; which++) { /* both are strided, the output, the input */
        static double got[COUNT];
        bp_view read;
        assert_int_equal(bp_view_init(&read, got, BP_F64, 4, shape, NULL), BP_OK);
        call.input = which == 1 ? &compact_in.tensor : &in.tensor;
        call.output = which == 2 ? &read.tensor : &out.tensor;
        assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
        if (which != 2) {
            assert_int_equal(bp_tensor_copy(&read.tensor, &out.tensor), BP_OK);
        }
        for (int i = 0; i < COUNT; i++) {
            if (!(fabs(got[i] - want[i]) <= 1e-9)) {
                fail_msg("%d: element %d is %g in place of %g", which, i, got[i], want[i]);
            }
        }
        memset(y, 0, sizeof y);
    }
}

/* Groups are rows; with as many as channels, neighbours in channels-last memory are in different rows, whose weights
 * differ. */
static void groups_of_channels_last_images_have_their_own_weights(void **state) {
    enum { N = 2, C = 20, P = 26 };
    static float images[2][N * C * P], results[2][N * C * P], weight[C], bias[C];
    const int64_t shape[] = {N, C, P}, channels[] = {C};
    const int64_t strides[][3] = {{C * P, P, 1}, {C * P, 1, C}};
    bp_view in[2], out[2], weights[2];
    (void)state;
    assert_int_equal(bp_view_init(&weights[0], weight, BP_F32, 1, channels, NULL), BP_OK);
    assert_int_equal(bp_view_init(&weights[1], bias, BP_F32, 1, channels, NULL), BP_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(bp_view_init(&in[k], images[k], BP_F32, 3, shape, strides[k]), BP_OK);
        assert_int_equal(bp_view_init(&out[k], results[k], BP_F32, 3, shape, strides[k]), BP_OK);
    }
    for (int64_t i = 0; i < N * C * P; i++) {
        const int64_t c = i / P % C;
        const float x = (float)(2.3 * test_array_uniform());
        weight[c] = (float)c - 3;
        bias[c] = 0.5f * (float)c;
        images[0][i] = x;
        images[1][i / (C * P) * C * P + i % P * C + c] = x;
    }
    for (int64_t groups = 1; groups <= C; groups += groups == 1 ? 3 : groups == 4 ? 6 : 10) {
        for (int k = 0; k < 2; k++) {
            const bp_layer_norm_call call = {.struct_size = sizeof call,
                                             .kind = BP_GROUP_NORM,
                                             .groups = groups,
                                             .eps = 1e-3,
                                             .input = &in[k].tensor,
                                             .weight = &weights[0].tensor,
                                             .bias = &weights[1].tensor,
                                             .output = &out[k].tensor};
            assert_int_equal(bp_layer_norm_run(NULL, &call), BP_OK);
        }
        for (int64_t i = 0; i < N * C * P; i++) {
            const int64_t c = i / P % C;
            const float got = results[1][i / (C * P) * C * P + i % P * C + c], want = results[0][i];
            if (!(fabsf(got - want) <= 1e-5f * (1 + fabsf(want)))) {
                fail_msg("%d groups: element %d is %g in channels-last memory, %g in a compact one", (int)groups,
                         (int)i, (double)got, (double)want);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strided_rows_have_the_results_of_compact_ones),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(dimensions_and_means),
        cmocka_unit_test(groups_of_channels_last_images_have_their_own_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
