/* json.c - JSON to standard output, so that every command that reads can be read by a program. */
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 16

static struct {
    int depth;
    bool filled[DEEPEST];
    char bracket[DEEPEST];
} state;

static void newline(void) {
    printf("\n%*s", 2 * state.depth, "");
}

/* Bytes of the UTF-8 sequence at `text`, 0 when it is none (overlong forms, surrogates and what lies above U+10FFFF).
 */
static int sequence(const unsigned char *text) {
    static const struct {
        unsigned char mask, head;
        int length;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
    for (int form = 0; form < 4; form++) {
        if ((text[0] & forms[form].mask) != forms[form].head) {
            continue;
        }
        uint32_t point = text[0] & (uint32_t)(unsigned char)~forms[form].mask;
        for (int i = 1; i < forms[form].length; i++) {
            if ((text[i] & 0xc0) != 0x80) {
                return 0;
            }
            point = point << 6 | (text[i] & 0x3fu);
        }
        bool surrogate = point >= 0xd800 && point <= 0xdfff;
        return point >= forms[form].least && point <= 0x10ffff && !surrogate ? forms[form].length : 0;
    }
    return 0;
}

static void string(const char *text) {
    putchar('"');
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int length = sequence(at);
        if (length == 0) {
            fputs("\\ufffd", stdout);
            at++;
            continue;
        }
        if (*at == '"' || *at == '\\') {
            printf("\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            printf("\\u%04x", *at);
        } else {
            fwrite(at, 1, (size_t)length, stdout);
        }
        at += length;
    }
    putchar('"');
}

/* Comma, line and key of the next value. */
static void begin(const char *key) {
    if (state.depth > 0) {
        if (state.filled[state.depth - 1]) {
            putchar(',');
        }
        state.filled[state.depth - 1] = true;
        newline();
    }
    if (key) {
        string(key);
        fputs(": ", stdout);
    }
}

static void end(void) {
    if (state.depth == 0) {
        putchar('\n');
    }
}

void json_open(const char *key, char bracket) {
    begin(key);
    putchar(bracket);
    state.filled[state.depth] = false;
    state.bracket[state.depth] = bracket;
    state.depth++;
}

void json_close(void) {
    state.depth--;
    if (state.filled[state.depth]) {
        newline();
    }
    putchar(state.bracket[state.depth] == '{' ? '}' : ']');
    end();
}

void json_text(const char *key, const char *value) {
    begin(key);
    if (value) {
        string(value);
    } else {
        fputs("null", stdout);
    }
    end();
}

void json_int(const char *key, int64_t value) {
    begin(key);
    printf("%lld", (long long)value);
    end();
}

void json_number(const char *key, double value) {
    begin(key);
    if (!isfinite(value)) {
        fputs("null", stdout);
    } else {
        printf("%.10g", value);
    }
    end();
}

void json_bool(const char *key, bool value) {
    begin(key);
    fputs(value ? "true" : "false", stdout);
    end();
}

void json_raw(const char *key, const char *json) {
    begin(key);
    fputs(json, stdout);
    end();
}

void json_list(const char *key, const char *text, char separator) {
    const char stop[] = {separator, 0};
    json_open(key, '[');
    while (*text) {
        size_t length = strcspn(text, stop);
        if (length > 0) {
            char *piece = cli_format("%.*s", (int)length, text);
            json_text(NULL, piece);
            free(piece);
        }
        text += length + (text[length] != 0);
    }
    json_close();
}
