/* modules.h - the part of modules.c that tests give interface numbers of other releases. */
#ifndef BP_REGISTRY_MODULES_H
#define BP_REGISTRY_MODULES_H

#include "registry/internal.h"

/* BP_OK when a descriptor can be used by a library whose interface is `ours`, else BP_E_ABI or BP_E_SYMBOL and a
 * sentence. Reads no field before the numbers say that it is there. */
bp_status bp__provider_check(const bp_provider *provider, uint32_t ours);

#endif
