/* local_dependencies.h - opens a library together with the libraries that lie beside it. Shared by the registry and the
 * probe helper. */
#ifndef BP_REGISTRY_LOCAL_DEPENDENCIES_H
#define BP_REGISTRY_LOCAL_DEPENDENCIES_H

#include "base/base.h"

/* dlopen with one kindness: where the loader misses a library that lies in the same folder (wheels are packed like
 * that, and count on an environment variable), that one is opened first. Each sibling must be trusted; `used` (may be
 * NULL) hears of each. On failure NULL, and the loader's reason in `error`. */
void *bp__open_with_local_dependencies(const char *path, int flags, void (*used)(const char *sibling), char *error,
                                       size_t size);

#endif
