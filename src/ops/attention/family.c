/* family.c - describes attention to dispatch. */
#include "ops/attention/attention.h"
#include "base/number.h"

#include <inttypes.h>
#include <stdio.h>

/* Problems are hashed and compared byte by byte, so there must be no padding. */
_Static_assert(sizeof(bp_attention_layout) == (3 + BP_MAX_ATTENTION_NDIM) * 8, "bytes between the fields");
_Static_assert(sizeof(bp_attention_problem) ==
                   (15 + BP_MAX_ATTENTION_NDIM) * 8 + BP_ATTENTION_TENSORS * sizeof(bp_attention_layout),
               "bytes between the fields");

/* Writes ", window 512,-1, lower right", with what there is of it. */
static void describe_window(const bp_attention_problem *p, char *buffer, size_t size) {
    const char *lower_right = p->lower_right ? ", lower right" : "";
    if (p->window_left >= 0 || p->window_right >= 0) {
        snprintf(buffer, size, ", window %" PRId64 ",%" PRId64 "%s", p->window_left, p->window_right, lower_right);
    } else {
        snprintf(buffer, size, "%s", lower_right);
    }
}

/* Writes "f32 8 x 512x64 queries, 512 keys, causal". */
static void describe(const bp_problem *problem, char *buffer, size_t size) {
    const bp_attention_problem *p = &problem->of.attention;
    const uint32_t mask = p->tensor[BP_ATTENTION_MASK].dtype;
    char items[32] = "", values[32] = "", masked[32] = "", dropout[32] = "", pages[32] = "", window[80],
         softcap[32] = "";
    if (p->batch != 1) {
        snprintf(items, sizeof items, "%" PRId64 " x ", p->batch);
    }
    if (p->value_size != p->size) {
        snprintf(values, sizeof values, ", values of %" PRId64, p->value_size);
    }
    if (mask) {
        snprintf(masked, sizeof masked, ", mask %s", bp_dtype_name((bp_dtype)mask));
    }
    if (p->dropout > 0) {
        bp__format(dropout, sizeof dropout, ", dropout %g", p->dropout);
    }
    if (problem->op == BP_OP_ATTENTION_PAGED) {
        snprintf(pages, sizeof pages, " in pages of %" PRId64, p->page_size);
    }
    if (bp__attention_has_lengths_alone(problem)) {
        snprintf(pages, sizeof pages, " at most");
    }
    if (p->softcap > 0) {
        bp__format(softcap, sizeof softcap, ", softcap %g", p->softcap);
    }
    describe_window(p, window, sizeof window);
    snprintf(buffer, size, "%s %s%" PRId64 "x%" PRId64 " queries, %" PRId64 " keys%s%s%s%s%s%s%s",
             bp_dtype_name((bp_dtype)problem->dtype), items, p->queries, p->size, p->keys, pages, values,
             p->causal ? ", causal" : "", window, masked, softcap, dropout);
}

/* A softcap, a window and the other alignment came with 5.6, and so did operations that older providers do not know. */
static uint32_t least_minor(const bp_problem *problem) {
    const bp_attention_problem *p = &problem->of.attention;
    const bool is_new = p->softcap > 0 || p->window_left >= 0 || p->window_right >= 0 ||
                        (p->lower_right && problem->op != BP_OP_ATTENTION_PAGED);
    return is_new ? 6 : 0;
}

static const bp__kernels kernels = {
    .list = {{"flash", "flash", BP_SET_cuda_flash_sdp},
             {"flash_bf16", "flash", BP_SET_cuda_flash_sdp},
             {"mem_efficient", "efficient", BP_SET_cuda_mem_efficient_sdp},
             {"math", "math", BP_SET_cuda_math_sdp},
             {"cudnn", "cudnn", BP_SET_cuda_cudnn_sdp},
             {NULL, "overrideable", BP_SET_cuda_overrideable_sdp}},
    .count = 6,
    .order = BP_SET_cuda_sdp_priority,
};

const bp__family bp__family_attention = {
    .size = sizeof(bp_attention_problem),
    .preference = BP_SET_attention_preferred,
    .preferred = &(const bp__preference){"attention is", "attention", 0},
    .enabled = BP_SET_attention_enabled,
    .precision = BP_SET_mkldnn_matmul_fp32_precision, /* its two products */
    .cuda = {.precision = BP_SET_cuda_matmul_fp32_precision},
    .benchmark = BP_SET_attention_benchmark,
    .make = bp__attention_make,
    .describe = describe,
    .elements = bp__attention_elements,
    .kernels = &kernels,
    .measuring = &bp__measuring_attention,
    .least_minor = least_minor,
};
