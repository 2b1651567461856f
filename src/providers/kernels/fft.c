/* fft.c - offers and plans discrete Fourier transforms: one step for each dimension. */
#include "providers/kernels/fft_tables.h"

#include <stdlib.h>
#include <string.h>

BP__KERNEL_SOURCE(fft);

enum { IN, OUT, DIMS = 24, GROUP = 64 };
#define LANES_SLOT ((int64_t)1 << 22) /* most bytes of a group's arrays with several lanes */

enum { COMPLEX_ELEMENTS, REAL_ELEMENTS, HALF_SPECTRUM };

/* The struct of the same name in sources/fft.cl. */
typedef struct transform {
    int64_t rows, n, points;
    int64_t input, output;
    int64_t in_stride, out_stride;
    int32_t in_kind, out_kind;
    int32_t convolves, inverse;
    int32_t passes, ndim;
    int64_t size[DIMS], in[DIMS], out[DIMS], limit[DIMS];
    uint8_t radix[BP__KERNEL_FFT_PASSES];
} transform;

/* How a transform is computed. The steps of C2R before the last one write to the workspace, all other steps to OUT. */
typedef struct job {
    const bp_fft_problem *fft;
    const bp_device_info *facts;
    int64_t real;   /* bytes */
    int64_t middle; /* bytes of the workspace that are written between steps */
    int64_t slots;  /* bytes of the arrays of all groups, the most of all steps */
    int count;      /* steps */
} job;

/* One step: a dimension, and where it reads and writes. */
typedef struct step_of {
    transform t;
    int dim;
    bool first, last;
    int64_t lanes, groups;
} step_of;

/* ---- Sizes ---- */

static bool is_half(const bp_fft_problem *f, int d) {
    return d == f->ndim - 1 && (f->kind == BP_FFT_C2R || (f->kind == BP_FFT_R2C && !f->full_spectrum));
}

/* Elements of a dimension on the complex side. */
static int64_t extent_of(const bp_fft_problem *f, int d) {
    return is_half(f, d) ? f->n[d] / 2 + 1 : f->n[d];
}

/* Elements of a dimension before the step of dimension `dim`: of R2C the last dimension is transformed first. */
static int64_t extent_at(const bp_fft_problem *f, int d, bool first) {
    return first && f->kind == BP_FFT_R2C ? f->n[d] : extent_of(f, d);
}

/* The dimension of step `i`: the last one is the first of R2C and the last of C2R. There is at least one step. */
static int dim_of(const bp_fft_problem *f, int i) {
    return f->kind == BP_FFT_C2R ? i : f->ndim - 1 - i;
}

/* The stride of a dimension between steps. */
static int64_t middle_stride(const bp_fft_problem *f, int d) {
    int64_t stride = 1;
    if (f->kind != BP_FFT_C2R) {
        return f->out[d];
    }
    for (int e = f->ndim - 1; e > d; e--) {
        stride *= extent_of(f, e);
    }
    return stride;
}

static int64_t middle_batch_stride(const bp_fft_problem *f, int b) {
    int64_t stride = f->kind == BP_FFT_C2R && f->ndim > 0 ? middle_stride(f, 0) * extent_of(f, 0) : 1;
    if (f->kind != BP_FFT_C2R) {
        return f->batch_out[b];
    }
    for (int e = f->batch_ndim - 1; e > b; e--) {
        stride *= f->batch_shape[e];
    }
    return stride;
}

/* ---- Steps ---- */

/* Adds a dimension of the rows, sorted by decreasing stride of the input, so that neighbouring rows are close. */
static bool add_rows(transform *t, int64_t size, int64_t limit, int64_t in, int64_t out) {
    int at = t->ndim;
    if (size == 1 && limit > 0) {
        return true;
    }
    if (t->ndim == DIMS || !bp__kernel_multiply(&t->rows, size)) {
        return false;
    }
    for (; at > 0 && llabs(t->in[at - 1]) < llabs(in); at--) {
        t->size[at] = t->size[at - 1];
        t->limit[at] = t->limit[at - 1];
        t->in[at] = t->in[at - 1];
        t->out[at] = t->out[at - 1];
    }
    t->size[at] = size;
    t->limit[at] = limit;
    t->in[at] = in;
    t->out[at] = out;
    t->ndim++;
    return true;
}

static bool set_rows(const job *j, step_of *s) {
    const bp_fft_problem *f = j->fft;
    bool fits = true;
    s->t.rows = 1;
    for (int b = 0; b < f->batch_ndim && fits; b++) {
        const int64_t middle = middle_batch_stride(f, b);
        fits = add_rows(&s->t, f->batch_shape[b], f->batch_shape[b], s->first ? f->batch_in[b] : middle,
                        s->last ? f->batch_out[b] : middle);
    }
    for (int d = 0; d < f->ndim && fits; d++) {
        if (d != s->dim) {
            const int64_t size = extent_at(f, d, s->first), middle = middle_stride(f, d);
            fits = add_rows(&s->t, size, s->first ? bp__least(f->input_size[d], size) : size,
                            s->first ? f->in[d] : middle, s->last ? f->out[d] : middle);
        }
    }
    return fits;
}

static void set_row(const job *j, step_of *s) {
    const bp_fft_problem *f = j->fft;
    const int d = s->dim;
    transform *t = &s->t;
    if (f->ndim == 0) { /* a scaled copy */
        t->n = t->input = t->output = 1;
        return;
    }
    const bool ends = d == f->ndim - 1;
    const int64_t needed = f->kind == BP_FFT_C2R ? extent_of(f, d) : f->n[d];
    t->n = f->n[d];
    t->input = s->first ? bp__least(f->input_size[d], needed) : needed;
    t->output = f->kind == BP_FFT_C2R ? t->n : extent_of(f, d);
    t->in_stride = s->first ? f->in[d] : middle_stride(f, d);
    t->out_stride = s->last ? f->out[d] : middle_stride(f, d);
    t->in_kind = !ends || f->kind == BP_FFT_C2C ? COMPLEX_ELEMENTS
                 : f->kind == BP_FFT_R2C        ? REAL_ELEMENTS
                                                : HALF_SPECTRUM;
    t->out_kind = ends && f->kind == BP_FFT_C2R ? REAL_ELEMENTS : COMPLEX_ELEMENTS;
}

/* Sets the lanes and the number of groups; each has two arrays in the workspace. */
static void divide(const job *j, step_of *s) {
    const int64_t units = j->facts->units ? j->facts->units : 1, most = (int64_t)(j->facts->largest / 4);
    const int64_t bytes = bp__least(bp__most(j->facts->vector_bytes, 16), 64);
    const int64_t arrays = s->t.points * 4 * j->real;
    const int64_t lanes = bytes / j->real;
    const bool several = bp__kernel_is_cpu(j->facts) && 2 * s->t.rows >= lanes && arrays <= LANES_SLOT / lanes;
    s->lanes = several ? lanes : 1;
    s->groups = bp__kernel_divide_up(s->t.rows, s->lanes);
    s->groups = bp__least(s->groups, (bp__kernel_is_cpu(j->facts) ? 4 : 32) * units);
    s->groups = bp__most(bp__least(s->groups, most / (arrays * s->lanes)), 1);
}

/* Returns false if there are too many dimensions, or if a step needs too much memory. */
static bool make_step(const job *j, int i, step_of *s) {
    const bp_fft_problem *f = j->fft;
    memset(s, 0, sizeof *s);
    s->dim = f->ndim > 0 ? dim_of(f, i) : 0;
    s->first = i == 0;
    s->last = i == j->count - 1;
    s->t.inverse = f->inverse; /* `conjugate` says the same of R2C and C2R in their other direction */
    set_row(j, s);
    s->t.points = bp__kernel_fft_points(s->t.n);
    s->t.convolves = s->t.points != s->t.n;
    s->t.passes = bp__kernel_fft_passes(s->t.points, s->t.radix);
    if (s->t.points == 0 || !set_rows(j, s) ||
        (double)s->t.points * 4 * (double)j->real > (double)j->facts->largest / 4) {
        return false;
    }
    divide(j, s);
    return true;
}

static bool begin(job *j, const bp_problem *problem, const bp_device_info *facts) {
    const bp_fft_problem *f = &problem->of.fft;
    step_of s;
    bool fits = true;
    *j = (job){.fft = f, .facts = facts, .real = problem->dtype == BP_C128 ? 8 : 4};
    j->count = f->ndim > 0 ? f->ndim : 1;
    if (f->kind == BP_FFT_C2R && f->ndim > 1) {
        int64_t elements = 2 * j->real;
        for (int b = 0; b < f->batch_ndim; b++) {
            fits = fits && bp__kernel_multiply(&elements, f->batch_shape[b]);
        }
        for (int d = 0; d < f->ndim; d++) {
            fits = fits && bp__kernel_multiply(&elements, extent_of(f, d));
        }
        j->middle = elements / 64 * 64 + 64;
    }
    for (int i = 0; i < j->count && fits; i++) {
        fits = make_step(j, i, &s);
        j->slots = fits ? bp__most(j->slots, s.groups * s.lanes * s.t.points * 4 * j->real) : 0;
    }
    return fits && (double)j->middle + (double)j->slots < (double)facts->largest;
}

/* ---- Offers ---- */

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    const bp_fft_problem *f = &problem->of.fft;
    double flops = 0, bytes = 0;
    bool convolves = false;
    job j = {.count = 0};
    (void)host;
    if (problem->dtype == BP_C128 && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    if (f->batch > 0 && !begin(&j, problem, facts)) {
        bp__kernel_refuse(offers, BP_REASON_SIZE,
                          "more than 24 dimensions are left, or the device has too little memory");
        return;
    }
    for (int i = 0; i < j.count; i++) {
        step_of s;
        make_step(&j, i, &s);
        const double points = (double)s.t.rows * (double)s.t.points;
        flops += points * (10 + 20.0 * s.t.passes) * (s.t.convolves ? 2 : 1) * (s.lanes > 1 ? 1 : 8);
        bytes += points * 4 * (double)j.real;
        convolves = convolves || s.t.convolves;
    }
    bp__kernel_offer(facts, convolves ? "bluestein" : "stockham",
                     BP__KERNEL_REPRODUCIBLE |
                         (problem->dtype == BP_C128 ? BP_PROPERTY_ACCUMULATES_F64 : BP_PROPERTY_ACCUMULATES_F32),
                     bytes, flops, j.count + 1, (size_t)(j.slots + j.middle), offers, NULL, 0);
}

/* ---- Plans ---- */

static bp_status add_step(bp__kernel_device *device, const job *j, int i, bp__kernel_plan *plan) {
    step_of s;
    bp__kernel_options options;
    bp__kernel_step step = {.kernel = "transform_rows", .dimensions = 1};
    size_t size;
    void *table;
    make_step(j, i, &s);
    const double scale = s.last ? j->fft->scale : 1;
    const float narrow = (float)scale;
    const int group = bp__kernel_is_cpu(j->facts) ? 1 : GROUP;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DREAL=%s -DLANES=%d -DGROUP=%d", j->real == 8 ? "double" : "float",
                           (int)s.lanes, group);
    bp_status status = bp__kernel_program_get(device, bp__kernel_source_fft, options.text, &step.program);
    status =
        status == BP_OK ? bp__kernel_fft_table(device->host, s.t.n, s.t.points, j->real == 8, &table, &size) : status;
    if (status != BP_OK) {
        return status;
    }
    step.global[0] = (size_t)(s.groups * group);
    step.local[0] = (size_t)group;
    if (s.first) {
        bp__kernel_operand(&step, IN, (size_t)j->real);
    } else if (j->middle) {
        bp__kernel_workspace(&step, (size_t)j->slots, (size_t)j->real);
    } else {
        bp__kernel_operand(&step, OUT, (size_t)j->real);
    }
    if (s.last || !j->middle) {
        bp__kernel_operand(&step, OUT, (size_t)j->real);
    } else {
        bp__kernel_workspace(&step, (size_t)j->slots, (size_t)j->real);
    }
    bp__kernel_workspace(&step, 0, (size_t)j->real);
    bp__kernel_constant(&step, table, size);
    bp__kernel_value(&step, &s.t, sizeof s.t);
    bp__kernel_value(&step, j->real == 8 ? (const void *)&scale : &narrow, (size_t)j->real);
    status = bp__kernel_plan_add(plan, &step);
    device->host->release(table);
    return status;
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    job j;
    bp__kernel_plan *steps;
    (void)found;
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (problem->of.fft.batch > 0) {
        begin(&j, problem, device->facts);
        for (int i = 0; i < j.count && status == BP_OK; i++) {
            status = add_step(device, &j, i, steps);
        }
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_fft = {accept, plan};
