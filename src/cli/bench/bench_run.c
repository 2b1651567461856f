/* bench_run.c - measures one operation of one size on all libraries, in interleaved turns.
 *
 * Every library runs a kept plan. In each turn every library gets a few samples, so that a slow spell of the machine
 * affects all of them; the median of all samples is reported. A library that is much slower than the fastest one gets
 * fewer samples.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS 1e5 /* a sample lasts at least this long */
#define MOST_TURNS 9
#define TURN_SAMPLES 3 /* of one library, if they are short */
#define SLOW 8         /* times the fastest: one turn is enough */
#define TOO_SLOW 200   /* times the fastest, by the estimate, and longer than the time of the case: no turn */

/* Waits until the idle threads of other libraries sleep. The command shortens the time for which MKL's spin. */
#define REST_NS 40e6

typedef struct runner {
    bench_result *result;
    bp_options *options;
    bp_plan *plan;
    bp_operand operands[JOB_OPERANDS];
    cli_job *job;    /* which is run if the operation has no plan */
    double estimate; /* of one call, first by the library, then measured */
    int calls;       /* in one sample */
} runner;

static bp_status run_once(const runner *r) {
    if (r->plan) {
        return bp_execute(r->plan, r->operands, NULL);
    }
    r->job->options = r->options;
    const bp_status status = r->job->operation->run(r->job);
    r->job->options = NULL;
    return status;
}

/* Times `calls` calls. Returns the time of one of them. */
static bp_status time_calls(const runner *r, int calls, double *ns) {
    bp_status status = BP_OK;
    double start = cli_now_ns();
    for (int i = 0; i < calls && status == BP_OK; i++) {
        status = run_once(r);
    }
    *ns = (cli_now_ns() - start) / calls;
    return status;
}

static void fail_runner(runner *r, bp_status status) {
    r->result->times.count = 0;
    candidate_text(&r->result->failure,
                   cli_format("%s", bp_last_status() == status ? bp_last_error() : bp_status_text(status)));
}

/* ---- The candidates that are measured: for each library the one that dispatch would take ---- */

static bool is_wanted(const bench_request *request, const cli_candidate *one) {
    for (int i = 0; i < request->library_count; i++) {
        if (strcmp(request->libraries[i], one->library) == 0) {
            return true;
        }
    }
    return request->library_count == 0 || one->chosen;
}

static bool is_better(const cli_candidate *one, const cli_candidate *other) {
    return one->chosen || (!other->chosen && one->cost_ns < other->cost_ns);
}

/* Returns the candidate that stands for the library of candidate `index`. */
static int best_of_library(const cli_candidates *all, int index) {
    int best = index;
    for (int i = 0; i < all->count; i++) {
        const cli_candidate *one = &all->list[i];
        if (one->accepted && strcmp(one->library, all->list[index].library) == 0 && is_better(one, &all->list[best])) {
            best = i;
        }
    }
    return best;
}

static char *copy_text(const char *text) {
    return cli_format("%s", text);
}

static void add_runner(bench_case *c, runner *r, const cli_candidate *one) {
    bench_result *result = &c->results[c->count];
    *result = (bench_result){.library = copy_text(one->library),
                             .provider = copy_text(one->provider),
                             .algorithm = copy_text(one->algorithm),
                             .version = copy_text(one->version),
                             .threads = one->threads,
                             .error = -1,
                             .chosen = one->chosen};
    *r = (runner){.result = result, .options = one->options, .estimate = one->cost_ns};
    c->chosen = one->chosen ? c->count : c->chosen;
    c->count++;
}

/* Fills c->results and `runners`, which have space for all candidates. */
static void add_runners(bench_case *c, runner *runners, const cli_candidates *all, const bench_request *request) {
    c->results = cli_allocate((size_t)(all->count + 1) * sizeof *c->results);
    for (int i = 0; i < all->count; i++) {
        const cli_candidate *one = &all->list[i];
        if (one->accepted && is_wanted(request, one) && best_of_library(all, i) == i) {
            add_runner(c, &runners[c->count], one);
        }
    }
}

/* ---- Turns ---- */

/* The first calls load the library, start its threads and touch its memory. The result of the first one is checked. */
static bp_status warm_up(runner *r, cli_job *job, const cli_check *check, bench_case *c) {
    double ns;
    int count;
    const cli_measured *measured = job->operation->measured;
    r->job = job;
    job->options = r->options;
    bp_status status = measured->plan ? measured->plan(job, &r->plan, r->operands, &count) : BP_OK;
    job->options = NULL;
    if (status == BP_OK && check) {
        job_fill_nan(job);
    }
    status = status == BP_OK ? time_calls(r, 1, &ns) : status;
    if (status == BP_OK && check) {
        status = check->error(check, job, &r->result->error);
        r->result->wrong = status == BP_OK && r->result->error > check->bound;
        c->error_bound = check->bound;
    }
    bp_plan_info info = {.struct_size = sizeof info};
    if (status == BP_OK && r->plan && bp_plan_describe(r->plan, &info) == BP_OK) {
        r->result->threads = info.threads;
        candidate_text(&r->result->algorithm, copy_text(info.algorithm));
    }
    status = status == BP_OK ? time_calls(r, 1, &r->estimate) : status;
    if (status == BP_OK) {
        r->calls = r->estimate < SAMPLE_NS ? (int)(SAMPLE_NS / (r->estimate + 1)) + 1 : 1;
    }
    return status;
}

static double fastest_estimate(const runner *runners, int count) {
    double fastest = HUGE_VAL;
    for (int i = 0; i < count; i++) {
        if (!runners[i].result->failure && runners[i].estimate > 0) {
            fastest = fmin(fastest, runners[i].estimate);
        }
    }
    return fastest;
}

/* Leaves out libraries that would take the whole time. */
static void warm_up_all(bench_case *c, runner *runners, cli_job *job, const cli_check *check, double deadline) {
    double share = deadline - cli_now_ns();
    for (int i = 0; i < c->count && !bench_interrupted(); i++) {
        double fastest = fastest_estimate(runners, c->count);
        bool late = cli_now_ns() > deadline && !runners[i].result->chosen;
        if (!runners[i].result->chosen && runners[i].estimate > TOO_SLOW * fastest && 3 * runners[i].estimate > share) {
            candidate_text(&runners[i].result->failure, copy_text("left out: it would take too long"));
        } else if (late && 2 * runners[i].estimate > share) {
            candidate_text(&runners[i].result->failure, copy_text("left out: the time is over"));
        } else {
            bp_status status = warm_up(&runners[i], job, check, c);
            if (status != BP_OK) {
                fail_runner(&runners[i], status);
            }
        }
    }
}

static void take_turn(runner *r, bool threaded, double deadline) {
    double ns = 0;
    if (threaded) {
        cli_rest_ns(REST_NS);
    }
    /* The previous library has left other data in the caches, and slept threads wake up. */
    bp_status status = r->estimate < 100 * SAMPLE_NS ? run_once(r) : BP_OK;
    for (int i = 0; status == BP_OK && i < TURN_SAMPLES && !bench_interrupted(); i++) {
        status = time_calls(r, r->calls, &ns);
        if (status == BP_OK) {
            samples_add(&r->result->times, ns);
        }
        /* Short calls get all samples, since a single one may be in a pause of several milliseconds. */
        bool late = cli_now_ns() > deadline && ns * r->calls > 20 * SAMPLE_NS;
        if (ns * r->calls > 200 * SAMPLE_NS || late) {
            break;
        }
    }
    if (status != BP_OK && status != BP_E_CANCELLED) {
        fail_runner(r, status);
    }
}

static void take_turns(bench_case *c, runner *runners, double deadline) {
    double fastest = fastest_estimate(runners, c->count);
    bool threaded = false; /* a library's own number of threads is 0 */
    for (int i = 0; i < c->count; i++) {
        threaded |= c->threads > 1 && c->results[i].threads != 1;
    }
    for (int turn = 0; turn < MOST_TURNS && !bench_interrupted(); turn++) {
        for (int i = 0; i < c->count && !bench_interrupted(); i++) {
            bool slow = turn > 0 && runners[i].estimate > SLOW * fastest && !runners[i].result->chosen;
            if (!runners[i].result->failure && runners[i].job && !slow && (turn < 1 || cli_now_ns() < deadline)) {
                take_turn(&runners[i], threaded, deadline);
            }
        }
    }
}

/* ---- The case ---- */

static void summarise(bench_case *c) {
    c->best = -1;
    for (int i = 0; i < c->count; i++) {
        bench_result *r = &c->results[i];
        samples_summarise(&r->times);
        if (r->times.count == 0) {
            r->failure = r->failure ? r->failure : copy_text("interrupted");
            continue;
        }
        r->speed = (c->operation->sizing->moves ? c->bytes : c->flops) / r->times.median;
        bool counts = !r->wrong; /* a wrong result is no competitor */
        c->best = counts && (c->best < 0 || r->times.median < c->results[c->best].times.median) ? i : c->best;
    }
    bool both = c->chosen >= 0 && c->best >= 0 && c->results[c->chosen].times.count > 0;
    c->ratio = both ? c->results[c->chosen].times.median / c->results[c->best].times.median : 0;
}

static int measure_case(bench_case *c, cli_job *job, const bench_request *request, double deadline, bool checked) {
    char settings[32];
    cli_candidates all;
    cli_check check = {.bound = HUGE_VAL};
    snprintf(settings, sizeof settings, "num_threads=%d", c->threads);
    int code = candidates_make(&all, job, settings);
    runner *runners = cli_allocate((size_t)(all.count + 1) * sizeof *runners);
    if (code == CLI_OK) {
        c->problem = copy_text(bp_explanation_problem(all.explanation));
        add_runners(c, runners, &all, request);
        bp_status status = checked ? job->operation->measured->check(&check, job) : BP_OK;
        code = status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    if (code == CLI_OK) {
        bool is_checked = checked && isfinite(check.bound);
        c->error_text = is_checked ? copy_text(check.text) : NULL;
        warm_up_all(c, runners, job, is_checked ? &check : NULL, deadline);
        take_turns(c, runners, deadline);
        summarise(c);
    }
    for (int i = 0; i < c->count; i++) {
        bp_plan_release(runners[i].plan);
    }
    free(runners);
    check_free(&check);
    candidates_free(&all);
    return code;
}

int bench_case_run(bench_case *c, const bench_request *request, double deadline, bool check) {
    bench_job made;
    c->chosen = c->best = -1;
    int code = bench_job_make(&made, request, c->operation, c->size, c->dtype, false);
    if (code == CLI_OK) {
        c->bytes = bench_job_bytes(&made.job);
        code = measure_case(c, &made.job, request, deadline, check);
    }
    bench_job_free(&made);
    return code;
}

/* ---- The smallest call ---- */

/* Returns its size: 2, or with shapes or options of operations, which may need more, the smallest of all cases. */
static int64_t smallest_size(const bench_request *request, const cli_operation *operation) {
    bool own = request->shapes != NULL;
    for (int i = 0; i < request->args->given_count; i++) {
        own |= !bench_own_option(request->args->given[i].option->name);
    }
    return !own ? 2 : request->size_count ? request->sizes[0] : operation->sizing->sizes[0];
}

#define OVERHEAD_ROUNDS 21

static bp_status time_overhead(cli_job *job, const runner *r, samples *one_shot, samples *plan) {
    double ns = 0;
    bp_status status = job->operation->run(job);
    status = status == BP_OK ? time_calls(r, 1, &ns) : status;
    status = status == BP_OK ? time_calls(r, 1, &ns) : status;
    int calls = ns < SAMPLE_NS ? (int)(SAMPLE_NS / (ns + 1)) + 1 : 1;
    for (int i = 0; status == BP_OK && i < OVERHEAD_ROUNDS && !bench_interrupted(); i++) {
        double start = cli_now_ns();
        for (int k = 0; k < calls && status == BP_OK; k++) {
            status = job->operation->run(job);
        }
        samples_add(one_shot, (cli_now_ns() - start) / calls);
        status = status == BP_OK ? time_calls(r, calls, &ns) : status;
        samples_add(plan, ns);
    }
    samples_summarise(one_shot);
    samples_summarise(plan);
    return status;
}

int bench_overhead_run(bench_overhead *o, const bench_request *request, const cli_operation *operation, bp_dtype dtype,
                       bool *measured) {
    bench_job made;
    runner r = {.calls = 1};
    samples one_shot = {.count = 0}, plan = {.count = 0};
    int count;
    bp_plan_info info = {.struct_size = sizeof info};
    *o = (bench_overhead){.operation = operation, .dtype = dtype, .size = smallest_size(request, operation)};
    int code = operation->measured->plan ? bench_job_make(&made, request, operation, o->size, dtype, false) : CLI_OK;
    if (code == CLI_OK && operation->measured->plan) {
        bp_status status = operation->measured->plan(&made.job, &r.plan, r.operands, &count);
        status = status == BP_OK ? bp_plan_describe(r.plan, &info) : status;
        status = status == BP_OK ? time_overhead(&made.job, &r, &one_shot, &plan) : status;
        *measured = status == BP_OK && plan.count > 0;
        o->library = *measured ? copy_text(info.library) : NULL;
        o->one_shot_ns = one_shot.median;
        o->plan_ns = plan.median;
    }
    bp_plan_release(r.plan);
    free(one_shot.ns);
    free(plan.ns);
    if (operation->measured->plan) {
        bench_job_free(&made);
    }
    return code;
}
