/* limited.h - operations of each family, with checks of their results, for processes under limits. SIDE and IMAGE are
 * defined by the test: the sizes of matrices and of the images of a convolution. The test includes cmocka before. */
#ifndef TESTS_DISPATCH_LIMITED_H
#define TESTS_DISPATCH_LIMITED_H

#include "backplane.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

enum { ELEMENTS = SIDE * SIDE };

/* How a child ends. Libraries use small numbers. */
enum { COMPUTED = 40, NO_MEMORY, NOT_OFFERED, WRONG, TOUCHED, FAILED, NO_REASON, NOT_OPENED, UNLIMITED };

static double a[2 * ELEMENTS], b[2 * ELEMENTS], x[2 * ELEMENTS];
static const double mark = -12345.5;

typedef struct operation {
    const char *name;
    bp_status (*run)(void);
    bool (*is_right)(void);
} operation;

static void fill(void) {
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        a[i] = sin(1.7 * i) + (i % (SIDE + 1) == 0 && i < ELEMENTS ? SIDE : 0);
        b[i] = cos(0.3 * i);
        x[i] = mark;
    }
}

static DLTensor tensor(void *data, uint8_t code, uint8_t bits, int ndim, int64_t *shape) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = ndim,
                      .dtype = {.code = code, .bits = bits, .lanes = 1},
                      .shape = shape};
}

static int64_t square[] = {SIDE, SIDE}, side[] = {SIDE}, few[] = {126, 126}, row[] = {1, 126},
               signal_shape[] = {ELEMENTS};

static bp_status multiply(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    return bp_matmul(&s, &t, &u);
}

static bool is_near(double value, double expected) {
    return fabs(value - expected) <= 1e-9 * (fabs(expected) + SIDE);
}

static bool is_product(void) {
    bool right = true;
    for (int i = 0; i < SIDE; i += 7) {
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++) {
                sum += a[i * SIDE + k] * b[k * SIDE + j];
            }
            right = right && is_near(x[i * SIDE + j], sum);
        }
    }
    return right;
}

/* A row times a matrix, complex. */
static bp_status multiply_row(void) {
    DLTensor s = tensor(a, kDLComplex, 128, 2, row), t = tensor(b, kDLComplex, 128, 2, few),
             u = tensor(x, kDLComplex, 128, 2, row);
    return bp_matmul(&s, &t, &u);
}

static bool is_row_product(void) {
    enum { N = 126 };
    bool right = true;
    for (int j = 0; j < N; j++) {
        double re = 0, im = 0;
        for (int k = 0; k < N; k++) {
            const double *p = &a[2 * k], *q = &b[2 * (k * N + j)];
            re += p[0] * q[0] - p[1] * q[1];
            im += p[0] * q[1] + p[1] * q[0];
        }
        right = right && is_near(x[2 * j], re) && is_near(x[2 * j + 1], im);
    }
    return right;
}

static bp_status solve(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    return bp_solve(&s, &t, 0, &u);
}

static bool is_solution(void) {
    bool right = true;
    for (int i = 0; i < SIDE; i += 7) {
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++) {
                sum += a[i * SIDE + k] * x[k * SIDE + j];
            }
            right = right && is_near(sum, b[i * SIDE + j]);
        }
    }
    return right;
}

static bp_status find_singular_values(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), u = tensor(x, kDLFloat, 64, 1, side);
    return bp_svdvals(&s, &u);
}

/* The sum of their squares is the sum of the squares of the elements. */
static bool are_singular_values(void) {
    double elements = 0, values = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        elements += a[i] * a[i];
        values += i < SIDE ? x[i] * x[i] : 0;
    }
    return fabs(values - elements) <= 1e-9 * elements;
}

static bp_status transform(void) {
    DLTensor s = tensor(a, kDLComplex, 128, 1, signal_shape), u = tensor(x, kDLComplex, 128, 1, signal_shape);
    return bp_fft(&s, -1, -1, BP_FFT_BACKWARD, &u);
}

/* The first coefficient is the sum, and the sum of squares is the sum of the signal's squares times its length. */
static bool is_transform(void) {
    double sum = 0, squares = 0, power = 0;
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        sum += i % 2 ? 0 : a[i];
        squares += a[i] * a[i];
        power += x[i] * x[i];
    }
    return fabs(x[0] - sum) <= 1e-6 * (fabs(sum) + 1) && fabs(power - squares * ELEMENTS) <= 1e-9 * power;
}

enum { CHANNELS = 16, KERNEL = 3, RESULT = IMAGE - KERNEL + 1 };

static float image[CHANNELS * IMAGE * IMAGE], weight[CHANNELS * CHANNELS * KERNEL * KERNEL],
    result[CHANNELS * RESULT * RESULT];

/* Writes the operands too, and makes the tensors. */
static bp_conv_call describe_convolution(DLTensor *s, DLTensor *w, DLTensor *u) {
    static int64_t in[] = {1, CHANNELS, IMAGE, IMAGE}, kernel[] = {CHANNELS, CHANNELS, KERNEL, KERNEL},
                   out[] = {1, CHANNELS, RESULT, RESULT};
    for (size_t i = 0; i < sizeof image / sizeof *image; i++) {
        image[i] = (float)(i % 7);
    }
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++) {
        weight[i] = (float)(i % 5) - 2;
    }
    *s = tensor(image, kDLFloat, 32, 4, in);
    *w = tensor(weight, kDLFloat, 32, 4, kernel);
    *u = tensor(result, kDLFloat, 32, 4, out);
    return (bp_conv_call){.struct_size = sizeof(bp_conv_call), .ndim = 2, .input = s, .weight = w, .output = u};
}

static bp_status convolve(void) {
    DLTensor s, w, u;
    const bp_conv_call call = describe_convolution(&s, &w, &u);
    return bp_conv_run(NULL, &call);
}

static bool is_convolution(void) {
    bool right = true;
    for (int o = 0; o < CHANNELS; o += 5) {
        for (int at = 0; at < RESULT * RESULT; at += 3) {
            float sum = 0;
            for (int t = 0; t < CHANNELS * KERNEL * KERNEL; t++) {
                const int c = t / (KERNEL * KERNEL), y = at / RESULT + t / KERNEL % KERNEL,
                          z = at % RESULT + t % KERNEL;
                sum += image[(c * IMAGE + y) * IMAGE + z] * weight[o * CHANNELS * KERNEL * KERNEL + t];
            }
            right = right && fabsf(result[o * RESULT * RESULT + at] - sum) <= 1e-2F;
        }
    }
    return right;
}

static const operation operations[] = {
    {"f64 product", multiply, is_product}, {"c128 product of a row", multiply_row, is_row_product},
    {"solve", solve, is_solution},         {"svdvals", find_singular_values, are_singular_values},
    {"fft", transform, is_transform},      {"convolution", convolve, is_convolution},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static int judge(const operation *what, bp_status status) {
    if (status == BP_OK) {
        return what->is_right() ? COMPUTED : WRONG;
    }
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        if (x[i] != mark) {
            return TOUCHED;
        }
    }
    return status == BP_E_NO_MEMORY                                 ? NO_MEMORY
           : status == BP_E_FALLBACK || status == BP_E_NO_CANDIDATE ? NOT_OFFERED
                                                                    : FAILED;
}

static void prefer(const char *library) {
    static const char *const settings[] = {"blas.preferred", "linalg.preferred", "fft.preferred", "conv.preferred"};
    for (size_t i = 0; library && i < sizeof settings / sizeof *settings; i++) {
        if (bp_set(settings[i], library) != BP_OK) {
            _exit(FAILED);
        }
    }
    if (library && bp_set("dispatch.fallback", "strict") != BP_OK) {
        _exit(FAILED);
    }
}

static void *do_nothing(void *user) {
    return user;
}

/* The kernel does not limit the processes of root. Returns false if this user cannot be limited. */
__attribute__((unused)) static bool give_up_threads(void) {
    enum { UNPRIVILEGED = 65534 };
    pthread_t thread;
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){0, 0}) != 0 || (geteuid() == 0 && setuid(UNPRIVILEGED) != 0)) {
        return false;
    }
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) {
        pthread_join(thread, NULL);
        return false;
    }
    return true;
}

/* Fails the test unless a child has ended with the right result, or a limit or the library is the reason that it has
 * none.
 */
static inline void expect_good_end(int end, const char *text) {
    if (end != COMPUTED && end != NO_MEMORY && end != NOT_OFFERED) {
        fail_msg("%s: %s (%d)", text,
                 end == WRONG     ? "a wrong result"
                 : end == TOUCHED ? "a failed call has written its output"
                 : end == FAILED  ? "another error"
                                  : "the library has ended the process",
                 end);
    }
}

#endif
