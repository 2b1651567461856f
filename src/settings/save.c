/* save.c - changes one line of a settings file and keeps the others, with their comments, unchanged. */
#include "settings/private.h"

#include <string.h>

/* Adds quotes if the grammar would read the bare text differently. */
static void add_value(bp__text *out, const char *value) {
    size_t length = strlen(value);
    bool edges = length > 0 && (value[0] == ' ' || value[length - 1] == ' ');
    if (length > 0 && !edges && !strpbrk(value, "\"#,")) {
        bp__text_add(out, value);
        return;
    }
    bp__text_add(out, "\"");
    for (const char *each = value; *each; each++) {
        bp__text_add_n(out, "\\", *each == '"' || *each == '\\');
        bp__text_add_n(out, each, 1);
    }
    bp__text_add(out, "\"");
}

/* Adds the entry with another value: in place if the old value was readable, else as a new line that replaces the old
 * one. */
static void add_changed(bp__text *out, const bp__entry *entry, const char *name, const char *value) {
    if (entry->fault) {
        bp__text_addf(out, "%s = ", name);
        add_value(out, value);
        return;
    }
    bp__text_add_n(out, entry->name, (size_t)(entry->written - entry->name));
    add_value(out, value);
    bp__text_add_n(out, entry->written_end, (size_t)(entry->end - entry->written_end));
}

static const char *after_line(const char *at, const char *end) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : end;
}

static const char *line_start(const char *at, const char *begin) {
    while (at > begin && at[-1] != '\n') {
        at--;
    }
    return at;
}

/* Copies the file to `out`. The first line of this name gets the value; further ones are removed. */
static void rewrite(bp__text *out, const char *bytes, size_t size, const char *name, const char *value) {
    bp__reader reader;
    bp__entry entry;
    const char *copied = bytes, *end = bytes + size;
    bool written = value == NULL;
    bp__reader_start(&reader, bytes, size, false);
    const char *first = bytes + reader.at;
    while (bp__reader_next(&reader, &entry)) {
        if (entry.name_length != strlen(name) || memcmp(entry.name, name, entry.name_length) != 0) {
            continue;
        }
        const char *start = written ? line_start(entry.name, first) : entry.name;
        bp__text_add_n(out, copied, (size_t)(start - copied));
        if (written) {
            copied = after_line(entry.end, end);
            continue;
        }
        add_changed(out, &entry, name, value);
        copied = entry.end;
        written = true;
    }
    bp__text_add_n(out, copied, (size_t)(end - copied));
    if (!written) {
        bool open_line = out->length > 0 && out->bytes && out->bytes[out->length - 1] != '\n';
        bp__text_addf(out, "%s%s = ", open_line ? "\n" : "", name);
        add_value(out, value);
        bp__text_add(out, "\n");
    }
}

static bp_status save_to(const char *path, size_t given, const char *name, const char *value) {
    char *bytes = NULL;
    size_t size = 0;
    bp_status status = bp__file_trusted(path);
    if (status == BP_OK) {
        status = bp__file_read(path, BP__LARGEST_FILE, &bytes, &size);
    }
    if (status == BP_E_NOT_FOUND && !value) {
        return BP_OK; /* no line to remove */
    }
    if (status != BP_OK && status != BP_E_NOT_FOUND) {
        return status;
    }
    bp__text out = {0};
    rewrite(&out, bytes ? bytes : "", size, name, value);
    bp__free(bytes);
    status = out.failed ? bp__fail_memory(size, "a settings file")
                        : bp__file_replace(path, given, bp__text_get(&out), out.length);
    bp__text_free(&out);
    return status;
}

/* Checks name and value. Reads the settings before the file changes, so that this process keeps those that it started
 * with. */
static bp_status check(const char *name, const char *value) {
    bp__value ignored;
    int id = bp_setting_find(name);
    if (id < 0) {
        return bp_last_status();
    }
    const bp_setting_info *info = &bp__table_at((bp_setting_id)id)->info;
    if (info->flags & BP_SETTING_READ_ONLY) {
        return bp__fail(BP_E_READ_ONLY, "%s: is read-only and cannot be set", name);
    }
    if (value) {
        BP__TRY(bp__value_parse((bp_setting_id)id, value, strlen(value), &ignored));
    }
    return bp__settings_ready();
}

bp_status bp_save_setting(const char *name, const char *value) {
    const char *path;
    size_t given;
    BP__TRY(check(name, value));
    BP__TRY(bp__user_file(&path, &given));
    return save_to(path, given, name, value);
}

bp_status bp_save_setting_to(const char *path, const char *name, const char *value) {
    if (!path) {
        return bp__fail(BP_E_ARGUMENT, "path: NULL given; it takes the path of a file");
    }
    BP__TRY(check(name, value));
    return save_to(path, value ? bp__file_make_shared_folder(path) : 0, name, value);
}
