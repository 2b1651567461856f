/* budget.c - limits the time that measuring one problem class takes.
 *
 * The limit is relative to the time of the class itself, which is known only when its first candidate has run. */
#include "tuning/tuning.h"

#include <math.h>

#define LEAST_NS 20e6
#define CALLS 50

void bp__budget_begin(bp__budget *budget, double expected_ns) {
    *budget = (bp__budget){.start_ns = bp__now_ns(), .call_ns = expected_ns};
}

void bp__budget_call(bp__budget *budget, double ns) {
    budget->call_ns = budget->known ? fmin(budget->call_ns, ns) : ns;
    budget->known = true;
}

void bp__budget_exclude(bp__budget *budget, double ns) {
    budget->excluded_ns += fmax(0, ns);
}

double bp__budget_left(const bp__budget *budget) {
    const double spent = (double)(bp__now_ns() - budget->start_ns) - budget->excluded_ns;
    return fmax(LEAST_NS, CALLS * budget->call_ns) - spent;
}
