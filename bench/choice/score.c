/* score.c - scores the choices of problems, and prints lines and tables.
 *
 * The score is the time of the chosen candidate divided by the time of the fastest one. A problem with one candidate
 * has no score. */
#include "choice.h"

#include "../timing.h"

#include <math.h>

enum { MOST_LIBRARIES = 64 };
#define SHORT_NS 20e3 /* one-shot calls of such problems are compared: longer ones hide what a call adds */
#define MISSED 1.05   /* a tuned score above this is measured again */
#define TUNING_CALLS 50
#define TUNING_NS 20e6 /* tuning a class may take this, or TUNING_CALLS calls */

/* Ratios with a name each. Only the greatest keeps its name. */
typedef struct scores {
    char name[NAME_SIZE];
    double *values;
    int count, size; /* used, and allocated */
    double worst;
    char worst_name[256];
} scores;

static scores choices[WAYS], spread, tuning, one_shots;
static scores libraries[MOST_LIBRARIES], tuned_libraries[MOST_LIBRARIES]; /* by the time of the choice, and the tuned */
static int library_count, problem_count, missed, missed_twice;

static void add(scores *s, double value, const char *name) {
    if (s->count == s->size) {
        s->size = s->size ? 2 * s->size : 64;
        s->values = realloc(s->values, (size_t)s->size * sizeof *s->values);
        if (!s->values) {
            fprintf(stderr, "choice: no memory\n");
            exit(1);
        }
    }
    s->values[s->count++] = value;
    if (value > s->worst) {
        s->worst = value;
        snprintf(s->worst_name, sizeof s->worst_name, "%s", name);
    }
}

static void clear(scores *s) {
    s->count = 0;
    s->worst = 0;
}

static double mean(const scores *s) {
    double sum = 0;
    for (int i = 0; i < s->count; i++) {
        sum += log(s->values[i]);
    }
    return s->count ? exp(sum / s->count) : 0;
}

static int within(const scores *s, double limit) {
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        count += s->values[i] <= limit;
    }
    return count;
}

static double percent(const scores *s, double limit) {
    return s->count ? 100.0 * within(s, limit) / s->count : 0;
}

/* ---- One problem ---- */

static double least(const trial *t, const char *library) {
    double best = INFINITY;
    for (int i = 0; i < t->count; i++) {
        if (!library || strcmp(t->jobs[i].library, library) == 0) {
            best = fmin(best, t->jobs[i].ns);
        }
    }
    return best;
}

static double score_of(const trial *t, way by) {
    return t->jobs[t->chosen[by]].ns / least(t, NULL);
}

static int library_index(const char *name) {
    int i = 0;
    while (i < library_count && strcmp(libraries[i].name, name) != 0) {
        i++;
    }
    if (i == library_count && i < MOST_LIBRARIES) {
        snprintf(libraries[i].name, NAME_SIZE, "%s", name);
        library_count++;
    }
    return i < MOST_LIBRARIES ? i : MOST_LIBRARIES - 1;
}

static bool is_first_of_library(const trial *t, int index) {
    for (int i = 0; i < index; i++) {
        if (strcmp(t->jobs[i].library, t->jobs[index].library) == 0) {
            return false;
        }
    }
    return *t->jobs[index].library != '\0';
}

/* Adds the least time of each library's candidates, over the time of the choices. */
static void add_libraries(const trial *t) {
    for (int i = 0; i < t->count; i++) {
        if (is_first_of_library(t, i)) {
            const int at = library_index(t->jobs[i].library);
            const double ns = least(t, t->jobs[i].library);
            add(&libraries[at], ns / t->jobs[t->chosen[BY_TIMES]].ns, t->p->name);
            if (t->tuned) {
                add(&tuned_libraries[at], ns / t->jobs[t->chosen[BY_TUNING]].ns, t->p->name);
            }
        }
    }
}

static void add_tuning(trial *t) {
    const double own = t->jobs[t->chosen[BY_TIMES]].ns;
    if (t->tuned_classes > 0) {
        add(&tuning, t->tuning_ns / fmax(TUNING_CALLS * own, TUNING_NS * (double)t->tuned_classes), t->p->name);
    }
    if (t->chosen[BY_TUNING] == t->chosen[BY_TIMES] && own < SHORT_NS) {
        add(&one_shots, trial_one_shot(t), t->p->name);
    }
    if (score_of(t, BY_TUNING) > MISSED) {
        missed++;
        trial_measure(t);
        missed_twice += score_of(t, BY_TUNING) > MISSED;
        printf("  measured again: tuned %s %.3f\n", t->jobs[t->chosen[BY_TUNING]].label, score_of(t, BY_TUNING));
    }
}

static void print_line(const trial *t, double spread_here) {
    static const char *const ways[WAYS] = {"estimated", "measured", "tuned"};
    printf("%s: least %.0f ns, spread %.3f |", t->p->name, least(t, NULL), spread_here);
    for (int i = 0; i < (t->tuned ? WAYS : BY_TUNING); i++) {
        printf(" %s %s %.3f", ways[i], t->jobs[t->chosen[i]].label, score_of(t, (way)i));
    }
    printf(" |");
    for (int i = 0; i < t->count; i++) {
        printf(" %s %.0f", t->jobs[i].label, t->jobs[i].ns);
        if (t->jobs[i].expected > 0) {
            printf(" (%.0f)", t->jobs[i].expected);
        }
    }
    if (t->tuned) {
        printf(" | tuned in %.2f ms", t->tuning_ns / 1e6);
    }
    printf("\n");
    fflush(stdout);
}

void score_trial(trial *t) {
    problem_count++;
    for (int i = 0; i < (t->tuned ? WAYS : BY_TUNING); i++) {
        if (t->chosen[i] < 0) {
            printf("%s: no plan: %s\n", t->p->name, bp_last_error());
            return;
        }
    }
    if (t->count < 2) {
        return;
    }
    trial_measure(t);
    const double own = t->jobs[t->chosen[BY_TIMES]].ns;
    const double spread_here = fmax(own, t->again.ns) / fmin(own, t->again.ns);
    add(&spread, spread_here, t->p->name);
    for (int i = 0; i < (t->tuned ? WAYS : BY_TUNING); i++) {
        add(&choices[i], score_of(t, (way)i), t->p->name);
    }
    print_line(t, spread_here);
    add_libraries(t);
    if (t->tuned) {
        add_tuning(t);
    }
}

/* ---- Tables ---- */

static void print_choices(bool tuned) {
    static const char *const ways[WAYS] = {"estimates", "measured times", "tuning"};
    printf("| choice by | geometric mean | worst | within 1.05 | within 1.3 | within 2 | worst problem |\n"
           "|---|---:|---:|---:|---:|---:|---|\n");
    for (int i = 0; i < (tuned ? WAYS : BY_TUNING); i++) {
        const scores *s = &choices[i];
        printf("| %s | %.3f | %.2f | %.0f %% | %.0f %% | %.0f %% | %s |\n", ways[i], mean(s), s->worst,
               percent(s, 1.05), percent(s, 1.3), percent(s, 2), s->worst_name);
    }
}

static void print_libraries(bool tuned) {
    printf("\n| one library for all | problems | its time / ours |%s\n|---|---:|---:|%s\n",
           tuned ? " its time / ours, tuned |" : "", tuned ? "---:|" : "");
    for (int i = 0; i < library_count; i++) {
        if (libraries[i].count > 0) {
            printf("| %s | %d | %.3f |", libraries[i].name, libraries[i].count, mean(&libraries[i]));
            if (tuned) {
                printf(" %.3f |", mean(&tuned_libraries[i]));
            }
            printf("\n");
        }
        clear(&libraries[i]);
        clear(&tuned_libraries[i]);
    }
}

static void print_tuning(void) {
    printf("\nTuned scores above %.2f: %d; %d of them in a second measurement too.\n", MISSED, missed, missed_twice);
    printf("Tuning, over the larger of %d calls and %.0f ms for each class: geometric mean %.3f, worst %.2f (%s); "
           "above 1: %d of "
           "%d.\n",
           TUNING_CALLS, TUNING_NS / 1e6, mean(&tuning), tuning.worst, tuning.worst_name,
           tuning.count - within(&tuning, 1), tuning.count);
    if (one_shots.count > 0) {
        printf(
            "A warm one-shot call with tuned times, over one without, %d problems below %.0f us: geometric mean %.3f, "
            "worst %.3f (%s).\n",
            one_shots.count, SHORT_NS / 1e3, mean(&one_shots), one_shots.worst, one_shots.worst_name);
    }
    clear(&tuning);
    clear(&one_shots);
    missed = missed_twice = 0;
}

void score_summary(const family *f, const char *kind, int threads, bool tuned) {
    if (problem_count > 0) {
        printf("\n### %s, %s, %d thread%s\n\n", f->name, kind, threads, threads == 1 ? "" : "s");
        printf("%d problems, %d with two candidates or more. The choice measured twice: geometric mean of the larger "
               "over the smaller time %.3f, worst %.2f (%s).\n\n",
               problem_count, choices[BY_TIMES].count, mean(&spread), spread.worst, spread.worst_name);
    }
    if (choices[BY_TIMES].count > 0) {
        print_choices(tuned);
        print_libraries(tuned);
        if (tuned) {
            print_tuning();
        }
    }
    printf("\n");
    fflush(stdout);
    problem_count = 0;
    clear(&spread);
    for (int i = 0; i < WAYS; i++) {
        clear(&choices[i]);
    }
}
