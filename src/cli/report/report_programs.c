/* report_programs.c - reports programs and Python packages that use math libraries. Their versions are read from the
 * names of installed files: no program is started. */
#include "report.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Names of Python packages, as their .dist-info and .egg-info entries begin. */
static const char *const packages[] = {
    "numpy", "scipy",  "torch",        "jax",    "jaxlib", "tensorflow", "tensorflow_cpu", "onnxruntime", "cupy",
    "numba", "pandas", "scikit_learn", "pyFFTW", "mkl",    "opt_einsum", "threadpoolctl",  "backplane",   "xgboost"};

/* Returns the parent of the directory that has a program on PATH; NULL if there is none. `resolve`: of the file behind
 * links. */
static char *prefix_of(const char *program, bool resolve) {
    const char *path = getenv("PATH");
    while (path && *path) {
        const size_t length = strcspn(path, ":");
        char real[PATH_MAX], *file = cli_format("%.*s/%s", (int)length, path, program);
        path += length + (path[length] == ':');
        if (length > 0 && realpath(file, real)) {
            char *made = cli_format("%s", resolve ? real : file);
            free(file);
            for (int i = 0; i < 2 && strrchr(made, '/'); i++) {
                *strrchr(made, '/') = '\0';
            }
            return made;
        }
        free(file);
    }
    return NULL;
}

static void add_program(report *r, const char *name, const char *version, const char *folder) {
    report_cell(r, "%s", name);
    report_cell(r, "%s", version);
    report_cell(r, "%s", folder);
}

/* Adds a package if `entry` is "name-1.2.3.dist-info" or "name-1.2.3-py3.11.egg-info" of a listed name. */
static void add_package(report *r, const char *folder, const char *entry) {
    const char *dash = strchr(entry, '-'), *end = strstr(entry, ".dist-info");
    end = end ? end : strstr(entry, ".egg-info");
    for (size_t i = 0; dash && end > dash && i < sizeof packages / sizeof packages[0]; i++) {
        if (strlen(packages[i]) == (size_t)(dash - entry) &&
            strncasecmp(entry, packages[i], (size_t)(dash - entry)) == 0) {
            size_t length = strcspn(dash + 1, "-");
            length = length < (size_t)(end - dash - 1) ? length : (size_t)(end - dash - 1);
            char *version = cli_format("%.*s", (int)length, dash + 1);
            add_program(r, packages[i], version, folder);
            free(version);
        }
    }
}

static void add_packages_of(report *r, const char *folder) {
    int count;
    char **names = cli_folder_names(folder, &count);
    for (int i = 0; i < count; i++) {
        add_package(r, folder, names[i]);
    }
    cli_folder_free(names, count);
}

/* Calls `each` for every path below a folder that matches a pattern, whose parts may have wildcards. */
static void match(report *r, const char *folder, const char *pattern, void (*each)(report *r, const char *path)) {
    if (!folder || !folder[0]) {
        return;
    }
    const size_t length = strcspn(pattern, "/");
    const char *rest = pattern[length] ? pattern + length + 1 : NULL;
    char *part = cli_format("%.*s", (int)length, pattern);
    int count = 1;
    const bool plain = !strpbrk(part, "*?[");
    char *only[] = {part}, **names = plain ? only : cli_folder_names(folder, &count);
    for (int i = 0; i < count; i++) {
        char *path = cli_format("%s/%s", folder, names[i]);
        const bool matches = fnmatch(part, names[i], FNM_PERIOD) == 0;
        if (matches && rest) {
            match(r, path, rest, each);
        } else if (matches && access(path, F_OK) == 0) {
            each(r, path);
        }
        free(path);
    }
    if (!plain) {
        cli_folder_free(names, count);
    }
    free(part);
}

/* Adds the packages of a directory that was not seen before, also not by another name. */
static void add_folder(report *r, const char *path) {
    const report_section *section = &r->sections[r->count - 1];
    char real[PATH_MAX];
    if (!realpath(path, real)) {
        return;
    }
    char *shown = report_private(cli_format("%s", real));
    bool seen = false;
    for (int i = 2; i < section->count; i += 3) {
        seen |= strcmp(section->cells[i], shown) == 0;
    }
    free(shown);
    if (!seen) {
        add_packages_of(r, real);
    }
}

static void add_python(report *r) {
    char *next_to = prefix_of("python3", false), *home = getenv("HOME");
    char *local = home ? cli_format("%s/.local", home) : NULL;
    const char *const prefixes[] = {
        getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX"), next_to, local, "/usr/local", "/usr"};
    static const char *const patterns[] = {"lib/python3*/site-packages", "lib64/python3*/site-packages",
                                           "lib/python3*/dist-packages", "lib/python3/dist-packages"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        for (size_t j = 0; j < sizeof patterns / sizeof patterns[0]; j++) {
            match(r, prefixes[i], patterns[j], add_folder);
        }
    }
    free(next_to);
    free(local);
}

static void add_r(report *r, const char *path) {
    static const char key[] = "Version:";
    char line[256];
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *from = line + strlen(key) + strspn(line + strlen(key), " ");
            char *version = cli_format("%.*s", (int)strcspn(from, " \n"), from);
            char *folder = cli_format("%.*s", (int)(strstr(path, "/library/base/") - path), path);
            add_program(r, "R", version, folder);
            free(version);
            free(folder);
        }
    }
    if (file) {
        fclose(file);
    }
}

static void add_octave(report *r, const char *path) {
    add_program(r, "Octave", strrchr(path, '/') + 1, path);
}

static void add_julia(report *r, const char *path) {
    add_program(r, "Julia", strstr(path, ".so.") + strlen(".so."), path);
}

void report_programs(report *r) {
    static const char description[] = "library/base/DESCRIPTION";
    char *julia = prefix_of("julia", true);
    report_begin(r, "programs", "Programs that use math libraries", "NAME|VERSION|DIRECTORY", "none found");
    add_python(r);
    match(r, getenv("R_HOME"), description, add_r);
    match(r, "/usr/lib/R", description, add_r);
    match(r, "/usr/lib64/R", description, add_r);
    match(r, "/usr/local/lib/R", description, add_r);
    match(r, "/usr", "share/octave/[0-9]*", add_octave);
    match(r, "/usr/local", "share/octave/[0-9]*", add_octave);
    match(r, julia, "lib/libjulia.so.*.*", add_julia);
    free(julia);
}
