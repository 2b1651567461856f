/* test_errors.c - wrong calls of recurrent layers: each has its status, a message with the sizes, and writes nothing.
 */
#include "rnn/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { T = 3, N = 4, I = 5, H = 6, P = 2, MEMORY = 4096 };

/* A call of an LSTM whose tensors can be changed one by one. */
typedef struct wrong {
    bp_rnn_call call;
    bp_view input, weight_ih, weight_hh, weight_hr, bias, hidden, cell, output, final, reserve, lengths;
    float numbers[11][MEMORY];
    int64_t words[N];
} wrong;

static void view(bp_view *v, void *data, bp_dtype dtype, int ndim, const int64_t *shape) {
    assert_int_equal(bp_view_init(v, data, dtype, ndim, shape, NULL), BP_OK);
}

static void begin(wrong *w) {
    memset(w, 0, sizeof *w);
    view(&w->input, w->numbers[0], BP_F32, 3, (const int64_t[]){T, N, I});
    view(&w->weight_ih, w->numbers[1], BP_F32, 3, (const int64_t[]){1, 4 * H, I});
    view(&w->weight_hh, w->numbers[2], BP_F32, 3, (const int64_t[]){1, 4 * H, H});
    view(&w->weight_hr, w->numbers[3], BP_F32, 3, (const int64_t[]){1, P, H});
    view(&w->bias, w->numbers[4], BP_F32, 2, (const int64_t[]){1, 4 * H});
    view(&w->hidden, w->numbers[5], BP_F32, 3, (const int64_t[]){1, N, H});
    view(&w->cell, w->numbers[6], BP_F32, 3, (const int64_t[]){1, N, H});
    view(&w->output, w->numbers[7], BP_F32, 3, (const int64_t[]){T, N, H});
    view(&w->final, w->numbers[8], BP_F32, 3, (const int64_t[]){1, N, H});
    view(&w->reserve, w->numbers[9], BP_F32, 4, (const int64_t[]){1, T, N, 5 * H});
    view(&w->lengths, w->words, BP_I64, 1, (const int64_t[]){N});
    w->call = (bp_rnn_call){.struct_size = sizeof w->call,
                            .mode = BP_RNN_LSTM,
                            .input = &w->input.tensor,
                            .weight_ih = &w->weight_ih.tensor,
                            .weight_hh = &w->weight_hh.tensor,
                            .output = &w->output.tensor};
    w->numbers[7][0] = 42;
}

static void fails(wrong *w, bp_status status, const char *message) {
    const bp_status got = bp_rnn_run(NULL, &w->call);
    if (got != status || !strstr(bp_last_error(), message)) {
        fail_msg("status %d, message '%s'; want %d and '%s'", (int)got, bp_last_error(), (int)status, message);
    }
    assert_true(w->numbers[7][0] == 42);
}

static void parameters_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    assert_int_equal(bp_rnn_run(NULL, &w.call), BP_OK);
    begin(&w);
    w.call.pass = (bp_rnn_pass)3;
    fails(&w, BP_E_ARGUMENT, "pass is no value");
    begin(&w);
    w.call.mode = (bp_rnn_mode)4;
    fails(&w, BP_E_ARGUMENT, "mode is no value");
    begin(&w);
    w.call.directions = 3;
    fails(&w, BP_E_ARGUMENT, "directions is 3");
    begin(&w);
    w.call.directions = 2;
    w.call.reverse = 1;
    fails(&w, BP_E_ARGUMENT, "reverse is for one direction");
    for (int mode = BP_RNN_TANH; mode < BP_RNN_GRU; mode++) {
        static const char *const texts[] = {"mode is RNN_TANH", "mode is RNN_RELU", "mode is LSTM"};
        begin(&w);
        w.call.mode = (bp_rnn_mode)mode;
        w.call.reset_before = 1;
        fails(&w, BP_E_ARGUMENT, "reset_before is for GRU");
        fails(&w, BP_E_ARGUMENT, texts[mode]);
    }
    begin(&w);
    w.call.reserve = &w.reserve.tensor;
    fails(&w, BP_E_ARGUMENT, "INFERENCE has no reserve");
    begin(&w);
    w.call.input_gradient = &w.final.tensor;
    fails(&w, BP_E_ARGUMENT, "INFERENCE has no input_gradient");
    begin(&w);
    w.call.pass = BP_RNN_BACKWARD;
    w.call.bias_ih = &w.bias.tensor;
    fails(&w, BP_E_ARGUMENT, "BACKWARD has no bias_ih");
    begin(&w);
    w.call.mode = BP_RNN_GRU;
    w.call.initial_cell = &w.cell.tensor;
    fails(&w, BP_E_ARGUMENT, "GRU has no initial_cell");
    begin(&w);
    w.call.mode = BP_RNN_TANH;
    w.call.weight_hr = &w.weight_hr.tensor;
    fails(&w, BP_E_ARGUMENT, "RNN_TANH has no weight_hr");
    begin(&w);
    w.call.pass = BP_RNN_BACKWARD;
    w.call.reserve = &w.reserve.tensor;
    w.call.weight_hr_gradient = &w.final.tensor;
    fails(&w, BP_E_ARGUMENT, "weight_hr_gradient needs weight_hr");
    begin(&w);
    w.call.struct_size = 3;
    fails(&w, BP_E_ARGUMENT, "struct_size");
}

static void tensors_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    w.call.input = NULL;
    fails(&w, BP_E_ARGUMENT, "input");
    begin(&w);
    w.call.weight_hh = NULL;
    fails(&w, BP_E_ARGUMENT, "weight_hh");
    begin(&w);
    w.call.output = NULL;
    fails(&w, BP_E_ARGUMENT, "output");
    begin(&w);
    w.call.pass = BP_RNN_TRAINING;
    fails(&w, BP_E_ARGUMENT, "reserve");
    begin(&w);
    view(&w.input, w.numbers[0], BP_F32, 2, (const int64_t[]){T, I});
    fails(&w, BP_E_SHAPE, "input has shape (3, 5)");
    begin(&w);
    view(&w.weight_hh, w.numbers[2], BP_F32, 3, (const int64_t[]){1, 4 * H - 1, H});
    fails(&w, BP_E_SHAPE, "weight_hh has shape (1, 23, 6); it must have a multiple of 4 rows");
    begin(&w);
    view(&w.weight_hh, w.numbers[2], BP_F32, 3, (const int64_t[]){1, 4 * H, P});
    fails(&w, BP_E_SHAPE, "weight_hh has shape (1, 24, 2); it must have 6 columns, because there is no weight_hr");
    w.call.weight_hr = &w.weight_hr.tensor;
    fails(&w, BP_E_SHAPE, "output has shape (3, 4, 6); it must have shape (3, 4, 2)");
    begin(&w);
    w.call.directions = 2;
    view(&w.weight_hh, w.numbers[2], BP_F32, 2, (const int64_t[]){4 * H, H});
    fails(&w, BP_E_SHAPE, "weight_hh has shape (24, 6)");
    begin(&w);
    w.call.directions = 2;
    view(&w.weight_hh, w.numbers[2], BP_F32, 3, (const int64_t[]){2, 4 * H, H});
    fails(&w, BP_E_SHAPE, "weight_ih has shape (1, 24, 5); it must have shape (2, 24, 5)");
    begin(&w);
    view(&w.weight_ih, w.numbers[1], BP_F32, 3, (const int64_t[]){1, 4 * H, I + 1});
    fails(&w, BP_E_SHAPE, "weight_ih has shape (1, 24, 6); it must have shape (1, 24, 5)");
    begin(&w);
    w.call.bias_hh = &w.bias.tensor;
    view(&w.bias, w.numbers[4], BP_F32, 1, (const int64_t[]){H});
    fails(&w, BP_E_SHAPE, "bias_hh has shape (6); it must have shape (1, 24)");
    begin(&w);
    w.call.initial_hidden = &w.hidden.tensor;
    view(&w.hidden, w.numbers[5], BP_F32, 3, (const int64_t[]){2, N, H});
    fails(&w, BP_E_SHAPE, "initial_hidden has shape (2, 4, 6)");
    begin(&w);
    w.call.lengths = &w.lengths.tensor;
    view(&w.lengths, w.words, BP_I64, 1, (const int64_t[]){N - 1});
    fails(&w, BP_E_SHAPE, "lengths has shape (3); it must have shape (4)");
    begin(&w);
    w.call.pass = BP_RNN_TRAINING;
    w.call.reserve = &w.reserve.tensor;
    w.reserve.strides[2] = 5 * H + 1;
    fails(&w, BP_E_LAYOUT, "reserve has stride 31");
}

static void types_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    view(&w.input, w.numbers[0], BP_C64, 3, (const int64_t[]){T, N, I});
    fails(&w, BP_E_DTYPE, "input is c64; it must be f16, bf16, f32 or f64");
    begin(&w);
    view(&w.input, w.numbers[0], BP_F16, 3, (const int64_t[]){T, N, I});
    fails(&w, BP_E_DTYPE, "weight_ih is f32; it must be f16");
    begin(&w);
    view(&w.weight_hh, w.numbers[2], BP_F64, 3, (const int64_t[]){1, 4 * H, H});
    fails(&w, BP_E_DTYPE, "weight_hh is f64; it must be f32");
    begin(&w);
    w.call.lengths = &w.lengths.tensor;
    view(&w.lengths, w.words, BP_I32, 1, (const int64_t[]){N});
    fails(&w, BP_E_DTYPE, "lengths is i32; it must be i64");
}

static void lengths_are_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    w.call.lengths = &w.lengths.tensor;
    w.words[2] = T + 1;
    fails(&w, BP_E_ARGUMENT, "lengths[2] is 4; it must be from 0 to 3");
    w.words[2] = -1;
    fails(&w, BP_E_ARGUMENT, "lengths[2] is -1");
    bp_view gradient;
    view(&gradient, w.numbers[10], BP_F32, 3, (const int64_t[]){T, N, I});
    w.call.pass = BP_RNN_BACKWARD;
    w.call.reserve = &w.reserve.tensor;
    w.call.input_gradient = &gradient.tensor;
    w.numbers[10][0] = 7;
    fails(&w, BP_E_ARGUMENT, "lengths[2] is -1");
    assert_true(w.numbers[10][0] == 7);
}

static void memory_is_checked(void **state) {
    (void)state;
    wrong w;
    begin(&w);
    view(&w.input, w.numbers[7], BP_F32, 3, (const int64_t[]){T, N, I});
    fails(&w, BP_E_OVERLAP, "output, which is written, overlaps input");
    begin(&w);
    w.output.strides[0] = 0;
    fails(&w, BP_E_OVERLAP, "output");
    begin(&w);
    w.call.initial_hidden = &w.hidden.tensor;
    w.call.final_hidden = &w.hidden.tensor;
    fails(&w, BP_E_OVERLAP, "final_hidden, which is written, overlaps initial_hidden");
    begin(&w);
    w.call.final_hidden = w.call.final_cell = &w.final.tensor;
    fails(&w, BP_E_OVERLAP, "final_cell, which is written, overlaps final_hidden");
    begin(&w);
    view(&w.weight_ih, (char *)w.numbers[1] + 1, BP_F32, 3, (const int64_t[]){1, 4 * H, I});
    fails(&w, BP_E_LAYOUT, "weight_ih");
}

/* Sizes without memory behind them: strides of 0. */
static void huge_sizes_are_refused(void **state) {
    static const int64_t none[] = {0, 0, 0};
    (void)state;
    wrong w;
    begin(&w);
    assert_int_equal(bp_view_init(&w.input, w.numbers[0], BP_F32, 3, (const int64_t[]){T, N, INT64_C(1) << 41}, none),
                     BP_OK);
    fails(&w, BP_E_OVERFLOW, "2199023255552 columns of the input");
    begin(&w);
    assert_int_equal(
        bp_view_init(&w.input, w.numbers[0], BP_F32, 3, (const int64_t[]){INT64_C(1) << 30, INT64_C(1) << 20, I}, none),
        BP_OK);
    fails(&w, BP_E_OVERFLOW, "steps of all items");
    begin(&w);
    bp_plan *plan = NULL;
    const int64_t hidden = INT64_C(1) << 20;
    assert_int_equal(bp_view_init(&w.weight_ih, w.numbers[1], BP_F32, 3, (const int64_t[]){1, 4 * hidden, I}, none),
                     BP_OK);
    assert_int_equal(bp_view_init(&w.weight_hh, w.numbers[2], BP_F32, 3, (const int64_t[]){1, 4 * hidden, P}, none),
                     BP_OK);
    assert_int_equal(bp_view_init(&w.weight_hr, w.numbers[3], BP_F32, 3, (const int64_t[]){1, P, hidden}, none), BP_OK);
    view(&w.output, w.numbers[7], BP_F32, 3, (const int64_t[]){T, N, P});
    w.call.weight_hr = &w.weight_hr.tensor;
    assert_int_equal(bp_rnn_plan(&plan, NULL, &w.call), BP_OK);
    bp_plan_release(plan);
}

static void shapes_are_reported(void **state) {
    static const struct {
        bp_rnn_tensor which;
        int ndim;
        int64_t shape[4];
    } want[] = {{BP_RNN_OUTPUT, 3, {T, N, 2 * P}},
                {BP_RNN_FINAL_HIDDEN, 3, {2, N, P}},
                {BP_RNN_FINAL_CELL, 3, {2, N, H}},
                {BP_RNN_RESERVE, 4, {2, T, N, 5 * H}},
                {BP_RNN_BIAS_HH_GRADIENT, 2, {2, 4 * H}},
                {BP_RNN_WEIGHT_HR, 3, {2, P, H}},
                {BP_RNN_LENGTHS, 1, {N}}};
    (void)state;
    wrong w;
    begin(&w);
    w.call.directions = 2;
    w.call.weight_hr = &w.weight_hr.tensor;
    view(&w.weight_hh, w.numbers[2], BP_F32, 3, (const int64_t[]){2, 4 * H, P});
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        assert_int_equal(bp_rnn_shape(&w.call, want[i].which, &dtype, &ndim, shape), BP_OK);
        assert_int_equal(ndim, want[i].ndim);
        assert_memory_equal(shape, want[i].shape, (size_t)ndim * sizeof *shape);
        assert_int_equal(dtype, want[i].which == BP_RNN_LENGTHS ? BP_I64 : BP_F32);
    }
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_rnn_shape(&w.call, BP_RNN_TENSORS, &dtype, &ndim, shape), BP_E_ARGUMENT);
    assert_int_equal(bp_rnn_shape(&w.call, BP_RNN_OUTPUT, NULL, &ndim, shape), BP_E_ARGUMENT);
    assert_int_equal(bp_rnn_shape(NULL, BP_RNN_OUTPUT, &dtype, &ndim, shape), BP_E_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_checked), cmocka_unit_test(tensors_are_checked),
        cmocka_unit_test(types_are_checked),      cmocka_unit_test(lengths_are_checked),
        cmocka_unit_test(memory_is_checked),      cmocka_unit_test(huge_sizes_are_refused),
        cmocka_unit_test(shapes_are_reported),
    };
    return cmocka_run_group_tests(tests, rnn_on_native, NULL);
}
