/* test_prototypes.c - checks our prototypes against an installed lapack.h: a mismatch does not compile. */
#include "lapack/support_lapack.h"

#include "providers/lapack/routines.h"

#if defined(__has_include)
#if __has_include(<lapack.h>)
#include <lapack.h>
#define HAVE_LAPACK_H
#endif
#endif

#ifdef HAVE_LAPACK_H
/* Routines with character arguments have another name in lapack.h, without and with the hidden lengths. */
#define CHECK(THEIRS, name, T, R)                                                                                      \
    typedef void ours_##THEIRS BP__LAPACK_ARGS_##name(T, R, lapack_int);                                               \
    _Static_assert(__builtin_types_compatible_p(__typeof__(THEIRS), ours_##THEIRS), #THEIRS);
#define CHECK_ALL(name, real, two, END)                                                                                \
    CHECK(LAPACK_s##real##END, name, float, float)                                                                     \
    CHECK(LAPACK_d##real##END, name, double, double)                                                                   \
    CHECK(LAPACK_c##two##END, name, lapack_complex_float, float)                                                       \
    CHECK(LAPACK_z##two##END, name, lapack_complex_double, double)

CHECK_ALL(getrf, getrf, getrf, )
CHECK_ALL(getri, getri, getri, )
CHECK_ALL(getrs, getrs, getrs, _base)
CHECK_ALL(potrf, potrf, potrf, _base)
CHECK_ALL(potrs, potrs, potrs, _base)
CHECK_ALL(potri, potri, potri, _base)
CHECK_ALL(sytrf, sytrf, sytrf, _base)
CHECK_ALL(sytrs, sytrs, sytrs, _base)
CHECK(LAPACK_chetrf_base, hetrf, lapack_complex_float, float)
CHECK(LAPACK_zhetrf_base, hetrf, lapack_complex_double, double)
CHECK(LAPACK_chetrs_base, hetrs, lapack_complex_float, float)
CHECK(LAPACK_zhetrs_base, hetrs, lapack_complex_double, double)
#endif

static void test_prototypes(void **state) {
    (void)state;
#ifndef HAVE_LAPACK_H
    print_message("skipped: no lapack.h is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prototypes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
