/* support_cases.c - makes random calls of recurrent layers. */
#include "rnn/cases.h"
#include "support/options.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool chance(int64_t one_in) {
    return test_array_between(1, one_in) == 1;
}

void rnn_set_cell(rnn_shape *shape, int cell) {
    shape->mode = (bp_rnn_mode)(cell > BP_RNN_GRU ? BP_RNN_GRU : cell);
    shape->reset_before = cell > BP_RNN_GRU;
}

rnn_shape rnn_any(bp_dtype dtype) {
    static const int64_t steps[] = {1, 2, 7, 3, 0}, batches[] = {1, 3, 33, 2, 100}, sizes[] = {1, 2, 5, 16, 17, 31, 40};
    rnn_shape s = {.dtype = dtype,
                   .steps = steps[test_array_between(0, 4)],
                   .batch = batches[test_array_between(0, chance(3) ? 4 : 2)],
                   .input = sizes[test_array_between(0, 6)],
                   .hidden = chance(6) ? test_array_between(60, 70) : sizes[test_array_between(0, 6)],
                   .directions = (int)test_array_between(1, 2),
                   .bias_ih = !chance(3),
                   .bias_hh = !chance(3),
                   .states = !chance(3),
                   .finals = !chance(4),
                   .lengths = chance(3),
                   .compact = chance(2)};
    rnn_set_cell(&s, (int)test_array_between(0, RNN_CELLS - 1));
    s.reverse = s.directions == 1 && chance(3);
    s.omit = s.directions == 1 && chance(2);
    s.projection = s.mode == BP_RNN_LSTM && chance(2) ? test_array_between(1, s.hidden + 2) : 0;
    return s;
}

static test_layout layout_of(const rnn_case *c) {
    return c->shape.compact ? TEST_COMPACT : TEST_SCATTERED;
}

static void make(rnn_case *c, bp_rnn_tensor which, double scale) {
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    assert_int_equal(bp_rnn_shape(&c->call, which, &dtype, &ndim, shape), BP_OK);
    const bool plain = which == BP_RNN_INPUT || which == BP_RNN_INPUT_GRADIENT || which == BP_RNN_OUTPUT ||
                       which == BP_RNN_OUTPUT_GRADIENT || which == BP_RNN_LENGTHS;
    const int omitted = c->shape.omit && !plain;
    test_array_make(&c->tensor[which], dtype, ndim - omitted, shape + omitted,
                    which == BP_RNN_RESERVE ? TEST_COMPACT : layout_of(c));
    if (scale > 0) {
        test_array_fill(&c->tensor[which], scale);
    }
}

/* Sets the tensors of the call, which are in the order of the list, to the tensors of the case. BACKWARD has no biases.
 */
static void connect(rnn_case *c) {
    for (int i = 0; i < BP_RNN_TENSORS; i++) {
        const bool absent = c->call.pass == BP_RNN_BACKWARD && (i == BP_RNN_BIAS_IH || i == BP_RNN_BIAS_HH);
        const DLTensor *tensor = c->tensor[i].memory && !absent ? &c->tensor[i].view.tensor : NULL;
        memcpy((char *)&c->call + offsetof(bp_rnn_call, input) + (size_t)i * sizeof tensor, &tensor, sizeof tensor);
    }
}

/* Makes the tensors that bp_rnn_shape() reads. */
static void make_sizes(rnn_case *c) {
    static const int64_t gates[] = {1, 1, 4, 3};
    const rnn_shape *s = &c->shape;
    const int64_t rows = gates[s->mode] * s->hidden, columns = s->projection ? s->projection : s->hidden;
    const int omitted = s->omit;
    test_array_make(&c->tensor[BP_RNN_INPUT], s->dtype, 3, (const int64_t[]){s->steps, s->batch, s->input},
                    layout_of(c));
    test_array_make(&c->tensor[BP_RNN_WEIGHT_IH], s->dtype, 3 - omitted,
                    (const int64_t[]){s->directions, rows, s->input} + omitted, layout_of(c));
    test_array_make(&c->tensor[BP_RNN_WEIGHT_HH], s->dtype, 3 - omitted,
                    (const int64_t[]){s->directions, rows, columns} + omitted, layout_of(c));
    if (s->projection) {
        test_array_make(&c->tensor[BP_RNN_WEIGHT_HR], s->dtype, 3 - omitted,
                        (const int64_t[]){s->directions, columns, s->hidden} + omitted, layout_of(c));
        test_array_fill(&c->tensor[BP_RNN_WEIGHT_HR], 0.5);
    }
    test_array_fill(&c->tensor[BP_RNN_INPUT], 1.5);
    test_array_fill(&c->tensor[BP_RNN_WEIGHT_IH], 0.6);
    test_array_fill(&c->tensor[BP_RNN_WEIGHT_HH], s->hidden > 8 ? 0.25 : 0.7);
}

void rnn_begin(rnn_case *c, const rnn_shape *shape, bp_rnn_pass pass) {
    memset(c, 0, sizeof *c);
    c->shape = *shape;
    const rnn_shape *s = &c->shape;
    const bool lstm = s->mode == BP_RNN_LSTM;
    c->call = (bp_rnn_call){.struct_size = sizeof c->call,
                            .pass = pass,
                            .mode = s->mode,
                            .directions = s->directions,
                            .reverse = s->reverse,
                            .reset_before = s->reset_before};
    make_sizes(c);
    connect(c);
    if (s->bias_ih) {
        make(c, BP_RNN_BIAS_IH, 0.5);
    }
    if (s->bias_hh) {
        make(c, BP_RNN_BIAS_HH, 0.5);
    }
    if (s->states) {
        make(c, BP_RNN_INITIAL_HIDDEN, 1);
    }
    if (s->states && lstm) {
        make(c, BP_RNN_INITIAL_CELL, 1);
    }
    if (s->lengths) {
        make(c, BP_RNN_LENGTHS, 0);
        for (int64_t n = 0; n < s->batch; n++) {
            test_array_set_i64(&c->tensor[BP_RNN_LENGTHS], n, test_array_between(0, s->steps));
        }
    }
    make(c, BP_RNN_OUTPUT, 0);
    if (s->finals) {
        make(c, BP_RNN_FINAL_HIDDEN, 0);
    }
    if (s->finals && lstm) {
        make(c, BP_RNN_FINAL_CELL, 0);
    }
    if (pass == BP_RNN_TRAINING) {
        make(c, BP_RNN_RESERVE, 0);
    }
    connect(c);
    snprintf(c->text, sizeof c->text,
             "%s mode %d%s T%" PRId64 " N%" PRId64 " I%" PRId64 " H%" PRId64 " P%" PRId64 " D%d%s%s%s%s%s%s%s%s",
             bp_dtype_name(s->dtype), (int)s->mode, s->reset_before ? " reset_before" : "", s->steps, s->batch,
             s->input, s->hidden, s->projection, s->directions, s->reverse ? " reverse" : "",
             s->bias_ih ? " bias_ih" : "", s->bias_hh ? " bias_hh" : "", s->states ? " states" : "",
             s->finals ? " finals" : "", s->lengths ? " lengths" : "", s->omit ? " omit" : "",
             s->compact ? " compact" : "");
}

void rnn_turn(rnn_case *c) {
    const bool lstm = c->shape.mode == BP_RNN_LSTM;
    c->call.pass = BP_RNN_BACKWARD;
    test_array_free(&c->tensor[BP_RNN_FINAL_HIDDEN]);
    test_array_free(&c->tensor[BP_RNN_FINAL_CELL]);
    connect(c);
    make(c, BP_RNN_OUTPUT_GRADIENT, 1);
    if (c->shape.finals) {
        make(c, BP_RNN_FINAL_HIDDEN_GRADIENT, 1);
    }
    if (c->shape.finals && lstm) {
        make(c, BP_RNN_FINAL_CELL_GRADIENT, 1);
    }
    for (int i = BP_RNN_INPUT_GRADIENT; i < BP_RNN_TENSORS; i++) {
        const bool absent =
            (i == BP_RNN_INITIAL_CELL_GRADIENT && !lstm) || (i == BP_RNN_WEIGHT_HR_GRADIENT && !c->shape.projection);
        if (!absent) {
            make(c, (bp_rnn_tensor)i, 0);
        }
    }
    connect(c);
}

void rnn_end(rnn_case *c) {
    for (int i = 0; i < BP_RNN_TENSORS; i++) {
        test_array_free(&c->tensor[i]);
    }
}

int rnn_on_native(void **state) {
    (void)state;
    return bp_set("dispatch.exclude", "onednn") != BP_OK;
}

void rnn_run(const rnn_case *c, const char *settings) {
    bp_options *options = test_options(settings);
    const bp_status status = bp_rnn_run(options, &c->call);
    if (status != BP_OK) {
        fail_msg("%s with %s: %s", c->text, settings, bp_last_error());
    }
    bp_options_release(options);
}
