/* product_rules.c - what the provider of cuBLASLt and cuBLAS assumes of products and linear layers: values and
 * settings, checked on a real device. The doubles in tests/cublas/doubles keep the same rules. */
#include "matrices.h"

#include <math.h>
#include <string.h>

static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128};
enum { TYPES = sizeof types / sizeof types[0] };

/* Checks that the library of the setting has run, and not the other one. */
static outcome ran_by(const char *name) {
    bp_plan_info info = {.struct_size = sizeof info};
    LIBRARY(bp_last_plan(&info));
    return strncmp(info.library, name, strlen(name)) == 0 && (strcmp(name, "cublas") != 0 || info.library[6] != 'l')
               ? PASSED
               : fail("'%s' has run in place of '%s'", info.library, name);
}

static double element(const matrix *m, bool transposed, int64_t i, int64_t j) {
    return transposed ? m->values[j * m->shape[1] + i] : m->values[i * m->shape[1] + j];
}

/* ---- Values ---- */

static outcome check_product(int library, bp_dtype dtype, bool turn_a, bool turn_b, bool turn_c) {
    enum { M = 12, N = 20, K = 12 };
    static matrix a, b, c, before;
    const bp_scalar alpha = {2, 0}, beta = {-1, 0};
    char settings[256];
    snprintf(settings, sizeof settings, "cuda.preferred_blas_library=%s", library_names[library]);
    NEEDS(new_matrix(&a, dtype, turn_a ? K : M, turn_a ? M : K, false, 0));
    NEEDS(new_matrix(&b, dtype, turn_b ? N : K, turn_b ? K : N, false, 0));
    NEEDS(new_matrix(&c, dtype, M, N, turn_c, 0));
    before = c;
    NEEDS(multiply(settings, turn_a, turn_b, &alpha, &a, &b, &beta, &c));
    NEEDS(ran_by(library_names[library]));
    NEEDS(read_matrix(&c));
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) {
                sum += element(&a, turn_a, i, k) * element(&b, turn_b, k, j);
            }
            const double expected = 2 * sum - before.values[i * N + j], found = c.values[i * N + j];
            if (found != expected) {
                return fail("%s, %s, %d%d%d: element %d, %d is %g, not %g", library_names[library],
                            bp_dtype_name(dtype), turn_a, turn_b, turn_c, i, j, found, expected);
            }
        }
    }
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
    return PASSED;
}

static outcome values_are_right(void) {
    NEEDS(open_products());
    for (int library = 0; library < LIBRARIES; library++) {
        for (int t = 0; t < TYPES; t++) {
            for (int bits = 0; bits < 8; bits++) {
                NEEDS(check_product(library, types[t], bits & 1, bits & 2, bits & 4));
            }
        }
    }
    return PASSED;
}

static outcome c_is_not_read(void) {
    static matrix a, b, c;
    static uint8_t bytes[ELEMENTS * ITEM_MOST];
    NEEDS(open_products());
    for (int library = 0; library < LIBRARIES; library++) {
        char settings[64];
        snprintf(settings, sizeof settings, "cuda.preferred_blas_library=%s", library_names[library]);
        NEEDS(new_matrix(&a, BP_F32, SIDE, SIDE, false, 0));
        NEEDS(new_matrix(&b, BP_F32, SIDE, SIDE, false, 0));
        NEEDS(new_matrix(&c, BP_F32, SIDE, SIDE, false, 0));
        for (int i = 0; i < ELEMENTS; i++) {
            c.values[i] = NAN;
        }
        NEEDS(write_matrix(&c, bytes, NULL));
        NEEDS(multiply(settings, 0, 0, NULL, &a, &b, NULL, &c));
        NEEDS(read_matrix(&c));
        for (int i = 0; i < ELEMENTS; i++) {
            HOLDS(!isnan(c.values[i]));
        }
        a.values[0] = NAN; /* and NaN of an operand reaches its row */
        NEEDS(write_matrix(&a, bytes, NULL));
        NEEDS(multiply(settings, 0, 0, NULL, &a, &b, NULL, &c));
        NEEDS(read_matrix(&c));
        for (int j = 0; j < SIDE; j++) {
            HOLDS(isnan(c.values[j]) && !isnan(c.values[SIDE + j]));
        }
        free_matrix(&a);
        free_matrix(&b);
        free_matrix(&c);
    }
    return PASSED;
}

static outcome bytes_are_summed(void) {
    static matrix a, b, c;
    NEEDS(open_products());
    NEEDS(new_matrix(&a, BP_I8, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&b, BP_I8, SIDE, SIDE, true, 0));
    NEEDS(new_matrix(&c, BP_I32, SIDE, SIDE, false, 0));
    NEEDS(multiply("num_threads=1", 0, 0, NULL, &a, &b, NULL, &c));
    NEEDS(read_matrix(&c));
    for (int i = 0; i < ELEMENTS; i++) {
        double sum = 0;
        for (int k = 0; k < SIDE; k++) {
            sum += a.values[i / SIDE * SIDE + k] * b.values[k * SIDE + i % SIDE];
        }
        HOLDS(c.values[i] == sum);
    }
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
    return PASSED;
}

/* The heuristic is asked again for such addresses, and its algorithm runs. */
static outcome odd_addresses_work(void) {
    static const size_t past[] = {2, 4, 8, 16, 48};
    static matrix a, b, c, aligned;
    NEEDS(open_products());
    NEEDS(new_matrix(&aligned, BP_F16, SIDE, SIDE, false, 0));
    for (int library = 0; library < LIBRARIES; library++) {
        char settings[64];
        snprintf(settings, sizeof settings, "cuda.preferred_blas_library=%s", library_names[library]);
        for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
            NEEDS(new_matrix(&a, BP_F16, SIDE, SIDE, false, past[i]));
            NEEDS(new_matrix(&b, BP_F16, SIDE, SIDE, false, past[i]));
            NEEDS(new_matrix(&c, BP_F16, SIDE, SIDE, false, past[i]));
            NEEDS(multiply(settings, 0, 0, NULL, &a, &b, NULL, &c));
            NEEDS(ran_by(library_names[library]));
            NEEDS(multiply(settings, 0, 0, NULL, &a, &b, NULL, &aligned));
            NEEDS(read_matrix(&c));
            NEEDS(read_matrix(&aligned));
            HOLDS(memcmp(c.values, aligned.values, sizeof c.values) == 0);
            free_matrix(&a);
            free_matrix(&b);
            free_matrix(&c);
        }
    }
    free_matrix(&aligned);
    return PASSED;
}

/* ---- Settings ---- */

/* Multiplies a matrix with one element above 1 by ones, and reads the sum of the first row. */
static outcome sum_of_row(bp_dtype dtype, double first, double second, const char *settings, double *sum) {
    static matrix a, b, c;
    static uint8_t bytes[2][ELEMENTS * ITEM_MOST];
    NEEDS(new_matrix(&a, dtype, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&b, dtype, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&c, dtype, SIDE, SIDE, false, 0));
    for (int i = 0; i < ELEMENTS; i++) {
        a.values[i] = i == 0 ? first : i < SIDE ? second : 0;
        b.values[i] = 1;
    }
    NEEDS(write_matrix(&a, bytes[0], NULL));
    NEEDS(write_matrix(&b, bytes[1], NULL));
    NEEDS(multiply(settings, 0, 0, NULL, &a, &b, NULL, &c));
    NEEDS(read_matrix(&c));
    *sum = c.values[0];
    free_matrix(&a);
    free_matrix(&b);
    free_matrix(&c);
    return PASSED;
}

static outcome tf32_rounds(void) {
    bp_device_info info = {.struct_size = sizeof info};
    NEEDS(open_products());
    LIBRARY(bp_device_describe(gpu_place, &info));
    for (int library = 0; library < LIBRARIES; library++) {
        char settings[128];
        double sum = 0;
        snprintf(settings, sizeof settings, "cuda.preferred_blas_library=%s", library_names[library]);
        NEEDS(sum_of_row(BP_F32, 1 + 0x1p-14, 0, settings, &sum));
        HOLDS(sum == 1 + 0x1p-14);
        snprintf(settings, sizeof settings, "cuda.preferred_blas_library=%s, cuda.matmul.allow_tf32=true",
                 library_names[library]);
        NEEDS(sum_of_row(BP_F32, 1 + 0x1p-14, 0, settings, &sum));
        note("%s: 1 + 2^-14 with allow_tf32 is %.9g", library_names[library], sum);
        HOLDS(info.capability < 800 || sum == 1);
    }
    return PASSED;
}

/* 31 parts of one half unit each are lost in f16, and not in f32. */
static outcome sums_of_f16_are_exact(void) {
    static const char off[] = "cuda.matmul.allow_fp16_reduced_precision_reduction=false, ";
    double sum = 0;
    NEEDS(open_products());
    for (int library = 0; library < LIBRARIES; library++) {
        char settings[192];
        snprintf(settings, sizeof settings, "%scuda.preferred_blas_library=%s", off, library_names[library]);
        NEEDS(sum_of_row(BP_F16, 2048, 1, settings, &sum));
        HOLDS(sum == 2080); /* 2079, rounded once */
    }
    NEEDS(sum_of_row(BP_F16, 2048, 1, "cuda.matmul.allow_fp16_accumulation=true", &sum));
    note("2048 and 31 ones, accumulated in f16: %g", sum);
    HOLDS(sum >= 2048 && sum <= 2080);
    return PASSED;
}

static outcome bits_repeat(void) {
    static matrix a, b, c;
    static double first[ELEMENTS];
    NEEDS(open_products());
    for (int t = 0; t < TYPES; t++) {
        NEEDS(new_matrix(&a, types[t], SIDE, SIDE, false, 0));
        NEEDS(new_matrix(&b, types[t], SIDE, SIDE, false, 0));
        NEEDS(new_matrix(&c, types[t], SIDE, SIDE, false, 0));
        for (int i = 0; i < 20; i++) {
            NEEDS(multiply("deterministic=run", 0, 0, &(bp_scalar){0.3, 0}, &a, &b, NULL, &c));
            NEEDS(read_matrix(&c));
            if (i == 0) {
                memcpy(first, c.values, sizeof first);
            }
            HOLDS(memcmp(first, c.values, sizeof first) == 0);
        }
        free_matrix(&a);
        free_matrix(&b);
        free_matrix(&c);
    }
    return PASSED;
}

/* ---- Layers ---- */

static double gelu_tanh(double x) {
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

/* Returns the only row of a matrix as a vector. */
static DLTensor row_of(matrix *m) {
    DLTensor row = m->tensor;
    row.ndim = 1;
    row.shape = &m->shape[1];
    row.strides = &m->strides[1];
    return row;
}

/* Runs a layer whose weight is the unit matrix, so that outputs are function(input + bias). */
static outcome check_layer(bp_dtype dtype, bp_unary_kind function, double tolerance) {
    static matrix x, w, y, bias;
    static uint8_t bytes[ELEMENTS * ITEM_MOST];
    NEEDS(new_matrix(&x, dtype, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&w, dtype, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&y, dtype, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&bias, dtype, 1, SIDE, false, 0));
    for (int i = 0; i < ELEMENTS; i++) {
        w.values[i] = i / SIDE == i % SIDE;
    }
    NEEDS(write_matrix(&w, bytes, NULL));
    const DLTensor vector = row_of(&bias);
    const bp_linear_call call = {.struct_size = sizeof call,
                                 .activation = function,
                                 .input = &x.tensor,
                                 .weight = &w.tensor,
                                 .bias = &vector,
                                 .output = &y.tensor};
    LIBRARY(bp_linear_run(NULL, &call));
    NEEDS(read_matrix(&y));
    for (int i = 0; i < ELEMENTS; i++) {
        const double sum = x.values[i] + bias.values[i % SIDE];
        const double expected = function == BP_UNARY_RELU ? fmax(sum, 0) : function ? gelu_tanh(sum) : sum;
        if (!(fabs(y.values[i] - expected) <= tolerance)) {
            return fail("%s, function %d: %g gives %g, not %g", bp_dtype_name(dtype), (int)function, sum, y.values[i],
                        expected);
        }
    }
    if (function == BP_UNARY_RELU) {
        x.values[0] = NAN;
        NEEDS(write_matrix(&x, bytes, NULL));
        LIBRARY(bp_linear_run(NULL, &call));
        NEEDS(read_matrix(&y));
        note("%s: relu of NaN is %g", bp_dtype_name(dtype), y.values[0]);
    }
    matrix *const all[] = {&x, &w, &y, &bias};
    for (int i = 0; i < 4; i++) {
        free_matrix(all[i]);
    }
    return PASSED;
}

static outcome layers_are_right(void) {
    NEEDS(open_products());
    for (int t = 0; t < 3; t++) {
        NEEDS(check_layer(types[t], BP_UNARY_COPY, 0));
        NEEDS(check_layer(types[t], BP_UNARY_RELU, 0));
        NEEDS(check_layer(types[t], BP_UNARY_GELU_TANH, t == 0 ? 4e-3 : t == 1 ? 4e-2 : 1e-5));
    }
    return PASSED;
}

static outcome bias_gradients_are_sums(void) {
    static matrix x, y, w, bias;
    NEEDS(open_products());
    NEEDS(new_matrix(&x, BP_F16, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&y, BP_F16, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&w, BP_F16, SIDE, SIDE, false, 0));
    NEEDS(new_matrix(&bias, BP_F16, 1, SIDE, false, 0));
    DLTensor vector = row_of(&bias);
    const bp_linear_call call = {.struct_size = sizeof call,
                                 .pass = BP_LINEAR_WEIGHT,
                                 .input = &x.tensor,
                                 .output_gradient = &y.tensor,
                                 .weight_gradient = &w.tensor,
                                 .bias_gradient = &vector};
    LIBRARY(bp_linear_run(NULL, &call));
    NEEDS(read_matrix(&bias));
    for (int j = 0; j < SIDE; j++) {
        double sum = 0;
        for (int i = 0; i < SIDE; i++) {
            sum += y.values[i * SIDE + j];
        }
        HOLDS(bias.values[j] == sum);
    }
    matrix *const all[] = {&x, &y, &w, &bias};
    for (int i = 0; i < 4; i++) {
        free_matrix(all[i]);
    }
    return PASSED;
}

const rule product_rules[] = {
    {"products.values", "Products of all types and transpositions are right, with both libraries.", values_are_right},
    {"products.nan", "C is not read if beta is 0, and NaN of an operand reaches the result.", c_is_not_read},
    {"products.bytes", "Products of i8 have exact sums in i32.", bytes_are_summed},
    {"products.addresses", "Operands at addresses that are multiples of 2 bytes only are multiplied.",
     odd_addresses_work},
    {"products.tf32", "f32 is rounded to TF32 with cuda.matmul.allow_tf32, and not without.", tf32_rounds},
    {"products.reductions", "Sums of f16 are exact without reductions in f16.", sums_of_f16_are_exact},
    {"products.repeat", "Products are bitwise reproducible under deterministic=run.", bits_repeat},
    {"products.layers", "Linear layers add a bias and apply relu and the GELU with tanh.", layers_are_right},
    {"products.gradients", "The gradient by a bias is the sum of rows.", bias_gradients_are_sums},
    {NULL, NULL, NULL},
};
