/* scan.h - where libraries are looked for, and the files that came of it. */
#ifndef BP_REGISTRY_SCAN_H
#define BP_REGISTRY_SCAN_H

#include "registry/facts.h"

/* One file, however many paths lead to it. Texts are interned. */
typedef struct bp__file {
    const char *path;    /* the real one */
    const char *aliases; /* newline-separated */
    bp__file_key key;
    bool asked_for;           /* reached through registry.library_path: looked into whatever its name */
    const char *loader_names; /* newline-separated: the names by which the loader's cache knows it */
    bool loaded;              /* by this process */
    struct bp__file *same_as; /* the file of the list that this one is a copy of, or NULL */
    bool stored;              /* facts came from the store */
    bp_status trust;
    const char *trust_reason;
    bp__facts facts;
} bp__file;

/* One place that was searched: a folder, a pattern of folders, a file, the loader cache, this process. */
typedef struct bp__place {
    const char *name;
    const char *problem; /* "no such directory"; "" when it was read */
    int *files;          /* positions in bp__search.files */
    int file_count;
    int file_room;
} bp__place;

typedef struct bp__search {
    bp__file *files;
    int file_count;
    int file_room;
    bp__place *places;
    int place_count;
    int place_room;
    uint64_t (*folders)[2]; /* device and inode of folders read already */
    int folder_count;
    int folder_room;
    bool no_memory;
} bp__search;

/* Fills an all-zero search from the settings and the environment. Facts are left for others to fill. BP_E_NO_MEMORY. */
bp_status bp__scan(bp__search *search);
void bp__search_free(bp__search *search);

/* Newline-separated lists: whether a line is there; adding one that is not (false when out of memory). */
bool bp__lines_have(const char *lines, const char *line);
bool bp__lines_add(const char **lines, const char *line);

/* The parts of scan.c that search_paths.c is made of. */
bool bp__name_tells(const char *name); /* whether a file of that name could be of interest */
void bp__place_begin(bp__search *search, const char *name);
void bp__place_problem(bp__search *search, const char *problem);
/* The file found or met again; NULL when there is none, or when out of memory. Valid until the next call. */
bp__file *bp__scan_file(bp__search *search, const char *path, bool asked_for);
/* Reads one folder, and with `flavours` also its folders with telling names (openblas-pthread/). Returns what was
 * wrong, or "". */
const char *bp__scan_folder(bp__search *search, const char *path, bool asked_for, bool flavours);

/* Walks every place in order (search_paths.c). */
void bp__search_paths(bp__search *search);

#endif
