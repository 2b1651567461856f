/* pool.h - what scratch.c does for pool.c when the process forks and when the pool stops. */
#ifndef BP_MACHINE_POOL_H
#define BP_MACHINE_POOL_H

/* Gives back the scratch memory of all threads; none of them may be using it. */
void bp__scratch_reset(void);

/* Around fork; bp__scratch_forget_others runs in the child, under the lock. */
void bp__scratch_lock(void);
void bp__scratch_unlock(void);
void bp__scratch_forget_others(void);

#endif
