/* take.c - plans elements at given indices, which are examined on the device.
 *
 * The indices are in the device's memory, so a call cannot refuse them. A first kernel checks all of them and sets a
 * flag; the next one writes nothing if it is set. The backend reports the flag when the run has ended. */
#include "providers/kernels/elementwise.h"

/* The struct `indices` in sources/copies.cl. */
typedef struct indices {
    int64_t axis, axis_size;
    int32_t wide, reserved; /* wide: they are i64 */
} indices;

static void add_flag(bp__kernel_step *step) {
    bp__kernel_workspace(step, 0, sizeof(int32_t));
}

/* The layout of the indices alone. */
static void index_dims(bp__kernel_dims *dims, const bp_elementwise_problem *p) {
    dims->ndim = p->index_ndim;
    dims->operands = 1;
    for (int d = 0; d < p->index_ndim; d++) {
        dims->size[d] = p->size[p->first_index + d];
        dims->stride[0][d] = p->stride[1][p->first_index + d];
    }
    bp__kernel_dims_simplify(dims, 0);
}

bp_status bp__kernel_take_steps(bp__kernel_device *device, const bp_problem *problem, bp__kernel_plan *plan,
                                const bp__kernel_dims *dims) {
    const bp_elementwise_problem *p = &problem->of.elementwise;
    const size_t index = bp__kernel_bytes(p->type[1]), element = bp__kernel_bytes(problem->dtype);
    const indices numbers = {p->axis, p->axis_size, p->type[1] == BP_I64, 0};
    bp__kernel_dims of;
    bp__kernel_element_walk walk;
    bp__kernel_step clear = {.kernel = "clear_flag", .dimensions = 1, .global = {1}, .local = {1}};
    bp__kernel_step check = {.kernel = "check_indices"}, take = {.kernel = "take_all"};
    index_dims(&of, p);
    bp_status status = bp__kernel_copy_program(device, &of, element, &check.program);
    if (status == BP_OK) {
        status = bp__kernel_copy_program(device, dims, element, &take.program);
    }
    if (status != BP_OK) {
        return status;
    }
    clear.program = check.program;
    add_flag(&clear);
    status = bp__kernel_plan_add(plan, &clear);

    bp__kernel_element_spread(&check, device->facts, &of, element, 0.3, &walk);
    bp__kernel_operand(&check, 1, index);
    add_flag(&check);
    bp__kernel_value(&check, walk.bytes, walk.size);
    bp__kernel_value(&check, &numbers, sizeof numbers);
    status = status == BP_OK ? bp__kernel_plan_add(plan, &check) : status;

    bp__kernel_element_spread(&take, device->facts, dims, element, 0.5, &walk);
    bp__kernel_operand(&take, 0, element);
    bp__kernel_operand(&take, 1, index);
    bp__kernel_operand(&take, 2, element);
    add_flag(&take);
    bp__kernel_value(&take, walk.bytes, walk.size);
    bp__kernel_value(&take, &numbers, sizeof numbers);
    return status == BP_OK ? bp__kernel_plan_add(plan, &take) : status;
}
