/* fuzz_layers.c - runs layers of neural networks and their gradients on arbitrary tensors, and compares the results
 * with the results of the baseline instructions on one thread. */
#include "arrays.h"
#include "../support/passes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Layers ---- */

/* Runs a call twice, on the path of `set` and on one thread of the baseline, and compares the outputs. */
static void run_twice(array *const *outputs, int count, bp_status (*run)(const bp_options *set, const void *call),
                      const bp_options *set, const void *call) {
    double *values[ARENAS];
    for (int i = 0; i < count; i++) {
        keep(outputs[i]);
    }
    const bp_status status = run(set, call);
    for (int i = 0; i < count; i++) {
        int64_t index[BP_MAX_NDIM] = {0}, n = 0;
        check_bytes(outputs[i], status == BP_OK);
        values[i] = malloc(((size_t)count_of(outputs[i]) + 1) * sizeof(double));
        for (bool more = count_of(outputs[i]) > 0; more; more = advance(outputs[i], index)) {
            values[i][n++] = get(outputs[i], index);
        }
        if (outputs[i]->bytes > 0) {
            memcpy(outputs[i]->low, outputs[i]->before, outputs[i]->bytes);
        }
    }
    require(run(options[2], call) == status, "another status");
    for (int i = 0; i < count; i++) {
        int64_t index[BP_MAX_NDIM] = {0}, n = 0;
        for (bool more = count_of(outputs[i]) > 0; more; more = advance(outputs[i], index)) {
            const double x = get(outputs[i], index);
            expect(values[i][n++], x, isfinite(x) ? (fabs(x) + 3) * 512 * unit_of(outputs[i]->dtype) : 0);
        }
        free(values[i]);
        drop(outputs[i]);
    }
}

static bp_status do_layer(const bp_options *set, const void *call) {
    return bp_layer_norm_run(set, call);
}

static void run_layer_norm(input *in, const bp_options *set) {
    array x, y, g, weight, bias, mean, std, by_weight, by_bias;
    const bp_dtype type = types[below(in, 4)], other = type >= BP_F32 || below(in, 2) ? type : BP_F32;
    bp_layer_norm_call call = {.struct_size = sizeof call, .eps = below(in, 3) * 0.25};
    call.kind = (bp_layer_norm_kind)below(in, 3);
    call.pass = (bp_layer_norm_pass)below(in, 2);
    if (!next_shape(in, &x, 2)) {
        return;
    }
    const bool group = call.kind == BP_GROUP_NORM;
    copy_shape(&y, &x);
    copy_shape(&g, &x);
    if (group) {
        call.groups = x.shape[1] > 0 && below(in, 2) ? x.shape[1] : 1;
        weight.tensor.ndim = 1;
        weight.shape[0] = x.shape[1];
        mean.tensor.ndim = 2;
        mean.shape[0] = x.shape[0];
        mean.shape[1] = call.groups;
    } else {
        call.row_ndim = 1 + below(in, x.tensor.ndim);
        const int rows = x.tensor.ndim - call.row_ndim;
        weight.tensor.ndim = call.row_ndim;
        memcpy(weight.shape, x.shape + rows, (size_t)call.row_ndim * sizeof(int64_t));
        copy_shape(&mean, &x);
        mean.tensor.ndim = rows;
    }
    copy_shape(&bias, &weight);
    copy_shape(&by_weight, &weight);
    copy_shape(&by_bias, &weight);
    copy_shape(&std, &mean);
    array *const all[] = {&x, &y, &g, &weight, &bias, &mean, &std, &by_weight, &by_bias};
    for (int i = 0; i < BP__COUNT(all); i++) {
        if (!place(in, all[i], i, i < 3 ? type : other, i > 4 || i == 2 || (i == 1 && !call.pass))) {
            return;
        }
    }
    const uint8_t has = next_byte(in);
    array *outputs[ARENAS];
    int count = 0;
    call.input = &x.tensor;
    call.output = &y.tensor;
    call.weight = has & 1 ? &weight.tensor : NULL;
    if (call.pass == BP_LAYER_NORM_FORWARD) {
        outputs[count++] = &y;
        call.bias = has & 2 && call.kind != BP_RMS_NORM ? &bias.tensor : NULL;
        if (has & 4 && call.kind != BP_RMS_NORM) {
            outputs[count++] = &mean;
            call.mean = &mean.tensor;
        }
        if (has & 8) {
            outputs[count++] = &std;
            call.inverse_std = &std.tensor;
        }
    } else {
        if (has & 4) {
            call.mean = call.kind != BP_RMS_NORM ? &mean.tensor : NULL;
            call.inverse_std = &std.tensor;
            call.eps = 0;
        }
        if (has & 8) {
            outputs[count++] = &g;
            call.input_gradient = &g.tensor;
        }
        if (has & 16) {
            outputs[count++] = &by_weight;
            call.weight_gradient = &by_weight.tensor;
        }
        if (has & 32 && call.kind != BP_RMS_NORM) {
            outputs[count++] = &by_bias;
            call.bias_gradient = &by_bias.tensor;
        }
    }
    run_twice(outputs, count, do_layer, set, &call);
}

static bp_status do_linear(const bp_options *set, const void *call) {
    return bp_linear_run(set, call);
}

static void run_linear(input *in, const bp_options *set) {
    array x, y, weight, bias;
    const bp_dtype type = types[below(in, 4)];
    bp_linear_call call = {.struct_size = sizeof call, .pass = (bp_linear_pass)below(in, 3)};
    if (!next_shape(in, &x, 1)) {
        return;
    }
    copy_shape(&y, &x);
    const int last = x.tensor.ndim - 1;
    y.shape[last] = 1 + below(in, 40);
    weight.tensor.ndim = 2;
    weight.shape[0] = y.shape[last];
    weight.shape[1] = x.shape[last];
    bias.tensor.ndim = 1;
    bias.shape[0] = y.shape[last];
    array *const all[] = {&x, &weight, &bias, &y};
    for (int i = 0; i < 4; i++) {
        if (count_of(all[i]) > MOST_ELEMENTS || !place(in, all[i], i, type, true)) {
            return;
        }
    }
    call.activation = call.pass == BP_LINEAR_FORWARD ? (bp_unary_kind)below(in, BP_ACTIVATION_KINDS) : BP_UNARY_COPY;
    call.input = &x.tensor;
    call.weight = &weight.tensor;
    call.output = &y.tensor;
    call.bias = call.pass != BP_LINEAR_INPUT && below(in, 2) ? &bias.tensor : NULL;
    array *outputs[] = {call.pass == BP_LINEAR_FORWARD ? &y : call.pass == BP_LINEAR_INPUT ? &x : &weight, &bias};
    const bool by_bias = call.pass == BP_LINEAR_WEIGHT && call.bias;
    test_call_to_pass("linear", &call, (int)call.pass);
    run_twice(outputs, 1 + by_bias, do_linear, set, &call);
}

static bp_status do_rnn(const bp_options *set, const void *call) {
    return bp_rnn_run(set, call);
}

/* Returns whether a call has a tensor; `has` chooses optional ones. */
static bool rnn_has(const bp_rnn_call *call, int which, uint32_t has) {
    const bool backward = call->pass == BP_RNN_BACKWARD, lstm = call->mode == BP_RNN_LSTM;
    switch (which) {
    case BP_RNN_INPUT:
    case BP_RNN_WEIGHT_IH:
    case BP_RNN_WEIGHT_HH:
    case BP_RNN_OUTPUT:
        return true;
    case BP_RNN_WEIGHT_HR:
        return call->weight_hr != NULL;
    case BP_RNN_RESERVE:
        return call->pass != BP_RNN_INFERENCE && (lstm || call->mode == BP_RNN_GRU);
    case BP_RNN_WEIGHT_HR_GRADIENT:
        return backward && call->weight_hr && (has >> which % 16 & 1);
    case BP_RNN_INITIAL_CELL:
        return lstm && (has >> which % 16 & 1);
    case BP_RNN_FINAL_CELL:
        return lstm && !backward && (has >> which % 16 & 1);
    case BP_RNN_FINAL_CELL_GRADIENT:
    case BP_RNN_INITIAL_CELL_GRADIENT:
        return lstm && backward && (has >> which % 16 & 1);
    case BP_RNN_BIAS_IH:
    case BP_RNN_BIAS_HH:
    case BP_RNN_FINAL_HIDDEN:
        return !backward && (has >> which % 16 & 1);
    default:
        return (backward || which < BP_RNN_OUTPUT_GRADIENT) && (has >> which % 16 & 1);
    }
}

/* Fills lengths; other numbers become small and finite, because the reach of infinities depends on the path. */
static void fill_rnn(array *a, int which, int64_t steps) {
    const size_t size = bp_dtype_size(a->dtype);
    for (char *at = a->low; at < a->low + a->bytes; at += size) {
        const double x = value_of(a->dtype, at), y = isfinite(x) ? x / 8 : 0;
        if (which == BP_RNN_LENGTHS) {
            memcpy(at, &(int64_t){(int64_t)(next_random() % (uint64_t)(steps + 1))}, 8);
        } else if (a->dtype == BP_F32) {
            memcpy(at, &(float){(float)y}, 4);
        } else {
            memcpy(at, &y, 8);
        }
    }
}

static void run_rnn(input *in, const bp_options *set) {
    array tensor[ARENAS], *outputs[ARENAS];
    const DLTensor *members[ARENAS] = {NULL};
    const bp_dtype type = below(in, 2) ? BP_F32 : BP_F64;
    bp_rnn_call call = {
        .struct_size = sizeof call, .pass = (bp_rnn_pass)below(in, 3), .mode = (bp_rnn_mode)below(in, 4)};
    call.directions = 1 + below(in, 2);
    call.reverse = call.directions == 1 && below(in, 2);
    call.reset_before = call.mode == BP_RNN_GRU && below(in, 2);
    const bool lstm = call.mode == BP_RNN_LSTM, projects = lstm && below(in, 2);
    const int64_t steps = below(in, 8), batch = below(in, 12) == 11 ? 99 : below(in, 6), columns = below(in, 40),
                  hidden = 1 + below(in, 90), output = projects ? 1 + below(in, 70) : hidden,
                  gates = lstm                      ? 4
                          : call.mode == BP_RNN_GRU ? 3
                                                    : 1;
    const uint32_t has = (uint32_t)next_byte(in) | (uint32_t)next_byte(in) << 8;
    const int64_t shapes[][3] = {{steps, batch, columns},
                                 {call.directions, gates * hidden, columns},
                                 {call.directions, gates * hidden, output},
                                 {call.directions, output, hidden}};
    bp_view sizes[4];
    for (int i = 0; i < 4; i++) {
        require(bp_view_init(&sizes[i], NULL, type, 3, shapes[i], NULL) == BP_OK, "view");
    }
    call.input = &sizes[0].tensor;
    call.weight_ih = &sizes[1].tensor;
    call.weight_hh = &sizes[2].tensor;
    call.weight_hr = projects ? &sizes[3].tensor : NULL;
    int count = 0;
    for (int i = 0; i < BP_RNN_TENSORS; i++) {
        const bool written =
            call.pass == BP_RNN_BACKWARD ? i >= BP_RNN_INPUT_GRADIENT : i >= BP_RNN_OUTPUT && i <= BP_RNN_RESERVE;
        array *a = &tensor[i];
        bp_dtype dtype;
        input none = {NULL, 0};
        if (!rnn_has(&call, i, has)) {
            continue;
        }
        require(bp_rnn_shape(&call, (bp_rnn_tensor)i, &dtype, &a->tensor.ndim, a->shape) == BP_OK, "rnn_shape");
        if (count_of(a) > 4 * MOST_ELEMENTS || !place(i == BP_RNN_RESERVE ? &none : in, a, i, dtype, written)) {
            return;
        }
        fill_rnn(a, i, steps);
        members[i] = &a->tensor;
        if (written && i != BP_RNN_RESERVE) { /* its content is private */
            outputs[count++] = a;
        }
    }
    memcpy(&call.input, members, BP_RNN_TENSORS * sizeof *members);
    require(bp_rnn_run(set, &call) == BP_OK, "rnn");
    run_twice(outputs, count, do_rnn, set, &call);
}

static bp_status do_attention(const bp_options *set, const void *call) {
    return bp_attention_run(set, call);
}

static void run_attention(input *in, const bp_options *set) {
    array q, k, v, out, sum, d, by_q, by_k, by_v, mask;
    const bp_dtype type = types[below(in, 4)];
    bp_attention_call call = {.struct_size = sizeof call, .is_causal = below(in, 2)};
    call.pass = (bp_attention_pass)below(in, 2);
    const int64_t items = below(in, 4), heads = 1 + below(in, 3), l = below(in, 70), s = below(in, 90),
                  e = 1 + below(in, 40), w = 1 + below(in, 40);
    q = (array){.tensor.ndim = 4, .shape = {items, heads, l, e}};
    k = (array){.tensor.ndim = 4, .shape = {below(in, 3) ? items : 1, heads, s, e}};
    v = (array){.tensor.ndim = 4, .shape = {items, heads, s, w}};
    out = (array){.tensor.ndim = 4, .shape = {items, heads, l, w}};
    sum = (array){.tensor.ndim = 3, .shape = {items, heads, l}};
    mask = (array){.tensor.ndim = 4, .shape = {1, heads, below(in, 2) ? l : 1, s}};
    d = out;
    by_q = q;
    by_k = k;
    by_v = v;
    array *const all[] = {&q, &k, &v, &out, &sum, &d, &by_q, &by_k, &by_v, &mask};
    for (int i = 0; i < BP__COUNT(all); i++) {
        if (!place(in, all[i], i, i == 4 ? (type == BP_F64 ? BP_F64 : BP_F32) : type, i > 2 && i != 5 && i != 9)) {
            return;
        }
        for (size_t n = 0; n < all[i]->bytes / bp_dtype_size(all[i]->dtype); n++) {
            char *at = all[i]->low + n * bp_dtype_size(all[i]->dtype);
            if (!isfinite(value_of(all[i]->dtype, at))) {
                memset(at, 0, bp_dtype_size(all[i]->dtype));
            }
        }
    }
    call.query = &q.tensor;
    call.key = &k.tensor;
    call.value = &v.tensor;
    call.output = &out.tensor;
    call.logsumexp = &sum.tensor;
    call.mask = !call.is_causal && below(in, 2) ? &mask.tensor : NULL;
    array *outputs[3] = {&out, &sum};
    int count = 2;
    if (call.pass == BP_ATTENTION_BACKWARD) {
        call.pass = BP_ATTENTION_FORWARD;
        require(bp_attention_run(options[2], &call) == BP_OK, "attention");
        call.pass = BP_ATTENTION_BACKWARD;
        call.output_gradient = &d.tensor;
        count = 0;
        const uint8_t has = next_byte(in);
        if (has & 1) {
            call.query_gradient = &by_q.tensor;
            outputs[count++] = &by_q;
        }
        if (has & 2) {
            call.key_gradient = &by_k.tensor;
            outputs[count++] = &by_k;
        }
        if (has & 4) {
            call.value_gradient = &by_v.tensor;
            outputs[count++] = &by_v;
        }
    }
    run_twice(outputs, count, do_attention, set, &call);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const runs[])(input * in, const bp_options *set) = {run_layer_norm, run_linear, run_rnn,
                                                                      run_attention};
    input in = {data, size};
    const bp_options *set = begin(&in);
    runs[below(&in, BP__COUNT(runs))](&in, set);
    return 0;
}
