/* scan.h - declares the search locations for libraries and the files found there. */
#ifndef BP_REGISTRY_SCAN_H
#define BP_REGISTRY_SCAN_H

#include "registry/facts.h"

#include <limits.h>

/* One file, even if several paths lead to it. Texts are interned. */
typedef struct bp__file {
    const char *path;    /* the canonical path */
    const char *aliases; /* newline-separated */
    bp__file_key key;
    bool asked_for;           /* reached through registry.library_path: examined whatever its name */
    const char *loader_names; /* newline-separated: its names in the loader's cache */
    bool loaded;              /* by this process */
    struct bp__file *same_as; /* the listed file that this one is a copy of, or NULL */
    bool stored;              /* the facts came from the probe cache */
    bool chosen;              /* to be opened, which needs all checks */
    bool brief;               /* the next probe checks only what matrix products need */
    bp_status trust;
    const char *trust_reason;
    bp__facts facts;
} bp__file;

/* One search location: a directory, a pattern of directories, a file, the loader cache, or this process. */
typedef struct bp__place {
    const char *name;
    const char *problem; /* "no such directory"; "" if it was read */
    int *files;          /* positions in bp__search.files */
    int file_count;
    int file_capacity;
} bp__place;

typedef struct bp__search {
    bp__file *files;
    int file_count;
    int file_capacity;
    bp__place *places;
    int place_count;
    int place_capacity;
    uint64_t (*folders)[2]; /* device and inode of the directories read so far */
    int folder_count;
    int folder_capacity;
    bool no_memory;
} bp__search;

/* Fills an all-zero search from the settings and the environment, without facts. Errors: BP_E_NO_MEMORY. */
bp_status bp__scan(bp__search *search);
void bp__search_free(bp__search *search);

/* Functions for newline-separated lists: whether a line is in it; adding a line that is not (false if out of memory).
 */
bool bp__lines_have(const char *lines, const char *line);
bool bp__lines_add(const char **lines, const char *line);

/* Functions of scan.c for search_paths.c. */
bool bp__name_tells(const char *name); /* whether a file with that name may be a known library */
void bp__place_begin(bp__search *search, const char *name);
void bp__place_problem(bp__search *search, const char *problem);
/* Returns the file, new or already known; NULL if there is none or if out of memory. Valid until the next call. */
bp__file *bp__scan_file(bp__search *search, const char *path, bool asked_for);
/* Reads one directory, and with `flavours` also its subdirectories with matching names (openblas-pthread/). Returns a
 * description of the problem, or "". */
const char *bp__scan_folder(bp__search *search, const char *path, bool asked_for, bool flavours);

/* Visits every location in order (search_paths.c). */
void bp__search_paths(bp__search *search);

/* Writes the path of the first file of that name: in registry.library_path, among the objects that the process has
 * loaded, in LD_LIBRARY_PATH, the virtual environment and the conda prefix, the loader's cache, and the system's
 * directories. Only the first of these if registry.system is false. Returns false if there is none. */
bool bp__search_named(const char *name, char path[PATH_MAX]);
/* The same in registry.library_path only. */
bool bp__search_listed(const char *name, char path[PATH_MAX]);

#endif
