/* timing.c - compares the times of prepared calls.
 *
 * Turns of all of them alternate, so that a slow spell of the machine does not favour one of them. The least time
 * counts, because disturbances only add time. */
#include "tuning/tuning.h"

#include <math.h>

enum { LEAST_SAMPLE_NS = 10000, SHORT_CALL_NS = 5000, MOST_CALLS = 4096 };
enum { ALONE_CALLS = 2 }; /* one may be interrupted by the system */
/* A sample of calls on several threads: threads of another library may still be spinning at its beginning. */
enum { THREADED_CALLS = 5, THREADED_SAMPLE_NS = 3000000, MOST_THREADED_CALLS = 100 };
enum { FIRST_TURNS = 1, SECOND_TURNS = 3, LAST_TURNS = 7, MOST_REPEATED = 6 };

#define FIRST_LIMIT 2.0   /* of the least time, after the first turn */
#define SECOND_LIMIT 1.15 /* after the third */
#define SLOW 1.1          /* a turn counts if the machine was at most this many times slower than at its fastest */

bp_status bp__timed_run(bp__trial *trial, const bp__timed *timed) {
    const bp_prepared *prepared = timed->prepared;
    const bp_exec exec = {.struct_size = sizeof exec,
                          .workspace = {timed->workspace, 0},
                          .workspace_size = prepared->workspace,
                          .scalars = trial->scalars,
                          .packed = timed->packed};
    return prepared->enqueue(prepared, trial->operands, &exec);
}

/* Times a fixed piece of work: dependent multiplications, about 10 us. It shows how fast the machine is now. */
static double machine_ns(void) {
    enum { STEPS = 8000 };
    uint64_t x = 3;
    int64_t start = bp__now_ns();
    for (int i = 0; i < STEPS; i++) {
        x = x * UINT64_C(6364136223846793005) + 1;
        __asm__ volatile("" : "+r"(x));
    }
    return (double)(bp__now_ns() - start);
}

static void note(bp__timed *c, double ns, bp_status status) {
    if (status != BP_OK) {
        c->status = status;
    } else if (c->least_ns == 0 || ns < c->least_ns) {
        c->least_ns = ns > 0 ? ns : 1;
    }
}

/* Times single calls, for which reading the clock takes little, as many as fit into `most_ns` but at least one. The
 * clock has been read at `begun`. */
static double sample_single(bp__trial *trial, bp__timed *c, int64_t begun, double most_ns, bp_status *status) {
    const int64_t until = begun + (c->threaded ? THREADED_SAMPLE_NS : LEAST_SAMPLE_NS);
    const int enough = c->threaded ? THREADED_CALLS : ALONE_CALLS,
              most = c->threaded ? MOST_THREADED_CALLS : MOST_CALLS;
    double least = INFINITY;
    int64_t start = begun;
    for (int i = 0; *status == BP_OK && i < most && (i < enough || start < until); i++) {
        start = bp__now_ns();
        if (i > 0 && (double)(start - begun) + c->first_ns > most_ns) {
            break;
        }
        *status = bp__timed_run(trial, c);
        least = fmin(least, (double)(bp__now_ns() - start));
    }
    return least;
}

/* Times single calls or several together. The first call after another library's is not timed: it wakes the library's
 * threads and loads its code. */
static double sample(bp__trial *trial, bp__timed *c, double most_ns, bp_status *status) {
    *status = bp__timed_run(trial, c);
    const int64_t start = bp__now_ns();
    if (*status == BP_OK && c->calls == 1) {
        return sample_single(trial, c, start, most_ns - c->first_ns, status);
    }
    for (int i = 0; i < c->calls && *status == BP_OK; i++) {
        *status = bp__timed_run(trial, c);
    }
    return (double)(bp__now_ns() - start) / c->calls;
}

void bp__timed_prepare(bp__trial *trial, bp__timed *c) {
    c->calls = 1;
    for (;;) {
        bp_status status = BP_OK;
        int64_t start = bp__now_ns();
        for (int i = 0; i < c->calls && status == BP_OK; i++) {
            status = bp__timed_run(trial, c);
        }
        double ns = (double)(bp__now_ns() - start);
        c->first_ns = ns / c->calls;
        if (status != BP_OK || (c->calls == 1 && ns >= SHORT_CALL_NS) || ns >= LEAST_SAMPLE_NS ||
            c->calls >= MOST_CALLS) {
            note(c, c->first_ns, status);
            return;
        }
        c->calls *= ns < LEAST_SAMPLE_NS / 8 ? 8 : 2;
    }
}

double bp__timed_sample_ns(const bp__timed *c) {
    return (c->calls + 1) * c->first_ns;
}

static double least_of(const bp__timed *list, int count) {
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        if (list[i].status == BP_OK && list[i].least_ns > 0) {
            least = fmin(least, list[i].least_ns);
        }
    }
    return least;
}

static void drop_slower(bp__timed *list, int count, double limit) {
    const double least = least_of(list, count);
    for (int i = 0; i < count; i++) {
        bp__timed *c = &list[i];
        c->leader = c->leader && c->status == BP_OK && c->least_ns <= limit * least;
    }
}

static int leaders(const bp__timed *list, int count) {
    int left = 0;
    for (int i = 0; i < count; i++) {
        left += list[i].leader;
    }
    return left;
}

/* What a comparison knows of the machine, and how long it may take. */
typedef struct pace {
    const bp__budget *budget;
    double fastest, slowest;
    int repeated;
} pace;

static double check_pace(pace *p) {
    double ns = machine_ns();
    p->fastest = fmin(p->fastest, ns);
    p->slowest = fmax(p->slowest, ns);
    return ns;
}

/* Takes a sample of at most `most_ns`, again if the machine was slow meanwhile. Times of slow spells count only if
 * there is nothing better. */
static void take_sample(bp__trial *trial, bp__timed *c, double most_ns, pace *p) {
    if (bp__trial_changes(trial)) {
        bp__trial_restore(trial);
    }
    double before = check_pace(p);
    for (;;) {
        bp_status status;
        double ns = sample(trial, c, most_ns, &status);
        double after = check_pace(p);
        note(c, ns, status);
        c->turns++;
        if (status != BP_OK || fmax(before, after) <= SLOW * p->fastest || p->repeated >= MOST_REPEATED ||
            most_ns > bp__budget_left(p->budget) / 2) {
            return;
        }
        p->repeated++;
        before = after;
    }
}

/* Takes one sample of each leader. A third of the time that is left is divided among them, so that something is left
 * for later turns. A slow one that needs more than its part is no leader any more. */
static void turn(bp__trial *trial, bp__timed *list, int count, pace *p) {
    int waiting = leaders(list, count);
    for (int i = 0; i < count; i++) {
        bp__timed *c = &list[i];
        if (!c->leader || c->status != BP_OK) {
            continue;
        }
        const double left = bp__budget_left(p->budget), part = left / (3 * waiting--);
        const double needed = bp__timed_sample_ns(c);
        if (needed > left || (needed > part && c->least_ns > FIRST_LIMIT * least_of(list, count))) {
            c->leader = false;
        } else {
            take_sample(trial, c, fmax(needed, part), p);
        }
    }
}

double bp__compare_times(bp__trial *trial, bp__timed *list, int count, const bp__budget *budget) {
    static const struct {
        int turns;
        double limit;
    } rounds[] = {{FIRST_TURNS, FIRST_LIMIT}, {SECOND_TURNS, SECOND_LIMIT}, {LAST_TURNS, SECOND_LIMIT}};
    pace p = {.budget = budget, .fastest = INFINITY};
    for (int i = 0; i < count; i++) {
        list[i].leader = list[i].status == BP_OK;
    }
    int done = 0;
    for (int r = 0; r < BP__COUNT(rounds); r++) {
        for (; done < rounds[r].turns; done++) {
            if (leaders(list, count) > 1) {
                turn(trial, list, count, &p);
            }
        }
        drop_slower(list, count, rounds[r].limit);
    }
    return p.fastest > 0 && p.fastest < INFINITY ? p.slowest / p.fastest : 1;
}
