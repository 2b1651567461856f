/* addresses.h - declares the check of the addresses of a run: present, aligned, and outputs apart from all else. */
#ifndef BP_DISPATCH_ADDRESSES_H
#define BP_DISPATCH_ADDRESSES_H

#include "dispatch/internal.h"

/* What the address of an operand must fulfil, and its elements. */
typedef struct bp__address_rule {
    uintptr_t low_bits; /* of the address, which must be 0 */
    uintptr_t needed;   /* 1: there are elements, so that the base must not be NULL */
    bp_dtype dtype;
    int ndim;
    int64_t *shape, *strides;
} bp__address_rule;

/* An output, and an operand before it. They are too near if their distance in bytes plus `first` is less than `width`,
 * and, if they may be the same memory, not 0. */
typedef struct bp__address_pair {
    uintptr_t first, width;
    uintptr_t strict; /* 1: they must not be the same memory */
    int other, output;
} bp__address_pair;

typedef struct bp__addresses {
    bool handles;     /* bases are handles: only offsets can be compared */
    bool two_and_one; /* two inputs, one output, all with elements, and none may be shared */
    int32_t place;
    int count, pair_count;
    int single;         /* pairs of the only output, if all operands with elements have one alignment; 0: not so */
    uintptr_t low_bits; /* that alignment, as in rules */
    bp__address_pair *pairs;
    bp__address_rule rules[];
} bp__addresses;

/* The operands of a plan. describe() returns false for an absent operand; sharing() may be NULL. */
typedef struct bp__address_source {
    int32_t place;
    int count, inputs;
    bool product; /* of matrices */
    bool (*describe)(const void *context, int operand, bp__elements *elements);
    bp__sharing (*sharing)(const void *context, int operand);
    const void *context;
} bp__address_source;

/* Makes the rules, which bp__free() frees. Errors: BP_E_NO_MEMORY. */
bp_status bp__addresses_make(bp__addresses **addresses, const bp__address_source *source);
bp_status bp__addresses_of(bp__addresses **addresses, const bp_problem *problem); /* of a problem's operands */

/* Parts of bp__addresses_good(), which return 0 if all is good. The highest bit of an address is 0. */
static inline uintptr_t bp__address_at(const bp_operand *operand) {
    return (uintptr_t)operand->base + (uintptr_t)operand->offset;
}
static inline uintptr_t bp__address_wrong(const bp__address_rule *rule, const bp_operand *operand) {
    return (bp__address_at(operand) & rule->low_bits) |
           (((uintptr_t)operand->base - rule->needed) >> (8 * sizeof(uintptr_t) - 1));
}
static inline uintptr_t bp__addresses_near(const bp__address_pair *p, const bp_operand *other,
                                           const bp_operand *output) {
    return bp__address_at(output) - bp__address_at(other) + p->first < p->width;
}

enum { BP__MOST_SINGLE = 6 };

/* Plans with one output: one pass over the pairs has every operand. The steps are unrolled. */
static inline bool bp__addresses_good_single(const bp__addresses *a, const bp_operand *operands) {
    const bp_operand *output = &operands[a->pairs[0].output];
    const uintptr_t to = bp__address_at(output);
    uintptr_t all = to, absent = (uintptr_t)output->base - 1, near = 0;
#pragma GCC unroll 6
    for (int i = 0; i < BP__MOST_SINGLE; i++) {
        if (i == a->single) {
            break;
        }
        const bp__address_pair *p = &a->pairs[i];
        const bp_operand *other = &operands[p->other];
        const uintptr_t from = bp__address_at(other);
        all |= from;
        absent |= (uintptr_t)other->base - 1;
        near |= (to - from + p->first < p->width) & (p->strict | (from != to));
    }
    return ((all & a->low_bits) | absent >> (8 * sizeof absent - 1) | near) == 0;
}

/* Returns whether all addresses are good at first sight. If not, bp__addresses_check() has the result. Most plans have
 * two inputs and one output; without loops, their check takes half of the time. */
static inline bool bp__addresses_good(const bp__addresses *a, const bp_operand *operands) {
    const bp__address_rule *rules = a->rules;
    const bp__address_pair *pairs = a->pairs;
    if (BP__LIKELY(a->two_and_one)) {
        return (bp__address_wrong(&rules[0], &operands[0]) | bp__address_wrong(&rules[1], &operands[1]) |
                bp__address_wrong(&rules[2], &operands[2]) | bp__addresses_near(&pairs[0], &operands[0], &operands[2]) |
                bp__addresses_near(&pairs[1], &operands[1], &operands[2])) == 0;
    }
    if (BP__LIKELY(a->single)) {
        return bp__addresses_good_single(a, operands);
    }
    uintptr_t wrong = a->handles;
    for (int i = 0; i < a->count; i++) {
        wrong |= bp__address_wrong(&rules[i], &operands[i]);
    }
    for (int i = 0; i < a->pair_count; i++) {
        const bp__address_pair *p = &pairs[i];
        const bp_operand *other = &operands[p->other], *output = &operands[p->output];
        wrong |= bp__addresses_near(p, other, output) & (p->strict | (bp__address_at(other) != bp__address_at(output)));
    }
    return wrong == 0;
}

/* Refuses addresses: BP_E_ARGUMENT (NULL), BP_E_LAYOUT (not aligned), BP_E_OVERLAP. Operands that `packed` (may be
 * NULL) has in a packed form are not read, and not checked. */
bp_status bp__addresses_check(const bp_plan *plan, const bp_operand *operands, const bp_packed *const *packed);

/* Refuses the address of one operand: BP_E_ARGUMENT, BP_E_LAYOUT. `call` is the function's name in the message. */
bp_status bp__address_check(const bp_plan *plan, int operand, const bp_operand *given, const char *call);

#endif
