/* probe.h - what the files of the probe helper share: the library under examination and the way to report.
 *
 * The helper is the child process in which an unknown library is opened and called for the first time. Whatever the
 * library does there (crash, hang, print, exit, take memory, start processes) harms nobody; the parent reads what was
 * reported until then. It is two processes, see supervise.c.
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
} subject;

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
void ask_conventions(const subject *library);
void ask_loaded_runtimes(const subject *library);

/* Last of all, because the reference library ends the process on a bad argument: the integer width by dpotrf. */
void ask_width_of_lapack(const subject *library);

/* Multiplies small matrices in each data type that the library has, and reports what is wrong. */
void check_products(const subject *library);

#endif
