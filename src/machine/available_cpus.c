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

enum { FOLDER = 1024, WITH_FILE = FOLDER + 32 };

/* Each quota_v function gets a folder in a buffer of WITH_FILE bytes, and leaves the first `length` bytes as they are.
 */
static int64_t quota_v2(char *folder, size_t length) {
    char text[64];
    char *rest;
    snprintf(folder + length, WITH_FILE - length, "/cpu.max");
    if (!bp__read_text(folder, text, sizeof text)) {
        return 0;
    }
    int64_t quota = strtoll(text, &rest, 10); /* 0 for "max", which means no limit */
    return cores_of(quota, strtoll(rest, NULL, 10));
}

static int64_t quota_v1(char *folder, size_t length) {
    int64_t quota;
    int64_t period;
    snprintf(folder + length, WITH_FILE - length, "/cpu.cfs_quota_us");
    if (!bp__read_number(folder, &quota)) {
        return 0;
    }
    snprintf(folder + length, WITH_FILE - length, "/cpu.cfs_period_us");
    return bp__read_number(folder, &period) ? cores_of(quota, period) : 0;
}

/* Returns the smallest quota on the way from a group to the root of its hierarchy. Inside a container the group's own
 * directory is usually missing, because the mount begins at it. In that case the root has the quota. */
static int64_t least_quota(const char *mount, const char *group, int64_t (*quota)(char *folder, size_t length)) {
    char folder[WITH_FILE];
    const size_t root = strlen(mount);
    size_t length = root + strlen(group);
    if (length >= FOLDER) {
        group = "";
        length = root;
    }
    int64_t least = 0;
    snprintf(folder, sizeof folder, "%s%s", mount, group);
    for (;;) {
        int64_t here = quota(folder, length);
        least = here > 0 && (least == 0 || here < least) ? here : least;
        folder[length] = '\0';
        const char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + root) {
            return least;
        }
        length = (size_t)(slash - folder);
        folder[length] = '\0';
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
BP__OWN_FRAME static int64_t quota_of_line(const char *root, char *line) {
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

BP__OWN_FRAME static void read_groups(const char *root, char *text, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    bp__read_text(path, text, size);
}

int64_t bp__cgroup_cpus(const char *root) {
    enum { SIZE = 8192 };
    char *rest = NULL, *text = bp__alloc(SIZE);
    int64_t least = 0;
    if (!text) {
        return 0;
    }
    read_groups(root, text, SIZE);
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
