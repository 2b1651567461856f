/* support_cudnn.h - starts the library with the doubles of cuDNN and CUDA's driver, and checks convolutions on them. */
#ifndef BP_TESTS_CUDNN_SUPPORT_H
#define BP_TESTS_CUDNN_SUPPORT_H

#include "cuda/support_arrays.h"
#include "cudnn/doubles/double.h"
#include "providers/cudnn/api.h"
#include "support/contains.h"
#include "support/results.h"

#define CUDNN_DOUBLES BP_TEST_BUILD_DIR "/tests/cudnn-doubles"
/* f32 without TF32, and sums of products only: the reference's bound holds. */
#define EXACT "cudnn.conv.fp32_precision=ieee"

/* For all tests of a program. Devices are "cuda:0" and "cuda:1"; the library is 'cudnn'. The end checks that nothing is
 * left. */
int start_cudnn(void **state);
int stop_cudnn(void **state);
/* For each test. CUDNN_FAULT names a rule that the double breaks (cudnn_fault). */
int begin_cudnn(void **state);
int end_cudnn(void **state);

cudnn_controls *the_cudnn(void);

enum { CONV_INPUT, CONV_WEIGHT, CONV_BIAS, CONV_OUTPUT, CONV_TENSORS };

/* A convolution: `ndim` positions. Numbers that are 0 have their defaults: 1 group, stride and dilation. */
typedef struct conv_case {
    bp_dtype dtype;
    bp_conv_pass pass;
    int ndim;
    bool transposed, has_bias;
    bp_unary_kind activation;
    int64_t batch, in_channels, out_channels, groups;                               /* of all groups */
    int64_t in[3], kernel[3], stride[3], dilation[3], before[3], after[3], more[3]; /* more: output_padding */
    test_layout layout[CONV_TENSORS];
    size_t past; /* bytes by which the addresses of all tensors are moved */
} conv_case;

/* The arrays of a case on the host and on a device, and the calls on both. */
typedef struct conv_trial {
    conv_case c;
    test_array host[CONV_TENSORS];
    on_device device[CONV_TENSORS];
    bp_conv_call on_host, call;
    char text[160];
} conv_trial;

/* Makes tensors with random elements. */
void make_conv(conv_trial *t, const conv_case *c);
void free_conv(conv_trial *t);
/* Runs it with settings. */
bp_status run_conv(const conv_trial *t, const char *settings);
/* Copies all tensors back, and compares the results with the reference; nothing else may have been written. */
void expect_conv(conv_trial *t);
/* Makes, runs and checks a case. */
void check_conv(const conv_case *c, const char *settings);
/* Returns the explanation, valid until the next call. */
const char *explained_conv(const conv_trial *t, const char *settings);
/* Makes a plan of it, and its operands. */
bp_plan *plan_conv(const conv_trial *t, const char *settings, bp_operand operands[4]);

#endif
