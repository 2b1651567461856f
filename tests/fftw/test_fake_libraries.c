/* test_fake_libraries.c - tests the provider on fake libraries with rare faults: missing functions, failing planners,
 * and threads that belong to another library. */
#include "fftw/support_fftw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bp_host host; /* like the test host, except for opening */

static const char *lacks; /* a name that the fake library does not export */
static bool no_plan;      /* the planner returns no plan */
static bool foreign;      /* the file with threads belongs to another library */
static bool refuses_opening;
static int slow_from; /* with so many threads, measuring takes all the time there is; 0: never */
static int opened, destroyed, threads_of_planner, planned_with, callbacks;
static unsigned flags_seen[4];
static double limits[8];
static int plans, limit_count;
static char a_plan, other_plan;
static void *planned_in, *planned_out;

/* Wisdom of the fake planner (plans it has measured), and the number of exported copies not yet freed. */
static char wisdom[16], planned_knowing[16];
static int wisdom_copies;

static void *plan_dft(int rank, const bp__fftw_dim *dims, int many, const bp__fftw_dim *howmany, void *in, void *out,
                      int sign, unsigned flags) {
    (void)rank, (void)dims, (void)many, (void)howmany, (void)sign;
    planned_in = in;
    planned_out = out;
    strcpy(planned_knowing, wisdom);
    strcpy(wisdom, "of this plan");
    flags_seen[plans++ % 4] = flags;
    planned_with = threads_of_planner;
    if (slow_from && threads_of_planner >= slow_from) {
        nanosleep(&(struct timespec){.tv_nsec = 600000000}, NULL);
    }
    return no_plan ? NULL : plans % 2 ? &a_plan : &other_plan;
}

static void *executed_with, *executed_in, *executed_out, *last_destroyed;
static int executed;

static void execute(void *const plan, void *in, void *out) {
    executed_with = plan;
    executed_in = in;
    executed_out = out;
    executed++;
}

static void destroy(void *plan) {
    last_destroyed = plan;
    destroyed++;
}

static int alignment(void *address) {
    return (int)((uintptr_t)address % 32);
}

static void limit(double seconds) {
    limits[limit_count++ % 8] = seconds;
}

static void nothing(void) {
}

static int yes(void) {
    return 1;
}

static void with_threads(int count) {
    threads_of_planner = count;
}

static int count_of_threads(void) {
    return threads_of_planner;
}

static void set_callback(void (*loop)(void *(*)(char *), char *, size_t, int, void *), void *data) {
    callbacks += loop != NULL && data != NULL;
}

static void forget(void) {
    wisdom[0] = 0;
}

static char *export_wisdom(void) {
    wisdom_copies++;
    return strdup(wisdom);
}

/* Like FFTW's function: adds to the existing wisdom. */
static int import_wisdom(const char *text) {
    snprintf(wisdom + strlen(wisdom), sizeof wisdom - strlen(wisdom), "%s", text);
    return 1;
}

static void free_wisdom(void *text) {
    wisdom_copies--;
    free(text);
}

typedef struct named {
    const char *name;
    void (*function)(void);
} named;

static const named functions[] = {{"plan_guru64_dft", (void (*)(void))plan_dft},
                                  {"plan_guru64_dft_r2c", nothing},
                                  {"plan_guru64_dft_c2r", nothing},
                                  {"execute_dft", (void (*)(void))execute},
                                  {"execute_dft_r2c", nothing},
                                  {"execute_dft_c2r", nothing},
                                  {"destroy_plan", (void (*)(void))destroy},
                                  {"alignment_of", (void (*)(void))alignment},
                                  {"set_timelimit", (void (*)(void))limit},
                                  {"forget_wisdom", forget},
                                  {"export_wisdom_to_string", (void (*)(void))export_wisdom},
                                  {"import_wisdom_from_string", (void (*)(void))import_wisdom},
                                  {"free", (void (*)(void))free_wisdom},
                                  {"init_threads", (void (*)(void))yes},
                                  {"plan_with_nthreads", (void (*)(void))with_threads},
                                  {"planner_nthreads", (void (*)(void))count_of_threads},
                                  {"make_planner_thread_safe", nothing},
                                  {"threads_set_callback", (void (*)(void))set_callback}};

static char base_handle, threads_handle;

static bp_status open_fake(const bp_library_info *library, void **handle) {
    *handle = strstr(library->id, "-threads") ? &threads_handle : &base_handle;
    opened++;
    return refuses_opening ? BP_E_LOAD : BP_OK;
}

static void *symbol_of_fake(void *handle, const char *name) {
    void *address = NULL;
    name += strlen("fftw_");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0 && !(lacks && strcmp(lacks, name) == 0)) {
            memcpy(&address, &functions[i].function, sizeof address);
        }
    }
    bool other = foreign && handle == &threads_handle && strcmp(name, "execute_dft") == 0;
    return other ? (void *)&foreign : address;
}

typedef struct fakes {
    bp_library_info library, threads;
    void *instance, *second;
} fakes;

static void open_fakes(fakes *d) {
    bp_library_info row = {.struct_size = sizeof row, .family = "fftw", .threading = "pthread", .inexact = {"", ""}};
    host = *test_host();
    host.open_library = open_fake;
    host.symbol = symbol_of_fake;
    d->library = d->threads = row;
    d->library.id = "fftw";
    d->threads.id = "fftw-threads";
    d->library.path = "/lib/libfftw3.so";
    d->threads.path = "/lib/libfftw3_threads.so";
    opened = destroyed = plans = limit_count = callbacks = planned_with = executed = 0;
    strcpy(wisdom, "measured");
    threads_of_planner = 1;
    assert_int_equal(bp_provider_fftw.open(&host, &d->library, &d->instance), BP_OK);
    assert_int_equal(bp_provider_fftw.open(&host, &d->threads, &d->second), BP_OK);
}

static void close_fakes(fakes *d) {
    bp_provider_fftw.close(d->instance);
    bp_provider_fftw.close(d->second);
    lacks = NULL;
    no_plan = foreign = refuses_opening = false;
    slow_from = 0;
}

static bp_problem large(void) {
    bp_problem p = {.op = BP_OP_FFT, .dtype = BP_C128, .policy = {.threads = 3}};
    p.of.fft = (bp_fft_problem){.ndim = 1, .scale = 1, .batch = 1, .n = {1 << 20}, .in = {1}, .out = {1}};
    p.policy.fft_planner = 1;
    return p;
}

static void test_missing_symbols(void **state) {
    (void)state;
    for (size_t i = 0; i < 13; i++) {
        fakes d;
        open_fakes(&d);
        lacks = functions[i].name;
        bp_problem problem = large();
        bp_prepared *prepared;
        assert_int_equal(test_plan_first(&bp_provider_fftw, d.instance, &problem, &prepared), BP_E_SYMBOL);
        assert_non_null(strstr(bp_last_error(), functions[i].name));
        close_fakes(&d);
    }
}

static void test_no_library(void **state) {
    (void)state;
    fakes d;
    open_fakes(&d);
    refuses_opening = true;
    bp_problem problem = large();
    bp_verdict verdict = test_verdict(&bp_provider_fftw, d.instance, &problem);
    bp_prepared *prepared;
    assert_int_equal(verdict.reason, BP_REASON_ACCEPTED);
    assert_int_equal(opened, 0); /* accept opens nothing */
    assert_int_equal(test_plan_first(&bp_provider_fftw, d.instance, &problem, &prepared), BP_E_LOAD);
    refuses_opening = false; /* a later plan tries again */
    prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
    prepared->destroy(prepared);
    close_fakes(&d);
}

static void test_no_plan(void **state) {
    (void)state;
    fakes d;
    open_fakes(&d);
    no_plan = true;
    bp_problem problem = large();
    bp_prepared *prepared;
    int before = test_blocks;
    assert_int_equal(test_plan_first(&bp_provider_fftw, d.instance, &problem, &prepared), BP_E_UNSUPPORTED);
    assert_int_equal(test_blocks, before);
    assert_int_equal(threads_of_planner, 1); /* the library's settings are restored even after a failure */
    assert_true(limits[limit_count - 1] < 0);
    close_fakes(&d);
}

/* Returns the thread count passed to the planner if something is wrong with the thread file. */
static int planned_threads(const char *without, bool of_another) {
    fakes d;
    open_fakes(&d);
    lacks = without;
    foreign = of_another;
    bp_problem problem = large();
    assert_int_equal(test_verdict(&bp_provider_fftw, d.instance, &problem).threads, 3);
    bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
    int told = planned_with;
    assert_int_equal(callbacks, told == 3);
    assert_int_equal(test_verdict(&bp_provider_fftw, d.instance, &problem).threads, told); /* known from now on */
    prepared->destroy(prepared);
    assert_int_equal(destroyed, 1);
    close_fakes(&d);
    return told;
}

static void test_threads(void **state) {
    (void)state;
    assert_int_equal(planned_threads(NULL, false), 3);
    assert_int_equal(planned_threads(NULL, true), 1);
    assert_int_equal(planned_threads("threads_set_callback", false), 1); /* FFTW before 3.3.9 */
    assert_int_equal(planned_threads("init_threads", false), 1);
}

/* A program may have set a thread count for its own plans. Ours do not use it, and it is kept. */
static void test_thread_count_of_the_program_is_kept(void **state) {
    (void)state;
    fakes d;
    open_fakes(&d);
    bp_problem problem = large();
    problem.policy.threads = 1;
    threads_of_planner = 7;
    bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
    assert_int_equal(planned_with, 1);
    assert_int_equal(threads_of_planner, 7);
    prepared->destroy(prepared);
    close_fakes(&d);
}

/* Releasing a plan does not wait for a busy planner. The plan is destroyed when the planner is free. */
static void test_destroyed_while_the_planner_is_busy(void **state) {
    (void)state;
    fakes d;
    open_fakes(&d);
    bp_problem problem = large();
    bp_prepared *first = test_plan(&bp_provider_fftw, d.instance, &problem);
    bp_prepared *second = test_plan(&bp_provider_fftw, d.instance, &problem);
    int blocks = test_blocks;
    assert_true(bp__fftw_lock(test_host()));
    first->destroy(first);
    second->destroy(second);
    assert_int_equal(destroyed, 0);
    bp__fftw_unlock(test_host());
    assert_int_equal(destroyed, 2);
    assert_int_equal(test_blocks, blocks - 2);
    close_fakes(&d);
}

static void test_efforts(void **state) {
    (void)state;
    static const struct {
        uint8_t planner, deterministic;
        unsigned flags;
        double limit;
    } cases[] = {{0, 0, BP__FFTW_MEASURE, 0.5},
                 {1, 0, BP__FFTW_ESTIMATE, -1},
                 {2, 0, BP__FFTW_MEASURE, -1},
                 {3, 0, BP__FFTW_PATIENT, -1},
                 {3, 1, BP__FFTW_ESTIMATE, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fakes d;
        open_fakes(&d);
        bp_problem problem = large();
        problem.of.fft.n[0] = 64;
        problem.policy.fft_planner = cases[i].planner;
        problem.policy.deterministic = cases[i].deterministic;
        bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
        assert_int_equal(flags_seen[0], cases[i].flags | BP__FFTW_PRESERVE_INPUT);
        assert_true(limits[0] == cases[i].limit);
        prepared->destroy(prepared);
        close_fakes(&d);
    }
}

/* If the time runs out with several threads, a plan measured for one thread is used. If the time runs out for that one
 * too, the first plan is used. */
static void test_time_runs_out(void **state) {
    (void)state;
    for (int from = 1; from <= 2; from++) {
        static _Alignas(64) char memory[2][64];
        void *operands[] = {memory[0], memory[1]};
        fakes d;
        open_fakes(&d);
        slow_from = from;
        bp_problem problem = large();
        problem.policy.fft_planner = 0;
        bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
        assert_int_equal(plans, 2);
        assert_int_equal(planned_with, 1);
        assert_int_equal(destroyed, 1);
        assert_ptr_equal(last_destroyed, from == 1 ? &other_plan : &a_plan);
        assert_int_equal(test_enqueue(prepared, operands, 2, NULL), BP_OK);
        assert_ptr_equal(executed_with, from == 1 ? &a_plan : &other_plan);
        prepared->destroy(prepared);
        assert_int_equal(destroyed, 2);
        assert_ptr_equal(last_destroyed, executed_with);
        close_fakes(&d);
    }
}

/* Earlier measurements do not influence a plan that must be the same in every run. They are restored after it. */
static void test_wisdom(void **state) {
    (void)state;
    for (uint8_t deterministic = 0; deterministic < 3; deterministic++) {
        fakes d;
        open_fakes(&d);
        bp_problem problem = large();
        problem.policy.deterministic = deterministic;
        bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
        assert_string_equal(planned_knowing, deterministic ? "" : "measured");
        assert_string_equal(wisdom, deterministic ? "measured" : "of this plan");
        assert_int_equal(wisdom_copies, 0);
        prepared->destroy(prepared);
        close_fakes(&d);
    }
}

/* A transform in place is planned in place, with or without measuring. */
static void test_in_place_planning(void **state) {
    (void)state;
    static _Alignas(64) char memory[2][64 * 16];
    for (uint8_t planner = 0; planner < 4; planner++) {
        for (uint8_t in_place = 0; in_place < 2; in_place++) {
            fakes d;
            open_fakes(&d);
            void *operands[] = {memory[0], memory[!in_place]};
            bp_problem problem = large();
            problem.of.fft.n[0] = 64;
            problem.of.fft.in_place = in_place;
            problem.policy.fft_planner = planner;
            bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
            assert_int_equal(planned_in == planned_out, in_place);
            assert_int_equal((flags_seen[0] & BP__FFTW_PRESERVE_INPUT) != 0, !in_place);
            assert_int_equal(test_enqueue(prepared, operands, 2, NULL), BP_OK);
            assert_ptr_equal(executed_in, operands[0]);
            assert_ptr_equal(executed_out, operands[1]);
            prepared->destroy(prepared);
            close_fakes(&d);
        }
    }
}

/* With deterministic=threads each item is a call of its own, on one thread. */
static void test_one_call_per_item(void **state) {
    (void)state;
    static _Alignas(64) char memory[2][5 * 64 * 16];
    void *operands[] = {memory[0], memory[1]};
    for (uint8_t deterministic = 0; deterministic < 3; deterministic++) {
        fakes d;
        open_fakes(&d);
        bp_problem problem = large();
        problem.policy.deterministic = deterministic;
        assert_int_equal(test_verdict(&bp_provider_fftw, d.instance, &problem).threads, deterministic == 2 ? 1 : 3);
        problem.of.fft.n[0] = 64;
        problem.of.fft.batch_ndim = 1;
        problem.of.fft.batch = problem.of.fft.batch_shape[0] = 5;
        problem.of.fft.batch_in[0] = problem.of.fft.batch_out[0] = 64;
        bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
        assert_int_equal(test_enqueue(prepared, operands, 2, NULL), BP_OK);
        assert_int_equal(executed, deterministic == 2 ? 5 : 1);
        assert_ptr_equal(executed_in, memory[0] + (executed - 1) * 64 * 16);
        prepared->destroy(prepared);
        close_fakes(&d);
    }
}

/* Too large to be copied: a second plan serves unaligned addresses, and all addresses if results must not depend on
 * them. */
static void test_large_unaligned_operands(void **state) {
    (void)state;
    static _Alignas(64) char memory[128];
    void *aligned[] = {memory, memory + 64}, *odd[] = {memory + 16, memory + 80};
    for (uint8_t deterministic = 0; deterministic < 2; deterministic++) {
        fakes d;
        open_fakes(&d);
        bp_problem problem = large();
        problem.of.fft.n[0] = 1 << 22;
        problem.policy.deterministic = deterministic;
        bp_prepared *prepared = test_plan(&bp_provider_fftw, d.instance, &problem);
        assert_int_equal(plans, deterministic ? 1 : 2);
        assert_true((flags_seen[plans - 1] & BP__FFTW_UNALIGNED) != 0);
        assert_int_equal(test_enqueue(prepared, aligned, 2, NULL), BP_OK);
        assert_ptr_equal(executed_with, &a_plan);
        assert_int_equal(test_enqueue(prepared, odd, 2, NULL), BP_OK);
        assert_ptr_equal(executed_with, deterministic ? &a_plan : &other_plan);
        assert_ptr_equal(executed_in, odd[0]); /* no copy is made */
        assert_ptr_equal(executed_out, odd[1]);
        prepared->destroy(prepared);
        assert_int_equal(destroyed, plans);
        close_fakes(&d);
    }
}

static int count_blocks(void **state) {
    (void)state;
    return test_blocks;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_symbols),
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_no_plan),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_destroyed_while_the_planner_is_busy),
        cmocka_unit_test(test_efforts),
        cmocka_unit_test(test_large_unaligned_operands),
        cmocka_unit_test(test_time_runs_out),
        cmocka_unit_test(test_thread_count_of_the_program_is_kept),
        cmocka_unit_test(test_wisdom),
        cmocka_unit_test(test_in_place_planning),
        cmocka_unit_test(test_one_call_per_item),
    };
    return cmocka_run_group_tests_name("fakes", tests, NULL, count_blocks);
}
