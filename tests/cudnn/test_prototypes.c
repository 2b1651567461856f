/* test_prototypes.c - checks our prototypes and constants against installed headers of cuDNN, where a mismatch does not
 * compile. */
#if defined(__has_include)
#if __has_include(<cudnn.h>) && __has_include(<driver_types.h>) && __has_include(<cuda.h>)
#include <cuda.h>
#include <cudnn.h>
#define BP__CU_HEADER
#define BP__CU_LIBRARY_HEADER
#define BP__CUDNN_HEADER
#endif
#endif

#include "providers/cudnn/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef BP__CUDNN_HEADER
#define FUNCTION(result, name, symbol, parameters)                                                                     \
    typedef result our_##symbol parameters;                                                                            \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), our_##symbol), #symbol);
BP__CUDNN_FUNCTIONS(FUNCTION)
#define NUMBER(name, number) _Static_assert((int)(CUDNN_##name) == number, #name);
BP__CUDNN_NUMBERS(NUMBER)
#define NOTE(name, number, means) _Static_assert((int)(CUDNN_NUMERICAL_NOTE_##name) == number, #name);
BP__CUDNN_NOTES(NOTE)
#define STATUS(name, number, means) _Static_assert((int)(CUDNN_STATUS_##name) == number, #name);
BP__CUDNN_STATUSES(STATUS)
_Static_assert(sizeof(cudnnStatus_t) == 4 && sizeof(cudnnDataType_t) == 4 && sizeof(cudnnConvolutionMode_t) == 4 &&
                   sizeof(cudnnPointwiseMode_t) == 4 && sizeof(cudnnBackendHeurMode_t) == 4 &&
                   sizeof(cudnnBackendNumericalNote_t) == 4,
               "sizes of types");
#endif

static void headers_are_installed(void **state) {
    (void)state;
#ifndef BP__CUDNN_HEADER
    print_message("skipped: no headers of cuDNN are installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(headers_are_installed)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
