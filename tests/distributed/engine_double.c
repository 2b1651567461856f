/* engine_double.c - a ScaLAPACK that is broken: BROKEN_ENGINE is 1, it ends the process that opens it; 2, it never
 * returns from that; 3, its Cholesky factorization does nothing. All else is of the real library, which it needs. */
#include <stdlib.h>
#include <unistd.h>

#if BROKEN_ENGINE == 3
void pdpotrf_(const char *uplo, const int *n, void *a, const int *i, const int *j, const int *desc, int *info,
              size_t length);

void pdpotrf_(const char *uplo, const int *n, void *a, const int *i, const int *j, const int *desc, int *info,
              size_t length) {
    (void)uplo, (void)n, (void)a, (void)i, (void)j, (void)desc, (void)length;
    *info = 0;
}
#else
__attribute__((constructor)) static void open_badly(void) {
    if (BROKEN_ENGINE == 1) {
        abort();
    }
    for (;;) {
        pause();
    }
}
#endif
