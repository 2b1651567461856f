/* ranks.h - declares what providers of distributed operands share: the text and the time of what a call sends, and the
 * check that a library belongs to the MPI of the process. */
#ifndef BP_PROVIDERS_RANKS_H
#define BP_PROVIDERS_RANKS_H

#include "backplane/distributed.h"
#include "backplane/provider.h"

#include <stdbool.h>

/* What a call moves between the ranks. */
typedef struct bp__ranks_model {
    double flops;                     /* of all ranks, in real numbers */
    double bytes, messages;           /* sent by all ranks */
    double most_bytes, most_messages; /* sent by the busiest rank */
    double steps;                     /* messages that follow each other */
    double operand_bytes, work_bytes; /* of one rank */
} bp__ranks_model;

/* Returns whether the name of a file stands for the MPI of the place. */
bool bp__ranks_is_mpi(const bp_host *host, const bp_dist_place *place, const char *name);

enum { BP__RANKS_TEXT = 48 };

/* Writes a number of bytes or messages with two or three digits, and a full stop in every locale. Returns `buffer`,
 * which has BP__RANKS_TEXT bytes. */
const char *bp__ranks_amount(char *buffer, double value, const char *unit);

/* Sets the text and the cost of an accepted verdict, whose threads are set, for elements of a type. least_bytes: what
 * the busiest rank of any algorithm sends; 0: unknown. The text begins with `as`, which says that the model is of
 * another library. */
void bp__ranks_tell(bp_verdict *verdict, uint32_t dtype, const bp_dist_place *place, const bp__ranks_model *model,
                    double least_bytes, const char *as);

#endif
