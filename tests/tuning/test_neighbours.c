/* test_neighbours.c - tests choices by the record of a product of similar sizes. */
#include "tuning/support_tuning.h"

#include "store/store.h"

enum { STEADY, QUICK, WRONG, IDLE, MOODY };

static void a_neighbour_decides_until_the_class_is_measured(void **state) {
    (void)state;
    assert_string_equal(multiply(NOW, 40), "quick");
    const int runs = seen.runs[STEADY];
    assert_string_equal(multiply(RIVALS_ONLY, 42), "quick");
    assert_int_equal(seen.runs[STEADY], runs);
    assert_contains(decision(RIVALS_ONLY, 42), "lowest time of 3 candidates that accept, from a measured neighbour "
                                               "40x40 @ 40x40 -> 40x40, just now");
    const bp_candidate_info steady = rival(RIVALS_ONLY, 42, "steady");
    assert_int_equal(steady.time_source, BP_TIME_NEIGHBOUR);
    assert_true(steady.cost_ns == 400000 && steady.measured_ns == 0);
    assert_string_equal(bp_time_source_name(BP_TIME_NEIGHBOUR), "neighbour");
    tuning_restart(); /* by the file */
    assert_string_equal(multiply(RIVALS_ONLY, 42), "quick");
    seen.times[STEADY] = 1000;
    assert_string_equal(multiply(NOW, 42), "steady"); /* it is measured all the same */
    assert_contains(decision(RIVALS_ONLY, 42), "lowest measured time");
}

/* A class that a neighbour decides is measured when its calls have taken enough time. */
static void a_class_with_a_neighbour_is_due_later(void **state) {
    (void)state;
    enum { MOST = 100000 };
    multiply(NOW, 40);
    seen.times[STEADY] = 1000;
    int calls = 0;
    while (calls < MOST && strcmp(multiply("benchmark=true, " RIVALS_ONLY, 42), "quick") == 0) {
        calls++;
    }
    assert_true(calls > 100 && calls < MOST);
    assert_contains(decision(RIVALS_ONLY, 42), "lowest measured time");
}

static void sizes_are_within_a_factor(void **state) {
    (void)state;
    multiply(NOW, 40);
    assert_string_equal(multiply(RIVALS_ONLY, 32), "quick");
    assert_string_equal(multiply(RIVALS_ONLY, 50), "quick");
    assert_string_equal(multiply(RIVALS_ONLY, 31), "steady");
    assert_string_equal(multiply(RIVALS_ONLY, 51), "steady");
}

static void the_nearest_decides(void **state) {
    (void)state;
    multiply(NOW, 40);
    assert_string_equal(multiply(RIVALS_ONLY, 41), "quick");
    seen.times[STEADY] = 1000;
    assert_string_equal(multiply(NOW, 46), "steady");
    assert_string_equal(multiply(RIVALS_ONLY, 42), "quick");
    assert_string_equal(multiply(RIVALS_ONLY, 44), "steady");
    assert_contains(decision(RIVALS_ONLY, 44), "neighbour 46x46");
    assert_string_equal(multiply(RIVALS_ONLY, 36), "quick");
}

/* 400 us where 1.0 was expected, and 380 us where 1.0 was: if the second is expected to take 1.2 times as long as the
 * first, it is slower. */
static void times_follow_the_expected_times(void **state) {
    (void)state;
    for (int i = 0; i < RIVALS; i++) {
        seen.estimates[i] = 1;
    }
    seen.times[QUICK] = 380000;
    assert_string_equal(multiply(NOW, 40), "quick");
    seen.estimates[QUICK] = 1.2;
    assert_string_equal(multiply(RIVALS_ONLY, 42), "steady");
    assert_true(rival(RIVALS_ONLY, 42, "quick").cost_ns > 455000 && rival(RIVALS_ONLY, 42, "quick").cost_ns < 457000);
    assert_string_equal(multiply(RIVALS_ONLY, 40), "quick"); /* its own time needs no estimate */
}

static void constraints_and_layouts_are_equal(void **state) {
    (void)state;
    static double a[2][64 * 64], c[64 * 64];
    bp_view in, other, out;
    bp_explanation *e;
    bp_options *options;
    multiply(NOW, 40);
    assert_string_equal(multiply(RIVALS_ONLY ", num_threads=1", 42), "steady");
    multiply(NOW ", deterministic=run", 41);
    assert_string_equal(multiply(RIVALS_ONLY ", deterministic=run", 42), "steady");
    assert_string_equal(multiply(RIVALS_ONLY ", tuning.store=off", 42), "steady");
    assert_string_equal(multiply("benchmark=true, tuning.store=off, " RIVALS_ONLY, 42), "steady");
    assert_string_equal(multiply("dispatch.exclude=\"native, rivals:moody\"", 42), "steady");
    bp_view_matrix(&in, a[0], BP_F64, 42, 42);
    bp_view_matrix(&other, a[1], BP_F64, 42, 42);
    bp_view_matrix(&out, c, BP_F64, 42, 42);
    assert_int_equal(bp_options_new(&options, RIVALS_ONLY), BP_OK);
    for (int strided = 0; strided < 3; strided++) {
        int64_t strides[3][2] = {{42, 1}, {1, 42}, {64, 1}};
        in.tensor.strides = strides[strided];
        assert_int_equal(bp_matmul_explain(&e, options, &in.tensor, &other.tensor, &out.tensor), BP_OK);
        const bool near = strstr(bp_explanation_decision(e), "neighbour") != NULL;
        assert_true(near == (strided == 0));
        bp_explanation_release(e);
    }
    bp_options_release(options);
}

/* The last one was not measured, because the time was over. Then nothing is known of it at other sizes. */
static void every_candidate_needs_a_time(void **state) {
    (void)state;
    for (int i = 0; i < RIVALS; i++) {
        seen.estimates[i] = 1e6 + 1e3 * i;
    }
    seen.times[QUICK] = 1000000000;
    multiply(NOW, 40);
    assert_contains(cache_file("tuning.txt"), "|- rivals:rivals:moody@1");
    assert_null(strstr(decision(RIVALS_ONLY, 42), "neighbour"));
}

/* ---- Files ---- */

static char key[512], value[1024];

static int copy_record(void *user, const bp_tuning_record *record) {
    (void)user;
    bp__copy_text(key, sizeof key, record->problem);
    bp__copy_text(value, sizeof value, record->times);
    return 0;
}

/* Puts the record of 40x40 back under other sizes. */
static void put(const char *sizes, const char *times) {
    char changed[1024];
    snprintf(changed, sizeof changed, "matmul f64 %s%s", sizes, strstr(key, "; "));
    const bp__store_record record = {.key = changed, .value = times};
    assert_int_equal(bp__store_put("tuning.txt", &record, 1), BP_OK);
}

static void hostile_records_are_ignored(void **state) {
    (void)state;
    static const char *const sizes[] = {
        "",
        "40",
        "40x",
        "40x40",
        "40x40 @",
        "40x40 @ 40",
        "40x40 @ 41x40 -> 40x40",
        "0x0 @ 0x0 -> 0x0",
        "-40x40 @ 40x40 -> 40x40",
        "40x40 @ 40x-40 -> 40x40",
        "1e1x40 @ 40x40 -> 40x40",
        "999999999999999999999999x40 @ 40x40 -> 40x40",
        "40x40x40 @ 40x40 -> 40x40",
        "7 x 40x40 @ 40x40 -> 40x40",
        "nanxnan @ nanxnan -> nanxnan",
        " x 40x40 @ 40x40",
    };
    static const char *const times[] = {
        "",
        "|",
        "||||",
        "took",
        "|1/1 rivals:rivals:quick@1",
        ", expected times estimated|",
        ", expected times estimated|1/1 rivals:rivals:steady@1|1/0 rivals:rivals:quick@1|1/1 rivals:rivals:moody@1",
        ", expected times estimated|1/1 rivals:rivals:steady@1|-1/1 rivals:rivals:quick@1|1/1 rivals:rivals:moody@1",
        ", expected times estimated|1/1 rivals:rivals:steady@1|nan/1 rivals:rivals:quick@1|1/1 rivals:rivals:moody@1",
        (", expected times estimated|1/1 rivals:rivals:steady@1|1e300/1e-300 rivals:rivals:quick@1|1/1 "
         "rivals:rivals:moody@1"),
        ", expected times calibrated|2/1 rivals:rivals:steady@1|1/1 rivals:rivals:quick@1|2/1 rivals:rivals:moody@1",
    };
    multiply(NOW, 40);
    assert_int_equal(bp_tuning_visit(copy_record, NULL), BP_OK);
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        assert_int_equal(bp_tuning_clear(), BP_OK);
        put(sizes[i], value);
        tuning_restart();
        assert_null(strstr(decision(RIVALS_ONLY, 42), "neighbour"));
    }
    for (int i = 0; i < (int)(sizeof times / sizeof *times); i++) {
        assert_int_equal(bp_tuning_clear(), BP_OK);
        put("40x40 @ 40x40 -> 40x40", times[i]);
        tuning_restart();
        assert_string_equal(multiply(RIVALS_ONLY, 42), "steady");
        assert_null(strstr(decision(RIVALS_ONLY, 42), "neighbour"));
    }
    put("41x41 @ 41x41 -> 41x41", value);
    tuning_restart();
    assert_contains(decision(RIVALS_ONLY, 42), "neighbour 41x41 @ 41x41");
}

static void the_nearest_of_many_is_found(void **state) {
    (void)state;
    enum { MANY = 2000 };
    static char changed[MANY][512];
    static bp__store_record records[MANY];
    multiply(NOW, 40);
    assert_int_equal(bp_tuning_visit(copy_record, NULL), BP_OK);
    for (int i = 0; i < MANY; i++) {
        snprintf(changed[i], sizeof changed[i], "matmul f64 %dx%d @ %dx%d -> %dx%d%s", 30 + i % 40, 30 + i / 40,
                 30 + i / 40, 48, 30 + i % 40, 48, strstr(key, "; "));
        records[i] = (bp__store_record){.key = changed[i], .value = value};
    }
    assert_int_equal(bp__store_put("tuning.txt", records, MANY), BP_OK);
    tuning_restart();
    assert_contains(decision(RIVALS_ONLY, 47), "neighbour 47x47 @ 47x48 -> 47x48");
    assert_contains(decision(RIVALS_ONLY, 39), "neighbour 40x40 @ 40x40 -> 40x40");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tuning_setup, tuning_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_neighbour_decides_until_the_class_is_measured),
        TEST(a_class_with_a_neighbour_is_due_later),
        TEST(sizes_are_within_a_factor),
        TEST(the_nearest_decides),
        TEST(times_follow_the_expected_times),
        TEST(constraints_and_layouts_are_equal),
        TEST(every_candidate_needs_a_time),
        TEST(hostile_records_are_ignored),
        TEST(the_nearest_of_many_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
