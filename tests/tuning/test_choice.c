/* test_choice.c - tests when candidates are measured, and what the measured times decide. */
#include "tuning/support_tuning.h"

#include "store/store.h"

#include <time.h>
#include <unistd.h>

static void off_measures_and_writes_nothing(void **state) {
    (void)state;
    assert_string_equal(multiply(RIVALS_ONLY, 4), "steady");
    for (int i = 0; i < 20; i++) {
        multiply(RIVALS_ONLY, 4);
    }
    assert_int_equal(seen.runs[1], 0);
    assert_false(cache_file_exists("tuning.txt"));
    assert_false(cache_file_exists("quarantine.txt"));
    assert_contains(decision(RIVALS_ONLY, 4), "lowest estimated time of 5");
}

static void now_measures_before_the_first_call(void **state) {
    (void)state;
    assert_string_equal(multiply(NOW, 16), "quick");
    assert_int_equal(seen.writes, 1); /* the program's result is no scratch memory */
    const char *file = cache_file("tuning.txt");
    assert_contains(file, "matmul f64 16x16 @ 16x16 -> 16x16; ");
    assert_contains(file, "rivals:rivals:quick@1");
    assert_contains(file, "rivals:rivals:moody@1");
    assert_contains(decision(NOW, 16), "lowest measured time of 3 candidates that accept; measured just now");
    assert_true(rival(NOW, 16, "quick").measured_ns >= 20000);
    assert_true(rival(NOW, 16, "steady").measured_ns >= 400000);
    int runs = seen.runs[0];
    assert_string_equal(multiply(NOW, 16), "quick"); /* not measured again */
    assert_int_equal(seen.runs[0], runs);
    bp_tuning_info info = {.struct_size = sizeof info};
    assert_int_equal(bp_tuning_stats(&info), BP_OK);
    assert_int_equal(info.classes, 1);
    assert_true(info.spent_ns > 800000);
}

/* The fastest at one size is the slowest at another. */
static void each_size_is_a_class(void **state) {
    (void)state;
    assert_string_equal(multiply(NOW, 4), "moody");
    assert_string_equal(multiply(NOW, 16), "quick");
    assert_string_equal(multiply(NOW, 4), "moody");
}

/* The first calls are not delayed. The result of each call is written once, by one candidate. */
static void auto_measures_what_takes_much_time(void **state) {
    (void)state;
    enum { MOST = 20000 };
    const char *settings = "benchmark=true, " RIVALS_ONLY;
    assert_string_equal(multiply(settings, 16), "steady");
    assert_false(cache_file_exists("tuning.txt"));
    int calls = 1;
    while (calls < MOST && seen.runs[1] == 0) {
        assert_string_equal(multiply(settings, 16), "steady");
        calls++;
    }
    assert_true(calls > 100 && calls < MOST); /* 50 times the cost of 1 ms and more, of calls of 0.4 ms */
    assert_int_equal(seen.writes, calls);
    assert_string_equal(multiply(settings, 16), "quick"); /* from the next call on */
    assert_int_equal(seen.writes, calls + 1);
    assert_contains(cache_file("tuning.txt"), "rivals:rivals:quick");
}

static void later_processes_use_the_times(void **state) {
    (void)state;
    multiply(NOW, 16);
    int runs = seen.runs[0];
    for (int i = 0; i < 3; i++) {
        tuning_restart();
        assert_string_equal(multiply(RIVALS_ONLY, 16), "quick"); /* also with benchmark off */
        assert_int_equal(seen.runs[0], runs);
    }
    assert_string_equal(multiply(RIVALS_ONLY ", tuning.store=off", 16), "steady");
    assert_string_equal(multiply(RIVALS_ONLY, 32), "steady"); /* another class */
    assert_string_equal(multiply("num_threads=1, " RIVALS_ONLY, 16),
                        multiply("num_threads=1, " RIVALS_ONLY, 32)); /* so is another constraint */
}

static void read_only_uses_times_and_writes_none(void **state) {
    (void)state;
    multiply(NOW, 16);
    tuning_restart();
    char before[4096];
    bp__copy_text(before, sizeof before, cache_file("tuning.txt"));
    assert_string_equal(multiply(RIVALS_ONLY ", tuning.store=read", 16), "quick");
    assert_string_equal(multiply(NOW ", tuning.store=read", 32), "quick"); /* measured, for this process */
    assert_string_equal(cache_file("tuning.txt"), before);
    tuning_restart();
    assert_string_equal(multiply(RIVALS_ONLY ", tuning.store=read", 32), "steady");
}

/* Results must be the same in the next run, so no measurement may decide. Only a file that is never written may. */
static void deterministic_ignores_times(void **state) {
    (void)state;
    char frozen[160];
    multiply("benchmark=true, deterministic=run, " RIVALS_ONLY, 16);
    assert_int_equal(seen.runs[1], 0);
    assert_string_equal(multiply(NOW, 16), "quick");
    assert_string_equal(multiply(RIVALS_ONLY ", deterministic=run", 16), "steady");
    assert_string_equal(multiply(NOW ", deterministic=run", 16), "steady"); /* measured, but not used */
    int runs = seen.runs[1];
    assert_true(runs > 1);
    assert_contains(decision(NOW ", deterministic=run", 16), "not used, because deterministic is set");
    assert_int_equal(seen.runs[1], runs); /* once */
    assert_string_equal(multiply(RIVALS_ONLY ", deterministic=run", 16), "steady");
    assert_null(strstr(decision(RIVALS_ONLY ", deterministic=run", 16), "lowest measured"));

    snprintf(frozen, sizeof frozen, "%s/frozen.txt", cache_folder);
    assert_int_equal(bp_tuning_export(frozen), BP_OK);
    assert_int_equal(chdir(cache_folder), 0);
    setenv("BACKPLANE_TUNING_STORE_PATH", "frozen.txt", 1);
    tuning_restart();
    assert_string_equal(multiply(RIVALS_ONLY, 16), "quick");
    assert_string_equal(multiply(RIVALS_ONLY ", deterministic=run", 16), "quick");
    assert_string_equal(multiply(NOW ", deterministic=run", 18), "steady"); /* not in the file */
    assert_int_equal(bp_tuning_clear(), BP_E_READ_ONLY);
    assert_string_equal(multiply(NOW, 17), "quick");
    assert_null(strstr(cache_file("frozen.txt"), "17x17"));
    assert_null(strstr(cache_file("tuning.txt"), "17x17"));
    setenv("BACKPLANE_TUNING_STORE_PATH", "/no/such/file", 1);
    tuning_restart();
    assert_string_equal(multiply(RIVALS_ONLY, 16), "steady");
    char warning[512] = "";
    assert_int_equal(bp_warning_at(0, warning, sizeof warning), 1);
    assert_contains(warning, "tuning.store_path=/no/such/file");
    assert_int_equal(chdir("/"), 0);
}

/* A record is used only for the same candidates. */
static bp__store_record changed;
static char changed_key[512], changed_value[1024];

static int change_record(void *user, const bp_tuning_record *record) {
    (void)user;
    bp__copy_text(changed_key, sizeof changed_key, record->problem);
    bp__copy_text(changed_value, sizeof changed_value, record->times);
    changed = (bp__store_record){.key = changed_key, .value = changed_value};
    return 1;
}

static void other_candidates_make_a_record_void(void **state) {
    (void)state;
    multiply(NOW, 16);
    assert_int_equal(bp_tuning_visit(change_record, NULL), BP_OK);
    *strstr(changed_value, "quick@1") = 'Q'; /* as if that one had been another version */
    assert_int_equal(bp__store_put("tuning.txt", &changed, 1), BP_OK);
    tuning_restart();
    assert_string_equal(multiply(RIVALS_ONLY, 16), "steady");
    assert_contains(decision(RIVALS_ONLY, 16), "measured times are not used, because other candidates");
    assert_string_equal(multiply(NOW, 16), "quick"); /* measured again */
}

static void held_plans_keep_their_candidate(void **state) {
    (void)state;
    static double a[256], c[256];
    bp_plan *plan;
    bp_view in, out;
    bp_plan_info info = {.struct_size = sizeof info};
    bp_options *options;
    bp_view_matrix(&in, a, BP_F64, 16, 16);
    bp_view_matrix(&out, c, BP_F64, 16, 16);
    assert_int_equal(bp_options_new(&options, RIVALS_ONLY), BP_OK);
    assert_int_equal(bp_matmul_plan(&plan, options, &in.tensor, &in.tensor, &out.tensor), BP_OK);
    multiply(NOW, 16);
    assert_int_equal(bp_plan_describe(plan, &info), BP_OK);
    assert_string_equal(info.algorithm, "steady");
    const bp_operand operands[] = {{a, 0}, {a, 0}, {c, 0}};
    int runs = seen.runs[0];
    assert_int_equal(bp_execute(plan, operands, NULL), BP_OK);
    assert_int_equal(seen.runs[0], runs + 1);
    bp_plan_release(plan);
    bp_options_release(options);
}

/* The old values of C count: they are read once, and never by a measurement. */
static void accumulating_calls_add_once(void **state) {
    (void)state;
    double a[16], c[16];
    bp_view in, out;
    bp_scope *scope;
    for (int i = 0; i < 16; i++) {
        a[i] = 1;
        c[i] = 100;
    }
    bp_view_matrix(&in, a, BP_F64, 4, 4);
    bp_view_matrix(&out, c, BP_F64, 4, 4);
    assert_int_equal(bp_scope_enter(&scope, NOW), BP_OK);
    assert_int_equal(
        bp_gemm(BP_AS_IS, BP_AS_IS, &(bp_scalar){2, 0}, &in.tensor, &in.tensor, &(bp_scalar){0.5, 0}, &out.tensor),
        BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    for (int i = 0; i < 16; i++) {
        assert_true(c[i] == 58);
    }
    assert_contains(cache_file("tuning.txt"), "+ beta C");
}

static void large_problems_are_not_measured(void **state) {
    (void)state;
    const int64_t many = 5000000; /* two operands of 40 MB */
    double *a = calloc((size_t)many, sizeof *a), c = 1;
    bp_view row, column, out;
    bp_scope *scope;
    bp_plan_info info = {.struct_size = sizeof info};
    assert_non_null(a);
    bp_view_matrix(&row, a, BP_F64, 1, many);
    bp_view_matrix(&column, a, BP_F64, many, 1);
    bp_view_matrix(&out, &c, BP_F64, 1, 1);
    assert_int_equal(bp_scope_enter(&scope, NOW), BP_OK);
    assert_int_equal(bp_matmul(&row.tensor, &column.tensor, &out.tensor), BP_OK);
    assert_int_equal(bp_scope_leave(&scope), BP_OK);
    assert_int_equal(bp_last_plan(&info), BP_OK);
    assert_string_equal(info.algorithm, "steady");
    assert_true(c == 0);
    assert_int_equal(seen.runs[1], 0);
    free(a);
}

static void a_limit_restricts_the_comparison(void **state) {
    (void)state;
    multiply("benchmark_limit=2, blas.preferred=rivals, " NOW, 16); /* steady and wrong */
    assert_int_equal(seen.runs[1], 0);
    assert_true(seen.runs[2] > 0);
}

/* Only what measures, or lists, asks for a library's own list. */
static void the_own_list_of_a_library_is_measured(void **state) {
    (void)state;
    seen.lists = 1;
    assert_string_equal(multiply(RIVALS_ONLY, 16), "steady");
    assert_contains(decision(RIVALS_ONLY, 16), "the only candidate that accepts");
    assert_int_equal(seen.expanded, 0);
    assert_contains(decision("explain.all=true, " RIVALS_ONLY, 16), "the only candidate that accepts"); /* as a run */
    assert_true(seen.expanded > 0);
    bp_candidate_info quick = rival("explain.all=true, " RIVALS_ONLY, 16, "quick");
    assert_true(quick.accepted && !quick.chosen && quick.cost_ns >= 1);
    assert_contains(quick.text, "of the library's own list, which benchmark measures");
    seen.expanded = 0;
    assert_string_equal(multiply("explain.all=true, " RIVALS_ONLY, 16), "steady");
    assert_int_equal(seen.expanded, 0);
    /* Until it is measured it is no faster than the library's choice. */
    assert_string_equal(multiply("benchmark=true, " RIVALS_ONLY, 16), "steady");
    assert_int_equal(seen.runs[1], 0);
    assert_string_equal(multiply(NOW, 16), "quick");
    assert_contains(cache_file("tuning.txt"), "rivals:rivals:quick@1");
    assert_contains(decision(NOW, 16), "lowest measured time of 3 candidates that accept");
    assert_string_equal(rival(NOW, 16, "quick").text, "");
    tuning_restart();
    seen.lists = 1;
    assert_string_equal(multiply(RIVALS_ONLY, 16), "quick"); /* by the record */
}

static int count_record(void *user, const bp_tuning_record *record) {
    assert_true(record->struct_size == sizeof *record);
    assert_true(record->written_s <= (int64_t)time(NULL));
    ++*(int *)user;
    return 1;
}

static int record_count(void) {
    int count = 0;
    assert_int_equal(bp_tuning_visit(count_record, &count), BP_OK);
    return count;
}

static void records_are_exported_cleared_and_imported(void **state) {
    (void)state;
    char path[160];
    snprintf(path, sizeof path, "%s/copy.txt", cache_folder);
    multiply(NOW, 16);
    multiply(NOW, 17);
    assert_int_equal(record_count(), 2);
    assert_int_equal(bp_tuning_export(path), BP_OK);
    assert_int_equal(bp_tuning_clear(), BP_OK);
    assert_int_equal(record_count(), 0);
    assert_string_equal(multiply(RIVALS_ONLY, 16), "steady"); /* at once, in this process too */
    assert_int_equal(bp_tuning_import(path), BP_OK);
    assert_int_equal(record_count(), 2);
    assert_string_equal(multiply(RIVALS_ONLY, 16), "quick");
    assert_int_equal(bp_tuning_import("/no/such/file"), BP_E_NOT_FOUND);
    assert_int_equal(bp_tuning_import(NULL), BP_E_ARGUMENT);
    assert_int_equal(bp_tuning_export(""), BP_E_ARGUMENT);
    assert_int_equal(bp_tuning_visit(NULL, NULL), BP_E_ARGUMENT);
    FILE *other = fopen(path, "w");
    fputs("something else\n", other);
    fclose(other);
    assert_int_equal(bp_tuning_import(path), BP_E_FORMAT);
    char file[256];
    assert_contains(bp_tuning_path(file, sizeof file), "/tuning.txt");
}

static void one_family_may_be_measured_alone(void **state) {
    (void)state;
    assert_string_equal(multiply("matmul.benchmark=true, tuning.start=now, " RIVALS_ONLY, 16), "quick");
    assert_int_equal(bp_tuning_clear(), BP_OK);
    assert_string_equal(multiply("matmul.benchmark=false, fft.benchmark=true, " NOW, 16), "steady");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tuning_setup, tuning_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(off_measures_and_writes_nothing),
        TEST(now_measures_before_the_first_call),
        TEST(each_size_is_a_class),
        TEST(auto_measures_what_takes_much_time),
        TEST(later_processes_use_the_times),
        TEST(read_only_uses_times_and_writes_none),
        TEST(deterministic_ignores_times),
        TEST(other_candidates_make_a_record_void),
        TEST(held_plans_keep_their_candidate),
        TEST(accumulating_calls_add_once),
        TEST(large_problems_are_not_measured),
        TEST(a_limit_restricts_the_comparison),
        TEST(the_own_list_of_a_library_is_measured),
        TEST(records_are_exported_cleared_and_imported),
        TEST(one_family_may_be_measured_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
