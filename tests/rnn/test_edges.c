/* test_edges.c - recurrent layers at their edges: errors of the functions, special values, empty tensors, lengths that
 * equal calls of single items, streams of single steps, packed weights. */
#include "rnn/cases.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const settings[] = {"", "cpu.capability=avx2", "cpu.capability=default"};
enum { SETTINGS = 3 };
static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

static void put_all(test_array *t, double value) {
    for (int64_t i = 0; t->memory && i < test_array_count(t); i++) {
        test_array_set(t, i, value);
    }
}

/* ---- Functions ---- */

/* Runs one step of one unit for many arguments, in steps that reach special ranges, and returns the greatest error in
 * roundings. LSTM: the forget gate of a cell that is 1, whose other addend is 0. */
static double greatest_error(bp_dtype dtype, bp_rnn_mode mode, const char *set) {
    enum { N = 20000 };
    const double u = dtype == BP_F32 ? 0x1p-24 : 0x1p-53;
    double greatest = 0;
    const rnn_shape shape = {.dtype = dtype,
                             .mode = mode,
                             .steps = 1,
                             .batch = N,
                             .input = 1,
                             .hidden = 1,
                             .directions = 1,
                             .states = true,
                             .finals = true,
                             .compact = true};
    rnn_case c;
    rnn_begin(&c, &shape, BP_RNN_INFERENCE);
    put_all(&c.tensor[BP_RNN_WEIGHT_IH], mode == BP_RNN_LSTM ? 0 : 1);
    test_array_set(&c.tensor[BP_RNN_WEIGHT_IH], mode == BP_RNN_LSTM, 1);
    put_all(&c.tensor[BP_RNN_INITIAL_CELL], 1);
    put_all(&c.tensor[BP_RNN_INITIAL_HIDDEN], 0);
    for (int64_t i = 0; i < N; i++) {
        const double size = i % 4 == 0 ? 1e-6 : i % 4 == 1 ? 1 : i % 4 == 2 ? 10 : 85;
        test_array_set(&c.tensor[BP_RNN_INPUT], i, test_array_uniform() * size);
    }
    rnn_run(&c, set);
    for (int64_t i = 0; i < N; i++) {
        const double x = test_array_get(&c.tensor[BP_RNN_INPUT], i);
        const long double want = mode == BP_RNN_LSTM ? 1 / (1 + expl(-(long double)x)) : tanhl((long double)x);
        const double got = test_array_get(&c.tensor[mode == BP_RNN_LSTM ? BP_RNN_FINAL_CELL : BP_RNN_OUTPUT], i);
        const double error = fabs((double)((got - want) / want)) / u;
        greatest = error > greatest ? error : greatest;
    }
    rnn_end(&c);
    return greatest;
}

static void functions_have_the_errors_of_the_header(void **state) {
    (void)state;
    test_array_random = 1;
    for (int i = 0; i < 2 * SETTINGS; i++) {
        const bp_dtype dtype = i % 2 ? BP_F64 : BP_F32;
        const double logistic = greatest_error(dtype, BP_RNN_LSTM, settings[i / 2]),
                     hyperbolic = greatest_error(dtype, BP_RNN_TANH, settings[i / 2]);
        if (!(logistic <= 6) || !(hyperbolic <= 6)) {
            fail_msg("%s, %s: errors of %.3g and %.3g roundings", bp_dtype_name(dtype), settings[i / 2], logistic,
                     hyperbolic);
        }
    }
}

static void large_arguments_saturate(void **state) {
    static const double inputs[] = {-INFINITY, -1e30, -200, 200, 1e30, INFINITY, NAN};
    (void)state;
    for (int i = 0; i < 7 * SETTINGS * 2; i++) {
        const bp_dtype dtype = i % 2 ? BP_F64 : BP_F32;
        const double x = inputs[i / 2 % 7], sign = x < 0 ? -1 : 1;
        for (int cell = 0; cell < RNN_CELLS; cell++) {
            rnn_shape shape = {.dtype = dtype,
                               .steps = 1,
                               .batch = 1,
                               .input = 1,
                               .hidden = 1,
                               .directions = 1,
                               .states = true,
                               .compact = true};
            rnn_case c;
            rnn_set_cell(&shape, cell);
            const bp_rnn_mode mode = shape.mode;
            rnn_begin(&c, &shape, BP_RNN_INFERENCE);
            put_all(&c.tensor[BP_RNN_WEIGHT_IH], 1);
            put_all(&c.tensor[BP_RNN_WEIGHT_HH], 0);
            put_all(&c.tensor[BP_RNN_INPUT], x);
            put_all(&c.tensor[BP_RNN_INITIAL_CELL], 0);
            put_all(&c.tensor[BP_RNN_INITIAL_HIDDEN], 0.5);
            rnn_run(&c, settings[i / 14]);
            const double got = test_array_get(&c.tensor[BP_RNN_OUTPUT], 0);
            const double want = mode == BP_RNN_TANH   ? sign
                                : mode == BP_RNN_RELU ? fmax(test_array_get(&c.tensor[BP_RNN_INPUT], 0), 0)
                                : mode == BP_RNN_GRU  ? (x < 0 ? -1 : 0.5)
                                : x < 0               ? 0
                                                      : 0.76159415595576488812;
            if (isnan(x) ? !isnan(got) : !(got == want || fabs(got - want) < 1e-7)) {
                fail_msg("%s, cell %d, input %g: %.9g, want %.9g", bp_dtype_name(dtype), cell, x, got, want);
            }
            rnn_end(&c);
        }
    }
}

/* ---- Special values ---- */

/* NaN in the input of an item reaches all its later outputs and no other item. */
static void nan_stays_in_its_item(void **state) {
    (void)state;
    test_array_random = 3;
    for (int i = 0; i < RNN_CELLS * SETTINGS; i++) {
        const int cell = i % RNN_CELLS;
        rnn_shape shape = {.dtype = types[i % 7 % 4],
                           .steps = 4,
                           .batch = 7,
                           .input = 5,
                           .hidden = 19,
                           .projection = cell == BP_RNN_LSTM && i > RNN_CELLS ? 3 : 0,
                           .directions = 1,
                           .compact = true};
        rnn_case c;
        rnn_set_cell(&shape, cell);
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        test_array_set(&c.tensor[BP_RNN_INPUT], (1 * 7 + 3) * 5 + 2, NAN); /* step 1, item 3 */
        rnn_run(&c, settings[i / RNN_CELLS]);
        const test_array *output = &c.tensor[BP_RNN_OUTPUT];
        for (int64_t at = 0; at < test_array_count(output); at++) {
            const int64_t columns = output->view.shape[2], item = at / columns % 7, step = at / columns / 7;
            assert_int_equal(isnan(test_array_get(output, at)) != 0, item == 3 && step >= 1);
        }
        rnn_end(&c);
    }
}

/* What is behind the end of an item reaches no result, of neither pass. */
static void ends_of_items_are_not_used(void **state) {
    (void)state;
    test_array_random = 4;
    for (int i = 0; i < 24; i++) {
        rnn_shape shape = rnn_any(types[i % 4]);
        shape.steps = 5;
        shape.batch = shape.batch > 33 ? 33 : shape.batch; /* larger ones have no reference */
        shape.lengths = true;
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        put_all(&c.tensor[BP_RNN_RESERVE], NAN);
        const test_array *lengths = &c.tensor[BP_RNN_LENGTHS];
        for (int64_t at = 0; at < test_array_count(&c.tensor[BP_RNN_INPUT]); at++) {
            const int64_t item = at / shape.input % shape.batch, step = at / shape.input / shape.batch;
            if (step >= (int64_t)test_array_get(lengths, item)) {
                test_array_set(&c.tensor[BP_RNN_INPUT], at, NAN);
            }
        }
        rnn_run(&c, "");
        rnn_compare(&c);
        rnn_turn(&c);
        const int64_t columns = c.tensor[BP_RNN_OUTPUT].view.shape[2];
        for (int64_t at = 0; at < test_array_count(&c.tensor[BP_RNN_OUTPUT]); at++) {
            if (at / columns / shape.batch >= (int64_t)test_array_get(lengths, at / columns % shape.batch)) {
                test_array_set(&c.tensor[BP_RNN_OUTPUT], at, NAN);
                test_array_set(&c.tensor[BP_RNN_OUTPUT_GRADIENT], at, NAN);
            }
        }
        rnn_run(&c, "");
        rnn_compare_gradients(&c);
        for (int t = BP_RNN_INPUT_GRADIENT; t < BP_RNN_TENSORS; t++) {
            for (int64_t at = 0; c.tensor[t].memory && at < test_array_count(&c.tensor[t]); at++) {
                if (isnan(test_array_get(&c.tensor[t], at))) {
                    fail_msg("%s: gradient %d, element %d is NaN", c.text, t, (int)at);
                }
            }
        }
        rnn_end(&c);
    }
}

/* ---- Empty tensors ---- */

static void sizes_may_be_zero(void **state) {
    (void)state;
    test_array_random = 5;
    for (int i = 0; i < 12 * RNN_CELLS; i++) {
        rnn_shape shape = rnn_any(types[i / 3 % 4]);
        rnn_set_cell(&shape, i % RNN_CELLS);
        shape.projection = shape.mode == BP_RNN_LSTM ? shape.projection : 0;
        *(i % 3 == 0 ? &shape.steps : i % 3 == 1 ? &shape.batch : &shape.input) = 0;
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        rnn_run(&c, "");
        rnn_compare(&c);
        rnn_turn(&c);
        put_all(&c.tensor[BP_RNN_WEIGHT_HH_GRADIENT], 9);
        rnn_run(&c, "");
        for (int64_t at = 0; i % 3 < 2 && at < test_array_count(&c.tensor[BP_RNN_WEIGHT_HH_GRADIENT]); at++) {
            assert_true(test_array_get(&c.tensor[BP_RNN_WEIGHT_HH_GRADIENT], at) == 0);
        }
        rnn_end(&c);
    }
}

/* ---- Equal calls ---- */

/* Programs that were built before the struct had reset_before give a size without it. */
static void a_shorter_struct_has_no_newer_fields(void **state) {
    const rnn_shape shape = {
        .mode = BP_RNN_GRU, .dtype = BP_F32, .steps = 2, .batch = 1, .input = 3, .hidden = 4, .directions = 1};
    bp_explanation *e = NULL;
    rnn_case c;
    (void)state;
    assert_int_equal(offsetof(bp_rnn_call, reset_before),
                     offsetof(bp_rnn_call, bias_hh_gradient) + sizeof c.call.bias_hh_gradient);
    rnn_begin(&c, &shape, BP_RNN_INFERENCE);
    c.call.struct_size = offsetof(bp_rnn_call, reset_before);
    c.call.reset_before = 1; /* behind the end */
    assert_int_equal(bp_rnn_explain(&e, NULL, &c.call), BP_OK);
    assert_null(strstr(bp_explanation_text(e), "reset before"));
    bp_explanation_release(e);
    c.call.struct_size = sizeof c.call;
    assert_int_equal(bp_rnn_explain(&e, NULL, &c.call), BP_OK);
    assert_non_null(strstr(bp_explanation_text(e), "reset before"));
    bp_explanation_release(e);
    rnn_end(&c);
}

/* Returns the offset of a tensor's first element of an index in dimension d. */
static void select_index(DLTensor *tensor, int d, int64_t index) {
    tensor->byte_offset += (uint64_t)(index * tensor->strides[d] * (tensor->dtype.bits / 8));
    tensor->shape[d] = 1;
}

/* T calls of one step, each with the final states of the one before, have the results of one call. Bits are equal,
 * because a sum does not depend on the number of rows. */
static void single_steps_equal_one_call(void **state) {
    (void)state;
    test_array_random = 6;
    for (int i = 0; i < 4 * RNN_CELLS; i++) {
        const int cell = i / 2 % RNN_CELLS;
        rnn_shape shape = {.dtype = i % 2 ? BP_F64 : BP_F32,
                           .steps = 6,
                           .batch = i < 2 * RNN_CELLS ? 1 : 5,
                           .input = 9,
                           .hidden = i % 3 ? 37 : 600, /* a sum of 600 terms has several blocks */
                           .projection = cell == BP_RNN_LSTM && i > 2 * RNN_CELLS ? 11 : 0,
                           .directions = 1,
                           .bias_ih = true,
                           .bias_hh = true,
                           .states = true,
                           .finals = true,
                           .compact = true};
        rnn_case c;
        rnn_set_cell(&shape, cell);
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        rnn_run(&c, "");
        const size_t bytes = (size_t)test_array_count(&c.tensor[BP_RNN_OUTPUT]) * bp_dtype_size(shape.dtype);
        char *kept = malloc(bytes);
        assert_non_null(kept);
        memcpy(kept, c.tensor[BP_RNN_OUTPUT].memory, bytes);
        memset(c.tensor[BP_RNN_OUTPUT].memory, 0, bytes);
        for (int64_t t = 0; t < shape.steps; t++) {
            bp_view input, output;
            assert_int_equal(bp_view_init(&input, c.tensor[BP_RNN_INPUT].memory, shape.dtype, 3,
                                          c.tensor[BP_RNN_INPUT].view.shape, c.tensor[BP_RNN_INPUT].view.strides),
                             BP_OK);
            assert_int_equal(bp_view_init(&output, c.tensor[BP_RNN_OUTPUT].memory, shape.dtype, 3,
                                          c.tensor[BP_RNN_OUTPUT].view.shape, c.tensor[BP_RNN_OUTPUT].view.strides),
                             BP_OK);
            select_index(&input.tensor, 0, t);
            select_index(&output.tensor, 0, t);
            bp_rnn_call call = c.call;
            call.input = &input.tensor;
            call.output = &output.tensor;
            assert_int_equal(bp_rnn_run(NULL, &call), BP_OK);
            for (int which = 0; which < 2; which++) {
                test_array *from = &c.tensor[BP_RNN_FINAL_HIDDEN + which],
                           *to = &c.tensor[BP_RNN_INITIAL_HIDDEN + which];
                for (int64_t at = 0; from->memory && at < test_array_count(from); at++) {
                    test_array_set(to, at, test_array_get(from, at));
                }
            }
        }
        assert_memory_equal(kept, c.tensor[BP_RNN_OUTPUT].memory, bytes);
        free(kept);
        rnn_end(&c);
    }
}

/* A call with packed weights has the bits of one without. */
static void packed_weights_do_not_change_bits(void **state) {
    (void)state;
    test_array_random = 7;
    for (int i = 0; i < 60; i++) {
        rnn_shape shape = rnn_any(types[i % 4]);
        shape.steps = shape.steps > 0 ? shape.steps : 1;
        shape.input = i % 5 ? shape.input : 150; /* a product that packs its operand */
        shape.hidden += i % 7 ? 2 : 520;
        rnn_case c;
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        rnn_run(&c, "");
        const size_t bytes = (size_t)c.tensor[BP_RNN_OUTPUT].all * bp_dtype_size(shape.dtype);
        char *kept = malloc(bytes);
        assert_non_null(kept);
        memcpy(kept, c.tensor[BP_RNN_OUTPUT].memory, bytes);
        put_all(&c.tensor[BP_RNN_OUTPUT], 5);
        bp_plan *plan;
        assert_int_equal(bp_rnn_plan(&plan, NULL, &c.call), BP_OK);
        bp_operand operands[BP_RNN_RESERVE + 1] = {{NULL, 0}};
        const bp_packed *packed[BP_RNN_RESERVE + 1] = {NULL};
        for (int t = 0; t <= BP_RNN_RESERVE; t++) {
            operands[t].base = c.tensor[t].memory;
        }
        for (int t = BP_RNN_WEIGHT_IH; t <= BP_RNN_WEIGHT_HR; t++) {
            bp_packed *one = NULL;
            if (c.tensor[t].memory) {
                assert_int_equal(bp_plan_pack(&one, plan, t, &operands[t]), BP_OK);
                operands[t].base = NULL;
            }
            packed[t] = one;
        }
        const bp_exec exec = {.struct_size = sizeof exec, .packed = packed};
        assert_int_equal(bp_execute(plan, operands, &exec), BP_OK);
        assert_memory_equal(kept, c.tensor[BP_RNN_OUTPUT].memory, bytes);
        for (int t = BP_RNN_WEIGHT_IH; t <= BP_RNN_WEIGHT_HR; t++) {
            bp_packed_release((bp_packed *)(uintptr_t)packed[t]);
        }
        bp_plan_release(plan);
        free(kept);
        rnn_end(&c);
    }
}

/* An item's results do not depend on the other items, nor on how many there are. */
static void batch_does_not_change_bits(void **state) {
    (void)state;
    test_array_random = 8;
    for (int i = 0; i < 4 * RNN_CELLS; i++) {
        rnn_shape shape = {.dtype = i % 2 ? BP_F64 : BP_F32,
                           .steps = 3,
                           .batch = 110,
                           .input = 17,
                           .hidden = 23,
                           .directions = 1 + i / (2 * RNN_CELLS),
                           .bias_hh = true,
                           .compact = true};
        rnn_case c;
        rnn_set_cell(&shape, i / 2 % RNN_CELLS);
        rnn_begin(&c, &shape, BP_RNN_INFERENCE);
        rnn_run(&c, "");
        test_array *output = &c.tensor[BP_RNN_OUTPUT];
        double kept[3 * 46];
        const int64_t columns = output->view.shape[2], item = 107;
        for (int64_t at = 0; at < 3 * columns; at++) {
            kept[at] = test_array_get(output, (at / columns * 110 + item) * columns + at % columns);
        }
        select_index(&c.tensor[BP_RNN_INPUT].view.tensor, 1, item);
        select_index(&output->view.tensor, 1, item);
        rnn_run(&c, "");
        for (int64_t at = 0; at < 3 * columns; at++) {
            const int64_t place = at / columns * output->view.strides[0] + item * columns + at % columns;
            const double got = shape.dtype == BP_F64 ? ((const double *)(const void *)output->memory)[place]
                                                     : (double)((const float *)(const void *)output->memory)[place];
            assert_true(got == kept[at]);
        }
        rnn_end(&c);
    }
}

/* ---- Last strides of 0 and below ---- */

/* The tensors of a call, each in memory of its own whose last stride is -1, or 0 for the input if `repeats`. */
typedef struct turned {
    bp_rnn_call call;
    bp_view view[BP_RNN_TENSORS], compact[BP_RNN_TENSORS];
    char *memory[BP_RNN_TENSORS], *result[BP_RNN_TENSORS];
} turned;

static const DLTensor **place_in(bp_rnn_call *call, int which) {
    return (const DLTensor **)(void *)((char *)call + offsetof(bp_rnn_call, input)) + which;
}

static void turn_tensor(turned *t, const rnn_case *c, int which, bool repeats) {
    const DLTensor *from = *place_in((bp_rnn_call *)(uintptr_t)&c->call, which);
    int64_t strides[BP_MAX_NDIM], step = 1;
    if (!from || which == BP_RNN_RESERVE) {
        return;
    }
    const bp_dtype dtype = bp_dtype_from_dlpack(from->dtype);
    const size_t item = bp_dtype_size(dtype);
    for (int d = from->ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step *= from->shape[d];
    }
    const int64_t last = from->shape[from->ndim - 1];
    t->memory[which] = calloc((size_t)step, item);
    t->result[which] = calloc((size_t)step, item);
    assert_int_equal(bp_view_init(&t->compact[which], t->result[which], dtype, from->ndim, from->shape, NULL), BP_OK);
    strides[from->ndim - 1] = repeats && which == BP_RNN_INPUT ? 0 : -1;
    char *first = t->memory[which] + (strides[from->ndim - 1] < 0 ? (size_t)(last - 1) * item : 0);
    assert_int_equal(bp_view_init(&t->view[which], first, dtype, from->ndim, from->shape, strides), BP_OK);
    if (strides[from->ndim - 1] != 0) {
        assert_int_equal(bp_tensor_copy(&t->view[which].tensor, from), BP_OK);
    }
    *place_in(&t->call, which) = &t->view[which].tensor;
}

/* Compares what the call wrote with the case's tensor, bit by bit. */
static void compare_turned(turned *t, const rnn_case *c, int which) {
    const DLTensor *want = *place_in((bp_rnn_call *)(uintptr_t)&c->call, which);
    if (!t->memory[which]) {
        return;
    }
    bp_view expected;
    const size_t bytes = (size_t)test_array_count(&c->tensor[which]) * bp_dtype_size(c->tensor[which].dtype);
    char *copy = calloc(bytes + 1, 1);
    assert_int_equal(bp_view_init(&expected, copy, c->tensor[which].dtype, want->ndim, want->shape, NULL), BP_OK);
    assert_int_equal(bp_tensor_copy(&expected.tensor, want), BP_OK);
    assert_int_equal(bp_tensor_copy(&t->compact[which].tensor, &t->view[which].tensor), BP_OK);
    if (memcmp(copy, t->result[which], bytes) != 0) {
        fail_msg("%s: tensor %d differs if last strides are -1", c->text, which);
    }
    free(copy);
}

static void compare_with_turned(const rnn_case *c) {
    turned t = {.call = c->call};
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        turn_tensor(&t, c, which, false);
    }
    assert_int_equal(bp_rnn_run(NULL, &t.call), BP_OK);
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        compare_turned(&t, c, which);
        free(t.memory[which]);
        free(t.result[which]);
    }
}

static void last_strides_may_be_negative(void **state) {
    (void)state;
    test_array_random = 77;
    for (int i = 0; i < 60; i++) {
        rnn_shape shape = rnn_any(types[i % 4]);
        rnn_case c;
        shape.lengths = false;
        shape.steps = shape.steps > 0 ? shape.steps : 2;
        shape.batch = shape.batch > 3 ? 3 : shape.batch;
        rnn_begin(&c, &shape, BP_RNN_TRAINING);
        rnn_run(&c, "");
        compare_with_turned(&c);
        rnn_turn(&c);
        rnn_run(&c, "");
        compare_with_turned(&c);
        rnn_end(&c);
    }
}

static void a_last_stride_of_0_repeats_a_column(void **state) {
    const rnn_shape shape = {.dtype = BP_F32,
                             .mode = BP_RNN_GRU,
                             .steps = 4,
                             .batch = 1,
                             .input = 7,
                             .hidden = 5,
                             .directions = 1,
                             .compact = true};
    (void)state;
    rnn_case c;
    rnn_begin(&c, &shape, BP_RNN_INFERENCE);
    for (int64_t i = 0; i < test_array_count(&c.tensor[BP_RNN_INPUT]); i++) {
        test_array_set(&c.tensor[BP_RNN_INPUT], i, 0.25 * (double)(i / shape.input));
    }
    rnn_run(&c, "");
    turned t = {.call = c.call};
    turn_tensor(&t, &c, BP_RNN_INPUT, true);
    for (int64_t step = 0; step < shape.steps; step++) {
        const float x = 0.25f * (float)step;
        memcpy(t.memory[BP_RNN_INPUT] + step * shape.input * 4, &x, sizeof x);
    }
    turn_tensor(&t, &c, BP_RNN_OUTPUT, true);
    assert_int_equal(bp_rnn_run(NULL, &t.call), BP_OK);
    compare_turned(&t, &c, BP_RNN_OUTPUT);
    for (int which = 0; which < BP_RNN_TENSORS; which++) {
        free(t.memory[which]);
        free(t.result[which]);
    }
    rnn_end(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_have_the_errors_of_the_header),
        cmocka_unit_test(large_arguments_saturate),
        cmocka_unit_test(nan_stays_in_its_item),
        cmocka_unit_test(ends_of_items_are_not_used),
        cmocka_unit_test(sizes_may_be_zero),
        cmocka_unit_test(a_shorter_struct_has_no_newer_fields),
        cmocka_unit_test(single_steps_equal_one_call),
        cmocka_unit_test(packed_weights_do_not_change_bits),
        cmocka_unit_test(batch_does_not_change_bits),
        cmocka_unit_test(last_strides_may_be_negative),
        cmocka_unit_test(a_last_stride_of_0_repeats_a_column),
    };
    return cmocka_run_group_tests(tests, rnn_on_native, NULL);
}
