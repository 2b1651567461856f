/* internal.h - the list of libraries, as dispatch and the other files of this room see it. */
#ifndef BP_REGISTRY_INTERNAL_H
#define BP_REGISTRY_INTERNAL_H

#include "backplane/dispatch.h"
#include "backplane/library.h"
#include "base/base.h"

/* Makes the list when there is none yet. Rows are numbered as in bp_library_at. The list and its rows live until
 * bp_reset; equal lists have one address, and equal rows too. `loaded` and `probe_ms` in them are of the first such
 * row. */
bp_status bp__libraries(const bp_library_info ***rows, int *count);

/* How often the list has changed: what was decided with another number may be out of date. */
uint32_t bp__library_lists(void);

/* The row that `name` means (id, family, SONAME or path); NULL when there is none, without an error. */
const bp_library_info *bp__library_lookup(const char *name);

/* The sentence for an absent library: each place searched, reasons for near matches, the package that provides it.
 * Returns BP_E_NOT_FOUND. */
bp_status bp__library_absent(const char *name);

/* Opens a row under the house rules; see bp_host.open_library. *opened is stored per row. */
bp_status bp__library_open(const bp_library_info *library, void **handle);
bool bp__library_is_open(const bp_library_info *library);

/* ---- Provider modules (modules.c) ---- */
/* Loads the modules of the installed folder (next to libbackplane: backplane-providers/) and of registry.provider_path.
 * Every file looked at has an entry, refused ones with status and reason. Entries live until bp_reset. */
typedef struct bp__module {
    const bp_provider *provider; /* NULL when refused */
    bp_provider_info info;
} bp__module;
bp_status bp__modules(const bp__module **modules, int *count);
void bp__modules_reset(void); /* frees the entries; called by bp__registry_reset */

void bp__registry_reset(void);

/* Holds this room's mutexes while the process forks; before bp__settings_fork_lock, after bp__settings_fork_unlock. */
void bp__registry_fork_lock(void);
void bp__registry_fork_unlock(void);

#endif
