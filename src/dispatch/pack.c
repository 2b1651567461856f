/* pack.c - packs constant operands into the memory layout that a plan's library prefers.
 *
 * A provider with such a layout makes the packed operand itself and reads it when the plan runs. For other providers
 * the operand is copied unchanged, and the copy replaces the operand in the call. Programs therefore need not know
 * which library was chosen. */
#include "dispatch/addresses.h"
#include "dispatch/needs.h"
#include "dispatch/program.h"
#include "base/uncancelled.h"

#include "tensor/internal.h"

#include <string.h>

static atomic_llong held; /* number that the program owns */

int64_t bp__packed_held(void) {
    return atomic_load(&held);
}

/* A copy in the operand's own layout. */
typedef struct copied {
    bp_packed base; /* must be first: the program's handle */
    char *block;
    bp_operand operand; /* the operand within `block` */
} copied;

static void destroy_copy(bp_packed *packed) {
    bp__free_aligned(((copied *)packed)->block);
    bp__free(packed);
}

static DLTensor tensor_of(bp__layout *layout, const bp_operand *operand) {
    return (DLTensor){.data = operand->base,
                      .byte_offset = operand->offset,
                      .device = {kDLCPU, 0},
                      .ndim = layout->ndim,
                      .dtype = bp_dtype_to_dlpack(layout->dtype),
                      .shape = layout->shape,
                      .strides = layout->strides};
}

/* Copies element by element, because several indices may share an element. */
static void copy_elements(const bp__layout *layout, int dim, char *to, const char *from) {
    const int64_t item = (int64_t)bp_dtype_size(layout->dtype);
    if (dim == layout->ndim) {
        memcpy(to, from, (size_t)item);
        return;
    }
    for (int64_t i = 0; i < layout->shape[dim]; i++) {
        const int64_t step = i * layout->strides[dim] * item;
        copy_elements(layout, dim + 1, to + step, from + step);
    }
}

/* Copies the operand with its own strides, because the plan was made for them. Memory between the elements is not read,
 * because it does not belong to the operand. */
static bp_status copy_plainly(const bp_plan *plan, int operand, const bp_operand *source, bp_packed **packed) {
    bp__layout layout;
    int64_t low, high;
    bp__family_of(&plan->problem)->input_layout(&plan->problem, operand, &layout);
    DLTensor from = tensor_of(&layout, source), to = from;
    BP__TRY(bp__tensor_extent(&from, "source", &low, &high));
    size_t size = (size_t)(high - low);
    copied *made = bp__alloc_zero(1, sizeof *made);
    char *block = bp__alloc_aligned(size > 0 ? size : 1);
    if (!made || !block) {
        bp__free(made);
        bp__free_aligned(block);
        return bp__fail_memory(size, "a packed operand");
    }
    made->base = (bp_packed){.struct_size = sizeof made->base, .size = size, .destroy = destroy_copy};
    made->block = block;
    made->operand = (bp_operand){block, (uint64_t)-low};
    to.data = block;
    to.byte_offset = (uint64_t)-low;
    *packed = &made->base;
    if (bp__tensor_self_overlaps(&from)) {
        copy_elements(&layout, 0, block - low, bp_operand_address(source));
        return BP_OK;
    }
    return bp_tensor_copy(&to, &from);
}

static bool can_pack(const bp_plan *plan, int operand) {
    bp__layout layout;
    const bp__family *family = bp__family_of(&plan->problem);
    return !plan->composed && plan->problem.place == 0 && family->input_layout && operand >= 0 &&
           family->input_layout(&plan->problem, operand, &layout);
}

bp_status bp_plan_pack(bp_packed **packed, const bp_plan *plan, int operand, const bp_operand *source) {
    BP__UNCANCELLED;
    if (!plan || !source || !packed) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_pack: plan, source and packed must not be NULL");
    }
    *packed = NULL;
    if (plan->problem.place != 0) {
        return bp__fail(BP_E_UNSUPPORTED, "bp_plan_pack: the plan runs on a device, where operands cannot be packed");
    }
    if (plan->composed || !bp__family_of(&plan->problem)->input_layout) {
        return bp__fail(BP_E_UNSUPPORTED, "bp_plan_pack: operands of %s cannot be packed",
                        bp_op_name((bp_op)plan->problem.op));
    }
    if (!can_pack(plan, operand)) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_pack: operand %d of %s is not an input (%s)", operand,
                        bp_op_name((bp_op)plan->problem.op), bp_op_inputs((bp_op)plan->problem.op));
    }
    if (!source->base) {
        return bp__fail(BP_E_ARGUMENT, "bp_plan_pack: source->base must not be NULL");
    }
    BP__TRY(bp__address_check(plan, operand, source, "bp_plan_pack"));
    bool own_layout = operand < 32 && plan->verdict.packs >> operand & 1;
    bp__memory kept;
    BP__TRY(bp__needs_enter(plan, &kept));
    bp_status status = own_layout ? plan->prepared->pack(plan->prepared, operand, source, packed)
                                  : copy_plainly(plan, operand, source, packed);
    bp__needs_leave(plan, &kept, BP_E_NO_MEMORY); /* other routines than in a run */
    if (status != BP_OK) {
        if (*packed) {
            (*packed)->destroy(*packed);
            *packed = NULL;
        }
        return status;
    }
    bp__plan_retain((bp_plan *)plan); /* the reference count does not belong to the plan's value */
    bp__plan_handed_out();
    atomic_fetch_add(&held, 1);
    (*packed)->plan = plan;
    (*packed)->operand = operand;
    return BP_OK;
}

bp_status bp__part_pack(const bp_packed **packed, const bp_plan *plan, int operand, const bp_operand *source) {
    bp_packed *made = NULL;
    bp__memory kept;
    *packed = NULL;
    if (plan->composed || plan->problem.place != 0 || operand >= 32 || !(plan->verdict.packs >> operand & 1)) {
        return BP_OK;
    }
    BP__TRY(bp__needs_enter(plan, &kept));
    bp_status status = plan->prepared->pack(plan->prepared, operand, source, &made);
    bp__needs_leave(plan, &kept, BP_E_NO_MEMORY);
    if (status != BP_OK && made) {
        made->destroy(made);
    }
    if (status == BP_OK) {
        made->plan = plan;
        made->operand = operand;
        *packed = made;
    }
    return status;
}

void bp__part_unpack(const bp_packed *packed) {
    if (packed) {
        packed->destroy((bp_packed *)(uintptr_t)packed);
    }
}

void bp_packed_release(bp_packed *packed) {
    BP__UNCANCELLED;
    if (packed) {
        const bp_plan *plan = packed->plan;
        packed->destroy(packed);
        atomic_fetch_sub(&held, 1);
        bp_plan_release((bp_plan *)plan);
    }
}

bp_status bp__packed_check(const bp_plan *plan, const bp_packed *const *packed) {
    if (!can_pack(plan, 0)) {
        return bp__fail(BP_E_UNSUPPORTED, "bp_execute: operands of %s cannot be packed",
                        bp_op_name((bp_op)plan->problem.op));
    }
    for (int i = 0; i < plan->operands; i++) {
        if (packed[i] && (packed[i]->plan != plan || packed[i]->operand != i)) {
            return bp__fail(BP_E_ARGUMENT, "bp_execute: packed[%d] was packed %s", i,
                            packed[i]->plan != plan ? "for another plan" : "as another operand of this plan");
        }
    }
    return BP_OK;
}

bp_status bp__packed_run(const bp_plan *plan, const bp_operand *operands, const bp_exec *exec) {
    const bp_packed *packed[BP__MOST_OPERANDS] = {NULL};
    bp_operand given[BP__MOST_OPERANDS];
    bp_exec own = *exec;
    bool any = false;
    memcpy(given, operands, (size_t)plan->operands * sizeof *given);
    for (int i = 0; can_pack(plan, i); i++) {
        const bp_packed *p = exec->packed[i];
        if (p && p->destroy == destroy_copy) {
            given[i] = ((const copied *)p)->operand;
        } else {
            packed[i] = p;
            any |= p != NULL;
        }
    }
    own.packed = any ? packed : NULL;
    return bp__plan_run(plan, given, &own);
}
