/* families.c - lists the families. */
#include "trial.h"

extern const family family_gemm, family_linalg, family_fft, family_einsum, family_conv, family_pool, family_batch_norm,
    family_layer_norm, family_attention, family_rnn, family_linear, family_elementwise, family_reduce, family_random,
    family_cumsum, family_pad;

const family *const families[] = {&family_gemm,      &family_linalg, &family_fft,        &family_einsum,
                                  &family_conv,      &family_pool,   &family_batch_norm, &family_layer_norm,
                                  &family_attention, &family_rnn,    &family_linear,     &family_elementwise,
                                  &family_reduce,    &family_random, &family_cumsum,     &family_pad};

int family_count(void) {
    return BP__COUNT(families);
}
