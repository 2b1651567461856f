/* test_reproducibility.c - tests that results are bitwise the same for any number of threads and position in a batch.
 * Also tests refusals.
 */
#include "linalg.h"

#include "support/pool.h"

#include <string.h>

static task make(bp_op op, bp_dtype dtype, int64_t n, int64_t batch, kernels set) {
    task t = square_task(op, dtype, n, 5);
    t.batch = batch;
    t.set = set;
    t.seed = 11;
    return t;
}

static void test_threads(void **state) {
    (void)state;
    static const int threads[] = {2, 3, 7};
    int used = 0;
    EACH_SET(set) {
        for (int op = 0; op < OPS; op++) {
            for (int d = 0; d < DTYPES; d++) {
                task t = make(ops[op], dtypes[d], 12, 403, set);
                operands one, many;
                make_operands(&one, &t);
                shape_inputs(&one, false);
                assert_int_equal(run_task(&one), BP_OK);
                for (int i = 0; i < COUNT(threads); i++) {
                    t.threads = threads[i];
                    make_operands(&many, &t);
                    shape_inputs(&many, false);
                    assert_int_equal(run_task(&many), BP_OK);
                    used |= 1 << many.verdict.threads;
                    for (int x = one.inputs; x < one.count; x++) {
                        assert_memory_equal(many.array[x].memory, one.array[x].memory, bytes_of(&one, x));
                    }
                    free_operands(&many);
                }
                free_operands(&one);
            }
        }
    }
    assert_true((used & 1 << 2) && (used & 1 << 3) && (used & 1 << 7));
}

/* Tests that each item has bitwise the same result alone, when it fills all lanes. */
static void test_positions_in_batch(void **state) {
    (void)state;
    EACH_SET(set) {
        for (int op = 0; op < OPS; op++) {
            for (int d = 0; d < DTYPES; d++) {
                const task t = make(ops[op], dtypes[d], 3 + 3 * (op % 4), 37, set);
                task single = t;
                single.batch = 1;
                operands all, one;
                make_operands(&all, &t);
                shape_inputs(&all, false);
                assert_int_equal(run_task(&all), BP_OK);
                for (int64_t item = 0; item < t.batch; item += 6) {
                    make_operands(&one, &single);
                    for (int x = 0; x < one.inputs; x++) {
                        memcpy(one.first[x], element(&all, x, item, 0, 0), bytes_of(&one, x));
                    }
                    assert_int_equal(run_task(&one), BP_OK);
                    for (int x = one.inputs; x < one.count; x++) {
                        assert_memory_equal(one.first[x], element(&all, x, item, 0, 0), bytes_of(&one, x));
                    }
                    free_operands(&one);
                }
                free_operands(&all);
            }
        }
    }
}

static bp_reason verdict_of(task t) {
    operands o;
    make_operands(&o, &t);
    const bp_status status = run_task(&o);
    assert_int_equal(status == BP_OK, o.verdict.reason == BP_REASON_ACCEPTED);
    assert_int_equal(o.verdict.reason == BP_REASON_ACCEPTED, o.verdict.text[0] == 0);
    if (status == BP_OK) {
        assert_int_equal(o.verdict.properties & (BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT),
                         BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT);
    }
    free_operands(&o);
    return o.verdict.reason;
}

static void test_refusals(void **state) {
    (void)state;
    task t = make(BP_OP_INV, BP_F64, 32, 2, KERNELS_DEFAULT);
    assert_int_equal(verdict_of(t), BP_REASON_ACCEPTED);
    t.m = t.n = 33;
    assert_int_equal(verdict_of(t), BP_REASON_SIZE);
    t = make(BP_OP_LU_FACTOR, BP_F64, 5, 2, KERNELS_DEFAULT);
    t.m = 33;
    assert_int_equal(verdict_of(t), BP_REASON_SIZE);
    t = make(BP_OP_SVD, BP_F64, 32, 2, KERNELS_DEFAULT);
    assert_int_equal(verdict_of(t), BP_REASON_ACCEPTED);
    t.m = 33;
    assert_int_equal(verdict_of(t), BP_REASON_SIZE);
    /* Condition numbers in norms that are sums need an inverse, which this provider does not compute for them. */
    t = make(BP_OP_COND, BP_F64, 5, 2, KERNELS_DEFAULT);
    t.order = 1;
    assert_int_equal(verdict_of(t), BP_REASON_OP);
    static const bp_op large[] = {BP_OP_QR, BP_OP_EIG, BP_OP_LSTSQ};
    for (int i = 0; i < COUNT(large); i++) {
        t = make(large[i], BP_F64, 5, 2, KERNELS_DEFAULT);
        t.k = 1;
        assert_int_equal(verdict_of(t), BP_REASON_OP);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_positions_in_batch),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
