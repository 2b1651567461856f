/* host.c - implements host.h. */
#include "support/host.h"

#include "machine/internal.h"

static bp_status keep_status(bp_status status, const char *format, ...) {
    (void)format;
    return status;
}

static int interrupted(bp_op op) {
    (void)op;
    return bp__interrupted();
}

const bp_host *test_plain_host(void) {
    static const bp_machine_info machine = {.struct_size = sizeof machine};
    static bp_host host;
    if (host.struct_size == 0) {
        host = (bp_host){.abi = BP_PROVIDER_ABI,
                         .struct_size = sizeof host,
                         .allocate = bp__alloc_aligned,
                         .release = bp__free_aligned,
                         .scratch = bp__scratch,
                         .fail = keep_status,
                         .parallel = bp__parallel,
                         .machine = &machine,
                         .hardware = bp__cpu_hardware(),
                         .interrupt_due = bp__interrupt_due,
                         .interrupted = interrupted,
                         .keep_unset = bp__env_keep_unset,
                         .threads_start_error = bp__threads_start_error};
    }
    return &host;
}
