/* program.h - declares programs: lists of plans that run one after another as one plan, on operands of the whole,
 * constants and blocks of one workspace. */
#ifndef BP_DISPATCH_PROGRAM_H
#define BP_DISPATCH_PROGRAM_H

#include "dispatch/internal.h"

typedef enum bp__home {
    BP__NOWHERE,    /* an absent operand */
    BP__AT_OPERAND, /* of the whole: inputs, then outputs */
    BP__AT_WORK,    /* in the workspace */
    BP__AT_CONSTANT /* in memory that lives as long as the program */
} bp__home;

typedef struct bp__place {
    bp__home home;
    int32_t operand;
    int64_t offset;  /* bytes, from the operand, from the begin of the workspace, or from the constant */
    int64_t advance; /* bytes, added with each run of the part */
    void *constant;
} bp__place;

/* One plan of a program. The first part of a loop contains the number of its parts; they run `runs` times. */
typedef struct bp__part {
    bp_plan *plan; /* NULL: work that has no plan, and `places` operands */
    bp_status (*work)(const void *context, const bp_operand *operands); /* on the host */
    const void *context;
    const bp__place *place; /* of each operand of the plan, but for absent ones at the end */
    int32_t places;
    int32_t loop;             /* number of parts in the loop that begins here; 0: none */
    int64_t runs;             /* 1 outside loops */
    const bp_packed **packed; /* of each operand of the plan, NULL: not packed. NULL: none is */
} bp__part;

/* What a program is made of. bp__program_make() copies the arrays. */
typedef struct bp__program_source {
    bp_op op; /* of the whole, for interruptions and messages */
    const bp__part *parts;
    int count;
    int64_t workspace;         /* bytes of all blocks */
    void *owner;               /* what the operation keeps with the program; may be NULL */
    void (*drop)(void *owner); /* frees it */
    /* Returns what the messages of a part's failures begin with. NULL: nothing. */
    const char *(*title)(const void *owner, int part);
} bp__program_source;

typedef struct bp__program {
    bp_prepared base; /* must be first, so that both have one address */
    bp_op op;
    int count;
    int64_t workspace;
    void *owner;
    void (*drop)(void *owner);
    const char *(*title)(const void *owner, int part);
    bp__part parts[]; /* then their places */
} bp__program;

/* Makes a program. Takes ownership of the owner, and of the parts' plans and packed operands, also on failure. */
bp_status bp__program_make(bp__program **program, const bp__program_source *source);

/* Sets what all parts guarantee, their threads, and what they take; and the candidate, which is the one of the slowest
 * part, or native if no part has a plan. Errors: BP_E_NO_MEMORY, BP_E_NO_CANDIDATE. */
struct bp__composition;
bp_status bp__program_sum_up(const bp__program *program, struct bp__composition *composition);

/* Returns the program of a composed plan that has one. */
const bp__program *bp__program_of(const bp_plan *plan);

/* Releases the plans and packed operands of parts. */
void bp__parts_release(const bp__part *parts, int count);

/* Packs the operand of a plan at this address, which can be packed, for parts of a program. bp__part_unpack() releases
 * it; it does not count as one that the program owns. *packed is NULL if the plan's library has no layout of its own
 * for the operand. */
bp_status bp__part_pack(const bp_packed **packed, const bp_plan *plan, int operand, const bp_operand *source);
void bp__part_unpack(const bp_packed *packed);

#endif
