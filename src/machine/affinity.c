/* affinity.c - keeps the pool's threads off the core of the thread that calls them.
 *
 * Linux often wakes a thread on its waker's core. Here the waker works on, so the two share a core, while another one
 * idles, until the kernel's balancer finds out; that takes milliseconds, in which a product has only half of its speed.
 * Libraries whose threads go on spinning between calls do not meet this; ours sleep, so their affinity says it. It is
 * changed when the caller has moved to another core, and only when threads must be woken anyway.
 */
#include "machine/affinity.h"
#include "machine/internal.h"
#include "machine/available_cpus.h"

#include <sched.h>

static cpu_set_t *allowed; /* that the threads began with; NULL when unknown, and then nothing is changed */
static size_t allowed_size;
static int avoided = -1; /* the core that no thread may use now */

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
            pthread_setaffinity_np(threads[i], allowed_size, allowed); /* a refusal leaves the thread where it was */
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
