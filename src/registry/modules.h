/* modules.h - what the rest of the room shares with modules.c and loaded.c. */
#ifndef BP_REGISTRY_MODULES_H
#define BP_REGISTRY_MODULES_H

#include "registry/internal.h"

#include <limits.h>
#include <pthread.h>

/* For the handlers of fork. Each may be held while settings and base are locked. */
extern pthread_mutex_t bp__modules_mutex, bp__loaded_mutex;

void bp__loaded_reset(void); /* forgets what bp_loaded_object_at knows */

/* Writes the folder of the object that this code is in: of libbackplane, or of the program that it is linked into. */
bool bp__own_folder(char path[PATH_MAX]);

/* The check of a module's descriptor, apart so that tests can ask it for other releases.
 * BP_OK when a descriptor can be used by a library whose interface is `ours`, else BP_E_ABI or BP_E_SYMBOL and a
 * sentence. Reads no field before the numbers say that it is there. */
bp_status bp__provider_check(const bp_provider *provider, uint32_t ours);

#endif
