/* affinity.h - sets the affinity of the pool's threads; only the current owner of the pool may call this. */
#ifndef BP_MACHINE_AFFINITY_H
#define BP_MACHINE_AFFINITY_H

#include <pthread.h>

/* Call it when the pool starts threads: they may run on all CPUs that the calling thread may use. */
void bp__affinity_start(void);

/* Keeps the threads off the calling thread's core if another one is left for them. */
void bp__affinity_avoid_caller(const pthread_t *threads, int count);

/* Call it when the threads have ended. */
void bp__affinity_stop(void);

#endif
