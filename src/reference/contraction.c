/* contraction.c - computes einsum, multi_dot and matrix_power.
 *
 * It contracts the operands pair by pair in long double, with plain loops over all labels. Together with
 * each value it computes the same sum of absolute values, which bounds the rounding errors. For a large contraction it
 * takes some indices of each label of the result only, so that it computes a part of the result.
 */
#include "reference/results.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORK 3e7     /* multiplications of a reference: about half a second */
#define MOST_ELEMENTS 2e6 /* of an intermediate result */
#define LEAST_CHECKED 64  /* elements of the result, even if they take up to ten times MOST_WORK */
#define MOST_LABELS 256
#define MOST_STEPS 1024

typedef struct number {
    long double re, im, scale;
} number;

/* What is contracted: by an expression, or as a chain of matrices; `power`: the first tensor so often. `roundings`: of
 * the sum of an element, in one step; 0: any. */
typedef struct inputs {
    const char *expression;
    int count, power;
    const DLTensor *const *tensors;
    double roundings;
} inputs;

/* An operand, or an intermediate result. */
typedef struct factor {
    int count; /* of labels */
    int label[2 * BP_MAX_NDIM];
    int64_t stride[2 * BP_MAX_NDIM];
    const double *data; /* of an operand, with all its elements; NULL for an intermediate result */
    int parts;
    number *own; /* of an intermediate result, which has the chosen indices only */
} factor;

typedef struct label_info {
    int64_t size, chosen; /* `chosen` of `size` indices are computed */
    bool in_result;
} label_info;

typedef struct contraction {
    label_info labels[MOST_LABELS];
    int label_count;
    int out[BP_MAX_NDIM], out_count;
    factor *factors; /* those that remain, in order */
    wide_tensor *operands;
    int count, operand_count;
    int (*steps)[2]; /* positions in the remaining factors; the second is -1 for a single one */
    int step_count;
    bool is_complex;
    double terms; /* summed for one element, over all steps */
} contraction;

/* ---- One step ---- */

typedef struct loops {
    const contraction *c;
    int levels;
    int label[4 * BP_MAX_NDIM];
    int64_t stride[4 * BP_MAX_NDIM][3]; /* of both factors and of the result */
    const factor *x, *y;
    number *result;
} loops;

static number element_of(const factor *f, int64_t at) {
    if (!f) {
        return (number){1, 0, 1};
    }
    if (!f->data) {
        return f->own[at];
    }
    const double *e = f->data + at * f->parts;
    long double im = f->parts == 2 ? e[1] : 0;
    return (number){e[0], im, f->parts == 2 ? sqrtl((long double)e[0] * e[0] + im * im) : fabsl((long double)e[0])};
}

static void add_product(const loops *l, int64_t x, int64_t y, int64_t at) {
    number a = element_of(l->x, x), b = element_of(l->y, y), *sum = &l->result[at];
    sum->re += a.re * b.re;
    sum->scale += a.scale * b.scale;
    if (l->c->is_complex) {
        sum->re -= a.im * b.im;
        sum->im += a.re * b.im + a.im * b.re;
    }
}

/* Operands have all their elements, so their offsets need the index itself; intermediate results are compact. */
static void run_level(const loops *l, int level, int64_t x, int64_t y, int64_t out) {
    if (level == l->levels) {
        add_product(l, x, y, out);
        return;
    }
    const label_info *info = &l->c->labels[l->label[level]];
    const int64_t *stride = l->stride[level];
    for (int64_t i = 0; i < info->chosen; i++) {
        int64_t index = reference_pick(i, info->chosen, info->size);
        run_level(l, level + 1, x + stride[0] * (l->x->data ? index : i),
                  y + stride[1] * (l->y && l->y->data ? index : i), out + stride[2] * i);
    }
}

static int64_t stride_of(const factor *f, int label) {
    for (int i = 0; f && i < f->count; i++) {
        if (f->label[i] == label) {
            return f->stride[i];
        }
    }
    return 0;
}

static bool has_label(const factor *f, int label) {
    for (int i = 0; f && i < f->count; i++) {
        if (f->label[i] == label) {
            return true;
        }
    }
    return false;
}

/* Returns whether a label of factors p and q stays: the result or another factor has it. */
static bool stays(const contraction *c, int label, int p, int q) {
    bool kept = c->labels[label].in_result;
    for (int i = 0; i < c->count; i++) {
        kept |= i != p && i != q && has_label(&c->factors[i], label);
    }
    return kept;
}

/* Lists the labels of the result of p and q. Returns the summed ones in `summed`. */
static factor result_of(const contraction *c, int p, int q, int *summed, int *summed_count) {
    factor made = {.count = 0};
    *summed_count = 0;
    for (int side = 0; side < 2; side++) {
        const factor *f = side == 0 ? &c->factors[p] : q >= 0 ? &c->factors[q] : NULL;
        for (int i = 0; f && i < f->count; i++) {
            bool seen = side == 1 && has_label(&c->factors[p], f->label[i]);
            if (!seen && stays(c, f->label[i], p, q)) {
                made.label[made.count++] = f->label[i];
            } else if (!seen) {
                summed[(*summed_count)++] = f->label[i];
            }
        }
    }
    int64_t stride = 1;
    for (int i = made.count - 1; i >= 0; i--) {
        made.stride[i] = stride;
        stride *= c->labels[made.label[i]].chosen;
    }
    return made;
}

static double product_of(const contraction *c, const int *labels, int count, bool all) {
    double product = 1;
    for (int i = 0; i < count; i++) {
        const label_info *info = &c->labels[labels[i]];
        product *= (double)(all ? info->size : info->chosen);
    }
    return product;
}

/* Replaces p and q by their result, which becomes the last factor. */
static void replace(contraction *c, int p, int q, const factor *made) {
    free(c->factors[p].own);
    if (q >= 0) {
        free(c->factors[q].own);
    }
    int kept = 0;
    for (int i = 0; i < c->count; i++) {
        if (i != p && i != q) {
            c->factors[kept++] = c->factors[i];
        }
    }
    c->factors[kept] = *made;
    c->count = kept + 1;
}

static bp_status run_step(contraction *c, int p, int q) {
    int summed[2 * BP_MAX_NDIM], count;
    factor made = result_of(c, p, q, summed, &count);
    loops l = {.c = c, .x = &c->factors[p], .y = q >= 0 ? &c->factors[q] : NULL};
    for (int i = 0; i < made.count + count; i++) {
        int label = i < made.count ? made.label[i] : summed[i - made.count];
        l.label[l.levels] = label;
        l.stride[l.levels][0] = stride_of(l.x, label);
        l.stride[l.levels][1] = stride_of(l.y, label);
        l.stride[l.levels++][2] = i < made.count ? made.stride[i] : 0;
    }
    double elements = product_of(c, made.label, made.count, false);
    made.own = calloc((size_t)elements + 1, sizeof *made.own);
    if (!made.own) {
        return BP_E_NO_MEMORY;
    }
    l.result = made.own;
    run_level(&l, 0, 0, 0, 0);
    replace(c, p, q, &made);
    return BP_OK;
}

/* ---- How much is computed ---- */

/* Adds up the multiplications of all steps, and finds the largest intermediate result. Works on a copy of the list of
 * factors. */
static bp_status measure(const contraction *c, double *work, double *largest, double *terms) {
    contraction trial = *c;
    trial.factors = malloc((size_t)(c->count + 1) * sizeof *trial.factors);
    if (!trial.factors) {
        return BP_E_NO_MEMORY;
    }
    memcpy(trial.factors, c->factors, (size_t)c->count * sizeof *trial.factors);
    *work = *largest = *terms = 0;
    for (int s = 0; s < c->step_count; s++) {
        int summed[2 * BP_MAX_NDIM], count;
        factor made = result_of(&trial, c->steps[s][0], c->steps[s][1], summed, &count);
        double elements = product_of(&trial, made.label, made.count, false);
        *largest = elements > *largest ? elements : *largest;
        *work += elements * product_of(&trial, summed, count, false);
        *terms += product_of(&trial, summed, count, true);
        replace(&trial, c->steps[s][0], c->steps[s][1], &made);
    }
    free(trial.factors);
    return BP_OK;
}

/* Halves the label of the result that has the most indices. False if all have one. */
static bool reduce(contraction *c) {
    label_info *widest = NULL;
    for (int i = 0; i < c->out_count; i++) {
        label_info *info = &c->labels[c->out[i]];
        widest = !widest || info->chosen > widest->chosen ? info : widest;
    }
    if (!widest || widest->chosen < 2) {
        return false;
    }
    widest->chosen /= 2;
    return true;
}

/* Chooses the indices that are computed. *feasible: that is possible in the time and memory. */
static bp_status choose_part(contraction *c, bool *feasible) {
    double work, largest;
    bp_status status;
    *feasible = true;
    while ((status = measure(c, &work, &largest, &c->terms)) == BP_OK) {
        bool few = product_of(c, c->out, c->out_count, false) < 2 * LEAST_CHECKED;
        if (largest <= MOST_ELEMENTS && work <= (few ? 10 : 1) * MOST_WORK) {
            break;
        }
        if (!reduce(c)) {
            *feasible = false;
            break;
        }
    }
    return status;
}

/* ---- The operands and their labels ---- */

static bp_status add_operand(contraction *c, const DLTensor *tensor, const int *labels) {
    wide_tensor *operand = &c->operands[c->operand_count];
    factor *f = &c->factors[c->count];
    bp_status status = wide_make(operand, tensor, false);
    c->operand_count++;
    *f = (factor){.data = operand->data, .parts = operand->parts};
    c->is_complex |= operand->parts == 2;
    c->count++;
    for (int64_t i = tensor->ndim - 1, stride = 1; i >= 0; stride *= tensor->shape[i--]) {
        int label = labels[i], at = 0;
        int64_t step = tensor->shape[i] == 1 ? 0 : stride; /* a size of 1 is broadcast */
        while (at < f->count && f->label[at] != label) {
            at++;
        }
        f->label[at] = label;
        f->stride[at] = at < f->count ? f->stride[at] + step : step; /* a repeated label takes the diagonal */
        f->count += at == f->count;
        label_info *info = &c->labels[label];
        info->size = tensor->shape[i] > info->size || info->size == 1 ? tensor->shape[i] : info->size;
    }
    return status;
}

static void add_output(contraction *c, int label) {
    c->out[c->out_count++] = label;
    c->labels[label].in_result = true;
}

static bp_status allocate(contraction *c, int count) {
    c->operands = calloc((size_t)count, sizeof *c->operands);
    c->factors = calloc((size_t)count + 1, sizeof *c->factors);
    c->steps = calloc(2 * (size_t)count + 1, sizeof *c->steps); /* each operand alone, and the pairs */
    for (int i = 0; i < MOST_LABELS; i++) {
        c->labels[i].size = 1;
    }
    return c->operands && c->factors && c->steps ? BP_OK : BP_E_NO_MEMORY;
}

/* A chain of matrices, from left to right: tensor i has the labels i and i + 1. The first and the last may be vectors.
 */
static bp_status read_chain(contraction *c, const inputs *in, bool *feasible) {
    const bool power = in->power > 0;
    const int count = power ? in->power : in->count;
    *feasible = count > 0 && count + 1 < MOST_LABELS - BP_MAX_NDIM;
    bp_status status = *feasible ? allocate(c, count) : BP_OK;
    for (int i = 0; status == BP_OK && *feasible && i < count; i++) {
        const DLTensor *tensor = in->tensors[power ? 0 : i];
        int labels[BP_MAX_NDIM], ndim = tensor->ndim;
        for (int d = 0; d < ndim; d++) {
            labels[d] = count + 1 + d; /* of the batch */
        }
        labels[ndim - 1] = i + (ndim > 1 || i == 0);
        if (ndim > 1) {
            labels[ndim - 2] = i;
        }
        status = add_operand(c, tensor, labels);
        if (i > 0) {
            c->steps[c->step_count][0] = i == 1 ? 0 : count - i;
            c->steps[c->step_count++][1] = i == 1 ? 1 : 0;
        }
    }
    if (status == BP_OK && *feasible) {
        const DLTensor *first = in->tensors[0], *last = in->tensors[power ? 0 : count - 1];
        for (int d = 0; power && d < first->ndim - 2; d++) {
            add_output(c, count + 1 + d);
        }
        if (first->ndim > 1) {
            add_output(c, 0);
        }
        if (last->ndim > 1) {
            add_output(c, count);
        }
    }
    return status;
}

/* Returns the number of a letter of the expression, which may be any Unicode character; -1 if there are too many. */
static int label_of(contraction *c, uint32_t letters[MOST_LABELS], const char **text) {
    const unsigned char *at = (const unsigned char *)*text;
    uint32_t letter = *at++;
    while ((*at & 0xc0) == 0x80) {
        letter = letter << 8 | *at++;
    }
    *text = (const char *)at;
    int i = 0;
    while (i < c->label_count && letters[i] != letter) {
        i++;
    }
    if (i == MOST_LABELS) {
        return -1;
    }
    letters[i] = letter;
    c->label_count += i == c->label_count;
    return i;
}

/* Reads the expression of a path, "ab,bc->ac", whose ellipsis is replaced by letters. */
static bp_status read_expression(contraction *c, const inputs *in, const char *text, bool *feasible) {
    uint32_t letters[MOST_LABELS];
    bp_status status = BP_OK;
    for (int i = 0; status == BP_OK && i < in->count; i++, text += *text == ',') {
        int labels[BP_MAX_NDIM], count = 0;
        while (*feasible && *text && *text != ',' && *text != '-' && count < BP_MAX_NDIM) {
            labels[count] = label_of(c, letters, &text);
            *feasible &= labels[count++] >= 0;
        }
        *feasible &= count == in->tensors[i]->ndim;
        status = *feasible ? add_operand(c, in->tensors[i], labels) : BP_OK;
    }
    *feasible &= text[0] == '-' && text[1] == '>';
    for (text += 2 * *feasible; *feasible && *text;) {
        int label = label_of(c, letters, &text);
        *feasible = label >= 0 && c->out_count < BP_MAX_NDIM;
        if (*feasible) {
            add_output(c, label);
        }
    }
    return status;
}

static bp_status read_einsum(contraction *c, const inputs *in, bool *feasible) {
    bp_contraction_path *path = NULL;
    bp_einsum_operand *shapes = calloc((size_t)in->count + 1, sizeof *shapes);
    bp_status status = shapes ? allocate(c, in->count) : BP_E_NO_MEMORY;
    for (int i = 0; status == BP_OK && i < in->count; i++) {
        shapes[i] = (bp_einsum_operand){.ndim = in->tensors[i]->ndim, .shape = in->tensors[i]->shape};
    }
    status = status == BP_OK ? bp_einsum_path(&path, NULL, in->expression, in->count, shapes) : status;
    bp_contraction_step step = {.struct_size = sizeof step};
    for (int i = 0; status == BP_OK && i <= 2 * in->count && bp_contraction_path_at(path, i, &step); i++) {
        c->steps[c->step_count][0] = step.position[0];
        c->steps[c->step_count++][1] = step.count > 1 ? step.position[1] : -1;
    }
    *feasible = true;
    status = status == BP_OK ? read_expression(c, in, bp_contraction_path_expression(path), feasible) : status;
    bp_contraction_path_release(path);
    free(shapes);
    return status;
}

/* ---- The values ---- */

/* Runs the steps, and copies the computed part of the result. */
static bp_status compute(contraction *c, reference *made, const DLTensor *out) {
    bp_status status = BP_OK;
    for (int i = 0; status == BP_OK && i < c->step_count; i++) {
        status = run_step(c, c->steps[i][0], c->steps[i][1]);
    }
    if (status == BP_OK && c->factors[0].data) { /* no step: a copy */
        status = run_step(c, 0, -1);
    }
    double elements = product_of(c, c->out, c->out_count, false);
    made->values = calloc((size_t)elements + 1, sizeof *made->values);
    status = status == BP_OK && !made->values ? BP_E_NO_MEMORY : status;
    made->count = status == BP_OK ? (int64_t)elements : 0;
    made->total = reference_count(out);
    made->terms = (int64_t)fmin(c->terms, 1e15) + c->step_count;
    for (int64_t e = 0; e < made->count; e++) {
        int64_t rest = e, from = 0, index = 0, stride = 1;
        for (int i = c->out_count - 1; i >= 0; i--) {
            const label_info *info = &c->labels[c->out[i]];
            int64_t at = rest % info->chosen;
            from += at * stride_of(&c->factors[0], c->out[i]);
            index += reference_pick(at, info->chosen, info->size) * stride;
            stride *= info->size;
            rest /= info->chosen;
        }
        const number *n = &c->factors[0].own[from];
        made->values[e] =
            (reference_value){.index = index, .re = (double)n->re, .im = (double)n->im, .scale = (double)n->scale};
    }
    return status;
}

static void release(contraction *c) {
    for (int i = 0; c->operands && i < c->operand_count; i++) {
        wide_free(&c->operands[i]);
    }
    for (int i = 0; c->factors && i < c->count; i++) {
        free(c->factors[i].own);
    }
    free(c->operands);
    free(c->factors);
    free(c->steps);
    free(c);
}

/* Turns the sums of absolute values into errors. The library may contract in another order, with other sums; each step
 * may round its result to the type. */
static void bound_values(const contraction *c, const inputs *in, reference *made, bp_dtype dtype) {
    const bool f64 = dtype == BP_F64 || dtype == BP_C128;
    const double unit = reference_unit(dtype), largest = dtype == BP_F16 ? 65504 : f64 ? DBL_MAX : (double)FLT_MAX;
    const bool any = in->roundings == 0;
    const double sums = (any ? 4 * ((double)made->terms + 4) : in->roundings) * reference_sum_unit(dtype) / unit;
    const double steps = any ? 2 * c->step_count + 1 : 0;
    int64_t known = 0;
    if (unit == 0) {
        return;
    }
    for (int64_t i = 0; i < made->count; i++) {
        reference_value value = made->values[i];
        const bool is_finite = isfinite(value.re) && isfinite(value.im);
        const bool bounded = !is_finite || value.scale < largest / 4; /* else a result of a step may overflow */
        value.scale = (fabs(value.re) + fabs(value.im)) * (f64 ? 2 : 1) + (sums + steps) * value.scale;
        made->values[known] = value;
        known += bounded;
    }
    made->count = known;
    made->bounded = true;
    made->terms = (made->terms + 1) * (c->operand_count + 1); /* roundings of results of steps that are subnormal */
}

static bp_status compute_contraction(contraction *c, const inputs *in, reference *made, const DLTensor *out) {
    bool feasible = false;
    bp_status status = in->expression ? read_einsum(c, in, &feasible) : read_chain(c, in, &feasible);
    for (int i = 0; i < MOST_LABELS; i++) {
        c->labels[i].chosen = c->labels[i].size;
    }
    status = status == BP_OK && feasible ? choose_part(c, &feasible) : status;
    status = status == BP_OK && feasible ? compute(c, made, out) : status;
    if (status == BP_OK && feasible) {
        bound_values(c, in, made, bp_dtype_from_dlpack(out->dtype));
    }
    return status;
}

static bp_status add_contraction(reference_results *made, const inputs *in, const DLTensor *out) {
    contraction *c = calloc(1, sizeof *c);
    *made = (reference_results){.count = 1, .of = {{.name = "output", .tensor = out}}};
    if (!c) {
        return BP_E_NO_MEMORY;
    }
    const bp_status status = compute_contraction(c, in, &made->of[0].values, out);
    release(c);
    return status;
}

bp_status reference_of_einsum(reference_results *made, const char *expression, int count,
                              const DLTensor *const *operands, const DLTensor *out) {
    return add_contraction(made, &(inputs){expression, count, 0, operands, 0}, out);
}

bp_status reference_of_sums(reference_results *made, const char *expression, int count, const DLTensor *const *operands,
                            double roundings, const DLTensor *out) {
    return add_contraction(made, &(inputs){expression, count, 0, operands, roundings}, out);
}

bp_status reference_of_multi_dot(reference_results *made, int count, const DLTensor *const *tensors,
                                 const DLTensor *out) {
    return add_contraction(made, &(inputs){NULL, count, 0, tensors, 0}, out);
}

bp_status reference_of_matrix_power(reference_results *made, const DLTensor *a, int64_t n, const DLTensor *out) {
    *made = (reference_results){.count = 0};
    return n > 0 && n < MOST_STEPS ? add_contraction(made, &(inputs){NULL, 1, (int)n, &a, 0}, out) : BP_OK;
}
