/* doctor_debian.c - checks Debian's alternatives, the links that select one BLAS and one LAPACK for all programs:
 * whether they name one implementation, exist, and are fast. */
#include "doctor.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALTERNATIVES "/etc/alternatives"

/* The links that should agree, for each integer width. */
enum { LINK_BLAS, LINK_LAPACK, LINK_OPENBLAS, LINK_COUNT };
static const char *const link_names[2][LINK_COUNT] = {
    {"libblas.so.3", "liblapack.so.3", "libopenblas.so.0"},
    {"libblas64.so.3", "liblapack64.so.3", "libopenblas64.so.0"},
};

static bool starts(const char *text, const char *head) {
    return text && strncmp(text, head, strlen(head)) == 0;
}

/* Returns the architecture in an entry's name, such as "libblas.so.3-x86_64-linux-gnu"; NULL if the entry is not for
 * `link`. */
static const char *architecture_of(const char *entry, const char *link) {
    const char *rest = starts(entry, link) ? entry + strlen(link) : NULL;
    return rest && (*rest == 0 || *rest == '-') ? rest : NULL;
}

char *doctor_alternative_of(const char *link, const char *path) {
    char *name = NULL;
    DIR *entries = opendir(ALTERNATIVES);
    for (struct dirent *entry; entries && !name && (entry = readdir(entries));) {
        char real[PATH_MAX], *full = cli_format("%s/%s", ALTERNATIVES, entry->d_name);
        if (architecture_of(entry->d_name, link) && realpath(full, real) && strcmp(real, path) == 0) {
            name = cli_format("%s", entry->d_name);
        }
        free(full);
    }
    if (entries) {
        closedir(entries);
    }
    return name;
}

/* Returns the flavour, which is the folder's name: ".../openblas-pthread/libblas.so.3". Netlib's folders are one
 * flavour. */
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

static char *advise_both(const char *first, const char *second, const char *architecture) {
    return cli_format(
        "select one flavour for both: `update-alternatives --config %s%s` and `update-alternatives --config %s%s`.",
        first, architecture, second, architecture);
}

/* Returns whether another implementation of the SONAME is installed, so that only the link must change. */
static bool has_choice(const doctor *d, const char *soname) {
    for (int i = 0; i < d->row_count; i++) {
        const bp_library_info *row = &d->rows[i];
        bool works = row->state == BP_LIBRARY_OK || row->state == BP_LIBRARY_FACADE;
        if (works && strcmp(row->soname, soname) == 0 && strcmp(row->family, "netlib") != 0) {
            return true;
        }
    }
    return false;
}

static void check_links(doctor *d, const char *const names[LINK_COUNT], char *const flavours[LINK_COUNT],
                        const char *architecture) {
    const char *blas = flavours[LINK_BLAS], *lapack = flavours[LINK_LAPACK], *openblas = flavours[LINK_OPENBLAS];
    if (blas && lapack && strcmp(blas, lapack) != 0) {
        bool meant = starts(blas, "blis") && strcmp(lapack, "netlib") == 0;
        doctor_find(d, meant ? SEVERITY_NOTE : SEVERITY_WARNING,
                    meant ? cli_format("no action: BLIS has no LAPACK, so netlib's is used with it.")
                          : advise_both(names[LINK_BLAS], names[LINK_LAPACK], architecture),
                    "%s is %s but %s is %s", names[LINK_BLAS], blas, names[LINK_LAPACK], lapack);
    }
    if (blas && openblas && starts(blas, "openblas") && strcmp(blas, openblas) != 0) {
        doctor_find(d, SEVERITY_WARNING, advise_both(names[LINK_BLAS], names[LINK_OPENBLAS], architecture),
                    "%s is %s but %s is %s: a program may load both, with two thread pools", names[LINK_BLAS], blas,
                    names[LINK_OPENBLAS], openblas);
    }
    if (blas && strcmp(blas, "netlib") == 0) {
        doctor_find(d, SEVERITY_WARNING,
                    has_choice(d, names[LINK_BLAS])
                        ? cli_format("select a faster one: `update-alternatives --config %s%s`.", names[LINK_BLAS],
                                     architecture)
                        : cli_format("%s.", doctor_install_command()),
                    "%s is netlib's reference code: programs that are linked with it are many times slower than with "
                    "an optimised BLAS",
                    names[LINK_BLAS]);
        doctor_find_saving(d, "netlib");
    }
}

/* Returns the flavour of an entry's target; NULL if there is no entry or no target. */
static char *read_flavour(const char *folder, const char *name, const char *architecture) {
    char target[PATH_MAX], *path = cli_format("%s/%s%s", folder, name, architecture);
    ssize_t length = access(path, F_OK) == 0 ? readlink(path, target, sizeof target - 1) : -1;
    free(path);
    if (length <= 0) {
        return NULL;
    }
    target[length] = 0;
    return flavour_of(target);
}

static void compare_links(doctor *d, const char *folder, const char *const names[LINK_COUNT],
                          const char *architecture) {
    char *flavours[LINK_COUNT];
    for (int i = 0; i < LINK_COUNT; i++) {
        flavours[i] = read_flavour(folder, names[i], architecture);
    }
    check_links(d, names, flavours, architecture);
    for (int i = 0; i < LINK_COUNT; i++) {
        free(flavours[i]);
    }
}

static void check_dangling(doctor *d, const char *folder, const char *name) {
    char target[PATH_MAX], *path = cli_format("%s/%s", folder, name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length > 0 && access(path, F_OK) != 0) {
        target[length] = 0;
        doctor_find(
            d, SEVERITY_WARNING, cli_format("`update-alternatives --auto %s`, or install again what it names.", name),
            "%s leads to %s, which does not exist: programs that are linked with it may not start", name, target);
    }
    free(path);
}

void doctor_alternatives_in(doctor *d, const char *folder) {
    DIR *entries = opendir(folder);
    if (!entries) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        for (int width = 0; width < 2; width++) {
            const char *architecture = architecture_of(entry->d_name, link_names[width][LINK_BLAS]);
            if (architecture) {
                compare_links(d, folder, link_names[width], architecture);
            }
            for (int i = 0; i < LINK_COUNT; i++) {
                if (architecture_of(entry->d_name, link_names[width][i])) {
                    check_dangling(d, folder, entry->d_name);
                }
            }
        }
    }
    closedir(entries);
}

void doctor_alternatives(doctor *d) {
    doctor_alternatives_in(d, ALTERNATIVES);
}
