/* bench_job.c - makes the job of a measured call: its arrays and options, from the size and what the user gives. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* ---- Arrays ---- */

static bool has_complex(const cli_operation *operation) {
    return strstr(operation->sizing->arrays, ":complex") != NULL;
}

bp_dtype bench_dtype(const cli_operation *operation, bp_dtype dtype) {
    return !has_complex(operation) ? dtype : dtype == BP_F32 ? BP_C64 : dtype == BP_F64 ? BP_C128 : dtype;
}

/* Reads the arrays: those that the user gives, with the values and types of the operation's own at the same place. */
static int read_arrays(sized_array *arrays, const bench_request *request, const cli_operation *operation, int64_t size,
                       bp_dtype dtype) {
    sized_array usual[SIZING_ARRAYS];
    const int own = sizing_read(usual, operation, operation->sizing->arrays, ' ', size, dtype);
    if (!request->shapes) {
        memcpy(arrays, usual, sizeof usual);
        return own;
    }
    const int count = sizing_read(arrays, operation, request->shapes, ',', size, dtype);
    for (int i = 0; i < own && i < count; i++) {
        if (arrays[i].values == SIZING_RANDOM) {
            arrays[i].values = usual[i].values;
            arrays[i].dtype = usual[i].dtype;
            arrays[i].below = usual[i].below;
        }
    }
    return count;
}

double bench_array_bytes(const bench_request *request, const cli_operation *operation, int64_t size, bp_dtype dtype) {
    sized_array arrays[SIZING_ARRAYS];
    const int count = read_arrays(arrays, request, operation, size, dtype);
    double bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += arrays[i].elements * (double)bp_dtype_size(arrays[i].dtype);
    }
    return count < 0 ? 1e300 : bytes; /* a size that no integer holds */
}

/* Adds a shape up to ':' or ' ', where each size with '*' is repeated. */
static char *add_shape(char *text, const char *shape, int dims) {
    for (const char *separator = text[0] ? ", " : ""; *shape && *shape != ':' && *shape != ' '; separator = "x") {
        const size_t length = strcspn(shape, "x*: ");
        char *size = cli_format("%.*s", (int)length, shape);
        for (int i = 0; i < (shape[length] == '*' ? dims : 1); i++) {
            text = cli_join(text, i > 0 ? "x" : separator, size);
        }
        free(size);
        shape += length + strspn(shape + length, "*x");
    }
    return text;
}

char *bench_shapes(const cli_operation *operation) {
    char *text = cli_format("%s", operation->sizing->expression ? operation->sizing->expression : "");
    for (const char *at = operation->sizing->arrays; *at; at += strcspn(at, " "), at += *at != 0) {
        text = add_shape(text, at, sizing_dims(operation));
    }
    return text;
}

static int make_array(cli_job *job, int index, const sized_array *as) {
    if (job->dry) {
        return operand_view(&job->inputs[index], as->dtype, as->ndim, as->shape, false);
    }
    const int code = operand_result(&job->input_arrays[index], &job->inputs[index], as->dtype, as->ndim, as->shape);
    const bp_status status = code == CLI_OK ? sizing_fill(&job->input_arrays[index], as) : BP_OK;
    return status == BP_OK ? code : cli_fail_status(status);
}

/* ---- Options ---- */

/* Whether the option is one of bench itself, which operations have with another meaning or not at all. */
bool bench_own_option(const char *option) {
    static const char *const own[] = {"sizes", "dtype", "threads", "libraries", "seconds",
                                      "html",  "set",   "json",    "shapes"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(own[i], option) == 0) {
            return true;
        }
    }
    return false;
}

int bench_check_options(const cli_args *args, const cli_operation *operation) {
    const cli_job job = {.args = args, .operation = operation};
    int code = CLI_OK;
    for (int i = 0; i < args->given_count && code == CLI_OK; i++) {
        const char *option = args->given[i].option->name;
        code = bench_own_option(option) ? CLI_OK : job_check_option(&job, option);
    }
    return code;
}

/* Fills made->args with the usual options of the operation, then the user's options. */
static void make_args(bench_job *made, const cli_args *args, const cli_operation *operation, int64_t size) {
    made->usual = sizing_options(operation, args, size, &made->usual_count);
    made->args =
        (cli_args){.command = args->command,
                   .given = cli_allocate((size_t)(made->usual_count + args->given_count + 1) * sizeof(cli_given))};
    for (int i = 0; i < made->usual_count; i++) {
        made->args.given[made->args.given_count++] = made->usual[i];
    }
    for (int i = 0; i < args->given_count; i++) {
        if (!bench_own_option(args->given[i].option->name)) {
            made->args.given[made->args.given_count++] = args->given[i];
        }
    }
}

/* ---- The job ---- */

int bench_job_make(bench_job *made, const bench_request *request, const cli_operation *operation, int64_t size,
                   bp_dtype dtype, bool dry) {
    sized_array arrays[SIZING_ARRAYS];
    memset(made, 0, sizeof *made);
    make_args(made, request->args, operation, size);
    cli_job *job = &made->job;
    *job = (cli_job){.args = &made->args,
                     .operation = operation,
                     .expression = operation->sizing->expression,
                     .wanted = operation->sizing->results,
                     .dry = dry};
    const int count = read_arrays(arrays, request, operation, size, dtype);
    if (count < 0) {
        return cli_fail(CLI_INPUT, "%s: its arrays of size %lld do not exist", operation->name, (long long)size);
    }
    job_allocate(job, count);
    int code = CLI_OK;
    for (int i = 0; i < count && code == CLI_OK; i++) {
        code = make_array(job, i, &arrays[i]);
    }
    code = code == CLI_OK ? job_prepare(job) : code;
    const bp_status status =
        code == CLI_OK && !dry && operation->sizing->complete ? operation->sizing->complete(job) : BP_OK;
    return status == BP_OK ? code : cli_fail_status(status);
}

void bench_job_free(bench_job *made) {
    job_free(&made->job);
    free(made->args.given);
    sizing_options_free(made->usual, made->usual_count);
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
