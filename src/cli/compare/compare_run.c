/* compare_run.c - times and verifies one job on every candidate, in interleaved turns. For the command compare. */
#include "compare_run.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_NS 2e5  /* a sample lasts at least this long */
#define LIBRARY_NS 2e9 /* after this time a candidate gets LEAST_SAMPLES samples at most */
#define LEAST_SAMPLES 3
#define TURNS 2 /* of each candidate, so that a disturbance of the machine does not affect all its samples */

/* Idle threads of other libraries spin after their last call: libiomp5's for 200 ms. */
#define PAUSE_NS 210e6

static bool has_old_c(const cli_job *job) {
    return job->operation->measured->check == check_product && job->words.product.old_c;
}

/* Restores an old C, which gemm has overwritten. */
static void restore_old_c(comparison *c) {
    if (has_old_c(&c->job)) {
        memcpy(c->job.result_arrays[0].data, c->old_c.data, c->old_c.header.size);
    }
}

static int keep_old_c(comparison *c) {
    if (!has_old_c(&c->job)) {
        return CLI_OK;
    }
    c->old_c.header = c->job.result_arrays[0].header;
    if (npy_allocate(&c->old_c) != BP_OK) {
        return cli_fail(CLI_MEMORY, "no memory for a copy of C");
    }
    memcpy(c->old_c.data, c->job.result_arrays[0].data, c->old_c.header.size);
    return CLI_OK;
}

static bp_status call_operation(comparison *c, const timed_candidate *one, int times, double *elapsed) {
    bp_status status = BP_OK;
    c->job.options = one->candidate->options;
    double start = cli_now_ns();
    for (int i = 0; i < times && status == BP_OK; i++) {
        status = c->job.operation->run(&c->job);
    }
    *elapsed = cli_now_ns() - start;
    c->job.options = NULL;
    return status;
}

static void drop_out(comparison *c, timed_candidate *one, bp_status status) {
    c->failure = status;
    one->candidate->accepted = false;
    one->times.count = 0;
    candidate_text(&one->candidate->why,
                   cli_format("failed: %s", bp_last_status() == status ? bp_last_error() : bp_status_text(status)));
}

/* Makes the first call, which loads the library and starts its threads, and checks its result. */
static int warm_up(comparison *c, timed_candidate *one) {
    double elapsed;
    job_fill_nan(&c->job);
    restore_old_c(c);
    bp_status status = call_operation(c, one, 1, &elapsed);
    if (status != BP_OK) {
        drop_out(c, one, status);
        return CLI_OK;
    }
    bp_plan_info plan = {.struct_size = sizeof plan};
    if (bp_last_plan(&plan) == BP_OK) {
        one->candidate->threads = plan.threads;
        c->threaded |= plan.threads > 1;
        candidate_text(&one->candidate->algorithm, cli_format("%s", plan.algorithm));
    }
    status = c->check.error(&c->check, &c->job, &one->error);
    one->wrong = one->error > c->check.bound;
    if (status != BP_OK || call_operation(c, one, 1, &elapsed) != BP_OK) {
        return cli_fail_status(bp_last_status());
    }
    one->calls = elapsed > 0 && elapsed < SAMPLE_NS ? (int)(SAMPLE_NS / elapsed) + 1 : 1;
    return CLI_OK;
}

static void take_sample(comparison *c, timed_candidate *one) {
    double elapsed;
    if (one->spent > LIBRARY_NS && one->times.count >= LEAST_SAMPLES) {
        return;
    }
    restore_old_c(c);
    bp_status status = call_operation(c, one, one->calls, &elapsed);
    if (status != BP_OK) {
        drop_out(c, one, status);
        return;
    }
    one->spent += elapsed;
    samples_add(&one->times, elapsed / one->calls);
}

/* Takes samples of one candidate until it has `until`. Waits for idle threads to sleep first, then wakes its own with
 * one call. */
static void take_turn(comparison *c, timed_candidate *one, int until) {
    double elapsed;
    if (c->threaded) {
        cli_rest_ns(PAUSE_NS);
    }
    bp_status status = call_operation(c, one, 1, &elapsed);
    if (status != BP_OK) {
        drop_out(c, one, status);
    }
    for (int i = one->times.count; one->candidate->accepted && i < until; i++) {
        take_sample(c, one);
    }
}

/* The first calls are a turn too. */
static void show_progress(const comparison *c, int done, const cli_candidate *candidate) {
    cli_progress((double)done / ((TURNS + 1) * c->candidates.count), "%s (%s)", candidate->library,
                 candidate->provider);
}

static void take_turns(comparison *c) {
    for (int turn = 1; turn <= TURNS; turn++) {
        for (int i = 0; i < c->candidates.count; i++) {
            if (c->timed[i].candidate->accepted) {
                show_progress(c, turn * c->candidates.count + i, c->timed[i].candidate);
                take_turn(c, &c->timed[i], (c->repeat * turn + TURNS - 1) / TURNS);
            }
        }
    }
    for (int i = 0; i < c->candidates.count; i++) {
        timed_candidate *one = &c->timed[i];
        samples_summarise(&one->times);
        one->spread = one->times.count ? (one->times.high - one->times.low) / one->times.median : 0;
    }
}

int comparison_run(comparison *c, int repeat) {
    c->repeat = repeat;
    cli_progress_begin(CLI_EXAMINING);
    int code = candidates_make(&c->candidates, &c->job, NULL);
    if (code != CLI_OK) {
        return code;
    }
    if (c->candidates.count == 0) {
        return cli_fail(CLI_LIBRARY, "no library runs %s", bp_explanation_problem(c->candidates.explanation));
    }
    c->timed = cli_allocate((size_t)c->candidates.count * sizeof *c->timed);
    bp_status status = c->job.operation->measured->check(&c->check, &c->job);
    code = status == BP_OK ? keep_old_c(c) : cli_fail_status(status);
    for (int i = 0; code == CLI_OK && i < c->candidates.count; i++) {
        c->timed[i].candidate = &c->candidates.list[i];
        show_progress(c, i, c->timed[i].candidate);
        code = c->candidates.list[i].accepted ? warm_up(c, &c->timed[i]) : CLI_OK;
    }
    if (code == CLI_OK) {
        take_turns(c);
    }
    cli_progress_end();
    return code;
}

void comparison_free(comparison *c) {
    for (int i = 0; c->timed && i < c->candidates.count; i++) {
        free(c->timed[i].times.ns);
    }
    free(c->timed);
    candidates_free(&c->candidates);
    check_free(&c->check);
    npy_free(&c->old_c);
    if (c->scope) {
        bp_scope_leave(&c->scope);
    }
    job_free(&c->job);
}
