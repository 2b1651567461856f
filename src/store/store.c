/* store.c - reads files of records. */
#include "store/store.h"
#include "base/path_buffer.h"

#include "store/internal.h"
#include "store/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bp__store {
    char *text; /* keys and values are parts of it */
    bp__store_record *records;
    int count;
    int *slots; /* a hash table of the records' numbers plus one; 0 marks a free slot */
    size_t slot_count;
};

/* Replaces escapes in place. Returns false if one is unknown. */
static bool unescape(char *text) {
    char *to = text;
    for (; *text; text++) {
        char c = *text;
        if (c == '\\') {
            c = *++text;
            if (c != 't' && c != 'n' && c != '\\') {
                return false;
            }
            c = c == 't' ? '\t' : c == 'n' ? '\n' : c;
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

/* Reads a line without its end, which it changes. */
static bool parse_line(char *line, bp__store_record *record) {
    char *time = strchr(line, '\t');
    char *value = time ? strchr(time + 1, '\t') : NULL;
    char *sum = value ? strchr(value + 1, '\t') : NULL;
    char *end;
    if (!sum || time == line || strlen(sum + 1) != 16) {
        return false;
    }
    if (strtoull(sum + 1, &end, 16) != bp__hash(line, (size_t)(sum - line)) || *end) {
        return false;
    }
    *time++ = *value++ = *sum = '\0';
    record->key = line;
    record->value = value;
    return bp__parse_int(time, &record->written_s) && unescape(line) && unescape(value);
}

/* Returns the slot of a key: the slot of its record, or a free one. */
static int *slot_of(const bp__store *store, const char *key) {
    size_t mask = store->slot_count - 1, at = (size_t)bp__hash(key, strlen(key)) & mask;
    while (store->slots[at] != 0 && strcmp(store->records[store->slots[at] - 1].key, key) != 0) {
        at = (at + 1) & mask;
    }
    return &store->slots[at];
}

/* Allocates the arrays for `lines` records. */
static bp_status allocate(bp__store *store, int lines) {
    store->slot_count = 16;
    while (store->slot_count < 2 * (size_t)lines) {
        store->slot_count *= 2;
    }
    store->records = bp__alloc_zero((size_t)lines + 1, sizeof *store->records);
    store->slots = bp__alloc_zero(store->slot_count, sizeof *store->slots);
    return store->records && store->slots ? BP_OK : bp__fail_memory(store->slot_count * sizeof(int), "stored records");
}

/* Adds a record. One of the same key before it is forgotten: visits skip it, as its slot has another number. */
static void add_record(bp__store *store, const bp__store_record *record) {
    store->records[store->count++] = *record;
    *slot_of(store, record->key) = store->count;
}

static bp_status parse(bp__store *store, const char *path, int *damaged) {
    size_t head = sizeof BP__STORE_FIRST_LINE - 1;
    int lines = 0;
    bool own = strncmp(store->text, BP__STORE_FIRST_LINE, head) == 0;
    if (!own && *store->text && !bp__text_starts(store->text, BP__STORE_ANY_FORMAT)) {
        return bp__fail(BP_E_FORMAT, "%s does not begin with '%.*s'", path, (int)head - 1, BP__STORE_FIRST_LINE);
    }
    char *line = store->text + (own ? head : strlen(store->text)); /* records of another format are not read */
    for (const char *at = line; (at = strchr(at, '\n')); at++) {
        lines++;
    }
    BP__TRY(allocate(store, lines));
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        bp__store_record record;
        *end = '\0';
        if (parse_line(line, &record)) {
            add_record(store, &record);
        } else {
            ++*damaged;
        }
    }
    *damaged += *line != '\0';
    return BP_OK;
}

bp_status bp__store_parse(bp__store **store, char *text, const char *path, int *damaged) {
    bp__store *fresh = bp__alloc_zero(1, sizeof *fresh);
    *store = NULL;
    *damaged = 0;
    if (!fresh) {
        bp__free(text);
        return bp__fail_memory(sizeof *fresh, "stored records");
    }
    fresh->text = text;
    bp_status status = parse(fresh, path, damaged);
    if (status != BP_OK) {
        bp__store_close(fresh);
        return status;
    }
    *store = fresh;
    return BP_OK;
}

static bp_status empty(bp__store **store, const char *path) {
    char *text = bp__strdup("");
    int damaged;
    return text ? bp__store_parse(store, text, path, &damaged) : bp__fail_memory(1, "stored records");
}

bp_status bp__store_read(bp__store **store, const char *path, char *why, size_t size) {
    char *text;
    size_t length;
    int damaged;
    *why = '\0';
    bp_status status = bp__file_trusted(path);
    if (status == BP_OK) {
        status = bp__file_read(path, BP__STORE_MOST, &text, &length);
    }
    if (status == BP_OK) {
        status = bp__store_parse(store, text, path, &damaged);
    }
    if (status == BP_OK && damaged) {
        snprintf(why, size, "%s: %d damaged line%s ignored", path, damaged, damaged > 1 ? "s are" : " is");
    }
    if (status == BP_OK || status == BP_E_NO_MEMORY) {
        return status;
    }
    if (status != BP_E_NOT_FOUND) {
        snprintf(why, size, "%s is not used: %s", path, bp_last_error());
    }
    BP__TRY(empty(store, path));
    return status == BP_E_UNTRUSTED ? status : BP_OK;
}

bool bp__store_path(const char *name, char path[PATH_MAX], size_t *given) {
    *given = 0;
    return *name == '/' ? bp__copy_text(path, PATH_MAX, name) : bp__cache_path(name, path, given);
}

bp_status bp__store_open(bp__store **store, const char *name) {
    BP__PATH_BUFFER(path);
    char why[1024];
    size_t given;
    if (!path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    if (!bp__store_path(name, path, &given)) {
        return empty(store, name);
    }
    bp_status status = bp__store_read(store, path, why, sizeof why);
    if (*why) {
        bp__warn("%s", why);
    }
    return status == BP_E_UNTRUSTED ? BP_OK : status; /* the snapshot is empty */
}

void bp__store_close(bp__store *store) {
    if (store) {
        bp__free(store->text);
        bp__free(store->records);
        bp__free(store->slots);
        bp__free(store);
    }
}

const char *bp__store_find(const bp__store *store, const char *key, int64_t *written_s) {
    int number = *slot_of(store, key);
    if (number == 0) {
        return NULL;
    }
    if (written_s) {
        *written_s = store->records[number - 1].written_s;
    }
    return store->records[number - 1].value;
}

int bp__store_count(const bp__store *store) {
    return store->count;
}

void bp__store_visit(const bp__store *store, bool (*visit)(void *user, const bp__store_record *record), void *user) {
    for (int i = 0; i < store->count; i++) {
        if (*slot_of(store, store->records[i].key) == i + 1 && !visit(user, &store->records[i])) {
            return;
        }
    }
}
