/* client_arguments.c - a program that calls routines of the library that keeps arguments, and checks each of them. */
#include "fake_arguments.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;
static double d[32];
static float f[8];
static char text[32];
static int i32[32];
static int64_t i64[32];

static void check(const char *name, int count, const uint64_t *expected) {
    if (fake_last.count != count || memcmp(fake_last.values, expected, (size_t)count * sizeof *expected) != 0) {
        printf("%s: arguments differ, or their number: %d, not %d\n", name, fake_last.count, count);
        failures++;
    }
}

#define CHECK(name, ...) check(name, (int)(sizeof((uint64_t[]){__VA_ARGS__}) / 8), (const uint64_t[]){__VA_ARGS__})
#define TRUE(what)                                                                                                     \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("false: %s\n", #what);                                                                              \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)
#define P(address) (uint64_t)(uintptr_t)(address)

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The lengths of texts are hidden arguments. Odd ones show that they are passed on. */
static void gemm(void) {
    text[0] = text[1] = 'N';
    dgemm_(text, text + 1, i32, i32 + 1, i32 + 2, d, d + 1, i32 + 3, d + 2, i32 + 4, d + 3, d + 4, i32 + 5, 11, 12);
    CHECK("dgemm_", P(text), P(text + 1), P(i32), P(i32 + 1), P(i32 + 2), P(d), P(d + 1), P(i32 + 3), P(d + 2),
          P(i32 + 4), P(d + 3), P(d + 4), P(i32 + 5), 11, 12);
    scipy_dgemm_64_(text, text + 1, i64, i64 + 1, i64 + 2, d, d + 1, i64 + 3, d + 2, i64 + 4, d + 3, d + 4, i64 + 5, 11,
                    12);
    CHECK("scipy_dgemm_64_", P(text), P(text + 1), P(i64), P(i64 + 1), P(i64 + 2), P(d), P(d + 1), P(i64 + 3), P(d + 2),
          P(i64 + 4), P(d + 3), P(d + 4), P(i64 + 5), 11, 12, 64);
}

static void c_gemm(void) {
    cblas_dgemm(101, 111, 112, 0, 5, 6, 1.25, d, 7, d + 1, 8, -2.5, d + 2, 9);
    CHECK("cblas_dgemm", 101, 111, 112, 0, 5, 6, bits_of(1.25), P(d), 7, P(d + 1), 8, bits_of(-2.5), P(d + 2), 9);
    const int64_t big = INT64_C(1) << 40;
    cblas_dgemm64_(101, 111, 112, 0, big, big + 1, 1.25, d, big + 2, d + 1, big + 3, -2.5, d + 2, big + 4);
    CHECK("cblas_dgemm64_", 101, 111, 112, 0, (uint64_t)big, (uint64_t)big + 1, bits_of(1.25), P(d), (uint64_t)big + 2,
          P(d + 1), (uint64_t)big + 3, bits_of(-2.5), P(d + 2), (uint64_t)big + 4);
    cblas_dgemm(101, 111, 112, -1, 5, 6, 1.25, d, 7, d + 1, 8, -2.5, d + 2, 9); /* an error of the caller */
    CHECK("cblas_dgemm of a negative size", 101, 111, 112, (uint64_t)-1, 5, 6, bits_of(1.25), P(d), 7, P(d + 1), 8,
          bits_of(-2.5), P(d + 2), 9);
}

static void many(void) {
    dgesvx_(text, text + 1, i32, i32 + 1, d, i32 + 2, d + 1, i32 + 3, i32 + 4, text + 2, d + 2, d + 3, d + 4, i32 + 5,
            d + 5, i32 + 6, d + 6, d + 7, d + 8, d + 9, i32 + 7, i32 + 8, 21, 22, 23);
    CHECK("dgesvx_", P(text), P(text + 1), P(i32), P(i32 + 1), P(d), P(i32 + 2), P(d + 1), P(i32 + 3), P(i32 + 4),
          P(text + 2), P(d + 2), P(d + 3), P(d + 4), P(i32 + 5), P(d + 5), P(i32 + 6), P(d + 6), P(d + 7), P(d + 8),
          P(d + 9), P(i32 + 7), P(i32 + 8), 21, 22, 23);
}

static void results(void) {
    TRUE(sdot_(i32, f, i32 + 1, f + 1, i32 + 2) == 1.5f);
    CHECK("sdot_", P(i32), P(f), P(i32 + 1), P(f + 1), P(i32 + 2));
    TRUE(idamax_(i32, d, i32 + 1) == 7);
#ifdef FAKE_HIDDEN
    double complex z = 0;
    float complex c = 0;
    zdotc_(&z, i32, d, i32 + 1, d + 1, i32 + 2);
    CHECK("zdotc_", P(i32), P(d), P(i32 + 1), P(d + 1), P(i32 + 2));
    cdotc_(&c, i32, d, i32 + 1, d + 1, i32 + 2);
#else
    double complex z = zdotc_(i32, d, i32 + 1, d + 1, i32 + 2);
    CHECK("zdotc_", P(i32), P(d), P(i32 + 1), P(d + 1), P(i32 + 2));
    float complex c = cdotc_(i32, d, i32 + 1, d + 1, i32 + 2);
#endif
    TRUE(creal(z) == 3 && cimag(z) == -4);
    TRUE(crealf(c) == 5 && cimagf(c) == -6);
    CHECK("cdotc_", P(i32), P(d), P(i32 + 1), P(d + 1), P(i32 + 2));
    TRUE(fftw_plan_dft_1d(5, d, d + 1, -1, 64) == d + 1);
    CHECK("fftw_plan_dft_1d", 5, P(d), P(d + 1), (uint64_t)-1, 64);
}

static void *first_calls(void *unused) {
    for (int i = 0; i < 1000; i++) {
        if (idamax_(i32, d, i32 + 1) != 7 || sdot_(i32, f, i32 + 1, f + 1, i32 + 2) != 1.5f) {
            return unused;
        }
    }
    return NULL;
}

/* Threads make the first call of a routine. */
static void threads(void) {
    pthread_t all[8];
    for (int i = 0; i < 8; i++) {
        TRUE(pthread_create(&all[i], NULL, first_calls, &failures) == 0);
    }
    for (int i = 0; i < 8; i++) {
        void *wrong;
        pthread_join(all[i], &wrong);
        TRUE(!wrong);
    }
}

/* A child of fork makes the first call of some routines, and calls others that the parent has called. */
static void child(void) {
    pid_t process = fork();
    if (process == 0) {
        gemm();
        many();
        _exit(failures ? 1 : 0);
    }
    int status = 1;
    waitpid(process, &status, 0);
    TRUE(status == 0);
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "threads") == 0) {
        threads();
    } else if (count > 1 && strcmp(words[1], "fork") == 0) {
        gemm();
        child();
    } else if (count > 1 && strcmp(words[1], "own") == 0) {
        TRUE(fake_sees_itself());
    } else {
        gemm();
        c_gemm();
        many();
        results();
        gemm();
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
