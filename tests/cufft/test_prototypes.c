/* test_prototypes.c - checks our prototypes and constants against installed headers of cuFFT, where a mismatch does not
 * compile. */
#if defined(__has_include)
#if __has_include(<cufftXt.h>) && __has_include(<driver_types.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cufft.h>
#include <cufftXt.h>
#define BP__CU_HEADER
#define BP__CU_LIBRARY_HEADER
#define BP__CUFFT_HEADER
#endif
#endif

#include "providers/cufft/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef BP__CUFFT_HEADER
#define FUNCTION(name, symbol, parameters)                                                                             \
    typedef cufftResult our_##symbol parameters;                                                                       \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), our_##symbol), #symbol);
BP__CUFFT_FUNCTIONS(FUNCTION)
#define NUMBER(name, number) _Static_assert((int)(name) == number, #name);
BP__CUFFT_NUMBERS(NUMBER)
BP__CU_DATA_TYPES(NUMBER)
#define STATUS(name, number, means) _Static_assert(CUFFT_##name == number, "CUFFT_" #name);
BP__CUFFT_STATUSES(STATUS)
_Static_assert(sizeof(cufftResult) == 4 && sizeof(cufftHandle) == 4 && sizeof(cudaDataType) == 4, "sizes of types");
#endif

static void headers_are_installed(void **state) {
    (void)state;
#ifndef BP__CUFFT_HEADER
    print_message("skipped: no headers of cuFFT are installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(headers_are_installed)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
