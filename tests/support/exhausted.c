/* exhausted.c - implements exhausted.h. */
#include "support/exhausted.h"

#include "base/base.h"
#include "support/failing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void check_nothing_left(long n) {
    if (bp_reset() != BP_OK) {
        fail_msg("before allocation %ld: %s", n, bp_last_error());
    }
    assert_int_equal(bp__live_blocks(), 0);
}

static void fail_each(bp_status (*live)(void), bool one) {
    bool reached = true;
    for (long n = 0; reached; n++) {
        check_nothing_left(n);
        test_fail_allocations(n, one);
        const bp_status status = live();
        reached = test_end_of_failures();
        if (status != BP_OK && (status != BP_E_NO_MEMORY || !reached)) {
            fail_msg("allocation %ld: %s (%s)", n, bp_status_text(status), bp_last_error());
        }
        if (!reached) {
            print_message("%ld allocations\n", n);
        }
    }
    assert_int_equal(live(), BP_OK);
    check_nothing_left(0);
}

void test_exhausted(bp_status (*live)(void)) {
    assert_int_equal(bp_reset(), BP_OK);
    assert_int_equal(bp_set_allocator(&test_failing_allocator), BP_OK);
    fail_each(live, true);
    fail_each(live, false);
    assert_int_equal(bp_set_allocator(NULL), BP_OK);
}
