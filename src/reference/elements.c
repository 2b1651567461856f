/* elements.c - computes functions of single elements, conversions, choices, taking by indices and concatenation, with
 * the errors that elementwise.h states. Integers and elements that are taken must be equal. */
#include "reference/elementwise.h"
#include "reference/results.h"
#include "reference/taken.h"
#include "reference/walk.h"

#include <math.h>
#include <string.h>

enum { COST = 8 }; /* of a function, in multiplications */

static bp_dtype dtype_of(const DLTensor *tensor) {
    return bp_dtype_from_dlpack(tensor->dtype);
}

/* ---- Operands ---- */

bp_status taken_open(taken_numbers *of, const DLTensor *tensor) {
    *of = (taken_numbers){.whole = wholes_can(tensor)};
    return of->whole ? wholes_make(&of->integers, tensor) : wide_make(&of->reals, tensor, false);
}

void taken_close(taken_numbers *of) {
    wholes_free(&of->integers);
    wide_free(&of->reals);
}

static long double real_at(const taken_numbers *of, int64_t index) {
    return of->whole ? (long double)of->integers.data[index] : (long double)of->reals.data[index];
}

/* ---- Functions ---- */

typedef struct function {
    int kind;
    bp_dtype from, to;
    double number[2]; /* of a function of one element */
    taken_numbers a, b;
    walk at[2]; /* of two elements */
} function;

static int64_t truncated(long double x, bp_dtype dtype) {
    const int bits = (int)(8 * bp_dtype_size(dtype));
    const long double high = dtype == BP_U8 ? 255 : ldexpl(1, bits - 1) - 1, low = dtype == BP_U8 ? 0 : -high - 1;
    return isnan(x) ? 0 : (int64_t)(x > high ? high : x < low ? low : truncl(x));
}

static int64_t whole_of_one(void *user, int64_t index) {
    const function *f = user;
    if (f->to == BP_BOOL && f->kind != BP_UNARY_COPY && f->kind != BP_UNARY_BITWISE_INVERT) {
        return (int64_t)reference_unary((bp_unary_kind)f->kind, real_at(&f->a, index));
    }
    if (!f->a.whole) {
        const long double x = real_at(&f->a, index);
        return f->to == BP_BOOL ? x != 0 : truncated(x, f->to);
    }
    const int64_t stored = f->a.integers.data[index];
    const int64_t x = f->from == BP_BOOL && f->to != BP_BOOL ? stored != 0 : stored; /* every byte but 0 is true */
    if (f->kind == BP_UNARY_BITWISE_INVERT) {
        return f->to == BP_BOOL ? !x : ~x;
    }
    if (f->kind == BP_UNARY_SIGN) {
        return (x > 0) - (x < 0);
    }
    if (f->kind == BP_UNARY_CLIP) {
        return truncated(reference_unary_with(BP_UNARY_CLIP, f->from, f->number, (long double)x), f->to);
    }
    const bool changes = f->kind == BP_UNARY_NEGATIVE || (f->kind == BP_UNARY_ABS && x < 0);
    return f->kind == BP_UNARY_RELU && x < 0 ? 0 : changes ? (int64_t)(0 - (uint64_t)x) : x;
}

/* Whether all numbers of a type are numbers of another one. */
static bool holds(bp_dtype to, bp_dtype from) {
    return to == from || to == BP_F64 || (to == BP_F32 && (from == BP_F16 || from == BP_BF16));
}

static reference_number real_of_one(void *user, int64_t index) {
    const function *f = user;
    const long double stored = real_at(&f->a, index);
    const long double x = f->from == BP_BOOL ? stored != 0 : stored;
    if (f->kind == BP_UNARY_COPY) {
        return (reference_number){x, !f->a.whole && holds(f->to, f->from) ? -1 : 0};
    }
    const long double y = reference_unary_with((bp_unary_kind)f->kind, f->from, f->number, x);
    const bool rounds =
        y != x && (f->kind == BP_UNARY_CLIP || f->kind == BP_UNARY_THRESHOLD); /* a number, to 16 bits */
    return (reference_number){y, rounds ? 0 : reference_unary_bound((bp_unary_kind)f->kind, f->to, x, y)};
}

bp_status reference_of_unary(reference_results *made, int kind, const double *first, const double *second,
                             const DLTensor *input, const DLTensor *output) {
    function f = {.kind = kind, .from = dtype_of(input), .to = dtype_of(output)};
    reference_unary_numbers((bp_unary_kind)kind, f.from, first, second, f.number);
    *made = (reference_results){.count = 0};
    bp_status status =
        input->dtype.code == kDLComplex ? reference_of_concat(made, 0, 1, &input, output) : taken_open(&f.a, input);
    if (status == BP_OK && input->dtype.code != kDLComplex) {
        status = wholes_can(output) ? reference_add_wholes(made, "output", output, COST, whole_of_one, &f)
                                    : reference_add_result(made, "output", output, COST, real_of_one, &f);
    }
    taken_close(&f.a);
    return status;
}

static int64_t whole_of_two(void *user, int64_t index) {
    const function *f = user;
    if (f->to == BP_BOOL && f->kind < BP_BINARY_BITWISE_AND) {
        return (int64_t)reference_binary((bp_binary_kind)f->kind, real_at(&f->a, walk_offset(&f->at[0], index)),
                                         real_at(&f->b, walk_offset(&f->at[1], index)));
    }
    return reference_binary_whole((bp_binary_kind)f->kind, f->to, f->a.integers.data[walk_offset(&f->at[0], index)],
                                  f->b.integers.data[walk_offset(&f->at[1], index)]);
}

static reference_number real_of_two(void *user, int64_t index) {
    const function *f = user;
    const long double a = real_at(&f->a, walk_offset(&f->at[0], index)),
                      b = real_at(&f->b, walk_offset(&f->at[1], index));
    const long double value = reference_binary((bp_binary_kind)f->kind, a, b);
    return (reference_number){value, reference_binary_bound((bp_binary_kind)f->kind, f->to, value)};
}

/* Returns a walk over a compact operand that is broadcast to the shape of the output. */
static walk broadcast(const DLTensor *operand, const DLTensor *out) {
    int64_t strides[BP_MAX_NDIM];
    walk w = {.ndim = 0};
    const int missing = out->ndim - operand->ndim;
    walk_compact_strides(operand, strides);
    for (int i = 0; i < out->ndim; i++) {
        const bool own = i >= missing && operand->shape[i - missing] != 1;
        walk_add(&w, out->shape[i], own ? strides[i - missing] : 0);
    }
    return w;
}

bp_status reference_of_binary(reference_results *made, int kind, const DLTensor *a, const DLTensor *b,
                              const DLTensor *output) {
    function f = {
        .kind = kind, .from = dtype_of(a), .to = dtype_of(output), .at = {broadcast(a, output), broadcast(b, output)}};
    *made = (reference_results){.count = 0};
    bp_status status = taken_open(&f.a, a);
    status = status == BP_OK ? taken_open(&f.b, b) : status;
    if (status == BP_OK && f.a.whole == f.b.whole) { /* the operation reports other types */
        status = wholes_can(output) ? reference_add_wholes(made, "output", output, COST, whole_of_two, &f)
                                    : reference_add_result(made, "output", output, COST, real_of_two, &f);
    }
    taken_close(&f.a);
    taken_close(&f.b);
    return status;
}

/* ---- Elements of other tensors ---- */

bp_status taken_add(reference_results *made, const DLTensor *output, taken_find *find, const void *user) {
    reference_result *result = &made->of[made->count++];
    *result = (reference_result){.name = "output", .tensor = output};
    reference *values = &result->values;
    const bp_status status = reference_begin(values, output, COST, 64);
    int64_t known = 0;
    values->measure = wholes_can(output) ? REFERENCE_WHOLE : REFERENCE_NUMBERS;
    values->bounded = true;
    for (int64_t i = 0; status == BP_OK && i < values->count; i++) {
        reference_value value = {.index = values->values[i].index};
        const taken_numbers *from;
        const int64_t at = find(user, value.index, &from);
        if (at >= 0 && from->whole) {
            value.whole = from->integers.data[at];
        } else if (at >= 0) {
            const double *element = from->reals.data + at * from->reals.parts;
            value.re = element[0];
            value.im = from->reals.parts == 2 ? element[1] : 0;
        }
        values->values[known] = value;
        known += at >= 0;
    }
    values->count = known;
    return status;
}

/* ---- Choosing by a condition ---- */

typedef struct choice {
    wholes condition;
    taken_numbers of[2]; /* where it is true, and false */
    walk at[3];          /* of the condition and of both */
} choice;

static int64_t chosen_from(const void *user, int64_t index, const taken_numbers **from) {
    const choice *c = user;
    const int which = c->condition.data[walk_offset(&c->at[0], index)] ? 0 : 1;
    *from = &c->of[which];
    return walk_offset(&c->at[1 + which], index);
}

bp_status reference_of_where(reference_results *made, const DLTensor *condition, const DLTensor *a, const DLTensor *b,
                             const DLTensor *output) {
    choice c = {.at = {broadcast(condition, output), broadcast(a, output), broadcast(b, output)}};
    *made = (reference_results){.count = 0};
    if (!wholes_can(condition) || dtype_of(a) != dtype_of(b)) { /* the operation reports it */
        return BP_OK;
    }
    bp_status status = wholes_make(&c.condition, condition);
    status = status == BP_OK ? taken_open(&c.of[0], a) : status;
    status = status == BP_OK ? taken_open(&c.of[1], b) : status;
    status = status == BP_OK ? taken_add(made, output, chosen_from, &c) : status;
    wholes_free(&c.condition);
    taken_close(&c.of[0]);
    taken_close(&c.of[1]);
    return status;
}

/* ---- Elements at indices ---- */

/* Sizes along and behind the axis, and the indices. */
typedef struct indexed {
    taken_numbers from;
    wholes indices;
    int64_t size, inner;
    walk at; /* of gather: over the input with the shape of the indices, without the axis */
} indexed;

static int64_t taken_from(const void *user, int64_t index, const taken_numbers **from) {
    const indexed *t = user;
    const int64_t position = t->indices.data[index / t->inner % t->indices.count];
    const int64_t outer = index / t->inner / t->indices.count;
    *from = &t->from;
    return position < 0 || position >= t->size ? -1 : (outer * t->size + position) * t->inner + index % t->inner;
}

static int64_t gathered_from(const void *user, int64_t index, const taken_numbers **from) {
    const indexed *t = user;
    const int64_t position = t->indices.data[index];
    *from = &t->from;
    return position < 0 || position >= t->size ? -1 : walk_offset(&t->at, index) + position * t->inner;
}

static int positive_axis(const DLTensor *tensor, int axis) {
    return axis < 0 ? axis + tensor->ndim : axis;
}

static int64_t inner_of(const DLTensor *tensor, int axis) {
    int64_t inner = 1;
    for (int i = axis + 1; i < tensor->ndim; i++) {
        inner *= tensor->shape[i];
    }
    return inner;
}

static bp_status add_indexed(reference_results *made, taken_find *find, int axis, const DLTensor *input,
                             const DLTensor *indices, const DLTensor *output) {
    const int positive = positive_axis(input, axis);
    indexed t = {.size = input->shape[positive], .inner = inner_of(input, positive)};
    int64_t strides[BP_MAX_NDIM];
    *made = (reference_results){.count = 0};
    if (!wholes_can(indices)) { /* the operation reports it */
        return BP_OK;
    }
    walk_compact_strides(input, strides);
    for (int i = 0; i < output->ndim && find == gathered_from; i++) {
        walk_add(&t.at, output->shape[i], i == positive ? 0 : strides[i]);
    }
    bp_status status = taken_open(&t.from, input);
    status = status == BP_OK ? wholes_make(&t.indices, indices) : status;
    status = status == BP_OK ? taken_add(made, output, find, &t) : status;
    wholes_free(&t.indices);
    taken_close(&t.from);
    return status;
}

bp_status reference_of_take(reference_results *made, int axis, const DLTensor *input, const DLTensor *indices,
                            const DLTensor *output) {
    return add_indexed(made, taken_from, axis, input, indices, output);
}

bp_status reference_of_gather(reference_results *made, int axis, const DLTensor *input, const DLTensor *indices,
                              const DLTensor *output) {
    return add_indexed(made, gathered_from, axis, input, indices, output);
}

/* ---- Concatenation ---- */

enum { MOST_PARTS = 64 };

typedef struct parts {
    int count;
    taken_numbers of[MOST_PARTS];
    int64_t size[MOST_PARTS], inner, whole; /* along the axis, and the sum of these */
} parts;

static int64_t joined_from(const void *user, int64_t index, const taken_numbers **from) {
    const parts *p = user;
    int64_t position = index / p->inner % p->whole;
    const int64_t outer = index / p->inner / p->whole;
    int part = 0;
    while (position >= p->size[part]) {
        position -= p->size[part++];
    }
    *from = &p->of[part];
    return (outer * p->size[part] + position) * p->inner + index % p->inner;
}

bp_status reference_of_concat(reference_results *made, int axis, int count, const DLTensor *const *tensors,
                              const DLTensor *output) {
    parts p = {.count = count, .inner = 1, .whole = reference_count(output)};
    *made = (reference_results){.count = 0};
    if (count > MOST_PARTS) {
        return BP_OK;
    }
    const int positive = positive_axis(output, axis);
    if (output->ndim > 0) {
        p.inner = inner_of(output, positive);
        p.whole = output->shape[positive];
    }
    bp_status status = BP_OK;
    for (int i = 0; i < count && status == BP_OK; i++) {
        p.size[i] = output->ndim > 0 ? tensors[i]->shape[positive] : 1;
        status = taken_open(&p.of[i], tensors[i]);
    }
    status = status == BP_OK ? taken_add(made, output, joined_from, &p) : status;
    for (int i = 0; i < count; i++) {
        taken_close(&p.of[i]);
    }
    return status;
}
