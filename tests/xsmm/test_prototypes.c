/* test_prototypes.c - checks our prototypes and constants against an installed libxsmm.h: a mismatch does not compile.
 */
#include "xsmm/support_xsmm.h"

#if defined(__has_include) && defined(__x86_64__) /* the header refuses other processors */
#if __has_include(<libxsmm_typedefs.h>) && __has_include(<libxsmm.h>)
#include <libxsmm.h>
#if LIBXSMM_CONFIG_VERSION_MAJOR == 1
#define HAVE_XSMM
#endif
#endif
#endif

#ifdef HAVE_XSMM
#define CHECK(ours, theirs) _Static_assert(__builtin_types_compatible_p(__typeof__(theirs), ours), #theirs);
typedef BP__XSMM_DISPATCH(dispatch_f32, libxsmm_smmfunction, libxsmm_blasint, float);
typedef BP__XSMM_DISPATCH(dispatch_f64, libxsmm_dmmfunction, libxsmm_blasint, double);
CHECK(dispatch_f32, libxsmm_smmdispatch)
CHECK(dispatch_f64, libxsmm_dmmdispatch)
typedef BP__XSMM_KERNEL((*kernel_f32), float);
typedef BP__XSMM_KERNEL((*kernel_f64), double);
CHECK(kernel_f32, libxsmm_smmfunction)
CHECK(kernel_f64, libxsmm_dmmfunction)
#define NUMBER(name, number) _Static_assert((int)LIBXSMM_GEMM_##name == number, "LIBXSMM_GEMM_" #name);
BP__XSMM_NUMBERS(NUMBER)
#endif

static void test_header(void **state) {
    (void)state;
#ifndef HAVE_XSMM
    print_message("skipped: no libxsmm.h of version 1 is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
