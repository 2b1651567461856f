/* accept.c - offers and plans convolutions of the native provider. */
#include "conv.h"
#include "fourier.h"
#include "winograd.h"

#include "providers/native/family.h"
#include "providers/native/isa.h"

#include <math.h>
#include <stdio.h>

/* Nanoseconds for each packed element, and for each result that is written. */
#define PACK_NS 0.5
#define RESULT_NS 0.3
#define WEIGHT_PACK_NS 0.15
/* The same where the product kernels write the results, for kernels of one element. */
#define ROW_PACK_NS 0.2
#define ROW_RESULT_NS 0.05
/* Of implicit gemm, at least: for each piece of a panel, and for each group. */
#define PIECE_NS 40
#define GROUP_NS 1000
/* Of the direct algorithm by groups: for each row of positions, each result, and each element that is packed.
 * Multiply-adds load about one vector each, of two that a processor loads at a time. */
#define ROW_NS 100
#define VECTOR_NS 0.15
#define TRANSPOSE_NS 0.2
#define PART_OF_RATE 0.4
/* Of several threads' speed. */
#define PART_OF_THREADS 0.98

#define WEIGHT 2u /* bit of the operand that can be packed */

typedef enum algorithm { IMPLICIT_GEMM, DIRECT, WINOGRAD, FFT, BF16, ALGORITHMS } algorithm;

typedef struct found {
    bp__conv_set set;
    const bp__winograd_kernels *winograd;
    algorithm by;
    int threads;
    bp__fourier_set fourier;
    bp__fourier_cut cut; /* FFT */
} found;

static bp__conv_set set_for(const bp_host *host, const bp_problem *problem) {
    static const bp__native_set *const products[] =
        BP__NATIVE_PER_ISA(&bp__native_default, &bp__native_avx2, &bp__native_avx512);
    static const bp__conv_kernels *const own[] = BP__NATIVE_PER_ISA(bp__conv_default, bp__conv_avx2, bp__conv_avx512);
    const int isa = bp__native_isa(host, problem), type = (int)problem->dtype - BP_F16;
    const int plain = (int)(problem->dtype == BP_F64 ? BP_F64 : BP_F32) - BP_F16;
    return (bp__conv_set){&products[isa]->of[type], &own[isa][type], &own[isa][plain]};
}

static const bp__winograd_kernels *winograd_for(const bp_host *host, const bp_problem *problem) {
    static const bp__winograd_kernels *const own[] =
        BP__NATIVE_PER_ISA(&bp__winograd_default, &bp__winograd_avx2, &bp__winograd_avx512);
    return own[bp__native_isa(host, problem)];
}

static double size_of(const int64_t size[BP_MAX_CONV_NDIM]) {
    return (double)size[0] * (double)size[1] * (double)size[2];
}

static double whole(double x, double unit) {
    return ceil(x / unit) * unit;
}

/* Returns the estimated time of packing positions: panels consist of pieces, which are the channels of a tap, or of a
 * row of taps whose elements follow each other. Taps of CONV_INPUT with strides read each element of Y once in all
 * phases together. */
static double gathering(const bp_problem *problem, const bp__native_kernels *kernels) {
    const bp_conv_problem *c = &problem->of.conv;
    const int last = BP_MAX_CONV_NDIM - 1;
    const bool input = problem->op == BP_OP_CONV_INPUT;
    const double channels = (double)(input ? c->out_channels : c->in_channels);
    const double width = (input ? c->x_channel : c->y_channel) == 1 ? kernels->q_panel : kernels->p_panel;
    const bool rows =
        !input && (c->in_channels == 1 || c->x[last] * c->dilation[last] == c->in_channels * c->x_channel);
    const double taps = rows ? (double)c->kernel[last] : 1;
    const double pieces =
        (double)c->groups * ceil((double)c->batch * size_of(c->out) / width) * size_of(c->kernel) / taps;
    return pieces * fmax(PIECE_NS, PACK_NS * channels * taps * width);
}

/* Returns the estimated time of a gradient by the weight. Rows of X are packed for each panel of columns, or for each
 * tap if there are many channels. */
static double weight_cost(const bp_problem *problem, const bp__native_kernels *kernels, double rate) {
    const bp_conv_problem *c = &problem->of.conv;
    const double batch = (double)c->batch, groups = (double)c->groups, taps = size_of(c->kernel);
    const double in = (double)c->in_channels, out = (double)c->out_channels, width = kernels->q_panel;
    const double positions = batch * size_of(c->out), rows = positions / (double)c->out[BP_MAX_CONV_NDIM - 1];
    const bool by_taps = in > 2 * width;
    const double columns = by_taps ? whole(in, width) * taps : whole(in * taps, width);
    const double tiles = ceil(out / (4 * kernels->p_panel)),
                 pieces = rows * (by_taps ? taps * ceil(in / (4 * width)) : columns / width);
    return 200 + groups * (positions * whole(out, kernels->lanes) * columns / rate +
                           tiles * (PIECE_NS * pieces + WEIGHT_PACK_NS * positions * columns) +
                           WEIGHT_PACK_NS * positions * out + RESULT_NS * in * out * taps + GROUP_NS);
}

/* Whether channels are contiguous, so that the product kernels write the results, and kernels have one element. */
static bool is_linear(const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    return problem->op == BP_OP_CONV && c->x_channel == 1 && c->y_channel == 1 && size_of(c->kernel) == 1 &&
           problem->dtype >= BP_F32;
}

/* Returns the estimated time on one thread: multiply-adds of whole panels, packing and results. `rate` is the
 * multiply-adds per nanosecond of the products. */
static double cost_of(const bp_problem *problem, const bp__native_kernels *kernels, double rate) {
    const bp_conv_problem *c = &problem->of.conv;
    const double batch = (double)c->batch, groups = (double)c->groups, taps = size_of(c->kernel);
    const double in = (double)c->in_channels, out = (double)c->out_channels;
    const double positions = batch * size_of(c->out), weights = groups * in * out * taps;
    const double rows = problem->op == BP_OP_CONV_INPUT ? in : out;
    const double results =
        batch * groups * (problem->op == BP_OP_CONV_INPUT ? in * size_of(c->in) : out * size_of(c->out));
    const double padded = whole(rows, kernels->q_panel) / rows;
    const bool linear = is_linear(problem);
    const double gathered = linear ? ROW_PACK_NS * positions * groups * in : gathering(problem, kernels);
    const double packing = gathered + (problem->policy.packed & WEIGHT ? 0 : PACK_NS * weights);
    return 200 + positions * groups * taps * in * out * padded / rate + packing +
           (linear ? ROW_RESULT_NS : RESULT_NS) * results + GROUP_NS * (groups - 1);
}

/* The same for the direct algorithm and gradients by the weight. */
static double direct_weight_cost(const bp_problem *problem, const bp__native_kernels *kernels, double rate) {
    const bp_conv_problem *c = &problem->of.conv;
    const int last = BP_MAX_CONV_NDIM - 1;
    const double channels = (double)c->in_channels * (double)c->out_channels;
    const double columns = whole((double)c->groups, kernels->lanes), taps = size_of(c->kernel);
    const double rows = (double)c->batch * (double)c->out[0] * (double)c->out[1];
    const double tap_rows = (double)c->kernel[0] * (double)c->kernel[1];
    const double products = rows * (double)c->out[last] * taps * columns * channels;
    const double calls = rows * tap_rows * channels * ceil(columns / (4 * kernels->lanes));
    const bool packs = !bp__conv_weight_in_place(problem, kernels) || c->groups % kernels->lanes != 0;
    const double packed = (double)c->batch * columns * channels *
                          (size_of(c->in) * (double)c->kernel[0] + size_of(c->out) * (double)c->kernel[0]);
    return 200 + products / (PART_OF_RATE * rate) + ROW_NS / 2 * calls + (packs ? TRANSPOSE_NS * packed : 0);
}

/* Returns the estimated time of the direct algorithm on one thread. */
static double direct_cost(const bp_problem *problem, const bp__native_kernels *kernels, double rate) {
    const bp_conv_problem *c = &problem->of.conv;
    if (problem->op == BP_OP_CONV_WEIGHT) {
        return direct_weight_cost(problem, kernels, rate);
    }
    if (!bp__conv_follows_groups(problem)) {
        return bp__direct_rows_cost(problem, kernels, rate);
    }
    const int64_t *size = problem->op == BP_OP_CONV_INPUT ? c->in : c->out;
    const double products = (double)c->batch * size_of(c->out) * size_of(c->kernel) * (double)c->groups;
    const double results = (double)c->batch * size_of(size) * (double)c->groups;
    const double rows =
        (double)c->batch * (double)(size[0] * size[1]) * (problem->op == BP_OP_CONV_INPUT ? (double)c->stride[2] : 1);
    return 200 + products / (PART_OF_RATE * rate) + VECTOR_NS * results + ROW_NS * rows;
}

static void offer(const bp_host *host, const bp_problem *problem, bp_offers *offers, const found *f, double alone) {
    static const char *const names[ALGORITHMS] = {"implicit gemm", "direct", "winograd", "fft", BP__NATIVE_BF16};
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = names[f->by];
    verdict.properties = BP_PROPERTY_REPRODUCIBLE | BP_PROPERTY_THREAD_INVARIANT | BP_PROPERTY_PROPAGATES_NAN;
    verdict.properties |= problem->dtype == BP_F64 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32;
    verdict.properties |= f->by == WINOGRAD || f->by == FFT ? BP_PROPERTY_LARGER_ERROR : 0;
    verdict.properties |= f->by == BF16 && problem->dtype == BP_F32 ? BP_PROPERTY_ROUNDS_BELOW_TF32 : 0;
    const bool packs = problem->op != BP_OP_CONV_WEIGHT && (f->by == DIRECT ? bp__conv_direct_packs(problem) : true);
    verdict.packs = packs ? WEIGHT : 0;
    if (verdict.packs && !(problem->policy.packed & WEIGHT)) {
        snprintf(verdict.text, sizeof verdict.text, "packs the weight in each call");
    }
    verdict.threads = f->threads;
    alone += problem->of.conv.activation ? bp__conv_activation_cost(host, problem) : 0;
    verdict.cost_ns = f->threads > 1 ? alone / (PART_OF_THREADS * f->threads) + 4000 : alone;
    offers->add(offers, &verdict, f, sizeof *f);
}

static bp__fourier_set fourier_for(const bp_host *host, const bp_problem *problem) {
    static const bp__fft_set *const transforms[] = BP__NATIVE_PER_ISA(&bp__fft_default, &bp__fft_avx2, &bp__fft_avx512);
    static const bp__native_set *const products[] =
        BP__NATIVE_PER_ISA(&bp__native_default, &bp__native_avx2, &bp__native_avx512);
    static const bp__fourier_kernels *const own[] =
        BP__NATIVE_PER_ISA(bp__fourier_default, bp__fourier_avx2, bp__fourier_avx512);
    const int isa = bp__native_isa(host, problem), f64 = problem->dtype == BP_F64;
    return (bp__fourier_set){.transforms = transforms[isa]->of[f64],
                             .products = &products[isa]->of[(f64 ? BP_C128 : BP_C64) - BP_F16],
                             .own = &own[isa][f64],
                             .isa = isa};
}

/* Offers transforms, or says why not. */
static void offer_fft(const bp_host *host, const bp_problem *problem, bp_offers *offers, const bp__conv_set *set) {
    found f = {.set = *set, .by = FFT, .fourier = fourier_for(host, problem)};
    const char *why = bp__fourier_refusal(problem);
    if (!why && bp__fourier_cut_for(problem, &f.fourier, &f.cut)) {
        f.threads = bp__native_worth(f.cut.cost_ns, problem->policy.threads);
        offer(host, problem, offers, &f, f.cut.cost_ns);
        return;
    }
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = "fft";
    verdict.reason = BP_REASON_OTHER;
    snprintf(verdict.text, sizeof verdict.text, "%s",
             why ? why : "the kernel, or the spectra of the weight, would be too large");
    offers->add(offers, &verdict, NULL, 0);
}

static void accept(const bp_host *host, const bp_problem *problem, bp_offers *offers) {
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64) {
        bp__native_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    const bp__conv_set set = set_for(host, problem);
    const double rate = bp__native_rate(bp__native_isa(host, problem), (bp_dtype)problem->dtype);
    const double alone = (problem->op == BP_OP_CONV_WEIGHT ? weight_cost : cost_of)(problem, set.products, rate);
    const found gemm = {.set = set, .by = IMPLICIT_GEMM, .threads = bp__native_worth(alone, problem->policy.threads)};
    offer(host, problem, offers, &gemm, alone);
    const double direct = direct_cost(problem, set.products, rate);
    const found term_by_term = {.set = set, .by = DIRECT, .threads = bp__native_worth(direct, problem->policy.threads)};
    offer(host, problem, offers, &term_by_term, direct);
    if (bp__winograd_runs(problem)) {
        const double winograd = bp__winograd_cost(host, problem, set.products, rate);
        const found by_tiles = {.set = set,
                                .winograd = winograd_for(host, problem),
                                .by = WINOGRAD,
                                .threads = bp__native_worth(winograd, problem->policy.threads)};
        offer(host, problem, offers, &by_tiles, winograd);
    }
    const bool gathers = problem->op != BP_OP_CONV_WEIGHT;
    const bp__native_kernels *pairs = gathers ? bp__native_bf16_kernels(host, problem, offers) : NULL;
    if (pairs) {
        const double rounded = cost_of(problem, pairs, bp__native_bf16_rate());
        const found in_pairs = {.set = {pairs, set.own, set.plain},
                                .by = BF16,
                                .threads = bp__native_worth(rounded, problem->policy.threads)};
        offer(host, problem, offers, &in_pairs, rounded);
    }
    offer_fft(host, problem, offers, &set);
}

static bp_status plan_alone(const bp_host *host, const bp_problem *problem, const found *f, bp_prepared **prepared) {
    if (f->by == WINOGRAD) {
        const bp__winograd_set set = {f->set.products, f->winograd};
        return bp__winograd_plan(host, problem, &set, f->threads, prepared);
    }
    if (f->by == FFT) {
        return bp__fourier_plan(host, problem, &f->fourier, &f->cut, f->threads, prepared);
    }
    typedef bp_status (*planner)(const bp_host *, const bp_problem *, const bp__conv_set *, int, bp_prepared **);
    static const planner planners[2][2] = {{bp__conv_plan_product, bp__conv_plan_direct},
                                           {bp__conv_plan_weight, bp__conv_plan_direct_weight}};
    return planners[problem->op == BP_OP_CONV_WEIGHT][f->by == DIRECT](host, problem, &f->set, f->threads, prepared);
}

static bp_status plan(const bp_host *host, const bp_problem *problem, const void *data, bp_prepared **prepared) {
    const found *f = data;
    bp_status status = plan_alone(host, problem, f, prepared);
    if (status == BP_OK && problem->of.conv.activation && f->by != IMPLICIT_GEMM && f->by != BF16) {
        bp_prepared *results = *prepared;
        status = bp__conv_plan_activation(host, problem, f->threads, results, prepared);
        if (status != BP_OK) {
            results->destroy(results);
        }
    }
    return status;
}

const bp__native_family bp__native_conv = {accept, plan};
