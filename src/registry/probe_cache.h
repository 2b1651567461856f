/* probe_cache.h - stores the probe results of each file between runs, in a small text file in the cache directory. */
#ifndef BP_REGISTRY_PROBE_CACHE_H
#define BP_REGISTRY_PROBE_CACHE_H

#include "registry/scan.h"

/* The probe cache for the settings and environment in force, in memory. An all-zero one is empty and disabled. */
typedef struct bp__probe_cache {
    const char *path; /* interned; NULL if the probe cache is disabled */
    size_t given;     /* bytes of `path` that name a directory which must exist: the user's home is never made */
    char *bytes;      /* the file's text, to which the entries point */
    struct bp__probe_cache_entry *entries;
    int count;
    uint64_t context; /* hash of what affects a probe's result besides the file: our version, the processor, the
                         environment */
    int64_t loader;   /* time of the last change of the loader's cache */
} bp__probe_cache;

/* Reads the probe cache. A missing, damaged or untrusted file gives an empty one, with a warning that states the
 * reason. */
bp_status bp__probe_cache_open(bp__probe_cache *cache);
void bp__probe_cache_close(bp__probe_cache *cache);

/* Copies the facts of an unchanged file to file->facts and sets file->stored. Errors: BP_E_NO_MEMORY. */
bp_status bp__probe_cache_get(const bp__probe_cache *cache, bp__file *file);

/* Writes the facts of these files; keeps entries of others while they fit. Does nothing if the probe cache is disabled
 * or read-only. */
bp_status bp__probe_cache_save(const bp__probe_cache *cache, const bp__search *search);

/* Reads entries from a NUL-terminated text, which is modified and may be hostile. Errors: BP_E_NO_MEMORY, BP_E_FORMAT.
 */
bp_status bp__probe_cache_parse(bp__probe_cache *cache, char *text);

#endif
