/* write.c - adds records to a file, which other processes may change at the same time.
 *
 * The file is read again under its lock, so that the records of others are kept, and replaced as a whole. A process
 * that is killed leaves the old file or the new one. */
#include "store/internal.h"
#include "base/path_buffer.h"
#include "store/place.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* What a visit of the old records needs. */
typedef struct merge {
    bp__text *text;
    const bp__store_record *fresh;
    int count;
} merge;

static void add_escaped(bp__text *text, const char *value) {
    while (*value) {
        size_t plain = strcspn(value, "\t\n\\");
        bp__text_add_n(text, value, plain);
        value += plain;
        if (*value) {
            bp__text_add(text, *value == '\t' ? "\\t" : *value == '\n' ? "\\n" : "\\\\");
            value++;
        }
    }
}

static void add_line(bp__text *text, const bp__store_record *record, int64_t written_s) {
    size_t start = text->length;
    add_escaped(text, record->key);
    bp__text_addf(text, "\t%" PRId64 "\t", written_s);
    add_escaped(text, record->value);
    if (!text->failed) {
        bp__text_addf(text, "\t%016" PRIx64 "\n", bp__hash(text->bytes + start, text->length - start));
    }
}

static bool add_old(void *user, const bp__store_record *record) {
    merge *all = user;
    for (int i = 0; i < all->count; i++) {
        if (strcmp(all->fresh[i].key, record->key) == 0) {
            return true;
        }
    }
    add_line(all->text, record, record->written_s);
    return true;
}

static void add_fresh(bp__text *text, const bp__store_record *records, int count) {
    int64_t now = (int64_t)time(NULL);
    for (int i = 0; i < count; i++) {
        if (records[i].value) {
            add_line(text, &records[i], records[i].written_s ? records[i].written_s : now);
        }
    }
}

/* Writes the last lines that fit. `fresh` is where the lines of the new records begin. */
static bp_status write_last(const char *path, size_t given, const bp__text *lines, size_t fresh) {
    const char *first = bp__text_get(lines);
    size_t head = sizeof BP__STORE_FIRST_LINE - 1, length = lines->length;
    if (lines->failed) {
        return bp__fail_memory(length, "stored records");
    }
    if (head + length - fresh > BP__STORE_MOST) {
        return bp__fail(BP_E_OVERFLOW, "%s: the records are larger than the %zu bytes of a file", path, BP__STORE_MOST);
    }
    while (head + length > BP__STORE_MOST) {
        size_t line = strcspn(first, "\n") + 1;
        first += line;
        length -= line;
    }
    bp__text whole = {0};
    bp__text_add(&whole, BP__STORE_FIRST_LINE);
    bp__text_add_n(&whole, first, length);
    bp_status status = whole.failed ? bp__fail_memory(head + length, "stored records")
                                    : bp__file_replace(path, given, whole.bytes, whole.length);
    bp__text_free(&whole);
    return status;
}

static bp_status put_locked(const char *path, size_t given, const bp__store_record *records, int count) {
    bp__store *old = NULL;
    bp__text lines = {0};
    char why[1024]; /* the caller has seen it when it opened the file; no warning is given while the lock is held */
    bp_status status = bp__store_read(&old, path, why, sizeof why);
    if (status == BP_OK) {
        bp__store_visit(old, add_old, &(merge){&lines, records, count});
        size_t fresh = lines.length;
        add_fresh(&lines, records, count);
        status = write_last(path, given, &lines, fresh);
    }
    bp__text_free(&lines);
    bp__store_close(old);
    return status;
}

bp_status bp__store_put(const char *name, const bp__store_record *records, int count) {
    enum { WAIT_MS = 500 };
    BP__PATH_BUFFER(path);
    size_t given;
    int lock;
    if (!path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    if (!bp__store_path(name, path, &given)) {
        return bp__fail(BP_E_NOT_FOUND, "%s: there is no cache directory for it; set registry.cache_dir", name);
    }
    BP__TRY(bp__file_lock(path, given, WAIT_MS, &lock));
    bp_status status = put_locked(path, given, records, count);
    bp__file_unlock(lock);
    return status;
}
