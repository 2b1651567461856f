/* test_unused_fields.c - a field that a call does not use is refused by its name, so that no request is ignored. One
 * row for each struct, state of the struct (pass, kind, mode) and field. */
#include "backplane.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- Tensors, each with its own memory ---- */

enum { MOST = 64 };

#define TENSOR_OF(name, type, code, bits, rank, ...)                                                                   \
    static type name##_data[MOST];                                                                                     \
    static int64_t name##_shape[] = {__VA_ARGS__};                                                                     \
    static DLTensor name = {                                                                                           \
        .data = name##_data, .device = {kDLCPU, 0}, .ndim = rank, .dtype = {code, bits, 1}, .shape = name##_shape};
#define TENSOR(name, rank, ...) TENSOR_OF(name, float, kDLFloat, 32, rank, __VA_ARGS__)
TENSOR(spare, 1, 1)
TENSOR(x, 2, 2, 3)
TENSOR(y, 2, 2, 3)
TENSOR(g, 2, 2, 3)
TENSOR(c, 1, 3)
TENSOR(d, 1, 3)
TENSOR(rows, 1, 2)
TENSOR(other_rows, 1, 2)
TENSOR(groups, 2, 2, 1)
TENSOR(other_groups, 2, 2, 1)
TENSOR(image, 3, 1, 1, 4)
TENSOR(kernel, 3, 1, 1, 1)
TENSOR(result, 3, 1, 1, 4)
TENSOR(pooled, 3, 1, 1, 2)
TENSOR_OF(places, int64_t, kDLInt, 64, 3, 1, 1, 2)
TENSOR(weight, 2, 4, 3)
TENSOR(layer, 2, 2, 4)
TENSOR(query, 3, 1, 2, 3)
TENSOR(key, 3, 1, 2, 3)
TENSOR(value, 3, 1, 2, 3)
TENSOR(attended, 3, 1, 2, 3)
TENSOR(by_attended, 3, 1, 2, 3)
TENSOR(by_query, 3, 1, 2, 3)
TENSOR(logarithms, 2, 1, 2)
TENSOR(queries, 4, 1, 1, 2, 3)
TENSOR(pool, 4, 1, 2, 1, 3)
TENSOR(values, 4, 1, 2, 1, 3)
TENSOR(answers, 4, 1, 1, 2, 3)
TENSOR_OF(pages, int32_t, kDLInt, 32, 2, 1, 1)
TENSOR_OF(lengths, int32_t, kDLInt, 32, 1, 1)
TENSOR(steps, 3, 1, 1, 2)
TENSOR(square, 2, 2, 2)
TENSOR(other_square, 2, 2, 2)
TENSOR(outputs, 3, 1, 1, 2)
TENSOR(by_outputs, 3, 1, 1, 2)
TENSOR(wide, 3, 1, 1, 4)
TENSOR(both_ih, 3, 2, 2, 2)
TENSOR(both_hh, 3, 2, 2, 2)
TENSOR(number, 0, 1)
TENSOR(line, 1, 4)
TENSOR_OF(spectrum, float, kDLComplex, 64, 1, 3)
TENSOR(a, 2, 2, 2)
TENSOR(b, 2, 2, 2)
TENSOR(inverse, 2, 2, 2)

static const int64_t one[] = {1}, two[] = {2};
static const double half = 0.5;
static const int dimension[] = {0};
static const int32_t labels[] = {0, 1}, more_labels[] = {1, 2};
static const int32_t *const label_lists[] = {labels, more_labels};
static const int label_counts[] = {2, 2};
static const int positions[] = {0, 1};
static const DLTensor *const pair[] = {&a, &b};
static bp_plan *plan;
static bp_event *event;

/* ---- Runs ---- */

#define RUN(name, type)                                                                                                \
    static bp_status run_##name(const void *call) {                                                                    \
        return bp_##name##_run(NULL, (const type *)call);                                                              \
    }
RUN(attention, bp_attention_call)
RUN(batch_norm, bp_batch_norm_call)
RUN(layer_norm, bp_layer_norm_call)
RUN(conv, bp_conv_call)
RUN(linear, bp_linear_call)
RUN(pool, bp_pool_call)
RUN(rnn, bp_rnn_call)
RUN(linalg, bp_linalg_call)

static bp_status run_fft(const void *call) {
    DLTensor out = spectrum;
    return bp_fft_run(NULL, (const bp_fft_call *)call, &line, &out);
}

static bp_status run_einsum(const void *call) {
    DLTensor out = inverse;
    return bp_einsum_run(NULL, (const bp_einsum_call *)call, &out);
}

static bp_status run_search(const void *call) {
    const bp_einsum_operand operands[] = {{.ndim = 2, .shape = a_shape}, {.ndim = 2, .shape = b_shape}};
    bp_contraction_path *path = NULL;
    const bp_status status = bp_einsum_path(&path, (const bp_einsum_search *)call, "ij,jk->ik", 2, operands);
    bp_contraction_path_release(path);
    return status;
}

static bp_status run_plan(const void *call) {
    const bp_operand operands[] = {{x_data, 0}, {y_data, 0}};
    return bp_execute(plan, operands, (const bp_exec *)call);
}

/* ---- States ---- */

typedef struct state_of_call {
    const char *name;
    bp_status (*run)(const void *call);
    const void *call;
    size_t size;
} state_of_call;

#define STATE(name, function, type, ...)                                                                               \
    static const state_of_call name = {#name, run_##function, &(const type){.struct_size = sizeof(type), __VA_ARGS__}, \
                                       sizeof(type)};

#define ATTENTION(...) .query = &query, .key = &key, .value = &value, .output = &attended, __VA_ARGS__
STATE(attention, attention, bp_attention_call, ATTENTION(.is_causal = 0))
STATE(attention_back, attention, bp_attention_call,
      ATTENTION(.pass = BP_ATTENTION_BACKWARD, .logsumexp = &logarithms, .output_gradient = &by_attended,
                .query_gradient = &by_query))
STATE(attention_lengths, attention, bp_attention_call, ATTENTION(.lengths = &lengths))
STATE(attention_paged, attention, bp_attention_call, .query = &queries, .key = &pool, .value = &values,
      .output = &answers, .pages = &pages, .lengths = &lengths)

STATE(batch, batch_norm, bp_batch_norm_call, .input = &x, .output = &y, .running_mean = &c, .running_var = &d, .eps = 1)
STATE(batch_training, batch_norm, bp_batch_norm_call, .pass = BP_BATCH_NORM_TRAINING, .input = &x, .output = &y,
      .eps = 1)
STATE(batch_back, batch_norm, bp_batch_norm_call, .pass = BP_BATCH_NORM_BACKWARD, .input = &x, .output_gradient = &y,
      .mean = &c, .inverse_std = &d, .input_gradient = &g)
STATE(batch_constant, batch_norm, bp_batch_norm_call, .pass = BP_BATCH_NORM_BACKWARD, .input = &x,
      .output_gradient = &y, .running_mean = &c, .running_var = &d, .eps = 1, .input_gradient = &g)

#define NORM(row_kind, row_dims, row_groups, ...)                                                                      \
    .kind = row_kind, .row_ndim = row_dims, .groups = row_groups, .input = &x, __VA_ARGS__
STATE(layer_forward, layer_norm, bp_layer_norm_call, NORM(BP_LAYER_NORM, 1, 0, .eps = 1, .output = &y))
STATE(rms_forward, layer_norm, bp_layer_norm_call, NORM(BP_RMS_NORM, 1, 0, .eps = 1, .output = &y))
STATE(group_forward, layer_norm, bp_layer_norm_call, NORM(BP_GROUP_NORM, 0, 1, .eps = 1, .output = &y))
#define NORM_BACK(row_kind, row_dims, row_groups, ...)                                                                 \
    NORM(row_kind, row_dims, row_groups, .pass = BP_LAYER_NORM_BACKWARD, .output_gradient = &y, .input_gradient = &g,  \
         __VA_ARGS__)
STATE(layer_back, layer_norm, bp_layer_norm_call,
      NORM_BACK(BP_LAYER_NORM, 1, 0, .mean = &rows, .inverse_std = &other_rows))
STATE(rms_back, layer_norm, bp_layer_norm_call, NORM_BACK(BP_RMS_NORM, 1, 0, .inverse_std = &other_rows))
STATE(group_back, layer_norm, bp_layer_norm_call,
      NORM_BACK(BP_GROUP_NORM, 0, 1, .mean = &groups, .inverse_std = &other_groups))
STATE(layer_again, layer_norm, bp_layer_norm_call, NORM_BACK(BP_LAYER_NORM, 1, 0, .eps = 1))

#define CONV(...) .ndim = 1, .input = &image, .weight = &kernel, .output = &result, __VA_ARGS__
#define CONV_INPUT                                                                                                     \
    .ndim = 1, .pass = BP_CONV_INPUT, .input_gradient = &image, .weight = &kernel, .output_gradient = &result
STATE(conv, conv, bp_conv_call, CONV(.mode = BP_CONV_EXPLICIT))
STATE(conv_valid, conv, bp_conv_call, CONV(.mode = BP_CONV_VALID))
STATE(conv_same, conv, bp_conv_call, CONV(.mode = BP_CONV_SAME))
STATE(conv_input, conv, bp_conv_call, CONV_INPUT)
STATE(conv_weight, conv, bp_conv_call, .ndim = 1, .pass = BP_CONV_WEIGHT, .input = &image, .weight_gradient = &kernel,
      .output_gradient = &result)
STATE(conv_turned_input, conv, bp_conv_call, CONV_INPUT, .transposed = 1)
STATE(linear_input, linear, bp_linear_call, .pass = BP_LINEAR_INPUT, .input_gradient = &x, .weight = &weight,
      .output_gradient = &layer)
STATE(linear_weight, linear, bp_linear_call, .pass = BP_LINEAR_WEIGHT, .input = &x, .weight_gradient = &weight,
      .output_gradient = &layer)

#define POOL(kind_of, ...) .kind = BP_POOL_##kind_of, .ndim = 1, .input = &image, .output = &pooled, __VA_ARGS__
#define POOL_BACK(kind_of, ...)                                                                                        \
    .kind = BP_POOL_##kind_of, .ndim = 1, .pass = BP_POOL_BACKWARD, .input_gradient = &image,                          \
    .output_gradient = &pooled, __VA_ARGS__
STATE(max_pool, pool, bp_pool_call, POOL(MAX, .kernel = two))
STATE(max_pool_back, pool, bp_pool_call, POOL_BACK(MAX, .kernel = two, .indices = &places))
STATE(avg_pool, pool, bp_pool_call, POOL(AVERAGE, .kernel = two))
STATE(avg_pool_back, pool, bp_pool_call, POOL_BACK(AVERAGE, .kernel = two))
STATE(avg_pool_excluding, pool, bp_pool_call, POOL(AVERAGE, .kernel = two, .exclude_padding = 1))
STATE(adaptive_max, pool, bp_pool_call, POOL(MAX, .output_size = two))
STATE(adaptive_avg, pool, bp_pool_call, POOL(AVERAGE, .output_size = two))

#define RNN(...) .input = &steps, .weight_ih = &square, .weight_hh = &other_square, .output = &outputs, __VA_ARGS__
STATE(rnn, rnn, bp_rnn_call, RNN(.mode = BP_RNN_TANH))
STATE(rnn_training, rnn, bp_rnn_call, RNN(.pass = BP_RNN_TRAINING))
STATE(rnn_back, rnn, bp_rnn_call, RNN(.pass = BP_RNN_BACKWARD, .output_gradient = &by_outputs))
STATE(rnn_both, rnn, bp_rnn_call, .directions = 2, .input = &steps, .weight_ih = &both_ih, .weight_hh = &both_hh,
      .output = &wide)

STATE(inv, linalg, bp_linalg_call, .op = BP_OP_INV, .input = {&a}, .output = {&inverse})
STATE(det, linalg, bp_linalg_call, .op = BP_OP_DET, .input = {&a}, .output = {&number})
STATE(pinv, linalg, bp_linalg_call, .op = BP_OP_PINV, .input = {&a}, .output = {&inverse})
STATE(gels, linalg, bp_linalg_call, .op = BP_OP_LSTSQ, .mode = BP_LSTSQ_GELS, .input = {&a, &b}, .output = {&inverse})
STATE(cond, linalg, bp_linalg_call, .op = BP_OP_COND, .input = {&a}, .output = {&number})
STATE(vector_norm, linalg, bp_linalg_call, .op = BP_OP_VECTOR_NORM, .input = {&a}, .output = {&number})
STATE(fft_all, fft, bp_fft_call, .transform = BP_RFFT, .axis_count = BP_FFT_ALL)

STATE(search_greedy, search, bp_einsum_search, .strategy = BP_PATH_GREEDY)
STATE(search_given, search, bp_einsum_search, .strategy = BP_PATH_GIVEN, .path = positions, .path_steps = 1)
STATE(einsum_text, einsum, bp_einsum_call, .expression = "ij,jk->ik", .count = 2, .operands = pair)
STATE(einsum_implicit, einsum, bp_einsum_call, .count = 2, .operands = pair, .labels = label_lists,
      .label_counts = label_counts, .output_count = BP_EINSUM_IMPLICIT)
STATE(exec, plan, bp_exec, .operand_count = 2)

/* ---- Rows ---- */

typedef struct row {
    const state_of_call *state;
    const char *field;
    size_t offset, size;
    const void *value;
} row;

#define ROW(state, type, field, value_type, ...)                                                                       \
    {                                                                                                                  \
        &state, #field, offsetof(type, field), sizeof(value_type), (value_type[1]) {                                   \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
#define SIZES(state, type, field) ROW(state, type, field, const int64_t *, one)
#define FLAG(state, type, field) ROW(state, type, field, int, 1)
#define REAL(state, type, field) ROW(state, type, field, double, 0.5)
#define LONG(state, type, field) ROW(state, type, field, int64_t, 1)
#define GIVEN(state, type, field) ROW(state, type, field, const DLTensor *, &spare)
#define ATTEND(state, field) GIVEN(state, bp_attention_call, field)
#define BATCH(state, field) GIVEN(state, bp_batch_norm_call, field)
#define LAYER(state, field) GIVEN(state, bp_layer_norm_call, field)
#define RECUR(state, field) GIVEN(state, bp_rnn_call, field)
#define ADAPTIVE(state)                                                                                                \
    SIZES(state, bp_pool_call, kernel), SIZES(state, bp_pool_call, stride), SIZES(state, bp_pool_call, dilation),      \
        SIZES(state, bp_pool_call, padding), FLAG(state, bp_pool_call, ceil_mode),                                     \
        FLAG(state, bp_pool_call, exclude_padding), LONG(state, bp_pool_call, divisor)
#define NO_PADDING(state)                                                                                              \
    SIZES(state, bp_conv_call, padding), SIZES(state, bp_conv_call, padding_end),                                      \
        SIZES(state, bp_conv_call, output_padding), FLAG(state, bp_conv_call, transposed)
#define NO_ACTIVATION(state, type) ROW(state, type, activation, bp_unary_kind, BP_UNARY_RELU)
#define NO_CELL(state)                                                                                                 \
    RECUR(state, weight_hr), RECUR(state, initial_cell), RECUR(state, final_cell), RECUR(state, final_cell_gradient),  \
        RECUR(state, initial_cell_gradient), RECUR(state, weight_hr_gradient)
#define NO_RNN_GRADIENTS(state)                                                                                        \
    RECUR(state, output_gradient), RECUR(state, final_hidden_gradient), RECUR(state, input_gradient),                  \
        RECUR(state, initial_hidden_gradient), RECUR(state, weight_ih_gradient), RECUR(state, weight_hh_gradient),     \
        RECUR(state, bias_ih_gradient), RECUR(state, bias_hh_gradient)
#define NO_FLAGS(state)                                                                                                \
    FLAG(state, bp_linalg_call, upper), FLAG(state, bp_linalg_call, right), FLAG(state, bp_linalg_call, adjoint),      \
        FLAG(state, bp_linalg_call, unitriangular), FLAG(state, bp_linalg_call, keep),                                 \
        ROW(state, bp_linalg_call, axes, const int *, dimension), REAL(state, bp_linalg_call, order)
#define NO_INPUT(state) ROW(state, bp_linalg_call, input[2], const DLTensor *, &spare)
#define NO_OUTPUT(state) ROW(state, bp_linalg_call, output[3], const DLTensor *, &spare)
#define NO_TOLERANCES(state)                                                                                           \
    ROW(state, bp_linalg_call, rtol, const double *, &half), ROW(state, bp_linalg_call, atol, const double *, &half)

static const row table[] = {
#define NO_WINDOW(state)                                                                                               \
    LONG(state, bp_attention_call, window_left), LONG(state, bp_attention_call, window_right),                         \
        FLAG(state, bp_attention_call, lower_right)
    REAL(attention, bp_attention_call, scale),
    NO_WINDOW(attention),
    ATTEND(attention, seed),
    ATTEND(attention, pages),
    ATTEND(attention, output_gradient),
    ATTEND(attention, query_gradient),
    ATTEND(attention, key_gradient),
    ATTEND(attention, value_gradient),
    ATTEND(attention, mask_gradient),
    REAL(attention_back, bp_attention_call, scale),
    NO_WINDOW(attention_back),
    ATTEND(attention_back, seed),
    ATTEND(attention_back, pages),
    ATTEND(attention_back, mask_gradient),
    NO_WINDOW(attention_lengths),
    ATTEND(attention_lengths, seed),
    ATTEND(attention_lengths, output_gradient),
    ATTEND(attention_lengths, query_gradient),
    ATTEND(attention_lengths, mask_gradient),
    REAL(attention_paged, bp_attention_call, scale),
    NO_WINDOW(attention_paged),
    ATTEND(attention_paged, seed),
    ATTEND(attention_paged, output_gradient),
    ATTEND(attention_paged, query_gradient),
    ATTEND(attention_paged, mask_gradient),

    REAL(batch, bp_batch_norm_call, momentum),
    BATCH(batch, mean),
    BATCH(batch, inverse_std),
    BATCH(batch, input_gradient),
    BATCH(batch, weight_gradient),
    BATCH(batch, bias_gradient),
    FLAG(batch_training, bp_batch_norm_call, relu),
    REAL(batch_training, bp_batch_norm_call, momentum),
    BATCH(batch_training, input_gradient),
    BATCH(batch_training, weight_gradient),
    BATCH(batch_training, bias_gradient),
    FLAG(batch_back, bp_batch_norm_call, relu),
    REAL(batch_back, bp_batch_norm_call, eps),
    REAL(batch_back, bp_batch_norm_call, momentum),
    BATCH(batch_back, bias),
    BATCH(batch_back, running_mean),
    BATCH(batch_back, running_var),
    FLAG(batch_constant, bp_batch_norm_call, relu),
    REAL(batch_constant, bp_batch_norm_call, momentum),
    BATCH(batch_constant, bias),
    BATCH(batch_constant, mean),
    BATCH(batch_constant, inverse_std),

    LONG(layer_forward, bp_layer_norm_call, groups),
    LAYER(layer_forward, input_gradient),
    LAYER(layer_forward, weight_gradient),
    LAYER(layer_forward, bias_gradient),
    LONG(rms_forward, bp_layer_norm_call, groups),
    LAYER(rms_forward, bias),
    LAYER(rms_forward, mean),
    LAYER(rms_forward, input_gradient),
    LAYER(rms_forward, weight_gradient),
    LAYER(rms_forward, bias_gradient),
    ROW(group_forward, bp_layer_norm_call, row_ndim, int, 1),
    LAYER(group_forward, input_gradient),
    REAL(layer_back, bp_layer_norm_call, eps),
    LONG(layer_back, bp_layer_norm_call, groups),
    LAYER(layer_back, bias),
    REAL(rms_back, bp_layer_norm_call, eps),
    LAYER(rms_back, bias),
    LAYER(rms_back, mean),
    LAYER(rms_back, bias_gradient),
    REAL(group_back, bp_layer_norm_call, eps),
    ROW(group_back, bp_layer_norm_call, row_ndim, int, 1),
    LAYER(group_back, bias),
    LAYER(layer_again, bias),

    SIZES(conv, bp_conv_call, output_padding),
    NO_PADDING(conv_valid),
    NO_PADDING(conv_same),
    SIZES(conv_input, bp_conv_call, output_padding),
    NO_ACTIVATION(conv_input, bp_conv_call),
    GIVEN(conv_input, bp_conv_call, bias),
    SIZES(conv_weight, bp_conv_call, output_padding),
    NO_ACTIVATION(conv_weight, bp_conv_call),
    NO_ACTIVATION(conv_turned_input, bp_conv_call),
    GIVEN(conv_turned_input, bp_conv_call, bias),
    NO_ACTIVATION(linear_input, bp_linear_call),
    GIVEN(linear_input, bp_linear_call, bias),
    NO_ACTIVATION(linear_weight, bp_linear_call),

    FLAG(max_pool, bp_pool_call, exclude_padding),
    LONG(max_pool, bp_pool_call, divisor),
    FLAG(max_pool_back, bp_pool_call, exclude_padding),
    LONG(max_pool_back, bp_pool_call, divisor),
    SIZES(avg_pool, bp_pool_call, dilation),
    GIVEN(avg_pool, bp_pool_call, indices),
    SIZES(avg_pool_back, bp_pool_call, dilation),
    GIVEN(avg_pool_back, bp_pool_call, indices),
    LONG(avg_pool_excluding, bp_pool_call, divisor),
    ADAPTIVE(adaptive_max),
    ADAPTIVE(adaptive_avg),
    GIVEN(adaptive_avg, bp_pool_call, indices),

    FLAG(rnn, bp_rnn_call, reset_before),
    NO_CELL(rnn),
    NO_RNN_GRADIENTS(rnn),
    RECUR(rnn, reserve),
    NO_CELL(rnn_training),
    NO_RNN_GRADIENTS(rnn_training),
    NO_CELL(rnn_back),
    RECUR(rnn_back, bias_ih),
    RECUR(rnn_back, bias_hh),
    RECUR(rnn_back, final_hidden),
    FLAG(rnn_both, bp_rnn_call, reverse),

    NO_FLAGS(inv),
    NO_INPUT(inv),
    NO_OUTPUT(inv),
    NO_TOLERANCES(inv),
    FLAG(inv, bp_linalg_call, hermitian),
    ROW(inv, bp_linalg_call, mode, bp_linalg_mode, BP_QR_COMPLETE),
    NO_FLAGS(det),
    NO_INPUT(det),
    NO_OUTPUT(det),
    NO_TOLERANCES(det),
    FLAG(det, bp_linalg_call, hermitian),
    FLAG(det, bp_linalg_call, fail_on_item_error),
    NO_FLAGS(pinv),
    NO_INPUT(pinv),
    NO_OUTPUT(pinv),
    FLAG(pinv, bp_linalg_call, fail_on_item_error),
    NO_FLAGS(gels),
    NO_TOLERANCES(gels),
    FLAG(gels, bp_linalg_call, hermitian),
    NO_FLAGS(cond),
    NO_INPUT(cond),
    NO_OUTPUT(cond),
    NO_TOLERANCES(cond),
    NO_TOLERANCES(vector_norm),
    FLAG(vector_norm, bp_linalg_call, upper),
    FLAG(vector_norm, bp_linalg_call, axis_count),
    ROW(fft_all, bp_fft_call, axes, const int *, dimension),

    ROW(search_greedy, bp_einsum_search, path, const int *, positions),
    ROW(search_greedy, bp_einsum_search, path_counts, const int *, positions),
    FLAG(search_greedy, bp_einsum_search, path_steps),
    REAL(search_greedy, bp_einsum_search, factor),
    REAL(search_given, bp_einsum_search, factor),
    REAL(search_given, bp_einsum_search, seconds),
    LONG(search_given, bp_einsum_search, trials),
    LONG(search_given, bp_einsum_search, work),
    ROW(search_given, bp_einsum_search, seed, uint64_t, 1),
    ROW(einsum_text, bp_einsum_call, labels, const int32_t *const *, label_lists),
    ROW(einsum_text, bp_einsum_call, label_counts, const int *, label_counts),
    ROW(einsum_text, bp_einsum_call, output, const int32_t *, labels),
    FLAG(einsum_text, bp_einsum_call, output_count),
    ROW(einsum_implicit, bp_einsum_call, output, const int32_t *, labels),

    ROW(exec, bp_exec, done, void *, &event),
    ROW(exec, bp_exec, after_count, size_t, 1),
};

static bool is_of_name(char letter) {
    return isalnum((unsigned char)letter) || letter == '_';
}

/* Whether the message has the name as a word. */
static bool names(const char *message, const char *field) {
    const size_t length = strcspn(field, "[");
    const char *at = message;
    for (; *at; at++) {
        if (strncmp(at, field, length) == 0 && (at == message || !is_of_name(at[-1])) && !is_of_name(at[length])) {
            break;
        }
    }
    return *at != 0;
}

/* Returns 1, with a message, if the field is not refused by its name. */
static int try_row(const row *r) {
    _Alignas(16) char call[512];
    const state_of_call *s = r->state;
    assert_true(s->size <= sizeof call);
    memcpy(call, s->call, s->size);
    if (s->run(call) != BP_OK) {
        print_error("%s: %s\n", s->name, bp_last_error());
        return 1;
    }
    memcpy(call + r->offset, r->value, r->size);
    const bp_status status = s->run(call);
    if (status == BP_OK) {
        print_error("%s: %s is accepted\n", s->name, r->field);
        return 1;
    }
    const bool refused = status == BP_E_ARGUMENT || (s->run == run_plan && status == BP_E_UNSUPPORTED);
    if (!refused || !names(bp_last_error(), r->field)) {
        print_error("%s with %s: %s: %s\n", s->name, r->field, bp_status_name(status), bp_last_error());
        return 1;
    }
    return 0;
}

static void unused_fields_are_refused(void **unused) {
    (void)unused;
    int wrong = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        wrong += try_row(&table[i]);
    }
    assert_int_equal(wrong, 0);
}

static int set_up(void **unused) {
    (void)unused;
    a_data[0] = a_data[3] = 1;
    d_data[0] = d_data[1] = d_data[2] = 1;
    lengths_data[0] = 2;
    places_data[1] = 2;
    return bp_unary_plan(&plan, NULL, BP_UNARY_COPY, &x, &y) == BP_OK ? 0 : -1;
}

static int give_back(void **unused) {
    (void)unused;
    bp_plan_release(plan);
    return bp_reset() == BP_OK ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unused_fields_are_refused)};
    return cmocka_run_group_tests(tests, set_up, give_back);
}
