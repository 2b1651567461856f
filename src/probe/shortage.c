/* shortage.c - tells what a container or the system is short of, which no resource limit of the process shows.
 *
 * A cgroup limits the number of threads (pids.max), and a system with vm.overcommit_memory=2 the memory that it
 * grants to all programs. Both make a library's threads or memory fail that work at another moment. A full memory
 * cgroup is not looked at: there the kernel ends a process by a signal, which is a circumstance anyway. */
#include "probe/shortage.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_THREADS = 512, PATH = 4096 };

/* Reads a number of a file; -1 if there is none ("max"). */
static int64_t number_in(const char *folder, const char *name) {
    char path[PATH + 64], text[64], *end;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    bp__read_text(path, text, sizeof text);
    const long long number = strtoll(text, &end, 10);
    return end == text ? -1 : number;
}

/* Whether a cgroup, or one above it, allows few more threads. `folder` is modified; `top` is the length of its part
 * that belongs to the file system of cgroups. */
static bool few_threads_left(char *folder, size_t top) {
    for (;;) {
        const int64_t most = number_in(folder, "pids.max"), now = number_in(folder, "pids.current");
        if (most >= 0 && most - (now > 0 ? now : 0) < FEW_THREADS) {
            return true;
        }
        char *slash = strrchr(folder + top, '/');
        if (!slash) {
            return false;
        }
        *slash = 0;
    }
}

/* Whether a word is in a list with commas. */
static bool has_word(const char *list, size_t length, const char *word) {
    const size_t size = strlen(word);
    for (const char *at = list, *end = list + length; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const size_t part = (size_t)((comma ? comma : end) - at);
        if (part == size && memcmp(at, word, size) == 0) {
            return true;
        }
        at += part + 1;
    }
    return false;
}

/* Looks at the cgroup of one line of /proc/self/cgroup: "0::/PATH" for version 2, or "NUMBER:CONTROLLERS:/PATH". */
static bool line_limits_threads(const char *root, const char *line) {
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids"};
    const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) {
        return false;
    }
    const size_t length = (size_t)(path - controllers - 1);
    const bool version_2 = length == 0;
    if (!version_2 && !has_word(controllers + 1, length, "pids")) {
        return false;
    }
    for (int i = version_2 ? 0 : 2; i < (version_2 ? 2 : 3); i++) {
        char folder[PATH];
        const int top = snprintf(folder, sizeof folder, "%s%s", root, mounts[i]);
        snprintf(folder + top, sizeof folder - (size_t)top, "%s", path + 1);
        if (few_threads_left(folder, (size_t)top)) {
            return true;
        }
    }
    return false;
}

static bool cgroup_limits_threads(const char *root) {
    char path[PATH], text[PATH];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    bp__read_text(path, text, sizeof text);
    bool limited = false;
    for (char *line = text, *end; *line && !limited; line = end) {
        end = line + strcspn(line, "\n");
        end += *end ? (*end = 0, 1) : 0;
        limited = line_limits_threads(root, line);
    }
    return limited;
}

/* Returns a line's number in KiB; -1 if there is no such line. */
static int64_t line_of(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* Whether the system grants less memory than a library may take. */
static bool system_limits_memory(const char *root, int64_t mebibytes) {
    enum { NEVER_MORE_THAN_THERE_IS = 2 };
    char path[PATH], text[PATH];
    snprintf(path, sizeof path, "%s/proc/sys/vm", root);
    if (number_in(path, "overcommit_memory") != NEVER_MORE_THAN_THERE_IS) {
        return false;
    }
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    bp__read_text(path, text, sizeof text);
    const int64_t most = line_of(text, "CommitLimit:"), now = line_of(text, "Committed_AS:");
    return most >= 0 && now >= 0 && most - now < mebibytes * 1024;
}

const char *system_shortage(const char *root, int64_t mebibytes) {
    return cgroup_limits_threads(root)             ? "the number of threads (pids.max of its cgroup)"
           : system_limits_memory(root, mebibytes) ? "memory (vm.overcommit_memory=2)"
                                                   : NULL;
}
