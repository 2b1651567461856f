/* norm.c - random batch, layer, RMS and group normalizations, and their gradients. */
#include "trial.h"

static bp_batch_norm_call batch;
static bp_layer_norm_call layer;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_F16, BP_BF16};

static void add_vector(trial *t, bool present, const char *name, bp_dtype type, int ndim, const int64_t *shape) {
    if (present) {
        add(t, name, type, ndim, shape)->content = POSITIVE;
    } else {
        add_absent(t);
    }
}

static void add_result(trial *t, bool present, const char *name, bp_dtype type, int ndim, const int64_t *shape) {
    if (present) {
        add_output(t, name, type, ndim, shape, 1024);
    } else {
        add_absent(t);
    }
}

/* ---- Batch normalization: the operands are in the order of a plan ---- */

static void make_batch(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM];
    const bp_dtype type = draw_type(s, 4, types), other = is_float(type) && type < BP_F32 && draw(s, 2) ? BP_F32 : type;
    const int ndim = 2 + draw(s, 4);
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, 7);
    }
    batch = (bp_batch_norm_call){.struct_size = sizeof batch,
                                 .pass = (bp_batch_norm_pass)draw(s, 3),
                                 .eps = (double)draw_wild(s, draw(s, 3)) * 0.25 + 1e-3,
                                 .momentum = 0.25 * draw(s, 5)};
    const int64_t *c = &shape[1];
    const bool running = draw(s, 2);
    if (batch.pass == BP_BATCH_NORM_INFERENCE) {
        batch.relu = draw(s, 2);
        add(t, "input", type, ndim, shape)->content = FRACTIONS;
        add_vector(t, draw(s, 2), "weight", other, 1, c);
        add_vector(t, draw(s, 2), "bias", other, 1, c);
        add_vector(t, true, "running_mean", other, 1, c);
        add_vector(t, true, "running_var", other, 1, c);
        add_result(t, true, "output", type, ndim, shape);
    } else if (batch.pass == BP_BATCH_NORM_TRAINING) {
        add(t, "input", type, ndim, shape)->content = FRACTIONS;
        add_vector(t, draw(s, 2), "weight", other, 1, c);
        add_vector(t, draw(s, 2), "bias", other, 1, c);
        add_result(t, true, "output", type, ndim, shape);
        add_result(t, draw(s, 2), "mean", other, 1, c);
        add_result(t, draw(s, 2), "inverse_std", other, 1, c);
        for (int i = 0; i < 2; i++) {
            add_vector(t, running, i == 0 ? "running_mean" : "running_var", other, 1, c);
            t->operand[t->count - 1].written = t->operand[t->count - 1].kept = running;
            t->operand[t->count - 1].tolerance = 1024;
        }
    } else {
        add(t, "output_gradient", type, ndim, shape)->content = FRACTIONS;
        add(t, "input", type, ndim, shape)->content = FRACTIONS;
        add_vector(t, draw(s, 2), "weight", other, 1, c);
        add_vector(t, true, running ? "running_mean" : "mean", other, 1, c);
        add_vector(t, true, running ? "running_var" : "inverse_std", other, 1, c);
        add_result(t, draw(s, 2), "input_gradient", type, ndim, shape);
        add_result(t, draw(s, 2), "weight_gradient", other, 1, c);
        add_result(t, draw(s, 2), "bias_gradient", other, 1, c);
        batch.relu = 0;
        batch.eps = running ? batch.eps : 0;
        batch.momentum = running; /* until the call */
    }
    describe(t, "batch_norm pass %d relu %d eps %g momentum %g", (int)batch.pass, batch.relu, batch.eps,
             batch.momentum);
}

static bp_status call_batch(const trial *t, request what, const bp_options *set, void *made) {
    bp_batch_norm_call c = batch;
    DLTensor *const *x = t->tensor;
    if (c.pass == BP_BATCH_NORM_INFERENCE) {
        c.momentum = 0;
        c.input = x[0], c.weight = x[1], c.bias = x[2], c.running_mean = x[3], c.running_var = x[4], c.output = x[5];
    } else if (c.pass == BP_BATCH_NORM_TRAINING) {
        c.input = x[0], c.weight = x[1], c.bias = x[2], c.output = x[3], c.mean = x[4], c.inverse_std = x[5];
        c.running_mean = x[6], c.running_var = x[7];
    } else {
        const bool running = c.momentum != 0;
        c.momentum = 0;
        c.output_gradient = x[0], c.input = x[1], c.weight = x[2];
        *(running ? &c.running_mean : &c.mean) = x[3];
        *(running ? &c.running_var : &c.inverse_std) = x[4];
        c.input_gradient = x[5], c.weight_gradient = x[6], c.bias_gradient = x[7];
    }
    return what == RUN ? bp_batch_norm_run(set, &c) : request_described(t, what, "batch_norm", &c, set, made);
}

const family family_batch_norm = {"batch_norm", NULL, make_batch, call_batch, NULL, false};

/* ---- Layer, RMS and group normalization ---- */

/* Sets the shapes of weights and of statistics. */
static void row_shapes(source *s, int ndim, const int64_t *shape, int *wide, int64_t *weight, int *deep,
                       int64_t *rows) {
    if (layer.kind == BP_GROUP_NORM) {
        layer.groups = draw_wild(s, shape[1] > 1 && draw(s, 2) ? shape[1] : 1);
        *wide = 1;
        weight[0] = shape[1];
        *deep = 2;
        rows[0] = shape[0];
        rows[1] = layer.groups;
        return;
    }
    *wide = 1 + draw(s, ndim);
    layer.row_ndim = (int32_t)draw_wild(s, *wide);
    memcpy(weight, shape + ndim - *wide, (size_t)*wide * sizeof *shape);
    *deep = ndim - *wide;
    memcpy(rows, shape, (size_t)*deep * sizeof *shape);
}

static void make_layer(trial *t) {
    source *s = &t->source;
    int64_t shape[BP_MAX_NDIM], weight[BP_MAX_NDIM], rows[BP_MAX_NDIM];
    const bp_dtype type = draw_type(s, 4, types), other = is_float(type) && type < BP_F32 && draw(s, 2) ? BP_F32 : type;
    const int ndim = 2 + draw(s, 3);
    int wide, deep;
    for (int d = 0; d < ndim; d++) {
        shape[d] = draw_size(s, d == ndim - 1 ? 40 : 7);
    }
    layer = (bp_layer_norm_call){.struct_size = sizeof layer,
                                 .pass = (bp_layer_norm_pass)draw(s, 2),
                                 .kind = (bp_layer_norm_kind)draw(s, 3),
                                 .eps = 0.25 * draw(s, 3) + 1e-3};
    row_shapes(s, ndim, shape, &wide, weight, &deep, rows);
    const bool rms = layer.kind == BP_RMS_NORM, statistics = draw(s, 2);
    if (layer.pass == BP_LAYER_NORM_FORWARD) {
        add(t, "input", type, ndim, shape)->content = FRACTIONS;
        add_vector(t, draw(s, 2), "weight", other, wide, weight);
        add_vector(t, !rms && draw(s, 2), "bias", other, wide, weight);
        add_result(t, true, "output", type, ndim, shape);
        add_result(t, !rms && draw(s, 2), "mean", other, deep, rows);
        add_result(t, draw(s, 2), "inverse_std", other, deep, rows);
    } else {
        add(t, "output_gradient", type, ndim, shape)->content = FRACTIONS;
        add(t, "input", type, ndim, shape)->content = FRACTIONS;
        add_vector(t, draw(s, 2), "weight", other, wide, weight);
        add_vector(t, statistics && !rms, "mean", other, deep, rows);
        add_vector(t, statistics, "inverse_std", other, deep, rows);
        layer.eps = statistics ? 0 : layer.eps;
        add_result(t, draw(s, 2), "input_gradient", type, ndim, shape);
        add_result(t, draw(s, 2), "weight_gradient", other, wide, weight);
        add_result(t, !rms && draw(s, 2), "bias_gradient", other, wide, weight);
    }
    describe(t, "layer_norm kind %d pass %d dims %d groups %lld eps %g", (int)layer.kind, (int)layer.pass,
             layer.row_ndim, (long long)layer.groups, layer.eps);
}

static bp_status call_layer(const trial *t, request what, const bp_options *set, void *made) {
    bp_layer_norm_call c = layer;
    DLTensor *const *x = t->tensor;
    if (c.pass == BP_LAYER_NORM_FORWARD) {
        c.input = x[0], c.weight = x[1], c.bias = x[2], c.output = x[3], c.mean = x[4], c.inverse_std = x[5];
    } else {
        c.output_gradient = x[0], c.input = x[1], c.weight = x[2], c.mean = x[3], c.inverse_std = x[4];
        c.input_gradient = x[5], c.weight_gradient = x[6], c.bias_gradient = x[7];
    }
    return what == RUN ? bp_layer_norm_run(set, &c) : request_described(t, what, "layer_norm", &c, set, made);
}

const family family_layer_norm = {"layer_norm", NULL, make_layer, call_layer, NULL, false};
