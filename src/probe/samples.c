/* samples.c - makes the sample matrices of the checks, and defines the algebra that checks use. */
#include "probe/checks.h"

#include <math.h>
#include <string.h>

const char *const sample_names[SAMPLES] = {"random", "graded", "huge", "tiny", "clustered"};

work_array check_work, check_real_work;
int64_t check_integers[WORK];

/* ---- Samples ---- */

static double next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) * 0x1p-23 - 1;
}

static void fill(const trial *t, number *x, int64_t count, uint32_t seed) {
    for (int64_t i = 0; i < count; i++) {
        double re = next_random(&seed), im = next_random(&seed);
        x[i] = make_number(re, t->type->is_complex ? im : 0);
    }
}

/* Rounds to the trial's type, so that library and check use the same numbers. */
static void round_to_type(const trial *t, number *x, int64_t count) {
    for (int64_t i = 0; i < count && !t->type->is_double; i++) {
        x[i] = make_number((double)(float)creal(x[i]), (double)(float)cimag(x[i]));
    }
}

/* Returns the factor by which row and column i are smaller: the last element has a relative size near the precision. */
static double grade(const trial *t, int64_t i) {
    return ldexp(1, -(int)(t->type->is_double ? i : i / 2));
}

double grade_of(const trial *t, int64_t i) {
    return t->kind == GRADED ? grade(t, i) * grade(t, i) : 1;
}

/* Computes G Gᴴ / n + 1, which is positive definite and well conditioned. */
static void make_positive(trial *t) {
    multiply('N', 'C', ORDER, ORDER, ORDER, t->general, ORDER, t->general, ORDER, t->positive);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        t->positive[i] = t->positive[i] / ORDER + (i % (ORDER + 1) == 0);
    }
}

/* Computes H D H with a reflector H; D has three groups of equal or nearly equal eigenvalues. */
static void make_clustered(trial *t) {
    double d[ORDER], sum = 0, close = t->type->is_double ? 0x1p-48 : 0x1p-20;
    number v[ORDER];
    fill(t, v, ORDER, 7);
    for (int64_t i = 0; i < ORDER; i++) {
        d[i] = i < 12 ? 1 : i < 18 ? 2 + (double)(i - 12) * close : 0x1p-6;
        sum += creal(times(v[i], conj(v[i])));
    }
    for (int64_t i = 0; i < ORDER; i++) {
        for (int64_t j = 0; j < ORDER; j++) {
            number element = 0;
            for (int64_t k = 0; k < ORDER; k++) {
                number left = (i == k) - 2 / sum * times(v[i], conj(v[k]));
                number right = (k == j) - 2 / sum * times(v[k], conj(v[j]));
                element += d[k] * times(left, right);
            }
            t->positive[i + j * ORDER] = element;
        }
    }
}

static void make_hermitian(number *x) {
    for (int64_t j = 0; j < ORDER; j++) {
        x[j + j * ORDER] = creal(x[j + j * ORDER]);
        for (int64_t i = 0; i < j; i++) {
            x[j + i * ORDER] = conj(x[i + j * ORDER]);
        }
    }
}

void begin_sample(trial *t, sample_kind kind) {
    int power = t->type->is_double ? 900 : 100;
    t->kind = kind;
    t->scale = kind == HUGE_NUMBERS ? ldexp(1, power) : kind == TINY_NUMBERS ? ldexp(1, -power) : 1;
    fill(t, t->general, ELEMENTS, 1);
}

static void compute_sample(trial *t, sample_kind kind) {
    begin_sample(t, kind);
    fill(t, t->sides, ORDER * SIDES, 2);
    if (kind == CLUSTERED) {
        make_clustered(t);
        memcpy(t->general, t->positive, sizeof t->general);
    } else {
        make_positive(t);
    }
    for (int64_t i = 0; i < ELEMENTS && kind == GRADED; i++) {
        double g = grade(t, i % ORDER) * grade(t, i / ORDER);
        t->general[i] *= g;
        t->positive[i] *= g;
    }
    make_hermitian(t->positive);
    round_to_type(t, t->general, ELEMENTS);
    round_to_type(t, t->positive, ELEMENTS);
    round_to_type(t, t->sides, ORDER * SIDES);
}

/* Computes each sample once: every check of a type takes the same ones. */
void make_sample(trial *t, sample_kind kind) {
    static struct {
        bool made;
        double scale;
        number general[ELEMENTS], positive[ELEMENTS], sides[ORDER * SIDES];
    } samples[4][SAMPLES], *kept;
    kept = &samples[t->type - number_types][kind];
    if (!kept->made) {
        compute_sample(t, kind);
        kept->made = true;
        kept->scale = t->scale;
        memcpy(kept->general, t->general, sizeof t->general);
        memcpy(kept->positive, t->positive, sizeof t->positive);
        memcpy(kept->sides, t->sides, sizeof t->sides);
        return;
    }
    t->kind = kind;
    t->scale = kept->scale;
    memcpy(t->general, kept->general, sizeof t->general);
    memcpy(t->positive, kept->positive, sizeof t->positive);
    memcpy(t->sides, kept->sides, sizeof t->sides);
}

/* ---- Numbers in and out ---- */

void store(const trial *t, void *to, int64_t count, const number *from, double scale) {
    for (int64_t i = 0; i < count; i++) {
        put_number(t->type, to, i, from[i] * scale);
    }
}

void fetch(const trial *t, const void *from, int64_t count, number *to, double scale) {
    for (int64_t i = 0; i < count; i++) {
        to[i] = get_number(t->type, from, i) * scale;
    }
}

void fetch_reals(const trial *t, const void *from, int64_t count, double *to, double scale) {
    for (int64_t i = 0; i < count; i++) {
        to[i] = (t->type->is_double ? ((const double *)from)[i] : (double)((const float *)from)[i]) * scale;
    }
}

/* ---- Comparison ---- */

double norm_of(const number *x, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += creal(x[i]) * creal(x[i]) + cimag(x[i]) * cimag(x[i]);
    }
    return sqrt(sum);
}

double distance(const number *x, const number *y, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double re = creal(x[i]) - creal(y[i]), im = cimag(x[i]) - cimag(y[i]);
        sum += re * re + im * im;
    }
    return sqrt(sum);
}

static number element_of(char op, const number *x, int64_t ld, int64_t i, int64_t j) {
    const number element = op == 'N' ? x[i + j * ld] : x[j + i * ld];
    return op == 'C' ? conj(element) : element;
}

/* Adds columns of op(a), so that each sum has the order of l and no sum waits for itself. */
void multiply(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const number *a, int64_t lda, const number *b,
              int64_t ldb, number *c) {
    memset(c, 0, (size_t)(m * n) * sizeof *c);
    for (int64_t l = 0; l < k; l++) {
        number column[ORDER];
        for (int64_t i = 0; i < m; i++) {
            column[i] = element_of(op_a, a, lda, i, l);
        }
        for (int64_t j = 0; j < n; j++) {
            const number factor = element_of(op_b, b, ldb, l, j);
            for (int64_t i = 0; i < m; i++) {
                c[i + j * m] += times(column[i], factor);
            }
        }
    }
}

bool is_near(const trial *t, const number *x, const number *y, int64_t count, double size) {
    return distance(x, y, count) <= t->tolerance * size;
}

bool is_orthonormal(const trial *t, const number *q, int64_t rows, int64_t columns) {
    number product[ELEMENTS], unit[ELEMENTS];
    multiply('C', 'N', columns, columns, rows, q, rows, q, rows, product);
    for (int64_t i = 0; i < columns * columns; i++) {
        unit[i] = i % (columns + 1) == 0;
    }
    return is_near(t, product, unit, columns * columns, 1);
}
