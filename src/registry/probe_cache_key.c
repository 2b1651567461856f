/* probe_cache_key.c - computes the part of a probe-cache key that is not the file. */
#include "registry/probe_cache_key.h"

#include "registry/child.h"
#include "registry/ldcache.h"
#include "settings/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* Variables that select kernels, layers or files in one of the libraries, or in the loader. */
static const char *const variables[] = {
    "OPENBLAS_CORETYPE",   "BLIS_ARCH_TYPE",   "MKL_ENABLE_INSTRUCTIONS", "MKL_THREADING_LAYER",
    "MKL_INTERFACE_LAYER", "MKL_CBWR",         "MKL_DEBUG_CPU_TYPE",      "FLEXIBLAS",
    "ONEDNN_MAX_CPU_ISA",  "DNNL_MAX_CPU_ISA", "ARMPL_CORE_TYPE",         "LIBXSMM_TARGET",
    "LD_LIBRARY_PATH",
};

/* Variables that change speed, and nothing else that is known of a library. */
static const char *const speed_variables[] = {
    "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "MKL_DYNAMIC",
    "KMP_BLOCKTIME",    "KMP_AFFINITY",         "OMP_NUM_THREADS",  "OMP_WAIT_POLICY", "OMP_PROC_BIND",
    "OMP_PLACES",       "OMP_DYNAMIC",          "BLIS_NUM_THREADS", "GOMP_SPINCOUNT",  "GOMP_CPU_AFFINITY",
};

static void add_variables(bp__text *text, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        const char *value = bp__env(names[i]);
        bp__text_addf(text, "%s\n", value ? value : "");
    }
}

/* The libraries that `backplane launch` preloads. They change nothing in others, so that a launched program uses what
 * was measured without them. */
static bool is_own_preload(const char *path, size_t length) {
    static const char *const own[] = {"libbackplane-hooks.so", "libbackplane-preload.so"};
    for (int i = 0; i < BP__COUNT(own); i++) {
        const size_t name = strlen(own[i]);
        if (length > name && path[length - name - 1] == '/' && memcmp(path + length - name, own[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The memory that the loader keeps for variables of threads, which `launch` sets too. More than usual changes nothing
 * in a library. With less, libraries of OpenMP may not load. */
static bool is_more_tls(const char *tunable, size_t length) {
    enum { USUAL = 512 };
    static const char name[] = "glibc.rtld.optional_static_tls=";
    return length >= sizeof name - 1 && memcmp(tunable, name, sizeof name - 1) == 0 &&
           strtoull(tunable + sizeof name - 1, NULL, 0) >= USUAL;
}

/* Adds the items of a list in a variable that change something in a library. */
static void add_items(bp__text *text, const char *variable, const char *separators,
                      bool (*is_left_out)(const char *item, size_t length)) {
    const char *at = bp__env(variable);
    while (at && *at) {
        const size_t length = strcspn(at, separators);
        if (length > 0 && !is_left_out(at, length)) {
            bp__text_addf(text, "%.*s:", (int)length, at);
        }
        at += length;
        at += *at != '\0';
    }
    bp__text_add(text, "\n");
}

void bp__add_speed_variables(bp__text *text) {
    add_variables(text, speed_variables, BP__COUNT(speed_variables));
}

static void add_processor(bp__text *text) {
#if defined(__x86_64__) || defined(__i386__)
    static const unsigned leaves[] = {0, 1, 7, 0x80000002, 0x80000003, 0x80000004};
    for (int i = 0; i < BP__COUNT(leaves); i++) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        __get_cpuid_count(leaves[i], 0, &a, &b, &c, &d);
        if (leaves[i] == 1) {
            b = 0;            /* contains the number of the processor that runs this line */
            c &= ~(1u << 27); /* tells whether the system has enabled a feature for it */
        }
        bp__text_addf(text, "%x,%x,%x,%x\n", a, b, c, leaves[i] == 7 ? 0 : d);
    }
#else
    bp__text_addf(text, "%lx,%lx\n", getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#endif
}

uint64_t bp__probe_cache_key(int64_t *loader) {
    bp__text text = {0};
    struct stat facts;
    bp__text_addf(&text, "%s\n%d\n%lld\n%lld\n", BP_VERSION_STRING, bp__deepbind(),
                  (long long)bp__setting_int(BP_SET_registry_probe_timeout), (long long)bp__probe_memory());
    add_processor(&text);
    add_variables(&text, variables, BP__COUNT(variables));
    add_items(&text, "LD_PRELOAD", ": ", is_own_preload);
    add_items(&text, "GLIBC_TUNABLES", ":", is_more_tls);
    uint64_t context = bp__hash(bp__text_get(&text), text.length);
    bp__text_free(&text);
    *loader = stat(BP__LDCACHE_PATH, &facts) == 0 ? bp__file_key_of(&facts).modified_ns : 0;
    return context;
}

bool bp__build_id_matches(const char *path, const char *family, const char *build_id) {
    const char *why;
    if (*family == 0) {
        return true;
    }
    bp__elf *elf = bp__alloc(sizeof *elf); /* large: not on the stack */
    bool opened = elf && bp__elf_open(elf, path, &why);
    /* Without address space for the file, its other properties must do. */
    bool same = opened ? strcmp(elf->build_id, build_id) == 0 : elf && elf->no_space;
    if (opened) {
        bp__elf_close(elf);
    }
    bp__free(elf);
    return same;
}
