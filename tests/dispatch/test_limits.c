/* test_limits.c - tests that no library ends the process, or never returns, if limits leave little memory or no
 * threads.
 *
 * A library is opened and called once in each process, so every case is a child, which limits its own address space.
 * The parent has made the list of libraries and opens none. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backplane.h"
#include "support/modes.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKES BP_TEST_BUILD_DIR "/tests/registry-fakes"

enum { SIDE = 300, ELEMENTS = SIDE * SIDE, MIB = 1 << 20 };

/* How a child ends. Libraries use small numbers. */
enum { COMPUTED = 40, NO_MEMORY, NOT_OFFERED, WRONG, TOUCHED, FAILED, NO_REASON, NOT_OPENED, UNLIMITED };

static double a[2 * ELEMENTS], b[2 * ELEMENTS], x[2 * ELEMENTS];
static const double mark = -12345.5;

typedef struct operation {
    const char *name;
    bp_status (*run)(void);
    bool (*is_right)(void);
} operation;

static void fill(void) {
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        a[i] = sin(1.7 * i) + (i % (SIDE + 1) == 0 && i < ELEMENTS ? SIDE : 0);
        b[i] = cos(0.3 * i);
        x[i] = mark;
    }
}

static DLTensor tensor(void *data, uint8_t code, uint8_t bits, int ndim, int64_t *shape) {
    return (DLTensor){.data = data,
                      .device = {kDLCPU, 0},
                      .ndim = ndim,
                      .dtype = {.code = code, .bits = bits, .lanes = 1},
                      .shape = shape};
}

static int64_t square[] = {SIDE, SIDE}, side[] = {SIDE}, few[] = {126, 126}, row[] = {1, 126},
               signal_shape[] = {ELEMENTS};

static bp_status multiply(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    return bp_matmul(&s, &t, &u);
}

static bool is_near(double value, double expected) {
    return fabs(value - expected) <= 1e-9 * (fabs(expected) + SIDE);
}

static bool is_product(void) {
    bool right = true;
    for (int i = 0; i < SIDE; i += 7) {
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++) {
                sum += a[i * SIDE + k] * b[k * SIDE + j];
            }
            right = right && is_near(x[i * SIDE + j], sum);
        }
    }
    return right;
}

/* A row times a matrix, complex. */
static bp_status multiply_row(void) {
    DLTensor s = tensor(a, kDLComplex, 128, 2, row), t = tensor(b, kDLComplex, 128, 2, few),
             u = tensor(x, kDLComplex, 128, 2, row);
    return bp_matmul(&s, &t, &u);
}

static bool is_row_product(void) {
    enum { N = 126 };
    bool right = true;
    for (int j = 0; j < N; j++) {
        double re = 0, im = 0;
        for (int k = 0; k < N; k++) {
            const double *p = &a[2 * k], *q = &b[2 * (k * N + j)];
            re += p[0] * q[0] - p[1] * q[1];
            im += p[0] * q[1] + p[1] * q[0];
        }
        right = right && is_near(x[2 * j], re) && is_near(x[2 * j + 1], im);
    }
    return right;
}

static bp_status solve(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    return bp_solve(&s, &t, 0, &u);
}

static bool is_solution(void) {
    bool right = true;
    for (int i = 0; i < SIDE; i += 7) {
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++) {
                sum += a[i * SIDE + k] * x[k * SIDE + j];
            }
            right = right && is_near(sum, b[i * SIDE + j]);
        }
    }
    return right;
}

static bp_status find_singular_values(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), u = tensor(x, kDLFloat, 64, 1, side);
    return bp_svdvals(&s, &u);
}

/* The sum of their squares is that of the elements. */
static bool are_singular_values(void) {
    double elements = 0, values = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        elements += a[i] * a[i];
        values += i < SIDE ? x[i] * x[i] : 0;
    }
    return fabs(values - elements) <= 1e-9 * elements;
}

static bp_status transform(void) {
    DLTensor s = tensor(a, kDLComplex, 128, 1, signal_shape), u = tensor(x, kDLComplex, 128, 1, signal_shape);
    return bp_fft(&s, -1, -1, BP_FFT_BACKWARD, &u);
}

/* The first coefficient is the sum, and the sum of squares is that of the signal times its length. */
static bool is_transform(void) {
    double sum = 0, squares = 0, power = 0;
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        sum += i % 2 ? 0 : a[i];
        squares += a[i] * a[i];
        power += x[i] * x[i];
    }
    return fabs(x[0] - sum) <= 1e-6 * (fabs(sum) + 1) && fabs(power - squares * ELEMENTS) <= 1e-9 * power;
}

enum { CHANNELS = 16, IMAGE = 40, KERNEL = 3, RESULT = IMAGE - KERNEL + 1 };

static float image[CHANNELS * IMAGE * IMAGE], weight[CHANNELS * CHANNELS * KERNEL * KERNEL],
    result[CHANNELS * RESULT * RESULT];

static bp_status convolve(void) {
    int64_t in[] = {1, CHANNELS, IMAGE, IMAGE}, kernel[] = {CHANNELS, CHANNELS, KERNEL, KERNEL},
            out[] = {1, CHANNELS, RESULT, RESULT};
    for (size_t i = 0; i < sizeof image / sizeof *image; i++) {
        image[i] = (float)(i % 7);
    }
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++) {
        weight[i] = (float)(i % 5) - 2;
    }
    DLTensor s = tensor(image, kDLFloat, 32, 4, in), w = tensor(weight, kDLFloat, 32, 4, kernel),
             u = tensor(result, kDLFloat, 32, 4, out);
    const bp_conv_call call = {.struct_size = sizeof call, .ndim = 2, .input = &s, .weight = &w, .output = &u};
    return bp_conv_run(NULL, &call);
}

static bool is_convolution(void) {
    bool right = true;
    for (int o = 0; o < CHANNELS; o += 5) {
        for (int at = 0; at < RESULT * RESULT; at += 3) {
            float sum = 0;
            for (int t = 0; t < CHANNELS * KERNEL * KERNEL; t++) {
                const int c = t / (KERNEL * KERNEL), y = at / RESULT + t / KERNEL % KERNEL,
                          z = at % RESULT + t % KERNEL;
                sum += image[(c * IMAGE + y) * IMAGE + z] * weight[o * CHANNELS * KERNEL * KERNEL + t];
            }
            right = right && fabsf(result[o * RESULT * RESULT + at] - sum) <= 1e-2F;
        }
    }
    return right;
}

static const operation operations[] = {
    {"f64 product", multiply, is_product}, {"c128 product of a row", multiply_row, is_row_product},
    {"solve", solve, is_solution},         {"svdvals", find_singular_values, are_singular_values},
    {"fft", transform, is_transform},      {"convolution", convolve, is_convolution},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* ---- In a child ---- */

static void limit_space(int64_t mebibytes) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld", &pages) != 1) {
        _exit(FAILED);
    }
    fclose(file);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)mebibytes * MIB;
    setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
}

static int judge(const operation *what, bp_status status) {
    if (status == BP_OK) {
        return what->is_right() ? COMPUTED : WRONG;
    }
    for (int i = 0; i < 2 * ELEMENTS; i++) {
        if (x[i] != mark) {
            return TOUCHED;
        }
    }
    return status == BP_E_NO_MEMORY                                 ? NO_MEMORY
           : status == BP_E_FALLBACK || status == BP_E_NO_CANDIDATE ? NOT_OFFERED
                                                                    : FAILED;
}

static void *run_in_thread(void *user) {
    const operation *what = user;
    return (void *)(intptr_t)judge(what, what->run());
}

/* Runs the operation twice, and once more in another thread. Returns the worst end. */
static int run(const operation *what) {
    pthread_t thread;
    void *end = NULL;
    int worst = judge(what, what->run());
    for (int i = 0; i < 2; i++) {
        fill();
        if (i == 0) {
            end = run_in_thread((void *)(uintptr_t)what);
        } else if (pthread_create(&thread, NULL, run_in_thread, (void *)(uintptr_t)what) == 0) {
            pthread_join(thread, &end);
        }
        worst = (int)(intptr_t)end > worst ? (int)(intptr_t)end : worst;
    }
    return worst;
}

static void prefer(const char *library) {
    static const char *const settings[] = {"blas.preferred", "linalg.preferred", "fft.preferred", "conv.preferred"};
    for (size_t i = 0; library && i < sizeof settings / sizeof *settings; i++) {
        if (bp_set(settings[i], library) != BP_OK) {
            _exit(FAILED);
        }
    }
    if (library && bp_set("dispatch.fallback", "strict") != BP_OK) {
        _exit(FAILED);
    }
}

/* Returns how a child ends. */
static int end_of(const operation *what, const char *library, int64_t mebibytes) {
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fill();
        prefer(library);
        limit_space(mebibytes);
        _exit(run(what));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        fail_msg("%s on %s with %lld MiB left: signal %d", what->name, library ? library : "any library",
                 (long long)mebibytes, WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

static void check(const operation *what, const char *library, int64_t mebibytes) {
    const int end = end_of(what, library, mebibytes);
    if (end != COMPUTED && end != NO_MEMORY && end != NOT_OFFERED) {
        fail_msg("%s on %s with %lld MiB left: %s (%d)", what->name, library ? library : "any library",
                 (long long)mebibytes,
                 end == WRONG     ? "a wrong result"
                 : end == TOUCHED ? "a failed call has written its output"
                 : end == FAILED  ? "another error"
                                  : "the library has ended the process",
                 end);
    }
}

/* ---- A fake library that maps a buffer of 64 MiB in its first call, or ends the process ---- */

static void use_fake(void) {
    setenv("BACKPLANE_REGISTRY_SYSTEM", "false", 1);
    setenv("BACKPLANE_REGISTRY_CACHE", "off", 1);
    setenv("BACKPLANE_LIBRARY_PATH", FAKES "/buffered", 1);
    assert_int_equal(bp_reset(), BP_OK);
    bp_library_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_library_at(0, &info), BP_OK);
    assert_int_equal(info.state, BP_LIBRARY_OK);
    assert_in_range(info.space.call, 64 * MIB, 200 * MIB);
    assert_in_range(info.space.caller, 64 * MIB, 300 * MIB); /* the C library may reserve memory for the thread */
    assert_int_equal(info.data.call >> 26, 1);
}

static void test_a_library_is_refused_below_its_need(void **state) {
    (void)state;
    use_fake();
    assert_int_equal(end_of(&operations[0], "blas", 40), NO_MEMORY);
    assert_int_equal(end_of(&operations[0], "blas", 600), COMPUTED);
}

/* The first thread has its buffer, the second one gets none. */
static void test_a_second_thread_needs_its_own(void **state) {
    (void)state;
    use_fake();
    assert_int_equal(end_of(&operations[0], "blas", 130), NO_MEMORY);
}

static void test_another_candidate_runs(void **state) {
    (void)state;
    use_fake();
    assert_int_equal(bp_set("blas.preferred", "blas"), BP_OK);
    assert_int_equal(bp_set("dispatch.fallback", "allow"), BP_OK);
    for (int64_t mebibytes = 30; mebibytes < 400; mebibytes *= 2) {
        assert_int_equal(end_of(&operations[0], NULL, mebibytes), COMPUTED);
    }
    assert_int_equal(bp_set("blas.preferred", ""), BP_OK);
}

/* Returns NO_REASON unless the explanation has the reason. */
static int explain(void) {
    DLTensor s = tensor(a, kDLFloat, 64, 2, square), t = tensor(b, kDLFloat, 64, 2, square),
             u = tensor(x, kDLFloat, 64, 2, square);
    bp_explanation *explanation;
    bp_candidate_info one = {.struct_size = sizeof one};
    int end = NO_REASON;
    if (bp_gemm_explain(&explanation, NULL, BP_AS_IS, BP_AS_IS, NULL, &s, &t, NULL, &u) != BP_OK) {
        return FAILED;
    }
    for (int i = 0; bp_explanation_at(explanation, i, &one); i++) {
        end =
            one.reason == BP_REASON_MEMORY && strstr(one.text, "RLIMIT_AS") && strstr(one.text, "MiB") ? COMPUTED : end;
    }
    bp_explanation_release(explanation);
    return end;
}

static void test_explain_tells_the_reason(void **state) {
    int status = 0;
    (void)state;
    use_fake();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        limit_space(40);
        _exit(explain());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), COMPUTED);
}

/* ---- The libraries of this machine ---- */

static void use_machine(void) {
    unsetenv("BACKPLANE_REGISTRY_SYSTEM");
    unsetenv("BACKPLANE_REGISTRY_CACHE");
    unsetenv("BACKPLANE_LIBRARY_PATH");
    assert_int_equal(bp_reset(), BP_OK);
}

static const int64_t steps[] = {5, 10, 20, 30, 50, 100, 200, 300, 400, 800};
enum { STEPS = sizeof steps / sizeof *steps };

static void test_any_library(void **state) {
    int count;
    (void)state;
    use_machine();
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int i = 0; i < OPERATIONS * STEPS; i++) {
        check(&operations[i / STEPS], NULL, steps[i % STEPS]);
    }
}

static void test_each_library(void **state) {
    int count, number = 0;
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    use_machine();
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = 0; l < count; l++) {
        assert_int_equal(bp_library_at(l, &info), BP_OK);
        const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK | BP_LIB_FFT | BP_LIB_SMM | BP_LIB_DNN;
        for (int i = 0; info.state == BP_LIBRARY_OK && info.kinds & kinds && i < OPERATIONS * STEPS; i++) {
            if (!test_leaves_out(number++, 4)) {
                check(&operations[i / STEPS], info.id, steps[i % STEPS]);
            }
        }
    }
}

/* ---- No threads: OpenMP runtimes end the process when they cannot start them. ---- */

/* The kernel does not limit the processes of root. Returns false if this user cannot be limited. */
static bool give_up_threads(void) {
    enum { UNPRIVILEGED = 65534 };
    pthread_t thread;
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){0, 0}) != 0 || (geteuid() == 0 && setuid(UNPRIVILEGED) != 0)) {
        return false;
    }
    if (pthread_create(&thread, NULL, run_in_thread, (void *)(uintptr_t)&operations[0]) == 0) {
        pthread_join(thread, NULL);
        return false;
    }
    return true;
}

static int end_without_threads(const operation *what, const char *library) {
    int status = 0;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fill();
        prefer(library);
        if (!give_up_threads()) {
            _exit(UNLIMITED);
        }
        const bp_status got = what->run();
        _exit(got == BP_E_LOAD ? NOT_OPENED : judge(what, got));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        fail_msg("%s on %s without threads: signal %d", what->name, library, WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}

static void test_each_library_without_threads(void **state) {
    int count, refused = 0, threaded = 0;
    bp_library_info info = {.struct_size = sizeof info};
    (void)state;
    use_machine();
    assert_int_equal(bp_library_count(&count), BP_OK);
    for (int l = 0; l < count; l++) {
        assert_int_equal(bp_library_at(l, &info), BP_OK);
        const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK | BP_LIB_FFT | BP_LIB_DNN;
        for (int i = 0; info.state == BP_LIBRARY_OK && info.kinds & kinds && i < OPERATIONS; i++) {
            const int end = end_without_threads(&operations[i], info.id);
            if (end == UNLIMITED) {
                skip();
            }
            if (end != COMPUTED && end != NOT_OFFERED && end != NOT_OPENED) {
                fail_msg("%s on %s without threads: end %d", operations[i].name, info.id, end);
            }
            threaded += end != NOT_OFFERED && strcmp(info.threading, "serial") != 0;
            refused += end == NOT_OPENED;
        }
    }
    assert_true(refused > 0 || threaded == 0 || sysconf(_SC_NPROCESSORS_ONLN) == 1 || getenv("OMP_NUM_THREADS"));
}

static int skip_instrumented(void **state) {
    (void)state;
    if (getenv("TESTED_EMULATED") || (getenv("TESTED_SANITIZERS") && *getenv("TESTED_SANITIZERS"))) {
        skip(); /* these need more address space than the limits */
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_library_is_refused_below_its_need, skip_instrumented),
        cmocka_unit_test_setup(test_a_second_thread_needs_its_own, skip_instrumented),
        cmocka_unit_test_setup(test_another_candidate_runs, skip_instrumented),
        cmocka_unit_test_setup(test_explain_tells_the_reason, skip_instrumented),
        cmocka_unit_test_setup(test_any_library, skip_instrumented),
        cmocka_unit_test_setup(test_each_library, skip_instrumented),
        cmocka_unit_test_setup(test_each_library_without_threads, skip_instrumented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
