/* json.c - writes JSON, one value at a time. It handles commas and escapes; the caller must pair the brackets. */
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bp__json_begin(bp__json *json, bp__text *out) {
    *json = (bp__json){.out = out};
}

/* Returns the length of the UTF-8 character at `at`, or 0 if the bytes are none (this includes overlong forms,
 * surrogates and values over U+10FFFF). Stops at the final NUL, which is no continuation byte. */
static int character_length(const unsigned char *at) {
    if (at[0] < 0x80) {
        return 1;
    }
    int length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    if (at[0] < 0xC2 || at[0] > 0xF4) {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool out_of_range = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
                        (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F);
    return out_of_range ? 0 : length;
}

static void add_quoted(bp__text *out, const char *value) {
    const unsigned char *at = (const unsigned char *)value;
    bp__text_add(out, "\"");
    while (*at) {
        int length = character_length(at);
        if (length == 0) {
            bp__text_add(out, "\xEF\xBF\xBD");
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            bp__text_addf(out, "\\%c", *at);
        } else if (*at == '\n') {
            bp__text_add(out, "\\n");
        } else if (*at == '\t') {
            bp__text_add(out, "\\t");
        } else if (*at < 0x20 || *at == 0x7F) {
            bp__text_addf(out, "\\u%04x", *at);
        } else {
            bp__text_add_n(out, (const char *)at, (size_t)length);
        }
        at += length;
    }
    bp__text_add(out, "\"");
}

static void new_line(bp__json *json) {
    if (json->pretty) {
        bp__text_addf(json->out, "\n%*s", 2 * json->depth, "");
    }
}

/* Writes what precedes a value: a comma if needed, and the key. */
static void lead_in(bp__json *json, const char *key) {
    if (json->depth < BP__JSON_DEPTH) {
        if (json->need_comma[json->depth]) {
            bp__text_add(json->out, ",");
        }
        json->need_comma[json->depth] = 1;
    }
    if (json->depth > 0) {
        new_line(json);
    }
    if (key) {
        add_quoted(json->out, key);
        bp__text_add(json->out, json->pretty ? ": " : ":");
    }
}

void bp__json_open(bp__json *json, const char *key, char bracket) {
    lead_in(json, key);
    bp__text_add_n(json->out, &bracket, 1);
    json->depth++;
    if (json->depth < BP__JSON_DEPTH) {
        json->need_comma[json->depth] = 0;
    } else {
        json->out->failed = true; /* nested deeper than anything that this library writes */
    }
}

void bp__json_close(bp__json *json, char bracket) {
    bool filled = json->depth < BP__JSON_DEPTH && json->need_comma[json->depth];
    json->depth -= json->depth > 0;
    if (filled) {
        new_line(json);
    }
    bp__text_add_n(json->out, &bracket, 1);
}

void bp__json_text(bp__json *json, const char *key, const char *value) {
    lead_in(json, key);
    if (value) {
        add_quoted(json->out, value);
    } else {
        bp__text_add(json->out, "null");
    }
}

void bp__json_raw(bp__json *json, const char *key, const char *value) {
    lead_in(json, key);
    bp__text_add(json->out, value);
}

void bp__json_int(bp__json *json, const char *key, int64_t value) {
    lead_in(json, key);
    bp__text_addf(json->out, "%lld", (long long)value);
}

void bp__json_number(bp__json *json, const char *key, double value) {
    char number[64] = "null";
    lead_in(json, key);
    if (isfinite(value)) {
        for (int digits = 15; digits <= 17; digits++) {
            bp__format(number, sizeof number, "%.*g", digits, value);
            if (bp__read_real(number, NULL) == value) {
                break; /* the fewest digits that read back as the same number */
            }
        }
    }
    bp__text_add(json->out, number);
}

void bp__json_bool(bp__json *json, const char *key, bool value) {
    lead_in(json, key);
    bp__text_add(json->out, value ? "true" : "false");
}
