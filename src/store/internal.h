/* internal.h - declares what the files of this module share. */
#ifndef BP_STORE_INTERNAL_H
#define BP_STORE_INTERNAL_H

#include "store/store.h"

#include <limits.h>

#define BP__STORE_ANY_FORMAT "backplane-records "
#define BP__STORE_FIRST_LINE BP__STORE_ANY_FORMAT "1\n"

/* Writes the path of a file, given as for bp__store_open. Returns false if there is no cache directory. */
bool bp__store_path(const char *name, char path[PATH_MAX], size_t *given);

/* As bp__store_open, for a path; writes its warning, or "", to `why`. Returns BP_E_UNTRUSTED, with an empty snapshot,
 * for a file that others may change. */
bp_status bp__store_read(bp__store **store, const char *path, char *why, size_t size);

#endif
