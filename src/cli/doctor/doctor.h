/* doctor.h - the checks of `backplane doctor`: their input, and the findings that they report. */
#ifndef BP_CLI_DOCTOR_H
#define BP_CLI_DOCTOR_H

#include "cli/command/cli.h"

typedef enum severity { SEVERITY_OK, SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR } severity;

typedef struct finding {
    const char *check;
    severity severity;
    char *text;
    char *advice; /* what to do; "" if nothing was found */
    char *saves;  /* what that saves; NULL if it is not known */
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
    const char *fine; /* finding if there is no problem */
    void (*run)(doctor *d);
} doctor_check;

/* Runs all checks (command_doctor.c). Returns CLI_OK, or an exit code after a message and nothing to free. */
int doctor_run(doctor *d);
void doctor_free(doctor *d);
const char *doctor_severity_name(severity level);

/* Adds a finding. Takes ownership of `advice`, a text of cli_format(). Every finding above SEVERITY_OK has one. */
void doctor_find(doctor *d, severity level, char *advice, const char *format, ...) BP_PRINTF(4, 5);
/* Adds to the last finding what another library than this one would save, if times of both are known. */
void doctor_find_saving(doctor *d, const char *library);

/* Returns whether the library is usable and has all of `kinds`. */
bool doctor_usable(const bp_library_info *row, unsigned kinds);
/* Returns the library whose real file or alias is `path`, or NULL. */
const bp_library_info *doctor_row_of(const doctor *d, const char *path);
/* Appends `item` to the text "a, b". Frees `list`, which may be NULL. */
char *doctor_enumerate(char *list, const char *item);
/* Returns the value of a variable; NULL if it is unset or empty. */
const char *doctor_variable(const char *name);

/* doctor_loader.c: finds the real file that the dynamic loader would load for a SONAME, and by what ("LD_LIBRARY_PATH",
 * ...). */
bool doctor_loader_takes(const char *soname, char *path, size_t size, const char **why);

/* doctor_times.c: returns how long a large product takes on a library and on the fastest one, and whether these times
 * are measured or estimated; NULL if the library has none, or is as fast. free() it. */
char *doctor_saving(const char *library);

/* doctor_times.c: the same of a product on few threads and on more. */
char *doctor_threads_saving(int few, int more);

/* doctor_install.c: returns how to install an optimised BLAS on this system, without a full stop. */
const char *doctor_install_command(void);

/* doctor_kernels.c: returns the names of the variables that select kernels or layers; NULL past the end. */
const char *doctor_variable_at(int index);

/* doctor_kernels.c: returns the instruction set of a kernel set by name; -1 if it is unknown. */
int doctor_kernel_rank(const char *name);

/* doctor_kernels.c: returns the variables that are set and select kernels or layers of a family's libraries, as "NAME,
 * ..." or "NAME=value, ..."; NULL if there are none. */
char *doctor_variables_of(const char *family, bool with_values);

/* doctor_debian.c: returns the name of the alternative (for update-alternatives) behind a link such as "libblas.so.3";
 * NULL if no alternative leads to the real file `path`. */
char *doctor_alternative_of(const char *link, const char *path);

/* doctor_debian.c: checks the links of Debian's alternatives in `folder`. */
void doctor_alternatives_in(doctor *d, const char *folder);

/* Checks. Each adds its findings. */
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
