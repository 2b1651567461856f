/* verbose.h - the verbose modes of vendors' libraries, as torch.backends.mkl.verbose and mkldnn.verbose have them.
 *
 * A library has one switch and writes to standard output, so these scopes belong to the whole process, unlike those of
 * settings.h. They nest and may be left in any order. Leaving the last one brings back the level that MKL_VERBOSE or
 * ONEDNN_VERBOSE asks for: no library tells what a program has set by itself. The setting `verbose` is the same for all
 * libraries, one line for each call. Functions are thread-safe.
 */
#ifndef BACKPLANE_VERBOSE_H
#define BACKPLANE_VERBOSE_H

#include "backplane/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BP_VERBOSE_OFF 0
#define BP_VERBOSE_ON 1
#define BP_VERBOSE_ON_CREATION 2 /* oneDNN: also when primitives are made; MKL takes it for ON */

/* Gets one line that a library wrote, without its end. Runs in the thread that leaves the scope. */
typedef void (*bp_verbose_handler)(void *user, const char *line);

/* Switches the library of `backend` ("mkl" or "mkldnn") to a level until the scope is left, opening it where that is
 * still to be done. With a handler, standard output goes to memory while the scope is open; when it is left, the
 * library's lines go to the handler and all others to standard output. Errors: BP_E_ARGUMENT, BP_E_UNKNOWN_NAME,
 * BP_E_NOT_FOUND (no such library here), those of opening it, BP_E_SYMBOL and BP_E_UNSUPPORTED (it has no such switch,
 * or refuses the level), BP_E_BUSY (another scope has a handler), BP_E_IO, BP_E_NO_MEMORY. Then nothing is changed and
 * *scope is NULL. */
typedef struct bp_verbose_scope bp_verbose_scope;
BP_API bp_status bp_verbose_enter(bp_verbose_scope **scope, const char *backend, int level, bp_verbose_handler handler,
                                  void *user);
BP_API bp_status bp_verbose_leave(bp_verbose_scope **scope); /* sets *scope to NULL; NULL inside is BP_OK */

#ifdef __cplusplus
}
#endif
#endif
