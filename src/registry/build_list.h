/* build_list.h - declares one build of the library list: the search result and the entries made from it. */
#ifndef BP_REGISTRY_BUILD_LIST_H
#define BP_REGISTRY_BUILD_LIST_H

#include "registry/internal.h"
#include "registry/scan.h"

/* A file that becomes an entry, with its relations to other files. */
typedef struct bp__list_entry {
    bp__file *file;
    bp__file *target; /* of a facade: the library that does the work; else NULL */
    const char *via;  /* the NEEDED name that leads to the target, or "" */
    bp_library_state state;
    const char *reason; /* interned */
    const char *id;     /* interned */
    int rank;           /* position of the family in the table */
} bp__list_entry;

/* One build of the list, freed by the next refresh. Its entries live longer: see kept.c. */
typedef struct bp__library_list {
    bp__search search;
    bp__list_entry *entries;
    bp_library_info *infos;       /* as they are now, followed by the native provider's */
    const bp_library_info **kept; /* the kept entries for the members of `infos` that are known */
    int count, kept_count;
    unsigned briefly, wholly; /* BP_LIB_ masks of the kinds that are known for matrix products, and for everything */
    bool unknown;             /* BP__LIST_CACHED only: a library has to be probed, and there are no entries */
} bp__library_list;

/* Which libraries are probed: none; those that are not in the probe cache; all. */
typedef enum bp__list_mode { BP__LIST_CACHED, BP__LIST_USUAL, BP__LIST_PROBED } bp__list_mode;

/* Searches, identifies, probes what is needed, and makes the entries. Errors: BP_E_NO_MEMORY. */
bp_status bp__library_list_new(bp__library_list **list, bp__list_mode mode, bp__need need);
bool bp__library_list_covers(const bp__library_list *list, bp__need need);
/* Probes what is needed and not known, and what was chosen, and makes the entries again. After an error the list can
 * only be freed. Errors: BP_E_NO_MEMORY. */
bp_status bp__library_list_grow(bp__library_list *list, bp__need need);
void bp__library_list_free(bp__library_list *list);

/* Relations (relations.c): find the files that only stand for another one. */
bp__file *bp__facade_target(bp__search *search, const bp__file *file, const char **via);
void bp__merge_copies(bp__search *search);
/* Returns the file of the list with that path, or NULL. */
bp__file *bp__file_at(bp__search *search, const char *path);

/* Returns whether a GPU driver is loaded, or registry.library_path has its library (build_list.c). */
bool bp__has_gpu_driver(void);

/* Sorts and names the entries, and fills the infos (list_entries.c). Errors: BP_E_NO_MEMORY. */
bp_status bp__list_entries_finish(bp__library_list *list);
/* Whether the entry waits for a probe that no caller has needed so far (build_list.c). */
bool bp__list_entry_waits(const bp__list_entry *entry);

/* Returns the kept list of such entries, the same one for equal entries in the same order; NULL if out of memory
 * (kept.c). */
const bp_library_info **bp__list_keep(const bp_library_info *const *infos, int count);
void bp__kept_reset(void);

/* Returns the current list with all libraries; builds or completes it first. The registry's mutex must be held. */
bp_status bp__library_list_current(bp__library_list **list);
/* The same, but takes a list as it is. */
bp_status bp__library_list_any(bp__library_list **list);
void bp__registry_lock(void);
void bp__registry_unlock(void);

/* Returns the index of the entry with that name, or -1. */
int bp__list_entry_named(const bp__library_list *list, const char *name);

/* Resets the record of opened libraries (open.c). */
void bp__opened_reset(void);
/* Whether this process has opened the file. The registry's mutex must be held. */
bool bp__opened_has(const char *path);

#endif
