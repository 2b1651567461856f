/* launch_environment.c - sets the variables by which a program's calls are redirected, and by which Backplane's
 * settings reach the program. Its children inherit them. */
#include "launch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_variable(const char *name, const char *value) {
    return setenv(name, value, 1) == 0 ? CLI_OK : cli_fail(CLI_MEMORY, "%s cannot be set: %s", name, strerror(errno));
}

/* Sets both names of an option: the name for the hooks library, and the name for a drop-in library to which the program
 * may be linked. */
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
    cli_progress_begin(CLI_EXAMINING);
    const bp_status status = bp_library_find(name, &library);
    cli_progress_end();
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

/* Returns a variable's value; "" if it is not set. */
static const char *value_of(const char *variable) {
    const char *value = getenv(variable);
    return value ? value : "";
}

/* Returns two parts of a list with a colon between them; free it. */
static char *join(const char *first, const char *second) {
    return cli_format("%s%s%s", first, *first && *second ? ":" : "", second);
}

/* Sets a list of the loader, and frees it. */
static int set_joined(const char *variable, char *list) {
    const int code = set_variable(variable, list);
    free(list);
    return code;
}

/* Returns what follows a file at the start of a list, or the whole list. */
static const char *rest_of_list(const char *list, const char *file) {
    const size_t length = strlen(file);
    return strncmp(list, file, length) == 0 && strchr(": ", list[length]) ? list + length + (list[length] != '\0')
                                                                          : list;
}

/* Under LD_AUDIT the loader reserves memory for the variables of threads before it knows the program's libraries:
 * 512 bytes, and some for its own. If these libraries need more, it ends the program. */
static int reserve_static_tls(uint64_t bytes) {
    enum { USUAL = 512 };
    static const char name[] = "glibc.rtld.optional_static_tls";
    const char *before = value_of("GLIBC_TUNABLES");
    if (bytes <= USUAL || strstr(before, name)) {
        return CLI_OK;
    }
    char *wanted = cli_format("%s=%llu", name, (unsigned long long)bytes + USUAL);
    const int code = set_joined("GLIBC_TUNABLES", join(before, wanted));
    free(wanted);
    return code;
}

/* Returns a list with a file before the others, unless it is there; free it. */
static char *begin_with(const char *file, const char *others) {
    return strstr(others, file) ? cli_format("%s", others) : join(file, others);
}

/* Puts a file before those that others have set in LD_PRELOAD; and a sanitizer's run-time library before all, because
 * it ends the program otherwise. */
static int set_preload(const cli_program *program, const char *file, launch_objects *objects) {
    const char *before = value_of("LD_PRELOAD");
    char *list = begin_with(file, before);
    launch_objects_find(program, list, objects);
    if (objects->sanitizer && rest_of_list(list, objects->sanitizer) == list) {
        free(list);
        char *rest = begin_with(file, rest_of_list(before, objects->sanitizer));
        list = join(objects->sanitizer, rest);
        free(rest);
    }
    return set_joined("LD_PRELOAD", list);
}

static int set_audit(const char *file) {
    const char *before = value_of("LD_AUDIT");
    return strstr(before, file) ? CLI_OK : set_joined("LD_AUDIT", join(before, file));
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

static int set_loader(const cli_program *program, const char *hooks, const char *audit, const char *preload) {
    const bool audited = program->audited && access(audit, R_OK) == 0;
    launch_objects objects = {.sanitizer = NULL};
    int code = audited ? CLI_OK : check_file(preload);
    code = code == CLI_OK ? set_preload(program, audited ? hooks : preload, &objects) : code;
    code = code == CLI_OK && audited ? set_audit(audit) : code;
    code = code == CLI_OK && audited ? reserve_static_tls(objects.static_tls) : code;
    free(objects.sanitizer);
    return code;
}

/* Idle threads of OpenBLAS wait busily, for 2^26 cycles unless this variable says otherwise. They would take processors
 * from the threads of the library that computes the products, after each call of the program's own. 2^20 cycles are
 * less than a millisecond. */
static int set_wait(const cli_args *args) {
    static const char variable[] = "OPENBLAS_THREAD_TIMEOUT";
    const char *before = getenv(variable);
    return cli_has(args, "observe") || (before && *before) ? CLI_OK : set_variable(variable, "20");
}

int launch_environment(const cli_args *args, const cli_program *program, const char *record) {
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
