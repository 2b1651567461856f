/* elements.c - describes the elements of the operands of convolutions. */
#include "ops/conv/conv.h"

static bool add_image(bp__elements *elements, const bp_conv_problem *c, bool x) {
    bp__elements_add(elements, c->batch, x ? c->x_batch : c->y_batch);
    bp__elements_add(elements, c->groups * (x ? c->in_channels : c->out_channels), x ? c->x_channel : c->y_channel);
    bp__elements_add_all(elements, BP_MAX_CONV_NDIM, x ? c->in : c->out, x ? c->x : c->y);
    return true;
}

static bool add_weight(bp__elements *elements, const bp_conv_problem *c) {
    bp__elements_add(elements, c->groups * c->out_channels, c->w_out);
    bp__elements_add(elements, c->in_channels, c->w_in);
    bp__elements_add_all(elements, BP_MAX_CONV_NDIM, c->kernel, c->w);
    return true;
}

/* The bias belongs to the channels of an image. */
static bool add_bias(bp__elements *elements, const bp_conv_problem *c, bool x) {
    bp__elements_add(elements, c->groups * (x ? c->in_channels : c->out_channels), c->bias);
    return c->has_bias;
}

bool bp__conv_elements(const bp_problem *problem, int operand, bp__elements *elements) {
    /* The letters of problems.h, in the order of the operands; b and c: a bias of the channels of X and Y. */
    static const char *const letters[] = {
        [BP_OP_CONV] = "xwcy", [BP_OP_CONV_INPUT] = "ywbx", [BP_OP_CONV_WEIGHT] = "xywc"};
    const bp_conv_problem *c = &problem->of.conv;
    const char *of = problem->op == BP_OP_CONV_WEIGHT && c->transposed ? "yxwb" : letters[problem->op];
    elements->dtype = (bp_dtype)problem->dtype;
    elements->exact = operand >= bp__input_count((bp_op)problem->op);
    switch (of[operand]) {
    case 'x':
    case 'y':
        return add_image(elements, c, of[operand] == 'x');
    case 'w':
        return add_weight(elements, c);
    default:
        return add_bias(elements, c, of[operand] == 'b');
    }
}
