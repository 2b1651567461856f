/* doctor_kernels.c - libraries that run slower kernels than this processor could, and the variables that make them. */
#include "doctor.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names of kernel sets, in small letters, by the instruction set that they need: as OpenBLAS, BLIS, MKL and our own
 * capability say them. Below AVX2 there is no difference that matters here. */
static const struct {
    bp_capability rank;
    const char *names;
} kernels[] = {
    {BP_CAPABILITY_DEFAULT,
     " default generic prescott core2 penryn dunnington atom nehalem katmai coppermine northwood banias "
     "athlon opteron opteron_sse3 barcelona bobcat nano sandybridge bulldozer piledriver steamroller "
     "compatible sse2 sse3 ssse3 sse4_1 sse4_2 avx "},
    {BP_CAPABILITY_AVX2, " avx2 haswell excavator zen zen2 zen3 "},
    {BP_CAPABILITY_AVX512, " avx512 avx512_mic avx512_e1 knl skx zen4 zen5 skylakex cooperlake sapphirerapids "},
};

int doctor_kernel_rank(const char *name) {
    int rank = -1;
    char *word = cli_format(" %s ", name);
    for (char *at = word; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (name[0] && strstr(kernels[i].names, word)) {
            rank = (int)kernels[i].rank;
        }
    }
    free(word);
    return rank;
}

/* The numbers that BLIS takes in place of names. */
static int blis_rank(const char *value) {
    static const char *const numbered[] = {"skx",    "knl",  NULL,   "haswell", "sandybridge",
                                           "penryn", "zen3", "zen2", "zen"};
    char *end;
    long number = strtol(value, &end, 10);
    if (*end || end == value) {
        return doctor_kernel_rank(value);
    }
    bool known = number >= 0 && number < (long)(sizeof numbered / sizeof numbered[0]) && numbered[number];
    return known ? doctor_kernel_rank(numbered[number]) : -1;
}

static const char *capability_word(int rank) {
    return rank >= (int)BP_CAPABILITY_AVX512 ? "AVX-512" : rank >= (int)BP_CAPABILITY_AVX2 ? "AVX2" : "baseline";
}

static bool x86(const doctor *d) {
    return strcmp(d->machine.architecture, "x86_64") == 0;
}

static char *kernel_advice(const doctor *d, const bp_library_info *row) {
    bool wide = d->hardware == BP_CAPABILITY_AVX512;
    if (strcmp(row->family, "blis") == 0) {
        return doctor_variable("BLIS_ARCH_TYPE")
                   ? cli_format("unset BLIS_ARCH_TYPE, or set it to %s.", wide ? "0 (skx)" : "3 (haswell)")
                   : cli_format("set BLIS_ARCH_TYPE=%s.", wide ? "0 (skx)" : "3 (haswell)");
    }
    if (strcmp(row->family, "openblas") == 0) {
        return doctor_variable("OPENBLAS_CORETYPE")
                   ? cli_format("unset OPENBLAS_CORETYPE.")
                   : cli_format("install a newer OpenBLAS, or set OPENBLAS_CORETYPE=%s.",
                                wide ? "SkylakeX" : "Haswell");
    }
    return cli_format("install a newer version, or prefer another library with `backplane set blas.preferred`.");
}

void doctor_kernels(doctor *d) {
    for (int i = 0; i < d->row_count; i++) {
        const bp_library_info *row = &d->rows[i];
        int rank = doctor_kernel_rank(row->kernels);
        bool ours = (row->kinds & BP_LIB_BUILTIN) != 0;
        bool reference = strcmp(row->family, "netlib") == 0; /* has no kernels for any processor */
        if (!x86(d) || ours || reference || !doctor_usable(row, BP_LIB_BLAS) || rank < 0 || rank >= (int)d->hardware) {
            continue;
        }
        doctor_find(
            d, SEVERITY_WARNING, kernel_advice(d, row),
            "%s runs %s kernels (%s) on a processor with %s: it does not know the processor, or a variable says so",
            row->id, row->kernels, capability_word(rank), capability_word((int)d->hardware));
    }
}

/* Variables that choose a library's kernels. */
static const struct {
    const char *name;
    int (*rank)(const char *value); /* NULL: any value is worth a warning */
    const char *effect;
} variables[] = {
    {"OPENBLAS_CORETYPE", doctor_kernel_rank, "chooses OpenBLAS's kernels"},
    {"OPENBLAS_L2_SIZE", NULL, "overrides the cache size that OpenBLAS blocks for, often to its harm"},
    {"BLIS_ARCH_TYPE", blis_rank, "chooses BLIS's kernels"},
    {"MKL_ENABLE_INSTRUCTIONS", doctor_kernel_rank, "limits MKL's kernels"},
    {"MKL_DEBUG_CPU_TYPE", NULL, "has no effect in MKL since 2020.1"},
    {"MKL_CBWR", NULL, "fixes MKL's code branch for reproducible results, which costs speed"},
    {"ATEN_CPU_CAPABILITY", doctor_kernel_rank, "limits our own kernels and PyTorch's"},
};

void doctor_kernel_variables(doctor *d) {
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = doctor_variable(variables[i].name);
        if (!value) {
            continue;
        }
        int rank = variables[i].rank ? variables[i].rank(value) : -1;
        if (!variables[i].rank || (x86(d) && rank >= 0 && rank < (int)d->hardware)) {
            doctor_find(d, SEVERITY_WARNING, cli_format("unset %s, unless it is there on purpose.", variables[i].name),
                        "%s=%s %s%s%s", variables[i].name, value, variables[i].effect,
                        rank >= 0 ? ", and this processor has more: " : "",
                        rank >= 0 ? capability_word((int)d->hardware) : "");
        } else {
            doctor_find(d, SEVERITY_NOTE, NULL, "%s=%s %s", variables[i].name, value, variables[i].effect);
        }
    }
    const char *value;
    bp_layer layer;
    if (bp_get("cpu.capability", &value, &layer, NULL) == BP_OK && layer != BP_LAYER_DEFAULT &&
        strcmp(bp_cpu_capability(), bp_cpu_hardware_capability()) != 0) {
        doctor_find(d, SEVERITY_WARNING, cli_format("`backplane settings --changed` shows where it is set."),
                    "cpu.capability = %s keeps our own kernels at %s; this processor has %s", value,
                    bp_cpu_capability(), bp_cpu_hardware_capability());
    }
}
