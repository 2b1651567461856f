/* test_columns.c - tests the passes over columns of the lapack provider against loops over single elements: every size
 * around a tile, both widths of reals, every available instruction set. Memory next to a column must not change. */
#include "support_lapack.h"

#include "providers/lapack/columns.h"

#include <string.h>

enum { MOST = 40, CAPACITY = 64 * MOST };

typedef struct pass_case {
    bp__lapack_columns columns;
    int bits;
    const bp__lapack_passes *passes;
} pass_case;

static uint64_t get(const pass_case *c, const void *from, int64_t i) {
    return c->bits == 64 ? ((const uint64_t *)from)[i] : ((const uint32_t *)from)[i];
}

static void put(const pass_case *c, void *to, int64_t i, uint64_t word) {
    if (c->bits == 64) {
        ((uint64_t *)to)[i] = word;
    } else {
        ((uint32_t *)to)[i] = (uint32_t)word;
    }
}

static bool counts(const bp__lapack_columns *c, int64_t i, int64_t j) {
    return (i < c->edge + j * c->step) != c->after_edge;
}

/* Fills with finite numbers other than zero. */
static void fill(const pass_case *c, void *to) {
    for (int64_t i = 0; i < CAPACITY; i++) {
        put(c, to, i, (c->bits == 64 ? UINT64_C(0x3ff0000000000000) : 0x3f800000) + (uint64_t)i);
    }
}

static uint64_t words[3][CAPACITY + 1];

/* Elements outside of the selection may become zero within a column, and are unchanged elsewhere. */
static void check_take(pass_case *c) {
    bp__lapack_columns *x = &c->columns;
    fill(c, words[0] + 1);
    memset(words[1], 0x55, sizeof words[1]);
    x->from = words[0] + 1;
    x->to = words[1] + 1;
    const uint64_t before = get(c, words[1], 0);
    assert_true(c->passes->scan(x));
    for (int64_t k = 0; k < CAPACITY; k++) {
        int64_t j = k / x->to_next, i = k % x->to_next;
        uint64_t is = get(c, x->to, k), source = i < x->size ? get(c, x->from, j * x->from_next + i) : 0;
        if (j >= x->columns || i >= x->size) {
            assert_int_equal(is, before);
        } else if (counts(x, i, j)) {
            assert_int_equal(is, source);
        } else {
            assert_true(is == 0 || is == before);
        }
    }
}

/* NaN and infinities at each position, with and without a copy. */
static void check_search(pass_case *c) {
    static const uint64_t wide[] = {UINT64_C(0x7ff8000000000000), UINT64_C(0xfff0000000000000),
                                    UINT64_C(0x7ff0000000000001)};
    static const uint64_t narrow[] = {0x7fc00000, 0xff800000, 0x7f800001};
    bp__lapack_columns *x = &c->columns;
    for (int64_t j = 0; j < x->columns; j++) {
        for (int64_t i = 0; i < x->size; i++) {
            int64_t at = j * x->from_next + i;
            uint64_t old = get(c, x->from, at);
            put(c, words[0] + 1, at, (c->bits == 64 ? wide : narrow)[(i + j) % 3]);
            x->to = NULL;
            assert_int_equal(c->passes->scan(x), !counts(x, i, j));
            x->to = words[1] + 1;
            assert_int_equal(c->passes->scan(x), !counts(x, i, j));
            put(c, words[0] + 1, at, old);
        }
    }
}

static void check_clear(pass_case *c) {
    bp__lapack_columns *x = &c->columns;
    fill(c, words[2] + 1);
    fill(c, words[0] + 1);
    x->to = words[2] + 1;
    c->passes->clear(x);
    for (int64_t k = 0; k < CAPACITY; k++) {
        int64_t j = k / x->to_next, i = k % x->to_next;
        bool cleared = j < x->columns && i < x->size && counts(x, i, j);
        assert_int_equal(get(c, x->to, k), cleared ? 0 : get(c, words[0] + 1, k));
    }
}

static void check(int bits, const bp__lapack_passes *passes) {
    static const int64_t sizes[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 24, 31, 33, 37}, counted[] = {1, 2, 9, 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t n = 0; n < sizeof counted / sizeof *counted; n++) {
            for (int kind = 0; kind < 12; kind++) {
                int64_t step = kind % 3, edge = kind % 4 == 3 ? sizes[s] : kind % 4;
                pass_case c = {.bits = bits, .passes = passes};
                c.columns = (bp__lapack_columns){.size = sizes[s],
                                                 .columns = counted[n],
                                                 .edge = edge,
                                                 .step = step,
                                                 .after_edge = kind % 2,
                                                 .from_next = sizes[s] + kind % 5,
                                                 .to_next = sizes[s] + 1 + kind % 2};
                check_take(&c);
                check_search(&c);
                check_clear(&c);
            }
        }
    }
}

static void test_default(void **state) {
    (void)state;
    check(32, &bp__lapack_passes_default[0]);
    check(64, &bp__lapack_passes_default[1]);
}

static void test_avx2(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        check(32, &bp__lapack_passes_avx2[0]);
        check(64, &bp__lapack_passes_avx2[1]);
        return;
    }
#endif
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_default), cmocka_unit_test(test_avx2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
