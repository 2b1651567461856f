/* folders.c - finds the paths that match a pattern with '*', in the order of their names.
 *
 * glob() of the C library takes memory past our allocator, and crashes when there is none (glibc 2.36). */
#include "base/folders.h"

#include "base/base.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct names {
    char **list;
    int count;
    bool failed;
} names;

/* Returns whether a name matches a part of a pattern. Names that begin with '.' only match a part that does. */
static bool matches(const char *name, const char *part, size_t length) {
    const char *end = part + length, *star = NULL, *retry = NULL;
    if (*name == '.' && *part != '.') {
        return false;
    }
    while (*name) {
        if (part < end && *part == '*') {
            star = part++;
            retry = name;
        } else if (part < end && *part == *name) {
            part++;
            name++;
        } else if (star) {
            part = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (part < end && *part == '*') {
        part++;
    }
    return part == end;
}

static void add_name(names *all, const char *name) {
    char **list = bp__realloc(all->list, (size_t)(all->count + 1) * sizeof *list);
    char *copy = list ? bp__strdup(name) : NULL;
    all->list = list ? list : all->list;
    all->failed = all->failed || !copy;
    if (copy) {
        all->list[all->count++] = copy;
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static names read_names(const char *folder, const char *part, size_t length) {
    names all = {0};
    DIR *open = opendir(folder);
    for (struct dirent *each; open && !all.failed && (each = readdir(open));) {
        if (matches(each->d_name, part, length)) {
            add_name(&all, each->d_name);
        }
    }
    if (open) {
        closedir(open);
    }
    if (all.count > 1) {
        qsort(all.list, (size_t)all.count, sizeof *all.list, by_name);
    }
    return all;
}

static bool visit_existing(const char *path, bp__path_visitor visit, void *user) {
    struct stat facts;
    return lstat(path, &facts) != 0 || visit(user, path);
}

/* `start`: the first part of the pattern with '*' begins there. */
static bool expand(const char *pattern, size_t start, bp__path_visitor visit, void *user) {
    const char *part = pattern + start;
    const size_t length = strcspn(part, "/");
    bp__text path = {0};
    bp__text_add_n(&path, pattern, start);
    names all = read_names(start > 0 ? bp__text_get(&path) : ".", part, length);
    bool done = !path.failed && !all.failed;
    for (int i = 0; i < all.count; i++) {
        bp__text next = {0};
        bp__text_addf(&next, "%s%s%s", bp__text_get(&path), all.list[i], part + length);
        done = done && !next.failed && bp__match_paths(bp__text_get(&next), start + strlen(all.list[i]), visit, user);
        bp__text_free(&next);
        bp__free(all.list[i]);
    }
    bp__free(all.list);
    bp__text_free(&path);
    return done;
}

bool bp__match_paths(const char *pattern, size_t from, bp__path_visitor visit, void *user) {
    const char *star = strchr(pattern + from, '*');
    if (!star) {
        return visit_existing(pattern, visit, user);
    }
    while (star > pattern + from && star[-1] != '/') {
        star--;
    }
    return expand(pattern, (size_t)(star - pattern), visit, user);
}
