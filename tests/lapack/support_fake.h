/* support_fake.h - a fake LAPACK library that computes nothing. Workspace queries return 1, so that the provider must
 * use the documented minimum. Each routine checks that every array has the documented size, is inside an operand or the
 * workspace, and overlaps no other array. */
#ifndef BP_TESTS_LAPACK_SUPPORT_FAKE_H
#define BP_TESTS_LAPACK_SUPPORT_FAKE_H

#include "lapack/support_lapack.h"

typedef struct test_area {
    const char *what;
    char *from, *to;
} test_area;

typedef struct test_library_fake {
    int bits;          /* of its integers */
    size_t size, real; /* bytes of an element and of a real of its precision, by the routines that were looked up */
    test_area known[BP_LINALG_OPERANDS + 1]; /* the first is the workspace */
    int known_count;
    test_area used[16]; /* by the routine in progress */
    int used_count, calls;
    bool by_f2c;         /* its functions return double even for Fortran's type REAL */
    bool wrong;          /* lange returns wrong results, also in the test call of a plan */
    double norm;         /* result of lange, except in the test call of a plan */
    char complaint[256]; /* the first complaint */
} test_library_fake;
extern test_library_fake library;

/* Opens an instance of the provider on the fake library. */
void *test_open_fake(int bits);

#endif
