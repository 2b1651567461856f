/* test_prototypes.c - checks our prototypes and constants against an installed fftw3.h: a mismatch does not compile. */
#include "fftw/support_fftw.h"

#if defined(__has_include)
#if __has_include(<fftw3.h>)
#include <fftw3.h>
#define HAVE_FFTW
#endif
#endif

#ifdef HAVE_FFTW
#define CHECK(prefix, name, result, arguments)                                                                         \
    typedef result our_##prefix##_##name arguments;                                                                    \
    _Static_assert(__builtin_types_compatible_p(__typeof__(prefix##_##name), our_##prefix##_##name), #prefix "_" #name);
#define DOUBLE(name, result, arguments) CHECK(fftw, name, result, arguments)
#define SINGLE(name, result, arguments) CHECK(fftwf, name, result, arguments)
BP__FFTW_FUNCTIONS(DOUBLE, fftw_plan, fftw_iodim64, double, fftw_complex)
BP__FFTW_FUNCTIONS(SINGLE, fftwf_plan, fftwf_iodim64, float, fftwf_complex)
BP__FFTW_THREAD_FUNCTIONS(DOUBLE)
BP__FFTW_THREAD_FUNCTIONS(SINGLE)

_Static_assert(sizeof(bp__fftw_dim) == sizeof(fftw_iodim64) && offsetof(bp__fftw_dim, n) == offsetof(fftw_iodim64, n) &&
                   offsetof(bp__fftw_dim, in) == offsetof(fftw_iodim64, is) &&
                   offsetof(bp__fftw_dim, out) == offsetof(fftw_iodim64, os),
               "a dimension");
_Static_assert(BP__FFTW_FORWARD == FFTW_FORWARD && BP__FFTW_BACKWARD == FFTW_BACKWARD, "directions");
_Static_assert(BP__FFTW_MEASURE == FFTW_MEASURE && BP__FFTW_DESTROY_INPUT == FFTW_DESTROY_INPUT &&
                   BP__FFTW_UNALIGNED == FFTW_UNALIGNED && BP__FFTW_PRESERVE_INPUT == FFTW_PRESERVE_INPUT &&
                   BP__FFTW_PATIENT == FFTW_PATIENT && BP__FFTW_ESTIMATE == FFTW_ESTIMATE,
               "flags");
#endif

static void test_header(void **state) {
    (void)state;
#ifdef HAVE_FFTW
    assert_true(BP__FFTW_NO_TIME_LIMIT == FFTW_NO_TIMELIMIT); /* no constant expression */
#else
    print_message("skipped: no fftw3.h is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
