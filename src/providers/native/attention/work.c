/* work.c - addresses of rows and blocks, masks and dropout of attention. The rows of an item are
 * its queries. Heads that share a key and a value form one item, so that their queries are rows of it. */
#include "work.h"

#include <string.h>

/* ---- Plans and calls ---- */

/* Whether a gradient is summed over a dimension of the batch. */
static bool sums(const bp_attention_layout *gradient, int dimension) {
    return gradient->dtype && gradient->batch[dimension] == 0;
}

/* Whether all items along a dimension of the batch have one key and one value. */
static bool shares_keys(const bp_attention_problem *p, int dimension) {
    static const bp_attention_tensor of_keys[] = {BP_ATTENTION_KEY, BP_ATTENTION_VALUE, BP_ATTENTION_PAGES,
                                                  BP_ATTENTION_LENGTHS};
    bool shares = true;
    for (size_t i = 0; i < sizeof of_keys / sizeof of_keys[0]; i++) {
        shares = shares && p->tensor[of_keys[i]].batch[dimension] == 0;
    }
    return shares;
}

/* Whether each item along a dimension has a gradient of its own. So it is with gradients by a key or a value that is
 * repeated, by a stride of 0, and not broadcast. */
static bool parts(const bp_attention_layout *gradient, int dimension) {
    return gradient->dtype && gradient->batch[dimension] != 0;
}

/* Whether the last dimension of the batch consists of heads that share a key, a value and the gradients by them, but
 * not a gradient by the query or the mask. One that is summed over rows must not be summed over the rows of all heads.
 */
static bool has_group(const bp_attention_problem *p) {
    const int last = p->batch_ndim - 1;
    const bp_attention_layout *by_mask = &p->tensor[BP_ATTENTION_MASK_GRADIENT];
    return last >= 0 && p->batch_shape[last] > 0 && shares_keys(p, last) &&
           !parts(&p->tensor[BP_ATTENTION_KEY_GRADIENT], last) &&
           !parts(&p->tensor[BP_ATTENTION_VALUE_GRADIENT], last) &&
           !sums(&p->tensor[BP_ATTENTION_QUERY_GRADIENT], last) && !sums(by_mask, last) &&
           !(by_mask->dtype && by_mask->row == 0);
}

void bp__attention_begin(bp__attention_work *plan, const bp_host *host, const bp_problem *problem,
                         const bp__attention_set *set, int threads) {
    const bp_attention_problem *p = &problem->of.attention;
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .destroy = bp__attention_destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->threads = threads;
    plan->group = has_group(p) ? p->batch_shape[p->batch_ndim - 1] : 1;
    plan->items = p->batch / plan->group;
    plan->rows = plan->group * p->queries;
}

static bool has_operand(const bp_problem *problem, bp_attention_tensor which) {
    switch (which) {
    case BP_ATTENTION_OUTPUT_GRADIENT:
    case BP_ATTENTION_QUERY_GRADIENT:
    case BP_ATTENTION_KEY_GRADIENT:
    case BP_ATTENTION_VALUE_GRADIENT:
    case BP_ATTENTION_MASK_GRADIENT:
        return bp__attention_is_backward(problem);
    case BP_ATTENTION_PAGES:
        return problem->op == BP_OP_ATTENTION_PAGED;
    case BP_ATTENTION_LENGTHS:
        return problem->op == BP_OP_ATTENTION_PAGED || bp__attention_is_counted(problem);
    default:
        return true;
    }
}

bp__attention_call bp__attention_call_of(const bp__attention_work *plan, const bp_operand *operands,
                                         const bp_exec *exec) {
    /* The operands of an operation are these, without those that it does not have. */
    static const bp_attention_tensor order[] = {
        BP_ATTENTION_OUTPUT_GRADIENT, BP_ATTENTION_QUERY,          BP_ATTENTION_KEY,
        BP_ATTENTION_VALUE,           BP_ATTENTION_MASK,           BP_ATTENTION_SEED,
        BP_ATTENTION_PAGES,           BP_ATTENTION_LENGTHS,        BP_ATTENTION_OUTPUT,
        BP_ATTENTION_LOGSUMEXP,       BP_ATTENTION_QUERY_GRADIENT, BP_ATTENTION_KEY_GRADIENT,
        BP_ATTENTION_VALUE_GRADIENT,  BP_ATTENTION_MASK_GRADIENT};
    const bp_attention_problem *p = &plan->problem.of.attention;
    bp__attention_call call = {.plan = plan,
                               .workspace = bp_operand_address(&exec->workspace),
                               .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (has_operand(&plan->problem, order[i])) {
            call.tensor[order[i]] = p->tensor[order[i]].dtype ? bp__native_address(operands) : NULL;
            operands++;
        }
    }
    if (call.tensor[BP_ATTENTION_SEED]) {
        const int64_t *seed = (const int64_t *)(const void *)call.tensor[BP_ATTENTION_SEED];
        call.seed = (uint64_t)seed[0];
        call.offset = (uint64_t)seed[p->tensor[BP_ATTENTION_SEED].column];
    }
    return call;
}

void bp__attention_destroy(bp_prepared *self) {
    ((bp__attention_work *)self)->host->release(self);
}

bp_status bp__attention_no_memory(const bp_host *host, size_t size) {
    return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", size);
}

size_t bp__attention_times(size_t a, size_t b) {
    size_t bytes;
    return __builtin_mul_overflow(a, b, &bytes) || bytes > BP__ATTENTION_TOO_MUCH ? BP__ATTENTION_TOO_MUCH : bytes;
}

size_t bp__attention_reserve(size_t *end, size_t number, int64_t rows, int64_t columns) {
    const size_t at = *end,
                 bytes = bp__attention_times(bp__attention_times((size_t)rows, (size_t)columns), number) + 63;
    *end = at + bytes > BP__ATTENTION_TOO_MUCH ? BP__ATTENTION_TOO_MUCH : at + bytes / 64 * 64;
    return at;
}

typedef struct stage {
    bp__attention_call *call;
    void (*compute)(bp__attention_call *call, int64_t unit, char *memory);
    int64_t units;
} stage;

static void run_units(void *context, int task) {
    const stage *s = context;
    bp__attention_call *call = s->call;
    for (;;) {
        const int64_t unit = atomic_fetch_add_explicit(&call->next, 1, memory_order_relaxed);
        if (unit >= s->units || bp__stops(&call->stop)) {
            return;
        }
        s->compute(call, unit, call->workspace + (size_t)task * call->plan->memory);
    }
}

void bp__attention_stage(bp__attention_call *call,
                         void (*compute)(bp__attention_call *call, int64_t unit, char *memory), int64_t units) {
    stage s = {call, compute, units};
    atomic_store_explicit(&call->next, 0, memory_order_relaxed);
    if (bp__stopped(&call->stop)) {
        return;
    }
    if (call->plan->threads > 1) {
        call->plan->host->parallel(call->plan->threads, call->plan->threads, run_units, &s);
    } else {
        run_units(&s, 0);
    }
}

/* ---- Addresses ---- */

bp__attention_item bp__attention_item_of(const bp__attention_call *call, int64_t index) {
    const bp_attention_problem *p = &call->plan->problem.of.attention;
    bp__attention_item item = {.call = call, .plan = call->plan, .problem = p, .index = index, .keys = p->keys};
    int64_t offset[BP_ATTENTION_TENSORS] = {0};
    for (int d = p->batch_ndim - 1 - (call->plan->group > 1); d >= 0; d--) {
        /* A gradient is written in the other dimensions, also if one that it is summed over is empty. */
        const int64_t size = p->batch_shape[d] > 0 ? p->batch_shape[d] : 1;
        for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
            offset[i] += index % size * p->tensor[i].batch[d];
        }
        index /= size;
    }
    for (int i = 0; i < BP_ATTENTION_TENSORS; i++) {
        item.tensor[i] = call->tensor[i] ? call->tensor[i] + offset[i] * bp__attention_bytes(p->tensor[i].dtype) : NULL;
    }
    if (item.tensor[BP_ATTENTION_LENGTHS] && p->batch > 0) { /* otherwise it may have no elements */
        item.keys = bp__attention_integer(item.tensor[BP_ATTENTION_LENGTHS], p->tensor[BP_ATTENTION_LENGTHS].dtype);
    }
    return item;
}

char *bp__attention_row(const bp__attention_item *item, bp_attention_tensor which, int64_t row) {
    const bp_attention_problem *p = item->problem;
    const bp_attention_layout *layout = &p->tensor[which];
    if (p->queries == 0) { /* a gradient by a mask with one row for all */
        return item->tensor[which];
    }
    const int64_t head = row / p->queries, query = row % p->queries;
    const int64_t offset = query * layout->row + (head > 0 ? head * layout->batch[p->batch_ndim - 1] : 0);
    return item->tensor[which] + offset * bp__attention_bytes(layout->dtype);
}

void bp__attention_rows(const bp__attention_item *item, bp_attention_tensor which, int64_t row, int64_t rows,
                        void **addresses) {
    const bp_attention_layout *layout = &item->problem->tensor[which];
    const int64_t step = layout->row * bp__attention_bytes(layout->dtype);
    char *at = NULL;
    int64_t left = 0; /* rows of this head */
    for (int64_t i = 0; i < rows; i++, left--, at += step) {
        if (left == 0) {
            at = bp__attention_row(item, which, row + i);
            left = item->problem->queries - (row + i) % item->problem->queries;
        }
        addresses[i] = at;
    }
}

const char *bp__attention_block(const bp__attention_item *item, bp_attention_tensor which, int64_t from, int64_t keys,
                                char *memory, int64_t *row) {
    const bp_attention_layout *layout = &item->problem->tensor[which];
    const int64_t columns = which == BP_ATTENTION_KEY ? item->problem->size : item->problem->value_size;
    const bp__attention_elements *elements = bp__attention_elements_of(item->plan, layout->dtype);
    const bool paged = item->problem->page_size > 0;
    int64_t rows = keys;
    const char *at = paged ? bp__attention_in_page(item, which, from, &rows)
                           : item->tensor[which] + from * layout->row * (int64_t)elements->element;
    if (elements->element == item->plan->set.numbers->number && (layout->column == 1 || columns < 2) && rows >= keys) {
        *row = layout->row;
        return at;
    }
    if (paged) {
        bp__attention_gather(item, which, from, keys, 1, memory);
    } else {
        elements->widen(keys, columns, at, layout->row, layout->column, 1, memory, columns);
    }
    *row = columns;
    return memory;
}

void bp__attention_pack(const bp__attention_item *item, bp_attention_tensor which, int64_t row, int64_t rows,
                        int64_t columns, double factor, char *to) {
    const bp__attention_numbers *numbers = item->plan->set.numbers;
    const bp_attention_layout *layout = &item->problem->tensor[which];
    void *from[BP__ATTENTION_LANES];
    bp__attention_rows(item, which, row, rows, from);
    bp__attention_elements_of(item->plan, layout->dtype)
        ->pack(numbers->lanes, rows, columns, (const void *const *)from, layout->column, factor, to);
}

/* ---- Sweeps over gradients ---- */

static int last_dimension(const bp__attention_work *work) {
    return work->problem.of.attention.batch_ndim - 1 - (work->group > 1);
}

/* Returns the dimensions over which a gradient is summed. */
static uint32_t shared_by(const bp__attention_work *work, bp_attention_tensor gradient) {
    uint32_t shared = 0;
    for (int d = 0; d <= last_dimension(work); d++) {
        shared |= (uint32_t)(work->problem.of.attention.tensor[gradient].batch[d] == 0) << d;
    }
    return shared;
}

static bp__attention_sweep sweep_of(const bp__attention_work *work, bp_attention_tensor first,
                                    bp_attention_tensor second) {
    bp__attention_sweep s = {
        .first = first, .second = second, .shared = shared_by(work, first), .targets = 1, .items = 1};
    for (int d = 0; d <= last_dimension(work); d++) {
        *(s.shared >> d & 1 ? &s.items : &s.targets) *= work->problem.of.attention.batch_shape[d];
    }
    return s;
}

int bp__attention_sweeps(const bp__attention_work *work, bp__attention_sweep sweeps[BP__ATTENTION_SWEEPS]) {
    const bp_attention_layout *tensor = work->problem.of.attention.tensor;
    const bool key = tensor[BP_ATTENTION_KEY_GRADIENT].dtype, value = tensor[BP_ATTENTION_VALUE_GRADIENT].dtype;
    const bool together =
        key && value && shared_by(work, BP_ATTENTION_KEY_GRADIENT) == shared_by(work, BP_ATTENTION_VALUE_GRADIENT);
    int count = 0;
    if (tensor[BP_ATTENTION_QUERY_GRADIENT].dtype) {
        sweeps[count++] = sweep_of(work, BP_ATTENTION_QUERY_GRADIENT, BP_ATTENTION_TENSORS);
    }
    if (key) {
        sweeps[count++] =
            sweep_of(work, BP_ATTENTION_KEY_GRADIENT, together ? BP_ATTENTION_VALUE_GRADIENT : BP_ATTENTION_TENSORS);
    }
    if (value && !together) {
        sweeps[count++] = sweep_of(work, BP_ATTENTION_VALUE_GRADIENT, BP_ATTENTION_TENSORS);
    }
    if (tensor[BP_ATTENTION_MASK_GRADIENT].dtype) {
        sweeps[count++] = sweep_of(work, BP_ATTENTION_MASK_GRADIENT, BP_ATTENTION_TENSORS);
    }
    return count;
}

int64_t bp__attention_sweep_item(const bp__attention_work *work, const bp__attention_sweep *sweep, int64_t target,
                                 int64_t index) {
    int64_t item = 0, step = 1;
    for (int d = last_dimension(work); d >= 0; d--) {
        const int64_t own = work->problem.of.attention.batch_shape[d], size = own > 0 ? own : 1;
        int64_t *from = sweep->shared >> d & 1 ? &index : &target;
        item += *from % size * step;
        *from /= size;
        step *= size;
    }
    return item;
}

/* ---- Masks ---- */

void bp__attention_bias(const bp__attention_item *item, int64_t row, int64_t from, int64_t keys, char *to,
                        int64_t lanes) {
    const bp__attention_numbers *numbers = item->plan->set.numbers;
    const bp_attention_layout *mask = &item->problem->tensor[BP_ATTENTION_MASK];
    const char *at =
        bp__attention_row(item, BP_ATTENTION_MASK, row) + from * mask->column * bp__attention_bytes(mask->dtype);
    if (mask->dtype == BP_BOOL) {
        numbers->permit(keys, at, mask->column, to, lanes);
    } else if (mask->dtype == BP_F32) {
        numbers->bias(keys, (const float *)(const void *)at, mask->column, to, lanes);
    } else {
        bp__attention_elements_of(item->plan, mask->dtype)->widen(keys, 1, at, mask->column, 0, 1, to, lanes);
    }
}

void bp__attention_write_mask(const bp__attention_item *item, int64_t row, int64_t column, int64_t columns,
                              const char *sums, int64_t step) {
    const bp__attention_numbers *numbers = item->plan->set.numbers;
    const bp_attention_layout *to = &item->problem->tensor[BP_ATTENTION_MASK_GRADIENT];
    char *at =
        bp__attention_row(item, BP_ATTENTION_MASK_GRADIENT, row) + column * to->column * bp__attention_bytes(to->dtype);
    if (to->dtype != BP_F32 || numbers->number == sizeof(float)) {
        bp__attention_elements_of(item->plan, to->dtype)->narrow(1, columns, sums, 0, step, 1, at, 0, to->column);
        return;
    }
    for (int64_t i = 0; i < columns; i++) { /* a mask of f32 in an operation of f64 */
        *(float *)(void *)(at + i * to->column * (int64_t)sizeof(float)) =
            (float)numbers->load(sums + (size_t)(i * step) * numbers->number);
    }
}

/* Whether all rows of an item have the same mask. */
static bool shares_mask(const bp__attention_work *plan) {
    const bp_attention_problem *p = &plan->problem.of.attention;
    const bp_attention_layout *mask = &p->tensor[BP_ATTENTION_MASK];
    return mask->row == 0 && (plan->group == 1 || mask->batch[p->batch_ndim - 1] == 0);
}

char *bp__attention_panel_bias(const bp__attention_item *item, int64_t row, int64_t rows, int64_t from, int64_t keys,
                               char *to) {
    const bp__attention_numbers *numbers = item->plan->set.numbers;
    if (!item->tensor[BP_ATTENTION_MASK]) {
        return NULL;
    }
    const bool shared = shares_mask(item->plan);
    for (int64_t lane = 0; lane < (shared ? 1 : numbers->lanes); lane++) {
        bp__attention_bias(item, row + bp__least(lane, rows - 1), from, keys, to + (size_t)lane * numbers->number,
                           numbers->lanes);
    }
    if (shared) {
        numbers->spread(keys, to);
    }
    return to;
}

/* Whether rows belong to several heads. */
static bool spans_heads(const bp_attention_problem *p, int64_t row, int64_t rows) {
    return row % p->queries + rows > p->queries;
}

/* Writes a line with a key of each row of a panel, less `from`. */
static char *write_limits(const bp__attention_item *item, int64_t row, int64_t rows, int64_t from, int64_t keys,
                          int64_t (*key_of)(const bp__attention_item *item, int64_t row), char *to) {
    double limits[BP__ATTENTION_LANES];
    const int lanes = item->plan->set.numbers->lanes;
    for (int64_t lane = 0; lane < lanes; lane++) {
        const int64_t limit = key_of(item, row + bp__least(lane, rows - 1)) - from;
        limits[lane] = (double)(limit < 0 ? 0 : bp__least(limit, keys));
    }
    item->plan->set.numbers->copy(to, lanes, limits);
    return to;
}

bp__attention_limits bp__attention_panel_limits(const bp__attention_item *item, int64_t row, int64_t rows, int64_t from,
                                                int64_t keys, char *to) {
    const bp_attention_problem *p = item->problem;
    const bp__attention_work *plan = item->plan;
    const bool spans = spans_heads(p, row, rows);
    bp__attention_limits limits = {NULL, NULL};
    if ((p->causal || p->window_right >= 0) && bp__attention_end(item, spans ? 0 : row) - from < keys) {
        limits.end = write_limits(item, row, rows, from, keys, bp__attention_end, to);
        to += (size_t)plan->set.numbers->lanes * plan->set.numbers->number;
    }
    if (p->window_left >= 0 && bp__attention_first(item, spans ? p->queries - 1 : row + rows - 1) > from) {
        limits.first = write_limits(item, row, rows, from, keys, bp__attention_first, to);
    }
    return limits;
}

bp__attention_range bp__attention_seen(const bp__attention_item *item, int64_t row, int64_t rows) {
    const bp_attention_problem *p = item->problem;
    const bool spans = spans_heads(p, row, rows);
    return (bp__attention_range){bp__attention_first(item, spans ? 0 : row),
                                 bp__attention_end(item, spans ? p->queries - 1 : row + rows - 1)};
}

/* ---- Dropout ---- */

void bp__attention_drop(const bp__attention_item *item, int64_t row, int64_t rows, int lanes, int64_t from,
                        int64_t keys, char *weights) {
    enum { MOST_LANES = 64 };
    uint64_t index[MOST_LANES] = {0};
    const double dropout = item->problem->dropout, kept = 1 - dropout, words = 4294967296.0;
    if (dropout <= 0) {
        return;
    }
    for (int lane = 0; lane < lanes; lane++) {
        const int64_t own = row + bp__least(lane, rows - 1);
        index[lane] = item->call->offset + (uint64_t)(item->index * item->plan->rows + own);
    }
    item->plan->set.numbers->drop(lanes, keys, weights, from, index, item->call->seed, (uint64_t)(dropout * words),
                                  kept > 0 ? 1 / kept : 0);
}
