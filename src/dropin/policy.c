/* policy.c - reads what the environment asks for, once, at the program's first call. */
#include "dropin/policy.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below this, a product takes so little time that choosing could not pay: about 5 microseconds. */
enum { SMALL_SIDE = 64 };

static bp__dropin_policy policy;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Returns a copy, because a program may overwrite its environment, as those do that change their title. */
static const char *read_text(const char *name) {
    const char *value = bp__dropin_env(name);
    return value ? bp__dropin_keep(value) : NULL;
}

static bool ready; /* pthread_once() takes longer than the rest of a call */

static void read_policy(void) {
    policy.library = read_text(BP__DROPIN_VARIABLE("LIBRARY"));
    const char *style = bp__dropin_env(BP__DROPIN_VARIABLE("COMPLEX_RETURN"));
    policy.hidden_result = style && strcmp(style, "argument") == 0;
    policy.only = read_text(BP__DROPIN_VARIABLE("ONLY"));
    policy.exclude = read_text(BP__DROPIN_VARIABLE("EXCLUDE"));
    const char *observe = bp__dropin_env(BP__DROPIN_VARIABLE("OBSERVE"));
    policy.observe = observe && strcmp(observe, "0") != 0;
    policy.record = bp__dropin_env(BP__DROPIN_VARIABLE("RECORD")) != NULL;
#if BP__DROPIN_LAUNCHED
    policy.faults = read_text(BP__DROPIN_VARIABLE("FAULTS"));
#endif
    policy.small = (uint64_t)SMALL_SIDE * SMALL_SIDE * SMALL_SIDE;
    const char *small = bp__dropin_env(BP__DROPIN_VARIABLE("SMALL"));
    if (small && *small >= '0' && *small <= '9') {
        char *end;
        errno = 0;
        unsigned long long given = strtoull(small, &end, 10);
        if (errno == 0 && *end == 0) {
            policy.small = given;
        }
    }
    __atomic_store_n(&ready, true, __ATOMIC_RELEASE);
}

const bp__dropin_policy *bp__dropin_policy_get(void) {
    if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
        pthread_once(&once, read_policy);
    }
    return &policy;
}

#if BP__DROPIN_LAUNCHED
/* Reads FAULTY,OVERREADS,INT_BITS,NAMES up to a space, the first two in hexadecimal digits. */
static bp__dropin_findings parse_findings(const char *text) {
    char names[2048];
    char *rest;
    bp__dropin_findings found = {.outside = ""};
    found.faulty = strtoull(text, &rest, 16);
    found.overreads = *rest == ',' ? (uint32_t)strtoul(rest + 1, &rest, 16) : 0;
    found.int_bits = *rest == ',' ? (int)strtol(rest + 1, &rest, 10) : 0;
    rest += *rest == ',';
    snprintf(names, sizeof names, "%.*s", (int)strcspn(rest, " "), rest);
    found.outside = bp__dropin_keep(names);
    return found;
}

bp__dropin_findings bp__dropin_findings_of(const bp__dropin_policy *p, const char *path) {
    char real[PATH_MAX];
    const char *line = p->faults && *path && realpath(path, real) ? p->faults : "";
    while (*line) {
        const char *name = line + strcspn(line, " \n");
        const size_t length = strcspn(name, "\n");
        if (*name == ' ' && length == strlen(real) + 1 && memcmp(name + 1, real, length - 1) == 0) {
            return parse_findings(line);
        }
        line = name + length + (name[length] == '\n');
    }
    return (bp__dropin_findings){.outside = ""};
}
#endif

/* Returns whether a list has the routine: its family, its name, or its name without the letter of the type. */
static bool lists(const char *list, int routine) {
    const char *name = bp__dropin_names[routine];
    const char *family = bp__dropin_family_name(bp__dropin_family_of(routine));
    const char *bare = strncmp(name, "cblas_", 6) == 0 ? name + 6 : name;
    for (const char *item = list; *item;) {
        size_t length = strcspn(item, ", ");
        const char *const spellings[] = {name, bare, *bare ? bare + 1 : bare, family};
        for (size_t i = 0; length > 0 && i < sizeof spellings / sizeof spellings[0]; i++) {
            if (strlen(spellings[i]) == length && memcmp(spellings[i], item, length) == 0) {
                return true;
            }
        }
        item += length;
        item += strspn(item, ", ");
    }
    return false;
}

bool bp__dropin_allowed(const bp__dropin_policy *p, int routine) {
    return !p->observe && (!p->only || lists(p->only, routine)) && (!p->exclude || !lists(p->exclude, routine));
}

#if BP__DROPIN_PART == BP__DROPIN_PART_HOOKS
/* Returns whether an item of such a list names a routine or a family. For `backplane launch`, before it starts a
 * program. */
__attribute__((visibility("default"))) int bp_hooks_knows(const char *item);

int bp_hooks_knows(const char *item) {
    for (int routine = 0; routine < BP__DROPIN_ROUTINES; routine++) {
        if (lists(item, routine)) {
            return 1;
        }
    }
    return 0;
}
#endif
