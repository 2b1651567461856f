/* folders.h - declares the search for paths that match a pattern. */
#ifndef BP_BASE_FOLDERS_H
#define BP_BASE_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

typedef bool (*bp__path_visitor)(void *user, const char *path);

/* Calls `visit` for every path that matches, until it returns false. A '*' matches any characters of a name; those
 * before the position `from` are plain characters. Folders that cannot be read have no matches. Returns false if
 * `visit` did, or if out of memory. */
bool bp__match_paths(const char *pattern, size_t from, bp__path_visitor visit, void *user);

#endif
