/* fft_accuracy.c - measures the accuracy of each library's Fourier transforms: relative error in the L2 norm by length.
 *
 *     fft_accuracy [largest power of two]      prints "type length library error"; tools/fft_accuracy.py plots it
 *
 * Input is random, uniform in (-1, 1). The reference is a transform in long double, whose own error is 2048 times
 * smaller than the error of double. It halves even lengths and sums odd ones by the definition.
 */
#include "backplane.h"
#include "timing.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct number {
    long double re, im;
} number;

static const long double pi = 3.14159265358979323846264338327950288L;

static number *memory(size_t count) {
    number *block = calloc(count, sizeof *block);
    if (!block) {
        fprintf(stderr, "fft_accuracy: no memory\n");
        exit(1);
    }
    return block;
}

static inline number multiply(number a, number b) {
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Computes out[k] = sum of in[j * step] * w[(j k mod n) * scale]. w are the roots of unity of the whole transform. */
static void define(int n, const number *in, int step, number *out, const number *w, int scale) {
    for (int64_t k = 0; k < n; k++) {
        number sum = {0, 0};
        for (int64_t j = 0; j < n; j++) {
            number term = multiply(in[j * step], w[j * k % n * scale]);
            sum.re += term.re;
            sum.im += term.im;
        }
        out[k] = sum;
    }
}

static void transform(int n, const number *in, int step, number *out, const number *w, int scale) {
    if (n % 2 != 0) {
        define(n, in, step, out, w, scale);
        return;
    }
    int half = n / 2;
    transform(half, in, 2 * step, out, w, 2 * scale);
    transform(half, in + step, 2 * step, out + half, w, 2 * scale);
    for (int k = 0; k < half; k++) {
        number even = out[k], odd = multiply(out[k + half], w[k * scale]);
        out[k] = (number){even.re + odd.re, even.im + odd.im};
        out[k + half] = (number){even.re - odd.re, even.im - odd.im};
    }
}

static number *reference(int n, const number *in) {
    number *w = memory((size_t)n), *out = memory((size_t)n);
    for (int i = 0; i < n; i++) {
        long double angle = -2 * pi * (long double)i / (long double)n;
        w[i] = (number){cosl(angle), sinl(angle)};
    }
    transform(n, in, 1, out, w, 1);
    free(w);
    return out;
}

static double error_of(bp_dtype dtype, int n, const number *exact, const void *computed) {
    long double wrong = 0, whole = 0;
    for (int i = 0; i < n; i++) {
        long double re, im;
        if (dtype == BP_C64) {
            re = ((const float *)computed)[2 * i], im = ((const float *)computed)[2 * i + 1];
        } else {
            re = ((const double *)computed)[2 * i], im = ((const double *)computed)[2 * i + 1];
        }
        wrong += (re - exact[i].re) * (re - exact[i].re) + (im - exact[i].im) * (im - exact[i].im);
        whole += exact[i].re * exact[i].re + exact[i].im * exact[i].im;
    }
    return (double)sqrtl(wrong / whole);
}

/* Measures each library that accepts the transform. */
static void measure(bp_dtype dtype, int n) {
    int64_t shape[1] = {n};
    DLManagedTensorVersioned *in, *out;
    if (bp_tensor_new(&in, dtype, 1, shape) != BP_OK || bp_tensor_new(&out, dtype, 1, shape) != BP_OK) {
        fprintf(stderr, "fft_accuracy: %s\n", bp_last_error());
        exit(1);
    }
    number *exact_in = memory((size_t)n);
    void *data = in->dl_tensor.data;
    if (dtype == BP_C64) {
        timing_fill_f32(data, 2 * (size_t)n);
    } else {
        timing_fill_f64(data, 2 * (size_t)n);
    }
    for (int i = 0; i < n; i++) {
        exact_in[i] = dtype == BP_C64 ? (number){((const float *)data)[2 * i], ((const float *)data)[2 * i + 1]}
                                      : (number){((const double *)data)[2 * i], ((const double *)data)[2 * i + 1]};
    }
    number *exact = reference(n, exact_in);
    bp_fft_call call = {.struct_size = sizeof call, .transform = BP_FFT, .axis_count = 1};
    bp_explanation *candidates;
    bp_candidate_info c = {.struct_size = sizeof c};
    if (bp_fft_explain(&candidates, NULL, &call, &in->dl_tensor, &out->dl_tensor) == BP_OK) {
        for (int i = 0; bp_explanation_at(candidates, i, &c); i++) {
            char settings[256];
            bp_options *options;
            snprintf(settings, sizeof settings, "fft.preferred=%s, dispatch.fallback=strict", c.library);
            if (c.accepted && bp_options_new(&options, settings) == BP_OK) {
                if (bp_fft_run(options, &call, &in->dl_tensor, &out->dl_tensor) == BP_OK) {
                    printf("%s %d %s %.3e\n", bp_dtype_name(dtype), n, c.library,
                           error_of(dtype, n, exact, out->dl_tensor.data));
                }
                bp_options_release(options);
            }
        }
        bp_explanation_release(candidates);
    }
    fflush(stdout);
    free(exact_in);
    free(exact);
    in->deleter(in);
    out->deleter(out);
}

int main(int argc, char **argv) {
    static const int odd[] = {3, 5, 7, 11, 13, 27, 81, 97, 125, 343, 1000, 1009, 3125, 5005, 6561, 10007};
    char *end;
    int largest = argc > 1 ? timing_number(argv[1], &end) : 20;
    const bp_dtype types[] = {BP_C64, BP_C128};
    for (int t = 0; t < 2; t++) {
        for (int k = 1; k <= largest; k++) {
            measure(types[t], 1 << k);
        }
        for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
            measure(types[t], odd[i]);
        }
    }
    return 0;
}
