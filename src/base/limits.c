/* limits.c - tells how much memory the limits of this process leave.
 *
 * Only limits of the process are read: RLIMIT_AS and RLIMIT_DATA (ulimit -v and -d). Both make the system refuse
 * memory, and many libraries end the process then. */
#include "base/base.h"
#include "base/uncancelled.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t limit_of(__rlimit_resource_t resource) {
    struct rlimit limit;
    const bool known = getrlimit(resource, &limit) == 0 && limit.rlim_cur <= INT64_MAX;
    return known && limit.rlim_cur != RLIM_INFINITY ? (int64_t)limit.rlim_cur : -1;
}

static int64_t left_of_limit(int64_t limit, long pages) {
    const int64_t used = (int64_t)pages * sysconf(_SC_PAGESIZE);
    return limit < 0 ? INT64_MAX : limit > used ? limit - used : 0;
}

bool bp__memory_left(bp__memory *memory) {
    const int64_t space = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
    char line[128];
    long total = 0, own = 0;
    *memory = (bp__memory){INT64_MAX, INT64_MAX};
    if (space < 0 && data < 0) {
        return false;
    }
    BP__UNCANCELLED;
    bp__read_text("/proc/self/statm", line, sizeof line);
    if (sscanf(line, "%ld %*d %*d %*d %*d %ld", &total, &own) != 2) {
        return false; /* without /proc nothing is known */
    }
    *memory = (bp__memory){left_of_limit(space, total), left_of_limit(data, own)};
    return true;
}

bool bp__memory_is_limited(void) {
    bp__memory left;
    return bp__memory_left(&left);
}
