/* facts.c - clears, sets and parses the facts of one file. */
#include "registry/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void bp__facts_clear(bp__facts *facts) {
    memset(facts, 0, sizeof *facts);
#define CLEAR_TEXT(name) facts->name = "";
#define CLEAR_INT(name)
#define X(type, name) CLEAR_##type(name)
    BP__FACT_MAP(X)
#undef X
}

bool bp__facts_set(const char **slot, const char *text) {
    size_t length = strnlen(text, LONGEST_FACT - 1);
    char *clean = bp__alloc(length + 1);
    if (!clean) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        clean[i] = (char)((c < ' ' && c != '\n') || c == 127 ? '?' : c);
    }
    clean[length] = 0;
    const char *kept = bp__intern(clean);
    bp__free(clean);
    *slot = kept ? kept : *slot;
    return kept != NULL;
}

/* Adds the entries of `list` that have another topic than `entry`. */
static void add_others(bp__text *text, const char *list, const char *entry) {
    size_t topic = strcspn(entry, ":");
    topic += entry[topic] == ':';
    while (*list) {
        const char *end = strstr(list, "; ");
        size_t length = end ? (size_t)(end - list) : strlen(list);
        if (strncmp(list, entry, topic) != 0) {
            bp__text_add(text, text->length ? "; " : "");
            bp__text_add_n(text, list, length);
        }
        list += end ? length + 2 : length;
    }
}

static bool learn_entry(const char **slot, const char *entry) {
    bp__text list = {0};
    add_others(&list, *slot, entry);
    bp__text_addf(&list, "%s%s", list.length ? "; " : "", entry);
    bool done = !list.failed && bp__facts_set(slot, bp__text_get(&list));
    bp__text_free(&list);
    return done;
}

bool bp__facts_learn(const char **slot, const char *topic, const char *how) {
    bp__text entry = {0};
    bp__text_addf(&entry, "%s: %s", topic, how);
    bool done = !entry.failed && learn_entry(slot, bp__text_get(&entry));
    bp__text_free(&entry);
    return done;
}

bool bp__facts_learn_all(const char **slot, const char *list) {
    bool done = true;
    while (*list && done) {
        const char *end = strstr(list, "; ");
        bp__text entry = {0};
        bp__text_add_n(&entry, list, end ? (size_t)(end - list) : strlen(list));
        done = !entry.failed && learn_entry(slot, bp__text_get(&entry));
        bp__text_free(&entry);
        list = end ? end + 2 : list + strlen(list);
    }
    return done;
}

static bool parse_int(int64_t *slot, const char *value) {
    int64_t number;
    if (!bp__parse_int(value, &number) || number < 0 || number > INT32_MAX) {
        return false;
    }
    *slot = number;
    return true;
}

bool bp__facts_parse(bp__facts *facts, const char *name, const char *value) {
#define PARSE_TEXT(field) return bp__facts_set(&facts->field, value);
#define PARSE_INT(field) return parse_int(&facts->field, value);
#define X(type, field)                                                                                                 \
    if (strcmp(name, #field) == 0) {                                                                                   \
        PARSE_##type(field)                                                                                            \
    }
    BP__FACT_MAP(X)
#undef X
    return true;
}

/* The bits of BP_PRIMITIVE_BIT, between the bits of the checks. */
enum { FIRST_PRIMITIVE = 44, AFTER_PRIMITIVES = 56 };
_Static_assert(BP_PRIMITIVE_BIT(0) == UINT64_C(1) << FIRST_PRIMITIVE, "both state the first bit");
#define X(number, name, text)                                                                                          \
    _Static_assert(4 * (number) + 4 <= FIRST_PRIMITIVE || 4 * (number) >= AFTER_PRIMITIVES,                            \
                   text " has bits of its own");
BP_CHECK_MAP(X)
#undef X
#define X(number, name, text)                                                                                          \
    _Static_assert(FIRST_PRIMITIVE + (number) < AFTER_PRIMITIVES, text " has a bit of its own");
BP_PRIMITIVE_MAP(X)
#undef X

bool bp__check_topic(int bit, char *topic, size_t size) {
    static const char *const names[] = {
#define X(number, name, text) [number] = text,
        BP_CHECK_MAP(X)
#undef X
    };
    static const char *const types[] = {"f32", "f64", "c64", "c128"};
    static const char *const primitives[] = {
#define X(number, name, text) [number] = text,
        BP_PRIMITIVE_MAP(X)
#undef X
    };
    const int primitive = bit - FIRST_PRIMITIVE;
    if (primitive >= 0 && bit < AFTER_PRIMITIVES) {
        return primitive < BP__COUNT(primitives) && snprintf(topic, size, "%s", primitives[primitive]) > 0;
    }
    return bit / 4 < BP__COUNT(names) && names[bit / 4] &&
           snprintf(topic, size, "%s %s", names[bit / 4], types[bit % 4]) > 0;
}

const char *bp__topic_line(const char *lines, const char *topic, size_t *length) {
    size_t head = strlen(topic);
    for (const char *line = lines; *line;) {
        *length = strcspn(line, "\n");
        if (strncmp(line, topic, head) == 0 && strncmp(line + head, ": ", 2) == 0) {
            return line;
        }
        line += *length;
        line += *line == '\n';
    }
    return NULL;
}

uint64_t bp__faulty_checks(const char *faults) {
    char topic[64];
    uint64_t mask = 0;
    size_t length;
    for (int bit = 0; bit < 64 && *faults; bit++) {
        if (bp__check_topic(bit, topic, sizeof topic) && bp__topic_line(faults, topic, &length)) {
            mask |= UINT64_C(1) << bit;
        }
    }
    return mask;
}

bp__file_key bp__file_key_of(const struct stat *facts) {
    return (bp__file_key){
        .device = (uint64_t)facts->st_dev,
        .inode = (uint64_t)facts->st_ino,
        .size = (int64_t)facts->st_size,
        .modified_ns = (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec,
        .changed_ns = (int64_t)facts->st_ctim.tv_sec * 1000000000 + facts->st_ctim.tv_nsec,
    };
}

bool bp__file_key_equal(const bp__file_key *a, const bp__file_key *b) {
    return a->device == b->device && a->inode == b->inode && a->size == b->size && a->modified_ns == b->modified_ns &&
           a->changed_ns == b->changed_ns;
}

/* Writes the key of a path as text; "" if there is no file. */
static void print_key(const char *path, char text[160]) {
    struct stat facts;
    text[0] = 0;
    if (*path && stat(path, &facts) == 0) {
        bp__file_key key = bp__file_key_of(&facts);
        snprintf(text, 160, "%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64, key.device, key.inode, key.size,
                 key.modified_ns, key.changed_ns);
    }
}

bool bp__note_blas(bp__facts *facts) {
    char key[160];
    print_key(facts->blas, key);
    return bp__facts_set(&facts->blas_key, key);
}

bool bp__blas_is_noted(const bp__facts *facts) {
    char key[160];
    print_key(facts->blas, key);
    return strcmp(key, facts->blas_key) == 0;
}
