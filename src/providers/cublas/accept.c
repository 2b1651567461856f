/* accept.c - decides whether a library can run a problem, and estimates its time. */
#include "providers/cublas/cublas.h"

#include <stdio.h>

enum { LANES = 128 };
#define CALL_NS 4000.0       /* of starting a call on the device */
#define CLASSIC_NS 1000.0    /* more, for setting the state of a handle */
#define NOT_PREFERRED_NS 1e9 /* more than any other difference */

static bool is_layer(uint32_t op) {
    return op == BP_OP_CONV || op == BP_OP_CONV_INPUT || op == BP_OP_CONV_WEIGHT;
}

/* What only cuBLASLt has. */
static bool takes_classic(const bp__cublas_offer *offer, bp_verdict *verdict) {
    const bp__cublas_numerics *x = &offer->numerics;
    if (offer->route.work != BP__CUBLAS_PRODUCT) {
        return true;
    }
    if (offer->route.epilogue != BP__CUBLASLT_EPILOGUE_DEFAULT) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_OTHER, "only cuBLASLt adds a bias and applies a function");
    }
    if (x->compute == BP__CUBLAS_COMPUTE_32I) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_DTYPE,
                                    "cuBLASLt is asked for i8, because it tells which layouts it has");
    }
    return x->schemes & BP__CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ||
           bp__cu_vendor_refuse(verdict, BP_REASON_PRECISION, "only cuBLASLt can be told not to split k");
}

/* Fills *offer, or returns false with a refusal. */
static bool make_offer(const bp__cublas_instance *instance, const bp_problem *problem, const bp_device_info *device,
                       bp__cublas_offer *offer, bp_verdict *verdict) {
    bp__cublas_product product;
    *offer = (bp__cublas_offer){0};
    if (problem->op != BP_OP_GEMM && !is_layer(problem->op)) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_OP, "it offers only matrix products and linear layers");
    }
    if (!device) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_DEVICE, "there is no such device");
    }
    if (!bp__cu_vendor_has_version(&instance->vendor, verdict) ||
        !bp__cublas_numerics_of(instance, problem, device, &offer->numerics, verdict)) {
        return false;
    }
    const char *why = is_layer(problem->op) ? bp__cublas_product_of_layer(problem, &product)
                                            : bp__cublas_product_of_gemm(problem, &product);
    why = why ? why : bp__cublas_route_of(&product, &offer->route);
    if (why) {
        return bp__cu_vendor_refuse(verdict, BP_REASON_LAYOUT, why);
    }
    return instance->is_lt || takes_classic(offer, verdict);
}

/* ---- The estimate ---- */

/* cuda.preferred_blas_library ranks the other library behind, so that it runs what the preferred one cannot. */
static bool is_other_preferred(const bp__cublas_instance *instance, const bp_problem *problem) {
    const bp_products_library wanted = bp_policy_products_library(&problem->policy);
    return instance->is_lt ? wanted == BP_PRODUCTS_BY_CUBLAS : wanted == BP_PRODUCTS_BY_CUBLASLT;
}

/* Estimates from the facts of the device. Only ranks candidates. */
static double cost(const bp__cublas_instance *instance, const bp_device_info *device, const bp__cublas_offer *offer) {
    const bp__cublas_route *r = &offer->route;
    const bp__cublas_numerics *x = &offer->numerics;
    const double units = device->units ? device->units : 1, clock = device->clock_mhz ? device->clock_mhz : 1000;
    const double bandwidth = device->bandwidth_gb_s ? device->bandwidth_gb_s : 500;
    const double m = (double)r->m, n = (double)r->n, k = (double)r->k, batch = (double)r->count * (double)r->outer;
    const double compute = batch * m * n * k / (units * clock * 1e-3 * LANES * x->rate);
    const double bytes = batch * ((m * k + k * n) * x->item + m * n * x->item_d);
    const double memory = bytes / bandwidth;
    return (CALL_NS + (instance->is_lt ? 0 : CLASSIC_NS)) * (double)(r->outer > 0 ? r->outer : 1) +
           (compute > memory ? compute : memory);
}

static const char *schemes_text(uint32_t schemes) {
    switch (schemes) {
    case BP__CUBLASLT_REDUCTION_SCHEME_NONE:
        return "k is not split";
    case BP__CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE:
        return "parts of k are added in the type of the sum";
    case BP__CUBLASLT_REDUCTION_SCHEME_MASK:
        return "any reduction";
    default:
        return "no reduction in place";
    }
}

/* Says which of NVIDIA's words the settings have become. */
static void tell(const bp__cublas_offer *offer, bool is_other, bp_verdict *verdict) {
    if (offer->route.work == BP__CUBLAS_PRODUCT) {
        snprintf(verdict->text, sizeof verdict->text, "%s, %s, workspace of at most %llu KiB%s",
                 bp__cublas_compute_name(offer->numerics.compute), schemes_text(offer->numerics.schemes),
                 (unsigned long long)(offer->numerics.workspace >> 10),
                 is_other ? "; ranked behind the library that cuda.preferred_blas_library names" : "");
    }
}

static const char *algorithm_of(const bp__cublas_instance *instance, const bp__cublas_route *route) {
    return route->work == BP__CUBLAS_ZEROS     ? "zeros"
           : route->work == BP__CUBLAS_NOTHING ? "none"
           : instance->is_lt                   ? "matmul"
                                               : "gemm";
}

void bp__cublas_accept(void *opaque, const bp_problem *problem, bp_offers *offers) {
    const bp__cublas_instance *instance = opaque;
    const bp_device_info *device = instance->vendor.host->device(problem->place);
    bp__cublas_offer offer;
    bp_verdict verdict = BP_VERDICT_INIT;
    verdict.algorithm = instance->is_lt ? "matmul" : "gemm";
    if (!make_offer(instance, problem, device, &offer, &verdict)) {
        offers->add(offers, &verdict, NULL, 0);
        return;
    }
    const bool is_other = is_other_preferred(instance, problem);
    verdict.algorithm = algorithm_of(instance, &offer.route);
    verdict.properties = offer.numerics.properties;
    verdict.properties |= offer.route.count == 1 && offer.route.outer == 1 ? BP_PROPERTY_THREAD_INVARIANT : 0;
    verdict.properties |= offer.route.epilogue & BP__CUBLASLT_EPILOGUE_RELU ? 0 : BP_PROPERTY_PROPAGATES_NAN;
    verdict.cost_ns = cost(instance, device, &offer) + (is_other ? NOT_PREFERRED_NS : 0);
    tell(&offer, is_other, &verdict);
    offers->add(offers, &verdict, &offer, sizeof offer);
}

/* The list is asked from the library, which needs the device itself, not only its description. */
void bp__cublas_expand(void *opaque, const bp_problem *problem, const bp_verdict *offered, bp_offers *offers) {
    bp__cublas_instance *instance = opaque;
    const bp_device_info *device = instance->vendor.host->device(problem->place);
    bp__cublas_offer offer;
    bp__cu_part *on;
    bp_verdict verdict = *offered;
    void *opened;
    if (instance->is_lt && make_offer(instance, problem, device, &offer, &verdict) &&
        offer.route.work == BP__CUBLAS_PRODUCT &&
        instance->vendor.host->device_open(problem->place, &opened) == BP_OK &&
        bp__cu_vendor_part(&instance->vendor, opened, &on) == BP_OK) {
        bp__cublas_list_lt(instance, (bp__cublas_device *)on, &offer, offered, offers);
    }
}
