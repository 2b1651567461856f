/* doctor_threads.c - reports conflicting OpenMP runtimes, two thread pools in one program, and limits of threads. */
#include "doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

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

/* Reports runtimes that conflict. libomp and libiomp5 are builds of one runtime, and abort if both are loaded. libgomp
 * has threads of its own next to either. */
static void check_runtimes(doctor *d, char *const users[RUNTIME_COUNT], bool loaded) {
    const char *when = loaded ? "this process has loaded" : "a process that uses all of them loads";
    int count = 0;
    for (int i = 0; i < RUNTIME_COUNT; i++) {
        count += users[i] != NULL;
    }
    if (users[LIBOMP] && users[LIBIOMP5]) {
        doctor_find(d, SEVERITY_WARNING,
                    cli_format("use libraries of one runtime: `backplane set dispatch.exclude ...`."),
                    "%s two builds of LLVM's OpenMP runtime, which abort the program: libomp (%s) and libiomp5 (%s)",
                    when, users[LIBOMP], users[LIBIOMP5]);
    }
    if (count > 1 && users[LIBGOMP]) {
        int other = users[LIBOMP] ? LIBOMP : LIBIOMP5;
        doctor_find(
            d, loaded ? SEVERITY_WARNING : SEVERITY_NOTE,
            cli_format(
                "use libraries of one runtime if calls alternate quickly, because each runtime has its own threads."),
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
    for (int i = 0; bp_loaded_object_at(i, &object); i++) {
        int runtime = runtime_of(object.family);
        if (runtime >= 0) {
            by_process[runtime] = doctor_enumerate(by_process[runtime], object.path);
        }
    }
    check_runtimes(d, by_process, true);
    check_runtimes(d, by_rows, false);
    for (int i = 0; i < RUNTIME_COUNT; i++) {
        free(by_rows[i]);
        free(by_process[i]);
    }
    const char *forced = doctor_variable("KMP_DUPLICATE_LIB_OK");
    if (forced) {
        doctor_find(
            d, SEVERITY_WARNING, cli_format("unset it, and use libraries of one OpenMP runtime."),
            "KMP_DUPLICATE_LIB_OK=%s allows two OpenMP runtimes in one process, which may crash or give wrong results",
            forced);
    }
}

/* Reports a library in a folder such as .../openblas-openmp/ that has the threads of another flavour. */
static void check_flavour(doctor *d, const bp_library_info *row) {
    bool says_openmp = strstr(row->path, "openmp/") != NULL, says_pthread = strstr(row->path, "pthread/") != NULL;
    bool is_openmp = runtime_of(row->threading) >= 0, is_pthread = strcmp(row->threading, "pthread") == 0;
    if ((says_openmp && is_pthread) || (says_pthread && is_openmp)) {
        doctor_find(d, SEVERITY_WARNING,
                    cli_format("select one flavour in the alternatives of libopenblas.so.0 and libblas.so.3."),
                    "the name of %s says %s threads, but it uses %s", row->path, says_openmp ? "OpenMP" : "pthread",
                    row->threading);
    }
}

/* Returns the number of threads of a library's own pool; 0 for the number of processors. */
static long pool_threads(const char *family) {
    static const char *const openblas[] = {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS", NULL};
    static const char *const blis[] = {"BLIS_NUM_THREADS", "OMP_NUM_THREADS", NULL};
    bool is_blis = strcmp(family, "blis") == 0;
    const char *const *names = is_blis ? blis : strcmp(family, "openblas") == 0 ? openblas : openblas + 2;
    for (; *names; names++) {
        const char *value = doctor_variable(*names);
        long count = value ? strtol(value, NULL, 10) : 0;
        if (count > 0) {
            return count;
        }
    }
    return is_blis ? 1 : 0; /* BLIS has one thread unless a variable is set */
}

static bool is_openmp_blas(const bp_library_info *row) {
    return runtime_of(row->threading) >= 0 && doctor_usable(row, BP_LIB_BLAS);
}

/* Returns the advice about a library with its own threads: its OpenMP flavour, if that is installed. */
static char *pool_advice(const doctor *d, const bp_library_info *row, const char *path) {
    const char *variable = strcmp(row->family, "openblas") == 0 ? "OPENBLAS_NUM_THREADS"
                           : strcmp(row->family, "blis") == 0   ? "BLIS_NUM_THREADS"
                                                                : "its thread variable";
    const char *flavour = NULL;
    for (int i = 0; i < d->row_count && !flavour; i++) {
        const bp_library_info *other = &d->rows[i];
        bool openmp = runtime_of(other->threading) >= 0 && (other->kinds & BP_LIB_BLAS) && !other->prefix[0];
        flavour = openmp && strcmp(other->family, row->family) == 0 ? other->id : NULL;
    }
    char *name = doctor_alternative_of("libblas.so.3", path), *advice;
    if (flavour && name) {
        advice = cli_format("for OpenMP programs select the OpenMP flavour (%s is installed) with `update-alternatives "
                            "--config %s`, or set %s=1.",
                            flavour, name, variable);
    } else if (flavour) {
        advice = cli_format("link OpenMP programs with %s, or set %s=1.", flavour, variable);
    } else {
        advice = cli_format("for OpenMP programs install the OpenMP flavour (Debian: lib%s-openmp), or set %s=1.",
                            strcmp(row->family, "blis") == 0 ? "blis4" : "openblas0", variable);
    }
    free(name);
    return advice;
}

static void check_pool(doctor *d) {
    char path[4096];
    const char *why, *own = doctor_variable("OMP_NUM_THREADS");
    const bp_library_info *row =
        doctor_loader_takes("libblas.so.3", path, sizeof path, &why) ? doctor_row_of(d, path) : NULL;
    bool single = own && strtol(own, NULL, 10) == 1; /* then OpenMP programs have one thread too */
    if (!row || strcmp(row->threading, "pthread") != 0 || pool_threads(row->family) == 1 || single) {
        return;
    }
    bool openmp = own != NULL;
    bp_loaded_object object = {.struct_size = sizeof object};
    for (int i = 0; bp_loaded_object_at(i, &object); i++) {
        openmp |= strcmp(object.kind, "openmp") == 0;
    }
    doctor_find(d, openmp ? SEVERITY_WARNING : SEVERITY_NOTE, pool_advice(d, row, path),
                "programs that are linked with libblas.so.3 load %s (%s), which has its own thread pool: in an OpenMP "
                "program, two pools compete for the cores",
                row->family, path);
}

void doctor_pools(doctor *d) {
    for (int i = 0; i < d->row_count; i++) {
        if (d->rows[i].kinds & BP_LIB_BLAS) {
            check_flavour(d, &d->rows[i]);
        }
    }
    check_pool(d);
}

/* ---- Limits ---- */

/* Variables that limit a library's threads, and whether the default of num_threads follows them. */
typedef struct thread_variable {
    const char *name;
    bool followed;
} thread_variable;
static const thread_variable counts[] = {
    {"OMP_NUM_THREADS", true},         {"OPENBLAS_NUM_THREADS", true}, {"GOTO_NUM_THREADS", true},
    {"BLIS_NUM_THREADS", true},        {"MKL_NUM_THREADS", true},      {"MKL_DOMAIN_NUM_THREADS", false},
    {"VECLIB_MAXIMUM_THREADS", false},
};

/* Returns the effect of a limit on Backplane's calls. They follow it unless num_threads is set. */
static char *own_calls(const thread_variable *variable) {
    const char *value, *where;
    bp_layer layer;
    if (!variable->followed) {
        return cli_format("num_threads applies to Backplane's calls");
    }
    if (bp_get("num_threads", &value, &layer, &where) != BP_OK || layer <= BP_LAYER_SHARED_ENVIRONMENT) {
        return cli_format("Backplane's calls follow it");
    }
    return cli_format("num_threads = %s applies to Backplane's calls (%s%s%s)", value, bp_layer_name(layer),
                      *where ? ", " : "", where);
}

static void check_count(doctor *d, const thread_variable *variable, const char *value) {
    const char *name = variable->name;
    char *end, *own = own_calls(variable);
    errno = 0;
    long count = strtol(value, &end, 10);
    if (errno || end == value || (*end && *end != ',') || count < 0) {
        doctor_find(d, SEVERITY_NOTE, cli_format("`unset %s`, unless it is intended.", name),
                    variable->followed
                        ? "%s=%s is not a number of threads and has no effect"
                        : "%s=%s sets the threads of libraries; num_threads applies to Backplane's calls",
                    name, value);
    } else if (count > d->machine.usable_cpus) {
        doctor_find(d, SEVERITY_WARNING, cli_format("`unset %s` or lower it to %d.", name, d->machine.usable_cpus),
                    "%s=%s is more than the %d processors available to this process", name, value,
                    d->machine.usable_cpus);
    } else if (count > 0 && count < d->machine.usable_cpus) {
        doctor_find(d, SEVERITY_NOTE,
                    cli_format("`unset %s` to use all %d processors; set num_threads for Backplane's calls.", name,
                               d->machine.usable_cpus),
                    "%s=%s limits libraries to %ld thread%s; %s", name, value, count, count == 1 ? "" : "s", own);
        d->findings[d->count - 1].saves = doctor_threads_saving((int)count, d->machine.usable_cpus);
    }
    free(own);
}

static void check_own_count(doctor *d) {
    const char *value;
    bp_layer layer;
    int64_t count = bp_get_num_threads();
    int cpus = d->machine.usable_cpus;
    if (bp_get("num_threads", &value, &layer, NULL) == BP_OK && layer == BP_LAYER_SHARED_ENVIRONMENT) {
        return; /* check_count() or check_withheld_threads() reports the variable */
    }
    if (count > cpus) {
        doctor_find(d, SEVERITY_WARNING, cli_format("unset num_threads or lower it to %d.", cpus),
                    "num_threads = %lld is more than the %d processors available to this process", (long long)count,
                    cpus);
    } else if (count > 0 && count < cpus) {
        doctor_find(d, SEVERITY_NOTE, cli_format("set num_threads to 0 to use all %d processors.", cpus),
                    "num_threads = %lld limits Backplane's calls to %lld thread%s", (long long)count, (long long)count,
                    count == 1 ? "" : "s");
    }
}

/* Returns the libraries that expect all the threads they request. MKL asks its runtime for the actual number. */
static char *trusting_libraries(const doctor *d) {
    char *list = NULL;
    for (int i = 0; i < d->row_count; i++) {
        if (is_openmp_blas(&d->rows[i]) && strcmp(d->rows[i].family, "mkl") != 0) {
            list = doctor_enumerate(list, d->rows[i].id);
        }
    }
    return list;
}

static bool is_true(const char *value) {
    return strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || strcasecmp(value, "on") == 0 ||
           strcmp(value, "1") == 0;
}

/* Returns the largest number of threads that a call may request from an OpenMP runtime. */
static long threads_asked(const doctor *d) {
    const char *value = doctor_variable("OMP_NUM_THREADS");
    long program = value ? strtol(value, NULL, 10) : 0, own = (long)bp_get_num_threads();
    program = program > 0 ? program : d->machine.usable_cpus;
    own = own > 0 ? own : d->machine.usable_cpus;
    return program > own ? program : own;
}

/* Reports limits with which a runtime starts fewer threads than requested. OpenBLAS then waits forever. */
static void check_withheld_threads(doctor *d) {
    const char *limit = doctor_variable("OMP_THREAD_LIMIT"), *dynamic = doctor_variable("OMP_DYNAMIC");
    char *libraries = trusting_libraries(d);
    long most = limit ? strtol(limit, NULL, 10) : 0, asked = threads_asked(d);
    if (libraries && most > 0 && most < asked) {
        doctor_find(
            d, SEVERITY_WARNING,
            cli_format("`unset OMP_THREAD_LIMIT`, or keep OMP_NUM_THREADS and num_threads at %ld or below.", most),
            "OMP_THREAD_LIMIT=%s is below the %ld threads that a call may request: an OpenMP build of OpenBLAS may "
            "hang, and BLIS may end the program (%s)",
            limit, asked, libraries);
    } else if (most > 0 && most < d->machine.usable_cpus) {
        doctor_find(d, SEVERITY_NOTE,
                    cli_format("`unset OMP_THREAD_LIMIT` to use all %d processors.", d->machine.usable_cpus),
                    "OMP_THREAD_LIMIT=%s limits OpenMP programs to %ld thread%s", limit, most, most == 1 ? "" : "s");
    }
    if (libraries && dynamic && is_true(dynamic)) {
        doctor_find(d, SEVERITY_WARNING, cli_format("`unset OMP_DYNAMIC`, or set it to false."),
                    "OMP_DYNAMIC=%s allows the OpenMP runtime to start fewer threads than a call requests: an OpenMP "
                    "build of OpenBLAS may hang, and BLIS may end the program (%s)",
                    dynamic, libraries);
    }
    free(libraries);
}

/* Reports that other processes keep processors busy. Three readings make a limit. */
static void check_load(doctor *d) {
    double others = 0;
    int limit = bp_load_limit(&others);
    for (int i = 0; i < 3 && bp_get_threads_adapt(); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 120000000}, NULL);
        limit = bp_load_limit(&others);
    }
    if (limit > 0) {
        doctor_find(d, SEVERITY_NOTE,
                    cli_format("set num_threads if calls should use more threads; libraries then wait for processors."),
                    "other processes keep %.1f of %d processors busy, so calls use %d thread%s (threads.adapt)", others,
                    d->machine.usable_cpus, limit, limit == 1 ? "" : "s");
    }
}

void doctor_thread_limits(doctor *d) {
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const char *value = doctor_variable(counts[i].name);
        if (value) {
            check_count(d, &counts[i], value);
        }
    }
    check_own_count(d);
    check_withheld_threads(d);
    check_load(d);
    if (d->machine.usable_cpus < d->machine.logical_cpus) {
        doctor_find(
            d, SEVERITY_NOTE,
            cli_format("widen the affinity mask (taskset) or the quota to use all %d.", d->machine.logical_cpus),
            "this process may use %d of %d processors (affinity mask or cgroup quota)", d->machine.usable_cpus,
            d->machine.logical_cpus);
    }
}
