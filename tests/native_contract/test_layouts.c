/* test_layouts.c - tests contractions of any number of dimensions in any layout: random ones, and ones whose tiles,
 * transposed blocks and splits have remainders. */
#include "contract.h"

#include "support/pool.h"

#include <string.h>

static void shuffle(int *order, int count) {
    for (int i = count - 1; i > 0; i--) {
        const int j = draw(i + 1), saved = order[i];
        order[i] = order[j];
        order[j] = saved;
    }
}

/* Sets a random layout: some of the dimensions in any order, with gaps and negative strides. Inputs may also have
 * strides of 0 or be diagonals. */
static void random_layout(task *t, int side) {
    int order[BP_MAX_CONTRACT_NDIM], count = 0;
    for (int d = 0; d < (side == C ? t->output_ndim : t->ndim); d++) {
        if (side == C || draw(5) > 0) {
            order[count++] = d;
        }
    }
    shuffle(order, count);
    lay_out(t, side, order, count, draw(3) == 0 ? 1 + draw(2) : 0);
    for (int i = 0; i < count; i++) {
        int64_t *step = &t->step[side][order[i]];
        if (draw(6) == 0) {
            *step = -*step;
        }
        if (side != C && draw(8) == 0) {
            *step = draw(3) ? draw(40) - 20 : *step + t->step[side][order[0]];
        }
    }
}

/* Sorts the output dimensions as providers expect them: the largest stride in C first. */
static void sort_output(task *t) {
    for (int i = 0; i < t->output_ndim; i++) {
        for (int d = 1; d < t->output_ndim; d++) {
            const int64_t here = t->step[C][d], before = t->step[C][d - 1];
            if ((here < 0 ? -here : here) > (before < 0 ? -before : before)) {
                for (int side = 0; side < SIDES; side++) {
                    const int64_t saved = t->step[side][d];
                    t->step[side][d] = t->step[side][d - 1];
                    t->step[side][d - 1] = saved;
                }
                const int64_t size = t->size[d];
                t->size[d] = t->size[d - 1];
                t->size[d - 1] = size;
            }
        }
    }
}

static task random_task(unsigned seed) {
    test_array_random = seed * UINT64_C(0x9E3779B97F4A7C15) + 5;
    task t = {.seed = seed};
    const int kind = draw(4);
    t.dtype = (bp_dtype)(BP_F16 + draw(6));
    t.ndim = draw(7);
    t.output_ndim = kind == 0 ? t.ndim : draw(t.ndim + 1);
    t.has_b = draw(2);
    t.misaligned = draw(4) == 0;
    static const int most[] = {1, 5000, 70, 17, 9, 6, 4};
    for (int d = 0; d < t.ndim; d++) {
        t.size[d] = 1 + draw(draw(4) ? most[t.ndim] : 4);
    }
    random_layout(&t, A);
    random_layout(&t, B);
    random_layout(&t, C);
    sort_output(&t);
    return t;
}

static void test_random(void **state) {
    (void)state;
    EACH_SET(set) {
        for (unsigned seed = 0; seed < 700; seed++) {
            task t = random_task(seed);
            t.set = set;
            check_task(&t);
        }
    }
}

/* Makes a task from a subscript as in einsum, for example "ji,ik->jk". Operands are contiguous, with their last letter
 * fastest. */
static task from_text(const char *text, const int64_t *sizes, bp_dtype dtype) {
    task t = {.dtype = dtype, .seed = (unsigned)strlen(text)};
    const char *parts[SIDES] = {text, strchr(text, ','), strchr(text, '>') + 1};
    t.has_b = parts[B] != NULL;
    parts[B] = parts[B] ? parts[B] + 1 : text;
    char letters[BP_MAX_CONTRACT_NDIM + 1] = "";
    for (int round = 0; round < 2; round++) {
        for (const char *p = round ? text : parts[C]; *p && *p != '>'; p++) {
            if (*p >= 'a' && *p <= 'z' && !strchr(letters, *p)) {
                letters[t.ndim++] = *p;
            }
        }
        t.output_ndim = round ? t.output_ndim : t.ndim;
    }
    for (int d = 0; d < t.ndim; d++) {
        t.size[d] = sizes[letters[d] - 'a'];
    }
    for (int side = 0; side < SIDES; side++) {
        int64_t step = 1;
        const char *end = parts[side];
        while (*end >= 'a' && *end <= 'z') {
            end++;
        }
        for (const char *p = end - 1; p >= parts[side] && (side != B || t.has_b); p--) {
            const int d = (int)(strchr(letters, *p) - letters);
            t.step[side][d] += step; /* a letter that occurs twice is a diagonal */
            step *= t.size[d];
        }
    }
    return t;
}

/* Checks two of the six types in each call, so that successive calls cover all. */
static void check_text(const char *text, const int64_t *sizes) {
    static int round;
    EACH_SET(set) {
        round++;
        EACH_DTYPE(dtype) {
            task t = from_text(text, sizes, dtype);
            t.set = set;
            if (((int)dtype + round) % 3 == 0) {
                check_task(&t);
            }
        }
    }
}

/* Sizes of a, b, c, ... that give whole tiles, single elements beyond them, and blocks of a long dimension. */
static const int64_t shapes[][5] = {
    {64, 48, 16, 2, 3}, {65, 47, 17, 1, 2}, {130, 33, 3, 2, 2},
    {3, 200, 5, 2, 2},  {5, 4, 4100, 1, 1}, {7, 1030, 9, 1, 3},
};

static void test_copies(void **state) {
    (void)state;
    static const char *const texts[] = {"ab->ba",     "abc->cba",     "abc->bac",   "abc->acb",   "abc->cab",
                                        "dabe->bade", "eabd->dbae",   "aa->a",      "aba->ab",    "abcd->dcba",
                                        "b->ab",      "a->ab",        "ac->abc",    "aab->ba",    "abcde->adbec",
                                        "a->a",       "abcde->ecbda", "deab->abde", "deab->baed", "->"};
    for (int i = 0; i < COUNT(texts); i++) {
        for (int s = 0; s < COUNT(shapes); s++) {
            check_text(texts[i], shapes[s]);
        }
    }
}

/* Transposed copies to rows whose distance is a multiple of what a cache repeats, with and without remainders. */
static void test_colliding_rows(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{1024, 16}, {1001, 37}, {130, 64}, {7, 40}, {256, 15}};
    EACH_SET(set) {
        EACH_DTYPE(dtype) {
            for (int s = 0; s < COUNT(sizes); s++) {
                task t = from_text("ab->ba", sizes[s], dtype);
                t.set = set;
                t.step[C][0] = 1024;
                check_task(&t);
                t.step[C][0] = -1024;
                check_task(&t);
            }
        }
    }
}

static void test_sums(void **state) {
    (void)state;
    static const char *const texts[] = {"ab->a",  "ab->b",  "abc->ac", "abc->b",    "abc->ca", "abc->",  "aa->",
                                        "aab->b", "abc->c", "abc->ab", "abcde->db", "ab->",    "aba->b", "cab->ca"};
    for (int i = 0; i < COUNT(texts); i++) {
        for (int s = 0; s < COUNT(shapes); s++) {
            check_text(texts[i], shapes[s]);
        }
    }
}

static void test_products(void **state) {
    (void)state;
    static const char *const texts[] = {"ab,ab->ab", "ab,ba->ab",    "ab,ba->ba",   "a,b->ab",      "a,b->ba",
                                        "ab,b->ab",  "ab,a->ab",     "ab,a->ba",    "abc,cba->bca", "ab,c->abc",
                                        "ab,c->acb", "aa,a->a",      "abc,ac->bac", "a,->a",        ",->",
                                        "c,->ac",    "abd,bed->eabd"};
    for (int i = 0; i < COUNT(texts); i++) {
        for (int s = 0; s < COUNT(shapes); s++) {
            check_text(texts[i], shapes[s]);
        }
    }
}

static void test_sums_of_products(void **state) {
    (void)state;
    static const char *const texts[] = {
        "ab,ab->a", "ab,ab->b",  "ab,ab->",   "ab,ba->a",  "ab,ba->",   "abc,bc->ac",  "abc,acb->b",
        "ab,b->a",  "ab,a->b",   "abc,cb->a", "ab,bc->ac", "ba,bc->ca", "abc,bca->cb", "abde,eda->be",
        "a,a->",    "ab,cb->ac", "aab,b->a",  "ab,->a",    "ab,ab->ab", "c,ab->cb",    "abc,acb->ca"};
    static const int64_t sizes[][5] = {
        {33, 18, 20, 2, 3}, {7, 70, 9, 3, 2}, {4, 600, 5, 2, 2}, {300, 3, 2, 5, 4}, {20, 6, 24, 2, 2}};
    for (int i = 0; i < COUNT(texts); i++) {
        for (int s = 0; s < COUNT(sizes); s++) {
            check_text(texts[i], sizes[s]);
        }
    }
}

/* Tests the largest number of dimensions, of sizes 1 and 2 in random order. */
static void test_many_dimensions(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 60; seed++) {
        test_array_random = seed + 77;
        task t = {.dtype = (bp_dtype)(BP_F16 + (int)seed % 6), .ndim = 32, .seed = seed};
        t.output_ndim = seed % 3 ? draw(33) : 32;
        t.has_b = seed % 4 == 1;
        int order[32];
        for (int d = 0; d < 32; d++) {
            t.size[d] = draw(3) ? 1 : 2;
            order[d] = d;
        }
        lay_out(&t, C, order, t.output_ndim, 0);
        shuffle(order, 32);
        lay_out(&t, A, order, 32, 0);
        shuffle(order, 32);
        lay_out(&t, B, order, t.has_b ? 32 : 0, 0);
        for (t.set = KERNELS_DEFAULT; t.set < KERNELS_SETS; t.set++) {
            if (runs_here(t.set)) {
                check_task(&t);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_colliding_rows),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_sums_of_products),
        cmocka_unit_test(test_many_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, test_stop_pool);
}
