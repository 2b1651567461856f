/* support_attention.c - implements support_attention.h. */
#include "cudnn/support_attention.h"

#include "reference/attention.h"

#include <math.h>

static int64_t or_heads(const sdpa_case *c, int64_t heads) {
    return heads ? heads : c->heads;
}

static bool is_gradient_wanted(const sdpa_case *c, int which) {
    return c->backward && !(c->unwanted >> (which - SDPA_QUERY_GRADIENT) & 1);
}

static bool is_present(const sdpa_case *c, int which) {
    switch (which) {
    case SDPA_MASK:
        return c->mask != BP_DTYPE_NONE;
    case SDPA_LOGSUMEXP:
        return c->logsumexp || c->backward;
    case SDPA_OUTPUT_GRADIENT:
        return c->backward;
    case SDPA_QUERY_GRADIENT:
    case SDPA_KEY_GRADIENT:
    case SDPA_VALUE_GRADIENT:
        return is_gradient_wanted(c, which);
    default:
        return true;
    }
}

/* Sets items, heads, rows and columns of a tensor. */
static void set_shape(const sdpa_case *c, int which, int64_t shape[4]) {
    const bool key = which == SDPA_KEY || which == SDPA_KEY_GRADIENT;
    const bool value = which == SDPA_VALUE || which == SDPA_VALUE_GRADIENT;
    const bool wide = value || which == SDPA_OUTPUT || which == SDPA_OUTPUT_GRADIENT;
    shape[0] = key && c->repeats ? 1 : c->batch;
    shape[1] = key ? or_heads(c, c->key_heads) : value ? or_heads(c, c->value_heads) : c->heads;
    shape[2] = key || value ? c->keys : c->queries;
    shape[3] = wide ? c->value_size : c->size;
    if (which == SDPA_MASK) {
        shape[0] = c->mask_batch ? 1 : c->batch;
        shape[1] = c->mask_heads ? 1 : c->heads;
        shape[2] = c->mask_row ? 1 : c->queries;
        shape[3] = c->mask_column ? 1 : c->keys;
    }
}

static void set_strides(sdpa_layout layout, const int64_t shape[4], int64_t strides[4]) {
    const int64_t column = layout == SDPA_COLUMNS ? 2 : 1;
    const int64_t gap = layout == SDPA_GAPS ? 8 : layout == SDPA_ODD_ROWS ? 4 : 0;
    strides[3] = column;
    strides[2] = shape[3] * column + gap;
    strides[1] = shape[2] * strides[2] + (layout == SDPA_GAPS ? 8 : 0);
    strides[0] = shape[1] * strides[1] + (layout == SDPA_GAPS ? 16 : 0);
    if (layout == SDPA_HEADS_INSIDE) {
        strides[1] = shape[3];
        strides[2] = shape[1] * shape[3];
    } else if (layout == SDPA_BACKWARDS) {
        strides[1] = -strides[1];
    }
}

static void make_tensor(sdpa_trial *t, int which) {
    const sdpa_case *c = &t->c;
    int64_t shape[4], strides[4];
    const int first = c->flat ? 2 : 0;
    set_shape(c, which, shape);
    set_strides(which == SDPA_MASK ? SDPA_COMPACT : c->layout, shape, strides);
    if (which == SDPA_MASK && c->mask_turned) {
        strides[2] = 1;
        strides[3] = shape[2];
    }
    if (which == SDPA_KEY && c->expanded) {
        strides[1] = 0;
    }
    if (which == SDPA_LOGSUMEXP) {
        const int64_t step = c->spread ? 2 : 1, own[] = {shape[1] * shape[2] * step, shape[2] * step, step};
        test_array_make_strided(&t->host[which], c->dtype == BP_F64 ? BP_F64 : BP_F32, 3 - first, shape + first,
                                own + first, 0);
        return;
    }
    test_array_make_strided(&t->host[which], which == SDPA_MASK ? c->mask : c->dtype, 4 - first, shape + first,
                            strides + first, 0);
    test_array_fill(&t->host[which], which <= SDPA_KEY ? 1.5 : 1);
}

static void open_mask(test_array *mask) {
    for (int64_t i = 0; i < test_array_count(mask); i++) {
        const bool open = test_array_next() % 4 != 0;
        test_array_set(mask, i, mask->dtype == BP_BOOL ? open : open ? 3 * test_array_uniform() : -INFINITY);
    }
}

static bp_attention_call call_of(const sdpa_case *c, DLTensor *const tensors[SDPA_TENSORS], DLTensor *seed) {
    return (bp_attention_call){.struct_size = sizeof(bp_attention_call),
                               .pass = c->backward ? BP_ATTENTION_BACKWARD : BP_ATTENTION_FORWARD,
                               .is_causal = c->causal,
                               .enable_gqa = c->key_heads || c->value_heads,
                               .has_scale = c->scale != 0,
                               .scale = c->scale,
                               .dropout = c->dropout,
                               .softcap = c->softcap,
                               .has_window = c->window > 0,
                               .lower_right = c->lower_right,
                               .window_left = c->window,
                               .window_right = c->window,
                               .seed = seed,
                               .query = tensors[SDPA_QUERY],
                               .key = tensors[SDPA_KEY],
                               .value = tensors[SDPA_VALUE],
                               .mask = tensors[SDPA_MASK],
                               .output = tensors[SDPA_OUTPUT],
                               .logsumexp = tensors[SDPA_LOGSUMEXP],
                               .output_gradient = tensors[SDPA_OUTPUT_GRADIENT],
                               .query_gradient = tensors[SDPA_QUERY_GRADIENT],
                               .key_gradient = tensors[SDPA_KEY_GRADIENT],
                               .value_gradient = tensors[SDPA_VALUE_GRADIENT]};
}

void renew_sdpa(sdpa_trial *t, int which) {
    const bool moved = which == SDPA_QUERY || which == SDPA_OUTPUT;
    if (t->device[which].block) {
        drop(&t->device[which]);
    }
    put(&t->device[which], &t->host[which], t->c.device, moved ? t->c.past : 0);
    assert_ok(bp_device_wait(cuda_place(t->c.device)));
}

void connect_sdpa(sdpa_trial *t) {
    DLTensor *host[SDPA_TENSORS] = {NULL}, *device[SDPA_TENSORS] = {NULL};
    for (int i = 0; i < SDPA_TENSORS; i++) {
        host[i] = is_present(&t->c, i) ? &t->host[i].view.tensor : NULL;
        device[i] = is_present(&t->c, i) ? &t->device[i].tensor : NULL;
    }
    const bool drops = t->c.dropout > 0;
    t->on_host = call_of(&t->c, host, drops ? &t->seed.view.tensor : NULL);
    t->call = call_of(&t->c, device, drops ? &t->device_seed.tensor : NULL);
}

void make_sdpa(sdpa_trial *t, const sdpa_case *c) {
    const int64_t two = 2;
    memset(t, 0, sizeof *t);
    t->c = *c;
    snprintf(t->text, sizeof t->text,
             "%s%s %d x %d (%d, %d) heads, %d queries, %d keys, %d and %d columns%s, mask %d (%d%d%d%d), layout %d",
             bp_dtype_name(c->dtype), c->backward ? " backward" : "", (int)c->batch, (int)c->heads, (int)c->key_heads,
             (int)c->value_heads, (int)c->queries, (int)c->keys, (int)c->size, (int)c->value_size,
             c->causal ? ", causal" : "", (int)c->mask, c->mask_batch, c->mask_heads, c->mask_row, c->mask_column,
             (int)c->layout);
    for (int i = 0; i < SDPA_TENSORS; i++) {
        if (is_present(c, i)) {
            make_tensor(t, i);
        }
        if (i == SDPA_MASK && is_present(c, i)) {
            open_mask(&t->host[i]);
        }
        if (is_present(c, i)) {
            renew_sdpa(t, i);
        }
    }
    if (c->dropout > 0) {
        test_array_make(&t->seed, BP_I64, 1, &two, TEST_COMPACT);
        test_array_set_i64(&t->seed, 0, 1);
        test_array_set_i64(&t->seed, 1, 2);
        put(&t->device_seed, &t->seed, c->device, 0);
        assert_ok(bp_device_wait(cuda_place(c->device)));
    }
}

void free_sdpa(sdpa_trial *t) {
    for (int i = 0; i < SDPA_TENSORS; i++) {
        if (is_present(&t->c, i)) {
            drop(&t->device[i]);
        }
        test_array_free(&t->host[i]);
    }
    if (t->c.dropout > 0) {
        drop(&t->device_seed);
        test_array_free(&t->seed);
    }
}

/* The call that writes what the call for gradients reads. */
static bp_attention_call forward_of(const bp_attention_call *call) {
    bp_attention_call forward = *call;
    forward.pass = BP_ATTENTION_FORWARD;
    forward.output_gradient = NULL;
    forward.query_gradient = forward.key_gradient = forward.value_gradient = NULL;
    return forward;
}

bp_status run_sdpa(sdpa_trial *t, const char *settings) {
    bp_options *options;
    bp_status status = BP_OK;
    connect_sdpa(t);
    assert_ok(bp_options_new(&options, settings));
    if (t->c.backward) {
        const bp_attention_call forward = forward_of(&t->call);
        status = bp_attention_run(options, &forward);
    }
    status = status == BP_OK ? bp_attention_run(options, &t->call) : status;
    bp_options_release(options);
    return status == BP_OK ? bp_device_wait(cuda_place(t->c.device)) : status;
}

void expect_sdpa(sdpa_trial *t) {
    /* cuDNN rounds weights, and gradients by scores, before it multiplies them (attention.h). */
    const double unit = reference_unit(t->c.dtype);
    const reference_attention_rounding rounding = {unit, false, unit};
    reference_results made;
    for (int i = 0; i < SDPA_TENSORS; i++) {
        if (is_present(&t->c, i)) {
            get(&t->device[i]);
            test_array_check_gaps(&t->host[i], t->text);
        }
    }
    if (t->c.backward) {
        const bp_attention_call forward = forward_of(&t->on_host);
        assert_ok(reference_of_rounded_attention(&made, &forward, &rounding));
        test_check_results(&made, t->text);
    }
    assert_ok(reference_of_rounded_attention(&made, &t->on_host, &rounding));
    test_check_results(&made, t->text);
}

void check_sdpa(const sdpa_case *c) {
    sdpa_trial t;
    make_sdpa(&t, c);
    if (run_sdpa(&t, "num_threads=1") != BP_OK) {
        fail_msg("%s: %s", t.text, bp_last_error());
    }
    expect_sdpa(&t);
    free_sdpa(&t);
}

void refuse_sdpa(const sdpa_case *c, const char *settings, const char *text) {
    sdpa_trial t;
    make_sdpa(&t, c);
    const int calls = the_cudnn()->calls;
    assert_fails(run_sdpa(&t, settings), BP_E_NO_CANDIDATE, text);
    assert_in_range(the_cudnn()->calls, calls, calls + c->backward); /* the forward call may run */
    free_sdpa(&t);
}

const char *explained_sdpa(const sdpa_trial *t, const char *settings) {
    static char text[32768];
    bp_options *options;
    bp_explanation *e;
    assert_ok(bp_options_new(&options, settings));
    assert_ok(bp_attention_explain(&e, options, &t->call));
    snprintf(text, sizeof text, "%s", bp_explanation_text(e));
    bp_explanation_release(e);
    bp_options_release(options);
    return text;
}

/* ---- Cases that forward calls and gradients share ---- */

static const bp_dtype types[] = {BP_F16, BP_BF16};

void check_sdpa_columns(sdpa_make make, int count, const int64_t sizes[][2]) {
    for (int i = 0; i < count; i++) {
        sdpa_case c = make(types[i % 2]);
        c.size = sizes[i][0];
        c.value_size = sizes[i][1];
        check_sdpa(&c);
    }
}

void check_sdpa_heads(sdpa_make make) {
    static const int64_t cases[][4] = {{2, 4, 2, 2}, {2, 4, 1, 1}, {1, 6, 3, 3}, {3, 4, 2, 4}, {2, 8, 2, 4},
                                       {2, 4, 4, 1}, {1, 4, 1, 4}, {5, 1, 0, 0}, {1, 1, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int k = 0; k < 4; k++) {
            sdpa_case c = make(types[k % 2]);
            c.batch = cases[i][0];
            c.heads = cases[i][1];
            c.key_heads = cases[i][2];
            c.value_heads = cases[i][3];
            c.causal = k / 2;
            c.layout = k / 2 ? SDPA_HEADS_INSIDE : SDPA_COMPACT;
            check_sdpa(&c);
        }
    }
    sdpa_case c = make(BP_F16);
    c.batch = c.heads = 1;
    c.flat = true;
    check_sdpa(&c);
}

void check_sdpa_layouts(sdpa_make make) {
    static const sdpa_layout good[] = {SDPA_COMPACT, SDPA_HEADS_INSIDE, SDPA_GAPS};
    for (int i = 0; i < 3 * 2; i++) {
        sdpa_case c = make(types[i % 2]);
        c.layout = good[i / 2];
        check_sdpa(&c);
    }
}
