/* main.c - fuzz_families FAMILY COUNT SEED [empty|candidates]: COUNT random calls of a family, each with its own seed,
 * from SEED on. With `empty`, each size of each call is 0 once; with `candidates`, each call runs on every candidate
 * that accepts it (candidates.c). A child process runs the calls, so that one that ends it is reported, and the next
 * ones run. */
#include "trial.h"

#include "../../support/kernels.h"
#include "../../support/modes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { MOST_FINDINGS = 50, MOST_SECONDS = 120 };

typedef enum mode { PLAIN, EMPTY, CANDIDATES } mode;

typedef struct progress {
    unsigned long long seed, end, calls;
    int zero_at, findings;
    coverage candidates;
} progress;

static void one_seed(const family *f, progress *p, mode how) {
    const bool empty = how == EMPTY;
    int sizes = 0;
    if (how == CANDIDATES) {
        p->findings += run_candidates(f, p->seed, &p->candidates);
        return;
    }
    if (!empty || p->zero_at < 0) {
        p->findings += run_trial(f, NULL, 0, p->seed, -1, &sizes, &p->calls);
    }
    for (p->zero_at++; empty && p->zero_at < OPERANDS; p->zero_at++) {
        p->findings += run_trial(f, NULL, 0, p->seed, p->zero_at, &sizes, &p->calls);
        if (p->zero_at + 1 >= sizes) {
            break;
        }
    }
    p->zero_at = -1;
}

static void at_signal(int number) {
    print_trial();
    signal(number, SIG_DFL);
    raise(number);
}

/* Calls on a device compile kernels, which takes long on processors: without TESTED_ALL few calls run there. */
static void find_device(coverage *c) {
    test_kernels_setup();
    c->device_part = test_takes_all() ? 4 : 64;
    if (bp_device_find("opencl", &c->device) != BP_OK) {
        c->device = 0;
    }
}

static void child(const family *f, progress *p, mode how) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that takes too long is ended with its child */
    set_up(how == CANDIDATES);
    if (how == CANDIDATES) {
        find_device(&p->candidates);
    }
    signal(SIGSEGV, at_signal);
    signal(SIGFPE, at_signal);
    signal(SIGALRM, at_signal);
    for (; p->seed < p->end && p->findings < MOST_FINDINGS; p->seed++) {
        alarm(MOST_SECONDS);
        one_seed(f, p, how);
    }
    _exit(0);
}

/* Returns whether the child did all. Otherwise the next one begins behind the call that ended this one. */
static bool run_child(const family *f, progress *p, mode how) {
    const bool empty = how == EMPTY;
    int status = 0;
    fflush(NULL);
    const pid_t id = fork();
    if (id == 0) {
        child(f, p, how);
    }
    if (id < 0 || waitpid(id, &status, 0) < 0) {
        perror("fuzz_families");
        exit(1);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    fprintf(stderr, "finding: fuzz_families %s 1 %llu%s: ended by %s %d (size number %d is 0)\n", f->name, p->seed,
            empty               ? " empty"
            : how == CANDIDATES ? " candidates"
                                : "",
            WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
            p->zero_at);
    p->findings++;
    if (!empty || p->zero_at < 0) {
        p->seed++;
    }
    return false;
}

/* Each family has candidates on every machine: `native` has some. */
static bool report_candidates(const family *f, const progress *p) {
    const coverage *c = &p->candidates;
    printf("%s: %llu calls, %llu runs of candidates, %llu compared with a reference, %llu on a device, %d findings\n",
           f->name, c->calls, c->runs, c->compared, c->device_runs, p->findings);
    return p->findings == 0 && c->runs > 0;
}

static int run_family(const family *f, unsigned long long count, unsigned long long seed, mode how) {
    progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("fuzz_families");
        return 1;
    }
    *p = (progress){.seed = seed, .end = seed + count, .zero_at = -1};
    while (!run_child(f, p, how) && p->findings < MOST_FINDINGS) {
    }
    if (how == CANDIDATES) {
        return !report_candidates(f, p);
    }
    printf("%s: %llu calls, %d findings\n", f->name, p->calls, p->findings);
    return p->findings > 0;
}

static const family *family_named(const char *name) {
    for (int i = 0; i < family_count(); i++) {
        if (strcmp(families[i]->name, name) == 0) {
            return families[i];
        }
    }
    return NULL;
}

/* Runs the counted form, if the arguments have it, and ends the process. libFuzzer calls it before its own work. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const family *f = *argc >= 4 ? family_named((*argv)[1]) : NULL;
    const char *word = *argc > 4 ? (*argv)[4] : "";
    const mode how = strcmp(word, "empty") == 0 ? EMPTY : strcmp(word, "candidates") == 0 ? CANDIDATES : PLAIN;
    if (f) {
        const unsigned long long times = how == CANDIDATES && test_takes_all() ? 10 : 1;
        exit(run_family(f, times * strtoull((*argv)[2], NULL, 10), strtoull((*argv)[3], NULL, 10), how));
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool ready;
    int sizes;
    unsigned long long calls = 0;
    if (!ready) {
        set_up(false);
        ready = true;
    }
    if (size > 0 && run_trial(families[data[0] % family_count()], data + 1, size - 1, size, -1, &sizes, &calls) > 0) {
        abort();
    }
    return 0;
}
