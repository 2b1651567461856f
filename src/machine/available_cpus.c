/* available_cpus.c - counts the cores that this process may use: the cores in its affinity mask, limited by the CPU
 * quota of its cgroups.
 *
 * A container usually sees all cores of its host and is limited only in CPU time. A pool with a thread for each core of
 * the host would spend its quota on waiting.
 */
#include "machine/available_cpus.h"
#include "machine/files.h"
#include "machine/internal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cpu_set_t *bp__affinity(size_t *size) {
    enum { LARGEST_MASK = 1 << 18 };
    for (size_t bits = 1024; bits <= LARGEST_MASK; bits *= 4) { /* the kernel refuses masks shorter than its own */
        *size = CPU_ALLOC_SIZE(bits);
        cpu_set_t *set = bp__alloc_zero(1, *size);
        if (!set || sched_getaffinity(0, *size, set) == 0) {
            return set;
        }
        bp__free(set);
    }
    return NULL;
}

static int affinity_cpus(void) {
    size_t size;
    cpu_set_t *set = bp__affinity(&size);
    int count = set ? CPU_COUNT_S(size, set) : 0;
    bp__free(set);
    if (count > 0) {
        return count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* Returns the number of cores that `quota` microseconds in each `period` equal, rounded up; 0 for no limit. */
static int64_t cores_of(int64_t quota, int64_t period) {
    return quota > 0 && period > 0 ? (quota - 1) / period + 1 : 0;
}

static int64_t quota_v2(const char *folder) {
    char path[1280];
    char text[64];
    char *rest;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!bp__read_text(path, text, sizeof text)) {
        return 0;
    }
    int64_t quota = strtoll(text, &rest, 10); /* 0 for "max", which means no limit */
    return cores_of(quota, strtoll(rest, NULL, 10));
}

static int64_t quota_v1(const char *folder) {
    char path[1280];
    int64_t quota;
    int64_t period;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!bp__read_number(path, &quota)) {
        return 0;
    }
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return bp__read_number(path, &period) ? cores_of(quota, period) : 0;
}

/* Returns the smallest quota on the way from a group to the root of its hierarchy. Inside a container the group's own
 * directory is usually missing, because the mount begins at it. In that case the root has the quota. */
static int64_t least_quota(const char *mount, const char *group, int64_t (*quota)(const char *folder)) {
    char folder[1024];
    size_t root = strlen(mount);
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder) {
        return quota(mount);
    }
    int64_t least = 0;
    for (;;) {
        int64_t here = quota(folder);
        least = here > 0 && (least == 0 || here < least) ? here : least;
        char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + root) {
            return least;
        }
        *slash = '\0';
    }
}

static bool lists_cpu(const char *controllers) {
    for (const char *word = controllers; *word; word += strcspn(word, ",") + (word[strcspn(word, ",")] == ',')) {
        if (strcspn(word, ",") == 3 && memcmp(word, "cpu", 3) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the quota for one line of /proc/self/cgroup, "number:controllers:group"; version 2 names no controllers. */
static int64_t quota_of_line(const char *root, char *line) {
    char mount[512];
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) {
        return 0;
    }
    *group++ = '\0';
    controllers++;
    if (*controllers == '\0') {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup", root);
        return least_quota(mount, group, quota_v2);
    }
    if (!lists_cpu(controllers)) {
        return 0;
    }
    snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, controllers);
    if (access(mount, F_OK) != 0) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/cpu", root);
    }
    return least_quota(mount, group, quota_v1);
}

int64_t bp__cgroup_cpus(const char *root) {
    enum { SIZE = 8192 };
    char path[512];
    char *rest = NULL, *text = bp__alloc(SIZE);
    int64_t least = 0;
    if (!text) {
        return 0;
    }
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    bp__read_text(path, text, SIZE);
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        int64_t here = quota_of_line(root, line);
        least = here > 0 && (least == 0 || here < least) ? here : least;
    }
    bp__free(text);
    return least;
}

int bp__count_available(const char *root) {
    int count = affinity_cpus();
    int64_t quota = bp__cgroup_cpus(root);
    return quota > 0 && quota < count ? (int)quota : count;
}

int bp__available_cpus(void) {
    static _Atomic int known; /* several threads may compute the same value at the same time */
    int count = atomic_load_explicit(&known, memory_order_relaxed);
    if (count == 0) {
        count = bp__count_available("");
        atomic_store_explicit(&known, count, memory_order_relaxed);
    }
    return count;
}
