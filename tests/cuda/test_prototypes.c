/* test_prototypes.c - checks our prototypes and constants against an installed cuda.h, where a mismatch does not
 * compile, and the layouts of structs. */
#if defined(__has_include)
#if __has_include(<cuda.h>)
#define __CUDA_API_VERSION_INTERNAL /* declares the older versions of functions, too */
#include <cuda.h>
#define BP__CU_HEADER
#endif
#endif

#include "cuda/layout_fields.h"
#include "cuda/program_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef BP__CU_HEADER
#define FUNCTION(name, symbol, parameters)                                                                             \
    typedef CUresult our_##name parameters;                                                                            \
    _Static_assert(__builtin_types_compatible_p(__typeof__(symbol), our_##name), #symbol);
BP__CU_FIRST_FUNCTIONS(FUNCTION)
BP__CU_FUNCTIONS(FUNCTION)
PROGRAM_FUNCTIONS(FUNCTION)
#define NUMBER(name, number) _Static_assert(CU_##name == number, "CU_" #name);
BP__CU_NUMBERS(NUMBER)
#define ERROR(name, number) _Static_assert(CUDA_ERROR_##name == number, "CUDA_ERROR_" #name);
BP__CU_ERRORS(ERROR)
_Static_assert(sizeof(CUdevice_attribute) == 4 && sizeof(CUmemorytype) == 4 && sizeof(CUstreamCaptureStatus) == 4 &&
                   sizeof(CUstreamCaptureMode) == 4 && sizeof(CUdevice) == 4 && sizeof(CUdeviceptr) == 8,
               "sizes of types");
#endif

static void structs_have_the_layouts_of_the_header(void **state) {
    (void)state;
#ifdef BP__CU_HEADER
    static const size_t theirs[][2] = {LAYOUT_FIELDS(LAYOUT_OF) LAYOUT_SIZES};
    for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
        assert_int_equal(our_layouts[i][0], theirs[i][0]);
        assert_int_equal(our_layouts[i][1], theirs[i][1]);
    }
#else
    print_message("skipped: no cuda.h is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(structs_have_the_layouts_of_the_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
