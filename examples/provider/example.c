/* example.c - a complete provider: f64 matrix products whose sums are as accurate as if computed in twice the
 * precision.
 *
 * It is slow, so Backplane uses it only on request: blas.preferred=kahan. Read it from the bottom: Backplane looks for
 * the descriptor at the end, and calls its functions in the order open, accept, plan.
 */
#include <backplane/provider.h>

#include <math.h>

/* A plan. Backplane only uses its first member. The others are ours: a copy of the problem and the host's function
 * table. */
typedef struct kahan_plan {
    bp_prepared prepared;
    const bp_host *host;
    bp_gemm_problem gemm;
    int threads;
    int slices;
} kahan_plan;

/* Data that the tasks of one run share. */
typedef struct kahan_run {
    const kahan_plan *plan;
    const double *a, *b;
    double *c;
    double alpha, beta;
} kahan_run;

/* Returns a dot product. It accumulates the rounding error of every product and every sum, and adds it at the end. */
static double exact_dot(int64_t k, const double *a, int64_t a_step, const double *b, int64_t b_step) {
    double sum = 0;
    double error = 0;
    for (int64_t p = 0; p < k; p++) {
        double x = a[p * a_step];
        double y = b[p * b_step];
        double product = x * y;
        double next = sum + product;
        double shift = next - sum;
        error += (sum - (next - shift)) + (product - shift) + fma(x, y, -product);
        sum = next;
    }
    return isfinite(sum) ? sum + error : sum; /* the error of an infinite sum is NaN; the result is the infinity */
}

static void one_row(const kahan_run *run, const double *a, const double *b, double *c) {
    const bp_gemm_problem *g = &run->plan->gemm;
    for (int64_t j = 0; j < g->n; j++) {
        double dot = run->alpha == 0 ? 0 : run->alpha * exact_dot(g->k, a, g->a_column, b + j * g->b_column, g->b_row);
        double *out = &c[j * g->c_column];
        *out = run->beta == 0 ? dot : dot + run->beta * *out; /* with beta 0 the old C is not read: it may be NaN */
    }
}

/* Computes one slice of the rows of all products. One thread sums a row from front to back, for any number of slices.
 * So the result is the same bit for bit on any number of threads. */
static void one_slice(void *context, int slice) {
    const kahan_run *run = context;
    const bp_gemm_problem *g = &run->plan->gemm;
    int64_t rows = g->m * g->batch;
    int64_t size = (rows - 1) / run->plan->slices + 1;
    int64_t end = rows - slice * size < size ? rows : (slice + 1) * size;
    for (int64_t row = slice * size; row < end; row++) {
        int64_t a = row % g->m * g->a_row;
        int64_t b = 0;
        int64_t c = row % g->m * g->c_row;
        int64_t item =
            row / g->m; /* number of the product; its index is computed dimension by dimension, the last one fastest */
        for (int d = g->batch_ndim - 1; d >= 0; d--) {
            int64_t at = item % g->batch_shape[d];
            item /= g->batch_shape[d];
            a += at * g->batch_a[d];
            b += at * g->batch_b[d];
            c += at * g->batch_c[d];
        }
        one_row(run, run->a + a, run->b + b, run->c + c);
    }
}

/* Runs a plan. Several threads may call it at once, so nothing in the plan changes. */
static bp_status kahan_enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const kahan_plan *plan = (const kahan_plan *)self;
    kahan_run run = {.plan = plan,
                     .a = bp_operand_address(&operands[0]),
                     .b = bp_operand_address(&operands[1]),
                     .c = bp_operand_address(&operands[2]),
                     .alpha = exec->scalars[0].re,
                     .beta = exec->scalars[1].re};
    if (plan->slices > 0) {
        plan->host->parallel(plan->threads, plan->slices, one_slice, &run);
    }
    return BP_OK;
}

static void kahan_destroy(bp_prepared *self) {
    ((kahan_plan *)self)->host->release(self);
}

/* Makes a plan for an offer of accept(). All memory and services come from the host. */
static bp_status kahan_plan_problem(void *instance, const bp_problem *problem, const bp_verdict *verdict,
                                    const void *found, bp_prepared **prepared) {
    (void)found; /* accept() passed no data with the offer; the verdict is enough */
    const bp_host *host = instance;
    kahan_plan *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "kahan: no memory for a plan");
    }
    const bp_gemm_problem *g = &problem->of.gemm;
    int64_t rows = g->m * g->batch;
    int64_t slices = rows < 4 * (int64_t)verdict->threads ? rows : 4 * (int64_t)verdict->threads;
    *plan = (kahan_plan){
        .prepared = {.struct_size = sizeof plan->prepared, .enqueue = kahan_enqueue, .destroy = kahan_destroy},
        .host = host,
        .gemm = *g,
        .threads = verdict->threads,
        .slices = g->n > 0 ? (int)slices : 0};
    *prepared = &plan->prepared;
    return BP_OK;
}

/* Decides whether we can run a problem, which properties the result has, and about how long it takes. Accesses no data.
 */
static void kahan_accept(void *instance, const bp_problem *problem, bp_offers *offers) {
    (void)instance;
    bp_verdict verdict = BP_VERDICT_INIT; /* accepted unless a reason is set */
    if (problem->op != BP_OP_GEMM) {
        verdict.reason = BP_REASON_OP;
    } else if (problem->dtype != BP_F64) {
        verdict.reason = BP_REASON_DTYPE; /* Backplane has a message for each reason; `text` may add details */
    } else {
        const bp_gemm_problem *g = &problem->of.gemm;
        verdict.algorithm = "compensated dot";
        verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_ACCUMULATES_F64 |
                             BP_PROPERTY_PROPAGATES_NAN;
        verdict.threads = problem->policy.threads;
        verdict.cost_ns = 5.0 * (double)g->m * (double)g->n * (double)g->k * (double)g->batch / verdict.threads;
    }
    offers->add(offers, &verdict, NULL, 0); /* one algorithm, one offer */
}

/* Makes an instance. We use no library and keep no state, so the host's table serves as the instance. */
static bp_status kahan_open(const bp_host *host, const bp_library_info *library, void **instance) {
    (void)library;
    *instance = (void *)host;
    return BP_OK;
}

static void kahan_close(void *instance) {
    (void)instance;
}

BP_PROVIDER_DEFINE(kahan) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "kahan",
    .version = "1.0",
    .description = "compensated f64 matrix products: exact and slow",
    .open = kahan_open,
    .close = kahan_close,
    .accept = kahan_accept,
    .plan = kahan_plan_problem,
};
