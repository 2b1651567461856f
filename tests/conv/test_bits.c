/* test_bits.c - compares the bits of convolutions on `native` with those that gcc and clang gave at all levels of
 * optimization: products and sums are fused only where the code says so, and sums have an order of their own.
 *
 * There is one hash for each algorithm, type and pass, over random geometries and layouts. Sums of products depend only
 * on whether the instruction set has fused multiply-adds; the sizes of transforms also depend on its vectors.
 * local.cmake builds this program once more with native's code at -O0 and -O3. If results change on purpose, the
 * message has the new hashes. */
#include "conv/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 40, DEFAULT = 0, FUSED = 1, SETS = 2 };

typedef struct row {
    const char *algorithm;
    bp_dtype dtype;
    bp_conv_pass pass;
    uint64_t hash[SETS]; /* without and with fused multiply-adds */
} row;

/* clang-format off */
static const row rows[] = {
    {"implicit", BP_F16, BP_CONV_FORWARD, {0xe592bec64734c14d, 0xe592bec64734c14d}},
    {"implicit", BP_F16, BP_CONV_INPUT, {0x1212931f7a98a73a, 0x1212931f7a98a73a}},
    {"implicit", BP_F16, BP_CONV_WEIGHT, {0xb2e5103dcf6c1805, 0xb2e5103dcf6c1805}},
    {"direct", BP_F16, BP_CONV_FORWARD, {0xd78e8e1a5f79aec1, 0xd78e8e1a5f79aec1}},
    {"direct", BP_F16, BP_CONV_INPUT, {0x1212931f7a98a73a, 0x1212931f7a98a73a}},
    {"direct", BP_F16, BP_CONV_WEIGHT, {0x2a86bc6680e28f7a, 0x2a86bc6680e28f7a}},
    {"implicit", BP_BF16, BP_CONV_FORWARD, {0xe455bd6176bec618, 0xe455bd6176bec618}},
    {"implicit", BP_BF16, BP_CONV_INPUT, {0x4cd079922c622ff0, 0x4cd079922c622ff0}},
    {"implicit", BP_BF16, BP_CONV_WEIGHT, {0x1c76ea8f906f054f, 0x1c76ea8f906f054f}},
    {"direct", BP_BF16, BP_CONV_FORWARD, {0xe455bd6176bec618, 0xe455bd6176bec618}},
    {"direct", BP_BF16, BP_CONV_INPUT, {0x4cd079922c622ff0, 0x4cd079922c622ff0}},
    {"direct", BP_BF16, BP_CONV_WEIGHT, {0x1c76ea8f906f054f, 0x1c76ea8f906f054f}},
    {"implicit", BP_F32, BP_CONV_FORWARD, {0xd5d31ca3cc738bca, 0xd7db5c05cb23cceb}},
    {"implicit", BP_F32, BP_CONV_INPUT, {0xe91e4422a4341536, 0x16916dea6327b270}},
    {"implicit", BP_F32, BP_CONV_WEIGHT, {0x5ac634a3fcebb7ec, 0xc0a84cadb5461c41}},
    {"direct", BP_F32, BP_CONV_FORWARD, {0xd2f07cfcc9872bcc, 0x748ea5322ec41707}},
    {"direct", BP_F32, BP_CONV_INPUT, {0xe91e4422a4341536, 0x16916dea6327b270}},
    {"direct", BP_F32, BP_CONV_WEIGHT, {0xe1ee66040f4b139b, 0xae5dda593190e429}},
    {"implicit", BP_F64, BP_CONV_FORWARD, {0xbf6b4ba751bb6644, 0x23e1ead08f7b43d6}},
    {"implicit", BP_F64, BP_CONV_INPUT, {0xde75c08d104f43d5, 0xb62548d6b9dab0f7}},
    {"implicit", BP_F64, BP_CONV_WEIGHT, {0x63636160f9ea0e46, 0x13814308983c94c5}},
    {"direct", BP_F64, BP_CONV_FORWARD, {0xc21f54b06a94b2d5, 0xd1412083b2d153bd}},
    {"direct", BP_F64, BP_CONV_INPUT, {0x5b4470c69a478bd4, 0xd2767a3664a8d72f}},
    {"direct", BP_F64, BP_CONV_WEIGHT, {0x17fdbf3c4858ac31, 0x12d8f28667ebbec5}},
    {"winograd", BP_F32, BP_CONV_FORWARD, {0x54e647ea816fec45, 0x0f2ec39df565a95a}},
    {"winograd", BP_F32, BP_CONV_INPUT, {0x6dd1fd2c992adfd4, 0x65f77d8dcd47a327}},
    {"fft", BP_F32, BP_CONV_FORWARD, {0x299cace49b64ff2a, 0x81e095afc632fd7c}},
    {"fft", BP_F32, BP_CONV_INPUT, {0x26dbaf8844397ad6, 0x33a0a25ca5c0b63e}},
    {"fft", BP_F64, BP_CONV_FORWARD, {0xe79e67c238424644, 0x37702f5d12d89c6a}},
    {"fft", BP_F64, BP_CONV_INPUT, {0x5f569bd47a06a2f6, 0x3189b294cff3fd19}},
};
/* clang-format on */

static bool transforms(const row *r) {
    return strcmp(r->algorithm, "winograd") == 0 || strcmp(r->algorithm, "fft") == 0;
}

/* FNV-1a, of 64 bits. */
static void add_bytes(uint64_t *hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    }
}

static void add_results(uint64_t *hash, conv_case *c) {
    test_array *written[2];
    conv_written(c, written);
    for (int i = 0; i < 2; i++) {
        for (int64_t e = 0; written[i] && e < test_array_count(written[i]); e++) {
            const double value = test_array_get(written[i], e);
            add_bytes(hash, &value, sizeof value);
        }
    }
}

static conv_limits limits_of(const row *r, int i) {
    conv_limits limits = {.dtype = r->dtype, .pass = r->pass, .most_channels = i % 4 ? 30 : 1, .most_size = 13};
    if (strcmp(r->algorithm, "winograd") == 0) {
        limits.kernel = 3;
    } else if (strcmp(r->algorithm, "fft") == 0) {
        limits.least_kernel = 2;
        limits.most_groups = 20;
        limits.unit_stride = true;
    } else {
        limits.most_groups = 20;
    }
    return limits;
}

static uint64_t hash_of(const row *r, const char *capability) {
    char settings[256];
    bp_options *options;
    uint64_t hash = 0xcbf29ce484222325u;
    test_array_random = 271828;
    snprintf(settings, sizeof settings,
             "conv.preferred=native:%s,dispatch.fallback=strict,deterministic=threads,num_threads=2,"
             "mkldnn.conv.fp32_precision=%s,cpu.capability=%s",
             r->algorithm, transforms(r) ? "none" : "ieee", capability);
    assert_int_equal(bp_options_new(&options, settings), BP_OK);
    for (int i = 0; i < CASES; i++) {
        const conv_limits limits = limits_of(r, i);
        conv_case c;
        conv_make(&c, &limits, false);
        if (bp_conv_run(options, &c.call) != BP_OK) {
            fail_msg("%s, %s: %s", c.text, settings, bp_last_error());
        }
        add_results(&hash, &c);
        conv_free(&c);
    }
    bp_options_release(options);
    return hash;
}

/* Compares the hashes of one instruction set. Hashes of transforms are known for x86-64 without AVX-512. */
static void check(const char *capability, int set, bool with_transforms) {
    int different = 0;
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        if (transforms(&rows[i]) && !with_transforms) {
            continue;
        }
        const uint64_t hash = hash_of(&rows[i], capability);
        if (hash != rows[i].hash[set]) {
            print_error("%s, %s, pass %d on %s: 0x%016llx, not 0x%016llx\n", rows[i].algorithm,
                        bp_dtype_name(rows[i].dtype), (int)rows[i].pass, capability, (unsigned long long)hash,
                        (unsigned long long)rows[i].hash[set]);
            different++;
        }
    }
    assert_int_equal(different, 0);
}

static void baseline(void **state) {
    (void)state;
#if defined(__x86_64__)
    check("default", DEFAULT, true);
#elif defined(__aarch64__)
    check("default", FUSED, false);
#else
    skip();
#endif
}

static void avx2(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        check("avx2", FUSED, true);
        return;
    }
#endif
    skip();
}

static void avx512(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) {
        check("avx512", FUSED, false);
        return;
    }
#endif
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(baseline), cmocka_unit_test(avx2), cmocka_unit_test(avx512)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
