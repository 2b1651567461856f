/* bench.h - measures operations on all libraries: the report that the table, JSON and HTML are made from.
 *
 * bench_request.c reads what the user asks for, bench_job.c makes the arrays, bench_run.c measures a case,
 * bench_machine.c the machine, bench_report.c all of it in a bounded time. bench_text.c, bench_json.c and bench_html.c
 * write the report.
 */
#ifndef BP_CLI_BENCH_H
#define BP_CLI_BENCH_H

#include "cli/operations/candidates.h"
#include "cli/operations/sizing.h"

#define BENCH_MOST_OPERATIONS 256
#define BENCH_MOST_LIST 64 /* sizes, types, thread counts or libraries in one option */
#define BENCH_MOST_SIZE (INT64_C(1) << 24)

/* The operations that are measured: the table's operations that a library runs. NULL past the end. */
const cli_operation *bench_operation_at(int index);
/* Fails with the name of an operation that cannot be measured, and similar ones. Returns CLI_USAGE. */
int bench_no_operation(const char *name);
const char *bench_operation_name_at(void *unused, int index);
/* The sizes of an operation if none are given: its own, and one between each two of them. 0 past the end. */
int64_t bench_size_at(const cli_operation *operation, int index);

/* What is measured. */
typedef struct bench_request {
    const cli_args *args; /* has the options of the operations, among others */
    const char *shapes;   /* of the arrays, in place of the operation's shapes; NULL: not given */
    const cli_operation *operations[BENCH_MOST_OPERATIONS];
    int operation_count;
    int64_t sizes[BENCH_MOST_LIST];
    int size_count; /* 0: each operation has its own */
    bp_dtype dtypes[BENCH_MOST_LIST];
    int dtype_count;
    int64_t threads[BENCH_MOST_LIST];
    int thread_count;
    const char *libraries[BENCH_MOST_LIST]; /* none: all */
    int library_count;
    double seconds;
} bench_request;

/* Reads the options. Returns CLI_OK, or CLI_USAGE after a message. */
int bench_request_read(bench_request *request, const cli_args *args);

/* One library in one case. */
typedef struct bench_result {
    char *library, *provider, *algorithm, *version;
    char *failure; /* why there is no time; NULL if there is one */
    int threads;
    samples times;
    double speed; /* in the unit of the case, from the median */
    double error; /* negative if it was not checked */
    bool chosen, wrong;
} bench_result;

typedef struct bench_case {
    const cli_operation *operation;
    bp_dtype dtype;
    int threads;
    int64_t size;
    char *problem, *skipped, *error_text; /* skipped: why nothing was measured, else NULL */
    double flops, bytes;
    double error_bound; /* 0 if the results were not checked */
    bench_result *results;
    int count;
    int chosen, best; /* indices of results; -1 if there is none */
    double ratio;     /* time of the choice / time of the best */
    double chain;     /* the longer time of bench_chain() before and after it; 0 if it was skipped */
    double slowdown;  /* chain / the least one of all cases */
} bench_case;

#define BENCH_SLOW 1.1 /* a slowdown above it is reported */

/* The time of the smallest call. */
typedef struct bench_overhead {
    const cli_operation *operation;
    bp_dtype dtype;
    int64_t size;
    char *library;
    double one_shot_ns, plan_ns;
} bench_overhead;

typedef struct bench_bandwidth {
    int threads;
    double gb_per_s;
} bench_bandwidth;

/* The fastest matrix product of a type. */
typedef struct bench_peak {
    bp_dtype dtype;
    int threads;
    double gflops;
    char *library;
} bench_peak;

typedef struct bench_report {
    const bench_request *request;
    bench_case *cases;
    int case_count;
    bench_overhead *overheads;
    int overhead_count;
    bench_bandwidth bandwidths[BENCH_MOST_LIST];
    int bandwidth_count;
    bench_peak *peaks;
    int peak_count;
    char **libraries; /* those that have a time, each once, in the order of the list of libraries */
    int library_count;
    double elapsed; /* seconds */
    double load;    /* processors that other processes kept busy */
    char date[32];
    bool interrupted;
} bench_report;

/* Measures everything, until the time is over or the user interrupts. Returns CLI_OK, or an exit code after a message.
 */
int bench_measure(bench_report *report, const bench_request *request);
void bench_report_free(bench_report *report);
bool bench_interrupted(void);

/* "GFLOP/s" or "GB/s". */
const char *bench_unit(const cli_operation *operation);
/* The geometric mean and the largest of all ratios. */
typedef struct bench_score {
    double mean, worst;
    int count;
    int slow; /* cases during which the processor was slower than BENCH_SLOW times its best */
} bench_score;
bench_score bench_score_of(const bench_report *report);
/* Returns the index of a library in report->libraries, -1 if it is not there. */
int bench_library_index(const bench_report *report, const char *library);
/* Returns the first measured case of the largest size with a check, for an operation and type; NULL if there is none.
 */
const bench_case *bench_checked_case(const bench_report *report, const cli_operation *operation, bp_dtype dtype);
/* Returns the bandwidth at that number of threads, 0 if it is unknown; and the peak of a type. */
double bench_bandwidth_of(const bench_report *report, int threads);
double bench_peak_of(const bench_report *report, bp_dtype dtype, int threads);

/* ---- Parts of the measurement ---- */

/* The job of one size, with options of the user and of the operation. */
typedef struct bench_job {
    cli_job job;
    cli_args args; /* of the job */
    cli_given *usual;
    int usual_count;
} bench_job;

/* Makes a job with arrays of the size; with `dry`, views without data. Returns CLI_OK, or an exit code after a message;
 * call bench_job_free() in both cases. */
int bench_job_make(bench_job *made, const bench_request *request, const cli_operation *operation, int64_t size,
                   bp_dtype dtype, bool dry);
/* Whether the option is one of bench itself, which operations do not have, or with another meaning. */
bool bench_own_option(const char *option);
/* Checks that the operation takes the options that are not of bench itself. Returns CLI_OK, or CLI_USAGE after a
 * message. */
int bench_check_options(const cli_args *args, const cli_operation *operation);
void bench_job_free(bench_job *made);
/* Bytes of the arrays, which need not exist. */
double bench_array_bytes(const bench_request *request, const cli_operation *operation, int64_t size, bp_dtype dtype);
/* The element type of the operation: transforms have a complex one. */
bp_dtype bench_dtype(const cli_operation *operation, bp_dtype dtype);
/* The shapes of an operation, for people; free() it. */
char *bench_shapes(const cli_operation *operation);
/* Bytes of its inputs and results. */
double bench_job_bytes(const cli_job *job);

/* Measures one case until `deadline` at about the latest; a call that runs then is finished first. */
int bench_case_run(bench_case *c, const bench_request *request, double deadline, bool check);

/* Measures the smallest call of an operation. *measured is false if there is no library for it. */
int bench_overhead_run(bench_overhead *o, const bench_request *request, const cli_operation *operation, bp_dtype dtype,
                       bool *measured);

/* Returns the time of a chain of dependent multiplications, in ns: it is longer if the processor's clock is lower, or
 * if another machine shares its core. Interruptions are left out. */
double bench_chain(void);

/* Measures the memory bandwidth in GB/s, in about that time: a[i] = b[i] + x * c[i] on arrays that exceed the caches. 0
 * if there is no memory. */
double bench_triad(int threads, double seconds);

/* ---- Output ---- */

void bench_print_text(const bench_report *report);
void bench_print_json(const bench_report *report);
/* Writes the page completely or not at all. Returns CLI_OK, or CLI_IO after a message. */
int bench_write_html(const bench_report *report, const char *path);

#endif
