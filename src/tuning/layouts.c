/* layouts.c - describes the operands of a problem: layouts, and which values they need. */
#include "tuning/tuning.h"

#include <math.h>
#include <string.h>

static bp__trial_operand *add(bp__trial *trial, bp_dtype dtype, bool output) {
    bp__trial_operand *o = &trial->operand[trial->count];
    *o = (bp__trial_operand){.present = true, .output = output, .same = trial->count++, .dtype = dtype};
    return o;
}

static void add_dimension(bp__trial_operand *o, int64_t size, int64_t stride) {
    o->shape[o->ndim] = size;
    o->strides[o->ndim++] = stride;
}

static void add_matrix(bp__trial_operand *o, int64_t rows, int64_t columns, int64_t row, int64_t column) {
    add_dimension(o, rows, row);
    add_dimension(o, columns, column);
    o->matrix = 2;
}

static void add_batch(bp__trial_operand *o, int ndim, const int64_t *shape, const int64_t *strides) {
    for (int i = 0; i < ndim; i++) {
        add_dimension(o, shape[i], strides[i]);
    }
}

static void layout_gemm(bp__trial *trial, const bp_problem *problem) {
    const bp_gemm_problem *g = &problem->of.gemm;
    bp__trial_operand *a = add(trial, (bp_dtype)problem->dtype, false),
                      *b = add(trial, bp_gemm_type(problem, problem->of.gemm.b_type), false),
                      *c = add(trial, bp_gemm_type(problem, problem->of.gemm.c_type), true);
    add_batch(a, g->batch_ndim, g->batch_shape, g->batch_a);
    add_batch(b, g->batch_ndim, g->batch_shape, g->batch_b);
    add_batch(c, g->batch_ndim, g->batch_shape, g->batch_c);
    add_matrix(a, g->m, g->k, g->a_row, g->a_column);
    add_matrix(b, g->k, g->n, g->b_row, g->b_column);
    add_matrix(c, g->m, g->n, g->c_row, g->c_column);
    c->reads = g->beta != BP_FACTOR_ZERO;
    trial->scalars[0].re = g->alpha == BP_FACTOR_ANY ? 1.5 : g->alpha == BP_FACTOR_ONE;
    trial->scalars[1].re = g->beta == BP_FACTOR_ANY ? 0.5 : g->beta == BP_FACTOR_ONE;
    trial->length = (double)g->k;
    trial->scale = sqrt((double)g->k) / 3 + 1; /* of a sum of k products of numbers in [-1, 1] */
}

static void layout_fft(bp__trial *trial, const bp_problem *problem) {
    const bp_fft_problem *f = &problem->of.fft;
    const bp_dtype complex = (bp_dtype)problem->dtype, real = complex == BP_C64 ? BP_F32 : BP_F64;
    bp__trial_operand *in = add(trial, f->kind == BP_FFT_R2C ? real : complex, false);
    bp__trial_operand *out = add(trial, f->kind == BP_FFT_C2R ? real : complex, true);
    double points = 1;
    add_batch(in, f->batch_ndim, f->batch_shape, f->batch_in);
    add_batch(out, f->batch_ndim, f->batch_shape, f->batch_out);
    for (int i = 0; i < f->ndim; i++) {
        const bool last = i == f->ndim - 1;
        const int64_t half = f->n[i] / 2 + 1;
        points *= (double)f->n[i];
        add_dimension(in, f->kind == BP_FFT_C2R && last ? half : f->n[i], f->in[i]);
        add_dimension(out, f->kind == BP_FFT_R2C && last ? half : f->n[i], f->out[i]);
    }
    in->values = f->kind == BP_FFT_C2R ? BP__VALUES_HALF : BP__VALUES_ANY;
    if (f->in_place) {
        out->same = 0;
        out->reads = true;
    }
    trial->length = log2(points + 1);
    trial->scale = sqrt(points) * fabs(f->scale);
}

static void layout_contract(bp__trial *trial, const bp_problem *problem) {
    const bp_contract_problem *p = &problem->of.contract;
    const bp_dtype dtype = (bp_dtype)problem->dtype;
    bp__trial_operand *a = add(trial, dtype, false), *b = add(trial, dtype, false), *c = add(trial, dtype, true);
    trial->length = 1;
    for (int i = 0; i < p->ndim; i++) {
        add_dimension(a, p->size[i], p->a[i]);
        add_dimension(b, p->size[i], p->b[i]);
        if (i < p->output_ndim) {
            add_dimension(c, p->size[i], p->c[i]);
        } else {
            trial->length *= (double)p->size[i];
        }
    }
    b->present = p->has_b;
    if (p->in_place) {
        c->same = 0;
        c->reads = true;
    }
    trial->scale = sqrt(trial->length) / 3 + 1;
}

static void add_positions(bp__trial_operand *o, const int64_t size[BP_MAX_CONV_NDIM],
                          const int64_t stride[BP_MAX_CONV_NDIM]) {
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        add_dimension(o, size[d], stride[d]);
    }
}

/* Adds X or Y. */
static void add_image(bp__trial *trial, const bp_problem *problem, bool x, bool output) {
    const bp_conv_problem *c = &problem->of.conv;
    bp__trial_operand *o = add(trial, (bp_dtype)problem->dtype, output);
    add_dimension(o, c->batch, x ? c->x_batch : c->y_batch);
    add_dimension(o, c->groups * (x ? c->in_channels : c->out_channels), x ? c->x_channel : c->y_channel);
    add_positions(o, x ? c->in : c->out, x ? c->x : c->y);
}

static void add_weight(bp__trial *trial, const bp_problem *problem, bool output) {
    const bp_conv_problem *c = &problem->of.conv;
    bp__trial_operand *o = add(trial, (bp_dtype)problem->dtype, output);
    add_dimension(o, c->groups * c->out_channels, c->w_out);
    add_dimension(o, c->in_channels, c->w_in);
    add_positions(o, c->kernel, c->w);
}

static void add_bias(bp__trial *trial, const bp_problem *problem, int64_t channels, bool output) {
    bp__trial_operand *o = add(trial, (bp_dtype)problem->dtype, output);
    o->present = problem->of.conv.has_bias;
    add_dimension(o, channels, problem->of.conv.bias);
}

static double product_of(const int64_t size[BP_MAX_CONV_NDIM]) {
    return (double)size[0] * (double)size[1] * (double)size[2];
}

static void layout_conv(bp__trial *trial, const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    const bool forward = problem->op == BP_OP_CONV, by_weight = problem->op == BP_OP_CONV_WEIGHT;
    const bool x_first = by_weight ? !c->transposed : forward;
    add_image(trial, problem, x_first, false);
    if (by_weight) {
        add_image(trial, problem, !x_first, false);
        add_weight(trial, problem, true);
        /* the bias belongs to the second image */
        add_bias(trial, problem, c->groups * (x_first ? c->out_channels : c->in_channels), true);
        trial->length = (double)c->batch * product_of(c->out);
    } else {
        add_weight(trial, problem, false);
        add_bias(trial, problem, c->groups * (forward ? c->out_channels : c->in_channels), false);
        add_image(trial, problem, !x_first, true);
        trial->length = product_of(c->kernel) * (double)(forward ? c->in_channels : c->out_channels);
    }
    trial->scale = sqrt(trial->length) / 3 + 1; /* of a sum of products of numbers in [-1, 1] */
}

/* What inputs and outputs of an operation need, beyond the default. */
typedef struct linalg_row {
    bp__values values[2];
    bp__meaning meanings[4];
} linalg_row;

static const linalg_row rows[] = {
    [BP_OP_INV] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_CHOLESKY] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_CHOLESKY_SOLVE] = {.values = {BP__VALUES_ANY, BP__VALUES_DIAGONAL}},
    [BP_OP_CHOLESKY_INVERSE] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_LU_FACTOR] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_LU] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_LU_SOLVE] = {.values = {BP__VALUES_DIAGONAL, BP__VALUES_PIVOTS}},
    [BP_OP_SOLVE] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_SOLVE_TRIANGULAR] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_QR] = {.meanings = {BP__MEANING_WRITTEN, BP__MEANING_MAGNITUDES}},
    [BP_OP_EIGH] = {.meanings = {BP__MEANING_VALUES, BP__MEANING_WRITTEN}},
    [BP_OP_EIG] = {.meanings = {BP__MEANING_WRITTEN, BP__MEANING_WRITTEN}},
    [BP_OP_SVD] = {.meanings = {BP__MEANING_WRITTEN, BP__MEANING_VALUES, BP__MEANING_WRITTEN}},
    [BP_OP_LSTSQ] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_DET] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_SLOGDET] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_PINV] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_COND] = {.values = {BP__VALUES_SHIFTED}},
    [BP_OP_VECTOR_NORM] = {.values = {BP__VALUES_ANY}},
    [BP_OP_LDL_FACTOR] = {.values = {BP__VALUES_DIAGONAL}},
    [BP_OP_LDL_SOLVE] = {.values = {BP__VALUES_DIAGONAL, BP__VALUES_PIVOTS}},
};

/* Returns the number of names in a list separated by commas. */
static int name_count(const char *list) {
    int count = 1;
    for (; *list; list++) {
        count += *list == ',';
    }
    return count;
}

static void layout_linalg(bp__trial *trial, const bp_problem *problem) {
    static const linalg_row plain;
    const bp_linalg_problem *l = &problem->of.linalg;
    const linalg_row *row = problem->op < BP__COUNT(rows) ? &rows[problem->op] : &plain;
    const int inputs = name_count(bp_op_inputs((bp_op)problem->op));
    const int all = inputs + name_count(bp_op_outputs((bp_op)problem->op));
    for (int i = 0; i < all && i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *from = &l->operand[i];
        bp__trial_operand *o = add(trial, (bp_dtype)from->dtype, i >= inputs);
        o->present = from->dtype != 0;
        o->values = i < inputs && i < 2 ? row->values[i] : BP__VALUES_ANY;
        o->meaning = i >= inputs && i - inputs < 4 ? row->meanings[i - inputs] : BP__MEANING_VALUES;
        add_batch(o, l->batch_ndim, l->batch_shape, from->batch);
        add_matrix(o, from->rows, from->columns, from->row, from->column);
    }
    trial->length = 8.0 * (double)(l->m + l->n + 8); /* backward errors grow with the size; the problems are
                                                      * well-conditioned */
}

static bool is_linalg(bp_op op) {
    static const char *const families[] = {
#define X(number, id, name, inputs, outputs, family) [number] = #family,
        BP_OP_MAP(X)
#undef X
    };
    return op < BP__COUNT(families) && families[op] && strcmp(families[op], "linalg") == 0;
}

bool bp__trial_layout(bp__trial *trial, const bp_problem *problem) {
    *trial = (bp__trial){.problem = problem, .scalars = {{1, 0}, {0, 0}}};
    switch (problem->op) {
    case BP_OP_GEMM:
        layout_gemm(trial, problem);
        return true;
    case BP_OP_FFT:
        layout_fft(trial, problem);
        return true;
    case BP_OP_CONTRACT:
        layout_contract(trial, problem);
        return true;
    case BP_OP_CONV:
    case BP_OP_CONV_INPUT:
    case BP_OP_CONV_WEIGHT:
        layout_conv(trial, problem);
        return true;
    default:
        if (!is_linalg((bp_op)problem->op)) {
            return false;
        }
        layout_linalg(trial, problem);
        return !problem->of.linalg.empty;
    }
}
