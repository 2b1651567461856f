/* probe_cache.c - reads and writes the file of probe results.
 *
 * The file is lines of text. After a first line with the format's number, each entry is
 *     file DEVICE INODE SIZE MODIFIED CHANGED CONTEXT LOADER HASH PATH
 * and one line "\tname value" for each fact that is not empty; "\\" and "\n" mean a backslash and a line end. HASH is
 * the hash of the fact lines: a damaged entry is ignored.
 */
#include "registry/probe_cache.h"
#include "base/path_buffer.h"

#include "registry/probe_cache_key.h"
#include "settings/internal.h"
#include "store/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4 << 20 };
static const char first_line[] = "backplane-libraries 13\n", any_format[] = "backplane-libraries ";

struct bp__probe_cache_entry {
    const char *path;
    bp__file_key key;
    uint64_t context;
    int64_t loader;
    uint64_t hash;
    const char *facts; /* the lines of facts */
    size_t length;
};

/* Reads the next word of a line as a number. Returns false if it is none. */
static bool take_number(char **line, int base, uint64_t *value) {
    char *end;
    if (**line == '-' || **line == ' ') {
        return false;
    }
    *value = strtoull(*line, &end, base);
    if (end == *line || *end != ' ') {
        return false;
    }
    *line = end + 1;
    return true;
}

static bool take_time(char **line, int64_t *value) {
    uint64_t number;
    if (!take_number(line, 10, &number) || number > INT64_MAX) {
        return false;
    }
    *value = (int64_t)number;
    return true;
}

static bool parse_entry(char *line, struct bp__probe_cache_entry *entry) {
    return take_number(&line, 10, &entry->key.device) && take_number(&line, 10, &entry->key.inode) &&
           take_time(&line, &entry->key.size) && take_time(&line, &entry->key.modified_ns) &&
           take_time(&line, &entry->key.changed_ns) && take_number(&line, 16, &entry->context) &&
           take_time(&line, &entry->loader) && take_number(&line, 16, &entry->hash) && (entry->path = line)[0] == '/';
}

/* Skips the lines of facts after an entry's first line, which ends at `text`. */
static char *skip_facts(char *text) {
    while (*text == '\t') {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text;
}

static int count_entries(const char *text) {
    int count = 0;
    while ((text = strstr(text, "\nfile "))) {
        count++;
        text++;
    }
    return count;
}

bp_status bp__probe_cache_parse(bp__probe_cache *cache, char *text) {
    size_t head = sizeof first_line - 1;
    if (strncmp(text, first_line, head) != 0 && bp__text_starts(text, any_format)) {
        return BP_OK; /* of another version, which has other facts */
    }
    if (strncmp(text, first_line, head) != 0) {
        return bp__fail(BP_E_FORMAT, "the probe cache does not begin with '%.*s'", (int)head - 1, first_line);
    }
    int capacity = count_entries(text + head - 1);
    if (capacity == 0) {
        return BP_OK;
    }
    cache->entries = bp__alloc_zero((size_t)capacity, sizeof *cache->entries);
    if (!cache->entries) {
        return bp__fail_memory((size_t)capacity * sizeof *cache->entries, "the probe cache");
    }
    for (char *line = text + head; *line && cache->count < capacity;) {
        char *end = line + strcspn(line, "\n");
        char *next = skip_facts(*end ? end + 1 : end);
        struct bp__probe_cache_entry *entry = &cache->entries[cache->count];
        if (*end && strncmp(line, "file ", 5) == 0) {
            *end = 0;
            entry->facts = end + 1;
            entry->length = (size_t)(next - end - 1);
            bool whole = entry->length == 0 || entry->facts[entry->length - 1] == '\n';
            if (whole && parse_entry(line + 5, entry) && bp__hash(entry->facts, entry->length) == entry->hash) {
                cache->count++;
            }
        }
        line = next > line ? next : line + 1;
    }
    return BP_OK;
}

/* Reads "\tname value" without escapes into buffers. Returns the position after it. */
static const char *read_fact(const char *line, char name[32], char *value, size_t size) {
    size_t used = 0;
    const char *space = line + 1 + strcspn(line + 1, " \n");
    size_t length = (size_t)(space - line - 1);
    snprintf(name, 32, "%.*s", (int)(length < 31 ? length : 31), line + 1);
    const char *at = *space == ' ' ? space + 1 : space;
    for (; *at && *at != '\n'; at++) {
        char c = *at;
        if (c == '\\' && (at[1] == 'n' || at[1] == '\\')) {
            c = *++at == 'n' ? '\n' : '\\';
        }
        if (used < size - 1) {
            value[used++] = c;
        }
    }
    value[used] = 0;
    return *at ? at + 1 : at;
}

static const struct bp__probe_cache_entry *find_entry(const bp__probe_cache *cache, const bp__file *file) {
    for (int i = 0; i < cache->count; i++) {
        const struct bp__probe_cache_entry *entry = &cache->entries[i];
        if (entry->context == cache->context && bp__file_key_equal(&entry->key, &file->key) &&
            strcmp(entry->path, file->path) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* Reads the facts of an entry. `value` has LONGEST_FACT bytes. Returns false if they cannot be parsed. */
static bool read_facts(const struct bp__probe_cache_entry *entry, bp__facts *facts, char *value) {
    char name[32];
    bp__facts_clear(facts);
    for (const char *line = entry->facts; line < entry->facts + entry->length;) {
        line = read_fact(line, name, value, LONGEST_FACT);
        if (!bp__facts_parse(facts, name, value)) {
            return false;
        }
    }
    return true;
}

bp_status bp__probe_cache_get(const bp__probe_cache *cache, bp__file *file) {
    const struct bp__probe_cache_entry *entry = find_entry(cache, file);
    bp__facts facts;
    if (!entry) {
        return BP_OK;
    }
    char *value = bp__alloc(LONGEST_FACT);
    if (!value) {
        return bp__fail_memory(LONGEST_FACT, "a fact of the probe cache");
    }
    const bool parsed = read_facts(entry, &facts, value);
    bp__free(value);
    if (!parsed) {
        return BP_OK; /* the library is probed again */
    }
    if (facts.outcome == BP__OUTCOME_NO_LOAD && entry->loader != cache->loader) {
        return BP_OK; /* a dependency that was missing then may exist now */
    }
    if (!bp__blas_is_noted(&facts)) {
        return BP_OK; /* it was checked with another BLAS */
    }
    if (!bp__build_id_matches(file->path, facts.family, facts.build_id)) {
        return BP_OK;
    }
    file->facts = facts;
    file->stored = true;
    return BP_OK;
}

static bp_status read_cache(bp__probe_cache *cache) {
    size_t size;
    bp_status status = bp__file_trusted(cache->path);
    if (status == BP_E_NOT_FOUND) {
        return BP_OK;
    }
    if (status == BP_OK) {
        status = bp__file_read(cache->path, MOST_BYTES, &cache->bytes, &size);
    }
    if (status == BP_OK) {
        status = bp__probe_cache_parse(cache, cache->bytes);
    }
    if (status == BP_OK || status == BP_E_NO_MEMORY) {
        return status;
    }
    bp__warn("the probe cache is not used: %s", bp_last_error());
    if (status == BP_E_UNTRUSTED) {
        cache->path = NULL; /* new ones are not written there either */
    }
    return BP_OK;
}

bp_status bp__probe_cache_open(bp__probe_cache *cache) {
    enum { OFF };
    BP__PATH_BUFFER(path);
    memset(cache, 0, sizeof *cache);
    if (!path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    if (bp__setting_int(BP_SET_registry_cache) != OFF && bp__cache_path("libraries.txt", path, &cache->given)) {
        cache->path = bp__intern(path);
    }
    if (!cache->path) {
        return BP_OK;
    }
    cache->context = bp__probe_cache_key(&cache->loader);
    bp_status status = read_cache(cache);
    if (status != BP_OK) {
        bp__probe_cache_close(cache);
    }
    return status;
}

void bp__probe_cache_close(bp__probe_cache *cache) {
    bp__free(cache->entries);
    bp__free(cache->bytes);
    memset(cache, 0, sizeof *cache);
}

static void add_escaped(bp__text *text, const char *value) {
    for (; *value; value++) {
        if (*value == '\n' || *value == '\\') {
            bp__text_add(text, *value == '\n' ? "\\n" : "\\\\");
        } else {
            bp__text_add_n(text, value, 1);
        }
    }
}

static void add_head(bp__text *text, const struct bp__probe_cache_entry *entry) {
    bp__text_addf(text,
                  "file %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRIx64 " %" PRId64 " %" PRIx64
                  " %s\n",
                  entry->key.device, entry->key.inode, entry->key.size, entry->key.modified_ns, entry->key.changed_ns,
                  entry->context, entry->loader, entry->hash, entry->path);
    bp__text_add_n(text, entry->facts, entry->length);
}

static void add_file(bp__text *text, const bp__probe_cache *cache, const bp__file *file) {
    bp__text facts = {0};
#define ADD_TEXT(name)                                                                                                 \
    if (*file->facts.name) {                                                                                           \
        bp__text_add(&facts, "\t" #name " ");                                                                          \
        add_escaped(&facts, file->facts.name);                                                                         \
        bp__text_add(&facts, "\n");                                                                                    \
    }
#define ADD_INT(name)                                                                                                  \
    if (file->facts.name != 0) {                                                                                       \
        bp__text_addf(&facts, "\t" #name " %" PRId64 "\n", file->facts.name);                                          \
    }
#define X(type, name) ADD_##type(name)
    BP__FACT_MAP(X)
#undef X
    struct bp__probe_cache_entry entry = {
        .path = file->path,
        .key = file->key,
        .context = cache->context,
        .loader = cache->loader,
        .hash = bp__hash(bp__text_get(&facts), facts.length),
        .facts = bp__text_get(&facts),
        .length = facts.length,
    };
    add_head(text, &entry);
    text->failed = text->failed || facts.failed;
    bp__text_free(&facts);
}

static bool worth_storing(const bp__file *file) {
    return file->trust == BP_OK && !file->same_as && file->facts.outcome != BP__OUTCOME_NO_PROBE &&
           !file->facts.momentary;
}

/* Ranks what is known of a file: only its ELF data; what matrix products need; everything. */
static int rank_of(const bp__facts *facts) {
    enum { IDENTIFIED, BRIEF, WHOLE };
    return facts->outcome == BP__OUTCOME_NONE ? IDENTIFIED : facts->left ? BRIEF : WHOLE;
}

/* Adds a file. Another process may have stored more about it since this one has read the cache: that stays. */
static bp_status add_best(bp__text *text, const bp__probe_cache *latest, const bp__file *file) {
    bp__file stored = *file;
    stored.stored = false;
    BP__TRY(bp__probe_cache_get(latest, &stored));
    const bool better = stored.stored && rank_of(&stored.facts) > rank_of(&file->facts);
    add_file(text, latest, better ? &stored : file);
    return BP_OK;
}

/* A result of an unchanged file stays until there is another one that is worth storing. */
static bool replaced_by(const bp__search *search, const struct bp__probe_cache_entry *entry, uint64_t context) {
    for (int i = 0; i < search->file_count; i++) {
        if (strcmp(search->files[i].path, entry->path) == 0) {
            return !bp__file_key_equal(&entry->key, &search->files[i].key) ||
                   (entry->context == context && worth_storing(&search->files[i]));
        }
    }
    return false;
}

/* Writes the whole probe cache while its lock is held. Entries that another process has added meanwhile are read again
 * and kept. */
static bp_status write_cache(const bp__probe_cache *cache, const bp__search *search) {
    bp__probe_cache latest = {
        .path = cache->path, .given = cache->given, .context = cache->context, .loader = cache->loader};
    bp__text text = {0};
    bp_status status = read_cache(&latest);
    if (status == BP_OK && latest.path) {
        bp__text_add(&text, first_line);
        for (int i = 0; i < search->file_count && status == BP_OK; i++) {
            if (worth_storing(&search->files[i])) {
                status = add_best(&text, &latest, &search->files[i]);
            }
        }
        for (int i = 0; i < latest.count && status == BP_OK; i++) {
            const struct bp__probe_cache_entry *entry = &latest.entries[i];
            if (!replaced_by(search, entry, cache->context) && text.length + entry->length + 8192 < MOST_BYTES) {
                add_head(&text, entry);
            }
        }
        status = status != BP_OK ? status
                 : text.failed   ? bp__fail_memory(text.length, "the probe cache")
                 : text.length >= MOST_BYTES
                     ? BP_OK
                     : bp__file_replace(cache->path, cache->given, bp__text_get(&text), text.length);
    }
    bp__text_free(&text);
    bp__probe_cache_close(&latest);
    return status;
}

bp_status bp__probe_cache_save(const bp__probe_cache *cache, const bp__search *search) {
    enum { OFF, READ_ONLY };
    int lock;
    bool changed = false;
    for (int i = 0; i < search->file_count; i++) {
        changed = changed || (worth_storing(&search->files[i]) && !search->files[i].stored);
    }
    if (!changed || !cache->path || bp__setting_int(BP_SET_registry_cache) == READ_ONLY) {
        return BP_OK;
    }
    bp_status status = bp__file_lock(cache->path, cache->given, 0, &lock);
    if (status == BP_E_BUSY) {
        return BP_OK; /* another process is writing the same results */
    }
    if (status == BP_OK) {
        status = write_cache(cache, search);
        bp__file_unlock(lock);
    }
    if (status != BP_OK && status != BP_E_NO_MEMORY) {
        bp__warn("the probe cache could not be written: %s", bp_last_error());
        return BP_OK;
    }
    return status;
}
