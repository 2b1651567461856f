/* transfer.c - runs a plan of the host on copies of operands that are on a device (dispatch.transfer=allow).
 *
 * The spans of the operands are read, the plan runs on them, and the elements of the outputs are written back, and
 * nothing else: other queues may meanwhile write to other parts of the same memory, also between the elements of an
 * output. Operands whose spans overlap share one copy, because they may be the same memory.
 */
#include "dispatch/internal.h"

#include "device/internal.h"
#include "machine/internal.h"
#include "tensor/internal.h"

#include <string.h>

/* An operand, as the problem describes it. */
typedef struct described {
    bool present;
    bp__elements elements;
    int64_t low, high; /* bytes that the elements span, relative to the first one; equal if there are none */
} described;

typedef struct transferred {
    bp_prepared base; /* must be first: the interface of dispatch */
    bp_prepared *inner;
    int32_t place;
    bool has_addresses; /* of the device: bases may be in the middle of a block */
    int inputs, count;
    int first; /* operands before this one are in host memory already */
    described operand[];
} transferred;

/* ---- Descriptions ---- */

static void find_span(described *d) {
    const int64_t item = (int64_t)bp_dtype_size(d->elements.dtype);
    d->low = 0;
    d->high = d->present ? item : 0;
    for (int i = 0; i < d->elements.ndim; i++) {
        const int64_t far = (d->elements.shape[i] - 1) * d->elements.strides[i] * item;
        d->low += far < 0 ? far : 0;
        d->high += far > 0 ? far : 0;
    }
    for (int i = 0; i < d->elements.ndim; i++) {
        if (d->elements.shape[i] == 0) {
            d->low = d->high = 0;
        }
    }
}

static void describe_operands(transferred *t, const bp_problem *problem) {
    for (int i = t->first; i < t->count; i++) {
        described *d = &t->operand[i];
        d->present = bp__operand_elements(problem, i, &d->elements);
        find_span(d);
    }
}

/* ---- Copies ---- */

/* A span of device memory, and its copy. */
typedef struct staged {
    void *base; /* NULL: low and high are addresses */
    uint64_t low, high;
    void *block; /* of host memory */
    char *copy;
} staged;

enum { ALIGNMENT = 64 }; /* copies have the alignment that the elements have relative to their base */

/* Adds a span to the list. Those that overlap it become one with it. */
static void add_span(staged *list, int *count, staged span) {
    for (int i = 0; i < *count;) {
        if (list[i].base == span.base && list[i].low < span.high && span.low < list[i].high) {
            span.low = list[i].low < span.low ? list[i].low : span.low;
            span.high = list[i].high > span.high ? list[i].high : span.high;
            list[i] = list[--*count];
            i = 0;
        } else {
            i++;
        }
    }
    list[(*count)++] = span;
}

static bool has_elements(const described *d, const bp_operand *operand) {
    return operand->base && d->low < d->high;
}

/* Returns where an operand begins: addresses of one block may have several bases, so they are compared as numbers. */
static bp_operand position_of(const transferred *t, const bp_operand *operand) {
    return t->has_addresses ? (bp_operand){NULL, (uint64_t)(uintptr_t)bp_operand_address(operand)} : *operand;
}

/* Checks that the elements are within a block that has no addresses. */
static bp_status check_span(const transferred *t, int i, const bp_operand *operand, const staged *span) {
    size_t size;
    if (t->has_addresses) {
        return BP_OK;
    }
    BP__TRY(bp__device_block_size(t->place, span->base, &size));
    if (span->low > span->high || span->high > size) {
        return bp__fail(BP_E_ARGUMENT,
                        "operand %d begins at byte %llu of a block of %zu bytes; its elements would be outside of it",
                        i, (unsigned long long)operand->offset, size);
    }
    return BP_OK;
}

static bp_status find_spans(const transferred *t, const bp_operand *operands, staged *list, int *count) {
    for (int i = t->first; i < t->count; i++) {
        const described *d = &t->operand[i];
        if (!has_elements(d, &operands[i])) {
            continue;
        }
        const bp_operand first = position_of(t, &operands[i]);
        const staged span = {
            .base = first.base, .low = first.offset + (uint64_t)d->low, .high = first.offset + (uint64_t)d->high};
        BP__TRY(check_span(t, i, &operands[i], &span));
        add_span(list, count, span);
    }
    return BP_OK;
}

/* Returns the beginning of a span for the runtime, which looks for the block of a base. */
static bp_operand start_of(const staged *s) {
    return s->base ? (bp_operand){s->base, s->low} : (bp_operand){(void *)(uintptr_t)s->low, 0};
}

static bp_status read_spans(bp_queue *queue, staged *list, int count) {
    for (int i = 0; i < count; i++) {
        staged *s = &list[i];
        const size_t size = (size_t)(s->high - s->low), lead = (size_t)(s->low % ALIGNMENT);
        s->block = bp__alloc_aligned(lead + size);
        if (!s->block) {
            return bp__fail_memory(lead + size, "the copy of an operand (dispatch.transfer=allow)");
        }
        s->copy = (char *)s->block + lead;
        const bp_operand start = start_of(s);
        BP__TRY(bp__queue_read(queue, s->copy, &start, size));
    }
    return BP_OK;
}

/* Returns the operand in host memory. */
static bp_operand in_copy(const transferred *t, const described *d, const bp_operand *operand, const staged *list) {
    if (!has_elements(d, operand)) {
        return (bp_operand){0};
    }
    const bp_operand first = position_of(t, operand);
    const uint64_t low = first.offset + (uint64_t)d->low;
    while (list->base != first.base || low < list->low || low >= list->high) {
        list++;
    }
    return (bp_operand){list->copy, first.offset - list->low};
}

/* Writes the elements of an output that has gaps. Sets *enqueued if the copy may still read host memory. */
__attribute__((noinline)) static bp_status write_strided(const transferred *t, bp_queue *queue, const bp__elements *e,
                                                         const bp_operand *to, const bp_operand *from, bool *enqueued) {
    int64_t shape[BP_MAX_NDIM], strides[BP_MAX_NDIM];
    memcpy(shape, e->shape, (size_t)e->ndim * sizeof *shape);
    memcpy(strides, e->strides, (size_t)e->ndim * sizeof *strides);
    DLTensor dst = {.data = to->base,
                    .device = {(DLDeviceType)(t->place >> 16), t->place & 0xffff},
                    .ndim = e->ndim,
                    .dtype = bp_dtype_to_dlpack(e->dtype),
                    .shape = shape,
                    .strides = strides,
                    .byte_offset = to->offset};
    DLTensor src = dst;
    src.data = from->base;
    src.device = (DLDevice){kDLCPU, 0};
    src.byte_offset = from->offset;
    *enqueued = true;
    return bp_copy(&dst, &src, queue);
}

static bool has_gaps(const described *d) {
    int64_t bytes = (int64_t)bp_dtype_size(d->elements.dtype);
    for (int i = 0; i < d->elements.ndim; i++) {
        bytes *= d->elements.shape[i];
    }
    return bytes != d->high - d->low;
}

static bp_status write_output(const transferred *t, bp_queue *queue, const described *d, const bp_operand *to,
                              const bp_operand *from, bool *enqueued) {
    if (has_gaps(d)) {
        return write_strided(t, queue, &d->elements, to, from, enqueued);
    }
    const bp_operand start = {to->base, to->offset + (uint64_t)d->low};
    return bp__queue_write(queue, &start, (char *)from->base + from->offset + d->low, (size_t)(d->high - d->low));
}

static bp_status write_outputs(const transferred *t, bp_queue *queue, const bp_operand *operands,
                               const bp_operand *local) {
    bp_status status = BP_OK;
    bool enqueued = false;
    for (int i = t->inputs; i < t->count && status == BP_OK; i++) {
        if (local[i].base) {
            status = write_output(t, queue, &t->operand[i], &operands[i], &local[i], &enqueued);
        }
    }
    const bp_status ended = enqueued ? bp__queue_finish(queue) : BP_OK; /* the copies are freed after it */
    return status == BP_OK ? ended : status;
}

/* ---- Runs ---- */

static bp_status run_inner(const transferred *t, const bp_operand *local, const bp_exec *exec) {
    bp_exec host = {.struct_size = sizeof host, .scalars = exec->scalars, .workspace_size = t->inner->workspace};
    if (host.workspace_size > 0) {
        host.workspace.base = bp__workspace_take(host.workspace_size);
        if (!host.workspace.base) {
            return bp__fail_memory(host.workspace_size, "the workspace of a plan");
        }
    }
    bp_status status = t->inner->enqueue(t->inner, local, &host);
    if (host.workspace.base) {
        bp__workspace_give(host.workspace.base);
    }
    return status;
}

static bp_status run_on_copies(const transferred *t, bp_queue *queue, const bp_operand *operands, const bp_exec *exec,
                               staged *list, int *count) {
    bp_operand local[BP__MOST_OPERANDS] = {{0}};
    BP__TRY(find_spans(t, operands, list, count));
    BP__TRY(read_spans(queue, list, *count));
    for (int i = 0; i < t->count; i++) {
        local[i] = i < t->first ? operands[i] : in_copy(t, &t->operand[i], &operands[i], list);
    }
    BP__TRY(run_inner(t, local, exec));
    return write_outputs(t, queue, operands, local);
}

static bp_status enqueue_transferred(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    staged list[BP__MOST_OPERANDS] = {{0}};
    int count = 0;
    bp_status status = run_on_copies((const transferred *)self, exec->queue, operands, exec, list, &count);
    for (int i = 0; i < count; i++) {
        bp__free_aligned(list[i].block);
    }
    return status;
}

static void destroy_transferred(bp_prepared *self) {
    transferred *t = (transferred *)self;
    t->inner->destroy(t->inner);
    bp__free(t);
}

bp_status bp__prepare_transferred(const bp_problem *problem, bp_prepared *inner, bp_prepared **prepared) {
    const int count = bp__operand_count((bp_op)problem->op);
    const size_t size = sizeof(transferred) + (size_t)count * sizeof(described);
    transferred *t = bp__alloc_zero(1, size);
    if (!t) {
        return bp__fail_memory(size, "a plan");
    }
    t->base = (bp_prepared){
        .struct_size = sizeof(bp_prepared), .enqueue = enqueue_transferred, .destroy = destroy_transferred};
    t->inner = inner;
    t->place = problem->place;
    t->has_addresses = bp__place_has_addresses(problem->place);
    t->inputs = bp__input_count((bp_op)problem->op);
    t->count = count;
    t->first = bp__family_of(problem)->host_inputs;
    describe_operands(t, problem);
    *prepared = &t->base;
    return BP_OK;
}
