/* launch_environment.c - sets the variables by which a program's calls are redirected, and by which Backplane's
 * settings reach the program. Its children inherit them. */
#include "launch.h"

#include "base/sanitizer.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_variable(const char *name, const char *value) {
    return setenv(name, value, 1) == 0 ? CLI_OK : cli_fail(CLI_MEMORY, "%s cannot be set: %s", name, strerror(errno));
}

/* Sets both names of an option: that of the hooks library, and that of a drop-in library to which the program may be
 * linked. */
static int set_option(const char *option, const char *value) {
    static const char *const heads[] = {"BACKPLANE_LAUNCH_", "BACKPLANE_DROPIN_"};
    int code = CLI_OK;
    for (int i = 0; i < 2 && code == CLI_OK; i++) {
        char *name = cli_format("%s%s", heads[i], option);
        code = value ? set_variable(name, value) : unsetenv(name) == 0 ? CLI_OK : CLI_INTERNAL;
        free(name);
    }
    return code;
}

/* ---- Settings ---- */

/* Checks a setting by setting it here, which also makes the choices below see it. */
static int set_setting(const char *name, const char *value) {
    const bp_status status = bp_set(name, value);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    return set_variable(bp_setting_at(bp_setting_find(name))->environment, value);
}

static int set_settings(const cli_args *args) {
    int position = 0, code = CLI_OK;
    for (const char *given; code == CLI_OK && (given = cli_next_value(args, "set", &position));) {
        const char *value = strchr(given, '=');
        if (!value) {
            return cli_fail(CLI_USAGE, "--set takes NAME=VALUE, not '%s'", given);
        }
        char *name = cli_format("%.*s", (int)(value - given), given);
        code = set_setting(name, value + 1);
        free(name);
    }
    if (code == CLI_OK && cli_has(args, "deterministic")) {
        code = set_setting("deterministic", "run");
    }
    return code;
}

/* The number of threads for Backplane, and for the libraries that still run calls themselves. */
static int set_threads(const cli_args *args) {
    static const char *const variables[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                                            "BLIS_NUM_THREADS"};
    int64_t threads;
    int code = cli_number(args, "threads", 1, 1 << 16, 0, &threads);
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)threads);
    if (code != CLI_OK || threads == 0) {
        return code;
    }
    code = set_setting("num_threads", text);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && code == CLI_OK; i++) {
        code = set_variable(variables[i], text);
    }
    return code;
}

/* Returns whether a setting has another value than the default. */
static bool is_changed(const char *name) {
    const char *value = NULL;
    return bp_get(name, &value, NULL, NULL) == BP_OK &&
           strcmp(value, bp_setting_at(bp_setting_find(name))->default_text) != 0;
}

/* Small products stay in the program's own library, unless a setting is to hold for every product. */
static int set_limit(void) {
    static const char *const names[] = {"deterministic",
                                        "deterministic_algorithms",
                                        "fp32_precision",
                                        "mkldnn.fp32_precision",
                                        "mkldnn.matmul.fp32_precision",
                                        "blas.preferred",
                                        "float32_matmul_precision",
                                        "dispatch.exclude",
                                        "mkldnn.allow_tf32"};
    bool every = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        every = every || is_changed(names[i]);
    }
    return set_option("SMALL", every ? "0" : NULL);
}

/* A drop-in library looks into the list of libraries itself. */
static int set_faults(void) {
    char *faults = launch_faults();
    const int code = set_variable("BACKPLANE_LAUNCH_FAULTS", faults);
    free(faults);
    return code;
}

/* ---- Routines and the library ---- */

/* Checks that each item of a list names a routine or a family, which the hooks library knows. */
static int check_list(const char *hooks, const char *option, const char *list) {
    int (*knows)(const char *) = NULL;
    void *handle = list ? dlopen(hooks, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (list && !handle) {
        return cli_fail(CLI_IO, "%s", dlerror());
    }
    *(void **)&knows = list ? dlsym(handle, "bp_hooks_knows") : NULL;
    for (const char *at = list; at && *at;) {
        const size_t length = strcspn(at, ",");
        char *item = cli_format("%.*s", (int)length, at);
        const bool known = knows && knows(item);
        if (!known) {
            cli_fail(CLI_USAGE,
                     "%s: '%s' is no routine; give names such as gemm, dgemm or cblas_dgemm, or blas, cblas, lapack, "
                     "lapacke or fftw",
                     option, item);
        }
        free(item);
        if (!known) {
            return CLI_USAGE;
        }
        at += length + (at[length] == ',');
    }
    return CLI_OK;
}

static int set_list(const cli_args *args, const char *hooks, const char *option, const char *variable) {
    const char *list = cli_value(args, option);
    const int code = check_list(hooks, option, list);
    return code == CLI_OK ? set_option(variable, list) : code;
}

static int set_library(const cli_args *args) {
    const char *name = cli_value(args, "library");
    bp_library_info library = {.struct_size = sizeof library};
    if (!name) {
        return set_option("LIBRARY", NULL);
    }
    const bp_status status = bp_library_find(name, &library);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (library.state != BP_LIBRARY_OK || !*library.path ||
        !(library.kinds & (BP_LIB_BLAS | BP_LIB_LAPACK | BP_LIB_FFT))) {
        return cli_fail(CLI_LIBRARY, "%s cannot take the program's calls: %s", name,
                        *library.reason ? library.reason
                        : *library.path ? "it has no BLAS, LAPACK or FFTW"
                                        : "it is no library file; use --set blas.preferred=NAME");
    }
    const int code = set_option("LIBRARY", library.path);
    return code == CLI_OK ? set_setting("blas.preferred", library.id) : code;
}

/* ---- The loader ---- */

/* Returns the loader's name of the object with an address, or NULL. */
static const char *object_of(uintptr_t address) {
    Dl_info facts;
    return address && dladdr((const void *)address, &facts) ? facts.dli_fname : NULL;
}

/* Returns the file of a sanitizer's run-time library in this process, or NULL if there is none, or if it is part of the
 * command itself. */
static const char *sanitizer_file(void) {
    const char *file = object_of(bp__sanitizer_address()), *own = object_of((uintptr_t)&launch_environment);
    return file && own && strcmp(file, own) != 0 ? file : NULL;
}

/* Puts a file before those that others have set in LD_PRELOAD, unless it is there. A sanitizer's run-time library must
 * be the first, and an object with a sanitizer needs it, so the one of this process comes before the file, if the
 * program has the same C library. */
static int set_preload(const launch_program *program, const char *file) {
    const char *before = getenv("LD_PRELOAD"), *sanitizer = program->audited ? sanitizer_file() : NULL;
    before = before ? before : "";
    if (strstr(before, file)) {
        return CLI_OK;
    }
    const size_t length = sanitizer ? strlen(sanitizer) : 0;
    if (length > 0 && strncmp(before, sanitizer, length) == 0) {
        before += length;
        before += strspn(before, ": ");
    }
    char *list =
        cli_format("%s%s%s%s%s", sanitizer ? sanitizer : "", sanitizer ? ":" : "", file, *before ? ":" : "", before);
    const int code = set_variable("LD_PRELOAD", list);
    free(list);
    return code;
}

/* Adds the audit object to those that others have set, once. */
static int set_audit(const char *file) {
    const char *before = getenv("LD_AUDIT");
    if (before && strstr(before, file)) {
        return CLI_OK;
    }
    char *list = cli_format("%s%s%s", before ? before : "", before && *before ? ":" : "", file);
    const int code = set_variable("LD_AUDIT", list);
    free(list);
    return code;
}

/* Returns the folder of the hooks library, which is next to libbackplane.so.0. */
static char *hooks_folder(void) {
    Dl_info facts;
    bp_status (*inside)(const char *, const char *) = bp_set; /* a function of the library */
    void *address;
    memcpy(&address, &inside, sizeof address);
    if (!dladdr(address, &facts) || !facts.dli_fname) {
        return NULL;
    }
    char *file = realpath(facts.dli_fname, NULL);
    char *slash = file ? strrchr(file, '/') : NULL;
    char *folder = slash ? cli_format("%.*s/backplane-launch", (int)(slash - file), file) : NULL;
    free(file);
    return folder;
}

static int check_file(const char *path) {
    return access(path, R_OK) == 0
               ? CLI_OK
               : cli_fail(CLI_IO, "%s: %s; calls can be redirected on x86-64 Linux only", path, strerror(errno));
}

static int set_loader(const launch_program *program, const char *hooks, const char *audit, const char *preload) {
    if (!program->audited || access(audit, R_OK) != 0) {
        const int code = check_file(preload);
        return code == CLI_OK ? set_preload(program, preload) : code;
    }
    const int code = set_preload(program, hooks);
    return code == CLI_OK ? set_audit(audit) : code;
}

/* Idle threads of OpenBLAS wait busily, for 2^26 cycles unless this variable says otherwise. They would take processors
 * from the threads of the library that computes the products, after each call of the program's own. 2^20 cycles are
 * less than a millisecond. */
static int set_wait(const cli_args *args) {
    static const char variable[] = "OPENBLAS_THREAD_TIMEOUT";
    const char *before = getenv(variable);
    return cli_has(args, "observe") || (before && *before) ? CLI_OK : set_variable(variable, "20");
}

int launch_environment(const cli_args *args, const launch_program *program, const char *record) {
    char *folder = hooks_folder();
    if (!folder) {
        return cli_fail(CLI_IO, "the folder of libbackplane.so cannot be found");
    }
    char *hooks = cli_format("%s/libbackplane-hooks.so", folder);
    char *audit = cli_format("%s/backplane-audit.so", folder);
    char *preload = cli_format("%s/libbackplane-preload.so", folder);
    int code = check_file(hooks);
    code = code == CLI_OK ? set_settings(args) : code;
    code = code == CLI_OK ? set_threads(args) : code;
    code = code == CLI_OK ? set_library(args) : code;
    code = code == CLI_OK ? set_wait(args) : code;
    code = code == CLI_OK ? set_limit() : code;
    code = code == CLI_OK ? set_faults() : code;
    code = code == CLI_OK ? set_list(args, hooks, "only", "ONLY") : code;
    code = code == CLI_OK ? set_list(args, hooks, "exclude", "EXCLUDE") : code;
    code = code == CLI_OK ? set_option("OBSERVE", cli_has(args, "observe") ? "1" : NULL) : code;
    code = code == CLI_OK ? set_option("RECORD", record) : code;
    code = code == CLI_OK ? set_loader(program, hooks, audit, preload) : code;
    free(folder);
    free(hooks);
    free(audit);
    free(preload);
    return code;
}
