/* predict.c - predicts the times of matrix products from those that were measured.
 *
 * A prediction starts from the measured time of the plain product of the same sizes. Variants that were measured too
 * (transposed, strided, batched, interleaved, with threads) are factors to it. For a property that was not measured,
 * the factor is the ratio of the provider's own estimates with and without it. An algorithm that was not measured by
 * itself has the time of the one that the provider prefers, times the ratio of their estimates. */
#include "machine/internal.h"
#include "ops/gemm/gemm.h"

#include <stdlib.h>
#include <string.h>

/* Describes an input by its strides. Returns the variants that it needs, as bits. */
static uint32_t variants_of(int64_t rows, int64_t columns, int64_t row, int64_t column, bp__variant transposed) {
    if (rows == 1 || columns == 1) {
        const int64_t length = rows * columns, step = rows == 1 ? column : row;
        return length == 1 || step == 0 || step == 1 ? 0 : 1u << BP__VARIANT_STRIDED;
    }
    return column == 1 ? 0 : row == 1 ? 1u << transposed : 1u << BP__VARIANT_STRIDED;
}

/* Whether elements of other items are between the elements of an item. Some libraries then have other kernels, or
 * none. */
static bool interleaves(const bp_gemm_problem *g, const int64_t *steps, int64_t rows, int64_t row, int64_t columns,
                        int64_t column) {
    const int64_t last = (rows - 1) * llabs(row) + (columns - 1) * llabs(column);
    bool between = false;
    for (int i = 0; i < g->batch_ndim; i++) {
        between |= g->batch_shape[i] > 1 && steps[i] != 0 && llabs(steps[i]) <= last;
    }
    return between;
}

static bp__variant batch_variant(const bp_gemm_problem *g) {
    const bool between = interleaves(g, g->batch_a, g->m, g->a_row, g->k, g->a_column) ||
                         interleaves(g, g->batch_b, g->k, g->b_row, g->n, g->b_column) ||
                         interleaves(g, g->batch_c, g->m, g->c_row, g->n, g->c_column);
    return between ? BP__VARIANT_INTERLEAVED : BP__VARIANT_BATCHED;
}

/* Describes a product, with C row-major: if C is column-major, its transpose is the product of the transposes. */
static bp__gemm_shape product_of(const bp_problem *problem, int threads) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bool swap = g->c_column != 1 && g->c_row == 1 && g->m > 1 && g->n > 1;
    bp__gemm_shape product = {
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
    const uint32_t both = 1u << BP__VARIANT_TRANSPOSED_A | 1u << BP__VARIANT_TRANSPOSED_B;
    if ((product.variants & both) == both) {
        product.variants ^= both | 1u << BP__VARIANT_TRANSPOSED_BOTH;
    }
    product.variants |= g->batch > 1 ? 1u << batch_variant(g) : 0;
    product.variants |= threads > 1 ? 1u << BP__VARIANT_THREADED : 0;
    return product;
}

/* Whether the product has a property that no variant describes, or is computed in a way that was not measured.
 * Interleaved items are such a property for a provider without a library: what they cost depends on their strides,
 * which its estimates follow, because it knows its own kernels. A factor that was measured for some strides is wrong
 * for most others. */
static bool is_unusual(const bp__candidate *candidate, const bp_problem *problem, const bp_verdict *verdict,
                       uint32_t variants) {
    const bp_gemm_problem *g = &problem->of.gemm;
    const bool strided = g->c_row != 1 && g->c_column != 1 && g->m > 1 && g->n > 1;
    const bool interleaved = !candidate->provider->library_kinds && (variants & 1u << BP__VARIANT_INTERLEAVED);
    return strided || interleaved || g->conjugate_a || g->conjugate_b || problem->policy.packed ||
           (verdict->properties & BP_PROPERTY_ITEM_BY_ITEM);
}

/* Returns the provider's estimate of the plain product of these sizes, under the policy of the problem. */
static double plain_estimate(const bp__candidate *candidate, const bp_problem *problem, const bp__gemm_shape *product) {
    bp_problem plain = bp__plain_gemm(product->dtype, (int64_t)product->m, (int64_t)product->n, (int64_t)product->k);
    plain.policy = problem->policy;
    plain.policy.threads = 1;
    plain.policy.packed = 0;
    return bp__estimate_of(candidate, &plain);
}

static int64_t vector_bytes(void) {
    switch (bp__cpu_hardware()) {
    case BP_CAPABILITY_AVX512:
        return 64;
    case BP_CAPABILITY_AVX2:
    case BP_CAPABILITY_SVE256:
        return 32;
    default:
        return 16;
    }
}

/* Whether a size leaves no remainders in vectors of `lanes` elements. Where it is large, they matter less than that
 * rows fall on the same lines of a cache. */
static bool is_even(int64_t size, int64_t lanes) {
    enum { LARGE = 256, LINES = 128 };
    return (size & (size - 1)) == 0 || size % (size < LARGE ? lanes : LINES) == 0;
}

static bool has_even_sizes(const bp_gemm_problem *g, bp_dtype dtype) {
    const int64_t lanes = vector_bytes() / (int64_t)bp_dtype_size(dtype);
    return is_even(g->m, lanes) && is_even(g->n, lanes) && is_even(g->k, lanes);
}

/* Whether each item is multiplied by a vector. A batch may be one product of matrices. */
static bool has_vector(const bp_gemm_problem *g, const char *algorithm) {
    return (g->m == 1 || g->n == 1) && (g->batch == 1 || strstr(algorithm, "per product") != NULL);
}

/* Returns the variant of the offer's algorithm, for even sizes; 0 if it is not measured by itself. */
static int algorithm_of(const bp_problem *problem, const bp_verdict *verdict) {
    static const struct {
        const char *algorithm;
        bp__variant variant;
        bool vectors; /* only of products with a vector: in others it is the library's own choice */
    } measured[] = {{"small", BP__VARIANT_SMALL, false},
                    {"packed", BP__VARIANT_PACKED, false},
                    {"gemm", BP__VARIANT_BY_GEMM, true}};
    const bool vector = has_vector(&problem->of.gemm, verdict->algorithm);
    const size_t length = strcspn(verdict->algorithm, " ");
    if (verdict->properties & (BP_PROPERTY_ROUNDS_BELOW_TF32 | BP_PROPERTY_INPUTS_TF32)) {
        return 0;
    }
    for (int i = 0; i < BP__COUNT(measured); i++) {
        if (strlen(measured[i].algorithm) == length && memcmp(measured[i].algorithm, verdict->algorithm, length) == 0 &&
            (vector || !measured[i].vectors)) {
            return (int)measured[i].variant;
        }
    }
    return 0;
}

static bool knows(const bp__calibration *calibration, bp_dtype dtype, int variant) {
    return bp__calibration_knows(calibration, bp__class_find(BP_OP_GEMM, dtype, variant));
}

/* Returns the bit of the variant that has the times of the offer's algorithm in plain products; 0 if there is none. */
static uint32_t algorithm_bit(const bp__calibration *calibration, const bp_problem *problem, const bp_verdict *verdict,
                              const bp__gemm_shape *product, bool even) {
    int variant = algorithm_of(problem, verdict);
    variant = variant && !even && knows(calibration, product->dtype, variant + 1) ? variant + 1 : variant;
    if (!variant || !knows(calibration, product->dtype, variant)) {
        return 0;
    }
    /* What was measured of small products says nothing of large ones. */
    const bp__class *class = &bp__classes[bp__class_find(BP_OP_GEMM, product->dtype, variant)];
    return product->m * product->n * product->k <= 2 * class->lattice->most ? 1u << variant : 0;
}

/* Returns the time of a plain product by the algorithm of an offer, relative to the one of the offer that the provider
 * prefers for the problem. */
static double ratio_to_preferred(const bp__calibration *calibration, const bp__gemm_shape *product, uint32_t own,
                                 uint32_t preferred, const bp_verdict *verdict, const bp_verdict *best) {
    bp__gemm_shape plain = *product;
    bp__accuracy accuracy;
    uint32_t known;
    plain.items = plain.threads = 1;
    plain.variants = own;
    const double time = own && preferred ? bp__calibration_predict(calibration, &plain, &known, &accuracy) : 0;
    plain.variants = preferred;
    const double base = time > 0 ? bp__calibration_predict(calibration, &plain, &known, &accuracy) : 0;
    return base > 0 ? time / base : best->cost_ns > 0 ? verdict->cost_ns / best->cost_ns : 1;
}

double bp__gemm_predict(const bp__candidate *candidate, const bp_problem *problem, const bp_verdict *verdict,
                        const bp_verdict *preferred, bp__accuracy *accuracy) {
    const bp__calibration *calibration = atomic_load_explicit(&candidate->calibration, memory_order_acquire);
    uint32_t known;
    bp__gemm_shape product = product_of(problem, verdict->threads > 0 ? verdict->threads : problem->policy.threads);
    product.divides_items = !(candidate->provider->library_kinds & BP_LIB_BLAS);
    if (product.k == 0) {
        return 0;
    }
    const bool even = has_even_sizes(&problem->of.gemm, product.dtype);
    const uint32_t uneven =
        !even && knows(calibration, product.dtype, BP__VARIANT_UNEVEN) ? 1u << BP__VARIANT_UNEVEN : 0;
    const uint32_t own = algorithm_bit(calibration, problem, verdict, &product, even);
    /* Layouts were measured with the algorithm that the provider prefers for them. */
    const bool plain = (product.variants & ~(1u << BP__VARIANT_THREADED)) == 0;
    product.variants |= plain && own ? own : uneven;
    product.estimate = bp__cost_follows_kernels(candidate) ? plain_estimate(candidate, problem, &product) : 0;
    double time = bp__calibration_predict(calibration, &product, &known, accuracy);
    if (time > 0 && (known != product.variants || is_unusual(candidate, problem, verdict, product.variants))) {
        /* All of the difference is taken from the estimates, because the differences of single properties are not
         * known. */
        const double from = plain_estimate(candidate, problem, &product);
        product.variants = uneven;
        product.items = product.threads = 1;
        time =
            from > 0 ? bp__calibration_predict(calibration, &product, &known, accuracy) * verdict->cost_ns / from : 0;
        *accuracy = BP__INTERPOLATED;
    } else if (!(plain && own) && verdict->cost_ns != preferred->cost_ns) {
        const uint32_t best = algorithm_bit(calibration, problem, preferred, &product, even);
        time *= ratio_to_preferred(calibration, &product, own, best, verdict, preferred);
        *accuracy = BP__INTERPOLATED;
    }
    return time;
}
