/* candidates.h - lists the candidates of a job, each with the options that make it run; and times calls. */
#ifndef BP_CLI_CANDIDATES_H
#define BP_CLI_CANDIDATES_H

#include "operations.h"

typedef struct cli_candidate {
    char *library, *provider, *version, *algorithm, *why;
    bool accepted, chosen;
    int threads;
    double cost_ns; /* time that the choice is based on */
    bp_options *options;
} cli_candidate;

typedef struct cli_candidates {
    cli_candidate *list;
    int count;
    bp_explanation *explanation;
} cli_candidates;

/* The name of the candidate that lets each part of an operation choose by itself. */
#define CANDIDATE_MIXED "mixed"

/* Lists the candidates of a job. Each is one algorithm of one library, pinned by the operation's preference without a
 * fallback. An operation that runs as several parts has a candidate for each provider of a library, and one whose parts
 * choose by themselves. `settings` (NULL for none) are part of all options. Returns CLI_OK, or an exit code after a
 * message. */
int candidates_make(cli_candidates *made, const cli_job *job, const char *settings);
void candidates_free(cli_candidates *made);

/* Replaces a text of a candidate. */
void candidate_text(char **text, char *replacement);

/* ---- Times (samples.c) ---- */

double cli_now_ns(void);
void cli_rest_ns(double ns); /* sleeps; a signal ends it */

typedef struct samples {
    double *ns; /* of one call */
    int count, capacity;
    double median, fastest, low, high; /* set by samples_summarise(): low and high are the quartiles */
} samples;

void samples_add(samples *s, double ns);
void samples_summarise(samples *s); /* sorts them; nothing without samples */

#endif
