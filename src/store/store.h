/* store.h - keeps records of text in a file of the user's cache directory, for this and later processes.
 *
 * A file is lines of text. After a first line with the format's number, each line is one record:
 *     KEY <tab> TIME <tab> VALUE <tab> CHECKSUM
 * TIME is in seconds since 1970. In keys and values "\t", "\n" and "\\" mean a tab, a line end and a backslash. A line
 * whose checksum does not fit is ignored. Records are in the order in which they were written. If a file would become
 * larger than BP__STORE_MOST bytes, the first ones are dropped; the order decides and not TIME, because a clock may
 * jump.
 *
 * All functions are thread-safe. A snapshot may be read by several threads at once.
 */
#ifndef BP_STORE_STORE_H
#define BP_STORE_STORE_H

#include "base/base.h"

#define BP__STORE_MOST ((size_t)4 << 20)

typedef struct bp__store bp__store; /* an unchangeable snapshot of a file of records */

typedef struct bp__store_record {
    const char *key;
    const char *value; /* NULL for bp__store_put: remove the record */
    int64_t written_s; /* 0 for bp__store_put: now */
} bp__store_record;

/* Reads a file. `name` is the name of a file in the cache directory, or an absolute path. A missing file gives an empty
 * snapshot. So does one that cannot be used, with a warning that states the reason; damaged lines are ignored with a
 * warning. Errors: BP_E_NO_MEMORY. The caller closes the snapshot. */
bp_status bp__store_open(bp__store **store, const char *name);
void bp__store_close(bp__store *store); /* NULL is allowed */

/* Returns the value of a key, or NULL if there is none. It lives as long as the snapshot. *written_s (may be NULL) is
 * the time at which it was written. */
const char *bp__store_find(const bp__store *store, const char *key, int64_t *written_s);

int bp__store_count(const bp__store *store); /* 0: there is no record */

/* Calls `visit` for each record, in the order of the file. Stops when it returns false. */
void bp__store_visit(const bp__store *store, bool (*visit)(void *user, const bp__store_record *record), void *user);

/* Adds records to a file, in place of those with the same keys. Reads the file again while it is locked, so that
 * nothing that another process has added is lost, and replaces it as a whole. Errors: BP_E_IO, BP_E_NOT_FOUND (there is
 * no cache directory), BP_E_UNTRUSTED, BP_E_BUSY (another process held the lock for half a second), BP_E_NO_MEMORY; the
 * file is unchanged then. */
bp_status bp__store_put(const char *name, const bp__store_record *records, int count);

/* Reads a snapshot from a text, which may be hostile; takes ownership of it. `path` is for messages; *damaged is the
 * number of damaged lines. Errors: BP_E_NO_MEMORY, BP_E_FORMAT (the first line says that it is no file of records). */
bp_status bp__store_parse(bp__store **store, char *text, const char *path, int *damaged);

#endif
