/* search_paths.c - lists the search locations, most specific first: paths named by the user, objects loaded by the
 * process, the environment, the loader's cache, system directories, and vendor directories. */
#include "registry/scan.h"
#include "base/path_buffer.h"
#include "base/uncancelled.h"

#include "base/folders.h"
#include "machine/internal.h"
#include "registry/ldcache.h"
#include "registry/modules.h"
#include "settings/internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define TRIPLET "powerpc64le-linux-gnu"
#elif defined(__s390x__)
#define TRIPLET "s390x-linux-gnu"
#elif defined(__riscv) && __riscv_xlen == 64
#define TRIPLET "riscv64-linux-gnu"
#elif defined(__i386__)
#define TRIPLET "i386-linux-gnu"
#elif defined(__arm__)
#define TRIPLET "arm-linux-gnueabihf"
#else
#define TRIPLET "multiarch"
#endif

/* System directories; those with subdirectories for variants of a library are read one level deeper. */
static const char *const system_folders[] = {
    "/usr/local/lib/" TRIPLET,
    "/usr/local/lib64",
    "/usr/local/lib",
    "/usr/lib/" TRIPLET,
    "/lib/" TRIPLET,
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
};

/* Patterns of vendor directories. */
static const char *const vendor_patterns[] = {
    "/opt/intel/oneapi/mkl/latest/lib",
    "/opt/intel/oneapi/mkl/latest/lib/intel64",
    "/opt/intel/oneapi/dnnl/latest/lib",
    "/opt/intel/oneapi/compiler/latest/lib",
    "/opt/intel/mkl/lib/intel64",
    "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/targets/*/lib",
    "/opt/AMD/aocl/*/*/lib",
    "/opt/arm/armpl*/lib",
    "/opt/nvidia/nvpl*/lib",
    "/opt/nvidia/hpc_sdk/*/*/math_libs/lib64",
    "/opt/OpenBLAS/lib",
    "/usr/lib/llvm-*/lib",
    "/opt/homebrew/opt/openblas/lib",
    "/home/linuxbrew/.linuxbrew/lib",
};

/* File next to libbackplane in a build folder; it contains the path of a Python environment. */
#define ENVIRONMENT_FILE "backplane-environment"

/* Directories with shared libraries below the root of a Python environment. */
static const char *const environment_patterns[] = {
    "lib",
    "lib64",
    "lib/python3*/site-packages/*.libs",
    "lib/python3*/site-packages/*/.libs",
    "lib/python3*/site-packages/*/lib",
    "lib/python3*/site-packages/nvidia/*/lib",
};

/* The same below a folder of installed packages. */
static const char *const package_patterns[] = {"*.libs", "*/.libs", "*/lib", "nvidia/*/lib"};

/* Set by the Python package: colon-separated roots of environments, and folders of installed packages. */
#define PYTHON_PATH "BACKPLANE_PYTHON_PATH"

enum { MOST_CACHE_BYTES = 16 << 20 };

/* The folders that match a pattern. */
typedef struct matching {
    bp__search *search;
    const char *problem;
} matching;

static bool search_matching(void *user, const char *folder) {
    matching *all = user;
    if (!*bp__scan_folder(all->search, folder, false, true)) {
        all->problem = "";
    } else if (*all->problem) {
        all->problem = "searched already";
    }
    return !all->search->no_memory;
}

/* The first `plain` characters of the pattern have no special meaning. */
static void search_pattern(bp__search *search, const char *pattern, size_t plain) {
    matching all = {search, "no such directory"};
    bp__place_begin(search, pattern);
    if (!bp__match_paths(pattern, plain, search_matching, &all)) {
        search->no_memory = true;
    }
    bp__place_problem(search, all.problem);
}

static void search_folder(bp__search *search, const char *folder, bool asked_for) {
    bp__place_begin(search, folder);
    bp__place_problem(search, bp__scan_folder(search, folder, asked_for, true));
}

/* Searches each entry of a colon-separated list: a directory or a file. */
static void search_list(bp__search *search, const char *list, bool asked_for) {
    BP__PATH_BUFFER(path);
    struct stat facts;
    search->no_memory = search->no_memory || !path;
    while (path && *list) {
        size_t length = strcspn(list, ":");
        if (length > 0 && length < PATH_MAX) {
            memcpy(path, list, length);
            path[length] = 0;
            if (stat(path, &facts) == 0 && S_ISREG(facts.st_mode)) {
                bp__place_begin(search, path);
                bp__scan_file(search, path, asked_for);
            } else {
                search_folder(search, path, asked_for);
            }
        }
        list += length;
        list += *list == ':';
    }
}

static void search_below(bp__search *search, const char *root, const char *const *patterns, int count) {
    for (int i = 0; root && root[0] == '/' && i < count; i++) {
        bp__text pattern = {0};
        bp__text_addf(&pattern, "%s/%s", root, patterns[i]);
        if (pattern.failed) {
            search->no_memory = true;
        } else {
            search_pattern(search, pattern.bytes, strlen(root));
        }
        bp__text_free(&pattern);
    }
}

static void search_environment(bp__search *search, const char *root) {
    search_below(search, root, environment_patterns, BP__COUNT(environment_patterns));
}

/* Writes the next entry of a colon-separated list and returns the rest, or NULL at the end. An entry that is no path is
 * written as "". */
static const char *next_entry(const char *list, char entry[PATH_MAX]) {
    if (!list || !*list) {
        return NULL;
    }
    const size_t length = strcspn(list, ":");
    snprintf(entry, PATH_MAX, "%.*s", length < PATH_MAX ? (int)length : 0, list);
    return list + length + (list[length] == ':');
}

static bool is_active(const char *root) {
    const char *active = bp__env("VIRTUAL_ENV"), *conda = bp__env("CONDA_PREFIX");
    return (active && bp__text_equal(active, root)) || (conda && bp__text_equal(conda, root));
}

/* Searches the environment of the running Python, which need not be activated. */
static void search_python(bp__search *search) {
    static const char tail[] = "-packages"; /* site-packages; dist-packages of Debian */
    BP__PATH_BUFFER(entry);
    search->no_memory = search->no_memory || !entry;
    for (const char *rest = bp__env(PYTHON_PATH); entry && (rest = next_entry(rest, entry));) {
        const size_t length = strlen(entry);
        if (length >= sizeof tail && bp__text_equal(entry + length + 1 - sizeof tail, tail)) {
            search_below(search, entry, package_patterns, BP__COUNT(package_patterns));
        } else if (!is_active(entry)) {
            search_environment(search, entry);
        }
    }
}

/* Reads the directory that a trusted file names in its first line. Returns NULL, or why there is none; "" if there is
 * no such file. */
static const char *read_environment_file(const char *path, char root[PATH_MAX]) {
    char *bytes;
    size_t size;
    bp_status status = bp__file_trusted(path);
    if (status != BP_OK) {
        return status == BP_E_NOT_FOUND ? "" : "not read, because another user can change it";
    }
    if (bp__file_read(path, PATH_MAX - 1, &bytes, &size) != BP_OK) {
        return "cannot be read, or is longer than a path";
    }
    bool valid = bytes[0] == '/' && strlen(bytes) == size;
    bytes[strcspn(bytes, "\n")] = 0;
    bp__copy_text(root, PATH_MAX, bytes);
    bp__free(bytes);
    return valid ? NULL : "names no absolute path";
}

/* Searches the Python environment that ENVIRONMENT_FILE names. The build writes that file, so that the built command
 * finds the libraries of the project's .venv. It is not installed. The file must pass the trust check of provider
 * modules. */
static void search_environment_of_build(bp__search *search) {
    BP__PATH_BUFFER(path);
    BP__PATH_BUFFER(root);
    const char *active = bp__env("VIRTUAL_ENV");
    bp__held_error held;
    search->no_memory = search->no_memory || !path || !root;
    if (!path || !root || !bp__own_folder(root) || snprintf(path, PATH_MAX, "%s/" ENVIRONMENT_FILE, root) >= PATH_MAX) {
        return;
    }
    bp__error_hold(&held);
    const char *problem = read_environment_file(path, root);
    bp__error_return(&held);
    if (!problem && (!active || !bp__text_equal(active, root))) {
        search_environment(search, root);
    } else if (problem && *problem) {
        bp__place_begin(search, path);
        bp__place_problem(search, problem);
    }
}

static bool visit_cached(void *user, const char *name, const char *path) {
    bp__search *search = user;
    bp__file *file = bp__name_tells(name) ? bp__scan_file(search, path, false) : NULL;
    if (file && !bp__lines_add(&file->loader_names, name)) {
        search->no_memory = true;
    }
    return !search->no_memory;
}

static void search_loader_cache(bp__search *search) {
    char *bytes;
    size_t size;
    bp__place_begin(search, BP__LDCACHE_PATH);
    if (bp__file_read(BP__LDCACHE_PATH, MOST_CACHE_BYTES, &bytes, &size) != BP_OK) {
        bp__place_problem(search, "cannot be read");
        return;
    }
    if (!bp__ldcache_visit(bytes, size, visit_cached, search)) {
        bp__place_problem(search, "not a loader cache in a known format");
    }
    bp__free(bytes);
}

static bool visit_loaded(void *user, const char *path, uintptr_t base) {
    bp__search *search = user;
    const char *slash = strrchr(path, '/');
    (void)base;
    if (slash && bp__name_tells(slash + 1)) {
        bp__scan_file(search, path, false);
    }
    return !search->no_memory;
}

void bp__search_paths(bp__search *search) {
    search_list(search, bp__setting_text(BP_SET_registry_library_path), true);
    if (!bp__setting_int(BP_SET_registry_system)) {
        return;
    }
    bp__place_begin(search, "objects loaded by this process");
    bp__loaded_visit(visit_loaded, search);
    const char *list = bp__env("LD_LIBRARY_PATH");
    search_list(search, list ? list : "", false);
    search_environment(search, bp__env("VIRTUAL_ENV"));
    search_environment(search, bp__env("CONDA_PREFIX"));
    search_python(search);
    search_environment_of_build(search);
    search_loader_cache(search);
    for (int i = 0; i < BP__COUNT(system_folders); i++) {
        search_folder(search, system_folders[i], false);
    }
    for (int i = 0; i < BP__COUNT(vendor_patterns); i++) {
        search_pattern(search, vendor_patterns[i], 0);
    }
}

/* ---- A file with a certain name ---- */

static bool is_file(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* Writes <folder>/<below>/<name>, and returns whether it is a file. */
static bool in_folder(const char *folder, size_t length, const char *below, const char *name, char path[PATH_MAX]) {
    int written = length > 0 ? snprintf(path, PATH_MAX, "%.*s/%s%s", (int)length, folder, below, name) : 0;
    return written > 0 && written < PATH_MAX && path[0] == '/' && is_file(path);
}

/* Searches each entry of a colon-separated list: a directory, or a file of that name. */
static bool in_list(const char *list, const char *name, char path[PATH_MAX]) {
    size_t named = strlen(name);
    while (*list) {
        size_t length = strcspn(list, ":");
        bool is_it = length > named && length < PATH_MAX && list[length - named - 1] == '/' &&
                     strncmp(list + length - named, name, named) == 0;
        if (is_it) {
            snprintf(path, PATH_MAX, "%.*s", (int)length, list);
        }
        if ((is_it && path[0] == '/' && is_file(path)) || in_folder(list, length, "", name, path)) {
            return true;
        }
        list += length;
        list += *list == ':';
    }
    return false;
}

typedef struct named {
    const char *name;
    char *path;
    bool found;
} named;

static bool visit_loaded_named(void *user, const char *path, uintptr_t base) {
    named *wanted = user;
    const char *slash = strrchr(path, '/');
    (void)base;
    wanted->found = slash && bp__text_equal(slash + 1, wanted->name) && bp__copy_text(wanted->path, PATH_MAX, path);
    return !wanted->found;
}

static bool visit_cached_named(void *user, const char *name, const char *path) {
    named *wanted = user;
    wanted->found = bp__text_equal(name, wanted->name) && is_file(path) && bp__copy_text(wanted->path, PATH_MAX, path);
    return !wanted->found;
}

static bool in_loader_cache(const char *name, char path[PATH_MAX]) {
    named wanted = {.name = name, .path = path};
    char *bytes;
    size_t size;
    if (bp__file_read(BP__LDCACHE_PATH, MOST_CACHE_BYTES, &bytes, &size) == BP_OK) {
        bp__ldcache_visit(bytes, size, visit_cached_named, &wanted);
        bp__free(bytes);
    }
    return wanted.found;
}

static bool in_system(const char *name, char path[PATH_MAX]) {
    for (int i = 0; i < BP__COUNT(system_folders); i++) {
        if (in_folder(system_folders[i], strlen(system_folders[i]), "", name, path)) {
            return true;
        }
    }
    return false;
}

/* Searches `lib` below the environments that are active or run this program. */
static bool in_environments(const char *name, char path[PATH_MAX]) {
    const char *roots[] = {bp__env("VIRTUAL_ENV"), bp__env("CONDA_PREFIX")};
    BP__PATH_BUFFER(entry);
    for (int i = 0; i < BP__COUNT(roots); i++) {
        if (roots[i] && in_folder(roots[i], strlen(roots[i]), "lib/", name, path)) {
            return true;
        }
    }
    for (const char *rest = bp__env(PYTHON_PATH); entry && (rest = next_entry(rest, entry));) {
        if (in_folder(entry, strlen(entry), "lib/", name, path)) {
            return true;
        }
    }
    return false;
}

bool bp__search_listed(const char *name, char path[PATH_MAX]) {
    BP__UNCANCELLED;
    return in_list(bp__setting_text(BP_SET_registry_library_path), name, path);
}

bool bp__search_named(const char *name, char path[PATH_MAX]) {
    BP__UNCANCELLED;
    if (bp__search_listed(name, path)) {
        return true;
    }
    if (!bp__setting_int(BP_SET_registry_system)) {
        return false;
    }
    named wanted = {.name = name, .path = path};
    const char *list = bp__env("LD_LIBRARY_PATH");
    bp__loaded_visit(visit_loaded_named, &wanted);
    if (wanted.found || in_list(list ? list : "", name, path) || in_environments(name, path)) {
        return true;
    }
    return in_loader_cache(name, path) || in_system(name, path);
}
