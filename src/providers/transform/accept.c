/* accept.c - checks in accept() that all providers of Fourier transforms share: see accept.h. */
#include "providers/transform/accept.h"

#include <stdio.h>

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

bool bp__transform_passed_check(const bp_library_info *library, const bp_problem *problem, bp_verdict *verdict) {
    static const bp_check checks[] = {
        [BP_FFT_C2C] = BP_CHECK_C2C, [BP_FFT_R2C] = BP_CHECK_R2C, [BP_FFT_C2R] = BP_CHECK_C2R};
    int length;
    const char *fault = bp_library_fault(library, checks[problem->of.fft.kind], problem->dtype, &length);
    if (fault) {
        verdict->reason = BP_REASON_BROKEN;
        snprintf(verdict->text, sizeof verdict->text, "%.*s", length, fault);
    }
    return !fault;
}
