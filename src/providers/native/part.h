/* part.h - how provider.c reaches the families of operations. */
#ifndef BP_NATIVE_PART_H
#define BP_NATIVE_PART_H

#include "backplane/provider.h"

/* The slots of bp_provider, for one family; the host is all that the provider's instance is. */
typedef struct bp__native_part {
    void (*accept)(const bp_host *host, const bp_problem *problem, bp_verdict *verdict);
    bp_status (*plan)(const bp_host *host, const bp_problem *problem, bp_prepared **prepared);
} bp__native_part;

extern const bp__native_part bp__native_fft;
extern const bp__native_part bp__native_linalg;
extern const bp__native_part bp__native_contract;

#endif
