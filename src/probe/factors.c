/* factors.c - checks LAPACK's factorizations and the routines that solve with them: LU, Cholesky, QR, triangular
 * matrices. */
#include "probe/checks.h"

#include <math.h>
#include <string.h>

static const int64_t order = ORDER, sides = SIDES, narrow = NARROW, work_size = WORK;

/* Returns whether ||op(A) X - B|| is small relative to the sizes. */
static bool solves(const trial *t, char op, const number *a, const number *x, const number *b) {
    number product[ORDER * SIDES];
    multiply(op, 'N', ORDER, SIDES, ORDER, a, ORDER, x, ORDER, product);
    return is_near(t, product, b, ORDER * SIDES, norm_of(a, ELEMENTS) * norm_of(x, ORDER * SIDES));
}

static bool inverts(const trial *t, const number *a, const number *inverse) {
    number product[ELEMENTS], unit[ELEMENTS];
    multiply('N', 'N', ORDER, ORDER, ORDER, a, ORDER, inverse, ORDER, product);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        unit[i] = i % (ORDER + 1) == 0;
    }
    return is_near(t, product, unit, ELEMENTS, norm_of(a, ELEMENTS) * norm_of(inverse, ELEMENTS));
}

/* ---- LU ---- */

static int64_t pivot(const trial *t, const int64_t *pivots, int64_t i) {
    if (t->library->int_bits == 64) {
        return pivots[i];
    }
    int32_t narrower;
    memcpy(&narrower, (const char *)pivots + 4 * i, sizeof narrower);
    return narrower;
}

/* Returns whether P L U equals the matrix. */
static bool factors(const trial *t, const array *lu, const int64_t *pivots) {
    number both[ELEMENTS], lower[ELEMENTS], upper[ELEMENTS], product[ELEMENTS];
    fetch(t, lu, ELEMENTS, both, 1);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        int64_t row = i % ORDER, column = i / ORDER;
        lower[i] = row == column ? 1 : row > column ? both[i] : 0;
        upper[i] = row <= column ? both[i] / t->scale : 0;
    }
    multiply('N', 'N', ORDER, ORDER, ORDER, lower, ORDER, upper, ORDER, product);
    for (int64_t i = ORDER - 1; i >= 0; i--) {
        int64_t other = pivot(t, pivots, i) - 1;
        if (other < i || other >= ORDER) {
            return false;
        }
        for (int64_t j = 0; j < ORDER; j++) {
            number kept = product[i + j * ORDER];
            product[i + j * ORDER] = product[other + j * ORDER];
            product[other + j * ORDER] = kept;
        }
    }
    return is_near(t, product, t->general, ELEMENTS, norm_of(lower, ELEMENTS) * norm_of(upper, ELEMENTS));
}

static const char *check_getrs(trial *t, const array *lu, const int64_t *pivots) {
    static const char ops[] = "NTC";
    FIND(t, getrs, "getrs");
    for (int i = 0; i < 3 && getrs; i++) {
        array b;
        number x[ORDER * SIDES];
        int64_t info = 0;
        store(t, &b, ORDER * SIDES, t->sides, 1);
        getrs(&ops[i], &order, &sides, lu, &order, pivots, &b, &order, &info, 1);
        fetch(t, &b, ORDER * SIDES, x, t->scale);
        if (info != 0 || !solves(t, ops[i], t->general, x, t->sides)) {
            return "the solutions do not solve the equations";
        }
    }
    return NULL;
}

const char *check_lu(trial *t) {
    array lu;
    int64_t pivots[ORDER] = {0}, info = 0;
    number inverse[ELEMENTS];
    FIND(t, getrf, "getrf");
    if (!getrf) {
        return NULL;
    }
    store(t, &lu, ELEMENTS, t->general, t->scale);
    getrf(&order, &order, &lu, &order, pivots, &info);
    if (info != 0 || !factors(t, &lu, pivots)) {
        return "the product of the factors differs from the matrix";
    }
    const char *wrong = check_getrs(t, &lu, pivots);
    if (wrong) {
        return wrong;
    }
    FIND(t, getri, "getri");
    if (getri) {
        getri(&order, &lu, &order, pivots, &check_work, &work_size, &info);
        fetch(t, &lu, ELEMENTS, inverse, t->scale);
        if (info != 0 || !inverts(t, t->general, inverse)) {
            return "the product with the inverse is not the unit matrix";
        }
    }
    return NULL;
}

/* ---- Cholesky ---- */

/* Fills the other triangle with zeros or with the mirror image. */
static void complete(number *x, char uplo, bool mirrored) {
    for (int64_t i = 0; i < ELEMENTS; i++) {
        int64_t row = i % ORDER, column = i / ORDER;
        if (uplo == 'L' ? row < column : row > column) {
            x[i] = mirrored ? conj(x[column + row * ORDER]) : 0;
        }
    }
}

static const char *check_triangle(trial *t, const char *uplo) {
    array factor, b;
    int64_t info = 0;
    number l[ELEMENTS], product[ELEMENTS], x[ORDER * SIDES];
    FIND(t, potrf, "potrf");
    if (!potrf) {
        return NULL;
    }
    store(t, &factor, ELEMENTS, t->positive, t->scale);
    potrf(uplo, &order, &factor, &order, &info, 1);
    fetch(t, &factor, ELEMENTS, l, 1 / sqrt(t->scale));
    complete(l, *uplo, false);
    multiply(*uplo == 'L' ? 'N' : 'C', *uplo == 'L' ? 'C' : 'N', ORDER, ORDER, ORDER, l, ORDER, l, ORDER, product);
    if (info != 0 || !is_near(t, product, t->positive, ELEMENTS, norm_of(t->positive, ELEMENTS))) {
        return "the product of the factors differs from the matrix";
    }
    FIND(t, potrs, "potrs");
    if (potrs) {
        store(t, &b, ORDER * SIDES, t->sides, 1);
        potrs(uplo, &order, &sides, &factor, &order, &b, &order, &info, 1);
        fetch(t, &b, ORDER * SIDES, x, t->scale);
        if (info != 0 || !solves(t, 'N', t->positive, x, t->sides)) {
            return "the solutions do not solve the equations";
        }
    }
    FIND(t, potri, "potri");
    if (potri) {
        potri(uplo, &order, &factor, &order, &info, 1);
        fetch(t, &factor, ELEMENTS, l, t->scale);
        complete(l, *uplo, true);
        if (info != 0 || !inverts(t, t->positive, l)) {
            return "the product with the inverse is not the unit matrix";
        }
    }
    return NULL;
}

/* ---- L D L^T and L D L^H ---- */

/* Replaces the trailing matrix A by L A L^T or L A L^H, with columns `first` to `last` of L. */
static void surround(const number *l, int64_t first, int64_t last, bool hermitian, number *a) {
    for (int64_t i = last + 1; i < ORDER; i++) {
        for (int64_t c = first; c <= last; c++) {
            for (int64_t j = 0; j < ORDER; j++) {
                a[i + j * ORDER] += times(l[i + c * ORDER], a[c + j * ORDER]);
            }
        }
    }
    for (int64_t i = last + 1; i < ORDER; i++) {
        for (int64_t c = first; c <= last; c++) {
            const number right = hermitian ? conj(l[i + c * ORDER]) : l[i + c * ORDER];
            for (int64_t j = 0; j < ORDER; j++) {
                a[j + i * ORDER] += times(a[j + c * ORDER], right);
            }
        }
    }
}

/* Exchanges two rows and columns. */
static void exchange(number *a, int64_t one, int64_t other) {
    for (int direction = 0; direction < 2; direction++) {
        const int64_t along = direction ? 1 : ORDER, across = direction ? ORDER : 1;
        for (int64_t j = 0; j < ORDER; j++) {
            const number kept = a[one * across + j * along];
            a[one * across + j * along] = a[other * across + j * along];
            a[other * across + j * along] = kept;
        }
    }
}

/* Returns whether the factors of sytrf or hetrf have the product `a`. */
static bool restores(const trial *t, const array *ld, const int64_t *pivots, const number *a, bool hermitian) {
    number l[ELEMENTS], product[ELEMENTS] = {0};
    fetch(t, ld, ELEMENTS, l, 1);
    for (int64_t last = ORDER - 1; last >= 0;) {
        const int64_t own = pivot(t, pivots, last), other = (own < 0 ? -own : own) - 1,
                      first = own < 0 ? last - 1 : last;
        if (first < 0 || other < first || other >= ORDER || (own < 0 && pivot(t, pivots, first) != own)) {
            return false;
        }
        for (int64_t c = first; c <= last; c++) {
            product[c * (ORDER + 1)] = l[c * (ORDER + 1)] / t->scale;
        }
        if (first < last) {
            const number low = l[last + first * ORDER] / t->scale;
            product[last + first * ORDER] = low;
            product[first + last * ORDER] = hermitian ? conj(low) : low;
        }
        surround(l, first, last, hermitian, product);
        exchange(product, last, other);
        last = first - 1;
    }
    return is_near(t, product, a, ELEMENTS, norm_of(a, ELEMENTS));
}

/* Factors the Hermitian or symmetric matrix `a`, which is not definite, and solves equations with it. */
static const char *check_indefinite(trial *t, const number *a, bool hermitian) {
    array factor, b;
    int64_t pivots[ORDER] = {0}, info = 0;
    number x[ORDER * SIDES];
    FIND(t, sytrf, hermitian ? "hetrf" : "sytrf");
    if (!sytrf) {
        return NULL;
    }
    store(t, &factor, ELEMENTS, a, t->scale);
    sytrf("L", &order, &factor, &order, pivots, &check_work, &work_size, &info, 1);
    if (info != 0 || !restores(t, &factor, pivots, a, hermitian)) {
        return "the product of the factors differs from the matrix";
    }
    FIND(t, sytrs, hermitian ? "hetrs" : "sytrs");
    if (sytrs) {
        store(t, &b, ORDER * SIDES, t->sides, 1);
        sytrs("L", &order, &sides, &factor, &order, pivots, &b, &order, &info, 1);
        fetch(t, &b, ORDER * SIDES, x, t->scale);
        if (info != 0 || !solves(t, 'N', a, x, t->sides)) {
            return "the solutions do not solve the equations";
        }
    }
    return NULL;
}

/* Makes the general matrix Hermitian or symmetric. Its diagonal becomes 0 in some rows, so that D has larger blocks. */
static const char *check_ldl(trial *t, bool hermitian) {
    number a[ELEMENTS];
    for (int64_t i = 0; i < ELEMENTS; i++) {
        const int64_t row = i % ORDER, column = i / ORDER;
        const number low = t->general[row > column ? i : column + row * ORDER];
        a[i] = row == column ? (row % 3 ? 0 : creal(t->general[i])) : row < column && hermitian ? conj(low) : low;
    }
    return check_indefinite(t, a, hermitian);
}

const char *check_cholesky(trial *t) {
    const char *wrong = check_triangle(t, "L");
    wrong = wrong ? wrong : check_triangle(t, "U");
    wrong = wrong ? wrong : check_ldl(t, false);
    return wrong || !t->type->is_complex ? wrong : check_ldl(t, true);
}

/* ---- QR ---- */

const char *check_qr(trial *t) {
    array a, tau;
    int64_t info = 0;
    number r[ORDER * NARROW], q[ELEMENTS], product[ORDER * NARROW];
    FIND(t, geqrf, "geqrf");
    if (!geqrf) {
        return NULL;
    }
    store(t, &a, ORDER * NARROW, t->general, t->scale);
    geqrf(&order, &narrow, &a, &order, &tau, &check_work, &work_size, &info);
    fetch(t, &a, ORDER * NARROW, r, 1 / t->scale);
    for (int64_t i = 0; i < ORDER * NARROW; i++) {
        r[i] = i % ORDER <= i / ORDER ? r[i] : 0;
    }
    FIND(t, orgqr, t->type->is_complex ? "ungqr" : "orgqr");
    if (info != 0 || !orgqr) {
        return info != 0 ? "it reports an illegal argument" : NULL;
    }
    orgqr(&order, &order, &narrow, &a, &order, &tau, &check_work, &work_size, &info);
    fetch(t, &a, ELEMENTS, q, 1);
    if (info != 0 || !is_orthonormal(t, q, ORDER, ORDER)) {
        return "the columns of Q are not orthonormal";
    }
    multiply('N', 'N', ORDER, NARROW, ORDER, q, ORDER, r, ORDER, product);
    if (!is_near(t, product, t->general, ORDER * NARROW, norm_of(t->general, ORDER * NARROW))) {
        routine_of(t, "geqrf"); /* report this name: Q is made of its reflectors, and R is its result */
        return "the product of the factors differs from the matrix";
    }
    return NULL;
}

/* ---- Triangular matrices ---- */

typedef struct triangle {
    char side, uplo, trans, diag;
} triangle;

/* Makes a triangular matrix. Its diagonal is increased so that X grows little. If the diagonal is not read (unit), the
 * other elements are made small instead. */
static void make_triangle(const trial *t, const triangle *how, number *factor) {
    bool unit = how->diag == 'U';
    memcpy(factor, t->general, sizeof t->general);
    complete(factor, how->uplo, false);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        bool diagonal = i % (ORDER + 1) == 0;
        factor[i] = diagonal ? factor[i] + 4 * grade_of(t, i / ORDER) : unit ? factor[i] / 16 : factor[i];
    }
}

static bool is_solved(const trial *t, const triangle *how, void *address) {
    array a, b, one;
    number factor[ELEMENTS], x[ORDER * SIDES], product[ORDER * SIDES];
    bool left = how->side == 'L', unit = how->diag == 'U';
    const int64_t *rows = left ? &order : &sides, *columns = left ? &sides : &order;
    make_triangle(t, how, factor);
    store(t, &a, ELEMENTS, factor, t->scale);
    fetch(t, &a, ELEMENTS, factor, 1 / t->scale);
    put_number(t->type, &one, 0, 1);
    store(t, &b, ORDER * SIDES, t->sides, 1);
    ((type_of_trsm *)address)(&how->side, &how->uplo, &how->trans, &how->diag, rows, columns, &one, &a, &order, &b,
                              rows, 1, 1, 1, 1);
    fetch(t, &b, ORDER * SIDES, x, t->scale);
    for (int64_t i = 0; i < ORDER && unit; i++) {
        factor[i + i * ORDER] = 1;
    }
    if (left) {
        multiply(how->trans, 'N', ORDER, SIDES, ORDER, factor, ORDER, x, ORDER, product);
    } else {
        multiply('N', how->trans, SIDES, ORDER, ORDER, x, SIDES, factor, ORDER, product);
    }
    return is_near(t, product, t->sides, ORDER * SIDES, norm_of(factor, ELEMENTS) * norm_of(x, ORDER * SIDES));
}

const char *check_triangular(trial *t) {
    static const char trans[] = "NTC";
    void *routine = routine_of(t, "trsm");
    for (int variant = 0; variant < 24 && routine; variant++) {
        const triangle how = {variant & 1 ? 'R' : 'L', variant & 2 ? 'U' : 'L', trans[variant / 8],
                              variant & 4 ? 'U' : 'N'};
        if ((how.diag == 'N' || t->scale == 1) && !is_solved(t, &how, routine)) {
            return "the solutions do not solve the equations";
        }
    }
    return NULL;
}
