/* test_transfer_layouts.c - operations of all families on copies of operands that are on a device
 * (dispatch.transfer=allow).
 *
 * The call must leave the same bytes in device memory as the call in host memory leaves in a copy of it, gaps included,
 * and must not write back what it has not computed. Without an OpenCL device the program is skipped. */
#include "device/transfers.h"
#include "ops/linalg/linalg.h"
#include "support/passes.h"

/* ---- Calls ---- */

#define RUN(name, call)                                                                                                \
    static bp_status name(void) {                                                                                      \
        return call;                                                                                                   \
    }

RUN(run_unary, bp_unary_run(transfers_options, BP_UNARY_EXP, t(0), t(1)))
RUN(run_binary, bp_binary_run(transfers_options, BP_BINARY_ADD, t(0), t(1), t(2)))
RUN(run_where, bp_where_run(transfers_options, t(0), t(1), t(2), t(3)))
RUN(run_take, bp_take_run(transfers_options, t(0), t(1), 0, t(2)))
RUN(run_gather, bp_gather_run(transfers_options, t(0), t(1), 0, t(2)))

static void elementwise(void **state) {
    (void)state;
    add(BP_F32, false, SHAPE(5, 7));
    add(BP_F32, true, SHAPE(5, 7));
    compare("unary", run_unary);
    add(BP_F64, true, SHAPE(5, 7));
    add(BP_F64, false, SHAPE(1, 7));
    add(BP_F64, true, SHAPE(5, 7));
    compare("binary", run_binary);
    add(BP_BOOL, false, SHAPE(5, 1));
    add(BP_F32, true, SHAPE(5, 7));
    add(BP_F32, false, SHAPE(7));
    add(BP_F32, true, SHAPE(5, 7));
    compare("where", run_where);
    add(BP_F32, true, SHAPE(3, 7));
    add(BP_I64, true, SHAPE(4, 2));
    add(BP_F32, false, SHAPE(4, 2, 7));
    compare("take", run_take);
    add(BP_F32, true, SHAPE(3, 7));
    add(BP_I64, false, SHAPE(6, 5));
    add(BP_F32, true, SHAPE(6, 5));
    compare("gather", run_gather);
}

RUN(run_sum, bp_reduce_run(transfers_options, BP_REDUCE_SUM, t(0), 2, (int[]){0, 2}, 0, t(1)))
RUN(run_argmax, bp_reduce_run(transfers_options, BP_REDUCE_ARGMAX, t(0), 1, (int[]){1}, 0, t(1)))
RUN(run_softmax, bp_softmax_run(transfers_options, BP_SOFTMAX, t(0), 0, t(1)))
RUN(run_variance, bp_variance_run(transfers_options, BP_VAR, t(0), 2, (int[]){0, 2}, 1, 0, t(1)))
RUN(run_any, bp_reduce_run(transfers_options, BP_REDUCE_ANY, t(0), 2, (int[]){0, 2}, 0, t(1)))
RUN(run_softmax_backward, bp_softmax_backward_run(transfers_options, BP_LOG_SOFTMAX, t(0), t(1), 1, t(2)))

static void reductions(void **state) {
    (void)state;
    add(BP_F32, true, SHAPE(4, 5, 6));
    add(BP_F32, true, SHAPE(5));
    compare("sum", run_sum);
    add(BP_F32, false, SHAPE(4, 5));
    add(BP_I64, true, SHAPE(4));
    compare("argmax", run_argmax);
    add(BP_F32, true, SHAPE(4, 5, 6));
    add(BP_BOOL, false, SHAPE(5));
    compare("any", run_any);
    add(BP_F32, true, SHAPE(4, 5, 6));
    add(BP_F32, false, SHAPE(5));
    compare("variance", run_variance);
    add(BP_F64, true, SHAPE(4, 5));
    add(BP_F64, false, SHAPE(4, 5));
    compare("softmax", run_softmax);
    add(BP_F32, true, SHAPE(4, 5));
    add(BP_F32, false, SHAPE(4, 5));
    add(BP_F32, true, SHAPE(4, 5));
    compare("softmax_backward", run_softmax_backward);
}

static bp_status pool(bp_pool_kind kind, bp_pool_pass pass) {
    bp_pool_call call = {.struct_size = sizeof call,
                         .kind = kind,
                         .ndim = 2,
                         .kernel = (int64_t[]){2, 3},
                         .stride = (int64_t[]){2, 1},
                         .input = t(0),
                         .output = t(1),
                         .indices = kind == BP_POOL_MAX ? t(2) : NULL};
    test_call_to_pass("pool", &call, (int)pass);
    return bp_pool_run(transfers_options, &call);
}
RUN(run_max, pool(BP_POOL_MAX, BP_POOL_FORWARD))
RUN(run_max_backward, pool(BP_POOL_MAX, BP_POOL_BACKWARD))
RUN(run_average, pool(BP_POOL_AVERAGE, BP_POOL_FORWARD))
RUN(run_average_backward, pool(BP_POOL_AVERAGE, BP_POOL_BACKWARD))

static void pooling(void **state) {
    bp_status (*const runs[])(void) = {run_max, run_max_backward, run_average, run_average_backward};
    static const char *const names[] = {"max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward"};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        add(BP_F32, true, SHAPE(2, 3, 6, 7));
        add(BP_F32, false, SHAPE(2, 3, 3, 5));
        add(BP_I64, true, SHAPE(2, 3, 3, 5));
        compare(names[i], runs[i]);
    }
}

static bp_status conv(bp_conv_pass pass) {
    bp_conv_call call = {.struct_size = sizeof call,
                         .ndim = 2,
                         .padding = (int64_t[]){1, 0},
                         .input = t(0),
                         .weight = t(1),
                         .bias = pass == BP_CONV_INPUT ? NULL : t(2),
                         .output = t(3)};
    test_call_to_pass("conv", &call, (int)pass);
    return bp_conv_run(transfers_options, &call);
}
RUN(run_conv, conv(BP_CONV_FORWARD))
RUN(run_conv_input, conv(BP_CONV_INPUT))
RUN(run_conv_weight, conv(BP_CONV_WEIGHT))

static void convolutions(void **state) {
    bp_status (*const runs[])(void) = {run_conv, run_conv_input, run_conv_weight};
    static const char *const names[] = {"conv", "conv_input", "conv_weight"};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        add(BP_F32, true, SHAPE(2, 3, 6, 7));
        add(BP_F32, true, SHAPE(4, 3, 3, 2));
        add(BP_F32, true, SHAPE(4));
        add(BP_F32, false, SHAPE(2, 4, 6, 6));
        compare(names[i], runs[i]);
    }
}

static bp_status batch_norm(bp_batch_norm_pass pass) {
    const bool back = pass == BP_BATCH_NORM_BACKWARD, training = pass == BP_BATCH_NORM_TRAINING;
    const bp_batch_norm_call call = {.struct_size = sizeof call,
                                     .pass = pass,
                                     .eps = back ? 0 : 1e-3,
                                     .momentum = training ? 0.5 : 0,
                                     .input = t(0),
                                     .weight = t(1),
                                     .bias = back ? NULL : t(2),
                                     .output = back ? NULL : t(3),
                                     .output_gradient = back ? t(3) : NULL,
                                     .running_mean = back ? NULL : t(4),
                                     .running_var = back ? NULL : t(5),
                                     .mean = pass == BP_BATCH_NORM_INFERENCE ? NULL : t(6),
                                     .inverse_std = pass == BP_BATCH_NORM_INFERENCE ? NULL : t(7),
                                     .input_gradient = back ? t(8) : NULL,
                                     .weight_gradient = back ? t(9) : NULL,
                                     .bias_gradient = back ? t(10) : NULL};
    return bp_batch_norm_run(transfers_options, &call);
}
RUN(run_batch_norm, batch_norm(BP_BATCH_NORM_INFERENCE))
RUN(run_batch_norm_training, batch_norm(BP_BATCH_NORM_TRAINING))
RUN(run_batch_norm_backward, batch_norm(BP_BATCH_NORM_BACKWARD))

static bp_status layer_norm(bp_layer_norm_pass pass) {
    const bool back = pass == BP_LAYER_NORM_BACKWARD;
    const bp_layer_norm_call call = {.struct_size = sizeof call,
                                     .pass = pass,
                                     .kind = BP_LAYER_NORM,
                                     .row_ndim = 1,
                                     .eps = back ? 0 : 1e-3,
                                     .input = t(0),
                                     .weight = t(1),
                                     .bias = back ? NULL : t(2),
                                     .output = back ? NULL : t(3),
                                     .output_gradient = back ? t(3) : NULL,
                                     .mean = t(4),
                                     .inverse_std = t(5),
                                     .input_gradient = back ? t(6) : NULL,
                                     .weight_gradient = back ? t(7) : NULL,
                                     .bias_gradient = back ? t(8) : NULL};
    return bp_layer_norm_run(transfers_options, &call);
}
RUN(run_layer_norm, layer_norm(BP_LAYER_NORM_FORWARD))
RUN(run_layer_norm_backward, layer_norm(BP_LAYER_NORM_BACKWARD))

static void normalization(void **state) {
    bp_status (*const runs[])(void) = {run_batch_norm, run_batch_norm_training, run_batch_norm_backward};
    static const char *const names[] = {"batch_norm", "batch_norm_training", "batch_norm_backward"};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        for (int tensor = 0; tensor <= 10; tensor++) {
            if (tensor == 0 || tensor == 3 || tensor == 8) {
                add(BP_F32, tensor == 0, SHAPE(2, 3, 4, 5));
            } else {
                add(BP_F32, tensor % 2 == 1, SHAPE(3));
            }
        }
        compare(names[i], runs[i]);
    }
    for (int back = 0; back < 2; back++) {
        for (int tensor = 0; tensor <= 8; tensor++) {
            if (tensor == 0 || tensor == 3 || tensor == 6) {
                add(BP_F32, tensor == 3, SHAPE(4, 5, 6));
            } else if (tensor == 4 || tensor == 5) {
                add(BP_F32, tensor == 4, SHAPE(4, 5));
            } else {
                add(BP_F32, tensor == 1, SHAPE(6));
            }
        }
        compare(back ? "layer_norm_backward" : "layer_norm", back ? run_layer_norm_backward : run_layer_norm);
    }
}

/* With a mask, or with lengths in its place. */
static bp_status attention(bool back, bool lengths) {
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .pass = back ? BP_ATTENTION_BACKWARD : BP_ATTENTION_FORWARD,
                                    .is_causal = lengths,
                                    .enable_gqa = 1,
                                    .lower_right = lengths,
                                    .softcap = lengths ? 2 : 0,
                                    .query = t(0),
                                    .key = t(1),
                                    .value = t(2),
                                    .mask = lengths ? NULL : t(3),
                                    .lengths = lengths ? t(3) : NULL,
                                    .output = t(4),
                                    .logsumexp = t(5),
                                    .output_gradient = back ? t(6) : NULL,
                                    .query_gradient = back ? t(7) : NULL,
                                    .key_gradient = back ? t(8) : NULL,
                                    .value_gradient = back ? t(9) : NULL,
                                    .mask_gradient = back && !lengths ? t(10) : NULL};
    return bp_attention_run(transfers_options, &call);
}
RUN(run_attention, attention(false, false))
RUN(run_attention_backward, attention(true, false))
RUN(run_attention_lengths, attention(false, true))
RUN(run_attention_lengths_backward, attention(true, true))
static bp_status run_attention_paged(void) {
    const bp_attention_call call = {.struct_size = sizeof call,
                                    .enable_gqa = 1,
                                    .query = t(0),
                                    .key = t(1),
                                    .value = t(2),
                                    .output = t(3),
                                    .pages = t(4),
                                    .lengths = t(5)};
    return bp_attention_run(transfers_options, &call);
}

static void attentions(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bp_status (*run)(void);
    } runs[] = {{"attention", run_attention},
                {"attention_backward", run_attention_backward},
                {"attention_lengths", run_attention_lengths},
                {"attention_lengths_backward", run_attention_lengths_backward}};
    for (int i = 0; i < 4; i++) {
        const bool lengths = i >= 2;
        add(BP_F32, true, SHAPE(2, 4, 5, 6));
        add(BP_F32, true, SHAPE(2, 2, 7, 6));
        add(BP_F32, false, SHAPE(2, 2, 7, 3));
        if (lengths) {
            add(BP_I64, true, SHAPE(2));
        } else {
            add(BP_F32, true, SHAPE(5, 7));
        }
        add(BP_F32, true, SHAPE(2, 4, 5, 3));
        add(BP_F32, false, SHAPE(2, 4, 5));
        add(BP_F32, true, SHAPE(2, 4, 5, 3));
        add(BP_F32, false, SHAPE(2, 4, 5, 6));
        add(BP_F32, true, SHAPE(2, 2, 7, 6));
        add(BP_F32, false, SHAPE(2, 2, 7, 3));
        if (!lengths) {
            add(BP_F32, true, SHAPE(5, 7));
        }
        compare(runs[i].name, runs[i].run);
    }
    add(BP_F32, true, SHAPE(2, 4, 1, 6));
    add(BP_F32, true, SHAPE(3, 4, 2, 6));
    add(BP_F32, false, SHAPE(3, 4, 2, 6));
    add(BP_F32, true, SHAPE(2, 4, 1, 6));
    add(BP_I64, false, SHAPE(2, 3));
    add(BP_I64, true, SHAPE(2));
    compare("attention_paged", run_attention_paged);
}

/* The tensors of an LSTM of both directions, in the order of bp_rnn_call. */
static void add_lstm(void) {
    enum { T = 3, B = 2, I = 5, H = 4, D = 2 };
    add(BP_F32, true, SHAPE(T, B, I));
    add(BP_F32, false, SHAPE(D, 4 * H, I));
    add(BP_F32, true, SHAPE(D, 4 * H, H));
    add(BP_F32, true, SHAPE(D, 4 * H));
    add(BP_F32, false, SHAPE(D, 4 * H));
    add(BP_F32, false, SHAPE(D, B, H));
    add(BP_F32, true, SHAPE(D, B, H));
    add(BP_F32, true, SHAPE(T, B, D * H));
    add(BP_F32, false, SHAPE(D, B, H)); /* 8 */
    add(BP_F32, true, SHAPE(D, B, H));
    add(BP_F32, true, SHAPE(T, B, D * H)); /* 10: gradients by output, final hidden state, final cell */
    add(BP_F32, true, SHAPE(D, B, H));
    add(BP_F32, true, SHAPE(D, B, H));
    add(BP_F32, true, SHAPE(T, B, I)); /* 13: gradients by input, initial states, weights, biases */
    add(BP_F32, false, SHAPE(D, B, H));
    add(BP_F32, true, SHAPE(D, B, H));
    add(BP_F32, true, SHAPE(D, 4 * H, I));
    add(BP_F32, true, SHAPE(D, 4 * H, H));
    add(BP_F32, true, SHAPE(D, 4 * H));
    add(BP_F32, true, SHAPE(D, 4 * H));
    add(BP_F32, false, SHAPE(D * T * B * 5 * H)); /* 20: the reserve, below without gaps */
    placed *reserve = &transfers.tensor[20];
    const int64_t shape[] = {D, T, B, 5 * H}, strides[] = {T * B * 5 * H, B * 5 * H, 5 * H, 1};
    memcpy(reserve->host.shape, shape, sizeof shape);
    memcpy(reserve->host.strides, strides, sizeof strides);
    memcpy(reserve->device.shape, shape, sizeof shape);
    memcpy(reserve->device.strides, strides, sizeof strides);
    reserve->host.tensor.ndim = reserve->device.tensor.ndim = 4;
}

static bp_status lstm(bp_rnn_pass pass) {
    const bool back = pass == BP_RNN_BACKWARD;
    bp_rnn_call call = {.struct_size = sizeof call,
                        .pass = pass,
                        .mode = BP_RNN_LSTM,
                        .directions = 2,
                        .input = t(0),
                        .weight_ih = t(1),
                        .weight_hh = t(2),
                        .initial_hidden = t(5),
                        .initial_cell = t(6),
                        .output = t(7),
                        .reserve = t(20)};
    if (back) {
        call.output_gradient = t(10);
        call.final_hidden_gradient = t(11);
        call.final_cell_gradient = t(12);
        call.input_gradient = t(13);
        call.initial_hidden_gradient = t(14);
        call.initial_cell_gradient = t(15);
        call.weight_ih_gradient = t(16);
        call.weight_hh_gradient = t(17);
        call.bias_ih_gradient = t(18);
        call.bias_hh_gradient = t(19);
    } else {
        call.bias_ih = t(3);
        call.bias_hh = t(4);
        call.final_hidden = t(8);
        call.final_cell = t(9);
    }
    return bp_rnn_run(transfers_options, &call);
}
RUN(run_lstm, lstm(BP_RNN_TRAINING))
static bp_status run_lstm_backward(void) {
    bp_status status = lstm(BP_RNN_TRAINING); /* writes the reserve */
    return status == BP_OK ? lstm(BP_RNN_BACKWARD) : status;
}

static void recurrent_layers(void **state) {
    (void)state;
    add_lstm();
    compare("rnn", run_lstm);
    add_lstm();
    compare("rnn_backward", run_lstm_backward);
}

static bp_status transform(bp_fft_transform kind, int64_t length) {
    const bp_fft_call call = {
        .struct_size = sizeof call, .transform = kind, .axis_count = 1, .axes = (int[]){-1}, .s = (int64_t[]){length}};
    return bp_fft_run(transfers_options, &call, t(0), t(1));
}
RUN(run_fft, transform(BP_FFT, 8))
RUN(run_rfft, transform(BP_RFFT, 8))
RUN(run_irfft, transform(BP_IRFFT, 8))
RUN(run_hfft, transform(BP_HFFT, 8))

static void transforms(void **state) {
    (void)state;
    add(BP_C64, true, SHAPE(3, 6));
    add(BP_C64, false, SHAPE(3, 8));
    compare("fft", run_fft);
    add(BP_F32, true, SHAPE(3, 10));
    add(BP_C64, true, SHAPE(3, 5));
    compare("rfft", run_rfft);
    add(BP_C128, false, SHAPE(3, 5));
    add(BP_F64, true, SHAPE(3, 8));
    compare("irfft", run_irfft);
    add(BP_C64, true, SHAPE(3, 3));
    add(BP_F32, true, SHAPE(3, 8));
    compare("hfft", run_hfft);
}

static bp_op linalg_op;
static int linalg_operands;
static bp_status run_linalg(void) {
    bp_linalg_call call = {.struct_size = sizeof call, .op = linalg_op};
    for (int i = 0; i < linalg_operands; i++) {
        bp__linalg_set(&call, i, t(i));
    }
    return bp_linalg_run(transfers_options, &call);
}

static void linalg(bp_op op) {
    linalg_op = op;
    linalg_operands = transfers.count;
    compare(bp_op_name(op), run_linalg);
}

static void linear_algebra(void **state) {
    (void)state;
    add(BP_F64, true, SHAPE(2, 5, 4));
    add(BP_F64, true, SHAPE(2, 5, 4));
    add(BP_F64, false, SHAPE(2, 4, 4));
    linalg(BP_OP_QR);
    add(BP_F64, true, SHAPE(2, 5, 4));
    add(BP_F64, true, SHAPE(2, 5, 4));
    add(BP_F64, false, SHAPE(2, 4));
    add(BP_F64, true, SHAPE(2, 4, 4));
    linalg(BP_OP_SVD);
    add(BP_F32, true, SHAPE(2, 3, 3));
    add(BP_F32, false, SHAPE(2, 3, 3));
    add(BP_I32, true, SHAPE(2, 3));
    add(BP_I32, true, SHAPE(2));
    linalg(BP_OP_LU_FACTOR);
    add(BP_F64, true, SHAPE(2, 4, 4));
    add(BP_F64, true, SHAPE(2));
    linalg(BP_OP_DET);
}

RUN(run_product, bp_matmul_run(transfers_options, t(0), t(1), t(2)))
static bp_status run_gemm(void) {
    const bp_scalar alpha = {2, 0}, beta = {0.5, 0};
    return bp_gemm_run(transfers_options, BP_TRANSPOSE, BP_AS_IS, &alpha, t(0), t(1), &beta, t(2));
}
static bp_status run_einsum(void) {
    const DLTensor *operands[] = {t(0), t(1), t(2)};
    const bp_einsum_call call = {
        .struct_size = sizeof call, .expression = "ij,jk,kl->li", .count = 3, .operands = operands};
    return bp_einsum_run(transfers_options, &call, t(3));
}

static void products(void **state) {
    (void)state;
    add(BP_F32, true, SHAPE(2, 5, 6));
    add(BP_F32, true, SHAPE(6, 7));
    add(BP_F32, true, SHAPE(2, 5, 7));
    compare("matmul", run_product);
    add(BP_F64, true, SHAPE(6, 5));
    add(BP_F64, false, SHAPE(6, 7));
    add(BP_F64, true, SHAPE(5, 7));
    compare("gemm", run_gemm);
    add(BP_F64, true, SHAPE(5, 6));
    add(BP_F64, true, SHAPE(6, 7));
    add(BP_F64, false, SHAPE(7, 3));
    add(BP_F64, true, SHAPE(3, 5));
    compare("einsum", run_einsum);
}

static bp_status run_random(void) {
    const bp_random_call call = {
        .struct_size = sizeof call, .kind = BP_RANDOM_NORMAL, .seed = 5, .offset = 2, .output = t(0)};
    return bp_random_run(transfers_options, &call);
}

static void random_numbers(void **state) {
    (void)state;
    add(BP_F32, true, SHAPE(5, 7));
    compare("random", run_random);
}

RUN(run_pad, bp_pad_run(transfers_options, BP_PAD_REFLECT, t(0), 2, (int64_t[]){2, -1}, (int64_t[]){0, 3}, 0, t(1)))
RUN(run_roll, bp_roll_run(transfers_options, t(0), 1, (int[]){0}, (int64_t[]){3}, t(1)))
RUN(run_flip, bp_flip_run(transfers_options, t(0), 1, (int[]){1}, t(1)))

static void padding(void **state) {
    (void)state;
    add(BP_F32, true, SHAPE(3, 5, 7));
    add(BP_F32, true, SHAPE(3, 7, 9));
    compare("pad", run_pad);
    add(BP_I64, true, SHAPE(5, 7));
    add(BP_I64, false, SHAPE(5, 7));
    compare("roll", run_roll);
    add(BP_BOOL, false, SHAPE(5, 7));
    add(BP_BOOL, true, SHAPE(5, 7));
    compare("flip", run_flip);
}

static bp_status run_cumsum(void) {
    const bp_cumsum_call call = {.struct_size = sizeof call, .axis = 1, .input = t(0), .output = t(1)};
    return bp_cumsum_run(transfers_options, &call);
}

static void cumulative_sums(void **state) {
    (void)state;
    add(BP_F32, false, SHAPE(5, 7, 3));
    add(BP_F32, true, SHAPE(5, 7, 3));
    compare("cumsum", run_cumsum);
}

#define TEST(name) cmocka_unit_test_setup(name, transfers_clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(elementwise),    TEST(reductions),       TEST(pooling),    TEST(convolutions),   TEST(normalization),
        TEST(attentions),     TEST(recurrent_layers), TEST(transforms), TEST(linear_algebra), TEST(products),
        TEST(random_numbers), TEST(cumulative_sums),  TEST(padding),
    };
    return cmocka_run_group_tests(tests, transfers_start, transfers_stop);
}
