/* aligned.c - alignment of workspaces: what a provider asks for, and how the workspaces of the library get it.
 *
 * On the host every workspace of the library is aligned to 64 bytes. A provider that needs more gets a plan around its
 * own, with a larger workspace: all code that hands workspaces on then needs to know of no other alignment. On a device
 * the alignment is told to the program, and the pool's blocks are enlarged when they are taken (device_plans.c). */
#include "dispatch/internal.h"

#include "tensor/internal.h"

enum { HOST = 64, DEVICE = 256, MOST = 4096 };

typedef struct aligned {
    bp_prepared base; /* must be first: the interface of dispatch */
    bp_prepared *inner;
} aligned;

size_t bp__workspace_alignment(const bp_prepared *prepared, int32_t place) {
    const size_t least = place != 0 && bp__place_has_addresses(place) ? DEVICE : HOST;
    return prepared->workspace_alignment ? prepared->workspace_alignment : least;
}

uint64_t bp__workspace_start(const bp_operand *workspace, int32_t place, size_t alignment) {
    const uint64_t base = bp__place_has_addresses(place) ? (uintptr_t)workspace->base : 0;
    return (base + workspace->offset + alignment - 1) / alignment * alignment - base;
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp_prepared *inner = ((const aligned *)self)->inner;
    bp_exec moved = *exec;
    moved.workspace.offset = bp__workspace_start(&exec->workspace, 0, inner->workspace_alignment);
    moved.workspace_size = inner->workspace;
    return inner->enqueue(inner, operands, &moved);
}

static void destroy(bp_prepared *self) {
    aligned *a = (aligned *)self;
    a->inner->destroy(a->inner);
    bp__free(a);
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **packed) {
    const bp_prepared *inner = ((const aligned *)self)->inner;
    return inner->pack(inner, operand, source, packed);
}

static bp_status check(const bp_prepared *prepared) {
    const size_t alignment = prepared->workspace_alignment;
    return (alignment & (alignment - 1)) == 0 && alignment <= MOST
               ? BP_OK
               : bp__fail(BP_E_BROKEN,
                          "the provider violates the interface: workspace_alignment is %zu; it must be a power of two "
                          "of at most %d",
                          alignment, MOST);
}

/* Makes the plan around one of the host. */
static bp_status wrap(bp_prepared **prepared) {
    bp_prepared *inner = *prepared;
    aligned *a = bp__alloc_zero(1, sizeof *a);
    if (!a) {
        return bp__fail_memory(sizeof *a, "a plan");
    }
    a->base = (bp_prepared){.struct_size = sizeof a->base,
                            .enqueue = enqueue,
                            .destroy = destroy,
                            .workspace = inner->workspace + inner->workspace_alignment - HOST,
                            .pack = inner->pack ? pack : NULL};
    a->inner = inner;
    *prepared = &a->base;
    return BP_OK;
}

bp_status bp__workspace_align(bp_prepared **prepared, int32_t place) {
    bp_status status = check(*prepared);
    if (status == BP_OK && place == 0 && (*prepared)->workspace > 0 && (*prepared)->workspace_alignment > HOST) {
        status = wrap(prepared);
    }
    if (status != BP_OK) {
        (*prepared)->destroy(*prepared);
        *prepared = NULL;
    }
    return status;
}
