/* mirror.h - declares a provider that runs every operation of native by three algorithms which take known times. */
#ifndef TESTS_TUNING_MIRROR_H
#define TESTS_TUNING_MIRROR_H

#include "backplane/provider.h"

/* "slow" takes 400 us and has the least estimate, "quick" takes 20 us, and "wrong" writes a wrong first element of its
 * first output, at once. */
typedef struct mirror {
    void (*advance)(long long ns); /* the clock of the test */
    int runs, failures;            /* a run fails if its operands are not valid */
} mirror;
extern mirror mirrored;

/* Makes the module of forwarding.c use the provider. */
void mirror_offer(void);

#endif
