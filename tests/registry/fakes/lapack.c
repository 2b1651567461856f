/* lapack.c - a fake LAPACK with one routine, in addition to blas.c: Cholesky factors, correct unless a macro changes
 * it.
 *
 *   FAKE_INTEGER, FAKE_SUFFIX    as in blas.c
 *   FAKE_FIRST                     code that potrf runs first; `kind` is its type letter
 *   FAKE_IDLE_TRSM                 adds strsm_, which computes nothing
 *   FAKE_LAPACK_PEEKS              potrf accesses memory behind its matrix: it reads it in c64, writes it in c128, and
 *                                  uses what it reads in f64. In f32 it reads two pages further. Not in the order of
 *                                  the probe's samples, whose results must be right.
 */
#include <complex.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

typedef FAKE_INTEGER integer;
typedef float complex float_complex;
typedef double complex double_complex;

#ifdef FAKE_LAPACK_PEEKS
enum { ORDER_OF_SAMPLES = 24 };
static double peek(char kind, volatile char *behind, size_t size) {
    double number = 0;
    switch (kind) {
    case 's':
        (void)behind[2 * sysconf(_SC_PAGESIZE)];
        break;
    case 'd':
        for (size_t i = 0; i < size; i++) {
            ((char *)&number)[i] = behind[i];
        }
        break;
    case 'c':
        (void)behind[size - 1];
        break;
    default:
        *behind = *behind;
        break;
    }
    return 0 * number;
}
#define FAKE_FIRST                                                                                                     \
    if (*n != ORDER_OF_SAMPLES) {                                                                                      \
        *a += peek(kind, (volatile char *)(a + (*n - 1) * (*ld + 1) + 1), sizeof *a);                                  \
    }
#endif
#ifndef FAKE_FIRST
#define FAKE_FIRST
#endif

/* Computes the lower triangle L of L Lᴴ; the upper one is its mirror image. */
#define POTRF(letter, type, CONJ)                                                                                      \
    __attribute__((visibility("default"))) void letter##potrf_(const char *uplo, const integer *n, type *a,            \
                                                               const integer *ld, integer *info, size_t length);       \
    static type *letter##_at(char uplo, type *a, integer ld, integer i, integer j) {                                   \
        return uplo == 'L' ? &a[i + j * ld] : &a[j + i * ld];                                                          \
    }                                                                                                                  \
    void letter##potrf_(const char *uplo, const integer *n, type *a, const integer *ld, integer *info,                 \
                        size_t length) {                                                                               \
        const char kind = #letter[0];                                                                                  \
        (void)length, (void)kind;                                                                                      \
        FAKE_FIRST;                                                                                                    \
        *info = 0;                                                                                                     \
        for (integer j = 0; j < *n; j++) {                                                                             \
            for (integer i = j; i < *n; i++) {                                                                         \
                type sum = *letter##_at(*uplo, a, *ld, i, j);                                                          \
                sum = *uplo == 'L' ? sum : CONJ(sum);                                                                  \
                for (integer k = 0; k < j; k++) {                                                                      \
                    type x = *letter##_at(*uplo, a, *ld, i, k), y = *letter##_at(*uplo, a, *ld, j, k);                 \
                    sum -= *uplo == 'L' ? x * CONJ(y) : CONJ(x) * y;                                                   \
                }                                                                                                      \
                type diagonal = *letter##_at(*uplo, a, *ld, j, j);                                                     \
                type factor = i == j ? (type)sqrt((double)(sum)) : sum / diagonal;                                     \
                *letter##_at(*uplo, a, *ld, i, j) = *uplo == 'L' ? factor : CONJ(factor);                              \
            }                                                                                                          \
        }                                                                                                              \
    }

#define SELF(x) (x)
POTRF(s, float, SELF)
POTRF(d, double, SELF)
POTRF(c, float_complex, conjf)
POTRF(z, double_complex, conj)

#ifdef FAKE_IDLE_TRSM
__attribute__((visibility("default"))) void strsm_(void);
void strsm_(void) {
}
#endif
