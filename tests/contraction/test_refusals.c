/* test_refusals.c - refused calls of einsum: the status, the message, and an unchanged output. */
#include "contraction/support_contraction.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static double left[6], right[6], result[9];
static bp_view a, b, c;

static int prepare(void **state) {
    (void)state;
    memset(result, 0x5A, sizeof result);
    assert_int_equal(bp_view_matrix(&a, left, BP_F64, 2, 3), BP_OK);
    assert_int_equal(bp_view_matrix(&b, right, BP_F64, 3, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&c, result, BP_F64, 2, 2), BP_OK);
    return 0;
}

/* Runs, plans and explains the call; all must fail in the same way. */
static void refused(const bp_einsum_call *call, const DLTensor *out, bp_status status, const char *words) {
    bp_plan *plan;
    bp_explanation *e;
    double before[9];
    memcpy(before, result, sizeof before);
    assert_int_equal(bp_einsum_run(NULL, call, (DLTensor *)(uintptr_t)out), status);
    if (!strstr(bp_last_error(), words)) {
        fail_msg("'%s' is not in '%s'", words, bp_last_error());
    }
    assert_memory_equal(before, result, sizeof before);
    assert_int_equal(bp_einsum_plan(&plan, NULL, call, out), status);
    assert_null(plan);
    assert_int_equal(bp_einsum_explain(&e, NULL, call, out), status);
    assert_null(e);
}

static bp_einsum_call call_of(const char *expression, const DLTensor *const *operands) {
    return (bp_einsum_call){
        .struct_size = sizeof(bp_einsum_call), .expression = expression, .count = 2, .operands = operands};
}

static void invalid_expressions_are_refused(void **state) {
    (void)state;
    const DLTensor *both[] = {&a.tensor, &b.tensor};
    static const struct {
        const char *expression;
        bp_status status;
        const char *words;
    } cases[] = {
        {"ij,jk->i?", BP_E_ARGUMENT, "offset 8"},
        {"ij,jk->ii", BP_E_ARGUMENT, "twice"},
        {"ij,jk->iz", BP_E_ARGUMENT, "no operand has"},
        {"ij->ij", BP_E_ARGUMENT, "operand"},
        {"ijk,jk->ik", BP_E_SHAPE, ""},
        {"ij,ik->jk", BP_E_SHAPE, ""},
        {"ij,jk->ijk", BP_E_SHAPE, "output has shape"},
        {"ij,jk->i", BP_E_SHAPE, "output has shape (2, 2); the result of the expression has shape (2)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bp_einsum_call call = call_of(cases[i].expression, both);
        refused(&call, &c.tensor, cases[i].status, cases[i].words);
    }
    assert_int_equal(bp_einsum(NULL, 2, both, &c.tensor), BP_E_ARGUMENT);
}

static void invalid_calls_are_refused(void **state) {
    (void)state;
    const DLTensor *both[] = {&a.tensor, &b.tensor}, *none[] = {&a.tensor, NULL}, *first[] = {NULL, &b.tensor};
    bp_einsum_call call = call_of("ij,jk->ik", both);
    call.struct_size = 3;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "struct_size");
    refused(NULL, &c.tensor, BP_E_ARGUMENT, "call must not be NULL");
    call = call_of("ij,jk->ik", both);
    call.count = 0;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "operand");
    call = call_of("ij,jk->ik", NULL);
    refused(&call, &c.tensor, BP_E_ARGUMENT, "operand");
    call = call_of(NULL, both);
    refused(&call, &c.tensor, BP_E_ARGUMENT, "expression is NULL");
    const int label = 0, *const lists[] = {&label, &label};
    const int counts[] = {1, 1};
    call = call_of("ij,jk->ik", both);
    assert_int_equal(bp_einsum_run(NULL, &call, &c.tensor), BP_OK); /* the thread's cache has the call now */
    call.output_count = 1;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "expression is given, and output_count");
    call.output = &label;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "expression is given, and output;");
    call.label_counts = counts;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "expression is given, and label_counts");
    call.labels = lists;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "expression is given, and labels");
    call.expression = NULL;
    call.output_count = BP_EINSUM_IMPLICIT;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "output_count is BP_EINSUM_IMPLICIT");
    call = call_of("ij,jk->ik", none);
    refused(&call, &c.tensor, BP_E_ARGUMENT, "operand 1");
    call = call_of("ij,jk->ik", first);
    refused(&call, &c.tensor, BP_E_ARGUMENT, "operand 0");
    call = call_of("ij,jk->ik", both);
    assert_int_equal(bp_einsum_run(NULL, &call, NULL), BP_E_ARGUMENT);
    bp_einsum_search search = {.struct_size = 1};
    call.search = &search;
    refused(&call, &c.tensor, BP_E_ARGUMENT, "");
    assert_int_equal(bp_einsum_plan(NULL, NULL, &call, &c.tensor), BP_E_ARGUMENT);
    assert_int_equal(bp_einsum_explain(NULL, NULL, &call, &c.tensor), BP_E_ARGUMENT);
}

static void invalid_types_and_memory_are_refused(void **state) {
    (void)state;
    bp_view other;
    const DLTensor *mixed[] = {&a.tensor, &other.tensor}, *both[] = {&a.tensor, &b.tensor},
                   *same[] = {&a.tensor, &c.tensor};
    bp_einsum_call call = call_of("ij,jk->ik", mixed);
    assert_int_equal(bp_view_matrix(&other, right, BP_F32, 3, 2), BP_OK);
    refused(&call, &c.tensor, BP_E_DTYPE, "operand 0 is f64, but operand 1 is f32");
    assert_int_equal(bp_view_matrix(&other, right, BP_I32, 3, 2), BP_OK);
    refused(&call, &c.tensor, BP_E_DTYPE, "operand 1 is i32");
    call = call_of("ij,jk->ik", both);
    assert_int_equal(bp_view_matrix(&other, result, BP_F32, 2, 2), BP_OK);
    refused(&call, &other.tensor, BP_E_DTYPE, "output is f32");
    call = call_of("ij,jk->ik", same);
    assert_int_equal(bp_view_matrix(&c, result, BP_F64, 3, 2), BP_OK);
    assert_int_equal(bp_view_matrix(&other, result + 1, BP_F64, 2, 2), BP_OK);
    refused(&call, &other.tensor, BP_E_OVERLAP, "output, which is written, overlaps operands[1]");
    call = call_of("ij,jk->ik", both);
    assert_int_equal(bp_view_init(&other, result, BP_F64, 2, (const int64_t[]){2, 2}, (const int64_t[]){0, 1}), BP_OK);
    refused(&call, &other.tensor, BP_E_OVERLAP, "give two indices the same address");
    assert_int_equal(bp_view_matrix(&other, (char *)result + 1, BP_F64, 2, 2), BP_OK);
    refused(&call, &other.tensor, BP_E_LAYOUT, "out");
}

/* A call found in the thread cache is still checked for its addresses. */
static void cached_calls_are_checked(void **state) {
    (void)state;
    double memory[64] = {0};
    bp_view out, near;
    const DLTensor *operands[] = {&a.tensor, &near.tensor};
    assert_int_equal(bp_view_matrix(&out, memory, BP_F64, 2, 2), BP_OK);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(bp_view_matrix(&near, memory + 8, BP_F64, 3, 2), BP_OK);
        assert_int_equal(bp_einsum("ij,jk->ik", 2, operands, &out.tensor), BP_OK);
        assert_int_equal(bp_view_matrix(&near, memory + 2, BP_F64, 3, 2), BP_OK);
        assert_int_equal(bp_einsum("ij,jk->ik", 2, operands, &out.tensor), BP_E_OVERLAP);
        assert_int_equal(bp_einsum("ij,jk->ki", 2, operands, &out.tensor), BP_E_OVERLAP);
        assert_int_equal(bp_view_matrix(&near, memory + 8, BP_F64, 2, 3), BP_OK);
        assert_int_equal(bp_einsum("ij,jk->ik", 2, operands, &out.tensor), BP_E_SHAPE);
    }
}

static void shapes_are_reported(void **state) {
    (void)state;
    const DLTensor *both[] = {&a.tensor, &b.tensor};
    bp_einsum_call call = call_of("ij,jk", both);
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_einsum_shape(&call, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(dtype, BP_F64);
    assert_int_equal(ndim, 2);
    assert_true(shape[0] == 2 && shape[1] == 2);
    call.expression = "ij,jk->";
    assert_int_equal(bp_einsum_shape(&call, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(ndim, 0);
    assert_int_equal(bp_einsum_shape(&call, NULL, &ndim, shape), BP_E_ARGUMENT);
    const int first[] = {0, 1}, second[] = {1, 99}, out[] = {99, 0}, *labels[] = {first, second};
    call = (bp_einsum_call){.struct_size = sizeof call,
                            .count = 2,
                            .operands = both,
                            .labels = labels,
                            .label_counts = (const int[]){2, 2},
                            .output_count = 2,
                            .output = out};
    assert_int_equal(bp_einsum_shape(&call, &dtype, &ndim, shape), BP_OK);
    assert_int_equal(bp_einsum_run(NULL, &call, &c.tensor), BP_OK);
    call.labels = NULL;
    assert_int_equal(bp_einsum_shape(&call, &dtype, &ndim, shape), BP_E_ARGUMENT);
}

/* The search of a call may be of another version than the call. No more of it is read than its size says: it ends at
 * the end of readable memory here. */
static void searches_of_other_versions(void **state) {
    (void)state;
    const DLTensor *both[] = {&a.tensor, &b.tensor};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t sizes[] = {offsetof(bp_einsum_search, work), sizeof(bp_einsum_search), sizeof(bp_einsum_search) + 8};
    char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *at = memory + page - sizes[i];
        memset(at, 0, sizes[i]);
        memcpy(at, &sizes[i], sizeof sizes[i]);
        bp_einsum_call call = call_of("ij,jk->ik", both);
        call.search = (const bp_einsum_search *)(const void *)at;
        assert_int_equal(bp_einsum_run(NULL, &call, &c.tensor), BP_OK);
    }
    memory[page - 1] = 1; /* a member of a later version */
    bp_einsum_call call = call_of("ij,jk->ik", both);
    call.search = (const bp_einsum_search *)(const void *)(memory + page - sizes[2]);
    refused(&call, &c.tensor, BP_E_ARGUMENT, "later version");
    assert_int_equal(munmap(memory, 2 * page), 0);
}

/* Operands of 2^40 and of 2^56 elements take no memory with strides of 0. Results, and the work that they would take,
 * exceed every number. */
static void results_beyond_all_memory_are_refused(void **state) {
    (void)state;
    const int64_t zero[2] = {0, 0}, line[2] = {INT64_C(1) << 40, 1}, area[2] = {INT64_C(1) << 30, INT64_C(1) << 26};
    static const struct {
        const char *expression;
        bool areas, refused;
    } cases[] = {{"ia,ja->ij", false, true},  {"ia,jb->ijab", false, true}, {"ia,ja->aij", false, true},
                 {"ia,ja->ia", false, false}, {"ia,jb->", false, false},    {"ik,jk->ij", true, true},
                 {"ki,kj->ij", true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bp_plan *plan;
        bp_view x, y;
        const int64_t *shape = cases[i].areas ? area : line;
        assert_int_equal(bp_view_init(&x, left, BP_F32, 2, shape, zero), BP_OK);
        assert_int_equal(bp_view_init(&y, right, BP_F32, 2, shape, zero), BP_OK);
        const DLTensor *both[] = {&x.tensor, &y.tensor};
        bp_einsum_call call = call_of(cases[i].expression, both);
        const bp_status status = bp_einsum_plan(&plan, NULL, &call, NULL);
        if (cases[i].refused && status == BP_E_OVERFLOW) {
            assert_non_null(strstr(bp_last_error(), "more elements than memory can hold"));
        } else if (cases[i].refused || status != BP_OK) {
            fail_msg("%s: %s", cases[i].expression, bp_last_error());
        }
        bp_plan_release(plan);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(invalid_expressions_are_refused, prepare),
        cmocka_unit_test_setup(invalid_calls_are_refused, prepare),
        cmocka_unit_test_setup(invalid_types_and_memory_are_refused, prepare),
        cmocka_unit_test_setup(cached_calls_are_checked, prepare),
        cmocka_unit_test_setup(shapes_are_reported, prepare),
        cmocka_unit_test_setup(searches_of_other_versions, prepare),
        cmocka_unit_test(results_beyond_all_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
