/* families.h - the table of library families: how each is recognised, what it offers, and how it reports its version,
 * kernels and threads. The registry identifies files with it, and the probe helper calls the listed functions. */
#ifndef BP_REGISTRY_FAMILIES_H
#define BP_REGISTRY_FAMILIES_H

#include "backplane/library.h"

/* How a library reports its version (or kernel set): the kind of symbol that `symbol` is. */
typedef enum bp__answer {
    BP__ANSWER_NONE,
    BP__ANSWER_TEXT,              /* const char *symbol(void) */
    BP__ANSWER_SECOND_WORD,       /* as ANSWER_TEXT; the version is the second word */
    BP__ANSWER_DATA_WORD,         /* char symbol[], read from the file: the text after the last '-' of its first word */
    BP__ANSWER_INTS,              /* void symbol(int *major, int *minor, int *patch) */
    BP__ANSWER_TWO_INTS_OUT,      /* int symbol(int *major, int *minor) */
    BP__ANSWER_INTS_TAG,          /* as ANSWER_INTS, with a fourth argument, const char ** */
    BP__ANSWER_MKL_STRUCT,        /* void symbol(struct that begins with three ints) */
    BP__ANSWER_DNNL_STRUCT,       /* const struct that begins with three ints *symbol(void) */
    BP__ANSWER_NUMBER,            /* size_t symbol(void): digits packed, see `scale` */
    BP__ANSWER_NUMBER_OUT,        /* int symbol(int *) */
    BP__ANSWER_NUMBER_HANDLE_OUT, /* int symbol(NULL, int *) */
    BP__ANSWER_BLIS_ARCH,         /* kernels: const char *bli_arch_string(bli_arch_query_id()) */
    BP__ANSWER_DNNL_ISA,          /* kernels: the numbered instruction set of int symbol(void) */
    BP__ANSWER_MKL_BRANCH         /* kernels: the numbered code branch, or the name of the loaded kernel library */
} bp__answer;

#define BP__FAMILY_GPU 1u   /* runs on a GPU; the probe reads only its version */
#define BP__FAMILY_LAYER 2u /* a part of another library; has no entry of its own */
#define BP__FAMILY_QUIET 4u /* a probe must not call it: it stays unopened */
#define BP__FAMILY_NAMED                                                                                               \
    16u /* its files have the version in their names; files of other families only their interface's version */
#define BP__FAMILY_HEAVY 8u     /* takes a second to open: probed only if it could also run */
#define BP__FAMILY_FORWARDS 32u /* only forwards calls to a library that is chosen when it is loaded */
#define BP__FAMILY_PARTS 64u    /* opens other files that do the work */
#define BP__FAMILY_WRAPS 128u   /* its BLAS and LAPACK names call another library: it is not listed as one */

typedef struct bp__library_family {
    const char *name;
    const char *id; /* the beginning of entry ids */
    /* Alternatives separated by spaces. Each consists of parts joined by '+', which must all match. A part is a defined
     * symbol (also tried with the affixes of widths and wheels), or "needed:" and the beginning of a NEEDED name,
     * "soname:" and a beginning of the SONAME, "text:" and bytes of the file, "not:" and a symbol that must be absent,
     * "blas" for any spelling of dgemm, "lapack" of dpotrf, "small" for a file below 2 MiB. */
    const char *markers;
    unsigned kinds; /* offered by every member; BLAS, CBLAS and LAPACK are found from the symbols */
    unsigned flags;
    bp__answer version;
    const char *version_symbol;
    bp__answer kernels;
    const char *kernels_symbol;
    const char *parallel_symbol; /* int symbol(void): 0 serial, 1 pthread, 2 OpenMP; "" if there is none */
    const char *thread_setter;   /* void symbol(int); with thread_getter the probe can find what the setter affects */
    const char *thread_getter;   /* int symbol(void) */
    const char *thread_scope;    /* used if the probe cannot determine it */
    const char *package;         /* package to install, for the message about an absent library */
} bp__library_family;

/* Ordered: a file belongs to the first family whose markers match, and entries are listed in this order. Ends with
 * "unknown". */
extern const bp__library_family bp__library_families[];
extern const int bp__library_family_count;

/* Returns the first entry with that id, or the last one ("unknown"). */
const bp__library_family *bp__library_family_with_id(const char *id);

/* Prefixes and suffixes that symbol names of one library may have. */
extern const char *const bp__affix_prefixes[]; /* "", "scipy_"; ends with NULL */
extern const char *const bp__affix_fortran[];  /* "_", "", "64_", ...; ends with NULL */
extern const char *const bp__affix_c[];        /* "", "64_", "_64", ...; ends with NULL */

#endif
