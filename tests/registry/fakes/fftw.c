/* fftw.c - a fake single-precision FFTW with the functions that the probe calls: one-dimensional transforms by the
 * defining sum. Transforms of real input are wrong for the size FAKE_WRONG_SIZE, and read FAKE_BEYOND elements behind
 * their input. Lengths that are larger multiples of FAKE_INEXACT have an error of 20 units of rounding times log2(n),
 * in one element, and larger multiples of FAKE_INEXACT + 4 have a NaN.
 */
#include <complex.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef float complex number;
typedef struct dim {
    ptrdiff_t n, in, out;
} dim;
typedef struct plan {
    ptrdiff_t n;
    int sign;
} plan;

#define EXPORT __attribute__((visibility("default")))
EXPORT extern const char fftwf_version[];
const char fftwf_version[] = "fftw-9.8.7";

static plan *make(const dim *dims, int sign) {
    plan *made = malloc(sizeof *made);
    if (made) {
        *made = (plan){dims->n, sign};
    }
    return made;
}

static number sum(const plan *p, const number *in, ptrdiff_t k) {
    double complex total = 0;
    for (ptrdiff_t j = 0; j < p->n; j++) {
        double angle = p->sign * 6.283185307179586 * (double)(j * k % p->n) / (double)p->n;
        total += (double complex)in[j] * (cos(angle) + sin(angle) * I);
    }
    return (number)total;
}

#define PLAN(name, ...)                                                                                                \
    EXPORT plan *fftwf_plan_guru64_dft##name(int rank, const dim *dims, int many, const dim *howmany, void *in,        \
                                             void *out, __VA_ARGS__);                                                  \
    plan *fftwf_plan_guru64_dft##name(int rank, const dim *dims, int many, const dim *howmany, void *in, void *out,    \
                                      __VA_ARGS__)
#define UNUSED (void)rank, (void)many, (void)howmany, (void)in, (void)out, (void)flags

PLAN(, int sign, unsigned flags) {
    UNUSED;
    return make(dims, sign);
}

PLAN(_r2c, unsigned flags) {
    UNUSED;
    return make(dims, -1);
}

PLAN(_c2r, unsigned flags) {
    UNUSED;
    return make(dims, 1);
}

static float norm(const plan *p, const number *in) {
    double square = 0;
    for (ptrdiff_t j = 0; j < p->n; j++) {
        square += pow(cabs((double complex)in[j]), 2);
    }
    return (float)sqrt(square);
}

EXPORT void fftwf_execute_dft(const plan *p, number *in, number *out);
void fftwf_execute_dft(const plan *p, number *in, number *out) {
    number copy[512];
    memcpy(copy, in, (size_t)p->n * sizeof *copy);
    for (ptrdiff_t k = 0; k < p->n; k++) {
        out[k] = sum(p, copy, k);
    }
    if (p->n > FAKE_INEXACT && p->n % FAKE_INEXACT == 0) {
        out[p->n / 3] += 20 * log2f((float)p->n) * 0x1p-24F * norm(p, copy);
    }
    if (p->n > FAKE_INEXACT + 4 && p->n % (FAKE_INEXACT + 4) == 0) {
        out[p->n / 3] = NAN;
    }
}

EXPORT void fftwf_execute_dft_r2c(const plan *p, float *in, number *out);
void fftwf_execute_dft_r2c(const plan *p, float *in, number *out) {
    number copy[256];
    for (ptrdiff_t j = 0; j < p->n + FAKE_BEYOND; j++) {
        copy[j] = in[j];
    }
    for (ptrdiff_t k = 0; k <= p->n / 2; k++) {
        out[k] = sum(p, copy, k) * (p->n == FAKE_WRONG_SIZE ? 1.001F : 1);
    }
}

EXPORT void fftwf_execute_dft_c2r(const plan *p, number *in, float *out);
void fftwf_execute_dft_c2r(const plan *p, number *in, float *out) {
    number copy[256];
    for (ptrdiff_t j = 0; j < p->n; j++) {
        copy[j] = j <= p->n / 2 ? in[j] : conjf(in[p->n - j]);
    }
    for (ptrdiff_t k = 0; k < p->n; k++) {
        out[k] = crealf(sum(p, copy, k));
    }
}

EXPORT void fftwf_destroy_plan(plan *p);
void fftwf_destroy_plan(plan *p) {
    free(p);
}

/* Not called by the probe. */
#define IDLE(name)                                                                                                     \
    EXPORT void fftwf_##name(void);                                                                                    \
    void fftwf_##name(void) {                                                                                          \
    }
IDLE(execute)
IDLE(alignment_of)
IDLE(set_timelimit)
IDLE(forget_wisdom)
IDLE(export_wisdom_to_string)
IDLE(import_wisdom_from_string)
IDLE(free)
