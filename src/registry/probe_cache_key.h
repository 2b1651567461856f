/* probe_cache_key.h - what besides a file itself decides what a probe of it will learn. */
#ifndef BP_REGISTRY_PROBE_CACHE_KEY_H
#define BP_REGISTRY_PROBE_CACHE_KEY_H

#include "base/base.h"

/* A number that changes with our version, the processor, and the variables that steer libraries and the loader; *loader
 * is the time at which the loader's cache was changed last. */
uint64_t bp__probe_cache_key(int64_t *loader);

/* Whether the file still carries that build-id; files of no interest (family "") are not opened for it. */
bool bp__build_id_matches(const char *path, const char *family, const char *build_id);

#endif
