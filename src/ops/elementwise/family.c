/* family.c - describes operations on single elements to dispatch. */
#include "ops/elementwise/elementwise.h"

#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_elementwise_problem) ==
                   8 * 4 + 4 * 8 + (1 + BP_ELEMENTWISE_OPERANDS) * BP_MAX_ELEMENTWISE_NDIM * 8,
               "bytes between the fields");

static const char *const unary[] = {
#define X(number, name, text) [BP_UNARY_##name] = text,
    BP_UNARY_MAP(X)
#undef X
};
static const char *const binary[] = {
#define X(number, name, text) [BP_BINARY_##name] = text,
    BP_BINARY_MAP(X)
#undef X
};

/* Writes " 0.2" or " -1,1" of a function with numbers. */
static size_t describe_numbers(const bp_problem *problem, char *buffer, size_t size) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const int count = problem->op == BP_OP_UNARY ? bp_unary_number_count((bp_unary_kind)p->kind, NULL) : 0;
    size_t used = 0;
    for (int i = 0; i < count && used < size; i++) {
        used += (size_t)bp__format(buffer + used, size - used, "%s%g", i ? "," : " ", p->number[i]);
    }
    return used;
}

/* Writes "gelu f32 1024x768", or "leaky_relu 0.2 f32 1024x768": the merged dimensions of the output. */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const int output = bp__input_count((bp_op)problem->op);
    const bool takes = problem->op == BP_OP_TAKE || problem->op == BP_OP_GATHER;
    const bool named = problem->op == BP_OP_UNARY || problem->op == BP_OP_BINARY;
    size_t used = (size_t)snprintf(buffer, size, "%s",
                                   problem->op == BP_OP_UNARY    ? unary[p->kind]
                                   : problem->op == BP_OP_BINARY ? binary[p->kind]
                                                                 : "");
    used += used < size ? describe_numbers(problem, buffer + used, size - used) : 0;
    if (used < size) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", named ? " " : "",
                                 bp_dtype_name((bp_dtype)problem->dtype));
    }
    if (p->type[output] != problem->dtype && used < size) {
        used += (size_t)snprintf(buffer + used, size - used, " to %s", bp_dtype_name((bp_dtype)p->type[output]));
    }
    for (int d = 0; d < p->ndim && used < size; d++) {
        used += (size_t)snprintf(buffer + used, size - used, "%s%" PRId64, d ? "x" : " ", p->size[d]);
    }
    if (p->ndim == 0 && used < size) {
        used += (size_t)snprintf(buffer + used, size - used, " 1 element");
    }
    if (takes && used < size) {
        snprintf(buffer + used, size - used, ", indices %s below %" PRId64, bp_dtype_name((bp_dtype)p->type[1]),
                 p->axis_size);
    }
}

/* A function of single elements may overwrite an input of the output's type and layout. */
static bp__sharing sharing(const bp_problem *problem, int input) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const int output = bp__input_count((bp_op)problem->op);
    bool same = problem->op != BP_OP_TAKE && problem->op != BP_OP_GATHER && p->type[input] == p->type[output];
    for (int d = 0; d < p->ndim && same; d++) {
        same = p->size[d] <= 1 || p->stride[input][d] == p->stride[output][d];
    }
    return same ? BP__MAY_SHARE : BP__APART;
}

const bp__family bp__family_elementwise = {
    .size = sizeof(bp_elementwise_problem),
    .preference = BP_SET_elementwise_preferred,
    .preferred = &(const bp__preference){"functions of single elements are", "functions of single elements", 0},
    .enabled = BP_SET_elementwise_enabled,
    .precision = BP__NO_SETTING,
    .benchmark = BP_SET_elementwise_benchmark,
    .make = bp__elementwise_make,
    .describe = describe,
    .elements = bp__elementwise_elements,
    .sharing = sharing,
    .measuring = &bp__measuring_elementwise,
};
