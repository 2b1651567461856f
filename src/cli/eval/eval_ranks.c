/* eval_ranks.c - `backplane eval --ranks`: arrays are spread over the ranks of an MPI program. Each rank reads and
 * writes its own part.
 *
 * The command checks the call and starts itself on the ranks, with the same words. All ranks make the same calls, which
 * fail on all of them with the same status: rank 0 tells it. */
#include "eval.h"
#include "spread.h"

#include "cli/operations/candidates.h"
#include "cli/ranks/ranks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Checks, and inputs without data ---- */

static bool is_pipe(const char *path) {
    return strcmp(path, "-") == 0;
}

static int check_words(const cli_job *job, const targets *to) {
    if (cli_has(job->args, "device")) {
        return cli_fail(CLI_USAGE, "--ranks and --device exclude each other");
    }
    for (int i = 0; i < job->input_count; i++) {
        if (is_pipe(job->args->operands[job->first + i])) {
            return cli_fail(CLI_USAGE, "- is given, but each rank reads its own part of a file");
        }
    }
    for (int i = 0; i < to->count; i++) {
        if (is_pipe(to->path[i])) {
            return cli_fail(CLI_USAGE, "-o - is given, but each rank writes its own part of a file");
        }
    }
    return CLI_OK;
}

/* Whole numbers are pivots: every rank has all of them. */
static bp_status describe_file(const cli_job *job, const char *path, bp_dtype *dtype, int *ndim, int64_t *shape) {
    if (spread_takes_slabs(job)) {
        return bp_dist_file_array(path, dtype, ndim, shape);
    }
    const bp_status status = bp_dist_file(path, dtype, shape);
    *ndim = *dtype == BP_I32 ? 1 : 2;
    return status;
}

static int describe_inputs(cli_job *job) {
    int code = CLI_OK;
    job->dry = true;
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        bp_dtype dtype;
        int ndim;
        int64_t shape[BP_MAX_DIST_NDIM];
        const bp_status status = describe_file(job, job->args->operands[job->first + i], &dtype, &ndim, shape);
        code = status == BP_OK ? operand_view(&job->inputs[i], dtype, ndim, shape, false) : cli_fail_status(status);
    }
    return code;
}

/* ---- The command that starts the ranks ---- */

static int start_ranks(const cli_args *args) {
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const char **words = cli_allocate((size_t)(2 * args->given_count + args->count + 4) * sizeof *words);
    char **names = cli_allocate((size_t)(args->given_count + 1) * sizeof *names);
    int used = 0;
    self[length > 0 ? length : 0] = '\0';
    words[used++] = self;
    words[used++] = args->command->name;
    for (int i = 0; i < args->given_count; i++) {
        const cli_given *given = &args->given[i];
        names[i] = given->value ? cli_format("--%s=%s", given->option->name, given->value)
                                : cli_format("--%s", given->option->name);
        words[used++] = names[i];
    }
    words[used++] = "--";
    for (int i = 0; i < args->count; i++) {
        words[used++] = args->operands[i];
    }
    const int code = length > 0 ? ranks_run(args, words) : cli_fail(CLI_IO, "/proc/self/exe cannot be read");
    for (int i = 0; i < args->given_count; i++) {
        free(names[i]);
    }
    free(names);
    free(words);
    return code;
}

/* ---- A rank ---- */

/* A failure that all ranks have. */
static int fail_together(const spread *s, bp_status status) {
    return s->rank == 0 ? cli_fail_status(status) : (int)cli_exit_of(status);
}

static int open_communicator(const cli_job *job, spread *s) {
    bp_comm_info info = {.struct_size = sizeof info};
    int64_t wanted = 1;
    bp_status status = bp_comm_open(&s->comm, BP_COMM_INIT);
    status = status == BP_OK ? bp_comm_describe(s->comm, &info) : status;
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    s->rank = info.rank;
    const int code = cli_number(job->args, "ranks", 1, RANKS_MOST, 1, &wanted);
    if (code != CLI_OK || wanted == info.size) {
        return code;
    }
    return s->rank > 0
               ? CLI_USAGE
               : cli_fail(CLI_USAGE, "--ranks is %lld, but the launcher has started %d", (long long)wanted, info.size);
}

/* Notes a failure that other ranks may not have. This rank goes on, so that none waits for it. */
static void note_failure(spread *s, bp_status status, const bp__npy_error *error) {
    if (status != BP_OK) {
        s->failure = cli_fail(cli_exit_of(status), "%s", error->text);
    }
}

static void read_whole(const char *path, spread *s, spread_part *p) {
    bp__npy_error error;
    note_failure(s, npy_read(path, 0, &p->whole, &error), &error);
    s->is_empty |= !p->whole.data;
}

static int read_input(const cli_job *job, spread *s, int index) {
    const char *path = job->args->operands[job->first + index];
    const bool is_whole = spread_is_replicated(&job->inputs[index].tensor);
    spread_part *p = &s->parts[index];
    if (is_whole) {
        read_whole(path, s, p);
    }
    bp_status status = spread_tensor(s, p, &job->inputs[index].tensor);
    status = status == BP_OK && !is_whole ? bp_dist_read(path, p->tensor) : status;
    return status == BP_OK ? CLI_OK : fail_together(s, status);
}

static int read_arrays(cli_job *job, spread *s) {
    int code = CLI_OK;
    spread_begin(s, job);
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        code = read_input(job, s, i);
    }
    for (int i = 0; i < job->result_count && code == CLI_OK; i++) {
        const bp_status status = spread_tensor(s, &s->parts[job->input_count + i], &job->results[i].tensor);
        code = status == BP_OK ? CLI_OK : fail_together(s, status);
    }
    if (code == CLI_OK && strcmp(job->operation->name, "gemm") == 0 && job->words.product.old_c) {
        const bp_status status = bp_dist_read(job->args->operands[job->first + 2], &job->results[0].tensor);
        code = status == BP_OK ? CLI_OK : fail_together(s, status);
    }
    return code;
}

static int explain(const cli_job *job, const spread *s) {
    bp_explanation *explanation = NULL;
    if (!cli_has(job->args, "explain")) {
        return CLI_OK;
    }
    const bp_status status = job->operation->explain(job, &explanation);
    if (status != BP_OK) {
        return fail_together(s, status);
    }
    if (s->rank == 0) {
        cli_page(bp_explanation_text(explanation));
    }
    bp_explanation_release(explanation);
    return CLI_OK;
}

static int write_result(const cli_job *job, spread *s, int index, const char *path) {
    const spread_part *p = &s->parts[job->input_count + index];
    bp__npy_error error;
    if (!spread_is_replicated(p->tensor)) {
        const bp_status status = bp_dist_write(path, p->tensor);
        return status == BP_OK ? CLI_OK : fail_together(s, status);
    }
    if (s->rank == 0) {
        note_failure(s, npy_write(path, &p->whole, &error), &error);
    }
    return CLI_OK;
}

static int compute(cli_job *job, const targets *to, spread *s) {
    int code = explain(job, s);
    if (code != CLI_OK) {
        return code;
    }
    const double start = cli_now_ns();
    const bp_status status = job->operation->run(job);
    const double elapsed = cli_now_ns() - start;
    code = status == BP_OK ? CLI_OK : fail_together(s, status);
    for (int i = 0; i < to->count && code == CLI_OK; i++) {
        code = write_result(job, s, i, to->path[i]);
    }
    if (code == CLI_OK && s->failure == CLI_OK && s->rank == 0) {
        eval_report(job, to, elapsed);
    }
    return code;
}

static int run_rank(cli_job *job, const targets *to) {
    spread s = {.comm = NULL};
    bp_status status;
    int code = open_communicator(job, &s);
    status = code == CLI_OK ? spread_settings(job->args) : BP_OK;
    code = status == BP_OK ? code : fail_together(&s, status);
    code = code == CLI_OK ? read_arrays(job, &s) : code;
    code = code == CLI_OK ? compute(job, to, &s) : code;
    bp_comm_close(s.comm);
    spread_free(&s, job);
    return s.failure != CLI_OK ? s.failure : code;
}

int eval_on_ranks(cli_job *job, const targets *to) {
    int code = check_words(job, to);
    code = code == CLI_OK ? describe_inputs(job) : code;
    code = code == CLI_OK ? job_prepare(job) : code;
    code = code == CLI_OK ? spread_check(job) : code;
    code = code == CLI_OK ? eval_check_results(job, to) : code;
    return code != CLI_OK ? code : ranks_is_rank() ? run_rank(job, to) : start_ranks(job->args);
}
