/* doctor_install.c - what is installed: missing pieces, broken libraries, files that hide others, alternatives that
 * disagree. */
#include "doctor.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void doctor_configuration(doctor *d) {
    const char *problem;
    for (int i = 0; (problem = bp_problem_at(i)); i++) {
        doctor_find(d, SEVERITY_WARNING, cli_format("correct or remove it: it has no effect as it is."), "%s", problem);
    }
}

void doctor_broken(doctor *d) {
    for (int i = 0; i < d->row_count; i++) {
        const bp_library_info *row = &d->rows[i];
        if (row->state == BP_LIBRARY_BROKEN) {
            doctor_find(d, SEVERITY_WARNING,
                        cli_format("reinstall or remove it; after a repair run `backplane list --probe`."),
                        "%s (%s): %s", row->id, row->path, row->reason);
        } else if (row->state == BP_LIBRARY_UNTRUSTED) {
            doctor_find(d, SEVERITY_WARNING,
                        cli_format("let only root and yourself write to it and to the folders above it."),
                        "%s was not opened: %s", row->path, row->reason);
        }
    }
}

void doctor_providers(doctor *d) {
    bp_provider_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_provider_at(i, &info); i++) {
        if (info.status != BP_OK) {
            doctor_find(d, SEVERITY_WARNING,
                        cli_format("build it for this version, or take it out of registry.provider_path."),
                        "%s was turned away: %s", info.path[0] ? info.path : info.name, info.reason);
        }
    }
}

/* ---- Missing pieces ---- */

static const char *install_command(void) {
    if (access("/etc/debian_version", F_OK) == 0) {
        return "apt install libopenblas0-pthread (or libopenblas0-openmp for OpenMP programs)";
    }
    if (access("/etc/redhat-release", F_OK) == 0) {
        return "dnf install openblas-openmp";
    }
    return "install OpenBLAS (conda install openblas, or your system's package)";
}

static void check_fast_blas(doctor *d) {
    for (int i = 0; i < d->row_count; i++) {
        bool ours = (d->rows[i].kinds & BP_LIB_BUILTIN) != 0, reference = strcmp(d->rows[i].family, "netlib") == 0;
        if (doctor_usable(&d->rows[i], BP_LIB_BLAS) && !ours && !reference) {
            return;
        }
    }
    doctor_find(d, SEVERITY_WARNING, cli_format("%s.", install_command()),
                "no optimised BLAS was found; products run on our own kernels");
}

static void check_unprobed(doctor *d) {
    int count = 0;
    const char *reason = "";
    for (int i = 0; i < d->row_count; i++) {
        bool gpu = (d->rows[i].kinds & BP_LIB_GPU) != 0;
        if (d->rows[i].state == BP_LIBRARY_UNPROBED && (d->rows[i].kinds & BP_LIB_BLAS) && !gpu) {
            count++;
            reason = d->rows[i].reason;
        }
    }
    if (count > 0) {
        doctor_find(d, SEVERITY_WARNING, cli_format("see that backplane-probe is installed and may be run."),
                    "%d librar%s could not be probed, so nothing runs on %s: %s", count, count == 1 ? "y" : "ies",
                    count == 1 ? "it" : "them", reason[0] ? reason : "the probe helper is missing");
    }
}

/* The first folder upwards that exists decides whether the rest can be made. */
static bool can_be_made(const char *folder) {
    char *path = cli_format("%s", folder);
    while (access(path, F_OK) != 0 && strchr(path, '/') != strrchr(path, '/')) {
        *strrchr(path, '/') = 0;
    }
    if (access(path, F_OK) != 0) {
        strcpy(path, "/");
    }
    bool good = access(path, W_OK | X_OK) == 0;
    free(path);
    return good;
}

static char *cache_folder(void) {
    const char *set = bp_get_registry_cache_dir(), *home = doctor_variable("XDG_CACHE_HOME");
    if (set[0]) {
        return cli_format("%s", set);
    }
    if (home && home[0] == '/') {
        return cli_format("%s/backplane", home);
    }
    home = doctor_variable("HOME");
    return home ? cli_format("%s/.cache/backplane", home) : NULL;
}

static void check_cache(doctor *d) {
    if (strcmp(bp_get_registry_cache(), "read-write") != 0) {
        doctor_find(d, SEVERITY_NOTE, NULL, "registry.cache = %s: what probes find out is not kept",
                    bp_get_registry_cache());
        return;
    }
    char *folder = cache_folder();
    if (!folder || folder[0] != '/' || !can_be_made(folder)) {
        doctor_find(d, SEVERITY_WARNING, cli_format("set registry.cache_dir to a folder that can be written."),
                    "probe results cannot be kept in %s, so every start probes every library again",
                    folder ? folder : "a home folder (HOME is not set)");
    }
    free(folder);
}

void doctor_missing(doctor *d) {
    check_fast_blas(d);
    check_unprobed(d);
    check_cache(d);
    if (strncmp(d->machine.topology_source, "hwloc", 5) != 0) {
        doctor_find(d, SEVERITY_NOTE, cli_format("install hwloc (Debian: libhwloc15)."),
                    "hwloc is missing; cores and caches are read from %s", d->machine.topology_source);
    }
}

/* ---- Shadowed libraries ---- */

static bool first_of_soname(const doctor *d, int index) {
    for (int i = 0; i < index; i++) {
        if (strcmp(d->rows[i].soname, d->rows[index].soname) == 0) {
            return false;
        }
    }
    return true;
}

static void report_shadowed(doctor *d, const char *soname, int count) {
    char real[PATH_MAX] = "";
    const char *why = "";
    bool taken = doctor_loader_takes(soname, real, sizeof real, &why), forced = strcmp(why, "LD_LIBRARY_PATH") == 0;
    char *hidden = NULL;
    for (int i = 0; i < d->row_count; i++) {
        if (strcmp(d->rows[i].soname, soname) == 0 && strcmp(d->rows[i].path, real) != 0) {
            hidden = doctor_enumerate(hidden, d->rows[i].path);
        }
    }
    if (taken) {
        doctor_find(d, forced ? SEVERITY_WARNING : SEVERITY_NOTE,
                    forced ? cli_format("take its folder out of LD_LIBRARY_PATH, unless this is meant.") : NULL,
                    "programs that are linked with %s get %s (by %s), which hides %s", soname, real, why, hidden);
    } else {
        doctor_find(d, SEVERITY_NOTE, NULL, "%s exists %d times, and by its name the loader would find none: %s",
                    soname, count, hidden);
    }
    free(hidden);
}

void doctor_shadowed(doctor *d) {
    for (int i = 0; i < d->row_count; i++) {
        int count = 0;
        for (int j = i; j < d->row_count; j++) {
            count += strcmp(d->rows[j].soname, d->rows[i].soname) == 0;
        }
        if (count > 1 && d->rows[i].soname[0] && first_of_soname(d, i)) {
            report_shadowed(d, d->rows[i].soname, count);
        }
    }
}

/* ---- Debian's alternatives ---- */

/* The links that should agree, for each integer width. */
enum { LINK_BLAS, LINK_LAPACK, LINK_OPENBLAS, LINK_COUNT };
static const char *const link_names[2][LINK_COUNT] = {
    {"libblas.so.3", "liblapack.so.3", "libopenblas.so.0"},
    {"libblas64.so.3", "liblapack64.so.3", "libopenblas64.so.0"},
};

/* The flavour is the folder: ".../openblas-pthread/libblas.so.3". Netlib's two folders are one flavour. */
static char *flavour_of(const char *target) {
    const char *end = strrchr(target, '/');
    const char *start = end;
    while (start && start > target && start[-1] != '/') {
        start--;
    }
    char *name = end ? cli_format("%.*s", (int)(end - start), start) : cli_format("%s", "");
    static const char *const netlib[] = {"blas", "lapack", "blas64", "lapack64"};
    for (size_t i = 0; i < sizeof netlib / sizeof netlib[0]; i++) {
        if (strcmp(name, netlib[i]) == 0) {
            free(name);
            return cli_format("netlib");
        }
    }
    return name;
}

static bool starts(const char *text, const char *head) {
    return text && strncmp(text, head, strlen(head)) == 0;
}

static void judge_links(doctor *d, const char *const names[LINK_COUNT], char *const flavours[LINK_COUNT]) {
    const char *blas = flavours[LINK_BLAS], *lapack = flavours[LINK_LAPACK], *openblas = flavours[LINK_OPENBLAS];
    if (blas && lapack && strcmp(blas, lapack) != 0) {
        /* BLIS has no LAPACK, so netlib's beside it is how it is meant. */
        bool meant = starts(blas, "blis") && strcmp(lapack, "netlib") == 0;
        doctor_find(d, meant ? SEVERITY_NOTE : SEVERITY_WARNING,
                    meant ? NULL : cli_format("update-alternatives --config for both, so that they name one flavour."),
                    "%s is %s but %s is %s", names[LINK_BLAS], blas, names[LINK_LAPACK], lapack);
    }
    if (blas && openblas && starts(blas, "openblas") && strcmp(blas, openblas) != 0) {
        doctor_find(d, SEVERITY_WARNING,
                    cli_format("update-alternatives --config for both, so that they name one flavour."),
                    "%s is %s but %s is %s: one program may get both, with two thread pools", names[LINK_BLAS], blas,
                    names[LINK_OPENBLAS], openblas);
    }
    if (blas && strcmp(blas, "netlib") == 0) {
        doctor_find(
            d, SEVERITY_WARNING, cli_format("%s.", install_command()),
            "%s is netlib's reference code: programs that are linked with it are many times slower than need be",
            names[LINK_BLAS]);
    }
}

/* Links carry the architecture behind their name: "libblas.so.3-x86_64-linux-gnu". */
static void compare_links(doctor *d, const char *folder, const char *const names[LINK_COUNT],
                          const char *architecture) {
    char *flavours[LINK_COUNT] = {NULL};
    for (int i = 0; i < LINK_COUNT; i++) {
        char *path = cli_format("%s/%s%s", folder, names[i], architecture), target[PATH_MAX];
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length > 0) {
            target[length] = 0;
            flavours[i] = flavour_of(target);
        }
        free(path);
    }
    judge_links(d, names, flavours);
    for (int i = 0; i < LINK_COUNT; i++) {
        free(flavours[i]);
    }
}

void doctor_alternatives_in(doctor *d, const char *folder) {
    DIR *entries = opendir(folder);
    if (!entries) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        for (int width = 0; width < 2; width++) {
            size_t length = strlen(link_names[width][LINK_BLAS]);
            bool ours = starts(entry->d_name, link_names[width][LINK_BLAS]);
            if (ours && (entry->d_name[length] == 0 || entry->d_name[length] == '-')) {
                compare_links(d, folder, link_names[width], entry->d_name + length);
            }
        }
    }
    closedir(entries);
}

void doctor_alternatives(doctor *d) {
    doctor_alternatives_in(d, "/etc/alternatives");
}
