/* hosts.h - the hosts of a program on several ranks, and the ranks of each. */
#ifndef BP_CLI_RANKS_HOSTS_H
#define BP_CLI_RANKS_HOSTS_H

#include "cli/ranks/ranks.h"

typedef struct ranks_hosts ranks_hosts;

/* Reads "a,b" or "a:2,b:1". Without numbers the ranks are divided evenly, and the first hosts have one more. Fails
 * (CLI_USAGE) on what is no name, and if the sum of the numbers is not the number of ranks. Free *hosts. */
int ranks_hosts_read(const char *text, int64_t ranks, ranks_hosts **hosts);
void ranks_hosts_free(ranks_hosts *hosts); /* NULL is allowed */

/* Returns the ranks of the host that has most. */
int64_t ranks_hosts_most(const ranks_hosts *hosts);

/* Returns "a:2,b:1", as all launchers take it; free it. */
char *ranks_hosts_list(const ranks_hosts *hosts);

#endif
