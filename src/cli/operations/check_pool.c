/* check_pool.c - checks the results of pooling and its gradients, for compare and bench. */
#include "operations.h"
#include "reference/pool.h"

#include <math.h>
#include <stdlib.h>

static const char output_text[] = "the largest |output - reference| / (average of |input|, or |maximum|); the "
                                  "reference is computed in long double";
static const char gradient_text[] = "the largest |gradient - reference| / roundings that it can contain; the reference "
                                    "is computed in long double";

static void set_pooled(const bp_pool_call *call, const reference_pool *p, reference_value *value) {
    const reference_window w = reference_pool_window(p, value->index);
    const bool max = call->kind == BP_POOL_MAX;
    value->re = (double)(max ? w.most : w.sum / w.divisor);
    value->im = 0;
    value->scale = (double)(max ? fabsl(w.most) : w.size / fabsl(w.divisor));
}

/* Checks the output; the indices are not checked. */
bp_status check_pooling(cli_check *check, const cli_job *job) {
    const bp_pool_call *call = &job->words.described.of.pool;
    const DLTensor *out = &job->results[0].tensor;
    reference_pool *p;
    *check = (cli_check){.bound = 0};
    bp_status status = reference_pool_open(&p, call);
    if (status == BP_OK) {
        double outputs = 1;
        for (int d = 0; d < out->ndim; d++) {
            outputs *= (double)out->shape[d];
        }
        status = reference_begin(&check->values, out, (int64_t)(reference_pool_work(p) / fmax(outputs, 1)), 64);
    }
    for (int64_t i = 0; status == BP_OK && i < check->values.count; i++) {
        set_pooled(call, p, &check->values.values[i]);
    }
    reference_pool_close(p);
    return status == BP_OK ? check_with_reference(check, job, output_text) : status;
}

/* Checks the gradient, if it can be computed in about a second: an element may be in many windows. */
bp_status check_pooling_gradient(cli_check *check, const cli_job *job) {
    const bp_pool_call *call = &job->words.described.of.pool;
    const DLTensor *out = &job->results[0].tensor;
    const long double unit = (long double)reference_sum_unit(bp_dtype_from_dlpack(out->dtype));
    reference_number *numbers = NULL;
    reference_pool *p;
    check_nothing(check);
    bp_status status = reference_pool_open(&p, call);
    const bool affordable = status == BP_OK && reference_pool_work(p) <= (double)REFERENCE_MOST_WORK;
    if (affordable) {
        status = reference_begin(&check->values, out, 0, INT64_MAX);
        numbers = status == BP_OK ? reference_numbers(check->values.total) : NULL;
        status = status == BP_OK && !numbers ? BP_E_NO_MEMORY : status;
        status = status == BP_OK ? reference_pool_gradient(p, unit, numbers) : status;
    }
    if (affordable && status == BP_OK) {
        reference_take(&check->values, numbers, bp_dtype_from_dlpack(out->dtype));
        status = check_with_reference(check, job, gradient_text);
    }
    free(numbers);
    reference_pool_close(p);
    return status;
}
