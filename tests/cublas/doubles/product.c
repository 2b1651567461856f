/* product.c - computes a product as the libraries define it, in f64 where they sum in f32. */
#include "parts.h"

#include <math.h>
#include <string.h>

void double_run(product *p);

/* ---- Numbers ---- */

size_t double_item(uint32_t type) {
    switch (type) {
    case BP__CUDA_R_8I:
        return 1;
    case BP__CUDA_R_16F:
    case BP__CUDA_R_16BF:
        return 2;
    case BP__CUDA_R_32F:
    case BP__CUDA_R_32I:
        return 4;
    case BP__CUDA_R_64F:
    case BP__CUDA_C_32F:
        return 8;
    case BP__CUDA_C_64F:
        return 16;
    default:
        return 0;
    }
}

/* Rounds to `bits` significant bits, to nearest even, and to multiples of the smallest number. */
static double rounded(double x, int bits, int least_exponent) {
    if (x == 0 || !isfinite(x)) {
        return x;
    }
    const int exponent = ilogb(x) - bits + 1, least = least_exponent - bits + 1;
    return ldexp(nearbyint(ldexp(x, -(exponent < least ? least : exponent))), exponent < least ? least : exponent);
}

static double as_f16(double x) {
    const double r = rounded(x, 11, -14);
    return fabs(r) > 65504 ? copysign(INFINITY, r) : r;
}

static double as_bf16(double x) {
    return rounded((float)x, 8, -126);
}

static double as_tf32(double x) {
    return rounded(x, 11, -126);
}

static double of_f16(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

/* `x` is a number of f16. */
static uint16_t to_f16(double x) {
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    const double size = fabs(x);
    if (!isfinite(x)) {
        return sign | (isnan(x) ? 0x7E00 : 0x7C00);
    }
    if (size < ldexp(1, -14)) {
        return sign | (uint16_t)ldexp(size, 24);
    }
    const int exponent = ilogb(size);
    return (uint16_t)(sign | (exponent + 15) << 10 | ((int)ldexp(size, 10 - exponent) - 1024));
}

static double of_bf16(uint16_t bits) {
    const uint32_t whole = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &whole, sizeof x);
    return x;
}

static uint16_t to_bf16(double x) {
    const float f = (float)x;
    uint32_t whole;
    memcpy(&whole, &f, sizeof whole);
    return (uint16_t)(whole >> 16 | (isnan(x) ? 64 : 0));
}

#define READ(T) (((const T *)bytes)[index])

number double_read(uint32_t type, const void *bytes, int64_t index) {
    switch (type) {
    case BP__CUDA_R_8I:
        return (number){READ(int8_t), 0};
    case BP__CUDA_R_32I:
        return (number){READ(int32_t), 0};
    case BP__CUDA_R_16F:
        return (number){of_f16(READ(uint16_t)), 0};
    case BP__CUDA_R_16BF:
        return (number){of_bf16(READ(uint16_t)), 0};
    case BP__CUDA_R_32F:
        return (number){READ(float), 0};
    case BP__CUDA_R_64F:
        return (number){READ(double), 0};
    case BP__CUDA_C_32F:
        return (number){((const float *)bytes)[2 * index], ((const float *)bytes)[2 * index + 1]};
    default:
        return (number){((const double *)bytes)[2 * index], ((const double *)bytes)[2 * index + 1]};
    }
}

static double in_type(uint32_t type, double x) {
    return type == BP__CUDA_R_16F    ? as_f16(x)
           : type == BP__CUDA_R_16BF ? as_bf16(x)
           : type == BP__CUDA_R_32F  ? (double)(float)x
                                     : x;
}

static void store(uint32_t type, void *bytes, int64_t index, number x) {
    switch (type) {
    case BP__CUDA_R_32I:
        ((int32_t *)bytes)[index] = (int32_t)x.re;
        break;
    case BP__CUDA_R_16F:
        ((uint16_t *)bytes)[index] = to_f16(as_f16(x.re));
        break;
    case BP__CUDA_R_16BF:
        ((uint16_t *)bytes)[index] = to_bf16(as_bf16(x.re));
        break;
    case BP__CUDA_R_32F:
        ((float *)bytes)[index] = (float)x.re;
        break;
    case BP__CUDA_R_64F:
        ((double *)bytes)[index] = x.re;
        break;
    case BP__CUDA_C_32F:
        ((float *)bytes)[2 * index] = (float)x.re;
        ((float *)bytes)[2 * index + 1] = (float)x.im;
        break;
    default:
        ((double *)bytes)[2 * index] = x.re;
        ((double *)bytes)[2 * index + 1] = x.im;
    }
}

static number times(number x, number y) {
    return (number){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

static bool is_complex(uint32_t type) {
    return type == BP__CUDA_C_32F || type == BP__CUDA_C_64F;
}

/* ---- Memory ---- */

/* The elements of a matrix of a batch, from the first one on. */
static int64_t extent(int64_t rows, int64_t columns, int64_t ld, int64_t stride, int64_t count) {
    return (count - 1) * stride + (columns - 1) * ld + rows;
}

static int64_t extent_a(const cublas_told *t) {
    const bool plain = t->op_a == BP__CUBLAS_OP_N;
    return extent(plain ? t->m : t->k, plain ? t->k : t->m, t->lda, t->stride_a, t->count);
}

static int64_t extent_b(const cublas_told *t) {
    const bool plain = t->op_b == BP__CUBLAS_OP_N;
    return extent(plain ? t->k : t->n, plain ? t->n : t->k, t->ldb, t->stride_b, t->count);
}

static uint8_t *bytes_of(uint64_t address, int64_t elements, uint32_t type) {
    uint8_t *bytes = double_bytes(address, (size_t)elements * double_item(type));
    if (!bytes) {
        double_violate("an operand is not in the memory of a device");
    }
    return bytes;
}

cublasStatus_t double_check(const product *p) {
    const cublas_told *t = &p->told;
    const bool types = double_item(t->ab) && double_item(t->d);
    const bool plain_a = t->op_a == BP__CUBLAS_OP_N, plain_b = t->op_b == BP__CUBLAS_OP_N;
    if (!types || t->m < 1 || t->n < 1 || t->k < 1 || t->count < 1 || t->op_a > 2 || t->op_b > 2 ||
        t->lda < (plain_a ? t->m : t->k) || t->ldb < (plain_b ? t->k : t->n) || t->ldd < t->m || t->stride_a < 0 ||
        t->stride_b < 0 || (t->count > 1 && t->stride_d < 1)) {
        return BP__CUBLAS_STATUS_INVALID_VALUE;
    }
    /* Addresses are multiples of the sizes of elements, of one component for complex numbers. */
    const size_t least = double_item(t->ab) / (is_complex(t->ab) ? 2 : 1);
    if ((p->a | p->b | p->d) % least != 0) {
        return BP__CUBLAS_STATUS_NOT_SUPPORTED;
    }
    /* The types of sums and of alpha that the libraries' documentation lists for types of operands. */
    const uint32_t c = t->compute, s = t->scale;
    const bool half = t->ab == BP__CUDA_R_16F || t->ab == BP__CUDA_R_16BF;
    const bool single = t->ab == BP__CUDA_R_32F || t->ab == BP__CUDA_C_32F;
    const bool in_f32 =
        c == BP__CUBLAS_COMPUTE_32F ||
        (single && (c == BP__CUBLAS_COMPUTE_32F_FAST_TF32 || c == BP__CUBLAS_COMPUTE_32F_EMULATED_16BFX9));
    const bool right =
        (half && in_f32 && s == BP__CUDA_R_32F && t->d == t->ab) ||
        (t->ab == BP__CUDA_R_16F && c == BP__CUBLAS_COMPUTE_16F && s == t->ab && t->d == t->ab) ||
        (single && in_f32 && s == t->ab && t->d == t->ab) ||
        ((t->ab == BP__CUDA_R_64F || t->ab == BP__CUDA_C_64F) && c == BP__CUBLAS_COMPUTE_64F && s == t->ab &&
         t->d == t->ab) ||
        (t->ab == BP__CUDA_R_8I && c == BP__CUBLAS_COMPUTE_32I && s == BP__CUDA_R_32I && t->d == BP__CUDA_R_32I &&
         t->op_a == BP__CUBLAS_OP_T && plain_b && t->k % 4 == 0 && t->m % 4 == 0 && t->lda % 4 == 0 && t->ldb % 4 == 0);
    return right ? BP__CUBLAS_STATUS_SUCCESS : BP__CUBLAS_STATUS_NOT_SUPPORTED;
}

/* ---- The product ---- */

typedef struct operands {
    const uint8_t *a, *b;
    uint8_t *d, *bias;
} operands;

static number input(const cublas_told *t, const uint8_t *bytes, int64_t index, bool conjugate) {
    number x = double_read(t->ab, bytes, index);
    const bool rounds = t->compute == BP__CUBLAS_COMPUTE_32F_FAST_TF32 ||
                        (double_has(CUBLAS_FAULT_ROUNDING) && double_item(t->ab) == 4);
    x.re = rounds ? as_tf32(x.re) : x.re;
    x.im = rounds ? as_tf32(x.im) : x.im;
    x.im = conjugate && !double_has(CUBLAS_FAULT_CONJUGATE) ? -x.im : x.im;
    return x;
}

static number of_a(const cublas_told *t, const uint8_t *a, int64_t i, int64_t l) {
    const bool plain = t->op_a == BP__CUBLAS_OP_N;
    const int64_t ld = double_has(CUBLAS_FAULT_LD) ? (plain ? t->m : t->k) : t->lda;
    return input(t, a, plain ? i + l * ld : l + i * ld, t->op_a == BP__CUBLAS_OP_C);
}

static number of_b(const cublas_told *t, const uint8_t *b, int64_t l, int64_t j) {
    const bool plain = t->op_b == BP__CUBLAS_OP_N;
    const bool wrong = double_has(CUBLAS_FAULT_TRANSPOSITION) && t->k == t->n;
    return input(t, b, plain != wrong ? l + j * t->ldb : j + l * t->ldb, t->op_b == BP__CUBLAS_OP_C);
}

/* Sums a part of k, in the order of k. */
static number part_of_sum(const cublas_told *t, const operands *o, int64_t i, int64_t j, int64_t from, int64_t to) {
    number sum = {0, 0};
    for (int64_t l = from; l < to; l++) {
        const number x = times(of_a(t, o->a, i, l), of_b(t, o->b, l, j));
        sum.re += x.re;
        sum.im += x.im;
        if (t->compute == BP__CUBLAS_COMPUTE_16F) {
            sum.re = as_f16(sum.re);
        }
    }
    return sum;
}

/* Parts of k are added in the type of the output, if the scheme says so. */
static number sum_of(const cublas_told *t, const operands *o, int64_t i, int64_t j) {
    number sum = {0, 0};
    const int64_t parts = t->splits > 1 ? t->splits : 1;
    for (int64_t part = 0; part < parts; part++) {
        const number x = part_of_sum(t, o, i, j, t->k * part / parts, t->k * (part + 1) / parts);
        sum.re += x.re;
        sum.im += x.im;
        if (t->scheme == BP__CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE) {
            sum.re = in_type(t->d, sum.re);
        }
    }
    return sum;
}

static double function_of(uint32_t epilogue, double x) {
    if (double_has(CUBLAS_FAULT_FUNCTION)) {
        return x;
    }
    if (epilogue & BP__CUBLASLT_EPILOGUE_RELU) {
        return fmax(x, 0);
    }
    return epilogue & BP__CUBLASLT_EPILOGUE_GELU ? 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)))
                                                 : x;
}

static void compute_element(const product *p, const operands *o, int64_t i, int64_t j) {
    const cublas_told *t = &p->told;
    const int64_t at = i + j * t->ldd;
    const number alpha = double_has(CUBLAS_FAULT_ALPHA) ? (number){1, 0} : p->alpha;
    number x = times(alpha, sum_of(t, o, i, j));
    if (p->beta.re != 0 || p->beta.im != 0 || double_has(CUBLAS_FAULT_BETA)) {
        const number c = times(p->beta, double_read(t->d, o->d, at));
        x.re += c.re;
        x.im += c.im;
    }
    if ((t->epilogue & BP__CUBLASLT_EPILOGUE_BIAS) && !double_has(CUBLAS_FAULT_BIAS)) {
        x.re += double_read(t->d, o->bias, i).re;
    }
    x.re = function_of(t->epilogue, x.re);
    store(t->d, o->d, at, x);
}

/* The sums of the rows of op(A), or of the columns of op(B). */
static void sum_bias(const cublas_told *t, const operands *o) {
    const bool of_rows = t->epilogue & BP__CUBLASLT_EPILOGUE_BGRADA;
    const int64_t size = of_rows ? t->m : t->n;
    for (int64_t i = 0; i < size && !double_has(CUBLAS_FAULT_BIAS); i++) {
        number sum = {0, 0};
        for (int64_t l = 0; l < t->k; l++) {
            sum.re += of_rows ? of_a(t, o->a, i, l).re : of_b(t, o->b, l, i).re;
        }
        store(t->d, o->bias, i, sum);
    }
}

/* Fills the workspace, so that memory that another uses is noticed. */
static void use_workspace(const product *p) {
    const size_t size = p->told.workspace + (double_has(CUBLAS_FAULT_WORKSPACE) ? 64 : 0);
    if (p->told.workspace == 0) {
        return;
    }
    uint8_t *bytes = double_bytes(p->workspace, size);
    if (bytes) {
        memset(bytes, 0xFF, size);
    } else {
        double_violate("the workspace is not in the memory of a device");
    }
}

void double_run(product *p) {
    const cublas_told *t = &p->told;
    const bool has_bias =
        t->epilogue & (BP__CUBLASLT_EPILOGUE_BIAS | BP__CUBLASLT_EPILOGUE_BGRADA | BP__CUBLASLT_EPILOGUE_BGRADB);
    operands o = {.a = bytes_of(p->a, extent_a(t), t->ab),
                  .b = bytes_of(p->b, extent_b(t), t->ab),
                  .d = bytes_of(p->d, extent(t->m, t->n, t->ldd, t->stride_d, t->count), t->d),
                  .bias = NULL};
    o.bias = has_bias ? bytes_of(p->bias, t->epilogue & BP__CUBLASLT_EPILOGUE_BGRADB ? t->n : t->m, t->d) : NULL;
    if (!o.a || !o.b || !o.d || (has_bias && !o.bias)) {
        return;
    }
    use_workspace(p);
    const size_t ab = double_item(t->ab), d = double_item(t->d);
    for (int64_t item = 0; item < (double_has(CUBLAS_FAULT_BATCH) ? 1 : t->count); item++) {
        for (int64_t j = 0; j < t->n; j++) {
            for (int64_t i = 0; i < t->m; i++) {
                compute_element(p, &o, i, j);
            }
        }
        if (t->epilogue & (BP__CUBLASLT_EPILOGUE_BGRADA | BP__CUBLASLT_EPILOGUE_BGRADB)) {
            sum_bias(t, &o);
        }
        o.a += (size_t)t->stride_a * ab;
        o.b += (size_t)t->stride_b * ab;
        o.d += (size_t)t->stride_d * d;
    }
}
