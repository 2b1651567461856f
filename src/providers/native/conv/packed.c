/* packed.c - keeps a weight that was packed beforehand. */
#include "conv.h"

static void destroy(bp_packed *self) {
    bp__conv_packed *packed = (bp__conv_packed *)self;
    packed->host->release(packed->panels);
    packed->host->release(packed);
}

bp_status bp__conv_packed_new(const bp_host *host, size_t bytes, bp__conv_packed **made) {
    bp__conv_packed *packed = host->allocate(sizeof *packed);
    char *panels = host->allocate(bytes);
    if (!packed || !panels) {
        host->release(packed);
        host->release(panels);
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a packed weight", bytes);
    }
    *packed = (bp__conv_packed){.base = {.struct_size = sizeof packed->base, .size = bytes, .destroy = destroy},
                                .host = host,
                                .panels = panels};
    *made = packed;
    return BP_OK;
}
