/* product.c - runs the matrix products of BLAS and CBLAS through Backplane, so that its settings and its choice hold.
 *
 * Wrong arguments are not reported here: the routine of the program's own library is called with them, and reports them
 * as it always does.
 */
#include "dropin/backplane.h"
#include "dropin/entry.h"

/* A product as BLAS describes it. Matrices are column-major, or row-major in CBLAS. */
typedef struct product {
    int type; /* SINGLE, ... */
    bool row_major;
    bool vector;
    bp_transform transform_a, transform_b;
    int64_t m, n, k;          /* of gemm; for gemv m and n are the sizes of A */
    int64_t ld_a, ld_b, ld_c; /* for gemv, ld_b and ld_c are increments */
    const void *a, *b;
    void *c;
    bp_scalar alpha, beta;
} product;

/* The routines are in the order of these types: four for gemm, four for gemv, and the same in CBLAS. */
enum { SINGLE, DOUBLE, COMPLEX, DOUBLE_COMPLEX, TYPES };
#define X(name, kind) +1
enum { PRODUCTS = 0 BP__DROPIN_SIZED_BLAS(X) };
#undef X
_Static_assert(PRODUCTS == 4 * TYPES, "product.c computes the type from the number of the routine");

static const struct {
    DLDataType dtype;
    int64_t size;
} types[TYPES] = {[SINGLE] = {{kDLFloat, 32, 1}, 4},
                  [DOUBLE] = {{kDLFloat, 64, 1}, 8},
                  [COMPLEX] = {{kDLComplex, 64, 1}, 8},
                  [DOUBLE_COMPLEX] = {{kDLComplex, 128, 1}, 16}};

static bool is_complex(const product *p) {
    return p->type >= COMPLEX;
}

/* ---- Arguments ---- */

/* Reads arguments of a C function in turn: integers and addresses from registers and then from the stack. */
typedef struct reader {
    const bp__dropin_frame *frame;
    bool wide;
    int integers, vectors;
} reader;

static uint64_t next_word(reader *r) {
    int at = r->integers++;
    return at < 6 ? r->frame->integers[at] : r->frame->stack[at - 6];
}

static int64_t next_integer(reader *r) {
    uint64_t word = next_word(r);
    return r->wide ? (int64_t)word : (int64_t)(int32_t)(uint32_t)word;
}

static void *next_address(reader *r) {
    return (void *)(uintptr_t)next_word(r);
}

static bp_scalar scalar_at(int type, const void *address) {
    bp_scalar value = {0, 0};
    switch (type) {
    case SINGLE:
        value.re = *(const float *)address;
        break;
    case DOUBLE:
        value.re = *(const double *)address;
        break;
    case COMPLEX:
        value.re = ((const float *)address)[0];
        value.im = ((const float *)address)[1];
        break;
    default:
        value.re = ((const double *)address)[0];
        value.im = ((const double *)address)[1];
        break;
    }
    return value;
}

/* A complex factor is passed by address, a real one in a vector register. */
static bp_scalar next_scalar(reader *r, int type) {
    return scalar_at(type, type >= COMPLEX ? next_address(r) : &r->frame->vectors[r->vectors++][0]);
}

static bool transform_of_letter(char letter, bp_transform *transform) {
    switch (letter) {
    case 'N':
    case 'n':
        *transform = BP_AS_IS;
        return true;
    case 'T':
    case 't':
        *transform = BP_TRANSPOSE;
        return true;
    case 'C':
    case 'c':
        *transform = BP_CONJUGATE_TRANSPOSE;
        return true;
    default:
        return false;
    }
}

static bool transform_of_number(int64_t number, bp_transform *transform) {
    static const bp_transform transforms[] = {BP_AS_IS, BP_TRANSPOSE, BP_CONJUGATE_TRANSPOSE, BP_CONJUGATE};
    enum { FIRST = 111 };
    if (number < FIRST || number > FIRST + 3) {
        return false;
    }
    *transform = transforms[number - FIRST];
    return true;
}

/* Factors and arrays may be NULL if there is nothing to compute. */
static bool is_empty(const product *p) {
    return p->m <= 0 || p->n <= 0 || p->k <= 0;
}

static bool read_fortran(product *p, const bp__dropin_frame *f, bool wide) {
    int at = 0;
    if (!transform_of_letter(*(const char *)bp__dropin_address(f, at++), &p->transform_a) ||
        (!p->vector && !transform_of_letter(*(const char *)bp__dropin_address(f, at++), &p->transform_b))) {
        return false;
    }
    p->m = bp__dropin_integer(bp__dropin_address(f, at++), wide);
    p->n = bp__dropin_integer(bp__dropin_address(f, at++), wide);
    p->k = p->vector ? 1 : bp__dropin_integer(bp__dropin_address(f, at++), wide);
    if (is_empty(p)) {
        return false;
    }
    p->alpha = scalar_at(p->type, bp__dropin_address(f, at++));
    p->a = bp__dropin_address(f, at++);
    p->ld_a = bp__dropin_integer(bp__dropin_address(f, at++), wide);
    p->b = bp__dropin_address(f, at++);
    p->ld_b = bp__dropin_integer(bp__dropin_address(f, at++), wide);
    p->beta = scalar_at(p->type, bp__dropin_address(f, at++));
    p->c = (void *)(uintptr_t)bp__dropin_address(f, at++);
    p->ld_c = bp__dropin_integer(bp__dropin_address(f, at), wide);
    return true;
}

static int64_t next_enumerator(reader *r) {
    return (int32_t)(uint32_t)next_word(r);
}

static bool read_c(product *p, const bp__dropin_frame *f, bool wide) {
    enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102 };
    reader r = {.frame = f, .wide = wide};
    int64_t order = next_enumerator(&r);
    p->row_major = order == ROW_MAJOR;
    if ((order != ROW_MAJOR && order != COLUMN_MAJOR) || !transform_of_number(next_enumerator(&r), &p->transform_a) ||
        (!p->vector && !transform_of_number(next_enumerator(&r), &p->transform_b))) {
        return false;
    }
    p->m = next_integer(&r);
    p->n = next_integer(&r);
    p->k = p->vector ? 1 : next_integer(&r);
    if (is_empty(p)) {
        return false;
    }
    p->alpha = next_scalar(&r, p->type);
    p->a = next_address(&r);
    p->ld_a = next_integer(&r);
    p->b = next_address(&r);
    p->ld_b = next_integer(&r);
    p->beta = next_scalar(&r, p->type);
    p->c = next_address(&r);
    p->ld_c = next_integer(&r);
    return true;
}

/* ---- Tensors ---- */

typedef struct matrix {
    DLTensor tensor;
    int64_t shape[2], strides[2];
} matrix;

static void describe_matrix(matrix *to, const product *p, const void *data, int64_t rows, int64_t columns, int64_t row,
                            int64_t column) {
    to->shape[0] = rows;
    to->shape[1] = columns;
    to->strides[0] = row;
    to->strides[1] = column;
    to->tensor = (DLTensor){.data = (void *)(uintptr_t)data,
                            .device = {kDLCPU, 0},
                            .ndim = 2,
                            .dtype = types[p->type].dtype,
                            .shape = to->shape,
                            .strides = to->strides};
}

/* A matrix of the caller. Returns false if its leading dimension is too small. */
static bool fill_matrix(matrix *to, const product *p, const void *data, int64_t rows, int64_t columns, int64_t ld) {
    int64_t least = p->row_major ? columns : rows;
    if (ld < (least > 1 ? least : 1)) {
        return false;
    }
    describe_matrix(to, p, data, rows, columns, p->row_major ? ld : 1, p->row_major ? 1 : ld);
    return true;
}

/* A vector of the caller as one column. With a negative increment, BLAS starts at the end. */
static bool fill_vector(matrix *to, const product *p, const void *data, int64_t length, int64_t step) {
    int64_t skip = 0;
    if (step == 0 || length > INT64_MAX / 32 ||
        (step < 0 && __builtin_mul_overflow((1 - length) * types[p->type].size, step, &skip))) {
        return false;
    }
    describe_matrix(to, p, (const char *)data + skip, length, 1, step, 1);
    return true;
}

static bool swaps(bp_transform transform) {
    return transform == BP_TRANSPOSE || transform == BP_CONJUGATE_TRANSPOSE;
}

static bool fill_all(const product *p, matrix *a, matrix *b, matrix *c) {
    bool swap = swaps(p->transform_a);
    if (p->vector) {
        return fill_matrix(a, p, p->a, p->m, p->n, p->ld_a) && fill_vector(b, p, p->b, swap ? p->m : p->n, p->ld_b) &&
               fill_vector(c, p, p->c, swap ? p->n : p->m, p->ld_c);
    }
    bool swap_b = swaps(p->transform_b);
    return fill_matrix(a, p, p->a, swap ? p->k : p->m, swap ? p->m : p->k, p->ld_a) &&
           fill_matrix(b, p, p->b, swap_b ? p->n : p->k, swap_b ? p->k : p->n, p->ld_b) &&
           fill_matrix(c, p, p->c, p->m, p->n, p->ld_c);
}

/* ---- The call ---- */

bool bp__dropin_is_product(int routine) {
    return (BP__DROPIN_LAUNCHED || BP__DROPIN_PART == BP__DROPIN_PART_BLAS) && routine < PRODUCTS;
}

/* BLAS has no way to return that the settings exclude every library, and the program needs a result. */
static void tell_refusal(const bp__dropin_api *api) {
    static bool told;
    if (!__atomic_exchange_n(&told, true, __ATOMIC_RELAXED)) {
        bp__dropin_say("backplane: a product runs without the settings, by the library below: %s\n",
                       api->bp_last_error());
    }
}

bool bp__dropin_product(const bp__dropin_slot *slot, const bp__dropin_frame *frame) {
    int routine = bp__dropin_routine(slot);
    product p; /* an initializer would clear all of it, which takes as long as the rest of this function */
    p.type = routine % TYPES;
    p.vector = routine / TYPES % 2 == 1;
    p.row_major = false;
    p.transform_b = BP_AS_IS;
    bool wide = bp__dropin_wide(slot);
    if (!(routine >= PRODUCTS / 2 ? read_c(&p, frame, wide) : read_fortran(&p, frame, wide)) ||
        (p.alpha.re == 0 && p.alpha.im == 0)) {
        return false;
    }
    matrix a, b, c;
    const bp__dropin_api *api = bp__dropin_backplane(NULL);
    if (!api || !fill_all(&p, &a, &b, &c)) {
        return false;
    }
    if (!is_complex(&p)) {
        p.transform_a = swaps(p.transform_a) ? BP_TRANSPOSE : BP_AS_IS;
        p.transform_b = swaps(p.transform_b) ? BP_TRANSPOSE : BP_AS_IS;
    }
    bp_status status = api->bp_gemm(p.transform_a, p.transform_b, &p.alpha, &a.tensor, &b.tensor, &p.beta, &c.tensor);
    if (status == BP_E_NO_CANDIDATE) {
        tell_refusal(api);
    }
    return status == BP_OK;
}
