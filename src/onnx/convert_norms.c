/* convert_norms.c - adds normalization and softmax. */
#include "onnx/read.h"

#include <inttypes.h>
#include <string.h>

/* ---- Batches ---- */

/* Statistics of f16 and bf16 may be f32, then all parameters are; else they have the type of the input. */
static bp_status parameters_of(bp__onnx *r, int first, int count, bp__onnx_value **parameters) {
    const bp_dtype dtype = r->inputs[0]->dtype;
    bool wide = false;
    for (int i = 0; i < count; i++) {
        parameters[i] = bp__onnx_input(r, first + i);
        wide |= parameters[i] && parameters[i]->dtype == BP_F32;
    }
    const bp_dtype wanted = wide && (dtype == BP_F16 || dtype == BP_BF16) ? BP_F32 : dtype;
    for (int i = 0; i < count; i++) {
        if (parameters[i]) {
            BP__TRY(bp__onnx_cast(r, parameters[i], wanted, &parameters[i]));
        }
    }
    return BP_OK;
}

/* The call has Relu of its output, and no other function. */
static bool next_is_relu(const bp__onnx *r) {
    bp__onnx_chain chain;
    bp__onnx_chain_begin(r, &chain);
    return bp__onnx_chain_is(r, &chain, "Relu") && bp__onnx_chain_activation(r, &chain);
}

bp_status bp__onnx_convert_batch_norm(bp__onnx *r, const bp__onnx_row *row) {
    bool training;
    double eps, momentum;
    bp__onnx_value *operands[5] = {r->inputs[0]};
    (void)row;
    BP__TRY(bp__onnx_attribute_real(r, "epsilon", (double)1e-5f, &eps));
    BP__TRY(bp__onnx_attribute_real(r, "momentum", 0.9, &momentum)); /* of training */
    BP__TRY(bp__onnx_attribute_flag(r, "training_mode", false, &training));
    if (training) {
        return bp__fail(BP_E_UNSUPPORTED, "it is in training; export the model for inference");
    }
    BP__TRY(parameters_of(r, 1, 4, operands + 1));
    return bp__onnx_call_one(r, "batch_norm", 5, operands, &r->results[0], "eps=%a, relu=%s", eps,
                             next_is_relu(r) ? "true" : "false");
}

/* ---- Rows ---- */

static bool is_row(const bp__onnx_value *x, const bp__onnx_value *parameter, int ndim) {
    return parameter->ndim == ndim &&
           memcmp(parameter->shape, x->shape + x->ndim - ndim, (size_t)ndim * sizeof *x->shape) == 0;
}

/* Adds normalization of rows. Parameters that are no rows broadcast to them, and are applied afterwards. */
static bp_status normalize(bp__onnx *r, const char *kind, int row_ndim, double eps, bp__onnx_value **statistics) {
    bp__onnx_value *operands[3] = {r->inputs[0]}, *parameters[2], *y;
    const bool both = bp__onnx_is_wanted(r, 1) || bp__onnx_is_wanted(r, 2);
    BP__TRY(parameters_of(r, 1, 2, parameters));
    bool rows = true;
    for (int i = 0; i < 2; i++) {
        rows &= !parameters[i] || is_row(r->inputs[0], parameters[i], row_ndim);
    }
    for (int i = 0; i < 2 && rows; i++) {
        operands[i + 1] = parameters[i];
    }
    BP__TRY(bp__onnx_call(r, "layer_norm", 3, operands, 3,
                          (bp__onnx_value * *const[]){&y, both ? &statistics[0] : NULL, both ? &statistics[1] : NULL},
                          "kind=%s, row_ndim=%d, eps=%a", kind, row_ndim, eps));
    for (int i = 0; i < 2 && !rows; i++) {
        if (parameters[i]) {
            BP__TRY(bp__onnx_cast(r, parameters[i], y->dtype, &parameters[i]));
            BP__TRY(bp__onnx_binary(r, i ? "add" : "multiply", y, parameters[i], &y));
        }
    }
    r->results[0] = y;
    return BP_OK;
}

static bp_status read_stash(bp__onnx *r) {
    int64_t type;
    BP__TRY(bp__onnx_attribute_int(r, "stash_type", 1, &type));
    return type == 1 ? BP_OK
                     : bp__fail(BP_E_UNSUPPORTED, "attribute 'stash_type' is %" PRId64 "; it must be 1 (f32)", type);
}

bp_status bp__onnx_convert_layer_norm(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    double eps;
    bp__onnx_value *x = r->inputs[0], *statistics[2] = {NULL, NULL};
    int64_t shape[BP_MAX_NDIM];
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", -1, x->ndim, &axis));
    BP__TRY(bp__onnx_attribute_real(r, "epsilon", (double)1e-5f, &eps));
    BP__TRY(read_stash(r));
    BP__TRY(normalize(r, "layer", x->ndim - axis, eps, statistics));
    for (int d = 0; d < x->ndim; d++) {
        shape[d] = d < axis ? x->shape[d] : 1;
    }
    for (int i = 0; i < 2; i++) {
        if (bp__onnx_is_wanted(r, i + 1)) {
            BP__TRY(bp__onnx_reshape(r, statistics[i], x->ndim, shape, &r->results[i + 1]));
            BP__TRY(bp__onnx_cast(r, r->results[i + 1], BP_F32, &r->results[i + 1]));
        }
    }
    return BP_OK;
}

bp_status bp__onnx_convert_rms_norm(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    double eps;
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", -1, r->inputs[0]->ndim, &axis));
    BP__TRY(bp__onnx_attribute_real(r, "epsilon", (double)1e-5f, &eps));
    BP__TRY(read_stash(r));
    return normalize(r, "rms", r->inputs[0]->ndim - axis, eps, NULL);
}

/* ---- Groups of channels ---- */

/* Gives each channel the parameter of its group. */
static bp_status spread_groups(bp__onnx *r, int64_t groups, bp__onnx_value **parameter) {
    bp__onnx_value *view;
    const int64_t channels = r->inputs[0]->ndim > 1 ? r->inputs[0]->shape[1] : 0;
    if (groups < 1 || channels % groups != 0 || bp__onnx_count(*parameter) != groups) {
        return bp__fail(BP_E_SHAPE,
                        "a parameter has not an element for each of %" PRId64 " groups of %" PRId64 " channels", groups,
                        channels);
    }
    BP__TRY(bp__onnx_reshape(r, *parameter, 2, (int64_t[]){groups, 1}, &view));
    BP__TRY(bp__onnx_expand(r, view, 2, (int64_t[]){groups, channels / groups}, &view));
    return bp__onnx_reshape(r, view, 1, &channels, parameter);
}

/* `spreads`: the parameters are of groups, not of channels. */
static bp_status normalize_groups(bp__onnx *r, int64_t groups, double eps, bool spreads) {
    bp__onnx_value *operands[3] = {r->inputs[0]};
    BP__TRY(parameters_of(r, 1, 2, operands + 1));
    for (int i = 1; i < 3 && spreads; i++) {
        BP__TRY(spread_groups(r, groups, &operands[i]));
    }
    return bp__onnx_call_one(r, "layer_norm", 3, operands, &r->results[0], "kind=group, groups=%" PRId64 ", eps=%a",
                             groups, eps);
}

bp_status bp__onnx_convert_group_norm(bp__onnx *r, const bp__onnx_row *row) {
    int64_t groups;
    double eps;
    BP__TRY(bp__onnx_attribute_int(r, "num_groups", 0, &groups));
    BP__TRY(bp__onnx_attribute_real(r, "epsilon", (double)1e-5f, &eps));
    BP__TRY(read_stash(r));
    return normalize_groups(r, groups, eps, row->fields != NULL);
}

bp_status bp__onnx_convert_instance_norm(bp__onnx *r, const bp__onnx_row *row) {
    double eps;
    (void)row;
    BP__TRY(bp__onnx_attribute_real(r, "epsilon", (double)1e-5f, &eps));
    if (r->inputs[0]->ndim < 3) {
        return bp__fail(BP_E_SHAPE, "its input has %d dimensions; it must have three or more", r->inputs[0]->ndim);
    }
    return normalize_groups(r, r->inputs[0]->shape[1], eps, false);
}

/* ---- Norms of vectors ---- */

bp_status bp__onnx_convert_lp_norm(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    int64_t order;
    bp__onnx_value *x = r->inputs[0], *norm, *is_zero, *one;
    (void)row;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", -1, x->ndim, &axis));
    BP__TRY(bp__onnx_attribute_int(r, "p", 2, &order));
    if (order != 1 && order != 2) {
        return bp__fail(BP_E_FORMAT, "attribute 'p' is %" PRId64 "; it must be 1 or 2", order);
    }
    BP__TRY(order == 1 ? bp__onnx_unary(r, "abs", x, &norm) : bp__onnx_binary(r, "multiply", x, x, &norm));
    BP__TRY(bp__onnx_reduce(r, "sum", norm, 1, &axis, true, &norm));
    if (order == 2) {
        BP__TRY(bp__onnx_unary(r, "sqrt", norm, &norm));
    }
    BP__TRY(bp__onnx_binary_with(r, "equal", norm, 0, &is_zero)); /* vectors of zeros stay what they are */
    BP__TRY(bp__onnx_scalar(r, 1, x->dtype, &one));
    BP__TRY(bp__onnx_where(r, is_zero, one, norm, &norm));
    return bp__onnx_binary(r, "divide", x, norm, &r->results[0]);
}

/* (x - mean) / (standard deviation + 1e-9), as the standard's function has it. */
bp_status bp__onnx_convert_mvn(bp__onnx *r, const bp__onnx_row *row) {
    static const int64_t usual[] = {0, 2, 3};
    int count, axes[BP_MAX_NDIM];
    const int64_t *given;
    int64_t wide[BP_MAX_NDIM];
    bp__onnx_list list;
    bp__onnx_value *x = r->inputs[0], *mean, *deviation, *spread;
    (void)row;
    BP__TRY(bp__onnx_attribute_ints(r, "axes", -1, &count, &given));
    count = given ? count : BP__COUNT(usual);
    if (count < 1 || count > x->ndim) {
        return bp__fail(BP_E_FORMAT, "there are %d axes, of %d dimensions", count, x->ndim);
    }
    for (int i = 0; i < count; i++) {
        BP__TRY(bp__onnx_axis(given ? given[i] : usual[i], x->ndim, &axes[i]));
        wide[i] = axes[i];
    }
    BP__TRY(bp__onnx_reduce(r, "mean", x, count, axes, true, &mean));
    BP__TRY(bp__onnx_call_one(r, "variance", 1, &x, &spread, "kind=std, keep=true, correction=0, axes=%s",
                              bp__onnx_list_of(count, wide, &list)));
    BP__TRY(bp__onnx_binary(r, "subtract", x, mean, &deviation));
    BP__TRY(bp__onnx_binary_with(r, "add", spread, 1e-9, &spread));
    return bp__onnx_binary(r, "divide", deviation, spread, &r->results[0]);
}

/* ---- Softmax: before opset 13, of rows that are all dimensions from the axis on ---- */

bp_status bp__onnx_convert_softmax(bp__onnx *r, const bp__onnx_row *row) {
    int axis;
    int64_t rows = 1, columns = 1;
    const bool joins = row->fields != NULL;
    bp__onnx_value *x = r->inputs[0], *made;
    BP__TRY(bp__onnx_attribute_axis(r, "axis", joins ? 1 : -1, x->ndim, &axis));
    if (!joins) {
        return bp__onnx_call_one(r, "softmax", 1, &x, &r->results[0], "kind=%s, axis=%d", row->call, axis);
    }
    for (int d = 0; d < x->ndim; d++) {
        *(d < axis ? &rows : &columns) *= x->shape[d];
    }
    BP__TRY(bp__onnx_reshape(r, x, 2, (int64_t[]){rows, columns}, &made));
    BP__TRY(bp__onnx_call_one(r, "softmax", 1, &made, &made, "kind=%s, axis=1", row->call));
    return bp__onnx_reshape(r, made, x->ndim, x->shape, &r->results[0]);
}
