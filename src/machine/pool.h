/* pool.h - declares what scratch.c does around the executor of the host program, around a thread's interrupt check, at
 * fork, and when the pool stops. */
#ifndef BP_MACHINE_POOL_H
#define BP_MACHINE_POOL_H

#include <stddef.h>

/* A block of scratch memory of an operation that waits. */
typedef struct bp__scratch_held {
    void *block;
    size_t size;
    struct bp__scratch_held *outer; /* of the same thread */
} bp__scratch_held;

/* Keeps the calling thread's block for the operation that continues after bp__scratch_return; in between, the thread
 * uses another one. Operations of a thread may continue in any order. `held` is storage of the caller. */
void bp__scratch_hold(bp__scratch_held *held);
void bp__scratch_return(bp__scratch_held *held);

/* Frees the scratch memory of all threads; none of them may be using it. */
void bp__scratch_reset(void);

/* Called around fork; bp__scratch_forget_others runs in the child, under the lock. */
void bp__scratch_lock(void);
void bp__scratch_unlock(void);
void bp__scratch_forget_others(void);

#endif
