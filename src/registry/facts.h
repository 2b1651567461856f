/* facts.h - what is known of one file: found in its ELF data, learned by the probe, kept in the store.
 *
 * Every text is interned: it lives until bp_reset, and is "" when unknown.
 */
#ifndef BP_REGISTRY_FACTS_H
#define BP_REGISTRY_FACTS_H

#include "registry/elf.h"
#include "registry/families.h"

#include <sys/stat.h>

/* How the probe of a file ended. */
typedef enum bp__outcome {
    BP__OUTCOME_NONE, /* not probed, or no need to */
    BP__OUTCOME_OK,
    BP__OUTCOME_BROKEN,  /* crashed, hung, or computed wrongly: true as long as the file is the same */
    BP__OUTCOME_NO_LOAD, /* the loader refused it: true as long as the other libraries are the same too */
    BP__OUTCOME_NO_PROBE /* the helper is missing or could not be started: never stored */
} bp__outcome;

/* The one list of facts: TYPE, name. The struct, the store's lines and the probe's report derive from it. */
#define BP__FACT_MAP(X)                                                                                                \
    X(TEXT, family) /* "" for a file that is of no interest */                                                         \
    X(TEXT, base)   /* what the row's id begins with */                                                                \
    X(INT, kinds)                                                                                                      \
    X(INT, flags) /* BP__FAMILY_ flags */                                                                              \
    X(TEXT, soname)                                                                                                    \
    X(TEXT, build_id)                                                                                                  \
    X(TEXT, likeness) /* equal in copies of one file: the build-id, or a hash of the symbols */                        \
    X(TEXT, needed)   /* newline-separated */                                                                          \
    X(TEXT, runpath)                                                                                                   \
    X(TEXT, prefix)                                                                                                    \
    X(TEXT, suffix)                                                                                                    \
    X(TEXT, cblas_suffix)                                                                                              \
    X(INT, marked) /* symbols of the family's own interface show, not only those of the BLAS */                        \
    X(TEXT, threading)                                                                                                 \
    X(TEXT, fact_sources)                                                                                              \
    X(INT, outcome) /* from here on: what the probe learned */                                                         \
    X(TEXT, reason)                                                                                                    \
    X(TEXT, version)                                                                                                   \
    X(TEXT, kernels)                                                                                                   \
    X(INT, int_bits)                                                                                                   \
    X(TEXT, complex_return)                                                                                            \
    X(INT, f2c)                                                                                                        \
    X(TEXT, thread_scope)                                                                                              \
    X(TEXT, runtimes) /* OpenMP and TBB runtimes that came with it, space-separated */                                 \
    X(TEXT, probed)   /* how each of these facts was learned */                                                        \
    X(TEXT, faults)   /* a line for each check that went wrong or did not end: "eig f32: ..." */                       \
    X(TEXT, forwards) /* the file that it opens itself and passes its products on to */                                \
    X(TEXT, blas)     /* of a LAPACK alone: the path by which the loader found its BLAS ... */                         \
    X(TEXT, blas_key) /* ... and what stat said of it then */

typedef struct bp__facts {
#define BP__FIELD_TEXT const char *
#define BP__FIELD_INT int64_t
#define X(type, name) BP__FIELD_##type name;
    BP__FACT_MAP(X)
#undef X
    double probe_ms; /* 0 unless the probe ran in this process's lifetime */
} bp__facts;

/* Makes every text "" and every number 0. */
void bp__facts_clear(bp__facts *facts);

/* Stores a text, with control characters but line ends replaced by '?'. false when out of memory. */
bool bp__facts_set(const char **slot, const char *text);

/* Adds "topic: how" to a list of what was learned; what the list said of that topic before goes. */
bool bp__facts_learn(const char **slot, const char *topic, const char *how);

/* The same for each entry of another such list. */
bool bp__facts_learn_all(const char **slot, const char *list);

/* One fact by name: from text that somebody else wrote (the store, the probe). Unknown names are passed over, so that
 * an older store can be read; false when the value is not one, or when out of memory. */
bool bp__facts_parse(bp__facts *facts, const char *name, const char *value);

/* The words that stand for a bit of BP_CHECK_BIT ("eig f32"); false when there is no such check. */
bool bp__check_topic(int bit, char *topic, size_t size);

/* The line that begins with a topic and ": "; NULL when there is none. */
const char *bp__topic_line(const char *lines, const char *topic, size_t *length);

/* The bits of the checks that bp__facts.faults has lines of. */
uint64_t bp__faulty_checks(const char *faults);

/* Identifies a file from its ELF facts. BP_OK with family "" when it is of no interest; BP_E_NO_MEMORY. */
bp_status bp__identify(const bp__elf *elf, const char *path, bp__facts *facts);

/* What stat says of a file; equal keys mean an unchanged file. */
typedef struct bp__file_key {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t modified_ns;
    int64_t changed_ns;
} bp__file_key;
bp__file_key bp__file_key_of(const struct stat *facts);
/* Notes what lies where a LAPACK has found its BLAS; false when out of memory. Another file there is another library.
 */
bool bp__note_blas(bp__facts *facts);
bool bp__blas_is_noted(const bp__facts *facts);
bool bp__file_key_equal(const bp__file_key *a, const bp__file_key *b);

#endif
