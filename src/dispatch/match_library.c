/* match_library.c - matches library names in settings with candidates: single names, or lists with commas. */
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

static int library_matches(const char *name, const bp__candidate *candidate) {
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

static bool algorithm_matches(const char *name, const char *algorithm) {
    size_t length = strlen(name);
    return length > 0 && (!algorithm || (strncmp(algorithm, name, length) == 0 &&
                                         (algorithm[length] == '\0' || algorithm[length] == ' ')));
}

/* Splits LIBRARY, LIBRARY:PROVIDER, LIBRARY:ALGORITHM or LIBRARY:PROVIDER:ALGORITHM from the end. */
int bp__name_matches(const char *name, const bp__candidate *candidate, const char *algorithm) {
    char rest[PATH_MAX];
    const char *colon = strrchr(name, ':');
    size_t length = colon ? (size_t)(colon - name) : 0;
    int whole = library_matches(name, candidate); /* the path of a file may contain a colon */
    if (whole > 0 || !colon || length >= sizeof rest) {
        return whole;
    }
    memcpy(rest, name, length);
    rest[length] = '\0';
    if (bp__text_equal(candidate->provider->name, colon + 1)) {
        return length > 0 ? library_matches(rest, candidate) : 1;
    }
    if (!algorithm_matches(colon + 1, algorithm) || bp__provider_exists(colon + 1)) {
        return 0; /* a provider's name is never an algorithm */
    }
    return length > 0 ? bp__name_matches(rest, candidate, "") : 1;
}

/* Copies the next name of a list without the blanks around it. A name that does not fit is truncated and then matches
 * nothing. Returns the rest of the list, NULL at its end. */
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

/* Removes the algorithm from the name. A name that ends with a colon matches nothing and stays unchanged. */
static void cut_algorithm(char *name) {
    char *colon = strrchr(name, ':');
    if (colon && colon[1] && name[0] != '/') {
        *colon = '\0';
    }
}

bool bp__name_listed(const char *list, const bp__candidate *candidate, const char *algorithm) {
    char name[256];
    while ((list = next_name(list, name, sizeof name))) {
        bool whole = library_matches(name, candidate) > 0;
        if (whole || (algorithm && bp__name_matches(name, candidate, algorithm) > 0)) {
            return true;
        }
    }
    return false;
}

static const char *candidate_at(void *user, int index) {
    const bp__choice *choice = user;
    return index < choice->count ? bp__candidate_id(choice->offers[index].candidate) : NULL;
}

void bp__name_warn_of_unknown(bp__choice *choice, const char *list) {
    char name[256], suggestion[256];
    while ((list = next_name(list, name, sizeof name))) {
        bool known = bp__library_lookup(name) != NULL;
        for (int i = 0; i < choice->count && !known; i++) {
            known = bp__name_matches(name, choice->offers[i].candidate, NULL) > 0;
        }
        if (!known) {
            bp__suggest(name, candidate_at, choice, suggestion, sizeof suggestion);
            bp__text_addf(&choice->warning, "%sdispatch.exclude names '%s', but there is no such library%s%s",
                          choice->warning.length > 0 ? "; " : "", name, *suggestion ? "; " : "", suggestion);
        }
    }
}

bp_status bp__name_absent(const char *name) {
    char library[256];
    bp__copy_text(library, sizeof library, name);
    cut_algorithm(library);
    return bp__library_absent(library);
}

void bp__name_why_absent(const char *name, char *buffer, size_t size) {
    bp__held_error held;
    bp__error_hold(&held);
    bp__name_absent(name);
    bp__copy_text(buffer, size, bp_last_error());
    bp__error_return(&held);
    char *searched = strstr(buffer, "; looked in "); /* the search locations belong to the caller's error message */
    if (searched) {
        *searched = '\0';
    }
}
