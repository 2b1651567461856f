/* test_speed.c - tests the correction of times for the processor's speed. The clock and the product by which the speed
 * is known are replaced: the clock advances by the time that the product is to take. */
#include "probe/measure.h"

#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { REFRESHED_NS = 1000000 }; /* longer than the time between two products */

static int64_t clock_ns, product_ns;
static int products;

int64_t __wrap_bp__now_ns(void);
int64_t __wrap_bp__now_ns(void) {
    return clock_ns;
}

bp_status __wrap_bp_execute(bp_plan *plan, const bp_operand *operands, const bp_exec *exec);
bp_status __wrap_bp_execute(bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    (void)plan, (void)operands, (void)exec;
    products++;
    clock_ns += product_ns;
    return BP_OK;
}

static void assert_near(double got, double want) {
    if (!(fabs(got - want) < 1e-9)) {
        fail_msg("%g instead of %g", got, want);
    }
}

/* Begins at a speed where the product takes 1000 ns. */
static void begin(void) {
    product_ns = 1000;
    products = 0;
    speed_begin(NULL);
}

/* Returns the corrected time of 300 ns that was measured while the product's time changed from `before` to `after`. */
static double corrected(int64_t before, int64_t after) {
    product_ns = before;
    clock_ns += REFRESHED_NS;
    const double noted = speed_now();
    product_ns = after;
    clock_ns += REFRESHED_NS;
    return speed_corrected(300, noted);
}

static void times_follow_the_speed(void **state) {
    (void)state;
    begin();
    assert_near(corrected(1000, 1000), 300);
    assert_near(corrected(2000, 2000), 150);
    assert_near(corrected(500, 500), 600);
    assert_near(corrected(1000, 4000), 150); /* the geometric mean of both */
    assert_near(corrected(1000, 1000), 300);
}

static void small_changes_are_noise(void **state) {
    (void)state;
    begin();
    assert_near(corrected(1030, 1030), 300);
    assert_near(corrected(970, 970), 300);
    assert_near(corrected(1100, 1100), 300 / 1.1);
}

static void the_product_is_timed_now_and_then(void **state) {
    (void)state;
    begin();
    const int at_first = products;
    assert_in_range(at_first, 1, 100);
    for (int i = 0; i < 50; i++) {
        clock_ns += 1000;
        assert_near(speed_now(), 1000);
    }
    assert_int_equal(products, at_first);
    clock_ns += REFRESHED_NS;
    speed_now();
    assert_true(products > at_first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_follow_the_speed),
        cmocka_unit_test(small_changes_are_noise),
        cmocka_unit_test(the_product_is_timed_now_and_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
