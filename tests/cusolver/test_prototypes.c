/* test_prototypes.c - checks our prototypes and constants against installed headers of cuSOLVER, where a mismatch does
 * not compile. */
#if defined(__has_include)
#if __has_include(<cusolverDn.h>) && __has_include(<driver_types.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cusolverDn.h>
#define BP__CU_HEADER
#define BP__CU_LIBRARY_HEADER
#define BP__CUSOLVER_HEADER
#endif
#endif

#include "providers/cusolver/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef BP__CUSOLVER_HEADER
#define FUNCTION(name, symbol, parameters)                                                                             \
    typedef cusolverStatus_t our_##symbol parameters;                                                                  \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), our_##symbol), #symbol);
BP__CUSOLVER_FUNCTIONS(FUNCTION)
#define NUMBER(name, number) _Static_assert((int)(name) == number, #name);
BP__CUSOLVER_NUMBERS(NUMBER)
BP__CU_DATA_TYPES(NUMBER)
#define STATUS(name, number, means) _Static_assert(CUSOLVER_STATUS_##name == number, "CUSOLVER_STATUS_" #name);
BP__CUSOLVER_STATUSES(STATUS)
_Static_assert(sizeof(cusolverStatus_t) == 4 && sizeof(cublasFillMode_t) == 4 && sizeof(cudaDataType) == 4,
               "sizes of types");
#endif

static void headers_are_installed(void **state) {
    (void)state;
#ifndef BP__CUSOLVER_HEADER
    print_message("skipped: no headers of cuSOLVER are installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(headers_are_installed)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
