/* test_pages.c - attention to keys and values in pages against the reference, and wrong pages. */
#include "reference/attention.h"
#include "support/arrays.h"
#include "support/conditions.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const kernels[] = {"cuda.math_sdp=false", "cuda.flash_sdp=false",
                                      "cuda.math_sdp=false, cpu.capability=default"},
                         *const names[] = {"flash", "math", "flash"};
enum { QUERY, KEY, VALUE, PAGES, LENGTHS, OUTPUT, LOGSUMEXP, MASK, TENSORS };

typedef struct shape {
    bp_dtype dtype, integers;
    int64_t items, heads, key_heads, value_heads, queries, size, value_size;
    int64_t page_size, most; /* rows of a page; pages of an item */
    bool causal, mask, compact;
    bool window; /* with a softcap, too */
    int64_t left, right;
} shape;

typedef struct paged {
    shape s;
    test_array tensor[TENSORS];
    int64_t *lengths;
    bp_attention_call call;
    char text[160];
} paged;

static void make(paged *c, int which, bp_dtype dtype, int ndim, const int64_t *of) {
    test_array_make(&c->tensor[which], dtype, ndim, of, c->s.compact ? TEST_COMPACT : TEST_SCATTERED);
}

/* Rows of the pool that no item has are NaN, and pages behind the last key have impossible numbers. */
static void begin(paged *c, const shape *s) {
    memset(c, 0, sizeof *c);
    c->s = *s;
    const int64_t pool = s->items * s->most + 3;
    make(c, QUERY, s->dtype, 4, (const int64_t[]){s->items, s->heads, s->queries, s->size});
    make(c, KEY, s->dtype, 4, (const int64_t[]){pool, s->page_size, s->key_heads, s->size});
    make(c, VALUE, s->dtype, 4, (const int64_t[]){pool, s->page_size, s->value_heads, s->value_size});
    make(c, PAGES, s->integers, 2, (const int64_t[]){s->items, s->most});
    make(c, LENGTHS, s->integers == BP_I32 ? BP_I64 : BP_I32, 1, (const int64_t[]){s->items});
    make(c, OUTPUT, s->dtype, 4, (const int64_t[]){s->items, s->heads, s->queries, s->value_size});
    make(c, LOGSUMEXP, s->dtype == BP_F64 ? BP_F64 : BP_F32, 3, (const int64_t[]){s->items, s->heads, s->queries});
    if (s->mask) {
        make(c, MASK, BP_BOOL, 4, (const int64_t[]){s->items, 1, s->queries, s->most * s->page_size});
        for (int64_t i = 0; i < test_array_count(&c->tensor[MASK]); i++) {
            test_array_set(&c->tensor[MASK], i, test_array_next() % 4 != 0);
        }
    }
    test_array_fill(&c->tensor[QUERY], 1.5);
    for (int which = KEY; which <= VALUE; which++) {
        for (int64_t i = 0; i < test_array_count(&c->tensor[which]); i++) {
            test_array_set(&c->tensor[which], i, NAN);
        }
    }
    c->lengths = calloc((size_t)s->items + 1, sizeof *c->lengths);
    assert_non_null(c->lengths);
    const int64_t columns[] = {s->key_heads * s->size, s->value_heads * s->value_size};
    for (int64_t item = 0; item < s->items; item++) {
        const int64_t keys =
            test_array_next() % 4 == 0 ? s->most * s->page_size : test_array_between(0, s->most * s->page_size);
        c->lengths[item] = keys;
        test_array_set_i64(&c->tensor[LENGTHS], item, keys);
        for (int64_t i = 0; i < s->most; i++) {
            /* Pages of the items alternate, from the end of the pool on. */
            const int64_t page = i * s->page_size < keys ? pool - 1 - (i * s->items + item) : -7;
            test_array_set_i64(&c->tensor[PAGES], item * s->most + i, page);
            for (int64_t row = 0; row < s->page_size && i * s->page_size + row < keys; row++) {
                for (int which = KEY; which <= VALUE; which++) {
                    const int64_t width = columns[which - KEY];
                    for (int64_t e = 0; e < width; e++) {
                        test_array_set(&c->tensor[which], (page * s->page_size + row) * width + e,
                                       test_array_uniform());
                    }
                }
            }
        }
    }
    c->call = (bp_attention_call){.struct_size = sizeof c->call,
                                  .is_causal = s->causal,
                                  .enable_gqa = 1,
                                  .softcap = s->window ? 2.5 : 0,
                                  .has_window = s->window,
                                  .window_left = s->window ? s->left : 0,
                                  .window_right = s->window ? s->right : 0,
                                  .query = &c->tensor[QUERY].view.tensor,
                                  .key = &c->tensor[KEY].view.tensor,
                                  .value = &c->tensor[VALUE].view.tensor,
                                  .mask = s->mask ? &c->tensor[MASK].view.tensor : NULL,
                                  .pages = &c->tensor[PAGES].view.tensor,
                                  .lengths = &c->tensor[LENGTHS].view.tensor,
                                  .output = &c->tensor[OUTPUT].view.tensor,
                                  .logsumexp = &c->tensor[LOGSUMEXP].view.tensor};
    snprintf(c->text, sizeof c->text, "%s B%d H%d/%d/%d L%d E%d V%d, %d pages of %d%s%s", bp_dtype_name(s->dtype),
             (int)s->items, (int)s->heads, (int)s->key_heads, (int)s->value_heads, (int)s->queries, (int)s->size,
             (int)s->value_size, (int)s->most, (int)s->page_size, s->causal ? ", causal" : "", s->mask ? ", mask" : "");
}

static void end(paged *c) {
    for (int i = 0; i < TENSORS; i++) {
        test_array_free(&c->tensor[i]);
    }
    free(c->lengths);
}

/* The values are from -1 to 1. For them, this limit is below some bounds of the reference in f32. */
static void compare_number(const paged *c, int which, int64_t index, reference_number want) {
    const bp_dtype dtype = c->tensor[which].dtype;
    const double got = test_array_get(&c->tensor[which], index), value = (double)want.value,
                 rounded = reference_unit(dtype) * (fabs(value) + (dtype == BP_F16 ? 0x1p-14 : 0x1p-126)),
                 limit = dtype != BP_F32   ? INFINITY
                         : which == OUTPUT ? 2e-5
                                           : 1e-5 * (1 + fabs(value)),
                 bound = fmin((double)want.error + rounded, limit);
    if (!(isinf(value) ? got == value : fabs(got - value) <= bound)) {
        fail_msg("%s: element %d of %s is %.9g; it must be %.9g, within %.3g", c->text, (int)index,
                 which == OUTPUT ? "output" : "logsumexp", got, value, bound);
    }
}

static void compare_with_reference(const paged *c) {
    reference_attention *a;
    reference_number *row = reference_numbers(c->s.value_size), logsumexp;
    assert_non_null(row);
    assert_int_equal(reference_attention_open(&a, &c->call, NULL), BP_OK);
    for (int64_t i = 0; i < test_array_count(&c->tensor[LOGSUMEXP]); i++) {
        reference_attention_row(a, i, row, &logsumexp);
        compare_number(c, LOGSUMEXP, i, logsumexp);
        for (int64_t e = 0; e < c->s.value_size; e++) {
            compare_number(c, OUTPUT, i * c->s.value_size + e, row[e]);
        }
    }
    reference_attention_close(a);
    free(row);
}

static void run(paged *c, int kernel, int threads) {
    bp_options *options;
    char settings[128];
    snprintf(settings, sizeof settings, "%s, num_threads=%d", kernels[kernel], threads);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    if (bp_attention_run(options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
    bp_plan_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.algorithm, names[kernel]);
}

static void compare(paged *c, int kernel) {
    run(c, kernel, 2);
    compare_with_reference(c);
    test_array_check_gaps(&c->tensor[OUTPUT], c->text);
    test_array_check_gaps(&c->tensor[LOGSUMEXP], c->text);
}

static void results_equal_the_reference(void **state) {
    static const int64_t sizes[] = {1, 2, 3, 16, 17, 64, 128, 200},
                         heads[][3] = {{4, 2, 2}, {4, 4, 4}, {6, 3, 1}, {3, 1, 1}, {1, 1, 1}};
    const int cases = test_cases(240, 5);
    (void)state;
    test_array_random = 61;
    for (int i = 0; i < cases; i++) {
        const int64_t *of = heads[test_array_between(0, COUNT(heads) - 1)];
        const int64_t page_size = sizes[test_array_between(0, COUNT(sizes) - 1)];
        const shape s = {.dtype = (bp_dtype)(BP_F16 + i % 4),
                         .integers = i / 4 % 2 ? BP_I32 : BP_I64,
                         .items = test_array_between(1, 4),
                         .heads = of[0],
                         .key_heads = of[1],
                         .value_heads = of[2],
                         .queries = test_array_between(0, 2) ? test_array_between(1, 3) : test_array_between(4, 70),
                         .size = test_array_between(1, 40),
                         .value_size = test_array_between(1, 40),
                         .page_size = page_size,
                         .most = test_array_between(1, 1 + 300 / page_size),
                         .causal = i % 3 == 0,
                         .mask = i % 3 == 1,
                         .window = i % 5 == 0,
                         .left = test_array_between(-1, 150),
                         .right = test_array_between(-1, 50),
                         .compact = i / 8 % 2};
        paged c;
        begin(&c, &s);
        compare(&c, i / 4 % (int)COUNT(kernels));
        end(&c);
    }
}

/* Parts of the keys that an item does not have, and parts that begin within a page. */
static void long_keys_are_merged(void **state) {
    (void)state;
    test_array_random = 62;
    for (int i = 0; i < 6; i++) {
        const shape s = {.dtype = i % 2 ? BP_F32 : BP_F64,
                         .integers = BP_I32,
                         .items = 5,
                         .heads = 2,
                         .key_heads = 2,
                         .value_heads = 2,
                         .queries = i < 3 ? 1 : 9,
                         .size = 8,
                         .value_size = 5,
                         .page_size = i % 3 == 0   ? 16
                                      : i % 3 == 1 ? 48
                                                   : 1024,
                         .most = i % 3 == 0   ? 128
                                 : i % 3 == 1 ? 40
                                              : 2,
                         .causal = i % 2,
                         .compact = true};
        paged c;
        begin(&c, &s);
        compare(&c, 0);
        end(&c);
    }
}

static void threads_do_not_change_bits(void **state) {
    (void)state;
    test_array_random = 63;
    for (int kernel = 0; kernel < 2; kernel++) {
        const shape s = {.dtype = BP_F32,
                         .integers = BP_I64,
                         .items = 3,
                         .heads = 4,
                         .key_heads = 2,
                         .value_heads = 2,
                         .queries = 5,
                         .size = 16,
                         .value_size = 16,
                         .page_size = 16,
                         .most = 70,
                         .compact = true};
        paged c;
        begin(&c, &s);
        run(&c, kernel, 1);
        const size_t bytes = (size_t)test_array_count(&c.tensor[OUTPUT]) * sizeof(float);
        char *first = malloc(bytes);
        assert_non_null(first);
        memcpy(first, c.tensor[OUTPUT].memory, bytes);
        for (int threads = 2; threads < 8; threads += threads == 3 ? 4 : 1) {
            run(&c, kernel, threads);
            assert_memory_equal(first, c.tensor[OUTPUT].memory, bytes);
        }
        free(first);
        end(&c);
    }
}

/* ---- Errors ---- */

static paged usual(void) {
    const shape s = {.dtype = BP_F32,
                     .integers = BP_I32,
                     .items = 2,
                     .heads = 4,
                     .key_heads = 2,
                     .value_heads = 2,
                     .queries = 2,
                     .size = 3,
                     .value_size = 3,
                     .page_size = 4,
                     .most = 5,
                     .compact = true};
    paged c;
    test_array_random = 64;
    begin(&c, &s);
    test_array_set_i64(&c.tensor[LENGTHS], 0, 17);
    for (int64_t i = 0; i < 10; i++) {
        test_array_set_i64(&c.tensor[PAGES], i, i);
    }
    return c;
}

static void fails(paged *c, bp_status status, const char *message) {
    c->call.output = &c->tensor[OUTPUT].view.tensor;
    test_array_set(&c->tensor[OUTPUT], 0, 42);
    assert_int_equal(bp_attention_run(NULL, &c->call), status);
    if (!strstr(bp_last_error(), message)) {
        fail_msg("'%s' is not in the message '%s'", message, bp_last_error());
    }
    assert_true(test_array_get(&c->tensor[OUTPUT], 0) == 42);
    end(c);
}

/* The views of usual() are copied by value, so tensors point to the views of the copy. */
#define REFUSED(status, message, ...)                                                                                  \
    do {                                                                                                               \
        paged c = usual();                                                                                             \
        c.call.query = &c.tensor[QUERY].view.tensor;                                                                   \
        c.call.key = &c.tensor[KEY].view.tensor;                                                                       \
        c.call.value = &c.tensor[VALUE].view.tensor;                                                                   \
        c.call.pages = &c.tensor[PAGES].view.tensor;                                                                   \
        c.call.lengths = &c.tensor[LENGTHS].view.tensor;                                                               \
        c.call.logsumexp = NULL;                                                                                       \
        for (int t = 0; t < TENSORS; t++) {                                                                            \
            c.tensor[t].view.tensor.shape = c.tensor[t].view.shape;                                                    \
            c.tensor[t].view.tensor.strides = c.tensor[t].view.tensor.strides ? c.tensor[t].view.strides : NULL;       \
        }                                                                                                              \
        __VA_ARGS__;                                                                                                   \
        fails(&c, status, message);                                                                                    \
    } while (0)

static void numbers_are_checked_before_anything_is_written(void **state) {
    (void)state;
    REFUSED(BP_E_ARGUMENT, "pages[0, 4] is 13; the pool has 13 pages", test_array_set_i64(&c.tensor[PAGES], 4, 13));
    REFUSED(BP_E_ARGUMENT, "pages[0, 1] is -1; the pool has 13 pages", test_array_set_i64(&c.tensor[PAGES], 1, -1));
    REFUSED(BP_E_ARGUMENT, "pages[1, 0] is 2147483647", test_array_set_i64(&c.tensor[PAGES], 5, INT32_MAX);
            test_array_set_i64(&c.tensor[LENGTHS], 1, 1));
    REFUSED(BP_E_ARGUMENT, "lengths[1] is 21; it must be from 0 to 20", test_array_set_i64(&c.tensor[LENGTHS], 1, 21));
    REFUSED(BP_E_ARGUMENT, "lengths[0] is -1; it must be from 0 to 20", test_array_set_i64(&c.tensor[LENGTHS], 0, -1));
}

static void tensors_are_checked(void **state) {
    (void)state;
    REFUSED(BP_E_ARGUMENT, "lengths is NULL; with pages it must be given", c.call.lengths = NULL);
    REFUSED(BP_E_SHAPE, "leading dimensions do not broadcast", c.call.pages = NULL); /* lengths of key and value */
    REFUSED(BP_E_ARGUMENT, "BACKWARD has no pages", c.call.pass = BP_ATTENTION_BACKWARD);
    REFUSED(BP_E_DTYPE, "pages is f32; it must be i32 or i64", c.tensor[PAGES].view.tensor.dtype = c.call.query->dtype);
    REFUSED(BP_E_DTYPE, "lengths is f64; it must be i32 or i64",
            c.tensor[LENGTHS].view.tensor.dtype = bp_dtype_to_dlpack(BP_F64));
    REFUSED(BP_E_SHAPE, "pages has shape (2, 5, 1); with pages it must be items x pages",
            c.tensor[PAGES].view.shape[2] = 1;
            c.tensor[PAGES].view.tensor.ndim = 3; c.tensor[PAGES].view.tensor.strides = NULL);
    REFUSED(BP_E_SHAPE, "query has shape (2, 4, 2); with pages it must be", c.tensor[QUERY].view.tensor.ndim = 3;
            c.tensor[QUERY].view.tensor.strides = NULL);
    REFUSED(BP_E_SHAPE, "the numbers and sizes of pages must be equal", c.tensor[VALUE].view.shape[1] = 3);
    REFUSED(BP_E_SHAPE, "query has 2 items, pages 1 and lengths 2", c.tensor[PAGES].view.shape[0] = 1);
    REFUSED(BP_E_OVERLAP, "output, which is written, overlaps key",
            c.tensor[KEY].view.tensor.data = c.tensor[OUTPUT].view.tensor.data;
            c.tensor[KEY].view.tensor.byte_offset = 0);
    REFUSED(BP_E_OVERLAP, "output, which is written, overlaps lengths",
            c.tensor[LENGTHS].view.tensor.data = c.tensor[OUTPUT].view.tensor.data);
    REFUSED(BP_E_SHAPE, "query has 4 heads, key 3", c.tensor[KEY].view.shape[2] = 1; c.tensor[QUERY].view.shape[1] = 4;
            c.tensor[KEY].view.shape[2] = 3; c.tensor[KEY].view.shape[0] = 2; c.tensor[VALUE].view.shape[0] = 2);
}

/* Kernels without pages say so. */
static void other_kernels_refuse(void **state) {
    bp_options *options;
    (void)state;
    test_array_random = 65;
    const shape s = {.dtype = BP_BF16,
                     .integers = BP_I32,
                     .items = 1,
                     .heads = 2,
                     .key_heads = 2,
                     .value_heads = 2,
                     .queries = 2,
                     .size = 3,
                     .value_size = 3,
                     .page_size = 4,
                     .most = 5,
                     .compact = true};
    paged c;
    begin(&c, &s);
    assert_int_equal(bp_options_new(&options, "cuda.math_sdp=false, dispatch.exclude=\"native:flash\""), BP_OK);
    assert_int_equal(bp_attention_run(options, &c.call), BP_E_NO_CANDIDATE);
    assert_non_null(strstr(bp_last_error(), "mem_efficient: does not read keys and values in pages"));
    assert_non_null(strstr(bp_last_error(), "flash_bf16: does not read keys and values in pages"));
    bp_options_release(options);
    end(&c);
}

/* What an item would reach if its pages followed each other is not memory that a call reads. */
static void rows_of_a_page_may_be_far_apart(void **state) {
    (void)state;
    const int64_t far = INT64_C(1) << 40, most = 1 << 24;
    const bp_dtype dtypes[] = {BP_F32, BP_F32, BP_F32, BP_I32, BP_I32, BP_F32};
    const int64_t shapes[][4] = {{1, 1, 1, 4}, {2, 2, 1, 4}, {2, 2, 1, 4}, {1, most}, {1}, {1, 1, 1, 4}};
    const int64_t strides[][4] = {{4, 4, 4, 1}, {4, far, 4, 1}, {4, -far, 4, 1}, {most, 1}, {1}, {4, 4, 4, 1}};
    const int ndim[] = {4, 4, 4, 2, 1, 4};
    bp_view views[6];
    for (int i = 0; i < 6; i++) {
        assert_int_equal(bp_view_init(&views[i], NULL, dtypes[i], ndim[i], shapes[i], strides[i]), BP_OK);
    }
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .query = &views[QUERY].tensor,
                                    .key = &views[KEY].tensor,
                                    .value = &views[VALUE].tensor,
                                    .pages = &views[PAGES].tensor,
                                    .lengths = &views[LENGTHS].tensor,
                                    .output = &views[OUTPUT].tensor};
    bp_plan *plan;
    assert_int_equal(bp_attention_plan(&plan, NULL, &call), BP_OK);
    bp_plan_release(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_equal_the_reference),
        cmocka_unit_test(long_keys_are_merged),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(numbers_are_checked_before_anything_is_written),
        cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(other_kernels_refuse),
        cmocka_unit_test(rows_of_a_page_may_be_far_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
