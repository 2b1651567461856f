/* needs.c - measures how much memory a library takes: when it is opened, in its first calls, and for a second thread.
 *
 * Many libraries end the process if they get no memory, so a process with limits must know before it calls one. The
 * calls are of a size at which libraries use their buffers and start threads. Some libraries need more for larger
 * matrices; the host program adds the size of the operands (dispatch/needs.c). */
#include "probe/probe.h"

#include "base/base.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OpenBLAS factors a matrix on several threads only if it has 40,000 elements, and takes half a megabyte of stack then. */
enum { SIDE = 128, FACTORED = 256, ROUNDS = 3, SIZE = 3 * SIDE * SIDE * 2 * sizeof(double) };

/* In KiB. */
typedef struct usage {
    int64_t size; /* address space */
    int64_t peak; /* the largest that it has been */
    int64_t data; /* private and writable */
} usage;

static usage before, opened;
static char matrices[2][SIZE] __attribute__((aligned(64))); /* of two threads */

static int64_t field(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static usage usage_now(void) {
    char text[4096];
    bp__read_text("/proc/self/status", text, sizeof text);
    return (usage){field(text, "VmSize:"), field(text, "VmPeak:"), field(text, "VmData:")};
}

void note_before_opening(void) {
    before = usage_now();
}

void note_opened(void) {
    opened = usage_now();
}

typedef void getrf(const int64_t *m, const int64_t *n, double *a, const int64_t *lda, int64_t *pivots, int64_t *info);

/* Factors the identity. */
static void factor_square(const subject *library, double *memory) {
    static int64_t pivots[FACTORED];
    const int64_t side = FACTORED;
    int64_t info = 0;
    void *address = library->kinds & BP_LIB_LAPACK ? fortran_routine(library, "dgetrf") : NULL;
    memset(memory, 0, FACTORED * FACTORED * sizeof *memory);
    for (int i = 0; i < FACTORED; i++) {
        memory[i * (FACTORED + 1)] = 1;
    }
    if (address) {
        ((getrf *)address)(&side, &side, memory, &side, pivots, &info);
    }
}

typedef int dnnl_sgemm(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                       float, float *, int64_t);

static void multiply_with_dnnl(const subject *library, float *memory) {
    const int64_t square = (int64_t)SIDE * SIDE;
    void *address = library->kinds & BP_LIB_DNN ? own_symbol(library, "dnnl_sgemm") : NULL;
    memset(memory, 0, 3 * (size_t)square * sizeof *memory);
    if (address) {
        ((dnnl_sgemm *)address)('N', 'N', SIDE, SIDE, SIDE, 1, memory, SIDE, memory + square, SIDE, 0,
                                memory + 2 * square, SIDE);
    }
}

enum { EVERY_TYPE = 0, LARGEST_TYPE = 3 };

static void make_calls(const subject *library, int first_type, void *operands) {
    multiply_squares(library, first_type, SIDE, operands);
    factor_square(library, operands);
    multiply_with_dnnl(library, operands);
}

typedef struct caller {
    const subject *library;
    void *operands;
    pthread_barrier_t *start;
} caller;

static void *call_at_once(void *user) {
    const caller *self = user;
    set_threads(self->library, 1); /* of some libraries, the calling thread's */
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(self->start);
        make_calls(self->library, EVERY_TYPE, self->operands);
    }
    return NULL;
}

static void *allocate(void *user) {
    free(malloc(1));
    return user;
}

/* Makes the stack and the heap that the C library keeps for the next thread, because those are no need of the library.
 * Returns false if there is no thread. */
static bool prepare_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate, NULL) != 0) {
        report("shortage", "threads");
        return false;
    }
    pthread_join(thread, NULL);
    return true;
}

/* Makes calls by two threads at the same time; one of them has called the library before. Without another thread, this
 * one has no partner at the barrier and makes no calls. */
static void make_calls_of_two(const subject *library) {
    pthread_barrier_t start;
    pthread_t thread;
    caller mine = {library, matrices[0], &start}, other = {library, matrices[1], &start};
    if (pthread_barrier_init(&start, NULL, 2) != 0) {
        return;
    }
    if (pthread_create(&thread, NULL, call_at_once, &other) == 0) {
        call_at_once(&mine);
        pthread_join(thread, NULL);
    } else {
        report("shortage", "threads");
    }
    pthread_barrier_destroy(&start);
}

static int64_t growth(int64_t from, int64_t to) {
    return to > from ? to - from : 0;
}

static void report_growth(const char *stage, const usage *from, const usage *to, int64_t size_before) {
    char name[32];
    snprintf(name, sizeof name, "%s_space", stage);
    report(name, "%lld", (long long)growth(size_before, to->peak));
    snprintf(name, sizeof name, "%s_data", stage);
    report(name, "%lld", (long long)growth(from->data, to->data));
}

static void measure_threads(const subject *library) {
    /* Threads of BLIS wait for each other without sleep, which takes longer than the rest of its probe where processors
     * are shared; and its buffers have one size for all types. */
    const int first_type = strcmp(library->family->id, "blis") == 0 ? LARGEST_TYPE : EVERY_TYPE;
    const usage one = usage_now();
    if (set_threads(library, 2)) {
        make_calls(library, first_type, matrices[0]);
        const usage two = usage_now();
        report_growth("thread", &one, &two, one.peak);
    }
}

/* A library that has taken less than that for its calls has no buffers. */
enum { LEAST_BUFFER = 1024 };

static void measure_callers(const subject *library) {
    if (!prepare_thread()) {
        return;
    }
    const usage one = usage_now();
    make_calls_of_two(library);
    const usage two = usage_now();
    report_growth("caller", &one, &two, one.peak);
}

void measure_needs(const subject *library) {
    if (library->family->flags & (BP__FAMILY_GPU | BP__FAMILY_FORWARDS)) {
        return;
    }
    mallopt(M_ARENA_MAX, 1); /* malloc reserves 64 MiB or more for each new thread, but works without that */
    set_threads(library, 1);
    make_calls(library, EVERY_TYPE, matrices[0]);
    report("open_space", "%lld", (long long)growth(before.size, opened.size));
    report("open_data", "%lld", (long long)growth(before.data, opened.data));
    const usage one = usage_now();
    report_growth("call", &opened, &one, opened.size);
    measure_threads(library);
    if (growth(opened.size, one.peak) >= LEAST_BUFFER) {
        measure_callers(library);
    }
    report_how("needed memory", "calls on one thread and on two, and by two threads");
}
