/* test_walk.c - the walk over a part of a reduction ends at the call's interrupt check, however many elements are left. */
#include "providers/native/reduce/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int questions, answer_from;

static int always_due(int64_t *since) {
    (void)since;
    return 1;
}

static int stop_from(bp_op op) {
    (void)op;
    return ++questions >= answer_from;
}

static void count(void *context, const bp__reduce_piece *piece) {
    *(int64_t *)context += piece->lanes * piece->count;
}

/* Walks over the first part of one item whose elements all lie at one address, and returns how many were visited. */
static int64_t visited(int64_t columns, int64_t rows, const bp_host *host, int64_t *wanted) {
    static float element;
    char *const base[3] = {(char *)&element, NULL, NULL};
    bp_problem problem = {.op = BP_OP_REDUCE, .dtype = BP_F32};
    bp_reduce_problem *p = &problem.of.reduce;
    bp__stop stop = {.host = host, .op = BP_OP_REDUCE};
    bp__reduce_cut cut;
    int64_t elements = 0;
    *p = (bp_reduce_problem){.kind = BP_REDUCE_SUM, .output = BP_F32, .ndim = 2, .kept_ndim = 1};
    p->size[0] = columns;
    p->size[1] = rows;
    bp__reduce_cut_make(&cut, &problem);
    const bp__reduce_item item = bp__reduce_item_at(p, &cut, 0);
    bp__reduce_walk(p, &cut, &item, 0, base, &stop, count, &elements);
    *wanted = item.lanes * (cut.parts == 1 ? rows : cut.part * cut.block);
    return elements;
}

static void long_parts_end_at_the_check(void **state) {
    (void)state;
    const bp_host host = {.interrupt_due = always_due, .interrupted = stop_from};
    const int64_t columns[] = {1, 3, 300, 5000};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        int64_t wanted;
        questions = 0;
        answer_from = 3;
        const int64_t elements = visited(columns[i], INT64_C(1) << 40, &host, &wanted);
        assert_int_equal(questions, 3);
        assert_true(elements > 0 && elements < 10 * 1000 * 1000 && elements < wanted);
    }
}

static void other_parts_are_visited_whole(void **state) {
    (void)state;
    const bp_host host = {.interrupt_due = always_due, .interrupted = stop_from};
    const int64_t sizes[][2] = {{1, 1}, {1, 1000003}, {3, 70001}, {300, 20000}, {5000, 3000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t wanted;
        answer_from = INT32_MAX;
        const int64_t elements = visited(sizes[i][0], sizes[i][1], &host, &wanted);
        assert_int_equal(elements, wanted);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_parts_end_at_the_check),
        cmocka_unit_test(other_parts_are_visited_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
