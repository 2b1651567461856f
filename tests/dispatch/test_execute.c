/* test_execute.c - bp_execute: factors, caller-provided workspaces, offsets, refusals, the number of operands, and the
 * requirements that a plan reports.
 *
 * Each run is compared with the one-shot call of the same operation. */
#include "dispatch/product.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64 };

static bp_plan *product_plan(const char *settings, const bp_scalar *alpha, const bp_scalar *beta) {
    bp_view v[3];
    bp_options *options;
    bp_plan *plan;
    views(v);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    assert_int_equal(
        bp_gemm_plan(&plan, options, BP_AS_IS, BP_AS_IS, alpha, &v[0].tensor, &v[1].tensor, beta, &v[2].tensor), BP_OK);
    bp_options_release(options);
    return plan;
}

static size_t workspace_of(const bp_plan *plan) {
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    return info.workspace;
}

/* Returns a workspace of exactly `size` bytes between guards. */
static char *guarded(size_t size) {
    char *block = aligned_alloc(64, (size + 2 * GUARD + 63) / 64 * 64);
    assert_non_null(block);
    memset(block, 0x5A, size + 2 * GUARD);
    return block;
}

static void check_guards(char *block, size_t size) {
    for (int i = 0; i < GUARD; i++) {
        assert_int_equal(block[i], 0x5A);
        assert_int_equal(block[GUARD + size + (size_t)i], 0x5A);
    }
    free(block);
}

static void factors_are_those_of_the_call(void **state) {
    (void)state;
    const bp_scalar factors[2] = {{2, 0}, {-1, 0}};
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    bp_view v[3];
    bp_plan *plan = product_plan("blas.preferred=native", &factors[0], &factors[1]);
    fill();
    assert_int_equal(bp_execute(plan, operands, NULL), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "scalars"));
    assert_memory_equal(c, expected, sizeof c);
    bp_exec exec = {.struct_size = sizeof exec, .scalars = factors};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    views(v);
    v[2].tensor.data = expected;
    assert_int_equal(
        bp_gemm_run(NULL, BP_AS_IS, BP_AS_IS, &factors[0], &v[0].tensor, &v[1].tensor, &factors[1], &v[2].tensor),
        BP_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        assert_true(fabs(c[i] - expected[i]) < 1e-9);
    }
    bp_plan_release(plan);
}

static int class_of(double factor) {
    return factor == 0 ? 0 : factor == 1 ? 1 : 2;
}

/* Runs the plan, made for two factors, with two others: in the same classes the result is as in the one-shot call,
 * and in others nothing is written. */
static void run_with_factors(const bp_plan *plan, const bp_scalar made[2], const bp_scalar given[2]) {
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    const bp_exec exec = {.struct_size = sizeof exec, .scalars = given};
    const bool same = class_of(made[0].re) == class_of(given[0].re) && class_of(made[1].re) == class_of(given[1].re);
    bp_view v[3];
    fill();
    assert_int_equal(bp_execute(plan, operands, &exec), same ? BP_OK : BP_E_ARGUMENT);
    if (!same) {
        assert_non_null(strstr(bp_last_error(), "make another plan"));
        assert_memory_equal(c, expected, sizeof c);
        return;
    }
    views(v);
    v[2].tensor.data = expected;
    assert_int_equal(bp_gemm(BP_AS_IS, BP_AS_IS, &given[0], &v[0].tensor, &v[1].tensor, &given[1], &v[2].tensor),
                     BP_OK);
    for (int i = 0; i < ELEMENTS; i++) {
        assert_true(fabs(c[i] - expected[i]) < 1e-9);
    }
}

/* A plan holds the kernel for its class of alpha and beta, so that factors of another class must not run. */
static void factors_of_another_class_are_refused(void **state) {
    (void)state;
    static const char *const ways[] = {"blas.preferred=native", "blas.preferred=openblas", ""};
    static const double values[] = {0, 1, 2, 0.5};
    for (int at = 0; at < 3 * 16; at++) {
        const bp_scalar made[2] = {{values[at / 4 % 4], 0}, {values[at % 4], 0}};
        bp_plan *plan = product_plan(ways[at / 16], &made[0], &made[1]);
        for (int i = 0; i < 16; i++) {
            run_with_factors(plan, made, (bp_scalar[2]){{values[i / 4], 0}, {values[i % 4], 0}});
        }
        bp_plan_release(plan);
    }
}

/* Without scalars a run has alpha 1 and beta 0, which is refused by a plan of another class. */
static void missing_factors_are_one_and_zero(void **state) {
    (void)state;
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    const bp_exec exec = {.struct_size = sizeof exec};
    for (int at = 0; at < 4; at++) {
        const bp_scalar made[2] = {{at / 2, 0}, {at % 2, 0}};
        bp_plan *plan = product_plan("blas.preferred=native", &made[0], &made[1]);
        const bp_status right = at == 2 ? BP_OK : BP_E_ARGUMENT;
        fill();
        assert_int_equal(bp_execute(plan, operands, NULL), right);
        assert_int_equal(bp_execute(plan, operands, &exec), right);
        assert_true(at == 2 || memcmp(c, expected, sizeof c) == 0);
        bp_plan_release(plan);
    }
}

static void imaginary_factors_need_complex_matrices(void **state) {
    (void)state;
    static double x[2], y[2], z[2];
    const bp_scalar two = {2, 0}, zero = {0, 0}, with[2] = {{2, 1}, {0, 0}}, i_and_beta[2] = {{0, 1}, {0, 1}};
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}}, complex[] = {{x, 0}, {y, 0}, {z, 0}};
    bp_exec exec = {.struct_size = sizeof exec, .scalars = with};
    bp_plan *plan = product_plan("blas.preferred=native", &two, NULL);
    fill();
    assert_int_equal(bp_execute(plan, operands, &exec), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "imaginary"));
    assert_memory_equal(c, expected, sizeof c);
    bp_plan_release(plan);
    bp_view v[3];
    double *const data[] = {x, y, z};
    for (int i = 0; i < 3; i++) {
        bp_view_matrix(&v[i], data[i], BP_C128, 1, 1);
    }
    assert_int_equal(
        bp_gemm_plan(&plan, NULL, BP_AS_IS, BP_AS_IS, &two, &v[0].tensor, &v[1].tensor, &zero, &v[2].tensor), BP_OK);
    x[0] = y[1] = 3;
    assert_int_equal(bp_execute(plan, complex, &exec), BP_OK); /* (2 + i) * 3 * 3i */
    assert_true(z[0] == -9 && z[1] == 18);
    exec.scalars = i_and_beta;
    assert_int_equal(bp_execute(plan, complex, &exec), BP_E_ARGUMENT);
    assert_true(z[0] == -9 && z[1] == 18);
    bp_plan_release(plan);
}

/* Operations without factors take none, so that a mistake is not ignored. */
static void only_products_take_factors(void **state) {
    (void)state;
    static double spectrum[2 * ELEMENTS];
    const bp_scalar none[2] = {{1, 0}, {0, 0}}, some[][2] = {{{2, 0}, {0, 0}}, {{1, 0}, {1, 0}}, {{1, 1}, {0, 0}}};
    const int64_t shape[] = {SIDE, SIDE};
    bp_view v[3], w;
    bp_plan *plans[3];
    fill();
    views(v);
    bp_view_init(&w, spectrum, BP_C128, 2, shape, NULL);
    bp_fft_call transform = {.struct_size = sizeof transform, .transform = BP_FFT, .axis_count = 1};
    bp_linalg_call inverse = {
        .struct_size = sizeof inverse, .op = BP_OP_INV, .input = {&v[0].tensor}, .output = {&v[2].tensor}};
    const DLTensor *tensors[] = {&v[0].tensor, &v[1].tensor};
    bp_einsum_call sum = {.struct_size = sizeof sum, .expression = "ij,jk->ik", .count = 2, .operands = tensors};
    assert_int_equal(bp_fft_plan(&plans[0], NULL, &transform, &v[0].tensor, &w.tensor), BP_OK);
    assert_int_equal(bp_linalg_plan(&plans[1], NULL, &inverse), BP_OK);
    assert_int_equal(bp_einsum_plan(&plans[2], NULL, &sum, &v[2].tensor), BP_OK);
    const bp_operand operands[][BP_LINALG_OPERANDS] = {
        {{a, 0}, {spectrum, 0}}, {{a, 0}, {c, 0}}, {{a, 0}, {b, 0}, {c, 0}}};
    for (int i = 0; i < 3; i++) {
        bp_exec exec = {.struct_size = sizeof exec, .scalars = none};
        assert_int_not_equal(bp_execute(plans[i], operands[i], &exec), BP_E_ARGUMENT);
        for (int k = 0; k < 3; k++) {
            exec.scalars = some[k];
            assert_int_equal(bp_execute(plans[i], operands[i], &exec), BP_E_ARGUMENT);
            assert_non_null(strstr(bp_last_error(), "no alpha and beta"));
        }
        bp_plan_release(plans[i]);
    }
}

/* Base and offset are added to one address. */
static void base_and_offset_are_added(void **state) {
    (void)state;
    static double memory[3 * ELEMENTS];
    bp_plan *plan = product_plan("blas.preferred=native", NULL, NULL);
    fill();
    memcpy(memory, a, sizeof a);
    memcpy(memory + ELEMENTS, b, sizeof b);
    const bp_operand apart[] = {{a, 0}, {b, 0}, {c, 0}};
    const bp_operand together[] = {{memory, 0}, {memory, sizeof a}, {memory, 2 * sizeof a}};
    assert_int_equal(bp_execute(plan, apart, NULL), BP_OK);
    assert_int_equal(bp_execute(plan, together, NULL), BP_OK);
    assert_memory_equal(memory + 2 * ELEMENTS, c, sizeof c);
    bp_plan_release(plan);
}

/* Runs with a workspace of exactly the size that the plan reports. The result must be bitwise equal, and nothing
 * outside may be written. */
static void run_both_ways(const bp_plan *plan, const bp_operand *operands, void *result, size_t bytes) {
    size_t size = workspace_of(plan);
    char *block = guarded(size);
    void *first = malloc(bytes);
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    memcpy(first, result, bytes);
    memset(result, 0, bytes);
    bp_exec exec = {.struct_size = sizeof exec, .workspace = {block, GUARD}, .workspace_size = size};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    assert_memory_equal(result, first, bytes);
    check_guards(block, size);
    if (size > 0) {
        block = guarded(size);
        exec = (bp_exec){.struct_size = sizeof exec, .workspace = {block, GUARD}, .workspace_size = size - 1};
        assert_int_equal(bp_execute(plan, operands, &exec), BP_E_ARGUMENT);
        assert_non_null(strstr(bp_last_error(), "workspace"));
        exec = (bp_exec){.struct_size = sizeof exec, .workspace = {block, GUARD + 8}, .workspace_size = size};
        assert_int_equal(bp_execute(plan, operands, &exec), BP_E_ARGUMENT);
        assert_non_null(strstr(bp_last_error(), "aligned"));
        free(block);
    }
    free(first);
}

static void products_run_in_a_given_workspace(void **state) {
    (void)state;
    static const char *const ways[] = {"blas.preferred=native:packed, num_threads=1",
                                       "blas.preferred=native:packed, num_threads=2", "blas.preferred=native:small"};
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    fill();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        bp_plan *plan = product_plan(ways[i], NULL, NULL);
        assert_true(i == 2 || workspace_of(plan) > 0);
        run_both_ways(plan, operands, c, sizeof c);
        bp_plan_release(plan);
    }
}

static void simulated_products_run_in_a_given_workspace(void **state) {
    (void)state;
    static float x[ELEMENTS], y[ELEMENTS], z[ELEMENTS];
    const bp_operand operands[] = {{x, 0}, {y, 0}, {z, 0}};
    bp_view v[3];
    bp_options *options;
    bp_plan *plan;
    for (int i = 0; i < ELEMENTS; i++) {
        x[i] = (float)(i % 31) / 7;
        y[i] = (float)(i % 29) / 3;
    }
    bp_view_matrix(&v[0], x, BP_F32, SIDE, SIDE);
    bp_view_matrix(&v[1], y, BP_F32, SIDE, SIDE);
    bp_view_matrix(&v[2], z, BP_F32, SIDE, SIDE);
    assert_int_equal(bp_options_new(&options, "simulate.bf16=true, blas.preferred=native:packed"), BP_OK);
    assert_int_equal(bp_matmul_plan(&plan, options, &v[0].tensor, &v[1].tensor, &v[2].tensor), BP_OK);
    assert_true(workspace_of(plan) >= 2 * sizeof x);
    run_both_ways(plan, operands, z, sizeof z);
    bp_plan_release(plan);
    bp_options_release(options);
}

/* Transforms of padded input, with full spectra, and plain ones. */
static void transforms_run_in_a_given_workspace(void **state) {
    (void)state;
    static double in[40 * 50], out[2 * 64 * 60];
    const int64_t shape[] = {40, 50}, sizes[] = {64, 60}, whole[] = {64, 60};
    bp_view v, w;
    bp_plan *plan;
    for (int i = 0; i < 40 * 50; i++) {
        in[i] = i % 17 - 8;
    }
    bp_view_init(&v, in, BP_F64, 2, shape, NULL);
    bp_view_init(&w, out, BP_C128, 2, whole, NULL);
    bp_fft_call call = {.struct_size = sizeof call, .transform = BP_FFT, .axis_count = 2, .s = sizes};
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "fft.preferred=native"), BP_OK);
    assert_int_equal(bp_fft_plan(&plan, options, &call, &v.tensor, &w.tensor), BP_OK);
    assert_true(workspace_of(plan) >= 64 * 60 * sizeof(double));
    const bp_operand operands[] = {{in, 0}, {out, 0}};
    run_both_ways(plan, operands, out, sizeof out);
    bp_plan_release(plan);
    bp_options_release(options);
}

static void contractions_run_in_a_given_workspace(void **state) {
    (void)state;
    bp_view v[3];
    views(v);
    const DLTensor *tensors[] = {&v[0].tensor, &v[1].tensor, &v[0].tensor};
    bp_einsum_call call = {.struct_size = sizeof call, .expression = "ij,jk,kl->il", .count = 3, .operands = tensors};
    bp_plan *plan;
    fill();
    assert_int_equal(bp_einsum_plan(&plan, NULL, &call, &v[2].tensor), BP_OK);
    assert_true(workspace_of(plan) >= sizeof c);
    const bp_operand operands[] = {{a, 0}, {b, 0}, {a, 0}, {c, 0}};
    run_both_ways(plan, operands, c, sizeof c);
    bp_plan_release(plan);
}

static void linear_algebra_runs_in_a_given_workspace(void **state) {
    (void)state;
    enum { ITEMS = 50, N = 6 };
    static double matrices[ITEMS * N * N], inverses[ITEMS * N * N];
    const int64_t shape[] = {ITEMS, N, N};
    bp_view v, w;
    bp_plan *plan;
    for (int i = 0; i < ITEMS * N * N; i++) {
        matrices[i] = (i % (N * N)) % (N + 1) == 0 ? 9 + i % 5 : (i * 7 % 11) / 11.0;
    }
    bp_view_init(&v, matrices, BP_F64, 3, shape, NULL);
    bp_view_init(&w, inverses, BP_F64, 3, shape, NULL);
    bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_INV, .input = {&v.tensor}, .output = {&w.tensor}};
    assert_int_equal(bp_linalg_plan(&plan, NULL, &call), BP_OK);
    assert_true(workspace_of(plan) > 0);
    const bp_operand operands[BP_LINALG_OPERANDS] = {{matrices, 0}, {inverses, 0}};
    run_both_ways(plan, operands, inverses, sizeof inverses);
    bp_plan_release(plan);
}

/* If base is NULL, Backplane provides the workspace, whatever the other fields contain. */
static void an_absent_workspace_has_no_offset(void **state) {
    (void)state;
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    bp_plan *plan = product_plan("blas.preferred=native:packed", NULL, NULL);
    assert_true(workspace_of(plan) > 0);
    fill();
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    memcpy(expected, c, sizeof c);
    memset(c, 0, sizeof c);
    bp_exec exec = {.struct_size = sizeof exec, .workspace = {NULL, UINT64_C(1) << 46}, .workspace_size = 1};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    assert_memory_equal(c, expected, sizeof c);
    bp_plan_release(plan);
}

/* ---- The number of operands ---- */

static int operands_of(const bp_plan *plan) {
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    return info.operands;
}

/* Runs the plan with every number of operands up to `count` + 1: only the plan's own number, and 0, may run. */
static void check_counts(bp_plan *plan, int count, const bp_operand *operands, void *result, size_t bytes) {
    char *before = malloc(bytes);
    assert_non_null(before);
    assert_int_equal(operands_of(plan), count);
    for (int given = 0; given <= count + 1; given++) {
        bool runs = given == 0 || given == count;
        bp_exec exec = {.struct_size = sizeof exec, .operand_count = (size_t)given};
        memset(result, 0x5A, bytes);
        memcpy(before, result, bytes);
        assert_int_equal(bp_execute(plan, operands, &exec), runs ? BP_OK : BP_E_ARGUMENT);
        assert_int_equal(memcmp(before, result, bytes) != 0, runs);
        if (!runs) {
            char numbers[32];
            snprintf(numbers, sizeof numbers, "got %d operands", given);
            assert_non_null(strstr(bp_last_error(), numbers));
        }
    }
    free(before);
    bp_plan_release(plan);
}

static void plans_check_the_number_of_their_operands(void **state) {
    (void)state;
    const bp_operand three[] = {{a, 0}, {b, 0}, {c, 0}}, four[] = {{a, 0}, {b, 0}, {a, 0}, {c, 0}};
    bp_view v[3];
    bp_plan *plan;
    fill();
    views(v);
    check_counts(product_plan("blas.preferred=native", NULL, NULL), 3, three, c, sizeof c);

    const DLTensor *tensors[] = {&v[0].tensor, &v[1].tensor, &v[0].tensor};
    bp_einsum_call contraction = {
        .struct_size = sizeof contraction, .expression = "ij,jk,kl->il", .count = 3, .operands = tensors};
    assert_int_equal(bp_einsum_plan(&plan, NULL, &contraction, &v[2].tensor), BP_OK);
    bp_einsum_part part = {.struct_size = sizeof part};
    assert_int_equal(bp_einsum_part_at(plan, 0, &part), 1);
    assert_int_equal(operands_of(part.plan), 3);
    check_counts(plan, 4, four, c, sizeof c);

    static double spectrum[2 * SIDE * SIDE];
    const int64_t shape[] = {SIDE, SIDE};
    const bp_operand two[] = {{a, 0}, {spectrum, 0}};
    bp_view w;
    bp_view_init(&w, spectrum, BP_C128, 2, shape, NULL);
    bp_fft_call transform = {.struct_size = sizeof transform, .transform = BP_FFT, .axis_count = 1};
    assert_int_equal(bp_fft_plan(&plan, NULL, &transform, &v[0].tensor, &w.tensor), BP_OK);
    check_counts(plan, 2, two, spectrum, sizeof spectrum);
}

/* Operands that the call leaves out count too. */
static void plans_of_linear_algebra_count_every_operand(void **state) {
    (void)state;
    double matrix[4] = {4, 1, 1, 3}, result[4];
    const bp_operand operands[BP_LINALG_OPERANDS] = {{matrix, 0}, {result, 0}};
    const struct {
        bp_op op;
        int ndim, operands;
    } kinds[] = {{BP_OP_INV, 2, 3},         {BP_OP_DET, 0, 2},  {BP_OP_COND, 0, 2},
                 {BP_OP_MATRIX_NORM, 0, 2}, {BP_OP_PINV, 2, 2}, {BP_OP_VECTOR_NORM, 0, 2}};
    const int64_t shape[] = {2, 2};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bp_view v, w;
        bp_plan *plan;
        bp_view_matrix(&v, matrix, BP_F64, 2, 2);
        bp_view_init(&w, result, BP_F64, kinds[i].ndim, shape, NULL);
        bp_linalg_call call = {
            .struct_size = sizeof call, .op = kinds[i].op, .input = {&v.tensor}, .output = {&w.tensor}};
        assert_int_equal(bp_linalg_plan(&plan, NULL, &call), BP_OK);
        check_counts(plan, kinds[i].operands, operands, result, sizeof result);
    }
}

static void singular_values_alone_count_four_operands(void **state) {
    (void)state;
    double matrix[4] = {4, 1, 1, 3}, values[2];
    const bp_operand operands[] = {{matrix, 0}, {NULL, 0}, {values, 0}, {NULL, 0}};
    const int64_t shape[] = {2};
    bp_view v, w;
    bp_plan *plan;
    bp_view_matrix(&v, matrix, BP_F64, 2, 2);
    bp_view_init(&w, values, BP_F64, 1, shape, NULL);
    bp_linalg_call call = {
        .struct_size = sizeof call, .op = BP_OP_SVD, .input = {&v.tensor}, .output = {NULL, &w.tensor, NULL}};
    assert_int_equal(bp_linalg_plan(&plan, NULL, &call), BP_OK);
    check_counts(plan, 4, operands, values, sizeof values);
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    bp_plan *plan = product_plan("blas.preferred=native", NULL, NULL);
    fill();
    assert_int_equal(bp_execute(NULL, operands, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_execute(plan, NULL, NULL), BP_E_ARGUMENT);
    bp_exec exec = {.struct_size = 4};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "struct_size"));
    exec = (bp_exec){.struct_size = sizeof exec, .queue = (bp_queue *)(void *)&exec};
    assert_int_equal(bp_execute(plan, operands, &exec), BP_E_UNSUPPORTED);
    assert_non_null(strstr(bp_last_error(), "queue"));
    assert_memory_equal(c, expected, sizeof c);                    /* nothing ran */
    exec = (bp_exec){.struct_size = offsetof(bp_exec, workspace)}; /* of an earlier version without the later members */
    exec.workspace_size = 1;
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    bp_plan_release(plan);
}

static int reset(void **state) {
    (void)state;
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_those_of_the_call),
        cmocka_unit_test(factors_of_another_class_are_refused),
        cmocka_unit_test(missing_factors_are_one_and_zero),
        cmocka_unit_test(imaginary_factors_need_complex_matrices),
        cmocka_unit_test(only_products_take_factors),
        cmocka_unit_test(base_and_offset_are_added),
        cmocka_unit_test(products_run_in_a_given_workspace),
        cmocka_unit_test(simulated_products_run_in_a_given_workspace),
        cmocka_unit_test(transforms_run_in_a_given_workspace),
        cmocka_unit_test(contractions_run_in_a_given_workspace),
        cmocka_unit_test(linear_algebra_runs_in_a_given_workspace),
        cmocka_unit_test(an_absent_workspace_has_no_offset),
        cmocka_unit_test(plans_check_the_number_of_their_operands),
        cmocka_unit_test(plans_of_linear_algebra_count_every_operand),
        cmocka_unit_test(singular_values_alone_count_four_operands),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, reset);
}
