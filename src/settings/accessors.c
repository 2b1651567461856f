/* accessors.c - defines the typed pair of functions of each setting: bp_get_num_threads(), bp_set_num_threads(4), ...
 */
#include "settings/private.h"

#include <stdio.h>

/* The flags are constants, so most readers compile to one atomic load. */
#define READ(id, flags)                                                                                                \
    ((flags) & (BP_SETTING_INHERITS | BP_SETTING_ALIAS) ? bp__setting_resolved(id) : bp__setting(id))
#define READ_BOOL(id, flags) ((int)READ(id, flags))
#define READ_INT(id, flags) ((int64_t)READ(id, flags))
#define READ_ENUM(id, flags) word_of(id, READ(id, flags))
#define READ_TEXT(id, flags) ((const char *)(uintptr_t)READ(id, flags))

/* Returns the word of a value. If there is no memory for the text of a number, returns the default, so that a reader
 * never gets NULL. */
static const char *word_of(bp_setting_id id, bp__value value) {
    const char *word = bp__value_text(id, value);
    return word ? word : bp__table_at(id)->info.default_text;
}

static bp_status write_text(bp_setting_id id, const char *value) {
    if (!value) {
        return bp__fail(BP_E_ARGUMENT, "value: NULL given for %s; it takes text", bp__table_at(id)->info.name);
    }
    return bp__process_write(id, value);
}

static bp_status write_int(bp_setting_id id, int64_t value) {
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return bp__process_write(id, text);
}

#define WRITE_BOOL(id, value) write_text(id, (value) ? "true" : "false")
#define WRITE_INT(id, value) write_int(id, value)
#define WRITE_ENUM(id, value) write_text(id, value)
#define WRITE_TEXT(id, value) write_text(id, value)

#define X(id, number, name, type, default_text, allowed, alias, flags, affects, help)                                  \
    BP__C_##type bp_get_##id(void) {                                                                                   \
        return READ_##type(BP_SET_##id, flags);                                                                        \
    }                                                                                                                  \
    bp_status bp_set_##id(BP__C_##type value) {                                                                        \
        return WRITE_##type(BP_SET_##id, value);                                                                       \
    }
BP_SETTINGS_MAP(X)
#undef X
