/* test_program.c - the list of parts of a composed plan: places, packed operands, and blocks of the workspace. */
#include "backplane.h"

#include "dispatch/arena.h"
#include "dispatch/program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 256, BYTES = N * N * (int)sizeof(float), BLOCKS = 200 };

static float left[N * N], right[N * N], expected[N * N], result[N * N], poison[N * N];

static void fill_matrices(void) {
    for (int i = 0; i < N * N; i++) {
        left[i] = (float)(i % 37) * 0.173F - 2.0F;
        right[i] = (float)(i % 29) * 0.311F - 4.0F;
        poison[i] = NAN;
        result[i] = -1.0F;
    }
}

static bp_plan *plan_product(void) {
    bp_view a, b, c;
    bp_plan *plan;
    assert_int_equal(bp_view_matrix(&a, left, BP_F32, N, N), BP_OK);
    assert_int_equal(bp_view_matrix(&b, right, BP_F32, N, N), BP_OK);
    assert_int_equal(bp_view_matrix(&c, expected, BP_F32, N, N), BP_OK);
    bp_options *options;
    assert_int_equal(bp_options_new(&options, "blas.preferred=native,dispatch.packed=second"), BP_OK);
    assert_int_equal(bp_matmul_run(options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    assert_int_equal(bp_matmul_plan(&plan, options, &a.tensor, &b.tensor, &c.tensor), BP_OK);
    bp_options_release(options);
    return plan;
}

/* The operand itself has other values than its packed form, so that the test sees which one is read. */
static void test_packed_part(void **state) {
    (void)state;
    fill_matrices();
    bp_plan *plan = plan_product();
    const bp_packed **packed = bp__alloc_zero((size_t)plan->operands, sizeof *packed);
    assert_non_null(packed);
    assert_int_equal(bp__part_pack(&packed[1], plan, 1, &(bp_operand){right, 0}), BP_OK);
    assert_non_null(packed[1]);
    const bp__place place[] = {{.home = BP__AT_OPERAND, .operand = 0},
                               {.home = BP__AT_CONSTANT, .constant = poison},
                               {.home = BP__AT_OPERAND, .operand = 1}};
    bp__plan_retain(plan);
    const bp__part part = {.plan = plan, .place = place, .places = 3, .runs = 1, .packed = packed};
    bp__program *program;
    const bp__program_source source = {.op = BP_OP_EINSUM, .parts = &part, .count = 1};
    assert_int_equal(bp__program_make(&program, &source), BP_OK);
    const bp_exec exec = {.struct_size = sizeof exec,
                          .scalars = bp__plain_scalars,
                          .workspace = {bp__alloc_aligned(program->base.workspace + 1), 0}};
    const bp_operand operands[] = {{left, 0}, {result, 0}};
    assert_int_equal(program->base.enqueue(&program->base, operands, &exec), BP_OK);
    assert_memory_equal(result, expected, BYTES);
    bp__free_aligned(exec.workspace.base);
    program->base.destroy(&program->base);
    bp_plan_release(plan);
    assert_int_equal(bp__packed_held(), 0);
}

/* The product of a product, through the workspace and at an offset of a constant. */
static void test_places(void **state) {
    (void)state;
    static float constant[N * N + 16], twice[N * N];
    fill_matrices();
    bp_plan *plan = plan_product();
    assert_int_equal(bp_execute(plan, (bp_operand[]){{expected, 0}, {right, 0}, {twice, 0}}, NULL), BP_OK);
    memcpy(constant + 16, right, sizeof right);
    const bp__place b = {.home = BP__AT_CONSTANT, .constant = constant, .offset = 64};
    const bp__place first[] = {{.home = BP__AT_OPERAND, .operand = 0}, b, {.home = BP__AT_WORK, .offset = 128}};
    const bp__place second[] = {
        {.home = BP__AT_WORK, .offset = 128}, b, {.home = BP__AT_OPERAND, .operand = 1, .offset = 4 * N}};
    bp__plan_retain(plan);
    bp__plan_retain(plan);
    const bp__part parts[] = {{.plan = plan, .place = first, .places = 3, .runs = 1},
                              {.plan = plan, .place = second, .places = 3, .runs = 1}};
    bp__program *program;
    const bp__program_source source = {.op = BP_OP_EINSUM, .parts = parts, .count = 2, .workspace = 128 + BYTES};
    assert_int_equal(bp__program_make(&program, &source), BP_OK);
    float *rows = calloc(1, BYTES + 4 * N);
    const bp_exec exec = {.struct_size = sizeof exec,
                          .scalars = bp__plain_scalars,
                          .workspace = {bp__alloc_aligned(program->base.workspace), 0}};
    assert_int_equal(program->base.enqueue(&program->base, (bp_operand[]){{left, 0}, {rows, 0}}, &exec), BP_OK);
    assert_memory_equal(rows + N, twice, BYTES);
    for (int i = 0; i < N; i++) {
        assert_true(rows[i] == 0);
    }
    free(rows);
    bp__free_aligned(exec.workspace.base);
    program->base.destroy(&program->base);
    bp_plan_release(plan);
}

/* Blocks that are taken at the same time are apart, and within the peak. */
static void test_arena(void **state) {
    (void)state;
    bp__arena arena = {0};
    int64_t offset[BLOCKS], size[BLOCKS] = {0};
    uint64_t random = 7;
    for (int turn = 0; turn < 4000; turn++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        const int i = (int)(random >> 40) % BLOCKS;
        if (size[i]) {
            bp__arena_give(&arena, offset[i]);
            size[i] = 0;
            continue;
        }
        size[i] = (int64_t)(random >> 20) % 5000 + 1;
        assert_int_equal(bp__arena_take(&arena, (double)size[i], &offset[i]), BP_OK);
        assert_int_equal(offset[i] % 64, 0);
        assert_true(offset[i] + size[i] <= arena.peak);
        for (int k = 0; k < BLOCKS; k++) {
            assert_true(k == i || !size[k] || offset[k] + size[k] <= offset[i] || offset[i] + size[i] <= offset[k]);
        }
    }
    bp__arena_free(&arena);
    assert_int_equal(bp__arena_take(&arena, 0, &offset[0]), BP_OK);
    assert_int_equal(bp__arena_take(&arena, 1e30, &offset[1]), BP_E_OVERFLOW);
    bp__arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_packed_part), cmocka_unit_test(test_places),
                                       cmocka_unit_test(test_arena)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
