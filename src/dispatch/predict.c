/* predict.c - replaces estimated times by times that were measured on this machine.
 *
 * The estimates of providers come from constants. Measured and estimated times must not be compared with each other, so
 * the candidates of a choice are ranked by measurements only if there are measurements of all of them.
 *
 * A prediction starts from the measured time of the plain product of the same sizes. Variants that were measured too
 * (transposed, strided, batched, with threads) are factors to it. For a property that was not measured, the factor is
 * the ratio of the provider's own estimates with and without it.
 *
 * For transforms, linear algebra and convolutions, the ratio of measured times to estimates is known at a few sizes. A
 * prediction is the estimate times the ratio between them. */
#include "dispatch/internal.h"

#include <math.h>
#include <string.h>

/* Measured times are those of a candidate's fastest algorithm under the default precision, so algorithms that round
 * their inputs are predicted by the ratio of their estimates to that of the fastest other one. */
static bool rounds(const bp_verdict *verdict) {
    return (verdict->properties & (BP_PROPERTY_ROUNDS_BELOW_TF32 | BP_PROPERTY_INPUTS_TF32)) != 0;
}

/* Collects the least estimated time of a candidate's accepted algorithms; -1 if there are none. */
typedef struct least {
    bp_offers base; /* must be first: the provider's interface */
    double exact_ns, rounding_ns;
} least;

static void note_cost(bp_offers *self, const bp_verdict *verdict, const void *found, size_t size) {
    least *l = (least *)self;
    (void)found, (void)size;
    double *ns = rounds(verdict) ? &l->rounding_ns : &l->exact_ns;
    if (verdict->reason == BP_REASON_ACCEPTED && (*ns < 0 || verdict->cost_ns < *ns)) {
        *ns = verdict->cost_ns;
    }
}

double bp__estimate_of(const bp__candidate *candidate, const bp_problem *problem) {
    least l = {{note_cost}, -1, -1};
    candidate->provider->accept(candidate->instance, problem, &l.base);
    return l.exact_ns >= 0 ? l.exact_ns : l.rounding_ns;
}

bool bp__cost_follows_kernels(const bp__candidate *candidate) {
    const bp_provider *provider = candidate->provider;
    return BP__PROVIDER_HAS(provider, cost_follows_kernels) && provider->cost_follows_kernels;
}

/* Describes an input by its strides. Returns the variants that it needs, as bits. */
static uint32_t variants_of(int64_t rows, int64_t columns, int64_t row, int64_t column, bp__variant transposed) {
    if (rows == 1 || columns == 1) {
        const int64_t length = rows * columns, step = rows == 1 ? column : row;
        return length == 1 || step == 0 || step == 1 ? 0 : 1u << BP__VARIANT_STRIDED;
    }
    return column == 1 ? 0 : row == 1 ? 1u << transposed : 1u << BP__VARIANT_STRIDED;
}

/* Describes a product, with C row-major: if C is column-major, its transpose is the product of the transposes. */
static bp__product_shape product_of(const bp_problem *problem, int threads) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bool swap = g->c_column != 1 && g->c_row == 1 && g->m > 1 && g->n > 1;
    bp__product_shape product = {
        .dtype = (bp_dtype)problem->dtype,
        .m = (double)(swap ? g->n : g->m),
        .n = (double)(swap ? g->m : g->n),
        .k = (double)g->k,
        .items = (double)g->batch,
        .threads = threads,
    };
    product.variants = swap ? variants_of(g->n, g->k, g->b_column, g->b_row, BP__VARIANT_TRANSPOSED_A) |
                                  variants_of(g->k, g->m, g->a_column, g->a_row, BP__VARIANT_TRANSPOSED_B)
                            : variants_of(g->m, g->k, g->a_row, g->a_column, BP__VARIANT_TRANSPOSED_A) |
                                  variants_of(g->k, g->n, g->b_row, g->b_column, BP__VARIANT_TRANSPOSED_B);
    product.variants |= g->batch > 1 ? 1u << BP__VARIANT_BATCHED : 0;
    product.variants |= threads > 1 ? 1u << BP__VARIANT_THREADED : 0;
    return product;
}

/* Whether the product has a property that no variant describes. */
static bool is_unusual(const bp_problem *problem) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bool strided = g->c_row != 1 && g->c_column != 1 && g->m > 1 && g->n > 1;
    return strided || g->conjugate_a || g->conjugate_b || problem->policy.packed;
}

bp_problem bp__plain_product(bp_dtype dtype, int64_t m, int64_t n, int64_t k) {
    return (bp_problem){
        .struct_size = sizeof(bp_problem),
        .op = BP_OP_GEMM,
        .dtype = (uint32_t)dtype,
        .policy = {.threads = 1},
        .of.gemm = {.m = m,
                    .n = n,
                    .k = k,
                    .a_row = m > 1 ? k : 0,
                    .a_column = k > 1,
                    .b_row = k > 1 ? n : 0,
                    .b_column = n > 1,
                    .c_row = m > 1 ? n : 0,
                    .c_column = n > 1,
                    .alpha = BP_FACTOR_ONE,
                    .beta = BP_FACTOR_ZERO,
                    .batch = 1},
    };
}

/* Returns the provider's estimate of the plain product of these sizes, under the policy of the problem. */
static double plain_estimate(const bp__candidate *candidate, const bp_problem *problem,
                             const bp__product_shape *product) {
    bp_problem plain = bp__plain_product(product->dtype, (int64_t)product->m, (int64_t)product->n, (int64_t)product->k);
    plain.policy = problem->policy;
    plain.policy.threads = 1;
    plain.policy.packed = 0;
    return bp__estimate_of(candidate, &plain);
}

/* Returns the predicted time of the candidate's fastest algorithm; 0 if there is none. `estimate` is the provider's. */
static double predict(const bp__candidate *candidate, const bp_problem *problem, int threads, double estimate,
                      bp__accuracy *accuracy) {
    const bp__calibration *calibration = atomic_load_explicit(&candidate->calibration, memory_order_acquire);
    uint32_t known;
    bp__product_shape product = product_of(problem, threads);
    product.estimate = bp__cost_follows_kernels(candidate) ? plain_estimate(candidate, problem, &product) : 0;
    double time = bp__calibration_predict(calibration, &product, &known, accuracy);
    if (time > 0 && (known != product.variants || is_unusual(problem))) {
        /* All of the difference is taken from the estimates, because those of single properties are not known. */
        const double from = plain_estimate(candidate, problem, &product);
        product.variants = 0;
        product.items = product.threads = 1;
        time = from > 0 ? bp__calibration_predict(calibration, &product, &known, accuracy) * estimate / from : 0;
        *accuracy = BP__INTERPOLATED;
    }
    return time;
}

/* ---- Transforms and linear algebra ---- */

/* Returns the operation whose ratios apply: those of the routines that take most of the time. */
static bp_op measured_op(bp_op op) {
    switch (op) {
    case BP_OP_LU:
        return BP_OP_LU_FACTOR;
    case BP_OP_LU_SOLVE:
    case BP_OP_CHOLESKY_SOLVE:
    case BP_OP_SOLVE_TRIANGULAR:
        return BP_OP_SOLVE;
    case BP_OP_CHOLESKY_INVERSE:
        return BP_OP_INV;
    case BP_OP_SLOGDET:
        return BP_OP_DET;
    case BP_OP_PINV:
    case BP_OP_MATRIX_RANK:
    case BP_OP_COND:
        return BP_OP_SVD;
    default:
        return op;
    }
}

/* Returns how the variant of a transform of this length differs from that of powers of two. */
static int kind_of_length(int64_t n) {
    int kind = 0;
    while (n > 1 && n % 2 == 0) {
        n /= 2;
    }
    for (int64_t factor = 3; factor <= 7; factor += 2) {
        for (; n > 1 && n % factor == 0; n /= factor) {
            kind = BP__VARIANT_C2C_FACTORS - BP__VARIANT_C2C_POWERS;
        }
    }
    return n > 1 ? BP__VARIANT_C2C_PRIMES - BP__VARIANT_C2C_POWERS : kind;
}

static int class_of_transform(const bp_fft_problem *f, bp_dtype dtype, double *size) {
    int kind = kind_of_length(f->n[0]);
    *size = 1;
    for (int d = 0; d < f->ndim; d++) {
        *size *= (double)f->n[d];
    }
    if (f->ndim > 1) {
        kind = BP__VARIANT_C2C_SQUARES - BP__VARIANT_C2C_POWERS;
        *size = sqrt(*size);
    }
    const int first = f->kind == BP_FFT_C2C ? BP__VARIANT_C2C_POWERS : BP__VARIANT_REAL_POWERS;
    return bp__class_find(BP_OP_FFT, dtype, (bp__variant)(first + kind));
}

/* Returns the class of a transform or an operation of linear algebra, or -1. Complex matrices have the ratios of real
 * ones. */
static int class_of(const bp_problem *problem, double *size, double *items) {
    if (problem->op == BP_OP_FFT) {
        *items = (double)problem->of.fft.batch;
        return class_of_transform(&problem->of.fft, (bp_dtype)problem->dtype, size);
    }
    const bp_linalg_problem *l = &problem->of.linalg;
    const bool wide = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    *size = sqrt((double)l->m * (double)l->n);
    *items = (double)l->batch;
    return bp__class_find(measured_op((bp_op)problem->op), wide ? BP_F64 : BP_F32, BP__VARIANT_PLAIN);
}

static double predict_by_ratio(const bp__candidate *candidate, const bp_problem *problem, double estimate,
                               bp__accuracy *accuracy) {
    double size, items;
    const int class = class_of(problem, &size, &items);
    const bp__calibration *calibration = atomic_load_explicit(&candidate->calibration, memory_order_acquire);
    return estimate * bp__calibration_ratio(calibration, class, size, items, accuracy);
}

/* ---- Convolutions ---- */

static bool is_depthwise(const bp_conv_problem *c) {
    return c->in_channels == 1 && c->groups > 1;
}

/* Returns the class whose ratios apply to an algorithm, or -1. Only Winograd's algorithm was measured by itself. */
static int class_of_convolution(const bp_problem *problem, const bp_verdict *verdict) {
    const bp_conv_problem *c = &problem->of.conv;
    const int64_t taps = c->kernel[0] * c->kernel[1] * c->kernel[2];
    const bool winograd = strncmp(verdict->algorithm, "winograd", strlen("winograd")) == 0;
    return bp__class_find(BP_OP_CONV, (bp_dtype)problem->dtype,
                          winograd          ? BP__VARIANT_CONV_WINOGRAD
                          : is_depthwise(c) ? BP__VARIANT_CONV_DEPTHWISE
                          : taps == 1       ? BP__VARIANT_CONV_POINTS
                                            : BP__VARIANT_CONV_DENSE);
}

/* Predicts the time of an offer for a convolution. Returns false if nothing similar was measured. */
static bool predict_convolution(const bp_problem *problem, bp__offer *offer) {
    const bp_conv_problem *c = &problem->of.conv;
    const bp__calibration *calibration = atomic_load_explicit(&offer->candidate->calibration, memory_order_acquire);
    const int class = class_of_convolution(problem, &offer->verdict);
    const double channels =
        is_depthwise(c) ? (double)c->groups : sqrt((double)c->in_channels * (double)c->out_channels);
    const double side = sqrt((double)c->batch * (double)c->out[0] * (double)c->out[1] * (double)c->out[2]);
    bp__accuracy of_point;
    offer->predicted_ns = offer->verdict.cost_ns * bp__calibration_ratio(calibration, class, channels, side, &of_point);
    offer->accuracy = BP__INTERPOLATED; /* from one kernel, one thread and a packed weight to others */
    return offer->predicted_ns > 0;
}

/* ---- The choice ---- */

static bool is_accepted(const bp__offer *offer) {
    return offer->verdict.reason == BP_REASON_ACCEPTED;
}

/* Predicts the times of the offers of one candidate for a convolution. */
static bool predict_convolutions(bp__choice *choice, int first, int end) {
    bool known = true;
    for (int i = first; i < end && known; i++) {
        bp__offer *o = &choice->offers[i];
        known = !is_accepted(o) || predict_convolution(&choice->asked, o);
    }
    return known;
}

static bool is_preferred(const bp__offer *offer, const bp__offer *to) {
    return rounds(&offer->verdict) == rounds(&to->verdict) ? offer->verdict.cost_ns < to->verdict.cost_ns
                                                           : !rounds(&offer->verdict);
}

/* Predicts the times of the offers of one candidate, which are those from `first` to `end`. Its algorithms have the
 * ratio of their estimates, because what was measured is the one that the provider prefers. */
static bool predict_offers(bp__choice *choice, int first, int end) {
    const bp__offer *best = NULL;
    for (int i = first; i < end; i++) {
        const bp__offer *o = &choice->offers[i];
        best = is_accepted(o) && (!best || is_preferred(o, best)) ? o : best;
    }
    if (!best) {
        return true;
    }
    bp__accuracy accuracy;
    const int threads = best->verdict.threads > 0 ? best->verdict.threads : choice->asked.policy.threads;
    const double estimate = best->verdict.cost_ns;
    const double time = choice->asked.op == BP_OP_GEMM
                            ? predict(best->candidate, &choice->asked, threads, estimate, &accuracy)
                            : predict_by_ratio(best->candidate, &choice->asked, estimate, &accuracy);
    for (int i = first; i < end && time > 0; i++) {
        bp__offer *o = &choice->offers[i];
        o->predicted_ns = estimate > 0 ? time * o->verdict.cost_ns / estimate : time;
        o->accuracy = o->verdict.cost_ns != estimate ? BP__INTERPOLATED : accuracy;
    }
    return time > 0;
}

/* Whether the problem has elements and is of an operation that is measured. */
static bool is_predictable(const bp_problem *problem) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bp_linalg_problem *l = &problem->of.linalg;
    const bp__family *family = bp__family_of(problem);
    return problem->op == BP_OP_GEMM      ? g->m > 0 && g->n > 0 && g->k > 0 && g->batch > 0
           : problem->op == BP_OP_FFT     ? problem->of.fft.batch > 0
           : problem->op == BP_OP_CONV    ? problem->of.conv.batch > 0
           : family == &bp__family_linalg ? l->m > 0 && l->n > 0 && l->batch > 0
                                          : false;
}

void bp__predict(bp__choice *choice) {
    bool complete = choice->asked.policy.measured && is_predictable(&choice->asked);
    for (int first = 0, end; complete && first < choice->count; first = end) {
        end = first + 1;
        while (end < choice->count && choice->offers[end].candidate == choice->offers[first].candidate) {
            end++;
        }
        complete = choice->asked.op == BP_OP_CONV ? predict_convolutions(choice, first, end)
                                                  : predict_offers(choice, first, end);
    }
    choice->predicted = complete;
    for (int i = 0; i < choice->count; i++) {
        bp__offer *o = &choice->offers[i];
        o->order = complete ? o->predicted_ns : o->estimate_ns;
    }
}
