/* doctor_kernels.c - reports libraries that use slower kernels than the processor can run, and the variables that cause
 * it. */
#include "doctor.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names of kernel sets in lower case, by the instruction set that they need, for OpenBLAS, BLIS, MKL, oneDNN,
 * libxsmm and the native provider. Sets below AVX2 are not distinguished. */
static const struct {
    bp_capability rank;
    const char *names;
} kernels[] = {
    {BP_CAPABILITY_DEFAULT,
     " default generic prescott core2 penryn dunnington atom nehalem katmai coppermine northwood banias "
     "athlon opteron opteron_sse3 barcelona bobcat nano sandybridge bulldozer piledriver steamroller "
     "compatible sse2 sse3 ssse3 sse41 sse4_1 sse4_2 avx wsm snb "},
    {BP_CAPABILITY_AVX2, " avx2 avx2_vnni avx2_vnni_2 haswell excavator zen zen2 zen3 hsw "},
    {BP_CAPABILITY_AVX512,
     " avx512 avx512_mic avx512_e1 knl skx zen4 zen5 skylakex cooperlake sapphirerapids knm clx cpx avx512_core "
     "avx512_core_vnni avx512_core_bf16 avx512_core_fp16 avx512_core_amx avx512_core_amx_fp16 avx10_1_512 "
     "avx10_1_512_amx avx10_1_512_amx_fp16 "},
};

/* Returns whether a list of lower-case names, each between spaces, contains `name` in any case. */
static bool has_word(const char *list, const char *name) {
    char *word = cli_format(" %s ", name);
    for (char *at = word; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    bool found = name[0] && strstr(list, word) != NULL;
    free(word);
    return found;
}

int doctor_kernel_rank(const char *name) {
    int rank = -1;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (has_word(kernels[i].names, name)) {
            rank = (int)kernels[i].rank;
        }
    }
    return rank;
}

/* Ranks a value of BLIS_ARCH_TYPE, which may be a number. */
static int blis_rank(const char *value) {
    static const char *const numbered[] = {"skx",  "knl", NULL,        "haswell",     "sandybridge", "penryn",   "zen3",
                                           "zen2", "zen", "excavator", "steamroller", "piledriver",  "bulldozer"};
    char *end;
    long number = strtol(value, &end, 10);
    if (*end || end == value) {
        return doctor_kernel_rank(value);
    }
    bool known = number >= 0 && number < (long)(sizeof numbered / sizeof numbered[0]) && numbered[number];
    return known ? doctor_kernel_rank(numbered[number]) : -1;
}

/* Ranks a value of a variable of oneDNN. Two values set no limit. */
static int onednn_rank(const char *value) {
    return has_word(" all default ", value) ? -1 : doctor_kernel_rank(value);
}

static const char *capability_word(int rank) {
    return rank >= (int)BP_CAPABILITY_AVX512 ? "AVX-512" : rank >= (int)BP_CAPABILITY_AVX2 ? "AVX2" : "baseline";
}

static bool x86(const doctor *d) {
    return strcmp(d->machine.architecture, "x86_64") == 0;
}

/* Returns a command of the shell for the variables "A, B"; free it. */
static char *unset_command(const char *variables_set) {
    char *command = cli_format("`unset %s`", variables_set);
    size_t used = 0;
    for (const char *from = command; *from; from++) {
        command[used] = *from;
        used += *from != ',';
    }
    command[used] = '\0';
    return command;
}

static char *kernel_advice(const doctor *d, const bp_library_info *row, const char *variables_set) {
    bool wide = d->hardware == BP_CAPABILITY_AVX512, blis = strcmp(row->family, "blis") == 0;
    if (variables_set) {
        char *command = unset_command(variables_set), *advice;
        advice = blis ? cli_format("%s, or set it to %s.", command, wide ? "0 (skx)" : "3 (haswell)")
                      : cli_format("%s.", command);
        free(command);
        return advice;
    }
    if (blis) {
        return cli_format("`export BLIS_ARCH_TYPE=%s.", wide ? "0` (skx)" : "3` (haswell)");
    }
    if (strcmp(row->family, "openblas") == 0) {
        return cli_format("install a newer OpenBLAS, or `export OPENBLAS_CORETYPE=%s`.", wide ? "SkylakeX" : "Haswell");
    }
    return cli_format("install a newer version, or select another library with `backplane set blas.preferred`.");
}

/* Reports MKL's generic kernels, which it runs on processors of other makers than Intel. No variable selects others. */
static void check_generic_mkl(doctor *d, const bp_library_info *row) {
    if (strcmp(row->family, "mkl") != 0 || strcmp(row->kernels, "def") != 0 || !doctor_usable(row, BP_LIB_BLAS)) {
        return;
    }
    const bool wide = d->hardware == BP_CAPABILITY_AVX512, amd = strstr(d->machine.cpu_vendor, "AMD") != NULL;
    doctor_find(d, wide ? SEVERITY_WARNING : SEVERITY_NOTE,
                cli_format("let programs that call MKL themselves use another BLAS, such as OpenBLAS: %s. Calls of "
                           "Backplane go to another library if one is faster.",
                           doctor_install_command()),
                "%s runs its generic kernels (%s) on %s: %s", row->id, row->kernels,
                amd ? "an AMD processor" : "a processor that is not Intel's",
                wide ? "they do not use AVX-512, and large products take about twice as long as with OpenBLAS"
                     : "products take 1.1 to 2 times as long as with OpenBLAS, the small ones most");
    doctor_find_saving(d, row->id);
}

void doctor_kernels(doctor *d) {
    for (int i = 0; i < d->row_count; i++) {
        const bp_library_info *row = &d->rows[i];
        check_generic_mkl(d, row);
        int rank = doctor_kernel_rank(row->kernels);
        bool ours = (row->kinds & BP_LIB_BUILTIN) != 0;
        bool reference = strcmp(row->family, "netlib") == 0; /* has no optimised kernels */
        bool used = doctor_usable(row, BP_LIB_BLAS) || doctor_usable(row, BP_LIB_DNN);
        if (!x86(d) || ours || reference || !used || rank < 0 || rank >= (int)d->hardware) {
            continue;
        }
        char *names = doctor_variables_of(row->family, false), *values = doctor_variables_of(row->family, true);
        doctor_find(d, SEVERITY_WARNING, kernel_advice(d, row, names),
                    "%s uses %s kernels (%s) on a processor with %s: %s%s", row->id, row->kernels,
                    capability_word(rank), capability_word((int)d->hardware),
                    values ? "selected by " : "it does not recognise the processor", values ? values : "");
        doctor_find_saving(d, row->id);
        free(names);
        free(values);
    }
}

/* ---- Variables ---- */

/* Valid values of OpenBLAS, BLIS and MKL, in lower case. The libraries ignore other values or end the program. */
#define OPENBLAS_CORES                                                                                                 \
    " katmai coppermine northwood prescott banias atom core2 penryn dunnington nehalem athlon opteron opteron_sse3 "   \
    "barcelona nano sandybridge bobcat bulldozer piledriver haswell steamroller excavator zen skylakex cooperlake "    \
    "sapphirerapids armv8 armv8sve cortexa53 cortexa55 cortexa57 cortexa72 cortexa73 neoversen1 neoversev1 "           \
    "neoversen2 thunderx thunderx2t99 thunderx3t110 tsv110 emag8180 falkor vortex a64fx power6 power8 power9 "         \
    "power10 z13 z14 generic loongson3r5 loongson3r4 loongson2k1000 riscv64_generic "
#define BLIS_ARCHITECTURES                                                                                             \
    " skx knl knc haswell sandybridge penryn zen4 zen3 zen2 zen excavator steamroller piledriver bulldozer armsve "    \
    "a64fx firestorm thunderx2 cortexa57 cortexa53 cortexa15 cortexa9 altramax altra neoversen1 neoversev1 power10 "   \
    "power9 power7 bgq rv32i rv64i rv32iv rv64iv sifive_x280 generic "
#define MKL_INSTRUCTIONS                                                                                               \
    " avx512 avx512_e1 avx512_e2 avx512_e3 avx512_e4 avx512_mic avx512_mic_e1 avx2 avx2_e1 avx sse4_2 "

enum { MOST_BLIS_ARCHITECTURES = 64 }; /* larger numbers are invalid in every release */

/* Variables that select kernels or layers of a library. They also affect its probe. */
static const struct variable {
    const char *name;
    const char *family;             /* libraries that it affects; "" for the native provider */
    int (*rank)(const char *value); /* rank of the kernels that a value selects */
    const char *values;             /* valid values; NULL if they are not known */
    const char *effect;
    bool costs; /* a warning for any value */
} variables[] = {
    {"OPENBLAS_CORETYPE", "openblas", doctor_kernel_rank, OPENBLAS_CORES, "selects OpenBLAS's kernels", false},
    {"OPENBLAS_L2_SIZE", "openblas", NULL, NULL,
     "overrides the cache size for OpenBLAS's blocking, which is often slower", true},
    {"BLIS_ARCH_TYPE", "blis", blis_rank, BLIS_ARCHITECTURES, "selects BLIS's kernels", false},
    {"MKL_ENABLE_INSTRUCTIONS", "mkl", doctor_kernel_rank, MKL_INSTRUCTIONS, "limits MKL's kernels", false},
    {"MKL_DEBUG_CPU_TYPE", "mkl", NULL, NULL, "has no effect in MKL since 2020.1", true},
    {"MKL_CBWR", "mkl", NULL, NULL, "fixes MKL's code branch for reproducible results, which is slower", true},
    {"MKL_THREADING_LAYER", "mkl", NULL, " intel sequential tbb pgi gnu ", "selects MKL's threading layer", false},
    {"MKL_INTERFACE_LAYER", "mkl", NULL, " lp64 ilp64 gnu gnu,lp64 gnu,ilp64 ", "selects MKL's integer width", false},
    {"ARMPL_CORE_TYPE", "armpl", NULL, NULL, "selects the kernels of Arm Performance Libraries", false},
    {"ONEDNN_MAX_CPU_ISA", "onednn", onednn_rank, NULL, "limits oneDNN's kernels", false},
    {"DNNL_MAX_CPU_ISA", "onednn", onednn_rank, NULL, "limits oneDNN's kernels", false},
    {"LIBXSMM_TARGET", "libxsmm", doctor_kernel_rank, NULL, "selects libxsmm's kernels", false},
    {"FLEXIBLAS", "flexiblas", NULL, NULL, "selects the library behind FlexiBLAS", false},
    {"ATEN_CPU_CAPABILITY", "", doctor_kernel_rank, NULL, "limits the kernels of the native provider and of PyTorch",
     false},
};

#define VARIABLE_COUNT (sizeof variables / sizeof variables[0])

const char *doctor_variable_at(int index) {
    return index < (int)VARIABLE_COUNT ? variables[index].name : NULL;
}

char *doctor_variables_of(const char *family, bool with_values) {
    char *list = NULL;
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        const char *value = doctor_variable(variables[i].name);
        if (value && strcmp(variables[i].family, family) == 0) {
            char *item = cli_format(with_values ? "%s=%s" : "%s", variables[i].name, value);
            list = doctor_enumerate(list, item);
            free(item);
        }
    }
    return list;
}

static bool is_known(const struct variable *v, const char *value) {
    char *end;
    long number = strtol(value, &end, 10);
    bool numbered = v->rank == blis_rank && end != value && !*end;
    return !v->values || has_word(v->values, value) || (numbered && number >= 0 && number < MOST_BLIS_ARCHITECTURES);
}

/* Returns the ids of the broken libraries that a variable affects; NULL if there are none. */
static char *broken_by(const doctor *d, const struct variable *v) {
    char *list = NULL;
    for (int i = 0; i < d->row_count; i++) {
        if (d->rows[i].state == BP_LIBRARY_BROKEN && strcmp(d->rows[i].family, v->family) == 0) {
            list = doctor_enumerate(list, d->rows[i].id);
        }
    }
    return list;
}

static void check_variable(doctor *d, const struct variable *v, const char *value) {
    int rank = v->rank ? v->rank(value) : -1;
    bool slow = v->rank && x86(d) && rank >= 0 && rank < (int)d->hardware;
    const char *unknown = is_known(v, value) ? "" : ", but this value is unknown";
    char *broken = broken_by(d, v);
    if (broken) {
        doctor_find(d, SEVERITY_WARNING, cli_format("`unset %s`, then run `backplane doctor` again.", v->name),
                    "%s=%s %s%s, and with it a library is broken: %s", v->name, value, v->effect, unknown, broken);
    } else if (*unknown) {
        doctor_find(d, SEVERITY_NOTE, cli_format("`unset %s`, or correct it.", v->name), "%s=%s %s%s", v->name, value,
                    v->effect, unknown);
    } else if (strcmp(v->name, "MKL_THREADING_LAYER") == 0 && has_word(" sequential ", value)) {
        doctor_find(d, SEVERITY_NOTE, cli_format("`unset %s` if MKL should use several processors.", v->name),
                    "%s=%s makes MKL single-threaded", v->name, value);
    } else if (slow || v->costs) {
        doctor_find(d, SEVERITY_WARNING,
                    cli_format(slow ? "`unset %s`." : "`unset %s`, unless it is intended.", v->name), "%s=%s %s%s%s",
                    v->name, value, v->effect, slow ? ", but this processor has " : "",
                    slow ? capability_word((int)d->hardware) : "");
    } else {
        doctor_find(d, SEVERITY_NOTE, cli_format("`unset %s`, unless it is intended.", v->name), "%s=%s %s", v->name,
                    value, v->effect);
    }
    free(broken);
}

void doctor_kernel_variables(doctor *d) {
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        const char *value = doctor_variable(variables[i].name);
        if (value) {
            check_variable(d, &variables[i], value);
        }
    }
    const char *value;
    bp_layer layer;
    if (bp_get("cpu.capability", &value, &layer, NULL) == BP_OK && layer != BP_LAYER_DEFAULT &&
        strcmp(bp_cpu_capability(), bp_cpu_hardware_capability()) != 0) {
        doctor_find(d, SEVERITY_WARNING, cli_format("`backplane settings --changed` shows where it is set."),
                    "cpu.capability = %s limits the native kernels to %s; this processor has %s", value,
                    bp_cpu_capability(), bp_cpu_hardware_capability());
    }
}
