/* workspace.c - gets the workspace that a routine asks for, on all ranks or on none. */
#include "providers/scalapack/scalapack.h"

#include <limits.h>

/* Kernels of some BLAS libraries read up to a page next to their operands: it must be there. */
enum { MARGIN = 4096 };

void *bp__scalapack_allocate(const bp_host *host, size_t bytes) {
    char *block = host->allocate(bytes + 2 * MARGIN);
    return block ? block + MARGIN : NULL;
}

static void release_block(const bp_host *host, void *block) {
    if (block) {
        host->release((char *)block - MARGIN);
    }
}

bp_status bp__scalapack_take(bp__scalapack_call *call, size_t bytes, void **memory) {
    const bp_host *host = call->host;
    void *block = bp__scalapack_allocate(host, bytes);
    double without = block == NULL;
    call->extra[call->extra_count++] = block;
    *memory = block;
    const bp_status status = call->place->largest(call->place, &without, 1);
    return status == BP_OK && without > 0 ? host->fail(BP_E_NO_MEMORY, "%s: a rank has no memory for its workspace",
                                                       call->plan->operation->algorithm)
                                          : status;
}

void bp__scalapack_give(bp__scalapack_call *call) {
    while (call->extra_count > 0) {
        release_block(call->host, call->extra[--call->extra_count]);
    }
    release_block(call->host, call->work);
}

/* Routines return the number in the first element of the workspace, which in single precision may be rounded down. */
static double asked_for(const void *answer, bool wide) {
    const double number = wide ? *(const double *)answer : (double)*(const float *)answer * (1 + 1e-6);
    return number + 1;
}

bp_status bp__scalapack_take_asked(bp__scalapack_call *call, const void *answer, double more, bool complex, int *count,
                                   void **memory) {
    const uint32_t dtype = call->plan->problem.dtype;
    const bool wide = dtype == BP_F64 || dtype == BP_C128;
    const double number = asked_for(answer, wide) + more;
    double too_many = number > INT_MAX;
    const bp_status status = call->place->largest(call->place, &too_many, 1);
    if (status != BP_OK || too_many > 0) {
        return status != BP_OK ? status
                               : call->host->fail(BP_E_OVERFLOW, "%s: its workspace has more than 2^31 - 1 elements",
                                                  call->plan->operation->algorithm);
    }
    *count = (int)number;
    return bp__scalapack_take(call, (size_t)*count * (wide ? 8 : 4) * (complex ? 2 : 1), memory);
}
