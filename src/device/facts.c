/* facts.c - writes and reads the facts of devices as lines of text, for the report of the child process and its cache.
 */
#include "device/private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const bp__device_can_names[] = {"f64",          "f16",     "map",        "time", "share-host",
                                            "out-of-order", "compile", "atomics-64", "cpu",  "addresses"};
_Static_assert(sizeof bp__device_can_names / sizeof *bp__device_can_names == BP__DEVICE_CAN_COUNT,
               "a name for each bit of bp_device_info.can");
_Static_assert(BP_DEVICE_HAS_ADDRESSES == 1u << (BP__DEVICE_CAN_COUNT - 1), "the bits are in the order of their names");

#define IF_TEXT(what) what
#define IF_U32(what)
#define IF_U64(what)
#define UNLESS_TEXT(what)
#define UNLESS_U32(what) what
#define UNLESS_U64(what) what

void bp__facts_empty(bp_device_info *info) {
#define X(kind, name) IF_##kind(info->name = "";)
    BP__DEVICE_FACT_MAP(X)
#undef X
    info->id = info->runtime = info->reason = "";
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

static void add_text(bp__text *text, const char *name, const char *value, const char *before) {
    value = value ? value : "";
    if (!bp__text_equal(value, before ? before : "")) {
        bp__text_addf(text, "%s ", name);
        add_escaped(text, value);
        bp__text_add(text, "\n");
    }
}

static void add_number(bp__text *text, const char *name, uint64_t value, uint64_t before) {
    if (value != before) {
        bp__text_addf(text, "%s %" PRIu64 "\n", name, value);
    }
}

void bp__facts_write(bp__text *text, const bp_device_info *info, const bp_device_info *before) {
#define X(kind, name)                                                                                                  \
    IF_##kind(add_text(text, #name, info->name, before ? before->name : "");)                                          \
        UNLESS_##kind(add_number(text, #name, info->name, before ? before->name : 0);)
    BP__DEVICE_FACT_MAP(X)
#undef X
}

/* Returns an interned copy without escapes, NULL if out of memory. */
static const char *unescaped(const char *value) {
    char *copy = bp__strdup(value);
    if (!copy) {
        return NULL;
    }
    char *to = copy;
    for (const char *from = value; *from; from++) {
        if (*from == '\\' && (from[1] == 'n' || from[1] == '\\')) {
            from++;
            *to++ = *from == 'n' ? '\n' : '\\';
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    const char *kept = bp__intern(copy);
    bp__free(copy);
    return kept;
}

static bool read_number(const char *value, uint64_t most, uint64_t *number) {
    char *end;
    if (*value < '0' || *value > '9') {
        return false;
    }
    *number = strtoull(value, &end, 10);
    return *end == '\0' && *number <= most;
}

static bool read_text(const char **field, const char *value) {
    *field = unescaped(value);
    return *field != NULL;
}

static bool read_u32(uint32_t *field, const char *value) {
    uint64_t number;
    bool right = read_number(value, UINT32_MAX, &number);
    *field = right ? (uint32_t)number : 0;
    return right;
}

static bool read_u64(uint64_t *field, const char *value) {
    return read_number(value, UINT64_MAX, field);
}

#define READ_TEXT read_text
#define READ_U32 read_u32
#define READ_U64 read_u64

bool bp__facts_read(bp_device_info *info, const char *name, const char *value) {
#define X(kind, field)                                                                                                 \
    if (strcmp(name, #field) == 0) {                                                                                   \
        return READ_##kind(&info->field, value);                                                                       \
    }
    BP__DEVICE_FACT_MAP(X)
#undef X
    return true;
}
