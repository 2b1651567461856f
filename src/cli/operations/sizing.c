/* sizing.c - reads the shapes and options that one number, the size n, determines, and fills arrays, for bench. */
#include "sizing.h"

#include <stdlib.h>
#include <string.h>

/* ---- Shapes ---- */

int sizing_dims(const cli_operation *operation) {
    const char *d = strpbrk(operation->name, "123");
    return operation->described && d && d[1] == 'd' ? *d - '0' : 1;
}

/* Reads a size: 3, n or 4n, and whether it is repeated. Returns the text behind it; NULL if it is wrong. */
static const char *read_size(const char *text, int64_t n, int64_t *size, bool *each) {
    char *end;
    const bool number = *text >= '0' && *text <= '9';
    *size = number ? strtoll(text, &end, 10) : 1;
    text = number ? end : text;
    if (*text == 'n') {
        if (*size > INT64_MAX / n) {
            return NULL;
        }
        *size *= n;
        text++;
    } else if (!number) {
        return NULL;
    }
    *each = *text == '*';
    return text + *each;
}

/* Reads a shape up to ':' or the end. Returns false if it is wrong. */
static bool read_shape(const char *text, int64_t n, int dims, int *ndim, int64_t *shape) {
    *ndim = 0;
    while (text && *text && *text != ':') {
        int64_t size;
        bool each;
        text = read_size(text, n, &size, &each);
        for (int i = 0; text && i < (each ? dims : 1); i++) {
            if (*ndim == BP_MAX_NDIM) {
                return false;
            }
            shape[(*ndim)++] = size;
        }
        if (text && *text == 'x') {
            text += text[1] ? 1 : 0; /* nothing behind it is wrong */
        } else if (text && *text && *text != ':') {
            return false;
        }
    }
    return text != NULL;
}

static double elements_of(int ndim, const int64_t *shape) {
    double elements = 1;
    for (int i = 0; i < ndim; i++) {
        elements *= (double)shape[i];
    }
    return elements;
}

static bp_dtype wide_type(bp_dtype dtype) {
    return dtype == BP_F16 || dtype == BP_BF16 ? BP_F32 : dtype;
}

static bp_dtype complex_type(bp_dtype dtype) {
    return dtype == BP_F32 ? BP_C64 : dtype == BP_F64 ? BP_C128 : dtype;
}

/* Reads what the values are: the text behind ':'. Returns false if it is wrong. */
static bool read_values(sized_array *array, const char *text, int64_t n, int dims) {
    if (strncmp(text, "below:", 6) == 0) {
        int ndim;
        int64_t shape[BP_MAX_NDIM];
        array->values = SIZING_BELOW;
        array->dtype = BP_I64;
        const bool good = read_shape(text + 6, n, dims, &ndim, shape);
        const double below = good ? elements_of(ndim, shape) : 0;
        array->below = below < 0x1p62 ? (int64_t)below : INT64_MAX;
        return good;
    }
    static const char *const names[] = {"",          "complex", "definite", "lower", "positive",
                                        "statistic", NULL,      "pivots",   "bool"};
    for (int i = SIZING_COMPLEX; i <= SIZING_BOOL; i++) {
        if (names[i] && strcmp(names[i], text) == 0) {
            array->values = (sizing_values)i;
            array->dtype = i == SIZING_COMPLEX     ? complex_type(array->dtype)
                           : i == SIZING_STATISTIC ? wide_type(array->dtype)
                           : i == SIZING_PIVOTS    ? BP_I32
                           : i == SIZING_BOOL      ? BP_BOOL
                                                   : array->dtype;
            return true;
        }
    }
    return false;
}

int sizing_read(sized_array *arrays, const cli_operation *operation, const char *text, char separator, int64_t n,
                bp_dtype dtype) {
    const int dims = sizing_dims(operation);
    const char ends[] = {separator, 0};
    int count = 0;
    while (*text) {
        const size_t length = strcspn(text, ends);
        char *word = cli_format("%.*s", (int)length, text);
        sized_array *array = &arrays[count];
        bool good = count < SIZING_ARRAYS && length > 0;
        if (good) {
            *array = (sized_array){.dtype = dtype};
            const char *values = strchr(word, ':');
            good = read_shape(word, n, dims, &array->ndim, array->shape) &&
                   (!values || read_values(array, values + 1, n, dims));
            array->elements = elements_of(array->ndim, array->shape);
        }
        free(word);
        count++;
        text += length + (text[length] != 0);
        if (!good) {
            return -1;
        }
    }
    return count;
}

/* ---- Options ---- */

static const cli_option *find_option(const cli_args *args, const char *name, size_t length) {
    for (const cli_option *option = args->command->options; option->name; option++) {
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            return option;
        }
    }
    return NULL;
}

/* Returns a shape as a list of numbers with commas. */
static char *list_of(const cli_operation *operation, const char *text, int64_t n) {
    sized_array array;
    char *list = NULL;
    const int count = sizing_read(&array, operation, text, ' ', n, BP_F32);
    for (int i = 0; count == 1 && i < array.ndim; i++) {
        char *number = cli_format("%lld", (long long)array.shape[i]);
        list = cli_join(list, list ? "," : "", number);
        free(number);
    }
    return list ? list : cli_format("%s", text);
}

cli_given *sizing_options(const cli_operation *operation, const cli_args *args, int64_t n, int *count) {
    const char *text = operation->sizing->options;
    cli_given *given = NULL;
    *count = 0;
    while (text && *text) {
        const size_t length = strcspn(text, " "), name = strcspn(text, "=");
        const cli_option *option = find_option(args, text, name);
        char *value = cli_format("%.*s", (int)(length - name - 1), text + name + 1);
        if (option && !cli_has(args, option->name)) {
            given = cli_grow(given, (size_t)(*count + 1) * sizeof *given);
            given[(*count)++] =
                (cli_given){option, strcmp(option->name, "size") == 0 ? list_of(operation, value, n) : value};
            value = strcmp(option->name, "size") == 0 ? value : NULL;
        }
        free(value);
        text += length + (text[length] != 0);
    }
    return given;
}

void sizing_options_free(cli_given *given, int count) {
    for (int i = 0; i < count; i++) {
        free((char *)(uintptr_t)given[i].value);
    }
    free(given);
}

/* ---- Values ---- */

static uint64_t next_random(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static bool is_complex(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128;
}

/* The whole number at an index: an index, a pivot, 0 or 1, or -100 to 100. */
static int64_t whole_at(const sized_array *as, int64_t index, uint64_t *seed) {
    switch (as->values) {
    case SIZING_PIVOTS:
        return index % as->shape[as->ndim - 1] + 1;
    case SIZING_BELOW:
        return as->below > 0 ? (int64_t)(next_random(seed) >> 2) % as->below : 0;
    case SIZING_BOOL:
        return (int64_t)(next_random(seed) >> 63);
    default:
        return (int64_t)(next_random(seed) % 201) - 100;
    }
}

static void fill_whole(const npy_array *array, const sized_array *as) {
    uint64_t seed = 88172645463325252u;
    for (int64_t i = 0; i < array->header.count; i++) {
        const int64_t whole = whole_at(as, i, &seed);
        if (array->header.dtype == BP_I32) {
            ((int32_t *)array->data)[i] = (int32_t)whole;
        } else if (array->header.dtype == BP_BOOL) {
            ((uint8_t *)array->data)[i] = (uint8_t)whole;
        } else {
            ((int64_t *)array->data)[i] = whole;
        }
    }
}

/* Mirrors the lower triangle of each square matrix, and adds its size to the diagonal: positive definite by
 * Gershgorin's theorem, since no element is larger than the square root of 2. */
static void make_definite(double *data, const sized_array *as, int parts) {
    const int64_t n = as->shape[as->ndim - 1], items = (int64_t)as->elements / (n * n);
    for (int64_t item = 0; item < items; item++, data += n * n * parts) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++) {
                data[(j * n + i) * parts] = data[(i * n + j) * parts];
                if (parts == 2) {
                    data[(j * n + i) * 2 + 1] = -data[(i * n + j) * 2 + 1];
                }
            }
            data[(i * n + i) * parts] += 1.5 * (double)n;
            if (parts == 2) {
                data[(i * n + i) * 2 + 1] = 0;
            }
        }
    }
}

static void fill_numbers(double *data, const sized_array *as, int parts) {
    const bool positive = as->values == SIZING_POSITIVE || as->values == SIZING_STATISTIC;
    uint64_t seed = 88172645463325252u;
    for (int64_t i = 0; i < (int64_t)as->elements * parts; i++) {
        const double x = (double)(int64_t)next_random(&seed) / 9.3e18;
        data[i] = positive ? 1 + x / 2 : x;
    }
    if (as->values == SIZING_DEFINITE || as->values == SIZING_LOWER) {
        make_definite(data, as, parts);
    }
    const int64_t n = as->ndim > 0 ? as->shape[as->ndim - 1] : 1;
    for (int64_t i = 0; as->values == SIZING_LOWER && i < (int64_t)as->elements; i++) {
        const bool above = i % n > i / n % n;
        memset(data + i * parts, 0, above ? (size_t)parts * sizeof *data : 0);
    }
}

/* Makes the numbers in f64 or c128, and rounds them to other types. */
bp_status sizing_fill(npy_array *array, const sized_array *as) {
    const bp_dtype dtype = array->header.dtype;
    if (array->header.count == 0) {
        return BP_OK;
    }
    if (dtype == BP_I32 || dtype == BP_I64 || dtype == BP_BOOL) {
        fill_whole(array, as);
        return BP_OK;
    }
    npy_array made = {.header = array->header};
    made.header.dtype = is_complex(dtype) ? BP_C128 : BP_F64;
    bp_view from, to;
    bp_status status = npy_allocate(&made);
    if (status == BP_OK) {
        fill_numbers(made.data, as, is_complex(dtype) ? 2 : 1);
        status = npy_view(&made, &from);
        status = status == BP_OK ? npy_view(array, &to) : status;
        status = status == BP_OK ? bp_tensor_copy(&to.tensor, &from.tensor) : status;
    }
    npy_free(&made);
    return status;
}
