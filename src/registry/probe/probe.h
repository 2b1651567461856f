/* probe.h - what the files of the probe helper share: the library under examination and the way to report.
 *
 * The helper is the child process in which an unknown library is opened and called for the first time. Whatever the
 * library does there (crash, hang, print, exit, take memory, start processes) harms nobody; the parent reads what was
 * reported until then. Its processes: one watches (supervise.c), one starts those that open the library
 * (attempts.c).
 */
#ifndef BP_REGISTRY_PROBE_H
#define BP_REGISTRY_PROBE_H

#include "registry/families.h"

#include <stdbool.h>
#include <stdint.h>

enum { REPORT_FILE = 3 }; /* a socket to the host program */

typedef struct subject {
    const char *path;
    const bp__family *family;
    const char *prefix; /* around Fortran names */
    const char *suffix;
    const char *cblas_suffix;
    unsigned kinds;
    void *handle;
    int int_bits; /* 0 before it is known */
    bool deepbind;
    int output; /* the file that it prints to, or -1 */
} subject;

/* How far a child has come, in memory that outlives it: where it ends in a check, another one goes on behind that. */
typedef struct progress {
    bool known; /* all but the checks has been reported */
    int int_bits;
    int limit_ms; /* of one check in all types */
    int check;    /* under way; a bp_check, or -1 before the first */
    int type;
    char routine[24];
} progress;

/* Calls `work` in a child of this process. Where the library ends or hangs the child in one of the checks that come
 * last, another one goes on with the next check, so that the others are not lost. Does not return: this process ends as
 * the child did that learned the facts. */
_Noreturn void work_in_children(subject *library, int limit_ms, void (*work)(subject *library, progress *state));

/* Sends "name=value" to the parent; a later line of the same name replaces an earlier one. */
void report(const char *name, const char *format, ...) BP_PRINTF(2, 3);

/* Forks. Returns in the child, which may take so much time and memory (0: any). In the parent it ends the process when
 * the child has ended. */
void start_supervised(int64_t milliseconds, int64_t mebibytes);

/* Makes the calling process the one that reports. A copy that the library has made of it may not. */
void become_reporter(void);
bool may_report(void);

/* Sends how a fact was learned: "version: openblas_get_config". */
void report_how(const char *name, const char *how);

/* The address of a routine: `stem` as Fortran or as C would spell it in this library; NULL when it has none. */
void *fortran_routine(const subject *library, const char *stem);
void *c_routine(const subject *library, const char *stem);

/* The address of a symbol of the library's own interface, with any of the affixes that libraries use; NULL when absent.
 */
void *own_symbol(const subject *library, const char *name);

void ask_version_and_kernels(const subject *library);
void ask_thread_scope(const subject *library);
void ask_conventions(subject *library);
void ask_loaded_runtimes(const subject *library);

/* For small problems, in which several threads would do nothing but wait for each other. Also for the threads of a
 * library below. */
void stay_on_one_thread(const subject *library);

/* Last of all, because the reference library ends the process on a bad argument: the integer width by dpotrf. */
void ask_width_of_lapack(subject *library);

/* Multiplies small matrices in each data type that the library has, and reports what is wrong. */
void check_products(const subject *library);

/* One product of small matrices of type f32, where the library has it. */
void try_product(const subject *library);

/* Whether the library passes its products on to another one, which it has opened: reports that file. What was loaded
 * before the library has been noted by note_loaded. */
void ask_forwarding(const subject *library);
void note_loaded(void);

/* ---- What is checked once the library works at all (checks.c) ---- */

/* Which checks there are for this library, a BP_CHECK_BIT each. */
uint64_t checks_due(const subject *library);
/* Goes on behind what `state` says was done, and reports what passed and what is wrong. */
void run_checks(const subject *library, progress *state);
/* Reports that the check under way was not finished, and how it ended. */
void report_unfinished(const subject *library, const progress *state, const char *how);

#endif
