/* watch.h - lets a test see which memory the providers of rivals.c write, and how often they run.
 *
 * The providers are a separate module, so the test passes the address in an environment variable. */
#ifndef TEST_WATCH_H
#define TEST_WATCH_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { RIVALS = 5 };

typedef struct watch {
    void *c;                       /* result of the program's call */
    atomic_int writes;             /* runs that wrote it */
    atomic_int runs[RIVALS];       /* of each algorithm */
    void (*during)(void);          /* called in each run; may be NULL */
    void (*advance)(long long ns); /* the clock of the test, which only runs advance: one for each thread */
    long long times[RIVALS];       /* of a run, in ns; 0: as in rivals.c */
    atomic_int packed_runs;        /* of moody, with B in its packed form: these take 10 us */
    double estimates[RIVALS];      /* likewise */
    int lists;             /* quick and moody are a library's own list for steady, and the others are not there */
    atomic_int expanded;   /* how often the provider was asked for that list */
    atomic_llong first_ns; /* what the next run takes in addition, such as loading a library */
} watch;

static inline void offer_watch(watch *w) {
    char address[32];
    snprintf(address, sizeof address, "%p", (void *)w);
    setenv("RIVALS_WATCH", address, 1);
}

static inline watch *find_watch(void) {
    const char *address = getenv("RIVALS_WATCH");
    void *found = NULL;
    return address && sscanf(address, "%p", &found) == 1 ? found : NULL;
}

#endif
