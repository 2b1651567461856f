/* test_prototypes.c - checks our prototypes and constants against an installed dnnl.h of version 3: a mismatch does not
 * compile. */
#include "providers/onednn/api.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#if defined(__has_include)
#if __has_include(<dnnl.h>)
#include <dnnl.h>
#if DNNL_VERSION_MAJOR >= 3
#define HAVE_DNNL
#endif
#endif
#endif

#ifdef HAVE_DNNL
#define ENUM(name) dnnl_##name##_t
#define CHECK(name, result, arguments)                                                                                 \
    typedef result our_##name arguments;                                                                               \
    _Static_assert(__builtin_types_compatible_p(__typeof__(dnnl_##name), our_##name), "dnnl_" #name);
BP__ONEDNN_FUNCTIONS(CHECK, dnnl_engine_t, dnnl_stream_t, dnnl_memory_desc_t, const_dnnl_memory_desc_t, dnnl_memory_t,
                     dnnl_primitive_desc_t, const_dnnl_primitive_desc_t, dnnl_primitive_t, const_dnnl_primitive_t,
                     dnnl_primitive_attr_t, const_dnnl_primitive_attr_t, dnnl_post_ops_t, const_dnnl_post_ops_t,
                     dnnl_exec_arg_t, ENUM, const dnnl_dim_t *)
#define NUMBER(ours, theirs) _Static_assert((int)BP__ONEDNN_##ours == (int)(theirs), #theirs);
NUMBER(OK, dnnl_success)
NUMBER(OUT_OF_MEMORY, dnnl_out_of_memory)
NUMBER(CPU, dnnl_cpu)
NUMBER(IN_ORDER, dnnl_stream_in_order)
NUMBER(ANY, dnnl_format_tag_any)
NUMBER(SAME_TYPE, dnnl_data_type_undef)
NUMBER(BF16, dnnl_bf16)
NUMBER(F32, dnnl_f32)
NUMBER(INFERENCE, dnnl_forward_inference)
NUMBER(FORWARD, dnnl_forward_training)
NUMBER(CONVOLUTION, dnnl_convolution_direct)
NUMBER(DECONVOLUTION, dnnl_deconvolution_direct)
NUMBER(RELU, dnnl_eltwise_relu)
NUMBER(TANH, dnnl_eltwise_tanh)
NUMBER(ASCENDING, dnnl_unidirectional_left2right)
NUMBER(DESCENDING, dnnl_unidirectional_right2left)
NUMBER(BOTH, dnnl_bidirectional_concat)
NUMBER(AVERAGE_INCLUDING, dnnl_pooling_avg_include_padding)
NUMBER(AVERAGE_EXCLUDING, dnnl_pooling_avg_exclude_padding)
NUMBER(GIVEN_STATISTICS, dnnl_use_global_stats)
NUMBER(WITH_SCALE, dnnl_use_scale)
NUMBER(WITH_SHIFT, dnnl_use_shift)
NUMBER(USER_SCRATCHPAD, dnnl_scratchpad_mode_user)
NUMBER(FPMATH_STRICT, dnnl_fpmath_mode_strict)
NUMBER(FPMATH_BF16, dnnl_fpmath_mode_bf16)
NUMBER(FPMATH_TF32, dnnl_fpmath_mode_tf32)
NUMBER(QUERY_WEIGHTS, dnnl_query_weights_md)
NUMBER(QUERY_DIFF_WEIGHTS, dnnl_query_diff_weights_md)
NUMBER(QUERY_SCRATCHPAD, dnnl_query_scratchpad_md)
NUMBER(QUERY_ARGUMENT, dnnl_query_exec_arg_md)
NUMBER(ARG_SRC, DNNL_ARG_SRC)
NUMBER(ARG_SRC_ITER, DNNL_ARG_SRC_ITER)
NUMBER(ARG_SRC_ITER_C, DNNL_ARG_SRC_ITER_C)
NUMBER(ARG_DST_ITER, DNNL_ARG_DST_ITER)
NUMBER(ARG_DST_ITER_C, DNNL_ARG_DST_ITER_C)
NUMBER(ARG_WEIGHTS_ITER, DNNL_ARG_WEIGHTS_ITER)
NUMBER(ARG_WEIGHTS_PROJECTION, DNNL_ARG_WEIGHTS_PROJECTION)
NUMBER(ARG_DST, DNNL_ARG_DST)
NUMBER(ARG_WEIGHTS, DNNL_ARG_WEIGHTS)
NUMBER(ARG_BIAS, DNNL_ARG_BIAS)
NUMBER(ARG_SCRATCHPAD, DNNL_ARG_SCRATCHPAD)
NUMBER(ARG_MEAN, DNNL_ARG_MEAN)
NUMBER(ARG_VARIANCE, DNNL_ARG_VARIANCE)
NUMBER(ARG_SCALE, DNNL_ARG_SCALE)
NUMBER(ARG_SHIFT, DNNL_ARG_SHIFT)
NUMBER(ARG_DIFF_SRC, DNNL_ARG_DIFF_SRC)
NUMBER(ARG_DIFF_DST, DNNL_ARG_DIFF_DST)
NUMBER(ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS)
NUMBER(ARG_DIFF_BIAS, DNNL_ARG_DIFF_BIAS)
_Static_assert(sizeof(bp__onednn_arg) == sizeof(dnnl_exec_arg_t), "dnnl_exec_arg_t");
_Static_assert(sizeof(dnnl_status_t) == sizeof(int), "enums");
_Static_assert(BP__ONEDNN_MOST_NDIM == DNNL_MAX_NDIMS, "DNNL_MAX_NDIMS");
#endif

static void test_header(void **state) {
    (void)state;
#ifndef HAVE_DNNL
    print_message("skipped: no dnnl.h of version 3 is installed\n");
    skip();
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_header)};
    return cmocka_run_group_tests_name("prototypes", tests, NULL, NULL);
}
