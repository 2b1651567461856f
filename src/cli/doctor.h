/* doctor.h - what the checks of `backplane doctor` share: the facts they look at, and the findings they leave. */
#ifndef BP_CLI_DOCTOR_H
#define BP_CLI_DOCTOR_H

#include "cli.h"

typedef enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR } severity;

typedef struct finding {
    const char *check;
    severity severity;
    char *text;
    char *advice; /* what to do; "" when nothing was found */
} finding;

typedef struct doctor {
    const bp_library_info *rows;
    int row_count;
    bp_machine_info machine;
    bp_capability hardware;
    char *store_problem; /* why the probe cache is not used or written, or NULL */
    const char *check;   /* the one that is running */
    finding *findings;
    int count;
} doctor;

typedef struct doctor_check {
    const char *name;
    const char *fine; /* what is said when it finds nothing */
    void (*run)(doctor *d);
} doctor_check;

/* Takes ownership of `advice`, a text from cli_format; every finding above SEVERITY_OK has one. */
void doctor_find(doctor *d, severity level, char *advice, const char *format, ...) BP_PRINTF(4, 5);

/* True when the row offers what all kinds in `kinds` say, and can be used. */
bool doctor_usable(const bp_library_info *row, unsigned kinds);
/* The row whose real file or alias is `path`, or NULL. */
const bp_library_info *doctor_row_of(const doctor *d, const char *path);
/* "a, b and c" step by step: appends `item` to a list in text. */
char *doctor_enumerate(char *list, const char *item);
/* The value of a variable, NULL when unset or empty. */
const char *doctor_variable(const char *name);

/* doctor_loader.c: the real file that the dynamic loader would take for a SONAME, and why ("LD_LIBRARY_PATH", ...). */
bool doctor_loader_takes(const char *soname, char *path, size_t size, const char **why);

/* doctor_install.c: how this system gets an optimised BLAS, without a full stop. */
const char *doctor_install_command(void);

/* doctor_kernels.c: the instruction set that a kernel's name stands for; -1 when it is not known. */
int doctor_kernel_rank(const char *name);

/* doctor_kernels.c: the variables that are set and choose kernels or parts for libraries of a family, as "NAME, ..." or
 * "NAME=value, ..."; NULL when there are none. */
char *doctor_steering(const char *family, bool with_values);

/* doctor_debian.c: the name under which the system chooses the file behind a link such as "libblas.so.3", for
 * update-alternatives; NULL when no alternative leads to the real file `path`. */
char *doctor_alternative_of(const char *link, const char *path);

/* doctor_debian.c: compares the links of Debian's alternatives in `folder`. */
void doctor_alternatives_in(doctor *d, const char *folder);

/* The checks, by file. */
void doctor_configuration(doctor *d);
void doctor_missing(doctor *d);
void doctor_broken(doctor *d);
void doctor_providers(doctor *d);
void doctor_shadowed(doctor *d);
void doctor_alternatives(doctor *d);
void doctor_kernels(doctor *d);
void doctor_kernel_variables(doctor *d);
void doctor_openmp(doctor *d);
void doctor_pools(doctor *d);
void doctor_thread_limits(doctor *d);

#endif
