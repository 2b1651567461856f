/* lookup.c - finds the entry for a name, and writes the message for a name without a usable entry. */
#include "registry/build_list.h"
#include "base/path_buffer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the entry with a SONAME. If several files have it, the one that the loader's cache lists has priority. */
static int entry_with_soname(const bp__library_list *list, const char *name) {
    int first = -1;
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->infos[i].soname, name) == 0) {
            if (bp__lines_have(list->entries[i].file->loader_names, name)) {
                return i;
            }
            first = first < 0 ? i : first;
        }
    }
    return first;
}

int bp__list_entry_named(const bp__library_list *list, const char *name) {
    for (int i = 0; i <= list->count; i++) {
        if (strcmp(list->infos[i].id, name) == 0) {
            return i;
        }
    }
    for (int i = 0; i < list->count; i++) {
        const bp_library_info *entry = &list->infos[i];
        bool is_path = name[0] == '/' && (strcmp(entry->path, name) == 0 || bp__lines_have(entry->aliases, name));
        if (is_path || strcmp(entry->family, name) == 0) {
            return i;
        }
    }
    return entry_with_soname(list, name);
}

static void append_path(char *text, size_t size, const char *path) {
    const size_t used = strlen(text);
    if (*path) {
        snprintf(text + used, size - used, "%s%s", used ? ":" : "", path);
    }
}

void bp__library_write_paths(const bp_library_info *library, char *text, size_t size) {
    bp__library_list *list;
    text[0] = '\0';
    append_path(text, size, library->path);
    bp__registry_lock();
    const bool listed = *library->blas && bp__library_list_any(&list) == BP_OK;
    const bp__file *file = listed ? bp__file_at(&list->search, library->path) : NULL;
    if (file) {
        const int blas = bp__list_entry_named(list, library->blas);
        append_path(text, size, file->facts.blas);
        append_path(text, size, blas >= 0 ? list->infos[blas].path : "");
    }
    bp__registry_unlock();
}

int bp__libraries_limited(void) {
    bp__library_list *list;
    int count = 0;
    bp__registry_lock();
    const bool listed = bp__memory_is_limited() && bp__library_list_current(&list) == BP_OK;
    for (int i = 0; listed && i < list->count; i++) {
        count += list->entries[i].file->facts.momentary && list->entries[i].state != BP_LIBRARY_OK;
    }
    bp__registry_unlock();
    return count;
}

static const char *id_at(void *user, int index) {
    const bp__library_list *list = user;
    return index <= list->count ? list->infos[index].id : NULL;
}

/* Returns the package to install, from the family that the name begins with ("openblas-openmp", "mkl64"). */
static const char *package_for(const char *name) {
    for (int i = 0; i < bp__library_family_count; i++) {
        const bp__library_family *family = &bp__library_families[i];
        if (family->package && (bp__text_starts(name, family->id) || bp__text_starts(name, family->name) ||
                                (bp__text_starts(name, "lib") && bp__text_starts(name + 3, family->name)))) {
            return family->package;
        }
    }
    return NULL;
}

/* `mark`: between this and the text before it. */
static void add_places(bp__text *text, const char *mark, const bp__search *search) {
    if (search->place_count == 0) {
        bp__text_addf(text, "%s no location was searched: registry.system is false and registry.library_path is empty",
                      mark);
    } else {
        bp__text_addf(text, "%s `backplane list --all` shows the %d locations that were searched", mark,
                      search->place_count);
    }
}

/* Adds unusable entries whose id or SONAME begins like the name, because their reasons may explain the failure. */
static void add_near_matches(bp__text *text, const bp__library_list *list, const char *name) {
    size_t stem = strcspn(name, "-0123456789.");
    for (int i = 0; i < list->count; i++) {
        const bp_library_info *entry = &list->infos[i];
        bool near = stem > 2 && (strncmp(entry->id, name, stem) == 0 || strncmp(entry->soname, name, stem) == 0 ||
                                 strncmp(entry->family, name, stem) == 0);
        if (near) {
            bp__text_addf(text, "; '%s' is %s (%s)%s%s", entry->id, bp_library_state_name(entry->state), entry->path,
                          *entry->reason ? ": " : "", entry->reason);
        }
    }
}

/* ---- A name of an entry that cannot do the requested work ---- */

static const char *offers(unsigned kinds) {
    return kinds & BP_LIB_OPENMP   ? "it is an OpenMP runtime"
           : kinds & BP_LIB_FFT    ? "it offers Fourier transforms"
           : kinds & BP_LIB_LAPACK ? "it offers LAPACK alone"
           : kinds & BP_LIB_DNN    ? "it offers neural-network primitives"
           : kinds & BP_LIB_SMM    ? "it offers small matrix products alone"
           : kinds & BP_LIB_OPENCL ? "it offers matrix products on OpenCL devices alone"
                                   : "it computes on a GPU";
}

static void add_entry_state(bp__text *text, const bp_library_info *entry) {
    bp__text_addf(text, "library '%s'", entry->id);
    if (*entry->path) {
        bp__text_addf(text, " (%s)", entry->path);
    }
    bool blas = (entry->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_BUILTIN)) != 0;
    if (entry->state == BP_LIBRARY_FACADE) {
        bp__text_addf(text, " is a facade: it %s", entry->reason);
    } else if (entry->state == BP_LIBRARY_UNTRUSTED || (blas && entry->state != BP_LIBRARY_OK)) {
        bp__text_addf(text, " cannot be used, it is %s: %s", bp_library_state_name(entry->state), entry->reason);
    } else if (blas) {
        bp__text_add(text, " is listed and works, but no provider uses it");
    } else {
        bp__text_addf(text, " is not a BLAS: %s", offers(entry->kinds));
        if (entry->state != BP_LIBRARY_OK) {
            bp__text_addf(text, "; it is %s: %s", bp_library_state_name(entry->state), entry->reason);
        }
    }
}

/* ---- A path without an entry ---- */

/* Adds the reason why an existing file is not listed. Returns false if out of memory. */
static bool add_why_not_listed(bp__text *text, const char *path, bp__elf *elf) {
    bp__facts facts;
    const char *why;
    if (bp__file_trusted(path) != BP_OK) {
        bp__text_addf(text, "is not read: %s", bp_last_error());
    } else if (!bp__elf_open(elf, path, &why)) {
        bp__text_addf(text, "is not a loadable library: %s", why);
    } else {
        bp_status status = bp__identify(elf, path, &facts);
        bp__elf_close(elf);
        if (status != BP_OK) {
            return false;
        }
        bp__text_add(text,
                     *facts.family && facts.kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)
                         ? "is in none of the searched locations; add it or its directory to BACKPLANE_LIBRARY_PATH"
                         : "exports no BLAS symbols");
    }
    return true;
}

static bool add_path(bp__text *text, const bp__library_list *list, const char *path) {
    BP__PATH_BUFFER(real);
    char reason[128];
    struct stat facts;
    if (!real) {
        return false;
    }
    if (path[0] != '/') {
        bp__text_addf(text, "'%s' is a relative path; a library is named by an absolute one", path);
        return true;
    }
    if (stat(path, &facts) != 0 || !realpath(path, real)) {
        bp__text_addf(text, errno == ENOENT ? "file '%s' does not exist" : "file '%s' cannot be reached: %s", path,
                      strerror_r(errno, reason, sizeof reason));
        return true;
    }
    int entry = bp__list_entry_named(list, real);
    if (entry >= 0) {
        bp__text_addf(text, "'%s' resolves to %s: ", path, real);
        add_entry_state(text, &list->infos[entry]);
        return true;
    }
    if (!S_ISREG(facts.st_mode)) {
        bp__text_addf(text, "'%s' is not a file", path);
        return true;
    }
    bp__text_addf(text, "file '%s' ", path);
    bp__elf *elf = bp__alloc(sizeof *elf); /* large: not on the stack */
    bool added = elf && add_why_not_listed(text, real, elf);
    bp__free(elf);
    return added;
}

/* ---- An unknown name ---- */

static void add_unknown(bp__text *text, bp__library_list *list, const char *name) {
    char nearest[256];
    const char *package = package_for(name);
    bp__suggest(name, id_at, list, nearest, sizeof nearest);
    bp__text_addf(text, "no library '%s' was found", name);
    add_near_matches(text, list, name);
    if (*nearest) { /* it is here: neither a package nor another directory is needed */
        bp__text_addf(text, "; %s", nearest);
    } else {
        if (package) {
            bp__text_addf(text, "; it comes with the package %s", package);
        }
        bp__text_add(text, "; set BACKPLANE_LIBRARY_PATH to search another directory");
    }
    add_places(text, *nearest ? "" : ";", &list->search);
}

static bp_status explain_absence(bp__library_list *list, const char *name) {
    bp__text text = {0};
    int entry = bp__list_entry_named(list, name);
    bool enough = true;
    if (entry >= 0) {
        add_entry_state(&text, &list->infos[entry]);
    } else if (strchr(name, '/')) {
        enough = add_path(&text, list, name);
    } else {
        add_unknown(&text, list, name);
    }
    enough = enough && !text.failed;
    bp_status status =
        enough ? bp__fail(BP_E_NOT_FOUND, "%s", bp__text_get(&text)) : bp__fail_memory(text.length, "a message");
    bp__text_free(&text);
    return status;
}

bp_status bp__library_absent(const char *name) {
    bp__library_list *now;
    bp__registry_lock();
    bp_status status = bp__library_list_current(&now);
    if (status == BP_OK) {
        status = explain_absence(now, name);
    }
    bp__registry_unlock();
    return status;
}
