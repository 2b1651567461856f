/* take.c - takes elements at given indices. All indices are checked before anything is written. */
#include "elementwise.h"

#include "providers/native/stop.h"

#include <inttypes.h>
#include <string.h>

enum { INPUT, INDICES, OUTPUT, OPERANDS };
enum { PIECE = 4096 }; /* columns of a unit, and indices that are checked at once */

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__element_loop loop;
    int threads;
    bool rows;                    /* all columns of a row have one index */
    int64_t element;              /* bytes */
    int64_t pieces, units, chunk; /* of a row; all; those that a thread takes at once */
    int64_t indices;              /* how many are checked */
} prepared;

typedef struct call {
    const prepared *plan;
    const char *input, *indices;
    char *output;
    _Atomic int64_t next;
    _Atomic int64_t wrong; /* the first index that is out of range; INT64_MAX: none */
    bp__stop stop;
} call;

static int64_t index_at(const call *w, int64_t offset) {
    return w->plan->problem.of.elementwise.type[INDICES] == BP_I32
               ? *(const int32_t *)(const void *)(w->indices + offset * (int64_t)sizeof(int32_t))
               : *(const int64_t *)(const void *)(w->indices + offset * (int64_t)sizeof(int64_t));
}

/* ---- Checks ---- */

/* Returns the offset of an index, counted in the order of the problem's dimensions. */
static int64_t place_of(const bp_elementwise_problem *p, int64_t number) {
    int64_t offset = 0;
    for (int d = p->first_index + p->index_ndim - 1; d >= p->first_index; d--) {
        offset += number % p->size[d] * p->stride[INDICES][d];
        number /= p->size[d];
    }
    return offset;
}

/* Returns whether one of `count` indices, `step` apart, is out of range. The loops have no branches, because wrong
 * indices are rare. */
#define ANY_WRONG(type)                                                                                                \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        wrong |= (uint64_t)((const type *)first)[i * step] >= size;                                                    \
    }

static bool any_wrong(const call *w, int64_t offset, int64_t count, int64_t step) {
    const uint64_t size = (uint64_t)w->plan->problem.of.elementwise.axis_size;
    const bool narrow = w->plan->problem.of.elementwise.type[INDICES] == BP_I32;
    const void *first = w->indices + offset * (int64_t)(narrow ? sizeof(int32_t) : sizeof(int64_t));
    bool wrong = false;
    if (narrow) {
        ANY_WRONG(int32_t)
    } else {
        ANY_WRONG(int64_t)
    }
    return wrong;
}

/* Returns the first of the indices from..to-1 that is out of range, or INT64_MAX. */
static int64_t first_wrong(const call *w, int64_t from, int64_t to) {
    const bp_elementwise_problem *p = &w->plan->problem.of.elementwise;
    const int last = p->first_index + p->index_ndim - 1;
    const int64_t length = p->index_ndim > 0 ? p->size[last] : 1,
                  step = p->index_ndim > 0 ? p->stride[INDICES][last] : 0;
    while (from < to) {
        const int64_t offset = place_of(p, from), end = bp__least(from - from % length + length, to);
        const bool wrong = any_wrong(w, offset, end - from, step);
        for (int64_t i = from; wrong && i < end; i++) {
            const int64_t index = index_at(w, offset + (i - from) * step);
            if (index < 0 || index >= p->axis_size) {
                return i;
            }
        }
        from = end;
    }
    return INT64_MAX;
}

static void check_indices(void *context, int task) {
    call *w = context;
    (void)task;
    for (;;) {
        const int64_t from = atomic_fetch_add_explicit(&w->next, PIECE, memory_order_relaxed);
        if (from >= w->plan->indices || from > atomic_load_explicit(&w->wrong, memory_order_relaxed) ||
            bp__stops(&w->stop)) {
            return;
        }
        const int64_t found = first_wrong(w, from, bp__least(from + PIECE, w->plan->indices));
        int64_t known = atomic_load_explicit(&w->wrong, memory_order_relaxed);
        while (found < known && !atomic_compare_exchange_weak_explicit(&w->wrong, &known, found, memory_order_relaxed,
                                                                       memory_order_relaxed)) {
        }
    }
}

/* ---- Elements ---- */

/* Copies elements that have an index of their own each. */
#define GATHER_BY(type, index_type)                                                                                    \
    for (int64_t j = 0; j < columns; j++) {                                                                            \
        ((type *)to)[j * out] = ((const type *)from)[j * in + ((const index_type *)indices)[j * step] * axis];         \
    }
#define GATHER(type)                                                                                                   \
    if (narrow) {                                                                                                      \
        GATHER_BY(type, int32_t)                                                                                       \
    } else {                                                                                                           \
        GATHER_BY(type, int64_t)                                                                                       \
    }

typedef struct wide {
    uint64_t part[2];
} wide;

static void gather_row(const call *w, int64_t columns, const void *from, int64_t index, void *to) {
    const bp__element_loop *loop = &w->plan->loop;
    const int last = loop->ndim - 1;
    const int64_t in = loop->stride[INPUT][last], step = loop->stride[INDICES][last], out = loop->stride[OUTPUT][last],
                  axis = w->plan->problem.of.elementwise.axis;
    const bool narrow = w->plan->problem.of.elementwise.type[INDICES] == BP_I32;
    const void *indices = w->indices + index * (int64_t)(narrow ? sizeof(int32_t) : sizeof(int64_t));
    switch (w->plan->element) {
    case 1:
        GATHER(uint8_t)
        break;
    case 2:
        GATHER(uint16_t)
        break;
    case 4:
        GATHER(uint32_t)
        break;
    case 8:
        GATHER(uint64_t)
        break;
    default:
        GATHER(wide)
    }
}

/* Copies the columns of a row, which have one index. */
static void copy_row(const prepared *plan, int64_t columns, const char *from, char *to) {
    const int64_t in = plan->loop.stride[INPUT][plan->loop.ndim - 1],
                  out = plan->loop.stride[OUTPUT][plan->loop.ndim - 1];
    if (in == 1 && out == 1) {
        memcpy(to, from, (size_t)(columns * plan->element));
    } else {
        plan->host->copy_matrix((bp_dtype)plan->problem.dtype, 1, columns, to, 0, out, from, 0, in, 0);
    }
}

static void take_unit(const call *w, int64_t unit) {
    const prepared *plan = w->plan;
    const bp__element_loop *loop = &plan->loop;
    const int last = loop->ndim - 1;
    int64_t at[OPERANDS], column = unit % plan->pieces * PIECE, row = unit / plan->pieces;
    for (int i = 0; i < OPERANDS; i++) {
        at[i] = column * loop->stride[i][last];
    }
    for (int d = last - 1; d >= 0; d--) {
        for (int i = 0; i < OPERANDS; i++) {
            at[i] += row % loop->size[d] * loop->stride[i][d];
        }
        row /= loop->size[d];
    }
    const int64_t columns = bp__least(PIECE, loop->size[last] - column);
    char *to = w->output + at[OUTPUT] * plan->element;
    const char *from = w->input + at[INPUT] * plan->element;
    if (plan->rows) {
        const int64_t slice = index_at(w, at[INDICES]) * plan->problem.of.elementwise.axis;
        copy_row(plan, columns, from + slice * plan->element, to);
    } else {
        gather_row(w, columns, from, at[INDICES], to);
    }
}

static void take_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    (void)task;
    for (;;) {
        const int64_t from = atomic_fetch_add_explicit(&w->next, plan->chunk, memory_order_relaxed);
        if (from >= plan->units || bp__stops(&w->stop)) {
            return;
        }
        for (int64_t i = from; i < bp__least(from + plan->chunk, plan->units); i++) {
            take_unit(w, i);
        }
    }
}

/* ---- Plans ---- */

static void run_stage(call *w, bp_task stage, int threads) {
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    if (threads > 1) {
        w->plan->host->parallel(threads, threads, stage, w);
    } else {
        stage(w, 0);
    }
}

static bp_status run_take(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    const bp_elementwise_problem *p = &plan->problem.of.elementwise;
    call w = {.plan = plan,
              .input = bp_operand_address(&operands[INPUT]),
              .indices = bp_operand_address(&operands[INDICES]),
              .output = bp_operand_address(&operands[OUTPUT]),
              .wrong = INT64_MAX,
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    (void)exec;
    if (plan->units == 0) {
        return BP_OK;
    }
    run_stage(&w, check_indices, plan->indices < 4 * PIECE ? 1 : plan->threads);
    if (w.wrong != INT64_MAX && p->axis_size == 0 && !bp__stopped(&w.stop)) {
        return plan->host->fail(BP_E_ARGUMENT, "%s: the axis has size 0, so there must be no indices",
                                plan->problem.op == BP_OP_TAKE ? "take" : "gather");
    }
    if (w.wrong != INT64_MAX && !bp__stopped(&w.stop)) {
        return plan->host->fail(BP_E_ARGUMENT,
                                "%s: index number %" PRId64 " (counted from 0 in row-major order) is %" PRId64
                                "; the axis has size %" PRId64 ", so it must be from 0 to %" PRId64,
                                plan->problem.op == BP_OP_TAKE ? "take" : "gather", (int64_t)w.wrong,
                                index_at(&w, place_of(p, w.wrong)), p->axis_size, p->axis_size - 1);
    }
    if (!bp__stopped(&w.stop)) {
        run_stage(&w, take_units, plan->threads);
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

static void cut(prepared *plan) {
    const bp_elementwise_problem *p = &plan->problem.of.elementwise;
    bp__element_loop_make(&plan->loop, p, OPERANDS);
    const int last = plan->loop.ndim - 1;
    plan->rows = plan->loop.stride[INDICES][last] == 0;
    plan->pieces = (plan->loop.size[last] + PIECE - 1) / PIECE;
    plan->units = plan->pieces;
    for (int d = 0; d < last; d++) {
        plan->units *= plan->loop.size[d];
    }
    plan->indices = 1;
    for (int d = p->first_index; d < p->first_index + p->index_ndim; d++) {
        plan->indices *= p->size[d];
    }
    const int64_t most = (1 << 17) / bp__least(PIECE, plan->loop.size[last] + 1) + 1;
    plan->chunk = bp__least(plan->units / (4 * plan->threads) + 1, most);
}

bp_status bp__element_take_plan(const bp_host *host, const bp_problem *problem, int threads, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_take, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->threads = threads;
    plan->element = (int64_t)bp_dtype_size((bp_dtype)problem->dtype);
    cut(plan);
    *result = &plan->base;
    return BP_OK;
}
