/* check_attention.c - checks the results of attention and its gradients, for compare and bench. */
#include "operations.h"
#include "reference/attention.h"

#include <math.h>
#include <stdlib.h>

static const char output_text[] = "the largest |output - reference| / roundings that it can contain; the reference is "
                                  "computed in long double";
static const char gradient_text[] = "the largest |gradient - reference| / roundings that it can contain; the reference "
                                    "is computed in long double";

/* Sets the checked elements, row by row, and leaves out those whose value attention.h leaves open. */
static bp_status take_rows(reference *values, reference_attention *a, int64_t columns, bp_dtype dtype) {
    reference_number *row = reference_numbers(columns);
    int64_t at = -1, known = 0;
    if (!row) {
        return BP_E_NO_MEMORY;
    }
    for (int64_t i = 0; i < values->count; i++) {
        reference_value value = values->values[i];
        if (value.index / columns != at) {
            at = value.index / columns;
            reference_attention_row(a, at, row, NULL);
        }
        const reference_number *number = &row[value.index % columns];
        const bool bounded = reference_set(&value, number, dtype);
        values->values[known] = value;
        known += bounded;
    }
    values->count = known;
    values->bounded = true;
    free(row);
    return BP_OK;
}

/* Checks the output; the logarithms are not checked. */
bp_status check_attention(cli_check *check, const cli_job *job) {
    const bp_attention_call *call = &job->words.described.of.attention;
    const DLTensor *out = &job->results[0].tensor, *value = call->value;
    const int64_t keys = value->shape[value->ndim - 2], columns = value->shape[value->ndim - 1];
    reference_attention *a;
    *check = (cli_check){.bound = 0};
    bp_status status = reference_attention_open(&a, call, NULL);
    /* An element that is checked alone needs all scores of its row. */
    const int64_t work = keys * (call->query->shape[call->query->ndim - 1] + 1);
    status = status == BP_OK ? reference_begin(&check->values, out, work, 64) : status;
    status = status == BP_OK ? take_rows(&check->values, a, columns, bp_dtype_from_dlpack(out->dtype)) : status;
    reference_attention_close(a);
    return status == BP_OK ? check_with_reference(check, job, output_text) : status;
}

/* ---- Gradients ---- */

/* Which gradient each result is, in the order of the operation. */
static const int gradient_of[] = {REFERENCE_QUERY, REFERENCE_KEY, REFERENCE_VALUE, REFERENCE_MASK};

static bp_status compute_gradients(cli_check *check, const cli_job *job, const bp_attention_call *call) {
    reference_number *of[REFERENCE_ATTENTION_GRADIENTS] = {NULL};
    reference_attention *a;
    bp_status status = reference_attention_open(&a, call, NULL);
    for (int i = 0; i < job->result_count && status == BP_OK; i++) {
        reference *values = check_result(check, i);
        status = reference_begin(values, &job->results[i].tensor, 0, INT64_MAX);
        of[gradient_of[i]] = reference_numbers(values->total);
        status = status == BP_OK && !of[gradient_of[i]] ? BP_E_NO_MEMORY : status;
    }
    if (status == BP_OK) {
        reference_attention_gradients(a, of);
    }
    for (int i = 0; i < job->result_count && status == BP_OK; i++) {
        reference_take(check_result(check, i), of[gradient_of[i]], bp_dtype_from_dlpack(job->results[i].tensor.dtype));
    }
    for (int i = 0; i < REFERENCE_ATTENTION_GRADIENTS; i++) {
        free(of[i]);
    }
    reference_attention_close(a);
    return status;
}

/* Checks all gradients, if they can be computed in about a second: each sums over all rows. */
bp_status check_attention_gradients(cli_check *check, const cli_job *job) {
    const bp_attention_call *call = &job->words.described.of.attention;
    const DLTensor *out = call->output_gradient, *key = call->key;
    double work =
        (double)(key->shape[key->ndim - 2]) * (double)(key->shape[key->ndim - 1] + out->shape[out->ndim - 1] + 16);
    for (int d = 0; d < out->ndim - 1; d++) {
        work *= (double)out->shape[d];
    }
    check_nothing(check);
    if (work > REFERENCE_MOST_WORK) {
        return BP_OK;
    }
    const bp_status status = compute_gradients(check, job, call);
    return status == BP_OK ? check_with_reference(check, job, gradient_text) : status;
}
