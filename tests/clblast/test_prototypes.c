/* test_prototypes.c - checks our prototypes and constants against an installed clblast_c.h: a mismatch does not
 * compile.
 */
#include "opencl/support_opencl.h"

#include "providers/clblast/api.h"

#if defined(__has_include)
#if __has_include(<CL/cl.h>) && __has_include(<clblast_c.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>
#define HAVE_CLBLAST
#endif
#endif

#ifdef HAVE_CLBLAST
#define SAME(theirs, ours) _Static_assert(__builtin_types_compatible_p(__typeof__(theirs), ours), #theirs);
/* The types of scalars, as the header names them. */
#define CHECK(letter, T)                                                                                               \
    typedef BP__CLBLAST_GEMM(our_gemm_##letter, CLBlastStatusCode, CLBlastLayout, CLBlastTranspose, T);                \
    typedef BP__CLBLAST_WITH_TEMP(our_temp_##letter, CLBlastStatusCode, CLBlastLayout, CLBlastTranspose, T);           \
    typedef BP__CLBLAST_TEMP_SIZE(our_size_##letter, CLBlastStatusCode, CLBlastLayout, CLBlastTranspose);              \
    typedef BP__CLBLAST_STRIDED(our_strided_##letter, CLBlastStatusCode, CLBlastLayout, CLBlastTranspose, T);          \
    SAME(CLBlast##letter##gemm, our_gemm_##letter)                                                                     \
    SAME(CLBlast##letter##gemmWithTempBuffer, our_temp_##letter)                                                       \
    SAME(CLBlast##letter##GemmTempBufferSize, our_size_##letter)                                                       \
    SAME(CLBlast##letter##gemmStridedBatched, our_strided_##letter)
CHECK(S, float)
CHECK(D, double)
CHECK(C, cl_float2)
CHECK(Z, cl_double2)
_Static_assert(sizeof(cl_float2) == sizeof(bp__clblast_c64) && sizeof(cl_double2) == sizeof(bp__clblast_c128), "sizes");
_Static_assert(sizeof(CLBlastStatusCode) == sizeof(int) && sizeof(CLBlastLayout) == sizeof(int) &&
                   sizeof(CLBlastTranspose) == sizeof(int),
               "enumerations");
#define NUMBER(name, number) _Static_assert((int)CLBlast##name == number, "CLBlast" #name);
BP__CLBLAST_NUMBERS(NUMBER)
#endif

static void test_header(void **state) {
    (void)state;
#ifndef HAVE_CLBLAST
    print_message("skipped: no clblast_c.h is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
