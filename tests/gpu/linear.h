/* linear.h - linear algebra on the device by the library, and the same on the host, for rules. */
#ifndef BP_TESTS_GPU_LINEAR_H
#define BP_TESTS_GPU_LINEAR_H

#include "check.h"

#include "backplane.h"

/* Square matrices, right sides of each, and matrices of a batch. */
enum { LINEAR_N = 24, LINEAR_SIDES = 3, LINEAR_ITEMS = 3, LINEAR_BYTES = LINEAR_ITEMS * LINEAR_N * LINEAR_N * 16 };

typedef struct linear_operand {
    DLManagedTensorVersioned *block;
    bp_view host;
    DLTensor device;
    uint8_t *bytes, *expected; /* what the device has, and of an output what the host has made */
} linear_operand;

typedef struct linear_call {
    bp_linalg_call call;
    linear_operand in[BP_LINALG_INPUTS], out[BP_LINALG_OUTPUTS];
} linear_call;

extern const bp_dtype linear_types[4];
extern int32_t linear_place;

/* Opens the first device, and finds the library; skipped with the reason if there is no cuSOLVER. */
outcome open_linear(bp_library_info *info);
/* Makes a call for a batch of random matrices, and writes them to the device. Its outputs are compact. */
outcome new_linear(linear_call *s, bp_op op, bp_dtype dtype, bp_linalg_mode mode, bool with_info);
void free_linear(linear_call *s);
/* Makes other matrices, which are definite, and writes them on a queue. */
outcome write_linear(linear_call *s, bp_queue *queue);
/* Returns the call with the operands of the device, or of the host. */
bp_linalg_call linear_call_on(linear_call *s, bool device);
/* Runs the call on the host, as what expect_linear() compares an output with. */
outcome solve_on_host(linear_call *s);
outcome expect_linear(linear_call *s, int output);
/* Copies an operand to the device, or back. */
outcome copy_linear(linear_operand *x, bool to_device, bp_queue *queue);

/* Elements, as numbers in double precision; `index` counts parts of complex ones. */
bool linear_is_wide(bp_dtype dtype);
int linear_parts(bp_dtype dtype);
double linear_part(const uint8_t *bytes, bp_dtype dtype, int64_t index);
void set_linear_part(uint8_t *bytes, bp_dtype dtype, int64_t index, double value);

#endif
