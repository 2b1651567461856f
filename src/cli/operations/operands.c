/* operands.c - reads shapes, arrays and options for explain, eval and compare. */
#include "operands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int operand_shape(const char *text, int *ndim, int64_t *shape) {
    const char *at = text;
    *ndim = 0;
    while (*at) {
        char *end = NULL;
        errno = 0;
        long long size = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : -1;
        if (size < 0 || errno || (*end && *end != 'x') || *ndim == BP_MAX_NDIM) {
            return cli_fail(
                CLI_USAGE, "'%s' is not a shape; it must be sizes with x between them, such as 512, 512x64 or 8x512x64",
                text);
        }
        shape[(*ndim)++] = size;
        at = *end ? end + 1 : end;
        if (*end && !*at) {
            return cli_fail(CLI_USAGE, "'%s' is not a shape; the size behind the last x is missing", text);
        }
    }
    return CLI_OK;
}

int operand_view(bp_view *view, bp_dtype dtype, int ndim, const int64_t *shape, bool transposed) {
    int64_t strides[BP_MAX_NDIM], swapped[BP_MAX_NDIM];
    bp_status status = bp_view_init(view, NULL, dtype, ndim, shape, NULL);
    if (status == BP_OK && transposed && ndim >= 2) {
        memcpy(swapped, shape, (size_t)ndim * sizeof *shape);
        swapped[ndim - 1] = shape[ndim - 2];
        swapped[ndim - 2] = shape[ndim - 1];
        status = bp_view_init(view, NULL, dtype, ndim, swapped, NULL);
        memcpy(strides, view->strides, sizeof strides);
        strides[ndim - 1] = view->strides[ndim - 2];
        strides[ndim - 2] = view->strides[ndim - 1];
        status = status == BP_OK ? bp_view_init(view, NULL, dtype, ndim, shape, strides) : status;
    }
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

int operand_leading(const cli_args *args, const char *option, bool transposed, bp_view *view) {
    enum { MOST = 1 << 30 };
    const int ndim = view->tensor.ndim;
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM], leading;
    int code = cli_number(args, option, 1, MOST, 0, &leading);
    if (code != CLI_OK || leading == 0) {
        return code;
    }
    if (ndim < 2) {
        return cli_fail(CLI_USAGE, "--%s: an array of one dimension has no rows", option);
    }
    memcpy(shape, view->shape, (size_t)ndim * sizeof *shape);
    const int inner = transposed ? ndim - 2 : ndim - 1, outer = transposed ? ndim - 1 : ndim - 2;
    if (leading < shape[inner]) {
        return cli_fail(CLI_USAGE, "--%s is %lld; it must be at least %lld", option, (long long)leading,
                        (long long)shape[inner]);
    }
    strides[inner] = 1;
    strides[outer] = leading;
    int64_t item = leading * shape[outer];
    for (int i = ndim - 3; i >= 0; i--) {
        strides[i] = item;
        item *= shape[i];
    }
    const bp_dtype dtype = bp_dtype_from_dlpack(view->tensor.dtype);
    const bp_status status = bp_view_init(view, NULL, dtype, ndim, shape, strides);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

int operand_options(const cli_args *args, bp_options **options) {
    *options = NULL;
    if (!cli_has(args, "set")) {
        return CLI_OK;
    }
    char *text = cli_options_text(args, NULL);
    bp_status status = bp_options_new(options, text);
    free(text);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

int operand_read(const char *path, unsigned flags, npy_array *array, bp_view *view) {
    bp__npy_error error;
    bp_status status = npy_read(path, flags, array, &error);
    if (status != BP_OK) {
        return cli_fail(cli_exit_of(status), "%s", error.text);
    }
    status = npy_view(array, view);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

int operand_result(npy_array *array, bp_view *view, bp_dtype dtype, int ndim, const int64_t *shape) {
    memset(array, 0, sizeof *array);
    bp_status status = bp_view_init(view, NULL, dtype, ndim, shape, NULL);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    bp__npy_header *header = &array->header;
    header->dtype = dtype;
    header->ndim = ndim;
    header->count = 1;
    for (int i = 0; i < ndim; i++) {
        header->shape[i] = shape[i];
        header->count *= shape[i]; /* bp_view_init() has checked for overflow */
    }
    status = npy_allocate(array);
    if (status != BP_OK) {
        return cli_fail(CLI_MEMORY, "no memory for the result");
    }
    status = npy_view(array, view);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

bp_transform operand_transform(const cli_args *args, const char *transpose, const char *conjugate) {
    if (cli_has(args, transpose)) {
        return cli_has(args, conjugate) ? BP_CONJUGATE_TRANSPOSE : BP_TRANSPOSE;
    }
    return cli_has(args, conjugate) ? BP_CONJUGATE : BP_AS_IS;
}

static bool transposes(bp_transform transform) {
    return transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE;
}

/* Batches follow the rules of bp_matmul. Its shape function is therefore called for transposed views of both. */
int operand_gemm_shape(const bp_view *a, bp_transform transform_a, const bp_view *b, bp_transform transform_b,
                       int *ndim, int64_t *shape) {
    bp_view views[2];
    const bp_view *given[2] = {a, b};
    const bool swap[2] = {transposes(transform_a), transposes(transform_b)};
    for (int i = 0; i < 2; i++) {
        int rank = given[i]->tensor.ndim;
        int64_t sizes[BP_MAX_NDIM];
        if (rank < 2) {
            return cli_fail(CLI_INPUT, "gemm: %s has rank %d; it must be a matrix or a batch of matrices",
                            i ? "b" : "a", rank);
        }
        memcpy(sizes, given[i]->shape, sizeof sizes);
        if (swap[i]) {
            sizes[rank - 2] = given[i]->shape[rank - 1];
            sizes[rank - 1] = given[i]->shape[rank - 2];
        }
        bp_status status = bp_view_init(&views[i], given[i]->tensor.data, bp_dtype_from_dlpack(given[i]->tensor.dtype),
                                        rank, sizes, NULL);
        if (status != BP_OK) {
            return cli_fail_status(status);
        }
    }
    bp_status status = bp_matmul_shape(&views[0].tensor, &views[1].tensor, ndim, shape);
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

int operand_scalar(const cli_args *args, const char *option, bp_scalar *scalar, bool *given) {
    const char *text = cli_value(args, option);
    *given = text != NULL;
    if (!text) {
        return CLI_OK;
    }
    char *end = NULL, *last = NULL;
    scalar->re = strtod(text, &end);
    scalar->im = 0;
    last = end;
    if (end != text && *end == ',') {
        scalar->im = strtod(end + 1, &last);
        end = last == end + 1 ? (char *)text : last;
    }
    if (end == text || *last) {
        return cli_fail(CLI_USAGE, "--%s is '%s'; it must be a number, or real,imaginary", option, text);
    }
    return CLI_OK;
}

int operand_numbers(const cli_args *args, const char *option, int64_t *values, int *count) {
    const char *text = cli_value(args, option);
    *count = 0;
    for (const char *at = text; at;) {
        char *end = NULL;
        errno = 0;
        values[*count] = strtoll(at, &end, 10);
        if (errno || end == at || (*end && *end != ',')) {
            return cli_fail(CLI_USAGE, "--%s is '%s'; it must be whole numbers separated by commas", option, text);
        }
        if (++*count == BP_MAX_NDIM) {
            return cli_fail(CLI_USAGE, "--%s has too many numbers: it may have %d", option, BP_MAX_NDIM - 1);
        }
        at = *end ? end + 1 : NULL;
    }
    return CLI_OK;
}

int operand_dims(const cli_args *args, const char *option, int *dims, int *count) {
    int64_t numbers[BP_MAX_NDIM];
    const int code = operand_numbers(args, option, numbers, count);
    for (int i = 0; i < *count && code == CLI_OK; i++) {
        if (numbers[i] < -BP_MAX_NDIM || numbers[i] >= BP_MAX_NDIM) {
            return cli_fail(CLI_USAGE, "--%s is %lld; arrays have at most %d dimensions", option, (long long)numbers[i],
                            BP_MAX_NDIM);
        }
        dims[i] = (int)numbers[i];
    }
    return code;
}
