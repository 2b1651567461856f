/* accept.c - checks in accept() that all providers of Fourier transforms share: see accept.h. */
#include "providers/transform/accept.h"

#include <stdio.h>
#include <stdlib.h>

bool bp__transform_is_plain(const bp_problem *problem, bp_verdict *verdict) {
    const bp_fft_problem *fft = &problem->of.fft;
    if (problem->op != BP_OP_FFT) {
        verdict->reason = BP_REASON_OP;
        snprintf(verdict->text, sizeof verdict->text, "it offers only Fourier transforms");
        return false;
    }
    if (fft->full_spectrum || fft->conjugate || fft->zero_padded) {
        verdict->reason = BP_REASON_OTHER;
        snprintf(verdict->text, sizeof verdict->text,
                 "it offers no transform with full spectrum, conjugation or zero padding");
        return false;
    }
    return true;
}

/* Returns the first prime of a list, separated by spaces, that divides the length and is smaller; 0: none. */
static long factor_among(const char *primes, int64_t length) {
    char *end = NULL;
    for (long prime = strtol(primes, &end, 10); end != primes; prime = strtol(primes, &end, 10)) {
        if (prime > 1 && length > prime && length % prime == 0) {
            return prime;
        }
        primes = end;
    }
    return 0;
}

/* Refuses lengths for which the probe found larger errors than other libraries have. */
static bool is_exact(const bp_library_info *library, const bp_problem *problem, bp_verdict *verdict) {
    const bp_fft_problem *fft = &problem->of.fft;
    const bool single = problem->dtype == BP_C64 || problem->dtype == BP_F32;
    for (int d = 0; d < fft->ndim; d++) {
        const long factor = factor_among(library->inexact[!single], fft->n[d]);
        if (factor > 0) {
            verdict->reason = BP_REASON_BROKEN;
            snprintf(verdict->text, sizeof verdict->text,
                     "its transforms in %s precision of larger multiples of %ld have large errors in probe",
                     single ? "single" : "double", factor);
            return false;
        }
    }
    return true;
}

bool bp__transform_passed_check(const bp_library_info *library, const bp_problem *problem, bp_verdict *verdict) {
    static const bp_check checks[] = {
        [BP_FFT_C2C] = BP_CHECK_C2C, [BP_FFT_R2C] = BP_CHECK_R2C, [BP_FFT_C2R] = BP_CHECK_C2R};
    int length;
    const char *fault = bp_library_fault(library, checks[problem->of.fft.kind], problem->dtype, &length);
    if (fault) {
        verdict->reason = BP_REASON_BROKEN;
        snprintf(verdict->text, sizeof verdict->text, "%.*s", length, fault);
    }
    return !fault && is_exact(library, problem, verdict);
}
