/* test_prototypes.c - checks our prototypes and constants against an installed CL/cl.h: a mismatch does not compile. */
#include "opencl/support_opencl.h"

#if defined(__has_include)
#if __has_include(<CL/cl.h>) && __has_include(<CL/cl_ext.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <CL/cl_ext.h>
#define HAVE_CL
#endif
#endif

#ifdef HAVE_CL
#define FUNCTION(result, name, parameters)                                                                             \
    typedef result our_##name parameters;                                                                              \
    _Static_assert(__builtin_types_compatible_p(__typeof__(cl##name), our_##name), "cl" #name);
BP__CL_FUNCTIONS(FUNCTION)
#define NUMBER(name, number) _Static_assert(CL_##name == number, "CL_" #name);
BP__CL_NUMBERS(NUMBER)
BP__CL_EXTENSION_NUMBERS(NUMBER)
BP__CL_ERRORS(NUMBER)
#endif

static void test_header(void **state) {
    (void)state;
#ifndef HAVE_CL
    print_message("skipped: no CL/cl.h is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
