/* eval.h - shared by the files of `backplane eval`. */
#ifndef BP_CLI_EVAL_H
#define BP_CLI_EVAL_H

#include "cli/operations/operations.h"

/* Output files of the results, in order: one for each -o, or several in one -o, separated by commas. */
typedef struct targets {
    const char *path[JOB_RESULTS];
    int count;
    char *texts; /* all paths, each NUL-terminated */
} targets;

/* Checks the number of files again, because options such as --mode change the number of results. */
int eval_check_results(const cli_job *job, const targets *to);

/* Prints the results' files, the library, the reason and the time. */
void eval_report(const cli_job *job, const targets *to, double elapsed);

/* Runs the job on the ranks of --ranks: starts them, or does the part of one in a process that a launcher has started.
 */
int eval_on_ranks(cli_job *job, const targets *to);

#endif
