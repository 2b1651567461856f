/* call.h - makes run, plan, explain, shape and the key of the thread cache from the description of a family's call.
 *
 * A family describes its calls once, in src/ops/<family>/call.h: the fields of the struct, and for each pass the
 * tensors in the order of the operation's operands. Functions that take arguments fill a struct which only the
 * description knows. The functions here do what is the same in all families; the family itself checks values and
 * shapes, and fills the problem. */
#ifndef BP_OPS_CALL_H
#define BP_OPS_CALL_H

#include "backplane/calls.h"
#include "dispatch/internal.h"
#include "tensor/internal.h"

#include <string.h>

/* The rows of src/ops/<family>/call.h, which defines BP__CALL as the type of the call for them. */
#define BP__FIELD(kind, field, most, words, usual, text)                                                               \
    { #field, offsetof(BP__CALL, field), BP_FIELD_##kind, most, words, usual, text, NULL }
#define BP__WORD(field, most, words, text) BP__FIELD(INT, field, most, words, 0, text)
#define BP__COUNT_UP_TO(field, most, text) BP__FIELD(INT, field, most, NULL, 0, text)
#define BP__FLAG(field, text) BP__FIELD(FLAG, field, 0, NULL, 0, text)
#define BP__NUMBER(field, usual, text) BP__FIELD(NUMBER, field, 0, NULL, usual, text)
#define BP__REAL(field, usual, text) BP__FIELD(REAL, field, 0, NULL, usual, text)
#define BP__REAL_OF(pass, field, usual, text)                                                                          \
    { #field, offsetof(BP__CALL, field), BP_FIELD_REAL, 0, NULL, usual, text, pass }
#define BP__SIZES(field, text) BP__FIELD(SIZES, field, 0, NULL, 0, text)
#define BP__TENSOR(field, text) BP__FIELD(TENSOR, field, 0, NULL, 0, text)
#define BP__SIGNED(field, usual, text) BP__FIELD(SIGNED, field, 0, NULL, usual, text)
#define BP__AXES(field, text) BP__FIELD(AXES, field, 0, NULL, 0, text)
#define BP__TENSORS(field, text) BP__FIELD(TENSORS, field, 0, NULL, 0, text)
#define BP__FACTOR(field, usual, text) BP__FIELD(FACTOR, field, 0, NULL, usual, text)
#define BP__TEXT(field, text) BP__FIELD(TEXT, field, 0, NULL, 0, text)
#define BP__TOLERANCE(field, text) BP__FIELD(TOLERANCE, field, 0, NULL, 0, text)

/* The words of an enumeration that has a list, such as BP_UNARY_MAP. */
#define BP__WORD_AFTER(number, name, text) "," text
#define BP__WORDS(map) &("" map(BP__WORD_AFTER))[1]

/* The names of element types: the number 0, for none, has no name. */
#define BP__DTYPE_AFTER(number, name, text, code, bits) "," text
#define BP__DTYPES "" BP_DTYPE_MAP(BP__DTYPE_AFTER)

/* A tensor of a pass. */
typedef struct bp__call_operand {
    bp_call_operand info;
    int shape;    /* the family's number for its shape, or BP__LIST */
    bool updated; /* an output that may be read, too */
} bp__call_operand;
#define BP__LIST (-1) /* a field of the kind TENSORS */

#define BP__OPERAND(field, output, required, shape)                                                                    \
    { {#field, offsetof(BP__CALL, field), output, required}, shape, false }
#define BP__IN(field, required, shape) BP__OPERAND(field, false, required, shape)
#define BP__OUT(field, required, shape) BP__OPERAND(field, true, required, shape)
#define BP__UPDATED(field, required, shape)                                                                            \
    { {#field, offsetof(BP__CALL, field), true, required}, shape, true }
#define BP__IN_LIST(field)                                                                                             \
    { {#field, offsetof(BP__CALL, field), false, true}, BP__LIST, false }

typedef struct bp__pass {
    bp_call_pass info; /* the name is in messages; operands as in BP_OP_MAP */
    bp__call_operand operand[BP__MOST_OPERANDS];
} bp__pass;

/* An operand whose type and shape are asked. */
typedef struct bp__call_result {
    const bp_call *described;
    const bp__pass *pass;
    int operand;
    bp_dtype dtype;
    int ndim;
    int64_t shape[BP_MAX_NDIM];
} bp__call_result;

/* The description of a call. */
struct bp_call {
    bp_call_info info; /* the name is in messages too */
    bp_op op;          /* in keys */
    int ndim_offset;   /* of the field that counts the elements of sizes and axes; -1: there are none */
    int ndim_least, ndim_most;
    bool whole_sizes;    /* sizes may have any values, so that each is a parameter of the key */
    bool sparse_numbers; /* most calls have numbers and reals of 0, which are no parameters of the key */
    bool pointwise;      /* an element of the only output follows from the elements at its place, after broadcasting */
    bool images;         /* its tensors of three dimensions and more are images, whose channels may be last in memory */
    bool moves;          /* its result has elements of its operands, in any order of dimensions in memory */
    int joins_axis; /* offset of the axis along which a list's tensors follow each other in the result; 0: they don't */
    int count_offset; /* of the field that counts the tensors of a list; 0: there is none */
    const bp_call_field *fields;
    const bp__family *family; /* its request is a bp__call_request */
    const bp__pass *passes;   /* NULL: of several operations, one each; `op` is 0 then */
    /* Returns the pass, one of `passes`; NULL if a field that decides it has no value of its enumeration. The function
     * is NULL if there is one pass. */
    const bp__pass *(*pass)(const void *call);
    /* Runs a call that no algorithm can run, and sets *done; does nothing for other calls. NULL: there are none. */
    bp_status (*run_without_plan)(const void *call, bool *done);
    /* Writes the type and shape of a written operand, other than a gradient whose tensor is given. */
    bp_status (*shape)(const void *call, bp__call_result *result);
    /* Of a call that is made into one of another operation, or has operands that are no tensors; NULL: as described. */
    const struct bp__call_functions *functions;
};

typedef struct bp__call_functions {
    bp_status (*run)(const bp_call *described, const bp_options *options, const void *call);
    bp_status (*plan)(const bp_call *described, bp_plan **plan, const bp_options *options, const void *call);
    bp_status (*explain)(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                         const void *call);
} bp__call_functions;

/* The calls whose functions take arguments. */
/* clang-format off */
#define BP__ARGUMENT_CALL_MAP(X) \
    X(binary) X(cholesky) X(cholesky_inverse) X(cholesky_solve) X(concat) X(cond) X(det) X(eig) X(eigh) \
    X(einsum) X(fft) X(fftfreq) X(fftshift) X(flip) X(gather) X(gemm) X(ifftshift) X(inv) X(ldl_factor) X(ldl_solve) \
    X(lstsq) X(lu) X(lu_factor) X(lu_solve) X(matmul) X(matrix_norm) X(matrix_power) X(matrix_rank) \
    X(multi_dot) X(pad) X(pinv) X(qr) X(reduce) X(rfftfreq) X(roll) X(slogdet) X(softmax) X(softmax_backward) X(solve) \
    X(solve_triangular) X(svd) X(take) X(unary) X(variance) X(vecdot) X(vector_norm) X(where)
/* clang-format on */

/* The description of each call. */
#define BP__ENTRY(name) extern const bp_call bp__##name##_call;
BP_CALL_MAP(BP__ENTRY)
BP__ARGUMENT_CALL_MAP(BP__ENTRY)
#undef BP__ENTRY

/* The arguments of a call, for bp__family.make. */
typedef struct bp__call_request {
    const void *call;
    bool data_optional;
    const bp_call *described; /* NULL in a family with one call */
    bool ignores_item_errors; /* of linear algebra */
} bp__call_request;

/* Memory for the arguments of any call. */
typedef union bp__call_arguments {
    size_t struct_size;
    char bytes[512];
} bp__call_arguments;

/* Returns the tensor at the address of a field. The field points to a DLTensor that may be written, or to a constant
 * one: these pointers have one representation, but two types. */
static inline const DLTensor *bp__call_tensor_at(const void *field) {
    const DLTensor *tensor;
    memcpy(&tensor, field, sizeof tensor);
    return tensor;
}

static inline const DLTensor *bp__call_tensor(const void *call, const bp__call_operand *operand) {
    return bp__call_tensor_at((const char *)call + operand->info.offset);
}

static inline const DLTensor *bp__call_field_tensor(const void *call, const bp_call_field *field) {
    return bp__call_tensor_at((const char *)call + field->offset);
}

/* Returns the pass of a call; NULL if it has none. */
static inline const bp__pass *bp__call_pass(const bp_call *described, const void *call) {
    return described->pass ? described->pass(call) : described->passes;
}

/* Returns whether one of the first operands of a pass is the field at an offset. */
bool bp__pass_has(const bp__pass *pass, size_t offset, int count);

/* Refuses tensors that the pass does not have. */
bp_status bp__call_check_surplus(const bp_call *described, const bp__pass *pass, const void *call);

/* Checks that each written tensor of the pass overlaps neither itself nor a tensor before it, except that it may be an
 * input which the pass can run in place. */
bp_status bp__call_check_overlap(const bp_call *described, const bp__pass *pass, const void *call);

/* Returns whether both tensors have one type, and an element of each index at one address. */
bool bp__call_same_places(const DLTensor *a, const DLTensor *b);

/* Writes the shape of the first output of a call, whose pass must exist, for functions such as bp_binary_shape(). */
bp_status bp__call_output_shape(const bp_call *described, const void *call, int *ndim, int64_t *shape);

/* Make a plan or an explanation of a call. */
bp_status bp__call_plan_described(const bp_call *described, bp_plan **plan, const bp_options *options,
                                  const void *call);
bp_status bp__call_explain_described(const bp_call *described, bp_explanation **explanation, const bp_options *options,
                                     const void *call);

/* Returns the tensor that an operand is the gradient by, if it is in the arguments: `input` for input_gradient. */
const DLTensor *bp__call_tensor_of_gradient(const bp_call *described, const void *call, const bp_call_operand *operand);

/* Fails because the shape of a result does not follow from other tensors. */
bp_status bp__call_fail_unknown_shape(const bp__call_result *result);

/* Returns the type of the weights and statistics of a norm: the type of the first one which is given, otherwise f32 for
 * shorter inputs. */
bp_dtype bp__call_parameter_type(bp_dtype input, const DLTensor *const *parameters, int count);

/* Takes the slow path of a call, which bp__call_describe() described: checks everything, and gets a plan. */
bp_status bp__call_run_unknown(const bp_call *described, bp__operation *operation, const void *call);

/* ---- The key: inlined where the description is a constant, so that the loops have no branches of other kinds ---- */

#define BP__PASS_BITS 3
#define BP__INLINE static inline __attribute__((always_inline))

/* Adds the elements of an array to a word. Returns the bits that do not fit. */
BP__INLINE uint64_t bp__call_add_sizes(uint64_t *word, const int64_t *values, int ndim, int most) {
    const int bits = 64 / most;
    uint64_t all = 0;
    *word = 0;
    for (int d = 0; d < ndim; d++) {
        all |= (uint64_t)values[d];
        *word |= (uint64_t)values[d] << (d * bits);
    }
    return most == 1 ? 0 : all >> bits;
}

/* Adds a parameter for each element of an array. Returns false if they are too many, or if `ndim` is negative. */
BP__INLINE bool bp__call_add_each(bp__operation *o, int *count, bp_field_kind kind, const void *values, int ndim) {
    if ((unsigned)ndim > (unsigned)(BP__PARAMETERS - *count)) {
        return false;
    }
    for (int d = 0; d < ndim; d++) {
        o->parameters[(*count)++] =
            kind == BP_FIELD_AXES ? (uint64_t)(int64_t)((const int *)values)[d] : ((const uint64_t *)values)[d];
    }
    return true;
}

/* Writes tag and parameters, and counts the tensors. Returns false if a field does not fit the key. */
BP__INLINE bool bp__call_describe_fields(const bp_call *s, bp__operation *o, const void *call, int *given) {
    uint64_t flags = 0, surplus = 0;
    int bit = 0, count = 0;
    const char *at = call;
    const int ndim = s->ndim_offset >= 0 ? *(const int *)(const void *)(at + s->ndim_offset) : 0;
    if (s->ndim_offset >= 0 && (ndim < s->ndim_least || ndim > s->ndim_most)) {
        return false;
    }
#pragma GCC unroll 40
    for (int i = 0; i < s->info.field_count; i++) {
        const void *field = at + s->fields[i].offset;
        switch (s->fields[i].kind) {
        case BP_FIELD_INT:
            surplus |= *(const unsigned *)field > (unsigned)s->fields[i].most;
            flags |= (uint64_t)(*(const unsigned *)field) << bit;
            bit += 32 - __builtin_clz((unsigned)s->fields[i].most);
            break;
        case BP_FIELD_FLAG:
            flags |= (uint64_t)(*(const int *)field != 0) << bit++;
            break;
        case BP_FIELD_SIGNED:
            if (s->fields[i].offset == (size_t)s->ndim_offset) {
                flags |= (uint64_t)(ndim - s->ndim_least) << bit;
                bit += 32 - __builtin_clz((unsigned)(s->ndim_most - s->ndim_least));
            } else {
                o->parameters[count++] = (uint64_t)(int64_t)(*(const int *)field);
            }
            break;
        case BP_FIELD_TOLERANCE: {
            const double *value = *(const double *const *)field;
            flags |= (uint64_t)(value != NULL) << bit++;
            if (value) {
                memcpy(&o->parameters[count++], value, sizeof(uint64_t));
            }
            break;
        }
        case BP_FIELD_SIZES:
        case BP_FIELD_AXES: {
            const void *values = *(const void *const *)field;
            flags |= (uint64_t)(values != NULL) << bit++;
            if (values && (s->fields[i].kind == BP_FIELD_AXES || s->whole_sizes)) {
                if (!bp__call_add_each(o, &count, s->fields[i].kind, values, ndim)) {
                    return false;
                }
            } else if (values) {
                surplus |= bp__call_add_sizes(&o->parameters[count++], values, ndim, s->ndim_most);
            }
            break;
        }
        case BP_FIELD_TENSOR:
            *given += bp__call_tensor_at(field) != NULL;
            break;
        default: { /* numbers of 64 bits */
            uint64_t bits;
            memcpy(&bits, field, sizeof bits);
            flags |= s->sparse_numbers ? (uint64_t)(bits != 0) << bit++ : 0;
            if (bits != 0 || !s->sparse_numbers) {
                o->parameters[count++] = bits;
            }
        }
        }
    }
    o->tag |= bp__tag(s->op, flags << (s->passes ? BP__PASS_BITS : 0));
    o->parameter_count = count;
    return surplus == 0;
}

/* Finds the inputs that are the output, so that they may overlap it. The addresses are in no key, so these inputs are
 * in the tag, above the bits of all fields. */
#define BP__IN_PLACE_BITS 3
BP__INLINE void bp__call_describe_in_place(bp__operation *o, int in_place) {
    const DLTensor *output = o->tensors[o->count - 1];
    for (int i = 0; i < in_place; i++) {
        const DLTensor *input = o->tensors[i];
        const bool same = input && output && input->data && bp__tensor_same_start(input, output);
        o->in_place |= (uint8_t)(same << i);
    }
    o->tag |= bp__tag(0, (uint64_t)o->in_place << (BP__TAG_BITS - BP__IN_PLACE_BITS));
}

/* Describes the call for the cache of this thread. Calls that will be refused get no key, nor do those with unusually
 * large parameters. Returns false if the call has no pass, and so no operands. */
BP__INLINE bool bp__call_describe(const bp_call *s, bp__operation *o, const void *call) {
    const bp__pass *pass = bp__call_pass(s, call);
    int given = 0, own = 0;
    o->key.count = 0;
    if (!pass) {
        return false;
    }
    /* Passes differ in what a tensor at one position is. */
    o->tag = s->passes ? bp__tag(0, (uint64_t)(pass - s->passes)) : bp__tag(pass->info.op, 0);
    o->count = pass->info.operand_count;
    o->inputs = pass->info.input_count;
    o->in_place = 0;
    for (int i = 0; i < pass->info.operand_count; i++) {
        o->tensors[i] = bp__call_tensor(call, &pass->operand[i]);
        own += o->tensors[i] != NULL;
    }
    if (s->info.in_place != 0) {
        bp__call_describe_in_place(o, s->info.in_place);
    }
    if (!bp__call_describe_fields(s, o, call, &given) || own != given) {
        o->parameter_count = BP__PARAMETERS_LONG;
    }
    return true;
}

/* Runs a call under the settings of the calling thread. */
BP__INLINE bp_status bp__call_run_plain(const bp_call *described, const void *call) {
    bp__operation operation;
    const bp_plan *plan = bp__call_describe(described, &operation, call) ? bp__operation_find(&operation) : NULL;
    if (BP__LIKELY(plan != NULL)) {
        return bp__operation_run(&operation, plan);
    }
    return bp__call_run_unknown(described, &operation, call);
}

BP__INLINE bp_status bp__call_run_described(const bp_call *described, const bp_options *options, const void *call) {
    bp__call_scope scope;
    bp__call_enter(&scope, options);
    const bp_status status = bp__call_run_plain(described, call);
    bp__call_leave(&scope);
    return status;
}

/* Defines bp_<name>_run(). */
#define BP__DEFINE_RUN(name, type)                                                                                     \
    bp_status bp_##name##_run(const bp_options *options, const type *call) {                                           \
        type own;                                                                                                      \
        call = bp__struct_read(&own, sizeof own, call, "call");                                                        \
        return call ? bp__call_run_described(&bp__##name##_call, options, call) : BP_E_ARGUMENT;                       \
    }

/* Defines run, plan and explain of a call whose functions take arguments: their parameters in parentheses, but the last
 * one, which is the output that only run() writes; and then the values of the struct's members after its size. */
#define BP__EACH(...) __VA_ARGS__
#define BP__DEFINE_OF_ARGUMENTS(name, type, parameters, written, ...)                                                  \
    bp_status bp_##name##_run(const bp_options *options, BP__EACH parameters, DLTensor *written) {                     \
        const type call = {sizeof call, __VA_ARGS__};                                                                  \
        return bp__call_run_described(&bp__##name##_call, options, &call);                                             \
    }                                                                                                                  \
    bp_status bp_##name##_plan(bp_plan **plan, const bp_options *options, BP__EACH parameters,                         \
                               const DLTensor *written) {                                                              \
        const type call = {sizeof call, __VA_ARGS__};                                                                  \
        return bp__call_plan_described(&bp__##name##_call, plan, options, &call);                                      \
    }                                                                                                                  \
    bp_status bp_##name##_explain(bp_explanation **explanation, const bp_options *options, BP__EACH parameters,        \
                                  const DLTensor *written) {                                                           \
        const type call = {sizeof call, __VA_ARGS__};                                                                  \
        return bp__call_explain_described(&bp__##name##_call, explanation, options, &call);                            \
    }

/* Defines bp_<name>_plan() and bp_<name>_explain(), and bp__<name>_make() for the family, which reads the struct and
 * calls bp__<name>_problem(). */
#define BP__DEFINE_PLAN(name, type)                                                                                    \
    bp_status bp_##name##_plan(bp_plan **plan, const bp_options *options, const type *call) {                          \
        return bp__call_plan_described(&bp__##name##_call, plan, options, call);                                       \
    }                                                                                                                  \
    bp_status bp_##name##_explain(bp_explanation **explanation, const bp_options *options, const type *call) {         \
        return bp__call_explain_described(&bp__##name##_call, explanation, options, call);                             \
    }                                                                                                                  \
    bp_status bp__##name##_make(bp_problem *problem, const void *request) {                                            \
        const bp__call_request *r = request;                                                                           \
        type own;                                                                                                      \
        const type *call = bp__struct_read(&own, sizeof own, r->call, "call");                                         \
        return call ? bp__##name##_problem(problem, call, r->data_optional) : BP_E_ARGUMENT;                           \
    }

/* Defines bp__<name>_functions of a call whose functions are not made here. */
#define BP__DEFINE_FUNCTIONS(name)                                                                                     \
    static bp_status name##_run(const bp_call *described, const bp_options *options, const void *call) {               \
        (void)described;                                                                                               \
        return bp_##name##_run(options, call);                                                                         \
    }                                                                                                                  \
    static bp_status name##_plan(const bp_call *described, bp_plan **plan, const bp_options *options,                  \
                                 const void *call) {                                                                   \
        (void)described;                                                                                               \
        return bp_##name##_plan(plan, options, call);                                                                  \
    }                                                                                                                  \
    static bp_status name##_explain(const bp_call *described, bp_explanation **explanation, const bp_options *options, \
                                    const void *call) {                                                                \
        (void)described;                                                                                               \
        return bp_##name##_explain(explanation, options, call);                                                        \
    }                                                                                                                  \
    static const bp__call_functions bp__##name##_functions = {name##_run, name##_plan, name##_explain};

/* Defines bp_<name>_shape(), which reads the struct and calls bp__<name>_output(). */
#define BP__DEFINE_SHAPE(name, type)                                                                                   \
    bp_status bp_##name##_shape(const type *call, bp_dtype *dtype, int *ndim, int64_t *shape) {                        \
        type own;                                                                                                      \
        BP__TRY(bp__call_check_shape_arguments("bp_" #name "_shape", dtype, ndim, shape));                             \
        call = bp__struct_read(&own, sizeof own, call, "call");                                                        \
        return call ? bp__##name##_output(call, dtype, ndim, shape) : BP_E_ARGUMENT;                                   \
    }
bp_status bp__call_check_shape_arguments(const char *function, const bp_dtype *dtype, const int *ndim,
                                         const int64_t *shape);

#endif
