/* shortage.h - declares what limits a process apart from its own resource limits. */
#ifndef BP_PROBE_SHORTAGE_H
#define BP_PROBE_SHORTAGE_H

#include <stdint.h>

/* Returns what the cgroup of this process or the system limits so far that a library may fail, or NULL. `root` is
 * before all paths: "" but for tests. `mebibytes`: memory that a library may take. */
const char *system_shortage(const char *root, int64_t mebibytes);

#endif
