/* ldcache.h - reads the dynamic loader's list of libraries from the bytes of /etc/ld.so.cache. */
#ifndef BP_REGISTRY_LDCACHE_H
#define BP_REGISTRY_LDCACHE_H

#include "base/base.h"

#define BP__LDCACHE_PATH "/etc/ld.so.cache"

/* Calls `visit` with the SONAME and path of each entry until it returns false. Reads both formats (glibc's own, and the
 * older one alone or before it). The bytes may be hostile. Returns false if they are not a loader cache. */
bool bp__ldcache_visit(const void *bytes, size_t size, bool (*visit)(void *user, const char *name, const char *path),
                       void *user);

#endif
