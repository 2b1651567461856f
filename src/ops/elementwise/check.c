/* check.c - checks operations on single elements, and converts them to problems. */
#include "ops/elementwise/elementwise.h"

#include "ops/shape.h"
#include "tensor/internal.h"

#include <inttypes.h>
#include <string.h>

/* A call with what its description tells. */
typedef struct request {
    bp_op op;
    uint32_t kind;  /* UNARY, BINARY */
    bp_dtype dtype; /* UNARY: the type of the output, or BP_DTYPE_NONE */
    int axis;       /* TAKE, GATHER */
    int count;      /* operands; the last one is the output */
    const bp__pass *pass;
    const DLTensor *operand[BP_ELEMENTWISE_OPERANDS];
} request;

/* The dimensions of a problem before they are merged: the sizes of the output, and the strides of all operands. */
typedef struct frame {
    int ndim;
    int64_t size[BP_MAX_NDIM];
    int64_t stride[BP_ELEMENTWISE_OPERANDS][BP_MAX_NDIM];
} frame;

_Static_assert(BP_MAX_ELEMENTWISE_NDIM == BP_MAX_NDIM, "dimensions of a problem");

static request read_request(const bp__call_request *given) {
    const bp__pass *pass = given->described->passes;
    request r = {.op = pass->info.op, .count = pass->info.operand_count, .pass = pass};
    r.kind = r.op == BP_OP_UNARY    ? (uint32_t)((const bp__unary_arguments *)given->call)->kind
             : r.op == BP_OP_BINARY ? (uint32_t)((const bp__binary_arguments *)given->call)->kind
                                    : 0;
    r.dtype = r.op == BP_OP_UNARY ? ((const bp__unary_arguments *)given->call)->dtype : BP_DTYPE_NONE;
    r.axis = r.op == BP_OP_TAKE || r.op == BP_OP_GATHER ? ((const bp__indexed_arguments *)given->call)->axis : 0;
    for (int i = 0; i < r.count; i++) {
        r.operand[i] = bp__call_tensor(given->call, &pass->operand[i]);
    }
    return r;
}

static const char *name_of(const request *r, int operand) {
    return r->pass->operand[operand].info.name;
}

static bp_dtype dtype_of(const request *r, int operand) {
    return bp_dtype_from_dlpack(r->operand[operand]->dtype);
}

bp_status bp__elementwise_axis(const char *name, int axis, int ndim, int *from_first) {
    if (axis < -ndim || axis >= ndim) {
        return bp__fail(BP_E_ARGUMENT, "%s: axis is %d; it must be from %d to %d, for %d dimensions", name, axis, -ndim,
                        ndim - 1, ndim);
    }
    *from_first = axis < 0 ? axis + ndim : axis;
    return BP_OK;
}

/* ---- Types ---- */

static bool is_float(bp_dtype dtype) {
    return dtype >= BP_F16 && dtype <= BP_F64;
}

static bool converts(bp_dtype dtype) {
    return is_float(dtype) || dtype == BP_BOOL || dtype == BP_I8 || dtype == BP_U8 || dtype == BP_I32 ||
           dtype == BP_I64;
}

bp_dtype bp_unary_dtype(bp_unary_kind kind, bp_dtype dtype) {
    if ((unsigned)kind >= BP_UNARY_KINDS) {
        return BP_DTYPE_NONE;
    }
    return kind >= BP_UNARY_ISNAN && kind <= BP_UNARY_LOGICAL_NOT ? BP_BOOL : dtype;
}

bp_dtype bp_binary_dtype(bp_binary_kind kind, bp_dtype dtype) {
    if ((unsigned)kind >= BP_BINARY_KINDS) {
        return BP_DTYPE_NONE;
    }
    return kind >= BP_BINARY_EQUAL && kind <= BP_BINARY_LOGICAL_XOR ? BP_BOOL : dtype;
}

static const char *kind_name(const request *r) {
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
    return r->op == BP_OP_UNARY ? unary[r->kind] : r->op == BP_OP_BINARY ? binary[r->kind] : bp_op_name(r->op);
}

/* The types of the elements that functions take. */
enum { FLOATS = 1, INTEGERS = 2, BOOL = 4 };

static int types_of_one(uint32_t kind) {
    switch (kind) {
    case BP_UNARY_NEGATIVE:
    case BP_UNARY_ABS:
    case BP_UNARY_RELU:
    case BP_UNARY_FLOOR:
    case BP_UNARY_CEIL:
    case BP_UNARY_ROUND:
    case BP_UNARY_TRUNC:
    case BP_UNARY_SIGN:
        return FLOATS | INTEGERS;
    case BP_UNARY_LOGICAL_NOT:
        return FLOATS | INTEGERS | BOOL;
    case BP_UNARY_BITWISE_INVERT:
        return INTEGERS | BOOL;
    default:
        return FLOATS;
    }
}

static int types_of_two(uint32_t kind) {
    switch (kind) {
    case BP_BINARY_DIVIDE:
    case BP_BINARY_ATAN2:
        return FLOATS;
    case BP_BINARY_BITWISE_AND:
    case BP_BINARY_BITWISE_OR:
    case BP_BINARY_BITWISE_XOR:
        return INTEGERS | BOOL;
    case BP_BINARY_BITWISE_LEFT_SHIFT:
    case BP_BINARY_BITWISE_RIGHT_SHIFT:
        return INTEGERS;
    default:
        return bp_binary_dtype((bp_binary_kind)kind, BP_F32) == BP_BOOL ? FLOATS | INTEGERS | BOOL : FLOATS | INTEGERS;
    }
}

/* Refuses an element type that a function does not take. */
static bp_status check_function_type(const request *r, bp_dtype type) {
    static const char *const names[] = {
        [FLOATS] = "f16, bf16, f32 or f64",
        [INTEGERS] = "i32 or i64",
        [FLOATS | INTEGERS] = "f16, bf16, f32, f64, i32 or i64",
        [INTEGERS | BOOL] = "i32, i64 or bool",
        [FLOATS | INTEGERS | BOOL] = "f16, bf16, f32, f64, i32, i64 or bool",
    };
    const int types = r->op == BP_OP_UNARY ? types_of_one(r->kind) : types_of_two(r->kind);
    const int own = is_float(type) ? FLOATS : type == BP_I32 || type == BP_I64 ? INTEGERS : type == BP_BOOL ? BOOL : 0;
    if (own & types) {
        return BP_OK;
    }
    return bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be %s", kind_name(r), name_of(r, 0), bp_dtype_name(type),
                    names[types]);
}

/* The first operand of the type of the elements: of WHERE, a. */
static int first_of(const request *r) {
    return r->op == BP_OP_WHERE;
}

static bp_dtype result_type(const request *r) {
    const bp_dtype first = dtype_of(r, first_of(r));
    return r->op == BP_OP_UNARY    ? bp_unary_dtype((bp_unary_kind)r->kind, first)
           : r->op == BP_OP_BINARY ? bp_binary_dtype((bp_binary_kind)r->kind, first)
                                   : first;
}

static bp_status check_kind(const request *r) {
    if ((r->op == BP_OP_UNARY && r->kind >= BP_UNARY_KINDS) || (r->op == BP_OP_BINARY && r->kind >= BP_BINARY_KINDS)) {
        return bp__fail(BP_E_ARGUMENT, "kind %" PRIu32 " is no value of its enumeration", r->kind);
    }
    if ((unsigned)r->dtype > BP_BOOL) {
        return bp__fail(BP_E_ARGUMENT, "dtype %u is no value of its enumeration", (unsigned)r->dtype);
    }
    if (r->dtype != BP_DTYPE_NONE && r->kind != BP_UNARY_COPY) {
        return bp__fail(BP_E_ARGUMENT, "%s: dtype is %s; only copy takes it", kind_name(r), bp_dtype_name(r->dtype));
    }
    return BP_OK;
}

static bp_status check_copy_types(const request *r, bp_dtype to) {
    const bp_dtype from = dtype_of(r, 0);
    if (r->dtype != BP_DTYPE_NONE && r->dtype != to) {
        return bp__fail(BP_E_DTYPE, "copy: output is %s; dtype is %s", bp_dtype_name(to), bp_dtype_name(r->dtype));
    }
    if (from == to || (converts(from) && converts(to))) {
        return BP_OK;
    }
    return bp__fail(
        BP_E_DTYPE,
        "copy: input is %s and output is %s; bool, i8, u8, i32, i64, f16, bf16, f32 and f64 are converted to "
        "each other",
        bp_dtype_name(from), bp_dtype_name(to));
}

static bp_status check_types(const request *r) {
    const bp_dtype first = dtype_of(r, first_of(r));
    if (r->op == BP_OP_UNARY && r->kind == BP_UNARY_COPY) {
        return check_copy_types(r, dtype_of(r, 1));
    }
    const bool takes = r->op == BP_OP_TAKE || r->op == BP_OP_GATHER;
    if (takes && dtype_of(r, 1) != BP_I32 && dtype_of(r, 1) != BP_I64) {
        return bp__fail(BP_E_DTYPE, "%s: indices is %s; it must be i32 or i64", kind_name(r),
                        bp_dtype_name(dtype_of(r, 1)));
    }
    if (r->op == BP_OP_WHERE && dtype_of(r, 0) != BP_BOOL) {
        return bp__fail(BP_E_DTYPE, "where: condition is %s; it must be bool", bp_dtype_name(dtype_of(r, 0)));
    }
    if (!takes && r->op != BP_OP_WHERE) {
        BP__TRY(check_function_type(r, first));
    }
    for (int i = takes ? 2 : first_of(r) + 1; i < r->count - 1; i++) {
        if (dtype_of(r, i) != first) {
            return bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be %s, as %s is", kind_name(r), name_of(r, i),
                            bp_dtype_name(dtype_of(r, i)), bp_dtype_name(first), name_of(r, first_of(r)));
        }
    }
    const int output = r->count - 1;
    const bp_dtype result = result_type(r);
    if (dtype_of(r, output) != result) {
        return bp__fail(BP_E_DTYPE, "%s: %s is %s; it must be %s%s%s", kind_name(r), name_of(r, output),
                        bp_dtype_name(dtype_of(r, output)), bp_dtype_name(result),
                        result == first ? ", as " : ", the type of its results",
                        result == first ? name_of(r, first_of(r)) : "");
    }
    return BP_OK;
}

/* ---- Shapes ---- */

/* Adds a dimension to the frame. */
static bp_status add(const request *r, frame *f, int64_t size, int64_t first, int64_t second) {
    if (f->ndim == BP_MAX_NDIM) {
        return bp__fail(BP_E_SHAPE, "%s: the result has more than %d dimensions", kind_name(r), BP_MAX_NDIM);
    }
    f->size[f->ndim] = size;
    f->stride[0][f->ndim] = first;
    f->stride[1][f->ndim] = second;
    f->ndim++;
    return BP_OK;
}

static bp_status frame_unary(const request *r, frame *f) {
    const DLTensor *input = r->operand[0];
    int64_t strides[BP_MAX_NDIM];
    bp__tensor_strides(input, strides);
    for (int d = 0; d < input->ndim; d++) {
        BP__TRY(add(r, f, input->shape[d], strides[d], 0));
    }
    return BP_OK;
}

/* The size of an input in dimension d of a result of `ndim` dimensions. */
static int64_t size_at(const DLTensor *input, int d, int ndim) {
    return d < ndim - input->ndim ? 1 : input->shape[d - (ndim - input->ndim)];
}

/* Adds dimension d of a result to which all inputs are broadcast. */
static bp_status add_broadcast(const request *r, frame *f, int d, int ndim) {
    int from = 0; /* the input that has the size */
    char left[256], right[256];
    for (int i = 1; i < r->count - 1; i++) {
        const DLTensor *a = r->operand[from], *b = r->operand[i];
        const int64_t m = size_at(a, d, ndim), n = size_at(b, d, ndim);
        if (m != n && m != 1 && n != 1) {
            return bp__fail(BP_E_SHAPE, "%s: %s has shape %s and %s has shape %s, which cannot be broadcast together",
                            kind_name(r), name_of(r, from), bp__shape_text(a->ndim, a->shape, left, sizeof left),
                            name_of(r, i), bp__shape_text(b->ndim, b->shape, right, sizeof right));
        }
        from = m == 1 ? i : from;
    }
    return add(r, f, size_at(r->operand[from], d, ndim), 0, 0);
}

static bp_status frame_broadcast(const request *r, frame *f) {
    int64_t strides[BP_MAX_NDIM];
    int ndim = 0;
    for (int i = 0; i < r->count - 1; i++) {
        ndim = r->operand[i]->ndim > ndim ? r->operand[i]->ndim : ndim;
    }
    for (int d = 0; d < ndim; d++) {
        BP__TRY(add_broadcast(r, f, d, ndim));
    }
    for (int i = 0; i < r->count - 1; i++) {
        const int missing = ndim - r->operand[i]->ndim;
        bp__tensor_strides(r->operand[i], strides);
        for (int d = 0; d < ndim; d++) {
            f->stride[i][d] = size_at(r->operand[i], d, ndim) == 1 ? 0 : strides[d - missing];
        }
    }
    return BP_OK;
}

static bp_status frame_take(const request *r, frame *f, bp_elementwise_problem *p) {
    const DLTensor *input = r->operand[0], *indices = r->operand[1];
    int64_t of_input[BP_MAX_NDIM], of_indices[BP_MAX_NDIM];
    int axis = 0;
    BP__TRY(bp__elementwise_axis("take", r->axis, input->ndim, &axis));
    bp__tensor_strides(input, of_input);
    bp__tensor_strides(indices, of_indices);
    for (int d = 0; d < input->ndim; d++) {
        for (int i = 0; d == axis && i < indices->ndim; i++) {
            BP__TRY(add(r, f, indices->shape[i], 0, of_indices[i]));
        }
        if (d != axis) {
            BP__TRY(add(r, f, input->shape[d], of_input[d], 0));
        }
    }
    p->first_index = axis;
    p->index_ndim = indices->ndim;
    p->axis = of_input[axis];
    p->axis_size = input->shape[axis];
    return BP_OK;
}

static bp_status frame_gather(const request *r, frame *f, bp_elementwise_problem *p) {
    const DLTensor *input = r->operand[0], *indices = r->operand[1];
    int64_t of_input[BP_MAX_NDIM], of_indices[BP_MAX_NDIM];
    char left[256], right[256];
    int axis = 0;
    BP__TRY(bp__elementwise_axis("gather", r->axis, input->ndim, &axis));
    bool fits = indices->ndim == input->ndim;
    for (int d = 0; d < input->ndim && fits; d++) {
        fits = d == axis || indices->shape[d] <= input->shape[d];
    }
    if (!fits) {
        return bp__fail(
            BP_E_SHAPE,
            "gather: indices has shape %s; it must have the rank of the input %s, and no larger size except "
            "in dimension %d",
            bp__shape_text(indices->ndim, indices->shape, left, sizeof left),
            bp__shape_text(input->ndim, input->shape, right, sizeof right), axis);
    }
    bp__tensor_strides(input, of_input);
    bp__tensor_strides(indices, of_indices);
    for (int d = 0; d < input->ndim; d++) {
        BP__TRY(add(r, f, indices->shape[d], d == axis ? 0 : of_input[d], of_indices[d]));
    }
    p->first_index = 0;
    p->index_ndim = indices->ndim;
    p->axis = of_input[axis];
    p->axis_size = input->shape[axis];
    return BP_OK;
}

static bp_status make_frame(const request *r, frame *f, bp_elementwise_problem *p) {
    return r->op == BP_OP_UNARY    ? frame_unary(r, f)
           : r->op == BP_OP_TAKE   ? frame_take(r, f, p)
           : r->op == BP_OP_GATHER ? frame_gather(r, f, p)
                                   : frame_broadcast(r, f);
}

/* A copy has the type that is given, else the type of its output; without either, the type of the input. */
bp_status bp__elementwise_shape(const void *call, bp__call_result *result) {
    const bp__call_request given = {.call = call, .data_optional = true, .described = result->described};
    const request r = read_request(&given);
    const DLTensor *output = r.operand[r.count - 1];
    bp_elementwise_problem p;
    frame f = {.ndim = 0};
    BP__TRY(check_kind(&r));
    for (int i = 0; i < r.count - 1; i++) {
        BP__TRY(bp__tensor_check(r.operand[i], name_of(&r, i), true));
    }
    BP__TRY(make_frame(&r, &f, &p));
    if (r.dtype != BP_DTYPE_NONE) {
        BP__TRY(check_copy_types(&r, r.dtype));
    }
    const bool copies = r.op == BP_OP_UNARY && r.kind == BP_UNARY_COPY && output;
    result->dtype = r.dtype != BP_DTYPE_NONE ? r.dtype : copies ? bp_dtype_from_dlpack(output->dtype) : result_type(&r);
    result->ndim = f.ndim;
    memcpy(result->shape, f.size, (size_t)f.ndim * sizeof *f.size);
    return BP_OK;
}

static bp_status check_output(const request *r, frame *f) {
    const DLTensor *output = r->operand[r->count - 1];
    char got[256], want[256];
    if (output->ndim != f->ndim ||
        (f->ndim > 0 && memcmp(output->shape, f->size, (size_t)f->ndim * sizeof *f->size) != 0)) {
        return bp__fail(BP_E_SHAPE, "%s: output has shape %s; the result has shape %s", kind_name(r),
                        bp__shape_text(output->ndim, output->shape, got, sizeof got),
                        bp__shape_text(f->ndim, f->size, want, sizeof want));
    }
    bp__tensor_strides(output, f->stride[r->count - 1]);
    return BP_OK;
}

/* ---- Problems ---- */

static bool continues(const frame *f, int outer, int inner, int count) {
    bool all = true;
    for (int i = 0; i < count && all; i++) {
        all = f->stride[i][outer] == f->stride[i][inner] * f->size[inner];
    }
    return all;
}

/* Moves the dimensions from..to-1 to the problem, except dimensions of size 1, and merges neighbours. Returns how many
 * are left. */
static int keep(bp_elementwise_problem *p, const frame *f, int from, int to, int count) {
    const int first = p->ndim;
    int before = -1; /* the dimension that was kept last */
    for (int d = from; d < to; d++) {
        if (f->size[d] == 1) {
            continue;
        }
        int64_t size = f->size[d];
        if (before >= 0 && continues(f, before, d, count)) {
            size *= p->size[--p->ndim];
        }
        p->size[p->ndim] = size;
        for (int i = 0; i < count; i++) {
            p->stride[i][p->ndim] = f->stride[i][d];
        }
        p->ndim++;
        before = d;
    }
    return p->ndim - first;
}

static void lower(const request *r, bp_problem *problem, const frame *f) {
    bp_elementwise_problem *p = &problem->of.elementwise;
    const int first = p->first_index, indices = p->index_ndim;
    problem->op = (uint32_t)r->op;
    problem->dtype = (uint32_t)dtype_of(r, first_of(r));
    p->kind = r->kind;
    for (int i = 0; i < r->count; i++) {
        p->type[i] = (uint32_t)dtype_of(r, i);
    }
    if (bp__tensor_elements(r->operand[r->count - 1]) == 0) { /* all empty problems are equal */
        p->ndim = 1;
        p->first_index = p->index_ndim = 0;
        p->axis = p->axis_size = 0;
        return;
    }
    p->first_index = keep(p, f, 0, first, r->count);
    p->index_ndim = keep(p, f, first, first + indices, r->count);
    keep(p, f, first + indices, f->ndim, r->count);
}

bp_status bp__elementwise_make(bp_problem *problem, const void *asked) {
    const bp__call_request *given = asked;
    const request r = read_request(given);
    bp_elementwise_problem *p = &problem->of.elementwise;
    frame f = {.ndim = 0};
    BP__TRY(check_kind(&r));
    for (int i = 0; i < r.count; i++) {
        BP__TRY(bp__tensor_check(r.operand[i], name_of(&r, i), given->data_optional));
    }
    BP__TRY(check_types(&r));
    BP__TRY(make_frame(&r, &f, p));
    BP__TRY(check_output(&r, &f));
    BP__TRY(bp__call_check_overlap(given->described, r.pass, given->call));
    lower(&r, problem, &f);
    return BP_OK;
}
