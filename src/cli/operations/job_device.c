/* job_device.c - runs the operation of `eval` on a device: copies of its arrays there, and of its results back.
 *
 * The calls of the operations point to the tensors of the job, so the tensors themselves are moved. */
#include "operations.h"

#include <stdlib.h>

/* A tensor of the job, and its memory on the device. */
typedef struct moved {
    DLTensor *tensor;
    DLTensor host;
    DLManagedTensorVersioned *copy;
    bool is_result;
} moved;

struct job_moved {
    int count;
    moved list[];
};

static bp_status move(job_moved *to, DLTensor *tensor, bool is_result, int32_t place) {
    moved *one = &to->list[to->count];
    one->tensor = tensor;
    one->host = *tensor;
    one->is_result = is_result;
    if (tensor->dtype.bits == 0) { /* a result that no file asks for */
        return BP_OK;
    }
    bp_status status =
        bp_tensor_empty_on(&one->copy, place, bp_dtype_from_dlpack(tensor->dtype), tensor->ndim, tensor->shape, NULL);
    if (status != BP_OK) {
        return status;
    }
    to->count++;
    status = bp_copy(&one->copy->dl_tensor, &one->host, NULL);
    *tensor = one->copy->dl_tensor;
    return status;
}

bp_status job_move(cli_job *job, job_moved **made) {
    const int32_t place = bp_device_place(job->device);
    bp_status status = BP_OK;
    *made = NULL;
    if (place == 0) {
        return BP_OK;
    }
    *made = cli_allocate(sizeof **made + (size_t)(job->input_count + job->result_count + 2) * sizeof(moved));
    (*made)->count = 0;
    for (int i = 0; i < job->input_count && status == BP_OK; i++) {
        status = move(*made, &job->inputs[i].tensor, false, place);
    }
    for (int i = 0; i < job->result_count && status == BP_OK; i++) { /* with their contents: gemm reads its C */
        status = move(*made, &job->results[i].tensor, true, place);
    }
    if (status == BP_OK && job->seed) {
        status = move(*made, job->seed, false, place);
    }
    if (status == BP_OK && job->lengths) {
        status = move(*made, job->lengths, false, place);
    }
    return status;
}

bp_status job_move_back(job_moved *from, bool succeeded) {
    bp_status status = BP_OK;
    for (int i = 0; from && i < from->count; i++) {
        moved *one = &from->list[i];
        *one->tensor = one->host;
        if (succeeded && status == BP_OK && one->is_result) {
            status = bp_copy(one->tensor, &one->copy->dl_tensor, NULL);
        }
        one->copy->deleter(one->copy);
    }
    free(from);
    return status;
}
