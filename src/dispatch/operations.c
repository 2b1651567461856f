/* operations.c - finds the family of an operation, and has the texts for reasons and properties.
 *
 * Explanations, verbose lines and the listing of the plan cache use these texts. */
#include "dispatch/internal.h"

#include "device/internal.h"

#include <stdio.h>
#include <string.h>

static const bp__family *const families[] = {
#define X(name) [BP__FAMILY_##name] = &bp__family_##name,
    BP__FAMILY_MAP(X)
#undef X
};

static const bp__family *const family_of_op[] = {
#define X(number, name, text, inputs, outputs, family) [number] = &bp__family_##family,
    BP_OP_MAP(X)
#undef X
};

/* A tag has one byte for the operation. */
_Static_assert(sizeof family_of_op / sizeof *family_of_op <= 256, "an operation's number does not fit a tag");

/* Problems are hashed and compared byte by byte, so the structs must not contain padding. */
_Static_assert(sizeof(bp_policy) == 6 * 8, "bytes between the fields of a policy");
_Static_assert(offsetof(bp_problem, of) == 4 * 4 + sizeof(bp_policy), "bytes between the fields");

const bp__family *bp__family_at(int index) {
    return families[index];
}

const bp__family *bp__family_of(const bp_problem *problem) {
    return family_of_op[problem->op];
}

const char *bp_op_preference(bp_op op) {
    const bp__family *family = (size_t)op < sizeof family_of_op / sizeof *family_of_op ? family_of_op[op] : NULL;
    const int setting = family ? family->preference : BP__NO_SETTING;
    return setting == BP__NO_SETTING ? NULL : bp_setting_at(setting)->name;
}

size_t bp__problem_size(const bp_problem *problem) {
    return offsetof(bp_problem, of) + bp__family_of(problem)->size;
}

void bp__problem_text(const bp_problem *problem, char *buffer, size_t size) {
    bp__family_of(problem)->describe(problem, buffer, size);
    const bp_device_info *device = problem->place != 0 ? bp__device_facts(problem->place) : NULL;
    const size_t used = strlen(buffer);
    if (device && used < size) {
        snprintf(buffer + used, size - used, " on %s", device->id);
    }
}

const char *bp__adapted(const bp_problem *problem) {
    const bp__adapter *adapter = bp__family_of(problem)->adapter;
    return adapter ? adapter->applies(problem) : NULL;
}

const char *bp_reason_name(bp_reason reason) {
    switch (reason) {
#define X(number, name, text)                                                                                          \
    case BP_REASON_##name:                                                                                             \
        return #name;
        BP_REASON_MAP(X)
#undef X
    }
    return "?";
}

const char *bp_reason_text(bp_reason reason) {
    switch (reason) {
#define X(number, name, text)                                                                                          \
    case BP_REASON_##name:                                                                                             \
        return text;
        BP_REASON_MAP(X)
#undef X
    }
    return "unknown reason";
}

static const struct {
    uint32_t property;
    const char *text;
} property_texts[] = {
    {BP_PROPERTY_ACCUMULATES_F32, "accumulates in f32"},
    {BP_PROPERTY_ACCUMULATES_F64, "accumulates in f64"},
    {BP_PROPERTY_THREAD_INVARIANT, "bitwise reproducible with any number of threads"},
    {BP_PROPERTY_REPRODUCIBLE, "bitwise reproducible with the same number of threads"},
    {BP_PROPERTY_ROW_INVARIANT, "bitwise equal in any row and column"},
    {BP_PROPERTY_ROUNDS_BELOW_TF32, "rounds inputs to a type shorter than TF32"},
    {BP_PROPERTY_INPUTS_TF32, "rounds inputs to TF32"},
    {BP_PROPERTY_LARGER_ERROR, "larger rounding errors"},
    {BP_PROPERTY_PROPAGATES_NAN, "propagates NaN"},
    {BP_PROPERTY_PACKS_A, "copies A first"},
    {BP_PROPERTY_PACKS_B, "copies B first"},
    {BP_PROPERTY_PACKS_C, "copies C"},
    {BP_PROPERTY_ITEM_BY_ITEM, "item by item"},
};

const char *bp_properties_text(uint32_t properties, char *buffer, size_t size) {
    size_t used = 0;
    if (!buffer || size == 0) {
        return "";
    }
    buffer[0] = '\0';
    if (properties & BP_PROPERTY_THREAD_INVARIANT) {
        properties &= ~BP_PROPERTY_REPRODUCIBLE; /* implied by the stronger guarantee */
    }
    for (int i = 0; i < BP__COUNT(property_texts); i++) {
        if (!(properties & property_texts[i].property)) {
            continue;
        }
        int n = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", property_texts[i].text);
        if (n < 0 || (size_t)n >= size - used) {
            break;
        }
        used += (size_t)n;
    }
    return buffer;
}
