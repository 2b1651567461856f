/* probe_cache.h - what was learned of each file, kept between runs: a small text file in the cache folder. */
#ifndef BP_REGISTRY_PROBE_CACHE_H
#define BP_REGISTRY_PROBE_CACHE_H

#include "registry/scan.h"

/* The store of the settings and environment in force, in memory. An all-zero one is empty and off. */
typedef struct bp__probe_cache {
    const char *path; /* interned; NULL when the store is off */
    size_t given;     /* bytes of `path` that name a folder which must exist: the user's home is never made */
    char *bytes;      /* the file's text, which entries point into */
    struct bp__probe_cache_entry *entries;
    int count;
    uint64_t context; /* what besides the file decides a probe's result: our version, the processor, the environment */
    int64_t loader;   /* when the loader's cache was changed last */
} bp__probe_cache;

/* Reads the store. A missing, damaged or untrusted file is an empty store; what was wrong with it is a warning. */
bp_status bp__probe_cache_open(bp__probe_cache *store);
void bp__probe_cache_close(bp__probe_cache *store);

/* Takes what is known of an unchanged file into file->facts; sets file->stored. BP_E_NO_MEMORY. */
bp_status bp__probe_cache_get(const bp__probe_cache *store, bp__file *file);

/* Writes what is known of these files, keeping entries of others while they fit. Nothing when the store is off or
 * read-only. */
bp_status bp__probe_cache_save(const bp__probe_cache *store, const bp__search *search);

/* Reads entries from text (NUL at the end), which is changed and may be hostile. BP_E_NO_MEMORY, BP_E_FORMAT. */
bp_status bp__probe_cache_parse(bp__probe_cache *store, char *text);

#endif
