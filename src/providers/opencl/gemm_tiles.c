/* gemm_tiles.c - plans matrix products from tiles of A and B in local memory. */
#include "gemm.h"

BP__CL_SOURCE(gemm);

enum { DEEP = 16, MOST_GROUPS = 60000 }; /* columns of a tile of A; groups in the dimensions 1 and 2 */

bool bp__cl_tiles_cut(const bp__cl_gemm_job *job, const bp_device_info *facts, bp__cl_gemm_cut *cut) {
    const bp__cl_product *p = &job->product;
    *cut = (bp__cl_gemm_cut){.group = facts->group_items >= 256 || facts->group_items == 0 ? 16 : 8,
                             .side = job->number > 8 ? 2 : 4};
    cut->rows = cut->columns = (int64_t)cut->group * cut->side;
    cut->slab_rows = MOST_GROUPS * cut->rows;
    cut->slab_columns = bp__cl_most(p->n, 1);
    cut->slab_items = MOST_GROUPS;
    const int64_t local = 2 * DEEP * (cut->rows + 1) * job->number;
    return (facts->group_items == 0 || facts->group_items >= 64) &&
           (facts->local_memory == 0 || (uint64_t)local <= facts->local_memory);
}

void bp__cl_tiles_multiply(bp__cl_step *step, const bp__cl_gemm_job *job, const bp__cl_gemm_cut *cut,
                           const bp__cl_product *slab, int64_t items, int c) {
    const size_t group = (size_t)cut->group;
    const bp_dtype scalar = (bp_dtype)(job->integer ? BP_F32 : job->type[2]);
    step->kernel = "multiply_tiles";
    step->dimensions = 3;
    step->global[0] = (size_t)bp__cl_divide_up(slab->columns, cut->columns) * group;
    step->global[1] = (size_t)bp__cl_divide_up(slab->rows, cut->rows) * group;
    step->global[2] = (size_t)items;
    step->local[0] = step->local[1] = group;
    step->local[2] = 1;
    bp__cl_operand(step, c, bp__cl_bytes(job->type[2]));
    bp__cl_value(step, slab, sizeof *slab);
    bp__cl_scalar(step, 0, scalar);
    bp__cl_scalar(step, 1, scalar);
}

void bp__cl_tiles_options(bp__cl_options *options, const bp__cl_gemm_job *job, const bp__cl_gemm_cut *cut) {
    bp__cl_gemm_options(options, job);
    bp__cl_options_add(options, " -DTILES -DGROUP=%d -DSIDE=%d -DDEEP=%d", cut->group, cut->side, DEEP);
}

static bp_status add_multiply(const bp__cl_gemm_job *job, const bp__cl_gemm_cut *cut, const bp__cl_product *slab,
                              int64_t items, bp__cl_program *program, bp__cl_plan *plan) {
    bp__cl_step step = {.program = program};
    bp__cl_operand(&step, 0, bp__cl_bytes(job->type[0]));
    bp__cl_operand(&step, 1, bp__cl_bytes(job->type[1]));
    bp__cl_tiles_multiply(&step, job, cut, slab, items, 2);
    return bp__cl_plan_add(plan, &step);
}

bp_status bp__cl_tiles_steps(bp__cl_device *device, const bp__cl_gemm_job *job, bp__cl_plan *plan) {
    const bp__cl_product *p = &job->product;
    bp__cl_product slab = *p;
    bp__cl_gemm_cut cut;
    bp__cl_program *program;
    bp__cl_options options;
    bp__cl_tiles_cut(job, &device->facts, &cut);
    bp__cl_options_begin(&options, device);
    bp__cl_tiles_options(&options, job, &cut);
    bp_status status = bp__cl_program_get(device, bp__cl_source_gemm, options.text, &program);
    slab.columns = p->n;
    for (int64_t item = 0; item < job->batch && status == BP_OK; item += cut.slab_items) {
        slab.first_item = item;
        for (int64_t row = 0; row < p->m && status == BP_OK; row += cut.slab_rows) {
            slab.first_row = row;
            slab.rows = bp__cl_least(cut.slab_rows, p->m - row);
            status = add_multiply(job, &cut, &slab, bp__cl_least(cut.slab_items, job->batch - item), program, plan);
        }
    }
    return status;
}
