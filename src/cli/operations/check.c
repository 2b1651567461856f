/* check.c - checks results by references, for compare and bench: the references of reference/results.h, and equations
 * of linear algebra. */
#include "operations.h"
#include "reference/linalg.h"
#include "reference/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

reference *check_result(cli_check *check, int result) {
    return result == 0 ? &check->values : &check->more[result - 1];
}

/* Errors of further results count in proportion to their bounds. */
static bp_status reference_error_of(const cli_check *check, const cli_job *job, double *error) {
    bp_status status = check->values.values ? reference_error(&check->values, &job->results[0].tensor, error) : BP_OK;
    *error = check->values.values ? *error : 0;
    for (int i = 1; i < job->result_count && status == BP_OK; i++) {
        const reference *values = &check->more[i - 1];
        const DLTensor *result = &job->results[i].tensor;
        double own;
        if (values->values) {
            status = reference_error(values, result, &own);
            own = own > 0 ? own * (check->bound / reference_bound(values, bp_dtype_from_dlpack(result->dtype))) : 0;
            *error = own > *error ? own : *error;
        }
    }
    return status;
}

static bp_status no_error(const cli_check *check, const cli_job *job, double *error) {
    (void)check, (void)job;
    *error = 0;
    return BP_OK;
}

bp_status check_nothing(cli_check *check) {
    *check = (cli_check){.error = no_error, .bound = HUGE_VAL};
    return BP_OK;
}

bp_status check_with_reference(cli_check *check, const cli_job *job, const char *text) {
    check->error = reference_error_of;
    bp__copy_text(check->text, sizeof check->text, text);
    check->bound = reference_bound(&check->values, bp_dtype_from_dlpack(job->results[0].tensor.dtype));
    return BP_OK;
}

/* Moves the references to the results whose tensors the call has. */
static void take_results(cli_check *check, const cli_job *job, reference_results *made) {
    for (int i = 0; i < made->count; i++) {
        for (int r = 0; r < job->result_count; r++) {
            if (made->of[i].tensor == &job->results[r].tensor) {
                *check_result(check, r) = made->of[i].values;
                made->of[i].values = (reference){.values = NULL};
            }
        }
    }
}

/* Ends a check: takes the references of the results, which may be none. */
static bp_status end_check(cli_check *check, const cli_job *job, bp_status status, reference_results *made) {
    bool any = false;
    check_nothing(check);
    take_results(check, job, made);
    reference_results_free(made);
    for (int r = 0; r < job->result_count; r++) {
        any |= check_result(check, r)->values != NULL;
    }
    const bool whole = check->values.values && check->values.measure == REFERENCE_WHOLE;
    return status == BP_OK && any
               ? check_with_reference(check, job,
                                      whole ? "the number of elements that differ from the reference"
                                            : "the largest |result - reference| / roundings that it can contain; the "
                                              "reference is computed in long double")
               : status;
}

bp_status check_described(cli_check *check, const cli_job *job) {
    reference_results made;
    const described_words *words = &job->words.described;
    const bp_status status = reference_call(&made, words->call, &words->of);
    return end_check(check, job, status, &made);
}

/* ---- Operations without a struct ---- */

void check_free(cli_check *check) {
    for (int i = 0; i < JOB_RESULTS; i++) {
        reference_free(check_result(check, i));
    }
}

bp_status check_product(cli_check *check, const cli_job *job) {
    reference_results made;
    const product_words *words = &job->words.product;
    const bp_status status = reference_of_gemm(&made, (int)words->transform_a, (int)words->transform_b, &words->alpha,
                                               job->tensors[0], job->tensors[1], &words->beta, &job->results[0].tensor);
    return end_check(check, job, status, &made);
}

bp_status check_transform(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_fft(&made, &job->words.fft.call, job->tensors[0], &job->results[0].tensor);
    return end_check(check, job, status, &made);
}

bp_status check_contraction(cli_check *check, const cli_job *job) {
    reference_results made;
    const DLTensor *out = &job->results[0].tensor;
    const bool power = job->input_count == 1 && !job->expression;
    const bp_status status = job->expression
                                 ? reference_of_einsum(&made, job->expression, job->input_count, job->tensors, out)
                             : power ? reference_of_matrix_power(&made, job->tensors[0], job->words.vector.power, out)
                                     : reference_of_multi_dot(&made, job->input_count, job->tensors, out);
    return end_check(check, job, status, &made);
}

static bp_status linalg_error(const cli_check *check, const cli_job *job, double *error) {
    (void)check;
    return reference_linalg_error(&job->words.linalg.call, error);
}

bp_status check_linalg(cli_check *check, const cli_job *job) {
    const bp_linalg_call *call = &job->words.linalg.call;
    const char *equations = reference_linalg_equations(call);
    reference_results made = {.count = 0};
    if (!equations && !reference_linalg_is_spectrum(call)) {
        const bp_call *described = bp_call_named(bp_op_name(call->op));
        return end_check(check, job, reference_can(described) ? reference_call(&made, described, call) : BP_OK, &made);
    }
    *check = (cli_check){.error = linalg_error, .bound = reference_linalg_bound(call)};
    snprintf(check->text, sizeof check->text,
             equations ? "the residual of %s on random vectors, in long double, relative to the Frobenius norms"
                       : "of the sum of the values and of their squares, which are traces of A and of its square, in "
                         "long double",
             equations);
    return BP_OK;
}

bp_status check_vecdot(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status = reference_of_vecdot(&made, job->words.vector.dims[0], job->tensors[0], job->tensors[1],
                                                 &job->results[0].tensor);
    return end_check(check, job, status, &made);
}

bp_status check_norm(cli_check *check, const cli_job *job) {
    reference_results made;
    const bp_status status =
        reference_of_vector_norm(&made, &job->words.vector.call, job->tensors[0], &job->results[0].tensor);
    return end_check(check, job, status, &made);
}
