/* test_elf.c - tests the reader of shared objects: every class and byte order, damaged files, and the facts derived
 * from symbols. */
#include "registry/support_registry.h"

#include "registry/facts.h"
#include "registry/ldcache.h"
#include "registry/support_elf.h"

#include <elf.h>

#ifdef __x86_64__
#define X86_64 true
#else
#define X86_64 false
#endif

static const elf_image_spec sample = {
    .wide = true,
    .machine = EM_X86_64,
    .gnu_hash = true,
    .soname = "libsample.so.1",
    .runpath = "$ORIGIN/../lib",
    .needed = {"libgomp.so.1", "libm.so.6"},
    .defined = {"fftw_version", "dgemm_", "sgemm_", "cblas_dgemm"},
    .imported = {"pthread_create", "malloc"},
    .text = "fftw-3.3.10-sse2",
};

static void test_facts_in_each_class_and_order(void **state) {
    (void)state;
    for (int form = 0; form < 8; form++) {
        elf_image_spec image_spec = sample;
        unsigned char bytes[ELF_BYTES];
        char text[64];
        bp__elf elf;
        const char *why = "";
        image_spec.wide = form & 1;
        image_spec.big = form & 2;
        image_spec.gnu_hash = form & 4;
        make_elf(&image_spec, bytes);
        assert_true(bp__elf_read(&elf, bytes, sizeof bytes, &why));
        assert_int_equal(elf.usable, image_spec.wide && !image_spec.big && X86_64);
        assert_string_equal(elf.soname, "libsample.so.1");
        assert_string_equal(elf.runpath, "$ORIGIN/../lib");
        assert_int_equal(elf.needed_count, 2);
        assert_string_equal(elf.needed[1], "libm.so.6");
        assert_string_equal(elf.build_id, "deadbeef");
        assert_true(bp__elf_defines(&elf, "dgemm_"));
        assert_true(bp__elf_defines(&elf, "cblas_dgemm"));
        assert_false(bp__elf_defines(&elf, "dgemm"));
        assert_false(bp__elf_defines(&elf, "malloc"));
        assert_true(bp__elf_imports(&elf, "malloc"));
        assert_false(bp__elf_imports(&elf, "dgemm_"));
        assert_true(bp__elf_text_at(&elf, "fftw_version", text, sizeof text));
        assert_string_equal(text, "fftw-3.3.10-sse2");
        assert_true(bp__elf_text_at(&elf, "fftw_version", text, 5));
        assert_string_equal(text, "fftw");
        assert_true(bp__elf_contains(&elf, "3.3.10"));
        assert_false(bp__elf_contains(&elf, "BLIS_ARCH_TYPE"));
    }
}

/* A damaged file gives any result or none; a sanitizer detects reads outside the bytes. */
static void query_everything(const unsigned char *bytes, size_t size) {
    bp__elf elf;
    bp__facts facts;
    const char *why = NULL;
    char text[64];
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, bytes, size);
    if (bp__elf_read(&elf, exact, size, &why)) {
        bp__elf_defines(&elf, "dgemm_");
        bp__elf_imports(&elf, "malloc");
        bp__elf_text_at(&elf, "fftw_version", text, sizeof text);
        bp__elf_contains(&elf, "BLIS_ARCH_TYPE");
        elf.usable = true;
        assert_int_equal(bp__identify(&elf, "/lib/libsample.so.1.2", &facts), BP_OK);
    } else {
        assert_non_null(why);
    }
    free(exact);
}

static void test_damaged_files(void **state) {
    (void)state;
    static const unsigned char marks[] = {0, 0x7f, 0xff};
    static const int forms[] = {1, 5, 0, 6};
    for (int f = 0; f < BP__COUNT(forms); f++) {
        int form = forms[f];
        elf_image_spec image_spec = sample;
        unsigned char bytes[ELF_BYTES];
        image_spec.wide = form & 1;
        image_spec.big = form & 2;
        image_spec.gnu_hash = form & 4;
        make_elf(&image_spec, bytes);
        for (size_t at = 0; at < sizeof bytes; at++) {
            unsigned char kept = bytes[at];
            for (size_t m = 0; m < sizeof marks; m++) {
                if (at < 320 || (at >= 3584 && at < 3660) || (at >= 1024 && at < 1200) || (at >= 1536 && at < 1600) ||
                    (at >= 2048 && at < 2200)) {
                    bytes[at] = marks[m];
                    query_everything(bytes, sizeof bytes);
                }
            }
            bytes[at] = kept;
        }
        for (size_t size = 0; size < sizeof bytes; size += 61) {
            query_everything(bytes, size);
        }
    }
    bp__intern_reset();
}

static void test_strings_and_notes_without_end(void **state) {
    (void)state;
    bp__elf elf;
    const char *why;
    elf_image_spec image_spec = sample;
    unsigned char *bytes =
        malloc(ELF_BYTES); /* the block ends with the file, so that a sanitizer detects reads past it */
    image_spec.unterminated = true;
    make_elf(&image_spec, bytes);
    assert_true(bp__elf_read(&elf, bytes, ELF_BYTES, &why));
    assert_string_equal(elf.soname, "");
    assert_true(bp__elf_defines(&elf, "dgemm_"));
    static const unsigned sizes[] = {64, 65, 400, 4000, 0xfffffff8};
    for (int i = 0; i < BP__COUNT(sizes); i++) {
        image_spec.build_id_size = sizes[i];
        make_elf(&image_spec, bytes);
        assert_true(bp__elf_read(&elf, bytes, ELF_BYTES, &why));
        assert_int_equal(strlen(elf.build_id), i == 0 ? 128 : 0);
    }
    free(bytes);
}

static const bp__facts *identify(const elf_image_spec *image_spec, bp__facts *facts) {
    unsigned char bytes[ELF_BYTES];
    bp__elf elf;
    const char *why;
    make_elf(image_spec, bytes);
    assert_true(bp__elf_read(&elf, bytes, sizeof bytes, &why));
    elf.usable = true;
    assert_int_equal(bp__identify(&elf, "/lib/libx.so.4.5.6", facts), BP_OK);
    return facts;
}

static void test_families(void **state) {
    (void)state;
    static const struct {
        const char *defined[7];
        const char *needed;
        const char *family, *base, *prefix, *suffix, *cblas_suffix, *threading;
        unsigned kinds;
    } cases[] = {
        {{"dgemm_", "openblas_get_config"}, "libm.so.6", "openblas", "openblas", "", "_", "", "serial", BP_LIB_BLAS},
        {{"scipy_dgemm_64_", "scipy_cblas_dgemm64_", "scipy_openblas_get_config64_"},
         "libgomp-a34b.so.1",
         "openblas",
         "openblas",
         "scipy_",
         "_64_",
         "64_",
         "libgomp",
         BP_LIB_BLAS | BP_LIB_CBLAS},
        {{"dgemm_64_", "openblas_get_config64_", "dpotrf_64_"},
         "libiomp5.so",
         "openblas",
         "openblas",
         "",
         "_64_",
         "",
         "libiomp5",
         BP_LIB_BLAS | BP_LIB_LAPACK},
        {{"dgemm_", "bli_info_get_version_str"}, "libomp.so.5", "blis", "blis", "", "_", "", "libomp", BP_LIB_BLAS},
        {{"dgemm_", "MKL_Set_Interface_Layer", "MKL_Get_Version"},
         "libtbb.so.12",
         "mkl",
         "mkl",
         "",
         "_",
         "",
         "tbb",
         BP_LIB_BLAS | BP_LIB_FFT},
        {{"dgemm_", "MKL_Get_Version"}, "libm.so.6", "mkl", "mkl", "", "_", "", "serial", BP_LIB_BLAS},
        {{"dgemm_", "lsame_", "xerbla_array_"}, "libm.so.6", "netlib", "netlib", "", "_", "", "serial", BP_LIB_BLAS},
        {{"dpotrf_", "ilaver_"}, "libblas.so.3", "netlib", "netlib", "", "_", "", "serial", BP_LIB_LAPACK},
        {{"dgemm_"}, "libcublas.so.12", "nvblas", "nvblas", "", "_", "", "unknown", BP_LIB_GPU},
        {{"cusolverDnCreate", "cusolverGetVersion"},
         "libcublas.so.13",
         "cusolver",
         "cusolver",
         "",
         "",
         "",
         "unknown",
         BP_LIB_GPU},
        {{"dgemm64_"}, "libm.so.6", "unknown", "blas", "", "64_", "", "serial", BP_LIB_BLAS},
        {{"fftwf_execute"}, "libm.so.6", "fftw", "fftwf", "", "", "", "serial", BP_LIB_FFT},
        {{"libxsmm_dmmdispatch", "dgemm_"}, "libm.so.6", "libxsmm", "libxsmm", "", "_", "", "serial", BP_LIB_SMM},
        {{"libxsmm_dispatch_gemm"}, "libm.so.6", "libxsmm", "libxsmm", "", "", "", "serial", BP_LIB_SMM},
        {{"CLBlastSgemm", "dgemm_"}, "libOpenCL.so.1", "clblast", "clblast", "", "_", "", "serial", BP_LIB_OPENCL},
        {{"dnnl_version"}, "libgomp.so.1", "onednn", "onednn", "", "", "", "libgomp", BP_LIB_DNN},
        {{"GOMP_parallel", "omp_get_num_threads"},
         "libc.so.6",
         "libgomp",
         "libgomp",
         "",
         "",
         "",
         "libgomp",
         BP_LIB_OPENMP},
        {{"GOMP_parallel", "omp_get_num_threads", "__kmpc_fork_call"},
         "libc.so.6",
         "libomp",
         "libomp",
         "",
         "",
         "",
         "libomp",
         BP_LIB_OPENMP},
        {{"__kmpc_fork_call", "__kmp_omp_debug_struct_info"},
         "libc.so.6",
         "libiomp5",
         "libiomp5",
         "",
         "",
         "",
         "libiomp5",
         BP_LIB_OPENMP},
        {{"cublasLtGetVersion"}, "libc.so.6", "cublas", "cublaslt", "", "", "", "unknown", BP_LIB_GPU},
        {{"printf"}, "libc.so.6", "", "", "", "", "", "", 0},
    };
    for (int i = 0; i < BP__COUNT(cases); i++) {
        elf_image_spec image_spec = sample;
        bp__facts facts;
        memset(image_spec.defined, 0, sizeof image_spec.defined);
        memcpy(image_spec.defined, cases[i].defined, sizeof cases[i].defined);
        memset(image_spec.imported, 0, sizeof image_spec.imported);
        image_spec.needed[0] = cases[i].needed;
        image_spec.text = "text";
        identify(&image_spec, &facts);
        assert_string_equal(facts.family, cases[i].family);
        assert_string_equal(facts.base, cases[i].base);
        assert_string_equal(facts.prefix, cases[i].prefix);
        assert_string_equal(facts.suffix, cases[i].suffix);
        assert_string_equal(facts.cblas_suffix, cases[i].cblas_suffix);
        assert_string_equal(facts.threading, cases[i].threading);
        assert_int_equal(facts.kinds, cases[i].kinds);
    }
}

static void test_text_marker_version_and_threads(void **state) {
    (void)state;
    bp__facts facts;
    elf_image_spec image_spec = sample;
    image_spec.text = "BLIS_ARCH_TYPE";
    image_spec.needed[0] = NULL;
    image_spec.defined[0] = "data";
    identify(&image_spec, &facts);
    assert_string_equal(facts.family, "blis");
    assert_int_equal(facts.marked, 0);
    assert_string_equal(facts.threading, "pthread");
    image_spec = sample;
    image_spec.defined[1] = "fftw_execute";
    image_spec.defined[2] = NULL;
    identify(&image_spec, &facts);
    assert_string_equal(facts.version, "3.3.10");
    assert_non_null(strstr(facts.fact_sources, "version: fftw_version"));
}

/* ---- The loader's cache ---- */

static bool collect(void *user, const char *name, const char *path) {
    char *all = user;
    snprintf(all + strlen(all), 256 - strlen(all), "%s>%s ", name, path);
    return strlen(all) < 200;
}

static size_t make_cache(unsigned char *bytes, bool old_format) {
    static const char strings[] = "libblas.so.3\0/lib/libblas.so.3\0libx.so\0relative/libx.so";
    size_t header = old_format ? 16 : 48, entry = old_format ? 12 : 24, base = old_format ? 0 : header + 2 * entry;
    memset(bytes, 0, 256);
    memcpy(bytes, old_format ? "ld.so-1.7.0" : "glibc-ld.so.cache1.1", old_format ? 11 : 20);
    const uint32_t count = 2, offsets[4] = {0, 13, 31, 39};
    memcpy(bytes + (old_format ? 12 : 20), &count, 4);
    for (size_t i = 0; i < 4; i++) {
        uint32_t offset = (uint32_t)base + offsets[i];
        memcpy(bytes + header + i / 2 * entry + 4 + i % 2 * 4, &offset, 4);
    }
    memcpy(bytes + header + 2 * entry, strings, sizeof strings);
    return header + 2 * entry + sizeof strings;
}

static void test_loader_cache(void **state) {
    (void)state;
    unsigned char bytes[512];
    for (int old_format = 0; old_format < 2; old_format++) {
        char all[256] = "";
        size_t size = make_cache(bytes, old_format);
        assert_true(bp__ldcache_visit(bytes, size, collect, all));
        assert_string_equal(all, "libblas.so.3>/lib/libblas.so.3 ");
        for (size_t cut = 0; cut < size; cut++) {
            unsigned char *exact = malloc(cut ? cut : 1);
            memcpy(exact, bytes, cut);
            all[0] = 0;
            bp__ldcache_visit(exact, cut, collect, all);
            free(exact);
        }
        for (size_t at = 0; at < size; at++) {
            bytes[at] ^= 0xff;
            all[0] = 0;
            bp__ldcache_visit(bytes, size, collect, all);
            bytes[at] ^= 0xff;
        }
    }
    /* The new format after an empty table of the old one. */
    char all[256] = "";
    memset(bytes, 0, 16);
    memcpy(bytes, "ld.so-1.7.0", 11);
    size_t size = make_cache(bytes + 16, false);
    assert_true(bp__ldcache_visit(bytes, 16 + size, collect, all));
    assert_string_equal(all, "libblas.so.3>/lib/libblas.so.3 ");
    assert_false(bp__ldcache_visit("something else, of some length", 30, collect, all));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_in_each_class_and_order),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_text_marker_version_and_threads),
        cmocka_unit_test(test_loader_cache),
        cmocka_unit_test(test_strings_and_notes_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
