/* policy.h - declares what the environment asks of the hooks library and of the drop-in libraries. */
#ifndef BP_DROPIN_POLICY_H
#define BP_DROPIN_POLICY_H

#include "dropin/internal.h"

typedef struct bp__dropin_policy {
    const char *library; /* all calls go to this library; NULL: no library was asked for */
    const char *only;    /* comma-separated lists, NULL if absent */
    const char *exclude;
    bool observe; /* calls are recorded, and none is redirected */
    bool record;
    bool hidden_result; /* the program passes the address for a complex function's result as first argument (f2c) */
    const char *faults; /* libraries with faulty products: "MASK PATH" in lines, for bp__dropin_faults(); or NULL */
    uint64_t small;     /* products with fewer multiplications are not Backplane's */
} bp__dropin_policy;

/* Reads the environment at the first call, and returns the same policy ever after. */
const bp__dropin_policy *bp__dropin_policy_get(void);

/* Returns the faults in the products of a library: bit `type` of gemm, and bit 4 + `type` of gemv. `path` may be that
 * of a symbolic link. */
unsigned bp__dropin_faults(const bp__dropin_policy *policy, const char *path);

/* Returns whether calls of the routine may be redirected. */
bool bp__dropin_allowed(const bp__dropin_policy *policy, int routine);

#endif
