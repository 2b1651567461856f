/* probe_cache_key.h - the part of a probe-cache key that is not the file: version, CPU, environment, loader cache. */
#ifndef BP_REGISTRY_PROBE_CACHE_KEY_H
#define BP_REGISTRY_PROBE_CACHE_KEY_H

#include "base/base.h"

/* Returns a hash of our version, the processor, and the variables that control libraries and the loader. *loader is the
 * time of the last change of the loader's cache. */
uint64_t bp__probe_cache_key(int64_t *loader);

/* Adds the values of the variables that change the speed of libraries and are not in bp__probe_cache_key(). */
void bp__add_speed_variables(bp__text *text);

/* Returns whether the file still has that build-id. Files that are no known library (family "") are not opened. */
bool bp__build_id_matches(const char *path, const char *family, const char *build_id);

#endif
