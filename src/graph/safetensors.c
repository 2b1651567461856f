/* safetensors.c - reads the header of a safetensors file: a JSON object with the type, shape and place of each tensor.
 *
 * The format: https://github.com/huggingface/safetensors#format. A header has 100 MB at most, objects and lists are not
 * nested any deeper than the format says, and the elements lie behind each other without gaps. */
#include "graph/weights.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bp_dtype dtype;
} types[] = {
    {"BOOL", BP_BOOL}, {"U8", BP_U8},     {"I8", BP_I8},   {"U16", BP_U16}, {"I16", BP_I16},
    {"F16", BP_F16},   {"BF16", BP_BF16}, {"U32", BP_U32}, {"I32", BP_I32}, {"F32", BP_F32},
    {"C64", BP_C64},   {"U64", BP_U64},   {"I64", BP_I64}, {"F64", BP_F64},
};

typedef struct parsing {
    bp__reader r;
    const char *start;
    bp_weights *weights;
} parsing;

static bp_status fail_header(const parsing *p, const char *what) {
    return bp__fail(BP_E_FORMAT, "%s: the header is wrong at byte %zu: %s", p->weights->path,
                    (size_t)(p->r.at - p->start), what);
}

/* ---- JSON ---- */

static void skip_space(parsing *p) {
    while (p->r.at < p->r.end && strchr(" \t\r\n", *p->r.at) && *p->r.at) {
        p->r.at++;
    }
}

static bool take_mark(parsing *p, char mark) {
    skip_space(p);
    const bool there = p->r.at < p->r.end && *p->r.at == mark;
    p->r.at += there;
    return there;
}

/* Reads four hexadecimal digits; -1 if they are not there. */
static int read_unit(parsing *p) {
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        const char c = p->r.at < p->r.end ? *p->r.at++ : 0;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Reads what follows "\u": a character, which is one unit or a pair of them. -1 if it is none, or 0. */
static int32_t read_character(parsing *p) {
    const int first = read_unit(p);
    if (first < 0xd800 || first > 0xdfff) {
        return first > 0 ? first : -1;
    }
    if (first > 0xdbff || p->r.end - p->r.at < 2 || p->r.at[0] != '\\' || p->r.at[1] != 'u') {
        return -1;
    }
    p->r.at += 2;
    const int second = read_unit(p);
    return second < 0xdc00 || second > 0xdfff ? -1 : 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

static char *write_character(char *to, int32_t c) {
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)(lead[more] | c >> 6 * more);
    for (int i = more - 1; i >= 0; i--) {
        *to++ = (char)(0x80 | (c >> 6 * i & 0x3f));
    }
    return to;
}

/* Reads what follows a backslash. Returns false if it is no escape. */
static bool read_escape(parsing *p, char **to) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = p->r.at < p->r.end ? *p->r.at++ : 0;
    const char *known = c ? strchr(escapes, c) : NULL;
    if (known) {
        *(*to)++ = meanings[known - escapes];
        return true;
    }
    const int32_t character = c == 'u' ? read_character(p) : -1;
    if (character < 0) {
        return false;
    }
    *to = write_character(*to, character);
    return true;
}

/* Reads a text in quotes into memory that the caller frees. A text is no longer than it is written. */
static bp_status read_text(parsing *p, char **text) {
    *text = NULL;
    if (!take_mark(p, '"')) {
        return fail_header(p, "a text in quotes is missing");
    }
    const char *end = p->r.at;
    while (end < p->r.end && *end != '"') {
        end += end + 1 < p->r.end && *end == '\\' ? 2 : 1;
    }
    char *made = bp__alloc((size_t)(end - p->r.at) + 1), *to = made;
    if (!made) {
        return bp__fail_memory((size_t)(end - p->r.at), p->weights->path);
    }
    while (p->r.at < p->r.end && *p->r.at != '"') {
        const char c = *p->r.at++;
        if ((unsigned char)c < 0x20 || (c == '\\' && !read_escape(p, &to))) {
            bp__free(made);
            return fail_header(p, "a text has a control character, or an escape that is none");
        }
        if (c != '\\') {
            *to++ = c;
        }
    }
    *to = 0;
    if (!take_mark(p, '"')) {
        bp__free(made);
        return fail_header(p, "a text does not end");
    }
    *text = made;
    return BP_OK;
}

/* Reads whole numbers from 0 on, in brackets. */
static bp_status read_numbers(parsing *p, int most, int64_t *numbers, int *count) {
    *count = 0;
    if (!take_mark(p, '[')) {
        return fail_header(p, "a list of numbers is missing");
    }
    for (bool more = !take_mark(p, ']'); more; more = !take_mark(p, ']')) {
        skip_space(p);
        if (*count == most || (*count > 0 && !take_mark(p, ','))) {
            return fail_header(p, "a list has too many numbers, or no comma between them");
        }
        skip_space(p);
        if (!bp__reader_whole(&p->r, &numbers[*count]) || numbers[*count] < 0) {
            return fail_header(p, "a whole number from 0 to 2^63 - 1 is missing");
        }
        ++*count;
    }
    return BP_OK;
}

/* ---- Entries ---- */

enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };

static bp_status read_type(parsing *p, bp__weight *weight) {
    char *name;
    BP__TRY(read_text(p, &name));
    const size_t length = strlen(name);
    const bool fits = length < sizeof weight->type;
    if (fits) {
        memcpy(weight->type, name, length + 1);
    }
    bp__free(name);
    for (int i = 0; i < BP__COUNT(types); i++) {
        weight->dtype = strcmp(types[i].name, weight->type) == 0 ? types[i].dtype : weight->dtype;
    }
    return fits ? BP_OK : fail_header(p, "the name of a type is too long");
}

static bp_status read_offsets(parsing *p, bp__weight *weight) {
    int64_t numbers[2];
    int count;
    BP__TRY(read_numbers(p, 2, numbers, &count));
    if (count != 2) {
        return fail_header(p, "data_offsets has two numbers");
    }
    weight->begin = (uint64_t)numbers[0];
    weight->end = (uint64_t)numbers[1];
    return BP_OK;
}

/* Reads a key of a tensor and its value. *found has the keys so far. */
static bp_status read_key(parsing *p, bp__weight *weight, unsigned *found) {
    char *key;
    BP__TRY(read_text(p, &key));
    const unsigned which = strcmp(key, "dtype") == 0          ? DTYPE
                           : strcmp(key, "shape") == 0        ? SHAPE
                           : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                              : 0;
    bp__free(key);
    if (which == 0 || *found & which || !take_mark(p, ':')) {
        return fail_header(p, "a tensor has dtype, shape and data_offsets, each once");
    }
    *found |= which;
    return which == DTYPE   ? read_type(p, weight)
           : which == SHAPE ? read_numbers(p, BP_MAX_NDIM, weight->shape, &weight->ndim)
                            : read_offsets(p, weight);
}

static bp_status check_size(const parsing *p, const bp__weight *weight) {
    uint64_t bytes = bp_dtype_size(weight->dtype);
    for (int i = 0; i < weight->ndim; i++) {
        if (__builtin_mul_overflow(bytes, (uint64_t)weight->shape[i], &bytes)) {
            return bp__fail(BP_E_OVERFLOW, "%s: the size of %s is above 2^64", p->weights->path, weight->name);
        }
    }
    const bool fits =
        weight->begin <= weight->end && (weight->dtype == BP_DTYPE_NONE || weight->end - weight->begin == bytes);
    return fits ? BP_OK
                : bp__fail(BP_E_FORMAT, "%s: data_offsets of %s are not as far apart as its type and shape say",
                           p->weights->path, weight->name);
}

/* Reads the object of a tensor. The list owns the name. */
static bp_status read_tensor(parsing *p, bp__weight *weight) {
    unsigned found = 0;
    if (!take_mark(p, '{')) {
        return fail_header(p, "the entry of a tensor is missing");
    }
    do {
        BP__TRY(read_key(p, weight, &found));
    } while (take_mark(p, ','));
    if (!take_mark(p, '}') || found != (DTYPE | SHAPE | OFFSETS)) {
        return fail_header(p, "a tensor has dtype, shape and data_offsets, each once");
    }
    return check_size(p, weight);
}

/* Reads texts by their names, which programs use as they like. */
static bp_status skip_metadata(parsing *p) {
    if (!take_mark(p, '{')) {
        return fail_header(p, "__metadata__ has texts by their names");
    }
    for (bool more = !take_mark(p, '}'); more; more = !take_mark(p, '}')) {
        char *texts[2] = {NULL, NULL};
        bp_status status = read_text(p, &texts[0]);
        status = status == BP_OK && !take_mark(p, ':') ? fail_header(p, "a colon is missing") : status;
        status = status == BP_OK ? read_text(p, &texts[1]) : status;
        bp__free(texts[0]);
        bp__free(texts[1]);
        BP__TRY(status);
        skip_space(p);
        if (p->r.at < p->r.end && *p->r.at != '}' && !take_mark(p, ',')) {
            return fail_header(p, "__metadata__ has texts by their names");
        }
    }
    return BP_OK;
}

/* Adds a tensor with this name, which the list owns from now on. */
static bp_status add_weight(parsing *p, char *name) {
    bp_weights *w = p->weights;
    const size_t length = strlen(name);
    bp_status status = bp__graph_grow((void **)&w->list, w->count, &w->capacity, sizeof *w->list);
    status = status == BP_OK ? bp__names_reserve(&w->names) : status;
    if (status == BP_OK && bp__names_find(&w->names, name, length) != 0) {
        status = bp__fail(BP_E_FORMAT, "%s: the header has two tensors %s", w->path, name);
    }
    if (status != BP_OK) {
        bp__free(name);
        return status;
    }
    bp__weight *weight = &w->list[w->count++];
    *weight = (bp__weight){.name = name};
    bp__names_add(&w->names, name, length, w->count);
    return read_tensor(p, weight);
}

static bp_status read_entry(parsing *p) {
    char *name;
    BP__TRY(read_text(p, &name));
    if (!take_mark(p, ':')) {
        bp__free(name);
        return fail_header(p, "a colon is missing");
    }
    if (strcmp(name, "__metadata__") == 0) {
        bp__free(name);
        return skip_metadata(p);
    }
    return add_weight(p, name);
}

/* ---- The whole ---- */

static int by_place(const void *a, const void *b) {
    const bp__weight *const *x = a, *const *y = b;
    if ((*x)->begin != (*y)->begin) {
        return (*x)->begin < (*y)->begin ? -1 : 1;
    }
    return ((*x)->end > (*y)->end) - ((*x)->end < (*y)->end);
}

/* Checks that the elements lie behind each other, from the first byte to the last one. */
static bp_status check_places(const bp_weights *w, uint64_t size) {
    const bp__weight **order = bp__alloc((size_t)w->count * sizeof *order);
    uint64_t at = 0;
    bp_status status = BP_OK;
    if (!order) {
        return bp__fail_memory((size_t)w->count * sizeof *order, w->path);
    }
    for (int i = 0; i < w->count; i++) {
        order[i] = &w->list[i];
    }
    qsort((void *)order, (size_t)w->count, sizeof *order, by_place);
    for (int i = 0; i < w->count && status == BP_OK; i++) {
        if (order[i]->begin != at) {
            status = bp__fail(BP_E_FORMAT, "%s: the elements of %s overlap others, or there is a gap before them",
                              w->path, order[i]->name);
        }
        at = order[i]->end;
    }
    bp__free((void *)order);
    BP__TRY(status);
    if (at > size) {
        return bp__fail(BP_E_TRUNCATED, "%s: the file ends before the elements do", w->path);
    }
    return at == size ? BP_OK : bp__fail(BP_E_FORMAT, "%s: the file has bytes behind the elements", w->path);
}

bp_status bp__weights_parse(bp_weights *weights, const char *header, size_t length, uint64_t size) {
    parsing p = {.r = {.at = header, .end = header + length}, .start = header, .weights = weights};
    if (!take_mark(&p, '{')) {
        return fail_header(&p, "it begins with {");
    }
    if (!take_mark(&p, '}')) {
        do {
            BP__TRY(read_entry(&p));
        } while (take_mark(&p, ','));
        if (!take_mark(&p, '}')) {
            return fail_header(&p, "a comma or } is missing");
        }
    }
    skip_space(&p);
    return p.r.at == p.r.end ? check_places(weights, size) : fail_header(&p, "there is more behind the object");
}
