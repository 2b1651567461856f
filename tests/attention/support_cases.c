/* support_cases.c - makes random calls of attention, and the reference. */
#include "attention/cases.h"
#include "support/options.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Cases ---- */

enum { MOST_WORK = 10000000 };

static int64_t length(void) {
    switch (test_array_between(0, 5)) {
    case 0:
        return test_array_between(1, 4);
    case 1:
        return test_array_between(5, 40);
    case 2:
        return test_array_between(120, 140);
    case 3:
        return test_array_between(250, 300);
    default:
        return test_array_between(1, 70);
    }
}

static int64_t width(void) {
    switch (test_array_between(0, 5)) {
    case 0:
        return test_array_between(1, 9);
    case 1:
        return test_array_between(60, 70);
    case 2:
        return test_array_between(0, 2) ? 64 : test_array_between(127, 256);
    default:
        return test_array_between(1, 40);
    }
}

static int64_t items_work(const attention_shape *s) {
    int64_t work = s->queries * s->keys * (s->size + s->value_size);
    for (int d = 0; d < s->batch_ndim; d++) {
        work *= s->batch[d];
    }
    return work;
}

attention_shape attention_any(bp_dtype dtype) {
    attention_shape s = {.dtype = dtype,
                         .batch_ndim = (int)test_array_between(0, 3),
                         .queries = length(),
                         .keys = length(),
                         .size = width(),
                         .value_size = width(),
                         .broadcast = test_array_between(0, 3) == 0,
                         .logsumexp = test_array_between(0, 1),
                         .compact = test_array_between(0, 1)};
    for (int d = 0; d < s.batch_ndim; d++) {
        s.batch[d] = test_array_between(1, 3);
    }
    if (s.batch_ndim > 0 && test_array_between(0, 3) == 0) {
        static const int64_t heads[][3] = {{4, 2, 2}, {4, 1, 1}, {6, 3, 3}, {8, 2, 4}, {4, 4, 1}, {3, 1, 3}};
        const int64_t *of = heads[test_array_between(0, 5)];
        s.batch[s.batch_ndim - 1] = of[0];
        s.key_heads = of[1];
        s.value_heads = of[2];
        s.broadcast = false;
    }
    while (items_work(&s) > MOST_WORK) { /* the reference takes about a nanosecond for each */
        *(s.queries > s.keys ? &s.queries : &s.keys) /= 2;
    }
    s.causal = test_array_between(0, 3) == 0;
    s.mask = s.causal || test_array_between(0, 1) ? ATTENTION_NO_MASK : (attention_mask)test_array_between(1, 3);
    s.dropout = test_array_between(0, 5) ? 0 : test_array_between(0, 4) ? 0.3 : 1;
    s.scale = test_array_between(0, 3) ? 0 : test_array_uniform();
    return s;
}

/* Draws a limit of a window: none, few keys, any, or more than there are. */
static int64_t window_side(int64_t keys) {
    switch (test_array_between(0, 3)) {
    case 0:
        return -1;
    case 1:
        return test_array_between(0, 3);
    case 2:
        return test_array_between(0, keys);
    default:
        return test_array_between(0, 9) ? test_array_between(0, 2 * keys + 3) : INT64_MAX;
    }
}

void attention_add_limits(attention_shape *s) {
    static const double softcaps[] = {0, 0, 0.5, 3, 50};
    s->softcap = softcaps[test_array_between(0, 4)];
    s->window = test_array_between(0, 2) != 0;
    s->left = s->window ? window_side(s->keys) : 0;
    s->right = s->window ? window_side(s->keys) : 0;
    s->lower_right = (s->causal || s->window) && test_array_between(0, 1);
    s->lengths = s->batch_ndim > 0 && test_array_between(0, 2) == 0;
}

static test_layout layout_of(const attention_case *c) {
    return c->shape.compact ? TEST_COMPACT : TEST_SCATTERED;
}

static void make_matrix(attention_case *c, bp_attention_tensor which, bp_dtype dtype, int64_t heads, int64_t rows,
                        int64_t columns, bool broadcast) {
    const attention_shape *s = &c->shape;
    int64_t shape[8];
    int ndim = 0;
    /* Leading dimensions of size 1 may be left out. */
    bool leading = broadcast && test_array_next() % 3 == 0;
    for (int d = 0; d < s->batch_ndim; d++) {
        const int64_t size = d == s->batch_ndim - 1 && heads ? heads : s->batch[d];
        if (leading && test_array_next() % 2) {
            continue;
        }
        leading = false;
        shape[ndim++] = broadcast && test_array_next() % 2 ? 1 : size;
    }
    if (rows >= 0) {
        shape[ndim++] = rows;
    }
    if (columns >= 0) {
        shape[ndim++] = columns;
    }
    test_array_make(&c->tensor[which], dtype, ndim, shape, layout_of(c));
}

static DLTensor *tensor_of(attention_case *c, bp_attention_tensor which) {
    return c->tensor[which].memory ? &c->tensor[which].view.tensor : NULL;
}

/* Makes a mask for the batch of the output. */
static void make_mask(attention_case *c, int ndim, const int64_t *out) {
    const attention_shape *s = &c->shape;
    const bp_dtype dtypes[] = {BP_DTYPE_NONE, BP_BOOL, BP_F32, s->dtype};
    test_array *mask = &c->tensor[BP_ATTENTION_MASK];
    const int64_t rows = test_array_between(0, 2) ? s->queries : 1, keys = test_array_between(0, 3) ? s->keys : 1;
    const attention_shape own = *s;
    memcpy(c->shape.batch, out, (size_t)ndim * sizeof *out);
    c->shape.batch_ndim = ndim;
    make_matrix(c, BP_ATTENTION_MASK, dtypes[s->mask], 0, rows, keys, test_array_between(0, 1));
    c->shape = own;
    const bool all = test_array_between(0, 5) == 0;
    for (int64_t i = 0; i < test_array_count(mask); i++) {
        const bool open = !all && test_array_next() % 4 != 0;
        test_array_set(mask, i, s->mask == ATTENTION_BOOL ? open : open ? 3 * test_array_uniform() : -INFINITY);
    }
}

static void connect(attention_case *c) {
    bp_attention_call *call = &c->call;
    call->query = tensor_of(c, BP_ATTENTION_QUERY);
    call->key = tensor_of(c, BP_ATTENTION_KEY);
    call->value = tensor_of(c, BP_ATTENTION_VALUE);
    call->mask = tensor_of(c, BP_ATTENTION_MASK);
    call->seed = tensor_of(c, BP_ATTENTION_SEED);
    call->lengths = tensor_of(c, BP_ATTENTION_LENGTHS);
    call->output = tensor_of(c, BP_ATTENTION_OUTPUT);
    call->logsumexp = tensor_of(c, BP_ATTENTION_LOGSUMEXP);
    call->output_gradient = tensor_of(c, BP_ATTENTION_OUTPUT_GRADIENT);
    call->query_gradient = tensor_of(c, BP_ATTENTION_QUERY_GRADIENT);
    call->key_gradient = tensor_of(c, BP_ATTENTION_KEY_GRADIENT);
    call->value_gradient = tensor_of(c, BP_ATTENTION_VALUE_GRADIENT);
    call->mask_gradient = tensor_of(c, BP_ATTENTION_MASK_GRADIENT);
}

/* Makes lengths of the items: none, all keys, or any number. */
static void make_lengths(attention_case *c, int64_t items) {
    test_array *lengths = &c->tensor[BP_ATTENTION_LENGTHS];
    test_array_make(lengths, test_array_between(0, 1) ? BP_I32 : BP_I64, 1, &items, layout_of(c));
    for (int64_t i = 0; i < items; i++) {
        const int64_t kind = test_array_between(0, 4);
        const int64_t length = kind == 0 ? 0 : kind == 1 ? c->shape.keys : test_array_between(0, c->shape.keys);
        test_array_set_i64(lengths, i, length);
    }
}

void attention_begin(attention_case *c, const attention_shape *shape) {
    memset(c, 0, sizeof *c);
    c->shape = *shape;
    const attention_shape *s = &c->shape;
    make_matrix(c, BP_ATTENTION_QUERY, s->dtype, 0, s->queries, s->size, s->broadcast);
    make_matrix(c, BP_ATTENTION_KEY, s->dtype, s->key_heads, s->keys, s->size, s->broadcast);
    make_matrix(c, BP_ATTENTION_VALUE, s->dtype, s->value_heads, s->keys, s->value_size, s->broadcast);
    for (int i = BP_ATTENTION_QUERY; i <= BP_ATTENTION_VALUE; i++) {
        test_array_fill(&c->tensor[i], 1.5);
    }
    if (s->dropout > 0) {
        test_array_make(&c->tensor[BP_ATTENTION_SEED], BP_I64, 1, (const int64_t[]){2}, TEST_SCATTERED);
        c->seed[0] = (int64_t)test_array_next();
        c->seed[1] = test_array_between(0, 1000);
        for (int i = 0; i < 2; i++) {
            test_array_set_i64(&c->tensor[BP_ATTENTION_SEED], i, c->seed[i]);
        }
    }
    c->call = (bp_attention_call){.struct_size = sizeof c->call,
                                  .is_causal = s->causal,
                                  .enable_gqa = s->key_heads > 0,
                                  .has_scale = s->scale != 0,
                                  .scale = s->scale,
                                  .dropout = s->dropout,
                                  .softcap = s->softcap,
                                  .has_window = s->window,
                                  .lower_right = s->lower_right,
                                  .window_left = s->left,
                                  .window_right = s->right};
    connect(c);
    bp_dtype dtype;
    int ndim;
    int64_t out[BP_MAX_NDIM];
    assert_int_equal(bp_attention_shape(&c->call, &dtype, &ndim, out), BP_OK);
    if (s->mask) {
        make_mask(c, ndim - 2, out);
    }
    if (s->lengths) {
        make_lengths(c, out[0]);
    }
    test_array_make(&c->tensor[BP_ATTENTION_OUTPUT], dtype, ndim, out, layout_of(c));
    if (s->logsumexp) {
        test_array_make(&c->tensor[BP_ATTENTION_LOGSUMEXP], dtype == BP_F64 ? BP_F64 : BP_F32, ndim - 1, out,
                        layout_of(c));
    }
    connect(c);
    snprintf(c->text, sizeof c->text,
             "%s batch %d (%" PRId64 ",%" PRId64 ",%" PRId64 ") heads %" PRId64 "/%" PRId64 " L%" PRId64 " S%" PRId64
             " E%" PRId64 " V%" PRId64 "%s%s mask %d dropout %g scale %g softcap %g window %d %" PRId64 ",%" PRId64
             "%s%s",
             bp_dtype_name(s->dtype), s->batch_ndim, s->batch[0], s->batch[1], s->batch[2], s->key_heads,
             s->value_heads, s->queries, s->keys, s->size, s->value_size, s->causal ? " causal" : "",
             s->broadcast ? " broadcast" : "", (int)s->mask, s->dropout, s->scale, s->softcap, s->window, s->left,
             s->right, s->lower_right ? " lower right" : "", s->lengths ? " lengths" : "");
}

void attention_turn(attention_case *c) {
    test_array *output = &c->tensor[BP_ATTENTION_OUTPUT];
    c->call.pass = BP_ATTENTION_BACKWARD;
    test_array_make(&c->tensor[BP_ATTENTION_OUTPUT_GRADIENT], c->shape.dtype, output->view.tensor.ndim,
                    output->view.shape, layout_of(c));
    test_array_fill(&c->tensor[BP_ATTENTION_OUTPUT_GRADIENT], 1);
    for (int i = 0; i < 3; i++) {
        const test_array *of = &c->tensor[BP_ATTENTION_QUERY + i];
        test_array_make(&c->tensor[BP_ATTENTION_QUERY_GRADIENT + i], c->shape.dtype, of->view.tensor.ndim,
                        of->view.shape, layout_of(c));
    }
    const test_array *mask = &c->tensor[BP_ATTENTION_MASK];
    if (mask->memory && mask->dtype != BP_BOOL) {
        test_array_make(&c->tensor[BP_ATTENTION_MASK_GRADIENT], mask->dtype, mask->view.tensor.ndim, mask->view.shape,
                        layout_of(c));
    }
    connect(c);
}

void attention_end(attention_case *c) {
    for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
        test_array_free(&c->tensor[i]);
    }
}

/* ---- Runs ---- */

void attention_run(attention_case *c, const char *settings) {
    bp_options *options = test_options(settings);
    const bp_status status = bp_attention_run(options, &c->call);
    if (status != BP_OK) {
        fail_msg("%s with %s: %s", c->text, settings, bp_last_error());
    }
    bp_options_release(options);
    bp_plan_info info = {.struct_size = sizeof info}; /* there is no plan for empty tensors */
    if (c->call.pass == BP_ATTENTION_FORWARD) {
        c->weight_error = bp_last_plan(&info) == BP_OK && strcmp(info.algorithm, "flash_bf16") == 0 ? 0x1p-8 : 0;
        c->rounds = c->weight_error > 0 && c->shape.dtype == BP_F32;
    }
}

/* Bytes of all written tensors. */
static char *results(const attention_case *c, size_t *size) {
    const int first = c->call.pass == BP_ATTENTION_FORWARD ? BP_ATTENTION_OUTPUT : BP_ATTENTION_QUERY_GRADIENT;
    const int count = c->call.pass == BP_ATTENTION_FORWARD ? 2 : 4;
    char *all = NULL;
    *size = 0;
    for (int i = first; i < first + count; i++) {
        const size_t bytes = (size_t)c->tensor[i].all * bp_dtype_size(c->tensor[i].dtype);
        all = realloc(all, *size + bytes);
        assert_non_null(all);
        if (bytes > 0) {
            memcpy(all + *size, c->tensor[i].memory, bytes);
        }
        *size += bytes;
    }
    return all;
}

void attention_compare_threads(attention_case *c, const char *kernel) {
    static const int threads[] = {1, 2, 3, 7};
    char *first = NULL, settings[160];
    size_t size = 0;
    for (int t = 0; t < 4; t++) {
        snprintf(settings, sizeof settings, "%s, num_threads=%d", kernel, threads[t]);
        attention_run(c, settings);
        size_t own;
        char *bytes = results(c, &own);
        if (first && (own != size || memcmp(first, bytes, own) != 0)) {
            fail_msg("%s: other bits on %d threads with %s", c->text, threads[t], kernel);
        }
        if (first) {
            free(bytes);
        } else {
            first = bytes;
            size = own;
        }
    }
    free(first);
}

const bp_dtype attention_dtypes[] = {BP_F32, BP_F64, BP_F16, BP_BF16};
const char *const attention_kernels[] = {"cuda.mem_efficient_sdp=false, cuda.math_sdp=false",
                                         "cuda.flash_sdp=false, cuda.math_sdp=false",
                                         "cuda.flash_sdp=false, cuda.mem_efficient_sdp=false", "cpu.capability=default",
                                         "cuda.flash_sdp=false, cpu.capability=default"};

static attention_shape random_shape(int index, bool limits) {
    attention_shape shape = attention_any(attention_dtypes[index % ATTENTION_DTYPES]);
    if (limits) {
        attention_add_limits(&shape);
    }
    return shape;
}

void attention_check_outputs(int cases, bool limits) {
    for (int i = 0; i < cases; i++) {
        attention_case c;
        const attention_shape shape = random_shape(i, limits);
        attention_begin(&c, &shape);
        attention_run(&c, attention_kernels[i / ATTENTION_DTYPES % ATTENTION_KERNELS]);
        attention_compare_output(&c);
        attention_end(&c);
    }
}

void attention_check_gradients(int cases, bool limits) {
    for (int i = 0; i < cases; i++) {
        attention_case c;
        attention_shape shape = random_shape(i, limits);
        shape.logsumexp = true;
        shape.queries = shape.queries > 100 ? shape.queries / 3 : shape.queries;
        shape.size = shape.size > 100 ? shape.size / 3 : shape.size;
        attention_begin(&c, &shape);
        attention_run(&c, "");
        attention_turn(&c);
        attention_run(&c, attention_kernels[i / ATTENTION_DTYPES % ATTENTION_KERNELS]);
        attention_compare_gradients(&c);
        attention_end(&c);
    }
}
