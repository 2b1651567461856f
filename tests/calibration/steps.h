/* steps.h - declares what tests of measured times share. Each process that measures is the test program, started again
 * with the name of a step, because a process loads its provider modules once. */
#ifndef BP_TESTS_CALIBRATION_STEPS_H
#define BP_TESTS_CALIBRATION_STEPS_H

#include "backplane.h"

#include <stdbool.h>

typedef struct step {
    const char *name;
    void (*run)(void);
} step;

extern char steps_program[4096]; /* the path of this program */
extern char steps_folder[];      /* the cache directory of the steps */

/* Ends the process with a message unless the condition is true. */
void expect(bool condition, const char *what);

/* Returns whether the candidate is chosen; *source is the source of its time. Ends the process if there is none. */
bool is_chosen(const bp_explanation *e, const char *library, bp_time_source *source);

/* Runs a step with the providers of that folder and no library. Returns its exit status. */
int run_with(const char *provider, const char *name);
void write_modules(const char *provider, char *path, size_t size);

int clear_store(void **state);

/* Runs the step that the arguments name and ends the process; otherwise prepares the tests. Returns false if they
 * cannot run here. */
bool steps_begin(int count, char **words, const step *steps, int step_count);
void steps_end(void);

#endif
