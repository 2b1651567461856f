/* choice.h - declares the parts of the program choice: problems, their candidates, times and scores. */
#ifndef BP_BENCH_CHOICE_H
#define BP_BENCH_CHOICE_H

#include "backplane.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOST_OPERANDS = 16, MOST_JOBS = 64, NAME_SIZE = 128, SIGNATURE_SIZE = 1024 };

/* ---- Problems ---- */

typedef struct family family;

/* One call with its operands: inputs, then outputs. The views point into the struct, so it is never copied. */
typedef struct problem {
    const family *family;
    char name[256];
    int operands;
    bp_view views[MOST_OPERANDS];
    bp_operand memory[MOST_OPERANDS];
    bp_fft_call fft;
    bp_linalg_call linalg;
    bp_einsum_call einsum;
    const DLTensor *inputs[MOST_OPERANDS]; /* of the einsum */
    char expression[160];
} problem;

struct family {
    const char *name;
    const char *preferred; /* the setting that names a library */
    int fixed;             /* number of fixed problems */
    void (*make_fixed)(problem *p, int index);
    void (*make_random)(problem *p, uint64_t *state);
    bp_status (*plan)(bp_plan **plan, const bp_options *options, const problem *p);
    bp_status (*explain)(bp_explanation **explanation, const bp_options *options, const problem *p);
    bp_status (*run)(const problem *p); /* the one-shot call */
};

extern const family family_products, family_transforms, family_linalg, family_contractions;

/* Adds a compact row-major operand with random numbers. Ends the program if there is no memory. */
void problem_add(problem *p, bp_dtype dtype, int ndim, const int64_t *shape);
void problem_release(problem *p);

/* Ends the program with the library's message if a call failed. */
void must(bp_status status, const char *what);

/* The next random number in 0 .. 2^53 - 1, one in 0 .. below - 1, and a log-uniform one in 1 .. most. */
int64_t random_bits(uint64_t *state);
int random_below(uint64_t *state, int below);
int64_t random_size(uint64_t *state, double most);

/* ---- Candidates ---- */

/* The ways to choose: by estimates, by the measured times of the machine, and by the times of the tuned class. */
typedef enum way { BY_ESTIMATES, BY_TIMES, BY_TUNING, WAYS } way;

/* A plan, and the least time of its runs. */
typedef struct job {
    bp_plan *plan;
    char library[NAME_SIZE]; /* the library that computes all parts, "" if several do */
    char label[NAME_SIZE];
    char signature[SIGNATURE_SIZE]; /* equal for plans that do the same */
    bool threaded;                  /* its threads may spin after a run */
    int64_t repeats;                /* runs of one turn */
    double once;                    /* ns of the first timed run */
    double ns;
    double expected; /* ns, by the measured times of the machine; 0: not known */
} job;

/* All that runs one problem. */
typedef struct trial {
    const problem *p;
    job jobs[MOST_JOBS];
    int count;
    job again;        /* the choice by measured times once more: shows how much times vary */
    int chosen[WAYS]; /* the job of each choice; -1: none */
    bool tuned;
    double tuning_ns;      /* what tuning took */
    int64_t tuned_classes; /* how many classes it measured: several for an einsum, none if all had records */
} trial;

/* Makes the plans of all candidates and of the choices. Tunes the class if `tune`. */
void trial_make(trial *t, const problem *p, bool tune);
void trial_release(trial *t);

/* Sets the times of all jobs from interleaved turns on the same operands. */
void trial_measure(trial *t);

/* Returns the time of a one-shot call that uses the times of the tuned class, divided by the time of one that does not.
 */
double trial_one_shot(const trial *t);

/* ---- Scores ---- */

/* Adds the problem to the scores, and prints its line. */
void score_trial(trial *t);

/* Prints the tables of the scores so far, and begins new ones. */
void score_summary(const family *f, const char *kind, int threads, bool tuned);

#endif
