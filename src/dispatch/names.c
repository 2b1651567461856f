/* names.c - the names by which settings mean libraries: one of them, or a list with commas. */
#include "dispatch/internal.h"

#include "registry/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool names_path(const bp_library_info *library, const char *name) {
    char real[PATH_MAX];
    if (bp__text_equal(library->path, name)) {
        return true;
    }
    size_t length = strlen(name);
    for (const char *line = library->aliases; *line;) {
        const char *end = strchrnul(line, '\n');
        if ((size_t)(end - line) == length && memcmp(line, name, length) == 0) {
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return realpath(name, real) && bp__text_equal(library->path, real);
}

static int matches(const bp__candidate *candidate, const char *name) {
    if (bp__text_equal(bp__candidate_id(candidate), name)) {
        return 2;
    }
    const bp_library_info *library = candidate->library;
    if (!library) {
        return 0;
    }
    if (name[0] == '/') {
        return names_path(library, name) ? 2 : 0;
    }
    return bp__text_equal(library->family, name) || bp__text_equal(library->soname, name) ||
           bp__text_equal(candidate->provider->name, name);
}

/* "openblas:blas" is one of the providers that drive a library. */
int bp__candidate_matches(const bp__candidate *candidate, const char *name) {
    char library[PATH_MAX];
    const char *colon = strrchr(name, ':');
    int match = matches(candidate, name);
    if (match > 0 || !colon || !bp__text_equal(candidate->provider->name, colon + 1) ||
        (size_t)(colon - name) >= sizeof library) {
        return match;
    }
    memcpy(library, name, (size_t)(colon - name));
    library[colon - name] = '\0';
    return matches(candidate, library);
}

/* The next name of a list without the blanks around it; names that do not fit are cut, and then mean nothing. Returns
 * what follows, NULL at the end of the list. */
static const char *next_name(const char *list, char *name, size_t size) {
    while (*list == ' ' || *list == ',') {
        list++;
    }
    if (!*list) {
        return NULL;
    }
    size_t length = strcspn(list, ",");
    const char *rest = list + length;
    while (list[length - 1] == ' ') {
        length--;
    }
    length = length < size ? length : size - 1;
    memcpy(name, list, length);
    name[length] = '\0';
    return rest;
}

bool bp__name_listed(const bp__candidate *candidate, const char *list) {
    char name[256];
    while ((list = next_name(list, name, sizeof name))) {
        if (bp__candidate_matches(candidate, name)) {
            return true;
        }
    }
    return false;
}

static const char *candidate_at(void *user, int index) {
    const bp__choice *choice = user;
    return index < choice->count ? bp__candidate_id(choice->candidates[index]) : NULL;
}

void bp__name_warn_of_unknown(bp__choice *choice, const char *list) {
    char name[256], question[256];
    while ((list = next_name(list, name, sizeof name))) {
        bool known = bp__library_lookup(name) != NULL;
        for (int i = 0; i < choice->count && !known; i++) {
            known = bp__candidate_matches(choice->candidates[i], name) > 0;
        }
        if (!known) {
            bp__suggest(name, candidate_at, choice, question, sizeof question);
            bp__text_addf(&choice->warning, "%sdispatch.exclude names '%s', and there is no such library here%s%s",
                          choice->warning.length > 0 ? "; " : "", name, *question ? "; " : "", question);
        }
    }
}

void bp__name_why_absent(const char *name, char *buffer, size_t size) {
    bp__held_error held;
    bp__error_hold(&held);
    bp__library_absent(name);
    bp__copy_text(buffer, size, bp_last_error());
    bp__error_return(&held);
    char *places = strstr(buffer, "; looked in "); /* where is for whoever is refused */
    if (places) {
        *places = '\0';
    }
}
