/* tile.c - computes tiles of elements: of any layout, or one after another, also by two functions at once.
 *
 * Two functions in one kernel save that the result of the first one is written and read. The kernels of a pair do the
 * steps of both, so that the bits are equal. */
#include "elementwise.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 2 /* of a function with buffers */ };

/* ---- Tiles of any layout ---- */

bool bp__element_is_direct(const bp__element_call *call, int operand, int64_t rows, int64_t columns,
                           const bp__element_layout *layout) {
    return call->set.direct[operand] && (columns == 1 || layout->column == 1) && (rows == 1 || layout->row == columns);
}

/* Returns the tile's elements of an input, in the type of the domain. */
static const void *values_of(const bp__element_call *call, int operand, int64_t rows, int64_t columns, char *at,
                             const bp__element_layout *layout, void *buffer) {
    if (bp__element_is_direct(call, operand, rows, columns, layout)) {
        return at;
    }
    if (call->set.direct[operand] && layout->row == 1 && llabs(layout->column) > 1) { /* transposed */
        call->host->copy_matrix((bp_dtype)call->type[operand], rows, columns, buffer, columns, 1, at, 1, layout->column,
                                0);
    } else {
        call->set.read[operand](rows, columns, at, layout->row, layout->column, buffer);
    }
    return buffer;
}

/* The results may take the place of the first input: the functions read each element before they write it. */
void bp__element_tile(const bp__element_call *call, int64_t rows, int64_t columns, char *const *at,
                      const bp__element_layout *layout) {
    _Alignas(64) char buffer[MOST_INPUTS][BP__ELEMENT_BUFFER];
    const int output = call->inputs;
    const bool direct = bp__element_is_direct(call, output, rows, columns, &layout[output]);
    const bool converts = !call->set.unary && !call->set.binary;
    void *y = direct ? (void *)at[output] : (void *)buffer[0];
    const void *x = values_of(call, 0, rows, columns, at[0], &layout[0], converts && direct ? y : buffer[0]);
    if (call->set.binary) {
        call->set.binary(rows * columns, x, values_of(call, 1, rows, columns, at[1], &layout[1], buffer[1]), y);
    } else if (call->set.unary) {
        call->set.unary(rows * columns, x, y, call->number);
    }
    const void *result = converts ? x : y;
    if (result != at[output]) {
        call->set.write(rows, columns, result, at[output], layout[output].row, layout[output].column);
    }
}

/* ---- Elements one after another ---- */

static void compute_unary(const bp_prepared *self, int64_t count, void *const *at) {
    const bp__element_call *call = (const bp__element_call *)self;
    call->set.unary(count, at[0], at[1], call->number);
}

static void compute_binary(const bp_prepared *self, int64_t count, void *const *at) {
    ((const bp__element_call *)self)->set.binary(count, at[0], at[1], at[2]);
}

static void compute_select(const bp_prepared *self, int64_t count, void *const *at) {
    static const int64_t rows[BP_ELEMENTWISE_OPERANDS], columns[] = {1, 1, 1, 1};
    char *const each[] = {at[0], at[1], at[2], at[3]};
    ((const bp__element_call *)self)->set.select(1, count, each, rows, columns);
}

static void copy_elements(const bp_prepared *self, int64_t count, void *const *at) {
    if (at[0] != at[1]) {
        memcpy(at[1], at[0], (size_t)(count * ((const bp__element_call *)self)->element[0]));
    }
}

/* Elements of other types than the domain's. */
static void convert_elements(const bp_prepared *self, int64_t count, void *const *at) {
    static const bp__element_layout layout[] = {{0, 1}, {0, 1}, {0, 1}};
    const bp__element_call *call = (const bp__element_call *)self;
    const int64_t most = BP__ELEMENT_BUFFER / (int64_t)call->set.number;
    char *each[] = {at[0], at[1], call->inputs > 1 ? at[2] : NULL};
    for (int64_t from = 0; from < count; from += most) {
        bp__element_tile(call, 1, bp__least(most, count - from), each, layout);
        for (int i = 0; i <= call->inputs; i++) {
            each[i] += most * call->element[i];
        }
    }
}

/* ---- Two functions ---- */

typedef struct joined {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp__element_pair pair;
    double number[2];
} joined;

static void compute_pair(const bp_prepared *self, int64_t count, void *const *at) {
    const joined *j = (const joined *)self;
    j->pair(count, at[0], at[1], at[2], at[3], j->number);
}

static void compute_then(const bp_prepared *self, int64_t count, void *const *at) {
    const joined *j = (const joined *)self;
    j->pair(count, at[0], at[1], NULL, at[2], j->number);
}

static void destroy_joined(bp_prepared *self) {
    ((joined *)self)->host->release(self);
}

/* Return the place of a function in the tables of pairs; -1: it has none. */
static int place_of_binary(uint32_t kind) {
    switch (kind) {
#define X(name, function)                                                                                              \
    case BP_BINARY_##name:                                                                                             \
        return BP__JOINED_##name;
        BP__JOINED_BINARY(X)
#undef X
    default:
        return -1;
    }
}

static int place_of_unary(uint32_t kind) {
    switch (kind) {
#define X(name, function)                                                                                              \
    case BP_UNARY_##name:                                                                                              \
        return BP__JOINED_##name;
        BP__JOINED_UNARY(X)
#undef X
    default:
        return -1;
    }
}

static bp__element_pair find_pair(const bp__element_call *f, const bp__element_call *g, int input) {
    const bp__element_kernels *kernels = f->set.kernels;
    const bool binary = g->base.elements == compute_binary;
    const int of_f = place_of_binary(f->kind), of_g = binary ? place_of_binary(g->kind) : place_of_unary(g->kind);
    if (g->set.kernels != kernels || g->set.domain != f->set.domain || of_f < 0 || of_g < 0) {
        return NULL;
    }
    return binary ? kernels->pair[f->set.domain][of_f][of_g][input] : kernels->then[f->set.domain][of_f][of_g];
}

static bp_status join(const bp_prepared *self, const bp_prepared *next, int input, bp_prepared **result) {
    const bp__element_call *f = (const bp__element_call *)self, *g = (const bp__element_call *)next;
    const bool known = next->elements == compute_binary || next->elements == compute_unary;
    const bp__element_pair pair = known ? find_pair(f, g, input) : NULL;
    *result = NULL;
    if (!pair) {
        return BP_OK;
    }
    joined *j = f->host->allocate(sizeof *j);
    if (!j) {
        return f->host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of two functions", sizeof *j);
    }
    *j = (joined){.base = {.struct_size = sizeof j->base,
                           .destroy = destroy_joined,
                           .elements = g->inputs == 2 ? compute_pair : compute_then,
                           .element_ns = f->base.element_ns + g->base.element_ns / 2},
                  .host = f->host,
                  .pair = pair,
                  .number = {g->number[0], g->number[1]}};
    *result = &j->base;
    return BP_OK;
}

/* ---- Calls ---- */

void bp__element_call_make(bp__element_call *call, const bp_host *host, const bp_problem *problem,
                           const bp__element_set *set) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    call->host = host;
    call->set = *set;
    call->kind = p->kind;
    call->inputs = problem->op == BP_OP_UNARY ? 1 : problem->op == BP_OP_WHERE ? 3 : 2;
    bool direct = set->unary || set->binary;
    for (int i = 0; i <= call->inputs; i++) {
        call->type[i] = p->type[i];
        call->element[i] = (int64_t)bp_dtype_size((bp_dtype)p->type[i]);
        direct &= set->select || set->direct[i];
    }
    memcpy(call->number, p->number, sizeof call->number);
    call->base.elements = set->select         ? compute_select
                          : !set->write       ? copy_elements
                          : !direct           ? convert_elements
                          : call->inputs == 1 ? compute_unary
                                              : compute_binary;
    call->base.element_ns = bp__element_work(host, problem);
    call->base.join = call->base.elements == compute_binary ? join : NULL;
}
