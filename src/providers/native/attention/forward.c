/* forward.c - runs the kernels flash, flash_bf16 and mem_efficient.
 *
 * A unit of work is a block of rows and a part of the keys. If the keys have several parts, each unit leaves its sums
 * in the workspace, and another stage merges the sums of a block in the order of the parts. */
#include "work.h"

#include <string.h>

enum {
    PANELS = 8,                   /* most panels of a block of rows */
    FEW = 4,                      /* rows of an item up to which each is computed by itself */
    MOST_PARTED = 4,              /* panels of an item up to which keys are cut into parts */
    PART = 4 * BP__ATTENTION_KEYS /* keys of a part */
};

typedef struct prepared {
    bp__attention_work work; /* must be first */
    bool whole;              /* mem_efficient */
    bool few;
    int64_t block, blocks; /* rows of a block; blocks of an item */
    int64_t part, parts;   /* keys of a part; parts */
    /* Offsets of the arrays in a thread's memory. */
    size_t queries, sums, scores, bias, keys, values, state;
    size_t apart;                 /* with a window: numbers of a block of keys, and of the columns of a value */
    size_t partial, partial_size; /* bytes of the workspace: the sums of all parts; the sums of one unit */
} prepared;

/* One unit: its item, rows and keys, and the memory of its thread. */
typedef struct unit {
    const prepared *plan;
    bp__attention_item item;
    int64_t row, rows; /* first row and number of rows */
    int64_t from, to;  /* keys */
    char *queries, *sums, *scores, *bias, *keys, *values;
    char *greatest, *sum, *factor, *limits, *apart;
} unit;

static inline size_t number_size(const prepared *plan) {
    return plan->work.set.numbers->number;
}

static inline const bp_attention_problem *parameters(const prepared *plan) {
    return &plan->work.problem.of.attention;
}

/* ---- Panels ---- */

/* Rows of a block of keys or values, in memory as the products read them: as numbers with contiguous columns, or as
 * pairs of bf16 numbers. */
typedef struct block_rows {
    const char *at;
    int64_t row; /* elements from row to row */
} block_rows;

static block_rows keys_at(const unit *u, int64_t from, int64_t keys) {
    block_rows b;
    b.at = u->plan->work.set.pairs ? bp__attention_pair_keys(&u->item, from, keys, u->keys, &b.row)
                                   : bp__attention_block(&u->item, BP_ATTENTION_KEY, from, keys, u->keys, &b.row);
    return b;
}

static block_rows values_at(const unit *u, int64_t from, int64_t keys) {
    const bp__attention_pairs *pairs = u->plan->work.set.pairs;
    const bp_attention_layout *value = &u->item.problem->tensor[BP_ATTENTION_VALUE];
    block_rows b = {u->values, u->item.problem->value_size};
    if (pairs) {
        (value->dtype == BP_F32 ? pairs->interleave_f32 : pairs->interleave)(
            keys, b.row, u->item.tensor[BP_ATTENTION_VALUE] + from * value->row * bp__attention_bytes(value->dtype),
            value->row, value->column, u->values);
    } else {
        b.at = bp__attention_block(&u->item, BP_ATTENTION_VALUE, from, keys, u->values, &b.row);
    }
    return b;
}

/* Limits the scores, which are contiguous. */
static void cap(const unit *u, int64_t count, char *scores) {
    const double softcap = u->item.problem->softcap;
    if (softcap > 0) {
        u->plan->work.set.numbers->cap(count, scores, softcap, NULL);
    }
}

/* Computes the scores of a panel for a block of keys. */
static void score(const unit *u, const char *queries, block_rows key, int64_t keys, char *scores) {
    const bp__attention_set *set = &u->plan->work.set;
    const bp_attention_problem *p = u->item.problem;
    if (set->pairs) {
        double rest; /* of the scale; the queries have the other factor */
        bp__attention_split_scale(p->scale, &rest);
        set->pairs->multiply_keys(keys, (p->size + 1) / 2, key.at, key.row, queries, scores, rest);
    } else {
        set->numbers->product(keys, p->size, key.at, key.row, 1, queries, scores, NULL);
    }
    cap(u, keys * set->numbers->lanes, scores);
}

/* Adds the weighted values of a block of keys to the sums of a panel. */
static void add_values(const unit *u, block_rows value, int64_t keys, char *weights, char *sums, const char *factor) {
    const bp__attention_set *set = &u->plan->work.set;
    const int64_t columns = u->item.problem->value_size;
    if (set->pairs) {
        set->pairs->round(keys, weights);
        set->pairs->multiply_values(columns, (keys + 1) / 2, value.at, weights, sums, factor);
    } else {
        set->numbers->product(columns, keys, value.at, 1, value.row, weights, sums, factor);
    }
}

/* ---- Values that are not finite ----
 *
 * A weight of 0 times such a value is NaN. With a window, which may leave out memory that holds anything, a block with
 * such values is added row by row where a panel sees it in part. */

/* Whether all values of a block are finite. Sums of them times 0 are not 0 otherwise. */
static bool are_finite(const unit *u, int64_t from, int64_t keys) {
    const bp__attention_numbers *numbers = u->plan->work.set.numbers;
    const int64_t columns = u->item.problem->value_size;
    char *sums = u->apart + BP__ATTENTION_KEYS * numbers->number, *one = sums + (size_t)columns * numbers->number;
    int64_t row;
    const char *value = bp__attention_block(&u->item, BP_ATTENTION_VALUE, from, keys, u->values, &row);
    numbers->set(u->apart, keys, 0);
    numbers->set(sums, columns, 0);
    numbers->set(one, 1, 1);
    numbers->combine(keys, columns, u->apart, value, row, sums, one);
    bool finite = true;
    for (int64_t e = 0; e < columns && finite; e++) {
        finite = numbers->load(sums + (size_t)e * numbers->number) == 0;
    }
    return finite;
}

/* Whether some rows see a block only in part, and values of it must be added row by row. */
static bool needs_rows(const unit *u, int64_t row, int64_t rows, int64_t from, int64_t keys) {
    if (!bp__attention_has_window(u->item.problem)) {
        return false;
    }
    const bp__attention_limits limits = bp__attention_panel_limits(&u->item, row, rows, from, keys, u->limits);
    return (limits.first || limits.end) && !are_finite(u, from, keys);
}

/* Copies numbers that are `step` and `to_step` numbers apart. */
static void copy_numbers(const unit *u, int64_t count, const char *from, int64_t step, char *to, int64_t to_step) {
    const size_t number = number_size(u->plan);
    for (int64_t i = 0; i < count; i++) {
        memcpy(to + (size_t)(i * to_step) * number, from + (size_t)(i * step) * number, number);
    }
}

/* As add_values(), with the keys that each row sees. It overwrites the memory for a block of values. */
static void add_values_by_rows(const unit *u, int64_t row, int64_t rows, int64_t from, int64_t keys,
                               const char *weights, char *sums, const char *factor) {
    const bp__attention_numbers *numbers = u->plan->work.set.numbers;
    const int64_t columns = u->item.problem->value_size, lanes = numbers->lanes;
    char *own = u->apart, *own_sums = own + BP__ATTENTION_KEYS * numbers->number;
    int64_t value_row;
    const char *value = bp__attention_block(&u->item, BP_ATTENTION_VALUE, from, keys, u->values, &value_row);
    for (int64_t lane = 0; lane < rows; lane++) {
        const size_t at = (size_t)lane * numbers->number;
        const int64_t first = bp__most(bp__attention_first(&u->item, row + lane) - from, 0),
                      end = bp__least(bp__attention_end(&u->item, row + lane) - from, keys),
                      seen = bp__most(end - first, 0);
        copy_numbers(u, seen, weights + (size_t)(first * lanes) * numbers->number + at, lanes, own, 1);
        copy_numbers(u, columns, sums + at, lanes, own_sums, 1);
        numbers->combine(seen, columns, own, value + first * value_row * (int64_t)numbers->number, value_row, own_sums,
                         factor + at);
        copy_numbers(u, columns, own_sums, 1, sums + at, lanes);
    }
}

/* Returns the keys of the whole blocks before a key. */
static int64_t blocks_before(int64_t key) {
    return key > 0 ? key / BP__ATTENTION_KEYS * BP__ATTENTION_KEYS : 0;
}

/* One panel of a unit. */
typedef struct panel {
    int64_t row, rows;
    char *queries, *sums, *greatest, *sum;
} panel;

static panel panel_at(const unit *u, int64_t index) {
    const int64_t lanes = u->plan->work.set.numbers->lanes;
    const size_t line = (size_t)lanes * number_size(u->plan);
    return (panel){.row = u->row + index * lanes,
                   .rows = bp__least(lanes, u->rows - index * lanes),
                   .queries = u->queries + (size_t)index * line * (size_t)u->item.problem->size,
                   .sums = u->sums + (size_t)index * line * (size_t)u->item.problem->value_size,
                   .greatest = u->greatest + (size_t)index * line,
                   .sum = u->sum + (size_t)index * line};
}

/* flash: all panels of a block use a block of keys before the next one is read. */
static void run_blocks(const unit *u, int64_t panels) {
    const bp__attention_numbers *numbers = u->plan->work.set.numbers;
    const bp__attention_range all = bp__attention_seen(&u->item, u->row, u->rows);
    const int64_t to = bp__least(u->to, all.end);
    for (int64_t from = u->from + blocks_before(all.first - u->from); from < to; from += BP__ATTENTION_KEYS) {
        const int64_t keys = bp__least(BP__ATTENTION_KEYS, to - from);
        const bool by_rows = needs_rows(u, u->row, u->rows, from, keys);
        const block_rows key = keys_at(u, from, keys);
        block_rows value = values_at(u, from, keys);
        for (int64_t i = 0; i < panels; i++) {
            const panel at = panel_at(u, i);
            const bp__attention_range seen = bp__attention_seen(&u->item, at.row, at.rows);
            const int64_t own = bp__least(keys, seen.end - from);
            if (bp__attention_skips(seen, from, keys)) {
                continue;
            }
            score(u, at.queries, key, own, u->scores);
            const char *bias = bp__attention_panel_bias(&u->item, at.row, at.rows, from, own, u->bias);
            const bp__attention_limits limits =
                bp__attention_panel_limits(&u->item, at.row, at.rows, from, own, u->limits);
            numbers->softmax(own, u->scores, bias, limits, at.greatest, at.sum, u->factor);
            bp__attention_drop(&u->item, at.row, at.rows, numbers->lanes, from, own, u->scores);
            if (by_rows && (limits.first || limits.end)) {
                add_values_by_rows(u, at.row, at.rows, from, own, u->scores, at.sums, u->factor);
                value = values_at(u, from, keys);
            } else {
                add_values(u, value, own, u->scores, at.sums, u->factor);
            }
        }
    }
}

/* mem_efficient: all scores of a panel from the block of the first key on, softmax, all values. */
static void run_whole(const unit *u, int64_t panels) {
    const bp__attention_numbers *numbers = u->plan->work.set.numbers;
    const size_t line = (size_t)numbers->lanes * numbers->number;
    for (int64_t i = 0; i < panels; i++) {
        const panel at = panel_at(u, i);
        const bp__attention_range seen = bp__attention_seen(&u->item, at.row, at.rows);
        const int64_t first = blocks_before(seen.first), keys = bp__most(seen.end - first, 0);
        for (int64_t from = 0; from < keys; from += BP__ATTENTION_KEYS) {
            const int64_t some = bp__least(BP__ATTENTION_KEYS, keys - from);
            score(u, at.queries, keys_at(u, first + from, some), some, u->scores + (size_t)from * line);
        }
        const char *bias = bp__attention_panel_bias(&u->item, at.row, at.rows, first, keys, u->bias);
        const bp__attention_limits limits =
            bp__attention_panel_limits(&u->item, at.row, at.rows, first, keys, u->limits);
        numbers->softmax(keys, u->scores, bias, limits, at.greatest, at.sum, u->factor);
        bp__attention_drop(&u->item, at.row, at.rows, numbers->lanes, first, keys, u->scores);
        numbers->set(u->factor, numbers->lanes, 1);
        for (int64_t from = 0; from < keys; from += BP__ATTENTION_KEYS) {
            const int64_t some = bp__least(BP__ATTENTION_KEYS, keys - from);
            char *weights = u->scores + (size_t)from * line;
            if (needs_rows(u, at.row, at.rows, first + from, some)) {
                add_values_by_rows(u, at.row, at.rows, first + from, some, weights, at.sums, u->factor);
            } else {
                add_values(u, values_at(u, first + from, some), some, weights, at.sums, u->factor);
            }
        }
    }
}

/* ---- Few rows ---- */

/* Adds the keys [from, to) of a block, which begins at `block`, to the sums of row `i` of the unit. */
static void add_keys(const unit *u, int64_t i, int64_t block, int64_t from, int64_t to, block_rows key,
                     block_rows value) {
    const bp__attention_numbers *numbers = u->plan->work.set.numbers;
    const bp_attention_problem *p = u->item.problem;
    const size_t number = numbers->number;
    const int64_t row = u->row + i, keys = to - from;
    numbers->dots(keys, p->size, u->queries + (size_t)(i * p->size) * number,
                  key.at + (from - block) * key.row * (int64_t)number, key.row, u->scores);
    cap(u, keys, u->scores);
    const char *bias = u->item.tensor[BP_ATTENTION_MASK] ? u->bias : NULL;
    if (bias) {
        bp__attention_bias(&u->item, row, from, keys, u->bias, 1);
    }
    numbers->softmax_row(keys, u->scores, bias, u->greatest + (size_t)i * number, u->sum + (size_t)i * number,
                         u->factor);
    bp__attention_drop(&u->item, row, 1, 1, from, keys, u->scores);
    numbers->combine(keys, p->value_size, u->scores, value.at + (from - block) * value.row * (int64_t)number, value.row,
                     u->sums + (size_t)(i * p->value_size) * number, u->factor);
}

static void run_rows(const unit *u) {
    const bp__attention_range all = bp__attention_seen(&u->item, u->row, u->rows);
    const int64_t end = bp__least(u->to, all.end);
    for (int64_t from = u->from + blocks_before(all.first - u->from); from < end; from += BP__ATTENTION_KEYS) {
        const int64_t block = bp__least(BP__ATTENTION_KEYS, end - from);
        const block_rows key = keys_at(u, from, block), value = values_at(u, from, block);
        for (int64_t i = 0; i < u->rows; i++) {
            const int64_t first = bp__most(from, bp__attention_first(&u->item, u->row + i)),
                          to = bp__least(from + block, bp__attention_end(&u->item, u->row + i));
            if (first < to) {
                add_keys(u, i, from, first, to, key, value);
            }
        }
    }
}

/* ---- Results ---- */

/* Addresses of the sums of a row. The sums of panels have a lane for each row. */
typedef struct row_sums {
    char *sums, *greatest, *sum;
} row_sums;

static row_sums sums_of_row(const unit *u, int64_t row) {
    const size_t number = number_size(u->plan);
    const int64_t lanes = u->plan->few ? 1 : u->plan->work.set.numbers->lanes;
    const int64_t at = row / lanes * lanes * u->item.problem->value_size + row % lanes;
    return (row_sums){u->sums + (size_t)at * number, u->greatest + (size_t)row * number, u->sum + (size_t)row * number};
}

static void write_logarithms(const unit *u) {
    const bp__attention_numbers *numbers = u->plan->work.set.numbers;
    for (int64_t row = 0; row < u->rows; row++) {
        const row_sums from = sums_of_row(u, row);
        const double sum = numbers->load(from.sum);
        numbers->set(bp__attention_row(&u->item, BP_ATTENTION_LOGSUMEXP, u->row + row), 1,
                     sum == 0 ? -INFINITY : numbers->load(from.greatest) + log(sum));
    }
}

static void write_results(const unit *u) {
    const bp__attention_numbers *numbers = u->plan->work.set.numbers;
    const bp_attention_layout *output = &u->item.problem->tensor[BP_ATTENTION_OUTPUT];
    const bp__attention_elements *elements = bp__attention_elements_of(&u->plan->work, output->dtype);
    const int64_t columns = u->item.problem->value_size, lanes = u->plan->few ? 1 : numbers->lanes;
    for (int64_t row = 0; row < u->rows; row += lanes) {
        const row_sums from = sums_of_row(u, row);
        const int64_t rows = bp__least(lanes, u->rows - row);
        if (u->plan->few) {
            const double sum = numbers->load(from.sum);
            elements->narrow(1, columns, from.sums, 0, 1, sum == 0 ? 1 : 1 / sum,
                             bp__attention_row(&u->item, BP_ATTENTION_OUTPUT, u->row + row), 0, output->column);
        } else {
            void *to[BP__ATTENTION_LANES];
            bp__attention_rows(&u->item, BP_ATTENTION_OUTPUT, u->row + row, rows, to);
            elements->unpack(lanes, rows, columns, from.sums, from.sum, to, output->column);
        }
    }
    if (u->item.tensor[BP_ATTENTION_LOGSUMEXP]) {
        write_logarithms(u);
    }
}

/* ---- Units ---- */

static int64_t padded_rows(const prepared *plan) {
    const int64_t lanes = plan->few ? 1 : plan->work.set.numbers->lanes;
    return (plan->block + lanes - 1) / lanes * lanes;
}

static unit unit_of(const bp__attention_call *call, int64_t index, char *memory) {
    const prepared *plan = (const prepared *)call->plan;
    const bp_attention_problem *p = parameters(plan);
    const int64_t part = index % plan->parts, place = index / plan->parts;
    /* Causal blocks that use the most keys come first, so that threads end at about the same time. */
    const int64_t block = p->causal ? plan->blocks - 1 - place / plan->work.items : place % plan->blocks;
    const size_t line = (size_t)padded_rows(plan) * number_size(plan);
    unit u = {.plan = plan,
              .item = bp__attention_item_of(call, p->causal ? place % plan->work.items : place / plan->blocks),
              .row = block * plan->block,
              .rows = bp__least(plan->block, plan->work.rows - block * plan->block),
              .from = part * plan->part,
              .queries = memory + plan->queries,
              .scores = memory + plan->scores,
              .bias = memory + plan->bias,
              .keys = memory + plan->keys,
              .values = memory + plan->values,
              .factor = memory + plan->state,
              .apart = memory + plan->apart};
    u.to = bp__least((part + 1) * plan->part, u.item.keys);
    /* The sums of one part among several stay until all are merged. */
    u.sums =
        plan->parts > 1 ? call->workspace + plan->partial + (size_t)index * plan->partial_size : memory + plan->sums;
    u.greatest = u.sums + line * (size_t)p->value_size;
    u.sum = u.greatest + line;
    u.limits = u.factor + (size_t)plan->work.set.numbers->lanes * number_size(plan);
    return u;
}

static void pack_queries(const unit *u, int64_t panels) {
    const bp_attention_problem *p = u->item.problem;
    const bp_attention_layout *query = &p->tensor[BP_ATTENTION_QUERY];
    for (int64_t i = 0; i < u->rows && u->plan->few; i++) {
        bp__attention_elements_of(&u->plan->work, query->dtype)
            ->widen(1, p->size, bp__attention_row(&u->item, BP_ATTENTION_QUERY, u->row + i), 0, query->column, p->scale,
                    u->queries + (size_t)(i * p->size) * number_size(u->plan), 0);
    }
    for (int64_t i = 0; i < panels && !u->plan->few; i++) {
        const panel at = panel_at(u, i);
        if (u->plan->work.set.pairs) {
            bp__attention_pack_pairs(&u->item, at.row, at.rows, u->keys, at.queries);
        } else {
            bp__attention_pack(&u->item, BP_ATTENTION_QUERY, at.row, at.rows, p->size, p->scale, at.queries);
        }
    }
}

static void compute(bp__attention_call *call, int64_t index, char *memory) {
    const unit u = unit_of(call, index, memory);
    const prepared *plan = u.plan;
    const bp__attention_numbers *numbers = plan->work.set.numbers;
    const int64_t padded = padded_rows(plan), panels = (u.rows + numbers->lanes - 1) / numbers->lanes;
    numbers->set(u.greatest, padded, -INFINITY);
    numbers->set(u.sum, padded, 0);
    numbers->set(u.sums, padded * u.item.problem->value_size, 0);
    pack_queries(&u, panels);
    if (plan->few) {
        run_rows(&u);
    } else {
        (plan->whole ? run_whole : run_blocks)(&u, panels);
    }
    if (plan->parts == 1) {
        write_results(&u);
    }
}

/* Adds the sums of a later part to the sums of the first, for the rows of one panel or one of few rows. */
static void merge_rows(const unit *first, const unit *more, int64_t row) {
    const bp__attention_numbers *numbers = first->plan->work.set.numbers;
    const int64_t lanes = first->plan->few ? 1 : numbers->lanes;
    for (int64_t lane = 0; lane < lanes; lane++) {
        const row_sums to = sums_of_row(first, row + lane), from = sums_of_row(more, row + lane);
        const double a = numbers->load(to.greatest), b = numbers->load(from.greatest), top = b > a ? b : a;
        const double center = top == -INFINITY ? 0 : top, scale_a = exp(a - center), scale_b = exp(b - center);
        numbers->set(to.greatest, 1, top);
        numbers->set(to.sum, 1, numbers->load(to.sum) * scale_a + numbers->load(from.sum) * scale_b);
        numbers->set(first->factor + (size_t)lane * numbers->number, 1, scale_a);
        numbers->set(first->limits + (size_t)lane * numbers->number, 1, scale_b);
    }
    numbers->merge(first->item.problem->value_size, lanes, sums_of_row(first, row).sums, first->factor,
                   sums_of_row(more, row).sums, first->limits);
}

static void merge(bp__attention_call *call, int64_t index, char *memory) {
    const prepared *plan = (const prepared *)call->plan;
    const unit first = unit_of(call, index * plan->parts, memory);
    const int64_t lanes = plan->few ? 1 : plan->work.set.numbers->lanes;
    for (int64_t part = 1; part < plan->parts; part++) {
        const unit more = unit_of(call, index * plan->parts + part, memory);
        for (int64_t row = 0; row < first.rows; row += lanes) {
            merge_rows(&first, &more, row);
        }
    }
    write_results(&first);
}

static bp_status run_attention_forward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    bp__attention_call call = bp__attention_call_of(&plan->work, operands, exec);
    const int64_t blocks = plan->work.items * plan->blocks;
    const bp_status status = bp__attention_check_numbers(&call);
    if (status != BP_OK) {
        return status;
    }
    bp__attention_stage(&call, compute, blocks * plan->parts);
    if (plan->parts > 1) {
        bp__attention_stage(&call, merge, blocks);
    }
    return bp__stop_status(&call.stop);
}

/* ---- Plans ---- */

/* Cuts the work. Parts of the keys depend on the sizes of one item, so that the batch does not change bits. Blocks of
 * rows may depend on batch and threads, because a row's result does not depend on its block. */
static void cut(prepared *plan) {
    const bp__attention_work *work = &plan->work;
    const int64_t lanes = work->set.numbers->lanes, keys = parameters(plan)->keys;
    plan->few = !plan->whole && !work->set.pairs && work->rows <= FEW;
    const int64_t rows = work->rows > 0 ? work->rows : 1; /* without rows there are no blocks, but blocks have a size */
    const int64_t panels = plan->few ? 1 : (rows + lanes - 1) / lanes;
    int64_t most = bp__least(PANELS, panels);
    while (most > 1 && work->items * ((panels + most - 1) / most) < 4 * work->threads) {
        most /= 2;
    }
    plan->block = plan->few ? rows : most * lanes;
    plan->blocks = (work->rows + plan->block - 1) / plan->block;
    const bool parted = !plan->whole && panels <= MOST_PARTED && keys >= 2 * PART;
    plan->part = parted ? PART : keys;
    plan->parts = parted ? (keys + PART - 1) / PART : 1;
}

static void lay_out(prepared *plan) {
    const bp_attention_problem *p = parameters(plan);
    const int64_t lanes = plan->few ? 1 : plan->work.set.numbers->lanes, rows = padded_rows(plan);
    const int64_t keys = plan->whole ? p->keys : bp__least(BP__ATTENTION_KEYS, p->keys);
    const size_t number = number_size(plan);
    size_t end = 0;
    plan->queries = bp__attention_reserve(&end, number, rows, p->size);
    plan->scores = bp__attention_reserve(&end, number, keys, lanes);
    plan->bias = bp__attention_reserve(&end, number, p->tensor[BP_ATTENTION_MASK].dtype ? keys : 0, lanes);
    plan->keys = bp__attention_reserve(&end, number, BP__ATTENTION_KEYS, p->size);
    plan->values = bp__attention_reserve(&end, number, BP__ATTENTION_KEYS, p->value_size);
    plan->state = bp__attention_reserve(&end, number, 3, plan->work.set.numbers->lanes);
    plan->apart =
        bp__attention_reserve(&end, number, bp__attention_has_window(p), BP__ATTENTION_KEYS + p->value_size + 1);
    plan->sums = bp__attention_reserve(&end, number, rows, p->value_size + 2);
    plan->partial_size = end - plan->sums;
    plan->work.memory = end;
    plan->partial = bp__attention_times((size_t)plan->work.threads, end);
    const int64_t units = plan->work.items * plan->blocks * plan->parts;
    plan->work.base.workspace =
        plan->partial + (plan->parts > 1 ? bp__attention_times((size_t)units, plan->partial_size) : 0);
}

bp_status bp__attention_plan_forward(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                                     bp__attention_kernel kernel, int threads, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return bp__attention_no_memory(host, sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    bp__attention_begin(&plan->work, host, problem, set, threads);
    plan->work.base.enqueue = run_attention_forward;
    plan->whole = kernel == BP__ATTENTION_EFFICIENT;
    cut(plan);
    lay_out(plan);
    *result = &plan->work.base;
    return BP_OK;
}
