/* gate.h - lets a test block a function of a provider.
 *
 * The provider is a separate module, so the test passes the gate's address in an environment variable. */
#ifndef TEST_GATE_H
#define TEST_GATE_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct gate {
    atomic_int closed;  /* callers wait while it is 1 */
    atomic_int waiting; /* number of callers that have arrived */
} gate;

static inline void offer_gate(gate *g) {
    char address[32];
    snprintf(address, sizeof address, "%p", (void *)g);
    setenv("FAKE_GATE", address, 1);
}

static inline void short_pause(void) {
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static inline void wait_at_gate(void) {
    const char *address = getenv("FAKE_GATE");
    void *found = NULL;
    if (!address || sscanf(address, "%p", &found) != 1) {
        return;
    }
    gate *g = found;
    atomic_fetch_add(&g->waiting, 1);
    while (atomic_load(&g->closed)) {
        short_pause();
    }
}

#endif
