/* test_library.c - the real libcublasLt, where it is installed: it makes descriptors and takes attributes without a
 * GPU, and refuses sizes and values that are wrong. So each product that the provider can describe is described to it;
 * what needs a device, the heuristic, is the first call that fails. */
#include "dispatch/internal.h"
#include "providers/cublas/cublas.h"

#include "backplane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

static bp__cublas_instance *instance;
static bp__cu_device device;
static bp__cublas_device on = {.part = {.device = &device}};
static const bp_library_info info = {.id = "cublaslt", .path = "", .soname = "libcublasLt.so.13", .version = "13.0.0"};
static const bp_device_info gpu = {.capability = 900};

/* ---- A driver without devices ---- */

static CUresult get_current(CUcontext *context) {
    *context = NULL;
    return BP__CU_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode) {
    (void)mode;
    return BP__CU_SUCCESS;
}

static CUresult create_event(CUevent *event, unsigned flags) {
    (void)flags;
    *event = NULL;
    return BP__CU_SUCCESS;
}

static CUresult query_event(CUevent event) {
    (void)event;
    return BP__CU_SUCCESS;
}

static int open_library(void **state) {
    (void)state;
    void *handle = *CUBLAS_LT ? dlopen(CUBLAS_LT, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!handle) {
        print_message("no libcublasLt is installed: the tests of the library are skipped\n");
        return 0;
    }
    bp__cu.CtxGetCurrent = get_current;
    bp__cu.ThreadExchangeStreamCaptureMode = exchange_mode;
    bp__cu.EventCreate = create_event;
    bp__cu.EventQuery = query_event;
    pthread_mutex_init(&device.mutex, NULL);
    void *opened;
    assert_int_equal(bp__cublas_open(bp__host(), &info, &opened), BP_OK);
    instance = opened;
#define X(name, symbol, parameters)                                                                                    \
    instance->lt.name = (cublasStatus_t(*) parameters)dlsym(handle, #symbol);                                          \
    assert_non_null(instance->lt.name);
    BP__CUBLAS_LT_FUNCTIONS(X)
#undef X
    return 0;
}

static void need_library(void) {
    if (!instance) {
        skip();
    }
}

/* ---- Products ---- */

/* Describes a product, and checks that only the heuristic has failed. */
static void describe(const bp_problem *problem, const bp__cublas_product *product) {
    bp__cublas_offer offer = {.rank = 0};
    bp_verdict verdict = BP_VERDICT_INIT;
    bp_prepared *prepared = NULL;
    assert_true(bp__cublas_numerics_of(instance, problem, &gpu, &offer.numerics, &verdict));
    assert_null(bp__cublas_route_of(product, &offer.route));
    assert_int_equal(bp__cublas_plan_lt(instance, &on, &offer, &prepared), BP_E_DEVICE);
    if (!strstr(bp_last_error(), "cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_INITIALIZED (1)")) {
        fail_msg("%s, type %u: %s", bp_dtype_name((bp_dtype)problem->dtype), offer.numerics.compute, bp_last_error());
    }
}

static void products_are_described(void **state) {
    static const bp_dtype types[] = {BP_F16, BP_BF16, BP_F32, BP_F64, BP_C64, BP_C128, BP_I8};
    static const uint8_t products[] = {0, BP_PRODUCTS_BFX9, BP_PRODUCTS_F16_ACCUMULATION, BP_PRODUCTS_F16_SPLIT_K,
                                       BP_PRODUCTS_F16_REDUCTION | BP_PRODUCTS_F16_SPLIT_K};
    (void)state;
    need_library();
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (size_t p = 0; p < sizeof products; p++) {
            for (int bits = 0; bits < 16; bits++) {
                bp_problem problem = {.struct_size = sizeof problem, .op = BP_OP_GEMM, .dtype = types[t]};
                bp_gemm_problem *g = &problem.of.gemm;
                problem.policy.products = products[p];
                problem.policy.precision = bits & 8 ? 1 : 0;
                problem.policy.deterministic = bits & 8 ? 1 : 0;
                *g = (bp_gemm_problem){.m = 8, .n = 16, .k = 32, .alpha = BP_FACTOR_ONE, .batch = 1};
                g->a_row = bits & 1 ? 1 : 32;
                g->a_column = bits & 1 ? 8 : 1;
                g->b_row = bits & 2 ? 1 : 16;
                g->b_column = bits & 2 ? 32 : 1;
                g->c_row = 16;
                g->c_column = 1;
                g->c_type = types[t] == BP_I8 ? BP_I32 : 0;
                g->batch_ndim = bits & 4 ? 1 : 0;
                g->batch = bits & 4 ? 5 : 1;
                g->batch_shape[0] = g->batch;
                g->batch_a[0] = 256;
                g->batch_c[0] = 128; /* B is the same for all items */
                bp__cublas_product product;
                assert_null(bp__cublas_product_of_gemm(&problem, &product));
                describe(&problem, &product);
            }
        }
    }
}

static void layers_are_described(void **state) {
    static const bp_op passes[] = {BP_OP_CONV, BP_OP_CONV_INPUT, BP_OP_CONV_WEIGHT};
    static const bp_unary_kind functions[] = {BP_UNARY_COPY, BP_UNARY_RELU, BP_UNARY_GELU_TANH};
    (void)state;
    need_library();
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < 3; i++) {
            for (int has_bias = 0; has_bias < 2; has_bias++) {
                bp_problem problem = {.struct_size = sizeof problem, .op = (uint32_t)passes[pass], .dtype = BP_F16};
                bp_conv_problem *c = &problem.of.conv;
                *c = (bp_conv_problem){.batch = 64, .groups = 1, .in_channels = 32, .out_channels = 16};
                for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
                    c->in[d] = c->out[d] = c->kernel[d] = c->stride[d] = c->dilation[d] = 1;
                }
                c->x_batch = c->w_out = 32;
                c->y_batch = 16;
                c->x_channel = c->w_in = c->y_channel = c->bias = 1;
                c->has_bias = (uint8_t)has_bias;
                c->activation = (uint8_t)(pass == 0 ? functions[i] : BP_UNARY_COPY);
                bp__cublas_product product;
                assert_null(bp__cublas_product_of_layer(&problem, &product));
                describe(&problem, &product);
            }
        }
    }
}

/* What the test relies on: the library looks at sizes. */
static void sizes_are_checked(void **state) {
    cublasLtMatmulDesc_t what;
    const uint64_t wide = BP__CUBLASLT_EPILOGUE_BIAS;
    (void)state;
    need_library();
    assert_int_equal(instance->lt.DescCreate(&what, BP__CUBLAS_COMPUTE_32F, BP__CUDA_R_32F), 0);
    assert_int_equal(instance->lt.DescSet(what, BP__CUBLASLT_MATMUL_DESC_EPILOGUE, &wide, sizeof wide),
                     BP__CUBLAS_STATUS_INVALID_VALUE);
    const void *bias = &wide;
    assert_int_equal(instance->lt.DescSet(what, BP__CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias), 0);
    assert_int_equal(instance->lt.DescDestroy(what), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_described),
        cmocka_unit_test(layers_are_described),
        cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests_name("library", tests, open_library, NULL);
}
