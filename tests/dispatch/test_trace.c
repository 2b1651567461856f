/* test_trace.c - BACKPLANE_VERBOSE writes one comma-separated line per call, BACKPLANE_TRACE a JSON file, and a handler
 * gets a line for each new plan. All are off by default.
 *
 * Each case of the settings runs in a child process, because they are read at the start. */
#include "backplane.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LOG BP_TEST_BUILD_DIR "/tests/observe.log"
#define TRACE BP_TEST_BUILD_DIR "/tests/observe-trace.json"

static double x[4] = {1, 2, 3, 4}, z[4];

static void run_three_calls(void) {
    bp_view a, c;
    bp_view_matrix(&a, x, BP_F64, 2, 2);
    bp_view_matrix(&c, z, BP_F64, 2, 2);
    bp_matmul(&a.tensor, &a.tensor, &c.tensor);
    bp_matmul(&a.tensor, &a.tensor, &c.tensor);
    bp_plan *plan;
    if (bp_matmul_plan(&plan, NULL, &a.tensor, &a.tensor, &c.tensor) == BP_OK) {
        bp_execute(plan, (bp_operand[]){{x, 0}, {x, 0}, {z, 0}}, NULL);
        bp_plan_release(plan);
    }
}

/* Runs the calls in a child with the environment variable set and standard error redirected to LOG. Returns the content
 * of LOG. */
static const char *observe(const char *name, const char *value, void (*calls)(void)) {
    static char text[65536];
    unlink(LOG);
    unlink(TRACE);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(LOG, O_CREAT | O_RDWR | O_TRUNC, 0600);
        dup2(fd, STDERR_FILENO);
        if (name) {
            setenv(name, value, 1);
        }
        calls();
        bp_reset();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    FILE *f = fopen(LOG, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    if (f) {
        fclose(f);
    }
    return text;
}

static int lines(const char *text) {
    int n = 0;
    for (; *text; text++) {
        n += *text == '\n';
    }
    return n;
}

static void silent_by_default(void **state) {
    (void)state;
    assert_string_equal(observe(NULL, NULL, run_three_calls), "");
    assert_int_not_equal(access(TRACE, F_OK), 0);
}

static void one_line_per_call(void **state) {
    (void)state;
    const char *text = observe("BACKPLANE_VERBOSE", "1", run_three_calls);
    assert_int_equal(lines(text), 3);
    assert_non_null(strstr(text, "backplane,gemm,native,native,"));
    assert_non_null(strstr(text, "f64 2x2 @ 2x2 -> 2x2"));
    assert_non_null(strstr(text, "plan new,OK,"));
    assert_non_null(strstr(text, "plan hit,OK,"));
}

static void verbose_2_lists_candidates(void **state) {
    (void)state;
    const char *text = observe("BACKPLANE_VERBOSE", "2", run_three_calls);
    const char *line = "backplane,candidate,f64 2x2 @ 2x2 -> 2x2,native,";
    const char *chosen = strstr(text, "backplane,candidate,f64 2x2 @ 2x2 -> 2x2,native,chosen,");
    int offers = 0; /* native has more than one algorithm for it */
    for (const char *at = text; (at = strstr(at, line)); at++) {
        offers++;
    }
    assert_non_null(chosen);
    assert_null(strstr(chosen + strlen(line), ",native,chosen,"));
    assert_true(offers >= 2);
    assert_int_equal(lines(text),
                     6 + offers); /* three calls, and the providers of OpenCL devices and of ranks, which refuse */
}

static void switching(void) {
    bp_view a, c;
    bp_view_matrix(&a, x, BP_F64, 2, 2);
    bp_view_matrix(&c, z, BP_F64, 2, 2);
    bp_matmul(&a.tensor, &a.tensor, &c.tensor);
    bp_set_verbose(1);
    bp_matmul(&a.tensor, &a.tensor, &c.tensor);
    bp_set_verbose(0);
    bp_matmul(&a.tensor, &a.tensor, &c.tensor);
}

static void verbose_can_be_switched_at_run_time(void **state) {
    (void)state;
    assert_int_equal(lines(observe(NULL, NULL, switching)), 1);
}

/* Returns the trace of `calls`; it must be a complete JSON list with one event per call. */
static const char *trace_of(void (*calls)(void), int expected) {
    static char text[16384];
    assert_string_equal(observe("BACKPLANE_TRACE", TRACE, calls), "");
    FILE *f = fopen(TRACE, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    assert_true(text[0] == '[');
    assert_string_equal(text + n - 3, "\n]\n");
    assert_ptr_equal(strchr(text, ']'), text + n - 2);
    int events = 0;
    for (const char *at = text; (at = strstr(at, "\"ph\":\"X\"")); at++) {
        events++;
    }
    assert_int_equal(events, expected);
    const char *comma = strstr(text, "},\n{");
    assert_true(expected < 2 || comma != NULL);
    return text;
}

static void trace_is_json(void **state) {
    (void)state;
    const char *text = trace_of(run_three_calls, 3);
    assert_non_null(strstr(text, "\"library\":\"native\""));
    assert_non_null(strstr(text, "\"dur\":"));
}

static void run_with_a_reset_between(void) {
    run_three_calls();
    bp_reset();
    run_three_calls();
}

static void trace_continues_after_a_reset(void **state) {
    (void)state;
    trace_of(run_with_a_reset_between, 6);
}

static void run_onto_a_full_disk(void) {
    char warning[512];
    run_three_calls();
    if (bp_warning_at(0, warning, sizeof warning) && strstr(warning, "/dev/full") && !bp_warning_at(1, NULL, 0)) {
        dprintf(STDERR_FILENO, "warned once");
    }
}

static void an_unwritable_trace_is_reported(void **state) {
    (void)state;
    assert_string_equal(observe("BACKPLANE_TRACE", "/dev/full", run_onto_a_full_disk), "warned once");
}

static void run_without_standard_input(void) {
    close(STDIN_FILENO);
    run_three_calls();
    if (open("/dev/null", O_RDONLY) != STDIN_FILENO) {
        _exit(1); /* the trace uses one of the standard streams */
    }
}

static void trace_leaves_the_standard_streams_alone(void **state) {
    (void)state;
    trace_of(run_without_standard_input, 3);
}

static struct {
    int count;
    char text[512];
} reported;

static void keep_report(void *user, const char *text) {
    assert_ptr_equal(user, x);
    reported.count++;
    snprintf(reported.text, sizeof reported.text, "%s", text);
}

static void multiply_two(int columns) {
    bp_view a, b, c;
    bp_view_matrix(&a, x, BP_F64, 2, 2);
    bp_view_matrix(&b, x, BP_F64, 2, columns);
    bp_view_matrix(&c, z, BP_F64, 2, columns);
    assert_int_equal(bp_matmul(&a.tensor, &b.tensor, &c.tensor), BP_OK);
}

static void a_new_plan_is_reported_once(void **state) {
    (void)state;
    bp_set_choice_handler(keep_report, x);
    multiply_two(2);
    multiply_two(2);
    assert_int_equal(reported.count, 1);
    const char start[] = "gemm f64 2x2 @ 2x2 -> 2x2: native, ", end[] = "; preferred by blas.preferred=native";
    assert_memory_equal(reported.text, start, sizeof start - 1);
    assert_non_null(strstr(reported.text, ", 1 thread;"));
    assert_non_null(strstr(reported.text, end));
    multiply_two(1);
    assert_int_equal(reported.count, 2);
    bp_set_choice_handler(NULL, NULL);
    bp_reset();
    multiply_two(2);
    assert_int_equal(reported.count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_by_default),
        cmocka_unit_test(one_line_per_call),
        cmocka_unit_test(verbose_2_lists_candidates),
        cmocka_unit_test(verbose_can_be_switched_at_run_time),
        cmocka_unit_test(trace_is_json),
        cmocka_unit_test(trace_continues_after_a_reset),
        cmocka_unit_test(trace_leaves_the_standard_streams_alone),
        cmocka_unit_test(an_unwritable_trace_is_reported),
        cmocka_unit_test(a_new_plan_is_reported_once),
    };
    setenv("BACKPLANE_BLAS_PREFERRED", "native", 1);
    unsetenv("BACKPLANE_PROVIDER_PATH");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
