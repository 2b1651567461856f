/* test_thread_limits.c - tests that no library ends the process, or never returns, if a limit of threads is reached
 * after the library was opened: the limit of a user or of a cgroup.
 *
 * Runtimes start threads when a library is opened, in its first call, in the first call of each thread, in every call,
 * or again after a fork. Every case is a child, because the limit holds for a whole process. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backplane.h"
#include "support/child.h"
#include "support/conditions.h"
#include "support/modes.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SIDE = 400, IMAGE = 128 }; /* large enough for several threads */

#include "limited.h"

/* ---- The limit ---- */

static char cgroup[64]; /* its folder; "": the limit is the user's */

static bool write_to_cgroup(const char *name, long value) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", cgroup, name);
    FILE *file = fopen(path, "w");
    const bool open = file != NULL, written = open && fprintf(file, "%ld\n", value) > 0;
    return open && fclose(file) == 0 && written;
}

static bool make_cgroup(void) {
    snprintf(cgroup, sizeof cgroup, "/sys/fs/cgroup/pids/backplane-test-%ld", (long)getpid());
    return mkdir(cgroup, 0755) == 0;
}

/* Moves this process into the cgroup, which may then start no more threads. */
static bool enter_cgroup(void) {
    pthread_t thread;
    if (!write_to_cgroup("cgroup.procs", getpid()) || !write_to_cgroup("pids.max", 1)) {
        return false;
    }
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) {
        pthread_join(thread, NULL);
        return false;
    }
    return true;
}

static bool lose_threads(void) {
    return *cgroup ? enter_cgroup() : give_up_threads();
}

/* ---- Calls under it ---- */

/* What the process has done before the limit is reached. */
typedef enum past {
    OPENED, /* it has called the library on one thread */
    CALLED, /* it has called it on all processors */
    FORKED, /* and a fork has stopped its threads */
    PASTS
} past;
static const char *const past_names[] = {"opened", "called", "called before a fork"};

typedef struct caller {
    const operation *what;
    pthread_barrier_t start;
    int end;
} caller;

static int worse(int a_end, int b_end) {
    return a_end > b_end ? a_end : b_end;
}

static void *call_later(void *user) {
    caller *self = user;
    pthread_barrier_wait(&self->start);
    fill();
    self->end = judge(self->what, self->what->run());
    return NULL;
}

static void set(const char *name, const char *value) {
    if (bp_set(name, value) != BP_OK) {
        _exit(FAILED);
    }
}

/* Calls the library without a limit. Returns whether the library has this operation. */
static bool prepare(const operation *what, past so_far) {
    set("num_threads", so_far == OPENED ? "1" : "2");
    fill();
    const int end = judge(what, what->run());
    set("num_threads", "2");
    if (so_far == FORKED) {
        const pid_t child = fork();
        if (child == 0) {
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (end != COMPUTED && end != NOT_OFFERED) {
        _exit(end);
    }
    return end == COMPUTED;
}

/* Runs the operation in this thread, twice, and in one that has not called the library. */
static int run_limited(const operation *what, past so_far) {
    pthread_t thread;
    caller other = {.what = what};
    pthread_barrier_init(&other.start, NULL, 2);
    if (pthread_create(&thread, NULL, call_later, &other) != 0) {
        return FAILED;
    }
    if (!prepare(what, so_far)) {
        return NOT_OFFERED;
    }
    if (!lose_threads()) {
        return UNLIMITED;
    }
    int end = COMPUTED;
    for (int i = 0; i < 2; i++) {
        fill();
        end = worse(end, judge(what, what->run()));
    }
    pthread_barrier_wait(&other.start);
    pthread_join(thread, NULL);
    return worse(end, other.end);
}

/* Returns how a child ends. */
static int end_of(int (*run)(const operation *, past), const char *library, const operation *what, past so_far) {
    enum { MOST_SECONDS = 100 };
    const pid_t child = fork();
    if (child == 0) {
        /* a thread that waits for one that does not exist may use the processor */
        setrlimit(RLIMIT_CPU, &(struct rlimit){MOST_SECONDS, MOST_SECONDS});
        prefer(library);
        _exit(run(what, so_far));
    }
    return test_end_of_child(child, "%s on %s, %s", what->name, library ? library : "any library", past_names[so_far]);
}

/* ---- The libraries of this machine ---- */

/* Calls check() for each library that runs some operation, and returns for how many. */
static int for_each_library(void (*check)(const bp_library_info *library)) {
    int count, checked = 0;
    bp_library_info info = {.struct_size = sizeof info};
    const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK | BP_LIB_FFT | BP_LIB_DNN;
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = 0; l < count; l++) {
        assert_int_equal(bp_library_at(l, &info), 1);
        if (info.state == BP_LIBRARY_OK && info.kinds & kinds) {
            check(&info);
            checked++;
        }
    }
    return checked;
}

/* ---- All libraries ---- */

static int library_number, limited, refused;

/* A library whose count can be set runs on one thread, unless a fork has stopped its pool. */
static bool must_run(const bp_library_info *library, past so_far) {
    return so_far != FORKED && library->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS);
}

static void check_library(const bp_library_info *library) {
    for (int i = 0; i < OPERATIONS * PASTS; i++) {
        const past so_far = (past)(i / OPERATIONS);
        const operation *what = &operations[i % OPERATIONS];
        if (test_leaves_out(library_number + (int)so_far + i % OPERATIONS, 5)) {
            continue;
        }
        const int end = end_of(run_limited, library->id, what, so_far);
        if (end == UNLIMITED) {
            skip();
        }
        if (end != COMPUTED && end != NOT_OFFERED && (end != NO_MEMORY || must_run(library, so_far))) {
            fail_msg("%s on %s, %s: end %d", what->name, library->id, past_names[so_far], end);
        }
        limited += end != NOT_OFFERED;
        refused += end == NO_MEMORY;
    }
    library_number++;
}

/* The same for the limit of a cgroup, whose other processes count too. */
static void test_each_library_in_a_cgroup(void **state) {
    (void)state;
    if (!make_cgroup()) {
        print_message("%s cannot be made: %s\n", cgroup, strerror(errno));
        *cgroup = 0;
        skip();
    }
    limited = refused = 0;
    library_number = 1; /* other operations than without a cgroup */
    for_each_library(check_library);
    rmdir(cgroup);
    *cgroup = 0;
    assert_true(limited > 0);
    print_message("%d cases, %d of them refused\n", limited, refused);
}

static void test_each_library(void **state) {
    (void)state;
    for_each_library(check_library);
    print_message("%d cases, %d of them refused\n", limited, refused);
}

/* ---- Plans that the program holds ---- */

typedef struct held {
    bp_plan *plan;
    pthread_barrier_t start;
    bp_status status;
} held;

static const bp_operand operands[] = {{.base = a}, {.base = b}, {.base = x}};

static void *execute_later(void *user) {
    held *self = user;
    pthread_barrier_wait(&self->start);
    fill();
    self->status = bp_execute(self->plan, operands, NULL);
    return NULL;
}

static int judge_held(bp_status status, const bp_plan_info *info) {
    const int end = judge(&operations[0], status);
    const bool told = strstr(bp_last_error(), "it would start") != NULL;
    return end == NO_MEMORY && info->threads == 1 ? FAILED : end == NO_MEMORY && !told ? NO_REASON : end;
}

/* The plan is for two threads, and another thread, which has none of its own, runs it first. */
static int run_held(const operation *what, past so_far) {
    pthread_t thread;
    held other;
    bp_plan_info info = {.struct_size = sizeof info};
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    (void)what, (void)so_far;
    pthread_barrier_init(&other.start, NULL, 2);
    set("num_threads", "2");
    if (pthread_create(&thread, NULL, execute_later, &other) != 0) {
        return FAILED;
    }
    if (bp_gemm_plan(&other.plan, NULL, BP_AS_IS, BP_AS_IS, NULL, &s, &t, NULL, &u) != BP_OK) {
        return NOT_OFFERED;
    }
    bp_plan_describe(other.plan, &info);
    if (!lose_threads()) {
        return UNLIMITED;
    }
    pthread_barrier_wait(&other.start);
    pthread_join(thread, NULL);
    int end = judge(&operations[0], other.status);
    for (int i = 0; i < 2; i++) {
        fill();
        end = worse(end, judge_held(bp_execute(other.plan, operands, NULL), &info));
    }
    return end;
}

static void check_held(const bp_library_info *library) {
    const int end = end_of(run_held, library->id, &operations[0], OPENED);
    if (end == UNLIMITED) {
        skip();
    }
    if (end != COMPUTED && end != NOT_OFFERED) {
        fail_msg("a plan on %s: end %d", library->id, end);
    }
    limited += end == COMPUTED;
}

static void test_held_plans(void **state) {
    (void)state;
    limited = 0;
    const int checked = for_each_library(check_held);
    assert_true(limited > 0 || checked == 0);
}

/* Under `deterministic` the number of threads is part of the result. */
static int run_deterministic(const operation *what, past so_far) {
    set("deterministic", "run");
    return run_held(what, so_far);
}

static void check_deterministic(const bp_library_info *library) {
    const int end = end_of(run_deterministic, library->id, &operations[0], OPENED);
    if (end == UNLIMITED) {
        skip();
    }
    if (end != COMPUTED && end != NOT_OFFERED && end != NO_MEMORY) {
        fail_msg("a deterministic plan on %s: end %d", library->id, end);
    }
}

static void test_deterministic_plans(void **state) {
    (void)state;
    for_each_library(check_deterministic);
}

/* ---- Plans that this thread has made ---- */

static bp_status plan_solve(bp_plan **plan) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    const bp_linalg_call call = {.struct_size = sizeof call, .op = BP_OP_SOLVE, .input = {&s, &t}, .output = {&u}};
    return bp_linalg_plan(plan, NULL, &call);
}

static bp_status plan_transform(bp_plan **plan) {
    DLTensor s = tensor(a, kDLComplex, 128, 1, signal_shape), u = tensor(x, kDLComplex, 128, 1, signal_shape);
    const bp_fft_call call = {.struct_size = sizeof call, .transform = BP_FFT, .axis_count = BP_FFT_ALL};
    return bp_fft_plan(plan, NULL, &call, &s, &u);
}

static bp_status plan_convolution(bp_plan **plan) {
    DLTensor s, w, u;
    const bp_conv_call call = describe_convolution(&s, &w, &u);
    return bp_conv_plan(plan, NULL, &call);
}

static const struct planned {
    operation what; /* without a function that runs it */
    bp_status (*plan)(bp_plan **plan);
    bp_operand operands[4];
} planned[] = {
    {{"solve", NULL, is_solution}, plan_solve, {{.base = a}, {.base = b}, {.base = x}}},
    {{"fft", NULL, is_transform}, plan_transform, {{.base = a}, {.base = x}}},
    {{"convolution", NULL, is_convolution},
     plan_convolution,
     {{.base = image}, {.base = weight}, {.base = NULL}, {.base = result}}},
};
enum { PLANNED = sizeof planned / sizeof *planned };

/* Libraries that make something of their own for a plan need not start threads for it. */
static int run_planned(const operation *what, past so_far) {
    const struct planned *p = NULL;
    bp_plan *plan;
    (void)so_far;
    for (int i = 0; i < PLANNED; i++) {
        p = &planned[i].what == what ? &planned[i] : p;
    }
    set("num_threads", "2");
    if (p->plan(&plan) != BP_OK) {
        return NOT_OFFERED;
    }
    if (!lose_threads()) {
        return UNLIMITED;
    }
    fill();
    return judge(what, bp_execute(plan, p->operands, NULL));
}

static void check_planned(const bp_library_info *library) {
    for (int i = 0; i < PLANNED; i++) {
        const int end = end_of(run_planned, library->id, &planned[i].what, OPENED);
        if (end == UNLIMITED) {
            skip();
        }
        if (end != COMPUTED && end != NOT_OFFERED && end != NO_MEMORY) {
            fail_msg("a plan of %s on %s: end %d", planned[i].what.name, library->id, end);
        }
        limited += end != NOT_OFFERED;
        refused += end == NO_MEMORY;
    }
}

static void test_planned_before(void **state) {
    (void)state;
    limited = refused = 0;
    const int checked = for_each_library(check_planned);
    assert_true(limited > 0 || checked == 0);
    print_message("%d cases, %d of them refused\n", limited, refused);
}

/* ---- Explanations ---- */

static int explain(const operation *what, past so_far) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_explanation *before, *after;
    (void)what, (void)so_far;
    set("num_threads", "2");
    if (bp_gemm_explain(&before, NULL, BP_AS_IS, BP_AS_IS, NULL, &s, &t, NULL, &u) != BP_OK) {
        return FAILED;
    }
    if (!lose_threads()) {
        return UNLIMITED;
    }
    if (bp_gemm_explain(&after, NULL, BP_AS_IS, BP_AS_IS, NULL, &s, &t, NULL, &u) != BP_OK) {
        return FAILED;
    }
    const char *sentence = "this process cannot start 1 thread (";
    return strstr(bp_explanation_decision(before), sentence)  ? WRONG
           : strstr(bp_explanation_decision(after), sentence) ? COMPUTED
                                                              : NO_REASON;
}

static void test_explain_tells_of_missing_threads(void **state) {
    bp_library_info info = {.struct_size = sizeof info};
    int count;
    (void)state;
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = 0; l < count; l++) {
        assert_int_equal(bp_library_at(l, &info), 1);
        if (info.state == BP_LIBRARY_OK && info.kinds & (BP_LIB_BLAS | BP_LIB_CBLAS) &&
            strcmp(info.threading, "serial") != 0) {
            const int end = end_of(explain, NULL, &operations[0], OPENED);
            if (end == UNLIMITED) {
                skip();
            }
            assert_int_equal(end, COMPUTED);
            return;
        }
    }
    skip(); /* no library has threads */
}

static int search_as_usual(void **state) {
    (void)state;
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    unsetenv("BACKPLANE_REGISTRY_CACHE");
    unsetenv("BACKPLANE_LIBRARY_PATH");
    assert_int_equal(bp_reset(), BP_OK);
    return 0;
}

int main(void) {
    if (test_emulated() || test_sanitized()) {
        return 77; /* their own threads count too */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_library, search_as_usual),
        cmocka_unit_test_setup(test_each_library_in_a_cgroup, search_as_usual),
        cmocka_unit_test_setup(test_held_plans, search_as_usual),
        cmocka_unit_test_setup(test_deterministic_plans, search_as_usual),
        cmocka_unit_test_setup(test_planned_before, search_as_usual),
        cmocka_unit_test_setup(test_explain_tells_of_missing_threads, search_as_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
