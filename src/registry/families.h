/* families.h - the one table of library families: how each is recognised, what it offers, and how it tells its version,
 * its kernels and its threads. Shared by the registry (files are identified by it) and the probe helper (questions are
 * asked by it).
 */
#ifndef BP_REGISTRY_FAMILIES_H
#define BP_REGISTRY_FAMILIES_H

#include "backplane/library.h"

/* How the version (or the kernel set) is asked of a library: the kind of symbol that `symbol` is. */
typedef enum bp__answer {
    BP__ANSWER_NONE,
    BP__ANSWER_TEXT,              /* const char *symbol(void) */
    BP__ANSWER_SECOND_WORD,       /* the same; the version is its second word */
    BP__ANSWER_DATA_WORD,         /* char symbol[], read from the file: what follows the last '-' of its first word */
    BP__ANSWER_INTS,              /* void symbol(int *major, int *minor, int *patch) */
    BP__ANSWER_INTS_TAG,          /* the same with a fourth argument, const char ** */
    BP__ANSWER_MKL_STRUCT,        /* void symbol(struct of three ints first) */
    BP__ANSWER_DNNL_STRUCT,       /* const struct of three ints first *symbol(void) */
    BP__ANSWER_NUMBER,            /* size_t symbol(void): digits packed, see `scale` */
    BP__ANSWER_NUMBER_OUT,        /* int symbol(int *) */
    BP__ANSWER_NUMBER_HANDLE_OUT, /* int symbol(NULL, int *) */
    BP__ANSWER_BLIS_ARCH,         /* kernels: const char *bli_arch_string(bli_arch_query_id()) */
    BP__ANSWER_MKL_BRANCH /* kernels: the numbered code branch, or the name of the kernel library that it has loaded */
} bp__answer;

#define BP__FAMILY_GPU 1u       /* runs on a GPU; only its version is asked */
#define BP__FAMILY_LAYER 2u     /* a part of another library, no row of its own */
#define BP__FAMILY_QUIET 4u     /* must not be called by a probe: it stays unopened */
#define BP__FAMILY_NAMED 16u    /* its files carry the version in their name; others only that of their interface */
#define BP__FAMILY_HEAVY 8u     /* takes a second to open: probed only where it could also run */
#define BP__FAMILY_FORWARDS 32u /* only passes calls on, to a library that is chosen when it is loaded */
#define BP__FAMILY_PARTS 64u    /* opens files of its own that do the work */

typedef struct bp__family {
    const char *name;
    const char *id; /* what row names begin with */
    /* Alternatives separated by spaces; each is made of parts joined by '+', all of which must hold. A part is a
     * defined symbol (tried with the affixes of widths and wheels too), or "needed:" and the head of a NEEDED name,
     * "soname:" and a head of the SONAME, "text:" and bytes of the file, "not:" and a symbol that must be absent,
     * "blas" for any spelling of dgemm, "lapack" of dpotrf, "small" for a file below 2 MiB. */
    const char *markers;
    unsigned kinds; /* what every member offers; BLAS, CBLAS and LAPACK come from the symbols */
    unsigned flags;
    bp__answer version;
    const char *version_symbol;
    bp__answer kernels;
    const char *kernels_symbol;
    const char *parallel_symbol; /* int symbol(void): 0 serial, 1 pthread, 2 OpenMP; "" when there is none */
    const char *thread_setter;   /* void symbol(int); with thread_getter it lets the probe see what a setter reaches */
    const char *thread_getter;   /* int symbol(void) */
    const char *thread_scope;    /* where the probe cannot see it */
    const char *package;         /* what to install, for the sentence about an absent library */
} bp__family;

/* Ordered: the first family whose markers hold is the file's, and rows are listed in this order. Ends with "unknown".
 */
extern const bp__family bp__families[];
extern const int bp__family_count;

/* The row of that id (the first of several), the last one ("unknown") when there is none. */
const bp__family *bp__family_with_id(const char *id);

/* What symbol names of one library may have before and after them. */
extern const char *const bp__affix_prefixes[]; /* "", "scipy_"; ends with NULL */
extern const char *const bp__affix_fortran[];  /* "_", "", "64_", ...; ends with NULL */
extern const char *const bp__affix_c[];        /* "", "64_", "_64", ...; ends with NULL */

#endif
