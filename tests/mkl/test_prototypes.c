/* test_prototypes.c - checks our prototypes and constants against an installed mkl_dfti.h: a mismatch does not compile.
 */
#include "mkl/support_mkl.h"

#if defined(__has_include)
#if __has_include(<mkl_dfti.h>)
#include <mkl_dfti.h>
#define HAVE_DFTI
#endif
#endif

#ifdef HAVE_DFTI
/* Versions of MKL that have these names for strides and distances do not know the newer ones. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define CHECK(name, result, arguments)                                                                                 \
    typedef result our_##name arguments;                                                                               \
    _Static_assert(__builtin_types_compatible_p(__typeof__(Dfti##name), our_##name), "Dfti" #name);
BP__MKL_FUNCTIONS(CHECK, DFTI_DESCRIPTOR_HANDLE, enum DFTI_CONFIG_PARAM, enum DFTI_CONFIG_VALUE)
#define NUMBER(name, number) _Static_assert((int)DFTI_##name == number, "DFTI_" #name);
BP__MKL_NUMBERS(NUMBER)
_Static_assert(DFTI_MEMORY_ERROR == BP__MKL_NO_MEMORY, "errors");
_Static_assert(sizeof(enum DFTI_CONFIG_PARAM) == sizeof(int) && sizeof(enum DFTI_CONFIG_VALUE) == sizeof(int), "enums");
#endif

static void test_header(void **state) {
    (void)state;
#ifndef HAVE_DFTI
    print_message("skipped: no mkl_dfti.h is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
