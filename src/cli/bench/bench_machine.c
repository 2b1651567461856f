/* bench_machine.c - measures the memory bandwidth with a triad on several threads, and how fast the processor runs now.
 */
#include "bench.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MOST_REPEATS 10
#define LEAST_REPEATS 2
#define LEAST_BYTES ((int64_t)16 << 20) /* of one array */

enum { WAIT, GO, QUIT };

typedef struct triad {
    double *a, *b, *c;
    size_t count;
    atomic_int *gate; /* threads wait here, because one of them may fail to start */
    pthread_barrier_t *barrier;
    double *limit;  /* time at which no repetition begins; the first thread writes 0 to end all */
    double seconds; /* the least of all repetitions, from the first thread's view */
} triad;

static void fill_triad(const triad *t) {
    for (size_t i = 0; i < t->count; i++) {
        t->a[i] = 0;
        t->b[i] = 1;
        t->c[i] = 2;
    }
}

static void add_triad(double *restrict a, const double *restrict b, const double *restrict c, size_t count, double x) {
    for (size_t i = 0; i < count; i++) {
        a[i] = b[i] + x * c[i];
    }
}

/* Touches its part first, so that the memory is near its thread. */
static void *run_triad(void *context) {
    triad *t = context;
    while (atomic_load(t->gate) == WAIT) {
        cli_rest_ns(1e5);
    }
    if (atomic_load(t->gate) == QUIT) {
        return NULL;
    }
    fill_triad(t);
    for (int i = 0; i < MOST_REPEATS; i++) {
        /* One of the threads decides for all of them, between two barriers. */
        if (pthread_barrier_wait(t->barrier) == PTHREAD_BARRIER_SERIAL_THREAD && cli_now_ns() > *t->limit) {
            *t->limit = 0;
        }
        pthread_barrier_wait(t->barrier);
        if (*t->limit == 0 && i >= LEAST_REPEATS) {
            break;
        }
        double start = cli_now_ns();
        add_triad(t->a, t->b, t->c, t->count, 1.0 + i);
        pthread_barrier_wait(t->barrier);
        double seconds = (cli_now_ns() - start) / 1e9;
        t->seconds = i == 0 || seconds < t->seconds ? seconds : t->seconds;
    }
    return NULL;
}

/* The three arrays have four times the size of the last cache, or a tenth of the memory. */
static size_t array_count(void) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    int64_t bytes = LEAST_BYTES;
    if (bp_machine(&machine) == BP_OK) {
        bytes = 4 * machine.l3_bytes / 3 > bytes ? 4 * machine.l3_bytes / 3 : bytes;
        bool limited = machine.memory_bytes > 0 && bytes > machine.memory_bytes / 30;
        bytes = limited ? machine.memory_bytes / 30 : bytes;
    }
    return (size_t)bytes / sizeof(double);
}

/* Runs the parts, the first one in the calling thread. False if a thread cannot be started. */
static bool run_parts(triad *parts, int threads, pthread_t *handles) {
    int started = 0;
    while (started + 1 < threads && pthread_create(&handles[started], NULL, run_triad, &parts[started + 1]) == 0) {
        started++;
    }
    bool complete = started + 1 == threads;
    atomic_store(parts[0].gate, complete ? GO : QUIT);
    if (complete) {
        run_triad(&parts[0]);
    }
    for (int i = 0; i < started; i++) {
        pthread_join(handles[i], NULL);
    }
    return complete;
}

double bench_triad(int threads, double seconds) {
    size_t count = array_count(), part = count / (size_t)threads;
    double *block = malloc(3 * count * sizeof *block), speed = 0;
    triad *parts = cli_allocate((size_t)threads * sizeof *parts);
    pthread_t *handles = cli_allocate((size_t)threads * sizeof *handles);
    pthread_barrier_t barrier;
    atomic_int gate = WAIT;
    double limit = cli_now_ns() + seconds * 1e9;
    for (int i = 0; block && i < threads; i++) {
        double *at = block + (size_t)i * part;
        parts[i] = (triad){.a = at,
                           .b = at + count,
                           .c = at + 2 * count,
                           .count = part,
                           .gate = &gate,
                           .barrier = &barrier,
                           .limit = &limit};
    }
    if (block && pthread_barrier_init(&barrier, NULL, (unsigned)threads) == 0) {
        bool ran = run_parts(parts, threads, handles);
        speed = ran ? 3 * sizeof(double) * (double)part * threads / parts[0].seconds / 1e9 : 0;
        pthread_barrier_destroy(&barrier);
    }
    free(handles);
    free(parts);
    free(block);
    return speed;
}

#define CHAIN 20000
#define CHAIN_REPEATS 3

double bench_chain(void) {
    double least = 0;
    for (int i = 0; i < CHAIN_REPEATS; i++) {
        volatile double start_value = 1.0;
        double x = start_value, start = cli_now_ns();
        for (int k = 0; k < CHAIN; k++) {
            x = x * 1.0000001 + 1e-9;
        }
        start_value = x; /* otherwise the compiler leaves out the loop */
        double ns = cli_now_ns() - start;
        least = i == 0 || ns < least ? ns : least;
    }
    return least;
}
