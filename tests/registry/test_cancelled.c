/* test_cancelled.c - tests that a thread which is to be cancelled ends its first call of the library.
 *
 * The thread asks for its own cancellation before the call, so the first cancellation point inside would end it there,
 * with its locks held. */
#include "registry/support_registry.h"

#include "backplane.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

enum { SIDE = 40 };

static const char *folder;
static FILE *nowhere;
static double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];

static void views(bp_view v[3]) {
    double *const data[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        bp_view_matrix(&v[i], data[i], BP_F64, SIDE, SIDE);
    }
}

static bp_status count_libraries(void) {
    int count;
    return bp_library_count(&count);
}

static bp_status probe_again(void) {
    return bp_libraries_refresh(1);
}

static bp_status open_a_library(void) {
    void *handle;
    return bp_library_open(FAKES "/plain/libplain.so", &handle);
}

static bp_status search_location(void) {
    const char *place, *outcome;
    return bp_search_location_at(0, &place, &outcome) ? BP_OK : BP_E_NOT_FOUND;
}

static bp_status multiply(void) {
    bp_view v[3];
    views(v);
    return bp_matmul(&v[0].tensor, &v[1].tensor, &v[2].tensor);
}

static bp_status contract(void) {
    bp_view v[3];
    views(v);
    const DLTensor *const operands[] = {&v[0].tensor, &v[1].tensor};
    return bp_einsum("ij,jk->ki", 2, operands, &v[2].tensor);
}

static bp_status explain(void) {
    bp_view v[3];
    bp_explanation *explanation;
    views(v);
    bp_status status =
        bp_gemm_explain(&explanation, NULL, BP_AS_IS, BP_AS_IS, NULL, &v[0].tensor, &v[1].tensor, NULL, &v[2].tensor);
    bp_explanation_release(explanation);
    return status;
}

static bp_status plan_and_execute(void) {
    bp_view v[3];
    bp_plan *plan;
    views(v);
    bp_status status =
        bp_gemm_plan(&plan, NULL, BP_AS_IS, BP_AS_IS, NULL, &v[0].tensor, &v[1].tensor, NULL, &v[2].tensor);
    if (status == BP_OK) {
        const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
        status = bp_execute(plan, operands, NULL);
    }
    bp_plan_release(plan);
    return status;
}

static bp_status factorize(void) {
    bp_view v[3];
    views(v);
    bp_status status = bp_cholesky(&v[0].tensor, 0, &v[2].tensor);
    return status == BP_E_NO_CANDIDATE ? BP_OK : status; /* native may have no routine of this size */
}

static bp_status set(void) {
    return bp_set("num_threads", "2");
}

static bp_status get(void) {
    const char *value;
    return bp_get("num_threads", &value, NULL, NULL);
}

static bp_status read_machine(void) {
    bp_machine_info info = {.struct_size = sizeof info};
    return bp_machine(&info);
}

static bp_status find_device(void) {
    int32_t place;
    bp_status status = bp_device_find("opencl:99", &place); /* contacts every runtime */
    return status == BP_E_NOT_FOUND ? BP_OK : status;
}

static bp_status read_provider(void) {
    bp_provider_info info = {.struct_size = sizeof info};
    return bp_provider_at(0, &info) ? BP_OK : BP_E_NOT_FOUND;
}

static bp_status print(void) {
    bp_view v[3];
    views(v);
    return bp_tensor_print(nowhere, &v[0].tensor, NULL);
}

typedef struct call {
    const char *name;
    bp_status (*run)(void);
    bp_status status;
    bool returned;
} call;

static void *run_cancelled(void *user) {
    call *one = user;
    pthread_cancel(pthread_self());
    one->status = one->run();
    one->returned = true;
    pthread_testcancel();
    return NULL;
}

static int open_files(void) {
    int count = 0;
    DIR *all = opendir("/proc/self/fd");
    while (readdir(all)) {
        count++;
    }
    closedir(all);
    return count;
}

/* Runs the call in a cancelled thread, and then in this one, for which no lock may be held. */
static void check(call *one) {
    pthread_t thread;
    void *result;
    restart(FAKES "/plain", folder);
    const int files = open_files();
    assert_int_equal(pthread_create(&thread, NULL, run_cancelled, one), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    if (!one->returned) {
        fprintf(stderr, "%s: the thread was cancelled inside\n", one->name);
        _exit(1); /* any further call may wait for ever */
    }
    if (one->status != BP_OK) {
        fail_msg("%s: %s", one->name, bp_status_name(one->status));
    }
    assert_ptr_equal(result, PTHREAD_CANCELED); /* cancellation is possible again after the call */
    assert_int_equal(one->run(), BP_OK);
    assert_true(open_files() <= files + 1); /* one is a trace's */
}

static void test_a_cancelled_thread_ends_its_first_call(void **state) {
    static call calls[] = {
        {.name = "bp_library_count", .run = count_libraries},
        {.name = "bp_libraries_refresh", .run = probe_again},
        {.name = "bp_library_open", .run = open_a_library},
        {.name = "bp_search_location_at", .run = search_location},
        {.name = "bp_matmul", .run = multiply},
        {.name = "bp_einsum", .run = contract},
        {.name = "bp_gemm_explain", .run = explain},
        {.name = "bp_gemm_plan and bp_execute", .run = plan_and_execute},
        {.name = "bp_cholesky", .run = factorize},
        {.name = "bp_set", .run = set},
        {.name = "bp_get", .run = get},
        {.name = "bp_machine", .run = read_machine},
        {.name = "bp_device_find", .run = find_device},
        {.name = "bp_provider_at", .run = read_provider},
        {.name = "bp_tensor_print", .run = print},
        {.name = "bp_reset", .run = bp_reset},
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        check(&calls[i]);
    }
}

/* A warm call writes a line, which is a cancellation point. */
static void test_a_cancelled_thread_writes_its_trace(void **state) {
    char path[4200];
    (void)state;
    snprintf(path, sizeof path, "%s/trace.json", folder);
    setenv("BACKPLANE_TRACE", path, 1);
    call one = {.name = "bp_matmul with a trace", .run = multiply};
    check(&one);
    check(&one);
    unsetenv("BACKPLANE_TRACE");
    assert_int_equal(bp_reset(), BP_OK);
}

int main(void) {
    for (int i = 0; i < SIDE; i++) {
        a[i * SIDE + i] = 2;
        b[i * SIDE + i] = 3;
    }
    nowhere = fopen("/dev/null", "w");
    folder = strdup(make_folder());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cancelled_thread_ends_its_first_call),
        cmocka_unit_test(test_a_cancelled_thread_writes_its_trace),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    bp_reset();
    fclose(nowhere);
    forget_folder(folder);
    free((void *)(uintptr_t)folder);
    return failed;
}
