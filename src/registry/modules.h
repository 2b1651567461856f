/* modules.h - declares what modules.c and loaded.c share with the rest of this module. */
#ifndef BP_REGISTRY_MODULES_H
#define BP_REGISTRY_MODULES_H

#include "registry/internal.h"

#include <limits.h>
#include <pthread.h>

/* For the fork handlers. Each may be held while settings and base are locked. */
extern pthread_mutex_t bp__modules_mutex, bp__loaded_mutex;

void bp__loaded_reset(void); /* frees the data of bp_loaded_object_at */

/* Writes the directory of the object that contains this code: libbackplane, or the program that it is linked into. */
bool bp__own_folder(char path[PATH_MAX]);

/* Checks a module's descriptor; a separate function, so that tests can check against other releases. Returns BP_OK if a
 * library with interface `ours` can use it, else BP_E_ABI or BP_E_SYMBOL with a message. Reads no field before the
 * version and size show that it exists. */
bp_status bp__provider_check(const bp_provider *provider, uint32_t ours);
/* The same for a runtime. */
bp_status bp__runtime_check(const bp_runtime *runtime);

#endif
