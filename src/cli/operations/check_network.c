/* check_network.c - checks the results of batch normalization and linear layers, for compare and bench. Each checked
 * element is computed from the definition in norm.h or linear.h. */
#include "operations.h"

#include <math.h>

/* ---- Batch normalization ---- */

enum { MEAN, VARIANCE, WEIGHT, BIAS, PARAMETERS };

static void set_normalized(const bp_batch_norm_call *call, const wide *input, const wide parameters[PARAMETERS],
                           reference_value *value) {
    const DLTensor *in = call->input;
    int64_t positions = 1;
    for (int d = 2; d < in->ndim; d++) {
        positions *= in->shape[d];
    }
    const int64_t channel = value->index / positions % in->shape[1];
    const long double x = (long double)input->data[value->index], mean = (long double)parameters[MEAN].data[channel];
    const long double root = sqrtl((long double)parameters[VARIANCE].data[channel] + (long double)call->eps);
    const long double weight = call->weight ? (long double)parameters[WEIGHT].data[channel] : 1;
    const long double bias = call->bias ? (long double)parameters[BIAS].data[channel] : 0;
    const long double result = (x - mean) / root * weight + bias;
    value->re = (double)(call->relu && result < 0 ? 0 : result);
    value->im = 0;
    value->scale = (double)((fabsl(x) + fabsl(mean)) * fabsl(weight / root) + fabsl(bias));
}

bp_status check_normalization(cli_check *check, const cli_job *job) {
    const bp_batch_norm_call *call = &job->words.described.of.batch_norm;
    const DLTensor *const tensors[PARAMETERS] = {call->running_mean, call->running_var, call->weight, call->bias};
    wide input = {.data = NULL}, parameters[PARAMETERS] = {{.data = NULL}};
    const int64_t terms = 4; /* the roundings of an element */
    *check = (cli_check){.bound = 0};
    bp_status status = wide_make(&input, call->input, false);
    for (int i = 0; i < PARAMETERS && status == BP_OK; i++) {
        status = tensors[i] ? wide_make(&parameters[i], tensors[i], false) : BP_OK;
    }
    status = status == BP_OK ? reference_begin(&check->values, &job->results[0].tensor, terms, 64) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        set_normalized(call, &input, parameters, &check->values.values[i]);
    }
    wide_free(&input);
    for (int i = 0; i < PARAMETERS; i++) {
        wide_free(&parameters[i]);
    }
    return status == BP_OK
               ? check_with_reference(check, job,
                                      "the largest |output - reference| / ((|input| + |mean|) |weight| / deviation + "
                                      "|bias|); the reference is computed in long double")
               : status;
}

/* ---- Linear layers ---- */

/* Adds the bias to the products, and applies the function. */
static bp_status finish_values(reference *values, const bp_linear_call *call) {
    wide bias = {.data = NULL};
    const int64_t columns = call->weight->shape[0];
    const bp_status status = call->bias ? wide_make(&bias, call->bias, false) : BP_OK;
    for (int64_t i = 0; status == BP_OK && i < values->count; i++) {
        reference_value *value = &values->values[i];
        const double added = bias.data ? bias.data[value->index % columns] : 0;
        value->re += added;
        value->scale += fabs(added);
        check_activation(values, bp_dtype_from_dlpack(call->output->dtype), call->activation, value);
    }
    wide_free(&bias);
    return status;
}

bp_status check_linear(cli_check *made, const cli_job *job) {
    const bp_linear_call *call = &job->words.described.of.linear;
    bp_view transposed;
    const int64_t shape[] = {call->weight->shape[1], call->weight->shape[0]};
    const int64_t *from = job->inputs[1].strides, strides[] = {from[1], from[0]};
    *made = (cli_check){.bound = 0};
    bp_status status = bp_view_init(&transposed, job->inputs[1].tensor.data, bp_dtype_from_dlpack(call->weight->dtype),
                                    2, shape, strides);
    status = status == BP_OK ? reference_product(&made->values, call->input, false, &transposed.tensor, false,
                                                 &job->results[0].tensor)
                             : status;
    status = status == BP_OK ? finish_values(&made->values, call) : status;
    return status == BP_OK ? check_with_reference(made, job,
                                                  "the largest |output - reference| / (|input| |weight| + |bias|); the "
                                                  "reference sums float64 products in twice float64's precision")
                           : status;
}
