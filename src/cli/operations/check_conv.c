/* check_conv.c - checks the results of convolutions and their gradients, for compare and bench. */
#include "operations.h"
#include "reference/conv.h"

#include <math.h>
#include <stdlib.h>

static const char output_text[] =
    "the largest |output - reference| / (|input| |weight|); the reference is a direct sum in long double";
static const char gradient_text[] =
    "the largest |gradient - reference| / the sum of |products|; the reference is a direct sum in long double";

/* Whether an algorithm may transform tiles of the image, whose errors depend on all elements of a tile, not only on
 * those of one result. It needs stride 1 and a kernel of several taps. */
static bool may_transform(const bp_conv_call *call) {
    const DLTensor *weight = call->weight ? call->weight : call->weight_gradient;
    const bp_dtype dtype = bp_dtype_from_dlpack(weight->dtype);
    bool tiles = dtype == BP_F32 || dtype == BP_F64;
    int64_t taps = 1;
    for (int d = 0; d < call->ndim; d++) {
        const int64_t kernel = weight->shape[2 + d];
        taps *= kernel;
        tiles = tiles && (!call->stride || call->stride[d] == 1 || kernel == 1);
    }
    return tiles && taps > 1;
}

bp_status check_convolution(cli_check *check, const cli_job *job) {
    const bp_conv_call *call = &job->words.described.of.conv;
    const DLTensor *out = &job->results[0].tensor;
    const bool tiles = may_transform(call);
    reference_conv *c;
    *check = (cli_check){.bound = 0};
    bp_status status = reference_conv_open(&c, call);
    status = status == BP_OK ? reference_begin(&check->values, out, reference_conv_terms(c), 64) : status;
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        reference_value *value = &check->values.values[i];
        const reference_sum sum = reference_conv_output(c, value->index);
        value->re = (double)sum.value;
        value->im = 0;
        value->scale = (double)(tiles ? reference_conv_reach(c, value->index) : sum.size);
        check_activation(&check->values, bp_dtype_from_dlpack(out->dtype), call->activation, value);
    }
    reference_conv_close(c);
    return status == BP_OK ? check_with_reference(check, job, output_text) : status;
}

/* Sets all values of a result. Errors of transformed tiles are relative to the largest sum: a weight's gradient reads
 * the whole image. */
static void take_sums(reference *values, const reference_conv *c, const bp_conv_call *call, const reference_sum *sums) {
    const bool tiles = may_transform(call);
    long double most = 0;
    for (int64_t i = 0; i < values->total; i++) {
        most = sums[i].size > most && isfinite(sums[i].size) ? sums[i].size : most;
    }
    for (int64_t i = 0; i < values->count; i++) {
        const reference_sum *sum = &sums[values->values[i].index];
        const long double size = !tiles                         ? sum->size
                                 : call->pass == BP_CONV_WEIGHT ? most
                                                                : reference_conv_reach(c, values->values[i].index);
        values->values[i].re = (double)sum->value;
        values->values[i].im = 0;
        values->values[i].scale = (double)size;
    }
}

static bp_status compute_gradients(cli_check *check, const cli_job *job, const reference_conv *c) {
    const bp_conv_call *call = &job->words.described.of.conv;
    reference_sum *sums[2] = {NULL, NULL};
    bp_status status = BP_OK;
    for (int i = 0; i < job->result_count && i < 2 && status == BP_OK; i++) {
        reference *values = check_result(check, i);
        status = reference_begin(values, &job->results[i].tensor, 0, INT64_MAX);
        values->terms = (int64_t)(reference_conv_work(c) / (double)(values->total > 0 ? values->total : 1)) + 1;
        sums[i] = status == BP_OK ? calloc((size_t)values->total + 1, sizeof *sums[i]) : NULL;
        status = status == BP_OK && !sums[i] ? BP_E_NO_MEMORY : status;
    }
    if (status == BP_OK) {
        reference_conv_all(c, sums[0], sums[1]);
    }
    for (int i = 0; i < job->result_count && i < 2 && status == BP_OK; i++) {
        take_sums(check_result(check, i), c, call, sums[i]);
    }
    free(sums[0]);
    free(sums[1]);
    return status;
}

/* Checks the gradients, if they can be computed in about a second. */
bp_status check_convolution_gradient(cli_check *check, const cli_job *job) {
    reference_conv *c;
    check_nothing(check);
    bp_status status = reference_conv_open(&c, &job->words.described.of.conv);
    if (status == BP_OK && reference_conv_work(c) <= (double)REFERENCE_MOST_WORK) {
        status = compute_gradients(check, job, c);
        status = status == BP_OK ? check_with_reference(check, job, gradient_text) : status;
    }
    reference_conv_close(c);
    return status;
}
