/* matrix_norm.c - computes matrix norms that are sums of elements (fro, 1, -1, inf and -inf) and all vector norms, of
 * any size and layout.
 *
 * A norm consists of sums along lines, which are the columns or the rows. Long lines are cut into splits. Threads take
 * whole splits, or whole lines that advance together. The order of every sum therefore follows from the sizes and
 * strides alone. NaN and infinity are propagated, and results are right up to the limits of the range (see check_sums()
 * and scaled_root()).
 */
#include "matrix_norm.h"

#include "providers/native/stop.h"
#include "small.h"

#include <math.h>
#include <string.h>

#define SPLIT_LENGTH 16384 /* elements of a sum that is made at once */
#define BLOCK 512          /* lines, or items, that advance together: their sums stay in the first cache */
#define SHORT 4            /* elements of lines that cost more, in time and sums, than elements far apart */
#define FEW 64             /* elements of an item that does not pay for itself */

typedef struct norm_plan {
    bp_prepared base; /* must be first, so that both structs have the same address */
    const bp_host *host;
    const bp__matrix_norm_kernels *kernels;
    int threads;
    bp__matrix_norm_kind kind;
    bool together;         /* neighbours in the batch advance together, since each has few elements */
    bool by_items;         /* threads take items, or units of each */
    bool across;           /* lines advance together, since elements of a line are far apart */
    int64_t first;         /* elements from the item's address to where the lines begin */
    int64_t count, length; /* lines, and elements of each */
    int64_t next, step;    /* from line to line and from element to element; not negative */
    int64_t splits;        /* of each line */
    int64_t units, share;  /* what threads draw, and sums in each */
    int64_t chunk;         /* items between two questions whether to go on */
    size_t sums;           /* bytes */
    size_t element;        /* bytes */
    bp_problem problem;
} norm_plan;

/* State of one item. */
typedef struct item_run {
    const norm_plan *plan;
    const char *at;
    double *sums, scale;
    bp__matrix_norm_kind kind; /* the plan's, or the kind of a step before it */
    double unit;               /* BP__NORM_POWERS: what moduli are divided by */
    int tasks;
    bp__stop *stop;
} item_run;

bool bp__matrix_norm_is_sum(const bp_problem *problem) {
    const bp_linalg_problem *l = &problem->of.linalg;
    return problem->op == BP_OP_VECTOR_NORM ||
           (problem->op == BP_OP_MATRIX_NORM &&
            (l->mode == BP_NORM_FRO || (l->mode == BP_NORM_P && fabs(l->order) != 2)));
}

static bp__matrix_norm_kind kind_of(const bp_problem *problem) {
    const double order = problem->of.linalg.order;
    if (problem->op == BP_OP_MATRIX_NORM) {
        return problem->of.linalg.mode == BP_NORM_FRO ? BP__NORM_SQUARES : BP__NORM_LINES;
    }
    return order == 2      ? BP__NORM_SQUARES
           : order == 1    ? BP__NORM_MODULI
           : order == 0    ? BP__NORM_NONZERO
           : !isinf(order) ? BP__NORM_POWERS
           : order > 0     ? BP__NORM_LARGEST
                           : BP__NORM_SMALLEST;
}

/* Whether all elements give one number. */
static bool is_whole(const norm_plan *plan) {
    return plan->kind != BP__NORM_LINES;
}

static bool is_complex(const bp_problem *problem) {
    return problem->dtype == BP_C64 || problem->dtype == BP_C128;
}

/* ---- Layout of a matrix ---- */

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* Makes both strides positive; the order of a line's elements does not matter. */
static void make_strides_positive(norm_plan *plan) {
    if (plan->step < 0) {
        plan->first += (plan->length - 1) * plan->step;
        plan->step = -plan->step;
    }
    if (plan->next < 0) {
        plan->first += (plan->count - 1) * plan->next;
        plan->next = -plan->next;
    }
}

static void choose_lines(norm_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const bp_linalg_operand *a = &l->operand[0];
    /* A single row or column has no step across; the other direction is the line of a norm of all elements then. */
    const bool near_rows = a->columns == 1 || (a->rows != 1 && magnitude(a->row) <= magnitude(a->column));
    const bool columns = is_whole(plan) ? near_rows : fabs(l->order) == 1;
    plan->count = columns ? a->columns : a->rows;
    plan->length = columns ? a->rows : a->columns;
    plan->next = columns ? a->column : a->row;
    plan->step = columns ? a->row : a->column;
    make_strides_positive(plan);
    if (is_whole(plan) && plan->count > 1 && plan->next == plan->length * plan->step) {
        plan->length *= plan->count;
        plan->count = 1;
    }
    if (is_whole(plan) && plan->length <= SHORT && plan->count > plan->length) {
        const int64_t count = plan->count, next = plan->next;
        plan->count = plan->length;
        plan->next = plan->step;
        plan->length = count;
        plan->step = next;
    }
    plan->across = !is_whole(plan) && plan->count > 1 && (plan->length == 1 || plan->step > plan->next);
}

/* Powers need two passes, and take far longer than what is saved. */
static bool pays_together(const norm_plan *plan) {
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    return plan->problem.op == BP_OP_VECTOR_NORM && plan->kind != BP__NORM_POWERS && l->batch_ndim > 0 &&
           l->batch_shape[l->batch_ndim - 1] >= 8 && plan->count * plan->length <= FEW;
}

static void cut(norm_plan *plan) {
    plan->together = pays_together(plan);
    plan->splits = plan->across ? 1 : (plan->length + SPLIT_LENGTH - 1) / SPLIT_LENGTH;
    const int64_t sums = plan->count * plan->splits;
    plan->share = plan->across ? BLOCK : plan->length >= SPLIT_LENGTH ? 1 : SPLIT_LENGTH / plan->length;
    plan->units = (sums + plan->share - 1) / plan->share;
    plan->chunk = bp__stop_chunk((double)plan->count * (double)plan->length, INT64_MAX);
    plan->sums = ((size_t)sums * sizeof(double) + 63) / 64 * 64;
}

/* ---- Sums ---- */

static double element_modulus(bp_dtype dtype, const void *at, int64_t index) {
    return dtype == BP_C64 ? hypot((double)((const float *)at)[2 * index], (double)((const float *)at)[2 * index + 1])
                           : hypot(((const double *)at)[2 * index], ((const double *)at)[2 * index + 1]);
}

/* Computes a sum again with hypot(). This is necessary if the square of a complex modulus left the range of double,
 * which shows in a sum that is very small or not finite. hypot() of infinity and NaN is infinity. */
static double careful_sum(const norm_plan *plan, const char *at, int64_t length) {
    double sum = 0;
    for (int64_t i = 0; i < length; i++) {
        sum += element_modulus((bp_dtype)plan->problem.dtype, at, i * plan->step);
    }
    return sum;
}

static void check_sums(const norm_plan *plan, const char *at, int64_t length, int64_t count, double *sums) {
    const double least = plan->problem.dtype == BP_C128 ? 1e-120 : 0;
    for (int64_t line = 0; line < count && is_complex(&plan->problem); line++) {
        if (!(sums[line] >= least && sums[line] < (double)INFINITY)) {
            sums[line] = careful_sum(plan, at + line * plan->next * (int64_t)plan->element, length);
        }
    }
}

static const char *line_at(const item_run *run, int64_t line) {
    return run->at + line * run->plan->next * (int64_t)run->plan->element;
}

static void add_across(const item_run *run, int64_t from, int64_t until) {
    const norm_plan *plan = run->plan;
    memset(run->sums + from, 0, (size_t)(until - from) * sizeof(double));
    plan->kernels->add_moduli(line_at(run, from), plan->step, plan->length, plan->next, until - from, run->sums + from);
    check_sums(plan, line_at(run, from), plan->length, until - from, run->sums + from);
}

static double reduce_line(const item_run *run, const char *at, int64_t length) {
    const norm_plan *plan = run->plan;
    if (run->kind == BP__NORM_SQUARES) {
        return plan->kernels->squares(at, plan->step, length, run->scale);
    }
    const bp__matrix_norm_line line = {at, plan->step, length, plan->problem.of.linalg.order, run->unit};
    return bp__matrix_norm_reduce(run->kind, (bp_dtype)plan->problem.dtype, &line);
}

/* A piece of each line, of the lines that the sums stand for. */
static void add_splits(const item_run *run, const char *at, int64_t length, int64_t count, double *sums) {
    const norm_plan *plan = run->plan;
    if (run->kind != BP__NORM_LINES && run->kind != BP__NORM_MODULI) {
        for (int64_t line = 0; line < count; line++) {
            sums[line] = reduce_line(run, at + line * plan->next * (int64_t)plan->element, length);
        }
        return;
    }
    plan->kernels->moduli(at, plan->step, length, plan->next, count, sums);
    check_sums(plan, at, length, count, sums);
}

static void add_along(const item_run *run, int64_t from, int64_t until) {
    const norm_plan *plan = run->plan;
    if (plan->splits == 1) {
        add_splits(run, line_at(run, from), plan->length, until - from, run->sums + from);
        return;
    }
    for (int64_t sum = from; sum < until; sum++) {
        const int64_t start = sum % plan->splits * SPLIT_LENGTH, left = plan->length - start;
        const char *at = line_at(run, sum / plan->splits) + start * plan->step * (int64_t)plan->element;
        add_splits(run, at, left < SPLIT_LENGTH ? left : SPLIT_LENGTH, 1, run->sums + sum);
    }
}

static void run_units(const item_run *run, int64_t from, int64_t until) {
    const norm_plan *plan = run->plan;
    const int64_t sums = plan->count * plan->splits;
    for (int64_t unit = from; unit < until && !bp__stops(run->stop); unit++) {
        const int64_t start = unit * plan->share, end = start + plan->share < sums ? start + plan->share : sums;
        if (plan->across) {
            add_across(run, start, end);
        } else {
            add_along(run, start, end);
        }
    }
}

static void run_share(void *context, int task) {
    const item_run *run = context;
    const int64_t units = run->plan->units;
    run_units(run, units * task / run->tasks, units * (task + 1) / run->tasks);
}

/* Computes all sums of an item. Returns false if the call was stopped and sums are missing. */
static bool make_sums(item_run *run) {
    if (run->tasks > 1) {
        run->plan->host->parallel(run->plan->threads, run->tasks, run_share, run);
    } else {
        run_units(run, 0, run->plan->units);
    }
    return !bp__stopped(run->stop);
}

static double total(const item_run *run, int64_t from, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += run->sums[from + i];
    }
    return sum;
}

/* ---- Norms ---- */

/* The largest or smallest of all splits, or NaN where one is. */
static double extreme_of_all(const item_run *run) {
    double best = run->sums[0];
    for (int64_t i = 1; i < run->plan->count * run->plan->splits; i++) {
        const double x = run->sums[i];
        const bool better = run->kind == BP__NORM_LARGEST ? x > best : x < best;
        best = better || isnan(x) ? x : best;
    }
    return best;
}

/* Returns the root of a sum of squares that left the range of double, by scaling the elements to near 1. */
static double scaled_root(item_run *run) {
    enum { MOST = 1000 };
    run->kind = BP__NORM_LARGEST;
    const double largest = make_sums(run) ? extreme_of_all(run) : 0;
    run->kind = BP__NORM_SQUARES;
    if (largest == 0 || isinf(largest)) {
        return largest;
    }
    int exponent;
    frexp(largest, &exponent);
    exponent = exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent;
    run->scale = ldexp(1, -exponent);
    if (!make_sums(run)) {
        return 0;
    }
    return ldexp(sqrt(total(run, 0, run->plan->count * run->plan->splits)), exponent);
}

/* Squares of single precision are always in the range of double. Sums above 1e-280 have lost nothing significant to
 * underflow. */
static double frobenius(item_run *run) {
    const norm_plan *plan = run->plan;
    const double sum = total(run, 0, plan->count * plan->splits);
    const bool wide = plan->problem.dtype == BP_F64 || plan->problem.dtype == BP_C128;
    return !wide || isnan(sum) || (sum > 1e-280 && !isinf(sum)) ? sqrt(sum) : scaled_root(run);
}

/* Returns the largest or smallest sum of a line, or NaN if a sum is NaN. */
static double extreme_sum(const item_run *run) {
    const norm_plan *plan = run->plan;
    const bool largest = plan->problem.of.linalg.order > 0;
    double best = total(run, 0, plan->splits);
    for (int64_t line = 1; line < plan->count; line++) {
        const double sum = total(run, line * plan->splits, plan->splits);
        const bool better = largest ? sum > best : sum < best;
        best = better || isnan(sum) ? sum : best;
    }
    return best;
}

/* Powers of moduli in units of the largest one (the smallest, for a negative order), so that no power leaves the range
 * where the norm does not. */
static double root_of_powers(item_run *run) {
    const double order = run->plan->problem.of.linalg.order;
    run->kind = order > 0 ? BP__NORM_LARGEST : BP__NORM_SMALLEST;
    if (!make_sums(run)) {
        return 0;
    }
    run->unit = extreme_of_all(run);
    if (run->unit == 0 || !isfinite(run->unit)) {
        return run->unit;
    }
    run->kind = BP__NORM_POWERS;
    if (!make_sums(run)) {
        return 0;
    }
    const double sum = total(run, 0, run->plan->count * run->plan->splits), root = pow(sum, 1 / order);
    return isinf(root) || root == 0 ? exp(log(run->unit) + log(sum) / order) : run->unit * root;
}

static double norm_of(item_run *run) {
    switch (run->plan->kind) {
    case BP__NORM_LINES:
        return extreme_sum(run);
    case BP__NORM_SQUARES:
        return frobenius(run);
    case BP__NORM_LARGEST:
    case BP__NORM_SMALLEST:
        return extreme_of_all(run);
    default:
        return total(run, 0, run->plan->count * run->plan->splits);
    }
}

/* ---- Calls ---- */

typedef struct call {
    const norm_plan *plan;
    void *const *operands;
    char *scratch;
    bp__stop stop;
} call;

static void run_item(call *work, int64_t item, double *sums, int tasks) {
    const norm_plan *plan = work->plan;
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    char *at[BP_LINALG_OPERANDS];
    bp__item_locate(l, work->operands, item, at);
    item_run run = {.plan = plan,
                    .at = at[0] + plan->first * (int64_t)plan->element,
                    .sums = sums,
                    .scale = 1,
                    .kind = plan->kind,
                    .tasks = tasks,
                    .stop = &work->stop};
    if (plan->kind == BP__NORM_POWERS || make_sums(&run)) {
        const double norm = plan->kind == BP__NORM_POWERS ? root_of_powers(&run) : norm_of(&run);
        bp__item_fill(&l->operand[1], at[1], norm, norm);
    }
}

/* Whether the sum of an item may have left the range of double on its way. */
static bool is_doubtful(const norm_plan *plan, double sum) {
    const bool wide = plan->problem.dtype == BP_F64 || plan->problem.dtype == BP_C128;
    if (plan->kind == BP__NORM_SQUARES) {
        return wide && !isnan(sum) && !(sum > 1e-280 && sum < (double)INFINITY);
    }
    return plan->kind == BP__NORM_MODULI && is_complex(&plan->problem) && !(sum >= 1e-120 && sum < (double)INFINITY);
}

/* Reduces items from `item` on whose addresses are evenly apart, up to BLOCK of them. Returns how many. */
static int64_t run_block(call *work, int64_t item, int64_t until, double *sums) {
    const norm_plan *plan = work->plan;
    const bp_linalg_problem *l = &plan->problem.of.linalg;
    const int inner = l->batch_ndim - 1;
    const int64_t left = l->batch_shape[inner] - item % l->batch_shape[inner];
    const int64_t most = left < BLOCK ? left : BLOCK, count = until - item < most ? until - item : most;
    const int64_t next = l->operand[0].batch[inner], element = (int64_t)plan->element;
    const int64_t out_step = l->operand[1].batch[inner] * (int64_t)bp_dtype_size((bp_dtype)l->operand[1].dtype);
    double so_far[BLOCK];
    char *at[BP_LINALG_OPERANDS];
    bp__item_locate(l, work->operands, item, at);
    for (int64_t i = 0; i < count; i++) {
        so_far[i] = plan->kind == BP__NORM_SMALLEST ? (double)INFINITY : 0;
    }
    for (int64_t line = 0; line < plan->count; line++) {
        const char *from = at[0] + (plan->first + line * plan->next) * element;
        if (plan->kind == BP__NORM_MODULI) {
            plan->kernels->add_moduli(from, plan->step, plan->length, next, count, so_far);
            continue;
        }
        for (int64_t i = 0; i < plan->length; i++) {
            bp__matrix_norm_join(plan->kind, (bp_dtype)plan->problem.dtype, from + i * plan->step * element, next,
                                 count, so_far);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        if (is_doubtful(plan, so_far[i])) {
            run_item(work, item + i, sums, 1);
        } else {
            const double norm = plan->kind == BP__NORM_SQUARES ? sqrt(so_far[i]) : so_far[i];
            bp__item_fill(&l->operand[1], at[1] + i * out_step, norm, norm);
        }
    }
    return count;
}

/* Items one after the other, with so many tasks on each. */
static void run_items(call *work, int64_t item, int64_t until, double *sums, int tasks) {
    while (item < until && !bp__stops(&work->stop)) {
        const int64_t left = until - item, end = item + (left < work->plan->chunk ? left : work->plan->chunk);
        while (item < end) {
            if (work->plan->together) {
                item += run_block(work, item, end, sums);
            } else {
                run_item(work, item++, sums, tasks);
            }
        }
    }
}

static void items_task(void *context, int task) {
    call *work = context;
    const norm_plan *plan = work->plan;
    const int64_t items = plan->problem.of.linalg.batch;
    double *sums = (void *)(work->scratch + (size_t)task * plan->sums);
    run_items(work, items * task / plan->threads, items * (task + 1) / plan->threads, sums, 1);
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const norm_plan *plan = (const norm_plan *)self;
    void *at[BP_LINALG_OPERANDS];
    bp_linalg_addresses(&plan->problem.of.linalg, operands, at);
    call work = {plan, at, bp_operand_address(&exec->workspace), {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (plan->by_items) {
        plan->host->parallel(plan->threads, plan->threads, items_task, &work);
    } else {
        run_items(&work, 0, plan->problem.of.linalg.batch, (void *)work.scratch, plan->threads);
    }
    return bp__stop_status(&work.stop);
}

static void destroy(bp_prepared *self) {
    ((norm_plan *)self)->host->release(self);
}

bp_status bp__matrix_norm_prepare(const bp_host *host, const bp_problem *problem,
                                  const bp__matrix_norm_kernels *kernels, int threads, bp_prepared **prepared) {
    norm_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = enqueue, .destroy = destroy};
    plan->host = host;
    plan->kernels = kernels;
    plan->element = bp_dtype_size((bp_dtype)problem->dtype);
    plan->problem = *problem;
    plan->kind = kind_of(problem);
    choose_lines(plan);
    cut(plan);
    plan->threads = threads;
    plan->by_items = threads > 1 && (problem->of.linalg.batch >= threads || problem->of.linalg.batch >= plan->units);
    plan->base.workspace = (plan->sums * (plan->by_items ? (size_t)threads : 1) + 63) / 64 * 64;
    *prepared = &plan->base;
    return BP_OK;
}

int64_t bp__matrix_norm_shares(const bp_problem *problem) {
    norm_plan plan = {.problem = *problem, .kind = kind_of(problem)};
    choose_lines(&plan);
    cut(&plan);
    const int64_t batch = problem->of.linalg.batch;
    return batch > plan.units ? batch : plan.units;
}

/* Returns an estimate from times measured on a Zen core near 3 GHz with AVX2. */
double bp__matrix_norm_cost(const bp_host *host, const bp_problem *problem) {
    norm_plan plan = {.problem = *problem, .kind = kind_of(problem)};
    choose_lines(&plan);
    cut(&plan);
    const bool fro = is_whole(&plan), lonely = plan.kind > BP__NORM_MODULI,
               contiguous = (plan.across ? plan.next : plan.step) <= 1;
    const double elements = (double)plan.count * (double)plan.length, batch = (double)problem->of.linalg.batch;
    const double bytes = elements * (double)bp_dtype_size((bp_dtype)problem->dtype);
    const double l2 = host->machine->l2_bytes > 0 ? (double)host->machine->l2_bytes : 512 << 10;
    /* Nanoseconds for each element: roots of complex ones, or loads, which scattered ones do one by one. */
    const double root = is_complex(problem) && plan.kind <= BP__NORM_MODULI && plan.kind != BP__NORM_SQUARES ? 0.9 : 0;
    const double single = plan.kind == BP__NORM_POWERS ? 25 : !lonely ? 0 : is_complex(problem) ? 8 : 0.5;
    const double compute = single + (contiguous ? 0.17 : 0.8) * (is_complex(problem) ? 2 : 1);
    const double memory = bytes * batch <= l2 ? 0 : bytes / elements * (contiguous ? 0.05 : 0.5);
    if (plan.together) {
        return 20 + batch * (6 + elements * (2 + root + single));
    }
    const double lines = plan.across ? 0.5 : fro ? 12 : 4;
    return 20 + batch * (50 + (double)plan.count * lines + elements * fmax(root + compute, memory));
}
