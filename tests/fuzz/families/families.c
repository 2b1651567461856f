/* families.c - lists the families. */
#include "trial.h"

extern const family family_gemm, family_elementwise, family_reduce, family_random;

const family *const families[] = {&family_gemm, &family_elementwise, &family_reduce, &family_random};

int family_count(void) {
    return BP__COUNT(families);
}
