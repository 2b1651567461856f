/* test_interrupt.c - einsum stopped by its thread's interrupt check: between parts, between slices and within them, but
 * never in short calls. Also checks the state afterwards. */
#include "base/base.h"
#include "contraction/support_contraction.h"
#include "dispatch/internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct counter {
    int asked, stop; /* 0: never */
} counter;

static int count_asked(void *user) {
    counter *c = user;
    return ++c->asked == c->stop;
}

static void make(sample *s, const char *expression, int64_t each) {
    int64_t size[SAMPLE_LABELS];
    for (int i = 0; i < SAMPLE_LABELS; i++) {
        size[i] = each;
    }
    sample_make(s, expression, size, BP_F64, COMPACT, COMPACT);
}

static void clear(test_array *t) {
    for (int64_t i = 0; i < test_array_count(t); i++) {
        test_array_set(t, i, (double)NAN);
    }
}

static bp_status counted(sample *s, counter *c) {
    bp_einsum_call call = sample_call(s);
    bp_set_interrupt_check(count_asked, c, NULL);
    bp_status status = bp_einsum_run(NULL, &call, &s->out.view.tensor);
    bp_set_interrupt_check(NULL, NULL, NULL);
    return status;
}

static void stops_between_parts_and_slices(void **state) {
    (void)state;
    static const struct {
        const char *expression;
        int64_t each;
    } rows[] = {{"ab,bc,cd,de,ef->af", 300}, {"abcd,cebf->eafd", 28}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sample s;
        counter all = {0, 0};
        make(&s, rows[i].expression, rows[i].each);
        assert_int_equal(counted(&s, &all), BP_OK);
        assert_true(all.asked >= 2);
        test_array expected;
        test_array_copy(&expected, &s.out);
        int64_t blocks = bp__live_blocks();
        for (int stop = 1; stop <= 2; stop++) { /* the number of checks within a part depends on its time */
            counter c = {0, stop};
            assert_int_equal(counted(&s, &c), BP_E_CANCELLED);
            assert_int_equal(c.asked, stop);
            assert_non_null(strstr(bp_last_error(), "einsum was stopped"));
            assert_int_equal(bp__live_blocks(), blocks);
        }
        clear(&s.out);
        assert_int_equal(counted(&s, &all), BP_OK);
        test_array_check_unchanged(&s.out, &expected, "the second run");
        test_array_free(&expected);
        sample_free(&s);
    }
}

static void short_calls_do_not_run_the_check(void **state) {
    (void)state;
    static const char *const texts[] = {"ab,bc->ac", "ab,bc,cd->ad", "ab,ab->", "ab->ba"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        sample s;
        counter c = {0, 1};
        make(&s, texts[i], 5);
        bp_einsum_call call = sample_call(&s);
        assert_int_equal(bp_einsum_run(NULL, &call, &s.out.view.tensor), BP_OK); /* makes the plans */
        assert_int_equal(counted(&s, &c), BP_OK);
        assert_int_equal(c.asked, 0);
        sample_free(&s);
    }
}

/* The check runs another einsum of several parts, which uses the thread's memory for intermediate results as well. */
static int contract_within(void *user) {
    counter *c = user;
    sample s;
    make(&s, "ab,bc,cd,da->ad", 20);
    bp_einsum_call call = sample_call(&s);
    bool fine = bp_einsum_run(NULL, &call, &s.out.view.tensor) == BP_OK && sample_error(&s) <= 1;
    sample_free(&s);
    c->asked++;
    return !fine;
}

static void checks_may_run_operations(void **state) {
    (void)state;
    sample s;
    counter c = {0, 0};
    make(&s, "ab,bc,cd,de,ef->af", 300);
    bp_einsum_call call = sample_call(&s);
    assert_int_equal(bp_einsum_run(NULL, &call, &s.out.view.tensor), BP_OK);
    test_array expected;
    test_array_copy(&expected, &s.out);
    clear(&s.out);
    bp_set_interrupt_check(contract_within, &c, NULL);
    assert_int_equal(bp_einsum_run(NULL, &call, &s.out.view.tensor), BP_OK);
    bp_set_interrupt_check(NULL, NULL, NULL);
    assert_true(c.asked >= 2);
    test_array_check_unchanged(&s.out, &expected, "the second run");
    test_array_free(&expected);
    sample_free(&s);
}

/* Runs calls of so many shapes that each slot of the thread cache gets another plan. No plan cache keeps the plan that
 * runs. */
static int displace(void *user) {
    counter *c = user;
    static double x[32 * 32], y[32 * 32], z[32 * 32];
    const uint64_t running = bp__thread.last_serial;
    bp_plan_info info = {.struct_size = sizeof info};
    if (c->asked++ > 0) {
        return 0;
    }
    bool fine = bp_plan_cache_clear() == BP_OK;
    for (int m = 1; m <= 32; m++) {
        for (int n = 1; n <= 32; n++) {
            bp_view v[3];
            bp_view_matrix(&v[0], x, BP_F64, m, n);
            bp_view_matrix(&v[1], y, BP_F64, n, m);
            bp_view_matrix(&v[2], z, BP_F64, m, m);
            fine &= bp_matmul(&v[0].tensor, &v[1].tensor, &v[2].tensor) == BP_OK;
        }
    }
    fine &= bp_plan_cache_clear() == BP_OK;
    bp__thread.last_serial = running;
    fine &= bp_last_plan(&info) == BP_OK && strcmp(info.operation, "einsum") == 0;
    c->stop += !fine;
    return 0;
}

static void the_running_plan_outlives_calls_of_the_check(void **state) {
    (void)state;
    sample s;
    counter c = {0, 0};
    make(&s, "ab,bc,cd,de,ef->af", 300);
    bp_einsum_call call = sample_call(&s);
    const DLTensor *const *operands = call.operands;
    for (int i = 0; i < 2; i++) { /* the second call finds it in the thread cache */
        assert_int_equal(bp_einsum("ab,bc,cd,de,ef->af", call.count, operands, &s.out.view.tensor), BP_OK);
    }
    test_array expected;
    test_array_copy(&expected, &s.out);
    clear(&s.out);
    bp_set_interrupt_check(displace, &c, NULL);
    assert_int_equal(bp_einsum("ab,bc,cd,de,ef->af", call.count, operands, &s.out.view.tensor), BP_OK);
    bp_set_interrupt_check(NULL, NULL, NULL);
    assert_true(c.asked >= 2);
    assert_int_equal(c.stop, 0);
    test_array_check_unchanged(&s.out, &expected, "the second run");
    test_array_free(&expected);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_between_parts_and_slices),
        cmocka_unit_test(short_calls_do_not_run_the_check),
        cmocka_unit_test(checks_may_run_operations),
        cmocka_unit_test(the_running_plan_outlives_calls_of_the_check),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
