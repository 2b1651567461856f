/* attention.c - offers and plans attention. */
#include "providers/attention/keys.h"
#include "providers/kernels/families.h"

#include <string.h>

BP__KERNEL_SOURCE(attention);

enum { DIMS = 12, MOST_PANELS = 4, KEYS = 48, VECTORS = 2 };

/* The operands of the call, and the order of the kernels' tensors. */
enum { QUERY, KEY, VALUE, MASK, SEED, OUTPUT, LOGSUMEXP };
static const int tensors[] = {QUERY, KEY, VALUE, MASK, OUTPUT, LOGSUMEXP};
enum { TENSORS = sizeof tensors / sizeof tensors[0] };
enum { NO_MASK, BOOL_MASK, F32_MASK, OWN_MASK };

typedef enum algorithm { PANELS, TILES } algorithm;

/* The structs of the same names in sources/attention.cl. */
typedef struct layout {
    int64_t row, column, head;
    int64_t item[DIMS];
} layout;

typedef struct attention {
    int64_t queries, keys, size, value_size;
    int64_t rows, blocks, units;
    int64_t slot, key_at, value_at, sum_at;
    uint64_t limit;
    int64_t seed_column;
    int32_t ndim, causal, mask, drops, panels, reserved;
    int64_t shape[DIMS];
    layout of[TENSORS];
} attention;

typedef struct limits {
    int64_t left, right, origin;
} limits;

/* How tiles are cut, with the names of the kernel's macros: a group of side x side work items takes side x rows rows
 * and spans x side x RUN columns of the values. */
enum { RUN = 4, PADDING = 4 };
typedef struct tiling {
    int side, rows, deep, spans;
} tiling;

/* The kernel's parameters, and how many work items or groups there are. */
typedef struct job {
    attention parameters;
    tiling tiling;
    int64_t lanes;   /* rows of a panel, or of a group */
    int64_t workers; /* panels: work items; tiles: groups */
    int64_t bytes;   /* panels: of the workspace */
    int64_t real;    /* bytes of a number */
    double keys;     /* that a query sees, for costs */
    double softcap;
    bool limited;
    limits limits; /* if it is limited */
} job;

/* ---- The problem ---- */

/* The last dimension of the batch becomes rows, if it consists of heads that share a key and a value. */
static bool shares_keys(const bp_attention_problem *p) {
    const int last = p->batch_ndim - 1;
    return last >= 0 && p->tensor[BP_ATTENTION_KEY].batch[last] == 0 && p->tensor[BP_ATTENTION_VALUE].batch[last] == 0;
}

static void set_layouts(attention *a, const bp_attention_problem *p, bool shared) {
    for (int i = 0; i < TENSORS; i++) {
        const bp_attention_layout *from = &p->tensor[tensors[i]];
        a->of[i] = (layout){.row = from->row, .column = from->column};
        memcpy(a->of[i].item, from->batch, (size_t)a->ndim * sizeof(int64_t));
        if (shared) {
            a->of[i].head = from->batch[a->ndim];
        }
    }
    memcpy(a->shape, p->batch_shape, (size_t)a->ndim * sizeof(int64_t));
}

static int mask_of(const bp_problem *problem) {
    const uint32_t dtype = problem->of.attention.tensor[BP_ATTENTION_MASK].dtype;
    return !dtype ? NO_MASK : dtype == BP_BOOL ? BOOL_MASK : dtype == problem->dtype ? OWN_MASK : F32_MASK;
}

/* Returns false if there are too many dimensions, or elements. */
static bool begin(job *j, const bp_problem *problem) {
    const bp_attention_problem *p = &problem->of.attention;
    const bool shared = shares_keys(p);
    const double words = 4294967296.0;
    attention *a = &j->parameters;
    memset(j, 0, sizeof *j);
    *a = (attention){.queries = p->queries,
                     .keys = p->keys,
                     .size = p->size,
                     .value_size = p->value_size,
                     .rows = p->queries,
                     .limit = (uint64_t)(p->dropout * words),
                     .seed_column = p->tensor[BP_ATTENTION_SEED].column,
                     .ndim = p->batch_ndim - shared,
                     .causal = p->causal,
                     .mask = mask_of(problem),
                     .drops = p->dropout > 0};
    j->real = problem->dtype == BP_F64 ? 8 : 4;
    j->keys = bp__attention_mean_seen(p, KEYS);
    j->softcap = p->softcap;
    j->limited = bp__attention_has_window(p) || p->lower_right;
    j->limits = (limits){p->window_left, p->window_right, bp__attention_position(p, 0, p->keys)};
    if (a->ndim > DIMS || (shared && !bp__kernel_multiply(&a->rows, p->batch_shape[p->batch_ndim - 1]))) {
        return false;
    }
    a->units = 1;
    for (int d = 0; d < a->ndim; d++) {
        if (!bp__kernel_multiply(&a->units, p->batch_shape[d])) {
            return false;
        }
    }
    set_layouts(a, p, shared);
    return true;
}

static bool cut_rows(job *j, int64_t block) {
    j->parameters.blocks = bp__kernel_divide_up(j->parameters.rows, block);
    return bp__kernel_multiply(&j->parameters.units, j->parameters.blocks);
}

static int64_t width_of(const bp_device_info *facts, int64_t real) {
    const int64_t bytes = facts->vector_bytes >= 16 ? bp__least(facts->vector_bytes, 64) : 16;
    return bp__most(bytes / real, 2);
}

/* A work item takes several panels at once, if there are enough for all cores. */
static bool cut_panels(job *j, const bp_device_info *facts) {
    attention *a = &j->parameters;
    const int64_t units = facts->units ? facts->units : 1;
    j->lanes = width_of(facts, j->real) * VECTORS;
    const int64_t panels = bp__most(bp__kernel_divide_up(a->rows, j->lanes), 1); /* of no rows, too */
    int64_t most = bp__least(MOST_PANELS, panels);
    while (most > 1 && a->units * bp__kernel_divide_up(panels, most) < 4 * units) {
        most /= 2;
    }
    a->panels = (int32_t)most;
    if (!cut_rows(j, most * j->lanes)) {
        return false;
    }
    /* A slot is a multiple of 64 bytes, so that vectors are aligned, and so are its parts of whole vectors. */
    const double numbers = (double)(most * j->lanes + KEYS) * ((double)a->size + (double)a->value_size);
    j->workers = bp__least(a->units, 4 * units);
    if (numbers * (double)j->real * (double)j->workers > (double)facts->largest / 2) {
        return false;
    }
    a->sum_at = most * j->lanes * a->size;
    a->key_at = a->sum_at + most * j->lanes * a->value_size;
    a->value_at = a->key_at + KEYS * a->size;
    a->slot = bp__kernel_divide_up(a->value_at + KEYS * a->value_size, 64) * 64;
    j->bytes = j->workers * a->slot * j->real;
    return true;
}

/* ---- Tiles ---- */

static int64_t columns_of(const tiling *t) {
    return (int64_t)t->spans * t->side * RUN;
}

static bool fits_in(const tiling *t, const job *j, const bp_device_info *facts) {
    const int64_t numbers = j->limited ? 4 : 3; /* of a row */
    const int64_t queries = t->side * t->rows, keys = t->side * RUN;
    const int64_t lines = (2 * t->deep + keys + t->side) * (queries + PADDING) + 2 * t->deep * (keys + PADDING);
    const uint64_t bytes = (uint64_t)(lines * j->real + numbers * queries * (int64_t)sizeof(int64_t));
    return (facts->group_items == 0 || facts->group_items >= (uint32_t)(t->side * t->side)) &&
           (facts->local_memory == 0 || facts->local_memory >= bytes);
}

/* Many rows of a group use its local memory best. Fewer ones are taken if there are not as many, or too few groups for
 * all units of the device. */
static bool choose_tiling(job *j, const bp_device_info *facts) {
    static const struct { int side, rows; } sizes[] = {{16, 4}, {16, 2}, {16, 1}, {8, 4}};
    const attention *a = &j->parameters;
    const int64_t units = facts->units ? facts->units : 1;
    bool found = false;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        /* A work item keeps at most 4 numbers of a piece: with 8, PoCL 3.1 computes wrong scores. */
        tiling t = {.side = sizes[i].side, .rows = sizes[i].rows, .deep = j->real == 8 || sizes[i].side == 8 ? 8 : 16};
        t.spans = a->value_size > t.side * RUN ? 2 : 1;
        /* A work item reads whole numbers of each piece. */
        if (t.rows * t.deep % t.side != 0 || !fits_in(&t, j, facts)) {
            continue;
        }
        const int64_t rows = (int64_t)j->tiling.side * j->tiling.rows;
        if (found && t.side * t.rows >= rows) {
            break;
        }
        if (found && 2 * a->rows > rows && a->units * bp__kernel_divide_up(a->rows, rows) >= units) {
            break;
        }
        j->tiling = t;
        found = true;
    }
    return found;
}

static bool cut_tiles(job *j, const bp_device_info *facts) {
    if (!choose_tiling(j, facts)) {
        return false;
    }
    j->lanes = (int64_t)j->tiling.side * j->tiling.rows;
    if (!cut_rows(j, j->lanes)) {
        return false;
    }
    j->workers = bp__least(j->parameters.units, 1 << 20);
    return bp__kernel_divide_up(j->parameters.value_size, columns_of(&j->tiling)) < 60000;
}

/* ---- Offers ---- */

/* On processors, tiles are slow, and serve as a check of the kernels of other devices. */
static void offer(const bp_problem *problem, const bp_device_info *facts, const job *j, algorithm which,
                  bp_offers *offers) {
    const attention *a = &j->parameters;
    const bool cpu = bp__kernel_is_cpu(facts);
    const double rows = (double)a->units * (double)j->lanes * (which == PANELS ? a->panels : 1);
    const double keys = j->keys;
    const double columns = (double)a->size + (double)a->value_size;
    const double again = which == TILES ? (double)bp__kernel_divide_up(a->value_size, columns_of(&j->tiling)) : 1;
    const double flops =
        rows * keys *
        (2 * ((double)a->size * again + (double)a->value_size) + 30 + (a->drops ? 100 : 0) + (j->softcap > 0 ? 30 : 0));
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.reason = BP_REASON_ACCEPTED;
    verdict.algorithm = cpu && which == TILES ? "flash_tiles" : "flash";
    verdict.properties = BP__KERNEL_REPRODUCIBLE |
                         (problem->dtype == BP_F64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32) |
                         (a->causal || j->limited ? 0 : BP_PROPERTY_PROPAGATES_NAN);
    verdict.cost_ns = bp__kernel_time(facts, (double)problem->of.attention.batch * keys * columns * (double)j->real,
                                      flops * (cpu && which == TILES ? 30 : 1), 1);
    verdict.workspace = (size_t)j->bytes;
    offers->add(offers, &verdict, &which, sizeof which);
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    job panels, tiles;
    (void)host;
    if (problem->op == BP_OP_ATTENTION_LENGTHS) {
        bp__kernel_refuse(offers, BP_REASON_OTHER, "its kernels take no lengths of items");
        return;
    }
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    if (problem->dtype == BP_F64 && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    if (!begin(&panels, problem)) {
        bp__kernel_refuse(offers, BP_REASON_LAYOUT,
                          "more than 12 dimensions of the batch are left after neighbours were merged");
        return;
    }
    tiles = panels;
    const bool has_panels = bp__kernel_is_cpu(facts) && cut_panels(&panels, facts),
               has_tiles = cut_tiles(&tiles, facts);
    if (has_panels) {
        offer(problem, facts, &panels, PANELS, offers);
    }
    if (has_tiles) {
        offer(problem, facts, &tiles, TILES, offers);
    }
    if (!has_panels && !has_tiles) {
        bp__kernel_refuse(offers, BP_REASON_SIZE, "the device has too little memory for its kernels");
    }
}

/* ---- Plans ---- */

static void add_arguments(bp__kernel_step *step, const bp_problem *problem, const job *j, algorithm which) {
    const size_t element = bp__kernel_bytes(problem->dtype);
    bp__kernel_operand(step, QUERY, element);
    bp__kernel_operand(step, KEY, element);
    bp__kernel_operand(step, VALUE, element);
    bp__kernel_operand(step, MASK, 1); /* its kernels find elements by bytes */
    step->argument[step->argument_count - 1].alignment = (uint32_t)(j->parameters.mask == F32_MASK   ? sizeof(float)
                                                                    : j->parameters.mask == OWN_MASK ? element
                                                                                                     : 1);
    bp__kernel_operand(step, SEED, sizeof(int64_t));
    bp__kernel_operand(step, OUTPUT, element);
    bp__kernel_operand(step, LOGSUMEXP, (size_t)j->real);
    if (which == PANELS) {
        bp__kernel_workspace(step, 0, (size_t)j->real);
    }
    bp__kernel_value(step, &j->parameters, sizeof j->parameters);
}

static void add_number(bp__kernel_step *step, const job *j, double value, float *narrow, double *wide) {
    *narrow = (float)value;
    *wide = value;
    bp__kernel_value(step, j->real == 8 ? (const void *)wide : narrow, (size_t)j->real);
}

static bp_status add_step(bp__kernel_device *device, const bp_problem *problem, const job *j, algorithm which,
                          bp__kernel_plan *plan) {
    const bp_attention_problem *p = &problem->of.attention;
    const double kept = 1 - p->dropout;
    bp__kernel_step step = {.kernel = which == PANELS ? "attention_panels" : "attention_tiles"};
    bp__kernel_options options;
    float narrow[3];
    double wide[3];
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DX=%s%s", bp__kernel_type(problem->dtype),
                           j->real == 8 ? " -DCOMPUTE_F64" : "");
    bp__kernel_options_add(&options, "%s%s", j->limited ? " -DLIMITED" : "", j->softcap > 0 ? " -DSOFTCAP" : "");
    if (which == PANELS) {
        bp__kernel_options_add(&options, " -DPANELS -DWIDTH=%d -DVECTORS=%d -DKEYS=%d -DMOST_PANELS=%d%s",
                               (int)width_of(device->facts, j->real), VECTORS, KEYS, MOST_PANELS,
                               problem->dtype >= BP_F32 ? " -DREADS_STORAGE" : "");
        step.dimensions = 1;
        step.global[0] = (size_t)j->workers;
        step.local[0] = 1;
    } else {
        const tiling *t = &j->tiling;
        bp__kernel_options_add(&options, " -DTILES -DSIDE=%d -DROWS=%d -DDEEP=%d -DSPANS=%d", t->side, t->rows, t->deep,
                               t->spans);
        step.dimensions = 2;
        step.local[0] = (size_t)(t->side * t->side);
        step.local[1] = 1;
        step.global[0] = (size_t)j->workers * step.local[0];
        step.global[1] = (size_t)bp__most(bp__kernel_divide_up(p->value_size, columns_of(t)), 1);
    }
    const bp_status status = bp__kernel_program_get(device, bp__kernel_source_attention, options.text, &step.program);
    add_arguments(&step, problem, j, which);
    add_number(&step, j, p->scale, &narrow[0], &wide[0]);
    add_number(&step, j, kept > 0 ? 1 / kept : 0, &narrow[1], &wide[1]);
    if (j->limited) {
        bp__kernel_value(&step, &j->limits, sizeof j->limits);
    }
    if (j->softcap > 0) {
        add_number(&step, j, j->softcap, &narrow[2], &wide[2]);
    }
    return status == BP_OK ? bp__kernel_plan_add(plan, &step) : status;
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    const algorithm which = *(const algorithm *)found;
    job j;
    bp__kernel_plan *steps;
    begin(&j, problem);
    if (which == PANELS) {
        cut_panels(&j, device->facts);
    } else {
        cut_tiles(&j, device->facts);
    }
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (j.parameters.units > 0) {
        status = add_step(device, problem, &j, which, steps);
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_attention = {accept, plan};
