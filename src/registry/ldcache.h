/* ldcache.h - the dynamic loader's list of libraries, read from the bytes of /etc/ld.so.cache. */
#ifndef BP_REGISTRY_LDCACHE_H
#define BP_REGISTRY_LDCACHE_H

#include "base/base.h"

#define BP__LDCACHE_PATH "/etc/ld.so.cache"

/* Calls `visit` with the SONAME and path of each entry until it returns false; reads both formats (glibc's own, and the
 * older one alone or in front of it). The bytes may be hostile. false when they are no loader cache. */
bool bp__ldcache_visit(const void *bytes, size_t size, bool (*visit)(void *user, const char *name, const char *path),
                       void *user);

#endif
