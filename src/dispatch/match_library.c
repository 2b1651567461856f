/* match_library.c - matches library names in settings with candidates: single names, or lists with commas. */
#include "dispatch/internal.h"
#include "base/path_buffer.h"

#include "registry/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Files ---- */

/* Real paths of the files that settings name. A choice compares every candidate with them, several times, and
 * realpath() makes a system call for each folder. They are determined again after the settings or the list of libraries
 * have changed. */
enum { RESOLVED_FILES = 8 };
static struct {
    uint64_t settings, plans; /* epochs at which the entries were made */
    struct {
        const char *name, *path; /* interned; the path is "" if there is no such file */
    } files[RESOLVED_FILES];
    unsigned count; /* files that were entered; the last RESOLVED_FILES are kept */
} resolved;         /* under bp__policy_mutex */

/* Removes the entries of other epochs. Call under bp__policy_mutex. */
static void forget_old(uint64_t settings, uint64_t plans) {
    if (resolved.settings != settings || resolved.plans != plans) {
        memset(&resolved, 0, sizeof resolved);
        resolved.settings = settings;
        resolved.plans = plans;
    }
}

/* Returns NULL if the file was not resolved at these epochs. */
static const char *kept_path_of(const char *name, uint64_t settings, uint64_t plans) {
    const char *path = NULL;
    pthread_mutex_lock(&bp__policy_mutex);
    forget_old(settings, plans);
    for (int i = 0; i < RESOLVED_FILES && resolved.files[i].name && !path; i++) {
        path = bp__text_equal(resolved.files[i].name, name) ? resolved.files[i].path : NULL;
    }
    pthread_mutex_unlock(&bp__policy_mutex);
    return path;
}

/* Returns the real path of a file, or "" if there is no such file. `buffer` has PATH_MAX bytes. */
static const char *real_path(const char *name, char *buffer) {
    const uint64_t settings = atomic_load_explicit(&bp__settings_generation, memory_order_acquire);
    const uint64_t plans = bp__plan_epoch();
    const char *path = kept_path_of(name, settings, plans);
    if (path) {
        return path;
    }
    const char *found = realpath(name, buffer) ? buffer : "";
    const char *kept_name = bp__intern(name), *kept_path = bp__intern(found);
    if (kept_name && kept_path) { /* else memory is short */
        pthread_mutex_lock(&bp__policy_mutex);
        forget_old(settings, plans);
        const unsigned at = resolved.count++ % RESOLVED_FILES;
        resolved.files[at].name = kept_name;
        resolved.files[at].path = kept_path;
        pthread_mutex_unlock(&bp__policy_mutex);
    }
    return found;
}

static bool names_path(const bp_library_info *library, const char *name) {
    BP__PATH_BUFFER(buffer);
    if (!*library->path) { /* built in */
        return false;
    }
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
    return buffer && bp__text_equal(library->path, real_path(name, buffer));
}

/* ---- Names ---- */

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

/* Matches the part before the colon, which is copied to `rest`, and the part after it. */
static int parts_match(const char *name, const char *colon, const bp__candidate *candidate, const char *algorithm,
                       char *rest) {
    const size_t length = (size_t)(colon - name);
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

/* Splits LIBRARY, LIBRARY:PROVIDER, LIBRARY:ALGORITHM or LIBRARY:PROVIDER:ALGORITHM from the end. Without memory, a
 * name that is longer than `brief` matches nothing. */
int bp__name_matches(const char *name, const bp__candidate *candidate, const char *algorithm) {
    char brief[256];
    const char *colon = strrchr(name, ':');
    const size_t length = colon ? (size_t)(colon - name) : 0;
    const int whole = library_matches(name, candidate); /* the path of a file may contain a colon */
    if (whole > 0 || !colon || length >= PATH_MAX) {
        return whole;
    }
    if (length < sizeof brief) {
        return parts_match(name, colon, candidate, algorithm, brief);
    }
    char *rest = bp__alloc(length + 1);
    const int matches = rest ? parts_match(name, colon, candidate, algorithm, rest) : 0;
    bp__free(rest);
    return matches;
}

/* Copies the next name of a list without the blanks around it. A name that does not fit is truncated and then matches
 * nothing. Returns the rest of the list, NULL at its end. */
static const char *next_name(const char *list, char *name, size_t size) {
    while (*list == ' ' || *list == ',') {
        list++;
    }
    if (!*list || *list == *BP__ENABLED) {
        return NULL;
    }
    size_t length = strcspn(list, "," BP__ENABLED);
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

static bool is_excluded(const char *list, const bp__candidate *candidate, const char *algorithm) {
    char name[256];
    while ((list = next_name(list, name, sizeof name))) {
        bool whole = library_matches(name, candidate) > 0;
        if (whole || (algorithm && bp__name_matches(name, candidate, algorithm) > 0)) {
            return true;
        }
    }
    return false;
}

/* Returns whether a name matches the candidate, or one of its algorithms if `algorithm` is NULL. */
static bool is_enabled(const char *list, const bp__candidate *candidate, const char *algorithm) {
    char name[256];
    while ((list = next_name(list, name, sizeof name))) {
        if (bp__name_matches(name, candidate, algorithm) > 0) {
            return true;
        }
    }
    return false;
}

bp__exclusion bp__name_excluded(const char *exclude, const bp__candidate *candidate, const char *algorithm) {
    const char *enabled = strchr(exclude, *BP__ENABLED);
    return is_excluded(exclude, candidate, algorithm)                  ? BP__EXCLUDED
           : enabled && !is_enabled(enabled + 1, candidate, algorithm) ? BP__NOT_ENABLED
                                                                       : BP__NOT_EXCLUDED;
}

/* Returns the name of the setting that lists the libraries of the problem's family. */
static const char *enabled_setting(const bp_problem *problem) {
    const int enabled = bp__family_of(problem)->enabled;
    return enabled != BP__NO_SETTING ? bp_setting_at(enabled)->name : "";
}

const char *bp__name_why_excluded(bp__exclusion exclusion, const bp_problem *problem, char *buffer, size_t size) {
    if (exclusion == BP__EXCLUDED) {
        return "named by dispatch.exclude";
    }
    snprintf(buffer, size, "not named by %s", enabled_setting(problem));
    return buffer;
}

static const char *candidate_at(void *user, int index) {
    const bp__choice *choice = user;
    return index < choice->count ? bp__candidate_id(choice->offers[index].candidate) : NULL;
}

static void warn_of_unknown(bp__choice *choice, const char *setting, const char *list) {
    char name[256], suggestion[256];
    while ((list = next_name(list, name, sizeof name))) {
        bool known = false;
        for (int i = 0; i < choice->count && !known; i++) {
            known = bp__name_matches(name, choice->offers[i].candidate, NULL) > 0;
        }
        if (!known && !bp__library_lookup(name)) {
            bp__suggest(name, candidate_at, choice, suggestion, sizeof suggestion);
            bp__text_addf(&choice->warning, "%s%s names '%s', but there is no such library%s%s",
                          choice->warning.length > 0 ? "; " : "", setting, name, *suggestion ? "; " : "", suggestion);
        }
    }
}

void bp__name_warn_of_unknown(bp__choice *choice) {
    const char *exclude = bp__policy_text(choice->asked.policy.exclude), *enabled = strchr(exclude, *BP__ENABLED);
    warn_of_unknown(choice, "dispatch.exclude", exclude);
    if (enabled) {
        warn_of_unknown(choice, enabled_setting(&choice->asked), enabled + 1);
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
