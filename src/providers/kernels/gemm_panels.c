/* gemm_panels.c - plans matrix products from panels of A and B in the workspace.
 *
 * Panels of any layout and type become the same contiguous numbers, so that one kernel serves all. C is computed in
 * slabs, whose panels fit into a workspace of limited size. */
#include "providers/kernels/gemm.h"

BP__KERNEL_SOURCE(gemm);

enum { ROWS = 6, VECTORS = 2 }; /* of a tile; its sums, a row of B and an element of A fill 16 vector registers */
#define SLAB ((int64_t)1 << 25) /* bytes of the panels of A, and of B, at least */

/* Returns how many tiles of `side` rows or columns with `depth` bytes for each fit into a slab. */
static int64_t slab_of(int64_t size, int64_t side, int64_t depth, int64_t budget) {
    const int64_t fitting = depth > 0 ? budget / depth / side * side : size;
    return bp__least(bp__most(fitting, side), bp__kernel_divide_up(bp__most(size, 1), side) * side);
}

void bp__kernel_panels_tile(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_gemm_cut *cut) {
    const int64_t bytes = facts->vector_bytes >= 16 ? bp__least(facts->vector_bytes, 64) : 16;
    *cut = (bp__kernel_gemm_cut){.rows = ROWS};
    cut->width = (int)bp__most(bytes / job->real, 2);
    cut->vectors = job->complex ? 1 : VECTORS;
    cut->columns = cut->width * cut->vectors;
}

bool bp__kernel_panels_cut(const bp__kernel_gemm_job *job, const bp_device_info *facts, bp__kernel_gemm_cut *cut) {
    const bp__kernel_product *p = &job->product;
    const double depth = (double)p->k * (double)job->number;
    const double larger = depth * (double)bp__most(p->m, p->n), most = (double)facts->largest / 4;
    if (depth * 64 > most) {
        return false;
    }
    bp__kernel_panels_tile(job, facts, cut);
    const double wanted = larger / 16 > (double)SLAB ? larger / 16 : (double)SLAB;
    const int64_t budget = (int64_t)(wanted < most ? wanted : most), line = p->k * job->number;
    cut->slab_rows = slab_of(p->m, cut->rows, line, budget);
    cut->slab_columns = slab_of(p->n, cut->columns, line, budget);
    const int64_t a = (cut->slab_rows * line + 63) / 64 * 64, b = (cut->slab_columns * line + 63) / 64 * 64;
    const int64_t one = bp__most((job->same_a ? 0 : a) + (job->same_b ? 0 : b), 1);
    cut->slab_items = bp__least(bp__most(2 * SLAB / one, 1), bp__least(bp__most(job->batch, 1), 1 << 16));
    cut->a_bytes = (size_t)(a * (job->same_a ? 1 : cut->slab_items));
    cut->b_bytes = (size_t)(b * (job->same_b ? 1 : cut->slab_items));
    return true;
}

/* ---- Steps ---- */

typedef struct panels {
    bp__kernel_device *device;
    const bp__kernel_gemm_job *job;
    bp__kernel_plan *plan;
    bp__kernel_program *program;
    bp__kernel_gemm_cut cut;
    bp__kernel_product slab;
    int64_t items;
} panels;

/* Copies the slab of A (operand 0) or of B (1). */
static bp_status add_pack(const panels *s, int operand) {
    const bool a = operand == 0;
    const int64_t lines = a ? s->slab.rows : s->slab.columns, tile = a ? s->cut.rows : s->cut.columns;
    bp__kernel_step step = {.program = s->program,
                            .kernel = a ? "pack_a" : "pack_b",
                            .dimensions = 3,
                            .global = {(size_t)bp__kernel_divide_up(lines, tile), 1, (size_t)s->items},
                            .local = {1, 1, 1}};
    if (a ? s->job->same_a : s->job->same_b) {
        step.global[2] = 1;
    }
    bp__kernel_operand(&step, operand, bp__kernel_bytes(s->job->type[operand]));
    bp__kernel_workspace(&step, a ? 0 : s->cut.a_bytes, (size_t)s->job->real);
    bp__kernel_value(&step, &s->slab, sizeof s->slab);
    return bp__kernel_plan_add(s->plan, &step);
}

/* A work item takes several tiles, if there are enough for all cores. */
static int32_t group_of(const bp__kernel_gemm_job *job, const bp__kernel_gemm_cut *cut, const bp_device_info *facts,
                        int64_t tiles, int64_t rows) {
    const double work = 2.0 * (double)(cut->rows * cut->columns * job->product.k);
    const int64_t wanted = (int64_t)(200000 / (work + 1)) + 1, units = facts->units;
    const int64_t most = tiles / (8 * bp__most(units, 1));
    return (int32_t)bp__most(bp__least(bp__least(wanted, most), rows), 1);
}

void bp__kernel_panels_multiply(bp__kernel_step *step, const bp__kernel_gemm_job *job, const bp__kernel_gemm_cut *cut,
                                const bp_device_info *facts, const bp__kernel_product *slab, int64_t items, int c,
                                bp__kernel_panels_flags *flags) {
    const int64_t rows = bp__kernel_divide_up(slab->rows, cut->rows),
                  columns = bp__kernel_divide_up(slab->columns, cut->columns);
    *flags = (bp__kernel_panels_flags){
        .group = group_of(job, cut, facts, rows * columns * items, rows), .same_a = job->same_a, .same_b = job->same_b};
    step->kernel = "multiply_panels";
    step->dimensions = 3;
    step->global[0] = (size_t)bp__kernel_divide_up(rows, flags->group);
    step->global[1] = (size_t)columns;
    step->global[2] = (size_t)items;
    step->local[0] = step->local[1] = step->local[2] = 1;
    bp__kernel_workspace(step, 0, (size_t)job->real);
    bp__kernel_workspace(step, cut->a_bytes, (size_t)job->real);
    bp__kernel_operand(step, c, bp__kernel_bytes(job->type[2]));
    bp__kernel_value(step, slab, sizeof *slab);
    bp__kernel_value(step, &flags->group, sizeof flags->group);
    bp__kernel_value(step, &flags->same_a, sizeof flags->same_a);
    bp__kernel_value(step, &flags->same_b, sizeof flags->same_b);
    bp__kernel_scalar(step, 0, (bp_dtype)(job->integer ? BP_F32 : job->type[2]));
    bp__kernel_scalar(step, 1, (bp_dtype)(job->integer ? BP_F32 : job->type[2]));
}

static bp_status add_multiply(const panels *s) {
    bp__kernel_step step = {.program = s->program};
    bp__kernel_panels_flags flags;
    bp__kernel_panels_multiply(&step, s->job, &s->cut, s->device->facts, &s->slab, s->items, 2, &flags);
    return bp__kernel_plan_add(s->plan, &step);
}

/* Computes the slabs of one range of items. A is copied once if all of its rows are one slab. */
static bp_status add_items(panels *s) {
    const bp__kernel_product *p = &s->job->product;
    bp_status status = BP_OK;
    for (int64_t column = 0; column < p->n && status == BP_OK; column += s->cut.slab_columns) {
        s->slab.first_column = column;
        s->slab.columns = bp__least(s->cut.slab_columns, p->n - column);
        status = add_pack(s, 1);
        for (int64_t row = 0; row < p->m && status == BP_OK; row += s->cut.slab_rows) {
            s->slab.first_row = row;
            s->slab.rows = bp__least(s->cut.slab_rows, p->m - row);
            status = column == 0 || p->m > s->cut.slab_rows ? add_pack(s, 0) : BP_OK;
            status = status == BP_OK ? add_multiply(s) : status;
        }
    }
    return status;
}

void bp__kernel_panels_options(bp__kernel_options *options, const bp__kernel_gemm_job *job,
                               const bp__kernel_gemm_cut *cut) {
    const bool stores = !job->complex && bp__kernel_bytes(job->type[2]) == (size_t)job->real; /* without conversion */
    bp__kernel_gemm_options(options, job);
    bp__kernel_options_add(options, " -DPANELS -DROWS=%d -DWIDTH=%d -DVECTORS=%d%s", ROWS, cut->width, cut->vectors,
                           stores ? " -DSTORES_VECTORS" : "");
}

bp_status bp__kernel_panels_steps(bp__kernel_device *device, const bp__kernel_gemm_job *job, bp__kernel_plan *plan) {
    panels s = {.device = device, .job = job, .plan = plan, .slab = job->product};
    bp__kernel_options options;
    bp__kernel_panels_cut(job, device->facts, &s.cut);
    bp__kernel_options_begin(&options, device);
    bp__kernel_panels_options(&options, job, &s.cut);
    bp_status status = bp__kernel_program_get(device, bp__kernel_source_gemm, options.text, &s.program);
    for (int64_t item = 0; item < job->batch && status == BP_OK; item += s.cut.slab_items) {
        s.slab.first_item = item;
        s.items = bp__least(s.cut.slab_items, job->batch - item);
        status = add_items(&s);
    }
    return status;
}
