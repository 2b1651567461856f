/* accessors.c - the typed pair of functions for each row: bp_get_num_threads(), bp_set_num_threads(4), ... */
#include "settings/parts.h"

#include <stdio.h>

#define READ_BOOL(id) ((int)bp__setting(id))
#define READ_INT(id) bp__setting_int(id)
#define READ_WORD(id) (bp__row(id)->words[bp__setting(id)])
#define READ_TEXT(id) bp__setting_text(id)

static bp_status write_text(bp_setting_id id, const char *value) {
    if (!value) {
        return bp__fail(BP_E_ARGUMENT, "value: NULL given for %s; it takes text", bp__row(id)->info.name);
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
#define WRITE_WORD(id, value) write_text(id, value)
#define WRITE_TEXT(id, value) write_text(id, value)

#define X(id, name, type, fallback, allowed, alias, flags, affects, help)                                              \
    BP__C_##type bp_get_##id(void) {                                                                                   \
        return READ_##type(BP_SET_##id);                                                                               \
    }                                                                                                                  \
    bp_status bp_set_##id(BP__C_##type value) {                                                                        \
        return WRITE_##type(BP_SET_##id, value);                                                                       \
    }
BP_SETTINGS_MAP(X)
#undef X
