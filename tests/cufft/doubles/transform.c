/* transform.c - transforms as the double of cuFFT is told: by the definition, one dimension after the other, in long
 * double. The input of a transform to real numbers is filled
 * with NaN, because the library may overwrite it. */
#include "parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct number {
    long double re, im;
} number;

size_t double_item(unsigned type) {
    return type == BP__CUDA_R_32F                             ? 4
           : type == BP__CUDA_R_64F || type == BP__CUDA_C_32F ? 8
           : type == BP__CUDA_C_64F                           ? 16
                                                              : 0;
}

bool double_is_complex(unsigned type) {
    return type == BP__CUDA_C_32F || type == BP__CUDA_C_64F;
}

long long double_extent(const cufft_told *told, int end, int dim) {
    const bool halved =
        dim == told->rank - 1 && double_is_complex(told->type[end]) && !double_is_complex(told->type[1 - end]);
    return halved ? told->n[dim] / 2 + 1 : told->n[dim];
}

/* Returns the stride of a dimension. */
static long long stride_of(const cufft_told *told, int end, int dim) {
    long long stride = double_has(CUFFT_FAULT_STRIDE) ? 1 : told->stride[end];
    for (int d = told->rank - 1; d > dim; d--) {
        stride *= double_has(CUFFT_FAULT_EMBED) ? double_extent(told, end, d) : told->embed[end][d];
    }
    return stride;
}

long long double_span(const cufft_told *told, int end) {
    long long last = (told->batch - 1) * told->dist[end];
    for (int d = 0; d < told->rank; d++) {
        last += (double_extent(told, end, d) - 1) * stride_of(told, end, d);
    }
    return last + 1;
}

/* ---- Elements ---- */

static number read_element(unsigned type, const uint8_t *from) {
    const size_t part = type == BP__CUDA_R_32F || type == BP__CUDA_C_32F ? 4 : 8;
    double wide[2] = {0, 0};
    float narrow[2] = {0, 0};
    memcpy(part == 4 ? (void *)narrow : wide, from, double_item(type));
    return part == 4 ? (number){narrow[0], narrow[1]} : (number){wide[0], wide[1]};
}

static void write_element(unsigned type, uint8_t *to, number value) {
    const double wide[2] = {(double)value.re, (double)value.im};
    const float narrow[2] = {(float)value.re, (float)value.im};
    const bool single = type == BP__CUDA_R_32F || type == BP__CUDA_C_32F;
    memcpy(to, single ? (const void *)narrow : wide, double_item(type));
}

/* Moves the elements of an item, in row-major order of their extents, from or to its memory. */
static void move_item(const cufft_told *told, int end, uint8_t *memory, number *values, bool store) {
    const size_t item = double_item(told->type[end]);
    long long count = 1;
    for (int d = 0; d < told->rank; d++) {
        count *= double_extent(told, end, d);
    }
    for (long long i = 0; i < count; i++) {
        long long rest = i, at = 0;
        for (int d = told->rank - 1; d >= 0; d--) {
            const long long extent = double_extent(told, end, d);
            at += rest % extent * stride_of(told, end, d);
            rest /= extent;
        }
        uint8_t *place = memory + (size_t)at * item;
        if (store) {
            write_element(told->type[end], place, values[i]);
        } else {
            values[i] = read_element(told->type[end], place);
        }
    }
}

/* ---- Lines ---- */

/* Returns element `at` of a line of the input, the missing half of a spectrum by symmetry. */
static number input_at(const number *line, long long step, long long given, long long n, long long at) {
    if (at < given) {
        number value = line[at * step];
        value.im = given < n && (at == 0 || 2 * at == n) ? 0 : value.im;
        return value;
    }
    const number mirrored = line[(n - at) * step];
    return (number){mirrored.re, -mirrored.im};
}

/* Transforms a line of n points. The input has `given`, and the output `wanted` points. */
static void transform_line(number *line, long long step, long long n, long long given, long long wanted, int sign) {
    number *out = calloc(2 * (size_t)n, sizeof *out), *turns = out + n;
    for (long long j = 0; j < n; j++) {
        const long double angle = 2 * acosl(-1) * (long double)j / (long double)n;
        turns[j] = (number){cosl(angle), sign * sinl(angle)};
    }
    for (long long k = 0; k < wanted; k++) {
        for (long long j = 0; j < n; j++) {
            const long double c = turns[j * k % n].re, s = turns[j * k % n].im;
            const number x = input_at(line, step, given, n, j);
            out[k].re += c * x.re - s * x.im;
            out[k].im += c * x.im + s * x.re;
        }
    }
    for (long long k = 0; k < wanted; k++) {
        line[k * step] = out[k];
    }
    free(out);
}

/* Transforms dimension `dim` of an item. The lines of the last one have space for all n points. */
static void transform_dim(const cufft_told *told, number *values, int dim, const long long *space, int sign) {
    long long before = 1, step = 1;
    for (int d = 0; d < told->rank; d++) {
        before *= d < dim ? space[d] : 1;
        step *= d > dim ? space[d] : 1;
    }
    for (long long i = 0; i < before; i++) {
        for (long long j = 0; j < step; j++) {
            transform_line(values + i * space[dim] * step + j, step, told->n[dim], double_extent(told, 0, dim),
                           double_extent(told, 1, dim), sign);
        }
    }
}

/* Moves the rows of an item apart, from `from` elements to `to` elements each. */
static void repack(number *values, long long rows, long long from, long long to) {
    for (long long i = 0; i < rows; i++) {
        const long long row = to > from ? rows - 1 - i : i;
        memmove(values + row * to, values + row * from, sizeof *values * (size_t)(to < from ? to : from));
    }
}

static void transform_item(const cufft_told *told, uint8_t *from, uint8_t *to, number *values) {
    const int last = told->rank - 1, sign = double_has(CUFFT_FAULT_DIRECTION) ? -1 : told->direction;
    const bool to_real = !double_is_complex(told->type[1]);
    long long rows = 1, points = told->n[last];
    for (int d = 0; d < last; d++) {
        rows *= told->n[d];
        points *= told->n[d];
    }
    move_item(told, 0, from, values, false);
    repack(values, rows, double_extent(told, 0, last), told->n[last]);
    for (int i = 0; i < told->rank; i++) { /* to real numbers, the halved dimension is the last one */
        transform_dim(told, values, to_real ? i : last - i, told->n, sign);
    }
    repack(values, rows, told->n[last], double_extent(told, 1, last));
    for (long long i = 0; i < points && double_has(CUFFT_FAULT_SCALE); i++) {
        values[i].re /= (long double)points;
        values[i].im /= (long double)points;
    }
    move_item(told, 1, to, values, true);
}

static void fill_with_nan(const cufft_told *told, uint8_t *memory, number *values) {
    long long count = 1;
    for (int d = 0; d < told->rank; d++) {
        count *= double_extent(told, 0, d);
    }
    for (long long i = 0; i < count; i++) {
        values[i] = (number){(long double)NAN, 77};
    }
    move_item(told, 0, memory, values, true);
}

void double_transform(const cufft_told *told, uint64_t workspace) {
    const size_t in = double_item(told->type[0]), out = double_item(told->type[1]);
    uint8_t *from = double_bytes(told->from, (size_t)double_span(told, 0) * in);
    uint8_t *to = double_bytes(told->to, (size_t)double_span(told, 1) * out);
    const size_t size = told->workspace + (double_has(CUFFT_FAULT_WORKSPACE) ? 4096 : 0);
    uint8_t *work = told->workspace > 0 ? double_bytes(workspace, size) : NULL;
    size_t points = 1;
    for (int d = 0; d < told->rank; d++) {
        points *= (size_t)told->n[d];
    }
    number *values = calloc(points, sizeof *values);
    if (!values || !from || !to || (told->workspace > 0 && !work)) {
        double_violate("a transform reaches memory that the device does not have");
        free(values);
        return;
    }
    if (work) {
        memset(work, 0xff, size);
    }
    for (long long i = 0; i < (double_has(CUFFT_FAULT_BATCH) ? 1 : told->batch); i++) {
        uint8_t *item = from + (size_t)(i * told->dist[0]) * in;
        transform_item(told, item, to + (size_t)(i * told->dist[1]) * out, values);
        if (!double_is_complex(told->type[1])) {
            fill_with_nan(told, item, values);
        }
    }
    free(values);
}
