/* bounds_call.h - declares one call of a Fortran routine whose arrays lie between pages without access (guards.h).
 *
 * A table has the arguments of each routine, a character for each. These are the same in all tables:
 *     0 1 2 3   options, by their position in a variant
 *     m n k     sizes
 *     d         leading dimension of the matrix before it
 * bounds_blas.c and bounds_lapack.c make the others.
 */
#ifndef BP_PROBE_BOUNDS_CALL_H
#define BP_PROBE_BOUNDS_CALL_H

#include "probe/checks.h"
#include "probe/guards.h"

enum { BOUNDS_ARGUMENTS = 22, BOUNDS_LETTERS = 5 };

typedef struct bounds_call {
    trial *t;
    const char *arguments;
    bool at_end;                  /* operands end in front of a page without access; otherwise they begin after one */
    char letters[BOUNDS_LETTERS]; /* options, by their position in a variant */
    int regions;                  /* in use */
    int64_t m, n, k, gap;         /* gap: between the columns of each matrix */
    int64_t ld;                   /* of the matrix that was made last */
    int64_t integers[BOUNDS_ARGUMENTS];
} bounds_call;

/* Returns the size of an element, or of a real of its precision. */
size_t bounds_size(const bounds_call *c, bool real);

/* Returns the address of an array in the next region. */
char *bounds_array(bounds_call *c, int64_t count, size_t size);

/* Returns the address of an integer argument. */
int64_t *bounds_integer(bounds_call *c, int at, int64_t value);

/* Reads the next one of variants that are separated by spaces, and returns what follows it. */
const char *bounds_next_variant(bounds_call *c, const char *variants);

/* Calls a routine. `make` makes the arguments that are not the same in all tables. */
void bounds_make_call(bounds_call *c, void *routine, void *(*make)(void *user, int at), void *user);

#endif
