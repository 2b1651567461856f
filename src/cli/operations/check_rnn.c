/* check_rnn.c - checks the results of recurrent layers, for compare and bench. */
#include "operations.h"
#include "reference/rnn.h"

#include <stdlib.h>

static const char rnn_text[] = "the largest |output - reference| / roundings that it can contain; the reference is "
                               "computed in long double";

static bp_status compute(cli_check *check, const bp_rnn_call *call, const DLTensor *out) {
    const long double unit = (long double)reference_sum_unit(bp_dtype_from_dlpack(out->dtype));
    reference_number *numbers = reference_numbers(check->values.total);
    const bp_status status = numbers ? reference_rnn(call, unit, numbers, NULL, NULL) : BP_E_NO_MEMORY;
    if (status == BP_OK) {
        reference_take(&check->values, numbers, bp_dtype_from_dlpack(out->dtype));
    }
    free(numbers);
    return status;
}

/* Checks the output, if it can be computed in about a second: each element depends on all earlier ones. The states are
 * not checked. */
bp_status check_rnn(cli_check *check, const cli_job *job) {
    const bp_rnn_call *call = &job->words.described.of.rnn;
    const DLTensor *out = &job->results[0].tensor, *hh = call->weight_hh;
    const int64_t columns = hh->shape[hh->ndim - 1], rows = hh->shape[hh->ndim - 2];
    const int64_t work = rows * (call->input->shape[2] + columns) / (columns > 0 ? columns : 1) + rows;
    check_nothing(check);
    bp_status status = reference_begin(&check->values, out, work, 0);
    if (status == BP_OK && check->values.count == check->values.total) {
        status = compute(check, call, out);
        return status == BP_OK ? check_with_reference(check, job, rnn_text) : status;
    }
    reference_free(&check->values);
    return status;
}
