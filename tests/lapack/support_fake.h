/* support_fake.h - a double of a LAPACK library, which computes nothing: it answers that the smallest workspace will
 * do, and checks that every array is as large as LAPACK's documentation asks, lies in an operand or in the workspace,
 * and shares nothing with another one. */
#ifndef BP_TESTS_LAPACK_SUPPORT_DOUBLE_H
#define BP_TESTS_LAPACK_SUPPORT_DOUBLE_H

#include "lapack/support_lapack.h"

typedef struct test_area {
    const char *what;
    char *from, *to;
} test_area;

typedef struct test_library_fake {
    int bits;          /* of its integers */
    size_t size, real; /* bytes of an element and of a real of its precision, by the routines that were looked up */
    test_area known[BP_LINALG_OPERANDS + 1]; /* the first one is the workspace */
    int known_count;
    test_area used[16]; /* by the routine that is called */
    int used_count, calls;
    bool by_f2c;         /* its functions return double where Fortran's type is REAL */
    bool wrong;          /* lange is, of a plan\'s matrix too */
    double norm;         /* what lange returns of any matrix but a plan's */
    char complaint[256]; /* the first one */
} test_library_fake;
extern test_library_fake library;

/* An instance of the provider on the double. */
void *test_open_fake(int bits);

#endif
