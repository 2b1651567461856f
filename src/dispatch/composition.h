/* composition.h - declares plans that operations compose of other plans. */
#ifndef BP_DISPATCH_COMPOSITION_H
#define BP_DISPATCH_COMPOSITION_H

#include "dispatch/addresses.h"

/* A plan that an operation composes of other plans; `prepared` runs them. Its description names the library of the
 * slowest part. bp__plan_compose() takes ownership of `prepared` on success and copies the key. */
typedef struct bp__composition {
    bp_op op;
    bp_dtype dtype;
    const bp_policy *policy;
    int32_t device_place;
    const bp__candidate *candidate; /* of the slowest part */
    int operands;                   /* inputs and the output */
    const bp__address_source *addresses;
    uint32_t properties; /* guarantees that hold for all parts */
    int32_t threads;
    double cost_ns;
    const char *algorithm; /* static string */
    const char *reason, *text;
    bp__plan_key key;
} bp__composition;
bp_status bp__plan_compose(bp_plan **plan, bp_prepared *prepared, const bp__composition *composition);

#endif
