/* test_reproducibility.c - tests that results are bitwise the same on any number of threads, and that long sums are
 * accurate. */
#include "contract.h"

#include "support/pool.h"
#include "support/modes.h"

#include <math.h>
#include <string.h>

typedef struct shape {
    int ndim, output_ndim;
    int64_t size[4];
    int64_t a[4], b[4], c[4];
    bool has_b;
} shape;

/* All are large enough for several threads: copies in both directions, rows, dot products, split sums, and packed
 * operands. */
static const shape shapes[] = {
    {2, 2, {700, 800}, {800, 1}, {0}, {800, 1}, false},
    {2, 2, {700, 801}, {1, 700}, {0}, {801, 1}, false},
    {2, 2, {700, 801}, {801, 1}, {1, 700}, {801, 1}, true},
    {2, 2, {1000, 900}, {1, 0}, {0, 1}, {900, 1}, true},
    {2, 1, {901, 900}, {1, 901}, {0}, {1, 0}, false},
    {2, 1, {901, 900}, {900, 1}, {900, 1}, {1, 0}, true},
    {2, 1, {5, 300007}, {1, 5}, {0}, {1, 0}, false},
    {2, 1, {3, 300007}, {300007, 1}, {0, 1}, {1, 0}, true},
    {1, 0, {1500001}, {1}, {0}, {0}, false},
    {1, 0, {1500001}, {1}, {-1}, {0}, true},
    {2, 0, {1201, 1001}, {1001, 1}, {1, 1201}, {0}, true},
    {3, 2, {40, 50, 300}, {50, 1, 2000}, {15000, 300, 1}, {50, 1, 0}, true},
    {3, 2, {60, 70, 200}, {1, 60, 4200}, {0}, {70, 1, 0}, false},
    {3, 2, {90, 80, 100}, {100, 0, 1}, {0, 1, 80}, {80, 1, 0}, true},
};

static task task_of(const shape *s, bp_dtype dtype, kernels set) {
    task t = {.dtype = dtype, .ndim = s->ndim, .output_ndim = s->output_ndim, .has_b = s->has_b, .set = set, .seed = 3};
    memcpy(t.size, s->size, sizeof s->size);
    memcpy(t.step[A], s->a, sizeof s->a);
    memcpy(t.step[B], s->b, sizeof s->b);
    memcpy(t.step[C], s->c, sizeof s->c);
    return t;
}

static void test_threads(void **state) {
    (void)state;
    static const int threads[] = {2, 5};
    int used = 0;
    EACH_SET(set) {
        for (int at = 0; at < COUNT(shapes) * 6; at++) {
            task t = task_of(&shapes[at / 6], (bp_dtype)(BP_F16 + at % 6), set);
            operands one, many;
            if ((at / 6 + at % 6 + (int)set) % 3 != 0 || test_leaves_out(at % 6 / 3 + at / 6, 2)) {
                continue; /* one or two types for each shape and set; together all types */
            }
            make_operands(&one, &t);
            assert_int_equal(run_task(&one), BP_OK);
            assert_int_equal(one.verdict.properties & (BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT),
                             BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT);
            for (int i = 0; i < COUNT(threads); i++) {
                if (test_leaves_out(i + at / 6 + at % 3, COUNT(threads))) {
                    continue;
                }
                t.threads = threads[i];
                make_operands(&many, &t);
                assert_int_equal(run_task(&many), BP_OK);
                used |= many.verdict.threads > 1 ? 1 << (at / 6) : 0;
                assert_memory_equal(many.array[C].memory, one.array[C].memory, bytes_of(&one, C));
                free_operands(&many);
            }
            free_operands(&one);
        }
    }
    assert_int_equal(used, (1 << COUNT(shapes)) - 1);
}

/* Also compares with the reference, which takes longer. */
static void test_large(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int at = 0; at < COUNT(shapes); at++) {
            if (test_leaves_out(at + (int)set, 2)) {
                continue;
            }
            task t = task_of(&shapes[at], (bp_dtype)(BP_F16 + (at + (int)set) % 6), set);
            t.threads = 2;
            check_task(&t);
        }
    }
}

/* Tests sums of a million numbers near 1. A plain loop in f32 would have an error of a thousand roundings or more. */
static void test_long_sums(void **state) {
    (void)state;
    static const shape sums[] = {
        {1, 0, {1234567}, {1}, {0}, {0}, false},
        {1, 0, {1234567}, {1}, {1}, {0}, true},
        {2, 1, {3, 1234567}, {1, 3}, {0}, {1}, false},
        {2, 1, {20, 61728}, {1, 20}, {0, 1}, {1}, true},
        {2, 1, {64, 50000}, {1, 64}, {0}, {1}, false},
        {2, 0, {1111, 1111}, {1, 1200}, {1200, 1}, {0}, true},
        {3, 2, {70, 8, 20000}, {0, 1, 9}, {0}, {8, 1}, false},
    };
    EACH_SET(set) {
        for (int at = 0; at < COUNT(sums) * 2; at++) {
            if (test_leaves_out(at / 2 + at % 2 + (int)set, 5)) {
                continue;
            }
            task t = task_of(&sums[at / 2], at % 2 ? BP_C64 : BP_F32, set);
            operands o;
            make_operands(&o, &t);
            for (int side = A; side <= B && o.array[side].memory; side++) {
                float *x = (float *)(void *)o.array[side].memory;
                for (size_t i = 0; i < bytes_of(&o, side) / sizeof *x; i++) {
                    x[i] = 1 + x[i] / 64;
                }
            }
            assert_int_equal(run_task(&o), BP_OK);
            check_results(&o, 2.5);
            free_operands(&o);
        }
    }
}

/* Instruction sets differ only in the order of terms. Results with one term and no rounding are therefore the same. */
static void test_instruction_sets_agree(void **state) {
    (void)state;
    for (int at = 0; at < COUNT(shapes) * 6; at++) {
        const shape *s = &shapes[at / 6];
        const bool pairs = is_complex((bp_dtype)(BP_F16 + at % 6));
        if (s->output_ndim < s->ndim || (s->has_b && pairs)) {
            continue; /* a complex product contains a sum */
        }
        task t = task_of(s, (bp_dtype)(BP_F16 + at % 6), KERNELS_DEFAULT);
        operands first, other;
        make_operands(&first, &t);
        assert_int_equal(run_task(&first), BP_OK);
        EACH_SET(set) {
            t.set = set;
            make_operands(&other, &t);
            assert_int_equal(run_task(&other), BP_OK);
            assert_memory_equal(other.array[C].memory, first.array[C].memory, bytes_of(&first, C));
            free_operands(&other);
        }
        free_operands(&first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_long_sums),
        cmocka_unit_test(test_instruction_sets_agree),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
