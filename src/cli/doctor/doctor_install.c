/* doctor_install.c - checks the installation: configuration errors, missing parts, broken libraries, rejected modules,
 * shadowed files. */
#include "doctor.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Checks a folder or file of the search path. The search ignores a missing one, because it may exist at other times. */
static void check_search_entry(doctor *d, const char *entry, const char *where) {
    if (entry[0] != '/') {
        doctor_find(d, SEVERITY_WARNING, cli_format("write the absolute path of the folder or file."),
                    "%s contains '%s', a relative path: its meaning depends on the working folder of each program",
                    where, entry);
    } else if (access(entry, F_OK) != 0) {
        doctor_find(d, SEVERITY_WARNING, cli_format("correct the path, or remove it from %s.", where),
                    "%s contains %s, which cannot be searched: %s", where, entry, strerror(errno));
    }
}

static void check_search_path(doctor *d) {
    const char *list, *name = "BACKPLANE_LIBRARY_PATH";
    bp_layer layer;
    if (bp_get("registry.library_path", &list, &layer, NULL) != BP_OK) {
        return;
    }
    const char *where =
        doctor_variable(name) && strcmp(doctor_variable(name), list) == 0 ? name : "registry.library_path";
    while (*list) {
        size_t length = strcspn(list, ":");
        char *entry = cli_format("%.*s", (int)length, list);
        if (length > 0) {
            check_search_entry(d, entry, where);
        }
        free(entry);
        list += length + (list[length] != 0);
    }
}

void doctor_configuration(doctor *d) {
    const char *problem;
    for (int i = 0; (problem = bp_config_error_at(i)); i++) {
        doctor_find(d, SEVERITY_WARNING, cli_format("correct or remove it; it has no effect."), "%s", problem);
    }
    check_search_path(d);
}

/* ---- Broken libraries and modules ---- */

/* Reports a broken library. The probe inherits the user's environment, so a variable may be the cause. */
static void report_broken(doctor *d, const bp_library_info *row) {
    char *names = doctor_variables_of(row->family, false), *values = doctor_variables_of(row->family, true);
    char *advice =
        names ? cli_format(
                    "`unset %s`, then run `backplane doctor` again. Reinstall the library only if it is still broken.",
                    names)
              : cli_format("reinstall or remove it, then run `backplane list --probe`.");
    doctor_find(d, SEVERITY_WARNING, advice, "%s (%s): %s%s%s", row->id, row->path, row->reason,
                values ? ", with " : "", values ? values : "");
    free(names);
    free(values);
}

/* Returns the lines, except about primitives that the library does not have on this processor. */
static char *wrong_ones(const char *faults) {
    static const char absent[] = ": not offered";
    char *kept = cli_format("%s", faults);
    for (char *line = kept, *found; (found = strstr(line, absent));) {
        while (found > kept && found[-1] != '\n') {
            found--;
        }
        const char *end = found + strcspn(found, "\n");
        end += *end == '\n';
        memmove(found, end, strlen(end) + 1);
        line = found;
    }
    return kept;
}

/* Reports the operations in which a library is wrong. Backplane runs them on other libraries. */
static void report_faults(doctor *d, const bp_library_info *row) {
    char *wrong = wrong_ones(row->faults), *lines = cli_join_lines(wrong, "\n", "; ");
    free(wrong);
    if (!lines) {
        return;
    }
    doctor_find(d, SEVERITY_WARNING,
                cli_format("install another version if programs call it directly. Backplane uses other libraries for "
                           "these operations."),
                "%s (%s) is not used for: %s", row->id, row->path, lines);
    free(lines);
}

void doctor_broken(doctor *d) {
    for (int i = 0; i < d->row_count; i++) {
        const bp_library_info *row = &d->rows[i];
        if (row->state == BP_LIBRARY_OK && row->faults[0]) {
            report_faults(d, row);
        } else if (row->state == BP_LIBRARY_BROKEN) {
            report_broken(d, row);
        } else if (row->state == BP_LIBRARY_UNTRUSTED) {
            doctor_find(d, SEVERITY_WARNING,
                        cli_format("allow only root and your user to write to it and to the folders above it."),
                        "%s was not opened: %s", row->path, row->reason);
        }
    }
}

static char *module_advice(const bp_provider_info *info) {
    switch (info->status) {
    case BP_E_UNTRUSTED:
        return info->path[0] == '/' ? cli_format("allow only root and your user to own and write to it and the folders "
                                                 "above it: `chown root`, `chmod go-w`.")
                                    : cli_format("write an absolute path in registry.provider_path.");
    case BP_E_NOT_FOUND:
        return cli_format("correct the folder, or remove it from registry.provider_path.");
    case BP_E_LOAD:
        return cli_format("install the libraries that it needs, or remove it from its folder.");
    default:
        return cli_format("build it for this version, or remove it from its folder.");
    }
}

void doctor_providers(doctor *d) {
    bp_provider_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_provider_at(i, &info); i++) {
        if (info.status != BP_OK) {
            doctor_find(d, SEVERITY_WARNING, module_advice(&info), "%s was rejected: %s",
                        info.path[0] ? info.path : info.name, info.reason);
        }
    }
}

/* ---- Missing parts ---- */

const char *doctor_install_command(void) {
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
    doctor_find(d, SEVERITY_WARNING, cli_format("%s.", doctor_install_command()),
                "no optimised BLAS was found; products run on the built-in kernels");
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
        doctor_find(d, SEVERITY_WARNING, cli_format("install backplane-probe, and make it executable."),
                    "%d librar%s could not be probed, so nothing runs on %s: %s", count, count == 1 ? "y" : "ies",
                    count == 1 ? "it" : "them", reason[0] ? reason : "the probe helper is missing");
    }
}

static void check_cache(doctor *d) {
    if (strcmp(bp_get_registry_cache(), "read-write") != 0) {
        doctor_find(d, SEVERITY_NOTE, cli_format("set registry.cache to read-write, unless this is intended."),
                    "registry.cache = %s: probe results are not stored", bp_get_registry_cache());
        return;
    }
    const char *home = doctor_variable("HOME"), *cache = doctor_variable("XDG_CACHE_HOME");
    bool homeless = !bp_get_registry_cache_dir()[0] && !(cache && cache[0] == '/') && !(home && home[0] == '/');
    if (d->store_problem || homeless) {
        doctor_find(d, SEVERITY_WARNING,
                    cli_format("set registry.cache_dir to a folder that you can write to, and that others cannot."),
                    "%s; what is not kept is probed again at every start",
                    d->store_problem
                        ? d->store_problem
                        : "the probe cache could not be written: no home directory is known (HOME is not set)");
    }
}

void doctor_missing(doctor *d) {
    check_fast_blas(d);
    check_unprobed(d);
    check_cache(d);
    if (strncmp(d->machine.topology_source, "hwloc", 5) != 0) {
        doctor_find(d, SEVERITY_NOTE, cli_format("install hwloc (Debian: libhwloc15)."),
                    "hwloc is missing; topology and caches are read from %s", d->machine.topology_source);
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
                    forced ? cli_format("remove its folder from LD_LIBRARY_PATH, unless this is intended.")
                           : cli_format("no action if this file is intended. Otherwise add the folder of another one "
                                        "to LD_LIBRARY_PATH, or use update-alternatives on Debian."),
                    "programs that are linked with %s load %s (by %s), which shadows %s", soname, real, why, hidden);
    } else {
        doctor_find(d, SEVERITY_NOTE,
                    cli_format("no action for Backplane, which opens files by path. Other programs need its folder in "
                               "LD_LIBRARY_PATH."),
                    "%s exists %d times, and the loader finds none of them by name: %s", soname, count, hidden);
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
