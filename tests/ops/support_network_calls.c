/* support_network_calls.c - makes small calls of the operations of neural networks, in all ways in which the library
 * allocates memory for them. */
#include "ops/network_calls.h"
#include "support/passes.h"

#include <stdio.h>

enum { ITEMS = 2, CHANNELS = 3, SIDE = 8, TAPS = 3, HALF = 4 };

static float image[ITEMS * CHANNELS * SIDE * SIDE], other[ITEMS * CHANNELS * SIDE * SIDE];
static float kernel[CHANNELS * CHANNELS * TAPS * TAPS], bias[CHANNELS];

/* Views of images, weights and biases of all calls. */
typedef struct tensors {
    bp_view x, y, w, b;
} tensors;

static bp_status open_tensors(tensors *t) {
    static const int64_t images[] = {ITEMS, CHANNELS, SIDE, SIDE}, taps[] = {CHANNELS, CHANNELS, TAPS, TAPS},
                         channels[] = {CHANNELS};
    bp_status status = bp_view_init(&t->x, image, BP_F32, 4, images, NULL);
    status = status == BP_OK ? bp_view_init(&t->y, other, BP_F32, 4, images, NULL) : status;
    status = status == BP_OK ? bp_view_init(&t->w, kernel, BP_F32, 4, taps, NULL) : status;
    return status == BP_OK ? bp_view_init(&t->b, bias, BP_F32, 1, channels, NULL) : status;
}

/* Releases an explanation, unless it failed. */
static bp_status release(bp_status status, bp_explanation *const *explanation) {
    if (status == BP_OK) {
        bp_explanation_release(*explanation);
    }
    return status;
}

/* ---- Convolutions ---- */

/* Packs the weight of a plan, and runs it. */
static bp_status run_packed(const bp_plan *plan) {
    const bp_operand operands[] = {{image, 0}, {kernel, 0}, {bias, 0}, {other, 0}};
    bp_packed *packed;
    bp_status status = bp_plan_pack(&packed, plan, 1, &operands[1]);
    if (status == BP_OK) {
        const bp_packed *list[] = {NULL, packed, NULL, NULL};
        const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
        status = bp_execute(plan, operands, &exec);
        bp_packed_release(packed);
    }
    return status;
}

static bp_status convolve(const char *algorithm) {
    char settings[128];
    tensors t;
    bp_options *options;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = open_tensors(&t);
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 2,
                               .mode = BP_CONV_SAME,
                               .input = &t.x.tensor,
                               .weight = &t.w.tensor,
                               .bias = &t.b.tensor,
                               .output = &t.y.tensor};
    snprintf(settings, sizeof settings, "conv.preferred=native:%s,dispatch.fallback=strict,num_threads=2", algorithm);
    status = status == BP_OK ? bp_options_new(&options, settings) : status;
    if (status != BP_OK) {
        return status;
    }
    status = bp_conv_run(options, &call);
    status = status == BP_OK ? release(bp_conv_explain(&explanation, options, &call), &explanation) : status;
    status = status == BP_OK ? bp_conv_plan(&plan, options, &call) : status;
    if (status == BP_OK) {
        status = run_packed(plan);
        bp_plan_release(plan);
    }
    bp_options_release(options);
    return status;
}

bp_status call_convolutions(void) {
    return convolve("implicit");
}

bp_status call_winograd(void) {
    return convolve("winograd");
}

bp_status call_fourier(void) {
    return convolve("fft");
}

bp_status call_convolution_gradients(void) {
    tensors t;
    bp_status status = open_tensors(&t);
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .mode = BP_CONV_SAME,
                         .pass = BP_CONV_INPUT,
                         .input_gradient = &t.x.tensor,
                         .weight = &t.w.tensor,
                         .output_gradient = &t.y.tensor};
    status = status == BP_OK ? bp_conv_run(NULL, &call) : status;
    call.pass = BP_CONV_WEIGHT;
    call.input = &t.x.tensor;
    call.input_gradient = NULL;
    call.weight = NULL;
    call.weight_gradient = &t.w.tensor;
    call.bias_gradient = &t.b.tensor;
    status = status == BP_OK ? bp_conv_run(NULL, &call) : status;
    call.mode = BP_CONV_EXPLICIT;
    call.transposed = 1;
    call.padding = (const int64_t[]){1, 1};
    return status == BP_OK ? bp_conv_run(NULL, &call) : status;
}

/* ---- Pooling ---- */

bp_status call_pooling(void) {
    static float halves[ITEMS * CHANNELS * HALF * HALF];
    static int64_t places[ITEMS * CHANNELS * HALF * HALF];
    static const int64_t half[] = {ITEMS, CHANNELS, HALF, HALF}, two[] = {2, 2}, sizes[] = {HALF, HALF};
    tensors t;
    bp_view y, indices;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = open_tensors(&t);
    status = status == BP_OK ? bp_view_init(&y, halves, BP_F32, 4, half, NULL) : status;
    status = status == BP_OK ? bp_view_init(&indices, places, BP_I64, 4, half, NULL) : status;
    bp_pool_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .kernel = two,
                         .input = &t.x.tensor,
                         .output = &y.tensor,
                         .indices = &indices.tensor};
    status = status == BP_OK ? bp_pool_run(NULL, &call) : status;
    test_call_to_pass("pool", &call, BP_POOL_BACKWARD);
    status = status == BP_OK ? bp_pool_run(NULL, &call) : status;
    call = (bp_pool_call){.struct_size = sizeof call,
                          .kind = BP_POOL_AVERAGE,
                          .ndim = 2,
                          .output_size = sizes,
                          .input = &t.x.tensor,
                          .output = &y.tensor};
    status = status == BP_OK ? release(bp_pool_explain(&explanation, NULL, &call), &explanation) : status;
    status = status == BP_OK ? bp_pool_plan(&plan, NULL, &call) : status;
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{image, 0}, {halves, 0}, {NULL, 0}}, NULL);
        bp_plan_release(plan);
    }
    return status;
}

/* ---- Batch normalization ---- */

bp_status call_batch_norm(void) {
    static float mean[CHANNELS], variance[CHANNELS] = {1, 1, 1}, scale[CHANNELS] = {1, 1, 1}, shift[CHANNELS];
    static const int64_t channels[] = {CHANNELS};
    tensors t;
    bp_view views[4];
    float *const memory[] = {mean, variance, scale, shift};
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = open_tensors(&t);
    for (int i = 0; i < 4 && status == BP_OK; i++) {
        status = bp_view_init(&views[i], memory[i], BP_F32, 1, channels, NULL);
    }
    bp_batch_norm_call call = {.struct_size = sizeof call,
                               .eps = 1e-5,
                               .input = &t.x.tensor,
                               .weight = &views[2].tensor,
                               .bias = &views[3].tensor,
                               .output = &t.y.tensor,
                               .running_mean = &views[0].tensor,
                               .running_var = &views[1].tensor};
    status = status == BP_OK ? bp_batch_norm_run(NULL, &call) : status;
    status = status == BP_OK ? release(bp_batch_norm_explain(&explanation, NULL, &call), &explanation) : status;
    status = status == BP_OK ? bp_batch_norm_plan(&plan, NULL, &call) : status;
    if (status == BP_OK) {
        status = bp_execute(
            plan, (bp_operand[]){{image, 0}, {scale, 0}, {shift, 0}, {mean, 0}, {variance, 0}, {other, 0}}, NULL);
        bp_plan_release(plan);
    }
    call = (bp_batch_norm_call){.struct_size = sizeof call,
                                .pass = BP_BATCH_NORM_TRAINING,
                                .eps = 1e-5,
                                .input = &t.x.tensor,
                                .output = &t.y.tensor,
                                .mean = &views[0].tensor,
                                .inverse_std = &views[1].tensor};
    return status == BP_OK ? bp_batch_norm_run(NULL, &call) : status;
}

/* ---- Attention ---- */

/* Both passes of a kernel. All items have the same keys, which are their values, too. */
static bp_status attend(const char *settings) {
    static float logarithms[ITEMS * CHANNELS * SIDE], by_query[ITEMS * CHANNELS * SIDE * SIDE];
    static const int64_t rows[] = {ITEMS, CHANNELS, SIDE}, one[] = {SIDE, SIDE};
    tensors t;
    bp_view k, l, g;
    bp_options *options;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = open_tensors(&t);
    status = status == BP_OK ? bp_view_init(&k, image, BP_F32, 2, one, NULL) : status;
    status = status == BP_OK ? bp_view_init(&l, logarithms, BP_F32, 3, rows, NULL) : status;
    status = status == BP_OK ? bp_view_init(&g, by_query, BP_F32, 4, t.x.tensor.shape, NULL) : status;
    status = status == BP_OK ? bp_options_new(&options, settings) : status;
    if (status != BP_OK) {
        return status;
    }
    bp_attention_call call = {.struct_size = sizeof call,
                              .query = &t.x.tensor,
                              .key = &k.tensor,
                              .value = &k.tensor,
                              .output = &t.y.tensor,
                              .logsumexp = &l.tensor};
    status = bp_attention_run(options, &call);
    status = status == BP_OK ? release(bp_attention_explain(&explanation, options, &call), &explanation) : status;
    status = status == BP_OK ? bp_attention_plan(&plan, options, &call) : status;
    if (status == BP_OK) {
        const bp_operand operands[7] = {{image, 0}, {image, 0}, {image, 0}, [5] = {other, 0}, [6] = {logarithms, 0}};
        status = bp_execute(plan, operands, NULL);
        bp_plan_release(plan);
    }
    call.pass = BP_ATTENTION_BACKWARD;
    call.output_gradient = &t.x.tensor;
    call.query_gradient = &g.tensor;
    status = status == BP_OK ? bp_attention_run(options, &call) : status;
    bp_options_release(options);
    return status;
}

bp_status call_attention(void) {
    return attend("cuda.mem_efficient_sdp=false, cuda.math_sdp=false");
}

bp_status call_attention_math(void) {
    return attend("cuda.flash_sdp=false, cuda.mem_efficient_sdp=false");
}

/* ---- Recurrent layers ---- */

enum { STEPS = 32, UNITS = 96, GATES = 4 * UNITS }; /* so large that products pack their operands */

/* Packs the weights of a plan, and runs it. */
static bp_status run_packed_rnn(const bp_plan *plan, bp_operand operands[13]) {
    const bp_packed *list[13] = {NULL};
    bp_status status = BP_OK;
    for (int i = 1; i <= 3 && status == BP_OK; i++) {
        bp_packed *packed;
        status = bp_plan_pack(&packed, plan, i, &operands[i]);
        list[i] = status == BP_OK ? packed : NULL;
    }
    if (status == BP_OK) {
        const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
        status = bp_execute(plan, operands, &exec);
    }
    for (int i = 1; i <= 3; i++) {
        bp_packed_release((bp_packed *)(uintptr_t)list[i]);
    }
    return status;
}

bp_status call_rnn(void) {
    static float x[STEPS * ITEMS * UNITS], gates[GATES * UNITS], by_gates[GATES * UNITS], square[UNITS * UNITS],
        y[STEPS * ITEMS * UNITS], saved[STEPS * ITEMS * 5 * UNITS];
    static const int64_t inputs[] = {STEPS, ITEMS, UNITS}, rows[] = {GATES, UNITS}, projection[] = {UNITS, UNITS},
                         reserve[] = {1, STEPS, ITEMS, 5 * UNITS};
    bp_view input, weight, weight_hr, output, kept, gradient;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = bp_view_init(&input, x, BP_F32, 3, inputs, NULL);
    status = status == BP_OK ? bp_view_init(&weight, gates, BP_F32, 2, rows, NULL) : status;
    status = status == BP_OK ? bp_view_init(&weight_hr, square, BP_F32, 2, projection, NULL) : status;
    status = status == BP_OK ? bp_view_init(&output, y, BP_F32, 3, inputs, NULL) : status;
    status = status == BP_OK ? bp_view_init(&kept, saved, BP_F32, 4, reserve, NULL) : status;
    status = status == BP_OK ? bp_view_init(&gradient, by_gates, BP_F32, 2, rows, NULL) : status;
    bp_rnn_call call = {.struct_size = sizeof call,
                        .mode = BP_RNN_LSTM,
                        .input = &input.tensor,
                        .weight_ih = &weight.tensor,
                        .weight_hh = &weight.tensor,
                        .weight_hr = &weight_hr.tensor,
                        .output = &output.tensor};
    status = status == BP_OK ? bp_rnn_run(NULL, &call) : status;
    status = status == BP_OK ? release(bp_rnn_explain(&explanation, NULL, &call), &explanation) : status;
    status = status == BP_OK ? bp_rnn_plan(&plan, NULL, &call) : status;
    if (status == BP_OK) {
        status = run_packed_rnn(plan, (bp_operand[13]){{x, 0}, {gates, 0}, {gates, 0}, {square, 0}, [9] = {y, 0}});
        bp_plan_release(plan);
    }
    call.pass = BP_RNN_TRAINING;
    call.reserve = &kept.tensor;
    status = status == BP_OK ? bp_rnn_run(NULL, &call) : status;
    call.pass = BP_RNN_BACKWARD;
    call.output_gradient = &input.tensor;
    call.weight_hh_gradient = &gradient.tensor;
    return status == BP_OK ? bp_rnn_run(NULL, &call) : status;
}

/* ---- Operations on single elements ---- */

static bp_status call_function_of_one(void) {
    tensors t;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = open_tensors(&t);
    status = status == BP_OK ? bp_unary_run(NULL, BP_UNARY_GELU, &t.x.tensor, &t.y.tensor) : status;
    status = status == BP_OK
                 ? release(bp_unary_explain(&explanation, NULL, BP_UNARY_GELU, &t.x.tensor, &t.y.tensor), &explanation)
                 : status;
    status = status == BP_OK ? bp_unary_plan(&plan, NULL, BP_UNARY_EXP, &t.x.tensor, &t.y.tensor) : status;
    if (status == BP_OK) {
        bp_plan_release(plan);
    }
    return status;
}

static bp_status call_take(void) {
    static const int64_t rows[] = {1, 0}, shape[] = {2};
    tensors t;
    bp_view indices;
    bp_status status = open_tensors(&t);
    status = status == BP_OK ? bp_view_init(&indices, (void *)(uintptr_t)rows, BP_I64, 1, shape, NULL) : status;
    return status == BP_OK ? bp_take_run(NULL, &t.x.tensor, &indices.tensor, 0, &t.y.tensor) : status;
}

static bp_status call_where(void) {
    static const uint8_t conditions[CHANNELS * SIDE * SIDE];
    tensors t;
    bp_view condition;
    bp_status status = open_tensors(&t);
    status = status == BP_OK
                 ? bp_view_init(&condition, (void *)(uintptr_t)conditions, BP_BOOL, 3, t.x.tensor.shape + 1, NULL)
                 : status;
    return status == BP_OK ? bp_where_run(NULL, &condition.tensor, &t.x.tensor, &t.y.tensor, &t.y.tensor) : status;
}

static bp_status call_gather(void) {
    static const int64_t indices[ITEMS * CHANNELS * SIDE * SIDE];
    tensors t;
    bp_view chosen;
    bp_status status = open_tensors(&t);
    status =
        status == BP_OK ? bp_view_init(&chosen, (void *)(uintptr_t)indices, BP_I64, 4, t.x.tensor.shape, NULL) : status;
    return status == BP_OK ? bp_gather_run(NULL, &t.x.tensor, &chosen.tensor, -1, &t.y.tensor) : status;
}

/* Three parts that need a plan each. A call that fails leaves the output as it was. */
bp_status call_concat(void) {
    enum { COUNT = 3, LENGTH = 11 };
    static float part[COUNT][10];
    static const int64_t lengths[COUNT] = {1, 2, 8}, steps[COUNT] = {1, 3, 1}, whole = LENGTH;
    bp_view views[COUNT], result;
    const DLTensor *parts[COUNT];
    float joined[LENGTH];
    bp_status status = bp_view_init(&result, joined, BP_F32, 1, &whole, NULL);
    for (int i = 0; i < COUNT && status == BP_OK; i++) {
        status = bp_view_init(&views[i], part[i], BP_F32, 1, &lengths[i], &steps[i]);
        parts[i] = &views[i].tensor;
    }
    for (int i = 0; i < LENGTH; i++) {
        joined[i] = 7;
    }
    status = status == BP_OK ? bp_concat_run(NULL, COUNT, parts, 0, &result.tensor) : status;
    for (int i = 0; i < LENGTH; i++) {
        if (joined[i] != (status == BP_OK ? 0.0F : 7.0F)) {
            return BP_E_INTERNAL;
        }
    }
    return status;
}

bp_status call_elementwise(void) {
    tensors t;
    bp_status status = call_function_of_one();
    status = status == BP_OK ? call_take() : status;
    status = status == BP_OK ? call_where() : status;
    status = status == BP_OK ? call_gather() : status;
    status = status == BP_OK ? open_tensors(&t) : status;
    return status == BP_OK ? bp_binary_run(NULL, BP_BINARY_ADD, &t.x.tensor, &t.y.tensor, &t.y.tensor) : status;
}

bp_status call_random(void) {
    tensors t;
    bp_plan *plan;
    bp_status status = open_tensors(&t);
    const bp_random_call call = {.struct_size = sizeof call, .kind = BP_RANDOM_NORMAL, .output = &t.y.tensor};
    status = status == BP_OK ? bp_random_run(NULL, &call) : status;
    status = status == BP_OK ? bp_random_plan(&plan, NULL, &call) : status;
    if (status == BP_OK) {
        bp_plan_release(plan);
    }
    return status;
}

/* ---- Padding ---- */

bp_status call_pad(void) {
    static const int axes[] = {0};
    static const float x[2] = {1, 2};
    static float y[3];
    static const int64_t sizes[] = {2, 3}, one = 1;
    bp_view in, out, same;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = bp_view_init(&in, (void *)(uintptr_t)x, BP_F32, 1, &sizes[0], NULL);
    status = status == BP_OK ? bp_view_init(&same, y, BP_F32, 1, &sizes[0], NULL) : status;
    status = status == BP_OK ? bp_view_init(&out, y, BP_F32, 1, &sizes[1], NULL) : status;
    const DLTensor *i = &in.tensor;
    status = status == BP_OK ? bp_flip_run(NULL, i, 0, NULL, &same.tensor) : status;
    status = status == BP_OK ? bp_roll_run(NULL, i, 1, axes, &one, &same.tensor) : status;
    status = status == BP_OK ? bp_pad_run(NULL, BP_PAD_REFLECT, i, 1, &one, NULL, 0, &out.tensor) : status;
    status = status == BP_OK
                 ? release(bp_pad_explain(&explanation, NULL, BP_PAD_REFLECT, i, 1, &one, NULL, 0, &out.tensor),
                           &explanation)
                 : status;
    status = status == BP_OK ? bp_pad_plan(&plan, NULL, BP_PAD_REFLECT, i, 1, &one, NULL, 0, &out.tensor) : status;
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{(void *)(uintptr_t)x, 0}, {y, 0}}, NULL);
        bp_plan_release(plan);
    }
    return status;
}

/* ---- Cumulative sums ---- */

bp_status call_cumsum(void) {
    enum { LENGTH = 200000 };
    static float x[LENGTH], y[LENGTH];
    static const int64_t shape[] = {LENGTH};
    bp_view in, out;
    bp_options *options;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = bp_view_init(&in, x, BP_F32, 1, shape, NULL);
    status = status == BP_OK ? bp_view_init(&out, y, BP_F32, 1, shape, NULL) : status;
    status = status == BP_OK ? bp_options_new(&options, "num_threads=2") : status;
    if (status != BP_OK) {
        return status;
    }
    const bp_cumsum_call call = {.struct_size = sizeof call, .input = &in.tensor, .output = &out.tensor};
    status = bp_cumsum_run(options, &call);
    status = status == BP_OK ? release(bp_cumsum_explain(&explanation, options, &call), &explanation) : status;
    status = status == BP_OK ? bp_cumsum_plan(&plan, options, &call) : status;
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{x, 0}, {y, 0}}, NULL);
        bp_plan_release(plan);
    }
    bp_options_release(options);
    return status;
}

/* ---- Layer normalization ---- */

bp_status call_layer_norm(void) {
    static float weight[CHANNELS * SIDE * SIDE], by_weight[CHANNELS * SIDE * SIDE];
    static float by_input[ITEMS * CHANNELS * SIDE * SIDE];
    tensors t;
    bp_view w, g, x;
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = open_tensors(&t);
    status = status == BP_OK ? bp_view_init(&w, weight, BP_F32, 3, &t.x.tensor.shape[1], NULL) : status;
    status = status == BP_OK ? bp_view_init(&g, by_weight, BP_F32, 3, &t.x.tensor.shape[1], NULL) : status;
    status = status == BP_OK ? bp_view_init(&x, by_input, BP_F32, 4, t.x.tensor.shape, NULL) : status;
    bp_layer_norm_call call = {.struct_size = sizeof call,
                               .row_ndim = 3,
                               .eps = 1e-5,
                               .input = &t.x.tensor,
                               .weight = &w.tensor,
                               .output = &t.y.tensor};
    status = status == BP_OK ? bp_layer_norm_run(NULL, &call) : status;
    status = status == BP_OK ? release(bp_layer_norm_explain(&explanation, NULL, &call), &explanation) : status;
    status = status == BP_OK ? bp_layer_norm_plan(&plan, NULL, &call) : status;
    if (status == BP_OK) {
        status = bp_execute(plan, (bp_operand[]){{image, 0}, {weight, 0}, {NULL, 0}, {other, 0}, {NULL, 0}, {NULL, 0}},
                            NULL);
        bp_plan_release(plan);
    }
    test_call_to_pass("layer_norm", &call, BP_LAYER_NORM_BACKWARD);
    call.input_gradient = &x.tensor;
    call.weight_gradient = &g.tensor;
    return status == BP_OK ? bp_layer_norm_run(NULL, &call) : status;
}

/* ---- Reductions ---- */

bp_status call_reductions(void) {
    enum { LONG = 100000 };
    static float row[LONG], result[LONG];
    static const int64_t lengths[] = {10, LONG};
    bp_plan *plan;
    bp_explanation *explanation;
    bp_status status = BP_OK;
    for (int i = 0; i < 2 && status == BP_OK; i++) {
        bp_view in, out, one;
        status = bp_view_init(&in, row, BP_F32, 1, &lengths[i], NULL);
        status = status == BP_OK ? bp_view_init(&out, result, BP_F32, 1, &lengths[i], NULL) : status;
        status = status == BP_OK ? bp_view_init(&one, result, BP_F32, 0, NULL, NULL) : status;
        const DLTensor *x = &in.tensor;
        DLTensor *y = &one.tensor;
        status = status == BP_OK ? bp_reduce_run(NULL, BP_REDUCE_SUM, x, 0, NULL, 0, y) : status;
        status = status == BP_OK
                     ? release(bp_reduce_explain(&explanation, NULL, BP_REDUCE_SUM, x, 0, NULL, 0, y), &explanation)
                     : status;
        status = status == BP_OK ? bp_variance_run(NULL, BP_VAR, x, 0, NULL, 1, 0, y) : status;
        status = status == BP_OK ? bp_softmax_run(NULL, BP_SOFTMAX, x, 0, &out.tensor) : status;
        status = status == BP_OK ? bp_softmax_backward_run(NULL, BP_SOFTMAX, x, x, 0, &out.tensor) : status;
        status = status == BP_OK ? bp_softmax_plan(&plan, NULL, BP_SOFTMAX, x, 0, &out.tensor) : status;
        if (status == BP_OK) {
            status = bp_execute(plan, (bp_operand[]){{row, 0}, {result, 0}}, NULL);
            bp_plan_release(plan);
        }
    }
    return status;
}
