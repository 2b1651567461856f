/* elementwise.h - declares what copies, functions of single elements and elements at indices share. */
#ifndef BP_PROVIDERS_OPENCL_ELEMENTWISE_H
#define BP_PROVIDERS_OPENCL_ELEMENTWISE_H

#include "families.h"

/* The struct `layout` in kernels/elementwise.cl, with as many dimensions as the kernel has. */
typedef struct bp__cl_element_walk {
    size_t size;
    char bytes[(1 + BP__CL_OPERANDS) * sizeof(int64_t) * (1 + BP__CL_DIMS) + BP__CL_DIMS * sizeof(uint32_t)];
} bp__cl_element_walk;

/* Takes the dimensions of a problem, in the order of the output's strides. Returns false if too many are left. */
bool bp__cl_element_dims(bp__cl_dims *dims, const bp_elementwise_problem *problem, int operands);

/* Adds the options that kernels/elementwise.cl needs for these dimensions and inputs of `element` bytes. */
void bp__cl_element_options(bp__cl_options *options, const bp_device_info *facts, const bp__cl_dims *dims,
                            size_t element);

/* Divides elements of `work` nanoseconds among the work items of a step whose program has these options, and sets the
 * argument of its kernel. */
void bp__cl_element_spread(bp__cl_step *step, const bp_device_info *facts, const bp__cl_dims *dims, size_t element,
                           double work, bp__cl_element_walk *walk);

/* Builds the program that copies elements of `element` bytes, or takes those at indices. */
bp_status bp__cl_copy_program(bp__cl_device *device, const bp__cl_dims *dims, size_t element, bp__cl_program **program);

/* Adds a copy of elements to a plan: input and output are the operands of the call with these numbers. */
bp_status bp__cl_copy_step(bp__cl_device *device, bp__cl_plan *plan, const bp__cl_dims *dims, size_t element,
                           const int operand[2]);

/* Adds a function of single floating elements to a plan, in place: both operands of `dims` have the same strides. */
bp_status bp__cl_unary_step(bp__cl_device *device, bp__cl_plan *plan, const bp__cl_dims *dims, uint32_t dtype,
                            uint32_t kind, int operand);

/* ---- Elements at given indices (take.c) ---- */

enum { BP__CL_FLAG_BYTES = 64 }; /* workspace: an int that is not 0 if an index is out of range */

bp_status bp__cl_take_steps(bp__cl_device *device, const bp_problem *problem, bp__cl_plan *plan,
                            const bp__cl_dims *dims);

/* Makes a prepared call, which the new one owns, report a flag in its workspace: the run then counts as failed with the
 * error BP__CL_INDEX_OUT_OF_RANGE. `inner` is destroyed if that fails. */
bp_status bp__cl_report_flag(bp__cl_device *device, bp_prepared *inner, bp_prepared **prepared);

#endif
