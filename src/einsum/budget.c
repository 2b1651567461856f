/* budget.c - limits a search by work, time and interruption.
 *
 * Work is counted in units, so that a search ends at the same point on every machine. The caller may add a time limit.
 * The calling thread's interrupt check can cancel the search. */
#include "einsum/internal.h"

#define WORK_PER_LOOK (1 << 16) /* work units between checks of clock and interrupt: a fraction of a millisecond */

/* Checks clock and interrupt. Returns false if the budget has ended. */
static bool look(bp__budget *budget) {
    budget->unlooked = 0;
    if (bp__interrupted()) {
        budget->end = BP__CANCELLED;
    } else if (budget->end == BP__FOUND && bp__late(budget)) {
        budget->end = BP__GAVE_UP;
    }
    return budget->end == BP__FOUND;
}

bool bp__spend(bp__budget *budget, uint64_t work) {
    if (budget->end != BP__FOUND || work > budget->work) {
        budget->end = budget->end == BP__FOUND ? BP__GAVE_UP : budget->end;
        return false;
    }
    budget->work -= work;
    budget->unlooked += work;
    return budget->unlooked < WORK_PER_LOOK || look(budget);
}

bool bp__spend_anyway(bp__budget *budget, uint64_t work) {
    budget->work -= work < budget->work ? work : budget->work;
    budget->unlooked += work;
    if (budget->unlooked >= WORK_PER_LOOK) {
        look(budget);
    }
    return budget->end != BP__CANCELLED;
}

bp__budget bp__budget_share(const bp__budget *whole, uint64_t work) {
    bp__budget share = *whole;
    share.work = share.given = work < whole->work ? work : whole->work;
    return share;
}

void bp__budget_charge(bp__budget *whole, const bp__budget *share) {
    uint64_t used = share->given - share->work;
    whole->work -= used < whole->work ? used : whole->work;
    whole->unlooked = share->unlooked;
    if (share->end == BP__CANCELLED) {
        whole->end = BP__CANCELLED;
    }
}
