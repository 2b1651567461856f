/* backward.c - computes the gradients of attention. With the weights w of softmax, slopes d of the loss by the weights,
 * and o and g for rows of OUTPUT and OUTPUT_GRADIENT (Dao and others, "FlashAttention", 2022, section 3.1):
 *
 *     d = g V'                   s = w (d - sum of g o)
 *     value_gradient = w' g      query_gradient = scale s K      key_gradient = scale s' Q      mask_gradient = s
 *
 * With a softcap, s is multiplied by its derivative for the gradients by query and key.
 *
 * Weights are computed again from LOGSUMEXP, a panel of queries and a block of keys at a time. If it has too few
 * digits, the greatest score and the sum of a row are computed again first. If a gradient by the mask has more digits
 * than OUTPUT, the sum of g o is the sum of w d, which has no rounding of OUTPUT. One sweep computes the gradient by
 * the query, another the gradients by key and value, a third the gradient by the mask, so that each unit of work has a
 * gradient of its own. Sums over items that share a gradient, queries and keys have a fixed order. The kernel flash
 * works on several panels of queries for each block of keys, mem_efficient on one, with less memory. */
#include "work.h"

#include <string.h>

enum { PANELS = 8 }; /* of a block of rows */

typedef struct prepared {
    bp__attention_work work; /* must be first */
    /* Offsets of the arrays in a thread's memory. */
    size_t queries, gradients, query_rows, gradient_rows, weights, dropped, slopes, bias, limits, ones, keys, values;
    size_t caps;            /* the derivatives of the softcap, if there is one */
    size_t sums, more_sums; /* of the gradients of a unit */
    size_t mask_sums;       /* two panels, if there is a gradient by the mask */
    size_t rows;            /* of the workspace: what is known of each row */
    int64_t panels;         /* of a block of rows */
    bool weighs;            /* the sum of g o is computed from weights, not from OUTPUT */
} prepared;

typedef struct call {
    bp__attention_call base; /* must be first */
    const bp__attention_sweep *now;
} call;

/* The memory of a thread, and what a unit works on. */
typedef struct unit {
    const prepared *plan;
    bp__attention_item item;
    char *queries, *gradients, *query_rows, *gradient_rows, *weights, *dropped, *slopes, *bias, *limits, *ones, *caps;
    char *keys, *values, *sums, *more_sums, *mask_sums;
    const char *key, *value; /* of a block */
    int64_t key_row, value_row;
} unit;

static unit unit_of(const call *c, char *memory) {
    const prepared *plan = (const prepared *)c->base.plan;
    return (unit){.plan = plan,
                  .queries = memory + plan->queries,
                  .gradients = memory + plan->gradients,
                  .query_rows = memory + plan->query_rows,
                  .gradient_rows = memory + plan->gradient_rows,
                  .weights = memory + plan->weights,
                  .dropped = memory + plan->dropped,
                  .slopes = memory + plan->slopes,
                  .bias = memory + plan->bias,
                  .limits = memory + plan->limits,
                  .caps = memory + plan->caps,
                  .ones = memory + plan->ones,
                  .keys = memory + plan->keys,
                  .values = memory + plan->values,
                  .sums = memory + plan->sums,
                  .more_sums = memory + plan->more_sums,
                  .mask_sums = memory + plan->mask_sums};
}

static inline const bp__attention_numbers *numbers_of(const unit *u) {
    return u->plan->work.set.numbers;
}

/* ---- Rows ---- */

/* What is known of a row. Its weights are e^(score - center - logarithm). */
typedef enum row_number { CENTER, LOGARITHM, SHARE, ROW_NUMBERS } row_number;

static char *number_of_row(const unit *u, const call *c, int64_t row, row_number which) {
    const bp__attention_work *work = &u->plan->work;
    const int64_t at = (which * work->items + u->item.index) * work->rows + row;
    return c->base.workspace + u->plan->rows + (size_t)at * work->set.numbers->number;
}

static int64_t rows_of_block(const prepared *plan) {
    return plan->panels * plan->work.set.numbers->lanes;
}

static int64_t blocks_of(const prepared *plan) {
    return (plan->work.rows + rows_of_block(plan) - 1) / rows_of_block(plan);
}

/* Copies a row of a tensor as numbers. */
static void load_row(const unit *u, bp_attention_tensor which, int64_t row, int64_t columns, double factor, char *to) {
    const bp_attention_layout *layout = &u->item.problem->tensor[which];
    bp__attention_elements_of(&u->plan->work, layout->dtype)
        ->widen(1, columns, bp__attention_row(&u->item, which, row), 0, layout->column, factor, to, 0);
}

static void set_share(const unit *u, const call *c, int64_t row) {
    const int64_t columns = u->item.problem->value_size;
    load_row(u, BP_ATTENTION_OUTPUT, row, columns, 1, u->gradients);
    load_row(u, BP_ATTENTION_OUTPUT_GRADIENT, row, columns, 1, u->gradient_rows);
    numbers_of(u)->dots(1, columns, u->gradients, u->gradient_rows, 0, number_of_row(u, c, row, SHARE));
}

static double logsumexp_of(const unit *u, int64_t row) {
    return numbers_of(u)->load(bp__attention_row(&u->item, BP_ATTENTION_LOGSUMEXP, row));
}

/* Whether LOGSUMEXP has too few digits for the sum of a row: for equal scores of -1e30 it is -1e30, and the number of
 * scores is lost. The limit leaves an error of 2^-15 in f32. */
static bool lacks_digits(double logsumexp) {
    return fabs(logsumexp) > 1024 && isfinite(logsumexp);
}

/* Adds keys of a block, which begins at `block`, to the greatest score and the sum of a row. */
static void add_scores(const unit *u, const call *c, int64_t row, int64_t block, int64_t from, int64_t keys) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_problem *p = u->item.problem;
    const char *bias = u->item.tensor[BP_ATTENTION_MASK] ? u->bias : NULL;
    load_row(u, BP_ATTENTION_QUERY, row, p->size, p->scale, u->query_rows);
    numbers->dots(keys, p->size, u->query_rows, u->key + (from - block) * u->key_row * (int64_t)numbers->number,
                  u->key_row, u->weights);
    if (p->softcap > 0) {
        numbers->cap(keys, u->weights, p->softcap, NULL);
    }
    if (bias) {
        bp__attention_bias(&u->item, row, from, keys, u->bias, 1);
    }
    numbers->softmax_row(keys, u->weights, bias, number_of_row(u, c, row, CENTER), number_of_row(u, c, row, LOGARITHM),
                         u->limits);
}

/* Computes the sums of the rows that lack digits; LOGARITHM is the sum meanwhile. */
static void sum_rows(unit *u, const call *c, int64_t row, int64_t rows) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const int64_t all = u->item.keys;
    const bp__attention_range seen = bp__attention_seen(&u->item, row, rows);
    for (int64_t from = 0; from < all; from += BP__ATTENTION_KEYS) {
        const int64_t block = bp__least(BP__ATTENTION_KEYS, all - from);
        if (bp__attention_skips(seen, from, block)) {
            continue;
        }
        u->key = bp__attention_block(&u->item, BP_ATTENTION_KEY, from, block, u->keys, &u->key_row);
        for (int64_t i = row; i < row + rows; i++) {
            const int64_t first = bp__most(from, bp__attention_first(&u->item, i)),
                          end = bp__least(from + block, bp__attention_end(&u->item, i));
            if (first < end && lacks_digits(logsumexp_of(u, i))) {
                add_scores(u, c, i, from, first, end - first);
            }
        }
    }
    for (int64_t i = row; i < row + rows; i++) {
        if (lacks_digits(logsumexp_of(u, i))) {
            char *sum = number_of_row(u, c, i, LOGARITHM);
            numbers->set(sum, 1, log(numbers->load(sum)));
        }
    }
}

/* ---- One panel and one block of keys ---- */

/* Copies rows of a tensor to panels [columns / lanes][lanes][lanes]; what is outside is 0. */
static void pack_rows(const unit *u, bp_attention_tensor which, int64_t row, int64_t rows, int64_t columns, char *to) {
    const bp_attention_layout *layout = &u->item.problem->tensor[which];
    const bp__attention_elements *elements = bp__attention_elements_of(&u->plan->work, layout->dtype);
    const int64_t lanes = numbers_of(u)->lanes;
    const size_t line = (size_t)lanes * numbers_of(u)->number;
    memset(to, 0, (size_t)((columns + lanes - 1) / lanes * lanes) * line);
    for (int64_t from = 0; from < columns; from += lanes) {
        for (int64_t i = 0; i < rows; i++) {
            const char *at =
                bp__attention_row(&u->item, which, row + i) + from * layout->column * (int64_t)elements->element;
            elements->widen(1, bp__least(lanes, columns - from), at, 0, layout->column, 1,
                            to + (size_t)(from + i) * line, 0);
        }
    }
}

/* Reads what the panel's rows need: queries, gradients, and a line of each number of rows. */
static void load_panel(unit *u, const call *c, int64_t row, int64_t rows, char *queries, char *gradients, char *lines) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_problem *p = u->item.problem;
    bp__attention_pack(&u->item, BP_ATTENTION_QUERY, row, rows, p->size, p->scale, queries);
    bp__attention_pack(&u->item, BP_ATTENTION_OUTPUT_GRADIENT, row, rows, p->value_size, 1, gradients);
    for (int i = 0; i < ROW_NUMBERS; i++) {
        char *line = lines + (size_t)(i * numbers->lanes) * numbers->number;
        numbers->set(line, numbers->lanes, i == CENTER ? INFINITY : 0);
        memcpy(line, number_of_row(u, c, row, (row_number)i), (size_t)rows * numbers->number);
    }
}

/* Computes weights, weights after dropout, and slopes of a panel. `lines` has the numbers of its rows. Returns the
 * weights after dropout. */
static char *compute_slopes(const unit *u, int64_t row, int64_t rows, int64_t from, int64_t keys, const char *queries,
                            const char *gradients, const char *lines) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_problem *p = u->item.problem;
    const size_t panel = (size_t)(keys * numbers->lanes) * numbers->number;
    numbers->product(keys, p->size, u->key, u->key_row, 1, queries, u->weights, NULL);
    if (p->softcap > 0) {
        numbers->cap(keys * numbers->lanes, u->weights, p->softcap, u->caps);
    }
    const char *bias = bp__attention_panel_bias(&u->item, row, rows, from, keys, u->bias);
    const bp__attention_limits limits = bp__attention_panel_limits(&u->item, row, rows, from, keys, u->limits);
    numbers->weigh(keys, u->weights, bias, limits, lines);
    numbers->product(keys, p->value_size, u->value, u->value_row, 1, gradients, u->slopes, NULL);
    char *weights = u->weights;
    if (p->dropout > 0) {
        memcpy(u->dropped, u->weights, panel);
        bp__attention_drop(&u->item, row, rows, numbers->lanes, from, keys, u->dropped);
        bp__attention_drop(&u->item, row, rows, numbers->lanes, from, keys, u->slopes);
        weights = u->dropped;
    }
    numbers->slope(keys, u->slopes, u->weights, lines + (size_t)(SHARE * numbers->lanes) * numbers->number);
    return weights;
}

/* Makes the slopes by scores slopes by products of queries and keys. */
static void leave_cap(const unit *u, int64_t keys) {
    const bp__attention_numbers *numbers = numbers_of(u);
    if (u->item.problem->softcap > 0) {
        numbers->multiply(keys * numbers->lanes, u->slopes, u->caps);
    }
}

static void load_block(unit *u, int64_t from, int64_t keys) {
    u->key = bp__attention_block(&u->item, BP_ATTENTION_KEY, from, keys, u->keys, &u->key_row);
    u->value = bp__attention_block(&u->item, BP_ATTENTION_VALUE, from, keys, u->values, &u->value_row);
}

/* ---- The numbers of rows ---- */

/* Computes SHARE of rows from their weights, as the sum of slopes from which nothing was subtracted. */
static void weigh_shares(unit *u, const call *c, int64_t row, int64_t rows) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const int64_t lanes = numbers->lanes, all = u->item.keys;
    for (int64_t at = row; at < row + rows; at += lanes) {
        const int64_t count = bp__least(lanes, row + rows - at);
        char *shares = number_of_row(u, c, at, SHARE);
        numbers->set(shares, count, 0);
        numbers->set(u->mask_sums, lanes, 0);
        load_panel(u, c, at, count, u->queries, u->gradients, u->query_rows);
        const bp__attention_range seen = bp__attention_seen(&u->item, at, count);
        for (int64_t from = 0; from < all; from += BP__ATTENTION_KEYS) {
            const int64_t keys = bp__least(BP__ATTENTION_KEYS, all - from);
            if (bp__attention_skips(seen, from, keys)) {
                continue;
            }
            load_block(u, from, keys);
            compute_slopes(u, at, count, from, keys, u->queries, u->gradients, u->query_rows);
            numbers->product(1, keys, u->ones, 0, 0, u->slopes, u->mask_sums, u->ones);
        }
        memcpy(shares, u->mask_sums, (size_t)count * numbers->number);
    }
}

/* Writes the numbers of each row of a block. */
static void prepare_rows(bp__attention_call *base, int64_t index, char *memory) {
    const call *c = (const call *)base;
    unit u = unit_of(c, memory);
    const bp__attention_numbers *numbers = numbers_of(&u);
    const int64_t block = rows_of_block(u.plan), row = index % blocks_of(u.plan) * block;
    const int64_t rows = bp__least(block, u.plan->work.rows - row);
    bool lacks = false;
    u.item = bp__attention_item_of(base, index / blocks_of(u.plan));
    for (int64_t i = row; i < row + rows; i++) {
        const double logsumexp = logsumexp_of(&u, i);
        const bool again = lacks_digits(logsumexp);
        if (!u.plan->weighs) {
            set_share(&u, c, i);
        }
        /* Rows without keys have no weights. */
        numbers->set(number_of_row(&u, c, i, CENTER), 1,
                     again                    ? -INFINITY
                     : logsumexp == -INFINITY ? INFINITY
                                              : logsumexp);
        numbers->set(number_of_row(&u, c, i, LOGARITHM), 1, 0);
        lacks = lacks || again;
    }
    if (lacks) {
        sum_rows(&u, c, row, rows);
    }
    if (u.plan->weighs) {
        weigh_shares(&u, c, row, rows);
    }
}

/* ---- The gradient by the query ---- */

static void query_gradient(bp__attention_call *base, int64_t index, char *memory) {
    const call *c = (const call *)base;
    unit u = unit_of(c, memory);
    const bp__attention_numbers *numbers = numbers_of(&u);
    const bp__attention_work *work = &u.plan->work;
    const bp_attention_problem *p = &work->problem.of.attention;
    const int64_t lanes = numbers->lanes, block = u.plan->panels * lanes, blocks = (work->rows + block - 1) / block;
    const int64_t row = index % blocks * block, rows = bp__least(block, work->rows - row);
    const int64_t panels = (rows + lanes - 1) / lanes;
    const size_t line = (size_t)lanes * numbers->number;
    numbers->set(u.sums, panels * p->size * lanes, 0);
    u.item = bp__attention_item_of(base, bp__attention_sweep_item(work, c->now, index / blocks, 0));
    for (int64_t i = 0; i < c->now->items; i++) {
        u.item = bp__attention_item_of(base, bp__attention_sweep_item(work, c->now, index / blocks, i));
        for (int64_t j = 0; j < panels; j++) {
            load_panel(&u, c, row + j * lanes, bp__least(lanes, rows - j * lanes),
                       u.queries + (size_t)(j * p->size) * line, u.gradients + (size_t)(j * p->value_size) * line,
                       u.more_sums + (size_t)(ROW_NUMBERS * j) * line);
        }
        const bp__attention_range all = bp__attention_seen(&u.item, row, rows);
        for (int64_t from = 0; from < u.item.keys; from += BP__ATTENTION_KEYS) {
            const int64_t keys = bp__least(BP__ATTENTION_KEYS, u.item.keys - from);
            if (bp__attention_skips(all, from, keys)) {
                continue;
            }
            load_block(&u, from, keys);
            for (int64_t j = 0; j < panels; j++) {
                const int64_t first = row + j * lanes, count = bp__least(lanes, rows - j * lanes);
                if (!bp__attention_skips(bp__attention_seen(&u.item, first, count), from, keys)) {
                    compute_slopes(&u, first, count, from, keys, u.queries + (size_t)(j * p->size) * line,
                                   u.gradients + (size_t)(j * p->value_size) * line,
                                   u.more_sums + (size_t)(ROW_NUMBERS * j) * line);
                    leave_cap(&u, keys);
                    numbers->product(p->size, keys, u.key, 1, u.key_row, u.slopes,
                                     u.sums + (size_t)(j * p->size) * line, u.ones);
                }
            }
        }
    }
    const bp_attention_layout *to = &p->tensor[c->now->first];
    for (int64_t i = 0; i < rows; i++) {
        const size_t at = (size_t)(i / lanes * p->size) * line + (size_t)(i % lanes) * numbers->number;
        bp__attention_elements_of(work, to->dtype)
            ->narrow(1, p->size, u.sums + at, 0, lanes, p->scale, bp__attention_row(&u.item, c->now->first, row + i), 0,
                     to->column);
    }
}

/* ---- The gradients by key and value ---- */

/* Makes the lanes without a row 0, before lanes are added up: they are NaN if a key is infinite. */
static void clear_lanes(const unit *u, int64_t rows, int64_t keys, char *panel) {
    const bp__attention_numbers *numbers = numbers_of(u);
    for (int64_t k = 0; k < keys && rows < numbers->lanes; k++) {
        numbers->set(panel + (size_t)(k * numbers->lanes + rows) * numbers->number, numbers->lanes - rows, 0);
    }
}

/* Adds weights times rows to the sums of a block of keys: panels [columns / lanes][keys][lanes]. */
static void add_rows(const unit *u, int64_t keys, int64_t columns, const char *weights, const char *rows, char *sums) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const int64_t lanes = numbers->lanes;
    const size_t line = (size_t)lanes * numbers->number;
    for (int64_t from = 0; from < columns; from += lanes) {
        numbers->product(keys, lanes, weights, lanes, 1, rows + (size_t)from * line,
                         sums + (size_t)(from / lanes * BP__ATTENTION_KEYS) * line, u->ones);
    }
}

static void write_block(const unit *u, bp_attention_tensor gradient, int64_t from, int64_t keys, int64_t columns,
                        double factor, const char *sums) {
    const bp_attention_layout *to = &u->item.problem->tensor[gradient];
    const bp__attention_elements *elements = bp__attention_elements_of(&u->plan->work, to->dtype);
    const int64_t lanes = numbers_of(u)->lanes;
    const size_t line = (size_t)lanes * numbers_of(u)->number;
    for (int64_t column = 0; column < columns; column += lanes) {
        elements->narrow(keys, bp__least(lanes, columns - column),
                         sums + (size_t)(column / lanes * BP__ATTENTION_KEYS) * line, lanes, 1, factor,
                         u->item.tensor[gradient] + (from * to->row + column * to->column) * (int64_t)elements->element,
                         to->row, to->column);
    }
}

static void key_gradients(bp__attention_call *base, int64_t index, char *memory) {
    const call *c = (const call *)base;
    unit u = unit_of(c, memory);
    const bp__attention_numbers *numbers = numbers_of(&u);
    const bp__attention_work *work = &u.plan->work;
    const bp_attention_problem *p = &work->problem.of.attention;
    const bool by_key = c->now->first == BP_ATTENTION_KEY_GRADIENT,
               by_value = c->now->first == BP_ATTENTION_VALUE_GRADIENT || c->now->second != BP_ATTENTION_TENSORS;
    const int64_t lanes = numbers->lanes, blocks = (p->keys + BP__ATTENTION_KEYS - 1) / BP__ATTENTION_KEYS;
    const int64_t from = index % blocks * BP__ATTENTION_KEYS, keys = bp__least(BP__ATTENTION_KEYS, p->keys - from);
    const int64_t key_columns = (p->size + lanes - 1) / lanes * lanes,
                  value_columns = (p->value_size + lanes - 1) / lanes * lanes;
    numbers->set(u.sums, key_columns * BP__ATTENTION_KEYS, 0);
    numbers->set(u.more_sums, value_columns * BP__ATTENTION_KEYS, 0);
    u.item = bp__attention_item_of(base, bp__attention_sweep_item(work, c->now, index / blocks, 0));
    for (int64_t i = 0; i < c->now->items; i++) {
        u.item = bp__attention_item_of(base, bp__attention_sweep_item(work, c->now, index / blocks, i));
        const int64_t own = bp__least(keys, u.item.keys - from);
        if (work->rows == 0 || bp__attention_skips(bp__attention_seen(&u.item, 0, work->rows), from, own)) {
            continue;
        }
        load_block(&u, from, own);
        for (int64_t row = 0; row < work->rows; row += lanes) {
            const int64_t rows = bp__least(lanes, work->rows - row);
            if (bp__attention_skips(bp__attention_seen(&u.item, row, rows), from, own)) {
                continue;
            }
            load_panel(&u, c, row, rows, u.queries, u.gradients, u.query_rows);
            char *weights = compute_slopes(&u, row, rows, from, own, u.queries, u.gradients, u.query_rows);
            if (by_value) {
                clear_lanes(&u, rows, own, weights);
                pack_rows(&u, BP_ATTENTION_OUTPUT_GRADIENT, row, rows, p->value_size, u.gradient_rows);
                add_rows(&u, own, p->value_size, weights, u.gradient_rows, u.more_sums);
            }
            if (by_key) {
                leave_cap(&u, own);
                clear_lanes(&u, rows, own, u.slopes);
                pack_rows(&u, BP_ATTENTION_QUERY, row, rows, p->size, u.query_rows);
                add_rows(&u, own, p->size, u.slopes, u.query_rows, u.sums);
            }
        }
    }
    if (by_key) {
        write_block(&u, BP_ATTENTION_KEY_GRADIENT, from, keys, p->size, p->scale, u.sums);
    }
    if (by_value) {
        write_block(&u, BP_ATTENTION_VALUE_GRADIENT, from, keys, p->value_size, 1, u.more_sums);
    }
}

/* ---- The gradient by the mask ---- */

/* Rows and keys of the units of one target. All rows belong to one unit if the gradient is summed over them, and so do
 * all keys. */
typedef struct mask_units {
    int64_t rows, keys;         /* of a unit */
    int64_t blocks, key_blocks; /* numbers of them */
} mask_units;

static mask_units mask_units_of(const bp__attention_work *work) {
    const bp_attention_problem *p = &work->problem.of.attention;
    const bp_attention_layout *to = &p->tensor[BP_ATTENTION_MASK_GRADIENT];
    mask_units m = {.rows = to->row == 0 ? work->rows : work->set.numbers->lanes,
                    .keys = to->column == 0 ? p->keys : BP__ATTENTION_KEYS};
    m.blocks = m.rows > 0 ? (work->rows + m.rows - 1) / m.rows : 1;
    m.key_blocks = m.keys > 0 ? (p->keys + m.keys - 1) / m.keys : 1;
    return m;
}

/* Adds the slopes of one panel and one block of keys to the sums: a line for each key, or one for all. */
static void add_slopes(const unit *u, int64_t rows, int64_t keys) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_layout *to = &u->item.problem->tensor[BP_ATTENTION_MASK_GRADIENT];
    clear_lanes(u, rows, keys, u->slopes);
    if (to->column == 0) {
        numbers->product(1, keys, u->ones, 0, 0, u->slopes, u->mask_sums, u->ones);
    } else {
        numbers->merge(keys, numbers->lanes, u->mask_sums, u->ones, u->slopes, u->ones);
    }
}

/* Writes the sums of a unit: one for each row, or one for all rows. */
static void write_mask_gradient(const unit *u, int64_t row, int64_t rows, int64_t from, int64_t keys) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_layout *to = &u->item.problem->tensor[BP_ATTENTION_MASK_GRADIENT];
    const int64_t lanes = numbers->lanes, columns = to->column == 0 ? 1 : keys;
    const char *sums = u->mask_sums;
    if (to->row == 0) { /* each lane gets the sum of all */
        char *all = u->mask_sums + (size_t)(BP__ATTENTION_KEYS * lanes) * numbers->number;
        numbers->product(columns, lanes, sums, lanes, 1, u->ones, all, NULL);
        sums = all;
    }
    for (int64_t lane = 0; lane < (to->row == 0 ? 1 : rows); lane++) {
        bp__attention_write_mask(&u->item, row + lane, from, columns, sums + (size_t)lane * numbers->number, lanes);
    }
}

static void mask_gradient(bp__attention_call *base, int64_t index, char *memory) {
    const call *c = (const call *)base;
    unit u = unit_of(c, memory);
    const bp__attention_numbers *numbers = numbers_of(&u);
    const bp__attention_work *work = &u.plan->work;
    const bp_attention_problem *p = &work->problem.of.attention;
    const mask_units m = mask_units_of(work);
    const int64_t lanes = numbers->lanes, first = index % m.key_blocks * m.keys,
                  row = index / m.key_blocks % m.blocks * m.rows, target = index / m.key_blocks / m.blocks;
    const int64_t to = bp__least(first + m.keys, p->keys), end = bp__least(row + m.rows, work->rows);
    numbers->set(u.mask_sums, BP__ATTENTION_KEYS * lanes, 0);
    u.item = bp__attention_item_of(base, bp__attention_sweep_item(work, c->now, target, 0));
    for (int64_t i = 0; i < c->now->items; i++) {
        u.item = bp__attention_item_of(base, bp__attention_sweep_item(work, c->now, target, i));
        for (int64_t at = row; at < end; at += lanes) {
            const int64_t rows = bp__least(lanes, end - at);
            const int64_t own = bp__least(to, u.item.keys);
            const bp__attention_range seen = bp__attention_seen(&u.item, at, rows);
            load_panel(&u, c, at, rows, u.queries, u.gradients, u.query_rows);
            for (int64_t from = first; from < own; from += BP__ATTENTION_KEYS) {
                const int64_t keys = bp__least(BP__ATTENTION_KEYS, own - from);
                if (bp__attention_skips(seen, from, keys)) {
                    continue;
                }
                load_block(&u, from, keys);
                compute_slopes(&u, at, rows, from, keys, u.queries, u.gradients, u.query_rows);
                add_slopes(&u, rows, keys);
            }
        }
    }
    write_mask_gradient(&u, row, end - row, first, to - first);
}

/* ---- Calls ---- */

static void run_sweep(call *c, const bp__attention_sweep *sweep) {
    const prepared *plan = (const prepared *)c->base.plan;
    const int64_t rows = plan->panels * plan->work.set.numbers->lanes, keys = plan->work.problem.of.attention.keys;
    const mask_units mask = mask_units_of(&plan->work);
    c->now = sweep;
    if (sweep->first == BP_ATTENTION_QUERY_GRADIENT) {
        bp__attention_stage(&c->base, query_gradient, sweep->targets * ((plan->work.rows + rows - 1) / rows));
    } else if (sweep->first == BP_ATTENTION_MASK_GRADIENT) {
        bp__attention_stage(&c->base, mask_gradient, sweep->targets * mask.blocks * mask.key_blocks);
    } else {
        bp__attention_stage(&c->base, key_gradients,
                            sweep->targets * ((keys + BP__ATTENTION_KEYS - 1) / BP__ATTENTION_KEYS));
    }
    c->now = NULL;
}

/* A line of ones, or as many as there are lanes. */
static int64_t lines_of_ones(const bp__attention_work *work) {
    return work->problem.of.attention.tensor[BP_ATTENTION_MASK_GRADIENT].dtype ? work->set.numbers->lanes : 1;
}

static bp_status run_attention_backward(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    const bp__attention_work *work = &plan->work;
    const bp__attention_numbers *numbers = work->set.numbers;
    call c = {.base = bp__attention_call_of(work, operands, exec)};
    const bp_status checked = bp__attention_check_numbers(&c.base);
    if (checked != BP_OK) {
        return checked;
    }
    for (int i = 0; i < work->threads; i++) {
        numbers->set(c.base.workspace + (size_t)i * work->memory + plan->ones, lines_of_ones(work) * numbers->lanes, 1);
    }
    bp__attention_stage(&c.base, prepare_rows, work->items * blocks_of(plan));
    bp__attention_sweep sweeps[BP__ATTENTION_SWEEPS];
    const int count = bp__attention_sweeps(work, sweeps);
    for (int i = 0; i < count; i++) {
        run_sweep(&c, &sweeps[i]);
    }
    return bp__stop_status(&c.base.stop);
}

/* ---- Plans ---- */

static int64_t whole(int64_t count, int64_t lanes) {
    return (count + lanes - 1) / lanes * lanes;
}

static void lay_out(prepared *plan) {
    const bp_attention_problem *p = &plan->work.problem.of.attention;
    const int64_t lanes = plan->work.set.numbers->lanes, keys = BP__ATTENTION_KEYS;
    const int64_t size = whole(p->size, lanes), value_size = whole(p->value_size, lanes);
    const size_t number = plan->work.set.numbers->number;
    size_t end = 0;
    plan->queries = bp__attention_reserve(&end, number, plan->panels * p->size, lanes);
    plan->gradients = bp__attention_reserve(&end, number, plan->panels * value_size, lanes);
    plan->query_rows = bp__attention_reserve(&end, number, bp__most(size, ROW_NUMBERS), lanes);
    plan->gradient_rows = bp__attention_reserve(&end, number, value_size, lanes);
    plan->weights = bp__attention_reserve(&end, number, keys, lanes);
    plan->dropped = bp__attention_reserve(&end, number, p->dropout > 0 ? keys : 0, lanes);
    plan->slopes = bp__attention_reserve(&end, number, keys, lanes);
    plan->bias = bp__attention_reserve(&end, number, p->tensor[BP_ATTENTION_MASK].dtype ? keys : 0, lanes);
    plan->limits = bp__attention_reserve(&end, number, 2, lanes);
    plan->caps = bp__attention_reserve(&end, number, p->softcap > 0 ? keys : 0, lanes);
    plan->ones = bp__attention_reserve(&end, number, lines_of_ones(&plan->work), lanes);
    plan->keys = bp__attention_reserve(&end, number, keys, p->size);
    plan->values = bp__attention_reserve(&end, number, keys, p->value_size);
    plan->sums = bp__attention_reserve(&end, number, bp__most(plan->panels * p->size, keys * size / lanes), lanes);
    plan->more_sums =
        bp__attention_reserve(&end, number, bp__most(ROW_NUMBERS * plan->panels, keys * value_size / lanes), lanes);
    plan->mask_sums =
        bp__attention_reserve(&end, number, p->tensor[BP_ATTENTION_MASK_GRADIENT].dtype ? 2 * keys : 0, lanes);
    plan->work.memory = end;
    plan->rows = bp__attention_times((size_t)plan->work.threads, end);
    plan->work.base.workspace = plan->rows + ROW_NUMBERS * (size_t)(plan->work.items * plan->work.rows) * number;
}

bp_status bp__attention_plan_backward(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                                      bp__attention_kernel kernel, int threads, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return bp__attention_no_memory(host, sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    bp__attention_begin(&plan->work, host, problem, set, threads);
    plan->work.base.enqueue = run_attention_backward;
    plan->weighs = bp__attention_weighs(problem);
    const int64_t panels = plan->work.rows / set->numbers->lanes;
    plan->panels = kernel == BP__ATTENTION_EFFICIENT ? 1 : bp__most(1, bp__least(PANELS, panels));
    lay_out(plan);
    *result = &plan->work.base;
    return BP_OK;
}
