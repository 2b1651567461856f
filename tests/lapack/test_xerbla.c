/* test_xerbla.c - tests that an argument which a library reports as illegal becomes a status: xerbla neither prints nor
 * ends the process, as netlib's does. The provider passes no illegal arguments, so the test changes a letter in a plan.
 */
#include "lapack/support_lapack.h"

#undef complex
#include "providers/lapack/lapack.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_illegal(void *instance, const bp_library_info *row) {
    test_operand a = test_make(BP_F64, 4, 4, 1, false, TEST_ROWS), l = test_make(BP_F64, 4, 4, 1, false, TEST_ROWS);
    test_operand info = test_make(BP_I32, 1, 1, 1, false, TEST_ROWS);
    test_fill_definite(&a, 1);
    test_call call = {.op = BP_OP_CHOLESKY, .operand = {&a, &l, &info}};
    bp_problem problem = test_problem(&call);
    bp_prepared *prepared = NULL;
    assert_int_equal(test_plan_first(&bp_provider_lapack, instance, &problem, &prepared), BP_OK);
    void *const operands[BP_LINALG_OPERANDS] = {a.base, l.base, info.base};
    ((bp__lapack_plan *)prepared)->letter[0] = 'Q';
    assert_int_equal(test_enqueue(prepared, operands, BP_LINALG_OPERANDS, NULL), BP_E_INTERNAL);
    assert_non_null(strstr(bp_last_error(), "argument 1"));
    assert_non_null(strstr(bp_last_error(), row->id));
    ((bp__lapack_plan *)prepared)->letter[0] = 'L';
    assert_int_equal(test_enqueue(prepared, operands, BP_LINALG_OPERANDS, NULL), BP_OK);
    prepared->destroy(prepared);
    test_drop(&a), test_drop(&l), test_drop(&info);
}

/* Runs `check` in a child whose output must contain `says`; "": it must be empty; NULL: any output. */
static void in_child(const bp_library_info *row, const char *says, void (*check)(void *, const bp_library_info *)) {
    int ends[2], status;
    char text[512] = "";
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(240);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        void *instance = test_open(row);
        check(instance, row);
        bp_provider_lapack.close(instance);
        fflush(NULL);
        _exit(17);
    }
    close(ends[1]);
    ssize_t length = 0, got;
    while ((got = read(ends[0], text + length, sizeof text - 1 - (size_t)length)) > 0) {
        length += got;
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 17) {
        fail_msg("%s: wait status %d: %s", row->id, status, text);
    }
    if (says && (*says ? strstr(text, says) == NULL : text[0] != '\0')) {
        fail_msg("%s: printed: '%s', not '%s'", row->id, text, says);
    }
}

static bool can_be_intercepted(const bp_library_info *row) {
    return row->prefix[0] == '\0' && (strcmp(row->family, "netlib") == 0 || strcmp(row->family, "openblas") == 0);
}

static void test_illegal_argument_becomes_a_status(void **state) {
    (void)state;
    int count;
    const bp_library_info **rows = test_libraries(&count);
    for (int i = 0; i < count; i++) {
        in_child(rows[i], can_be_intercepted(rows[i]) ? "" : NULL, check_illegal);
    }
}

/* A call that the provider does not make reports as before. Here it is the program's own call, and netlib's xerbla ends
 * the process with success. */
static void call_directly(void *instance, const bp_library_info *row) {
    bp__driver *driver = instance;
    assert_int_equal(bp__driver_load(driver), BP_OK);
    char name[64];
    snprintf(name, sizeof name, "%sdpotrf%s", row->prefix, row->suffix);
    void (*potrf)(const char *, const int64_t *, double *, const int64_t *, int64_t *, size_t) =
        (void (*)(const char *, const int64_t *, double *, const int64_t *, int64_t *, size_t))dlsym(driver->handle,
                                                                                                     name);
    double a = 1;
    int64_t one = 1, result = 0;
    potrf("Q", &one, &a, &one, &result, 1);
    assert_true((int32_t)result == -1);
    printf("returned");
}

static void test_other_calls_reach_the_original(void **state) {
    (void)state;
    int count;
    const bp_library_info **rows = test_libraries(&count);
    for (int i = 0; i < count; i++) {
        if (strcmp(rows[i]->family, "openblas") == 0) { /* prints and returns */
            in_child(rows[i], "illegal", call_directly);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_illegal_argument_becomes_a_status),
        cmocka_unit_test(test_other_calls_reach_the_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
