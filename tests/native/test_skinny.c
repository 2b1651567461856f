/* test_skinny.c - tests products with one or two short dimensions in every layout, against sums in twice the precision,
 * and tests that the bits of real types do not depend on layouts, threads or the position in a batch. Skinny products
 * have kernels of their own, and the direction of the vectors follows from sizes and strides. */
#include "native.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const int64_t shorts[] = {1, 2, 3, 4, 5, 7, 9}, others[] = {1, 6, 11, 16, 19, 34, 61, 130, 401};
static const layout layouts[][3] = {{ROWS, ROWS, ROWS},         {COLUMNS, ROWS, ROWS},    {ROWS, COLUMNS, ROWS},
                                    {COLUMNS, COLUMNS, ROWS},   {ROWS, ROWS, COLUMNS},    {PADDED, COLUMNS, PADDED},
                                    {STRIDED, PADDED, COLUMNS}, {COLUMNS, ROWS, STRIDED}, {BACKWARD, STRIDED, ROWS}};

/* A number that depends on its place only, so that all layouts contain the same matrices. */
static double number(int operand, int part, int64_t i, int64_t j) {
    uint64_t x = (uint64_t)(operand * 2 + part + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 29)) + (uint64_t)j * 0x94d049bb133111ebu;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return (double)((int64_t)(x >> 44) - (1 << 19)) / (1 << 19);
}

/* The numbers of A, B and C by rows, and what A * B is: its exact elements, rounded to a double, and the sums of the
 * sizes of their terms. All layouts and factors have them in common. A complex element has two parts. */
typedef struct sample {
    double *numbers[3], *exact, *size;
} sample;

static double *allocate(int64_t count) {
    double *numbers = calloc((size_t)count, sizeof *numbers);
    assert_non_null(numbers);
    return numbers;
}

static double *numbers_of(int operand, int64_t rows, int64_t columns, int parts) {
    double *numbers = allocate(rows * columns * parts), *next = numbers;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            for (int part = 0; part < parts; part++) {
                *next++ = number(operand, part, i, j);
            }
        }
    }
    return numbers;
}

/* Adds x * y to the unevaluated sum of two numbers: the product and the addition without their rounding errors. */
static void add_product(double sum[2], double x, double y) {
    const double high = x * y, low = fma(x, y, -high), total = sum[0] + high, part = total - sum[0];
    sum[1] += (sum[0] - (total - part)) + (high - part) + low;
    sum[0] = total;
}

/* Computes part `part` of element (i, j) of A * B. */
static void multiply(const sample *s, const product *p, int64_t i, int64_t j, int part) {
    const int parts = parts_of(p->dtype);
    const int64_t at = (i * p->n + j) * parts + part;
    double sum[2] = {0};
    for (int64_t k = 0; k < p->k; k++) {
        const double *a = s->numbers[0] + (i * p->k + k) * parts, *b = s->numbers[1] + (k * p->n + j) * parts;
        add_product(sum, a[0], b[part]);
        s->size[at] += fabs(a[0] * b[part]);
        if (parts == 2) {
            add_product(sum, part ? a[1] : -a[1], b[!part]);
            s->size[at] += fabs(a[1] * b[!part]);
        }
    }
    s->exact[at] = sum[0] + sum[1];
}

static sample make_sample(const product *p) {
    const int parts = parts_of(p->dtype);
    const sample s = {
        {numbers_of(0, p->m, p->k, parts), numbers_of(1, p->k, p->n, parts), numbers_of(2, p->m, p->n, parts)},
        allocate(p->m * p->n * parts),
        allocate(p->m * p->n * parts)};
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            for (int part = 0; part < parts; part++) {
                multiply(&s, p, i, j, part);
            }
        }
    }
    return s;
}

static void free_sample(const sample *s) {
    for (int operand = 0; operand < 3; operand++) {
        free(s->numbers[operand]);
    }
    free(s->exact);
    free(s->size);
}

static void fill(operands *o, const product *p, const sample *s) {
    const int64_t sizes[3][2] = {{p->m, p->k}, {p->k, p->n}, {p->m, p->n}};
    for (int operand = 0; operand < 3; operand++) {
        const double *next = s->numbers[operand];
        for (int64_t i = 0; i < sizes[operand][0]; i++) {
            for (int64_t j = 0; j < sizes[operand][1]; j++) {
                for (int part = 0; part < parts_of(p->dtype); part++, next++) {
                    for (int64_t item = 0; item < p->batch; item++) {
                        set_part(p->dtype, element(o, operand, item, i, j), part, *next);
                    }
                }
            }
        }
    }
}

/* Checks part `part` of element (i, j) of the last product against beta * C + alpha * A * B with real factors. */
static void check_element(const operands *o, const product *p, const sample *s, int64_t i, int64_t j, int part) {
    const bool f64 = p->dtype == BP_F64 || p->dtype == BP_C128;
    const int64_t at = (i * p->n + j) * parts_of(p->dtype) + part;
    /* C held a number that is exact in f32, as all of them are. */
    const double old = p->beta.re * s->numbers[2][at], exact = p->alpha.re * s->exact[at] + old;
    const double unit = f64 ? 0x1p-53 : 0x1p-24;
    const double bound = unit * ((double)(2 * p->k + 4) * fabs(p->alpha.re) * s->size[at] + 3 * fabs(old)) * 1.01;
    const double got = get_part(p->dtype, element(o, 2, p->batch - 1, i, j), part);
    if (!(fabs(got - exact) <= bound)) {
        fail_msg("%s %s %ldx%ldx%ld layouts %d %d %d: part %d of (%ld, %ld) is %.17g and not %.17g",
                 bp_dtype_name(p->dtype), kernels_name(p->set), (long)p->m, (long)p->k, (long)p->n, p->a, p->b, p->c,
                 part, (long)i, (long)j, got, exact);
    }
}

/* Runs the product, checks it, and copies the bits of C, row by row, to `bits`. */
static void run(const product *p, const sample *s, char *bits) {
    operands o;
    make_operands(&o, p);
    fill(&o, p, s);
    assert_int_equal(run_product(&o, p, NULL), BP_OK);
    const size_t size = bp_dtype_size(p->dtype);
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++, bits += size) {
            memcpy(bits, element(&o, 2, p->batch - 1, i, j), size);
            for (int part = 0; part < parts_of(p->dtype); part++) {
                check_element(&o, p, s, i, j, part);
            }
        }
    }
    free_operands(&o);
}

static void check_shape(bp_dtype dtype, kernels set, int64_t m, int64_t n, int64_t k) {
    product p = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = 1, .set = set, .threads = 1, .alpha = {1, 0}};
    const size_t bytes = (size_t)(m * n) * bp_dtype_size(dtype);
    const sample s = make_sample(&p);
    char *first = malloc(bytes), *again = malloc(bytes);
    assert_true(first && again);
    for (int scaled = 0; scaled < 2; scaled++) {
        p.alpha.re = scaled ? -0.75 : 1;
        p.beta.re = scaled ? 0.5 : 0;
        for (int i = 0; i < COUNT(layouts); i++) {
            p.a = layouts[i][0], p.b = layouts[i][1], p.c = layouts[i][2];
            p.batch = 1 + i % 2;
            p.threads = 1 + i % 4;
            run(&p, &s, i == 0 ? first : again);
            const bool compare = i > 0 && parts_of(dtype) == 1;
            if (compare && memcmp(first, again, bytes) != 0) {
                fail_msg("%s %s %ldx%ldx%ld: layouts %d %d %d on %d threads give other bits", bp_dtype_name(dtype),
                         kernels_name(set), (long)m, (long)k, (long)n, p.a, p.b, p.c, p.threads);
            }
        }
    }
    free_sample(&s);
    free(first);
    free(again);
}

static void test_lattice(void **state) {
    const bp_dtype dtype = *(const bp_dtype *)*state;
    const bool complex = parts_of(dtype) == 2;
    for (kernels set = KERNELS_DEFAULT; set <= KERNELS_WIDE; set++) {
        for (int at = 0; runs_here(set) && at < COUNT(shorts) * COUNT(others) * COUNT(others); at++) {
            const int64_t few = shorts[at % COUNT(shorts)], x = others[at / COUNT(shorts) % COUNT(others)];
            const int64_t y = others[at / COUNT(shorts) / COUNT(others)];
            if (x * y > 9000 || (complex && at % 3)) {
                continue; /* they would take long */
            }
            switch ((at + at / 7) % 3) {
            case 0:
                check_shape(dtype, set, few, x, y);
                break;
            case 1:
                check_shape(dtype, set, x, few, y);
                break;
            default:
                check_shape(dtype, set, x, y, few);
            }
        }
    }
}

/* Rows whose lines share sets of the cache, and more than one block of k. */
static void test_long_rows(void **state) {
    const bp_dtype dtype = *(const bp_dtype *)*state;
    static const int64_t shapes[][3] = {{40, 1, 1024}, {67, 2, 512}, {9, 1, 2050}, {1, 70, 600}, {130, 5, 770}};
    for (kernels set = KERNELS_DEFAULT; set <= KERNELS_WIDE; set++) {
        for (int i = 0; runs_here(set) && i < COUNT(shapes); i++) {
            check_shape(dtype, set, shapes[i][0], shapes[i][1], shapes[i][2]);
        }
    }
}

int main(void) {
    static bp_dtype dtypes[] = {BP_F32, BP_F64, BP_C64, BP_C128};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_lattice, &dtypes[0]),   cmocka_unit_test_prestate(test_lattice, &dtypes[1]),
        cmocka_unit_test_prestate(test_lattice, &dtypes[2]),   cmocka_unit_test_prestate(test_lattice, &dtypes[3]),
        cmocka_unit_test_prestate(test_long_rows, &dtypes[0]), cmocka_unit_test_prestate(test_long_rows, &dtypes[1]),
    };
    return cmocka_run_group_tests_name("skinny", tests, NULL, NULL);
}
