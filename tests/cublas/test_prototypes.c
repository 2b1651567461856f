/* test_prototypes.c - checks our prototypes and constants against installed headers of cuBLAS, where a mismatch does
 * not compile, and the layouts of structs. */
#if defined(__has_include)
#if __has_include(                                                                                                     \
    <cublasLt.h>) && __has_include(<cublas_v2.h>) && __has_include(<driver_types.h>) && __has_include(<cuda.h>)
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#define BP__CU_HEADER
#define BP__CU_LIBRARY_HEADER
#define BP__CUBLAS_HEADER
#endif
#endif

#include "providers/cublas/api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef BP__CUBLAS_HEADER
#define FUNCTION(name, symbol, parameters)                                                                             \
    typedef cublasStatus_t our_##symbol parameters;                                                                    \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), our_##symbol), #symbol);
BP__CUBLAS_LT_FUNCTIONS(FUNCTION)
BP__CUBLAS_FUNCTIONS(FUNCTION)
#define NUMBER(name, number) _Static_assert((int)(name) == number, #name);
BP__CUBLAS_NUMBERS(NUMBER)
BP__CU_DATA_TYPES(NUMBER)
#if CUBLAS_VER_MAJOR * 1000 + CUBLAS_VER_MINOR >= 12009
BP__CUBLAS_NEW_NUMBERS(NUMBER)
#endif
#define STATUS(name, number, means) _Static_assert(CUBLAS_STATUS_##name == number, "CUBLAS_STATUS_" #name);
BP__CUBLAS_STATUSES(STATUS)
_Static_assert(sizeof(cublasStatus_t) == 4 && sizeof(cublasOperation_t) == 4 && sizeof(cublasComputeType_t) == 4 &&
                   sizeof(cudaDataType) == 4 && sizeof(cublasMath_t) == 4 && sizeof(cublasGemmAlgo_t) == 4,
               "sizes of types");
#endif

static void structs_have_the_layouts_of_the_header(void **state) {
    typedef cublasLtMatmulHeuristicResult_t result;
    (void)state;
    assert_int_equal(sizeof(cublasLtMatmulAlgo_t), 64);
    assert_int_equal(sizeof(result), 96);
    assert_int_equal(offsetof(result, workspaceSize), 64);
    assert_int_equal(offsetof(result, state), 72);
    assert_int_equal(offsetof(result, wavesCount), 76);
#ifndef BP__CUBLAS_HEADER
    print_message("skipped: no headers of cuBLAS are installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(structs_have_the_layouts_of_the_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
