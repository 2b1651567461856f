/* build_list.h - one making of the library list: what was found, and the rows made of it. */
#ifndef BP_REGISTRY_BUILD_LIST_H
#define BP_REGISTRY_BUILD_LIST_H

#include "registry/internal.h"
#include "registry/scan.h"

/* A file that becomes a row, with what relates it to other files. */
typedef struct bp__list_entry {
    bp__file *file;
    bp__file *target; /* of a facade: who does the work; else NULL */
    const char *via;  /* the NEEDED name that leads there, or "" */
    bp_library_state state;
    const char *reason; /* interned */
    const char *id;     /* interned */
    int rank;           /* position of the family in the table */
} bp__list_entry;

/* One making lives until the next refresh, but for its rows: see kept.c. */
typedef struct bp__library_list {
    bp__search search;
    bp__list_entry *rows;
    bp_library_info *infos;       /* as they are now, and our own provider's behind them */
    const bp_library_info **list; /* the rows that are kept of them */
    int count;
} bp__library_list;

/* Searches, identifies, probes, and makes the rows. BP_E_NO_MEMORY. */
bp_status bp__library_list_new(bp__library_list **generation, bool probe_all);
void bp__library_list_free(bp__library_list *generation);

/* The parts (relations.c): which files only stand for another one. */
bp__file *bp__facade_target(bp__search *search, const bp__file *file, const char **via);
void bp__merge_copies(bp__search *search);
/* The file of the list that a path leads to, or NULL. */
bp__file *bp__file_at(bp__search *search, const char *path);

/* Whether a GPU's driver is there (build_list.c). */
bool bp__has_gpu_driver(void);

/* Orders the rows, names them, and fills the infos (list_entries.c). BP_E_NO_MEMORY. */
bp_status bp__list_entries_finish(bp__library_list *generation);

/* The kept list of such rows, the same one for equal rows in the same order; NULL when out of memory (kept.c). */
const bp_library_info **bp__list_keep(const bp_library_info *infos, int count);
void bp__kept_reset(void);

/* The current list; makes it first where there is none. The registry's mutex must be held. */
bp_status bp__library_list_current(bp__library_list **generation);
void bp__registry_lock(void);
void bp__registry_unlock(void);

/* The row of a list that a name means, -1 when there is none. */
int bp__list_entry_named(const bp__library_list *generation, const char *name);

/* Forgets which libraries were opened (open.c). */
void bp__opened_reset(void);

#endif
