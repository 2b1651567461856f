/* described.h - the functions of the operations whose call is a struct that calls.h describes. */
#ifndef BP_CLI_DESCRIBED_H
#define BP_CLI_DESCRIBED_H

#include "operations.h"

struct cli_described {
    const char *call;    /* its name in calls.h */
    const char *fixed;   /* fields that all calls of the operation have: "pass=backward,ndim=2" */
    const char *inputs;  /* the fields of the arrays, in their order; with '?' the fields of --projection */
    const char *results; /* the fields of the results, in the order of the -o options */
    /* Reads what is special, when fields and arrays are set. NULL: nothing is. */
    int (*adjust)(cli_job *job);
    const char *own; /* the options that adjust() reads, with commas; NULL: there are none */
};

/* What does not follow from the description of a call. */
typedef struct cli_special {
    const char *call;  /* NULL ends the list */
    const char *name;  /* NULL: the name of the call */
    const char *fixed; /* a field that all calls of the row have, so that it is no option; NULL: none */
    const char *more;  /* an option that is no field; NULL: none */
    int (*adjust)(cli_job *job);
    const char *arrays, *usual; /* cli_sizing.arrays and .options; NULL: arrays of one size, and no options */
} cli_special;

/* A family whose rows follow from the descriptions of its calls. */
struct cli_derived {
    const char *family;
    const cli_special *specials; /* the first rows of the family; a call may have several. NULL: there are none */
};

/* Returns the rows of a family, one for each of its calls or more; the last one has no name. (derived.c) */
const cli_operation *derived_rows(const cli_derived *derived);

extern const cli_measured described_measured; /* of all operations with such a call */

/* Returns the name of the option that sets a field, for free(); NULL if arrays or other options set it. */
char *described_option(const bp_call_field *field);
int described_prepare(cli_job *job);
/* Returns the operation that the call of a prepared job is. */
bp_op described_op(const cli_job *job);
bp_status described_run(cli_job *job);
bp_status described_explain(const cli_job *job, bp_explanation **explanation);
bp_status described_plan(const cli_job *job, bp_plan **made, bp_operand *operands, int *count);

#endif
