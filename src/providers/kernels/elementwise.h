/* elementwise.h - declares what copies, functions of single elements and elements at indices share. */
#ifndef BP_PROVIDERS_KERNELS_ELEMENTWISE_H
#define BP_PROVIDERS_KERNELS_ELEMENTWISE_H

#include "providers/kernels/families.h"

/* The struct `layout` in sources/elementwise.cl, with as many dimensions as the kernel has. */
typedef struct bp__kernel_element_walk {
    size_t size;
    char
        bytes[(1 + BP__KERNEL_OPERANDS) * sizeof(int64_t) * (1 + BP__KERNEL_DIMS) + BP__KERNEL_DIMS * sizeof(uint32_t)];
} bp__kernel_element_walk;

/* Takes the dimensions of a problem, in the order of the output's strides. Returns false if too many are left. */
bool bp__kernel_element_dims(bp__kernel_dims *dims, const bp_elementwise_problem *problem, int operands);

/* Adds the options that sources/elementwise.cl needs for these dimensions and inputs of `element` bytes. */
void bp__kernel_element_options(bp__kernel_options *options, const bp_device_info *facts, const bp__kernel_dims *dims,
                                size_t element);

/* Divides elements of `work` nanoseconds among the work items of a step whose program has these options, and sets the
 * argument of its kernel. */
void bp__kernel_element_spread(bp__kernel_step *step, const bp_device_info *facts, const bp__kernel_dims *dims,
                               size_t element, double work, bp__kernel_element_walk *walk);

/* Builds the program that copies elements of `element` bytes, or takes those at indices. */
bp_status bp__kernel_copy_program(bp__kernel_device *device, const bp__kernel_dims *dims, size_t element,
                                  bp__kernel_program **program);

/* Adds a copy of elements to a plan: input and output are the operands of the call with these numbers. */
bp_status bp__kernel_copy_step(bp__kernel_device *device, bp__kernel_plan *plan, const bp__kernel_dims *dims,
                               size_t element, const int operand[2]);

/* Adds a function of single floating elements to a plan, in place: both operands of `dims` have the same strides. */
bp_status bp__kernel_unary_step(bp__kernel_device *device, bp__kernel_plan *plan, const bp__kernel_dims *dims,
                                uint32_t dtype, uint32_t kind, int operand);

/* ---- Elements at given indices (take.c) ---- */

enum { BP__KERNEL_FLAG_BYTES = 64 }; /* workspace: an int that is not 0 if an index is out of range */

bp_status bp__kernel_take_steps(bp__kernel_device *device, const bp_problem *problem, bp__kernel_plan *plan,
                                const bp__kernel_dims *dims);

#endif
