/* trust.c - checks who else can change a file, before the library reads it as configuration or loads it.
 *
 * The path is walked from the root, one name at a time and through each symbolic link. A user who can write to any
 * directory on the way can replace everything below it.
 */
#define _GNU_SOURCE
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40 };

/* On the heap: first calls run in threads with small stacks. */
typedef struct walk {
    char done[PATH_MAX];   /* checked, free of links; "" is the root */
    char rest[PATH_MAX];   /* the names to be checked */
    char next[PATH_MAX];   /* the name under check, with `done` before it */
    char target[PATH_MAX]; /* of a link, then with `rest` behind it */
    int links;
    bool system_known; /* whether `system` is set */
    uid_t system;
} walk;

static bp_status fail_length(const char *path) {
    return bp__fail(BP_E_UNTRUSTED, "%.64s...: path is too long", path);
}

static bp_status fail_errno(const char *path) {
    int error = errno;
    char reason[128];
    bp_status status = error == ENOENT || error == ENOTDIR ? BP_E_NOT_FOUND : BP_E_UNTRUSTED;
    return bp__fail(status, "%s: cannot examine it: %s", path, strerror_r(error, reason, sizeof reason));
}

/* ---- User namespaces. If root is not mapped, the files of root and of all other unmapped users show the same owner,
 * the overflow user. ---- */

bool bp__map_holds(const char *map, uint64_t user) {
    while (*map) {
        uint64_t first, outside, count;
        if (sscanf(map, "%" SCNu64 " %" SCNu64 " %" SCNu64, &first, &outside, &count) == 3 && user >= first &&
            user - first < count) {
            return true;
        }
        map += strcspn(map, "\n");
        map += *map == '\n';
    }
    return false;
}

/* Returns the overflow user if root's files show it as their owner and no user of this namespace is mapped to that
 * number; 0 otherwise. The owner shown for root's files is read from a file of the kernel, which always belongs to
 * root. */
static uid_t system_user(void) {
    static const char overflow_path[] = "/proc/sys/kernel/overflowuid";
    enum { MAP_SIZE = 16384 };
    char overflow[32];
    struct stat facts;
    if (!bp__read_text(overflow_path, overflow, sizeof overflow) || !*overflow || stat(overflow_path, &facts) != 0) {
        return 0;
    }
    uid_t user = (uid_t)strtoul(overflow, NULL, 10);
    char *map = user == facts.st_uid ? bp__alloc(MAP_SIZE) : NULL;
    bool known = map && bp__read_text("/proc/self/uid_map", map, MAP_SIZE) && *map &&
                 strlen(map) < MAP_SIZE - 1 && /* the rest of a longer map may name that user */
                 !bp__map_holds(map, user);
    bp__free(map);
    return known ? user : 0;
}

bool bp__owner_trusted(uid_t owner, uid_t user, uid_t system, bool writable) {
    return owner == 0 || owner == user || (owner == system && !writable);
}

static bool is_sticky_folder(const struct stat *facts) {
    return S_ISDIR(facts->st_mode) && (facts->st_mode & S_ISVTX) != 0;
}

/* Users cannot remove files of others from a sticky directory, so it counts as not writable. */
static bool owner_trusted(walk *at, const char *path, const struct stat *facts) {
    uid_t user = geteuid();
    if (facts->st_uid == 0 || facts->st_uid == user) {
        return true;
    }
    if (!at->system_known) {
        at->system = system_user();
        at->system_known = true;
    }
    bool writable =
        !S_ISLNK(facts->st_mode) && !is_sticky_folder(facts) && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
    return bp__owner_trusted(facts->st_uid, user, at->system, writable);
}

static bp_status check_owner_and_mode(walk *at, const char *path, const struct stat *facts) {
    if (!owner_trusted(at, path, facts)) {
        return bp__fail(BP_E_UNTRUSTED,
                        "%s: belongs to user %lu; it must belong to root or to the user of this program", path,
                        (unsigned long)facts->st_uid);
    }
    if (!S_ISLNK(facts->st_mode) && (facts->st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky_folder(facts)) {
        return bp__fail(BP_E_UNTRUSTED, "%s: %s can write to it; run chmod go-w on it", path,
                        (facts->st_mode & S_IWOTH) ? "everyone" : "its group");
    }
    return BP_OK;
}

/* Removes the first name from `rest`. Returns false if none is left. */
static bool take_name(walk *at, char name[NAME_MAX + 1], bool *too_long) {
    char *start = at->rest + strspn(at->rest, "/");
    size_t length = strcspn(start, "/");
    *too_long = length > NAME_MAX;
    if (length == 0 || *too_long) {
        return false;
    }
    memcpy(name, start, length);
    name[length] = '\0';
    memmove(at->rest, start + length, strlen(start + length) + 1);
    return true;
}

static bp_status follow_link(walk *at) {
    ssize_t length = readlink(at->next, at->target, sizeof at->target - 1);
    if (length < 0) {
        return fail_errno(at->next);
    }
    if (++at->links > MOST_LINKS) {
        return bp__fail(BP_E_UNTRUSTED, "%s: too many symbolic links", at->next);
    }
    size_t space = sizeof at->target - (size_t)length;
    if (snprintf(at->target + length, space, "/%s", at->rest) >= (int)space) {
        return fail_length(at->target);
    }
    memcpy(at->rest, at->target, sizeof at->rest);
    if (at->target[0] == '/') {
        at->done[0] = '\0';
    }
    return BP_OK;
}

static bp_status step(walk *at, const char *name) {
    struct stat facts;
    if (bp__text_equal(name, ".")) {
        return BP_OK;
    }
    if (bp__text_equal(name, "..")) {
        char *slash = strrchr(at->done, '/');
        if (slash) {
            *slash = '\0';
        }
        return BP_OK;
    }
    if (snprintf(at->next, sizeof at->next, "%s/%s", at->done, name) >= (int)sizeof at->next) {
        return fail_length(at->done);
    }
    if (lstat(at->next, &facts) != 0) {
        return fail_errno(at->next);
    }
    BP__TRY(check_owner_and_mode(at, at->next, &facts));
    if (S_ISLNK(facts.st_mode)) {
        return follow_link(at);
    }
    memcpy(at->done, at->next, sizeof at->done);
    return BP_OK;
}

static bp_status start(walk *at, const char *path) {
    struct stat root;
    if (path[0] != '/' && !getcwd(at->next, sizeof at->next)) {
        return fail_errno(path);
    }
    if (snprintf(at->rest, sizeof at->rest, "%s/%s", at->next, path) >= (int)sizeof at->rest) {
        return fail_length(path);
    }
    return stat("/", &root) == 0 ? check_owner_and_mode(at, "/", &root) : fail_errno("/");
}

static bp_status check_each(walk *at, const char *path) {
    char name[NAME_MAX + 1];
    bool too_long;
    BP__TRY(start(at, path));
    while (take_name(at, name, &too_long)) {
        BP__TRY(step(at, name));
    }
    return too_long ? fail_length(path) : BP_OK;
}

bp_status bp__file_trusted(const char *path) {
    walk *at = bp__alloc_zero(1, sizeof *at);
    if (!at) {
        return bp__fail_memory(sizeof *at, "the check of a path");
    }
    bp_status status = check_each(at, path);
    bp__free(at);
    return status;
}
