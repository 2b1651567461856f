/* text.c - growing strings, comparison, number parsing and bounded copies. */
#define _GNU_SOURCE
#include "base/text.h"

#include "base/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocates space for `more` bytes and the final NUL. */
static bool reserve(bp__text *text, size_t more) {
    size_t needed;
    if (text->failed || __builtin_add_overflow(text->length + 1, more, &needed)) {
        text->failed = true;
        return false;
    }
    if (needed <= text->capacity) {
        return true;
    }
    size_t capacity = needed < SIZE_MAX / 2 ? needed + needed / 2 : needed;
    capacity = capacity < 64 ? 64 : capacity;
    char *bytes = bp__realloc(text->bytes, capacity);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

void bp__text_add_n(bp__text *text, const char *piece, size_t length) {
    if (reserve(text, length)) {
        if (length > 0) {
            memcpy(text->bytes + text->length, piece, length);
        }
        text->length += length;
        text->bytes[text->length] = '\0';
    }
}

void bp__text_add(bp__text *text, const char *piece) {
    bp__text_add_n(text, piece, strlen(piece));
}

/* The C library has the locale "C" as a constant, so that nothing is allocated. */
static locale_t plain_locale(void) {
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int bp__format_v(char *buffer, size_t size, const char *format, va_list args) {
    const locale_t plain = plain_locale(), before = plain ? uselocale(plain) : (locale_t)0;
    const int length = vsnprintf(buffer, size, format, args);
    if (plain) {
        uselocale(before);
        freelocale(plain);
    }
    return length;
}

int bp__format(char *buffer, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = bp__format_v(buffer, size, format, args);
    va_end(args);
    return length;
}

double bp__read_real(const char *text, char **end) {
    const locale_t plain = plain_locale();
    const double value = plain ? strtod_l(text, end, plain) : strtod(text, end);
    if (plain) {
        freelocale(plain);
    }
    return value;
}

void bp__text_addf(bp__text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = bp__format_v(NULL, 0, format, args);
    if (length < 0) {
        text->failed = true;
    } else if (reserve(text, (size_t)length)) {
        bp__format_v(text->bytes + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

const char *bp__text_get(const bp__text *text) {
    return text->bytes ? text->bytes : "";
}

void bp__text_free(bp__text *text) {
    bp__free(text->bytes);
    *text = (bp__text){0};
}

bool bp__text_equal(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

bool bp__text_starts(const char *text, const char *head) {
    return strncmp(text, head, strlen(head)) == 0;
}

bool bp__text_has_word(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; *at;) {
        const size_t next = strcspn(at, " ");
        if (next == length && memcmp(at, word, length) == 0) {
            return true;
        }
        at += next + (at[next] == ' ');
    }
    return false;
}

bool bp__parse_int(const char *text, int64_t *value) {
    bool negative = *text == '-';
    const char *at = text + (*text == '-' || *text == '+');
    int64_t result = 0;
    if (*at == '\0') {
        return false;
    }
    for (; *at != '\0'; at++) {
        int digit = *at - '0';
        /* Counts downwards, because the least integer has no positive counterpart. */
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(result, 10, &result) ||
            __builtin_sub_overflow(result, digit, &result)) {
            return false;
        }
    }
    if (!negative && __builtin_sub_overflow((int64_t)0, result, &result)) {
        return false;
    }
    *value = result;
    return true;
}

bool bp__copy_text(char *buffer, size_t size, const char *text) {
    size_t length = strlen(text);
    if (size == 0) {
        return false;
    }
    if (length < size) {
        memcpy(buffer, text, length + 1);
        return true;
    }
    length = size - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) {
        length--; /* do not cut a UTF-8 character in half */
    }
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return false;
}

const char *bp__duration(double ns, char *buffer, size_t size) {
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
    if (ns < 999.5) {
        bp__format(buffer, size, "%.0f ns", ns);
        return buffer;
    }
    int unit = ns < 999.95e3 ? 0 : ns < 999.95e6 ? 1 : 2; /* what would round to 1000 is 1 of the next unit */
    double value = ns / units[unit].ns;
    int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
    bp__format(buffer, size, "%.*f %s", decimals, value, units[unit].name);
    return buffer;
}
