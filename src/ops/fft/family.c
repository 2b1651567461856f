/* family.c - describes Fourier transforms to dispatch. */
#include "ops/fft/fft.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_fft_problem) == (4 + 4 * BP_MAX_FFT_NDIM + 3 * BP_MAX_BATCH_NDIM) * 8,
               "bytes between the fields");

/* Writes "c64 2 x 512x64 forward" or "c64 100 inverse complex to real, padded". */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    static const char *const kinds[] = {"", " real to complex", " complex to real"};
    const bp_fft_problem *f = &problem->of.fft;
    char batch[32] = "", sizes[128] = "1";
    if (f->batch != 1) {
        snprintf(batch, sizeof batch, "%" PRId64 " x ", f->batch);
    }
    size_t used = 0;
    for (int i = 0; i < f->ndim && used < sizeof sizes - 24; i++) {
        used += (size_t)snprintf(sizes + used, sizeof sizes - used, "%s%" PRId64, i ? "x" : "", f->n[i]);
    }
    snprintf(buffer, size, "%s %s%s %s%s%s%s%s", bp_dtype_name((bp_dtype)problem->dtype), batch, sizes,
             f->inverse ? "inverse" : "forward", f->kind <= BP_FFT_C2R ? kinds[f->kind] : "",
             f->full_spectrum ? ", whole spectrum" : "", f->zero_padded ? ", padded" : "",
             f->in_place ? ", in place" : "");
}

static bp__sharing sharing(const bp_problem *problem, int input) {
    (void)input;
    return problem->of.fft.in_place ? BP__SHARED : BP__APART;
}

const bp__family bp__family_fft = {
    .size = sizeof(bp_fft_problem),
    .preference = BP_SET_fft_preferred,
    .preferred = &(const bp__preference){"Fourier transforms are", "Fourier transforms", BP_LIB_FFT},
    .enabled = BP_SET_fft_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_fft_benchmark,
    .cache = BP__CACHE_TRANSFORMS,
    .make = bp__fft_make,
    .describe = describe,
    .elements = bp__fft_elements,
    .sharing = sharing,
    .adapter = &bp__fft_adapter,
    .measuring = &bp__measuring_fft,
};
