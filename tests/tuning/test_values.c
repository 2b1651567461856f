/* test_values.c - tests the matrices on which factorizations are timed: they are well-conditioned, and rows must be
 * exchanged, in each item other ones. */
#include "tuning/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = 4, MOST = 9 };

/* Returns the column of the element that was added to in a row of an item, and checks that it is the only one. */
static int large_column(const double *row, int columns) {
    int found = -1;
    for (int j = 0; j < columns; j++) {
        if (fabs(row[j]) > 1) {
            assert_int_equal(found, -1);
            found = j;
        }
    }
    return found;
}

static void check_size(int rows, int columns) {
    static bp__trial trial;
    const int side = rows < columns ? rows : columns;
    int columns_of[ITEMS][MOST], exchanged = 0, differ = 0;
    trial = (bp__trial){.problem = NULL};
    bp__trial_operand *o = bp__trial_add(&trial, BP_F64, false);
    bp__trial_add_dimensions(o, 3, (const int64_t[]){ITEMS, rows, columns},
                             (const int64_t[]){(int64_t)rows * columns, columns, 1});
    o->matrix = 2;
    o->values = BP__VALUES_SHIFTED;
    assert_true(bp__trial_measure_span(o, 1 << 20));
    double *memory = malloc(o->size);
    assert_non_null(memory);
    bp__trial_write(&trial, o, (char *)memory);
    for (int item = 0; item < ITEMS; item++) {
        unsigned seen = 0;
        for (int i = 0; i < rows; i++) {
            const int column = large_column(memory + (item * rows + i) * columns, columns);
            assert_int_equal(column >= 0, i < side);
            if (i < side) {
                assert_false(seen >> column & 1);
                seen |= 1u << column;
                columns_of[item][i] = column;
                exchanged += column != i;
                differ += column != columns_of[0][i];
            }
        }
    }
    assert_true(side < 4 || (exchanged > 0 && differ > 0));
    free(memory);
}

static void matrices_need_exchanges(void **state) {
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        check_size(n, n);
    }
    check_size(MOST, 4);
    check_size(3, MOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(matrices_need_exchanges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
