/* client_products.c - a program that computes products of all kinds by the names of BLAS and CBLAS, and compares them
 * with sums of its own. CLIENT_INT is the type of its integers. The first argument says what is expected: "backplane"
 * if Backplane runs all products, "own" if none. */
#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CMPLX /* glibc defines this for gcc only */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

typedef CLIENT_INT integer;
extern int fake_calls;
extern void (*fake_hook)(void);

typedef void f_gemm(const char *, const char *, const integer *, const integer *, const integer *, const void *,
                    const void *, const integer *, const void *, const integer *, const void *, void *, const integer *,
                    size_t, size_t);
typedef void f_gemv(const char *, const integer *, const integer *, const void *, const void *, const integer *,
                    const void *, const integer *, const void *, void *, const integer *, size_t);
#define C_GEMM(scalar)                                                                                                 \
    (int, int, int, integer, integer, integer, scalar, const void *, integer, const void *, integer, scalar, void *,   \
     integer)
#define C_GEMV(scalar)                                                                                                 \
    (int, int, integer, integer, scalar, const void *, integer, const void *, integer, scalar, void *, integer)
extern f_gemm sgemm_, dgemm_, cgemm_, zgemm_;
extern f_gemv sgemv_, dgemv_, cgemv_, zgemv_;
void cblas_sgemm C_GEMM(float);
void cblas_dgemm C_GEMM(double);
void cblas_cgemm C_GEMM(const void *);
void cblas_zgemm C_GEMM(const void *);
void cblas_sgemv C_GEMV(float);
void cblas_dgemv C_GEMV(double);
void cblas_cgemv C_GEMV(const void *);
void cblas_zgemv C_GEMV(const void *);
void dscal_(const integer *, const double *, double *, const integer *);

enum { S, D, C, Z, MOST = 64 };

/* The loader tells an audit object of calls, but not of addresses that a program keeps. So one build of this program
 * calls by name, and another one (CLIENT_TABLES) by addresses in tables. */
#ifdef CLIENT_TABLES
static f_gemm *const table_gemm[] = {sgemm_, dgemm_, cgemm_, zgemm_};
static f_gemv *const table_gemv[] = {sgemv_, dgemv_, cgemv_, zgemv_};
#define CALL_GEMM(type) CALL(table_gemm[type])
#define CALL_GEMV(type) CALL(table_gemv[type])
#else
#define CALL_GEMM(type) CALL_OF_TYPE(type, sgemm_, dgemm_, cgemm_, zgemm_)
#define CALL_GEMV(type) CALL_OF_TYPE(type, sgemv_, dgemv_, cgemv_, zgemv_)
#endif
#define CALL_OF_TYPE(type, s, d, c, z)                                                                                 \
    do {                                                                                                               \
        if ((type) == S) {                                                                                             \
            CALL(s);                                                                                                   \
        } else if ((type) == D) {                                                                                      \
            CALL(d);                                                                                                   \
        } else if ((type) == C) {                                                                                      \
            CALL(c);                                                                                                   \
        } else {                                                                                                       \
            CALL(z);                                                                                                   \
        }                                                                                                              \
    } while (0)
static const size_t size_of[] = {4, 8, 8, 16};
static __thread int failures;

static double complex get(int type, const void *array, int64_t i) {
    switch (type) {
    case S:
        return ((const float *)array)[i];
    case D:
        return ((const double *)array)[i];
    case C:
        return ((const float complex *)array)[i];
    default:
        return ((const double complex *)array)[i];
    }
}

static void put(int type, void *array, int64_t i, double complex value) {
    switch (type) {
    case S:
        ((float *)array)[i] = (float)creal(value);
        break;
    case D:
        ((double *)array)[i] = creal(value);
        break;
    case C:
        ((float complex *)array)[i] = (float complex)value;
        break;
    default:
        ((double complex *)array)[i] = value;
        break;
    }
}

static void fill(int type, void *array, int count) {
    for (int i = 0; i < count; i++) {
        put(type, array, i, CMPLX((i * 7 + 3) % 11 - 5, (i * 5 + 1) % 7 - 3));
    }
}

/* A case: an interface, a type, transposes, and factors. Small integers make all sums exact. */
typedef struct shape {
    int type, c_interface, row, vector;
    int op_a, op_b; /* N T C, and 'J': conjugate without transpose */
    int m, n, k, step;
    double complex alpha, beta;
} shape;

static double complex element(const shape *s, int op, const void *a, int ld, int i, int j) {
    int swap = op == 'T' || op == 'C';
    int row = swap ? j : i, column = swap ? i : j;
    double complex value = get(s->type, a, s->row ? row * ld + column : row + column * ld);
    return op == 'C' || op == 'J' ? conj(value) : value;
}

static int number_of(int op) {
    return op == 'N' ? 111 : op == 'T' ? 112 : op == 'C' ? 113 : 114;
}

static void call_gemm(const shape *s, const void *alpha, const void *a, integer lda, const void *b, integer ldb,
                      const void *beta, void *c, integer ldc) {
    integer m = s->m, n = s->n, k = s->k;
    int order = s->row ? 101 : 102, ta = number_of(s->op_a), tb = number_of(s->op_b);
    if (!s->c_interface) {
        const char texts[] = {(char)s->op_a, (char)s->op_b};
#define CALL(name) name(texts, texts + 1, &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1)
        CALL_GEMM(s->type);
#undef CALL
    } else if (s->type == S) {
        cblas_sgemm(order, ta, tb, m, n, k, *(const float *)alpha, a, lda, b, ldb, *(const float *)beta, c, ldc);
    } else if (s->type == D) {
        cblas_dgemm(order, ta, tb, m, n, k, *(const double *)alpha, a, lda, b, ldb, *(const double *)beta, c, ldc);
    } else if (s->type == C) {
        cblas_cgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    } else {
        cblas_zgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
}

static void call_gemv(const shape *s, const void *alpha, const void *a, integer lda, const void *x, integer dx,
                      const void *beta, void *y, integer dy) {
    int swap = s->op_a == 'T' || s->op_a == 'C';
    integer m = swap ? s->k : s->m, n = swap ? s->m : s->k; /* the sizes of the matrix as it is stored */
    int order = s->row ? 101 : 102, ta = number_of(s->op_a);
    if (!s->c_interface) {
        const char text = (char)s->op_a;
#define CALL(name) name(&text, &m, &n, alpha, a, &lda, x, &dx, beta, y, &dy, 1)
        CALL_GEMV(s->type);
#undef CALL
    } else if (s->type == S) {
        cblas_sgemv(order, ta, m, n, *(const float *)alpha, a, lda, x, dx, *(const float *)beta, y, dy);
    } else if (s->type == D) {
        cblas_dgemv(order, ta, m, n, *(const double *)alpha, a, lda, x, dx, *(const double *)beta, y, dy);
    } else if (s->type == C) {
        cblas_cgemv(order, ta, m, n, alpha, a, lda, x, dx, beta, y, dy);
    } else {
        cblas_zgemv(order, ta, m, n, alpha, a, lda, x, dx, beta, y, dy);
    }
}

/* The place of an element of a vector, which BLAS reads from its end if the increment is negative. */
static int place(int length, int step, int i) {
    return step > 0 ? i * step : (length - 1 - i) * -step;
}

static void try(const shape *s) {
    static const int ld = 13;
    size_t bytes = MOST * 16 * size_of[s->type];
    char *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes), *was = malloc(bytes), alpha[16], beta[16];
    fill(s->type, a, MOST * 16);
    fill(s->type, b, MOST * 16 - 1);
    fill(s->type, c, MOST * 16 - 2);
    memcpy(was, c, bytes);
    put(s->type, alpha, 0, s->alpha);
    put(s->type, beta, 0, s->beta);
    if (s->vector) {
        call_gemv(s, alpha, a, ld, b, s->step, beta, c, -s->step);
    } else {
        call_gemm(s, alpha, a, ld, b, ld, beta, c, ld);
    }
    int wrong = 0;
    for (int i = 0; i < s->m; i++) {
        for (int j = 0; j < s->n; j++) {
            double complex sum = 0;
            for (int l = 0; l < s->k; l++) {
                double complex y =
                    s->vector ? get(s->type, b, place(s->k, s->step, l)) : element(s, s->op_b, b, ld, l, j);
                sum += element(s, s->op_a, a, ld, i, l) * y;
            }
            int at = s->vector ? place(s->m, -s->step, i) : s->row ? i * ld + j : i + j * ld;
            double complex old = s->beta == 0 ? 0 : s->beta * get(s->type, was, at);
            wrong += get(s->type, c, at) != s->alpha * sum + old;
            put(s->type, was, at, get(s->type, c, at)); /* what remains must be unchanged */
        }
    }
    if ((wrong || memcmp(was, c, bytes) != 0) && failures++ < 5) {
        printf("type %d interface %d row %d vector %d %c%c %dx%dx%d: %d wrong\n", s->type, s->c_interface, s->row,
               s->vector, s->op_a, s->op_b, s->m, s->n, s->k, wrong);
    }
    free(a);
    free(b);
    free(c);
    free(was);
}

static void try_factors(shape s) {
    static const double complex factors[][2] = {{1, 0}, {1, 1}, {2, -3}, {CMPLX(1, 2), CMPLX(-1, 1)}};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        s.alpha = s.type < C ? creal(factors[i][0]) : factors[i][0];
        s.beta = s.type < C ? creal(factors[i][1]) : factors[i][1];
        try(&s);
    }
}

static void *try_all(void *unused) {
    (void)unused;
    static const int sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {13, 1, 8}, {1, 12, 9}};
    failures = 0;
    for (int type = S; type <= Z; type++) {
        for (int style = 0; style < 3; style++) { /* Fortran, and C in both orders */
            for (int ops = 0; ops < 16; ops++) {
                for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                    shape s = {.type = type, .c_interface = style > 0, .row = style == 2};
                    s.op_a = "NTCJ"[ops % 4];
                    s.op_b = "NTCJ"[ops / 4];
                    s.m = sizes[i][0];
                    s.n = sizes[i][1];
                    s.k = sizes[i][2];
                    if (style == 0 && (s.op_a == 'J' || s.op_b == 'J')) {
                        continue;
                    }
                    try_factors(s);
                    s.vector = 1;
                    s.n = 1;
                    s.step = ops / 4 - 2 >= 0 ? ops / 4 - 1 : ops / 4 - 2; /* -2, -1, 1, 2 */
                    try_factors(s);
                }
            }
        }
    }
    return failures ? &fake_calls : NULL;
}

/* Wrong arguments, and products without elements, are the own library's. */
static int own_calls(void) {
    const integer n = 3, none = 0, negative = -1, small = 2;
    const double one = 1;
    double a[9] = {0}, c[9] = {0};
    int before = fake_calls;
    dgemm_("X", "N", &n, &n, &n, &one, a, &n, a, &n, &one, c, &n, 1, 1);
    dgemm_("N", "N", &n, &n, &negative, &one, a, &n, a, &n, &one, c, &n, 1, 1);
    dgemm_("N", "N", &n, &n, &n, &one, a, &small, a, &n, &one, c, &n, 1, 1);
    dgemm_("N", "N", &none, &n, &n, &one, a, &n, a, &n, &one, c, &n, 1, 1);
    dgemv_("N", &n, &n, &one, a, &n, a, &none, &one, c, &n, 1);
    cblas_dgemm(7, 111, 111, n, n, n, 1, a, n, a, n, 1, c, n);
    return fake_calls - before;
}

static jmp_buf before_the_call;

static void leave(void) {
    longjmp(before_the_call, 1);
}

/* A call that an error handler has left, as R's does, must not count as an outer call of later ones. */
static int leave_a_call(void) {
    const integer n = 1;
    double x = 1;
    fake_hook = leave;
    if (setjmp(before_the_call) == 0) {
        dscal_(&n, &x, &x, &n);
        return 1;
    }
    int before = fake_calls;
    void *wrong = try_all(NULL);
    printf("%d calls of the own library after a longjmp\n", fake_calls - before);
    return wrong || fake_calls != before;
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "backplane";
    if (strcmp(what, "leave") == 0) {
        return leave_a_call();
    }
    if (strcmp(what, "own") == 0) {
        try_all(NULL);
        printf("%d calls of the own library\n", fake_calls);
        return fake_calls == 0;
    }
    void *wrong = try_all(NULL);
    int calls = fake_calls, own = own_calls();
    printf("%d calls of the own library, then %d\n", calls, own);
    if (wrong || calls != 0 || own != 6) {
        return 1;
    }
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, try_all, NULL);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &wrong);
        if (wrong) {
            return 1;
        }
    }
    pid_t child = fork();
    if (child == 0) {
        _exit(try_all(NULL) ? 1 : 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    printf("child: %d\n", status);
    return status != 0;
}
