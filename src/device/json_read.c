/* json_read.c - reads JSON text that may be damaged or hostile. Nesting is limited, so that the stack is bounded. */
#include "device/json_read.h"

#include <string.h>

enum { DEEPEST = 64 };

static bool fail(bp__json_reader *reader, const char *problem) {
    if (!reader->problem) {
        reader->problem = problem;
    }
    return false;
}

char bp__json_peek(bp__json_reader *reader) {
    if (reader->problem) {
        return '\0';
    }
    reader->at += strspn(reader->at, " \t\r\n");
    return *reader->at;
}

bool bp__json_expect(bp__json_reader *reader, char mark, const char *problem) {
    if (bp__json_peek(reader) != mark || mark == '\0') {
        return fail(reader, problem);
    }
    reader->at++;
    return true;
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Reads the four digits after "\u". */
static bool read_code(bp__json_reader *reader, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const int digit = hex_digit(reader->at[0]);
        if (digit < 0) {
            return fail(reader, "\\u needs four hexadecimal digits");
        }
        *code = *code << 4 | (uint32_t)digit;
        reader->at++;
    }
    return true;
}

static void add_utf8(bp__text *text, uint32_t code) {
    char bytes[4];
    size_t length;
    if (code < 0x80) {
        bytes[0] = (char)code;
        length = 1;
    } else if (code < 0x800) {
        bytes[0] = (char)(0xC0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3F));
        length = 2;
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xE0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[2] = (char)(0x80 | (code & 0x3F));
        length = 3;
    } else {
        bytes[0] = (char)(0xF0 | code >> 18);
        bytes[1] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[2] = (char)(0x80 | (code >> 6 & 0x3F));
        bytes[3] = (char)(0x80 | (code & 0x3F));
        length = 4;
    }
    bp__text_add_n(text, bytes, length);
}

/* Reads a character after "\u", which may need a second one. */
static bool read_unicode(bp__json_reader *reader, bp__text *text) {
    uint32_t code, low;
    if (!read_code(reader, &code)) {
        return false;
    }
    if (code == 0) {
        return fail(reader, "a string has the character 0");
    }
    if (code >= 0xD800 && code < 0xDC00) {
        if (reader->at[0] != '\\' || reader->at[1] != 'u') {
            return fail(reader, "half of a surrogate pair");
        }
        reader->at += 2;
        if (!read_code(reader, &low)) {
            return false;
        }
        if (low < 0xDC00 || low > 0xDFFF) {
            return fail(reader, "half of a surrogate pair");
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return fail(reader, "half of a surrogate pair");
    }
    add_utf8(text, code);
    return true;
}

static bool read_escape(bp__json_reader *reader, bp__text *text) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = *reader->at;
    const char *found = c ? strchr(names, c) : NULL;
    if (c == 'u') {
        reader->at++;
        return read_unicode(reader, text);
    }
    if (!found) {
        return fail(reader, "unknown escape in a string");
    }
    reader->at++;
    bp__text_add_n(text, &values[found - names], 1);
    return true;
}

bool bp__json_string(bp__json_reader *reader, bp__text *text) {
    text->length = 0;
    bp__text_add(text, "");
    if (!bp__json_expect(reader, '"', "expected a string")) {
        return false;
    }
    while (*reader->at != '"') {
        const size_t plain = strcspn(reader->at, "\"\\");
        for (size_t i = 0; i < plain; i++) {
            if ((unsigned char)reader->at[i] < 0x20) {
                reader->at += i;
                return fail(reader, "a control character in a string");
            }
        }
        bp__text_add_n(text, reader->at, plain);
        reader->at += plain;
        if (*reader->at == '\0') {
            return fail(reader, "the text ends in a string");
        }
        if (*reader->at == '\\') {
            reader->at++;
            if (!read_escape(reader, text)) {
                return false;
            }
        }
    }
    reader->at++;
    return true;
}

bool bp__json_unsigned(bp__json_reader *reader, uint64_t *value) {
    *value = 0;
    bp__json_peek(reader);
    const char *first = reader->at;
    while (*reader->at >= '0' && *reader->at <= '9') {
        if (__builtin_mul_overflow(*value, 10u, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*reader->at - '0'), value)) {
            return fail(reader, "the number is too large");
        }
        reader->at++;
    }
    return reader->at > first && !strchr(".eE", *reader->at ? *reader->at : ' ')
               ? true
               : fail(reader, "expected a whole number that is not negative");
}

static bool skip_word(bp__json_reader *reader) {
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < BP__COUNT(words); i++) {
        if (bp__text_starts(reader->at, words[i])) {
            reader->at += strlen(words[i]);
            return true;
        }
    }
    const size_t length = strspn(reader->at, "0123456789+-.eE");
    reader->at += length;
    return length > 0 ? true : fail(reader, "expected a value");
}

static bool skip_list(bp__json_reader *reader, char end) {
    bp__text key = {0};
    bool right = true;
    reader->at++;
    if (bp__json_peek(reader) == end) {
        reader->at++;
        return true;
    }
    while (right) {
        if (end == '}') {
            right = bp__json_string(reader, &key) && bp__json_expect(reader, ':', "expected ':'");
        }
        right = right && bp__json_skip(reader);
        if (!right || bp__json_peek(reader) != ',') {
            break;
        }
        reader->at++;
    }
    bp__text_free(&key);
    return right && bp__json_expect(reader, end, end == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
}

bool bp__json_skip(bp__json_reader *reader) {
    const char first = bp__json_peek(reader);
    bp__text text = {0};
    bool right;
    if (reader->depth == DEEPEST) {
        return fail(reader, "nested too deeply");
    }
    reader->depth++;
    if (first == '"') {
        right = bp__json_string(reader, &text);
        bp__text_free(&text);
    } else if (first == '{' || first == '[') {
        right = skip_list(reader, first == '{' ? '}' : ']');
    } else {
        right = first ? skip_word(reader) : fail(reader, "the text ends too early");
    }
    reader->depth--;
    return right;
}

bp_status bp__json_fail(const bp__json_reader *reader, const char *what) {
    int line = 1, column = 1;
    for (const char *at = reader->start; at < reader->at; at++) {
        line += *at == '\n';
        column = *at == '\n' ? 1 : column + 1;
    }
    return bp__fail(BP_E_FORMAT, "%s, line %d, column %d: %s", what, line, column,
                    reader->problem ? reader->problem : "not as expected");
}
