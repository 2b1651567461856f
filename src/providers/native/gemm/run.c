/* run.c - runs planned products: stores what a plan needs, and passes each call to the kernels.
 *
 * A plan contains everything that follows from the problem; a call adds addresses and factors. A single small product
 * goes directly to its kernel. All other work is divided into units that threads take one after another: products of
 * the batch, or rectangles of C.
 */
#include "providers/native/address.h"
#include "choose.h"

#include <stdatomic.h>
#include <string.h>

typedef struct prepared {
    bp_prepared base; /* must be first, so that both structs have the same address */
    const bp_host *host;
    const bp__native_kernels *kernels;
    bp__native_run kernel; /* for paths other than PACKED */
    bp__native_view view;
    bool transposed, split_items;
    uint8_t alpha, beta;
    int threads, p_parts, q_parts, batch_ndim;
    int64_t batch;
    int64_t chunk;  /* units that a thread takes at a time, because the counter is shared */
    size_t scratch; /* bytes for each thread */
    int64_t shape[BP_MAX_BATCH_NDIM], step_v[BP_MAX_BATCH_NDIM], step_s[BP_MAX_BATCH_NDIM], step_c[BP_MAX_BATCH_NDIM];
} prepared;

/* State of one call. */
typedef struct call {
    const prepared *plan;
    bp__native_run kernel;
    bp__native_view view; /* of the first product */
    char *scratch;
    bp__native_prepacked prepacked;
    int64_t units;
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* Sets alpha or beta from its class. `scalars` may be NULL if the class determines the value. */
static inline void set_factor(double to[2], uint8_t class, const bp_scalar *scalars, int which) {
    to[0] = class == BP_FACTOR_ANY ? scalars[which].re : class == BP_FACTOR_ONE;
    to[1] = class == BP_FACTOR_ANY ? scalars[which].im : 0;
}

static inline bp__stop stop_of(const prepared *plan) {
    return (bp__stop){.host = plan->host, .op = BP_OP_GEMM};
}

static inline void begin(const prepared *plan, bp__native_view *view, const bp_operand *operands, const bp_exec *exec) {
    *view = plan->view;
    view->v = bp__native_address(&operands[plan->transposed]);
    view->s = bp__native_address(&operands[!plan->transposed]);
    view->c = bp__native_address(&operands[2]);
    set_factor(view->alpha, plan->alpha, exec->scalars, 0);
    set_factor(view->beta, plan->beta, exec->scalars, 1);
    if (!plan->kernels->complex) {
        view->alpha[1] = view->beta[1] = 0; /* ignored for real types */
    }
}

/* Returns the kernel to run. If alpha is 0, A and B are not read. */
static bp__native_run kernel_of(const prepared *plan, const bp__native_view *view) {
    return view->alpha[0] == 0 && view->alpha[1] == 0 ? plan->kernels->scale : plan->kernel;
}

static const char *advance(const void *base, int64_t elements, const prepared *plan) {
    return (const char *)base + elements * (int64_t)plan->kernels->element;
}

/* Sets `view` to product `item` of the batch. */
static void select_item(const call *work, int64_t item, bp__native_view *view) {
    const prepared *plan = work->plan;
    int64_t v = 0, s = 0, c = 0;
    for (int i = plan->batch_ndim - 1; i >= 0; i--) {
        int64_t index = item % plan->shape[i];
        item /= plan->shape[i];
        v += index * plan->step_v[i];
        s += index * plan->step_s[i];
        c += index * plan->step_c[i];
    }
    *view = work->view;
    view->v = advance(view->v, v, plan);
    view->s = advance(view->s, s, plan);
    view->c = (char *)view->c + c * (int64_t)plan->kernels->result;
}

/* Restricts a view to one rectangle of C. The rows of a rectangle are whole vectors. */
static void select_part(const prepared *plan, int p_part, int q_part, bp__native_view *view) {
    int64_t vectors = (view->p + plan->kernels->lanes - 1) / plan->kernels->lanes;
    int64_t p0 = vectors * p_part / plan->p_parts * plan->kernels->lanes;
    int64_t p1 = vectors * (p_part + 1) / plan->p_parts * plan->kernels->lanes;
    int64_t q0 = view->q * q_part / plan->q_parts, q1 = view->q * (q_part + 1) / plan->q_parts;
    view->p = (p1 < view->p ? p1 : view->p) - p0;
    view->q = q1 - q0;
    view->v = advance(view->v, p0 * view->v_p, plan);
    view->s = advance(view->s, q0 * view->s_q, plan);
    view->c = (char *)view->c + (p0 * view->c_p + q0 * view->c_q) * (int64_t)plan->kernels->result;
}

/* Computes units of work until none is left or the call is stopped. */
static void draw_units(void *context, int task) {
    call *work = context;
    const prepared *plan = work->plan;
    char *scratch = work->scratch ? work->scratch + (size_t)task * plan->scratch : NULL;
    const int parts = plan->p_parts * plan->q_parts;
    for (;;) {
        int64_t unit = atomic_fetch_add_explicit(&work->next, plan->chunk, memory_order_relaxed);
        if (unit >= work->units || bp__stops(&work->stop)) {
            return;
        }
        int64_t end = unit + plan->chunk < work->units ? unit + plan->chunk : work->units;
        for (; unit < end; unit++) {
            bp__native_view view;
            select_item(work, unit / parts, &view);
            if (parts > 1) {
                select_part(plan, (int)(unit % parts / plan->q_parts), (int)(unit % plan->q_parts), &view);
            }
            if (work->kernel) {
                work->kernel(&view, scratch);
            } else {
                bp__native_blocked(plan->kernels, &view, &work->prepacked, 1, scratch, &work->stop);
            }
        }
    }
}

/* ---- Packed operands ---- */

typedef struct packed {
    bp_packed base; /* must be first: dispatch uses this part */
    const bp_host *host;
    char *panels;
} packed;

static void destroy_packed(bp_packed *self) {
    packed *p = (packed *)self;
    p->host->release(p->panels);
    p->host->release(p);
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const prepared *plan = (const prepared *)self;
    const bool is_v = operand == (int)plan->transposed;
    bp__native_view view = plan->view;
    *(is_v ? &view.v : &view.s) = bp__native_address(source);
    const size_t bytes = bp__native_prepack_bytes(plan->kernels, &view, is_v);
    packed *p = plan->host->allocate(sizeof *p);
    char *panels = plan->host->allocate(bytes);
    if (!p || !panels) {
        plan->host->release(p);
        plan->host->release(panels);
        return plan->host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a packed operand", bytes);
    }
    bp__stop stop = stop_of(plan);
    bp__native_prepack(plan->kernels, &view, is_v, plan->split_items ? 1 : plan->threads, panels, &stop);
    *p = (packed){.base = {.struct_size = sizeof p->base, .size = bytes, .destroy = destroy_packed},
                  .host = plan->host,
                  .panels = panels};
    *result = &p->base;
    return bp__stop_status(&stop); /* the caller also destroys the result after a failure */
}

static inline bp__native_prepacked prepacked_of(const prepared *plan, const bp_exec *exec) {
    const bp_packed *const *given = exec->packed;
    const packed *v = given ? (const packed *)given[plan->transposed] : NULL;
    const packed *s = given ? (const packed *)given[!plan->transposed] : NULL;
    return (bp__native_prepacked){v ? v->panels : NULL, s ? s->panels : NULL};
}

/* Only operands that the whole batch shares can be packed beforehand, and only on the path PACKED. */
uint32_t bp__native_packs(const bp__native_choice *choice) {
    const uint32_t v = choice->transposed ? 2 : 1, s = 3 - v;
    return choice->path != BP__PATH_PACKED ? 0 : (choice->shares_v ? v : 0) | (choice->shares_s ? s : 0);
}

/* ---- Calls ---- */

/* Runs products that have a kernel, and packed products with one thread each. */
static bp_status run_units(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call work = {.plan = plan,
                 .scratch = plan->scratch > 0 ? bp_operand_address(&exec->workspace) : NULL,
                 .stop = stop_of(plan)};
    begin(plan, &work.view, operands, exec);
    work.prepacked = prepacked_of(plan, exec);
    work.kernel = kernel_of(plan, &work.view);
    work.units = plan->batch * plan->p_parts * plan->q_parts;
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, draw_units, &work);
    } else {
        draw_units(&work, 0);
    }
    return bp__stop_status(&work.stop);
}

/* Runs packed products one after another, with all threads on each. */
static bp_status run_blocked(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call work = {.plan = plan, .prepacked = prepacked_of(plan, exec), .stop = stop_of(plan)};
    begin(plan, &work.view, operands, exec);
    bp__native_run scale = kernel_of(plan, &work.view);
    char *scratch = bp_operand_address(&exec->workspace);
    for (int64_t item = 0; item < plan->batch && !bp__stops(&work.stop); item++) {
        bp__native_view view;
        select_item(&work, item, &view);
        if (scale) {
            scale(&view, scratch);
        } else {
            bp__native_blocked(plan->kernels, &view, &work.prepacked, plan->threads, scratch, &work.stop);
        }
    }
    return bp__stop_status(&work.stop);
}

/* Runs one product on one thread directly with its kernel. */
static bp_status run_single(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    bp__native_view view;
    begin(plan, &view, operands, exec);
    kernel_of(plan, &view)(&view, bp_operand_address(&exec->workspace));
    return BP_OK;
}

static bp_status run_nothing(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)self, (void)operands, (void)exec;
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

static bp__native_run kernel_for(const bp__native_kernels *kernels, bp__native_path path) {
    switch (path) {
    case BP__PATH_SCALE:
        return kernels->scale;
    case BP__PATH_TINY:
        return kernels->tiny;
    case BP__PATH_DOT:
        return kernels->dot;
    case BP__PATH_OUTER:
        return kernels->outer;
    case BP__PATH_GEMV:
        return kernels->gemv;
    case BP__PATH_SMALL:
        return kernels->small;
    case BP__PATH_NONE:
    case BP__PATH_PACKED:
    case BP__NATIVE_PATHS:
        break;
    }
    return NULL;
}

/* Returns the bytes that one thread packs into, rounded up to cache lines. */
static size_t scratch_for(const bp__native_choice *choice) {
    const bp__native_kernels *kernels = choice->kernels;
    const bp__native_view *view = &choice->view;
    const size_t line = 64;
    size_t elements = 0;
    if (choice->path == BP__PATH_PACKED) {
        return bp__native_blocked_scratch(kernels, view, choice->split_items ? 1 : choice->threads);
    }
    if (choice->path == BP__PATH_SMALL && bp__native_small_packs(choice)) {
        const int64_t k = view->k < kernels->k_block ? view->k : kernels->k_block;
        const int64_t q = view->q < kernels->s_columns ? view->q : kernels->s_columns;
        const int64_t panels = kernels->p_panel + (q + kernels->q_panel - 1) / kernels->q_panel * kernels->q_panel;
        elements = (size_t)panels * (size_t)(k + k % kernels->k_unit);
    } else if (choice->path == BP__PATH_OUTER && (view->v_p != 1 || kernels->complex || kernels->s_columns > 0)) {
        elements = ((size_t)view->p + (size_t)kernels->p_panel) * (size_t)kernels->k_unit;
    }
    return (elements * kernels->packed + line - 1) / line * line;
}

/* Returns the units that a thread takes at a time: enough that interrupt checks cost little, and so few that all
 * threads end together. */
static int64_t chunk_for(const bp__native_choice *choice, int64_t batch) {
    const bp__native_view *view = &choice->view;
    const int64_t parts = (int64_t)choice->p_parts * choice->q_parts;
    const double work = (double)view->p * (double)view->q * (double)(view->k + 1) / (double)parts;
    return bp__stop_chunk(work, batch * parts / (16 * (int64_t)choice->threads) + 1);
}

bp_status bp__native_prepare(const bp_host *host, const bp__native_choice *choice, const bp_gemm_problem *problem,
                             bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    const bool t = choice->transposed;
    plan->base.struct_size = sizeof plan->base;
    plan->base.destroy = destroy;
    plan->base.pack = pack;
    plan->host = host;
    plan->kernels = choice->kernels;
    plan->kernel = kernel_for(choice->kernels, choice->path);
    plan->view = choice->view;
    plan->transposed = t;
    plan->split_items = choice->split_items;
    plan->alpha = problem->alpha;
    plan->beta = problem->beta;
    plan->threads = choice->threads;
    plan->p_parts = choice->p_parts;
    plan->q_parts = choice->q_parts;
    plan->batch_ndim = problem->batch_ndim;
    plan->batch = problem->batch;
    plan->chunk = chunk_for(choice, problem->batch);
    plan->scratch = scratch_for(choice);
    for (int i = 0; i < problem->batch_ndim; i++) {
        plan->shape[i] = problem->batch_shape[i];
        plan->step_v[i] = t ? problem->batch_b[i] : problem->batch_a[i];
        plan->step_s[i] = t ? problem->batch_a[i] : problem->batch_b[i];
        plan->step_c[i] = problem->batch_c[i];
    }
    if (choice->path == BP__PATH_NONE) {
        plan->base.enqueue = run_nothing;
    } else if (choice->path == BP__PATH_PACKED && !choice->split_items) {
        plan->base.enqueue = run_blocked;
    } else if (choice->path != BP__PATH_PACKED && plan->batch == 1 && plan->p_parts * plan->q_parts == 1) {
        plan->base.enqueue = run_single;
    } else {
        plan->base.enqueue = run_units;
    }
    const bool all_share = plan->base.enqueue == run_blocked; /* its scratch size already covers all threads */
    plan->base.workspace = plan->scratch * (size_t)(all_share ? 1 : plan->threads);
    *result = &plan->base;
    return BP_OK;
}
