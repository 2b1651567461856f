/* place.h - finds and locks the files that the library keeps in the user's cache directory. */
#ifndef BP_STORE_PLACE_H
#define BP_STORE_PLACE_H

#include "base/base.h"

#include <limits.h>

/* Writes the path of the file `name` in the cache directory: registry.cache_dir, or else the user's. *given is the
 * length of the part of the path that is never made (see bp__file_make_folders). Returns false if no home directory is
 * known or if it does not exist, as in package builds, where no later process would use the file. */
bool bp__cache_path(const char *name, char path[PATH_MAX], size_t *given);

/* Locks a file against other processes and threads that write it, by a second file with the suffix ".lock". Tries for
 * at most `wait_ms`. Makes missing directories. Returns BP_OK with *lock for bp__file_unlock; BP_E_BUSY if another one
 * holds the lock; BP_E_IO or BP_E_NOT_FOUND if it cannot be taken here. The calling thread must not fork while it holds
 * the lock; other threads' forks wait. */
bp_status bp__file_lock(const char *path, size_t given, int wait_ms, int *lock);
void bp__file_unlock(int lock);

/* Hold the mutex of this module while the process forks: a child that inherited a lock would keep it until it ends. */
void bp__store_fork_lock(void);
void bp__store_fork_unlock(void);

#endif
