/* test_budget.c - tests that measuring a class takes no longer than its limit, by a clock that only its runs advance.
 */
#include "tuning/support_tuning.h"

#define MS 1000000LL
enum { STEADY, QUICK, WRONG, IDLE, MOODY };

/* Sets the time of each rival, and an estimate that is equal for all of them. */
static void rivals_take(long long steady, long long quick, long long wrong, long long idle, long long moody) {
    const long long times[RIVALS] = {steady, quick, wrong, idle, moody};
    for (int i = 0; i < RIVALS; i++) {
        seen.times[i] = times[i];
        seen.estimates[i] = 1e6 + 1e3 * i;
    }
}

#define THREE "dispatch.exclude=\"native, rivals:wrong, rivals:idle\""
#define THREE_NOW "benchmark=true, tuning.start=now, " THREE

/* Returns what measuring took, with the call itself, which the fastest of them runs. */
static double spent(const char *settings, const char *fastest) {
    const int64_t before = bp__now_ns();
    assert_string_equal(multiply(settings, 16), fastest);
    return (double)(bp__now_ns() - before);
}

static void a_class_takes_at_most_fifty_calls(void **state) {
    (void)state;
    rivals_take(6 * MS, 4 * MS, 0, 0, 8 * MS);
    assert_true(spent(THREE_NOW, "quick") <= 51.0 * 4 * MS);
    for (int i = 0; i < RIVALS; i++) {
        assert_true(i == WRONG || i == IDLE || seen.runs[i] >= 4); /* each was compared */
    }
}

static void a_short_class_takes_at_most_20_ms(void **state) {
    (void)state;
    rivals_take(390000, 385000, 0, 0, 380000); /* seven turns of all would take longer */
    assert_true(spent(THREE_NOW, "moody") <= 20.0 * MS + 380000);
    assert_true(seen.runs[STEADY] >= 8 && seen.runs[QUICK] >= 8);
}

/* Two runs of each are within the limit, but not seven turns: those that are slower stop early. */
static void slower_ones_leave_their_time_to_others(void **state) {
    (void)state;
    rivals_take(2 * MS, 20 * MS, 0, 0, 2 * MS + MS / 10);
    assert_true(spent(THREE_NOW, "steady") <= 51.0 * 2 * MS);
    assert_true(seen.runs[QUICK] <= 2);
    assert_true(seen.runs[MOODY] > 8);
}

/* The estimate of the last one is a thousandth of its time. A run is not interrupted, but there is only one. */
static void what_does_not_fit_is_not_measured(void **state) {
    (void)state;
    rivals_take(2 * MS, 1000 * MS, 0, 0, MS);
    seen.estimates[MOODY] = 1.5e6; /* after the one that takes all of the time */
    assert_true(spent(THREE_NOW, "steady") <= 1000.0 * MS + 51.0 * 2 * MS);
    assert_int_equal(seen.runs[QUICK], 1);
    assert_int_equal(seen.runs[MOODY], 0);
    assert_contains(cache_file("tuning.txt"), "|- rivals:rivals:moody@1");
    assert_true(rival(THREE, 16, "moody").measured_ns == 0);
    assert_true(rival(THREE, 16, "quick").measured_ns == 1000.0 * MS);
    assert_string_equal(multiply(THREE, 16), "steady"); /* the record is used */
}

/* Loading a library is not counted, so that it takes no time from those that are measured later. */
static void the_first_use_of_a_library_is_not_counted(void **state) {
    (void)state;
    rivals_take(MS, MS / 2, 0, 0, 2 * MS);
    seen.first_ns = 500 * MS;
    const double took = spent(THREE_NOW, "quick");
    assert_true(took >= 500.0 * MS && took <= 500.0 * MS + 51.0 * MS / 2);
    assert_true(seen.runs[STEADY] >= 4 && seen.runs[QUICK] >= 4 && seen.runs[MOODY] >= 2);
    assert_contains(cache_file("tuning.txt"), "with 500 ms for the first use of libraries");
    seen.first_ns = 5 * MS; /* the library is loaded when the next class is measured */
    multiply(THREE_NOW, 18);
    const char *record = strstr(cache_file("tuning.txt"), "18x18");
    assert_non_null(record);
    assert_null(strstr(record, "first use"));
}

/* The program's call is not delayed further, and the class is measured at another time. */
static void nothing_is_kept_if_the_time_is_over_at_once(void **state) {
    (void)state;
    rivals_take(MS, MS / 2, 0, 0, 2 * MS);
    multiply(THREE_NOW, 16);
    const int runs = seen.runs[QUICK];
    seen.first_ns = 500 * MS; /* of the first candidate, which is not a library's first use */
    assert_string_equal(multiply(THREE_NOW, 30), "steady");
    assert_int_equal(seen.runs[QUICK], runs);
    assert_null(strstr(cache_file("tuning.txt"), "30x30"));
    assert_string_equal(multiply(THREE, 30), "steady");
}

/* Estimates say that wrong ones are far faster than all others, which are measured when those have been refused. */
static void only_wrong_ones_are_measured_at_first(void **state) {
    (void)state;
    rivals_take(6 * MS, 5 * MS, 0, 0, 4 * MS);
    seen.estimates[WRONG] = seen.estimates[IDLE] = 1.0;
    assert_string_equal(multiply(NOW, 16), "steady");
    assert_null(strstr(cache_file("tuning.txt"), "rivals"));
    assert_string_equal(multiply(NOW, 17), "moody");
}

/* A wrong result at once would make the limit 20 ms. The others are measured when it has been found. */
static void a_wrong_result_takes_no_time_from_others(void **state) {
    (void)state;
    rivals_take(6 * MS, 5 * MS, 0, 0, 4 * MS);
    seen.estimates[WRONG] = seen.estimates[IDLE] = 0.9e6;
    assert_true(spent(NOW, "moody") <= 52.0 * 4 * MS);
    assert_true(seen.runs[STEADY] >= 4 && seen.runs[QUICK] >= 4);
    assert_contains(cache_file("quarantine.txt"), "rivals:rivals:wrong");
    assert_contains(cache_file("quarantine.txt"), "rivals:rivals:idle");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tuning_setup, tuning_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_class_takes_at_most_fifty_calls),         TEST(a_short_class_takes_at_most_20_ms),
        TEST(slower_ones_leave_their_time_to_others),    TEST(what_does_not_fit_is_not_measured),
        TEST(the_first_use_of_a_library_is_not_counted), TEST(nothing_is_kept_if_the_time_is_over_at_once),
        TEST(only_wrong_ones_are_measured_at_first),     TEST(a_wrong_result_takes_no_time_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
