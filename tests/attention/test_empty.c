/* test_empty.c - attention with each set of sizes that are 0, and NULL for the addresses of tensors without elements:
 * run, plan and execute, and explain. Every element that exists is written. */
#include "backplane.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 64, PAGE = 2 };
enum {
    QUERY,
    KEY,
    VALUE,
    MASK,
    PAGES,
    LENGTHS,
    OUTPUT,
    LOGSUMEXP,
    OUTPUT_GRADIENT,
    BY_QUERY,
    BY_KEY,
    BY_VALUE,
    BY_MASK
};
enum { TENSORS = BY_MASK + 1 };

static const char *const kernels[] = {"cuda.mem_efficient_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.math_sdp=false",
                                      "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false"};
enum { EFFICIENT = 1 };

/* Sizes of a call, and what else it has. */
typedef struct sizes {
    int64_t items, queries, keys, size, value_size, pool;
    bool masked, causal, paged;
} sizes;

typedef struct tensors {
    float memory[TENSORS][MOST];
    int64_t integers[2][MOST];
    bp_view view[TENSORS];
    bp_attention_call call;
} tensors;

static void make(tensors *t, int which, int ndim, const int64_t *shape) {
    const bool integers = which == PAGES || which == LENGTHS;
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) {
        count *= shape[d];
    }
    assert_true(count <= MOST);
    void *data = integers ? (void *)t->integers[which - PAGES] : t->memory[which];
    for (int64_t i = 0; i < count && !integers; i++) {
        t->memory[which][i] = which == OUTPUT || which == LOGSUMEXP || which > OUTPUT_GRADIENT
                                  ? NAN
                                  : (float)((7 * i + 3 * which) % 5) / 4;
    }
    for (int64_t i = 0; i < count && integers; i++) { /* the pages of the pool in turn; all rows of them */
        t->integers[which - PAGES][i] = which == LENGTHS ? PAGE : 0;
    }
    assert_int_equal(bp_view_init(&t->view[which], count ? data : NULL, integers ? BP_I64 : BP_F32, ndim, shape, NULL),
                     BP_OK);
}

/* A call without pages: items x rows x columns. */
static void begin(tensors *t, const sizes *s) {
    memset(t, 0, sizeof *t);
    make(t, QUERY, 3, (const int64_t[]){s->items, s->queries, s->size});
    make(t, KEY, 3, (const int64_t[]){s->items, s->keys, s->size});
    make(t, VALUE, 3, (const int64_t[]){s->items, s->keys, s->value_size});
    make(t, MASK, 2, (const int64_t[]){s->queries, s->keys});
    make(t, OUTPUT, 3, (const int64_t[]){s->items, s->queries, s->value_size});
    make(t, LOGSUMEXP, 2, (const int64_t[]){s->items, s->queries});
    make(t, OUTPUT_GRADIENT, 3, (const int64_t[]){s->items, s->queries, s->value_size});
    for (int i = 0; i < 3; i++) {
        make(t, BY_QUERY + i, 3, t->view[QUERY + i].shape);
    }
    make(t, BY_MASK, 2, t->view[MASK].shape);
    t->call = (bp_attention_call){.struct_size = sizeof t->call,
                                  .is_causal = s->causal,
                                  .query = &t->view[QUERY].tensor,
                                  .key = &t->view[KEY].tensor,
                                  .value = &t->view[VALUE].tensor,
                                  .mask = s->masked ? &t->view[MASK].tensor : NULL,
                                  .output = &t->view[OUTPUT].tensor,
                                  .logsumexp = &t->view[LOGSUMEXP].tensor};
}

/* A call with one head and at most one page for each item. */
static void begin_paged(tensors *t, const sizes *s) {
    memset(t, 0, sizeof *t);
    make(t, QUERY, 4, (const int64_t[]){s->items, 1, s->queries, s->size});
    make(t, KEY, 4, (const int64_t[]){s->pool, PAGE, 1, s->size});
    make(t, VALUE, 4, (const int64_t[]){s->pool, PAGE, 1, s->value_size});
    make(t, PAGES, 2, (const int64_t[]){s->items, s->keys / PAGE});
    make(t, LENGTHS, 1, (const int64_t[]){s->items});
    make(t, OUTPUT, 4, (const int64_t[]){s->items, 1, s->queries, s->value_size});
    make(t, LOGSUMEXP, 3, (const int64_t[]){s->items, 1, s->queries});
    for (int64_t i = 0; i < s->items; i++) {
        t->integers[1][i] = s->pool > 0 ? s->keys : 0;
    }
    t->call = (bp_attention_call){.struct_size = sizeof t->call,
                                  .is_causal = s->causal,
                                  .query = &t->view[QUERY].tensor,
                                  .key = &t->view[KEY].tensor,
                                  .value = &t->view[VALUE].tensor,
                                  .pages = &t->view[PAGES].tensor,
                                  .lengths = &t->view[LENGTHS].tensor,
                                  .output = &t->view[OUTPUT].tensor,
                                  .logsumexp = &t->view[LOGSUMEXP].tensor};
}

static void turn(tensors *t, const sizes *s) {
    t->call.pass = BP_ATTENTION_BACKWARD;
    t->call.output_gradient = &t->view[OUTPUT_GRADIENT].tensor;
    t->call.query_gradient = &t->view[BY_QUERY].tensor;
    t->call.key_gradient = &t->view[BY_KEY].tensor;
    t->call.value_gradient = &t->view[BY_VALUE].tensor;
    t->call.mask_gradient = s->masked ? &t->view[BY_MASK].tensor : NULL;
}

/* Runs the call by a plan that was made without addresses. */
static void execute(tensors *t, const bp_options *options) {
    bp_plan *plan = NULL;
    bp_operand operands[12];
    const bp_attention_call *c = &t->call;
    const DLTensor *const forward[] = {c->query, c->key, c->value, c->mask, NULL, c->output, c->logsumexp},
                          *const paged[] = {c->query, c->key,     c->value,  c->mask,     NULL,
                                            c->pages, c->lengths, c->output, c->logsumexp},
                          *const backward[] = {c->output_gradient, c->query,          c->key,
                                               c->value,           c->mask,           NULL,
                                               c->output,          c->logsumexp,      c->query_gradient,
                                               c->key_gradient,    c->value_gradient, c->mask_gradient};
    const DLTensor *const *of = c->pass == BP_ATTENTION_BACKWARD ? backward : c->pages ? paged : forward;
    const size_t count = c->pass == BP_ATTENTION_BACKWARD ? 12 : c->pages ? 9 : 7;
    for (size_t i = 0; i < count; i++) {
        operands[i] = (bp_operand){of[i] ? of[i]->data : NULL, 0};
    }
    const bp_exec exec = {.struct_size = sizeof exec, .operand_count = count};
    assert_int_equal(bp_attention_plan(&plan, options, c), BP_OK);
    assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
    bp_plan_release(plan);
}

static void explain(const tensors *t, const bp_options *options) {
    bp_explanation *explanation = NULL;
    assert_int_equal(bp_attention_explain(&explanation, options, &t->call), BP_OK);
    bp_explanation_release(explanation);
}

static void check_written(const tensors *t, int which, const char *text) {
    const DLTensor *tensor = &t->view[which].tensor;
    int64_t count = tensor->data ? 1 : 0;
    for (int d = 0; d < tensor->ndim; d++) {
        count *= tensor->shape[d];
    }
    for (int64_t i = 0; i < count; i++) {
        if (isnan(t->memory[which][i])) {
            fail_msg("%s: element %d of tensor %d was not written", text, (int)i, which);
        }
    }
}

/* A plan has the bits of a run, and all of them were written. */
static void compare(const tensors *ran, const tensors *executed, const sizes *s, bool backward) {
    char text[160];
    snprintf(text, sizeof text, "items %d queries %d keys %d size %d values %d pool %d masked %d causal %d paged %d",
             (int)s->items, (int)s->queries, (int)s->keys, (int)s->size, (int)s->value_size, (int)s->pool, s->masked,
             s->causal, s->paged);
    for (int i = backward ? BY_QUERY : OUTPUT; i <= (backward ? s->masked ? BY_MASK : BY_VALUE : LOGSUMEXP); i++) {
        check_written(ran, i, text);
        assert_memory_equal(ran->memory[i], executed->memory[i], sizeof ran->memory[i]);
    }
}

static void check(const sizes *s, const char *kernel) {
    static tensors ran, executed;
    bp_options *options;
    assert_int_equal(bp_options_new(&options, kernel), BP_OK);
    (s->paged ? begin_paged : begin)(&ran, s);
    (s->paged ? begin_paged : begin)(&executed, s);
    explain(&ran, options);
    assert_int_equal(bp_attention_run(options, &ran.call), BP_OK);
    execute(&executed, options);
    compare(&ran, &executed, s, false);
    if (!s->paged) {
        turn(&ran, s);
        turn(&executed, s);
        explain(&ran, options);
        assert_int_equal(bp_attention_run(options, &ran.call), BP_OK);
        execute(&executed, options);
        compare(&ran, &executed, s, true);
    }
    bp_options_release(options);
}

/* Each set of sizes that are 0. */
static void any_sizes_may_be_zero(void **state) {
    (void)state;
    for (int kernel = 0; kernel < 3; kernel++) {
        for (int empty = 0; empty < 32; empty++) {
            for (int kind = 0; kind < 3; kind++) {
                const sizes s = {.items = empty & 1 ? 0 : 2,
                                 .queries = empty & 2 ? 0 : 3,
                                 .keys = empty & 4 ? 0 : 4,
                                 .size = empty & 8 ? 0 : 2,
                                 .value_size = empty & 16 ? 0 : 3,
                                 .masked = kind == 1,
                                 .causal = kind == 2};
                check(&s, kernels[kernel]);
            }
        }
    }
}

static void any_sizes_of_pages_may_be_zero(void **state) {
    (void)state;
    for (int kernel = 0; kernel < 3; kernel++) {
        for (int empty = 0; empty < 64 && kernel != EFFICIENT; empty++) {
            for (int causal = 0; causal < 2; causal++) {
                const sizes s = {.items = empty & 1 ? 0 : 2,
                                 .queries = empty & 2 ? 0 : 3,
                                 .keys = empty & 4 ? 0 : PAGE,
                                 .size = empty & 8 ? 0 : 2,
                                 .value_size = empty & 16 ? 0 : 3,
                                 .pool = empty & 32 ? 0 : 2,
                                 .causal = causal,
                                 .paged = true};
                check(&s, kernels[kernel]);
            }
        }
    }
}

/* ---- No items ---- */

/* No items, but heads of their own: a gradient by a value that all items share is 0 in every head. */
static void gradients_are_written_in_all_heads_of_no_items(void **state) {
    enum { HEADS = 3, KEYS = 5, SIZE = 4 };
    static float numbers[HEADS * KEYS * SIZE], gradients[2][HEADS * KEYS * SIZE];
    const int64_t none[] = {0, HEADS, 2, SIZE}, shared[] = {1, HEADS, KEYS, SIZE}, rows[] = {0, HEADS, 2};
    bp_view empty, sums, given, by[2];
    (void)state;
    for (int i = 0; i < HEADS * KEYS * SIZE; i++) {
        gradients[0][i] = gradients[1][i] = 7;
    }
    assert_int_equal(bp_view_init(&empty, NULL, BP_F32, 4, none, NULL), BP_OK);
    assert_int_equal(bp_view_init(&sums, NULL, BP_F32, 3, rows, NULL), BP_OK);
    assert_int_equal(bp_view_init(&given, numbers, BP_F32, 4, shared, NULL), BP_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bp_view_init(&by[i], gradients[i], BP_F32, 4, shared, NULL), BP_OK);
    }
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .pass = BP_ATTENTION_BACKWARD,
                                    .query = &empty.tensor,
                                    .key = &given.tensor,
                                    .value = &given.tensor,
                                    .output = &empty.tensor,
                                    .logsumexp = &sums.tensor,
                                    .output_gradient = &empty.tensor,
                                    .key_gradient = &by[0].tensor,
                                    .value_gradient = &by[1].tensor};
    assert_int_equal(bp_attention_run(NULL, &call), BP_OK);
    for (int i = 0; i < 2 * HEADS * KEYS * SIZE; i++) {
        assert_true(gradients[i % 2][i / 2] == 0);
    }
}

/* A tensor without elements may have any strides, also the strides of one that items share. */
static void an_empty_gradient_with_strides_of_0_is_not_written(void **state) {
    static float mask[5];
    const int64_t none[] = {0, 2, 4}, keys[] = {0, 5, 4}, rows[] = {0, 2}, masks[] = {0, 1, 5}, strides[] = {0, 5, 1};
    bp_view empty, key, sums, given;
    (void)state;
    assert_int_equal(bp_view_init(&empty, NULL, BP_F32, 3, none, NULL), BP_OK);
    assert_int_equal(bp_view_init(&key, NULL, BP_F32, 3, keys, NULL), BP_OK);
    assert_int_equal(bp_view_init(&sums, NULL, BP_F32, 2, rows, NULL), BP_OK);
    assert_int_equal(bp_view_init(&given, NULL, BP_F32, 3, masks, strides), BP_OK);
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .pass = BP_ATTENTION_BACKWARD,
                                    .query = &empty.tensor,
                                    .key = &key.tensor,
                                    .value = &key.tensor,
                                    .mask = &given.tensor,
                                    .output = &empty.tensor,
                                    .logsumexp = &sums.tensor,
                                    .output_gradient = &empty.tensor,
                                    .mask_gradient = &given.tensor};
    bp_plan *plan;
    assert_int_equal(bp_attention_plan(&plan, NULL, &call), BP_OK);
    const bp_operand operands[12] = {[11] = {mask, 0}};
    mask[0] = 7;
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    assert_true(mask[0] == 7);
    bp_plan_release(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sizes_may_be_zero),
        cmocka_unit_test(any_sizes_of_pages_may_be_zero),
        cmocka_unit_test(gradients_are_written_in_all_heads_of_no_items),
        cmocka_unit_test(an_empty_gradient_with_strides_of_0_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
