/* calls.h - describes the calls of all operations, and runs any of them. It is for programs that do not know at
 * compile time which operation they run: bindings of other languages, commands, recorders. The functions of an
 * operation, such as bp_pool_run(), do the same for one of them.
 *
 * A call has fields: the members of its struct. The functions of some operations take arguments, such as
 * bp_unary_run(); then the members are these arguments, and the struct has no name: only its description tells where
 * they are. Parameters are numbers; a tensor is an input, an output, or either, which the pass decides. A pass is what
 * a call computes, such as a gradient; it has operands, in the same order as the operands of a plan. Example, the
 * forward pass of bp_pool_call:
 *
 *     const bp_call *call = bp_call_named("pool");
 *     bp_pool_call arguments = {.struct_size = sizeof arguments, .kind = BP_POOL_MAX, .ndim = 2, ...};
 *     bp_status status = bp_call_run(NULL, call, &arguments);
 *
 * A program that has names and values writes each value into a zeroed block of bp_call_info.size bytes, at the offset
 * of the field, and the size into the first member (size_t).
 *
 * Descriptions have static storage, and members are added at their ends only. All functions are thread-safe.
 */
#ifndef BACKPLANE_CALLS_H
#define BACKPLANE_CALLS_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The calls that take a struct: <name> of bp_<name>_call, bp_<name>_run(), bp_<name>_plan() and bp_<name>_explain().
 * Each family with STRUCT in BP_FAMILY_MAP has one, and linear is one more. bp_call_at() has all calls. */
#define BP_CALL_MAP(X) X(linear) BP_FAMILY_MAP(BP__CALL_OF_FAMILY, X)
#define BP__CALL_OF_FAMILY(X, family, calls, ...) BP__CALL_OF_##calls(X, family)
#define BP__CALL_OF_STRUCT(X, family) X(family)
#define BP__CALL_OF_ARGUMENTS(X, family)

typedef struct bp_call bp_call;

typedef struct bp_call_info {
    const char *name; /* "pool", as in bp_pool_run() */
    const char *text; /* what it computes: a sentence */
    size_t size;      /* of the struct */
    int field_count, pass_count;
    int in_place;  /* so many of the first inputs may be the output: equal address, type, shape and strides */
    int unplanned; /* 1: it has no plan (BP_E_UNSUPPORTED), and of these only matrix_power has an explanation */
} bp_call_info;

typedef enum bp_field_kind {
    BP_FIELD_INT,       /* an int, or an enumeration: from 0 to `most` */
    BP_FIELD_FLAG,      /* an int: 0, or not 0 */
    BP_FIELD_NUMBER,    /* an int64_t, or for `seed` and `offset` a uint64_t */
    BP_FIELD_REAL,      /* a double */
    BP_FIELD_SIZES,     /* a pointer to as many int64_t as the field `ndim` or `axis_count` says, or NULL */
    BP_FIELD_TENSOR,    /* a pointer to a DLTensor, or NULL */
    BP_FIELD_SIGNED,    /* an int, which may be negative */
    BP_FIELD_AXES,      /* a pointer to as many int as the field `axis_count` says, or NULL; negative: from the end */
    BP_FIELD_TENSORS,   /* a pointer to as many pointers to a DLTensor as the field `count` says */
    BP_FIELD_TOLERANCE, /* a pointer to a double, or NULL: the call's own choice */
    BP_FIELD_FACTOR,    /* a pointer to a bp_scalar, or NULL: `usual` */
    BP_FIELD_TEXT       /* a string */
} bp_field_kind;

typedef struct bp_call_field {
    const char *name; /* of the member */
    size_t offset;    /* in the struct */
    bp_field_kind kind;
    int most;          /* INT: the largest value */
    const char *words; /* INT: the names of the values from 0 on, with commas, an empty one for a value that the call
                        * does not take; NULL: it is a number */
    double usual;      /* of a number: the value where a user gives none, as PyTorch has it; mostly 0 */
    const char *text;  /* what it is: a part of a sentence */
    const char *pass;  /* the name of the only pass that takes it; NULL: the text says which do */
} bp_call_field;

typedef struct bp_call_pass {
    const char *name;               /* "FORWARD", ... */
    bp_op op;                       /* 0: it has no operation of providers, such as fftshift */
    int operand_count, input_count; /* the inputs are first */
} bp_call_pass;

/* A field of the kind TENSORS is one operand of a pass, and as many operands of a plan as it has tensors. */
typedef struct bp_call_operand {
    const char *name; /* of the field */
    size_t offset;    /* of the field */
    int output;       /* 1: it is written */
    int required;     /* 1: it must not be NULL */
} bp_call_operand;

/* Return the call at an index, from 0 on, or with a name; NULL if there is none. */
BP_API const bp_call *bp_call_at(int index);
BP_API const bp_call *bp_call_named(const char *name);

BP_API const bp_call_info *bp_call_get_info(const bp_call *call); /* NULL for NULL */

/* Return a part of a description; NULL past the end. */
BP_API const bp_call_field *bp_call_field_at(const bp_call *call, int index);
BP_API const bp_call_pass *bp_call_pass_at(const bp_call *call, int index);
BP_API const bp_call_operand *bp_call_operand_at(const bp_call_pass *pass, int index);

/* Returns the pass that the arguments choose; NULL if a field that decides it has no value of its enumeration. */
BP_API const bp_call_pass *bp_call_get_pass(const bp_call *call, const void *arguments);

/* Run, plan or explain a call, as the functions of the operation do: bp_pool_run() for a bp_pool_call. *plan and
 * *explanation are NULL if there is an error. Errors: as for the operation, and BP_E_ARGUMENT (call or arguments are
 * NULL). */
BP_API bp_status bp_call_run(const bp_options *options, const bp_call *call, const void *arguments);
BP_API bp_status bp_call_plan(bp_plan **plan, const bp_options *options, const bp_call *call, const void *arguments);
BP_API bp_status bp_call_explain(bp_explanation **explanation, const bp_options *options, const bp_call *call,
                                 const void *arguments);

/* Returns the element type and shape of an operand that the pass writes, from those that it reads; the operand itself
 * may be NULL in the arguments. `operand` is its index in the pass. `shape` is an array of BP_MAX_NDIM elements.
 * Statistics and gradients of parameters of norms have the type of the parameters that are given, and without any F32
 * for inputs of F16 and BF16.
 *
 * Errors: as for the operation, and BP_E_ARGUMENT (NULL; no output of the pass), BP_E_UNSUPPORTED (the shape does not
 * follow from other tensors: `input_gradient` of pool and conv, `weight_gradient` of conv, `output` of random and
 * fftfreq). */
BP_API bp_status bp_call_shape(const bp_call *call, const void *arguments, int operand, bp_dtype *dtype, int *ndim,
                               int64_t *shape);

#ifdef __cplusplus
}
#endif

#endif
