/* verbose.h - switches the verbose modes of oneMKL and oneDNN, as torch.backends.mkl.verbose and mkldnn.verbose do.
 *
 * A library has one switch and writes to standard output. So a scope applies to the whole process, unlike the scopes of
 * settings.h. Scopes nest and may be left in any order. Leaving the last one restores the level of MKL_VERBOSE or
 * ONEDNN_VERBOSE, because the libraries cannot report a level that the program set itself. For one line per call of any
 * library use the setting `verbose`. All functions are thread-safe.
 */
#ifndef BACKPLANE_VERBOSE_H
#define BACKPLANE_VERBOSE_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_VERBOSE_OFF 0
#define BP_VERBOSE_ON 1
#define BP_VERBOSE_ON_CREATION 2 /* oneDNN: also when a primitive is created; MKL: the same as ON */

/* Receives one line that a library wrote, without the newline. Runs in the thread that leaves the scope. */
typedef void (*bp_verbose_handler)(void *user, const char *line);

/* Sets the verbose level of the library of `backend` ("mkl" or "mkldnn") until the scope is left; opens the library if
 * necessary. With a handler (NULL: none), standard output is captured in memory while the scope is open. Leaving the
 * scope passes the library's lines to the handler and writes all others to standard output. Errors: BP_E_ARGUMENT,
 * BP_E_UNKNOWN_NAME, BP_E_NOT_FOUND (the library is not on this machine), the errors of opening it, BP_E_SYMBOL and
 * BP_E_UNSUPPORTED (it has no such switch, or rejects the level), BP_E_BUSY (another scope has a handler), BP_E_IO,
 * BP_E_NO_MEMORY. After an error nothing has changed and *scope is NULL. */
typedef struct bp_verbose_scope bp_verbose_scope;
BP_API bp_status bp_verbose_enter(bp_verbose_scope **scope, const char *backend, int level, bp_verbose_handler handler,
                                  void *user);

/* Leaves the scope and sets *scope to NULL. Returns BP_OK if *scope is NULL already. */
BP_API bp_status bp_verbose_leave(bp_verbose_scope **scope);

#ifdef __cplusplus
}
#endif
#endif
