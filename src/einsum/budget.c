/* budget.c - what limits a search: work, which is counted, so that it ends at the same place on every machine; a time,
 * where the caller has named one; and the calling thread's interrupt check. */
#include "einsum/internal.h"

#define WORK_PER_LOOK (1 << 16) /* units between looks at the clock and the check: a fraction of a millisecond */

/* False once the budget has ended. */
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

void bp__budget_settle(bp__budget *whole, const bp__budget *share) {
    uint64_t used = share->given - share->work;
    whole->work -= used < whole->work ? used : whole->work;
    whole->unlooked = share->unlooked;
    if (share->end == BP__CANCELLED) {
        whole->end = BP__CANCELLED;
    }
}
