/* blob.h - keeps bytes in files of the user's cache directory, for this and later processes: one file for each key.
 *
 * `kind` names a folder in the cache directory; letters only. The key is all that the bytes depend on, such as the
 * source and the compiler of a kernel. It is stored with them, so that another key with the same hash is not taken for
 * it. A file that is damaged, or that others may change, counts as absent. The files of a kind have at most
 * BP__BLOBS_MOST bytes together; beyond that, those that were written first are removed. The setting registry.cache
 * permits reading and writing. All functions are thread-safe, and processes may use the same files at once. They change
 * no last error. */
#ifndef BP_STORE_BLOB_H
#define BP_STORE_BLOB_H

#include "base/base.h"

#define BP__BLOBS_MOST ((uint64_t)256 << 20)

/* Returns the bytes of a key, for bp__free_aligned(), and sets *size; NULL if there are none. */
void *bp__blob_recall(const char *kind, const void *key, size_t key_size, size_t *size);

/* Keeps bytes, in place of earlier ones. Does nothing if they cannot be written. */
void bp__blob_remember(const char *kind, const void *key, size_t key_size, const void *bytes, size_t size);

/* As bp__blob_remember, with another limit for the files of the kind; for tests. */
void bp__blob_remember_within(uint64_t most, const char *kind, const void *key, size_t key_size, const void *bytes,
                              size_t size);

#endif
