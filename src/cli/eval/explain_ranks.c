/* explain_ranks.c - `backplane explain --ranks`: what an operation would cost on ranks of MPI that are not here. */
#include "explain_ranks.h"

#include "spread.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1 << 20, MOST_COUNTS = 64 };

/* ---- Quantities ---- */

/* Reads a number with a unit, such as 2us or 25GB/s: a prefix from `prefixes`, whose factors follow, then `unit`. */
typedef struct quantity {
    const char *option, *unit, *prefixes, *example;
    double factors[4], fallback;
} quantity;

static const quantity latency_of = {"latency", "s", "num", "2us", {1, 1e3, 1e6}, 2e3}; /* in ns */
static const quantity bandwidth_of = {"bandwidth", "B/s", "kMGT", "25GB/s", {1e3, 1e6, 1e9, 1e12}, 10e9};
static const quantity rate_of = {"rate", "F", "kMGT", "30GF", {1e3, 1e6, 1e9, 1e12}, 0};

static int read_quantity(const cli_args *args, const quantity *q, double whole, double *value) {
    const char *text = cli_value(args, q->option);
    char *end = NULL;
    if (!text) {
        *value = q->fallback;
        return CLI_OK;
    }
    *value = strtod(text, &end);
    const char *prefix = *end ? strchr(q->prefixes, *end) : NULL;
    if (prefix && strcmp(end + 1, q->unit) == 0) {
        *value *= q->factors[prefix - q->prefixes];
        end += 1;
    } else {
        *value *= whole;
    }
    const bool right = end > text && strcmp(end, q->unit) == 0 && *value >= 0;
    return right ? CLI_OK : cli_fail(CLI_USAGE, "--%s is '%s'; it must be such as %s", q->option, text, q->example);
}

static int read_machine(const cli_args *args, bp_comm_machine *machine) {
    machine->struct_size = sizeof *machine;
    int code = read_quantity(args, &latency_of, 1e9, &machine->latency_ns);
    code = code == CLI_OK ? read_quantity(args, &bandwidth_of, 1, &machine->bytes_per_sec) : code;
    return code == CLI_OK ? read_quantity(args, &rate_of, 1, &machine->flops_per_sec) : code;
}

/* Reads "4096" or "64,256,1024". */
static int read_ranks(const cli_args *args, int counts[MOST_COUNTS], int *count) {
    const char *text = cli_value(args, "ranks"), *at = text;
    for (*count = 0; at && *count < MOST_COUNTS; (*count)++) {
        char word[16];
        int64_t value = 0;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        if (!bp__parse_int(word, &value) || value < 1 || value > MOST_RANKS) {
            break;
        }
        counts[*count] = (int)value;
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    }
    return !at ? CLI_OK
               : cli_fail(CLI_USAGE, "--ranks is '%s'; it must be a number from 1 to %d, or at most %d with commas",
                          text, MOST_RANKS, MOST_COUNTS);
}

/* ---- One number of ranks ---- */

/* A vector, but for pivots, is a matrix of one column. */
static int make_columns(cli_job *job) {
    int code = CLI_OK;
    for (int i = 0; i < job->input_count && code == CLI_OK; i++) {
        const bool pivots = i == 1 && strcmp(job->operation->name, "lu_solve") == 0;
        const int64_t shape[2] = {job->inputs[i].shape[0], 1};
        if (job->inputs[i].tensor.ndim == 1 && !pivots) {
            code = operand_view(&job->inputs[i], bp_dtype_from_dlpack(job->inputs[i].tensor.dtype), 2, shape, false);
        }
    }
    return code;
}

static bp_status spread_all(spread *s, cli_job *job) {
    bp_status status = BP_OK;
    spread_begin(s, job);
    for (int i = 0; i < job->input_count && status == BP_OK; i++) {
        status = spread_tensor(s, &s->parts[i], &job->inputs[i].tensor);
    }
    for (int i = 0; i < job->result_count && status == BP_OK; i++) {
        status = spread_tensor(s, &s->parts[job->input_count + i], &job->results[i].tensor);
    }
    return status;
}

/* Prints a line of what ScaLAPACK or FFTW-MPI would take, or why it refuses. Other libraries run on one machine. */
static bool print_line(const bp_explanation *explanation, int ranks, const spread *s, const DLTensor *first) {
    bp_candidate_info info = {.struct_size = sizeof info};
    const char *const provider = s->slabs ? "fftw-mpi" : "scalapack";
    bp_dist dist;
    char time[32];
    int i = 0;
    bool found = false;
    while (!found && bp_explanation_at(explanation, i++, &info)) {
        found = info.chosen || strcmp(info.provider, provider) == 0;
    }
    char *head = cli_format("%d rank%s", ranks, ranks == 1 ? "" : "s");
    char *text = found && info.accepted && spread_distribution(s, first, &dist) == BP_OK
                     ? cli_format("%s, grid %dx%d: %s; %s", head, (int)dist.grid[0], (int)dist.grid[1],
                                  bp__duration(info.cost_ns, time, sizeof time), info.text)
                     : cli_format("%s: %s", head, found ? info.text : bp_explanation_decision(explanation));
    cli_paragraph(2, text);
    free(text);
    free(head);
    return found && info.accepted;
}

static int print_explanation(const cli_job *job, const spread *s, int ranks, bool alone) {
    bp_explanation *explanation = NULL;
    bp_candidate_info info = {.struct_size = sizeof info};
    const bp_status status = job->operation->explain(job, &explanation);
    bool chosen = false;
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (!alone) {
        chosen = print_line(explanation, ranks, s, &job->inputs[0].tensor);
    } else if (cli_has(job->args, "json")) {
        json_raw(NULL, bp_explanation_json(explanation));
    } else {
        cli_page(bp_explanation_text(explanation));
    }
    for (int i = 0; alone && bp_explanation_at(explanation, i, &info); i++) {
        chosen |= info.chosen != 0;
    }
    bp_explanation_release(explanation);
    return chosen ? CLI_OK : CLI_LIBRARY;
}

static int explain_on(const cli_args *args, const bp_comm_machine *machine, bool alone) {
    cli_job job = {.args = args};
    spread s = {.is_empty = true};
    int code = job_shapes(&job);
    code = code == CLI_OK ? make_columns(&job) : code;
    code = code == CLI_OK ? operand_options(args, &job.options) : code;
    code = code == CLI_OK ? job_prepare(&job) : code;
    code = code == CLI_OK ? spread_check(&job) : code;
    if (code == CLI_OK) {
        bp_status status = bp_comm_from_machine(&s.comm, machine);
        status = status == BP_OK ? spread_all(&s, &job) : status;
        code = status == BP_OK ? print_explanation(&job, &s, machine->ranks, alone) : cli_fail_status(status);
    }
    bp_comm_close(s.comm);
    spread_free(&s, &job);
    job_free(&job);
    return code;
}

int explain_check_ranks(const cli_args *args) {
    static const char *const others[] = {"latency", "bandwidth", "rate"};
    for (size_t i = 0; i < sizeof others / sizeof others[0] && !cli_has(args, "ranks"); i++) {
        if (cli_has(args, others[i])) {
            return cli_fail(CLI_USAGE, "--%s is for --ranks, which is not given", others[i]);
        }
    }
    return CLI_OK;
}

int explain_on_ranks(const cli_args *args) {
    bp_comm_machine machine = {.ranks = 1};
    int counts[MOST_COUNTS], count = 0;
    int code = cli_has(args, "device") ? cli_fail(CLI_USAGE, "--ranks and --device exclude each other")
                                       : read_ranks(args, counts, &count);
    code = code == CLI_OK && count > 1 && cli_has(args, "json")
               ? cli_fail(CLI_USAGE, "--json takes one number of --ranks")
               : code;
    code = code == CLI_OK ? read_machine(args, &machine) : code;
    const bp_status status = code == CLI_OK ? spread_settings(args) : BP_OK;
    code = status == BP_OK ? code : cli_fail_status(status);
    int refused = CLI_OK;
    for (int i = 0; i < count && code == CLI_OK; i++) {
        machine.ranks = counts[i];
        code = explain_on(args, &machine, count == 1);
        refused = code == CLI_LIBRARY ? code : refused;
        code = code == CLI_LIBRARY ? CLI_OK : code;
    }
    return code == CLI_OK ? refused : code;
}
