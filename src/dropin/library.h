/* library.h - declares libraries that calls are sent to in place of the program's own. */
#ifndef BP_DROPIN_LIBRARY_H
#define BP_DROPIN_LIBRARY_H

#include "dropin/internal.h"

#include <limits.h>

typedef struct bp__dropin_library {
    void *handle;
    char id[PATH_MAX];
    char prefix[32], suffix[32], c_suffix[32];
    unsigned kinds;
    int int_bits;
    bool hidden; /* complex functions get the address for their result as first argument */
} bp__dropin_library;

/* Opens the library that the environment asks for. Returns NULL if there is none; a message says why, once. */
const bp__dropin_library *bp__dropin_library_asked(const char *name);

/* Returns library `rank` (0: the best) of those that Backplane would choose for large products, with its settings. Only
 * libraries that have a routine of this part, and that work. NULL past the end. */
const bp__dropin_library *bp__dropin_library_at(int rank);

/* Returns the address of a routine, or NULL. */
void *bp__dropin_library_routine(const bp__dropin_library *library, int routine, bool wide);

/* Makes the library call the process's own error handlers, xerbla_ and cblas_xerbla, and its ilaenv_, if the process
 * has definitions that precede the library's. With RTLD_DEEPBIND, the loader binds the library's own ones. */
void bp__dropin_redirect(void *handle);

#endif
