/* npy_header.c - parses the description in a .npy file's header.
 *
 * It is a Python dictionary literal with exactly three keys. The parser accepts only the syntax that NumPy writes,
 * evaluates nothing, and checks every number before use, because the text is untrusted.
 */
#include "npy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bp_status npy_fail(npy_error *error, bp_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return status;
}

bp_status npy_parse_prefix(const unsigned char *bytes, size_t size, size_t *start, size_t *length, npy_error *error) {
    static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    size_t known = size < sizeof magic ? size : sizeof magic;
    if (size > 0 && memcmp(bytes, magic, known) != 0) {
        return npy_fail(error, BP_E_FORMAT, "not a .npy file: it must begin with the bytes \\x93NUMPY");
    }
    if (size < NPY_PREFIX_MIN) {
        return npy_fail(error, BP_E_TRUNCATED, "file ends after %zu bytes, inside the header", size);
    }
    unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0) {
        return npy_fail(error, BP_E_FORMAT, "format version %u.%u is not known; 1.0, 2.0 and 3.0 are", major, minor);
    }
    *length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    *start = NPY_PREFIX_MIN;
    if (major > 1) {
        if (size < NPY_PREFIX_MAX) {
            return npy_fail(error, BP_E_TRUNCATED, "file ends after %zu bytes, inside the header", size);
        }
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        *start = NPY_PREFIX_MAX;
    }
    if (*length > NPY_HEADER_LIMIT) {
        return npy_fail(error, BP_E_FORMAT, "the header has %zu bytes; at most %d are accepted", *length,
                        NPY_HEADER_LIMIT);
    }
    return BP_OK;
}

typedef struct cursor {
    const char *at;
    const char *end;
    npy_error *error;
} cursor;

static void skip_space(cursor *text) {
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' || *text->at == '\r')) {
        text->at++;
    }
}

/* Skips one character if it is next. Returns whether it was. */
static bool take_header(cursor *text, char wanted) {
    skip_space(text);
    if (text->at < text->end && *text->at == wanted) {
        text->at++;
        return true;
    }
    return false;
}

static bool take_word(cursor *text, const char *word) {
    size_t length = strlen(word);
    skip_space(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0) {
        return false;
    }
    text->at += length;
    return true;
}

/* Reads a quoted text without escapes into `buffer`, which is long enough for every valid one. */
static bool take_string(cursor *text, char *buffer, size_t size) {
    skip_space(text);
    if (text->at >= text->end || (*text->at != '\'' && *text->at != '"')) {
        return false;
    }
    char quote = *text->at++;
    for (size_t i = 0; i < size && text->at < text->end; i++) {
        char next = *text->at++;
        if (next == quote) {
            buffer[i] = 0;
            return true;
        }
        if (next < ' ' || next > '~' || next == '\\') {
            return false;
        }
        buffer[i] = next;
    }
    return false;
}

static bp_status take_size(cursor *text, int64_t *value) {
    skip_space(text);
    if (text->at < text->end && *text->at == '-') {
        return npy_fail(text->error, BP_E_FORMAT, "'shape' holds a negative size");
    }
    const char *first = text->at;
    int64_t number = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        if (__builtin_mul_overflow(number, (int64_t)10, &number) ||
            __builtin_add_overflow(number, (int64_t)(*text->at - '0'), &number)) {
            return npy_fail(text->error, BP_E_OVERFLOW, "'shape' holds a size that does not fit 64 bits");
        }
    }
    if (text->at == first || (*first == '0' && text->at - first > 1)) {
        return npy_fail(text->error, BP_E_FORMAT, "'shape' must be a tuple of whole numbers");
    }
    /* Python 2 wrote long integers with the suffix L. */
    if (text->at < text->end && *text->at == 'L') {
        text->at++;
    }
    *value = number;
    return BP_OK;
}

static bp_status take_shape(cursor *text, npy_header *header) {
    if (!take_header(text, '(')) {
        return npy_fail(text->error, BP_E_FORMAT, "'shape' must be a tuple of whole numbers");
    }
    header->ndim = 0;
    bool comma = true;
    while (!take_header(text, ')')) {
        if (!comma) {
            return npy_fail(text->error, BP_E_FORMAT, "'shape' must be a tuple of whole numbers, with commas between");
        }
        if (header->ndim == BP_MAX_NDIM) {
            return npy_fail(text->error, BP_E_FORMAT, "the array has more than %d dimensions", BP_MAX_NDIM);
        }
        bp_status status = take_size(text, &header->shape[header->ndim]);
        if (status != BP_OK) {
            return status;
        }
        header->ndim++;
        comma = take_header(text, ',');
    }
    if (header->ndim == 1 && !comma) {
        return npy_fail(text->error, BP_E_FORMAT, "'shape' must be a tuple; (n) without a comma is a number");
    }
    return BP_OK;
}

/* Maps NumPy's type codes to element types. */
static const struct {
    char kind;
    char size;
    bp_dtype dtype;
} types[] = {
    {'f', '2', BP_F16}, {'f', '4', BP_F32}, {'f', '8', BP_F64},  {'c', '8', BP_C64}, {'i', '1', BP_I8},
    {'i', '2', BP_I16}, {'i', '4', BP_I32}, {'i', '8', BP_I64},  {'u', '1', BP_U8},  {'u', '2', BP_U16},
    {'u', '4', BP_U32}, {'u', '8', BP_U64}, {'b', '1', BP_BOOL},
};

static bp_dtype type_of(const char *code, unsigned flags) {
    if (strcmp(code, "c16") == 0) {
        return BP_C128;
    }
    if (strcmp(code, "V2") == 0) {
        return flags & NPY_BF16 ? BP_BF16 : BP_DTYPE_NONE;
    }
    for (size_t i = 0; strlen(code) == 2 && i < sizeof types / sizeof types[0]; i++) {
        if (code[0] == types[i].kind && code[1] == types[i].size) {
            return types[i].dtype;
        }
    }
    return BP_DTYPE_NONE;
}

/* Reports a type that is not supported. */
static bp_status refuse_type(const char *descr, const char *code, npy_error *error) {
    if (code[0] == 'O') {
        return npy_fail(
            error, BP_E_DTYPE,
            "element type '%s': Python objects are stored as pickles, which are not read because they run code", descr);
    }
    if (strcmp(code, "V2") == 0) {
        return npy_fail(error, BP_E_DTYPE,
                        "element type '%s' is two raw bytes; use --bf16 if it is bfloat16 (ml_dtypes)", descr);
    }
    return npy_fail(error, BP_E_DTYPE, "element type '%s'; it must be f2, f4, f8, c8, c16, i1-i8, u1-u8 or b1", descr);
}

static bp_status take_type(cursor *text, unsigned flags, npy_header *header) {
    char descr[32] = "";
    skip_space(text);
    if (text->at < text->end && *text->at == '[') {
        return npy_fail(text->error, BP_E_DTYPE, "structured arrays (records with fields) are not read");
    }
    if (!take_string(text, descr, sizeof descr)) {
        return npy_fail(text->error, BP_E_FORMAT, "'descr' must be a short text such as '<f8'");
    }
    char order = strchr("<>=|", descr[0]) && descr[0] ? descr[0] : '=';
    const char *code = descr + (descr[0] == order);
    header->dtype = type_of(code, flags);
    if (header->dtype == BP_DTYPE_NONE) {
        return refuse_type(descr, code, text->error);
    }
    size_t size = bp_dtype_size(header->dtype);
    if (order == '|' && size > 1 && code[0] != 'V') {
        return npy_fail(text->error, BP_E_DTYPE, "element type '%s' has no byte order; it must begin with '<' or '>'",
                        descr);
    }
    const uint16_t probe = 1;
    bool little = *(const unsigned char *)&probe == 1;
    header->swapped = size > 1 && ((order == '<' && !little) || (order == '>' && little));
    return BP_OK;
}

static bp_status take_order(cursor *text, npy_header *header) {
    header->fortran = take_word(text, "True");
    if (!header->fortran && !take_word(text, "False")) {
        return npy_fail(text->error, BP_E_FORMAT, "'fortran_order' must be True or False");
    }
    return BP_OK;
}

/* Computes the number of elements and bytes with overflow checks. A size of zero makes the array empty, whatever the
 * others are. */
static bp_status measure_header(npy_header *header, npy_error *error) {
    int64_t count = 1, size;
    bool empty = false;
    for (int i = 0; i < header->ndim; i++) {
        empty |= header->shape[i] == 0;
    }
    for (int i = 0; i < header->ndim && !empty; i++) {
        if (__builtin_mul_overflow(count, header->shape[i], &count)) {
            return npy_fail(error, BP_E_OVERFLOW, "the shape declares more elements than 64 bits can count");
        }
    }
    header->count = empty ? 0 : count;
    if (__builtin_mul_overflow(header->count, (int64_t)bp_dtype_size(header->dtype), &size) ||
        (uint64_t)size > SIZE_MAX / 2) {
        return npy_fail(error, BP_E_OVERFLOW, "the shape declares more bytes than memory can have");
    }
    header->size = (size_t)size;
    return BP_OK;
}

enum { KEY_TYPE, KEY_ORDER, KEY_SHAPE, KEY_COUNT };
static const char *const key_names[KEY_COUNT] = {"descr", "fortran_order", "shape"};

static bp_status take_value(cursor *text, int key, unsigned flags, npy_header *header) {
    switch (key) {
    case KEY_TYPE:
        return take_type(text, flags, header);
    case KEY_ORDER:
        return take_order(text, header);
    default:
        return take_shape(text, header);
    }
}

static int find_key(const char *name) {
    for (int i = 0; i < KEY_COUNT; i++) {
        if (strcmp(name, key_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static bp_status take_entry(cursor *text, unsigned flags, bool seen[KEY_COUNT], npy_header *header) {
    char name[32];
    if (!take_string(text, name, sizeof name)) {
        return npy_fail(text->error, BP_E_FORMAT,
                        "the header must be a dictionary with the keys descr, fortran_order, shape");
    }
    int key = find_key(name);
    if (key < 0) {
        return npy_fail(text->error, BP_E_FORMAT, "the header has an unknown key '%s'", name);
    }
    if (seen[key]) {
        return npy_fail(text->error, BP_E_FORMAT, "the header has the key '%s' twice", name);
    }
    seen[key] = true;
    if (!take_header(text, ':')) {
        return npy_fail(text->error, BP_E_FORMAT, "the header has no colon after '%s'", name);
    }
    return take_value(text, key, flags, header);
}

bp_status npy_parse_header(const char *bytes, size_t length, unsigned flags, npy_header *header, npy_error *error) {
    cursor text = {bytes, bytes + length, error};
    bool seen[KEY_COUNT] = {false};
    memset(header, 0, sizeof *header);
    if (!take_header(&text, '{')) {
        return npy_fail(error, BP_E_FORMAT,
                        "the header must be a dictionary with the keys descr, fortran_order, shape");
    }
    bool comma = true;
    while (!take_header(&text, '}')) {
        bp_status status = comma
                               ? take_entry(&text, flags, seen, header)
                               : npy_fail(error, BP_E_FORMAT, "the header has no comma between its entries, or no end");
        if (status != BP_OK) {
            return status;
        }
        comma = take_header(&text, ',');
    }
    skip_space(&text);
    if (text.at != text.end) {
        return npy_fail(error, BP_E_FORMAT, "text follows the header's dictionary");
    }
    for (int i = 0; i < KEY_COUNT; i++) {
        if (!seen[i]) {
            return npy_fail(error, BP_E_FORMAT, "the header has no key '%s'", key_names[i]);
        }
    }
    return measure_header(header, error);
}
