/* table.c - makes the table of linear algebra, and the descriptions of its calls, from the lists of call.h. */
#include "ops/linalg/call.h"

#include <string.h>

/* Modes: first, last, and the default's meaning. */
#define NO_MODE BP_MODE_DEFAULT, BP_MODE_DEFAULT, BP_MODE_DEFAULT
#define QR_MODE BP_QR_REDUCED, BP_QR_R, BP_QR_REDUCED
#define SVD_MODE BP_SVD_REDUCED, BP_SVD_FULL, BP_SVD_REDUCED
#define LSTSQ_MODE BP_LSTSQ_GELSY, BP_LSTSQ_GELSS, BP_LSTSQ_GELSY
#define COND_MODE BP_NORM_FRO, BP_NORM_P, BP_NORM_P
#define NORM_MODE BP_NORM_FRO, BP_NORM_P, BP_NORM_FRO
#define ORDER_MODE BP_NORM_P, BP_NORM_P, BP_NORM_P

/* What the lists of an operation become: nothing, one more, a bit, a rule, a field, an operand of the pass. */
#define NO_FLAG(flag)
#define NO_OPERAND(index, name, shape, type)
#define ONE(index, name, shape, type) +1
#define BIT(flag) | BP__TAKES_##flag
#define RULE_OF(dims, text, type, optional) {dims, type, optional},
#define RULE(index, name, shape, type) RULE_OF(shape, type, false)
#define OPTIONAL_RULE(index, name, shape, type) RULE_OF(shape, type, true)
#define FLAG_FIELD(flag) BP__FIELD_OF_##flag,
#define FIELD_OF(member, name, dims, text)                                                                             \
    {#name, offsetof(bp_linalg_call, member), BP_FIELD_TENSOR, 0, NULL, 0, text, NULL},
#define INPUT_FIELD(index, name, shape, type) FIELD_OF(input[index], name, shape)
#define OUTPUT_FIELD(index, name, shape, type) FIELD_OF(output[index], name, shape)
#define OPERAND(member, name, written, required)                                                                       \
    {{#name, offsetof(bp_linalg_call, member), written, required}, 0, false},
#define INPUT(index, name, shape, type) OPERAND(input[index], name, false, true)
#define OUTPUT(index, name, shape, type) OPERAND(output[index], name, true, true)
#define OPTIONAL_OUTPUT(index, name, shape, type) OPERAND(output[index], name, true, false)

#define INPUTS(NAME) (0 BP__OF_##NAME(NO_FLAG, ONE, NO_OPERAND, NO_OPERAND, NO_OPERAND))
#define COUNT(NAME) (0 BP__OF_##NAME(NO_FLAG, ONE, ONE, ONE, ONE))

/* ---- Descriptions ---- */

/* Returns the call with the description's operation; NULL with an error if it has another one. */
static const bp_linalg_call *read_call(bp_linalg_call *own, const bp_call *described, const void *given) {
    *own = *(const bp_linalg_call *)given;
    if (own->op != 0 && own->op != described->op) {
        bp__fail(BP_E_ARGUMENT, "op is %d ('%s'); it must be 0 or %d for %s", (int)own->op, bp_op_name(own->op),
                 (int)described->op, described->info.name);
        return NULL;
    }
    own->op = described->op;
    return own;
}

static bp_status run_call(const bp_call *described, const bp_options *options, const void *given) {
    bp_linalg_call own;
    const bp_linalg_call *call = read_call(&own, described, given);
    return call ? bp_linalg_run(options, call) : BP_E_ARGUMENT;
}

static bp_status plan_call(const bp_call *described, bp_plan **plan, const bp_options *options, const void *given) {
    bp_linalg_call own;
    const bp_linalg_call *call = read_call(&own, described, given);
    return call ? bp_linalg_plan(plan, options, call) : BP_E_ARGUMENT;
}

static bp_status explain_call(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                              const void *given) {
    bp_linalg_call own;
    const bp_linalg_call *call = read_call(&own, described, given);
    return call ? bp_linalg_explain(explanation, options, call) : BP_E_ARGUMENT;
}

static const bp__call_functions functions = {run_call, plan_call, explain_call};

static bp_status result_shape(const void *given, bp__call_result *result) {
    bp_linalg_call own;
    const bp_linalg_call *call = read_call(&own, result->described, given);
    const int index = result->operand - result->pass->info.input_count;
    return call ? bp_linalg_shape(call, index, &result->dtype, &result->ndim, result->shape) : BP_E_ARGUMENT;
}

#define DESCRIBED(name, NAME, modes, sentence)                                                                         \
    static const bp_call_field name##_fields[] = {                                                                     \
        BP__OF_##NAME(FLAG_FIELD, INPUT_FIELD, OUTPUT_FIELD, OUTPUT_FIELD, OUTPUT_FIELD)};                             \
    static const bp__pass name##_passes[] = {                                                                          \
        {{"FORWARD", BP_OP_##NAME, COUNT(NAME), INPUTS(NAME)},                                                         \
         {BP__OF_##NAME(NO_FLAG, INPUT, OUTPUT, OPTIONAL_OUTPUT, OPTIONAL_OUTPUT)}}};                                  \
    const bp_call bp__##name##_call = {                                                                                \
        .info = {#name, sentence, sizeof(bp_linalg_call), BP__COUNT(name##_fields), 1, 0, false},                      \
        .op = BP_OP_##NAME,                                                                                            \
        .ndim_offset = -1,                                                                                             \
        .fields = name##_fields,                                                                                       \
        .family = &bp__family_linalg,                                                                                  \
        .passes = name##_passes,                                                                                       \
        .shape = result_shape,                                                                                         \
        .functions = &functions,                                                                                       \
    };
BP__LINALG_MAP(DESCRIBED)

/* ---- The table ---- */

#define ENTRY(name, NAME, modes, sentence)                                                                             \
    {BP_OP_##NAME,                                                                                                     \
     INPUTS(NAME),                                                                                                     \
     COUNT(NAME),                                                                                                      \
     0 BP__OF_##NAME(BIT, NO_OPERAND, NO_OPERAND, NO_OPERAND, NO_OPERAND),                                             \
     modes,                                                                                                            \
     &bp__##name##_call,                                                                                               \
     {BP__OF_##NAME(NO_FLAG, RULE, RULE, RULE, OPTIONAL_RULE)}},
const bp__linalg_entry bp__linalg_entries[] = {BP__LINALG_MAP(ENTRY)};

_Static_assert(sizeof bp__linalg_entries / sizeof bp__linalg_entries[0] ==
                   BP__LDL_ROW + BP_OP_LDL_SOLVE - BP_OP_LDL_FACTOR + 1,
               "a row for each operation, in order");

const char *bp__linalg_operand_name(const bp__linalg_entry *entry, int index) {
    return entry->described->passes->operand[index].info.name;
}

const char *bp__linalg_dims(const bp__linalg_facts *facts, int index, char letters[3]) {
    const char *dims = facts->entry->operand[index].dims;
    bp__copy_text(letters, 3, dims); /* deep in the stack of a first call: not with snprintf() */
    if (dims[0] == '\0' || dims[1] != 'r') {
        return letters;
    }
    if (facts->vector) {
        letters[1] = '\0';
    } else if (facts->call->right) {
        letters[0] = dims[1];
        letters[1] = dims[0];
    }
    return letters;
}

int64_t bp__linalg_size(const bp__linalg_facts *facts, char letter) {
    switch (letter) {
    case 'm':
        return facts->m;
    case 'n':
        return facts->n;
    case 'k':
        return facts->k;
    case 'p':
        return facts->p;
    case 'q':
        return facts->q;
    default:
        return facts->r;
    }
}

static bp_dtype type_of(bp_dtype dtype, char type) {
    bool wide = dtype == BP_F64 || dtype == BP_C128;
    switch (type) {
    case 'r':
        return wide ? BP_F64 : BP_F32;
    case 'c':
        return wide ? BP_C128 : BP_C64;
    case 'i':
        return BP_I32;
    case 'l':
        return BP_I64;
    default:
        return dtype;
    }
}

void bp__linalg_output(const bp__linalg_facts *facts, int index, bp_dtype *dtype, int *ndim, int64_t *shape) {
    char letters[3];
    bp__linalg_dims(facts, index, letters);
    *dtype = type_of(facts->dtype, facts->entry->operand[index].type);
    *ndim = facts->batch_ndim;
    memcpy(shape, facts->batch, (size_t)facts->batch_ndim * sizeof shape[0]);
    for (const char *letter = letters; *letter; letter++) {
        shape[(*ndim)++] = bp__linalg_size(facts, *letter);
    }
}
