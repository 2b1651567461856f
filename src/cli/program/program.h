/* program.h - finds and runs the program of `backplane launch` and `backplane inspect`, and keeps this command's output
 * apart from the program's. */
#ifndef BP_CLI_PROGRAM_H
#define BP_CLI_PROGRAM_H

#include "cli/command/cli.h"

#include <sys/types.h>

/* Exit codes of programs that could not be started, as shells have them. */
enum { PROGRAM_CANNOT_RUN = 126, PROGRAM_NOT_FOUND = 127, PROGRAM_SIGNAL = 128 };

/* ---- The program (program_find.c) ---- */

typedef struct cli_program {
    char *path;          /* the file that runs */
    char *interpreter;   /* of a script: the file that runs it; else NULL */
    const char *refused; /* why the loader redirects no calls of it; NULL: it can */
    char *loader;        /* of the program or its interpreter; NULL if it is not known */
    bool audited;        /* the program's C library has LD_AUDIT */
} cli_program;

/* Returns the file that PATH has for a name without a slash, or NULL. Free it. */
char *program_search_path(const char *name);
/* Finds the program in PATH and reads what kind of file it is. Returns CLI_OK, or an exit code after a message. */
int program_find(cli_program *program, const char *name);
void program_free(cli_program *program);

/* ---- The run (program_run.c) ---- */

/* Replaces this process by the program. Returns an exit code after a message if it cannot be started. */
int program_replace(const char *path, char *const *words);

/* Starts the program, passes on signals, waits for its end. Returns its exit code, or 128 and the number of the signal
 * that ended it; or an exit code after a message. `look` may be NULL; else it is called every few milliseconds while
 * the program runs. */
typedef void program_look(pid_t program, void *context);
int program_wait(const char *path, char *const *words, program_look *look, void *context);

/* ---- Output (program_output.c) ---- */

/* What this process prints between these two goes to a file, completely or not at all, or to the standard error output
 * if `path` is NULL, because standard output is the program's. Return CLI_OK, or an exit code after a message. */
int program_output_begin(const char *path);
int program_output_end(const char *path);

/* Before the program runs: whether a file can be written there. Returns CLI_OK, or an exit code after a message. */
int program_check_target(const char *path);

#endif
