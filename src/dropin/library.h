/* library.h - declares libraries that calls are sent to in place of the program's own. */
#ifndef BP_DROPIN_LIBRARY_H
#define BP_DROPIN_LIBRARY_H

#include "dropin/internal.h"

#include "dropin/policy.h"

#include <limits.h>

/* Why another library takes a call of a launched program. */
#define BP__DROPIN_WHY_FAULTY "the probe found a fault in this routine of the program's own library"

typedef struct bp__dropin_library {
    void *handle;
    char id[PATH_MAX];
    char prefix[32], suffix[32], c_suffix[32];
    unsigned kinds;
    int int_bits;
    bp__dropin_findings findings;
    bool hidden; /* complex functions get the address for their result as first argument */
    bool swaps;  /* it calls cblas_xerbla with the arguments of MKL: a name and a number */
    bool stays;  /* it has GNU's OpenMP, whose threads do not exist in a child of fork, where its calls wait for ever */
} bp__dropin_library;

/* A library by id, family, SONAME or path, which is opened when it is first used. Zero all but the name. */
typedef struct bp__dropin_named {
    const char *name;
    const bp__dropin_library *library;
} bp__dropin_named;

/* Returns the library, or NULL if it could not be opened. */
const bp__dropin_library *bp__dropin_library_named(bp__dropin_named *entry);

/* Returns the library that the environment asks for, or NULL; then a message says why, once. */
const bp__dropin_library *bp__dropin_library_asked(const char *name);

/* Returns the library of that id in the list of libraries, or NULL if it could not be opened. */
const bp__dropin_library *bp__dropin_library_with_id(const char *id);

/* The libraries in the order in which Backplane would choose them for large products, with its settings: number 0 is
 * the best. Returns whether there is such a number; returns the library, or NULL if it could not be opened. */
bool bp__dropin_library_exists(int rank);
const bp__dropin_library *bp__dropin_library_at(int rank);

/* Opens the library that was asked for, or the best one, and starts its threads. The order is not kept: the first call
 * makes it with the measured times of that moment, which may be more. */
void bp__dropin_library_start(const char *asked);

/* Returns why a library of the list could not be opened, the first of them; "" if none failed. */
const char *bp__dropin_library_failure(void);

/* Returns the id of a number that exists. */
const char *bp__dropin_library_id(int rank);

/* Returns the address of a routine, or NULL. */
void *bp__dropin_library_routine(const bp__dropin_library *library, int routine, bool wide);

/* Returns whether the probe found nothing wrong with a routine of a library. A routine of LAPACK that may read next to
 * its operands is wrong here, because it gets the program's own memory. */
bool bp__dropin_is_sound(const bp__dropin_findings *findings, int routine);

/* Makes the library call the program's own error handlers, xerbla_ and cblas_xerbla, and its ilaenv_, if it has them.
 * With RTLD_DEEPBIND, the loader binds the library's own ones. `wide`: the library has 64-bit integers. */
void bp__dropin_redirect(void *handle, bool wide);

/* Returns whether the process has a cblas_xerbla that MKL would call with arguments in another order than it expects:
 * any but MKL's own one and a drop-in library's. */
bool bp__dropin_has_handler_of_c(void);

#endif
