/* addresses.c - checks the addresses that a program passes to a plan which it holds.
 *
 * The rules are made with the plan, because a run has a few nanoseconds for them. Every operand that has elements needs
 * an address, which is a multiple of what its type requires. An output must not share an element with another operand,
 * unless the plan runs in place. Ranges of addresses are compared first; only if they meet, the elements are.
 */
#include "dispatch/addresses.h"

#include "tensor/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Rules ---- */

static bool has_elements(const bp__elements *e) {
    for (int d = 0; d < e->ndim; d++) {
        if (e->shape[d] == 0) {
            return false;
        }
    }
    return e->dtype != BP_DTYPE_NONE;
}

/* Returns whether the operand has elements. Outputs are not repeated, so that one with stride 0 lacks the dimension, as
 * the gradient by a weight lacks the batch's dimension. An input may have it. */
static bool describe(const bp__address_source *source, int operand, bp__elements *elements) {
    elements->dtype = BP_DTYPE_NONE;
    elements->ndim = 0;
    elements->exact = elements->unsure = false;
    return source->describe(source->context, operand, elements) && has_elements(elements) &&
           !(elements->unsure && operand < source->inputs);
}

/* Returns the natural alignment of an element. Complex numbers are aligned like their components. */
static uintptr_t alignment_of(bp_dtype dtype) {
    return bp_dtype_size(dtype) / (dtype == BP_C64 || dtype == BP_C128 ? 2 : 1);
}

static int64_t *fill_rule(bp__address_rule *rule, const bp__elements *e, int64_t *dims) {
    const size_t size = (size_t)e->ndim * sizeof *dims;
    rule->low_bits = alignment_of(e->dtype) - 1;
    rule->needed = 1;
    rule->dtype = e->dtype;
    rule->ndim = e->ndim;
    rule->shape = dims;
    rule->strides = dims + e->ndim;
    memcpy(rule->shape, e->shape, size);
    memcpy(rule->strides, e->strides, size);
    return dims + 2 * (ptrdiff_t)e->ndim;
}

/* Returns the bytes that the elements span relative to the first one. */
static int64_t span_of(const bp__address_rule *rule, int64_t *low) {
    const int64_t item = (int64_t)bp_dtype_size(rule->dtype);
    int64_t high = item;
    *low = 0;
    for (int d = 0; d < rule->ndim; d++) {
        const int64_t far = (rule->shape[d] - 1) * rule->strides[d] * item;
        *low += far < 0 ? far : 0;
        high += far > 0 ? far : 0;
    }
    return high - *low;
}

static void add_pair(bp__addresses *a, int other, int output, bp__sharing sharing) {
    bp__address_pair *pair = &a->pairs[a->pair_count];
    int64_t low[2];
    if (!a->rules[other].needed || !a->rules[output].needed) {
        return;
    }
    const int64_t size[2] = {span_of(&a->rules[other], &low[0]), span_of(&a->rules[output], &low[1])};
    *pair = (bp__address_pair){.first = (uintptr_t)(low[1] - low[0] + size[1] - 1),
                               .width = (uintptr_t)(size[0] + size[1] - 1),
                               .strict = sharing == BP__APART,
                               .other = other,
                               .output = output};
    if (sharing == BP__SHARED) { /* every distance but 0 is refused */
        pair->first = UINTPTR_MAX;
        pair->width = UINTPTR_MAX;
    }
    a->pair_count++;
}

static void add_pairs(bp__addresses *a, const bp__address_source *source) {
    for (int output = source->inputs; output < source->count; output++) {
        for (int i = 0; i < output; i++) {
            add_pair(a, i, output,
                     source->sharing && i < source->inputs ? source->sharing(source->context, i) : BP__APART);
        }
    }
}

/* A product that writes nothing reads nothing. Its problem may have lost the dimension of an input that is empty: items
 * of a batch count as rows if one operand is the same for all. */
static void need_no_inputs_without_output(bp__addresses *a, int inputs) {
    for (int i = 0; i < inputs && !a->rules[inputs].needed; i++) {
        a->rules[i].needed = 0;
    }
}

/* Sets `single` if the plan has one output with elements, and all operands with elements have its alignment. */
static void find_single(bp__addresses *a, int inputs) {
    int outputs = 0;
    for (int i = inputs; i < a->count; i++) {
        outputs += a->rules[i].needed != 0;
        a->low_bits = a->rules[i].needed ? a->rules[i].low_bits : a->low_bits;
    }
    bool same = outputs == 1 && !a->handles && a->pair_count <= BP__MOST_SINGLE;
    for (int i = 0; i < a->count; i++) {
        same = same && (!a->rules[i].needed || a->rules[i].low_bits == a->low_bits);
    }
    a->single = same ? a->pair_count : 0;
}

static bool holds_handles(int32_t place) {
    const DLTensor tensor = {.device = {(DLDeviceType)((uint32_t)place >> 16), 0}};
    return place != 0 && !bp__tensor_has_address(&tensor);
}

bp_status bp__addresses_make(bp__addresses **addresses, const bp__address_source *source) {
    bp__elements e;
    const size_t count = (size_t)source->count, outputs = count - (size_t)source->inputs;
    const size_t pairs = outputs * (size_t)source->inputs + outputs * (outputs - 1) / 2;
    size_t dims = 0;
    for (int i = 0; i < source->count; i++) {
        dims += describe(source, i, &e) ? 2 * (size_t)e.ndim : 0;
    }
    const size_t size = sizeof **addresses + count * sizeof *(*addresses)->rules + pairs * sizeof *(*addresses)->pairs +
                        dims * sizeof(int64_t);
    bp__addresses *a = *addresses = bp__alloc_zero(1, size);
    if (!a) {
        return bp__fail_memory(size, "the rules of a plan's addresses");
    }
    a->place = source->place;
    a->handles = holds_handles(source->place);
    a->count = source->count;
    a->pairs = (bp__address_pair *)(void *)(a->rules + count);
    int64_t *at = (int64_t *)(void *)(a->pairs + pairs);
    for (int i = 0; i < source->count; i++) {
        at = describe(source, i, &e) ? fill_rule(&a->rules[i], &e, at) : at;
    }
    if (source->product) {
        need_no_inputs_without_output(a, source->inputs);
    }
    add_pairs(a, source);
    find_single(a, source->inputs);
    a->two_and_one = !a->handles && source->count == 3 && source->inputs == 2 && a->pair_count == 2 &&
                     a->pairs[0].strict && a->pairs[1].strict;
    return BP_OK;
}

/* ---- Problems ---- */

static bool describe_operand(const void *problem, int operand, bp__elements *elements) {
    return bp__operand_elements(problem, operand, elements);
}

static bp__sharing sharing_of(const void *problem, int input) {
    return bp__operand_sharing(problem, input);
}

bp_status bp__addresses_of(bp__addresses **addresses, const bp_problem *problem) {
    const bp__address_source source = {.place = problem->place,
                                       .count = bp__operand_count((bp_op)problem->op),
                                       .inputs = bp__input_count((bp_op)problem->op),
                                       .describe = describe_operand,
                                       .product = bp__family_of(problem)->products,
                                       .sharing = sharing_of,
                                       .context = problem};
    return bp__addresses_make(addresses, &source);
}

/* ---- One run ---- */

/* Returns operand `index` of the lists of names: "a,b,c". Operands of a composed plan have numbers. */
static const char *name_of(const bp_plan *plan, int index, char *buffer, size_t size) {
    const bp_op op = (bp_op)plan->problem.op;
    const int inputs = bp__input_count(op);
    const char *list = index < inputs ? bp_op_inputs(op) : bp_op_outputs(op);
    if (plan->composed) {
        snprintf(buffer, size, index == plan->operands - 1 ? "the output" : "an input");
        return buffer;
    }
    for (int i = index < inputs ? index : index - inputs; i > 0; i--) {
        list = strchr(list, ',') + 1;
    }
    list += strspn(list, " ");
    snprintf(buffer, size, "%.*s", (int)strcspn(list, ","), list);
    return buffer;
}

static bool is_packed(const bp_packed *const *packed, int operand) {
    return packed && packed[operand];
}

bp_status bp__address_check(const bp_plan *plan, int i, const bp_operand *operand, const char *call) {
    const bp__address_rule *rule = &plan->addresses->rules[i];
    const uintptr_t base = plan->addresses->handles ? 0 : (uintptr_t)operand->base;
    char name[64];
    if (rule->needed && !operand->base) {
        return bp__fail(BP_E_ARGUMENT, "%s: operand %d (%s) has elements but its base is NULL", call, i,
                        name_of(plan, i, name, sizeof name));
    }
    if ((base + (uintptr_t)operand->offset) & rule->low_bits) {
        return bp__fail(BP_E_LAYOUT,
                        "%s: operand %d (%s) starts at an address that is not a multiple of %zu, as "
                        "%s requires",
                        call, i, name_of(plan, i, name, sizeof name), (size_t)rule->low_bits + 1,
                        bp_dtype_name(rule->dtype));
    }
    return BP_OK;
}

static DLTensor tensor_of(const bp__addresses *a, int i, const bp_operand *operand) {
    const bp__address_rule *rule = &a->rules[i];
    return (DLTensor){.data = operand->base,
                      .byte_offset = operand->offset,
                      .device = {a->place ? (DLDeviceType)((uint32_t)a->place >> 16) : kDLCPU, 0},
                      .ndim = rule->ndim,
                      .dtype = bp_dtype_to_dlpack(rule->dtype),
                      .shape = rule->shape,
                      .strides = rule->strides};
}

static bp_status check_pair(const bp_plan *plan, const bp__address_pair *pair, const bp_operand *operands) {
    const bp__addresses *a = plan->addresses;
    const DLTensor x = tensor_of(a, pair->other, &operands[pair->other]),
                   y = tensor_of(a, pair->output, &operands[pair->output]);
    char one[64], two[64];
    const bool same = bp__tensor_same_start(&x, &y), shared = pair->width == UINTPTR_MAX;
    if (shared || (same && !pair->strict)) {
        return same ? BP_OK
                    : bp__fail(BP_E_ARGUMENT,
                               "bp_execute: operands %d (%s) and %d (%s) must have the same address, "
                               "because the plan was made to run in place",
                               pair->other, name_of(plan, pair->other, one, sizeof one), pair->output,
                               name_of(plan, pair->output, two, sizeof two));
    }
    return bp__tensor_overlap(&x, &y)
               ? bp__fail(BP_E_OVERLAP,
                          "bp_execute: operand %d (%s), which is written, overlaps operand %d (%s); it must "
                          "have its own memory",
                          pair->output, name_of(plan, pair->output, two, sizeof two), pair->other,
                          name_of(plan, pair->other, one, sizeof one))
               : BP_OK;
}

bp_status bp__addresses_check(const bp_plan *plan, const bp_operand *operands, const bp_packed *const *packed) {
    const bp__addresses *a = plan->addresses;
    for (int i = 0; i < a->count; i++) {
        if (!is_packed(packed, i)) {
            BP__TRY(bp__address_check(plan, i, &operands[i], "bp_execute"));
        }
    }
    for (int i = 0; i < a->pair_count; i++) {
        if (!is_packed(packed, a->pairs[i].other)) {
            BP__TRY(check_pair(plan, &a->pairs[i], operands));
        }
    }
    return BP_OK;
}
