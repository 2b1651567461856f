/* npy.c - reads and writes the headers of .npy files.
 *
 * The description is a Python dictionary literal with exactly three keys. The parser accepts only the syntax that NumPy
 * writes, evaluates nothing, and checks every number before use, because the text is untrusted.
 */
#include "base/npy.h"

#include "base/number.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bp_status bp__npy_fail(bp__npy_error *error, bp_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    bp__format_v(error->text, sizeof error->text, format, args);
    va_end(args);
    return status;
}

bp_status bp__npy_parse_prefix(const unsigned char *bytes, size_t size, size_t *start, size_t *length,
                               bp__npy_error *error) {
    static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    size_t known = size < sizeof magic ? size : sizeof magic;
    if (size > 0 && memcmp(bytes, magic, known) != 0) {
        return bp__npy_fail(error, BP_E_FORMAT, "not a .npy file: it must begin with the bytes \\x93NUMPY");
    }
    if (size < BP__NPY_PREFIX_MIN) {
        return bp__npy_fail(error, BP_E_TRUNCATED, "file ends after %zu bytes, inside the header", size);
    }
    unsigned major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0) {
        return bp__npy_fail(error, BP_E_FORMAT, "format version %u.%u is not known; 1.0, 2.0 and 3.0 are", major,
                            minor);
    }
    *length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    *start = BP__NPY_PREFIX_MIN;
    if (major > 1) {
        if (size < BP__NPY_PREFIX_MAX) {
            return bp__npy_fail(error, BP_E_TRUNCATED, "file ends after %zu bytes, inside the header", size);
        }
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
        *start = BP__NPY_PREFIX_MAX;
    }
    if (*length > BP__NPY_HEADER_LIMIT) {
        return bp__npy_fail(error, BP_E_FORMAT, "the header has %zu bytes; at most %d are accepted", *length,
                            BP__NPY_HEADER_LIMIT);
    }
    return BP_OK;
}

typedef struct cursor {
    const char *at;
    const char *end;
    bp__npy_error *error;
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
        return bp__npy_fail(text->error, BP_E_FORMAT, "'shape' holds a negative size");
    }
    const char *first = text->at;
    int64_t number = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; text->at++) {
        if (__builtin_mul_overflow(number, (int64_t)10, &number) ||
            __builtin_add_overflow(number, (int64_t)(*text->at - '0'), &number)) {
            return bp__npy_fail(text->error, BP_E_OVERFLOW, "'shape' holds a size that does not fit 64 bits");
        }
    }
    if (text->at == first || (*first == '0' && text->at - first > 1)) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "'shape' must be a tuple of whole numbers");
    }
    /* Python 2 wrote long integers with the suffix L. */
    if (text->at < text->end && *text->at == 'L') {
        text->at++;
    }
    *value = number;
    return BP_OK;
}

static bp_status take_shape(cursor *text, bp__npy_header *header) {
    if (!take_header(text, '(')) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "'shape' must be a tuple of whole numbers");
    }
    header->ndim = 0;
    bool comma = true;
    while (!take_header(text, ')')) {
        if (!comma) {
            return bp__npy_fail(text->error, BP_E_FORMAT,
                                "'shape' must be a tuple of whole numbers, with commas between");
        }
        if (header->ndim == BP_MAX_NDIM) {
            return bp__npy_fail(text->error, BP_E_FORMAT, "the array has more than %d dimensions", BP_MAX_NDIM);
        }
        bp_status status = take_size(text, &header->shape[header->ndim]);
        if (status != BP_OK) {
            return status;
        }
        header->ndim++;
        comma = take_header(text, ',');
    }
    if (header->ndim == 1 && !comma) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "'shape' must be a tuple; (n) without a comma is a number");
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
        return flags & BP__NPY_BF16 ? BP_BF16 : BP_DTYPE_NONE;
    }
    for (size_t i = 0; strlen(code) == 2 && i < sizeof types / sizeof types[0]; i++) {
        if (code[0] == types[i].kind && code[1] == types[i].size) {
            return types[i].dtype;
        }
    }
    return BP_DTYPE_NONE;
}

/* Reports a type that is not supported. */
static bp_status refuse_type(const char *descr, const char *code, bp__npy_error *error) {
    if (code[0] == 'O') {
        return bp__npy_fail(
            error, BP_E_DTYPE,
            "element type '%s': Python objects are stored as pickles, which are not read because they run code", descr);
    }
    if (strcmp(code, "V2") == 0) {
        return bp__npy_fail(error, BP_E_DTYPE,
                            "element type '%s' is two raw bytes; use --bf16 if it is bfloat16 (ml_dtypes)", descr);
    }
    return bp__npy_fail(error, BP_E_DTYPE, "element type '%s'; it must be f2, f4, f8, c8, c16, i1-i8, u1-u8 or b1",
                        descr);
}

static bp_status take_type(cursor *text, unsigned flags, bp__npy_header *header) {
    char descr[32] = "";
    skip_space(text);
    if (text->at < text->end && *text->at == '[') {
        return bp__npy_fail(text->error, BP_E_DTYPE, "structured arrays (records with fields) are not read");
    }
    if (!take_string(text, descr, sizeof descr)) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "'descr' must be a short text such as '<f8'");
    }
    char order = strchr("<>=|", descr[0]) && descr[0] ? descr[0] : '=';
    const char *code = descr + (descr[0] == order);
    header->dtype = type_of(code, flags);
    if (header->dtype == BP_DTYPE_NONE) {
        return refuse_type(descr, code, text->error);
    }
    size_t size = bp_dtype_size(header->dtype);
    if (order == '|' && size > 1 && code[0] != 'V') {
        return bp__npy_fail(text->error, BP_E_DTYPE,
                            "element type '%s' has no byte order; it must begin with '<' or '>'", descr);
    }
    const uint16_t probe = 1;
    bool little = *(const unsigned char *)&probe == 1;
    header->swapped = size > 1 && ((order == '<' && !little) || (order == '>' && little));
    return BP_OK;
}

static bp_status take_order(cursor *text, bp__npy_header *header) {
    header->fortran = take_word(text, "True");
    if (!header->fortran && !take_word(text, "False")) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "'fortran_order' must be True or False");
    }
    return BP_OK;
}

/* Computes the number of elements and bytes with overflow checks. A size of zero makes the array empty, whatever the
 * others are. */
static bp_status measure_header(bp__npy_header *header, bp__npy_error *error) {
    int64_t count = 1, size;
    bool empty = false;
    for (int i = 0; i < header->ndim; i++) {
        empty |= header->shape[i] == 0;
    }
    for (int i = 0; i < header->ndim && !empty; i++) {
        if (__builtin_mul_overflow(count, header->shape[i], &count)) {
            return bp__npy_fail(error, BP_E_OVERFLOW, "the shape declares more elements than 64 bits can count");
        }
    }
    header->count = empty ? 0 : count;
    if (__builtin_mul_overflow(header->count, (int64_t)bp_dtype_size(header->dtype), &size) ||
        (uint64_t)size > SIZE_MAX / 2) {
        return bp__npy_fail(error, BP_E_OVERFLOW, "the shape declares more bytes than memory can have");
    }
    header->size = (size_t)size;
    return BP_OK;
}

enum { KEY_TYPE, KEY_ORDER, KEY_SHAPE, KEY_COUNT };
static const char *const key_names[KEY_COUNT] = {"descr", "fortran_order", "shape"};

static bp_status take_value(cursor *text, int key, unsigned flags, bp__npy_header *header) {
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

static bp_status take_entry(cursor *text, unsigned flags, bool seen[KEY_COUNT], bp__npy_header *header) {
    char name[32];
    if (!take_string(text, name, sizeof name)) {
        return bp__npy_fail(text->error, BP_E_FORMAT,
                            "the header must be a dictionary with the keys descr, fortran_order, shape");
    }
    int key = find_key(name);
    if (key < 0) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "the header has an unknown key '%s'", name);
    }
    if (seen[key]) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "the header has the key '%s' twice", name);
    }
    seen[key] = true;
    if (!take_header(text, ':')) {
        return bp__npy_fail(text->error, BP_E_FORMAT, "the header has no colon after '%s'", name);
    }
    return take_value(text, key, flags, header);
}

bp_status bp__npy_parse_header(const char *bytes, size_t length, unsigned flags, bp__npy_header *header,
                               bp__npy_error *error) {
    cursor text = {bytes, bytes + length, error};
    bool seen[KEY_COUNT] = {false};
    memset(header, 0, sizeof *header);
    if (!take_header(&text, '{')) {
        return bp__npy_fail(error, BP_E_FORMAT,
                            "the header must be a dictionary with the keys descr, fortran_order, shape");
    }
    bool comma = true;
    while (!take_header(&text, '}')) {
        bp_status status =
            comma ? take_entry(&text, flags, seen, header)
                  : bp__npy_fail(error, BP_E_FORMAT, "the header has no comma between its entries, or no end");
        if (status != BP_OK) {
            return status;
        }
        comma = take_header(&text, ',');
    }
    skip_space(&text);
    if (text.at != text.end) {
        return bp__npy_fail(error, BP_E_FORMAT, "text follows the header's dictionary");
    }
    for (int i = 0; i < KEY_COUNT; i++) {
        if (!seen[i]) {
            return bp__npy_fail(error, BP_E_FORMAT, "the header has no key '%s'", key_names[i]);
        }
    }
    return measure_header(header, error);
}

bp_status bp__npy_read_bytes(int file, void *buffer, size_t size, size_t *got, bp__npy_error *error) {
    *got = 0;
    while (*got < size) {
        ssize_t step = read(file, (char *)buffer + *got, size - *got);
        if (step < 0 && errno == EINTR) {
            continue;
        }
        if (step < 0) {
            return bp__npy_fail(error, BP_E_IO, "cannot be read: %s", strerror(errno));
        }
        if (step == 0) {
            break;
        }
        *got += (size_t)step;
    }
    return BP_OK;
}

bp_status bp__npy_read_header(int file, unsigned flags, bp__npy_header *header, size_t *consumed,
                              bp__npy_error *error) {
    unsigned char prefix[BP__NPY_PREFIX_MAX];
    size_t got, more = 0, start, length;
    bp_status status = bp__npy_read_bytes(file, prefix, BP__NPY_PREFIX_MIN, &got, error);
    if (status == BP_OK && got == BP__NPY_PREFIX_MIN && prefix[6] > 1) {
        status = bp__npy_read_bytes(file, prefix + got, BP__NPY_PREFIX_MAX - BP__NPY_PREFIX_MIN, &more, error);
    }
    if (status == BP_OK) {
        status = bp__npy_parse_prefix(prefix, got + more, &start, &length, error);
    }
    if (status != BP_OK) {
        return status;
    }
    char *text = bp__realloc(NULL, length + 1);
    if (!text) {
        return bp__npy_fail(error, BP_E_NO_MEMORY, "no memory for its header of %zu bytes", length);
    }
    status = bp__npy_read_bytes(file, text, length, &got, error);
    if (status == BP_OK && got < length) {
        status = bp__npy_fail(error, BP_E_TRUNCATED, "file ends after %zu bytes, inside the header of %zu bytes",
                              start + got, start + length);
    }
    if (status == BP_OK) {
        status = bp__npy_parse_header(text, length, flags, header, error);
    }
    bp__free(text);
    *consumed = start + length;
    return status;
}

bp_status bp__npy_truncated(const bp__npy_header *header, size_t consumed, uint64_t present, bp__npy_error *error) {
    return bp__npy_fail(error, BP_E_TRUNCATED, "file has %llu bytes where its header declares %llu",
                        (unsigned long long)present, (unsigned long long)consumed + header->size);
}

static void swap_elements(unsigned char *bytes, size_t count, size_t width) {
    for (unsigned char *element = bytes; count > 0; count--, element += width) {
        for (size_t i = 0; i < width / 2; i++) {
            unsigned char kept = element[i];
            element[i] = element[width - 1 - i];
            element[width - 1 - i] = kept;
        }
    }
}

/* Returns NumPy's type code; bf16 as ml_dtypes writes it. */
static const char *type_code(bp_dtype dtype) {
    static const char *const codes[] = {
        [BP_F16] = "f2",   [BP_BF16] = "V2", [BP_F32] = "f4", [BP_F64] = "f8", [BP_C64] = "c8",
        [BP_C128] = "c16", [BP_I8] = "i1",   [BP_I16] = "i2", [BP_I32] = "i4", [BP_I64] = "i8",
        [BP_U8] = "u1",    [BP_U16] = "u2",  [BP_U32] = "u4", [BP_U64] = "u8", [BP_BOOL] = "b1",
    };
    return codes[dtype];
}

size_t bp__npy_format_header(const bp__npy_header *header, char buffer[BP__NPY_HEADER_SPACE]) {
    const size_t size = BP__NPY_HEADER_SPACE;
    static const unsigned char magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}; /* and the version, 1.0 */
    const uint16_t probe = 1;
    char order = bp_dtype_size(header->dtype) == 1 ? '|' : *(const unsigned char *)&probe == 1 ? '<' : '>';
    size_t used = BP__NPY_PREFIX_MIN;
    used += (size_t)snprintf(buffer + used, size - used, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (", order,
                             type_code(header->dtype), header->fortran ? "True" : "False");
    for (int i = 0; i < header->ndim; i++) {
        bool last = i + 1 == header->ndim;
        used += (size_t)snprintf(buffer + used, size - used, "%lld%s", (long long)header->shape[i],
                                 last && i > 0 ? ""
                                 : last        ? ","
                                               : ", ");
    }
    used += (size_t)snprintf(buffer + used, size - used, "), }");
    while ((used + 1) % 64 != 0) {
        buffer[used++] = ' ';
    }
    buffer[used++] = '\n';
    size_t length = used - BP__NPY_PREFIX_MIN;
    memcpy(buffer, magic, sizeof magic);
    buffer[8] = (char)(unsigned char)(length & 0xff);
    buffer[9] = (char)(unsigned char)(length >> 8);
    return used;
}

void bp__npy_swap(void *elements, size_t count, bp_dtype dtype) {
    const size_t parts = dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
    swap_elements(elements, count * parts, bp_dtype_size(dtype) / parts);
}
