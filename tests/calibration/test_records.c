/* test_records.c - tests the text of measured times: it comes back, and damaged text is refused. */
#include "calibration/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CLASS (&bp__classes[0])

static bp__measured sample(void) {
    bp__measured m = {0};
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        m.first[i] = 10 + i;
        m.native[i] = 20 + i;
    }
    for (int i = 0; i < bp__lattice_points(CLASS->lattice); i++) {
        m.times[i] = i % 5 == 0 ? 0 : 1.5 * i;
    }
    return m;
}

static void comes_back(const bp__measured *m) {
    bp__text text = {0};
    bp__measured back;
    bp__record_write(&text, CLASS, m);
    assert_true(bp__record_read(bp__text_get(&text), CLASS, &back));
    assert_int_equal(back.slow, m->slow);
    assert_int_equal(back.failed, m->failed);
    for (int i = 0; i < BP__FIRST_POINTS && !m->failed; i++) {
        assert_true(back.first[i] == m->first[i] && back.native[i] == m->native[i]);
    }
    for (int i = 0; i < bp__lattice_points(CLASS->lattice) && !m->slow && !m->failed; i++) {
        assert_true(back.times[i] == m->times[i]);
    }
    bp__text_free(&text);
}

static void records_come_back(void **state) {
    (void)state;
    bp__measured m = sample();
    comes_back(&m);
    m.slow = true;
    comes_back(&m);
    m.slow = false;
    m.failed = true;
    comes_back(&m);
}

static void damaged_records_are_refused(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "times",
        "times ",
        "slow 1 2 3",
        "slow 1 2 3 4 5 6 7 8 9 10",
        "times 1 2 3 4 5 6 7 8 9 10; 1 2 3 4 5 6 7 8 9 10",
        "slow 1 2 3 4 5 6 7 8 9 ten; 1 2 3 4 5 6 7 8 9 10",
        "slow 1 2 3 4 5 6 7 8 9 -1; 1 2 3 4 5 6 7 8 9 10",
        "slow 1 2 3 4 5 6 7 8 9 nan; 1 2 3 4 5 6 7 8 9 10",
        "slow 1 2 3 4 5 6 7 8 9 1e99; 1 2 3 4 5 6 7 8 9 10",
        "fast 1 2 3 4 5 6 7 8 9 10; 1 2 3 4 5 6 7 8 9 10",
    };
    bp__measured m;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(bp__record_read(texts[i], CLASS, &m));
    }
    assert_true(bp__record_read("slow 1 2 3 4 5 6 7 8 9 -; 1 2 3 4 5 6 7 8 9 10", CLASS, &m));
    assert_true(m.first[9] == 0 && m.native[9] == 10);
}

static void truncated_records_are_refused(void **state) {
    (void)state;
    const bp__measured m = sample();
    bp__text text = {0};
    bp__measured back;
    bp__record_write(&text, CLASS, &m);
    char *whole = text.bytes;
    const size_t length = strlen(whole);
    for (size_t cut = 1; cut < length; cut += 7) {
        const char kept = whole[length - cut];
        whole[length - cut] = '\0';
        /* A cut inside the last number leaves a shorter number; the checksum of the store finds that. */
        assert_true(cut < 8 || !bp__record_read(whole, CLASS, &back));
        whole[length - cut] = kept;
    }
    bp__text_free(&text);
}

static void keys_name_class_and_provider(void **state) {
    (void)state;
    static bp__record_keys one, other;
    static char long_path[2 * BP__IDENTITY_BYTES];
    const bp_provider provider = {.name = "someone"};
    const bp_library_info library = {
        .struct_size = sizeof library, .path = "/proc/self/exe", .build_id = "abc", .kernels = "Zen"};
    const bp__calibrated with = {.provider = &provider, .library = &library};
    bp__record_keys_of(&one, &(bp__calibrated){.provider = &provider});
    const char *key = bp__record_key(&one, CLASS);
    assert_non_null(key);
    assert_true(strstr(key, "gemm.f32 someone ") == key);
    bp__record_keys_of(&other, &with);
    const char *with_library = bp__record_key(&other, CLASS);
    assert_string_not_equal(key, with_library);
    assert_non_null(strstr(with_library, "build:abc kernels:Zen"));
    bp_library_info changed = library;
    changed.kernels = "Haswell";
    bp__record_keys_of(&one, &(bp__calibrated){.provider = &provider, .library = &changed});
    assert_string_not_equal(bp__record_key(&one, CLASS), with_library);
    bp__record_keys_of(&one, &with);
    assert_string_not_equal(bp__record_key(&one, &bp__classes[1]), with_library);
    assert_string_equal(bp__record_key(&one, CLASS), with_library);
    memset(long_path, 'x', sizeof long_path - 1);
    changed.path = long_path;
    bp__record_keys_of(&one, &(bp__calibrated){.provider = &provider, .library = &changed});
    assert_null(bp__record_key(&one, CLASS));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back),
        cmocka_unit_test(damaged_records_are_refused),
        cmocka_unit_test(truncated_records_are_refused),
        cmocka_unit_test(keys_name_class_and_provider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
