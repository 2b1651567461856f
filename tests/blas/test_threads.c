/* test_threads.c - tests thread counts (set, read back, restored), plans run by several threads at once, and
 * reproducibility. */
#include "blas/support_blas.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Checks each library in its own process, so that settings of one do not affect another. */
static void in_own_process(void (*check)(void *instance, const bp_library_info *row)) {
    int count;
    const bp_library_info **rows = test_libraries(&count);
    if (count == 0) {
        print_message("skipped: no BLAS library is installed\n");
        skip();
    }
    for (int i = 0; i < count; i++) {
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            void *instance;
            alarm(240);
            assert_int_equal(test_open(rows[i], &instance), BP_OK);
            check(instance, rows[i]);
            bp_provider_blas.close(instance);
            fflush(NULL);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status != 0) {
            fail_msg("%s: see above (wait status %d)", rows[i]->id, status);
        }
    }
}

static bool one_thread(const bp_library_info *row) {
    return strcmp(row->threading, "serial") == 0;
}

static void check_slot(void *instance, const bp_library_info *row) {
    int got = -1;
    assert_int_equal(bp_provider_blas.threads(instance, 0, &got), BP_OK); /* not loaded, so there is no count to read */
    assert_int_equal(got, 0);
    assert_int_equal(bp_provider_blas.threads(instance, -1, &got), BP_E_ARGUMENT);
    assert_int_equal(bp_provider_blas.threads(instance, 1, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_provider_blas.threads(instance, 1, &got), BP_OK);
    assert_int_equal(got, 1);
    bp_status status = bp_provider_blas.threads(instance, 2, &got);
    if (one_thread(row)) {
        assert_int_equal(status, BP_E_UNSUPPORTED);
        assert_int_equal(got, 1);
        return;
    }
    assert_int_equal(status, BP_OK);
    assert_int_equal(got, 2);
    assert_int_equal(bp_provider_blas.threads(instance, 0, &got), BP_OK);
    assert_int_equal(got, 2);
}

static void test_count_is_set_and_read(void **state) {
    (void)state;
    in_own_process(check_slot);
}

/* A count of the calling thread is restored after a call. A count of the process stays as the plan set it. */
static void check_after_run(void *instance, const bp_library_info *row) {
    if (one_thread(row)) {
        return;
    }
    int got;
    assert_int_equal(bp_provider_blas.threads(instance, 3, &got), BP_OK);
    assert_int_equal(got, 3);
    bp_verdict verdict;
    test_product p = {.dtype = BP_F32, .m = 300, .n = 300, .k = 300, .alpha = 1, .threads = 2};
    assert_true(test_run_product(instance, &p, &verdict));
    assert_int_equal(verdict.threads, 2);
    assert_int_equal(bp_provider_blas.threads(instance, 0, &got), BP_OK);
    bool of_thread = strcmp(row->family, "mkl") == 0 ||
                     (strcmp(row->family, "openblas") == 0 && strcmp(row->threading, "pthread") != 0);
    assert_int_equal(got, of_thread ? 3 : 2);
    p.m = p.n = p.k = 4; /* too small for the library to use threads, so the count is not changed */
    assert_int_equal(bp_provider_blas.threads(instance, 3, &got), BP_OK);
    assert_true(test_run_product(instance, &p, &verdict));
    assert_int_equal(verdict.threads, 1);
    assert_int_equal(bp_provider_blas.threads(instance, 0, &got), BP_OK);
    assert_int_equal(got, strcmp(row->family, "blis") == 0 ? 1 : 3);
}

static void test_count_after_a_run(void **state) {
    (void)state;
    in_own_process(check_after_run);
}

/* More threads than the library grants cause one warning. The granted count is used from then on. */
static void check_too_many(void *instance, const bp_library_info *row) {
    test_product p = {.dtype = BP_F32, .m = 2000, .n = 2000, .k = 2000, .alpha = 1, .threads = 4000};
    bp_problem problem = test_problem(&p);
    if (strcmp(row->family, "openblas") != 0 || strcmp(row->threading, "pthread") != 0) {
        return; /* other libraries grant any count, and would start so many threads */
    }
    bp_verdict verdict = test_verdict(&bp_provider_blas, instance, &problem);
    assert_int_equal(verdict.threads, 4000);
    for (int i = 0; i < 2; i++) {
        bp_prepared *prepared;
        assert_int_equal(test_plan_first(&bp_provider_blas, instance, &problem, &prepared), BP_OK);
        prepared->destroy(prepared);
        assert_int_equal(test_warnings, 1);
        assert_non_null(strstr(test_warning, row->id));
    }
    verdict = test_verdict(&bp_provider_blas, instance, &problem);
    assert_in_range(verdict.threads, 2, 3999);
}

static void test_more_threads_than_granted(void **state) {
    (void)state;
    in_own_process(check_too_many);
}

/* Name of a variable that makes an OpenMP runtime start fewer threads than requested. OpenBLAS would wait for the
 * others forever. */
static const char *withholds;

static void check_withheld(void *instance, const bp_library_info *row) {
    if (strcmp(row->threading, "libgomp") != 0 || strcmp(row->family, "mkl") == 0) {
        return;
    }
    setenv(withholds, strcmp(withholds, "OMP_DYNAMIC") == 0 ? "true" : "1", 1); /* read when libgomp is loaded */
    bp_verdict verdict;
    test_product p = {.dtype = BP_F64, .m = 300, .n = 300, .k = 300, .alpha = 1, .threads = 2};
    for (int i = 0; i < 3; i++) {
        assert_true(test_run_product(instance, &p, &verdict));
        assert_int_equal(verdict.threads, i == 0 ? 2 : 1);
        assert_int_equal(test_warnings, 1);
    }
    assert_non_null(strstr(test_warning, row->id));
}

static void test_runtime_provides_fewer_threads(void **state) {
    (void)state;
    withholds = "OMP_THREAD_LIMIT";
    in_own_process(check_withheld);
    withholds = "OMP_DYNAMIC";
    in_own_process(check_withheld);
}

static int tasks_of_process(void) {
    int tasks = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        tasks += entry->d_name[0] != '.';
    }
    closedir(folder);
    return tasks;
}

/* Small and skinny products, around the sizes up to which a library is trusted to stay on one thread by itself. */
static const int64_t skinny[][3] = {{16, 16, 16}, {2, 2, 20},   {4, 64, 16},  {4, 16, 64},  {200, 2, 2},
                                    {2, 200, 10}, {2, 2, 512},  {2, 512, 2},  {3, 160, 3},  {17, 17, 14},
                                    {1, 1, 4096}, {1, 4096, 1}, {24, 24, 24}, {300, 300, 2}};

/* A library that is told to use one thread starts no other. Some have a pool from the moment when they are loaded, so
 * the first product is not counted. */
static void check_one_thread(void *instance, const bp_library_info *row) {
    bp_verdict verdict;
    test_product p = {.m = 2, .n = 2, .k = 2, .alpha = 1, .threads = 1, .dtype = BP_F32};
    assert_true(test_run_product(instance, &p, &verdict));
    const int tasks = tasks_of_process();
    for (size_t i = 0; i < sizeof skinny / sizeof *skinny * 16; i++) {
        const int64_t *shape = skinny[i / 16];
        p.dtype = (bp_dtype)(BP_F32 + i % 4);
        p.a = i & 4 ? TEST_COLUMNS : TEST_ROWS;
        p.b = i & 8 ? TEST_COLUMNS : TEST_ROWS;
        p.m = shape[0], p.n = shape[1], p.k = shape[2];
        assert_true(test_run_product(instance, &p, &verdict));
        if (tasks_of_process() != tasks) {
            fail_msg("%s: %s %ldx%ldx%ld started a thread", row->id, bp_dtype_name(p.dtype), (long)p.m, (long)p.n,
                     (long)p.k);
        }
    }
}

static void test_one_thread_starts_no_other(void **state) {
    (void)state;
    in_own_process(check_one_thread);
}

/* ---- One plan, many threads ---- */

typedef struct work {
    void *instance;
    int threads;
    bool ok;
} work;

static void *multiply_often(void *argument) {
    work *w = argument;
    static const int64_t sizes[] = {3, 40, 90, 130};
    w->ok = true;
    for (int i = 0; i < 24 && w->ok; i++) {
        bp_verdict verdict;
        test_product p = {
            .dtype = i % 2 ? BP_F64 : BP_C64, .m = sizes[i % 4], .n = sizes[i / 4 % 4], .k = 50, .alpha = 1};
        p.threads = w->threads;
        p.beta = i % 3;
        p.c = i % 5 == 0 ? TEST_GENERAL : TEST_ROWS;
        p.deterministic = i % 7 == 0 ? 1 : 0;
        w->ok = test_run_product(w->instance, &p, &verdict) || p.deterministic;
    }
    return NULL;
}

static void check_many(void *instance, const bp_library_info *row) {
    work works[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        works[i] = (work){instance, 1 + i % 3, false};
        assert_int_equal(pthread_create(&threads[i], NULL, multiply_often, &works[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        if (!works[i].ok) {
            fail_msg("%s: refused", row->id);
        }
    }
}

static void test_one_plan_in_many_threads(void **state) {
    (void)state;
    in_own_process(check_many);
}

/* ---- Reproducibility ---- */

#define BITS (64 << 10)

static void check_bits(void *instance, const bp_library_info *row) {
    static const int64_t shapes[][3] = {{61, 67, 300}, {1, 300, 500}, {300, 1, 500},
                                        {1, 1, 5000},  {5, 7, 11},    {120, 110, 1}};
    static char first[BITS], again[BITS];
    for (int i = 0; i < 6 * 4 * 2; i++) {
        test_product p = {.dtype = (bp_dtype)(BP_F32 + i / 6 % 4), .m = shapes[i % 6][0], .n = shapes[i % 6][1]};
        p.k = shapes[i % 6][2];
        p.alpha = 1;
        p.a = i & 1 ? TEST_ROWS : TEST_COLUMNS;
        p.b = i & 2 ? TEST_ROWS : TEST_COLUMNS;
        p.deterministic = 1 + i / 24;
        p.threads = 2;
        bp_problem problem = test_problem(&p);
        bp_verdict verdict = test_verdict(&bp_provider_blas, instance, &problem);
        if (verdict.reason == BP_REASON_DETERMINISM) {
            assert_string_equal(row->family, "mkl");
            continue;
        }
        assert_true(verdict.properties &
                    (p.deterministic == 2 ? BP_PROPERTY_THREAD_INVARIANT : BP_PROPERTY_REPRODUCIBLE));
        size_t size = test_bits_of_product(instance, &p, 11, first, BITS);
        for (int round = 1; round < 8; round++) {
            p.shift = (size_t)round * (p.dtype == BP_F64 || p.dtype == BP_C128 ? 8 : 4); /* at different alignments */
            p.threads = p.deterministic == 2 ? round : 2;
            assert_int_equal(test_bits_of_product(instance, &p, 11, again, BITS), size);
            if (memcmp(first, again, size) != 0) {
                fail_msg("%s: %s %ldx%ldx%ld differs at offset %zu", row->id, bp_dtype_name(p.dtype), (long)p.m,
                         (long)p.n, (long)p.k, p.shift);
            }
        }
    }
}

static void test_results_are_reproducible(void **state) {
    (void)state;
    in_own_process(check_bits);
}

/* ---- One OpenMP runtime ---- */

static bool loaded(const char *soname) {
    void *handle = dlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
    return handle && dlclose(handle) == 0;
}

/* MKL uses the OpenMP runtime of the process. Whether it survives fork then depends on that runtime. */
static void check_mkl_layer(void *instance, const bp_library_info *row) {
    if (strcmp(row->family, "mkl") != 0) {
        return;
    }
    if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL)) {
        print_message("not checked: no libgomp is installed\n");
        return;
    }
    bp_verdict verdict;
    test_product p = {.dtype = BP_F64, .m = 200, .n = 200, .k = 200, .alpha = 1, .threads = 2};
    assert_true(test_run_product(instance, &p, &verdict));
    assert_int_equal(verdict.threads, 2);
    assert_false(loaded("libiomp5.so"));
    pid_t child = fork();
    if (child == 0) {
        bp_problem problem = test_problem(&p);
        verdict = test_verdict(&bp_provider_blas, instance, &problem);
        _exit(verdict.reason == BP_REASON_FORKED ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_mkl_uses_the_loaded_runtime(void **state) {
    (void)state;
    in_own_process(check_mkl_layer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count_is_set_and_read),       cmocka_unit_test(test_count_after_a_run),
        cmocka_unit_test(test_more_threads_than_granted),   cmocka_unit_test(test_runtime_provides_fewer_threads),
        cmocka_unit_test(test_one_plan_in_many_threads),    cmocka_unit_test(test_results_are_reproducible),
        cmocka_unit_test(test_mkl_uses_the_loaded_runtime), cmocka_unit_test(test_one_thread_starts_no_other),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
