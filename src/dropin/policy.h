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
    const char *faults; /* libraries with faulty routines, for bp__dropin_findings_of(); or NULL */
    uint64_t small;     /* products with fewer multiplications are not Backplane's */
} bp__dropin_policy;

/* Reads the environment at the first call, and returns the same policy ever after. */
const bp__dropin_policy *bp__dropin_policy_get(void);

/* What the probe found in a library. The members are as in bp_library_info. */
typedef struct bp__dropin_findings {
    uint64_t faulty;
    uint32_t overreads;
    int int_bits;        /* 0: nothing is known of the library */
    const char *outside; /* separated by spaces or commas */
} bp__dropin_findings;

/* Reads what was found in a library. `path` may be a symbolic link. */
bp__dropin_findings bp__dropin_findings_of(const bp__dropin_policy *policy, const char *path);

/* Returns whether calls of the routine may be redirected. */
bool bp__dropin_allowed(const bp__dropin_policy *policy, int routine);

#endif
