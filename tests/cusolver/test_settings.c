/* test_settings.c - the setting cuda.preferred_linalg_library: its words in explanations, runs and warnings. */
#include "cusolver/support_cusolver.h"

typedef struct warnings {
    int count;
    char last[256];
} warnings;

static void note(void *user, const char *text) {
    warnings *w = user;
    w->count++;
    snprintf(w->last, sizeof w->last, "%s", text);
}

static void begin_case(linalg_case *c, int64_t n) {
    *c = new_case(BP_OP_INV, BP_F64);
    make_dominant(add_input(c, 2, I64(n, n), TEST_COMPACT));
    put_case(c, TEST_COMPACT, 0);
}

/* cuSOLVER runs with each word, and there is a sentence about MAGMA. */
static void the_preferred_library(void **state) {
    static const char *const words[] = {"default", "cusolver", "magma"};
    (void)state;
    warnings seen = {0};
    bp_set_warning_handler(note, &seen);
    for (int i = 0; i < 3; i++) {
        linalg_case c;
        char settings[64];
        begin_case(&c, 3 + i);
        snprintf(settings, sizeof settings, "cuda.preferred_linalg_library=%s", words[i]);
        const char *page = explained_case(&c, settings);
        assert_contains(page, "chosen    cusolver");
        const char *refusal =
            strstr(page, "refused: MAGMA is deprecated; as in PyTorch, cuSOLVER is called in its place");
        assert_int_equal(refusal != NULL, i == 2);
        assert_ok(bp_set("cuda.preferred_linalg_library", words[i]));
        check_case(&c, words[i]);
        check_case(&c, "again");
        assert_int_equal(seen.count, i == 2); /* once */
        free_case(&c);
    }
    assert_contains(seen.last, "cuda.preferred_linalg_library: MAGMA is deprecated");
    bp_set_warning_handler(NULL, NULL);
    assert_ok(bp_set("cuda.preferred_linalg_library", "default"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_preferred_library, begin_cusolver, end_cusolver),
    };
    return cmocka_run_group_tests_name("settings", tests, start_cusolver, stop_cusolver);
}
