/* support_layout.c - makes operands in all layouts and elements of all types. */
#include "native.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int parts_of(bp_dtype dtype) {
    return dtype == BP_C64 || dtype == BP_C128 ? 2 : 1;
}

/* Conversions of 16-bit floats by arithmetic on values, unlike the library's, which work on bits. */
static double decode(uint16_t bits, int exponent_bits, int mantissa_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1, exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    double mantissa = bits & ((1 << mantissa_bits) - 1), sign = bits >> 15 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) {
        return mantissa != 0 ? NAN : sign * INFINITY;
    }
    return sign * (exponent == 0 ? ldexp(mantissa, 1 - bias - mantissa_bits)
                                 : ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits));
}

static uint16_t encode(double value, int exponent_bits, int mantissa_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(((1 << exponent_bits) - 1) << mantissa_bits);
    if (isnan(value)) {
        return (uint16_t)(sign | infinity | 1 << (mantissa_bits - 1));
    }
    frexp(value, &exponent);
    int unit = (exponent - 1 < 1 - bias ? 1 - bias : exponent - 1) - mantissa_bits;
    double scaled = isinf(value) ? INFINITY : nearbyint(ldexp(fabs(value), -unit));
    double rounded = ldexp(scaled, unit);
    if (rounded >= ldexp(1, bias + 1)) {
        return (uint16_t)(sign | infinity);
    }
    if (rounded < ldexp(1, 1 - bias)) {
        return (uint16_t)(sign | (uint16_t)scaled);
    }
    frexp(rounded, &exponent);
    double mantissa = ldexp(rounded, mantissa_bits - exponent + 1) - (1 << mantissa_bits);
    return (uint16_t)(sign | (exponent - 1 + bias) << mantissa_bits | (int)mantissa);
}

/* Returns a table of all values of f16 or, if `brain`, bf16. */
static const double *decoded(bool brain) {
    static double values[2][65536];
    static bool ready;
    if (!ready) {
        for (int i = 0; i < 65536; i++) {
            values[0][i] = decode((uint16_t)i, 5, 10);
            values[1][i] = decode((uint16_t)i, 8, 7);
        }
        ready = true;
    }
    return values[brain];
}

double get_part(bp_dtype dtype, const void *at, int part) {
    switch (dtype) {
    case BP_F16:
    case BP_BF16:
        return decoded(dtype == BP_BF16)[*(const uint16_t *)at];
    case BP_F32:
    case BP_C64:
        return ((const float *)at)[part];
    default:
        return ((const double *)at)[part];
    }
}

void set_part(bp_dtype dtype, void *at, int part, double value) {
    switch (dtype) {
    case BP_F16:
        *(uint16_t *)at = encode(value, 5, 10);
        break;
    case BP_BF16:
        *(uint16_t *)at = encode(value, 8, 7);
        break;
    case BP_F32:
    case BP_C64:
        ((float *)at)[part] = (float)value;
        break;
    default:
        ((double *)at)[part] = value;
    }
}

static size_t size_of(bp_dtype dtype) {
    static const size_t size[] = {
        [BP_F16] = 2, [BP_BF16] = 2, [BP_F32] = 4, [BP_F64] = 8, [BP_C64] = 8, [BP_C128] = 16};
    return size[dtype];
}

static void strides_of(layout how, int64_t rows, int64_t columns, int64_t *row, int64_t *column) {
    switch (how) {
    case ROWS:
        *row = columns, *column = 1;
        break;
    case COLUMNS:
        *row = 1, *column = rows;
        break;
    case PADDED:
        *row = columns + 3, *column = 1;
        break;
    case STRIDED:
        *row = 2 * columns + 1, *column = 2;
        break;
    case BACKWARD:
        *row = -columns - 1, *column = -1;
        break;
    default:
        *row = 0, *column = 1;
        break;
    }
}

/* Returns the elements from the lowest to the highest address; *origin is the index of (0, 0) among them. */
static int64_t span_of(int64_t rows, int64_t columns, int64_t row, int64_t column, int64_t *origin) {
    if (rows == 0 || columns == 0) {
        *origin = 0;
        return 0;
    }
    int64_t low = 0, high = 0;
    int64_t ends[2] = {(rows - 1) * row, (columns - 1) * column};
    for (int i = 0; i < 2; i++) {
        *(ends[i] < 0 ? &low : &high) += ends[i];
    }
    *origin = -low;
    return high - low + 1;
}

/* Returns NUMBERS numbers in [-1, 1), or small integers if `whole`. They are made once for each type and repeated.
 * NUMBERS is prime, so that no two rows of a matrix are equal. */
#define NUMBERS 4099
static const char *numbers_of(bp_dtype dtype, bool whole) {
    static char *cache[2][BP_C128 + 1];
    char **numbers = &cache[whole][dtype];
    if (!*numbers) {
        *numbers = malloc(NUMBERS * size_of(dtype));
        assert_non_null(*numbers);
        unsigned seed = 12345;
        for (int i = 0; i < NUMBERS * parts_of(dtype); i++) {
            seed = seed * 1664525u + 1013904223u;
            int high = (int)(seed >> 16);
            void *at = *numbers + (size_t)(i / parts_of(dtype)) * size_of(dtype);
            set_part(dtype, at, i % parts_of(dtype), whole ? high % 7 - 3 : (high - 32768) / 32768.0);
        }
    }
    return *numbers;
}

static void fill(void *memory, size_t count, bp_dtype dtype, unsigned seed, bool whole) {
    const char *numbers = numbers_of(dtype, whole);
    size_t size = size_of(dtype), from = seed * 2654435761u % NUMBERS;
    for (size_t done = 0; done < count; from = 0) {
        size_t chunk = NUMBERS - from < count - done ? NUMBERS - from : count - done;
        memcpy((char *)memory + done * size, numbers + from * size, chunk * size);
        done += chunk;
    }
}

static bp_factor class_of(bp_scalar factor, bool any) {
    if (any || factor.im != 0 || (factor.re != 0 && factor.re != 1)) {
        return BP_FACTOR_ANY;
    }
    return factor.re == 0 ? BP_FACTOR_ZERO : BP_FACTOR_ONE;
}

void *element(const operands *o, int operand, int64_t item, int64_t i, int64_t j) {
    const bp_gemm_problem *g = &o->problem.of.gemm;
    const int64_t row[] = {g->a_row, g->b_row, g->c_row}, column[] = {g->a_column, g->b_column, g->c_column};
    const int64_t step[] = {g->batch_a[0], g->batch_b[0], g->batch_c[0]};
    return o->first[operand] + (item * step[operand] + i * row[operand] + j * column[operand]) *
                                   (int64_t)size_of((bp_dtype)o->problem.dtype);
}

void make_operands(operands *o, const product *p) {
    memset(o, 0, sizeof *o);
    o->problem.struct_size = sizeof o->problem;
    o->problem.op = BP_OP_GEMM;
    o->problem.dtype = p->dtype;
    o->problem.policy.threads = p->threads;
    o->problem.policy.capability = (uint8_t)(p->set == KERNELS_WIDE         ? KERNELS_AVX2
                                             : p->set == KERNELS_BF16       ? KERNELS_AVX512
                                             : p->set == KERNELS_BF16_MODEL ? KERNELS_DEFAULT
                                                                            : p->set);
    bp_gemm_problem *g = &o->problem.of.gemm;
    g->m = p->m, g->n = p->n, g->k = p->k;
    g->conjugate_a = p->conjugate_a, g->conjugate_b = p->conjugate_b;
    g->alpha = (uint8_t)class_of(p->alpha, p->any_factors), g->beta = (uint8_t)class_of(p->beta, p->any_factors);
    strides_of(p->a, p->m, p->k, &g->a_row, &g->a_column);
    strides_of(p->b, p->k, p->n, &g->b_row, &g->b_column);
    strides_of(p->c, p->m, p->n, &g->c_row, &g->c_column);
    g->batch = p->batch;
    g->batch_ndim = p->batch == 1 ? 0 : 1;
    g->batch_shape[0] = p->batch == 1 ? 0 : p->batch;
    const int64_t rows[] = {p->m, p->k, p->m}, columns[] = {p->k, p->n, p->n};
    const int64_t row[] = {g->a_row, g->b_row, g->c_row}, column[] = {g->a_column, g->b_column, g->c_column};
    int64_t *const step[] = {g->batch_a, g->batch_b, g->batch_c};
    for (int i = 0; i < 3; i++) {
        int64_t origin, span = span_of(rows[i], columns[i], row[i], column[i], &origin);
        int64_t items = i == 1 && p->share_b ? 1 : p->batch;
        *step[i] = items == 1 ? 0 : span;
        size_t size = size_of(p->dtype);
        o->bytes[i] = (size_t)(span * items) * size;
        o->memory[i] = malloc(o->bytes[i] > 0 ? o->bytes[i] : 1);
        assert_non_null(o->memory[i]);
        o->first[i] = (char *)o->memory[i] + (size_t)origin * size;
        fill(o->memory[i], (size_t)(span * items), p->dtype, p->seed + (unsigned)i, p->whole_numbers);
    }
}

void free_operands(operands *o) {
    for (int i = 0; i < 3; i++) {
        free(o->memory[i]);
    }
}
