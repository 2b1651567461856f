/* internal.h - declares processor facts, loaded objects, and the thread pool of our own code. */
#ifndef BP_MACHINE_INTERNAL_H
#define BP_MACHINE_INTERNAL_H

#include "backplane/machine.h"
#include "backplane/provider.h"
#include "base/base.h"

/* Returns the capability of hardware and operating system (cached). */
bp_capability bp__cpu_hardware(void);
/* Returns the hardware's capability, limited by cpu.capability as set for the calling thread. */
bp_capability bp__cpu_capability(void);
/* Returns whether this machine runs code for `wanted`. */
bool bp__cpu_runs(bp_capability wanted);
/* Returns the name in PyTorch's spelling, such as "AVX2". */
const char *bp__capability_name(bp_capability capability);

/* Returns the number of cores that this process may use: affinity mask and cgroup CPU quota (rounded up), at least 1.
 * Cached. */
int bp__available_cpus(void);

/* Returns 0 if this process can start so many threads, at most 256, else the errno of pthread_create(). Takes about 20
 * us for each (startable_threads.c). */
int bp__threads_start_error(int count);

/* ---- Thread pool (pool.c). Started on first use, sleeps when idle, restarted in a child of fork. ---- */
void bp__parallel(int threads, int count, bp_task task, void *context);
int bp__pool_threads(void); /* workers started so far, plus the caller */
bp_status bp__pool_set_executor(void (*parallel)(void *, int, int, bp_task, void *), void *user);
void bp__pool_stop(void); /* joins the workers, frees the scratch memory of all threads; for bp_reset and unloading */

/* Returns a counter that each child of fork increments. The first call also registers the fork handlers of the pool. */
const volatile uint32_t *bp__fork_count(void);

/* Holds bp_machine()'s mutex while the process forks; call it before bp__settings_fork_lock and after
 * bp__settings_fork_unlock. */
void bp__machine_fork_lock(void);
void bp__machine_fork_unlock(void);

/* Returns whether an operation of this thread waits for the executor of the host program. The executor may have started
 * another operation in the same thread meanwhile. That one must not use memory that the waiting operation uses. */
bool bp__executor_awaited(void);

/* Returns scratch memory of the calling thread for the plan that it runs: aligned to 64 bytes, valid until the thread's
 * next call of this function; NULL if out of memory. Freed when the thread ends. An operation that waits for the
 * executor of the host program keeps its block; operations that start in the thread meanwhile get another one. */
void *bp__scratch(size_t size);

/* Returns another block, for providers: see bp_host.scratch. A plan's tasks may run in the thread whose scratch memory
 * is that plan's workspace. */
void *bp__provider_scratch(size_t size);

/* Returns workspace of the calling thread for an operation that runs others, which may use scratch memory: aligned to
 * 64 bytes; NULL if out of memory. Up to BP__WORKSPACE_KEPT bytes are kept for the thread's next operation. Larger
 * blocks, and blocks of an operation that runs inside another one, are freed after use. */
#define BP__WORKSPACE_KEPT ((size_t)64 << 20)
void *bp__workspace_take(size_t size);
void bp__workspace_give(void *block);

/* ---- Parallel regions of the program's OpenMP runtimes (region.c) ---- */
/* Searches for runtimes that were loaded or started since the last call. Returns true if there are any. Takes about 0.1
 * us if nothing was loaded. It takes a lock of the loader, so do not use it in the fast path. */
bool bp__region_find_runtimes(void);

/* Returns the function that the calling thread must call: its result is not 0 inside a parallel region. NULL: no
 * runtime is known. A thread calls this again when bp__region_find_runtimes() has found a runtime. */
int (*bp__region_get_test(void))(void);

void bp__region_fork_lock(void); /* called by bp__machine_fork_lock and _unlock */
void bp__region_fork_unlock(void);

/* ---- Processors that other processes keep busy (load.c) ---- */
extern _Atomic int32_t bp__load_limit; /* threads that a call uses at most; 0: as many as there are processors */
void bp__load_poll(void);              /* a call begins or ends; updates the limit every tenth of a second */
void bp__load_reset(void);
void bp__load_fork_lock(void); /* called by bp__machine_fork_lock and _unlock */
void bp__load_fork_unlock(void);

/* ---- Loaded objects (loaded.c) ---- */
/* Calls `visit` for each object of the process with its path and load address; stops if it returns false. Returns
 * BP_E_NO_MEMORY if the list could not be allocated; nothing was visited then. */
bp_status bp__loaded_visit(bool (*visit)(void *user, const char *path, uintptr_t base), void *user);

#endif
