/* family.c - describes einsum and its contractions to dispatch. */
#include "ops/einsum/einsum.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_contract_problem) == (2 + 4 * BP_MAX_CONTRACT_NDIM) * 8, "bytes between the fields");

/* Writes "f32 64x32x16, two operands -> 64x16": the sizes of all dimensions, and of those in the output. */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_contract_problem *c = &problem->of.contract;
    char all[160] = "", kept[96] = "";
    size_t used = 0, left = 0;
    for (int i = 0; i < c->ndim; i++) {
        const char *by = i ? "x" : "";
        used +=
            used < sizeof all - 24 ? (size_t)snprintf(all + used, sizeof all - used, "%s%" PRId64, by, c->size[i]) : 0;
        if (i < c->output_ndim && left < sizeof kept - 24) {
            left += (size_t)snprintf(kept + left, sizeof kept - left, "%s%" PRId64, by, c->size[i]);
        }
    }
    snprintf(buffer, size, "%s %s%s -> %s%s", bp_dtype_name((bp_dtype)problem->dtype), used ? all : "1",
             c->has_b ? ", two operands" : "", left ? kept : "1", c->in_place ? ", in place" : "");
}

static bp__sharing sharing(const bp_problem *problem, int input) {
    return problem->of.contract.in_place && input == 0 ? BP__SHARED : BP__APART;
}

const bp__family bp__family_contract = {
    .size = sizeof(bp_contract_problem),
    .preference = BP_SET_einsum_preferred,
    .preferred = &(const bp__preference){"contractions are", "contractions", 0},
    .enabled = BP_SET_einsum_enabled,
    .precision = BP__NO_SETTING,
    .cuda = {.precision = BP_SET_cuda_matmul_fp32_precision},
    .benchmark = BP_SET_einsum_benchmark,
    .describe = describe,
    .elements = bp__contract_elements,
    .sharing = sharing,
    .measuring = &bp__measuring_contract,
};

static void describe_whole(const bp_problem *problem, char *buffer, size_t size) {
    snprintf(buffer, size, "%s contraction", bp_dtype_name((bp_dtype)problem->dtype));
}

/* Plans of einsum are composed: they have their own keys and texts. */
const bp__family bp__family_einsum = {
    .preference = BP_SET_blas_preferred,
    .enabled = BP__NO_SETTING, /* its parts have theirs */
    .precision = BP_SET_mkldnn_matmul_fp32_precision,
    .cuda = {.precision = BP_SET_cuda_matmul_fp32_precision},
    .benchmark = BP_SET_einsum_benchmark,
    .describe = describe_whole,
};
