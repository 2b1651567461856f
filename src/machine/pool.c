/* pool.c - runs tasks on a small thread pool, started on first use, without OpenMP.
 *
 * One job runs at a time. The owner publishes a job with one store: a job counter and the number of free worker slots,
 * in one 64-bit word. Workers take slots by compare-and-swap and then draw task numbers until none is left; the owner
 * does the same. The owner closes the free slots, so that it never waits for a late worker, and waits for the taken
 * ones. A thread that finds the pool busy, also in a nested call, runs its tasks alone, so nothing can deadlock.
 */
#include "machine/pool.h"
#include "base/uncancelled.h"

#include "machine/internal.h"
#include "machine/affinity.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* Far more than any matrix product can use; it only bounds the array. */
#define MAX_WORKERS 1023
/* nanoseconds; a wake-up from sleep costs a few microseconds, so a thread spins about this long before it sleeps */
#define SPIN_NS 30000

static struct {
    _Alignas(64) _Atomic uint64_t state; /* job counter in the high half, free slots in the low one */
    _Alignas(64) _Atomic int64_t next;   /* the next task number */
    _Alignas(64) atomic_int finished;    /* slots taken and left again */
    atomic_bool owner_sleeps;
    atomic_int sleepers; /* workers waiting for `work` */
    atomic_bool stopping;
    atomic_bool busy;
    atomic_int workers; /* started workers */
    int limit;          /* lowered when the system refuses more threads */
    bp_task task;
    void *context;
    int count;
    pthread_t thread[MAX_WORKERS];
} pool = {.limit = MAX_WORKERS};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects the two conditions and the executor */
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static volatile uint32_t forks;

static _Thread_local bool inside;   /* this thread runs a task, or is a worker */
static _Thread_local bool owns_job; /* this thread published the current job */

typedef void executor_function(void *user, int threads, int count, bp_task task, void *context);
/* Set by the host program. Everything but reading `run` happens under `mutex`, so that function and pointer match. */
static struct {
    _Atomic(executor_function *) run; /* NULL: the library's own pool is used */
    void *user;
    int active; /* operations that wait for the executor */
} executor;
static _Thread_local int awaited; /* operations of this thread that wait for it */

static uint32_t generation(uint64_t state) {
    return (uint32_t)(state >> 32);
}

static uint32_t free_slots(uint64_t state) {
    return (uint32_t)state;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Returns whether another round of waiting should spin. If there are more threads than cores, spinning only delays the
 * threads that work. */
static bool spin_on(int64_t *until) {
    if (*until == 0) {
        bool enough_cores = atomic_load_explicit(&pool.workers, memory_order_relaxed) < bp__available_cpus();
        *until = enough_cores ? bp__now_ns() + SPIN_NS : -1;
    }
    if (*until < 0) {
        return false;
    }
    for (int i = 0; i < 32; i++) {
        relax();
    }
    return bp__now_ns() < *until;
}

static void draw_tasks(void) {
    for (;;) {
        int64_t task = atomic_fetch_add_explicit(&pool.next, 1, memory_order_relaxed);
        if (task >= pool.count) {
            return;
        }
        pool.task(pool.context, (int)task);
    }
}

/* Returns the state when its job counter differs from `seen`, or when the pool stops. */
static uint64_t wait_for_job(uint32_t seen) {
    int64_t until = 0;
    do {
        uint64_t state = atomic_load(&pool.state);
        if (generation(state) != seen || atomic_load(&pool.stopping)) {
            return state;
        }
    } while (spin_on(&until));
    pthread_mutex_lock(&mutex);
    atomic_fetch_add(&pool.sleepers, 1);
    while (generation(atomic_load(&pool.state)) == seen && !atomic_load(&pool.stopping)) {
        pthread_cond_wait(&work, &mutex);
    }
    atomic_fetch_sub(&pool.sleepers, 1);
    pthread_mutex_unlock(&mutex);
    return atomic_load(&pool.state);
}

static void leave_slot(void) {
    atomic_fetch_add(&pool.finished, 1);
    if (atomic_load(&pool.owner_sleeps)) {
        pthread_mutex_lock(&mutex);
        pthread_cond_signal(&done);
        pthread_mutex_unlock(&mutex);
    }
}

static void *worker(void *generation_at_start) {
    inside = true;
    uint32_t seen = (uint32_t)(uintptr_t)generation_at_start;
    for (;;) {
        uint64_t state = wait_for_job(seen);
        if (atomic_load(&pool.stopping)) {
            return NULL;
        }
        seen = generation(state);
        while (generation(state) == seen && free_slots(state) > 0) {
            if (atomic_compare_exchange_weak(&pool.state, &state, state - 1)) {
                draw_tasks();
                leave_slot();
                break;
            }
        }
    }
}

/* Workers block all signals, so that signal handlers run on the program's threads. */
static void start_workers(int wanted) {
    if (wanted > pool.limit) {
        wanted = pool.limit;
    }
    int started = atomic_load(&pool.workers);
    if (started >= wanted) {
        return;
    }
    bp__affinity_start();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    void *now = (void *)(uintptr_t)generation(atomic_load(&pool.state));
    for (; started < wanted; started++) {
        if (pthread_create(&pool.thread[started], NULL, worker, now) != 0) {
            pool.limit = started;
            break;
        }
        atomic_store(&pool.workers, started + 1);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void publish(int helpers, int count, bp_task task, void *context) {
    pool.task = task;
    pool.context = context;
    pool.count = count;
    atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
    atomic_store_explicit(&pool.finished, 0, memory_order_relaxed);
    uint32_t next_generation = generation(atomic_load(&pool.state)) + 1;
    /* An exchange, not a store: qemu 7.2 lets a later load overtake a store for 64-bit ARM. */
    atomic_exchange(&pool.state, (uint64_t)next_generation << 32 | (uint32_t)helpers);
    if (atomic_load(&pool.sleepers) > 0) {
        bp__affinity_avoid_caller(pool.thread, atomic_load(&pool.workers));
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < helpers; i++) {
            pthread_cond_signal(&work);
        }
        pthread_mutex_unlock(&mutex);
    }
}

/* Closes the free slots and waits until the taken ones are left. */
static void retire(int helpers) {
    uint64_t state = atomic_load(&pool.state);
    while (!atomic_compare_exchange_weak(&pool.state, &state, (uint64_t)generation(state) << 32)) {
    }
    int taken = helpers - (int)free_slots(state);
    int64_t until = 0;
    do {
        if (atomic_load(&pool.finished) == taken) {
            return;
        }
    } while (spin_on(&until));
    BP__UNCANCELLED; /* pthread_cond_wait() is a cancellation point */
    pthread_mutex_lock(&mutex);
    atomic_exchange(&pool.owner_sleeps, true); /* see publish() */
    while (atomic_load(&pool.finished) != taken) {
        pthread_cond_wait(&done, &mutex);
    }
    atomic_store(&pool.owner_sleeps, false);
    pthread_mutex_unlock(&mutex);
}

static void run_alone(int count, bp_task task, void *context) {
    bool before = inside;
    inside = true;
    for (int i = 0; i < count; i++) {
        task(context, i);
    }
    inside = before;
}

/* Marks a thread of the program's executor as being inside a task, for nested calls. Such a thread may have begun its
 * own call, whose interrupt check does not apply to this one. */
typedef struct marked {
    bp_task task;
    void *context;
    const bool *owner; /* `inside` of the thread that began the call */
} marked;

static void run_marked(void *context, int task) {
    const marked *m = context;
    bool before = inside, silent = bp__interrupt_silence(m->owner != &inside);
    inside = true;
    m->task(m->context, task);
    inside = before;
    bp__interrupt_silence(silent);
}

/* Returns false if there is no executor any more. The executor may run other operations in this thread before it
 * returns. */
static bool run_on_executor(int threads, int count, bp_task task, void *context) {
    pthread_mutex_lock(&mutex);
    executor_function *run = atomic_load_explicit(&executor.run, memory_order_relaxed);
    void *user = executor.user;
    executor.active += run != NULL;
    pthread_mutex_unlock(&mutex);
    if (!run) {
        return false;
    }
    marked m = {task, context, &inside};
    BP__UNCANCELLED; /* the program's function waits for its threads */
    bp__scratch_held held;
    bp__scratch_hold(&held);
    awaited++;
    run(user, threads, count, run_marked, &m);
    awaited--;
    bp__scratch_return(&held);
    pthread_mutex_lock(&mutex);
    executor.active--;
    pthread_mutex_unlock(&mutex);
    return true;
}

bool bp__executor_awaited(void) {
    return awaited > 0;
}

void bp__parallel(int threads, int count, bp_task task, void *context) {
    int helpers = (threads < count ? threads : count) - 1;
    if (helpers <= 0 || inside) {
        run_alone(count, task, context);
        return;
    }
    bp__fork_count();
    if (atomic_load_explicit(&executor.run, memory_order_relaxed) && run_on_executor(threads, count, task, context)) {
        return;
    }
    if (atomic_exchange(&pool.busy, true)) {
        run_alone(count, task, context);
        return;
    }
    owns_job = true;
    start_workers(helpers);
    int workers = atomic_load(&pool.workers);
    helpers = helpers < workers ? helpers : workers;
    publish(helpers, count, task, context);
    inside = true;
    draw_tasks();
    inside = false;
    retire(helpers);
    owns_job = false;
    atomic_store(&pool.busy, false);
}

int bp__pool_threads(void) {
    return atomic_load(&pool.workers) + 1;
}

bp_status bp__pool_set_executor(executor_function *parallel, void *user) {
    pthread_mutex_lock(&mutex);
    bool busy = executor.active > 0 || atomic_load(&pool.busy);
    if (!busy) {
        executor.user = user;
        atomic_store_explicit(&executor.run, parallel, memory_order_relaxed);
    }
    pthread_mutex_unlock(&mutex);
    if (busy) {
        return bp__fail(BP_E_BUSY, "the executor cannot be replaced while an operation runs; wait until it returns");
    }
    return BP_OK;
}

void bp__pool_stop(void) {
    BP__UNCANCELLED;
    while (atomic_exchange(&pool.busy, true)) {
        sched_yield();
    }
    atomic_store(&pool.stopping, true);
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < atomic_load(&pool.workers); i++) {
        pthread_join(pool.thread[i], NULL);
    }
    atomic_store(&pool.workers, 0);
    atomic_store(&pool.stopping, false);
    pool.limit = MAX_WORKERS;
    bp__affinity_stop();
    atomic_store(&pool.busy, false);
    bp__scratch_reset();
}

/* ---- Fork: the child has one thread, so its pool is empty, and none of its locks may be held. ---- */

static void before_fork(void) {
    bp__scratch_lock();
    pthread_mutex_lock(&mutex);
}

static void after_fork_parent(void) {
    pthread_mutex_unlock(&mutex);
    bp__scratch_unlock();
}

static void after_fork_child(void) {
    forks++;
    pthread_mutex_unlock(&mutex);
    pthread_cond_init(&work, NULL);
    pthread_cond_init(&done, NULL);
    atomic_store(&pool.workers, 0);
    atomic_store(&pool.sleepers, 0);
    atomic_store(&pool.owner_sleeps, false);
    atomic_store(&pool.stopping, false);
    atomic_store(&pool.busy, owns_job);
    executor.active = awaited;
    pool.limit = MAX_WORKERS;
    bp__scratch_forget_others();
    bp__scratch_unlock();
}

static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

const volatile uint32_t *bp__fork_count(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    return &forks;
}
