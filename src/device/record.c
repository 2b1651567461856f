/* record.c - writes the description of a device as JSON, and loads one.
 *
 * The description has the members of bp_device_info that a runtime tells, by name, and "can" as a list of words.
 * Members that a version does not know are skipped, so that descriptions can be exchanged between versions.
 */
#include "device/json_read.h"
#include "base/uncancelled.h"
#include "device/private.h"

#include "registry/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FORMAT "backplane-device 1"
static const char what[] = "the description of a device";

/* ---- Writing ---- */

static void write_unsigned(bp__json *json, const char *name, uint64_t value) {
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, value);
    bp__json_raw(json, name, number);
}

static void write_can(bp__json *json, uint32_t can) {
    bp__json_open(json, "can", '[');
    for (int i = 0; i < BP__DEVICE_CAN_COUNT; i++) {
        if (can >> i & 1) {
            bp__json_text(json, NULL, bp__device_can_names[i]);
        }
    }
    bp__json_close(json, ']');
}

#define WRITE_TEXT(name) bp__json_text(&json, #name, info->name)
#define WRITE_U32(name) write_unsigned(&json, #name, info->name)
#define WRITE_U64(name) write_unsigned(&json, #name, info->name)

static void describe(bp__text *text, const bp_device_info *info) {
    bp__json json;
    bp__json_begin(&json, text);
    json.pretty = true;
    bp__json_open(&json, NULL, '{');
    bp__json_text(&json, "format", FORMAT);
    bp__json_text(&json, "backplane", BP_VERSION_STRING);
    bp__json_text(&json, "id", info->id);
    bp__json_text(&json, "runtime", info->runtime);
    bp__json_int(&json, "type", info->type);
#define X(kind, name)                                                                                                  \
    if (strcmp(#name, "can") == 0) {                                                                                   \
        write_can(&json, info->can);                                                                                   \
    } else {                                                                                                           \
        WRITE_##kind(name);                                                                                            \
    }
    BP__DEVICE_FACT_MAP(X)
#undef X
    bp__json_close(&json, '}');
    bp__text_add(text, "\n");
}

bp_status bp_device_record(int32_t place, char *buffer, size_t size, size_t *length) {
    BP__UNCANCELLED;
    if (!buffer && size > 0) {
        return bp__fail(BP_E_ARGUMENT, "bp_device_record: argument 'buffer' is NULL, but 'size' is %zu", size);
    }
    const bp__device *device = bp__device_at_place(place);
    if (!device) {
        return bp__fail(BP_E_NOT_FOUND, "there is no device with place %d", (int)place);
    }
    bp__text text = {0};
    describe(&text, &device->info);
    if (text.failed) {
        bp__text_free(&text);
        return bp__fail_memory(4096, what);
    }
    if (length) {
        *length = text.length;
    }
    if (size > 0) {
        const size_t kept = text.length < size - 1 ? text.length : size - 1;
        memcpy(buffer, bp__text_get(&text), kept);
        buffer[kept] = '\0';
    }
    bp__text_free(&text);
    return BP_OK;
}

/* ---- Reading ---- */

typedef struct loading {
    bp__json_reader reader;
    bp_device_info info;
    bool has_format, out_of_memory;
    bp__text text; /* the last string */
} loading;

static bool wrong(loading *l, const char *problem) {
    l->reader.problem = l->reader.problem ? l->reader.problem : problem;
    return false;
}

static bool read_text(loading *l, const char **field) {
    if (!bp__json_string(&l->reader, &l->text)) {
        return false;
    }
    *field = l->text.failed ? NULL : bp__intern(bp__text_get(&l->text));
    if (!*field) {
        *field = "";
        l->out_of_memory = true;
    }
    return !l->out_of_memory;
}

static bool read_u64(loading *l, uint64_t *field) {
    return bp__json_unsigned(&l->reader, field);
}

static bool read_u32(loading *l, uint32_t *field) {
    uint64_t value;
    if (!bp__json_unsigned(&l->reader, &value)) {
        return false;
    }
    *field = (uint32_t)value;
    return value <= UINT32_MAX || wrong(l, "the number is too large");
}

static bool read_can(loading *l) {
    if (!bp__json_expect(&l->reader, '[', "expected a list of words")) {
        return false;
    }
    bool more = bp__json_peek(&l->reader) != ']';
    while (more) {
        const char *word;
        if (!read_text(l, &word)) {
            return false;
        }
        for (int i = 0; i < BP__DEVICE_CAN_COUNT; i++) {
            l->info.can |= strcmp(word, bp__device_can_names[i]) == 0 ? 1u << i : 0;
        }
        more = bp__json_peek(&l->reader) == ',';
        l->reader.at += more;
    }
    return bp__json_expect(&l->reader, ']', "expected ',' or ']'");
}

static bool read_format(loading *l) {
    const char *format;
    if (!read_text(l, &format)) {
        return false;
    }
    l->has_format = strcmp(format, FORMAT) == 0;
    return l->has_format || wrong(l, "\"format\" is not \"" FORMAT "\"");
}

static bool read_type(loading *l) {
    uint64_t type;
    if (!bp__json_unsigned(&l->reader, &type)) {
        return false;
    }
    l->info.type = (int32_t)(type < BP__DEVICE_TYPES ? type : 0);
    return (type > kDLCPU && type < BP__DEVICE_TYPES) || wrong(l, "\"type\" is no type of device of DLPack");
}

static bool read_member(loading *l, const char *name) {
    if (strcmp(name, "format") == 0) {
        return read_format(l);
    }
    if (strcmp(name, "type") == 0) {
        return read_type(l);
    }
    if (strcmp(name, "can") == 0) {
        return read_can(l);
    }
    if (strcmp(name, "runtime") == 0) {
        return read_text(l, &l->info.runtime);
    }
#define READ_TEXT(field) read_text(l, &l->info.field)
#define READ_U32(field) read_u32(l, &l->info.field)
#define READ_U64(field) read_u64(l, &l->info.field)
#define X(kind, field)                                                                                                 \
    if (strcmp(name, #field) == 0) {                                                                                   \
        return READ_##kind(field);                                                                                     \
    }
    BP__DEVICE_FACT_MAP(X)
#undef X
    return bp__json_skip(&l->reader);
}

static bool read_object(loading *l) {
    if (!bp__json_expect(&l->reader, '{', "expected '{'")) {
        return false;
    }
    bool more = bp__json_peek(&l->reader) != '}';
    while (more) {
        char name[64];
        if (!bp__json_string(&l->reader, &l->text)) {
            return false;
        }
        bp__copy_text(name, sizeof name, bp__text_get(&l->text));
        if (!bp__json_expect(&l->reader, ':', "expected ':'") || !read_member(l, name)) {
            return false;
        }
        more = bp__json_peek(&l->reader) == ',';
        l->reader.at += more;
    }
    if (!bp__json_expect(&l->reader, '}', "expected ',' or '}'")) {
        return false;
    }
    if (bp__json_peek(&l->reader) != '\0') {
        return wrong(l, "there is more text after the description");
    }
    return l->has_format ? l->info.type > 0 && *l->info.runtime ? true : wrong(l, "\"type\" or \"runtime\" is missing")
                         : wrong(l, "\"format\" is missing");
}

bp_status bp_device_load(const char *json, int32_t *place) {
    BP__UNCANCELLED;
    if (!json || !place) {
        return bp__fail(BP_E_ARGUMENT, "bp_device_load: argument '%s' is NULL", json ? "place" : "json");
    }
    loading l = {.reader = {.start = json, .at = json}};
    bp__facts_empty(&l.info);
    const bool right = read_object(&l);
    const bool out_of_memory = l.out_of_memory || l.text.failed;
    bp__text_free(&l.text);
    if (out_of_memory) {
        return bp__fail_memory(strlen(json), what);
    }
    if (!right) {
        return bp__json_fail(&l.reader, what);
    }
    l.info.reason = "it was loaded from a description";
    return bp__list_add_recorded(&l.info, place);
}
