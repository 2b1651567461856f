/* context.h - what besides a file itself decides what a probe of it will learn. */
#ifndef BP_REGISTRY_CONTEXT_H
#define BP_REGISTRY_CONTEXT_H

#include "base/base.h"

/* A number that changes with our version, the processor, and the variables that steer libraries and the loader; *loader
 * is the time at which the loader's cache was changed last. */
uint64_t bp__probe_context(int64_t *loader);

/* Whether the file still carries that build-id; files of no interest (family "") are not opened for it. */
bool bp__build_id_matches(const char *path, const char *family, const char *build_id);

#endif
