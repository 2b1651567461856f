/* spread.c - implements spread.h. */
#include "spread.h"

#include <stdlib.h>
#include <string.h>

bool spread_is_replicated(const DLTensor *tensor) {
    return tensor->ndim < 2;
}

bool spread_takes_slabs(const cli_job *job) {
    return job->operation->measured && job->operation->measured->op == BP_OP_FFT;
}

static int check_tensor(const cli_job *job, const DLTensor *tensor, const char *kind, int number) {
    const bool slabs = spread_takes_slabs(job);
    return tensor->ndim <= (slabs ? BP_MAX_DIST_NDIM : 2)
               ? CLI_OK
               : cli_fail(CLI_INPUT, "%s %d has %d dimensions; with --ranks it must %s", kind, number, tensor->ndim,
                          slabs ? "have two or three" : "be a matrix or a vector");
}

int spread_check(const cli_job *job) {
    int code = CLI_OK;
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        code = check_tensor(job, &job->inputs[i].tensor, "array", i + 1);
    }
    for (int i = 0; i < job->result_count && code == CLI_OK; i++) {
        code = check_tensor(job, &job->results[i].tensor, "result", i + 1);
    }
    return code;
}

bp_status spread_settings(const cli_args *args) {
    const char *given;
    bp_status status = BP_OK;
    for (int position = 0; status == BP_OK && (given = cli_next_value(args, "set", &position));) {
        const char *equals = strchr(given, '=');
        if (equals && strncmp(given, "dist.", 5) == 0) {
            char *name = cli_format("%.*s", (int)(equals - given), given);
            status = bp_set(name, equals + 1);
            free(name);
        }
    }
    return status;
}

void spread_begin(spread *s, const cli_job *job) {
    s->slabs = spread_takes_slabs(job);
    s->parts = cli_allocate((size_t)(job->input_count + job->result_count + 1) * sizeof *s->parts);
}

bp_status spread_distribution(const spread *s, const DLTensor *tensor, bp_dist *dist) {
    *dist = (bp_dist){.struct_size = sizeof *dist, .comm = s->comm};
    if (!s->slabs) {
        memcpy(dist->shape, tensor->shape, sizeof dist->shape);
        return bp_dist_complete(dist);
    }
    dist->shape[0] = 1;
    for (int i = 1; i < tensor->ndim; i++) {
        dist->shape[0] *= tensor->shape[i];
    }
    dist->shape[1] = tensor->shape[0];
    return bp_dist_slabs(dist);
}

static bp_status spread_matrix(const spread *s, spread_part *p) {
    const bp_dtype dtype = bp_dtype_from_dlpack(p->tensor->dtype);
    bp_dist dist;
    int64_t local[2];
    bp_status status = spread_distribution(s, p->tensor, &dist);
    status = status == BP_OK ? bp_dist_local_shape(&dist, -1, local) : status;
    if (status != BP_OK) {
        return status;
    }
    if (!s->is_empty) { /* without memory the collective calls fail, on all ranks */
        p->memory = calloc((size_t)(local[0] * local[1]) + 1, bp_dtype_size(dtype));
    }
    status = s->slabs ? bp_dist_view_array(&p->view, p->memory, dtype, p->tensor->ndim, p->tensor->shape, &dist)
                      : bp_dist_view_init(&p->view, p->memory, 0, dtype, &dist);
    *p->tensor = status == BP_OK ? p->view.tensor : *p->tensor;
    return status;
}

static bp_status spread_value(const spread *s, spread_part *p) {
    bp_dist dist = {.struct_size = sizeof dist, .comm = s->comm};
    bp__npy_header *header = &p->whole.header;
    header->dtype = bp_dtype_from_dlpack(p->tensor->dtype);
    header->ndim = p->tensor->ndim;
    header->shape[0] = header->count = p->tensor->ndim == 1 ? p->tensor->shape[0] : 1;
    if (!p->whole.data && !s->is_empty) {
        npy_allocate(&p->whole); /* without memory the collective calls fail, on all ranks */
    }
    bp_status status = bp_dist_complete(&dist);
    status = status == BP_OK
                 ? bp_dist_view_replicated(&p->view, p->whole.data, header->dtype, header->ndim, header->count, &dist)
                 : status;
    *p->tensor = status == BP_OK ? p->view.tensor : *p->tensor;
    return status;
}

bp_status spread_tensor(const spread *s, spread_part *p, DLTensor *tensor) {
    p->tensor = tensor;
    return tensor->dtype.bits == 0        ? BP_OK /* a result that no file asks for */
           : spread_is_replicated(tensor) ? spread_value(s, p)
                                          : spread_matrix(s, p);
}

void spread_free(const spread *s, const cli_job *job) {
    for (int i = 0; s->parts && i < job->input_count + job->result_count; i++) {
        free(s->parts[i].memory);
        npy_free(&s->parts[i].whole);
    }
    free(s->parts);
}
