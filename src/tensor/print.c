/* print.c - shows tensors as text, laid out as NumPy does.
 *
 * Two walks over the elements that are shown: the first one measures them, so that columns line up, the second one
 * writes. Floating numbers are shown with the fewest digits that identify them in their type, up to `precision` behind
 * the point; all of a tensor have an exponent if one of them is long without. print_number.c writes single numbers. */
#include "tensor/print.h"
#include "base/uncancelled.h"

#include <inttypes.h>
#include <string.h>

typedef struct printer {
    const DLTensor *tensor;
    bp_dtype dtype;
    const char *data;
    size_t element;
    int64_t strides[BP_MAX_NDIM];
    bp_print_options options;
    bool summary;
    bp__text text;
    bp__number_format part[2]; /* of real numbers or real parts, and of imaginary parts */
    int width;                 /* of an integer */
    int64_t column;
} printer;

/* ---- Elements ---- */

static void print_integer(char *word, bp_dtype dtype, const char *at) {
    switch (dtype) {
#define CASE(name, type, format)                                                                                       \
    case BP_##name: {                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, at, sizeof value);                                                                              \
        snprintf(word, BP__NUMBER_LENGTH, "%" format, value);                                                          \
        return;                                                                                                        \
    }
        CASE(I8, int8_t, PRId8)
        CASE(I16, int16_t, PRId16)
        CASE(I32, int32_t, PRId32)
        CASE(I64, int64_t, PRId64)
        CASE(U8, uint8_t, PRIu8)
        CASE(U16, uint16_t, PRIu16)
        CASE(U32, uint32_t, PRIu32)
        CASE(U64, uint64_t, PRIu64)
#undef CASE
    default:
        snprintf(word, BP__NUMBER_LENGTH, "%s", *at ? "True" : "False");
    }
}

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

static bool is_floating(bp_dtype dtype) {
    return dtype >= BP_F16 && dtype <= BP_C128;
}

static bp_dtype part_type(bp_dtype dtype) {
    return dtype == BP_C64 ? BP_F32 : dtype == BP_C128 ? BP_F64 : dtype;
}

static void measure(printer *p, const char *at) {
    if (!is_floating(p->dtype)) {
        char word[BP__NUMBER_LENGTH];
        print_integer(word, p->dtype, at);
        const int length = (int)strlen(word);
        p->width = length > p->width ? length : p->width;
        return;
    }
    const int parts = is_complex(p->dtype) ? 2 : 1;
    for (int i = 0; i < parts; i++) {
        bp__number_measure(&p->part[i], part_type(p->dtype), at + (size_t)i * (p->element / (size_t)parts));
    }
}

static void write_element(const printer *p, const char *at, char *word) {
    char number[BP__NUMBER_LENGTH];
    if (!is_floating(p->dtype)) {
        print_integer(number, p->dtype, at);
        snprintf(word, BP__WORD_LENGTH, "%*s", p->width, number);
        return;
    }
    bp__number_write(&p->part[0], part_type(p->dtype), at, word);
    if (is_complex(p->dtype)) {
        bp__number_write(&p->part[1], part_type(p->dtype), at + p->element / 2, number);
        size_t length = strlen(number);
        while (length > 0 && number[length - 1] == ' ') {
            length--;
        }
        const size_t before = strlen(word); /* the j follows the digits directly, before the padding */
        snprintf(word + before, BP__WORD_LENGTH - before, "%.*sj%s", (int)length, number, number + length);
    }
}

/* ---- Walks ---- */

/* How many elements of a dimension are shown at its beginning; those at its end are as many if *cut. */
static int64_t shown_at_edge(const printer *p, int dim, bool *cut) {
    const int64_t size = p->tensor->shape[dim];
    *cut = p->summary && size > 2 * (int64_t)p->options.edge;
    return *cut ? p->options.edge : size;
}

static const char *step_to(const printer *p, int dim, const char *at, int64_t index) {
    return at + index * p->strides[dim] * (int64_t)p->element;
}

static void measure_all(printer *p, int dim, const char *at) {
    if (dim == p->tensor->ndim) {
        measure(p, at);
        return;
    }
    bool cut;
    const int64_t size = p->tensor->shape[dim], first = shown_at_edge(p, dim, &cut);
    for (int64_t i = 0; i < first; i++) {
        measure_all(p, dim + 1, step_to(p, dim, at, i));
    }
    for (int64_t i = size - first; cut && i < size; i++) {
        measure_all(p, dim + 1, step_to(p, dim, at, i));
    }
}

static void new_line(printer *p, int lines, int dim) {
    for (int i = 0; i < lines; i++) {
        bp__text_add(&p->text, "\n");
    }
    bp__text_addf(&p->text, "%*s", dim + 1, "");
    p->column = dim + 1;
}

/* The next element of a line, which may begin a new one. */
static void add_word(printer *p, int dim, const char *word, bool first) {
    const int64_t length = (int64_t)strlen(word), most = (int64_t)p->options.width - dim - 1;
    if (!first) {
        bp__text_add(&p->text, " ");
        p->column++;
        if (p->column + length > most && p->column > dim + 1) {
            while (p->text.length > 0 && p->text.bytes && p->text.bytes[p->text.length - 1] == ' ') {
                p->text.bytes[--p->text.length] = '\0';
            }
            new_line(p, 1, dim);
        }
    }
    bp__text_add(&p->text, word);
    p->column += length;
}

static void write_all(printer *p, int dim, const char *at);

static void write_item(printer *p, int dim, const char *at, int64_t index) {
    const char *item = step_to(p, dim, at, index);
    char word[BP__WORD_LENGTH];
    if (dim == p->tensor->ndim - 1) {
        write_element(p, item, word);
        add_word(p, dim, word, index == 0);
        return;
    }
    if (index > 0) {
        new_line(p, p->tensor->ndim - 1 - dim, dim);
    }
    write_all(p, dim + 1, item);
}

static void write_gap(printer *p, int dim) {
    if (dim == p->tensor->ndim - 1) {
        add_word(p, dim, "...", false);
    } else {
        new_line(p, p->tensor->ndim - 1 - dim, dim);
        bp__text_add(&p->text, "...");
    }
}

static void write_all(printer *p, int dim, const char *at) {
    if (dim == p->tensor->ndim) {
        char word[BP__WORD_LENGTH];
        write_element(p, at, word);
        bp__text_add(&p->text, word);
        return;
    }
    bool cut;
    const int64_t size = p->tensor->shape[dim], first = shown_at_edge(p, dim, &cut);
    bp__text_add(&p->text, "[");
    p->column = dim + 1;
    for (int64_t i = 0; i < first; i++) {
        write_item(p, dim, at, i);
    }
    if (cut) {
        write_gap(p, dim);
    }
    for (int64_t i = size - first; cut && i < size; i++) {
        write_item(p, dim, at, i);
    }
    bp__text_add(&p->text, "]");
}

/* ---- Calls ---- */

static bp_status read_options(printer *p, const bp_print_options *options) {
    bp_print_options own = {.struct_size = sizeof own};
    const bp_print_options *o = options ? bp__struct_read(&own, sizeof own, options, "print options") : &own;
    if (!o) {
        return BP_E_ARGUMENT;
    }
    if (o->precision < 0 || o->width < 0 || o->edge < 0 || o->threshold < 0) {
        return bp__fail(BP_E_ARGUMENT, "print options: precision, width, edge and threshold must be 0 or more");
    }
    p->options = *o;
    p->options.precision = !o->precision ? 8 : o->precision > BP__MOST_PRECISION ? BP__MOST_PRECISION : o->precision;
    p->options.width = o->width ? o->width : 75;
    p->options.edge = o->edge ? o->edge : 3;
    p->options.threshold = o->threshold ? o->threshold : 1000;
    return BP_OK;
}

static void write_header(printer *p) {
    const DLTensor *t = p->tensor;
    bp__text_addf(&p->text, "%s (", bp_dtype_name(p->dtype));
    for (int i = 0; i < t->ndim; i++) {
        bp__text_addf(&p->text, "%s%" PRId64, i ? ", " : "", t->shape[i]);
    }
    bp__text_add(&p->text, ")\n");
}

/* The text is to be freed, also after a failure. */
static bp_status print(printer *p, const DLTensor *tensor, const bp_print_options *options) {
    BP__TRY(bp__tensor_check(tensor, "tensor", false));
    BP__TRY(bp__tensor_check_host(tensor, "tensor"));
    BP__TRY(read_options(p, options));
    const int64_t elements = bp__tensor_elements(tensor);
    p->tensor = tensor;
    p->dtype = bp_dtype_from_dlpack(tensor->dtype);
    p->element = bp_dtype_size(p->dtype);
    p->data = bp__tensor_data(tensor);
    p->summary = elements > p->options.threshold;
    bp__tensor_strides(tensor, p->strides);
    for (int i = 0; i < 2; i++) {
        bp__number_begin(&p->part[i], p->options.precision, i == 1);
    }
    if (!p->options.no_header) {
        write_header(p);
    }
    if (elements > 0) {
        measure_all(p, 0, p->data);
        bp__number_end(&p->part[0]);
        bp__number_end(&p->part[1]);
        write_all(p, 0, p->data);
    } else {
        bp__text_add(&p->text, "[]");
    }
    bp__text_add(&p->text, "\n");
    return p->text.failed ? bp__fail_memory(p->text.length, "the text of a tensor") : BP_OK;
}

bp_status bp_tensor_format(const DLTensor *tensor, const bp_print_options *options, char *buffer, size_t size,
                           size_t *length) {
    if (!buffer && size > 0) {
        return bp__fail(BP_E_ARGUMENT, "bp_tensor_format: buffer is NULL and size is %zu; it must be 0", size);
    }
    printer p = {0};
    bp_status status = print(&p, tensor, options);
    if (status == BP_OK && size > 0) {
        snprintf(buffer, size, "%s", bp__text_get(&p.text));
    }
    if (status == BP_OK && length) {
        *length = p.text.length;
    }
    bp__text_free(&p.text);
    return status;
}

bp_status bp_tensor_print(FILE *file, const DLTensor *tensor, const bp_print_options *options) {
    BP__UNCANCELLED;
    if (!file) {
        return bp__fail(BP_E_ARGUMENT, "bp_tensor_print: file is NULL");
    }
    printer p = {0};
    bp_status status = print(&p, tensor, options);
    if (status == BP_OK && fwrite(bp__text_get(&p.text), 1, p.text.length, file) != p.text.length) {
        status = bp__fail(BP_E_IO, "bp_tensor_print: the file could not be written");
    }
    bp__text_free(&p.text);
    return status;
}
