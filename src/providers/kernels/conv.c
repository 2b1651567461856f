/* conv.c - offers and plans convolutions. */
#include "providers/kernels/elementwise.h"
#include "providers/kernels/gemm.h"

#include <math.h>
#include <string.h>

BP__KERNEL_SOURCE(conv);

enum { X, W, BIAS, Y }; /* operands; of CONV_INPUT, X is the operand Y of the problem, and Y its X */
enum { LANES = 32, MOST_ITEMS = 60000 };
#define SLAB ((int64_t)1 << 23) /* bytes of a copied part of the image, at least */

/* The structs of the same names in sources/conv.cl and gemm.cl. */
typedef struct convolution {
    int64_t channels, out_channels, groups;
    int64_t in[3], out[3], taps[3];
    int64_t stride[3], dilation[3], padding[3];
    int64_t divisor[3];
    int64_t x_batch, x_group, x_channel, x[3];
    int64_t w_group, w_out, w_in, w[3];
    int64_t y_batch, y_group, y_channel, y[3];
    int64_t first_column, columns, first_item;
    int64_t wide, panels, run;
    int32_t column_dims, reserved;
} convolution;

typedef struct finish {
    int64_t groups, bias;
    int64_t a_item, b_item;
    int32_t has_bias, relu;
} finish;

typedef enum algorithm { PANELS, TILES, DIRECT } algorithm;

typedef struct job {
    convolution conv;
    finish end;
    bp__kernel_gemm_job gemm;
    bp__kernel_gemm_cut cut;
    uint32_t activation;
    int64_t units;  /* direct */
    int64_t number; /* bytes of an element of a copy */
} job;

/* ---- The problem ---- */

static convolution convolution_of(const bp_conv_problem *p) {
    convolution c = {.channels = p->in_channels,
                     .out_channels = p->out_channels,
                     .groups = p->groups,
                     .divisor = {1, 1, 1},
                     .x_batch = p->x_batch,
                     .x_channel = p->x_channel,
                     .w_out = p->w_out,
                     .w_in = p->w_in,
                     .y_batch = p->y_batch,
                     .y_channel = p->y_channel};
    memcpy(c.in, p->in, sizeof c.in);
    memcpy(c.out, p->out, sizeof c.out);
    memcpy(c.stride, p->stride, sizeof c.stride);
    memcpy(c.dilation, p->dilation, sizeof c.dilation);
    memcpy(c.padding, p->padding, sizeof c.padding);
    memcpy(c.x, p->x, sizeof c.x);
    memcpy(c.y, p->y, sizeof c.y);
    return c;
}

/* The transpose: position i of the result uses position o of the operand for tap t if o stride = i - t dilation +
 * padding. */
static convolution transposed_of(const bp_conv_problem *p) {
    convolution c = {.channels = p->out_channels,
                     .out_channels = p->in_channels,
                     .groups = p->groups,
                     .x_batch = p->y_batch,
                     .x_channel = p->y_channel,
                     .w_out = p->w_in,
                     .w_in = p->w_out,
                     .y_batch = p->x_batch,
                     .y_channel = p->x_channel};
    for (int d = 0; d < 3; d++) {
        c.stride[d] = 1;
        c.dilation[d] = -p->dilation[d];
        c.padding[d] = -p->padding[d];
    }
    memcpy(c.in, p->out, sizeof c.in);
    memcpy(c.out, p->in, sizeof c.out);
    memcpy(c.divisor, p->stride, sizeof c.divisor);
    memcpy(c.x, p->y, sizeof c.x);
    memcpy(c.y, p->x, sizeof c.y);
    return c;
}

static convolution problem_of(const bp_problem *problem) {
    const bp_conv_problem *p = &problem->of.conv;
    convolution c = problem->op == BP_OP_CONV ? convolution_of(p) : transposed_of(p);
    memcpy(c.taps, p->kernel, sizeof c.taps);
    memcpy(c.w, p->w, sizeof c.w);
    c.x_group = c.x_channel * c.channels;
    c.w_group = p->w_out * p->out_channels;
    c.y_group = c.y_channel * c.out_channels;
    return c;
}

/* Finds the last dimensions of the positions that have one stride in Y: the columns of the product. */
static void set_columns(job *j) {
    bp__kernel_product *product = &j->gemm.product;
    convolution *c = &j->conv;
    product->n = 1;
    for (int d = 2; d >= 0; d--) {
        if (c->out[d] > 1 && product->n > 1 && c->y[d] != product->c_column * product->n) {
            return;
        }
        product->c_column = product->n == 1 ? c->y[d] : product->c_column;
        product->n *= c->out[d];
        c->column_dims++;
    }
}

static void add_dimension(job *j, int64_t size, int64_t stride) {
    bp__kernel_product *product = &j->gemm.product;
    product->size[product->batch_ndim] = size;
    product->c[product->batch_ndim++] = stride;
    j->gemm.batch *= size;
}

/* Returns false if a product of sizes is too large. */
static bool begin(job *j, const bp_problem *problem) {
    const bp_conv_problem *p = &problem->of.conv;
    memset(j, 0, sizeof *j);
    j->conv = problem_of(problem);
    const convolution *c = &j->conv;
    int64_t all = p->batch, depth = c->channels;
    bool fits = bp__kernel_multiply(&all, p->groups) && bp__kernel_multiply(&all, c->out_channels);
    for (int d = 0; d < 3; d++) {
        fits = fits && bp__kernel_multiply(&all, c->out[d]) && bp__kernel_multiply(&depth, c->taps[d]);
    }
    if (!fits || all > INT64_MAX / 64 || depth > INT64_MAX / 4096) {
        return false;
    }
    j->end = (finish){.groups = p->groups, .bias = p->bias, .has_bias = p->has_bias, .relu = p->relu};
    j->activation = p->activation;
    j->gemm = (bp__kernel_gemm_job){.batch = 1, .is_double = problem->dtype == BP_F64};
    for (int i = 0; i < 3; i++) {
        j->gemm.type[i] = problem->dtype;
    }
    j->gemm.real = j->gemm.number = j->gemm.is_double ? 8 : 4;
    j->gemm.real_name = j->gemm.number_name = j->gemm.is_double ? "double" : "float";
    /* The copies of W and X have neighbouring rows and columns next to each other. */
    j->gemm.product = (bp__kernel_product){.m = c->out_channels,
                                           .k = depth,
                                           .a_row = 1,
                                           .b_column = 1,
                                           .c_row = c->y_channel,
                                           .alpha = BP_FACTOR_ONE,
                                           .beta = BP_FACTOR_ZERO};
    set_columns(j);
    add_dimension(j, p->batch, c->y_batch);
    for (int d = 0; d < 3 - c->column_dims; d++) {
        add_dimension(j, c->out[d], c->y[d]);
    }
    add_dimension(j, p->groups, c->y_group);
    j->units = all / c->out[2] * bp__kernel_divide_up(c->out[2], LANES);
    return true;
}

/* ---- Slabs ---- */

static size_t whole_lines(double bytes) {
    return ((size_t)bytes + 63) / 64 * 64;
}

/* Sets the columns and items that are copied at once. False: the workspace would be too large. */
static bool cut_slabs(job *j, const bp_device_info *facts, algorithm which) {
    const bp__kernel_product *p = &j->gemm.product;
    bp__kernel_gemm_cut *cut = &j->cut;
    const double most = (double)facts->largest / 4, line = (double)p->k * (double)j->number;
    const double rows = which == PANELS ? (double)(bp__kernel_divide_up(p->m, cut->rows) * cut->rows) : (double)p->m;
    const double all = line * (double)p->n * (double)j->gemm.batch, tile = (double)cut->columns;
    /* A device with many units needs much work at once; a processor wants the copy to stay in its caches. */
    const double least = fmax((double)SLAB, bp__kernel_is_cpu(facts) ? 0 : (double)facts->memory / 64);
    const double wanted = all / 64 > least ? all / 64 : least, budget = wanted < most ? wanted : most;
    if (line * rows * (double)j->end.groups > most || line * tile > most) {
        return false;
    }
    const int64_t padded = bp__kernel_divide_up(p->n, cut->columns) * cut->columns;
    const int64_t columns = bp__most((int64_t)(budget / (line * tile)), 1) * cut->columns;
    cut->slab_columns = bp__least(columns, padded);
    const double item = line * (double)cut->slab_columns;
    cut->slab_items = bp__least(bp__most((int64_t)(budget / item), 1), bp__least(j->gemm.batch, MOST_ITEMS));
    cut->a_bytes = whole_lines(line * rows * (double)j->end.groups);
    cut->b_bytes = whole_lines(item * (double)cut->slab_items);
    return j->end.groups <= MOST_ITEMS;
}

static bool cut(job *j, const bp_device_info *facts, algorithm which) {
    if (which == DIRECT) {
        return true;
    }
    j->number = which == PANELS ? j->gemm.real : (int64_t)bp__kernel_bytes(j->gemm.type[0]);
    if (which == PANELS) {
        bp__kernel_panels_tile(&j->gemm, facts, &j->cut);
    } else if (!bp__kernel_tiles_cut(&j->gemm, facts, &j->cut) || j->gemm.product.m > j->cut.slab_rows) {
        return false;
    }
    return cut_slabs(j, facts, which);
}

/* ---- Offers ---- */

static double part_used(int64_t size, int64_t tile) {
    return (double)size / (double)(bp__kernel_divide_up(size, tile) * tile);
}

static void offer(const bp_device_info *facts, const job *j, algorithm which, bp_offers *offers) {
    static const char *const names[] = {"panels", "tiles", "direct"};
    const bp__kernel_product *p = &j->gemm.product;
    const bool cpu = bp__kernel_is_cpu(facts);
    const double columns = (double)p->n * (double)j->gemm.batch;
    const double flops = 2 * columns * (double)p->m * (double)p->k;
    const double copies = which == DIRECT ? 0 : columns * (double)p->k * 8;
    const double used = which == DIRECT ? 1 : part_used(p->m, j->cut.rows) * part_used(p->n, j->cut.columns);
    const double slowness = which == PANELS ? 0.6 : which == TILES && !cpu ? 1 : which == TILES ? 30 : 4;
    bp__kernel_offer(facts, names[which],
                     BP__KERNEL_REPRODUCIBLE |
                         (j->gemm.is_double ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32),
                     (double)j->gemm.real * columns * (double)(p->m + 1), slowness * flops / used + copies,
                     (which == DIRECT ? 1 : 3) + (j->activation != 0), j->cut.a_bytes + j->cut.b_bytes, offers, &which,
                     sizeof which);
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    (void)host;
    if (problem->dtype < BP_F16 || problem->dtype > BP_F64) {
        bp__kernel_refuse(offers, BP_REASON_DTYPE, "only f16, bf16, f32 and f64 are offered");
        return;
    }
    if (problem->dtype == BP_F64 && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    for (int which = PANELS; which <= DIRECT; which++) {
        job j;
        if (!begin(&j, problem)) {
            bp__kernel_refuse(offers, BP_REASON_SIZE, "a product of its sizes is too large");
            return;
        }
        if ((which != PANELS || bp__kernel_is_cpu(facts)) && cut(&j, facts, (algorithm)which)) {
            offer(facts, &j, (algorithm)which, offers);
        }
    }
}

/* ---- Plans ---- */

typedef struct planner {
    bp__kernel_device *device;
    bp__kernel_plan *plan;
    bp__kernel_program *program;
    job *job;
    algorithm which;
} planner;

/* Copies rows (of W) or columns (of X), `lines` for each of `items`. */
static bp_status add_copy(const planner *s, const char *kernel, int operand, size_t to, int64_t tile, int64_t lines,
                          int64_t items) {
    const bp_device_info *facts = s->device->facts;
    const bool cpu = bp__kernel_is_cpu(facts);
    convolution c = s->job->conv;
    const int64_t units = facts->units ? facts->units : 1;
    c.wide = s->which == PANELS ? tile : lines;
    c.panels = bp__kernel_divide_up(lines, c.wide);
    c.run = cpu ? tile : 1;
    const int64_t group = cpu ? 1 : 64, runs = bp__kernel_divide_up(c.panels * c.wide, c.run);
    const int64_t parts = cpu ? bp__kernel_divide_up(8 * units, runs * items) : c.channels;
    bp__kernel_step step = {.program = s->program,
                            .kernel = kernel,
                            .dimensions = 3,
                            .global = {(size_t)(bp__kernel_divide_up(runs, group) * group),
                                       (size_t)bp__least(bp__least(parts, c.channels), MOST_ITEMS), (size_t)items},
                            .local = {(size_t)group, 1, 1}};
    bp__kernel_operand(&step, operand, bp__kernel_bytes(s->job->gemm.type[0]));
    bp__kernel_workspace(&step, to, (size_t)s->job->number);
    bp__kernel_value(&step, &c, sizeof c);
    return bp__kernel_plan_add(s->plan, &step);
}

static bp_status add_multiply(const planner *s, int64_t items) {
    const job *j = s->job;
    bp__kernel_product slab = j->gemm.product;
    bp__kernel_panels_flags flags;
    bp__kernel_step step = {.program = s->program};
    finish end = j->end;
    slab.first_item = j->conv.first_item;
    slab.first_column = j->conv.first_column;
    slab.columns = j->conv.columns;
    slab.rows = slab.m;
    if (s->which == PANELS) {
        bp__kernel_panels_multiply(&step, &j->gemm, &j->cut, s->device->facts, &slab, items, Y, &flags);
    } else {
        slab.a_column = slab.m;
        slab.b_row = slab.columns;
        end.a_item = slab.m * slab.k;
        end.b_item = slab.columns * slab.k;
        bp__kernel_workspace(&step, 0, (size_t)j->number);
        bp__kernel_workspace(&step, j->cut.a_bytes, (size_t)j->number);
        bp__kernel_tiles_multiply(&step, &j->gemm, &j->cut, &slab, items, Y);
    }
    bp__kernel_operand(&step, BIAS, bp__kernel_bytes(j->gemm.type[0]));
    bp__kernel_value(&step, &end, sizeof end);
    return bp__kernel_plan_add(s->plan, &step);
}

static bp_status add_product(planner *s) {
    job *j = s->job;
    const bp__kernel_product *p = &j->gemm.product;
    bp_status status = add_copy(s, "copy_weights", W, 0, j->cut.rows, p->m, j->end.groups);
    for (int64_t item = 0; item < j->gemm.batch && status == BP_OK; item += j->cut.slab_items) {
        const int64_t items = bp__least(j->cut.slab_items, j->gemm.batch - item);
        j->conv.first_item = item;
        for (int64_t column = 0; column < p->n && status == BP_OK; column += j->cut.slab_columns) {
            j->conv.first_column = column;
            j->conv.columns = bp__least(j->cut.slab_columns, p->n - column);
            status = add_copy(s, "copy_image", X, j->cut.a_bytes, j->cut.columns, j->conv.columns, items);
            status = status == BP_OK ? add_multiply(s, items) : status;
        }
    }
    return status;
}

static bp_status add_direct(const planner *s) {
    job *j = s->job;
    const size_t element = bp__kernel_bytes(j->gemm.type[0]);
    bp__kernel_step step = {.program = s->program, .kernel = "convolve"};
    j->conv.columns = j->units;
    bp__kernel_spread(&step, s->device->facts, j->units, 20 + 10 * (double)j->gemm.product.k, &j->conv.run);
    bp__kernel_operand(&step, W, element);
    bp__kernel_operand(&step, X, element);
    bp__kernel_operand(&step, Y, element);
    bp__kernel_operand(&step, BIAS, element);
    bp__kernel_value(&step, &j->conv, sizeof j->conv);
    bp__kernel_value(&step, &j->end, sizeof j->end);
    return bp__kernel_plan_add(s->plan, &step);
}

static bp_status add_steps(planner *s) {
    bp__kernel_options options;
    bp__kernel_options_begin(&options, s->device);
    if (s->which == PANELS) {
        bp__kernel_panels_options(&options, &s->job->gemm, &s->job->cut);
    } else if (s->which == TILES) {
        bp__kernel_tiles_options(&options, &s->job->gemm, s->device->facts, &s->job->cut);
    } else {
        bp__kernel_gemm_options(&options, &s->job->gemm);
        bp__kernel_options_add(&options, " -DDIRECT -DLANES=%d", LANES);
    }
    const bp_status status = bp__kernel_program_get(s->device, bp__kernel_source_conv, options.text, &s->program);
    return status != BP_OK ? status : s->which == DIRECT ? add_direct(s) : add_product(s);
}

/* Functions other than relu have the bits of the operation on elements. */
static bp_status add_activation(const planner *s) {
    const convolution *c = &s->job->conv;
    const int64_t sizes[] = {s->job->gemm.product.size[0], c->groups * c->out_channels, c->out[0], c->out[1],
                             c->out[2]};
    const int64_t strides[] = {c->y_batch, c->y_channel, c->y[0], c->y[1], c->y[2]};
    bp__kernel_dims dims = {.ndim = 5, .operands = 2};
    memcpy(dims.size, sizes, sizeof sizes);
    memcpy(dims.stride[0], strides, sizeof strides);
    memcpy(dims.stride[1], strides, sizeof strides);
    bp__kernel_dims_simplify(&dims, 1);
    return bp__kernel_unary_step(s->device, s->plan, &dims, s->job->gemm.type[2], s->job->activation, Y);
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    job j;
    planner s = {.device = device, .job = &j, .which = *(const algorithm *)found};
    begin(&j, problem);
    cut(&j, device->facts, s.which);
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &s.plan);
    if (status != BP_OK) {
        return status;
    }
    status = add_steps(&s);
    if (status == BP_OK && j.activation) {
        status = add_activation(&s);
    }
    return bp__kernel_plan_finish(status, s.plan, prepared);
}

const bp__kernel_family bp__kernel_conv = {accept, plan};
