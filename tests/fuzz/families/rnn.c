/* rnn.c - random recurrent layers and their gradients. The content of `reserve` is private to the provider that wrote
 * it, so TRAINING and BACKWARD run on `native`. */
#include "ops/rnn/rnn.h"

#include "trial.h"

#include <stdlib.h>

static bp_rnn_call rnn;
static bp_options *native_only;

/* Returns whether the call has a tensor; `optional` is drawn. */
static bool has(int which, bool projects, bool optional) {
    const bool backward = rnn.pass == BP_RNN_BACKWARD, lstm = rnn.mode == BP_RNN_LSTM;
    switch (which) {
    case BP_RNN_INPUT:
    case BP_RNN_WEIGHT_IH:
    case BP_RNN_WEIGHT_HH:
    case BP_RNN_OUTPUT:
        return true;
    case BP_RNN_WEIGHT_HR:
        return projects;
    case BP_RNN_RESERVE:
        return rnn.pass != BP_RNN_INFERENCE && (lstm || rnn.mode == BP_RNN_GRU);
    case BP_RNN_WEIGHT_HR_GRADIENT:
        return backward && projects && optional;
    case BP_RNN_INITIAL_CELL:
        return lstm && optional;
    case BP_RNN_FINAL_CELL:
        return lstm && !backward && optional;
    case BP_RNN_FINAL_CELL_GRADIENT:
    case BP_RNN_INITIAL_CELL_GRADIENT:
        return lstm && backward && optional;
    case BP_RNN_BIAS_IH:
    case BP_RNN_BIAS_HH:
    case BP_RNN_FINAL_HIDDEN:
        return !backward && optional;
    default:
        return (backward || which < BP_RNN_OUTPUT_GRADIENT) && optional;
    }
}

static bool is_written(int which) {
    return rnn.pass == BP_RNN_BACKWARD ? which >= BP_RNN_INPUT_GRADIENT
                                       : which >= BP_RNN_OUTPUT && which <= BP_RNN_RESERVE;
}

static const char *name_of(int which) {
    for (int pass = BP_RNN_TRAINING; pass <= BP_RNN_BACKWARD; pass++) {
        const bp_rnn_call call = {.pass = (bp_rnn_pass)pass};
        const bp__pass *own = bp__rnn_pass(&call);
        for (int i = 0; i < own->info.operand_count; i++) {
            if (own->operand[i].shape == which) {
                return own->operand[i].info.name;
            }
        }
    }
    return "";
}

static void add_tensor(trial *t, const bp_rnn_call *shapes, int which, int64_t steps) {
    bp_dtype type;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    if (bp_rnn_shape(shapes, (bp_rnn_tensor)which, &type, &ndim, shape) != BP_OK) {
        t->invalid = true;
        return;
    }
    operand *o = add(t, name_of(which), type, ndim, shape);
    o->content = which == BP_RNN_LENGTHS ? INDICES : FRACTIONS;
    o->limit = steps + 1;
    o->written = is_written(which);
    /* Results of 16-bit types are rounded once, from f32; the gradients' output was, too. */
    o->tolerance = type == BP_F16 || type == BP_BF16 ? 64 : 4096;
    o->distinct = which == BP_RNN_OUTPUT || which == BP_RNN_RESERVE;
    if (which == BP_RNN_RESERVE) {
        o->packed = true;
        o->kept = o->written;
        o->tolerance = -1;
    }
}

static void make(trial *t) {
    source *s = &t->source;
    static const bp_dtype types[] = {BP_F64, BP_F32, BP_F16, BP_BF16};
    const bp_dtype type = types[draw(s, 4)];
    rnn = (bp_rnn_call){.struct_size = sizeof rnn, .pass = (bp_rnn_pass)draw(s, 3), .mode = (bp_rnn_mode)draw(s, 4)};
    const int directions = 1 + draw(s, 2);
    rnn.directions = directions;
    rnn.reverse = (int)draw_wild(s, directions == 1 && draw(s, 2));
    rnn.reset_before = (int)draw_wild(s, rnn.mode == BP_RNN_GRU && draw(s, 2));
    const bool lstm = rnn.mode == BP_RNN_LSTM, projects = lstm && draw(s, 2);
    const int64_t steps = draw_size(s, 6), items = draw_size(s, 6), columns = draw_size(s, 20),
                  hidden = draw_size(s, 24), output = projects ? draw_size(s, 16) : hidden,
                  gates = lstm                     ? 4
                          : rnn.mode == BP_RNN_GRU ? 3
                                                   : 1;
    const int64_t sizes[][3] = {{steps, items, columns},
                                {directions, gates * hidden, columns},
                                {directions, gates * hidden, output},
                                {directions, output, hidden}};
    bp_view views[4];
    bp_rnn_call shapes = rnn;
    for (int i = 0; i < 4; i++) {
        t->invalid |= bp_view_init(&views[i], NULL, type, 3, sizes[i], NULL) != BP_OK;
    }
    shapes.input = &views[0].tensor, shapes.weight_ih = &views[1].tensor, shapes.weight_hh = &views[2].tensor;
    shapes.weight_hr = projects ? &views[3].tensor : NULL;
    for (int i = 0; i < BP_RNN_TENSORS && !t->invalid; i++) {
        if (has(i, projects, draw(s, 2))) {
            add_tensor(t, &shapes, i, steps);
        } else {
            add_absent(t);
        }
    }
    int order[BP_RNN_TENSORS];
    const bp__pass *pass = bp__rnn_pass(&rnn);
    for (int i = 0; i < pass->info.operand_count; i++) {
        order[i] = pass->operand[i].shape;
    }
    order_of_plan(t, pass->info.operand_count, order);
    describe(t, "rnn pass %d mode %d directions %d reverse %d reset_before %d", (int)rnn.pass, (int)rnn.mode,
             rnn.directions, rnn.reverse, rnn.reset_before);
}

static void need_options(void) {
    if (!native_only && bp_options_new(&native_only, "dispatch.exclude=onednn") != BP_OK) {
        abort();
    }
}

/* Writes output and reserve, for the gradients. */
static void prepare(const trial *t) {
    bp_rnn_call c = rnn;
    if (c.pass != BP_RNN_BACKWARD) {
        return;
    }
    need_options();
    c.pass = BP_RNN_TRAINING;
    memcpy(&c.input, t->tensor, (BP_RNN_RESERVE + 1) * sizeof *t->tensor);
    bp_rnn_run(native_only, &c);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    bp_rnn_call c = rnn;
    need_options();
    memcpy(&c.input, t->tensor, BP_RNN_TENSORS * sizeof *t->tensor);
    /* The reserve is private to a library, and two are compared, unless the options choose one. */
    const bool any = c.pass == BP_RNN_INFERENCE || (t->pinned && c.pass == BP_RNN_TRAINING);
    const bp_options *own = any ? set : native_only;
    return what == RUN ? bp_rnn_run(own, &c) : request_described(t, what, "rnn", &c, own, made);
}

const family family_rnn = {"rnn", NULL, make, call, prepare, false};
