/* test_builds.c - tests the choice among builds of one library, with offers made by hand. */
#include "dispatch/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { MOST = 5 };

static bp_provider first_provider, second_provider;
static bp_library_info libraries[MOST];
static bp__candidate candidates[MOST];
static bp__offer offers[MOST];
static bp__choice choice;

/* Begins a choice by calibrated times. */
static int begin(void **state) {
    (void)state;
    memset(offers, 0, sizeof offers);
    memset(&choice, 0, sizeof choice);
    choice.offers = offers;
    choice.predicted = true;
    return 0;
}

static bp__offer *add(const char *family, bool loaded, double time) {
    const int i = choice.count++;
    libraries[i] = (bp_library_info){.id = "a build", .family = family, .loaded = loaded};
    candidates[i] = (bp__candidate){.provider = &first_provider, .library = &libraries[i]};
    offers[i].candidate = &candidates[i];
    offers[i].verdict = (bp_verdict)BP_VERDICT_INIT;
    offers[i].verdict.algorithm = "gemm";
    offers[i].order = time;
    return &offers[i];
}

static void the_first_of_equals(void **state) {
    (void)state;
    add("openblas", false, 102);
    add("blis", false, 101);
    add("openblas", false, 100);
    add("openblas", false, 100.5);
    assert_int_equal(bp__choice_build(&choice, 2), 0);
    choice.chosen = 0;
    bp__choice_tell_build(&choice, 2);
    assert_non_null(strstr(bp__text_get(&choice.decision), "hardly faster"));
    assert_non_null(strstr(bp__text_get(&choice.decision), "first in the list"));
    bp__text_free(&choice.decision);
}

static void the_loaded_one_of_equals(void **state) {
    (void)state;
    add("openblas", false, 101);
    add("openblas", true, 102);
    add("openblas", true, 102);
    add("openblas", false, 100);
    assert_int_equal(bp__choice_build(&choice, 3), 1);
    choice.chosen = 1;
    bp__choice_tell_build(&choice, 3);
    assert_non_null(strstr(bp__text_get(&choice.decision), "loaded by the program"));
    bp__text_free(&choice.decision);
    libraries[3].loaded = 1;
    assert_int_equal(bp__choice_build(&choice, 3), 1);
    libraries[1].loaded = libraries[2].loaded = 0;
    assert_int_equal(bp__choice_build(&choice, 3), 3);
    choice.chosen = 3;
    bp__choice_tell_build(&choice, 3);
    assert_string_equal(bp__text_get(&choice.decision), "");
}

/* What is slower, of another kind, or cannot run does not take the place of the fastest one. */
static void others_are_no_builds(void **state) {
    (void)state;
    bp__offer *slower = add("openblas", true, 103.5);
    add("blis", true, 100);
    bp__offer *same = add("openblas", true, 101);
    add("openblas", false, 100);
    add("", true, 100);
    assert_int_equal(bp__choice_build(&choice, 3), 2);
    same->verdict.algorithm = "gemv";
    assert_int_equal(bp__choice_build(&choice, 3), 3);
    same->verdict.algorithm = "gemm";
    candidates[2].provider = &second_provider;
    assert_int_equal(bp__choice_build(&choice, 3), 3);
    candidates[2].provider = &first_provider;
    same->rank = 1;
    assert_int_equal(bp__choice_build(&choice, 3), 3);
    same->rank = 0;
    same->failed = true;
    assert_int_equal(bp__choice_build(&choice, 3), 3);
    same->failed = false;
    same->verdict.reason = BP_REASON_EXCLUDED;
    assert_int_equal(bp__choice_build(&choice, 3), 3);
    slower->order = 103;
    assert_int_equal(bp__choice_build(&choice, 3), 0);
    candidates[3].library = NULL;
    assert_int_equal(bp__choice_build(&choice, 3), 3);
}

/* Estimates have no noise, and times of the problem itself or of a neighbour are exact. */
static void only_calibrated_times_are_compared_so(void **state) {
    (void)state;
    add("openblas", true, 101);
    add("openblas", false, 100);
    assert_int_equal(bp__choice_build(&choice, 1), 0);
    assert_int_equal(bp__choice_build(&choice, -1), -1);
    choice.measured = true;
    assert_int_equal(bp__choice_build(&choice, 1), 1);
    choice.measured = false;
    choice.neighbour[0] = 'x';
    assert_int_equal(bp__choice_build(&choice, 1), 1);
    choice.neighbour[0] = '\0';
    choice.predicted = false;
    assert_int_equal(bp__choice_build(&choice, 1), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_first_of_equals, begin),
        cmocka_unit_test_setup(the_loaded_one_of_equals, begin),
        cmocka_unit_test_setup(others_are_no_builds, begin),
        cmocka_unit_test_setup(only_calibrated_times_are_compared_so, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
