/* check_network.c - checks the results of linear layers, for compare and bench. Each checked
 * element is computed from the definition in linear.h. */
#include "operations.h"

#include <math.h>

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
