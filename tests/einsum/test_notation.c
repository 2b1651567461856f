/* test_notation.c - the meaning of expressions, and all kinds of errors in them, with the offset of the character. */
#include "einsum/support_einsum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Expects the parsed expression and the output's shape. */
static void means(const char *expression, const char *shapes, const char *understood, const char *output) {
    bp_contraction_path *path;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    char shape[128] = "";
    if (text_path(&path, NULL, expression, shapes) != BP_OK) {
        fail_msg("%s: %s", expression, bp_last_error());
    }
    assert_int_equal(bp_contraction_path_describe(path, &info), BP_OK);
    for (int i = 0; i < info.output_ndim; i++) {
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", i ? "x" : "",
                 (long long)info.output_shape[i]);
    }
    assert_string_equal(bp_contraction_path_expression(path), understood);
    assert_string_equal(shape, output);
    bp_contraction_path_release(path);
}

static void expressions_are_interpreted(void **state) {
    (void)state;
    means("ij,jk->ik", "2x3,3x4", "ij,jk->ik", "2x4");
    means("ij,jk", "2x3,3x4", "ij,jk->ik", "2x4");
    means(" i j , jk -> k i ", "2x3,3x4", "ij,jk->ki", "4x2");
    means("ba", "2x3", "ba->ab", "3x2");
    means("bA", "2x3", "bA->Ab", "3x2"); /* capitals come first */
    means("ii", "3x3", "ii->", "");
    means("ii->i", "3x3", "ii->i", "3");
    means("ij->", "2x3", "ij->", "");
    means(",", ",", ",->", "");
    means("", "", "->", "");
    means("i,->i", "3,", "i,->i", "3");
    means("...ij,...jk", "7x2x3,7x3x4", "zij,zjk->zik", "7x2x4");
    means("...ij,...jk->...ki", "5x1x2x3,6x3x4", "zyij,yjk->zyki", "5x6x4x2");
    means("i...->...", "2x3x4", "izy->zy", "3x4");
    means("i...j", "2x3x4", "izj->zij", "3x2x4");
    means("...,...", "3x1,4", "zy,y->zy", "3x4");
    means("i...->i", "2x3", "iz->i", "2"); /* an ellipsis that is not in the output is summed */
    means("...", "2x3", "zy->zy", "2x3");
    means("z...->...", "2x3", "zy->y", "3"); /* letters in use are not assigned again */
    means("ij,ij->ij", "1x3,2x3", "ij,ij->ij", "2x3");
    means("ij,jk->ik", "2x1,5x4", "ij,jk->ik", "2x4");
    means("ij,ij->ij", "0x3,1x3", "ij,ij->ij", "0x3");
}

static void wrong(const char *expression, const char *shapes, bp_status status, int offset, const char *words) {
    bp_contraction_path *path = (bp_contraction_path *)&path;
    char where[64];
    bp_status answer = text_path(&path, NULL, expression, shapes);
    snprintf(where, sizeof where, "at offset %d of", offset);
    if (answer != status || !strstr(bp_last_error(), words) || !strstr(bp_last_error(), where)) {
        fail_msg("'%s' with %s: %s, %s; expected '%s' %s", expression, shapes, bp_status_name(answer), bp_last_error(),
                 words, where);
    }
    assert_null(path);
    /* The caret must be below the character. */
    const char *caret = strrchr(bp_last_error(), '\n') + 1;
    assert_int_equal(strspn(caret, " ") - 2, (size_t)offset);
    assert_string_equal(caret + strspn(caret, " "), "^");
}

static void invalid_expressions_are_refused(void **state) {
    (void)state;
    wrong("ij,j?->i", "2x3,3x4", BP_E_ARGUMENT, 4, "'?' is not a label");
    wrong("i1", "2x3", BP_E_ARGUMENT, 1, "'1' is not a label");
    wrong("i\xc3\xa4", "2x3", BP_E_ARGUMENT, 1, "byte 195");
    wrong("i\tj", "2x3", BP_E_ARGUMENT, 1, "byte 9 ");
    wrong("i.j", "2x3", BP_E_ARGUMENT, 1, "operand 0 has a '.'");
    wrong("ij,..j", "2x3,3", BP_E_ARGUMENT, 3, "operand 1 has a '.'");
    wrong("ij->i.", "2x3", BP_E_ARGUMENT, 5, "the output has a '.'");
    wrong("...i...", "2x3", BP_E_ARGUMENT, 4, "second ellipsis");
    wrong("i->......", "2", BP_E_ARGUMENT, 6, "the output has a second ellipsis");
    wrong("ij-k", "2x3", BP_E_ARGUMENT, 2, "'-' without");
    wrong("ij-", "2x3", BP_E_ARGUMENT, 2, "'-' without");
    wrong("ij>k", "2x3", BP_E_ARGUMENT, 2, "'>' is not a label");
    wrong("i->i->", "2", BP_E_ARGUMENT, 4, "second \"->\"");
    wrong("ij->i,j", "2x3", BP_E_ARGUMENT, 5, "the output has a ','");
    wrong("i,j,k", "2,3", BP_E_ARGUMENT, 3, "more operands than the 2");
    wrong("i", "2,3", BP_E_ARGUMENT, 1, "has 1 operand, but 2");
    wrong("i->", "2,3", BP_E_ARGUMENT, 3, "has 1 operand, but 2");
    wrong("ij->ii", "2x3", BP_E_ARGUMENT, 5, "label i twice");
    wrong("ij->ik", "2x3", BP_E_ARGUMENT, 5, "label k, which no operand has");
    wrong("ij,jk->iZ", "2x3,3x4", BP_E_ARGUMENT, 8, "label Z, which no operand has");
    wrong("ijk", "2x3", BP_E_SHAPE, 2, "2 dimensions, but 3 labels");
    wrong("i", "2x3", BP_E_SHAPE, 1, "2 dimensions, but 1 label");
    wrong("i,j", "2x3,3", BP_E_SHAPE, 2, "operand 0 has 2 dimensions, but 1 label");
    wrong("ab...c", "2x3", BP_E_SHAPE, 5, "3 labels and an ellipsis");
    wrong("ii", "2x3", BP_E_SHAPE, 1, "twice in operand 0, for sizes 2 and 3");
    wrong("ii", "1x3", BP_E_SHAPE, 1, "a diagonal needs equal ones");
    wrong("ij,jk", "2x3,4x5", BP_E_SHAPE, 3, "label j has size 4 in operand 1 and 3 before");
    wrong("...i,...i", "2x3,4x3", BP_E_SHAPE, 5, "of the ellipsis has size 4");
    wrong("i", "-2", BP_E_SHAPE, 0, "size -2");
}

static void long_texts_are_shortened(void **state) {
    (void)state;
    char expression[400];
    bp_contraction_path *path;
    memset(expression, 'i', sizeof expression - 1);
    expression[sizeof expression - 1] = 0;
    expression[200] = '!';
    assert_int_equal(text_path(&path, NULL, expression, "2"), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "at offset 200 of the expression\n  ...i"));
    assert_true(strlen(bp_last_error()) < 250);
    const char *shown = strchr(bp_last_error(), '\n') + 1, *caret = strrchr(bp_last_error(), '\n') + 1;
    assert_int_equal(shown[strspn(caret, " ")], '!');
}

static bp_status lists(int output_count, const int *output, const int *a, int a_count, const int *b, int b_count) {
    bp_einsum_operand operands[] = {{2, (const int64_t[]){2, 3}, a, a_count}, {2, (const int64_t[]){3, 4}, b, b_count}};
    bp_contraction_path *path;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    bp_status status = bp_einsum_path_sublists(&path, NULL, 2, operands, output_count, output);
    if (status == BP_OK) {
        assert_int_equal(bp_contraction_path_describe(path, &info), BP_OK);
        assert_int_equal(info.output_ndim, 2);
        bp_contraction_path_release(path);
    }
    return status;
}

static void sublists(void **state) {
    (void)state;
    int a[] = {70000, 51}, b[] = {51, 2000000000}, out[] = {2000000000, 70000}, twice[] = {51, 51},
        negative[] = {-2, 3}, strange[] = {7};
    assert_int_equal(lists(2, out, a, 2, b, 2), BP_OK);
    assert_int_equal(lists(BP_EINSUM_IMPLICIT, NULL, a, 2, b, 2), BP_OK);
    assert_int_equal(lists(2, twice, a, 2, b, 2), BP_E_ARGUMENT);
    assert_string_equal(bp_last_error(), "einsum: the output has label z twice, at index 1 of the list of the output");
    assert_int_equal(lists(2, out, a, 2, negative, 2), BP_E_ARGUMENT);
    assert_string_equal(bp_last_error(),
                        "einsum: a label -2; labels are 0 or more, at index 0 of the list of operand 1");
    assert_int_equal(lists(1, strange, a, 2, b, 2), BP_E_ARGUMENT);
    assert_non_null(strstr(bp_last_error(), "label H, which no operand has"));
    assert_int_equal(lists(2, out, a, 1, b, 2), BP_E_SHAPE);
    assert_int_equal(lists(2, NULL, a, 2, b, 2), BP_E_ARGUMENT);
    assert_int_equal(lists(-2, NULL, a, 2, b, 2), BP_E_ARGUMENT);
    assert_int_equal(lists(0, NULL, NULL, 2, b, 2), BP_E_ARGUMENT);
    assert_int_equal(lists(0, NULL, a, -1, b, 2), BP_E_ARGUMENT);
}

static void arguments(void **state) {
    (void)state;
    bp_contraction_path *path;
    bp_einsum_operand operand = {1, (const int64_t[]){2}, NULL, 0}, bad = {2, NULL, NULL, 0},
                      minus = {-1, NULL, NULL, 0};
    assert_int_equal(bp_einsum_path(NULL, NULL, "i", 1, &operand), BP_E_ARGUMENT);
    assert_int_equal(bp_einsum_path(&path, NULL, NULL, 1, &operand), BP_E_ARGUMENT);
    assert_int_equal(bp_einsum_path(&path, NULL, "i", 0, &operand), BP_E_ARGUMENT);
    assert_int_equal(bp_einsum_path(&path, NULL, "i", 1, NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_einsum_path(&path, NULL, "ij", 1, &bad), BP_E_ARGUMENT);
    assert_int_equal(bp_einsum_path(&path, NULL, "", 1, &minus), BP_E_ARGUMENT);
    bp_einsum_search search = {.struct_size = 1};
    assert_int_equal(bp_einsum_path(&path, &search, "i", 1, &operand), BP_E_ARGUMENT);
    const bp_einsum_search searches[] = {{.strategy = (bp_path_strategy)99},
                                         {.objective = (bp_path_objective)99},
                                         {.factor = -1},
                                         {.seconds = -1},
                                         {.trials = -1},
                                         {.memory_limit = -2},
                                         {.path = (const int[]){0}},
                                         {.path_counts = (const int[]){1}},
                                         {.path_steps = 1},
                                         {.factor = 2}};
    for (size_t i = 0; i < sizeof searches / sizeof searches[0]; i++) {
        search = searches[i];
        search.struct_size = sizeof search;
        assert_int_equal(bp_einsum_path(&path, &search, "i", 1, &operand), BP_E_ARGUMENT);
    }
    search = (bp_einsum_search){.struct_size = sizeof search, .dtype = (bp_dtype)99};
    assert_int_equal(bp_einsum_path(&path, &search, "i", 1, &operand), BP_E_DTYPE);
    bp_contraction_path_release(NULL);
    assert_string_equal(bp_contraction_path_text(NULL), "");
    assert_int_equal(bp_contraction_path_describe(NULL, NULL), BP_E_ARGUMENT);
}

static void names(void **state) {
    (void)state;
    bp_path_strategy strategy;
    bp_path_objective objective;
    int64_t trials;
    double factor;
    for (int i = 0; strcmp(bp_path_strategy_name((bp_path_strategy)i), "?") != 0; i++) {
        assert_int_equal(bp_path_strategy_from_name(bp_path_strategy_name((bp_path_strategy)i), &strategy, NULL),
                         BP_OK);
        assert_int_equal(strategy, i);
    }
    assert_int_equal(bp_path_strategy_from_name("random-greedy-128", &strategy, &trials), BP_OK);
    assert_true(strategy == BP_PATH_RANDOM_GREEDY && trials == 128);
    assert_int_equal(bp_path_strategy_from_name("dynamic-programming", &strategy, NULL), BP_OK);
    assert_int_equal(strategy, BP_PATH_DP);
    static const char *const bad[] = {"random-greedy-", "random-greedy-0", "random-greedy--3", "greedy-2", "", NULL};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(bp_path_strategy_from_name(bad[i], &strategy, NULL), BP_E_BAD_VALUE);
    }
    assert_int_equal(bp_path_objective_from_name("combo-256", &objective, &factor), BP_OK);
    assert_true(objective == BP_MINIMIZE_COMBO && factor == 256);
    assert_int_equal(bp_path_objective_from_name("flops-2", &objective, &factor), BP_E_BAD_VALUE);
    assert_non_null(strstr(bp_last_error(), "flops, size, write, combo, limit"));
    assert_string_equal(bp_path_objective_name((bp_path_objective)9), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_are_interpreted),
        cmocka_unit_test(invalid_expressions_are_refused),
        cmocka_unit_test(long_texts_are_shortened),
        cmocka_unit_test(sublists),
        cmocka_unit_test(arguments),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
