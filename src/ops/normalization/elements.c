/* elements.c - describes the elements of the operands of normalization. */
#include "ops/normalization/batch_norm.h"

#include "ops/normalization/layer.h"

/* ---- Batch normalization ---- */

static bool add(bp__elements *elements, const bp_batch_norm_problem *p, int64_t channel, const int64_t *stride) {
    elements->exact = true;
    bp__elements_add(elements, p->channels, channel);
    bp__elements_add_all(elements, BP_MAX_NORM_NDIM, p->size, stride);
    return true;
}

bool bp__batch_norm_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    /* The letters of problems.h, in the order of the operands; c: one element for each channel. */
    static const char *const letters[] = {[BP_OP_BATCH_NORM] = "xccccy",
                                          [BP_OP_BATCH_NORM_TRAINING] = "xccycccc",
                                          [BP_OP_BATCH_NORM_BACKWARD] = "yxcccgcc"};
    const bp_batch_norm_problem *p = &problem->of.batch_norm;
    if (!(p->present >> operand & 1)) {
        return false;
    }
    elements->dtype = (bp_dtype)problem->dtype;
    switch (letters[problem->op][operand]) {
    case 'x':
        return add(elements, p, p->x_channel, p->x);
    case 'y':
        return add(elements, p, p->y_channel, p->y);
    case 'g':
        return add(elements, p, p->g_channel, p->g);
    default:
        elements->dtype = (bp_dtype)p->parameters;
        bp__elements_add(elements, p->channels, p->stride[operand]);
        return true;
    }
}

/* ---- Normalization of rows ---- */

bool bp__layer_norm_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    const bool forward = problem->op == BP_OP_LAYER_NORM;
    const bool whole = forward ? operand == 0 || operand == 3 : operand == 0 || operand == 1 || operand == 5;
    const bool rows = forward ? operand > 3 : operand == 3 || operand == 4; /* one element each */
    elements->dtype = (bp_dtype)(whole ? problem->dtype : p->parameters);
    elements->exact = whole;
    if (rows && bp__elements_none(p->row_ndim, p->size)) {
        return false;
    }
    bp__elements_add_all(elements, p->ndim, p->size, p->stride[operand]);
    return p->present >> operand & 1;
}
