/* linalg.c - checks the results of linear algebra by the equations that they must satisfy.
 *
 * An equation such as A X = B is tested on random vectors v of 1 and -1: A (X v) - B v is computed in long double. Its
 * 2-norm is, on average, the Frobenius norm of A X - B, at the cost of a few matrix-vector products. It is divided by
 * |A| |X| + |B|, the Frobenius norms, because a backward stable algorithm has residuals of that size times the rounding
 * error.
 */
#include "reference/linalg.h"

#include "reference/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS 4                        /* per equation */
#define LEAST_ITEMS 8                    /* of a batch that are checked */
#define MOST_ELEMENTS (INT64_C(1) << 22) /* of all checked items of a larger batch */
#define MOST_FACTORS 5

typedef struct number {
    long double re, im;
} number;

typedef enum part {
    GENERAL,
    LOWER,
    UNIT_LOWER,
    UPPER,
    UNIT_UPPER,
    HERMITIAN_LOWER,
    HERMITIAN_UPPER,
    SYMMETRIC_LOWER,
    DIAGONAL,
    PIVOTS,
    LDL_LOWER, /* P1 L1 P2 L2 and so on: exchanges, and columns below blocks of one or two rows */
    LDL_BLOCKS /* these blocks */
} part;

/* One operand of the call: its values, and which of them count. */
typedef struct operand {
    const DLTensor *tensor;
    wide_tensor values; /* empty for pivots */
    int rank;           /* dimensions of an item: 2, or 1 for vectors */
} operand;

/* A matrix of one item. */
typedef struct matrix {
    part part;
    const double *data;
    int parts;
    int64_t rows, columns, row; /* row: distance between rows, in elements */
    const int32_t *pivots;
    int64_t pivot_stride, pivot_count;
    bool symmetric; /* LDL: the other triangle is not the conjugate, and ' is the transpose */
} matrix;

/* The equations of an operation. Each operand has a letter, in order; `.` is not used. ' is the conjugate transpose, I
 * the identity. L and U of lu_factor and lu_solve are the two parts of operand F, and so are L and D of ldl_factor and
 * ldl_solve. */
typedef struct rule {
    bp_op op;
    const char *letters, *equations, *right; /* `right`: X is on the left; NULL if that is no option */
} rule;

static const rule rules[] = {
    {BP_OP_INV, "AX", "A X = I", NULL},
    {BP_OP_SOLVE, "ABX", "A X = B", "X A = B"},
    {BP_OP_SOLVE_TRIANGULAR, "ABX", "A X = B", "X A = B"},
    {BP_OP_CHOLESKY, "AL", "L L' = A", NULL},
    {BP_OP_CHOLESKY_SOLVE, "BLX", "L L' X = B", NULL},
    {BP_OP_CHOLESKY_INVERSE, "LX", "L L' X = I", NULL},
    {BP_OP_LU_FACTOR, "AFP", "P L U = A", NULL},
    {BP_OP_LU, "APLU", "P L U = A", NULL},
    {BP_OP_LU_SOLVE, "FPBX", "P L U X = B", "X P L U = B"},
    {BP_OP_QR, "AQR", "Q R = A, Q' Q = I", NULL},
    {BP_OP_EIGH, "AWV", "A V = V W, V' V = I", NULL},
    {BP_OP_EIG, "AWV", "A V = V W", NULL},
    {BP_OP_SVD, "AUSV", "U S V = A, U' U = I, V V' = I", NULL},
    {BP_OP_LSTSQ, "ABX", "A' A X = A' B", NULL},
    {BP_OP_LDL_FACTOR, "AFP", "L D L' = A", NULL},
    {BP_OP_LDL_SOLVE, "FPBX", "L D L' X = B", NULL},
    {BP_OP_PINV, "AX", "X A X = X, A X A = A, A X = X' A', X A = A' X'", NULL},
};

/* The variants of these: the upper factor, R alone, the conjugate transpose of A, a tolerance that changes A. */
static const char *equations_of(const rule *r, const bp_linalg_call *call) {
    bool upper = call->upper != 0;
    switch ((int)r->op) {
    case BP_OP_CHOLESKY:
        return upper ? "L' L = A" : r->equations;
    case BP_OP_CHOLESKY_SOLVE:
        return upper ? "L' L X = B" : r->equations;
    case BP_OP_CHOLESKY_INVERSE:
        return upper ? "L' L X = I" : r->equations;
    case BP_OP_QR:
        return call->mode == BP_QR_R ? "R' R = A' A" : r->equations;
    case BP_OP_PINV:
        return call->rtol || call->atol ? "X A X = X, A X = X' A', X A = A' X'" : r->equations;
    case BP_OP_LSTSQ:
        return call->rtol ? NULL : r->equations;
    case BP_OP_LU_SOLVE:
        return !call->adjoint ? (call->right ? r->right : r->equations)
                              : (call->right ? "X U' L' P' = B" : "U' L' P' X = B");
    default:
        return call->right ? r->right : r->equations;
    }
}

/* ---- Matrices ---- */

static part part_of(const bp_linalg_call *call, char letter) {
    bool upper = call->upper != 0, unit = call->unitriangular != 0;
    if (letter == 'W' || letter == 'S') {
        return DIAGONAL;
    }
    if (call->op == BP_OP_SOLVE_TRIANGULAR && letter == 'A') {
        return upper ? (unit ? UNIT_UPPER : UPPER) : (unit ? UNIT_LOWER : LOWER);
    }
    if (letter == 'L' && (call->op == BP_OP_CHOLESKY_SOLVE || call->op == BP_OP_CHOLESKY_INVERSE)) {
        return upper ? UPPER : LOWER;
    }
    bool hermitian =
        call->op == BP_OP_CHOLESKY || call->op == BP_OP_EIGH || (call->op == BP_OP_PINV && call->hermitian);
    if (hermitian && letter == 'A') {
        return upper ? HERMITIAN_UPPER : HERMITIAN_LOWER;
    }
    if (call->op == BP_OP_LDL_FACTOR || call->op == BP_OP_LDL_SOLVE) {
        return letter == 'L'   ? LDL_LOWER
               : letter == 'D' ? LDL_BLOCKS
               : letter != 'A' ? GENERAL
                               : (call->hermitian ? HERMITIAN_LOWER : SYMMETRIC_LOWER);
    }
    if (call->op == BP_OP_LU_FACTOR || call->op == BP_OP_LU_SOLVE) {
        return letter == 'L' ? UNIT_LOWER : letter == 'U' ? UPPER : letter == 'P' ? PIVOTS : GENERAL;
    }
    return GENERAL;
}

static number stored_element(const matrix *m, int64_t at) {
    const double *e = m->data + at * m->parts;
    return (number){e[0], m->parts == 2 ? e[1] : 0};
}

static number value_of(const matrix *m, int64_t i, int64_t j) {
    const number zero = {0, 0}, one = {1, 0};
    bool lower = m->part == HERMITIAN_LOWER || m->part == SYMMETRIC_LOWER;
    bool mirrored = (lower && j > i) || (m->part == HERMITIAN_UPPER && j < i);
    number x;
    switch (m->part) {
    case DIAGONAL:
        return i == j ? stored_element(m, i) : zero;
    case LOWER:
    case UNIT_LOWER:
    case LDL_LOWER:
        return i == j && m->part != LOWER ? one : j <= i ? stored_element(m, i * m->row + j) : zero;
    case UPPER:
    case UNIT_UPPER:
        return i == j && m->part == UNIT_UPPER ? one : j >= i ? stored_element(m, i * m->row + j) : zero;
    case LDL_BLOCKS: /* at most these elements */
        return j == i || j + 1 == i ? stored_element(m, i * m->row + j) : zero;
    default:
        x = stored_element(m, mirrored ? j * m->row + i : i * m->row + j);
        if (m->part != SYMMETRIC_LOWER) {
            x.im = mirrored ? -x.im : i == j && m->part != GENERAL ? 0 : x.im;
        }
        return x;
    }
}

static void exchange_rows(const matrix *m, bool adjoint, number *x) {
    for (int64_t step = 0; step < m->pivot_count; step++) {
        int64_t i = adjoint ? step : m->pivot_count - 1 - step, other = m->pivots[i * m->pivot_stride] - 1;
        if (other >= 0 && other < m->rows) {
            number kept = x[i];
            x[i] = x[other];
            x[other] = kept;
        }
    }
}

static void add_product(number *sum, number a, number b) {
    sum->re += a.re * b.re - a.im * b.im;
    sum->im += a.re * b.im + a.im * b.re;
}

/* Multiplies x by the L of LDL, from its last block to its first; by L', in the other order. */
static void multiply_by_ldl_lower(const matrix *m, bool adjoint, number *x) {
    for (int64_t step = 0, size; step < m->rows; step += size) {
        int64_t edge = adjoint ? step : m->rows - 1 - step, pivot = m->pivots[edge * m->pivot_stride];
        size = pivot < 0 ? 2 : 1;
        int64_t first = adjoint ? edge : edge - size + 1, last = first + size - 1, other = llabs(pivot) - 1;
        if (first < 0 || last >= m->rows || other < 0 || other >= m->rows) {
            return; /* the products differ then */
        }
        number kept = x[last];
        x[last] = adjoint ? x[other] : kept;
        x[other] = adjoint ? kept : x[other];
        for (int64_t i = last + 1; i < m->rows; i++) {
            for (int64_t c = first; c <= last; c++) {
                number l = stored_element(m, i * m->row + c);
                l.im = adjoint && !m->symmetric ? -l.im : l.im;
                add_product(adjoint ? &x[c] : &x[i], l, adjoint ? x[i] : x[c]);
            }
        }
        kept = x[last];
        x[last] = adjoint ? kept : x[other];
        x[other] = adjoint ? x[other] : kept;
    }
}

/* Elements above the blocks, which must be zero, count too. */
static void multiply_by_ldl_blocks(const matrix *m, const number *x, number *y) {
    memset(y, 0, (size_t)m->rows * sizeof *y);
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = i + 1; j < m->rows; j++) {
            add_product(&y[i], stored_element(m, i * m->row + j), x[j]);
        }
    }
    for (int64_t i = 0; i < m->rows; i++) {
        bool pair = m->pivots[i * m->pivot_stride] < 0 && i + 1 < m->rows;
        add_product(&y[i], stored_element(m, i * (m->row + 1)), x[i]);
        if (pair) {
            number low = stored_element(m, (i + 1) * m->row + i), high = {low.re, m->symmetric ? low.im : -low.im};
            add_product(&y[i + 1], low, x[i]);
            add_product(&y[i], high, x[i + 1]);
            i++;
            add_product(&y[i], stored_element(m, i * (m->row + 1)), x[i]);
        }
    }
}

/* y = M x, or M' x. Diagonal matrices may be rectangular and have millions of zeros. */
static void multiply(const matrix *m, bool adjoint, const number *x, number *y) {
    if (m->part == PIVOTS) {
        memcpy(y, x, (size_t)m->rows * sizeof *y);
        exchange_rows(m, adjoint, y);
        return;
    }
    if (m->part == LDL_LOWER) {
        memcpy(y, x, (size_t)m->rows * sizeof *y);
        multiply_by_ldl_lower(m, adjoint, y);
        return;
    }
    if (m->part == LDL_BLOCKS) {
        multiply_by_ldl_blocks(m, x, y);
        return;
    }
    memset(y, 0, (size_t)(adjoint ? m->columns : m->rows) * sizeof *y);
    for (int64_t i = 0; i < m->rows; i++) {
        int64_t first = m->part == DIAGONAL ? i : 0;
        int64_t last = m->part != DIAGONAL ? m->columns : i < m->columns ? i + 1 : i;
        for (int64_t j = first; j < last; j++) {
            number a = value_of(m, i, j);
            a.im = adjoint ? -a.im : a.im;
            add_product(&y[adjoint ? j : i], a, x[adjoint ? i : j]);
        }
    }
}

static long double norm_of(const matrix *m) {
    if (m->part == PIVOTS) {
        return 1; /* an orthogonal matrix; its 2-norm makes the bound stricter */
    }
    long double sum = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        for (int64_t j = m->part == DIAGONAL ? i : 0; j < (m->part == DIAGONAL ? i + (i < m->columns) : m->columns);
             j++) {
            number x = value_of(m, i, j);
            sum += x.re * x.re + x.im * x.im;
        }
    }
    return sqrtl(sum);
}

/* ---- One equation on one item ---- */

typedef struct factor {
    matrix m;
    bool adjoint;
} factor;

/* A product of matrices; none is the identity. */
typedef struct product {
    factor factors[MOST_FACTORS];
    int count;
} product;

static long double product_norm(const product *p, int64_t size) {
    long double norm = 1;
    for (int i = 0; i < p->count; i++) {
        norm *= norm_of(&p->factors[i].m);
    }
    return p->count ? norm : sqrtl((long double)size);
}

/* Multiplies v by the factors, the last one first. Returns the buffer that has the result. */
static const number *apply(const product *p, const number *v, number *buffers[2]) {
    for (int i = p->count - 1, b = 0; i >= 0; i--, b = !b) {
        multiply(&p->factors[i].m, p->factors[i].adjoint, v, buffers[b]);
        v = buffers[b];
    }
    return v;
}

static int64_t width_of(const product *p) {
    const factor *last = &p->factors[p->count - 1];
    return last->adjoint ? last->m.rows : last->m.columns;
}

static int64_t height_of(const product *p) {
    const factor *first = &p->factors[0];
    return first->adjoint ? first->m.columns : first->m.rows;
}

/* Returns the residual of left = right, relative to the norms. `space` has five vectors of `most` elements. */
static double residual(const product *left, const product *right, number *space, int64_t most) {
    number *v = space, *buffers[2][2] = {{space + most, space + 2 * most}, {space + 3 * most, space + 4 * most}};
    int64_t width = width_of(left), height = height_of(left);
    long double scale = product_norm(left, width) + product_norm(right, width), worst = 0;
    uint64_t seed = 88172645463325252u;
    for (int k = 0; k < VECTORS; k++) {
        for (int64_t i = 0; i < width; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            v[i] = (number){seed >> 63 ? 1 : -1, 0};
        }
        const number *x = apply(left, v, buffers[0]), *y = apply(right, v, buffers[1]);
        long double sum = 0;
        for (int64_t i = 0; i < height; i++) {
            long double re = x[i].re - y[i].re, im = x[i].im - y[i].im;
            sum += re * re + im * im;
        }
        worst = !(sum <= worst) ? sum : worst; /* also if it is NaN */
    }
    if (worst == 0) {
        return 0;
    }
    return isfinite(worst) && scale > 0 ? (double)(sqrtl(worst) / scale) : HUGE_VAL;
}

/* ---- The operands ---- */

static int count_inputs(bp_op op) {
    const char *names = bp_op_inputs(op);
    int count = *names != '\0';
    for (; *names; names++) {
        count += *names == ',';
    }
    return count;
}

const DLTensor *reference_linalg_operand(const bp_linalg_call *call, int index) {
    const int inputs = count_inputs(call->op), output = index - inputs;
    return index < inputs ? call->input[index] : output < BP_LINALG_OUTPUTS ? call->output[output] : NULL;
}

static bool is_vector(const bp_linalg_call *call, char letter) {
    if (letter == 'W' || letter == 'S' || (letter == 'P' && call->op != BP_OP_LU)) {
        return true;
    }
    bool has = call->op == BP_OP_SOLVE || call->op == BP_OP_LSTSQ;
    const DLTensor *a = call->input[0], *b = call->input[1];
    if (!has || (letter != 'B' && letter != 'X')) {
        return false;
    }
    return b->ndim == 1 ||
           (b->ndim == a->ndim - 1 && memcmp(b->shape, a->shape, (size_t)b->ndim * sizeof *b->shape) == 0);
}

/* Returns the offset of an item in a compact tensor whose batch broadcasts to the batch of `whole`. */
static int64_t item_offset(const operand *o, const operand *whole, int64_t item, bool strided) {
    const DLTensor *t = o->tensor, *w = whole->tensor;
    int64_t offset = 0, stride = 1;
    for (int i = 0; i < o->rank; i++) {
        stride *= t->shape[t->ndim - 1 - i];
    }
    for (int i = t->ndim - o->rank - 1, j = w->ndim - whole->rank - 1; j >= 0; i--, j--) {
        int64_t at = item % w->shape[j];
        item /= w->shape[j];
        if (i >= 0) {
            offset += t->shape[i] == 1 ? 0 : at * (strided && t->strides ? t->strides[i] : stride);
            stride *= t->shape[i];
        }
    }
    return offset;
}

/* A call, its operands, and the batch of items. */
typedef struct call_check {
    const bp_linalg_call *call;
    const rule *rule;
    operand operands[BP_LINALG_OPERANDS];
    const operand *whole; /* the operand with the batch of all items */
} call_check;

/* Returns the operand with that letter; L and U may be parts of F. */
static const operand *operand_of(const call_check *c, char letter) {
    const char *at = strchr(c->rule->letters, letter);
    at = at ? at : strchr(c->rule->letters, 'F');
    return &c->operands[at - c->rule->letters];
}

static matrix pivots_of(const call_check *c, const operand *o, int64_t item) {
    const DLTensor *t = o->tensor, *factors = operand_of(c, 'F')->tensor;
    matrix m = {.part = PIVOTS, .rows = factors->shape[factors->ndim - 2]};
    m.columns = m.rows;
    m.pivots = (const int32_t *)((const char *)t->data + t->byte_offset) + item_offset(o, c->whole, item, true);
    m.pivot_stride = t->strides ? t->strides[t->ndim - 1] : 1;
    m.pivot_count = t->shape[t->ndim - 1];
    return m;
}

static matrix matrix_of(const call_check *c, char letter, int64_t item) {
    const operand *o = operand_of(c, letter);
    matrix m = {.part = part_of(c->call, letter), .parts = o->values.parts};
    if (m.part == PIVOTS) {
        return pivots_of(c, o, item);
    }
    const int64_t *shape = o->tensor->shape + o->tensor->ndim - o->rank;
    m.data = o->values.data + item_offset(o, c->whole, item, false) * m.parts;
    m.rows = shape[0];
    m.columns = o->rank == 2 ? shape[1] : 1;
    m.row = m.columns;
    if (o->rank == 1 && m.part != DIAGONAL && c->call->right) {
        m.columns = m.rows;
        m.rows = 1;
    }
    if (m.part == LDL_LOWER || m.part == LDL_BLOCKS) {
        const matrix pivots = pivots_of(c, operand_of(c, 'P'), item);
        m.pivots = pivots.pivots;
        m.pivot_stride = pivots.pivot_stride;
        m.symmetric = !c->call->hermitian;
    }
    bool packed = strchr(c->rule->letters, 'F') != NULL;
    int64_t least = m.rows < m.columns ? m.rows : m.columns;
    m.columns = packed && letter == 'L' ? least : m.columns;
    m.rows = packed && letter == 'U' ? least : m.rows;
    return m;
}

/* Reads one side of an equation. */
static product read_side(const call_check *c, const char *text, size_t length, int64_t item) {
    product p = {.count = 0};
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'') {
            p.factors[p.count - 1].adjoint = true;
        } else if (text[i] != ' ' && text[i] != 'I') {
            p.factors[p.count++].m = matrix_of(c, text[i], item);
        }
    }
    /* The values on a diagonal do not tell its size: S of a full decomposition is rectangular. */
    for (int i = 0; i < p.count; i++) {
        matrix *m = &p.factors[i].m;
        if (m->part == DIAGONAL) {
            m->columns = i + 1 < p.count ? p.factors[i + 1].m.rows : m->rows;
            m->rows = i > 0 ? p.factors[i - 1].m.columns : m->rows;
        }
    }
    return p;
}

static int64_t longest_side(const product *p) {
    int64_t most = 1;
    for (int i = 0; i < p->count; i++) {
        const matrix *m = &p->factors[i].m;
        most = m->rows > most ? m->rows : most;
        most = m->columns > most ? m->columns : most;
    }
    return most;
}

/* Checks all equations on one item. *error becomes the largest residual. */
static bp_status check_item(const call_check *c, int64_t item, double *error) {
    for (const char *at = equations_of(c->rule, c->call); *at;) {
        size_t length = strcspn(at, ","), left = strcspn(at, "=");
        product a = read_side(c, at, left, item), b = read_side(c, at + left + 1, length - left - 1, item);
        int64_t most = longest_side(&a) > longest_side(&b) ? longest_side(&a) : longest_side(&b);
        number *space = malloc(5 * (size_t)most * sizeof *space);
        if (!space) {
            return BP_E_NO_MEMORY;
        }
        double found = residual(&a, &b, space, most);
        *error = found > *error ? found : *error;
        free(space);
        at += length + (at[length] == ',');
    }
    return BP_OK;
}

/* ---- The check ---- */

static const rule *rule_of(const bp_linalg_call *call) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].op == call->op) {
            return &rules[i];
        }
    }
    return NULL;
}

/* Returns whether the call has all operands that the equations need: eigvalsh has no vectors, for instance. */
static bool is_complete(const rule *r, const bp_linalg_call *call) {
    const char *equations = equations_of(r, call);
    for (int i = 0; equations && r->letters[i]; i++) {
        bool needed = strchr(equations, r->letters[i]) || r->letters[i] == 'F';
        if (needed && !reference_linalg_operand(call, i)) {
            return false;
        }
    }
    return equations != NULL;
}

static bp_status read_operands(call_check *c) {
    bp_status status = BP_OK;
    int most = -1;
    for (int i = 0; status == BP_OK && c->rule->letters[i]; i++) {
        operand *o = &c->operands[i];
        o->tensor = reference_linalg_operand(c->call, i);
        if (!o->tensor) {
            continue;
        }
        o->rank = is_vector(c->call, c->rule->letters[i]) ? 1 : 2;
        if (o->tensor->dtype.code != kDLInt) {
            status = wide_make(&o->values, o->tensor, false);
        }
        if (o->tensor->ndim - o->rank > most || (o->tensor->ndim - o->rank == most && c->rule->letters[i] == 'X')) {
            most = o->tensor->ndim - o->rank;
            c->whole = o;
        }
    }
    return status;
}

static int64_t affordable_items(const operand *o) {
    int64_t elements = 1;
    for (int i = 0; i < o->rank; i++) {
        elements *= o->tensor->shape[o->tensor->ndim - 1 - i];
    }
    int64_t count = MOST_ELEMENTS / (elements > 0 ? elements : 1);
    return count > LEAST_ITEMS ? count : LEAST_ITEMS;
}

bp_status reference_linalg_error(const bp_linalg_call *call, double *error) {
    call_check c = {.call = call, .rule = rule_of(call)};
    int64_t items = 1;
    *error = 0;
    if (reference_linalg_is_spectrum(call)) {
        return reference_spectrum_error(call, error);
    }
    bp_status status = read_operands(&c);
    for (int i = 0; status == BP_OK && i < c.whole->tensor->ndim - c.whole->rank; i++) {
        items *= c.whole->tensor->shape[i];
    }
    int64_t count = status == BP_OK ? affordable_items(&c.operands[0]) : 0;
    count = count < items ? count : items;
    for (int64_t i = 0; status == BP_OK && i < count; i++) {
        status = check_item(&c, reference_pick(i, count, items), error);
    }
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        wide_free(&c.operands[i].values);
    }
    return status;
}

double reference_linalg_bound(const bp_linalg_call *call) {
    const rule *r = rule_of(call);
    const char *letters = r ? r->letters : "";
    int64_t most = 1;
    for (int i = 0; letters[i]; i++) {
        const DLTensor *t = reference_linalg_operand(call, i);
        const int rank = is_vector(call, letters[i]) ? 1 : 2;
        for (int d = t ? t->ndim - rank : 0; t && d < t->ndim; d++) {
            most = t->shape[d] > most ? t->shape[d] : most;
        }
    }
    /* 30 is the threshold of LAPACK's own tests for residuals in units of n times epsilon. */
    return 60 * (double)most * reference_unit(bp_dtype_from_dlpack(call->input[0]->dtype));
}

const char *reference_linalg_equations(const bp_linalg_call *call) {
    const rule *r = rule_of(call);
    return r && is_complete(r, call) ? equations_of(r, call) : NULL;
}

bool reference_linalg_is_spectrum(const bp_linalg_call *call) {
    const bool values = call->op == BP_OP_EIGH || call->op == BP_OP_EIG || call->op == BP_OP_SVD;
    return values && !reference_linalg_equations(call) && call->output[call->op == BP_OP_SVD ? 1 : 0];
}
