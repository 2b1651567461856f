/* folder.c - reads the names in a folder, in the order of their bytes. */
#include "cli.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **cli_folder_names(const char *folder, int *count) {
    DIR *open = opendir(folder);
    int space = 0;
    char **names = NULL;
    *count = 0;
    for (const struct dirent *entry; open && (entry = readdir(open));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (*count == space) {
            char **larger = cli_allocate(((size_t)space * 2 + 16) * sizeof *larger);
            for (int i = 0; i < space; i++) {
                larger[i] = names[i];
            }
            free(names);
            names = larger;
            space = space * 2 + 16;
        }
        names[(*count)++] = cli_format("%s", entry->d_name);
    }
    if (open) {
        closedir(open);
    }
    if (names) {
        qsort(names, (size_t)*count, sizeof *names, by_name);
    }
    return names;
}

void cli_folder_free(char **names, int count) {
    for (int i = 0; i < count; i++) {
        free(names[i]);
    }
    free(names);
}
