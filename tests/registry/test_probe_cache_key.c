/* test_probe_cache_key.c - tests which variables of the environment are part of the key of probes and measured times.
 */
#include "registry/support_registry.h"

#include "registry/probe_cache_key.h"

/* Returns whether a value of a variable gives another key than its absence. */
static bool changes_key(const char *variable, const char *value) {
    int64_t loader;
    unsetenv(variable);
    const uint64_t without = bp__probe_cache_key(&loader);
    setenv(variable, value, 1);
    const uint64_t with = bp__probe_cache_key(&loader);
    unsetenv(variable);
    return with != without;
}

/* A launched program uses what was found without `launch`, and nothing that others preload or tune. */
static void test_what_launch_sets_is_no_part_of_the_key(void **state) {
    static const struct {
        const char *variable, *value;
        bool changes;
    } cases[] = {
        {"LD_PRELOAD", "/usr/lib/libbackplane-hooks.so", false},
        {"LD_PRELOAD", "/usr/lib/libbackplane-preload.so", false},
        {"LD_PRELOAD", "/usr/lib/libother.so", true},
        {"LD_PRELOAD", "/usr/lib/libbackplane-hooks.so:/usr/lib/libother.so", true},
        {"LD_PRELOAD", "/usr/lib/notlibbackplane-hooks.so", true},
        {"LD_PRELOAD", "/usr/lib/libbackplane-hooks.so.1", true},
        {"LD_AUDIT", "/usr/lib/backplane-audit.so", false},
        {"OPENBLAS_THREAD_TIMEOUT", "20", false},
        {"BACKPLANE_LAUNCH_FAULTS", "1,0,32 /usr/lib/libblas.so.3", false},
        {"GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=512", false},
        {"GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=40000", false},
        {"GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=0x200", false},
        {"GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=511", true},
        {"GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=0", true},
        {"GLIBC_TUNABLES", "glibc.rtld.optional_static_tlsx=40000", true},
        {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F", true},
        {"GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F:glibc.rtld.optional_static_tls=40000", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (changes_key(cases[i].variable, cases[i].value) != cases[i].changes) {
            fail_msg("%s=%s", cases[i].variable, cases[i].value);
        }
    }
    int64_t loader;
    setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F", 1);
    const uint64_t alone = bp__probe_cache_key(&loader);
    setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F:glibc.rtld.optional_static_tls=40000", 1);
    assert_true(bp__probe_cache_key(&loader) == alone);
    unsetenv("GLIBC_TUNABLES");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_launch_sets_is_no_part_of_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
