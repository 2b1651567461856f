/* math.c - computes attention, or its gradients, by matrix products of whole items: all scores of an item are kept.
 *
 * Queries and keys are both multiplied by the square root of the scale, as PyTorch's reference does, so that scores
 * overflow no earlier than the result. The products are computed by this provider. If there are enough items, each
 * thread computes some of them; otherwise all threads share each product. */
#include "work.h"

#include <string.h>

typedef enum product {
    SCORES,   /* queries and keys */
    OUTPUT,   /* weights and values */
    SLOPES,   /* OUTPUT_GRADIENT and values */
    BY_QUERY, /* slopes and keys; adds, as those below */
    BY_KEY,   /* slopes and queries */
    BY_VALUE, /* weights and OUTPUT_GRADIENT */
    PRODUCTS
} product;

typedef struct prepared {
    bp__attention_work work;        /* must be first */
    bp_prepared *product[PRODUCTS]; /* NULL: not needed */
    double root, sign;              /* of the scale */
    /* Offsets of the arrays in a thread's memory: [rows or keys][columns]. */
    size_t queries, keys, values, gradients, scores, slopes, caps, bias, state, sums, more_sums, mask_sums, ones,
        shared;
} prepared;

typedef struct call {
    bp__attention_call base; /* must be first */
    const bp__attention_sweep *now;
} call;

/* The memory of a thread, and the item in it. */
typedef struct unit {
    const prepared *plan;
    bp__attention_item item;
    char *queries, *keys, *values, *gradients, *scores, *slopes, *caps, *bias, *state, *sums, *more_sums;
    char *mask_sums, *ones, *shared;
} unit;

static unit unit_of(const call *c, char *memory) {
    const prepared *plan = (const prepared *)c->base.plan;
    return (unit){.plan = plan,
                  .queries = memory + plan->queries,
                  .keys = memory + plan->keys,
                  .values = memory + plan->values,
                  .gradients = memory + plan->gradients,
                  .scores = memory + plan->scores,
                  .slopes = memory + plan->slopes,
                  .caps = memory + plan->caps,
                  .bias = memory + plan->bias,
                  .state = memory + plan->state,
                  .sums = memory + plan->sums,
                  .more_sums = memory + plan->more_sums,
                  .mask_sums = memory + plan->mask_sums,
                  .ones = memory + plan->ones,
                  .shared = memory + plan->shared};
}

static inline const bp__attention_numbers *numbers_of(const unit *u) {
    return u->plan->work.set.numbers;
}

/* ---- Steps ---- */

static void multiply(const unit *u, product which, char *a, char *b, char *c) {
    static const bp_scalar adds[2] = {{1, 0}, {1, 0}}, replaces[2] = {{1, 0}, {0, 0}};
    const bp_prepared *plan = u->plan->product[which];
    const bp_operand operands[] = {{a, 0}, {b, 0}, {c, 0}};
    const bp_exec exec = {.struct_size = sizeof exec,
                          .workspace = {u->shared, 0},
                          .workspace_size = plan->workspace,
                          .scalars = which >= BY_QUERY ? adds : replaces,
                          .operand_count = 3};
    plan->enqueue(plan, operands, &exec); /* cannot fail: it has its workspace */
}

/* Copies the rows of a tensor, as numbers. */
static void load_rows(const unit *u, bp_attention_tensor which, int64_t columns, double factor, char *to) {
    const bp_attention_layout *layout = &u->item.problem->tensor[which];
    for (int64_t row = 0; row < u->plan->work.rows; row++) {
        bp__attention_elements_of(&u->plan->work, layout->dtype)
            ->widen(1, columns, bp__attention_row(&u->item, which, row), 0, layout->column, factor,
                    to + (size_t)(row * columns) * numbers_of(u)->number, 0);
    }
}

static void load_keys(const unit *u, bp_attention_tensor which, int64_t columns, double factor, char *to) {
    const bp_attention_layout *layout = &u->item.problem->tensor[which];
    const int64_t own = u->item.keys, number = (int64_t)numbers_of(u)->number;
    if (u->item.problem->page_size > 0) {
        bp__attention_gather(&u->item, which, 0, own, factor, to);
    } else {
        bp__attention_elements_of(&u->plan->work, layout->dtype)
            ->widen(own, columns, u->item.tensor[which], layout->row, layout->column, factor, to, columns);
    }
    /* The rows behind the last key have weight 0. */
    numbers_of(u)->set(to + own * columns * number, (u->item.problem->keys - own) * columns, 0);
}

static void load_item(unit *u, const call *c, int64_t index) {
    const prepared *plan = u->plan;
    u->item = bp__attention_item_of(&c->base, index);
    const bp_attention_problem *p = u->item.problem;
    load_rows(u, BP_ATTENTION_QUERY, p->size, plan->root * plan->sign, u->queries);
    load_keys(u, BP_ATTENTION_KEY, p->size, plan->root, u->keys);
    load_keys(u, BP_ATTENTION_VALUE, p->value_size, 1, u->values);
}

/* The keys of a row whose weights and slopes are computed, from `first` on: those that it sees, or under `causal` alone
 * all, so that NaN in any key reaches the gradients. */
static bp__attention_range range_of(const unit *u, int64_t row) {
    const bp_attention_problem *p = u->item.problem;
    if (!bp__attention_has_window(p) && !p->tensor[BP_ATTENTION_LENGTHS].dtype) {
        return (bp__attention_range){0, p->keys};
    }
    const int64_t first = bp__attention_first(&u->item, row);
    return (bp__attention_range){first, bp__most(first, bp__attention_end(&u->item, row))};
}

/* Sets the numbers of a row outside a range to 0. */
static void clear_outside(const unit *u, bp__attention_range range, char *row) {
    const bp__attention_numbers *numbers = numbers_of(u);
    numbers->set(row, range.first, 0);
    numbers->set(row + (size_t)range.end * numbers->number, u->item.problem->keys - range.end, 0);
}

/* Limits all scores of the item. The gradients need the derivatives. */
static void cap_scores(const unit *u, char *slopes) {
    const bp_attention_problem *p = u->item.problem;
    if (p->softcap > 0) {
        numbers_of(u)->cap(u->plan->work.rows * p->keys, u->scores, p->softcap, slopes);
    }
}

/* Replaces the scores of a row by weights. Returns the logarithm of their sum before they were divided by it. */
static double weigh(const unit *u, int64_t row) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_problem *p = u->item.problem;
    const int64_t first = bp__attention_first(&u->item, row),
                  keys = bp__most(0, bp__attention_end(&u->item, row) - first);
    char *all = u->scores + (size_t)(row * p->keys) * numbers->number, *scores = all + (size_t)first * numbers->number,
         *greatest = u->state, *sum = greatest + numbers->number, *factor = sum + numbers->number;
    const char *bias = u->item.tensor[BP_ATTENTION_MASK] ? u->bias : NULL;
    if (bias) {
        bp__attention_bias(&u->item, row, first, keys, u->bias, 1);
    }
    numbers->set(greatest, 1, -INFINITY);
    numbers->set(sum, 1, 0);
    numbers->softmax_row(keys, scores, bias, greatest, sum, factor);
    const double total = numbers->load(sum);
    numbers->scale(keys, scores, total == 0 ? 1 : 1 / total);
    clear_outside(u, (bp__attention_range){first, first + keys}, all);
    return total == 0 ? -INFINITY : numbers->load(greatest) + log(total);
}

/* ---- The output ---- */

/* Whether all values of the item are finite. Sums of them times 0 are not 0 otherwise. */
static bool are_finite(const unit *u) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const int64_t count = u->item.problem->keys * u->item.problem->value_size;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += 0 * numbers->load(u->values + (size_t)i * numbers->number);
    }
    return sum == 0;
}

/* Multiplies weights and values. A weight of 0 times a value that is not finite is NaN: with a window, which may leave
 * out memory that holds anything, each row gets the keys alone that it sees. */
static void combine_values(const unit *u) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_problem *p = u->item.problem;
    if (!bp__attention_has_window(p) || are_finite(u)) {
        multiply(u, OUTPUT, u->scores, u->values, u->sums);
        return;
    }
    numbers->set(u->sums, u->plan->work.rows * p->value_size, 0);
    numbers->set(u->state, 1, 1);
    for (int64_t row = 0; row < u->plan->work.rows; row++) {
        const int64_t first = bp__attention_first(&u->item, row),
                      keys = bp__most(0, bp__attention_end(&u->item, row) - first);
        numbers->combine(keys, p->value_size, u->scores + (size_t)(row * p->keys + first) * numbers->number,
                         u->values + (size_t)(first * p->value_size) * numbers->number, p->value_size,
                         u->sums + (size_t)(row * p->value_size) * numbers->number, u->state);
    }
}

static void compute_output(bp__attention_call *base, int64_t index, char *memory) {
    const call *c = (const call *)base;
    unit u = unit_of(c, memory);
    const bp__attention_numbers *numbers = numbers_of(&u);
    const bp__attention_work *work = &u.plan->work;
    load_item(&u, c, index);
    const bp_attention_problem *p = u.item.problem;
    multiply(&u, SCORES, u.queries, u.keys, u.scores);
    cap_scores(&u, NULL);
    for (int64_t row = 0; row < work->rows; row++) {
        const double logarithm = weigh(&u, row);
        if (u.item.tensor[BP_ATTENTION_LOGSUMEXP]) {
            numbers->set(bp__attention_row(&u.item, BP_ATTENTION_LOGSUMEXP, row), 1, logarithm);
        }
        bp__attention_drop(&u.item, row, 1, 1, 0, p->keys, u.scores + (size_t)(row * p->keys) * numbers->number);
    }
    combine_values(&u);
    const bp_attention_layout *output = &p->tensor[BP_ATTENTION_OUTPUT];
    for (int64_t row = 0; row < work->rows; row++) {
        bp__attention_elements_of(work, output->dtype)
            ->narrow(1, p->value_size, u.sums + (size_t)(row * p->value_size) * numbers->number, 0, 1, 1,
                     bp__attention_row(&u.item, BP_ATTENTION_OUTPUT, row), 0, output->column);
    }
}

/* ---- The gradients ---- */

/* Computes weights after dropout, and slopes of the scores, of an item. */
static void compute_slopes(unit *u, const call *c, int64_t index) {
    const bp__attention_numbers *numbers = numbers_of(u);
    load_item(u, c, index);
    const bp_attention_problem *p = u->item.problem;
    load_rows(u, BP_ATTENTION_OUTPUT_GRADIENT, p->value_size, 1, u->gradients);
    multiply(u, SCORES, u->queries, u->keys, u->scores);
    cap_scores(u, u->caps);
    multiply(u, SLOPES, u->gradients, u->values, u->slopes);
    for (int64_t row = 0; row < u->plan->work.rows; row++) {
        const bp__attention_range range = range_of(u, row);
        const size_t begin = (size_t)(row * p->keys) * numbers->number,
                     at = begin + (size_t)range.first * numbers->number;
        const int64_t keys = range.end - range.first;
        weigh(u, row);
        bp__attention_drop(&u->item, row, 1, 1, range.first, keys, u->slopes + at);
        numbers->slope_row(keys, u->slopes + at, u->scores + at);
        bp__attention_drop(&u->item, row, 1, 1, range.first, keys, u->scores + at);
        clear_outside(u, range, u->slopes + begin);
    }
}

/* Writes a gradient of `count` rows or keys. */
static void write_gradient(const unit *u, bp_attention_tensor gradient, int64_t columns, double factor,
                           const char *sums) {
    const bp__attention_work *work = &u->plan->work;
    const bp_attention_layout *to = &u->item.problem->tensor[gradient];
    const bp__attention_elements *elements = bp__attention_elements_of(work, to->dtype);
    if (gradient != BP_ATTENTION_QUERY_GRADIENT) {
        elements->narrow(u->item.problem->keys, columns, sums, columns, 1, factor, u->item.tensor[gradient], to->row,
                         to->column);
        return;
    }
    for (int64_t row = 0; row < work->rows; row++) {
        elements->narrow(1, columns, sums + (size_t)(row * columns) * numbers_of(u)->number, 0, 1, factor,
                         bp__attention_row(&u->item, gradient, row), 0, to->column);
    }
}

static void compute_gradients(bp__attention_call *base, int64_t target, char *memory) {
    const call *c = (const call *)base;
    unit u = unit_of(c, memory);
    const prepared *plan = u.plan;
    const bp__attention_numbers *numbers = numbers_of(&u);
    const bp_attention_problem *p = &plan->work.problem.of.attention;
    const bp_attention_tensor first = c->now->first, second = c->now->second;
    const bool by_query = first == BP_ATTENTION_QUERY_GRADIENT, by_key = first == BP_ATTENTION_KEY_GRADIENT;
    const bool by_value = first == BP_ATTENTION_VALUE_GRADIENT || second == BP_ATTENTION_VALUE_GRADIENT;
    numbers->set(u.sums, (by_query ? plan->work.rows : p->keys) * p->size, 0);
    numbers->set(u.more_sums, p->keys * p->value_size, 0);
    u.item = bp__attention_item_of(base, bp__attention_sweep_item(&plan->work, c->now, target, 0));
    for (int64_t i = 0; i < c->now->items; i++) {
        compute_slopes(&u, c, bp__attention_sweep_item(&plan->work, c->now, target, i));
        if (p->softcap > 0) {
            numbers->multiply(plan->work.rows * p->keys, u.slopes, u.caps);
        }
        if (by_query) {
            multiply(&u, BY_QUERY, u.slopes, u.keys, u.sums);
        }
        if (by_key) {
            multiply(&u, BY_KEY, u.slopes, u.queries, u.sums);
        }
        if (by_value) {
            multiply(&u, BY_VALUE, u.scores, u.gradients, u.more_sums);
        }
    }
    if (by_query) {
        write_gradient(&u, first, p->size, plan->root * plan->sign, u.sums);
    }
    if (by_key) {
        write_gradient(&u, first, p->size, plan->root, u.sums);
    }
    if (by_value) {
        write_gradient(&u, BP_ATTENTION_VALUE_GRADIENT, p->value_size, 1, u.more_sums);
    }
}

/* The gradient by the mask has a row for each row of the item, or one for all, and an element for each key, or one. */
static int64_t mask_rows(const bp__attention_work *work) {
    return work->problem.of.attention.tensor[BP_ATTENTION_MASK_GRADIENT].row == 0 ? 1 : work->rows;
}

static int64_t mask_columns(const bp_attention_problem *p) {
    return p->tensor[BP_ATTENTION_MASK_GRADIENT].column == 0 ? 1 : p->keys;
}

/* Adds the slopes of an item to the sums. */
static void add_slopes(const unit *u) {
    const bp__attention_numbers *numbers = numbers_of(u);
    const bp_attention_problem *p = u->item.problem;
    const size_t number = numbers->number;
    for (int64_t row = 0; row < u->plan->work.rows; row++) {
        const char *slopes = u->slopes + (size_t)(row * p->keys) * number;
        char *to = u->mask_sums + (size_t)(mask_rows(&u->plan->work) == 1 ? 0 : row * mask_columns(p)) * number;
        if (mask_columns(p) == p->keys) {
            numbers->merge(p->keys, 1, to, u->ones, slopes, u->ones);
        } else {
            numbers->dots(1, p->keys, slopes, u->ones, 0, u->state);
            numbers->merge(1, 1, to, u->ones, u->state, u->ones);
        }
    }
}

static void mask_gradient(bp__attention_call *base, int64_t target, char *memory) {
    const call *c = (const call *)base;
    unit u = unit_of(c, memory);
    const bp__attention_work *work = &u.plan->work;
    const bp__attention_numbers *numbers = numbers_of(&u);
    const bp_attention_problem *p = &work->problem.of.attention;
    const int64_t columns = mask_columns(p);
    numbers->set(u.mask_sums, mask_rows(work) * columns, 0);
    numbers->set(u.ones, p->keys > 0 ? p->keys : 1, 1);
    u.item = bp__attention_item_of(base, bp__attention_sweep_item(work, c->now, target, 0));
    for (int64_t i = 0; i < c->now->items; i++) {
        compute_slopes(&u, c, bp__attention_sweep_item(work, c->now, target, i));
        add_slopes(&u);
    }
    for (int64_t row = 0; row < mask_rows(work); row++) {
        bp__attention_write_mask(&u.item, row, 0, columns, u.mask_sums + (size_t)(row * columns) * numbers->number, 1);
    }
}

/* ---- Calls ---- */

static bp_status run_attention_math(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call c = {.base = bp__attention_call_of(&plan->work, operands, exec)};
    const bp_status checked = bp__attention_check_numbers(&c.base);
    if (checked != BP_OK) {
        return checked;
    }
    if (!bp__attention_is_backward(&plan->work.problem)) {
        bp__attention_stage(&c.base, compute_output, plan->work.items);
        return bp__stop_status(&c.base.stop);
    }
    bp__attention_sweep sweeps[BP__ATTENTION_SWEEPS];
    const int count = bp__attention_sweeps(&plan->work, sweeps);
    for (int i = 0; i < count; i++) {
        c.now = &sweeps[i];
        bp__attention_stage(&c.base, sweeps[i].first == BP_ATTENTION_MASK_GRADIENT ? mask_gradient : compute_gradients,
                            sweeps[i].targets);
    }
    return bp__stop_status(&c.base.stop);
}

/* ---- Plans ---- */

static void destroy(bp_prepared *self) {
    prepared *plan = (prepared *)self;
    for (int i = 0; i < PRODUCTS; i++) {
        if (plan->product[i]) {
            plan->product[i]->destroy(plan->product[i]);
        }
    }
    plan->work.host->release(plan);
}

/* Prepares one product: m x k times k x n, of matrices whose rows are contiguous, or transposed ones. */
static bp_status prepare(prepared *plan, product which, int64_t m, int64_t n, int64_t k, int threads) {
    const bool a_transposed = which == BY_KEY || which == BY_VALUE, b_transposed = which == SCORES || which == SLOPES;
    bp_problem problem = {.struct_size = sizeof problem,
                          .op = BP_OP_GEMM,
                          .dtype = plan->work.problem.dtype == BP_F64 ? BP_F64 : BP_F32,
                          .policy = plan->work.problem.policy};
    bp_gemm_problem *p = &problem.of.gemm;
    bp__native_choice choices[BP__NATIVE_PATHS];
    *p = (bp_gemm_problem){.m = m,
                           .n = n,
                           .k = k,
                           .a_row = a_transposed ? 1 : k,
                           .a_column = a_transposed ? m : 1,
                           .b_row = b_transposed ? 1 : n,
                           .b_column = b_transposed ? k : 1,
                           .c_row = n,
                           .c_column = 1,
                           .alpha = BP_FACTOR_ONE,
                           .beta = which >= BY_QUERY ? BP_FACTOR_ONE : BP_FACTOR_ZERO,
                           .batch = 1};
    p->a_row = m == 1 ? 0 : p->a_row;
    p->a_column = k == 1 ? 0 : p->a_column;
    p->b_row = k == 1 ? 0 : p->b_row;
    p->b_column = n == 1 ? 0 : p->b_column;
    p->c_row = m == 1 ? 0 : p->c_row;
    p->c_column = n == 1 ? 0 : p->c_column;
    problem.policy.threads = threads;
    problem.policy.precision = problem.policy.packed = problem.policy.simulate = 0;
    bp__native_choose(plan->work.host, &problem, choices);
    return bp__native_prepare(plan->work.host, &choices[0], p, &plan->product[which]);
}

static bp_status prepare_products(prepared *plan, int threads) {
    const bp_attention_problem *p = &plan->work.problem.of.attention;
    const int64_t rows = plan->work.rows, keys = p->keys, size = p->size, value_size = p->value_size;
    const bp_attention_layout *tensor = p->tensor;
    bp_status status = prepare(plan, SCORES, rows, keys, size, threads);
    if (status == BP_OK && !bp__attention_is_backward(&plan->work.problem)) {
        return prepare(plan, OUTPUT, rows, value_size, keys, threads);
    }
    if (status == BP_OK) {
        status = prepare(plan, SLOPES, rows, keys, value_size, threads);
    }
    if (status == BP_OK && tensor[BP_ATTENTION_QUERY_GRADIENT].dtype) {
        status = prepare(plan, BY_QUERY, rows, size, keys, threads);
    }
    if (status == BP_OK && tensor[BP_ATTENTION_KEY_GRADIENT].dtype) {
        status = prepare(plan, BY_KEY, keys, size, rows, threads);
    }
    if (status == BP_OK && tensor[BP_ATTENTION_VALUE_GRADIENT].dtype) {
        status = prepare(plan, BY_VALUE, keys, value_size, rows, threads);
    }
    return status;
}

static void lay_out(prepared *plan) {
    const bp_attention_problem *p = &plan->work.problem.of.attention;
    const size_t number = plan->work.set.numbers->number;
    const int64_t rows = plan->work.rows, keys = p->keys, longest = rows > keys ? rows : keys;
    const bool backward = bp__attention_is_backward(&plan->work.problem);
    size_t end = 0, most = 0;
    plan->queries = bp__attention_reserve(&end, number, rows, p->size);
    plan->keys = bp__attention_reserve(&end, number, keys, p->size);
    plan->values = bp__attention_reserve(&end, number, keys, p->value_size);
    plan->scores = bp__attention_reserve(&end, number, rows, keys);
    plan->gradients = bp__attention_reserve(&end, number, backward ? rows : 0, p->value_size);
    plan->slopes = bp__attention_reserve(&end, number, backward ? rows : 0, keys);
    plan->caps = bp__attention_reserve(&end, number, backward && p->softcap > 0 ? rows : 0, keys);
    plan->bias = bp__attention_reserve(&end, number, 1, p->tensor[BP_ATTENTION_MASK].dtype ? keys : 0);
    plan->state = bp__attention_reserve(&end, number, 1, 3);
    plan->sums = bp__attention_reserve(&end, number, backward ? longest : rows, backward ? p->size : p->value_size);
    plan->more_sums = bp__attention_reserve(&end, number, backward ? keys : 0, p->value_size);
    const bool by_mask = p->tensor[BP_ATTENTION_MASK_GRADIENT].dtype;
    plan->mask_sums = bp__attention_reserve(&end, number, by_mask ? mask_rows(&plan->work) : 0, mask_columns(p));
    plan->ones = bp__attention_reserve(&end, number, by_mask, keys > 0 ? keys : 1);
    plan->shared = end;
    for (int i = 0; i < PRODUCTS; i++) {
        most = plan->product[i] && plan->product[i]->workspace > most ? plan->product[i]->workspace : most;
    }
    plan->work.memory = end + (most + 63) / 64 * 64;
    plan->work.base.workspace = bp__attention_times((size_t)plan->work.threads, plan->work.memory);
}

bp_status bp__attention_plan_math(const bp_host *host, const bp_problem *problem, const bp__attention_set *set,
                                  int threads, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return bp__attention_no_memory(host, sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    bp__attention_begin(&plan->work, host, problem, set, threads);
    const double scale = problem->of.attention.scale;
    const bool together = plan->work.items < threads;
    plan->work.threads = together ? 1 : threads;
    plan->work.base.enqueue = run_attention_math;
    plan->work.base.destroy = destroy;
    plan->root = sqrt(fabs(scale));
    plan->sign = scale < 0 ? -1 : 1;
    const bp_status status = prepare_products(plan, together ? threads : 1);
    if (status != BP_OK) {
        destroy(&plan->work.base);
        return status;
    }
    lay_out(plan);
    *result = &plan->work.base;
    return BP_OK;
}
