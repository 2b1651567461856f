/* bench_report.c - measures all cases, and the machine, in a bounded time.
 *
 * Cases run by rising size, so that the time is over at the largest ones. Each has an equal share of the time that is
 * left, and the first one has its share of the whole time in any case. Ctrl-C ends the measurement; a second one ends
 * the program.
 */
#include "bench.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECKED_FLOPS 6e6 /* results of larger cases are not checked: their reference takes too long */
#define MOST_SHARES 2     /* of the equal share of a case */

/* ---- Interruption and progress ---- */

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

bool bench_interrupted(void) {
    return interrupted != 0;
}

static int check_interrupt(void *unused) {
    (void)unused;
    return interrupted;
}

static void catch_interrupts(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    bp_set_interrupt_check(check_interrupt, NULL, NULL);
}

/* The cases share the time that is left, so the time tells how far the measurement has come. */
static void show_progress(const bench_report *report, int done, double start) {
    const bench_case *c = &report->cases[done];
    cli_progress((cli_now_ns() - start) / 1e9 / report->request->seconds, "%d/%d  %s %s n=%lld, %d thread%s", done,
                 report->case_count, c->operation->name, bp_dtype_name(bench_dtype(c->operation, c->dtype)),
                 (long long)c->size, c->threads, c->threads == 1 ? "" : "s");
}

/* ---- The list of cases ---- */

static void add_case(bench_report *report, const cli_operation *operation, bp_dtype dtype, int threads, int64_t size) {
    report->cases = cli_grow(report->cases, (size_t)(report->case_count + 1) * sizeof *report->cases);
    report->cases[report->case_count++] = (bench_case){
        .operation = operation, .dtype = dtype, .threads = threads, .size = size, .chosen = -1, .best = -1};
}

static void make_cases(bench_report *report) {
    const bench_request *q = report->request;
    const int sizes = q->size_count ? q->size_count : BENCH_MOST_LIST;
    for (int s = 0; s < sizes; s++) {
        for (int o = 0; o < q->operation_count; o++) {
            const int64_t size = q->size_count ? q->sizes[s] : bench_size_at(q->operations[o], s);
            for (int d = 0; d < q->dtype_count && size > 0; d++) {
                for (int t = 0; t < q->thread_count; t++) {
                    add_case(report, q->operations[o], q->dtypes[d], (int)q->threads[t], size);
                }
            }
        }
    }
}

static bool is_complex(const bench_case *c) {
    return c->dtype == BP_C64 || c->dtype == BP_C128;
}

/* Counts the operations of a case, whose arrays need not fit the memory. Complex numbers take four times as many.
 * Transforms are counted for complex numbers. */
static int count_flops(const bench_request *request, bench_case *c) {
    const cli_sizing *sizing = c->operation->sizing;
    bench_job made;
    if (bench_array_bytes(request, c->operation, c->size, c->dtype) > 0x1p60) {
        return CLI_OK; /* no view of them exists */
    }
    const int code = bench_job_make(&made, request, c->operation, c->size, c->dtype, true);
    if (code == CLI_OK) {
        c->flops = sizing->work(&made.job) * (is_complex(c) && sizing->work != work_transform ? 4 : 1);
    }
    bench_job_free(&made);
    return code;
}

static void skip(bench_case *c, const char *why) {
    candidate_text(&c->skipped, cli_format("%s", why));
}

/* Returns whether inputs and results, which are at most twice as large, fit half of the memory. */
static bool fits_memory(const bench_request *request, const bench_case *c) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    const double bytes = 3 * bench_array_bytes(request, c->operation, c->size, c->dtype);
    return bp_machine(&machine) != BP_OK || machine.memory_bytes == 0 || bytes < (double)machine.memory_bytes / 2;
}

static int run_case(bench_report *report, int index, double deadline) {
    bench_case *c = &report->cases[index];
    int code = count_flops(report->request, c);
    if (code != CLI_OK) {
        return code;
    }
    if (bench_interrupted()) {
        skip(c, "interrupted");
        return CLI_OK;
    }
    double now = cli_now_ns();
    if (index == 0) { /* a busy machine has a result too, however long the measurements before the cases took */
        deadline = fmax(deadline, now + report->request->seconds * 1e9 / report->case_count);
    }
    double share = (deadline - now) / (report->case_count - index);
    if (now > deadline) {
        skip(c, "the time was over");
        return CLI_OK;
    }
    double limit = fmin(deadline, now + MOST_SHARES * share);
    /* No library reaches 200 operations in a nanosecond on one thread. */
    if (c->flops / 200 / c->threads > limit - now) {
        skip(c, "it would take too long");
        return CLI_OK;
    }
    if (!fits_memory(report->request, c)) {
        skip(c, "it needs too much memory");
        return CLI_OK;
    }
    bool check = c->flops <= CHECKED_FLOPS && c->threads == report->request->threads[0];
    double chain = bench_chain();
    code = bench_case_run(c, report->request, limit, check);
    c->chain = fmax(chain, bench_chain());
    if (code == CLI_OK && c->chosen < 0 && c->count == 0) {
        skip(c, "no library runs it");
    }
    return code;
}

/* ---- Overheads and the machine ---- */

static int run_overheads(bench_report *report) {
    const bench_request *q = report->request;
    bp_scope *scope = NULL;
    bp_status status = bp_scope_enter(&scope, "num_threads=1");
    int code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    report->overheads = cli_allocate((size_t)q->operation_count * sizeof *report->overheads);
    for (int i = 0; code == CLI_OK && i < q->operation_count && !bench_interrupted(); i++) {
        bool measured = false;
        bench_overhead *o = &report->overheads[report->overhead_count];
        code = bench_overhead_run(o, q, q->operations[i], q->dtypes[q->dtype_count - 1], &measured);
        report->overhead_count += measured;
    }
    bp_scope_leave(&scope);
    return code;
}

static void run_bandwidths(bench_report *report) {
    const bench_request *q = report->request;
    for (int i = 0; i < q->thread_count && !bench_interrupted(); i++) {
        int threads = (int)q->threads[i];
        report->bandwidths[report->bandwidth_count++] =
            (bench_bandwidth){.threads = threads, .gb_per_s = bench_triad(threads, q->seconds / 20 / q->thread_count)};
    }
}

static bench_peak *find_peak(bench_report *report, bp_dtype dtype, int threads) {
    for (int i = 0; i < report->peak_count; i++) {
        if (report->peaks[i].dtype == dtype && report->peaks[i].threads == threads) {
            return &report->peaks[i];
        }
    }
    report->peaks = cli_grow(report->peaks, (size_t)(report->peak_count + 1) * sizeof *report->peaks);
    report->peaks[report->peak_count] = (bench_peak){.dtype = dtype, .threads = threads, .library = cli_format("-")};
    return &report->peaks[report->peak_count++];
}

/* The fastest samples count, because a peak is what the machine can do. */
static void raise_peak(bench_report *report, const bench_case *c) {
    bench_peak *peak = find_peak(report, c->dtype, c->threads);
    for (int i = 0; i < c->count; i++) {
        const bench_result *r = &c->results[i];
        double speed = r->times.count && !r->wrong ? c->flops / r->times.fastest : 0;
        if (speed > peak->gflops) {
            peak->gflops = speed;
            candidate_text(&peak->library, cli_format("%s", r->library));
        }
    }
}

static void free_case(bench_case *c) {
    for (int i = 0; i < c->count; i++) {
        bench_result *r = &c->results[i];
        free(r->library);
        free(r->provider);
        free(r->algorithm);
        free(r->version);
        free(r->failure);
        free(r->times.ns);
    }
    free(c->results);
    free(c->problem);
    free(c->skipped);
    free(c->error_text);
}

/* Floating-point numbers, real or complex: products take no other types than these and bytes. */
static bool has_products(bp_dtype dtype) {
    const uint8_t code = bp_dtype_to_dlpack(dtype).code;
    return code == kDLFloat || code == kDLBfloat || code == kDLComplex;
}

/* Measures a product of each type that has them. Those among the cases count, too. */
static int run_peaks(bench_report *report) {
    const bench_request *q = report->request;
    const cli_args no_options = {.command = q->args->command};
    bench_request products = *q;
    products.args = &no_options;
    products.shapes = NULL;
    int code = CLI_OK;
    for (int d = 0; d < q->dtype_count; d++) {
        for (int t = 0; has_products(q->dtypes[d]) && t < q->thread_count && code == CLI_OK && !bench_interrupted();
             t++) {
            bench_case c = {.operation = cli_operation_named("matmul"), .dtype = q->dtypes[d], .size = 512};
            c.threads = (int)q->threads[t];
            code = count_flops(&products, &c);
            code = code == CLI_OK
                       ? bench_case_run(&c, &products,
                                        cli_now_ns() + q->seconds * 5e7 / (q->dtype_count * q->thread_count), false)
                       : code;
            raise_peak(report, &c);
            free_case(&c);
        }
    }
    return code;
}

/* ---- The report ---- */

static bool has_time(const bench_report *report, const char *library) {
    for (int i = 0; i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        for (int r = 0; r < c->count; r++) {
            if (c->results[r].times.count > 0 && strcmp(c->results[r].library, library) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void add_library(bench_report *report, const char *name) {
    if (has_time(report, name)) {
        report->libraries = cli_grow(report->libraries, (size_t)(report->library_count + 1) * sizeof(char *));
        report->libraries[report->library_count++] = cli_format("%s", name);
    }
}

/* `native` comes first, then the order of the list, and last the choice of operations that have several parts. */
static void list_libraries(bench_report *report) {
    bp_library_info info = {.struct_size = sizeof info};
    add_library(report, "native");
    for (int i = 0; bp_library_at(i, &info); i++) {
        if (strcmp(info.id, "native") != 0) {
            add_library(report, info.id);
        }
    }
    add_library(report, CANDIDATE_MIXED);
}

int bench_library_index(const bench_report *report, const char *library) {
    for (int i = 0; i < report->library_count; i++) {
        if (strcmp(report->libraries[i], library) == 0) {
            return i;
        }
    }
    return -1;
}

const bench_case *bench_checked_case(const bench_report *report, const cli_operation *operation, bp_dtype dtype) {
    const bench_case *found = NULL;
    for (int i = 0; i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        bool mine = c->operation == operation && c->dtype == dtype && c->error_text && c->best >= 0;
        found = mine && (!found || c->size > found->size) ? c : found;
    }
    return found;
}

double bench_bandwidth_of(const bench_report *report, int threads) {
    for (int i = 0; i < report->bandwidth_count; i++) {
        if (report->bandwidths[i].threads == threads) {
            return report->bandwidths[i].gb_per_s;
        }
    }
    return 0;
}

double bench_peak_of(const bench_report *report, bp_dtype dtype, int threads) {
    for (int i = 0; i < report->peak_count; i++) {
        if (report->peaks[i].dtype == dtype && report->peaks[i].threads == threads) {
            return report->peaks[i].gflops;
        }
    }
    return 0;
}

/* Compares the speed of the processor during each case with its best. */
static void find_slow_spells(bench_report *report) {
    double least = HUGE_VAL;
    for (int i = 0; i < report->case_count; i++) {
        double chain = report->cases[i].chain;
        least = chain > 0 ? fmin(least, chain) : least;
    }
    for (int i = 0; i < report->case_count; i++) {
        report->cases[i].slowdown = report->cases[i].chain / least;
    }
}

bench_score bench_score_of(const bench_report *report) {
    bench_score score = {0, 0, 0, 0};
    for (int i = 0; i < report->case_count; i++) {
        double ratio = report->cases[i].ratio;
        score.mean += ratio > 0 ? log(ratio) : 0;
        score.count += ratio > 0;
        score.worst = fmax(score.worst, ratio);
        score.slow += report->cases[i].slowdown > BENCH_SLOW;
    }
    score.mean = score.count ? exp(score.mean / score.count) : 0;
    return score;
}

/* Adds the part of a case to the mean. */
static void add_load(bench_report *report) {
    double others = 0;
    bp_load_limit(&others);
    report->load += others / report->case_count;
}

static void write_date(bench_report *report) {
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts)) {
        strftime(report->date, sizeof report->date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
}

int bench_measure(bench_report *report, const bench_request *request) {
    double start = cli_now_ns(), deadline = start + request->seconds * 1e9;
    *report = (bench_report){.request = request};
    write_date(report);
    make_cases(report);
    catch_interrupts();
    bp_load_limit(NULL); /* the next reading tells what happened since this one */
    cli_progress_begin(CLI_EXAMINING);
    run_bandwidths(report);
    int code = run_overheads(report);
    code = code == CLI_OK ? run_peaks(report) : code;
    for (int i = 0; i < report->case_count && code == CLI_OK; i++) {
        show_progress(report, i, start);
        code = run_case(report, i, deadline);
        add_load(report);
    }
    for (int i = 0; i < report->case_count; i++) {
        if (strcmp(report->cases[i].operation->name, "matmul") == 0) {
            raise_peak(report, &report->cases[i]);
        }
    }
    cli_progress_end();
    bp_set_interrupt_check(NULL, NULL, NULL);
    list_libraries(report);
    find_slow_spells(report);
    report->interrupted = bench_interrupted();
    report->elapsed = (cli_now_ns() - start) / 1e9;
    return code;
}

void bench_report_free(bench_report *report) {
    for (int i = 0; i < report->case_count; i++) {
        free_case(&report->cases[i]);
    }
    for (int i = 0; i < report->overhead_count; i++) {
        free(report->overheads[i].library);
    }
    for (int i = 0; i < report->peak_count; i++) {
        free(report->peaks[i].library);
    }
    for (int i = 0; i < report->library_count; i++) {
        free(report->libraries[i]);
    }
    free(report->cases);
    free(report->overheads);
    free(report->peaks);
    free(report->libraries);
}
