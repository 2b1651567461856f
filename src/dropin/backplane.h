/* backplane.h - declares access to libbackplane, which is opened when it is first needed. */
#ifndef BP_DROPIN_BACKPLANE_H
#define BP_DROPIN_BACKPLANE_H

#include "backplane/dispatch.h"
#include "backplane/library.h"
#include "backplane/linalg.h"
#include "backplane/matmul.h"
#include "backplane/settings.h"
#include "dropin/internal.h"

/* The functions that are used. */
#define BP__DROPIN_FUNCTIONS(X)                                                                                        \
    X(bp_gemm)                                                                                                         \
    X(bp_gemm_explain)                                                                                                 \
    X(bp_linalg_explain)                                                                                               \
    X(bp_explanation_at)                                                                                               \
    X(bp_explanation_release)                                                                                          \
    X(bp_last_plan)                                                                                                    \
    X(bp_last_error)                                                                                                   \
    X(bp_library_at)                                                                                                   \
    X(bp_library_find)                                                                                                 \
    X(bp_library_open)                                                                                                 \
    X(bp_libraries_cached)                                                                                             \
    X(bp_scope_enter)                                                                                                  \
    X(bp_scope_leave)                                                                                                  \
    X(bp_get)

typedef struct bp__dropin_api {
#define X(name) __typeof__(&name) name;
    BP__DROPIN_FUNCTIONS(X)
#undef X
} bp__dropin_api;

/* Returns whether a setting has a value. */
bool bp__dropin_setting_is(const bp__dropin_api *api, const char *name, const char *value);

/* Opens libbackplane, if that was not done. Returns its functions, or NULL if it could not be opened; *why is then the
 * reason. `why` may be NULL. */
const bp__dropin_api *bp__dropin_backplane(const char **why);

#endif
