/* support_reference.c - implements reference.h. */
#include "ops/reference.h"

#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64 /* elements on each side */

static float half_value(uint16_t h) {
    int exponent = h >> 10 & 31;
    int fraction = h & 1023;
    float magnitude = exponent == 31
                          ? (fraction ? NAN : INFINITY)
                          : (exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24));
    return h & 0x8000 ? -magnitude : magnitude;
}

static uint16_t half_bits(double v) {
    double m = fabs(v);
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (isnan(v)) {
        return sign | 0x7e00;
    }
    int e = m > 0 ? ilogb(m) : -14;
    e = e < -14 ? -14 : e;
    double steps = nearbyint(ldexp(m, 10 - e));
    if (steps >= 2048) {
        steps /= 2;
        e++;
    }
    if (e > 15) {
        return sign | 0x7c00;
    }
    return (uint16_t)(sign | (steps < 1024 ? (int)steps : ((e + 15) << 10 | ((int)steps - 1024))));
}

static int64_t offset_of(const DLTensor *t, const int64_t *index) {
    int64_t offset = 0;
    for (int i = 0; i < t->ndim; i++) {
        offset += index[i] * t->strides[i];
    }
    return offset;
}

long double complex test_get(const DLTensor *t, const int64_t *index) {
    bp_dtype dtype = bp_dtype_from_dlpack(t->dtype);
    const char *at = (const char *)t->data + t->byte_offset + offset_of(t, index) * (int64_t)bp_dtype_size(dtype);
    uint32_t word = 0;
    int32_t i32;
    int64_t i64;
    float f[2];
    double d[2];
    switch (dtype) {
    case BP_F16:
        memcpy(&word, at, 2);
        return half_value((uint16_t)word);
    case BP_BF16:
        memcpy(&word, at, 2);
        word <<= 16;
        memcpy(f, &word, 4);
        return f[0];
    case BP_F32:
        memcpy(f, at, 4);
        return f[0];
    case BP_F64:
        memcpy(d, at, 8);
        return d[0];
    case BP_C64:
        memcpy(f, at, 8);
        return CMPLXL(f[0], f[1]);
    case BP_C128:
        memcpy(d, at, 16);
        return CMPLXL(d[0], d[1]);
    case BP_I32:
        memcpy(&i32, at, 4);
        return i32;
    case BP_I64:
        memcpy(&i64, at, 8);
        return i64;
    default:
        abort();
    }
}

void test_set(DLTensor *t, const int64_t *index, long double complex value) {
    bp_dtype dtype = bp_dtype_from_dlpack(t->dtype);
    char *at = (char *)t->data + t->byte_offset + offset_of(t, index) * (int64_t)bp_dtype_size(dtype);
    float f[2] = {(float)creall(value), (float)cimagl(value)};
    double d[2] = {(double)creall(value), (double)cimagl(value)};
    uint16_t half;
    uint32_t word;
    int32_t i32;
    int64_t i64;
    switch (dtype) {
    case BP_F16:
        half = half_bits(d[0]);
        memcpy(at, &half, 2);
        break;
    case BP_BF16:
        memcpy(&word, f, 4);
        half = (uint16_t)(word >> 16); /* truncated: any value is suitable */
        memcpy(at, &half, 2);
        break;
    case BP_F32:
        memcpy(at, f, 4);
        break;
    case BP_F64:
        memcpy(at, d, 8);
        break;
    case BP_C64:
        memcpy(at, f, 8);
        break;
    case BP_C128:
        memcpy(at, d, 16);
        break;
    case BP_I32:
        i32 = (int32_t)d[0];
        memcpy(at, &i32, 4);
        break;
    case BP_I64:
        i64 = (int64_t)d[0];
        memcpy(at, &i64, 8);
        break;
    default:
        abort();
    }
}

static bool next_index(const DLTensor *t, int rank, int64_t *index) {
    for (int i = rank - 1; i >= 0; i--) {
        if (++index[i] < t->shape[i]) {
            return true;
        }
        index[i] = 0;
    }
    return false;
}

static int64_t elements(const DLTensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->ndim; i++) {
        n *= t->shape[i];
    }
    return n;
}

static double random_unit(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

static int64_t lay_out(bp_view *v, int ndim, const int64_t *shape, test_order order) {
    int64_t step = order == EVERY_OTHER ? 2 : 1;
    for (int j = ndim - 1; j >= 0; j--) {
        int i = order == COLUMN_MAJOR ? (j >= ndim - 2 && ndim >= 2 ? (j == ndim - 1 ? ndim - 2 : ndim - 1) : j) : j;
        v->strides[i] = shape[i] > 1 ? step : 977;
        step *= shape[i] > 0 ? shape[i] : 1;
        step += order == PADDED ? 3 : 0;
    }
    return step;
}

void test_tensor_new(test_tensor *t, bp_dtype dtype, int ndim, const int64_t *shape, test_order order, unsigned *seed) {
    size_t size = bp_dtype_size(dtype);
    memset(t, 0, sizeof *t);
    if (bp_view_init(&t->view, NULL, dtype, ndim, shape, NULL) != BP_OK) {
        abort();
    }
    int64_t extent = lay_out(&t->view, ndim, shape, order);
    t->bytes = ((size_t)extent + 2 * GUARD) * size;
    t->block = aligned_alloc(64, (t->bytes + 63) / 64 * 64);
    t->before = malloc(t->bytes);
    memset(t->block, 0xff, t->bytes); /* NaN in every floating type */
    int64_t first = GUARD;
    for (int i = 0; i < ndim && order == REVERSED; i++) {
        if (shape[i] > 1) {
            first += (shape[i] - 1) * t->view.strides[i];
            t->view.strides[i] = -t->view.strides[i];
        }
    }
    t->view.tensor.data = t->block;
    t->view.tensor.byte_offset = (uint64_t)first * size;
    t->view.tensor.strides = t->view.strides;
    int64_t index[BP_MAX_NDIM] = {0};
    if (elements(&t->view.tensor) > 0) {
        do {
            test_set(&t->view.tensor, index, CMPLXL(random_unit(seed), random_unit(seed)));
        } while (next_index(&t->view.tensor, ndim, index));
    }
    test_tensor_snapshot(t);
}

void test_tensor_snapshot(test_tensor *t) {
    memcpy(t->before, t->block, t->bytes);
}

void test_tensor_free(test_tensor *t) {
    free(t->block);
    free(t->before);
}

bool test_tensor_guards_hold(const test_tensor *t) {
    size_t size = bp_dtype_size(bp_dtype_from_dlpack(t->view.tensor.dtype));
    unsigned char *mask = calloc(1, t->bytes);
    int64_t index[BP_MAX_NDIM] = {0};
    if (elements(&t->view.tensor) > 0) {
        do {
            int64_t at = (int64_t)t->view.tensor.byte_offset + offset_of(&t->view.tensor, index) * (int64_t)size;
            memset(mask + at, 1, size);
        } while (next_index(&t->view.tensor, t->view.tensor.ndim, index));
    }
    bool hold = true;
    for (size_t i = 0; i < t->bytes; i++) {
        hold = hold && (mask[i] || t->block[i] == t->before[i]);
    }
    free(mask);
    return hold;
}

double test_product_error(const DLTensor *a, bool conj_a, const DLTensor *b, bool conj_b, long double complex alpha,
                          long double complex beta, const DLTensor *c_before, const DLTensor *c) {
    const bp_scalar factor = {(double)creall(alpha), (double)cimagl(alpha)},
                    kept = {(double)creall(beta), (double)cimagl(beta)};
    reference made;
    double error;
    if (reference_gemm(&made, a, conj_a, b, conj_b, factor, kept, c_before, c) != BP_OK ||
        reference_error(&made, c, &error) != BP_OK) {
        abort();
    }
    const double bound = reference_bound(&made, bp_dtype_from_dlpack(c->dtype));
    reference_free(&made);
    return error == 0 ? 0 : error / bound;
}
