/* doctor_threads.c - OpenMP runtimes that clash, two thread pools under one call, variables that limit threads. */
#include "doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LIBGOMP, LIBOMP, LIBIOMP5, RUNTIME_COUNT };
static const char *const runtimes[RUNTIME_COUNT] = {"libgomp", "libomp", "libiomp5"};

static int runtime_of(const char *name) {
    for (int i = 0; i < RUNTIME_COUNT; i++) {
        if (strcmp(name, runtimes[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* libomp and libiomp5 are the same code and abort when they meet; libgomp beside either keeps threads of its own. */
static void judge_runtimes(doctor *d, char *const users[RUNTIME_COUNT], bool loaded) {
    const char *when = loaded ? "this process has loaded" : "a process that uses them all would load";
    int count = 0;
    for (int i = 0; i < RUNTIME_COUNT; i++) {
        count += users[i] != NULL;
    }
    if (users[LIBOMP] && users[LIBIOMP5]) {
        doctor_find(d, SEVERITY_WARNING,
                    cli_format("keep to libraries of one runtime: `backplane set dispatch.exclude ...`."),
                    "%s two builds of LLVM's OpenMP runtime, which end the program when they meet: libomp (%s) and "
                    "libiomp5 (%s)",
                    when, users[LIBOMP], users[LIBIOMP5]);
    }
    if (count > 1 && users[LIBGOMP]) {
        int other = users[LIBOMP] ? LIBOMP : LIBIOMP5;
        doctor_find(
            d, loaded ? SEVERITY_WARNING : SEVERITY_NOTE,
            cli_format(
                "prefer libraries of one runtime where calls alternate quickly; each runtime keeps its own threads."),
            "%s two OpenMP runtimes: libgomp (%s) and %s (%s)", when, users[LIBGOMP], runtimes[other], users[other]);
    }
}

void doctor_openmp(doctor *d) {
    char *by_rows[RUNTIME_COUNT] = {NULL}, *by_process[RUNTIME_COUNT] = {NULL};
    for (int i = 0; i < d->row_count; i++) {
        int runtime = runtime_of(d->rows[i].threading);
        if (runtime >= 0 && doctor_usable(&d->rows[i], BP_LIB_BLAS)) {
            by_rows[runtime] = doctor_enumerate(by_rows[runtime], d->rows[i].id);
        }
    }
    bp_loaded_object object = {.struct_size = sizeof object};
    for (int i = 0; bp_loaded_at(i, &object); i++) {
        int runtime = runtime_of(object.family);
        if (runtime >= 0) {
            by_process[runtime] = doctor_enumerate(by_process[runtime], object.path);
        }
    }
    judge_runtimes(d, by_process, true);
    judge_runtimes(d, by_rows, false);
    for (int i = 0; i < RUNTIME_COUNT; i++) {
        free(by_rows[i]);
        free(by_process[i]);
    }
    const char *forced = doctor_variable("KMP_DUPLICATE_LIB_OK");
    if (forced) {
        doctor_find(d, SEVERITY_WARNING, cli_format("unset it, and keep to libraries of one OpenMP runtime."),
                    "KMP_DUPLICATE_LIB_OK=%s hides two OpenMP runtimes in one process instead of avoiding them",
                    forced);
    }
}

/* A folder such as .../openblas-openmp/ promises a flavour; what lies there may still end in another. */
static void check_flavour(doctor *d, const bp_library_info *row) {
    bool says_openmp = strstr(row->path, "openmp/") != NULL, says_pthread = strstr(row->path, "pthread/") != NULL;
    bool is_openmp = runtime_of(row->threading) >= 0, is_pthread = strcmp(row->threading, "pthread") == 0;
    if ((says_openmp && is_pthread) || (says_pthread && is_openmp)) {
        doctor_find(d, SEVERITY_WARNING,
                    cli_format("let the alternatives of libopenblas.so.0 and libblas.so.3 point to one flavour."),
                    "%s is named for %s threads, but its work is done with %s", row->path,
                    says_openmp ? "OpenMP" : "pthread", row->threading);
    }
}

void doctor_pools(doctor *d) {
    char path[4096];
    const char *why;
    for (int i = 0; i < d->row_count; i++) {
        if (d->rows[i].kinds & BP_LIB_BLAS) {
            check_flavour(d, &d->rows[i]);
        }
    }
    if (!doctor_loader_takes("libblas.so.3", path, sizeof path, &why)) {
        return;
    }
    const bp_library_info *row = doctor_row_of(d, path);
    if (!row || strcmp(row->threading, "pthread") != 0) {
        return;
    }
    bool openmp = doctor_variable("OMP_NUM_THREADS") != NULL;
    bp_loaded_object object = {.struct_size = sizeof object};
    for (int i = 0; bp_loaded_at(i, &object); i++) {
        openmp |= strcmp(object.kind, "openmp") == 0;
    }
    doctor_find(d, openmp ? SEVERITY_WARNING : SEVERITY_NOTE,
                cli_format("for OpenMP programs install the OpenMP flavour (Debian: libopenblas0-openmp) or set "
                           "OPENBLAS_NUM_THREADS=1."),
                "programs that are linked with libblas.so.3 get %s (%s), which has a thread pool of its own: called "
                "from an OpenMP "
                "program, two pools fight for the cores",
                row->family, path);
}

/* Variables that say how many threads a library may start. */
static const char *const counts[] = {
    "OMP_NUM_THREADS", "OMP_THREAD_LIMIT",       "OPENBLAS_NUM_THREADS",   "GOTO_NUM_THREADS",      "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BACKPLANE_NUM_THREADS",
};

static void check_count(doctor *d, const char *name, const char *value) {
    char *end;
    errno = 0;
    long count = strtol(value, &end, 10);
    if (errno || end == value || (*end && *end != ',') || count < 0) {
        doctor_find(d, SEVERITY_NOTE, NULL, "%s=%s says how many threads libraries start", name, value);
    } else if (count > d->machine.usable_cpus) {
        doctor_find(d, SEVERITY_WARNING, cli_format("unset %s or lower it to %d.", name, d->machine.usable_cpus),
                    "%s=%s asks for more threads than the %d processors that this process may use", name, value,
                    d->machine.usable_cpus);
    } else if (count > 0 && count < d->machine.usable_cpus) {
        doctor_find(d, SEVERITY_NOTE,
                    cli_format("unset %s where all %d processors should work.", name, d->machine.usable_cpus),
                    "%s=%s limits libraries to %ld thread%s", name, value, count, count == 1 ? "" : "s");
    }
}

void doctor_thread_limits(doctor *d) {
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const char *value = doctor_variable(counts[i]);
        if (value) {
            check_count(d, counts[i], value);
        }
    }
    if (d->machine.usable_cpus < d->machine.logical_cpus) {
        doctor_find(d, SEVERITY_NOTE, NULL, "this process may use %d of %d processors (affinity mask or cgroup quota)",
                    d->machine.usable_cpus, d->machine.logical_cpus);
    }
}
