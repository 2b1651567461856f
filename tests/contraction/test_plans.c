/* test_plans.c - plans of einsum: their parts, their memory, when they are found again, and which settings change them.
 */
#include "contraction/support_contraction.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void make(sample *s, const char *expression, int64_t each, bp_dtype dtype) {
    int64_t size[SAMPLE_LABELS];
    for (int i = 0; i < SAMPLE_LABELS; i++) {
        size[i] = each;
    }
    sample_make(s, expression, size, dtype, COMPACT, COMPACT);
}

static bp_plan *plan_of(const sample *s, const bp_einsum_search *search) {
    bp_einsum_call call = sample_call(s);
    bp_plan *plan;
    call.search = search;
    if (bp_einsum_plan(&plan, NULL, &call, &s->out.view.tensor) != BP_OK) {
        fail_msg("%s: %s", s->expression, bp_last_error());
    }
    return plan;
}

static bp_plan_info described(const bp_plan *plan) {
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    return info;
}

static bp_status execute(const bp_plan *plan, const sample *s) {
    bp_operand operands[SAMPLE_OPERANDS + 1] = {{0}};
    for (int i = 0; i < s->count; i++) {
        operands[i].base = s->list[i]->data;
    }
    operands[s->count].base = s->out.view.tensor.data;
    return bp_execute(plan, operands, NULL);
}

static void runs_again_on_other_memory(void **state) {
    (void)state;
    sample first, second;
    make(&first, "ab,bc,cd->ad", 9, BP_F64);
    make(&second, "ab,bc,cd->ad", 9, BP_F64);
    bp_plan *plan = plan_of(&first, NULL);
    assert_int_equal(execute(plan, &second), BP_OK);
    assert_true(sample_error(&second) <= 1);
    assert_int_equal(execute(plan, &first), BP_OK);
    assert_true(sample_error(&first) <= 1);
    assert_int_equal(bp_execute(plan, NULL, NULL), BP_E_ARGUMENT);
    bp_plan_release(plan);
    sample_free(&first);
    sample_free(&second);
}

static void parts_and_path_are_reported(void **state) {
    (void)state;
    sample s;
    make(&s, "abc,bad,de->ce", 40, BP_F32);
    const int path[] = {0, 1, 0, 1};
    bp_einsum_search search = {.struct_size = sizeof search, .strategy = BP_PATH_GIVEN, .path = path, .path_steps = 2};
    bp_plan *plan = plan_of(&s, &search);
    bp_contraction_path_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_contraction_path_describe(bp_einsum_plan_path(plan), &info), BP_OK);
    assert_int_equal(info.steps, 2);
    bp_einsum_part part = {.struct_size = sizeof part};
    int products = 0, copies = 0, last = 0;
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        products += strcmp(part.action, "product") == 0;
        copies += strncmp(part.action, "copy", 4) == 0;
        assert_true(part.step >= last && part.runs >= 1);
        last = part.step;
        assert_string_equal(described(part.plan).operation, strcmp(part.action, "product") ? "contract" : "gemm");
    }
    assert_int_equal(products, 2);
    assert_int_equal(copies, 1); /* with either order of a and b, one operand must be transposed */
    assert_string_equal(described(plan).operation, "einsum");
    assert_non_null(strstr(described(plan).reason, "path found by given"));
    bp_plan *product;
    assert_int_equal(bp_matmul_plan(&product, NULL, s.list[2], s.list[2], &s.out.view.tensor), BP_OK);
    assert_null(bp_einsum_plan_path(product));
    assert_int_equal(bp_einsum_part_at(product, 0, &part), 0);
    assert_int_equal(bp_einsum_part_at(plan, -1, &part), 0);
    bp_plan_release(product);
    bp_plan_release(plan);
    sample_free(&s);
}

/* Without an output, the plan chooses its layout and copies nothing. */
static void the_layout_of_the_output_is_free(void **state) {
    (void)state;
    static const char *const texts[] = {"abc,dc->adb", "abcd,dbe->eac", "abc,bad->dc",  "ab->ba",  "ab,cd->bd",
                                        "aab,c->ac",   "ab,bc,cd->da",  "xab,xbc->acx", "a,b->ba", "->",
                                        "abc,cd->dab"};
    for (size_t i = 0; i < 2 * sizeof texts / sizeof *texts; i++) {
        sample s;
        bp_plan *plan;
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
        make(&s, texts[i / 2], i % 2 ? 1 : 30, BP_F32);
        bp_einsum_call call = sample_call(&s);
        assert_int_equal(bp_einsum_plan(&plan, NULL, &call, NULL), BP_OK);
        assert_int_equal(bp_einsum_plan_output(plan, &dtype, &ndim, shape, strides), BP_OK);
        assert_int_equal(ndim, s.out.view.tensor.ndim);
        DLManagedTensorVersioned *fresh;
        assert_int_equal(bp_tensor_empty(&fresh, dtype, ndim, shape, strides), BP_OK);
        int64_t last = 1; /* compact: the distance from the first to the last element equals the number of elements */
        for (int d = 0; d < ndim; d++) {
            assert_int_equal(shape[d], s.out.view.shape[d]);
            last += (shape[d] - 1) * strides[d];
        }
        assert_int_equal(last, s.out.all);
        test_array_free(&s.out);
        test_array_make_strided(&s.out, dtype, ndim, shape, strides, 0);
        assert_int_equal(execute(plan, &s), BP_OK);
        assert_true(sample_error(&s) <= 1);
        bp_einsum_part part = {.struct_size = sizeof part};
        for (int k = 0; bp_einsum_part_at(plan, k, &part); k++) {
            assert_null(strstr(part.action, "copy of the result"));
        }
        fresh->deleter(fresh);
        bp_plan_release(plan);
        sample_free(&s);
    }
    sample s;
    bp_plan *plan;
    make(&s, "ab,bc->ac", 5, BP_F64);
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    assert_int_equal(bp_matmul_plan(&plan, NULL, s.list[0], s.list[1], &s.out.view.tensor), BP_OK);
    assert_int_equal(bp_einsum_plan_output(plan, &dtype, &ndim, shape, strides), BP_E_ARGUMENT);
    bp_plan_release(plan);
    sample_free(&s);
}

/* Writes the parts of a single step, as "action;action;". */
static void actions_of(char *text, const char *expression, int64_t each) {
    sample s;
    make(&s, expression, each, BP_F64);
    bp_plan *plan = plan_of(&s, NULL);
    bp_einsum_part part = {.struct_size = sizeof part};
    *text = 0;
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        strcat(strcat(text, part.action), ";");
    }
    bp_plan_release(plan);
    sample_free(&s);
}

/* A layout that a product accepts is not copied. Where a library takes long to begin, one large product and a copy may
 * be faster than a batch, so `native` computes them. */
static void strides_replace_copies(void **state) {
    (void)state;
    bp_scope *scope;
    assert_int_equal(bp_scope_enter(&scope, "blas.preferred=native"), BP_OK);
    static const char *const direct[] = {"ab,bc->ac",   "ba,bc->ac",      "ab,cb->ca",    "abc,cd->abd",
                                         "abc,abd->cd", "abc,acd->abd",   "bac,adc->bad", "abc,dbc->ad",
                                         "abc,cd->adb", "abcd,abed->abce"};
    char actions[256];
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++) {
        actions_of(actions, direct[i], 40);
        if (strcmp(actions, "product;") != 0) {
            fail_msg("%s is done as %s", direct[i], actions);
        }
    }
    static const char *const plain[] = {"ab->ba", "ab->a", "aa->a", "ab,ab->ab", "a,b->ab", "ab,ab->", "ab,ab->a"};
    static const char *const names[] = {
        "copy;", "sum;", "copy;", "product of elements;", "outer product;", "sum of products;", "sum of products;"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        actions_of(actions, plain[i], 40);
        assert_string_equal(actions, names[i]);
    }
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
}

/* ---- Memory ---- */

/* Bytes allocated now, and at most. Each block is preceded by its size. */
static atomic_long live, peak;

static void count(long change) {
    long now = atomic_fetch_add(&live, change) + change, most = atomic_load(&peak);
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
    }
}

static void *counting_allocate(void *user, size_t size) {
    (void)user;
    size_t *block = malloc(size + 64);
    if (!block) {
        return NULL;
    }
    *block = size;
    count((long)size);
    return (char *)block + 64;
}

static void counting_release(void *user, void *block) {
    (void)user;
    if (block) {
        size_t *start = (size_t *)(void *)((char *)block - 64);
        count(-(long)*start);
        free(start);
    }
}

static void *counting_reallocate(void *user, void *old, size_t size) {
    void *fresh = counting_allocate(user, size);
    if (fresh && old) {
        size_t before = *(size_t *)(void *)((char *)old - 64);
        memcpy(fresh, old, before < size ? before : size);
        counting_release(user, old);
    }
    return fresh;
}

static size_t hungriest_part(const bp_plan *plan) {
    bp_einsum_part part = {.struct_size = sizeof part};
    size_t most = 0;
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        size_t needed = described(part.plan).workspace;
        most = needed > most ? needed : most;
    }
    return most;
}

static void a_run_uses_the_predicted_memory(void **state) {
    (void)state;
    static const char *const texts[] = {"ab,bc,cd->ad", "abc,bad,de->ce", "ab,bc,cd,de,ef->af", "abc,acd,ade->abe"};
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&(bp_allocator){.allocate = counting_allocate,
                                                      .reallocate = counting_reallocate,
                                                      .release = counting_release}),
                     BP_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sample s;
        make(&s, texts[i], 120, BP_F64);
        bp_plan *plan = plan_of(&s, NULL);
        size_t workspace = described(plan).workspace;
        bp_contraction_path_info info = {.struct_size = sizeof info};
        assert_int_equal(bp_contraction_path_describe(bp_einsum_plan_path(plan), &info), BP_OK);
        assert_true(workspace > 0);
        /* Results, one copy, and the workspace of the largest part: native kernels pack a block of at most 4 MiB of one
         * operand, and 240 KiB of the other per thread. */
        size_t own = hungriest_part(plan);
        assert_true(own <= (4u << 20) + (240u << 10) * (size_t)described(plan).threads);
        assert_true((double)(workspace - own) <= 1.1 * info.peak_bytes + 120 * 120 * 120 * 8 * 1.01);
        assert_int_equal(bp_set_num_threads(1), BP_OK);
        long before = atomic_load(&live);
        atomic_store(&peak, before);
        assert_int_equal(execute(plan, &s), BP_OK);
        double taken = (double)(atomic_load(&peak) - before);
        assert_true(taken >= 0.9 * (double)workspace || i > 0); /* later runs reuse the memory of the first one */
        assert_true(taken <= 1.01 * (double)workspace);         /* nothing else is allocated */
        bp_plan_release(plan);
        sample_free(&s);
    }
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}

static void elementwise_products_overwrite_their_operand(void **state) {
    (void)state;
    sample s;
    make(&s, "ab,bc,ac,cd->ad", 32, BP_F64);
    const int paths[][6] = {{0, 1, 0, 2, 0, 1}, {0, 1, 2, 0, 1, 0}};
    for (int i = 0; i < 2; i++) {
        bp_einsum_search search = {
            .struct_size = sizeof search, .strategy = BP_PATH_GIVEN, .path = paths[i], .path_steps = 3};
        bp_plan *plan = plan_of(&s, &search);
        assert_int_equal(described(plan).workspace, 32 * 32 * sizeof(double) + hungriest_part(plan));
        assert_int_equal(execute(plan, &s), BP_OK);
        assert_true(sample_error(&s) <= 1);
        bp_plan_release(plan);
    }
    sample_free(&s);
}

static void large_copies_are_made_in_slices(void **state) {
    (void)state;
    int64_t size[SAMPLE_LABELS] = {8, 160, 60, 60, 40};
    sample s;
    sample_make(&s, "acbd,dce->abe", size, BP_F64, COMPACT, COMPACT);
    bp_plan *plan = plan_of(&s, NULL);
    bp_einsum_part part = {.struct_size = sizeof part};
    int64_t runs = 1;
    for (int i = 0; bp_einsum_part_at(plan, i, &part); i++) {
        runs = part.runs > runs ? part.runs : runs;
    }
    assert_int_equal(runs, 8);
    assert_true(described(plan).workspace < 8 * 160 * 60 * 60 * sizeof(double) / 4);
    bp_plan_release(plan);
    sample_free(&s);
}

/* ---- Caches and settings ---- */

static void plans_are_found_again(void **state) {
    (void)state;
    sample s;
    make(&s, "ab,bc,cd->ad", 7, BP_F64);
    bp_plan *first = plan_of(&s, NULL), *second = plan_of(&s, NULL);
    assert_ptr_equal(first, second);
    bp_plan_release(second);
    assert_int_equal(bp_plan_cache_clear(), BP_OK);
    second = plan_of(&s, NULL);
    assert_ptr_not_equal(first, second);
    bp_plan_release(first);
    bp_plan_release(second);
    sample other;
    int64_t size[SAMPLE_LABELS] = {7, 7, 7, 7};
    sample_make(&other, "ab,bc,cd->ad", size, BP_F64, PERMUTED, COMPACT);
    bool differs = false;
    for (int i = 0; i < 3; i++) {
        differs |= other.operand[i].view.strides[0] == 1;
    }
    bp_plan *turned = plan_of(&other, NULL);
    bp_plan *straight = plan_of(&s, NULL);
    assert_true(differs == (turned != straight));
    bp_plan_release(turned);
    bp_plan_release(straight);
    sample_free(&other);
    sample_free(&s);
}

static void last_plan_tells_the_path(const sample *s, const char *words) {
    sample_check(s, NULL);
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.operation, "einsum");
    if (!strstr(info.reason, words)) {
        fail_msg("'%s' is not in '%s'", words, info.reason);
    }
}

static void search_settings_apply_immediately(void **state) {
    (void)state;
    sample s;
    make(&s, "ab,bc,cd,de->ae", 5, BP_F64);
    for (int i = 0; i < 3; i++) { /* from the thread cache the second time */
        last_plan_tells_the_path(&s, "path found by auto");
    }
    assert_int_equal(bp_set("opt_einsum.strategy", "greedy"), BP_OK);
    last_plan_tells_the_path(&s, "path found by greedy");
    assert_int_equal(bp_set("opt_einsum.enabled", "false"), BP_OK);
    last_plan_tells_the_path(&s, "path found by left-to-right");
    assert_int_equal(bp_unset("opt_einsum.enabled"), BP_OK);
    assert_int_equal(bp_unset("opt_einsum.strategy"), BP_OK);
    last_plan_tells_the_path(&s, "path found by auto");
    sample_free(&s);
}

static bp_options *options_of(const char *text) {
    bp_options *options;
    assert_int_equal(bp_options_new(&options, text), BP_OK);
    return options;
}

static void product_settings_apply_to_product_steps(void **state) {
    (void)state;
    sample s;
    make(&s, "ab,bc->ac", 33, BP_F64);
    bp_options *options = options_of("blas.preferred=native");
    sample_check(&s, options);
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.library, "native");
    assert_non_null(strstr(info.reason, "preferred by blas.preferred=native"));
    bp_options_release(options);
    sample_free(&s);
}

static void contractions_are_refused_without_native(void **state) {
    (void)state;
    sample s;
    make(&s, "ab->ba", 6, BP_F64);
    bp_options *options = options_of("dispatch.exclude=native");
    bp_einsum_call call = sample_call(&s);
    assert_int_equal(bp_einsum_run(options, &call, &s.out.view.tensor), BP_E_NO_CANDIDATE);
    bp_explanation *e;
    bp_candidate_info candidate = {.struct_size = sizeof candidate};
    assert_int_equal(bp_einsum_explain(&e, options, &call, &s.out.view.tensor), BP_OK);
    bool found = false;
    for (int i = 0; bp_explanation_at(e, i, &candidate); i++) {
        found |= strcmp(candidate.library, "native") == 0 && candidate.reason == BP_REASON_EXCLUDED;
    }
    assert_true(found);
    bp_explanation_release(e);
    bp_options_release(options);
    sample_free(&s);
}

/* Writes the parts of a plan and their libraries, as "action on library; ...". */
static void parts_of(char *text, size_t size, const bp_plan *plan) {
    bp_einsum_part part = {.struct_size = sizeof part};
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; bp_einsum_part_at(plan, i, &part) && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s on %s; ", part.action, described(part.plan).library);
    }
}

/* Runs one expression on 1 to 4 threads: the same parts, and bitwise equal results. */
static void check_threads(sample *s) {
    char first_parts[512] = "", parts[512];
    test_array first = {0};
    for (int threads = 1; threads <= 4; threads++) {
        char text[64];
        snprintf(text, sizeof text, "deterministic=threads, num_threads=%d", threads);
        bp_options *options = options_of(text);
        bp_einsum_call call = sample_call(s);
        bp_plan *plan;
        assert_int_equal(bp_einsum_plan(&plan, options, &call, &s->out.view.tensor), BP_OK);
        parts_of(parts, sizeof parts, plan);
        assert_int_equal(bp_einsum_run(options, &call, &s->out.view.tensor), BP_OK);
        if (threads == 1) {
            test_array_copy(&first, &s->out);
            strcpy(first_parts, parts);
        }
        test_array_check_unchanged(&s->out, &first, s->expression);
        if (strcmp(first_parts, parts) != 0) {
            fail_msg("%s: on one thread %s on %d threads %s", s->expression, first_parts, threads, parts);
        }
        bp_plan_release(plan);
        bp_options_release(options);
    }
    test_array_free(&first);
}

static void results_do_not_depend_on_the_number_of_threads(void **state) {
    (void)state;
    static const char *const texts[] = {"abc,bad,de->ce", "ab,bc,cd->ad", "abc->b", "abc,abc->", "abc,bca->ac"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sample s;
        make(&s, texts[i], 61, BP_F32);
        check_threads(&s);
        sample_free(&s);
    }
}

/* Thin products: estimates decide between a product, one with copies, one with a larger batch, and a sum of products.
 * Estimates for one thread would choose differently. The sizes of a, b, c and so on follow. */
static void parts_do_not_depend_on_the_number_of_threads(void **state) {
    (void)state;
    static const struct {
        const char *expression;
        int64_t size[4];
    } rows[] = {
        {"abc,cad->dab", {3, 67, 1000, 3}}, {"abc,cad->dab", {3, 67, 400, 3}},    {"abc,cad->dab", {2, 200, 700, 2}},
        {"abc,cad->dab", {3, 33, 2000, 5}}, {"ab,bc->ac", {3, 3000, 3}},          {"ab,bc->ac", {200, 900, 2}},
        {"ab,cb->ca", {300, 700, 3}},       {"abc,bd->acd", {60, 3, 90, 4}},      {"abc,dbc->ad", {6, 60, 60, 6}},
        {"bac,dca->bd", {40, 5, 80, 7}},    {"abcd,dbe->eac", {40, 50, 60, 2}},   {"abc,cd->adb", {70, 80, 3, 90}},
        {"abc,acd->abd", {64, 4, 400, 4}},  {"dabc,cb->dac", {100, 100, 8, 100}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int f64 = 0; f64 < 2; f64++) {
            sample s;
            int64_t size[SAMPLE_LABELS] = {0};
            for (int k = 0; k < SAMPLE_LABELS; k++) {
                size[k] = k < 4 && rows[i].size[k] ? rows[i].size[k] : 6;
            }
            sample_make(&s, rows[i].expression, size, f64 ? BP_F64 : BP_F32, COMPACT, COMPACT);
            check_threads(&s);
            sample_free(&s);
        }
    }
}

static void explanations_describe_each_part(void **state) {
    (void)state;
    sample s;
    make(&s, "abc,bad,de->ce", 20, BP_F64);
    bp_einsum_call call = sample_call(&s);
    bp_explanation *e;
    assert_int_equal(bp_einsum_explain(&e, NULL, &call, &s.out.view.tensor), BP_OK);
    bp_plan *plan = plan_of(&s, NULL);
    bp_einsum_part part = {.struct_size = sizeof part};
    int parts = 0;
    for (; bp_einsum_part_at(plan, parts, &part); parts++) {
        const bp_explanation *one = bp_explanation_part(e, parts);
        bp_candidate_info candidate = {.struct_size = sizeof candidate};
        assert_non_null(one);
        assert_true(bp_explanation_at(one, 0, &candidate));
        assert_non_null(strstr(bp_explanation_text(e), part.action));
        assert_string_equal(bp_explanation_problem(one), described(part.plan).problem);
    }
    assert_true(parts >= 2);
    assert_null(bp_explanation_part(e, parts));
    assert_null(bp_explanation_part(e, -1));
    assert_non_null(strstr(bp_explanation_json(e), "\"schedule\":["));
    assert_int_equal(bp_reset(), BP_E_BUSY);
    bp_explanation_release(e);
    assert_int_equal(bp_reset(), BP_E_BUSY);
    bp_plan_release(plan);
    assert_int_equal(bp_reset(), BP_OK);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_again_on_other_memory),
        cmocka_unit_test(parts_and_path_are_reported),
        cmocka_unit_test(the_layout_of_the_output_is_free),
        cmocka_unit_test(strides_replace_copies),
        cmocka_unit_test(a_run_uses_the_predicted_memory),
        cmocka_unit_test(elementwise_products_overwrite_their_operand),
        cmocka_unit_test(large_copies_are_made_in_slices),
        cmocka_unit_test(plans_are_found_again),
        cmocka_unit_test(search_settings_apply_immediately),
        cmocka_unit_test(product_settings_apply_to_product_steps),
        cmocka_unit_test(contractions_are_refused_without_native),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(parts_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(explanations_describe_each_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
