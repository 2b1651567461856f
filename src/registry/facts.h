/* facts.h - holds the facts of one file: read from its ELF data, found by the probe, kept in the probe cache.
 *
 * Every text is interned: it lives until bp_reset, and is "" if unknown.
 */
#ifndef BP_REGISTRY_FACTS_H
#define BP_REGISTRY_FACTS_H

#include "registry/elf.h"
#include "registry/families.h"

#include <sys/stat.h>

enum { LONGEST_FACT = 16384 }; /* bytes of a text, with its end */

/* How the probe of a file ended. */
typedef enum bp__outcome {
    BP__OUTCOME_NONE, /* not probed, or needs no probe */
    BP__OUTCOME_OK,
    BP__OUTCOME_BROKEN,  /* crashed, hung, or gave wrong results: valid while the file is unchanged */
    BP__OUTCOME_NO_LOAD, /* the loader refused it: valid while the other libraries are unchanged too */
    BP__OUTCOME_NO_PROBE /* the helper is missing or could not be started: never stored */
} bp__outcome;

/* The only list of facts: TYPE, name. The struct, the lines of the probe cache and the probe's report derive from it.
 */
#define BP__FACT_MAP(X)                                                                                                \
    X(TEXT, family) /* "" if the file is not a known library */                                                        \
    X(TEXT, base)   /* the beginning of the entry's id */                                                              \
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
    X(INT, marked) /* exports symbols of the family's own interface, not only symbols of the BLAS */                   \
    X(TEXT, threading)                                                                                                 \
    X(TEXT, fact_sources)                                                                                              \
    X(INT, outcome) /* from here on: found by the probe */                                                             \
    X(TEXT, reason)                                                                                                    \
    X(TEXT, version)                                                                                                   \
    X(TEXT, kernels)                                                                                                   \
    X(INT, int_bits)                                                                                                   \
    X(TEXT, complex_return)                                                                                            \
    X(INT, f2c)                                                                                                        \
    X(TEXT, thread_scope)                                                                                              \
    X(TEXT, runtimes)  /* OpenMP and TBB runtimes that were loaded with it, space-separated */                         \
    X(TEXT, probed)    /* source of each of these facts */                                                             \
    X(INT, open_space) /* bp_library_info.space and .data, in KiB */                                                   \
    X(INT, call_space)                                                                                                 \
    X(INT, thread_space)                                                                                               \
    X(INT, caller_space)                                                                                               \
    X(INT, open_data)                                                                                                  \
    X(INT, call_data)                                                                                                  \
    X(INT, thread_data)                                                                                                \
    X(INT, caller_data)                                                                                                \
    X(INT, stack)        /* bp_library_info.stack, in KiB */                                                           \
    X(TEXT, faults)      /* a line for each check that failed or did not end: "eig f32: ..." */                        \
    X(INT, overreads)    /* the types whose LAPACK routines read next to their operands: a mask */                     \
    X(TEXT, inexact_f32) /* bp_library_info.inexact */                                                                 \
    X(TEXT, inexact_f64)                                                                                               \
    X(TEXT, outside)  /* names of BLAS's routines that access memory outside of their operands; "*": not tested */     \
    X(INT, left)      /* 1: only what matrix products need was checked, and more is to be checked */                   \
    X(TEXT, forwards) /* the file that it opens itself and forwards its products to */                                 \
    X(TEXT, blas)     /* of a LAPACK without BLAS: the path by which the loader found its BLAS */                      \
    X(TEXT, blas_key) /* the file key of that BLAS */

typedef struct bp__facts {
#define BP__FIELD_TEXT const char *
#define BP__FIELD_INT int64_t
#define X(type, name) BP__FIELD_##type name;
    BP__FACT_MAP(X)
#undef X
    double probe_ms; /* 0 unless the probe ran in this process */
    bool momentary;  /* circumstances of the moment may explain that it is not usable: never stored */
} bp__facts;

/* Sets every text to "" and every number to 0. */
void bp__facts_clear(bp__facts *facts);

/* Stores a text; replaces control characters except line ends by '?'. Returns false if out of memory. */
bool bp__facts_set(const char **slot, const char *text);

/* Adds "topic: how" to a list of fact sources; replaces an earlier entry of that topic. */
bool bp__facts_learn(const char **slot, const char *topic, const char *how);

/* Adds each entry of another such list. */
bool bp__facts_learn_all(const char **slot, const char *list);

/* Sets one fact by name from untrusted text (the probe cache, the probe). Unknown names are ignored, so that an older
 * probe cache can be read. Returns false if the value is invalid, or if out of memory. */
bool bp__facts_parse(bp__facts *facts, const char *name, const char *value);

/* Writes the name of a bit of BP_CHECK_BIT or BP_PRIMITIVE_BIT ("eig f32"). Returns false if there is none. */
bool bp__check_topic(int bit, char *topic, size_t size);

/* Returns the line that begins with a topic and ": ", or NULL. */
const char *bp__topic_line(const char *lines, const char *topic, size_t *length);

/* Returns the bits of the checks that have lines in bp__facts.faults. */
uint64_t bp__faulty_checks(const char *faults);

/* Identifies a file from its ELF facts. Returns BP_OK, with family "" if it is not a known library, or BP_E_NO_MEMORY.
 */
bp_status bp__identify(const bp__elf *elf, const char *path, bp__facts *facts);

/* The file's data from stat; equal keys mean an unchanged file. */
typedef struct bp__file_key {
    uint64_t device;
    uint64_t inode;
    int64_t size;
    int64_t modified_ns;
    int64_t changed_ns;
} bp__file_key;
bp__file_key bp__file_key_of(const struct stat *facts);
/* Stores the key of the file that a LAPACK uses as its BLAS, because another file there is another library. Returns
 * false if out of memory. */
bool bp__note_blas(bp__facts *facts);
bool bp__blas_is_noted(const bp__facts *facts);
bool bp__file_key_equal(const bp__file_key *a, const bp__file_key *b);

#endif
