/* gemm_tiles.c - plans matrix products from tiles of A and B in local memory. */
#include "providers/kernels/gemm.h"

#include <string.h>

BP__KERNEL_SOURCE(gemm);

enum { MOST_GROUPS = 60000, MOST_PART = 4 }; /* in the dimensions 1 and 2; numbers of a piece that a work item reads */

/* The largest number of elements of a work item, in each dimension: their sums are kept in registers. */
static int most_side(const bp__kernel_gemm_job *job) {
    return job->number > 8 ? 2 : job->complex ? 4 : 8;
}

/* Sets the columns of a piece of A, the more the better. Returns whether the pieces fit into local memory, where there
 * are two of A and two of B. */
static bool cut_pieces(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_gemm_cut *cut) {
    for (int part = MOST_PART; part > 0; part /= 2) {
        cut->deep = part * cut->group / cut->side;
        const int64_t local = 4 * cut->deep * (cut->group * cut->side + 4) * job->number;
        if (cut->deep > 0 && (facts->local_memory == 0 || (uint64_t)local <= facts->local_memory)) {
            return true;
        }
    }
    return false;
}

/* Returns the time of a step along k, in multiply-adds and reads of a work item. A unit that has one group alone waits
 * for memory. */
static int64_t time_of(const bp__kernel_gemm_job *job, const bp_device_info *facts, const bp__kernel_gemm_cut *cut) {
    enum { WAIT = 10 };
    const int64_t tile = (int64_t)cut->group * cut->side, units = bp__most(facts->units, 1);
    const double groups = (double)bp__kernel_divide_up(job->product.m, tile) *
                          (double)bp__kernel_divide_up(job->product.n, tile) * (double)bp__most(job->batch, 1);
    const int64_t rounds = groups < (double)INT32_MAX ? bp__kernel_divide_up((int64_t)groups, units) : INT32_MAX;
    const int64_t work = cut->side * cut->side + 2 * cut->side;
    return bp__most(work + WAIT, rounds * work);
}

/* Neighbouring work items read A and B in the direction in which elements are neighbours. The sums are computed in the
 * order of k with every tile, so that the number of rows, which changes the tile, does not change the bits of a row. */
bool bp__kernel_tiles_cut(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_gemm_cut *cut) {
    const bp__kernel_product *p = &job->product;
    bp__kernel_gemm_cut tried = {.group = facts->group_items >= 256 || facts->group_items == 0 ? 16 : 8};
    int64_t least = INT64_MAX;
    for (tried.side = most_side(job); tried.side >= 2; tried.side /= 2) {
        const int64_t time = time_of(job, facts, &tried);
        if (cut_pieces(job, facts, &tried) && time < least) {
            least = time;
            *cut = tried;
        }
    }
    if (least == INT64_MAX || (facts->group_items != 0 && facts->group_items < 64)) {
        return false;
    }
    cut->a_across = p->a_row == 1;
    cut->b_across = p->b_column == 1;
    cut->rows = cut->columns = (int64_t)cut->group * cut->side;
    cut->slab_rows = MOST_GROUPS * cut->rows;
    cut->slab_columns = bp__most(p->n, 1);
    cut->slab_items = MOST_GROUPS;
    return true;
}

void bp__kernel_tiles_multiply(bp__kernel_step *step, const bp__kernel_gemm_job *job, const bp__kernel_gemm_cut *cut,
                               const bp__kernel_product *slab, int64_t items, int c) {
    const size_t group = (size_t)cut->group;
    const bp_dtype scalar = (bp_dtype)(job->integer ? BP_F32 : job->type[2]);
    step->kernel = "multiply_tiles";
    step->dimensions = 3;
    step->global[0] = (size_t)bp__kernel_divide_up(slab->columns, cut->columns) * group;
    step->global[1] = (size_t)bp__kernel_divide_up(slab->rows, cut->rows) * group;
    step->global[2] = (size_t)items;
    step->local[0] = step->local[1] = group;
    step->local[2] = 1;
    bp__kernel_operand(step, c, bp__kernel_bytes(job->type[2]));
    bp__kernel_value(step, slab, sizeof *slab);
    bp__kernel_scalar(step, 0, scalar);
    bp__kernel_scalar(step, 1, scalar);
}

/* NVIDIA's compilers take more registers for the largest tile than let two groups run on a multiprocessor, which has
 * 65536. */
static void limit_registers(bp__kernel_options *options, const bp__kernel_gemm_job *job, const bp_device_info *facts,
                            const bp__kernel_gemm_cut *cut) {
    if (job->number != 4 || cut->side != 8 || cut->group != 16) {
        return;
    }
    if (facts->capability) {
        bp__kernel_options_add(options, " -DGROUPS=2");
    } else if (facts->extensions && strstr(facts->extensions, "cl_nv_compiler_options")) {
        bp__kernel_options_add(options, " -cl-nv-maxrregcount=128");
    }
}

void bp__kernel_tiles_options(bp__kernel_options *options, const bp__kernel_gemm_job *job, const bp_device_info *facts,
                              const bp__kernel_gemm_cut *cut) {
    const int64_t run = bp__most(bp__least(16 / job->number, cut->side), 1);
    bp__kernel_gemm_options(options, job);
    bp__kernel_options_add(options, " -DTILES -DGROUP=%d -DSIDE=%d -DDEEP=%d -DRUN=%d -DA_ACROSS=%d -DB_ACROSS=%d",
                           cut->group, cut->side, cut->deep, (int)run, cut->a_across, cut->b_across);
    limit_registers(options, job, facts, cut);
}

static bp_status add_multiply(const bp__kernel_gemm_job *job, const bp__kernel_gemm_cut *cut,
                              const bp__kernel_product *slab, int64_t items, bp__kernel_program *program,
                              bp__kernel_plan *plan) {
    bp__kernel_step step = {.program = program};
    bp__kernel_operand(&step, 0, bp__kernel_bytes(job->type[0]));
    bp__kernel_operand(&step, 1, bp__kernel_bytes(job->type[1]));
    bp__kernel_tiles_multiply(&step, job, cut, slab, items, 2);
    return bp__kernel_plan_add(plan, &step);
}

bp_status bp__kernel_tiles_steps(bp__kernel_device *device, const bp__kernel_gemm_job *job, bp__kernel_plan *plan) {
    const bp__kernel_product *p = &job->product;
    bp__kernel_product slab = *p;
    bp__kernel_gemm_cut cut;
    bp__kernel_program *program;
    bp__kernel_options options;
    bp__kernel_tiles_cut(job, device->facts, &cut);
    bp__kernel_options_begin(&options, device);
    bp__kernel_tiles_options(&options, job, device->facts, &cut);
    bp_status status = bp__kernel_program_get(device, bp__kernel_source_gemm, options.text, &program);
    slab.columns = p->n;
    for (int64_t item = 0; item < job->batch && status == BP_OK; item += cut.slab_items) {
        slab.first_item = item;
        for (int64_t row = 0; row < p->m && status == BP_OK; row += cut.slab_rows) {
            slab.first_row = row;
            slab.rows = bp__least(cut.slab_rows, p->m - row);
            status = add_multiply(job, &cut, &slab, bp__least(cut.slab_items, job->batch - item), program, plan);
        }
    }
    return status;
}
