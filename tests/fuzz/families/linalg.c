/* linalg.c - random calls of linear algebra, and of products of vectors, chains and powers. */
#include "ops/linalg/linalg.h" /* before trial.h, whose type `operand` is a name of arguments there */
#include "trial.h"

#include "reference/linalg.h"

static struct {
    bp_linalg_call call;
    int dims[3];
    double tolerance;
} p;

static const bp_dtype types[] = {BP_F32, BP_F64, BP_C64, BP_C128};

/* Shapes of the inputs, as in the table of src/ops/linalg. */
static const struct {
    bp_op op;
    const char *input[3]; /* sizes by letters; NULL: none */
    int outputs;
    unsigned not_unique; /* bit i: output i is not unique, or may be computed from a result that is not */
} shapes[] = {
    {BP_OP_INV, {"nn"}, 2, 0},
    {BP_OP_CHOLESKY, {"nn"}, 2, 0},
    {BP_OP_CHOLESKY_SOLVE, {"nr", "nn"}, 1, 0},
    {BP_OP_CHOLESKY_INVERSE, {"nn"}, 2, 0},
    {BP_OP_LU_FACTOR, {"mn"}, 3, 3},
    {BP_OP_LU, {"mn"}, 3, 7},
    {BP_OP_LU_SOLVE, {"nn", "p", "nr"}, 1, 0},
    {BP_OP_SOLVE, {"nn", "nr"}, 2, 0},
    {BP_OP_LDL_FACTOR, {"nn"}, 3, 0},
    {BP_OP_LDL_SOLVE, {"nn", "p", "nr"}, 1, 0},
    {BP_OP_SOLVE_TRIANGULAR, {"nn", "nr"}, 1, 0},
    {BP_OP_QR, {"mn"}, 2, 3},
    {BP_OP_EIGH, {"nn"}, 2, 2},
    {BP_OP_EIG, {"nn"}, 2, 3},
    {BP_OP_SVD, {"mn"}, 3, 5},
    {BP_OP_LSTSQ, {"mn", "mr"}, 4, 2},
    {BP_OP_DET, {"nn"}, 1, 0},
    {BP_OP_SLOGDET, {"nn"}, 2, 0},
    {BP_OP_PINV, {"mn"}, 1, 0},
    {BP_OP_MATRIX_RANK, {"mn"}, 1, 0},
    {BP_OP_COND, {"mn"}, 1, 1},
    {BP_OP_MATRIX_NORM, {"mn"}, 1, 0},
    {BP_OP_VECTOR_NORM, {"mn"}, 1, 0},
};

static int64_t size_of(char letter, const int64_t *m, const int64_t *n, const int64_t *r) {
    return letter == 'm' ? *m : letter == 'r' ? *r : *n;
}

static void draw_fields(source *s) {
    bp_linalg_call *c = &p.call;
    const bp_op op = c->op;
    static const double orders[] = {1, -1, 2, -2, INFINITY, -INFINITY};
    const bool right = op == BP_OP_SOLVE || op == BP_OP_LU_SOLVE || op == BP_OP_SOLVE_TRIANGULAR;
    const bool upper = op == BP_OP_CHOLESKY || op == BP_OP_CHOLESKY_SOLVE || op == BP_OP_CHOLESKY_INVERSE ||
                       op == BP_OP_SOLVE_TRIANGULAR || op == BP_OP_EIGH;
    c->right = right ? draw(s, 2) : (int)draw_wild(s, 0);
    c->upper = upper ? draw(s, 2) : (int)draw_wild(s, 0);
    c->adjoint = op == BP_OP_LU_SOLVE ? draw(s, 2) : (int)draw_wild(s, 0);
    c->hermitian = op == BP_OP_LDL_FACTOR || op == BP_OP_LDL_SOLVE ? draw(s, 2) : (int)draw_wild(s, 0);
    c->unitriangular = op == BP_OP_SOLVE_TRIANGULAR ? draw(s, 2) : (int)draw_wild(s, 0);
    c->mode = op == BP_OP_QR                                ? (bp_linalg_mode)(BP_QR_REDUCED + draw(s, 3))
              : op == BP_OP_SVD                             ? (bp_linalg_mode)(BP_SVD_REDUCED + draw(s, 2))
              : op == BP_OP_LSTSQ                           ? (bp_linalg_mode)(BP_LSTSQ_GELSY + draw(s, 4))
              : op == BP_OP_MATRIX_NORM || op == BP_OP_COND ? (bp_linalg_mode)(BP_NORM_FRO + draw(s, 3))
              : op == BP_OP_VECTOR_NORM                     ? BP_NORM_P
                                                            : (bp_linalg_mode)draw_wild(s, BP_MODE_DEFAULT);
    c->order = c->mode == BP_NORM_P ? orders[draw(s, 6)] : 0;
}

/* Absent are outputs that a mode does not have, and optional ones at random. */
static bool is_absent(source *s, const bp_linalg_call *c, int output) {
    const bool q = c->op == BP_OP_QR && c->mode == BP_QR_R && output == 0;
    const bool info =
        (c->op == BP_OP_INV || c->op == BP_OP_CHOLESKY || c->op == BP_OP_CHOLESKY_INVERSE || c->op == BP_OP_SOLVE) &&
        output == 1;
    const bool vectors = (c->op == BP_OP_EIGH || c->op == BP_OP_EIG) && output == 1;
    const bool rank = c->op == BP_OP_LSTSQ && output == 2, values = c->op == BP_OP_LSTSQ && output == 3;
    if (q || (rank && c->mode == BP_LSTSQ_GELS) ||
        (values && (c->mode == BP_LSTSQ_GELS || c->mode == BP_LSTSQ_GELSY))) {
        return true;
    }
    return (info || vectors || rank || values ||
            ((c->op == BP_OP_LU_FACTOR || c->op == BP_OP_LDL_FACTOR) && output == 2) ||
            (c->op == BP_OP_LSTSQ && output == 1)) &&
           draw(s, 2);
}

static bool solves(bp_op op) {
    return op == BP_OP_SOLVE || op == BP_OP_SOLVE_TRIANGULAR || op == BP_OP_CHOLESKY_SOLVE || op == BP_OP_LU_SOLVE ||
           op == BP_OP_LDL_SOLVE || op == BP_OP_INV || op == BP_OP_CHOLESKY_INVERSE;
}

static void add_outputs(trial *t, int inputs, int outputs, unsigned not_unique) {
    static const char *const names[] = {"output 0", "output 1", "output 2", "output 3"};
    bp_linalg_call c = p.call;
    DLTensor x[3];
    for (int i = 0; i < inputs; i++) {
        x[i] = t->operand[i].tensor;
        x[i].shape = t->operand[i].shape;
        c.input[i] = &x[i];
    }
    for (int i = 0; i < outputs; i++) {
        int64_t shape[BP_MAX_NDIM];
        bp_dtype type;
        int ndim;
        if (is_absent(&t->source, &c, i)) {
            add_absent(t);
        } else if (bp_linalg_shape(&c, i, &type, &ndim, shape) != BP_OK) {
            t->invalid = true;
            return;
        } else {
            const bool whole = !is_float(component_type(type));
            add_output(t, names[i], type, ndim, shape,
                       not_unique >> i & 1 ? -1
                       : whole             ? 0
                                           : 4096)
                ->overflows = solves(c.op);
        }
    }
}

static void make(trial *t) {
    static const char *const names[] = {"input 0", "input 1", "input 2"};
    source *s = &t->source;
    const int at = draw(s, BP__COUNT(shapes)), batch = draw(s, 3);
    const bp_dtype type = draw_type(s, 4, types);
    int64_t shape[BP_MAX_NDIM];
    p.call = (bp_linalg_call){.struct_size = sizeof p.call, .op = shapes[at].op};
    draw_fields(s);
    for (int d = 0; d < batch; d++) {
        shape[d] = draw_size(s, 4);
    }
    const int64_t n = draw_size(s, 12), m = draw_size(s, 12), r = draw_size(s, 6);
    int inputs = 0;
    for (; inputs < 3 && shapes[at].input[inputs]; inputs++) {
        const char *letters = shapes[at].input[inputs];
        const int rank = (int)strlen(letters);
        const bool swapped = p.call.right && letters[1] == 'r';
        for (int d = 0; d < rank; d++) {
            const char letter = letters[swapped ? rank - 1 - d : d];
            shape[batch + d] = size_of(letter, &m, &n, &r);
        }
        operand *o = add(t, names[inputs], letters[0] == 'p' ? BP_I32 : type, batch + rank, shape);
        o->content = letters[0] == 'p' ? PIVOTS : letters[1] == 'r' ? INTEGERS : DOMINANT;
        o->limit = n > 0 ? n : 1;
    }
    add_outputs(t, inputs, shapes[at].outputs, shapes[at].not_unique);
    t->item_errors = true;
    describe(t, "%s mode %d upper %d right %d adjoint %d unit %d order %g", bp_op_name(p.call.op), (int)p.call.mode,
             p.call.upper, p.call.right, p.call.adjoint, p.call.unitriangular, p.call.order);
}

static bp_status call(const trial *t, request what, const bp_options *set, void *made) {
    bp_linalg_call c = p.call;
    for (int i = 0; i < t->count; i++) {
        bp__linalg_set(&c, i, t->tensor[i]);
    }
    /* Plans and explanations are asked for by name (calls.h). */
    if (what == RESIDUAL) {
        double *residual = made;
        residual[1] = reference_linalg_bound(&c);
        /* Pivots are drawn, and pivots of ldl_solve need not be such as a factorization gives. */
        const bool known = reference_linalg_equations(&c) || reference_linalg_is_spectrum(&c);
        return known && c.op != BP_OP_LDL_SOLVE ? reference_linalg_error(&c, residual) : BP_E_UNSUPPORTED;
    }
    return what == RUN ? bp_linalg_run(set, &c) : request_described(t, what, bp_op_name(c.op), &c, set, made);
}

const family family_linalg = {"linalg", "linalg.preferred", make, call, NULL, false};
