/* exports_helpers.c - has the small functions of netlib's libblas that no optimized library has: the error handler, the
 * comparison of letters, and the forms of functions that store their result.
 *
 * The definitions are weak, and a program's own error handler precedes them. Unlike netlib's, they do not end the
 * program.
 */
#include "dropin/internal.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define WEAK __attribute__((visibility("default"), weak))

static void report_error(const char *name, size_t length, long long parameter) {
    while (length > 0 && name[length - 1] == ' ') {
        length--;
    }
    bp__dropin_say(" ** On entry to %.*s parameter number %2lld had an illegal value\n", (int)length, name, parameter);
}

enum { LONGEST = 32 };

/* Some libraries pass the length as an int, so that the upper half of the argument is undefined. */
static size_t length_of(const char *name, size_t given) {
    size_t length = (uint32_t)given;
    return strnlen(name, length < LONGEST ? length : LONGEST);
}

WEAK void xerbla_(const char *name, const int32_t *parameter, size_t length);
WEAK void xerbla_(const char *name, const int32_t *parameter, size_t length) {
    report_error(name, length_of(name, length), *parameter);
}

WEAK void xerbla_64_(const char *name, const int64_t *parameter, size_t length);
WEAK void xerbla_64_(const char *name, const int64_t *parameter, size_t length) {
    report_error(name, length_of(name, length), *parameter);
}

WEAK void xerbla_array_(const char *name, const int32_t *length, const int32_t *parameter, size_t unused);
WEAK void xerbla_array_(const char *name, const int32_t *length, const int32_t *parameter, size_t unused) {
    (void)unused;
    xerbla_(name, parameter, *length > 0 ? (size_t)*length : 0);
}

static char upper(char letter) {
    return letter >= 'a' && letter <= 'z' ? (char)(letter - 'a' + 'A') : letter;
}

WEAK int32_t lsame_(const char *a, const char *b, size_t length_a, size_t length_b);
WEAK int32_t lsame_(const char *a, const char *b, size_t length_a, size_t length_b) {
    (void)length_a;
    (void)length_b;
    return upper(*a) == upper(*b);
}

#if BP__DROPIN_PART == BP__DROPIN_PART_BLAS

/* Of netlib: a parameter's number, a name, a form and its arguments. MKL passes a name and a number. */
WEAK void cblas_xerbla(uintptr_t first, uintptr_t second, const char *form, ...);
WEAK void cblas_xerbla(uintptr_t first, uintptr_t second, const char *form, ...) {
    enum { MOST_PARAMETERS = 4095 }; /* no address is as small */
    if (second <= MOST_PARAMETERS) {
        bp__dropin_say("Parameter %d to routine %s was incorrect\n", (int)second, (const char *)first);
        return;
    }
    va_list arguments;
    va_start(arguments, form);
    if ((int)first) {
        bp__dropin_say("Parameter %d to routine %s was incorrect\n", (int)first, (const char *)second);
    }
    bp__dropin_say_v(form, arguments);
    va_end(arguments);
}

/* Functions of the Fortran interface, with their result stored behind the last argument. */
typedef const int32_t *integer;
#define STORED_1(name, result, element)                                                                                \
    extern result name##_(integer n, const element *x, integer step);                                                  \
    EXPORT void name##sub_(integer n, const element *x, integer step, result *to);                                     \
    void name##sub_(integer n, const element *x, integer step, result *to) {                                           \
        *to = name##_(n, x, step);                                                                                     \
    }
#define STORED_2(name, result, element)                                                                                \
    extern result name##_(integer n, const element *x, integer step_x, const element *y, integer step_y);              \
    EXPORT void name##sub_(integer n, const element *x, integer step_x, const element *y, integer step_y, result *to); \
    void name##sub_(integer n, const element *x, integer step_x, const element *y, integer step_y, result *to) {       \
        *to = name##_(n, x, step_x, y, step_y);                                                                        \
    }
#define STORED_COMPLEX(name, c_name)                                                                                   \
    extern void c_name(int32_t n, const void *x, int32_t step_x, const void *y, int32_t step_y, void *to);             \
    EXPORT void name##sub_(integer n, const void *x, integer step_x, const void *y, integer step_y, void *to);         \
    void name##sub_(integer n, const void *x, integer step_x, const void *y, integer step_y, void *to) {               \
        c_name(*n, x, *step_x, y, *step_y, to);                                                                        \
    }
#define STORED_SIZE(name, result, element)                                                                             \
    extern result name##_(const element *z);                                                                           \
    EXPORT void name##sub_(const element *z, result *to);                                                              \
    void name##sub_(const element *z, result *to) {                                                                    \
        *to = name##_(z);                                                                                              \
    }

STORED_1(sasum, float, float)
STORED_1(dasum, double, double)
STORED_1(scasum, float, void)
STORED_1(dzasum, double, void)
STORED_1(snrm2, float, float)
STORED_1(dnrm2, double, double)
STORED_1(scnrm2, float, void)
STORED_1(dznrm2, double, void)
STORED_1(isamax, int32_t, float)
STORED_1(idamax, int32_t, double)
STORED_1(icamax, int32_t, void)
STORED_1(izamax, int32_t, void)
STORED_2(sdot, float, float)
STORED_2(ddot, double, double)
STORED_2(dsdot, double, float)
STORED_COMPLEX(cdotc, cblas_cdotc_sub)
STORED_COMPLEX(cdotu, cblas_cdotu_sub)
STORED_COMPLEX(zdotc, cblas_zdotc_sub)
STORED_COMPLEX(zdotu, cblas_zdotu_sub)
STORED_SIZE(scabs1, float, void)
STORED_SIZE(dcabs1, double, void)

extern float sdsdot_(integer n, const float *add, const float *x, integer step_x, const float *y, integer step_y);
EXPORT void sdsdotsub_(integer n, const float *add, const float *x, integer step_x, const float *y, integer step_y,
                       float *to);
void sdsdotsub_(integer n, const float *add, const float *x, integer step_x, const float *y, integer step_y,
                float *to) {
    *to = sdsdot_(n, add, x, step_x, y, step_y);
}

#endif
