/* affinity.h - where the threads of the pool run; called by whoever owns the pool at the moment. */
#ifndef BP_MACHINE_PLACEMENT_H
#define BP_MACHINE_PLACEMENT_H

#include <pthread.h>

/* The pool starts threads: from now on they may run wherever the calling thread may. */
void bp__affinity_start(void);

/* Keeps the threads off the core that the calling thread is on, as long as another one is left for them. */
void bp__affinity_avoid_caller(const pthread_t *threads, int count);

/* The threads have ended. */
void bp__affinity_stop(void);

#endif
