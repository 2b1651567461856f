/* command_eval.c - `backplane eval`: runs an operation on arrays in .npy files. operations.c lists the operations. */
#include "eval.h"

#include "cli/list/list_devices.h"
#include "cli/operations/candidates.h"
#include "cli/ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

static bool is_pipe(const char *path) {
    return path && path[0] == '-' && !path[1];
}

/* Copies all paths into one block, each NUL-terminated. Returns the end of the last one. A comma separates paths only
 * if the operation has several results, so that a single result may have a comma in its file name. */
static char *join_paths(const cli_job *job, targets *to) {
    const char *path;
    size_t size = 1;
    for (int position = 0; (path = cli_next_value(job->args, "output", &position));) {
        size += strlen(path) + 1;
    }
    to->texts = cli_allocate(size);
    char *end = to->texts;
    for (int position = 0; (path = cli_next_value(job->args, "output", &position)); end += strlen(path) + 1) {
        memcpy(end, path, strlen(path) + 1);
        for (char *comma = end; job->operation->results > 1 && (comma = strchr(comma, ','));) {
            *comma++ = '\0';
        }
    }
    return end;
}

/* Returns whether an earlier target has the same path, so that a result would overwrite another. */
static bool is_named_before(const targets *to, int index) {
    for (int i = 0; i < index; i++) {
        if (strcmp(to->path[i], to->path[index]) == 0) {
            return true;
        }
    }
    return false;
}

static int check_targets(const targets *to) {
    for (int i = 0; i < to->count; i++) {
        bp__npy_error error;
        if (is_pipe(to->path[i]) && to->count > 1) {
            return cli_fail(CLI_USAGE, "-o - is given with other files; standard output takes one array only");
        }
        if (is_named_before(to, i)) {
            return cli_fail(CLI_USAGE, "-o %s is given twice; each result needs its own file", to->path[i]);
        }
        bp_status status = npy_check_target(to->path[i], &error);
        if (status != BP_OK) {
            return cli_fail(cli_exit_of(status), "%s", error.text);
        }
    }
    return CLI_OK;
}

static int read_targets(const cli_job *job, targets *to) {
    const char *last = join_paths(job, to);
    for (const char *path = to->texts; path < last; path += strlen(path) + 1, to->count++) {
        if (to->count == job->operation->results) {
            return cli_fail(CLI_USAGE, "%s has %d result%s; -o %s is one too many", job->operation->name, to->count,
                            to->count == 1 ? "" : "s", path);
        }
        to->path[to->count] = path;
    }
    return to->count == 0 ? cli_fail(CLI_USAGE, "-o is missing; it must name the output file, such as -o out.npy")
                          : check_targets(to);
}

int eval_check_results(const cli_job *job, const targets *to) {
    return to->count <= job->result_count
               ? CLI_OK
               : cli_fail(CLI_USAGE, "this %s has %d result%s; -o %s is one too many", job->operation->name,
                          job->result_count, job->result_count == 1 ? "" : "s", to->path[job->result_count]);
}

/* Prints to standard error if standard output takes the result. */
static int print_explanation(const cli_job *job, const targets *to) {
    bp_explanation *explanation = NULL;
    cli_progress_begin(CLI_EXAMINING);
    bp_status status = job->operation->explain(job, &explanation);
    cli_progress_end();
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (is_pipe(to->path[0])) {
        cli_print(stderr, bp_explanation_text(explanation));
    } else {
        cli_page(bp_explanation_text(explanation));
    }
    bp_explanation_release(explanation);
    return CLI_OK;
}

static char *append(char *text, const char *separator, char *more) {
    char *joined = cli_join(text, separator, more);
    free(more);
    return joined;
}

void eval_report(const cli_job *job, const targets *to, double elapsed) {
    bp_plan_info plan = {.struct_size = sizeof plan};
    char shape[256], time[32];
    if (is_pipe(to->path[0])) {
        return;
    }
    char *text = NULL;
    for (int i = 0; i < to->count; i++) {
        const DLTensor *result = &job->results[i].tensor;
        cli_shape(result->ndim, result->shape, shape, sizeof shape);
        text = append(text, ", ",
                      cli_format("%s: %s %s", to->path[i], bp_dtype_name(bp_dtype_from_dlpack(result->dtype)), shape));
    }
    if (job->operation->explain && bp_last_plan(&plan) == BP_OK) {
        const char *gap = plan.library_version[0] ? " " : "", *many = plan.threads == 1 ? "" : "s";
        bp_device_info device = {.struct_size = sizeof device};
        const int32_t place = bp_device_place(job->device);
        const bool away = place != 0 && bp_device_describe(place, &device) == BP_OK;
        char *threads = away ? cli_format(" on %s", device.id) : cli_format(", %d thread%s", plan.threads, many);
        text = append(text, ", ",
                      cli_format("by %s%s%s (%s%s): %s", plan.library, gap, plan.library_version, plan.algorithm,
                                 threads, plan.reason));
        free(threads);
    }
    text = append(text, " ", cli_format("[%s]", bp__duration(elapsed, time, sizeof time)));
    cli_paragraph(0, text);
    free(text);
}

/* Runs the operation where it is to run. The time is the operation's, without copies of arrays. */
static int run_job(cli_job *job, const targets *to, double *elapsed) {
    const int32_t place = bp_device_place(job->device);
    job_moved *moved;
    bp_status status = job_move(job, &moved);
    int code = status != BP_OK                 ? cli_fail_status(status)
               : cli_has(job->args, "explain") ? print_explanation(job, to)
                                               : CLI_OK;
    if (code == CLI_OK && moved) {
        status = bp_device_wait(place); /* for the copies */
    }
    if (code == CLI_OK && status == BP_OK) {
        cli_progress_begin(CLI_COMPUTING);
        const double start = cli_now_ns();
        status = job->operation->run(job);
        status = status == BP_OK && moved ? bp_device_wait(place) : status;
        *elapsed = cli_now_ns() - start;
        cli_progress_end();
    }
    if (code == CLI_OK && status != BP_OK) {
        code = cli_fail_status(status);
    }
    status = job_move_back(moved, code == CLI_OK);
    return code == CLI_OK && status != BP_OK ? cli_fail_status(status) : code;
}

static int compute_job(cli_job *job, const targets *to) {
    double elapsed = 0;
    bp_status status;
    const int code = run_job(job, to, &elapsed);
    if (code != CLI_OK) {
        return code;
    }
    for (int i = 0; i < to->count; i++) {
        bp__npy_error error;
        status = npy_write(to->path[i], &job->result_arrays[i], &error);
        if (status != BP_OK) {
            return cli_fail(cli_exit_of(status), "%s", error.text);
        }
    }
    eval_report(job, to, elapsed);
    return CLI_OK;
}

static int eval_here(cli_job *job, const targets *to) {
    int code = ranks_refuse_options(job->args);
    code = code == CLI_OK ? device_option(job->args, &job->device) : code;
    code = code == CLI_OK ? job_read(job) : code;
    code = code == CLI_OK ? job_prepare(job) : code;
    code = code == CLI_OK ? eval_check_results(job, to) : code;
    return code == CLI_OK ? compute_job(job, to) : code;
}

static int eval(const cli_args *args) {
    cli_job job = {.args = args};
    targets to = {.count = 0};
    int code = job_operation(&job);
    code = code == CLI_OK ? job_check(&job) : code;
    code = code == CLI_OK ? job_check_pipe(&job) : code;
    code = code == CLI_OK ? read_targets(&job, &to) : code;
    job.wanted = to.count;
    code = code == CLI_OK ? operand_options(args, &job.options) : code;
    code = code != CLI_OK ? code : cli_has(args, "ranks") ? eval_on_ranks(&job, &to) : eval_here(&job, &to);
    job_free(&job);
    free(to.texts);
    return code;
}

static const cli_option options[] = {
    {"output", 'o', "FILE",
     "Output file (.npy); - is standard output. Give one for each result, or several separated by commas."},
    CLI_OPTION_SET,
    {"explain", 'e', NULL, "Also show every candidate and the reason of the choice."},
    {"device", 0, "ID", "Run on a device (see list --devices), on copies of the arrays."},
    {"bf16", 0, NULL, "Read '<V2' arrays (ml_dtypes) as bfloat16."},
    {"ranks", 'n', "N",
     "Matrices, linear algebra: run on N ranks of MPI. Each reads and writes its own part of the arrays."},
    OPTIONS_RANKS,
    OPTIONS_PRODUCTS,
    OPTIONS_SEARCH,
    OPTIONS_FAMILIES,
    {NULL, 0, NULL, NULL},
};

const cli_command command_eval = {
    .name = "eval",
    .summary = "Run an operation on arrays in .npy files and write the result.",
    .operands = "OPERATION [EXPRESSION] A.npy [B.npy ...] -o OUT.npy",
    .details =
        "\nmatmul follows numpy.matmul. gemm is alpha * op(A) @ op(B) + beta * C. einsum takes its expression first: "
        "eval einsum 'ij,jk->ik' A.npy B.npy -o C.npy. A result is written completely or not at all, and may replace "
        "an input. - reads from standard input. With --ranks the arrays may be larger than the memory of one rank; a "
        "vector is a matrix of one column. `backplane eval OPERATION --help` shows the options of one operation.",
    .least = 1,
    .most = JOB_MANY,
    .options = options,
    .run = eval,
    .help = job_help,
};
