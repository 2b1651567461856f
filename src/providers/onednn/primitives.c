/* primitives.c - describes the primitive of each kind of call. */
#include "providers/onednn/onednn.h"

static int describe_convolution(bp__onednn_plan *plan, void *const *operand, void *attributes) {
    bp__onednn_call *c = &plan->call;
    return plan->api.convolution_forward_primitive_desc_create(
        &plan->description, plan->engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_CONVOLUTION, operand[BP__ONEDNN_SOURCE],
        operand[BP__ONEDNN_WEIGHT], operand[BP__ONEDNN_BIAS], operand[BP__ONEDNN_RESULT], c->stride, c->dilation,
        c->begin, c->end, attributes);
}

static int describe_deconvolution(bp__onednn_plan *plan, void *const *operand, void *attributes) {
    bp__onednn_call *c = &plan->call;
    return plan->api.deconvolution_forward_primitive_desc_create(
        &plan->description, plan->engine, BP__ONEDNN_INFERENCE, BP__ONEDNN_DECONVOLUTION, operand[BP__ONEDNN_SOURCE],
        operand[BP__ONEDNN_WEIGHT], operand[BP__ONEDNN_BIAS], operand[BP__ONEDNN_RESULT], c->stride, c->dilation,
        c->begin, c->end, attributes);
}

static int describe_gradient(bp__onednn_plan *plan, void *const *operand, void *attributes) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_call *c = &plan->call;
    void *source = operand[BP__ONEDNN_SOURCE], *weight = operand[BP__ONEDNN_WEIGHT], *bias = operand[BP__ONEDNN_BIAS],
         *result = operand[BP__ONEDNN_RESULT], *forward = NULL;
    int error = api->convolution_forward_primitive_desc_create(&forward, plan->engine, BP__ONEDNN_FORWARD,
                                                               BP__ONEDNN_CONVOLUTION, source, weight, bias, result,
                                                               c->stride, c->dilation, c->begin, c->end, attributes);
    error = error ? error
                  : api->convolution_backward_weights_primitive_desc_create(
                        &plan->description, plan->engine, BP__ONEDNN_CONVOLUTION, source, weight, bias, result,
                        c->stride, c->dilation, c->begin, c->end, forward, attributes);
    if (forward) {
        api->primitive_desc_destroy(forward);
    }
    return error;
}

static int describe_average(bp__onednn_plan *plan, void *attributes) {
    const bp__onednn_api *api = &plan->api;
    bp__onednn_call *c = &plan->call;
    void *x = plan->operand[BP__ONEDNN_SOURCE], *y = plan->operand[BP__ONEDNN_RESULT], *forward = NULL;
    const bool backward = c->kind == BP__ONEDNN_AVERAGE_BACKWARD;
    int error = api->pooling_forward_primitive_desc_create(
        &forward, plan->engine, backward ? BP__ONEDNN_FORWARD : BP__ONEDNN_INFERENCE, c->algorithm, x, y, c->stride,
        c->kernel, c->dilation, c->begin, c->end, attributes);
    if (!backward) {
        plan->description = forward;
        return error;
    }
    error = error ? error
                  : api->pooling_backward_primitive_desc_create(&plan->description, plan->engine, c->algorithm, x, y,
                                                                c->stride, c->kernel, c->dilation, c->begin, c->end,
                                                                forward, attributes);
    if (forward) {
        api->primitive_desc_destroy(forward);
    }
    return error;
}

static int describe_layer(bp__onednn_plan *plan, void *const *operand, void *attributes) {
    const bp__onednn_api *api = &plan->api;
    const bp__onednn_call *c = &plan->call;
    void *x = operand[BP__ONEDNN_SOURCE], *weight = operand[BP__ONEDNN_WEIGHT], *iter = operand[BP__ONEDNN_ITER],
         *bias = operand[BP__ONEDNN_BIAS], *y = operand[BP__ONEDNN_RESULT], *hidden = operand[BP__ONEDNN_HIDDEN],
         *last = operand[BP__ONEDNN_LAST_HIDDEN];
    if (plan->layer.mode == BP_RNN_LSTM) {
        return api->lstm_forward_primitive_desc_create(&plan->description, plan->engine, BP__ONEDNN_INFERENCE,
                                                       c->direction, x, hidden, operand[BP__ONEDNN_CELL], weight, iter,
                                                       NULL, operand[BP__ONEDNN_PROJECTION], bias, y, last,
                                                       operand[BP__ONEDNN_LAST_CELL], 0, attributes);
    }
    if (plan->layer.mode == BP_RNN_GRU) {
        return (plan->layer.reset_before ? api->gru_forward_primitive_desc_create
                                         : api->lbr_gru_forward_primitive_desc_create)(
            &plan->description, plan->engine, BP__ONEDNN_INFERENCE, c->direction, x, hidden, weight, iter, bias, y,
            last, 0, attributes);
    }
    return api->vanilla_rnn_forward_primitive_desc_create(&plan->description, plan->engine, BP__ONEDNN_INFERENCE,
                                                          c->algorithm, c->direction, x, hidden, weight, iter, bias, y,
                                                          last, 0, 0, 0, attributes);
}

int bp__onednn_describe_primitive(bp__onednn_plan *plan, void *const *operand, void *attributes) {
    void *source = operand[BP__ONEDNN_SOURCE], *result = operand[BP__ONEDNN_RESULT];
    switch (plan->call.kind) {
    case BP__ONEDNN_CONVOLVE:
        return describe_convolution(plan, operand, attributes);
    case BP__ONEDNN_TRANSPOSE:
        return describe_deconvolution(plan, operand, attributes);
    case BP__ONEDNN_GRADIENT:
        return describe_gradient(plan, operand, attributes);
    case BP__ONEDNN_MULTIPLY:
        return plan->api.matmul_primitive_desc_create(&plan->description, plan->engine, source,
                                                      operand[BP__ONEDNN_WEIGHT], NULL, result, attributes);
    case BP__ONEDNN_AVERAGE:
    case BP__ONEDNN_AVERAGE_BACKWARD:
        return describe_average(plan, attributes);
    case BP__ONEDNN_RECUR:
        return describe_layer(plan, operand, attributes);
    case BP__ONEDNN_NORMALIZE:
        break;
    }
    return plan->api.batch_normalization_forward_primitive_desc_create(&plan->description, plan->engine,
                                                                       BP__ONEDNN_INFERENCE, source, result,
                                                                       plan->call.eps, plan->call.flags, attributes);
}
