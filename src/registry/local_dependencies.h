/* local_dependencies.h - opens a library together with dependencies from its own directory. Used by the registry and
 * the probe helper. */
#ifndef BP_REGISTRY_LOCAL_DEPENDENCIES_H
#define BP_REGISTRY_LOCAL_DEPENDENCIES_H

#include "base/base.h"

/* Calls dlopen(). If a dependency is missing but exists in the same directory, opens it first and retries. (Wheels are
 * packed like that, and otherwise rely on an environment variable.) Each dependency must be trusted; `used` (may be
 * NULL) is called for each. On failure returns NULL and writes the loader's reason to `error`. */
void *bp__open_with_local_dependencies(const char *path, int flags, void (*used)(const char *dependency), char *error,
                                       size_t size);

#endif
