/* test_products.c - tests that Backplane runs a program's products, and that the rest stays in the program's library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>

#include "support_launch.h"

#define FAKES BP_TEST_BUILD_DIR "/tests/dropin/"

static void expect(const char *environment, const char *command) {
    const char *output;
    assert_int_equal(launch(environment, command, &output), 0);
}

static void all_products(void **state) {
    (void)state;
    expect("BACKPLANE_LAUNCH_SMALL=0", FAKES "dropin_client_products backplane");
    expect("BACKPLANE_LAUNCH_SMALL=0 BACKPLANE_LAUNCH_RECORD=/dev/null", FAKES "dropin_client_products backplane");
    expect("BACKPLANE_LAUNCH_SMALL=0 BACKPLANE_DETERMINISTIC=threads", FAKES "dropin_client_products backplane");
}

/* Addresses that a program or a module keeps are redirected too. */
static void addresses(void **state) {
    (void)state;
    expect("BACKPLANE_LAUNCH_SMALL=0", FAKES "dropin_client_no_plt backplane");
    expect("BACKPLANE_LAUNCH_SMALL=0", FAKES "dropin_client_tables backplane");
    expect("BACKPLANE_LAUNCH_SMALL=0", FAKES "dropin_client_module " FAKES "libclient_module.so backplane");
    expect("LD_BIND_NOW=1 BACKPLANE_LAUNCH_SMALL=0",
           FAKES "dropin_client_module " FAKES "libclient_module.so backplane");
}

static void wide_integers(void **state) {
    (void)state;
    expect("BACKPLANE_LAUNCH_SMALL=0", FAKES "dropin_client_products_wide backplane");
}

static void what_is_not_redirected(void **state) {
    (void)state;
    expect("", FAKES "dropin_client_products own"); /* small products */
    expect("BACKPLANE_LAUNCH_SMALL=0 BACKPLANE_LAUNCH_OBSERVE=1", FAKES "dropin_client_products own");
    expect("BACKPLANE_LAUNCH_SMALL=0 BACKPLANE_LAUNCH_EXCLUDE=blas,gemm", FAKES "dropin_client_products own");
    expect("BACKPLANE_LAUNCH_SMALL=0 BACKPLANE_LAUNCH_ONLY=getrf", FAKES "dropin_client_products own");
    expect("BACKPLANE_LAUNCH_SMALL=0 BACKPLANE_LAUNCH_LIBRARY=nothing", FAKES "dropin_client_products own");
}

static void calls_that_are_left(void **state) {
    (void)state;
    expect("BACKPLANE_LAUNCH_SMALL=0", FAKES "dropin_client_products leave");
    expect("BACKPLANE_LAUNCH_SMALL=0 BACKPLANE_LAUNCH_RECORD=/dev/null", FAKES "dropin_client_products leave");
}

int main(void) {
    if (!can_launch()) {
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_products),        cmocka_unit_test(addresses),
        cmocka_unit_test(wide_integers),       cmocka_unit_test(what_is_not_redirected),
        cmocka_unit_test(calls_that_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
