/* api.h - lists the oneDNN functions that the provider calls, also for the test that compares them with an installed
 * dnnl.h. The names are the library's without their prefix, dnnl_.
 *
 * X(name, result, arguments) is in terms of the library's handles: ENGINE, STREAM, MD (a description of memory),
 * MEMORY, PD (a description of a primitive), PRIMITIVE, ATTR, OPS (operations that follow the primitive), and ARG. The
 * test substitutes the library's own types; the provider uses untyped addresses. */
#ifndef BP_ONEDNN_API_H
#define BP_ONEDNN_API_H

#include <stddef.h>
#include <stdint.h>

#define BP__ONEDNN_MOST_NDIM 12 /* DNNL_MAX_NDIMS */

/* An argument of a primitive. */
typedef struct bp__onednn_arg {
    int arg;
    void *memory;
} bp__onednn_arg;

/* clang-format off */
#define BP__ONEDNN_FUNCTIONS(X, ENGINE, STREAM, MD, CONST_MD, MEMORY, PD, CONST_PD, PRIMITIVE, CONST_PRIMITIVE, ATTR,          \
                             CONST_ATTR, OPS, CONST_OPS, ARG, ENUM, DIMS)                                                      \
    X(engine_create, ENUM(status), (ENGINE *, ENUM(engine_kind), size_t))                                                      \
    X(engine_destroy, ENUM(status), (ENGINE))                                                                                  \
    X(stream_create, ENUM(status), (STREAM *, ENGINE, unsigned))                                                               \
    X(stream_wait, ENUM(status), (STREAM))                                                                                     \
    X(stream_destroy, ENUM(status), (STREAM))                                                                                  \
    X(memory_desc_create_with_strides, ENUM(status), (MD *, int, DIMS, ENUM(data_type), DIMS))                     \
    X(memory_desc_create_with_tag, ENUM(status), (MD *, int, DIMS, ENUM(data_type), ENUM(format_tag)))                   \
    X(memory_desc_destroy, ENUM(status), (MD))                                                                                 \
    X(memory_desc_get_size, size_t, (CONST_MD))                                                                                \
    X(memory_desc_equal, int, (CONST_MD, CONST_MD))                                                                            \
    X(memory_create, ENUM(status), (MEMORY *, CONST_MD, ENGINE, void *))                                                       \
    X(memory_set_data_handle, ENUM(status), (MEMORY, void *))                                                                  \
    X(memory_destroy, ENUM(status), (MEMORY))                                                                                  \
    X(primitive_attr_create, ENUM(status), (ATTR *))                                                                           \
    X(primitive_attr_destroy, ENUM(status), (ATTR))                                                                            \
    X(primitive_attr_set_scratchpad_mode, ENUM(status), (ATTR, ENUM(scratchpad_mode)))                                         \
    X(primitive_attr_set_fpmath_mode, ENUM(status), (ATTR, ENUM(fpmath_mode)))                                                 \
    X(primitive_attr_set_post_ops, ENUM(status), (ATTR, CONST_OPS))                                                            \
    X(post_ops_create, ENUM(status), (OPS *))                                                                                  \
    X(post_ops_append_eltwise, ENUM(status), (OPS, ENUM(alg_kind), float, float))                                              \
    X(post_ops_append_sum, ENUM(status), (OPS, float, int32_t, ENUM(data_type)))                                               \
    X(post_ops_destroy, ENUM(status), (OPS))                                                                                   \
    X(convolution_forward_primitive_desc_create, ENUM(status),                                                                 \
      (PD *, ENGINE, ENUM(prop_kind), ENUM(alg_kind), CONST_MD, CONST_MD, CONST_MD, CONST_MD, DIMS, DIMS,          \
       DIMS, DIMS, CONST_ATTR))                                                                                    \
    X(deconvolution_forward_primitive_desc_create, ENUM(status),                                                               \
      (PD *, ENGINE, ENUM(prop_kind), ENUM(alg_kind), CONST_MD, CONST_MD, CONST_MD, CONST_MD, DIMS, DIMS,          \
       DIMS, DIMS, CONST_ATTR))                                                                                    \
    X(convolution_backward_weights_primitive_desc_create, ENUM(status),                                                        \
      (PD *, ENGINE, ENUM(alg_kind), CONST_MD, CONST_MD, CONST_MD, CONST_MD, DIMS, DIMS, DIMS, DIMS,   \
       CONST_PD, CONST_ATTR))                                                                                                  \
    X(matmul_primitive_desc_create, ENUM(status), (PD *, ENGINE, CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_ATTR))          \
    X(pooling_forward_primitive_desc_create, ENUM(status),                                                                     \
      (PD *, ENGINE, ENUM(prop_kind), ENUM(alg_kind), CONST_MD, CONST_MD, DIMS, DIMS, DIMS, DIMS, DIMS, CONST_ATTR))           \
    X(pooling_backward_primitive_desc_create, ENUM(status),                                                                    \
      (PD *, ENGINE, ENUM(alg_kind), CONST_MD, CONST_MD, DIMS, DIMS, DIMS, DIMS, DIMS, CONST_PD, CONST_ATTR))                  \
    X(batch_normalization_forward_primitive_desc_create, ENUM(status),                                                         \
      (PD *, ENGINE, ENUM(prop_kind), CONST_MD, CONST_MD, float, unsigned, CONST_ATTR))                                        \
    X(vanilla_rnn_forward_primitive_desc_create, ENUM(status),                                                                 \
      (PD *, ENGINE, ENUM(prop_kind), ENUM(alg_kind), ENUM(rnn_direction), CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD,    \
       CONST_MD, CONST_MD, unsigned, float, float, CONST_ATTR))                                                                \
    X(lstm_forward_primitive_desc_create, ENUM(status),                                                                        \
      (PD *, ENGINE, ENUM(prop_kind), ENUM(rnn_direction), CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD,          \
       CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD, unsigned, CONST_ATTR))                                                \
    X(lbr_gru_forward_primitive_desc_create, ENUM(status),                                                                     \
      (PD *, ENGINE, ENUM(prop_kind), ENUM(rnn_direction), CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD,          \
       CONST_MD, unsigned, CONST_ATTR))                                                                                        \
    X(gru_forward_primitive_desc_create, ENUM(status),                                                                         \
      (PD *, ENGINE, ENUM(prop_kind), ENUM(rnn_direction), CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD, CONST_MD,          \
       CONST_MD, unsigned, CONST_ATTR))                                                                                        \
    X(reorder_primitive_desc_create, ENUM(status), (PD *, CONST_MD, ENGINE, CONST_MD, ENGINE, CONST_ATTR))                     \
    X(primitive_desc_query, ENUM(status), (CONST_PD, ENUM(query), int, void *))                                                \
    X(primitive_desc_query_md, CONST_MD, (CONST_PD, ENUM(query), int))                                                         \
    X(primitive_desc_destroy, ENUM(status), (PD))                                                                              \
    X(primitive_create, ENUM(status), (PRIMITIVE *, CONST_PD))                                                                 \
    X(primitive_execute, ENUM(status), (CONST_PRIMITIVE, STREAM, int, const ARG *))                                            \
    X(primitive_destroy, ENUM(status), (PRIMITIVE))
/* clang-format on */

/* Values of the C interface of version 3. */
enum {
    BP__ONEDNN_OK = 0,
    BP__ONEDNN_OUT_OF_MEMORY = 1,
    BP__ONEDNN_CPU = 1,       /* engine kind */
    BP__ONEDNN_IN_ORDER = 1,  /* stream flag */
    BP__ONEDNN_ANY = 1,       /* format tag: the library's choice */
    BP__ONEDNN_SAME_TYPE = 0, /* data types: the type of the result */
    BP__ONEDNN_F16 = 1,
    BP__ONEDNN_BF16 = 2,
    BP__ONEDNN_F32 = 3,
    BP__ONEDNN_S32 = 4,
    BP__ONEDNN_S8 = 5,
    BP__ONEDNN_U8 = 6,
    BP__ONEDNN_INFERENCE = 96, /* propagation kind: no workspace is kept for gradients */
    BP__ONEDNN_FORWARD = 64,
    BP__ONEDNN_CONVOLUTION = 1, /* algorithm: direct */
    BP__ONEDNN_DECONVOLUTION = 10,
    BP__ONEDNN_RELU = 32,
    BP__ONEDNN_TANH = 33,
    BP__ONEDNN_AVERAGE_INCLUDING = 0x2ff, /* algorithms of pooling: the divisor counts the padding, or not */
    BP__ONEDNN_AVERAGE_EXCLUDING = 0x3ff,
    BP__ONEDNN_GIVEN_STATISTICS = 1, /* flags of a normalization */
    BP__ONEDNN_WITH_SCALE = 2,
    BP__ONEDNN_WITH_SHIFT = 4,
    BP__ONEDNN_ASCENDING = 1, /* directions of a recurrent layer */
    BP__ONEDNN_DESCENDING = 2,
    BP__ONEDNN_BOTH = 3, /* with the columns of the results in one row */
    BP__ONEDNN_USER_SCRATCHPAD = 1,
    BP__ONEDNN_FPMATH_STRICT = 0,
    BP__ONEDNN_FPMATH_BF16 = 1,
    BP__ONEDNN_FPMATH_TF32 = 4,
    BP__ONEDNN_QUERY_NAME = 8, /* of the implementation */
    BP__ONEDNN_QUERY_WEIGHTS = 131,
    BP__ONEDNN_QUERY_DIFF_WEIGHTS = 132,
    BP__ONEDNN_QUERY_SCRATCHPAD = 136,
    BP__ONEDNN_QUERY_ARGUMENT = 255,
    BP__ONEDNN_ARG_SRC = 1,
    BP__ONEDNN_ARG_SRC_ITER = 2,
    BP__ONEDNN_ARG_SRC_ITER_C = 3,
    BP__ONEDNN_ARG_DST = 17,
    BP__ONEDNN_ARG_DST_ITER = 18,
    BP__ONEDNN_ARG_DST_ITER_C = 19,
    BP__ONEDNN_ARG_WEIGHTS = 33,
    BP__ONEDNN_ARG_WEIGHTS_ITER = 34,
    BP__ONEDNN_ARG_WEIGHTS_PROJECTION = 36,
    BP__ONEDNN_ARG_BIAS = 41,
    BP__ONEDNN_ARG_MEAN = 49,
    BP__ONEDNN_ARG_VARIANCE = 50,
    BP__ONEDNN_ARG_SCALE = 51,
    BP__ONEDNN_ARG_SHIFT = 52,
    BP__ONEDNN_ARG_SCRATCHPAD = 80,
    BP__ONEDNN_ARG_DIFF_SRC = 129,
    BP__ONEDNN_ARG_DIFF_DST = 145,
    BP__ONEDNN_ARG_DIFF_WEIGHTS = 161,
    BP__ONEDNN_ARG_DIFF_BIAS = 169
};

#endif
