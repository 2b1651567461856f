/* support_fake.c - see support_fake.h. */
#include "lapack/support_fake.h"

#include "dispatch/internal.h"
#include "providers/lapack/routines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef test_area area;

test_library_fake library;

/* ---- Checks of arguments ---- */

static int64_t value(const bp__lapack_int *x) {
    return library.bits == 64 ? x->i64 : x->i32;
}

static void complain(const char *what, const char *how) {
    if (!library.complaint[0]) {
        snprintf(library.complaint, sizeof library.complaint, "%s %s", what, how);
    }
}

static void begin(bp__lapack_int *info) {
    library.used_count = 0;
    library.calls++;
    memset(info, 0, (size_t)library.bits / 8);
}

static void array(const char *what, const void *start, int64_t count, size_t size) {
    const area mine = {what, (char *)(uintptr_t)start, (char *)(uintptr_t)start + (size_t)count * size};
    bool inside = false;
    if ((uintptr_t)start % (size > 8 ? 8 : size) != 0) {
        complain(what, "is not aligned");
    }
    /* the first known area is the workspace of the run */
    char *first = bp_operand_address(&test_workspace);
    library.known[0] = (area){"the workspace", first, first + test_workspace_size};
    for (int i = 0; i < library.known_count; i++) {
        inside = inside || (mine.from >= library.known[i].from && mine.to <= library.known[i].to);
    }
    if (!inside) {
        complain(what, "is not entirely in known memory");
    }
    for (int i = 0; i < library.used_count; i++) {
        if (mine.from < library.used[i].to && library.used[i].from < mine.to) {
            complain(what, library.used[i].what);
        }
    }
    library.used[library.used_count++] = mine;
}

static void matrix(const char *what, const void *start, int64_t rows, int64_t columns, const bp__lapack_int *ld) {
    if (value(ld) < rows || value(ld) < 1) {
        complain(what, "has too small a leading dimension");
    } else {
        array(what, start, (columns - 1) * value(ld) + rows, library.size);
    }
}

static void answer(void *work, size_t size) {
    memset(work, 0, size);
    if (library.real == 8) {
        *(double *)work = 1;
    } else {
        *(float *)work = 1;
    }
}

/* Checks a workspace of `given` elements that needs at least `least`. */
static void workspace(const char *what, void *work, int64_t given, int64_t least, size_t size) {
    if (given < least) {
        complain(what, "is too small");
    }
    array(what, work, given, size);
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- Routines ---- */

/* The parameter list is a prototype's, where the hidden text lengths have no names. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wc2x-extensions"
#endif
#define ROUTINE(name) static void name BP__LAPACK_ARGS_##name(void, void, bp__lapack_int)
#define INTEGER ((size_t)library.bits / 8)

static void put_integer(void *at, int64_t i, int64_t x) {
    if (library.bits == 64) {
        ((int64_t *)at)[i] = x;
    } else {
        ((int32_t *)at)[i] = (int32_t)x;
    }
}

ROUTINE(getrf) {
    int64_t count = lesser(value(m), value(n));
    begin(info);
    matrix("getrf: a", a, value(m), value(n), lda);
    array("getrf: ipiv", ipiv, count, INTEGER);
    for (int64_t i = 0; i < count; i++) {
        put_integer(ipiv, i, i + 1);
    }
}

ROUTINE(getri) {
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    matrix("getri: a", a, value(n), value(n), lda);
    array("getri: ipiv", ipiv, value(n), INTEGER);
    workspace("getri: work", work, value(lwork), value(n), library.size);
}

ROUTINE(getrs) {
    (void)trans;
    begin(info);
    matrix("getrs: a", a, value(n), value(n), lda);
    array("getrs: ipiv", ipiv, value(n), INTEGER);
    matrix("getrs: b", b, value(n), value(nrhs), ldb);
}

ROUTINE(sytrf) {
    (void)uplo;
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    matrix("sytrf: a", a, value(n), value(n), lda);
    array("sytrf: ipiv", ipiv, value(n), INTEGER);
    workspace("sytrf: work", work, value(lwork), 1, library.size);
    for (int64_t i = 0; i < value(n); i++) {
        put_integer(ipiv, i, i + 1);
    }
}

ROUTINE(sytrs) {
    (void)uplo;
    begin(info);
    matrix("sytrs: a", a, value(n), value(n), lda);
    array("sytrs: ipiv", ipiv, value(n), INTEGER);
    matrix("sytrs: b", b, value(n), value(nrhs), ldb);
}

/* LAPACK does not guarantee to ignore the imaginary parts of a Hermitian matrix's diagonal. */
static void real_diagonal(const char *what, const void *start, int64_t n, const bp__lapack_int *ld) {
    for (int64_t i = 0; i < n; i++) {
        const char *at = (const char *)start + (size_t)(i * (value(ld) + 1)) * library.size + library.real;
        const double part =
            library.real == 8 ? *(const double *)(const void *)at : (double)*(const float *)(const void *)at;
        if (part != 0) {
            complain(what, "has an imaginary part on its diagonal");
        }
    }
}

ROUTINE(hetrf) {
    if (value(lwork) != -1) {
        real_diagonal("hetrf: a", a, value(n), lda);
    }
    sytrf(uplo, n, a, lda, ipiv, work, lwork, info, 1);
}

ROUTINE(hetrs) {
    sytrs(uplo, n, nrhs, a, lda, ipiv, b, ldb, info, 1);
}

ROUTINE(potrf) {
    (void)uplo;
    begin(info);
    matrix("potrf: a", a, value(n), value(n), lda);
}

ROUTINE(potri) {
    (void)uplo;
    begin(info);
    matrix("potri: a", a, value(n), value(n), lda);
}

ROUTINE(potrs) {
    (void)uplo;
    begin(info);
    matrix("potrs: a", a, value(n), value(n), lda);
    matrix("potrs: b", b, value(n), value(nrhs), ldb);
}

ROUTINE(trsm) {
    bp__lapack_int none;
    (void)uplo, (void)trans, (void)diag, (void)alpha;
    begin(&none);
    int64_t order = *side == 'L' ? value(m) : value(n);
    matrix("trsm: a", a, order, order, lda);
    matrix("trsm: b", b, value(m), value(n), ldb);
}

ROUTINE(gemm) {
    bp__lapack_int none;
    (void)alpha, (void)beta;
    begin(&none);
    bool a_plain = *transa == 'N', b_plain = *transb == 'N';
    matrix("gemm: a", a, a_plain ? value(m) : value(k), a_plain ? value(k) : value(m), lda);
    matrix("gemm: b", b, b_plain ? value(k) : value(n), b_plain ? value(n) : value(k), ldb);
    matrix("gemm: c", c, value(m), value(n), ldc);
}

ROUTINE(geqrf) {
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    matrix("geqrf: a", a, value(m), value(n), lda);
    array("geqrf: tau", tau, lesser(value(m), value(n)), library.size);
    workspace("geqrf: work", work, value(lwork), value(n), library.size);
}

ROUTINE(orgqr) {
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    if (value(n) > value(m) || value(k) > value(n)) {
        complain("orgqr:", "has more columns than rows, or reflectors");
    }
    matrix("orgqr: a", a, value(m), value(n), lda);
    array("orgqr: tau", tau, value(k), library.size);
    workspace("orgqr: work", work, value(lwork), value(n), library.size);
}

ROUTINE(syevd) {
    int64_t count = value(n);
    bool vectors = *jobz == 'V';
    (void)uplo;
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        put_integer(iwork, 0, 1);
        return;
    }
    matrix("syevd: a", a, count, count, lda);
    array("syevd: w", w, count, library.real);
    workspace("syevd: work", work, value(lwork), vectors ? 1 + 6 * count + 2 * count * count : 2 * count + 1,
              library.size);
    workspace("syevd: iwork", iwork, value(liwork), vectors ? 3 + 5 * count : 1, INTEGER);
}

ROUTINE(heevd) {
    int64_t count = value(n);
    bool vectors = *jobz == 'V';
    (void)uplo;
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        answer(rwork, library.real);
        put_integer(iwork, 0, 1);
        return;
    }
    matrix("heevd: a", a, count, count, lda);
    real_diagonal("heevd: a", a, count, lda);
    array("heevd: w", w, count, library.real);
    workspace("heevd: work", work, value(lwork), vectors ? 2 * count + count * count : count + 1, library.size);
    workspace("heevd: rwork", rwork, value(lrwork), vectors ? 1 + 5 * count + 2 * count * count : count, library.real);
    workspace("heevd: iwork", iwork, value(liwork), vectors ? 3 + 5 * count : 1, INTEGER);
}

static void vectors_of_geev(int64_t n, const char *jobvl, const char *jobvr, void *vr, const bp__lapack_int *ldvr) {
    if (*jobvl != 'N') {
        complain("geev:", "must not compute left vectors");
    }
    if (*jobvr == 'V') {
        matrix("geev: vr", vr, n, n, ldvr);
    }
}

ROUTINE(geev_real) {
    int64_t count = value(n);
    (void)vl, (void)ldvl;
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    matrix("geev: a", a, count, count, lda);
    array("geev: wr", wr, count, library.size);
    array("geev: wi", wi, count, library.size);
    vectors_of_geev(count, jobvl, jobvr, vr, ldvr);
    workspace("geev: work", work, value(lwork), (*jobvr == 'V' ? 4 : 3) * count, library.size);
}

ROUTINE(geev_complex) {
    int64_t count = value(n);
    (void)vl, (void)ldvl;
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    matrix("geev: a", a, count, count, lda);
    array("geev: w", w, count, library.size);
    vectors_of_geev(count, jobvl, jobvr, vr, ldvr);
    workspace("geev: work", work, value(lwork), 2 * count, library.size);
    array("geev: rwork", rwork, 2 * count, library.real);
}

static void matrices_of_gesdd(char job, int64_t m, int64_t n, void *u, const bp__lapack_int *ldu, void *vt,
                              const bp__lapack_int *ldvt) {
    int64_t least = lesser(m, n);
    if (job != 'N') {
        matrix("gesdd: u", u, m, job == 'A' ? m : least, ldu);
        matrix("gesdd: vt", vt, job == 'A' ? n : least, n, ldvt);
    }
}

ROUTINE(gesdd_real) {
    int64_t least = lesser(value(m), value(n)), most = greater(value(m), value(n));
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    matrix("gesdd: a", a, value(m), value(n), lda);
    array("gesdd: s", s, least, library.real);
    matrices_of_gesdd(*jobz, value(m), value(n), u, ldu, vt, ldvt);
    workspace("gesdd: work", work, value(lwork),
              *jobz == 'N' ? 3 * least + greater(most, 7 * least) : 4 * least * least + 6 * least + most, library.size);
    array("gesdd: iwork", iwork, 8 * least, INTEGER);
}

ROUTINE(gesdd_complex) {
    int64_t least = lesser(value(m), value(n)), most = greater(value(m), value(n)), square = least * least;
    begin(info);
    if (value(lwork) == -1) {
        answer(work, library.size);
        return;
    }
    matrix("gesdd: a", a, value(m), value(n), lda);
    array("gesdd: s", s, least, library.real);
    matrices_of_gesdd(*jobz, value(m), value(n), u, ldu, vt, ldvt);
    workspace("gesdd: work", work, value(lwork), *jobz == 'N' ? 2 * least + most : square + 2 * least + most,
              library.size);
    array("gesdd: rwork", rwork,
          *jobz == 'N' ? 7 * least : greater(5 * square + 5 * least, 2 * most * least + 2 * square + least),
          library.real);
    array("gesdd: iwork", iwork, 8 * least, INTEGER);
}

/* ---- Least-squares drivers ---- */

typedef struct sizes {
    int64_t m, n, k, least, most;
} sizes;

static sizes operands_of_driver(const bp__lapack_int *m, const bp__lapack_int *n, const bp__lapack_int *k, void *a,
                                const bp__lapack_int *lda, void *b, const bp__lapack_int *ldb) {
    sizes x = {value(m), value(n), value(k), lesser(value(m), value(n)), greater(value(m), value(n))};
    matrix("lstsq: a", a, x.m, x.n, lda);
    matrix("lstsq: b", b, x.most, x.k, ldb);
    return x;
}

#define DRIVER(name)                                                                                                   \
    ROUTINE(name) {                                                                                                    \
        begin(info);                                                                                                   \
        if (value(lwork) == -1) {                                                                                      \
            answer(work, library.size);                                                                                \
            ANSWERS;                                                                                                   \
            return;                                                                                                    \
        }                                                                                                              \
        sizes x = operands_of_driver(m, n, nrhs, a, lda, b, ldb);                                                      \
        CHECKS;                                                                                                        \
    }
#define WORK(least) workspace("lstsq: work", work, value(lwork), least, library.size)
#define RANK put_integer(rank, 0, x.least)

#define ANSWERS (void)trans
#define CHECKS WORK(x.least + greater(x.least, x.k))
DRIVER(gels)
#undef ANSWERS
#undef CHECKS
#define ANSWERS (void)0
#define CHECKS                                                                                                         \
    array("lstsq: jpvt", jpvt, x.n, INTEGER);                                                                          \
    (void)rcond;                                                                                                       \
    RANK;                                                                                                              \
    WORK(greater(x.least + 3 * x.n + 1, 2 * x.least + x.k))
DRIVER(gelsy_real)
#undef CHECKS
#define CHECKS                                                                                                         \
    array("lstsq: jpvt", jpvt, x.n, INTEGER);                                                                          \
    (void)rcond;                                                                                                       \
    RANK;                                                                                                              \
    WORK(x.least + greater(2 * x.least, greater(x.n + 1, x.least + x.k)));                                             \
    array("lstsq: rwork", rwork, 2 * x.n, library.real)
DRIVER(gelsy_complex)
#undef CHECKS
#define CHECKS                                                                                                         \
    array("lstsq: s", s, x.least, library.real);                                                                       \
    (void)rcond;                                                                                                       \
    RANK;                                                                                                              \
    WORK(3 * x.least + greater(2 * x.least, greater(x.most, x.k)))
DRIVER(gelss_real)
#undef CHECKS
#define CHECKS                                                                                                         \
    array("lstsq: s", s, x.least, library.real);                                                                       \
    (void)rcond;                                                                                                       \
    RANK;                                                                                                              \
    WORK(2 * x.least + greater(x.most, x.k));                                                                          \
    array("lstsq: rwork", rwork, 5 * x.least, library.real)
DRIVER(gelss_complex)
#undef CHECKS
#undef ANSWERS

enum { LEAF = 25 };

static int64_t levels(int64_t least) {
    return greater(0, (int64_t)floor(log2((double)least / (LEAF + 1))) + 1);
}

#define ANSWERS put_integer(iwork, 0, 1)
#define CHECKS                                                                                                         \
    int64_t deep = levels(x.least);                                                                                    \
    array("lstsq: s", s, x.least, library.real);                                                                       \
    (void)rcond;                                                                                                       \
    RANK;                                                                                                              \
    WORK(12 * x.least + 2 * x.least * LEAF + 8 * x.least * deep + x.least * x.k + (LEAF + 1) * (LEAF + 1));            \
    array("lstsq: iwork", iwork, greater(1, 3 * x.least * deep + 11 * x.least), INTEGER)
DRIVER(gelsd_real)
#undef CHECKS
#undef ANSWERS
#define ANSWERS                                                                                                        \
    answer(rwork, library.real);                                                                                       \
    put_integer(iwork, 0, 1)
#define CHECKS                                                                                                         \
    int64_t deep = levels(x.least), leaf = (LEAF + 1) * (LEAF + 1);                                                    \
    array("lstsq: s", s, x.least, library.real);                                                                       \
    (void)rcond;                                                                                                       \
    RANK;                                                                                                              \
    WORK(2 * x.least + x.least * x.k);                                                                                 \
    array("lstsq: rwork", rwork,                                                                                       \
          10 * x.least + 2 * x.least * LEAF + 8 * x.least * deep + 3 * LEAF * x.k +                                    \
              greater(leaf, x.least * (1 + x.k) + 2 * x.k),                                                            \
          library.real);                                                                                               \
    array("lstsq: iwork", iwork, greater(1, 3 * x.least * deep + 11 * x.least), INTEGER)
DRIVER(gelsd_complex)

/* ---- Norms ---- */

static double check_lange(const char *norm, const bp__lapack_int *m, const bp__lapack_int *n, const void *a,
                          const bp__lapack_int *lda, void *work) {
    bp__lapack_int none;
    begin(&none);
    if (value(m) == 1 && (library.real == 8 ? *(const double *)a : (double)*(const float *)a) == -3) {
        return library.wrong ? 4 : 3; /* the test call of a plan, which finds out how functions return numbers */
    }
    matrix("lange: a", a, value(m), value(n), lda);
    if (*norm == 'I') {
        array("lange: work", work, value(m), library.real);
    }
    return library.norm;
}

static float lange_f32 BP__LAPACK_ARGS_lange(void, void, bp__lapack_int) {
    return (float)check_lange(norm, m, n, a, lda, work);
}

static double lange_f64 BP__LAPACK_ARGS_lange(void, void, bp__lapack_int) {
    return check_lange(norm, m, n, a, lda, work);
}

/* ---- The library ---- */

static bp_status open_fake(const bp_library_info *row, void **handle) {
    (void)row;
    *handle = &library;
    return BP_OK;
}

static void *symbol_of_fake(void *handle, const char *name) {
    static const struct {
        const char *stem[2]; /* for real types, for complex types */
        void (*routine)(void);
    } routines[] = {
#define X(name, real, complex) {{real, complex}, (void (*)(void))name},
        BP__LAPACK_SUBROUTINES(X)
#undef X
    };
    bool of_complex = name[0] == 'c' || name[0] == 'z', wide = name[0] == 'd' || name[0] == 'z';
    (void)handle;
    library.real = wide ? 8 : 4;
    library.size = library.real << of_complex;
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        const char *stem = routines[i].stem[of_complex];
        if (stem && strncmp(name + 1, stem, strlen(stem)) == 0 && strcmp(name + 1 + strlen(stem), "_") == 0) {
            return (void *)(uintptr_t)routines[i].routine;
        }
    }
    if (strcmp(name + 1, "lange_") == 0) {
        return library.real == 8 || library.by_f2c ? (void *)(uintptr_t)lange_f64 : (void *)(uintptr_t)lange_f32;
    }
    return NULL;
}

void *test_open_fake(int bits) {
    static bp_library_info row;
    static bp_host host;
    void *instance = NULL;
    row = (bp_library_info){.struct_size = sizeof row,
                            .faults = "",
                            .blas = "",
                            .id = "double",
                            .family = "openblas",
                            .kinds = BP_LIB_BLAS, /* no file, so no xerbla that could be intercepted */
                            .path = "/none",
                            .kernels = "haswell",
                            .prefix = "",
                            .suffix = "_",
                            .threading = "serial",
                            .int_bits = bits};
    host = *bp__host();
    host.open_library = open_fake;
    host.symbol = symbol_of_fake;
    library.bits = bits;
    assert_int_equal(bp_provider_lapack.open(&host, &row, &instance), BP_OK);
    return instance;
}
