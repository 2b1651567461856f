/* affinity.c - keeps the pool's threads off the core of the thread that calls them.
 *
 * Linux often wakes a thread on its waker's core. The waker keeps working, so both threads share one core while another
 * is idle, until the kernel's load balancer moves one. That takes milliseconds, in which a product runs at half speed.
 * Libraries whose threads spin between calls avoid this. Ours sleep, so the pool sets their affinity. It changes it
 * only if the caller has moved to another core and threads must be woken anyway.
 */
#include "machine/affinity.h"
#include "machine/internal.h"
#include "machine/available_cpus.h"

#include <sched.h>

static cpu_set_t
    *allowed; /* CPUs that the threads started with; NULL if unknown, and then the affinity is never changed */
static size_t allowed_size;
static int avoided = -1; /* the core that the threads must not use now */

void bp__affinity_start(void) {
    if (!allowed) {
        allowed = bp__affinity(&allowed_size);
    }
    avoided = -1;
}

void bp__affinity_avoid_caller(const pthread_t *threads, int count) {
    int cpu = sched_getcpu();
    if (!allowed || cpu < 0 || cpu == avoided) {
        return;
    }
    avoided = cpu;
    bool was_allowed = CPU_ISSET_S((size_t)cpu, allowed_size, allowed);
    CPU_CLR_S((size_t)cpu, allowed_size, allowed);
    if (CPU_COUNT_S(allowed_size, allowed) > 0) {
        for (int i = 0; i < count; i++) {
            pthread_setaffinity_np(threads[i], allowed_size,
                                   allowed); /* if this fails, the thread keeps its affinity */
        }
    }
    if (was_allowed) {
        CPU_SET_S((size_t)cpu, allowed_size, allowed);
    }
}

void bp__affinity_stop(void) {
    bp__free(allowed);
    allowed = NULL;
}
