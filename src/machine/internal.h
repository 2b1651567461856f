/* internal.h - processor facts, loaded objects, and the thread pool that our own code runs on. */
#ifndef BP_MACHINE_INTERNAL_H
#define BP_MACHINE_INTERNAL_H

#include "backplane/machine.h"
#include "backplane/provider.h"
#include "base/base.h"

/* What the hardware and the operating system offer (cached). */
bp_capability bp__cpu_hardware(void);
/* The hardware's, lowered by cpu.capability as set for the calling thread. */
bp_capability bp__cpu_capability(void);
/* Whether code for `wanted` runs on this machine. */
bool bp__cpu_runs(bp_capability wanted);
/* "AVX2" as PyTorch spells it. */
const char *bp__capability_name(bp_capability capability);

/* Cores that this process may use: affinity mask and cgroup CPU quota (rounded up), at least 1. Cached. */
int bp__available_cpus(void);

/* ---- Pool (pool.c). Started at first use, sleeps when idle, restarted in a child of fork. ---- */
void bp__parallel(int threads, int count, bp_task task, void *context);
int bp__pool_threads(void); /* workers started so far, plus the caller */
bp_status bp__pool_set_executor(void (*parallel)(void *, int, int, bp_task, void *), void *user);
void bp__pool_stop(void); /* joins the workers, frees the scratch memory of all threads; for bp_reset and unloading */

/* Grows by one in each child of fork. The first call also arranges that the pool survives fork. */
const volatile uint32_t *bp__fork_count(void);

/* Holds bp_machine()'s mutex while the process forks; before bp__settings_fork_lock, after bp__settings_fork_unlock. */
void bp__machine_fork_lock(void);
void bp__machine_fork_unlock(void);

/* Whether an operation of this thread waits for the executor of the host program, which may have begun another one in
 * the same thread meanwhile: what operations of a thread share must not be taken from the one that waits. */
bool bp__executor_awaited(void);

/* Scratch memory of the calling thread for the plan that it runs: aligned to 64 bytes, valid until the thread's next
 * call of this, NULL without memory. Freed when the thread ends. What an operation holds while it waits for the
 * executor of the host program is not given to others that begin in the thread meanwhile. */
void *bp__scratch(size_t size);

/* Another block, for providers: see bp_host.scratch. Tasks of a plan may run in the thread whose scratch memory is that
 * plan's workspace. */
void *bp__provider_scratch(size_t size);

/* Workspace of the calling thread for an operation that runs others, which may use scratch memory: aligned to 64 bytes,
 * NULL without memory. Up to BP__WORKSPACE_KEPT bytes are kept for the thread's next operation; more, and what an
 * operation takes that runs inside another one, is given back to the system. */
#define BP__WORKSPACE_KEPT ((size_t)64 << 20)
void *bp__workspace_take(size_t size);
void bp__workspace_give(void *block);

/* ---- Parallel regions of the program's OpenMP runtimes (region.c) ---- */
/* Looks for runtimes that were loaded or started since the last look; true when there are some. About 0.1 us when
 * nothing was loaded. Takes a lock of the loader, so it is not for the fast path. */
bool bp__region_look(void);

/* Returns the function that the calling thread is to ask: it returns other than 0 inside a parallel region. NULL: no
 * runtime is known. A thread calls this again when bp__region_look() has found something. */
int (*bp__region_question(void))(void);

void bp__region_fork_lock(void); /* parts of bp__machine_fork_lock and _unlock */
void bp__region_fork_unlock(void);

/* ---- Loaded objects (loaded.c) ---- */
/* Calls `visit` for each object of the process with its path and load address; stops when it returns false.
 * BP_E_NO_MEMORY when there was none for the list: then nothing was visited. */
bp_status bp__loaded_visit(bool (*visit)(void *user, const char *path, uintptr_t base), void *user);

#endif
