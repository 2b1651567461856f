/* conventions.c - finds how a library takes integers and returns numbers, by calls that are harmless in either case.
 *
 * Integers are passed by reference as 64-bit values below 2^31. On a little-endian machine a 32-bit library reads the
 * same number from their first half. So every call here is correct before the width is known.
 */
#include "probe/probe.h"

#include <complex.h>

static void report_width(subject *library, int bits, const char *how) {
    library->int_bits = bits;
    report("int_bits", "%d", bits);
    report_how("int_bits", how);
}

/* Calls isamax with a length that has 3 in its low half and is negative as a whole: three elements for one width, none
 * for the other. */
static bool width_by_isamax(subject *library) {
    const int64_t length = (int64_t)UINT64_C(0xffffffff00000003), step = 1;
    const float x[4] = {1, 3, 2, 0};
    void *address = fortran_routine(library, "isamax");
    if ((library->kinds & BP_LIB_BLAS) && address) {
        int found = ((int (*)(const int64_t *, const float *, const int64_t *))address)(&length, x, &step);
        if (found == 2 || found == 0) {
            report_width(library, found == 2 ? 32 : 64, "isamax with a length that differs by width");
            return true;
        }
    }
    address = c_routine(library, "cblas_isamax");
    if ((library->kinds & BP_LIB_CBLAS) && address) {
        int found = (int)((size_t(*)(int64_t, const float *, int64_t))address)(length, x, step);
        if (found == 1 || found == 0) {
            report_width(library, found == 1 ? 32 : 64, "cblas_isamax with a length that differs by width");
            return true;
        }
    }
    return false;
}

/* Calls ilaver. The LAPACK version numbers are small, so the content of the upper halves tells the width. Also reports
 * the version. */
static bool width_by_ilaver(subject *library) {
    const int64_t mark = INT64_C(0x5a5a5a5a5a5a5a5a);
    int64_t version[3] = {mark, mark, mark};
    void *address = fortran_routine(library, "ilaver");
    if (!address) {
        return false;
    }
    ((void (*)(int64_t *, int64_t *, int64_t *))address)(&version[0], &version[1], &version[2]);
    if (library->family->version == BP__ANSWER_NONE && !(library->kinds & BP_LIB_BLAS)) {
        report("version", "%d.%d.%d", (int)version[0], (int)version[1], (int)version[2]);
        report_how("version", "ilaver");
    }
    bool narrow = version[0] >> 32 == mark >> 32;
    report_width(library, narrow ? 32 : 64, "ilaver");
    return true;
}

void find_width_of_lapack(subject *library) {
    const int64_t order = (int64_t)UINT64_C(0xffffffff00000001), leading = 1;
    int64_t info = 0;
    double a[1] = {4};
    void *address = fortran_routine(library, "dpotrf");
    if (!address || fortran_routine(library, "ilaver") || fortran_routine(library, "isamax")) {
        return;
    }
    report_width(library, 64, "dpotrf with an order that differs by width");
    ((void (*)(const char *, const int64_t *, double *, const int64_t *, int64_t *, size_t))address)(
        "U", &order, a, &leading, &info, 1);
    if (a[0] == 2) {
        library->int_bits = 32;
        report("int_bits", "32");
    }
}

/* Calls with a hidden first argument for the result. A routine that returns in a register takes our zeroed result for
 * the length, and leaves it unchanged. */
static void find_complex_return(subject *library) {
    const int64_t length = 2, step = 1;
    const double complex x[2] = {1 + 2 * I, 3 - 1 * I}, y[2] = {2 - 1 * I, 1 + 1 * I};
    const double complex expected = conj(x[0]) * y[0] + conj(x[1]) * y[1];
    double complex result = 0;
    void *address = fortran_routine(library, "zdotc");
    if (!address) {
        return;
    }
    ((void (*)(double complex *, const int64_t *, const double complex *, const int64_t *, const double complex *,
               const int64_t *))address)(&result, &length, x, &step, y, &step);
    library->hidden = result == expected;
    if (library->hidden) {
        report("complex_return", "hidden argument");
    } else {
        result = ((double complex (*)(const int64_t *, const double complex *, const int64_t *, const double complex *,
                                      const int64_t *))address)(&length, x, &step, y, &step);
        report("complex_return", result == expected ? "register" : "unknown");
    }
    report_how("complex_return", "zdotc called both ways");
}

/* Reads the result in a floating-point register both as float and as double; the numbers are exact in both. */
static void find_float_return(const subject *library) {
    const int64_t length = 2, step = 1;
    const float x[2] = {1.5F, 2}, y[2] = {2, 0.25F};
    void *address = fortran_routine(library, "sdot");
    if (!address) {
        return;
    }
    float narrow = ((float (*)(const int64_t *, const float *, const int64_t *, const float *,
                               const int64_t *))address)(&length, x, &step, y, &step);
    if (narrow == 3.5F) {
        report("f2c", "0");
    } else {
        double wide = ((double (*)(const int64_t *, const float *, const int64_t *, const float *,
                                   const int64_t *))address)(&length, x, &step, y, &step);
        if (wide != 3.5) {
            report("wrong", "sdot");
            return;
        }
        report("f2c", "1");
    }
    report_how("f2c", "sdot");
}

void find_conventions(subject *library) {
    bool lapack_alone = library->kinds & BP_LIB_LAPACK && !(library->kinds & BP_LIB_BLAS);
    if (!width_by_isamax(library) || lapack_alone) {
        width_by_ilaver(library);
    }
    if (library->kinds & BP_LIB_BLAS) {
        find_complex_return(library);
        find_float_return(library);
    }
}
