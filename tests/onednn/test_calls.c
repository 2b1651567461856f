/* test_calls.c - products that the program sends to oneDNN: which settings switch it, packed factors, and the layouts
 * of a batch that programs use. */
#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STRICT "blas.preferred=onednn,dispatch.fallback=strict"
enum { BATCH = 3, M = 5, N = 18, K = 7, MOST = BATCH * 40 * 40 };

static void need_onednn(void) {
    bp_library_info library = {.struct_size = sizeof library};
    if (bp_library_find("onednn", &library) != BP_OK || library.state != BP_LIBRARY_OK ||
        strtol(library.version, NULL, 10) < 3) {
        print_message("skipped: oneDNN 3 is not installed\n");
        skip();
    }
}

/* Three matrices, or batches of them. */
typedef struct product {
    float a[MOST], b[MOST], c[MOST];
    bp_view view[3];
} product;

static product it;

/* Describes an operand, and fills its memory with small integers: products are then exact. */
static void make(int which, int ndim, const int64_t *shape, const int64_t *strides) {
    float *const memory[] = {it.a, it.b, it.c};
    for (int i = 0; i < MOST; i++) {
        memory[which][i] = which == 2 ? 77.0F : (float)((i * (7 + which)) % 11 - 5);
    }
    assert_int_equal(bp_view_init(&it.view[which], memory[which], BP_F32, ndim, shape, strides), BP_OK);
}

static int64_t at(const DLTensor *t, int64_t item, int64_t row, int64_t column) {
    const int64_t *s = t->strides + t->ndim - 2;
    return (t->ndim > 2 ? item * t->strides[0] : 0) + row * s[0] + column * s[1];
}

static void check(void) {
    const DLTensor *a = &it.view[0].tensor, *b = &it.view[1].tensor, *c = &it.view[2].tensor;
    const int64_t items = c->ndim > 2 ? c->shape[0] : 1, rows = c->shape[c->ndim - 2], columns = c->shape[c->ndim - 1];
    for (int64_t n = 0; n < items * rows * columns; n++) {
        const int64_t item = n / rows / columns, i = n / columns % rows, j = n % columns;
        float sum = 0;
        for (int64_t l = 0; l < a->shape[a->ndim - 1]; l++) {
            sum += it.a[at(a, item, i, l)] * it.b[at(b, item, l, j)];
        }
        if (it.c[at(c, item, i, j)] != sum) {
            fail_msg("item %d, element %d %d is %g instead of %g", (int)item, (int)i, (int)j,
                     (double)it.c[at(c, item, i, j)], (double)sum);
        }
    }
}

static bp_status plan(bp_plan **made, const char *settings, bp_plan_info *info) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_matmul_plan(made, options, &it.view[0].tensor, &it.view[1].tensor, &it.view[2].tensor);
    bp_options_release(options);
    if (status == BP_OK) {
        *info = (bp_plan_info){.struct_size = sizeof *info};
        assert_int_equal(bp_plan_describe(*made, info), BP_OK);
    }
    return status;
}

static void make_plain(void) {
    make(0, 2, (int64_t[]){M, K}, NULL);
    make(1, 2, (int64_t[]){K, N}, NULL);
    make(2, 2, (int64_t[]){M, N}, NULL);
}

static uint32_t properties_with(const char *settings) {
    bp_plan *made;
    bp_plan_info info;
    assert_int_equal(plan(&made, settings, &info), BP_OK);
    assert_string_equal(info.library, "onednn");
    bp_plan_release(made);
    return info.properties;
}

static void settings_switch_it(void **state) {
    (void)state;
    const uint32_t rounds = BP_PROPERTY_ROUNDS_BELOW_TF32 | BP_PROPERTY_INPUTS_TF32;
    bp_plan *made;
    bp_plan_info info;
    need_onednn();
    make_plain();
    assert_int_equal(properties_with(STRICT) & rounds, 0);
    assert_int_equal(plan(&made, STRICT ",mkldnn.enabled=false", &info), BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "mkldnn.enabled is false"));
    assert_int_equal(plan(&made, STRICT ",deterministic=threads", &info), BP_E_FALLBACK);
    assert_non_null(strstr(bp_last_error(), "place in a batch"));
    assert_true(properties_with(STRICT ",mkldnn.deterministic=true") & BP_PROPERTY_REPRODUCIBLE);
    assert_int_equal(properties_with(STRICT ",mkldnn.matmul.fp32_precision=ieee") & rounds, 0);
    assert_int_equal(properties_with(STRICT ",mkldnn.conv.fp32_precision=bf16") & rounds, 0);
    assert_int_equal(properties_with(STRICT ",mkldnn.matmul.fp32_precision=tf32") & rounds, BP_PROPERTY_INPUTS_TF32);
    assert_int_equal(properties_with(STRICT ",mkldnn.matmul.fp32_precision=bf16") & rounds,
                     BP_PROPERTY_ROUNDS_BELOW_TF32);
    const char *why;
    assert_true(bp_setting_has_effect("mkldnn.matmul.fp32_precision", &why));
}

/* Runs the plan with the second factor packed, and without. */
static void run_packed(int operand, const char *settings) {
    bp_plan *made;
    bp_plan_info info;
    bp_packed *packed;
    bp_operand operands[] = {{it.a, 0}, {it.b, 0}, {it.c, 0}};
    assert_int_equal(plan(&made, settings, &info), BP_OK);
    assert_string_equal(info.library, "onednn");
    assert_int_equal(bp_execute(made, operands, NULL), BP_OK);
    check();
    assert_int_equal(bp_plan_pack(&packed, made, operand, &operands[operand]), BP_OK);
    const bp_packed *list[3] = {NULL, NULL, NULL};
    list[operand] = packed;
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list, .operand_count = 3};
    operands[operand] = (bp_operand){NULL, 0};
    memset(it.c, 0, sizeof it.c);
    assert_int_equal(bp_execute(made, operands, &exec), BP_OK);
    check();
    bp_packed_release(packed);
    bp_plan_release(made);
}

static void factors_are_packed(void **state) {
    (void)state;
    need_onednn();
    for (int transposed = 0; transposed < 2; transposed++) {
        make_plain();
        make(1, 2, (int64_t[]){K, N}, transposed ? (int64_t[]){1, K + 2} : (int64_t[]){N + 3, 1});
        run_packed(1, STRICT ",dispatch.packed=second");
        /* A column-major result is computed as its transpose, whose second factor is A. */
        make(2, 2, (int64_t[]){M, N}, (int64_t[]){1, M});
        make(0, 2, (int64_t[]){M, K}, transposed ? (int64_t[]){1, M + 2} : (int64_t[]){K + 1, 1});
        run_packed(0, STRICT ",dispatch.packed=first");
    }
}

/* Items whose rows alternate, as the heads of attention do; and batches of transposed matrices with gaps. */
static void batches_of_views(void **state) {
    static const int64_t orders[][3][3] = {
        {{K, BATCH * K, 1}, {N, BATCH * N, 1}, {N, BATCH * N, 1}},
        {{M * K + 9, 1, M}, {(K + 2) * N, 1, K + 2}, {M * (N + 4), N + 4, 1}},
        {{K, BATCH * K, 1}, {K * N, 1, K}, {M * N, 1, M}},
    };
    (void)state;
    need_onednn();
    for (unsigned i = 0; i < sizeof orders / sizeof *orders; i++) {
        bp_options *options;
        make(0, 3, (int64_t[]){BATCH, M, K}, orders[i][0]);
        make(1, 3, (int64_t[]){BATCH, K, N}, orders[i][1]);
        make(2, 3, (int64_t[]){BATCH, M, N}, orders[i][2]);
        assert_int_equal(bp_options_new(&options, STRICT), BP_OK);
        if (bp_matmul_run(options, &it.view[0].tensor, &it.view[1].tensor, &it.view[2].tensor) != BP_OK) {
            fail_msg("%u: %s", i, bp_last_error());
        }
        bp_options_release(options);
        check();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(settings_switch_it), cmocka_unit_test(factors_are_packed),
                                       cmocka_unit_test(batches_of_views)};
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
