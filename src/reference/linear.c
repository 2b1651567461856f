/* linear.c - computes linear layers and their gradients, one sum of products at a time. */
#include "reference/elementwise.h"
#include "reference/results.h"

#include <math.h>

typedef struct linear {
    const bp_linear_call *call;
    bp_dtype dtype;
    int64_t count, in, out; /* rows, and columns of input and output */
    wide_tensor input, weight, bias, output;
} linear;

/* Adds a product, whose factors are `count` elements that are `step` apart. */
static reference_sum sum_of(const double *a, int64_t a_step, const double *b, int64_t b_step, int64_t count) {
    reference_sum sum = {0, 0};
    for (int64_t i = 0; i < count; i++) {
        const long double product = (long double)a[i * a_step] * (b ? (long double)b[i * b_step] : 1);
        sum.value += product;
        sum.size += fabsl(product);
    }
    return sum;
}

static reference_number output_element(void *user, int64_t index) {
    const linear *l = user;
    const int64_t row = index / l->out, column = index % l->out;
    reference_sum sum = sum_of(l->input.data + row * l->in, 1, l->weight.data + column * l->in, 1, l->in);
    if (l->bias.data) {
        sum.value += (long double)l->bias.data[column];
        sum.size += fabsl((long double)l->bias.data[column]);
    }
    return reference_activation(l->call->activation, l->dtype, reference_sum_number(sum, l->in + 1, l->dtype));
}

static reference_number input_element(void *user, int64_t index) {
    const linear *l = user;
    const int64_t row = index / l->in, column = index % l->in;
    const reference_sum sum = sum_of(l->output.data + row * l->out, 1, l->weight.data + column, l->in, l->out);
    return reference_sum_number(sum, l->out, l->dtype);
}

static reference_number weight_element(void *user, int64_t index) {
    const linear *l = user;
    const int64_t row = index / l->in, column = index % l->in;
    const reference_sum sum = sum_of(l->output.data + row, l->out, l->input.data + column, l->in, l->count);
    return reference_sum_number(sum, l->count, l->dtype);
}

static reference_number bias_element(void *user, int64_t index) {
    const linear *l = user;
    return reference_sum_number(sum_of(l->output.data + index, l->out, NULL, 0, l->count), l->count, l->dtype);
}

static bp_status read_tensor(bp_status status, wide_tensor *made, const DLTensor *tensor) {
    return status == BP_OK && tensor ? wide_make(made, tensor, false) : status;
}

static bp_status add_results(reference_results *made, linear *l) {
    const bp_linear_call *call = l->call;
    if (call->pass == BP_LINEAR_FORWARD) {
        return reference_add_result(made, "output", call->output, l->in + 1, output_element, l);
    }
    if (call->pass == BP_LINEAR_INPUT) {
        return reference_add_result(made, "input_gradient", call->input_gradient, l->out, input_element, l);
    }
    const bp_status status =
        reference_add_result(made, "weight_gradient", call->weight_gradient, l->count, weight_element, l);
    return status == BP_OK ? reference_add_result(made, "bias_gradient", call->bias_gradient, l->count, bias_element, l)
                           : status;
}

bp_status reference_of_linear(reference_results *made, const bp_linear_call *call) {
    const DLTensor *weight = call->weight ? call->weight : call->weight_gradient;
    const DLTensor *rows = call->input ? call->input : call->output_gradient;
    linear l = {.call = call,
                .dtype = bp_dtype_from_dlpack(weight->dtype),
                .count = 1,
                .in = weight->shape[1],
                .out = weight->shape[0]};
    *made = (reference_results){.count = 0};
    for (int d = 0; d < rows->ndim - 1; d++) {
        l.count *= rows->shape[d];
    }
    bp_status status = read_tensor(BP_OK, &l.input, call->input);
    status = read_tensor(status, &l.weight, call->weight);
    status = read_tensor(status, &l.bias, call->bias);
    status = read_tensor(status, &l.output, call->output_gradient);
    status = status == BP_OK ? add_results(made, &l) : status;
    for (int i = 0; i < made->count; i++) {
        made->of[i].values.measure = REFERENCE_SUMS;
    }
    wide_free(&l.input);
    wide_free(&l.weight);
    wide_free(&l.bias);
    wide_free(&l.output);
    return status;
}
