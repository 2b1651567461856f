/* test_layouts.c - tests that products are measured with operands as their calls pass them: packed, and with gaps. */
#include "tuning/support_tuning.h"

/* A packed operand makes the slowest algorithm the fastest. */
static void packed_operands_are_measured_packed(void **state) {
    (void)state;
    static double a[256], b[256], c[256];
    bp_view in, other, out;
    bp_options *options;
    bp_plan *plan;
    bp_plan_info info = {.struct_size = sizeof info};
    assert_string_equal(multiply(NOW, 16), "quick");
    assert_int_equal(seen.packed_runs, 0);
    for (int i = 0; i < 256; i++) {
        a[i] = i % 7;
        b[i] = i % 5;
    }
    bp_view_matrix(&in, a, BP_F64, 16, 16);
    bp_view_matrix(&other, b, BP_F64, 16, 16);
    bp_view_matrix(&out, c, BP_F64, 16, 16);
    assert_int_equal(bp_options_new(&options, NOW ", dispatch.packed=second"), BP_OK);
    assert_int_equal(bp_matmul_plan(&plan, options, &in.tensor, &other.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_string_equal(info.algorithm, "moody");
    assert_true(seen.packed_runs > 3);
    assert_contains(cache_file("tuning.txt"), "; packed second; ");
    assert_null(strstr(cache_file("quarantine.txt"), "moody"));

    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    bp_packed *packed[3] = {NULL};
    assert_int_equal(bp_plan_pack(&packed[1], plan, 1, &operands[1]), BP_OK);
    const bp_exec exec = {.struct_size = sizeof exec, .packed = (const bp_packed *const *)packed};
    const int runs = seen.packed_runs;
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    assert_int_equal(seen.packed_runs, runs + 1);
    double sum = 0;
    for (int l = 0; l < 16; l++) {
        sum += a[16 * 3 + l] * b[16 * l + 5];
    }
    assert_true(c[16 * 3 + 5] == sum);
    bp_packed_release(packed[1]);
    bp_plan_release(plan);
    bp_options_release(options);
    assert_string_equal(multiply(RIVALS_ONLY, 16), "quick"); /* the other class keeps its record */
}

static bp_explanation *explain(int64_t m, int64_t n, int64_t k, const int64_t strides[3][2]) {
    static double a[64 * 64];
    bp_explanation *e;
    bp_options *options;
    bp_view views[3];
    const int64_t shapes[3][2] = {{m, k}, {k, n}, {m, n}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bp_view_init(&views[i], i < 2 ? a : a + 2048, BP_F64, 2, shapes[i], strides[i]), BP_OK);
    }
    assert_int_equal(bp_options_new(&options, NOW), BP_OK);
    assert_int_equal(bp_matmul_explain(&e, options, &views[0].tensor, &views[1].tensor, &views[2].tensor), BP_OK);
    bp_options_release(options);
    return e;
}

/* The text of a problem has everything that `backplane tune --from` needs to make the same problem again. */
static void texts_have_leading_dimensions(void **state) {
    (void)state;
    static const struct {
        int64_t sizes[3], strides[3][2];
        const char *text;
    } cases[] = {
        {{9, 7, 8}, {{8, 1}, {7, 1}, {7, 1}}, "f64 9x8 @ 8x7 -> 9x7"},
        {{9, 7, 8}, {{16, 1}, {7, 1}, {10, 1}}, "f64 9x8 ld 16 @ 8x7 -> 9x7 ld 10"},
        {{9, 7, 8}, {{1, 9}, {1, 20}, {7, 1}}, "f64 9x8^T @ 8x7^T ld 20 -> 9x7"},
        {{9, 7, 8}, {{16, 2}, {3, 1}, {7, 1}}, "f64 9x8 strided @ 8x7 strided -> 9x7"},
        {{9, 7, 8}, {{0, 1}, {-7, 1}, {7, 1}}, "f64 9x8 strided @ 8x7 strided -> 9x7"},
        {{1, 7, 8}, {{99, 1}, {1, 8}, {50, 3}}, "f64 1x8 @ 8x7^T -> 1x7^T ld 3"},
        {{1, 1, 8}, {{8, 5}, {4, 1}, {1, 1}}, "f64 1x8^T ld 5 @ 8x1 ld 4 -> 1x1"},
        {{1, 1, 8}, {{8, 0}, {-1, 1}, {1, 1}}, "f64 1x8 strided @ 8x1 strided -> 1x1"},
        {{3, 2, 1}, {{1, 1}, {2, 1}, {2, 1}}, "f64 3x1 @ 1x2 -> 3x2"},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        bp_explanation *e = explain(cases[i].sizes[0], cases[i].sizes[1], cases[i].sizes[2], cases[i].strides);
        assert_string_equal(bp_explanation_problem(e), cases[i].text);
        bp_explanation_release(e);
    }
    assert_contains(cache_file("tuning.txt"), "matmul f64 9x8 ld 16 @ 8x7 -> 9x7 ld 10; ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tuning_setup, tuning_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(packed_operands_are_measured_packed),
        TEST(texts_have_leading_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
