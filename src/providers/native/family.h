/* family.h - declares the families of operations that the native provider consists of. */
#ifndef BP_NATIVE_FAMILY_H
#define BP_NATIVE_FAMILY_H

#include "backplane/provider.h"

/* Functions of bp_provider for one family. The provider's instance is the host table. `found` holds the bytes that
 * accept() offered with the verdict. */
typedef struct bp__native_family {
    void (*accept)(const bp_host *host, const bp_problem *problem, bp_offers *offers);
    bp_status (*plan)(const bp_host *host, const bp_problem *problem, const void *found, bp_prepared **prepared);
} bp__native_family;

/* Adds a refusal with this reason to the offers. It is the only offer that a family makes then. */
void bp__native_refuse(bp_offers *offers, bp_reason reason, const char *text);

/* Returns the kernels for products of bf16 numbers, for the types bf16 and f32. If the processor has none, returns
 * NULL, and adds a refusal where the problem permits such products: bf16, or f32 that may be rounded. */
const struct bp__native_kernels *bp__native_bf16_kernels(const bp_host *host, const bp_problem *problem,
                                                         bp_offers *offers);

/* bp__native_<family> for each family, defined in its folder. */
#define X(unused, family, ...) extern const bp__native_family bp__native_##family;
BP_FAMILY_MAP(X, )
#undef X

#endif
