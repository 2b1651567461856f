/* bench_job.c - makes the arrays of a measured call: random numbers, the same in every run. */
#include "bench.h"

#include <string.h>

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Numbers in (-1, 1). */
static void fill(npy_array *array) {
    const npy_header *h = &array->header;
    bool single = h->dtype == BP_F32 || h->dtype == BP_C64;
    int64_t count = h->count * (h->dtype == BP_C64 || h->dtype == BP_C128 ? 2 : 1);
    uint64_t seed = 88172645463325252u;
    for (int64_t i = 0; i < count; i++) {
        double x = (double)(int64_t)next(&seed) / 9.3e18;
        if (single) {
            ((float *)array->data)[i] = (float)x;
        } else {
            ((double *)array->data)[i] = x;
        }
    }
}

static double part_of(const npy_array *array, int64_t at) {
    bool single = array->header.dtype == BP_F32 || array->header.dtype == BP_C64;
    return single ? (double)((const float *)array->data)[at] : ((const double *)array->data)[at];
}

static void set_part(const npy_array *array, int64_t at, double x) {
    if (array->header.dtype == BP_F32 || array->header.dtype == BP_C64) {
        ((float *)array->data)[at] = (float)x;
    } else {
        ((double *)array->data)[at] = x;
    }
}

/* Mirrors the lower triangle of a square matrix, and adds its size to the diagonal: positive definite by Gershgorin's
 * theorem, since no element is larger than the square root of 2. */
static void make_definite(npy_array *array) {
    int parts = array->header.dtype == BP_C64 || array->header.dtype == BP_C128 ? 2 : 1;
    int64_t n = array->header.shape[0];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++) {
            set_part(array, (j * n + i) * parts, part_of(array, (i * n + j) * parts));
            if (parts == 2) {
                set_part(array, (j * n + i) * 2 + 1, -part_of(array, (i * n + j) * 2 + 1));
            }
        }
        set_part(array, (i * n + i) * parts, 1.5 * (double)n + part_of(array, (i * n + i) * parts));
        if (parts == 2) {
            set_part(array, (i * n + i) * 2 + 1, 0);
        }
    }
}

static const cli_operation *find(const char *name) {
    const cli_operation *operation;
    for (int i = 0; (operation = cli_operation_at(i)); i++) {
        if (strcmp(operation->name, name) == 0) {
            break;
        }
    }
    return operation;
}

bp_dtype bench_dtype(const bench_operation *operation, bp_dtype dtype) {
    return !operation->transform ? dtype : dtype == BP_F32 ? BP_C64 : dtype == BP_F64 ? BP_C128 : dtype;
}

int bench_job_make(cli_job *job, const cli_args *args, const bench_operation *operation, int64_t size, bp_dtype dtype) {
    *job = (cli_job){.args = args, .operation = find(operation->name), .expression = operation->expression};
    int count = 0, code = CLI_OK;
    while (count < 3 && operation->arrays[count]) {
        count++;
    }
    job_allocate(job, count);
    for (int i = 0; i < count && code == CLI_OK; i++) {
        int64_t shape[BP_MAX_NDIM];
        int ndim = 0;
        for (const char *letter = operation->arrays[i]; *letter; letter++) {
            shape[ndim++] = *letter == 'n' ? size : 1;
        }
        code = operand_result(&job->input_arrays[i], &job->inputs[i], bench_dtype(operation, dtype), ndim, shape);
        if (code == CLI_OK) {
            fill(&job->input_arrays[i]);
        }
    }
    if (code == CLI_OK && operation->definite) {
        make_definite(&job->input_arrays[0]);
    }
    return code == CLI_OK ? job_prepare(job) : code;
}

double bench_job_bytes(const cli_job *job) {
    double bytes = 0;
    for (int i = 0; i < job->input_count; i++) {
        bytes += (double)job->input_arrays[i].header.size;
    }
    for (int i = 0; i < job->result_count; i++) {
        bytes += (double)job->result_arrays[i].header.size;
    }
    return bytes;
}
