/* work.h - what plans of reductions and softmax have in common, and how threads share a call. */
#ifndef BP_NATIVE_REDUCE_WORK_H
#define BP_NATIVE_REDUCE_WORK_H

#include "reduce.h"

#include <string.h>

typedef struct bp__reduce_work {
    bp_prepared base;
    const bp_host *host;
    bp_problem problem;
    bp__reduce_cut cut;
    int threads;
} bp__reduce_work;

typedef struct bp__reduce_call {
    const bp__reduce_work *work;
    char *operand[3];
    bp__stop stop;
    _Atomic int64_t next; /* unit */
} bp__reduce_call;

/* Allocates a plan that begins with a bp__reduce_work. Returns NULL, with an error (BP_E_NO_MEMORY), if that fails. */
typedef bp_status bp__reduce_run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
void *bp__reduce_work_new(const bp_host *host, const bp_problem *problem, size_t size, int threads,
                          bp__reduce_run *run);

void bp__reduce_call_begin(bp__reduce_call *call, const bp__reduce_work *work, const bp_operand *operands);

/* Calls `compute` for each part of each item, by all threads. */
void bp__reduce_stage(bp__reduce_call *call,
                      void (*compute)(bp__reduce_call *call, int64_t item, int64_t part, int task));

#endif
