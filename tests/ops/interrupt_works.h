/* interrupt_works.h - defines the long operations that test_interrupt.c stops: one for each kind of loop. */
#ifndef BP_TESTS_INTERRUPT_WORKS_H
#define BP_TESTS_INTERRUPT_WORKS_H

#include "backplane.h"
#include "support/arrays.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OUTPUTS = 3 };

/* ---- Operations with operands ---- */

typedef struct tensor {
    bp_view view;
    char *memory;
    size_t bytes;
} tensor;

typedef struct work work;
struct work {
    bp_status (*run)(work *w);
    tensor a, b, out[OUTPUTS];
    bp_op op;
    bp_linalg_mode mode;
    double order;
    bp_fft_transform transform;
    const char *expression;
    int64_t length; /* of the transform */
    int ndim;
    const int *dims; /* of a vector norm; NULL: all */
    int64_t groups;  /* of a convolution */
    bp_conv_pass pass;
};

static void fill(tensor *t, bp_dtype dtype) {
    const bool single = dtype == BP_F32 || dtype == BP_C64;
    for (size_t i = 0; i < t->bytes / (single ? 4 : 8); i++) {
        const double x = test_array_uniform();
        if (single) {
            ((float *)(void *)t->memory)[i] = (float)x;
        } else {
            ((double *)(void *)t->memory)[i] = x;
        }
    }
}

/* Makes a tensor. A negative size makes a dimension of that many elements with stride 0. */
static void make(tensor *t, bp_dtype dtype, int ndim, const int64_t *sizes) {
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM], elements = 1;
    for (int i = ndim - 1; i >= 0; i--) {
        shape[i] = sizes[i] < 0 ? -sizes[i] : sizes[i];
        strides[i] = sizes[i] < 0 ? 0 : elements;
        elements *= sizes[i] < 0 ? 1 : sizes[i];
    }
    t->bytes = (size_t)elements * bp_dtype_size(dtype);
    t->memory = malloc(t->bytes);
    assert_non_null(t->memory);
    fill(t, dtype);
    assert_int_equal(bp_view_init(&t->view, t->memory, dtype, ndim, shape, strides), BP_OK);
}

#define MAKE(tensor, dtype, ...)                                                                                       \
    make(tensor, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})

static void drop(work *w) {
    free(w->a.memory);
    free(w->b.memory);
    for (int i = 0; i < OUTPUTS; i++) {
        free(w->out[i].memory);
    }
}

static bp_status run_product(work *w) {
    return bp_matmul(&w->a.view.tensor, &w->b.view.tensor, &w->out[0].view.tensor);
}

static bp_status run_linalg(work *w) {
    bp_linalg_call call = {.struct_size = sizeof call,
                           .op = w->op,
                           .mode = w->mode,
                           .order = w->order,
                           .axes = w->dims,
                           .axis_count = w->dims ? w->ndim : 0};
    call.input[0] = &w->a.view.tensor;
    for (int i = 0; i < OUTPUTS; i++) {
        call.output[i] = w->out[i].memory ? &w->out[i].view.tensor : NULL;
    }
    return bp_linalg_run(NULL, &call);
}

static bp_status run_transform(work *w) {
    bp_fft_call call = {.struct_size = sizeof call, .transform = w->transform, .axis_count = w->ndim};
    call.s = w->length ? &w->length : NULL;
    return bp_fft_run(NULL, &call, &w->a.view.tensor, &w->out[0].view.tensor);
}

static bp_status run_einsum(work *w) {
    const DLTensor *operands[] = {&w->a.view.tensor, &w->b.view.tensor};
    return bp_einsum(w->expression, w->b.memory ? 2 : 1, operands, &w->out[0].view.tensor);
}

static bp_status run_copy(work *w) {
    return bp_tensor_copy(&w->out[0].view.tensor, &w->a.view.tensor);
}

static void small_products(work *w) {
    w->run = run_product;
    MAKE(&w->a, BP_F64, -25000, 12, 12);
    MAKE(&w->b, BP_F64, -25000, 12, 12);
    MAKE(&w->out[0], BP_F64, 25000, 12, 12);
}

static void products(work *w) {
    w->run = run_product;
    MAKE(&w->a, BP_F64, -120, 96, 300);
    MAKE(&w->b, BP_F64, -120, 300, 96);
    MAKE(&w->out[0], BP_F64, 120, 96, 96);
}

static void large_product(work *w) {
    w->run = run_product;
    MAKE(&w->a, BP_F64, 640, 640);
    MAKE(&w->b, BP_F64, 640, 640);
    MAKE(&w->out[0], BP_F64, 640, 640);
}

/* The part of each of three threads is long enough to be cut: the check is run between two parts of the same thread. */
static void long_vector_product(work *w) {
    w->run = run_product;
    MAKE(&w->a, BP_F32, -12000, 12000);
    MAKE(&w->b, BP_F32, 12000);
    MAKE(&w->out[0], BP_F32, 12000);
}

static void rounded_product(work *w) {
    w->run = run_product;
    MAKE(&w->a, BP_F32, 2000, 2000);
    MAKE(&w->b, BP_F32, 2000);
    MAKE(&w->out[0], BP_F32, 2000);
}

static void singular_values(work *w, int64_t items, int64_t n) {
    w->run = run_linalg;
    w->op = BP_OP_SVD;
    MAKE(&w->a, BP_F64, items, n, n);
    MAKE(&w->out[0], BP_F64, items, n, n);
    MAKE(&w->out[1], BP_F64, items, n);
    MAKE(&w->out[2], BP_F64, items, n, n);
}

static void small_matrices(work *w) {
    singular_values(w, 10000, 8);
}

static void matrices(work *w) {
    singular_values(w, 80, 40);
}

static void norms(work *w) {
    w->run = run_linalg;
    w->op = BP_OP_MATRIX_NORM;
    w->mode = BP_NORM_FRO;
    MAKE(&w->a, BP_F64, -200000, 12, 12);
    MAKE(&w->out[0], BP_F64, 200000);
}

static void large_norm(work *w) {
    w->run = run_linalg;
    w->op = BP_OP_MATRIX_NORM;
    w->mode = BP_NORM_P;
    w->order = 1;
    MAKE(&w->a, BP_F64, -8000, 8000);
    MAKE(&w->out[0], BP_F64, 1);
    w->out[0].view.tensor.ndim = 0;
}

/* The norm of all elements of a tensor, which are multiplied by `factor` before. */
static void vector_norm(work *w, bp_dtype dtype, double order, int64_t rows, int64_t columns, double factor) {
    w->run = run_linalg;
    w->op = BP_OP_VECTOR_NORM;
    w->mode = BP_NORM_P;
    w->order = order;
    MAKE(&w->a, dtype, rows, columns);
    for (size_t i = 0; i < w->a.bytes / sizeof(double); i++) {
        ((double *)(void *)w->a.memory)[i] *= factor;
    }
    MAKE(&w->out[0], BP_F64, 1);
    w->out[0].view.tensor.ndim = 0;
}

static void squares(work *w) {
    vector_norm(w, BP_F64, 2, -3000, 3000, 1);
}

/* Squares that underflow: the largest element is found first. */
static void scaled_squares(work *w) {
    vector_norm(w, BP_F64, 2, 1, 2000000, 1e-200);
}

static void small_moduli(work *w) {
    vector_norm(w, BP_C128, 1, 1, 300000, 1e-200);
}

static void largest_modulus(work *w) {
    vector_norm(w, BP_C128, (double)INFINITY, 1, 300000, 1);
}

static void nonzeros(work *w) {
    vector_norm(w, BP_F64, 0, -2000, 2000, 1);
}

static void powers(work *w) {
    vector_norm(w, BP_F64, 3, 1, 150000, 1);
}

/* Neighbours in the batch advance together. */
static void vector_norms(work *w) {
    static const int first[] = {0};
    w->run = run_linalg;
    w->op = BP_OP_VECTOR_NORM;
    w->dims = first;
    w->ndim = 1;
    MAKE(&w->a, BP_F64, 30, 100000);
    MAKE(&w->out[0], BP_F64, 100000);
}

static void pseudo_inverse(work *w) {
    w->run = run_linalg;
    w->op = BP_OP_PINV;
    MAKE(&w->a, BP_F64, 200, 200);
    MAKE(&w->out[0], BP_F64, 200, 200);
}

static void condition(work *w) {
    w->run = run_linalg;
    w->op = BP_OP_COND;
    w->mode = BP_NORM_P;
    w->order = 1;
    MAKE(&w->a, BP_F64, 400, 400);
    MAKE(&w->out[0], BP_F64, 1);
    w->out[0].view.tensor.ndim = 0;
}

static void factors(work *w) {
    w->run = run_linalg;
    w->op = BP_OP_QR;
    MAKE(&w->a, BP_F64, 400, 400);
    MAKE(&w->out[0], BP_F64, 400, 400);
    MAKE(&w->out[1], BP_F64, 400, 400);
}

static void transforms(work *w) {
    w->run = run_transform;
    w->transform = BP_FFT;
    w->ndim = 1;
    MAKE(&w->a, BP_C128, 2, 1000, 1000);
    MAKE(&w->out[0], BP_C128, 2, 1000, 1000);
}

static void large_transform(work *w, int64_t n) {
    w->run = run_transform;
    w->transform = BP_FFT;
    w->ndim = 1;
    MAKE(&w->a, BP_C128, n);
    MAKE(&w->out[0], BP_C128, n);
}

static void smooth_transform(work *w) {
    large_transform(w, 1 << 20);
}

static void prime_transform(work *w) {
    large_transform(w, 300007);
}

static void plane_transform(work *w) {
    w->run = run_transform;
    w->transform = BP_FFT;
    w->ndim = 2;
    MAKE(&w->a, BP_C128, 1000, 1000);
    MAKE(&w->out[0], BP_C128, 1000, 1000);
}

/* Short transforms with long zero padding, so that the copy takes most of the time. */
static void padded_transform(work *w) {
    w->run = run_transform;
    w->transform = BP_FFT;
    w->ndim = 1;
    w->length = 4;
    MAKE(&w->a, BP_C128, 300000, 3);
    MAKE(&w->out[0], BP_C128, 300000, 4);
}

static void filled_transform(work *w) {
    w->run = run_transform;
    w->transform = BP_FFT;
    w->ndim = 1;
    MAKE(&w->a, BP_F64, 2000, 1000);
    MAKE(&w->out[0], BP_C128, 2000, 1000);
}

static void sum(work *w) {
    w->run = run_einsum;
    w->expression = "ab->";
    MAKE(&w->a, BP_F64, 3000, 3000);
    MAKE(&w->out[0], BP_F64, 1);
    w->out[0].view.tensor.ndim = 0;
}

static void sums(work *w) {
    w->run = run_einsum;
    w->expression = "abc->ac";
    MAKE(&w->a, BP_F64, 20, -7000, 500);
    MAKE(&w->out[0], BP_F64, 20, 500);
}

static void turned(work *w) {
    w->run = run_einsum;
    w->expression = "abc->cba";
    MAKE(&w->a, BP_F64, 160, 160, 160);
    MAKE(&w->out[0], BP_F64, 160, 160, 160);
}

static void copied(work *w) {
    w->run = run_copy;
    MAKE(&w->a, BP_F32, -2000, 3000);
    MAKE(&w->out[0], BP_F64, 2000, 3000);
}

/* Convolutions of a with b, or the gradient by the weight out[0]. */
static bp_status run_convolution(work *w) {
    const bool weight = w->pass == BP_CONV_WEIGHT;
    const bp_conv_call call = {.struct_size = sizeof call,
                               .pass = w->pass,
                               .ndim = w->a.view.tensor.ndim - 2,
                               .mode = BP_CONV_SAME,
                               .groups = w->groups,
                               .input = &w->a.view.tensor,
                               .weight = weight ? NULL : &w->b.view.tensor,
                               .output = weight ? NULL : &w->out[0].view.tensor,
                               .output_gradient = weight ? &w->b.view.tensor : NULL,
                               .weight_gradient = weight ? &w->out[0].view.tensor : NULL};
    return bp_conv_run(NULL, &call);
}

static void convolution(work *w) {
    w->run = run_convolution;
    MAKE(&w->a, BP_F32, 1, 64, 160, 160);
    MAKE(&w->b, BP_F32, 64, 64, 3, 3);
    MAKE(&w->out[0], BP_F32, 1, 64, 160, 160);
}

static void depthwise_convolution(work *w) {
    w->run = run_convolution;
    w->groups = 512;
    MAKE(&w->a, BP_F32, 1, 512, 80, 80);
    MAKE(&w->b, BP_F32, 512, 1, 15, 15);
    MAKE(&w->out[0], BP_F32, 1, 512, 80, 80);
}

static void weight_gradient(work *w) {
    w->run = run_convolution;
    w->pass = BP_CONV_WEIGHT;
    MAKE(&w->a, BP_F32, 1, 64, 160, 160);
    MAKE(&w->b, BP_F32, 1, 64, 160, 160);
    MAKE(&w->out[0], BP_F32, 64, 64, 3, 3);
}

/* An operation, its settings, and the word for it in the message of a stopped call. */
static const struct job {
    const char *name, *settings, *word, *library; /* NULL: no library needed */
    void (*make)(work *w);
} jobs[] = {
    {"small products", "blas.preferred=native", "gemm", NULL, small_products},
    {"products in panels", "blas.preferred=native", "gemm", NULL, products},
    {"a large product", "blas.preferred=native", "gemm", NULL, large_product},
    {"a long product with a vector", "blas.preferred=native", "gemm", NULL, long_vector_product},
    {"a product of rounded operands", "blas.preferred=native, simulate.tf32=on", "gemm", NULL, rounded_product},
    {"small matrices", "linalg.preferred=native", "svd", NULL, small_matrices},
    {"norms", "linalg.preferred=native", "matrix_norm", NULL, norms},
    {"a large norm", "linalg.preferred=native", "matrix_norm", NULL, large_norm},
    {"squares", "linalg.preferred=native", "vector_norm", NULL, squares},
    {"scaled squares", "linalg.preferred=native", "vector_norm", NULL, scaled_squares},
    {"small moduli", "linalg.preferred=native", "vector_norm", NULL, small_moduli},
    {"the largest modulus", "linalg.preferred=native", "vector_norm", NULL, largest_modulus},
    {"elements other than 0", "linalg.preferred=native", "vector_norm", NULL, nonzeros},
    {"powers", "linalg.preferred=native", "vector_norm", NULL, powers},
    {"vector norms", "linalg.preferred=native", "vector_norm", NULL, vector_norms},
    {"transforms", "fft.preferred=native", "fft", NULL, transforms},
    {"a transform in parts", "fft.preferred=native", "fft", NULL, smooth_transform},
    {"a transform of prime length", "fft.preferred=native", "fft", NULL, prime_transform},
    {"a transform of a plane", "fft.preferred=native", "fft", NULL, plane_transform},
    {"padded transforms", "fft.preferred=native", "fft", NULL, padded_transform},
    {"filled transforms", "fft.preferred=native", "fft", NULL, filled_transform},
    {"a convolution in panels", "conv.preferred=native:implicit", "conv", NULL, convolution},
    {"a convolution by Winograd", "conv.preferred=native:winograd", "conv", NULL, convolution},
    {"a convolution by transforms", "conv.preferred=native:fft", "conv", NULL, convolution},
    {"a depthwise convolution", "conv.preferred=native:direct", "conv", NULL, depthwise_convolution},
    {"depthwise transforms", "conv.preferred=native:fft", "conv", NULL, depthwise_convolution},
    {"a gradient by the weight", "conv.preferred=native", "conv_weight", NULL, weight_gradient},
    {"a sum", "", "einsum", NULL, sum},
    {"sums", "", "einsum", NULL, sums},
    {"a transposed copy", "", "einsum", NULL, turned},
    {"a converted copy", "", "the copy of a tensor", NULL, copied},
    {"products on a library", "blas.preferred=openblas", "gemm", "openblas", products},
    {"products under a lock", "blas.preferred=openblas, deterministic=run", "gemm", "openblas", products},
    {"matrices on a library", "linalg.preferred=openblas", "svd", "openblas", matrices},
    {"matrices under a lock", "linalg.preferred=openblas, deterministic=run", "svd", "openblas", matrices},
    {"a pseudo-inverse", "linalg.preferred=openblas", "pinv", "openblas", pseudo_inverse},
    {"a condition number", "linalg.preferred=openblas", "cond", "openblas", condition},
    {"factors", "linalg.preferred=openblas", "qr", "openblas", factors},
    {"matrices on MKL", "linalg.preferred=mkl", "svd", "mkl", matrices},
    {"transforms on MKL", "fft.preferred=mkl, deterministic=threads", "fft", "mkl", transforms},
    {"transforms on FFTW", "fft.preferred=fftw, deterministic=threads", "fft", "fftw", transforms},
};

#endif
