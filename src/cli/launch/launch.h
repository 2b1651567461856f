/* launch.h - shared by the files of `backplane launch`. */
#ifndef BP_CLI_LAUNCH_H
#define BP_CLI_LAUNCH_H

#include "cli/command/cli.h"
#include "cli/inspect/inspect.h"
#include "cli/program/program.h"
#include "dropin/record_file.h"

/* ---- Objects of the program (launch_objects.c) ---- */

/* What the objects with which a program starts need. */
typedef struct launch_objects {
    char
        *sanitizer; /* file of a sanitizer's run-time library, which must be the first of them; NULL if there is none */
    uint64_t static_tls; /* bytes for the variables of threads */
} launch_objects;

/* Asks the program's loader for its objects with this LD_PRELOAD. What cannot be found out is NULL or 0. */
void launch_objects_find(const cli_program *program, const char *preload, launch_objects *found);

/* ---- Environment (launch_environment.c) ---- */

/* Checks the options and sets the variables that the program and its children inherit. */
int launch_environment(const cli_args *args, const cli_program *program, const char *record);

/* Returns the libraries with faulty routines, as the value of BACKPLANE_LAUNCH_FAULTS, which src/dropin/policy.c reads
 * (launch_faults.c). Free it. */
char *launch_faults(void);

/* ---- Calls (launch_calls.c) ---- */

/* The calls of all processes of the run. */
typedef struct launch_calls {
    char *folder, *path;
    int descriptor;              /* of the file; -1: it could not be made */
    bp__record_file *file;       /* a copy, after the program's end */
    const bp__record_row **rows; /* with calls, the one with the longest time first */
    int count;
} launch_calls;

int launch_calls_begin(launch_calls *calls); /* makes the file */
int launch_calls_read(launch_calls *calls);  /* reads the file and fills the rows */
void launch_calls_free(launch_calls *calls); /* removes the file */

/* Fills calls->rows with the first rows of calls->file, if they have calls. Damaged rows are left out. */
void launch_calls_sort(launch_calls *calls, int rows);

/* The matrix product of a row, in row-major order: the product of BLAS, transposed. */
typedef struct launch_product {
    bp_dtype dtype;
    int64_t m, n, k;
    bool transposed_a, transposed_b;
} launch_product;

bool launch_product_of(const bp__record_row *row, launch_product *product);

/* Returns the sizes of a row's calls, such as "NT 512x64x32". The buffer is static. */
const char *launch_sizes(const bp__record_row *row);

/* ---- Reports (launch_report.c, launch_savings.c, launch_files.c) ---- */

/* Returns the file's name of a path, or an id as it is. */
const char *launch_short_name(const char *library);
/* Writes a time. Returns `buffer`. */
const char *launch_time(double ns, char *buffer, size_t size);
/* Prints what another library would have saved, and the command for it. (launch_savings.c) */
void launch_print_savings(const launch_calls *calls, const cli_args *args);
/* Prints the kernels and threads of the program's libraries, and what is wrong with them. (launch_savings.c) */
void launch_print_libraries(inspect_process *process);

/* To standard error. `process` is what was seen of the program; its pid may be 0. */
void launch_profile(const launch_calls *calls, const cli_args *args, inspect_process *process);
void launch_explain(const launch_calls *calls);
int launch_trace(const launch_calls *calls, const char *path);
int launch_tune(const launch_calls *calls, const char *path);

#endif
