/* bridge.h - declares the link between an event and a user event. */
#ifndef BP_PROVIDERS_OPENCL_BRIDGE_H
#define BP_PROVIDERS_OPENCL_BRIDGE_H

#include "backplane/runtime.h"
#include "providers/opencl/api.h"

typedef struct bp__cl_bridge bp__cl_bridge;

/* Makes the links of a runtime. Its thread starts with the first one. Errors: BP_E_NO_MEMORY. */
bp_status bp__cl_bridge_new(const bp_host *host, const bp__cl_api *cl, bp__cl_bridge **bridge);
/* Ends the thread. User events that are still linked fail with CL_DEVICE_NOT_AVAILABLE. */
void bp__cl_bridge_free(bp__cl_bridge *bridge);
/* Frees the memory in a child of fork, which has no such thread. */
void bp__cl_bridge_forget(bp__cl_bridge *bridge);

/* Completes the user event when the foreign one ends, or fails it with the same error. Both get references of their
 * own. Errors: BP_E_NO_MEMORY, BP_E_SYSTEM. */
bp_status bp__cl_bridge_add(bp__cl_bridge *bridge, cl_event foreign, cl_event user);

/* As above, but if the foreign event has not failed, the user event gets the result of judge(context): 0 completes it,
 * a negative number is its error. `context` is memory of the host, which is released afterwards; after a failure it is
 * still the caller's. */
bp_status bp__cl_bridge_judge(bp__cl_bridge *bridge, cl_event foreign, cl_event user, cl_int (*judge)(void *context),
                              void *context);

#endif
