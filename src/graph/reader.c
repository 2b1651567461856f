/* reader.c - reads names, numbers and lists from text. */
#include "graph/graph.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

bp_status bp__reader_fail(const bp__reader *reader, const char *format, ...) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    bp__format_v(what, sizeof what, format, arguments);
    va_end(arguments);
    return reader->line > 0 ? bp__fail(BP_E_FORMAT, "line %d: %s", reader->line, what)
                            : bp__fail(BP_E_ARGUMENT, "%s", what);
}

void bp__reader_skip(bp__reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r')) {
        r->at++;
    }
}

bool bp__reader_take(bp__reader *r, const char *mark) {
    const size_t length = strlen(mark);
    bp__reader_skip(r);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, mark, length) != 0) {
        return false;
    }
    r->at += length;
    return true;
}

bool bp__reader_done(bp__reader *r) {
    bp__reader_skip(r);
    return r->at == r->end;
}

static bool is_name_letter(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && ((c >= '0' && c <= '9') || c == '.'));
}

bool bp__reader_name(bp__reader *r, const char **name, size_t *length) {
    bp__reader_skip(r);
    *name = r->at;
    while (r->at < r->end && is_name_letter(*r->at, r->at == *name)) {
        r->at++;
    }
    *length = (size_t)(r->at - *name);
    return *length > 0;
}

bool bp__reader_whole(bp__reader *r, int64_t *number) {
    bp__reader_skip(r);
    const char *at = r->at;
    const bool minus = at < r->end && *at == '-';
    uint64_t value = 0;
    at += minus;
    const char *digits = at;
    for (; at < r->end && *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)) {
            return false;
        }
    }
    if (at == digits || value > (uint64_t)INT64_MAX + minus) {
        return false;
    }
    r->at = at;
    *number = (int64_t)(minus ? 0 - value : value);
    return true;
}

/* The number is copied, because the text need not end with a zero. */
bool bp__reader_real(bp__reader *r, double *number) {
    char text[64], *end;
    size_t length = 0;
    bp__reader_skip(r);
    while (r->at + length < r->end && length + 1 < sizeof text && strchr(",)] \t\r\n", r->at[length]) == NULL) {
        text[length] = r->at[length];
        length++;
    }
    text[length] = 0;
    *number = bp__read_real(text, &end);
    r->at += end == text + length ? length : 0;
    return length > 0 && end == text + length;
}

bp_status bp__reader_list(bp__reader *r, int *count, int64_t **numbers) {
    int64_t found[BP_MAX_NDIM];
    int many = 0;
    *numbers = NULL;
    if (!bp__reader_take(r, "[")) {
        return bp__reader_fail(r, "a list such as [1, 2] is missing");
    }
    while (!bp__reader_take(r, "]")) {
        if ((many > 0 && !bp__reader_take(r, ",")) || many == BP_MAX_NDIM || !bp__reader_whole(r, &found[many])) {
            return bp__reader_fail(r, "a list has whole numbers and commas, and at most %d numbers", BP_MAX_NDIM);
        }
        many++;
    }
    *numbers = bp__alloc((size_t)many * sizeof **numbers);
    if (!*numbers) {
        return bp__fail_memory((size_t)many * sizeof **numbers, "a graph");
    }
    memcpy(*numbers, found, (size_t)many * sizeof **numbers);
    *count = many;
    return BP_OK;
}

/* Texts end at the latest with their line, also after a backslash. */
static bool in_text(const bp__reader *r) {
    return r->at < r->end && *r->at != '\n' && *r->at != 0;
}

bp_status bp__reader_text(bp__reader *r, char **text) {
    *text = NULL;
    if (!bp__reader_take(r, "\"")) {
        return bp__reader_fail(r, "a text in quotes is missing");
    }
    char *made = bp__alloc((size_t)(r->end - r->at) + 1);
    size_t length = 0;
    if (!made) {
        return bp__fail_memory((size_t)(r->end - r->at), "a graph");
    }
    while (in_text(r) && *r->at != '"') {
        r->at += *r->at == '\\';
        if (in_text(r)) {
            made[length++] = *r->at++;
        }
    }
    made[length] = 0;
    if (!bp__reader_take(r, "\"")) {
        bp__free(made);
        return bp__reader_fail(r, "a text has no quote at its end");
    }
    *text = made;
    return BP_OK;
}
