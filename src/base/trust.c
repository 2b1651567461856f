/* trust.c - who else could change a file: asked before a file may steer the program or be loaded into it.
 *
 * The path is walked from the root, one name at a time and through each symbolic link, because whoever may write to any
 * folder on the way can put something else in the place of what comes after.
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

typedef struct walk {
    char done[PATH_MAX]; /* checked, free of links; "" stands for the root */
    char rest[PATH_MAX]; /* still to go */
    int links;
    bool asked; /* whether `system` is known */
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

/* ---- User namespaces. In one that does not map root, files of root and of all other users who are not mapped show
 * one and the same owner, the overflow user. ---- */

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

/* Returns the overflow user if root's files show it as their owner and nobody else in this namespace is mapped to that
 * number; 0 otherwise. What owner root's files show is seen from a file of the kernel's, which is always root's. */
static uid_t system_user(void) {
    static const char overflow_path[] = "/proc/sys/kernel/overflowuid";
    char map[16384], overflow[32];
    struct stat facts;
    if (!bp__read_text(overflow_path, overflow, sizeof overflow) || !*overflow || stat(overflow_path, &facts) != 0 ||
        !bp__read_text("/proc/self/uid_map", map, sizeof map) || !*map || strlen(map) == sizeof map - 1) {
        return 0; /* a map that does not fit may name that user in what was not read */
    }
    uid_t user = (uid_t)strtoul(overflow, NULL, 10);
    return user == facts.st_uid && !bp__map_holds(map, user) ? user : 0;
}

bool bp__owner_trusted(uid_t owner, uid_t user, uid_t system, bool writable) {
    return owner == 0 || owner == user || (owner == system && !writable);
}

static bool is_sticky_folder(const struct stat *facts) {
    return S_ISDIR(facts->st_mode) && (facts->st_mode & S_ISVTX) != 0;
}

/* Nobody can take the files of others out of a sticky folder, so that it counts as one that cannot be written. */
static bool owner_trusted(walk *at, const char *path, const struct stat *facts) {
    uid_t user = geteuid();
    if (facts->st_uid == 0 || facts->st_uid == user) {
        return true;
    }
    if (!at->asked) {
        at->system = system_user();
        at->asked = true;
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
        return bp__fail(BP_E_UNTRUSTED, "%s: %s can write to it; take that right away with chmod go-w", path,
                        (facts->st_mode & S_IWOTH) ? "everyone" : "its group");
    }
    return BP_OK;
}

/* Takes the first name off `rest`; false when there is none left. */
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

static bp_status follow_link(walk *at, const char *link) {
    char target[PATH_MAX], joined[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) {
        return fail_errno(link);
    }
    target[length] = '\0';
    if (++at->links > MOST_LINKS) {
        return bp__fail(BP_E_UNTRUSTED, "%s: too many symbolic links", link);
    }
    if (snprintf(joined, sizeof joined, "%s/%s", target, at->rest) >= (int)sizeof joined) {
        return fail_length(target);
    }
    memcpy(at->rest, joined, sizeof joined);
    if (target[0] == '/') {
        at->done[0] = '\0';
    }
    return BP_OK;
}

static bp_status step(walk *at, const char *name) {
    char next[PATH_MAX];
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
    if (snprintf(next, sizeof next, "%s/%s", at->done, name) >= (int)sizeof next) {
        return fail_length(at->done);
    }
    if (lstat(next, &facts) != 0) {
        return fail_errno(next);
    }
    BP__TRY(check_owner_and_mode(at, next, &facts));
    if (S_ISLNK(facts.st_mode)) {
        return follow_link(at, next);
    }
    memcpy(at->done, next, sizeof next);
    return BP_OK;
}

bp_status bp__file_trusted(const char *path) {
    walk at = {.links = 0};
    char folder[PATH_MAX] = "";
    struct stat root;
    if (path[0] != '/' && !getcwd(folder, sizeof folder)) {
        return fail_errno(path);
    }
    if (snprintf(at.rest, sizeof at.rest, "%s/%s", folder, path) >= (int)sizeof at.rest) {
        return fail_length(path);
    }
    if (stat("/", &root) != 0) {
        return fail_errno("/");
    }
    BP__TRY(check_owner_and_mode(&at, "/", &root));
    char name[NAME_MAX + 1];
    bool too_long;
    while (take_name(&at, name, &too_long)) {
        BP__TRY(step(&at, name));
    }
    return too_long ? fail_length(path) : BP_OK;
}
