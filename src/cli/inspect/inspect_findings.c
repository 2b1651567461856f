/* inspect_findings.c - finds what is wrong with the libraries of a process, as far as it can be seen from outside, each
 * with advice. */
#include "cli/doctor/doctor.h"
#include "inspect.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void add_finding(inspect_process *p, char *advice, const char *format, ...) BP_PRINTF(3, 4);

static void add_finding(inspect_process *p, char *advice, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    p->findings = cli_grow(p->findings, (size_t)(p->finding_count + 1) * sizeof *p->findings);
    p->findings[p->finding_count++] = (inspect_finding){text, advice};
}

static const char *name_of(const inspect_library *library) {
    const char *slash = strrchr(library->file->path, '/');
    return slash ? slash + 1 : library->file->path;
}

static bool is_facade(const inspect_library *library) {
    return library->facts.id && library->facts.state == BP_LIBRARY_FACADE;
}

/* Several thread pools, and pools that are larger than what the process may use. */
static void judge_pools(inspect_process *p) {
    char *pools = NULL;
    int count = 0, threads = 0;
    for (int i = 0; i < p->library_count; i++) {
        const inspect_library *library = &p->libraries[i];
        if (library->threads > 1) {
            char *text = cli_format("%s (%d threads)", name_of(library), library->threads);
            pools = cli_join(pools, ", ", text);
            free(text);
            count++;
            threads += library->threads;
        }
        if (p->processors > 0 && library->threads > p->processors) {
            add_finding(
                p,
                cli_format("limit its threads to %d, with OPENBLAS_NUM_THREADS or OMP_NUM_THREADS before the start.",
                           p->processors),
                "%s has %d threads, but the process may use %d processors", name_of(library), library->threads,
                p->processors);
        }
    }
    const bool launched = p->audit && strstr(p->audit, "backplane-audit");
    if (count > 1) {
        add_finding(
            p,
            cli_format("if calls of both run at the same time, limit each with OPENBLAS_NUM_THREADS%s.",
                       launched ? "" : ", or run the program with `backplane launch`, whose products use one pool"),
            "the process has %d thread pools of OpenBLAS, %d threads in all: %s", count, threads, pools);
    }
    free(pools);
}

/* Pools that are smaller than what the process may use. */
static void judge_idle_processors(inspect_process *p) {
    for (int i = 0; i < p->library_count; i++) {
        const inspect_library *library = &p->libraries[i];
        char *limits = NULL;
        for (int k = 0; k < p->limit_count; k++) {
            limits = cli_join(limits, ", ", p->limits[k]);
        }
        if (library->threads > 0 && library->threads < p->processors) {
            add_finding(p,
                        limits ? cli_format("start the program without %s, unless it has threads or processes of its "
                                            "own.",
                                            limits)
                               : cli_format("the program limits them itself; look for it, unless it is intended."),
                        "%s has %d thread%s, but the process may use %d processors", name_of(library), library->threads,
                        library->threads == 1 ? "" : "s", p->processors);
        }
        free(limits);
    }
}

static const inspect_library *library_of(const inspect_process *p, const char *family) {
    for (int i = 0; i < p->library_count; i++) {
        if (strcmp(p->libraries[i].family, family) == 0) {
            return &p->libraries[i];
        }
    }
    return NULL;
}

static void judge_runtimes(inspect_process *p) {
    const inspect_library *gomp = library_of(p, "libgomp"), *omp = library_of(p, "libomp"),
                          *iomp = library_of(p, "libiomp5");
    if (omp && iomp) {
        add_finding(
            p,
            cli_format("use packages that are built with one of them: two builds of one runtime may abort, or give "
                       "wrong results under KMP_DUPLICATE_LIB_OK."),
            "two builds of LLVM's OpenMP runtime are loaded: %s and %s", omp->file->path, iomp->file->path);
    }
    if (gomp && (omp || iomp)) {
        add_finding(
            p,
            cli_format("if both run parallel regions in turn, set OMP_WAIT_POLICY=passive, so that idle threads do "
                       "not take processors from the other runtime."),
            "two OpenMP runtimes are loaded, each with threads of its own: %s and %s", gomp->file->path,
            (omp ? omp : iomp)->file->path);
    }
}

static bool has_plain_blas(const inspect_library *library) {
    return (library->interfaces & INSPECT_BLAS) && !library->wide_names && !is_facade(library);
}

/* Libraries whose names are equal and mean different widths of integers. */
static void judge_widths(inspect_process *p) {
    const inspect_library *narrow = NULL, *wide = NULL;
    for (int i = 0; i < p->library_count; i++) {
        const inspect_library *library = &p->libraries[i];
        if (has_plain_blas(library)) {
            *(library->wide ? &wide : &narrow) = library;
        }
    }
    if (narrow && wide) {
        add_finding(
            p,
            cli_format(
                "use one width in a process, or libraries whose 64-bit names have a suffix, such as `dgemm_64_`."),
            "two libraries have the same names with different widths of integers: %s (32 bits) and %s (64 bits)",
            narrow->file->path, wide->file->path);
    }
}

static void judge_vendors(inspect_process *p) {
    const inspect_library *blas = NULL, *lapack = NULL;
    for (int i = 0; i < p->library_count; i++) {
        const inspect_library *library = &p->libraries[i];
        if (is_facade(library) || library->wide_names || !(library->interfaces & (INSPECT_BLAS | INSPECT_LAPACK))) {
            continue;
        }
        blas = (library->interfaces & INSPECT_BLAS) && !blas ? library : blas;
        lapack = library->interfaces == INSPECT_LAPACK ? library : lapack;
    }
    if (blas && lapack && (blas->interfaces & INSPECT_LAPACK)) {
        add_finding(p,
                    cli_format("choose the LAPACK of the same library, on Debian with `update-alternatives --config "
                               "liblapack.so.3-x86_64-linux-gnu`: its own is faster."),
                    "LAPACK comes from %s, although %s has one", lapack->file->path, blas->file->path);
    }
}

static void judge_files(inspect_process *p) {
    for (int i = 0; i < p->library_count; i++) {
        if (p->libraries[i].file->deleted) {
            add_finding(p, cli_format("restart the process to use the new file."),
                        "%s was replaced or removed after the process had loaded it", p->libraries[i].file->path);
        }
    }
    const inspect_library *mkl = library_of(p, "mkl"), *fftw = library_of(p, "fftw");
    if (mkl && fftw && (mkl->facts.id ? mkl->facts.kinds & BP_LIB_FFT : 0)) {
        add_finding(
            p,
            cli_format("which of them runs a transform depends on the order of loading; preload the one that is "
                       "wanted, or use `backplane launch`."),
            "FFTW's functions are in %s and in %s", mkl->file->path, fftw->file->path);
    }
}

/* Returns whether the library uses lower kernels than those that it would select under the variables of the start. */
static bool was_changed(const inspect_library *library) {
    return library->kernels && library->facts.id &&
           doctor_kernel_rank(library->kernels) < doctor_kernel_rank(library->facts.kernels);
}

static char *kernel_advice(const inspect_library *library) {
    if (was_changed(library)) {
        return cli_format(
            "look for OPENBLAS_CORETYPE in the program: it was set after the start, before the library was "
            "opened.");
    }
    char *set = doctor_variables_of(library->family, true); /* of the process: inspect_facts() has set them here */
    char *advice = set ? cli_format("start the program without %s, unless it is intended.", set)
                       : cli_format("install a newer version, or another library: `backplane doctor` tells which.");
    free(set);
    return advice;
}

/* Code without fast kernels for this processor, which no variable changes. */
static void judge_code(inspect_process *p) {
    for (int i = 0; i < p->library_count && !p->launched; i++) {
        const inspect_library *library = &p->libraries[i];
        if (!library->facts.id || is_facade(library) || !(library->interfaces & INSPECT_BLAS)) {
            continue;
        }
        if (strcmp(library->facts.family, "netlib") == 0) {
            add_finding(p,
                        cli_format("select another BLAS, on Debian with `update-alternatives --config "
                                   "libblas.so.3-x86_64-linux-gnu`, or run the program with `backplane launch`."),
                        "%s is netlib's reference code, many times slower than an optimised BLAS", name_of(library));
        } else if (strcmp(library->family, "mkl") == 0 && strcmp(inspect_kernels(library), "def") == 0) {
            add_finding(p,
                        cli_format("use another BLAS, or run the program with `backplane launch`, whose products take "
                                   "the fastest library."),
                        "%s runs MKL's generic kernels (def), as on every processor that is not Intel's",
                        name_of(library));
        }
    }
}

/* Kernels below those that the processor can run. netlib's reference code has none. */
static void judge_kernels(inspect_process *p) {
    const char *hardware = bp_cpu_hardware_capability();
    const unsigned with_kernels = INSPECT_BLAS | INSPECT_DNN;
    for (int i = 0; i < p->library_count; i++) {
        const inspect_library *library = &p->libraries[i];
        const int rank = !is_facade(library) ? doctor_kernel_rank(inspect_kernels(library)) : -1;
        if (rank < 0 || rank >= doctor_kernel_rank(hardware) || !(library->interfaces & with_kernels)) {
            continue;
        }
        add_finding(p, kernel_advice(library), "%s runs its kernels %s, although the processor has %s",
                    library->file->path, inspect_kernels(library), hardware);
    }
}

void inspect_judge(inspect_process *p) {
    judge_pools(p);
    judge_idle_processors(p);
    judge_runtimes(p);
    judge_widths(p);
    judge_vendors(p);
    judge_files(p);
    judge_kernels(p);
    judge_code(p);
}
