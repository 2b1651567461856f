/* choose.c - chooses the path of a matrix product, the operand that vectors run along, and how threads share the work.
 * All decisions follow from the problem's bytes and the machine, so that a problem always gets the same answer.
 */
#include "choose.h"

#include "providers/native/isa.h"

#include <math.h>
#include <string.h>

/* Multiplications up to which scalar loops are fastest, and up to which packing S does not pay. */
#define TINY_WORK 32
#define SMALL_WORK (112 * 112 * 112)
/* Bytes of V that half a second-level cache holds while columns of S are read. */
#define NARROW_BYTES (128 << 10)
/* Columns of S up to which reading V in place, several times, takes less time than packing it. */
#define FEW_COLUMNS 12
/* Rows of S up to which all of its lines in use stay in the first-level cache. */
#define SHORT_K 64

static const bp__native_set *const sets[] =
    BP__NATIVE_PER_ISA(&bp__native_default, &bp__native_avx2, &bp__native_avx512);

/* `set` is an ISA index, of integers a bp__native_integer_isa. */
static const char *algorithm_text(bp__native_path path, int set) {
    static const char *const packed[] = {"packed default", "packed avx2", "packed avx512", "packed avxvnni",
                                         "packed avx512vnni"};
    static const char *const small[] = {"small default", "small avx2", "small avx512", "small avxvnni",
                                        "small avx512vnni"};
    switch (path) {
    case BP__PATH_NONE:
        return "nothing to do";
    case BP__PATH_SCALE:
        return "scale";
    case BP__PATH_TINY:
        return "tiny";
    case BP__PATH_DOT:
        return "dot";
    case BP__PATH_OUTER:
        return "outer";
    case BP__PATH_GEMV:
        return "gemv";
    case BP__PATH_SMALL:
        return small[set];
    case BP__PATH_PACKED:
    case BP__NATIVE_PATHS:
        break;
    }
    return packed[set];
}

/* Estimates cycles of a small product of a real type if vectors run along p, from the processor's two multiply-add
 * units: broadcasts and multiply-adds, reading V and S, and writing C. */
static double cycles_along(const bp__native_kernels *kernels, double p, double q, double k, int64_t v_p, int64_t v_k,
                           int64_t s_k, int64_t c_p) {
    const double vectors = ceil(p / kernels->lanes), chains = vectors * fmin(q, 8);
    const double multiply = vectors * q * k * 0.5 * fmax(1, 8 / chains);
    const double packing = 0.7 * p * k; /* or, if V is read along k in place, for each few columns: */
    const double in_registers = kernels->rows_columns > 0 ? 0.25 * p * k * ceil(q / kernels->rows_columns) : packing;
    const double reads = v_p == 1 ? 0 : v_k == 1 ? fmin(packing, in_registers) : packing;
    const double across_lines = s_k == 1 || k < SHORT_K ? 0 : 0.5 * q * k; /* of S: few elements of a line are used */
    return multiply + reads + across_lines +
           (c_p == 1 ? vectors * q + (p < kernels->lanes * vectors ? 2 * q : 0) : 1.5 * p * q);
}

/* Returns whether vectors run along the rows of C (index n) instead of its columns (index m): the direction in which C
 * is contiguous. If that is short, the cheaper one. */
static bool along_columns(const bp_gemm_problem *g, const bp__native_kernels *kernels) {
    const int lanes = kernels->lanes;
    if (g->n == 1 || g->m == 1) {
        return g->m == 1 && g->n > 1;
    }
    if (kernels->s_columns > 0 && (g->m <= kernels->rows_columns || g->n <= kernels->rows_columns)) {
        /* The longer operand is read in place, along k if it is short, too. */
        return g->m <= kernels->rows_columns && g->n <= kernels->rows_columns ? g->a_column != 1 : g->n > g->m;
    }
    const bool columns = g->c_column == 1 || (g->c_row != 1 && g->b_column == 1 && g->a_row != 1);
    const int64_t along = columns ? g->n : g->m, across = columns ? g->m : g->n;
    if (along >= 2 * lanes || across < lanes) {
        return columns;
    }
    if (kernels->complex || kernels->widen || kernels->pair || kernels->s_columns > 0) {
        return along < lanes ? !columns : columns;
    }
    const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
    return cycles_along(kernels, n, m, k, g->b_column, g->b_row, g->a_column, g->c_column) <
           cycles_along(kernels, m, n, k, g->a_row, g->a_column, g->b_row, g->c_row);
}

static void orient(const bp_gemm_problem *g, bp__native_choice *choice) {
    bp__native_view *v = &choice->view;
    choice->transposed = along_columns(g, choice->kernels);
    v->k = g->k;
    if (choice->transposed) {
        v->p = g->n, v->q = g->m;
        v->v_p = g->b_column, v->v_k = g->b_row, v->v_conjugate = g->conjugate_b;
        v->s_q = g->a_row, v->s_k = g->a_column, v->s_conjugate = g->conjugate_a;
        v->c_p = g->c_column, v->c_q = g->c_row;
    } else {
        v->p = g->m, v->q = g->n;
        v->v_p = g->a_row, v->v_k = g->a_column, v->v_conjugate = g->conjugate_a;
        v->s_q = g->b_column, v->s_k = g->b_row, v->s_conjugate = g->conjugate_b;
        v->c_p = g->c_row, v->c_q = g->c_column;
    }
    choice->shares_v = choice->shares_s = true;
    for (int i = 0; i < g->batch_ndim; i++) {
        choice->shares_v &= (choice->transposed ? g->batch_b[i] : g->batch_a[i]) == 0;
        choice->shares_s &= (choice->transposed ? g->batch_a[i] : g->batch_b[i]) == 0;
    }
    /* A vector of one row and panels of one column can be read as contiguous. */
    if (v->p == 1) {
        v->v_p = v->c_p = 1;
    }
}

/* Returns p*q*k, or INT64_MAX on overflow. */
static int64_t work_of(const bp__native_view *v) {
    int64_t work;
    if (__builtin_mul_overflow(v->p, v->q, &work) || __builtin_mul_overflow(work, v->k, &work)) {
        return INT64_MAX;
    }
    return work;
}

/* Returns whether V is one panel that stays in the cache, or S has few columns and V is read in place. Packing the
 * other operand would then be as much work as the product. */
static bool is_narrow(const bp__native_kernels *kernels, const bp__native_view *v) {
    return (v->p <= kernels->p_panel && v->k <= NARROW_BYTES / (v->p * (int64_t)kernels->element)) ||
           (v->q <= FEW_COLUMNS && v->v_p == 1 && !kernels->complex);
}

/* Returns whether a product has so few columns that V is read in place. */
static bool takes_gemv(const bp__native_kernels *kernels, const bp__native_view *v) {
    if (kernels->s_columns > 0) {
        return v->q <= kernels->rows_columns && (v->v_k == 1 || (v->v_p == 1 && v->p >= kernels->lanes));
    }
    return v->q == 1 && v->v_p == 1 && kernels->gemv && (v->p >= 4 * kernels->lanes || !kernels->complex);
}

/* Returns the path that is fastest by measurements. */
static bp__native_path path_for(const bp_gemm_problem *g, const bp__native_choice *choice) {
    const bp__native_kernels *kernels = choice->kernels;
    const bp__native_view *v = &choice->view;
    if (v->p == 0 || v->q == 0 || g->batch == 0) {
        return BP__PATH_NONE;
    }
    if (v->k == 0 || g->alpha == BP_FACTOR_ZERO) {
        return BP__PATH_SCALE;
    }
    if (!kernels->small) {
        return BP__PATH_PACKED;
    }
    const int64_t work = work_of(v);
    const bool conjugates = kernels->complex && v->s_conjugate;
    if (work <= TINY_WORK && !conjugates) {
        return BP__PATH_TINY;
    }
    if (v->p == 1 && v->q == 1) {
        return BP__PATH_DOT;
    }
    if (conjugates) {
        return BP__PATH_PACKED;
    }
    if (v->k == 1) {
        return BP__PATH_OUTER;
    }
    if (takes_gemv(kernels, v)) {
        return BP__PATH_GEMV;
    }
    return v->q <= kernels->q_panel || work <= SMALL_WORK || is_narrow(kernels, v) ? BP__PATH_SMALL : BP__PATH_PACKED;
}

/* Decides how threads share the work. Each product is cut into parts of whole vectors, along p first (outer products:
 * along q first). The number of threads is reduced to the number of parts. */
static void split(const bp_gemm_problem *g, bp__native_choice *choice) {
    const bp__native_kernels *kernels = choice->kernels;
    const bp__native_view *v = &choice->view;
    choice->p_parts = choice->q_parts = 1;
    choice->split_items = true;
    if (choice->threads == 1) {
        choice->split_items = choice->path != BP__PATH_PACKED || g->batch > 1;
        return;
    }
    const bool even = g->batch % choice->threads == 0 || g->batch >= 8 * (int64_t)choice->threads;
    if (even) {
        return;
    }
    int64_t p_most = (v->p + kernels->p_panel - 1) / kernels->p_panel;
    int64_t q_most = (v->q + kernels->q_panel - 1) / kernels->q_panel;
    if (choice->path == BP__PATH_PACKED) {
        choice->split_items = false;
        choice->threads = p_most * q_most < choice->threads ? (int)(p_most * q_most) : choice->threads;
        return;
    }
    int64_t *first = choice->path == BP__PATH_OUTER ? &q_most : &p_most;
    int64_t *second = choice->path == BP__PATH_OUTER ? &p_most : &q_most;
    *first = *first < choice->threads ? *first : choice->threads;
    int64_t rest = (choice->threads + *first - 1) / *first;
    *second = *second < rest ? *second : rest;
    choice->p_parts = (int)p_most;
    choice->q_parts = (int)q_most;
    int64_t units = g->batch * p_most * q_most;
    choice->threads = units < choice->threads ? (int)units : choice->threads;
}

/* Cuts parts that would take long, so that a call can be stopped between two parts. */
static void cut_long_parts(bp__native_choice *choice) {
    const bp__native_view *v = &choice->view;
    const double long_work = 2e7, most_cuts = 1 << 20;
    const double work = (double)v->p * (double)v->q * (double)(v->k + 1) / choice->p_parts / choice->q_parts;
    if (work < 2 * long_work || choice->path == BP__PATH_PACKED) {
        return;
    }
    const int64_t cuts = (int64_t)fmin(work / long_work, most_cuts);
    const int64_t vectors = (v->p + choice->kernels->lanes - 1) / choice->kernels->lanes;
    const int64_t along_p = vectors / choice->p_parts < cuts ? vectors / choice->p_parts : cuts;
    choice->p_parts *= along_p > 1 ? (int)along_p : 1;
    const int64_t left = along_p > 1 ? cuts / along_p : cuts, along_q = v->q / choice->q_parts;
    choice->q_parts *= left < 2 ? 1 : along_q < left ? (int)(along_q > 1 ? along_q : 1) : (int)left;
}

/* Returns whether a path other than the preferred one can run the product. */
static bool can_take(const bp_gemm_problem *g, const bp__native_choice *choice, bp__native_path path) {
    const bp__native_kernels *kernels = choice->kernels;
    const bp__native_view *v = &choice->view;
    const bool conjugates = kernels->complex && v->s_conjugate;
    const bool product = v->p > 0 && v->q > 0 && g->batch > 0 && v->k > 0 && g->alpha != BP_FACTOR_ZERO;
    return product && (path == BP__PATH_PACKED ||
                       (path == BP__PATH_SMALL && kernels->small && !conjugates && work_of(v) > TINY_WORK));
}

/* Fills in threads, parts and cost of the choice's path. `rate` is the multiply-adds per nanosecond of its tile. */
static void complete(const bp_host *host, const bp_problem *problem, double rate, bp__native_choice *choice) {
    const bp_gemm_problem *g = &problem->of.gemm;
    choice->packed_v = (problem->policy.packed & bp__native_packs(choice) & (choice->transposed ? 2u : 1u)) != 0;
    const double alone = bp__native_cost(host, rate, choice, g->batch);
    choice->threads = bp__native_worth(alone, problem->policy.threads);
    split(g, choice);
    cut_long_parts(choice);
    choice->cost_ns = bp__native_cost_threads(choice, alone, choice->threads);
}

static bool is_byte(uint32_t dtype) {
    return dtype == BP_I8 || dtype == BP_U8;
}

/* Returns the choices for the kernels, orientation and view of the first one. */
static int choose_paths(const bp_host *host, const bp_problem *problem, int set, double rate,
                        bp__native_choice choices[BP__NATIVE_PATHS]) {
    const bp_gemm_problem *g = &problem->of.gemm;
    bp__native_choice *best = &choices[0];
    const bp__native_choice shape = *best;
    int count = 1;
    best->path = path_for(g, best);
    best->algorithm = algorithm_text(best->path, set);
    complete(host, problem, rate, best);
    for (bp__native_path path = BP__PATH_SMALL; path <= BP__PATH_PACKED; path++) {
        if (path != best->path && can_take(g, &shape, path)) {
            bp__native_choice *other = &choices[count++];
            *other = shape;
            other->path = path;
            other->algorithm = algorithm_text(path, set);
            complete(host, problem, rate, other);
            /* The estimates are coarser than the rules of path_for(), so another path never gets a lower cost. Packing
             * that was done beforehand is an exception. */
            const bool prepacked = (problem->policy.packed & bp__native_packs(other)) != 0;
            const double least = best->cost_ns * 1.01;
            other->cost_ns = !prepacked && other->cost_ns < least ? least : other->cost_ns;
        }
    }
    return count;
}

/* Integers have kernels by the types of V and S. */
static int choose_integer(const bp_host *host, const bp_problem *problem, bp__native_choice choices[BP__NATIVE_PATHS]) {
    const bp__native_integer_isa set = bp__native_integer_isa_of(host, problem);
    const bp__native_integer_set *kernels = bp__native_integers(set);
    const uint32_t of_a = problem->dtype, of_b = bp_gemm_type(problem, problem->of.gemm.b_type);
    if (!is_byte(of_b) || bp_gemm_type(problem, problem->of.gemm.c_type) != BP_I32) {
        return 0;
    }
    memset(choices, 0, sizeof *choices);
    choices->kernels = &kernels->of[0][0];
    orient(&problem->of.gemm, choices);
    choices->kernels =
        &kernels->of[(choices->transposed ? of_b : of_a) == BP_U8][(choices->transposed ? of_a : of_b) == BP_U8];
    return choose_paths(host, problem, (int)set, bp__native_integer_rate(set), choices);
}

int bp__native_choose(const bp_host *host, const bp_problem *problem, bp__native_choice choices[BP__NATIVE_PATHS]) {
    if (is_byte(problem->dtype)) {
        return choose_integer(host, problem, choices);
    }
    if (problem->dtype < BP_F16 || problem->dtype > BP_C128) {
        return 0;
    }
    const int set = bp__native_isa(host, problem);
    memset(choices, 0, sizeof *choices);
    choices->kernels = &sets[set]->of[problem->dtype - BP_F16];
    orient(&problem->of.gemm, choices);
    return choose_paths(host, problem, set, bp__native_rate(set, (bp_dtype)problem->dtype), choices);
}

bool bp__native_choose_bf16(const bp_host *host, const bp_problem *problem, const bp__native_kernels *kernels,
                            bp__native_choice *choice) {
    const bp_gemm_problem *g = &problem->of.gemm;
    memset(choice, 0, sizeof *choice);
    choice->kernels = kernels;
    choice->algorithm = BP__NATIVE_BF16;
    choice->path = BP__PATH_PACKED;
    orient(g, choice);
    if (!can_take(g, choice, choice->path)) {
        return false;
    }
    complete(host, problem, bp__native_bf16_rate(), choice);
    return true;
}
