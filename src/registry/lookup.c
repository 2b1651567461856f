/* lookup.c - which row a name means, and the sentence for a name that means none. */
#include "registry/generation.h"

#include <string.h>

/* Several files may carry one SONAME: the one that the loader's cache names is meant, if any. */
static int row_with_soname(const bp__generation *generation, const char *name) {
    int first = -1;
    for (int i = 0; i < generation->count; i++) {
        if (strcmp(generation->infos[i].soname, name) == 0) {
            if (bp__lines_have(generation->rows[i].file->loader_names, name)) {
                return i;
            }
            first = first < 0 ? i : first;
        }
    }
    return first;
}

int bp__row_named(const bp__generation *generation, const char *name) {
    for (int i = 0; i <= generation->count; i++) {
        if (strcmp(generation->infos[i].id, name) == 0) {
            return i;
        }
    }
    for (int i = 0; i < generation->count; i++) {
        const bp_library_info *row = &generation->infos[i];
        bool is_path = name[0] == '/' && (strcmp(row->path, name) == 0 || bp__lines_have(row->aliases, name));
        if (is_path || strcmp(row->family, name) == 0) {
            return i;
        }
    }
    return row_with_soname(generation, name);
}

static const char *id_at(void *user, int index) {
    const bp__generation *generation = user;
    return index <= generation->count ? generation->infos[index].id : NULL;
}

/* What a user could install, by the family that the name begins with ("openblas-openmp", "mkl64"). */
static const char *package_for(const char *name) {
    for (int i = 0; i < bp__family_count; i++) {
        const bp__family *family = &bp__families[i];
        if (family->package && (bp__text_starts(name, family->id) || bp__text_starts(name, family->name) ||
                                (bp__text_starts(name, "lib") && bp__text_starts(name + 3, family->name)))) {
            return family->package;
        }
    }
    return NULL;
}

static void add_places(bp__text *text, const bp__search *search) {
    bp__text_add(text, "; looked in ");
    for (int i = 0; i < search->place_count; i++) {
        bp__text_addf(text, "%s%s (%s)", i ? ", " : "", search->places[i].name, search->places[i].problem);
    }
    if (search->place_count == 0) {
        bp__text_add(text, "no place: registry.system is false and registry.library_path is empty");
    }
}

/* Rows whose id or SONAME shares the name's beginning and that cannot be used: their reasons may be the answer. */
static void add_near_matches(bp__text *text, const bp__generation *generation, const char *name) {
    size_t stem = strcspn(name, "-0123456789.");
    for (int i = 0; i < generation->count; i++) {
        const bp_library_info *row = &generation->infos[i];
        bool near = stem > 2 && (strncmp(row->id, name, stem) == 0 || strncmp(row->soname, name, stem) == 0 ||
                                 strncmp(row->family, name, stem) == 0);
        if (near) {
            bp__text_addf(text, "; '%s' is %s (%s)%s%s", row->id, bp_library_state_name(row->state), row->path,
                          *row->reason ? ": " : "", row->reason);
        }
    }
}

bp_status bp__library_absent(const char *name) {
    bp__generation *now;
    bp__text text = {0};
    char nearest[256];
    bp__registry_lock();
    bp_status status = bp__generation_current(&now);
    if (status == BP_OK) {
        const char *package = package_for(name);
        bp__suggest(name, id_at, now, nearest, sizeof nearest);
        bp__text_addf(&text, "no library '%s' was found%s%s", name, *nearest ? "; " : "", nearest);
        if (package) {
            bp__text_addf(&text, "; it comes with the package %s", package);
        }
        bp__text_add(&text, "; a folder of your own is searched when BACKPLANE_LIBRARY_PATH names it");
        add_near_matches(&text, now, name);
        add_places(&text, &now->search);
        status = text.failed ? bp__fail_memory(text.length, "a sentence")
                             : bp__fail(BP_E_NOT_FOUND, "%s", bp__text_get(&text));
        bp__text_free(&text);
    }
    bp__registry_unlock();
    return status;
}
