/* internal.h - declares the library list and the provider modules for dispatch and for this module. */
#ifndef BP_REGISTRY_INTERNAL_H
#define BP_REGISTRY_INTERNAL_H

#include "backplane/dispatch.h"
#include "backplane/library.h"
#include "backplane/runtime.h"
#include "base/base.h"

/* What a caller needs to know. Libraries are probed only as far as they are needed, because the probes of all take most
 * of the time of a program's first call on a machine. */
typedef struct bp__need {
    unsigned kinds; /* BP_LIB_ mask: the libraries that offer one of these are probed */
    bool brief;     /* matrix products only: checks of other routines may be left until a library is chosen */
} bp__need;
#define BP__NEED_ALL ((bp__need){.kinds = ~0u})

/* Builds the list if there is none yet, and probes what is needed and not known. Libraries that no caller has
 * needed so far are left out. If all are known, entries are numbered as in bp_library_at. The list and its entries live
 * until bp_reset; equal lists have one address, and so do equal entries. `loaded` and `probe_ms` are valid for the
 * first such entry. */
bp_status bp__libraries(bp__need need, const bp_library_info ***entries, int *count);

/* Makes the checks of a listed library that were left. Sets *changed to whether the list has a new entry for the
 * library then, or has it already because another thread made them. */
bp_status bp__library_check_rest(const bp_library_info *library, bool *changed);

/* From now on the list of this process is as its first caller needs it. A helper that measures one library does so,
 * because no crash in it reaches the program. */
void bp__libraries_leave_rest(void);
/* Writes the registry.library_path with which another process describes the library as this one does, the library
 * first. A LAPACK without BLAS calls another library's routines, from which it has its kernels and threads: the file
 * that the loader finds follows, and the library to which that file forwards. */
void bp__library_write_paths(const bp_library_info *library, char *text, size_t size);

/* Number of changes of the list: a decision made at another number may be out of date. */
uint32_t bp__library_lists(void);

/* Returns the entry for `name` (id, family, SONAME or path), or NULL without an error. */
const bp_library_info *bp__library_lookup(const char *name);

/* Stores the message about an absent library: each location searched, reasons for near matches, the package that
 * provides it. Returns BP_E_NOT_FOUND. */
bp_status bp__library_absent(const char *name);

/* Returns the number of listed libraries that are not usable and might be in a process without its limits. */
int bp__libraries_limited(void);

/* Opens a listed library under the loading rules; see bp_host.open_library. *opened is stored for each entry. */
bp_status bp__library_open(const bp_library_info *library, void **handle);
bool bp__library_is_open(const bp_library_info *library);

/* Finds a library by the name of its file and opens it under the loading rules; see bp_host.open_named. */
bp_status bp__library_open_named(const char *name, void **handle);

/* ---- Provider modules (modules.c) ---- */
/* Loads the modules of the installed directory (next to libbackplane: backplane-providers/) and of
 * registry.provider_path. Every file examined has an entry; rejected ones have status and reason. Entries live until
 * bp_reset. */
typedef struct bp__module {
    const bp_provider *provider; /* NULL if rejected */
    bp_provider_info info;
} bp__module;
bp_status bp__modules(const bp__module **modules, int *count);
/* The runtimes of these modules (runtime.h). They live as long as the entries. */
#define BP__RUNTIMES_MOST 32
#define BP__DEVICE_TYPES 0x7fff /* DLPack's device types are smaller */
typedef struct bp__module_runtime {
    const bp_runtime *runtime;
    const char *path;
} bp__module_runtime;
bp_status bp__module_runtimes(const bp__module_runtime **list, int *count);
void bp__modules_reset(void); /* frees the entries; called by bp__registry_reset */

void bp__registry_reset(void);

/* Holds this module's mutexes while the process forks; call it before bp__settings_fork_lock and after
 * bp__settings_fork_unlock. */
void bp__registry_fork_lock(void);
void bp__registry_fork_unlock(void);

#endif
