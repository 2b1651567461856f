/* costs.h - declares how times of starting commands are measured. */
#ifndef BP_TESTS_GPU_COSTS_H
#define BP_TESTS_GPU_COSTS_H

#include "check.h"

#include "backplane.h"

/* Sets *least to the least time, in ns, of enqueueing one of some commands. A few at a time, so that no queue is full.
 */
outcome least_time(outcome (*enqueue)(void *), void *user, bp_queue *queue, double *least);

#endif
