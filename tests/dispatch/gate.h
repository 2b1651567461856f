/* gate.h - a place where a test makes a provider's function wait. The provider is a module of its own, so the test
 * hands over the gate's address in the environment. */
#ifndef TEST_GATE_H
#define TEST_GATE_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct gate {
    atomic_int closed;  /* who arrives waits while it is 1 */
    atomic_int waiting; /* how many have arrived */
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
