/* family.h - how provider.c reaches the families of operations. */
#ifndef BP_NATIVE_FAMILY_H
#define BP_NATIVE_FAMILY_H

#include "backplane/provider.h"

/* The slots of bp_provider, for one family; the host is all that the provider's instance is. `found` is what accept()
 * offered with the verdict. */
typedef struct bp__native_family {
    void (*accept)(const bp_host *host, const bp_problem *problem, bp_offers *offers);
    bp_status (*plan)(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared);
} bp__native_family;

/* Offers nothing: the one refusal of a family. */
void bp__native_refuse(bp_offers *offers, bp_reason reason, const char *text);

extern const bp__native_family bp__native_gemm;
extern const bp__native_family bp__native_fft;
extern const bp__native_family bp__native_linalg;
extern const bp__native_family bp__native_contract;

#endif
