/* test_fork.c - products in children of fork: none uses a handle of its parent, and one may compute if its parent has
 * only listed devices. */
#include "cublas/support_squares.h"

#include "support/child.h"

static int compute_in_child(void) {
    matrices *m = make_matrices(0, 0);
    write_matrices(m, NULL);
    assert_ok(bp_matmul(tensor_at(m, 0), tensor_at(m, 1), tensor_at(m, 2)));
    expect_product(m, NULL);
    free_matrices(m);
    const bool calm = the_lt()->violations == 0 && the_double()->violations == 0;
    return bp_reset() == BP_OK && calm && the_lt()->handles == 0 ? 0 : 1;
}

/* Runs before this process has used a device. */
static void a_child_may_compute(void **state) {
    int32_t place;
    (void)state;
    assert_ok(bp_device_find("cuda:0", &place));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(compute_in_child());
    }
    assert_int_equal(test_end_of_child(child, "products on listed devices"), 0);
}

static int use_in_child(matrices *m, bp_plan *plan) {
    if (bp_execute(plan, m->operands, NULL) != BP_E_FORKED ||
        bp_matmul(tensor_at(m, 0), tensor_at(m, 1), tensor_at(m, 2)) != BP_E_FORKED) {
        return 2;
    }
    bp_plan_release(plan);
    free_matrices(m);
    return bp_reset() == BP_OK && the_lt()->violations == 0 && the_double()->violations == 0 ? 0 : 1;
}

static void a_child_calls_no_library_of_its_parent(void **state) {
    (void)state;
    matrices *m = make_matrices(0, 0);
    bp_plan *plan = make_plan(m, "num_threads=1");
    write_matrices(m, NULL);
    assert_ok(bp_execute(plan, m->operands, NULL));
    expect_product(m, NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        _exit(use_in_child(m, plan));
    }
    assert_int_equal(test_end_of_child(child, "products after fork"), 0);
    assert_ok(bp_execute(plan, m->operands, NULL)); /* the parent goes on */
    expect_product(m, NULL);
    bp_plan_release(plan);
    free_matrices(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_child_may_compute, begin_cublas, end_cublas),
        cmocka_unit_test_setup_teardown(a_child_calls_no_library_of_its_parent, begin_cublas, end_cublas),
    };
    return cmocka_run_group_tests_name("fork", tests, start_cublas, stop_cublas);
}
