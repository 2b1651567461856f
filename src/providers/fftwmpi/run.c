/* run.c - runs plans: local checks, the agreement of the ranks, then FFTW's plan, with copies where the parts of the
 * program are not as FFTW needs them.
 *
 * FFTW needs contiguous and aligned parts, an output as large as the transposed array, and real rows with two numbers
 * more. It would destroy the input of a transform to real numbers. */
#include "providers/fftwmpi/fftwmpi.h"

/* How an operand lies in memory. An item of the divided dimension has `rows` of `length` numbers. In FFTW's memory
 * numbers are `step` apart, and rows `row`. */
typedef struct side {
    const bp_dist_view *view;
    bp_dtype dtype;
    int64_t rows, length, row, step;
    char *memory; /* that FFTW gets: the program's, or a copy */
} side;

typedef struct call {
    const bp__fftwmpi_plan *plan;
    const bp_host *host;
    side in, out;
    size_t bytes;    /* of FFTW's memory for one side */
    char *copies[2]; /* of the input and the output; NULL: none */
} call;

/* ---- Sides ---- */

static bp_dtype number_of(const bp__fftwmpi_transform *t, bool real) {
    return t->single ? (real ? BP_F32 : BP_C64) : real ? BP_F64 : BP_C128;
}

static size_t size_of(bp_dtype dtype) {
    return dtype == BP_F32 ? 4 : dtype == BP_C128 ? 16 : 8;
}

/* A side of complex numbers, or of real ones in the place of the real parts. */
static side complex_side(const bp__fftwmpi_transform *t, const bp_dist_view *view, bool real) {
    const int64_t rest = bp__fftwmpi_rest(t);
    return (side){.view = view,
                  .dtype = number_of(t, real),
                  .rows = 1,
                  .length = rest,
                  .row = real ? 2 * rest : rest,
                  .step = real ? 2 : 1};
}

/* A side of real rows with two numbers more, or one if they are odd. */
static side padded_side(const bp__fftwmpi_transform *t, const bp_dist_view *view) {
    const int64_t length = t->n[t->ndim - 1], half = length / 2 + 1;
    return (side){.view = view,
                  .dtype = number_of(t, true),
                  .rows = bp__fftwmpi_rest(t) / half,
                  .length = length,
                  .row = 2 * half,
                  .step = 1};
}

/* Whether FFTW can use the memory of the program. A part without elements has no address. */
static bool is_direct(const call *c, const side *s) {
    const bp_dist_view *view = s->view;
    return s->row == s->length && s->step == 1 && view->local && (view->columns <= 1 || view->leading == view->rows) &&
           ((uintptr_t)view->local & c->plan->library->misaligned) == 0;
}

/* Copies between the program's memory and FFTW's. */
static void copy(const call *c, const side *s, bool to_program) {
    const int64_t size = (int64_t)size_of(s->dtype);
    const bool gaps = s->view->leading != s->view->rows;
    const int64_t times = gaps ? s->view->columns : 1, rows = gaps ? s->rows : s->rows * s->view->columns;
    for (int64_t i = 0; i < times && s->view->rows > 0 && rows > 0; i++) {
        char *own = (char *)s->view->local + i * s->view->leading * size,
             *other = s->memory + i * s->rows * s->row * size;
        if (to_program) {
            c->host->copy_matrix(s->dtype, rows, s->length, own, s->length, 1, other, s->row, s->step, 0);
        } else {
            c->host->copy_matrix(s->dtype, rows, s->length, other, s->row, s->step, own, s->length, 1, 0);
        }
    }
}

static void scale(const call *c) {
    const bp_dist_view *view = c->out.view;
    bp__fftw_walk walk = {0};
    if (c->plan->scale != 1 && view->rows > 0 && view->columns > 0) {
        bp__fftw_walk_add(&walk, view->columns, view->leading, view->leading);
        bp__fftw_walk_add(&walk, view->rows, 1, 1);
        bp__fftw_walk_merge(&walk);
        bp__fftw_walk_scale(&walk, c->out.dtype, view->local, c->plan->scale);
    }
}

/* ---- Local checks ---- */

static bp_status check_view(const call *c, const bp_operand *operand, int i) {
    const bp_dist_view *view = operand->base;
    if (!view || operand->offset != 0 || view->struct_size != sizeof *view) {
        return c->host->fail(BP_E_ARGUMENT, "operand %d is not the tensor of a bp_dist_view", i);
    }
    return !view->local && view->rows > 0 && view->columns > 0
               ? c->host->fail(BP_E_ARGUMENT, "the local part of operand %d is NULL", i)
               : BP_OK;
}

/* Whether a view has the part of the transform's array that this rank has. */
static bool fits(const call *c, const side *s) {
    const bp__fftwmpi_transform *t = &c->plan->transform;
    return s->view->rows == s->rows * s->length &&
           s->view->columns == bp__fftwmpi_part(t->n[0], t->block, c->plan->place->rank);
}

static bool overlap(const side *a, const side *b) {
    const uintptr_t at_a = (uintptr_t)a->view->local, at_b = (uintptr_t)b->view->local;
    const uintptr_t size_a = (uintptr_t)(a->view->leading * a->view->columns) * size_of(a->dtype);
    const uintptr_t size_b = (uintptr_t)(b->view->leading * b->view->columns) * size_of(b->dtype);
    return at_a < at_b + size_b && at_b < at_a + size_a;
}

static bp_status check_operands(call *c, const bp_operand *operands) {
    const bp__fftwmpi_transform *t = &c->plan->transform;
    for (int i = 0; i < 2; i++) {
        const bp_status status = check_view(c, &operands[i], i);
        if (status != BP_OK) {
            return status;
        }
    }
    c->in = t->kind == BP_FFT_R2C ? padded_side(t, operands[0].base)
                                  : complex_side(t, operands[0].base, c->plan->real_input);
    c->out = t->kind == BP_FFT_C2R ? padded_side(t, operands[1].base) : complex_side(t, operands[1].base, false);
    if (!fits(c, &c->in) || !fits(c, &c->out)) {
        return c->host->fail(BP_E_LAYOUT, "operand %d is a part or another shape of a distributed array",
                             fits(c, &c->in) ? 1 : 0);
    }
    return !c->plan->in_place && overlap(&c->in, &c->out)
               ? c->host->fail(BP_E_OVERLAP, "the local part of operand 1, which is written, overlaps operand 0")
               : BP_OK;
}

/* ---- Memory ---- */

/* Returns the complex numbers that FFTW needs on this rank. */
static int64_t needed_elements(const bp__fftwmpi_plan *plan) {
    const bp__fftwmpi_transform *t = &plan->transform;
    ptrdiff_t n[BP_MAX_DIST_NDIM], own, start;
    memcpy(n, t->n, sizeof n);
    if (t->kind != BP_FFT_C2C) {
        n[t->ndim - 1] = t->n[t->ndim - 1] / 2 + 1;
    }
    return plan->library->mpi.local_size_many(t->ndim, n, 1, t->block, (intptr_t)plan->place->communicator, &own,
                                              &start);
}

static bp_status take_memory(call *c) {
    const bp__fftwmpi_plan *plan = c->plan;
    const int64_t own = bp__fftwmpi_rest(&plan->transform) * c->out.view->columns, needed = needed_elements(plan);
    const bool copies[2] = {plan->transform.kind == BP_FFT_C2R || !is_direct(c, &c->in),
                            plan->in_place || needed > own || !is_direct(c, &c->out)};
    side *sides[2] = {&c->in, &c->out};
    c->bytes = (size_t)needed * (plan->transform.single ? 8 : 16);
    for (int i = 0; i < 2; i++) {
        c->copies[i] = copies[i] ? c->host->allocate(c->bytes) : NULL;
        if (copies[i] && !c->copies[i]) {
            return c->host->fail(BP_E_NO_MEMORY, "fftw-mpi: no memory for %zu bytes of workspace", c->bytes);
        }
        sides[i]->memory = copies[i] ? c->copies[i] : sides[i]->view->local;
    }
    return BP_OK;
}

static bp_status prepare(call *c, const bp_operand *operands, bp__fftwmpi_kept **kept) {
    bp_status status = check_operands(c, operands);
    status = status == BP_OK ? take_memory(c) : status;
    *kept = status == BP_OK ? bp__fftwmpi_kept_of(c->plan->instance, c->plan->place) : NULL;
    if (status != BP_OK || !*kept) {
        return status != BP_OK ? status : c->host->fail(BP_E_NO_MEMORY, "fftw-mpi: no memory for a list of plans");
    }
    return bp__fftw_unusable(c->host)
               ? c->host->fail(BP_E_FORKED, "fftw-mpi: the planner of FFTW is in use by a process that was forked")
               : BP_OK;
}

/* ---- The run ---- */

/* FFTW 3.3.10 writes outside of its memory when it plans a transform of one element, which is a copy. */
static bool has_one_element(const bp__fftwmpi_transform *t) {
    return t->n[0] == 1 && bp__fftwmpi_rest(t) == 1 && t->n[t->ndim - 1] == 1;
}

static void copy_element(const call *c) {
    const size_t item = c->plan->transform.single ? 8 : 16,
                 known = c->plan->transform.kind == BP_FFT_R2C ? item / 2 : item;
    if (c->out.view->columns > 0) {
        memcpy(c->out.memory, c->in.memory, known);
        memset(c->out.memory + known, 0, item - known);
    }
}

/* `plan` is NULL for one element. */
static void execute(const call *c, bp__fftw_handle plan) {
    const bp__fftwmpi_api *mpi = &c->plan->library->mpi;
    const int kind = c->plan->transform.kind;
    if (c->copies[0]) {
        if (c->in.step > 1) {
            memset(c->copies[0], 0, c->bytes);
        }
        copy(c, &c->in, false);
    }
    if (!plan) {
        copy_element(c);
    } else {
        (kind == BP_FFT_R2C   ? mpi->execute_dft_r2c
         : kind == BP_FFT_C2R ? mpi->execute_dft_c2r
                              : mpi->execute_dft)(plan, c->in.memory, c->out.memory);
    }
    if (c->copies[1]) {
        copy(c, &c->out, true);
    }
    scale(c);
}

/* The ranks agree in runs of plans of the program too: one without memory would leave the others waiting in FFTW. */
bp_status bp__fftwmpi_run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const bp__fftwmpi_plan *plan = (const bp__fftwmpi_plan *)self;
    call c = {.plan = plan, .host = plan->instance->host};
    bp__fftwmpi_kept *kept = NULL;
    bp__fftw_handle made = NULL;
    int flag = 0;
    (void)exec;
    bp_status status = prepare(&c, operands, &kept);
    status = plan->place->agree(plan->place, status, &flag);
    if (status == BP_OK && !has_one_element(&plan->transform)) {
        status = bp__fftwmpi_plan_of(kept, plan->place, &plan->transform, &made);
    }
    if (status == BP_OK) {
        execute(&c, made);
    }
    c.host->release(c.copies[0]);
    c.host->release(c.copies[1]);
    return status;
}
