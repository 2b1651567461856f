/* test_interrupt.c - long operations stopped by their thread's interrupt check.
 *
 * Covers each kind of loop, on one thread and several, on the library's threads and the program's. Checks the state
 * afterwards, and checks that call the library during an operation. Nothing is timed: the work is long enough for a
 * check, and a run is repeated if other pool threads took all of the work. */
#include "backplane.h"
#include "dispatch/internal.h"
#include "ops/interrupt_works.h"
#include "support/conditions.h"
#include "support/modes.h"
#include "support/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRIES = 50 };

static bool is_there(const char *library) {
    int count;
    bp_library_info row = {.struct_size = sizeof row};
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int i = 0; library && i < count && bp_library_at(i, &row); i++) {
        if (strcmp(row.id, library) == 0 && row.state == BP_LIBRARY_OK) {
            return true;
        }
    }
    return library == NULL;
}

/* ---- Results ---- */

typedef struct results {
    char *of[OUTPUTS];
} results;

static void poison(work *w) {
    for (int i = 0; i < OUTPUTS; i++) {
        if (w->out[i].memory) {
            memset(w->out[i].memory, 0xff, w->out[i].bytes);
        }
    }
}

static results keep(work *w) {
    results r = {{NULL}};
    for (int i = 0; i < OUTPUTS; i++) {
        if (w->out[i].memory) {
            r.of[i] = malloc(w->out[i].bytes);
            memcpy(r.of[i], w->out[i].memory, w->out[i].bytes);
        }
    }
    return r;
}

static bool same(work *w, const results *r) {
    bool fine = true;
    for (int i = 0; i < OUTPUTS; i++) {
        fine = fine && (!r->of[i] || memcmp(r->of[i], w->out[i].memory, w->out[i].bytes) == 0);
    }
    return fine;
}

static void drop_results(results *r) {
    for (int i = 0; i < OUTPUTS; i++) {
        free(r->of[i]);
    }
}

/* ---- Checks ---- */

typedef struct counter {
    int asked, stop; /* 0: never */
} counter;

static int count_asked(void *user) {
    counter *c = user;
    return ++c->asked == c->stop;
}

/* Repeats the run until the check was called: other threads may have taken all of the work. */
static bp_status run_asked(work *w, bp_interrupt_check check, counter *c) {
    bp_status status = BP_OK;
    for (int i = 0; i < TRIES && status == BP_OK && c->asked == 0; i++) {
        poison(w);
        bp_set_interrupt_check(check, c, NULL);
        status = w->run(w);
        bp_set_interrupt_check(NULL, NULL, NULL);
    }
    return status;
}

static void check_stop(const struct job *job, work *w, const results *right) {
    const int64_t blocks = bp__live_blocks();
    counter c = {0, 1};
    const bp_status status = run_asked(w, count_asked, &c);
    char sentence[128];
    snprintf(sentence, sizeof sentence, "%s was stopped by the calling thread's interrupt check", job->word);
    if (status != BP_E_CANCELLED || c.asked != 1 || strcmp(bp_last_error(), sentence) != 0) {
        fail_msg("%s: %s after %d questions: %s", job->name, bp_status_name(status), c.asked, bp_last_error());
    }
    assert_int_equal(bp__live_blocks(), blocks);
    poison(w);
    assert_int_equal(w->run(w), BP_OK);
    if (!same(w, right)) {
        fail_msg("%s: the call after one that was stopped has other bits", job->name);
    }
}

static void check_go_on(const struct job *job, work *w, const results *right, bp_interrupt_check check) {
    counter c = {0, 0};
    assert_int_equal(w->run(w), BP_OK);
    const uint64_t ran = bp__thread.last_serial;
    assert_int_equal(run_asked(w, check, &c), BP_OK);
    if (c.asked == 0 || c.stop != 0 || !same(w, right)) {
        fail_msg("%s: %d questions, %d wrong answers within, the outer one is %s", job->name, c.asked, c.stop,
                 same(w, right) ? "right" : "wrong");
    }
    assert_true(w->run == run_copy || bp__thread.last_serial == ran); /* what bp_last_plan describes */
}

/* Work of a check: operations of all kinds, which use scratch memory and threads, also on the library of the outer
 * call. */
typedef struct inner {
    work work;
    results right;
} inner;
static inner inners[4];

static int call_within(void *user) {
    counter *c = user;
    for (size_t i = 0; i < sizeof inners / sizeof *inners && c->asked < 4; i++) {
        poison(&inners[i].work);
        c->stop += inners[i].work.run(&inners[i].work) != BP_OK || !same(&inners[i].work, &inners[i].right);
    }
    c->asked++;
    return 0;
}

static void prepare_inners(void) {
    work *w = &inners[0].work;
    w->run = run_product;
    MAKE(&w->a, BP_F64, 150, 150);
    MAKE(&w->b, BP_F64, 150, 150);
    MAKE(&w->out[0], BP_F64, 150, 150);
    singular_values(&inners[1].work, 24, 8);
    singular_values(&inners[2].work, 4, 40);
    w = &inners[3].work;
    w->run = run_transform;
    w->transform = BP_FFT;
    w->ndim = 1;
    MAKE(&w->a, BP_C128, 30, 150);
    MAKE(&w->out[0], BP_C128, 30, 150);
    for (size_t i = 0; i < sizeof inners / sizeof *inners; i++) {
        assert_int_equal(inners[i].work.run(&inners[i].work), BP_OK);
        inners[i].right = keep(&inners[i].work);
    }
}

static void drop_inners(void) {
    for (size_t i = 0; i < sizeof inners / sizeof *inners; i++) {
        drop(&inners[i].work);
        drop_results(&inners[i].right);
        inners[i] = (inner){0};
    }
}

/* ---- On several numbers of threads ---- */

static void check_job(const struct job *job, int threads) {
    char text[256];
    bp_scope *scope;
    work w = {0};
    snprintf(text, sizeof text, "%s%snum_threads=%d", job->settings, job->settings[0] ? ", " : "", threads);
    job->make(&w);
    assert_int_equal(bp_scope_enter(&scope, text), BP_OK);
    prepare_inners();
    const bp_status status = w.run(&w);
    if (status != BP_OK) {
        fail_msg("%s: %s", job->name, bp_last_error());
    }
    results right = keep(&w);
    check_go_on(job, &w, &right, count_asked);
    check_go_on(job, &w, &right, call_within);
    check_stop(job, &w, &right);
    drop_inners();
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    drop_results(&right);
    drop(&w);
}

/* On several threads each test has another half of the jobs. ThreadSanitizer and an emulator make a job take up to ten
 * seconds: there each test has another third. */
static void check_jobs(int threads, size_t first) {
    const size_t step = test_sanitized_by("thread") || test_emulated() ? 3 : threads > 1 && !test_takes_all() ? 2 : 1;
    for (size_t i = first % step; i < sizeof jobs / sizeof *jobs; i += step) {
        if (is_there(jobs[i].library)) {
            check_job(&jobs[i], threads);
        }
    }
}

static void on_one_thread(void **state) {
    (void)state;
    check_jobs(1, 0);
}

static void on_the_pool(void **state) {
    (void)state;
    check_jobs(3, 1);
}

/* ---- On the program's threads ---- */

typedef struct helper {
    pthread_t thread;
    bp_task task;
    void *context;
    int first, count, asked;
} helper;

static int stop_always(void *user) {
    ++*(int *)user;
    return 1;
}

/* Runs every other task in a thread whose own check would stop any operation. */
static void *help(void *argument) {
    helper *h = argument;
    bp_set_interrupt_check(stop_always, &h->asked, NULL);
    for (int i = h->first; i < h->count; i += 2) {
        h->task(h->context, i);
    }
    bp_set_interrupt_check(NULL, NULL, NULL);
    return NULL;
}

static void in_two_threads(void *user, int threads, int count, bp_task task, void *context) {
    (void)threads;
    helper other = {.task = task, .context = context, .first = 1, .count = count};
    const bool begun = pthread_create(&other.thread, NULL, help, &other) == 0;
    for (int i = 0; i < count; i += begun ? 2 : 1) {
        task(context, i);
    }
    if (begun) {
        pthread_join(other.thread, NULL);
        *(int *)user += other.asked;
    }
}

static void on_an_executor(void **state) {
    (void)state;
    int asked = 0;
    assert_int_equal(bp_set_executor(in_two_threads, &asked), BP_OK);
    check_jobs(3, 2);
    assert_int_equal(bp_set_executor(NULL, NULL), BP_OK);
    assert_int_equal(asked, 0);
}

/* ---- Short calls ---- */

static void short_calls_do_not_run_the_check(void **state) {
    (void)state;
    work w = {.run = run_product};
    counter c = {0, 1};
    MAKE(&w.a, BP_F64, 30, 3, 3);
    MAKE(&w.b, BP_F64, 30, 3, 3);
    MAKE(&w.out[0], BP_F64, 30, 3, 3);
    assert_int_equal(w.run(&w), BP_OK); /* makes the plan */
    for (int i = 0; i < 100; i++) {
        c.asked = 0;
        bp_set_interrupt_check(count_asked, &c, NULL);
        const bp_status status = w.run(&w);
        bp_set_interrupt_check(NULL, NULL, NULL);
        if (status == BP_OK && c.asked == 0) {
            drop(&w);
            return; /* the clock may have advanced while another process had the CPU */
        }
    }
    fail_msg("the check ran in every call of less than a microsecond");
}

/* ---- Plans ---- */

/* A call without a plan calls the check once before it makes one, which may take long. One that stops it caches
 * nothing. */
static void the_check_runs_before_a_plan_is_made(void **state) {
    (void)state;
    work w = {.run = run_product};
    counter c = {0, 1};
    MAKE(&w.a, BP_F64, 30, 3, 5);
    MAKE(&w.b, BP_F64, 30, 5, 3);
    MAKE(&w.out[0], BP_F64, 30, 3, 3);
    for (int i = 0; i < 2; i++) {
        c.asked = 0;
        bp_set_interrupt_check(count_asked, &c, NULL);
        const bp_status status = w.run(&w);
        bp_set_interrupt_check(NULL, NULL, NULL);
        assert_int_equal(status, i == 0 ? BP_E_CANCELLED : BP_OK);
        assert_true(i == 0 ? c.asked == 1 : c.asked >= 1);
        c.stop = 0;
    }
    drop(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_thread),
        cmocka_unit_test(on_the_pool),
        cmocka_unit_test(on_an_executor),
        cmocka_unit_test(short_calls_do_not_run_the_check),
        cmocka_unit_test(the_check_runs_before_a_plan_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
