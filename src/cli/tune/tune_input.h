/* tune_input.h - reads which problems to measure, for `backplane tune`. */
#ifndef BP_CLI_TUNE_INPUT_H
#define BP_CLI_TUNE_INPUT_H

#include "cli/command/cli.h"

/* One problem, in the words of the command line: "matmul", "f32", "512x512", "512x512". */
typedef struct tune_problem {
    char **words;
    int count;
    double total_us; /* time of its calls in a trace or a log; 0 if unknown */
} tune_problem;

typedef struct tune_list {
    tune_problem *problems; /* each once, the one with the longest total time first */
    int count;
    int lines, first_line; /* of a list, that begin with no operation; the number of the first one */
    char *first_word;      /* of that line */
    int unread;            /* problems of the file that its description does not determine, such as strided operands */
} tune_list;

/* Reads a trace (BACKPLANE_TRACE), lines of BACKPLANE_VERBOSE, or a list with a problem in each line, as on the command
 * line; # begins a comment. "-" is standard input. Returns CLI_OK, or an exit code after a message. */
int tune_read(tune_list *list, const char *path);
void tune_list_free(tune_list *list);

/* Converts an operation and its problem text, such as "f32 512x512 @ 512x512^T -> 512x512", to words. Returns NULL if
 * they do not determine the problem. Free the words and the array with free(). (tune_text.c) */
char **tune_words(const char *operation, const char *text, int *count);

#endif
