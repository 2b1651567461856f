/* test_layers.c - recurrent layers on the oneDNN of this machine: random sizes, layouts and operands against a
 * reference that follows rnn.h one element at a time; packed weights; special values; refusals and their reasons. */
#include "rnn/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* On one thread, unless a test is about threads: threads of OpenMP wait for each other for long on a machine in use. */
#define EXCLUDE "dispatch.exclude=native"
#define ALONE EXCLUDE ",num_threads=1"

static void need_onednn(void) {
    bp_library_info library = {.struct_size = sizeof library};
    if (bp_library_find("onednn", &library) != BP_OK || library.state != BP_LIBRARY_OK ||
        strtol(library.version, NULL, 10) < 3) {
        print_message("skipped: oneDNN 3 is not installed\n");
        skip();
    }
}

static bp_status run(const rnn_case *c, const char *settings) {
    bp_options *options = NULL;
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    const bp_status status = bp_rnn_run(options, &c->call);
    bp_options_release(options);
    return status;
}

/* A layer of the most common form. */
static rnn_shape common(int cell) {
    rnn_shape s = {.dtype = BP_F32,
                   .steps = 4,
                   .batch = 3,
                   .input = 5,
                   .hidden = 17,
                   .directions = 1,
                   .bias_ih = true,
                   .bias_hh = true,
                   .states = true,
                   .finals = true,
                   .compact = true};
    rnn_set_cell(&s, cell);
    return s;
}

enum { GRU_BEFORE = RNN_CELLS - 1, CELLS = 4 };
static const int cells[CELLS] = {BP_RNN_TANH, BP_RNN_LSTM, BP_RNN_GRU, GRU_BEFORE};

/* ---- Results ---- */

static void layers_equal_the_reference(void **state) {
    enum { CASES = 1125 };
    int accepted[RNN_CELLS] = {0}, both = 0, projected = 0, reversed = 0, one_bias = 0;
    (void)state;
    need_onednn();
    test_array_random = 7;
    for (int i = 0; i < CASES; i++) {
        rnn_case c;
        rnn_shape shape = rnn_any(BP_F32);
        shape.lengths = false;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        const bp_status status = run(&c, i % 20 ? ALONE : EXCLUDE ",num_threads=3");
        if (status == BP_OK) {
            rnn_compare(&c);
            accepted[shape.reset_before ? GRU_BEFORE : (int)shape.mode]++;
            both += shape.directions == 2;
            projected += shape.projection > 0;
            reversed += shape.reverse;
            one_bias += shape.bias_ih != shape.bias_hh;
        } else {
            if (status != BP_E_NO_CANDIDATE || (shape.compact && shape.steps > 0 && shape.mode != BP_RNN_RELU)) {
                fail_msg("%s: %s", c.text, bp_last_error());
            }
        }
        rnn_end(&c);
    }
    for (int i = 0; i < CELLS; i++) {
        assert_true(accepted[cells[i]] > 80);
    }
    assert_true(both > 80 && projected > 20 && reversed > 20 && one_bias > 50);
}

/* One of both states, initial and final: the library has both or none. */
static void single_states_are_completed(void **state) {
    (void)state;
    need_onednn();
    test_array_random = 8;
    for (int i = 0; i < 16; i++) {
        const rnn_shape shape = common(BP_RNN_LSTM);
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        bp_rnn_tensor absent[] = {BP_RNN_INITIAL_HIDDEN, BP_RNN_INITIAL_CELL, BP_RNN_FINAL_HIDDEN, BP_RNN_FINAL_CELL};
        const size_t members[] = {offsetof(bp_rnn_call, initial_hidden), offsetof(bp_rnn_call, initial_cell),
                                  offsetof(bp_rnn_call, final_hidden), offsetof(bp_rnn_call, final_cell)};
        for (int j = 0; j < 4; j++) {
            if (i >> j & 1) {
                memset((char *)&c.call + members[j], 0, sizeof(DLTensor *));
                test_array_free(&c.tensor[absent[j]]);
                c.tensor[absent[j]] = (test_array){0};
            }
        }
        assert_int_equal(run(&c, ALONE), BP_OK);
        rnn_compare(&c);
        rnn_end(&c);
    }
}

/* Input and output whose items come before the steps. */
static void batches_may_come_first(void **state) {
    (void)state;
    need_onednn();
    test_array_random = 9;
    for (int i = 0; i < CELLS; i++) {
        const rnn_shape shape = common(cells[i]);
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        test_array *const images[] = {&c.tensor[BP_RNN_INPUT], &c.tensor[BP_RNN_OUTPUT]};
        for (int j = 0; j < 2; j++) {
            const int64_t columns = images[j]->view.shape[2];
            images[j]->view.strides[0] = columns;
            images[j]->view.strides[1] = shape.steps * columns;
            images[j]->view.tensor.strides = images[j]->view.strides;
        }
        assert_int_equal(run(&c, ALONE), BP_OK);
        rnn_compare(&c);
        rnn_end(&c);
    }
}

/* Strides of 0 and negative ones of each operand, one at a time: equal bits, or a refusal where columns are read where
 * they are. */
static void strides_of_0_and_below_give_equal_bits(void **state) {
    int accepted[BP_RNN_OUTPUT] = {0};
    (void)state;
    need_onednn();
    test_array_random = 17;
    for (int i = 0; i < CELLS * 3 * 2 * BP_RNN_LENGTHS; i++) {
        const int which = i % BP_RNN_LENGTHS, d = i / BP_RNN_LENGTHS % 3;
        rnn_shape shape = common(cells[i / BP_RNN_LENGTHS / 6]);
        shape.directions = 2;
        shape.projection = shape.mode == BP_RNN_LSTM ? 4 : 0;
        const bool repeats = i / BP_RNN_LENGTHS / 3 % 2;
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        if (repeats) {
            rnn_make_equal(&c, 1u << which, d);
        }
        assert_int_equal(run(&c, ALONE), BP_OK);
        const bp_status status = rnn_run_copies(&c, 1u << which, d, repeats, ALONE);
        if (status != BP_OK &&
            (status != BP_E_NO_CANDIDATE || (which >= BP_RNN_WEIGHT_IH && which <= BP_RNN_BIAS_HH))) {
            fail_msg("%s: operand %d, dimension %d: %s", c.text, which, d, bp_last_error());
        }
        accepted[which] += status == BP_OK && c.tensor[which].memory;
        rnn_end(&c);
    }
    for (int which = BP_RNN_WEIGHT_IH; which <= BP_RNN_BIAS_HH; which++) {
        assert_int_equal(accepted[which], which == BP_RNN_WEIGHT_HR ? 6 : 6 * CELLS);
    }
}

/* ---- Packed weights ---- */

/* Runs a plan with packed weights, and memory of the weights that was overwritten. */
static void run_packed(rnn_case *c) {
    bp_options *options;
    bp_plan *plan;
    bp_packed *packed[4] = {NULL};
    bp_operand operands[13] = {{NULL, 0}};
    const bp_rnn_tensor order[] = {BP_RNN_INPUT,   BP_RNN_WEIGHT_IH, BP_RNN_WEIGHT_HH,      BP_RNN_WEIGHT_HR,
                                   BP_RNN_BIAS_IH, BP_RNN_BIAS_HH,   BP_RNN_INITIAL_HIDDEN, BP_RNN_INITIAL_CELL,
                                   BP_RNN_LENGTHS, BP_RNN_OUTPUT,    BP_RNN_FINAL_HIDDEN,   BP_RNN_FINAL_CELL};
    assert_int_equal(bp_options_new(&options, ALONE), BP_OK);
    if (bp_rnn_plan(&plan, options, &c->call) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    bp_options_release(options);
    for (int i = 0; i < 12; i++) {
        const DLTensor *t = &c->tensor[order[i]].view.tensor;
        operands[i] = c->tensor[order[i]].memory ? (bp_operand){t->data, t->byte_offset} : (bp_operand){NULL, 0};
    }
    for (int i = 1; i < 4; i++) {
        if (c->tensor[order[i]].memory) {
            if (bp_plan_pack(&packed[i], plan, i, &operands[i]) != BP_OK) {
                fail_msg("%s: %s", c->text, bp_last_error());
            }
            test_array_fill(&c->tensor[order[i]], 1000);
        }
    }
    const bp_packed *const list[13] = {NULL, packed[1], packed[2], packed[3]};
    const bp_exec exec = {.struct_size = sizeof exec, .packed = list};
    if (bp_execute(plan, operands, &exec) != BP_OK) {
        fail_msg("%s: %s", c->text, bp_last_error());
    }
    for (int i = 1; i < 4; i++) {
        bp_packed_release(packed[i]);
    }
    bp_plan_release(plan);
}

static void packed_weights_give_equal_bits(void **state) {
    (void)state;
    need_onednn();
    test_array_random = 10;
    int compared = 0;
    for (int i = 0; i < 300; i++) {
        rnn_shape shape = rnn_any(BP_F32);
        shape.lengths = false;
        shape.steps += shape.steps == 0;
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        if (run(&c, ALONE) == BP_OK) {
            const test_array *output = &c.tensor[BP_RNN_OUTPUT];
            const size_t bytes = (size_t)output->all * sizeof(float);
            char *kept = malloc(bytes);
            assert_non_null(kept);
            memcpy(kept, output->memory, bytes);
            run_packed(&c);
            assert_memory_equal(kept, output->memory, bytes);
            free(kept);
            compared++;
        }
        rnn_end(&c);
    }
    assert_true(compared > 80);
}

/* ---- Special values ---- */

/* NaN of a step reaches every later output of its item, and infinite gates are 0 or 1. */
static void special_values_pass(void **state) {
    static const double values[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 200, -200};
    (void)state;
    need_onednn();
    test_array_random = 11;
    for (int i = 0; i < CELLS * 7; i++) {
        const rnn_shape shape = common(cells[i % CELLS]);
        const double value = values[i / CELLS];
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        test_array_set(&c.tensor[BP_RNN_INPUT], (1 * shape.batch + 1) * shape.input + 2, value);
        assert_int_equal(run(&c, ALONE), BP_OK);
        for (int64_t at = 0; at < shape.steps * shape.batch * shape.hidden; at++) {
            const int64_t step = at / shape.hidden / shape.batch, item = at / shape.hidden % shape.batch;
            const double got = test_array_get(&c.tensor[BP_RNN_OUTPUT], at);
            const bool wants_nan = isnan(value) && item == 1 && step >= 1;
            if ((isnan(got) != 0) != wants_nan || (!wants_nan && !(fabs(got) <= 1 + 1e-6))) {
                fail_msg("%s, input %g: element %d is %g", c.text, value, (int)at, got);
            }
        }
        rnn_end(&c);
    }
}

/* Errors of tanh and of the logistic function, in roundings: one step of one unit for many arguments. Of an LSTM, the
 * forget gate of a cell that is 1, whose other addend is 0. */
static void functions_have_bounded_errors(void **state) {
    enum { N = 20000 };
    (void)state;
    need_onednn();
    test_array_random = 16;
    for (int i = 0; i < 2; i++) {
        rnn_shape shape = common(i ? BP_RNN_LSTM : BP_RNN_TANH);
        shape.steps = shape.input = shape.hidden = 1;
        shape.batch = N;
        shape.bias_ih = shape.bias_hh = false;
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        for (int64_t g = 0; g < (i ? 4 : 1); g++) {
            test_array_set(&c.tensor[BP_RNN_WEIGHT_IH], g, i == 0 || g == 1);
        }
        for (int64_t j = 0; j < N; j++) {
            const double size = j % 4 == 0 ? 1e-6 : j % 4 == 1 ? 1 : j % 4 == 2 ? 10 : 85;
            test_array_set(&c.tensor[BP_RNN_INPUT], j, test_array_uniform() * size);
            test_array_set(&c.tensor[BP_RNN_INITIAL_HIDDEN], j, 0);
            if (i) {
                test_array_set(&c.tensor[BP_RNN_INITIAL_CELL], j, 1);
            }
        }
        assert_int_equal(run(&c, ALONE), BP_OK);
        double greatest = 0;
        for (int64_t j = 0; j < N; j++) {
            const double x = test_array_get(&c.tensor[BP_RNN_INPUT], j), want = i ? 1 / (1 + exp(-x)) : tanh(x);
            const double got = test_array_get(&c.tensor[i ? BP_RNN_FINAL_CELL : BP_RNN_OUTPUT], j);
            const double error = fabs(got - want) / fabs(want) * 0x1p24;
            greatest = error > greatest ? error : greatest;
        }
        if (!(greatest <= 8)) {
            fail_msg("%s: error of %.3g roundings", i ? "logistic" : "tanh", greatest);
        }
        rnn_end(&c);
    }
}

/* ---- Guarantees ---- */

static void results_repeat(void **state) {
    (void)state;
    need_onednn();
    test_array_random = 12;
    for (int i = 0; i < 4 * CELLS; i++) {
        rnn_shape shape = common(cells[i % CELLS]);
        shape.batch = 33;
        shape.hidden = 130;
        shape.directions = 1 + i / (2 * CELLS);
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        char text[96];
        snprintf(text, sizeof text, EXCLUDE ",deterministic=run,num_threads=%d", 1 + i % 3);
        assert_int_equal(run(&c, text), BP_OK);
        const test_array *output = &c.tensor[BP_RNN_OUTPUT];
        const size_t bytes = (size_t)output->all * sizeof(float);
        char *kept = malloc(bytes);
        assert_non_null(kept);
        memcpy(kept, output->memory, bytes);
        for (int j = 0; j < 3; j++) {
            assert_int_equal(run(&c, text), BP_OK);
            assert_memory_equal(kept, output->memory, bytes);
        }
        free(kept);
        rnn_end(&c);
    }
}

/* An RNN has no reserve, so that any provider may run TRAINING, and native the gradients. */
static void training_of_an_rnn_has_gradients(void **state) {
    (void)state;
    need_onednn();
    test_array_random = 13;
    const rnn_shape shape = common(BP_RNN_TANH);
    rnn_case c;
    rnn_begin(&c, &shape, BP_RNN_TRAINING);
    assert_int_equal(run(&c, ALONE), BP_OK);
    rnn_compare(&c);
    rnn_turn(&c);
    rnn_run(&c, "dispatch.exclude=onednn");
    rnn_end(&c);
}

static void expect_refusal(const rnn_case *c, const char *settings, const char *reason) {
    assert_int_equal(run(c, settings), BP_E_NO_CANDIDATE);
    if (!strstr(bp_last_error(), reason)) {
        fail_msg("\"%s\" does not say \"%s\"", bp_last_error(), reason);
    }
}

static void refusals_have_reasons(void **state) {
    (void)state;
    need_onednn();
    test_array_random = 14;
    const bool wide =
        strcmp(bp_cpu_hardware_capability(), "AVX512") == 0; /* oneDNN has bf16 there, in other operations */
    const struct refusal {
        rnn_shape change;
        bp_rnn_pass pass;
        const char *settings, *reason;
    } cases[] = {
        {{.mode = BP_RNN_LSTM, .lengths = true}, BP_RNN_INFERENCE, ALONE, "no lengths"},
        {{.mode = BP_RNN_LSTM}, BP_RNN_TRAINING, ALONE, "no reserve for the gradients"},
        {{.mode = BP_RNN_GRU}, BP_RNN_TRAINING, ALONE, "no reserve for the gradients"},
        {{.mode = BP_RNN_GRU, .reset_before = true}, BP_RNN_TRAINING, ALONE, "no reserve for the gradients"},
        {{.mode = BP_RNN_RELU}, BP_RNN_INFERENCE, ALONE, "NaN"},
        {{.mode = BP_RNN_LSTM, .dtype = BP_F64}, BP_RNN_INFERENCE, ALONE, "only f32"},
        {{.mode = BP_RNN_LSTM, .dtype = BP_BF16}, BP_RNN_INFERENCE, ALONE, wide ? "f32" : "AVX-512 only"},
        {{.mode = BP_RNN_LSTM}, BP_RNN_INFERENCE, ALONE ",deterministic=threads", "place in a batch"},
        {{.mode = BP_RNN_LSTM}, BP_RNN_INFERENCE, ALONE ",mkldnn.enabled=false", "mkldnn.enabled is false"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        rnn_shape shape = common((int)cases[i].change.mode);
        shape.lengths = cases[i].change.lengths;
        shape.reset_before = cases[i].change.reset_before;
        shape.dtype = cases[i].change.dtype ? cases[i].change.dtype : BP_F32;
        rnn_case c;
        rnn_begin(&c, &shape, cases[i].pass);
        expect_refusal(&c, cases[i].settings, cases[i].reason);
        rnn_end(&c);
    }
    const rnn_shape shape = common(BP_RNN_LSTM);
    rnn_case c;
    rnn_begin(&c, &shape, BP_RNN_TRAINING);
    rnn_run(&c, "");
    rnn_turn(&c);
    expect_refusal(&c, ALONE, "another reserve");
    rnn_end(&c);
}

/* Columns with gaps in any tensor but the weights, which are copied. */
static void gaps_between_columns_are_refused(void **state) {
    static const bp_rnn_tensor apart[] = {BP_RNN_INPUT,        BP_RNN_OUTPUT,       BP_RNN_INITIAL_HIDDEN,
                                          BP_RNN_INITIAL_CELL, BP_RNN_FINAL_HIDDEN, BP_RNN_FINAL_CELL};
    (void)state;
    need_onednn();
    test_array_random = 15;
    for (int i = 0; i < 6; i++) {
        const rnn_shape shape = common(BP_RNN_LSTM);
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        DLTensor *t = &c.tensor[apart[i]].view.tensor;
        for (int d = 0; d < t->ndim; d++) {
            c.tensor[apart[i]].view.strides[d] *= 2;
        }
        t->strides = c.tensor[apart[i]].view.strides;
        t->data = NULL;
        t->byte_offset = 0;
        bp_options *options;
        bp_plan *plan = NULL;
        assert_int_equal(bp_options_new(&options, ALONE), BP_OK);
        assert_int_equal(bp_rnn_plan(&plan, options, &c.call), BP_E_NO_CANDIDATE);
        assert_non_null(strstr(bp_last_error(), "contiguous columns"));
        bp_options_release(options);
        rnn_end(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_equal_the_reference),       cmocka_unit_test(single_states_are_completed),
        cmocka_unit_test(batches_may_come_first),           cmocka_unit_test(strides_of_0_and_below_give_equal_bits),
        cmocka_unit_test(packed_weights_give_equal_bits),   cmocka_unit_test(special_values_pass),
        cmocka_unit_test(functions_have_bounded_errors),    cmocka_unit_test(results_repeat),
        cmocka_unit_test(training_of_an_rnn_has_gradients), cmocka_unit_test(refusals_have_reasons),
        cmocka_unit_test(gaps_between_columns_are_refused),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
