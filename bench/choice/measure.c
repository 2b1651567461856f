/* measure.c - times the jobs of a trial in interleaved turns.
 *
 * The least time of a job counts, because interruptions only add time. Turns begin with another job each time, so that
 * none always follows the same one. Jobs that are far slower than the fastest get fewer turns, because only the mean of
 * their library needs their time. */
#include "choice.h"

#include "../timing.h"

#include <math.h>

enum { MOST_TURNS = 7, THREADED_TURNS = 4, LEAST_TURNS = 3, TURNS_OF_SLOW = 2 };
#define TURN_NS 100e3   /* runs of one job in one turn take at least this long */
#define BUDGET_NS 0.6e9 /* for all turns of a problem, if LEAST_TURNS take less */
#define SLOW 3.0        /* a job that takes so many times the least is slow */
#define VERY_SLOW 10.0  /* such a job gets no turn, if one run is long enough to be measured */
#define WARM_NS 12e6    /* of runs on several threads after a pause */
#define LONG_NS 5e6     /* caches do not matter for the time of such a run */

static void run(const trial *t, const job *j) {
    must(bp_execute(j->plan, t->p->memory, NULL), j->signature);
}

static double run_repeated(const trial *t, const job *j, int64_t repeats) {
    const int64_t begin = timing_now();
    for (int64_t i = 0; i < repeats; i++) {
        run(t, j);
    }
    return (double)(timing_now() - begin) / (double)repeats;
}

/* Finds the number of runs of a turn. The first run loads the library and starts its threads. */
static void prepare(const trial *t, job *j) {
    int64_t tried = 1;
    run(t, j);
    double each = run_repeated(t, j, 1);
    while (each * (double)tried < TURN_NS / 4) {
        tried *= 4;
        each = run_repeated(t, j, tried);
    }
    j->once = each;
    j->repeats = each > TURN_NS ? 1 : (int64_t)(TURN_NS / each) + 1;
    j->ns = INFINITY;
    timing_rest(j->threaded ? 2 : 1);
}

/* Another job has left other data in the caches. Threads that wake up may run on the caller's processor until the
 * system moves one of them, which takes up to 8 ms. */
static void warm_up(const trial *t, const job *j) {
    const int64_t begin = timing_now();
    do {
        run(t, j);
    } while (j->threaded && (double)(timing_now() - begin) < WARM_NS);
}

static void take_turn(const trial *t, job *j) {
    if (j->once < LONG_NS || j->threaded) {
        warm_up(t, j);
    }
    j->ns = fmin(j->ns, run_repeated(t, j, j->repeats));
    timing_rest(j->threaded ? 2 : 1);
}

static double least(const trial *t, bool once) {
    double best = INFINITY;
    for (int i = 0; i < t->count; i++) {
        best = fmin(best, once ? t->jobs[i].once : t->jobs[i].ns);
    }
    return best;
}

static int turns_of(const trial *t) {
    double turn_ns = 0;
    int most = MOST_TURNS;
    for (int i = 0; i < t->count; i++) {
        most = t->jobs[i].threaded ? THREADED_TURNS : most; /* each waits for the library's threads */
        turn_ns += t->jobs[i].once < SLOW * least(t, true) ? 2 * fmax(t->jobs[i].once, TURN_NS) : 0;
    }
    return (int)fmax(LEAST_TURNS, fmin(most, BUDGET_NS / turn_ns));
}

/* Returns whether the job takes part in the turn. The choices always do. */
static bool takes_part(const trial *t, int index, int turn) {
    const job *j = &t->jobs[index];
    for (int i = 0; i < WAYS; i++) {
        if (t->chosen[i] == index) {
            return true;
        }
    }
    if (j->once > VERY_SLOW * least(t, true) && j->once > LONG_NS) {
        return false;
    }
    return turn < TURNS_OF_SLOW || j->ns < SLOW * least(t, false);
}

void trial_measure(trial *t) {
    for (int i = 0; i < t->count; i++) {
        prepare(t, &t->jobs[i]);
    }
    const int turns = turns_of(t), all = t->count + (t->again.plan != NULL);
    if (t->again.plan) {
        t->again = t->jobs[t->chosen[BY_TIMES]];
        t->again.ns = INFINITY;
    }
    for (int turn = 0; turn < turns; turn++) {
        for (int i = 0; i < all; i++) {
            const int index = (i + turn) % all;
            if (index == t->count) {
                take_turn(t, &t->again);
            } else if (takes_part(t, index, turn)) {
                take_turn(t, &t->jobs[index]);
            }
        }
    }
    for (int i = 0; i < t->count; i++) {
        t->jobs[i].ns = fmin(t->jobs[i].ns, isinf(t->jobs[i].ns) ? t->jobs[i].once : INFINITY);
    }
}

/* ---- One-shot calls ---- */

enum { ONE_SHOT_TURNS = 15 };

static double one_shot(const problem *p, const char *settings, int64_t repeats) {
    bp_scope *scope;
    must(bp_scope_enter(&scope, settings), settings);
    must(p->family->run(p), p->name);
    const int64_t begin = timing_now();
    for (int64_t i = 0; i < repeats; i++) {
        must(p->family->run(p), p->name);
    }
    const double each = (double)(timing_now() - begin) / (double)repeats;
    must(bp_scope_leave(&scope), "bp_scope_leave");
    return each;
}

double trial_one_shot(const trial *t) {
    static const char *const settings[] = {"benchmark=false, tuning.store=off", "benchmark=true, tuning.store=read"};
    double times[] = {INFINITY, INFINITY};
    const int64_t repeats = t->jobs[t->chosen[BY_TIMES]].repeats;
    for (int turn = 0; turn < ONE_SHOT_TURNS; turn++) {
        for (int i = 0; i < 2; i++) {
            const int which = (i + turn) % 2;
            times[which] = fmin(times[which], one_shot(t->p, settings[which], repeats));
        }
    }
    return times[1] / times[0];
}
