/* test_skinny.c - tests products with one or two short dimensions in every layout, against the reference,
 * and tests that the bits of real types do not depend on layouts, threads or the position in a batch. Skinny products
 * have kernels of their own, and the direction of the vectors follows from sizes and strides. */
#include "native.h"
#include "support/arrays.h"
#include "support/results.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static const int64_t shorts[] = {1, 2, 3, 4, 5, 7, 9}, others[] = {1, 6, 11, 16, 19, 34, 61, 130, 401};
static const layout layouts[][3] = {{ROWS, ROWS, ROWS},         {COLUMNS, ROWS, ROWS},    {ROWS, COLUMNS, ROWS},
                                    {COLUMNS, COLUMNS, ROWS},   {ROWS, ROWS, COLUMNS},    {PADDED, COLUMNS, PADDED},
                                    {STRIDED, PADDED, COLUMNS}, {COLUMNS, ROWS, STRIDED}, {BACKWARD, STRIDED, ROWS}};

/* A, B, C before a product, and its result; compact, so that all layouts contain the same matrices. */
typedef struct sample {
    test_array numbers[3], result;
} sample;

static void make_sample(sample *s, const product *p) {
    const int64_t shapes[3][2] = {{p->m, p->k}, {p->k, p->n}, {p->m, p->n}};
    for (int operand = 0; operand < 3; operand++) {
        test_array_make(&s->numbers[operand], p->dtype, 2, shapes[operand], TEST_COMPACT);
        test_array_fill(&s->numbers[operand], 1);
    }
    test_array_copy(&s->result, &s->numbers[2]);
}

static void free_sample(sample *s) {
    for (int operand = 0; operand < 3; operand++) {
        test_array_free(&s->numbers[operand]);
    }
    test_array_free(&s->result);
}

static void fill(const operands *o, const product *p, const sample *s) {
    const size_t size = bp_dtype_size(p->dtype);
    for (int operand = 0; operand < 3; operand++) {
        const int64_t columns = s->numbers[operand].view.shape[1];
        for (int64_t at = 0; at < test_array_count(&s->numbers[operand]); at++) {
            for (int64_t item = 0; item < p->batch; item++) {
                memcpy(element(o, operand, item, at / columns, at % columns), test_array_at(&s->numbers[operand], at),
                       size);
            }
        }
    }
}

/* Makes the reference of the sample's result. */
static void make_reference(reference_results *made, const product *p, sample *s) {
    assert_int_equal(reference_of_gemm(made, BP_AS_IS, BP_AS_IS, &p->alpha, &s->numbers[0].view.tensor,
                                       &s->numbers[1].view.tensor, &p->beta, &s->numbers[2].view.tensor),
                     BP_OK);
    made->of[0].tensor = &s->result.view.tensor;
}

/* Runs the product, and checks the last item. The bound is 2k + 4 roundings, but not more than the k + 8 of the
 * reference; for complex types, whose parts the reference adds, it is half of the reference's bound. */
static void run(const product *p, sample *s, const reference_results *made) {
    const double part = parts_of(p->dtype) == 2 ? 0.5 : fmin(1, (double)(2 * p->k + 4) / (double)(p->k + 8));
    char text[160];
    operands o;
    make_operands(&o, p);
    fill(&o, p, s);
    assert_int_equal(run_product(&o, p, NULL), BP_OK);
    for (int64_t at = 0; at < p->m * p->n; at++) {
        memcpy(test_array_at(&s->result, at), element(&o, 2, p->batch - 1, at / p->n, at % p->n),
               bp_dtype_size(p->dtype));
    }
    free_operands(&o);
    snprintf(text, sizeof text, "%s %s %ldx%ldx%ld layouts %d %d %d on %d threads", bp_dtype_name(p->dtype),
             kernels_name(p->set), (long)p->m, (long)p->k, (long)p->n, p->a, p->b, p->c, p->threads);
    test_compare_results(made, part, text);
}

static void check_shape(bp_dtype dtype, kernels set, int64_t m, int64_t n, int64_t k) {
    product p = {.dtype = dtype, .m = m, .n = n, .k = k, .batch = 1, .set = set, .threads = 1, .alpha = {1, 0}};
    sample s;
    make_sample(&s, &p);
    for (int scaled = 0; scaled < 2; scaled++) {
        reference_results made;
        test_array first = {0};
        p.alpha.re = scaled ? -0.75 : 1;
        p.beta.re = scaled ? 0.5 : 0;
        make_reference(&made, &p, &s);
        for (int i = 0; i < COUNT(layouts); i++) {
            p.a = layouts[i][0], p.b = layouts[i][1], p.c = layouts[i][2];
            p.batch = 1 + i % 2;
            p.threads = 1 + i % 4;
            run(&p, &s, &made);
            if (i == 0) {
                test_array_copy(&first, &s.result);
            } else if (parts_of(dtype) == 1) {
                test_array_check_unchanged(&s.result, &first, "another layout, or number of threads");
            }
        }
        test_array_free(&first);
        reference_results_free(&made);
    }
    free_sample(&s);
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
