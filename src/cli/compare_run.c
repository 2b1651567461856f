/* compare_run.c - times and verifies one product on every candidate, in interleaved rounds. For the command compare. */
#include "compare_run.h"

#include "operands.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE_NS 2e5  /* a sample lasts at least this long */
#define LIBRARY_NS 2e9 /* after this time a candidate gets LEAST_SAMPLES samples at most */
#define LEAST_SAMPLES 3
#define TURNS 2 /* of each candidate, so that a disturbance of the machine does not affect all its samples */

/* Idle threads of other libraries spin after their last call: those of libiomp5 for 200 ms. */
#define PAUSE_NS 210000000L

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void set_why(candidate *one, char *why) {
    free(one->why);
    one->why = why;
}

static int enter_settings(comparison *c, const cli_args *args) {
    char *text = cli_options_text(args, NULL);
    bp_status status = bp_scope_enter(&c->scope, text);
    free(text);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static int prepare(comparison *c) {
    int ndim;
    int64_t shape[BP_MAX_NDIM];
    bp_status status = bp_matmul_shape(&c->a.tensor, &c->b.tensor, &ndim, shape);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    int code = operand_result(&c->array_out, &c->out, c->array_a.header.dtype, ndim, shape);
    if (code != CLI_OK) {
        return code;
    }
    status = bp_matmul_explain(&c->explanation, NULL, &c->a.tensor, &c->b.tensor, &c->out.tensor);
    status = status == BP_OK ? reference_make(&c->reference, &c->a.tensor, &c->b.tensor, &c->out.tensor) : status;
    c->bound = reference_bound(&c->reference, c->array_a.header.dtype);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static char *copy(const char *text) {
    return cli_format("%s", text ? text : "");
}

static int add_candidate(comparison *c, const bp_candidate_info *info) {
    c->candidates = cli_grow(c->candidates, (size_t)(c->count + 1) * sizeof *c->candidates);
    candidate *one = &c->candidates[c->count++];
    *one =
        (candidate){.library = copy(info->library), .provider = copy(info->provider), .version = copy(info->version)};
    one->algorithm = copy(info->accepted ? info->algorithm : "");
    one->accepted = info->accepted;
    one->chosen = info->chosen;
    one->threads = info->threads;
    one->cost_ns = info->cost_ns;
    one->times = cli_allocate((size_t)c->repeat * sizeof *one->times);
    if (!info->accepted) {
        set_why(one, cli_format("refused: %s", info->text));
        return CLI_OK;
    }
    char *name = cli_format("%s:%s:%s", one->library, one->provider, one->algorithm), text[32];
    char *quoted = cli_quote(name), *wanted = cli_format("blas.preferred=%s, dispatch.fallback=strict", quoted);
    bp_status status = bp_options_new(&one->options, wanted);
    free(wanted);
    free(quoted);
    free(name);
    set_why(one, one->chosen ? copy(bp_explanation_decision(c->explanation))
                             : cli_format("estimated at %s", bp__duration(one->cost_ns, text, sizeof text)));
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static bp_status call(comparison *c, const candidate *one, int times, double *elapsed) {
    bp_status status = BP_OK;
    double start = now_ns();
    for (int i = 0; i < times && status == BP_OK; i++) {
        status = bp_matmul_run(one->options, &c->a.tensor, &c->b.tensor, &c->out.tensor);
    }
    *elapsed = now_ns() - start;
    return status;
}

static void drop_out(candidate *one, bp_status status) {
    one->accepted = false;
    one->samples = 0;
    set_why(one, cli_format("failed: %s", bp_last_status() == status ? bp_last_error() : bp_status_text(status)));
}

/* Makes the first call, which loads the library and starts its threads, and checks its result. The output is filled
 * with NaN before, so that an unwritten element is an error. */
static int warm_up(comparison *c, candidate *one) {
    double elapsed;
    memset(c->array_out.data, 0xff, c->array_out.header.size);
    bp_status status = call(c, one, 1, &elapsed);
    if (status != BP_OK) {
        drop_out(one, status);
        return CLI_OK;
    }
    bp_plan_info plan = {.struct_size = sizeof plan};
    if (bp_last_plan(&plan) == BP_OK) {
        one->threads = plan.threads;
        c->threaded |= plan.threads > 1;
        free(one->algorithm);
        one->algorithm = copy(plan.algorithm);
    }
    status = reference_error(&c->reference, &c->out.tensor, &one->error);
    one->wrong = one->error > c->bound;
    if (status != BP_OK || call(c, one, 1, &elapsed) != BP_OK) {
        return cli_fail_status(bp_last_status());
    }
    one->calls = elapsed > 0 && elapsed < SAMPLE_NS ? (int)(SAMPLE_NS / elapsed) + 1 : 1;
    return CLI_OK;
}

static void take_sample(comparison *c, candidate *one) {
    double elapsed;
    if (one->spent > LIBRARY_NS && one->samples >= LEAST_SAMPLES) {
        return;
    }
    bp_status status = call(c, one, one->calls, &elapsed);
    if (status != BP_OK) {
        drop_out(one, status);
        return;
    }
    one->spent += elapsed;
    one->times[one->samples++] = elapsed / one->calls;
}

/* Takes samples of one candidate until it has `until`. Waits for idle threads to sleep first, then wakes its own with
 * one call. */
static void take_turn(comparison *c, candidate *one, int until) {
    double elapsed;
    if (c->threaded) {
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    bp_status status = call(c, one, 1, &elapsed);
    if (status != BP_OK) {
        drop_out(one, status);
    }
    for (int i = one->samples; one->accepted && i < until; i++) {
        take_sample(c, one);
    }
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void summarise(candidate *one) {
    int n = one->samples;
    if (n == 0) {
        return;
    }
    qsort(one->times, (size_t)n, sizeof *one->times, ascending);
    one->fastest = one->times[0];
    one->median = (one->times[(n - 1) / 2] + one->times[n / 2]) / 2;
    one->spread = (one->times[(3 * n) / 4 < n ? (3 * n) / 4 : n - 1] - one->times[n / 4]) / one->median;
}

int comparison_run(comparison *c, const cli_args *args, int repeat) {
    c->repeat = repeat;
    int code = enter_settings(c, args);
    code = code == CLI_OK ? prepare(c) : code;
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; code == CLI_OK && bp_explanation_at(c->explanation, i, &info); i++) {
        code = info.reason == BP_REASON_OP ? CLI_OK
                                           : add_candidate(c, &info); /* the provider does not offer this operation */
    }
    for (int i = 0; code == CLI_OK && i < c->count; i++) {
        code = c->candidates[i].accepted ? warm_up(c, &c->candidates[i]) : CLI_OK;
    }
    for (int turn = 1; code == CLI_OK && turn <= TURNS; turn++) {
        for (int i = 0; i < c->count; i++) {
            if (c->candidates[i].accepted) {
                take_turn(c, &c->candidates[i], (repeat * turn + TURNS - 1) / TURNS);
            }
        }
    }
    for (int i = 0; code == CLI_OK && i < c->count; i++) {
        summarise(&c->candidates[i]);
    }
    return code;
}

void comparison_free(comparison *c) {
    for (int i = 0; i < c->count; i++) {
        candidate *one = &c->candidates[i];
        free(one->library);
        free(one->provider);
        free(one->version);
        free(one->algorithm);
        free(one->why);
        free(one->times);
        bp_options_release(one->options);
    }
    free(c->candidates);
    reference_free(&c->reference);
    bp_explanation_release(c->explanation);
    if (c->scope) {
        bp_scope_leave(&c->scope);
    }
    npy_free(&c->array_a);
    npy_free(&c->array_b);
    npy_free(&c->array_out);
}
