/* fourier.c - runs convolutions by Fourier transforms.
 *
 * The weight is transformed once for a call, or beforehand, and shared by all threads. With one channel in a group,
 * threads take units: the planes of all lanes, which are transformed, multiplied and transformed back in the thread's
 * memory. Otherwise all threads share three steps for each block of tiles: transforms, products of matrices for some
 * frequencies, and transforms back. Each result is the same whatever the other lanes and columns are. */
#include "fourier.h"

#include <stdatomic.h>
#include <string.h>

enum { FREQUENCIES = 16 }; /* that one thread takes at once */

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem;
    bp__fourier_set set;
    bp__fourier_cut cut;
    bp__fourier_tables tables;
    int threads;
    int64_t matrix;               /* MATRICES: reals of a weight for one frequency */
    int64_t panels, panels_group; /* MATRICES: reals of the tiles' spectra for one frequency, and a group */
    int64_t sums, sums_group;     /* MATRICES: reals of the products, likewise */
    size_t weight_bytes, shared_bytes, tile_bytes, thread_bytes;
} prepared;

typedef struct call {
    const prepared *plan;
    const char *image, *weight, *bias;
    char *result, *packed, *panels, *sums, *scratch;
    int64_t first, tiles; /* MATRICES: of the block */
    int64_t units;
    _Atomic int64_t next;
    bp__stop stop;
} call;

static void share(call *w, bp_task task, int64_t units) {
    const prepared *plan = w->plan;
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    w->units = units;
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, task, w);
    } else {
        task(w, 0);
    }
}

/* Takes a unit. Returns false if none is left, or the call is stopped. */
static bool take_unit(call *w, int64_t *unit) {
    *unit = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
    return *unit < w->units && !bp__stops(&w->stop);
}

static int64_t parts(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit;
}

static int64_t real(const prepared *plan) {
    return bp__fourier_real(&plan->cut);
}

static int64_t lanes(const prepared *plan) {
    return bp__fourier_lanes(&plan->set);
}

/* Memory of one thread: two tiles, and the memory of the transforms. */
static char *tile_of(const call *w, int task, int tile) {
    return w->scratch + (size_t)task * w->plan->thread_bytes + (size_t)tile * w->plan->tile_bytes;
}

static char *work_of(const call *w, int task) {
    return tile_of(w, task, 2);
}

static void forward(const prepared *plan, char *tile, const bp__fourier_box *data, char *work) {
    bp__fourier_forward(&plan->cut, &plan->set, &plan->tables, tile, data, work);
}

/* ---- The weight ---- */

static bp__fourier_box whole(const prepared *plan) {
    const bp__fourier_axis *axis = plan->cut.axis;
    return (bp__fourier_box){{0}, {axis[0].n, axis[1].n, axis[2].n}};
}

static int64_t kernel_at(const prepared *plan, int64_t group, int64_t row, int64_t channel) {
    const bp_conv_problem *c = &plan->problem.of.conv;
    return group * c->out_channels * c->w_out + row * plan->cut.job.weight_row + channel * plan->cut.job.weight_channel;
}

/* Returns the vectors of the panel with this row. Panels are full but for the last one. */
static int64_t panel_vectors(const prepared *plan, int64_t row) {
    const int64_t panel = plan->set.products->p_panel, left = plan->cut.job.rows - row / panel * panel;
    return parts(bp__least(left, panel), lanes(plan));
}

/* Puts a channel of some rows, one in each lane, into the panels of all frequencies. */
static void pack_rows(const prepared *plan, const char *tile, int64_t row, int64_t channel, char *group) {
    const bp__native_kernels *products = plan->set.products;
    const int64_t k0 = channel / products->k_block * products->k_block, vectors = panel_vectors(plan, row);
    const int64_t k = bp__least(products->k_block, plan->cut.job.channels - k0);
    const int64_t all = bp__conv_round_up(plan->cut.job.rows, lanes(plan)),
                  start = row / products->p_panel * products->p_panel;
    const int64_t vector = (row - start) / lanes(plan);
    const int64_t at = 2 * (all * k0 + start * k) + ((channel - k0) * 2 * vectors + vector) * lanes(plan);
    plan->set.own->spread(plan->cut.frequencies, group + at * real(plan), plan->matrix * real(plan),
                          vectors * lanes(plan) * real(plan), tile);
}

/* Reads the kernels of one unit into a tile: some rows of a channel, groups, or kernels in order. */
static void read_kernels(const call *w, int64_t unit, char *tile) {
    const prepared *plan = w->plan;
    const int64_t rows = plan->cut.job.rows, channels = plan->cut.job.channels, most = lanes(plan);
    const int *order = plan->set.transforms[0]->order;
    int lane[BP__FFT_LANES_MOST], count = 0;
    int64_t at[BP__FFT_LANES_MOST];
    for (int i = 0; i < most; i++) {
        int64_t group, row, channel = 0;
        if (plan->cut.way == BP__FOURIER_MATRICES) {
            const int64_t blocks = parts(rows, most);
            channel = unit % channels;
            row = unit / channels % blocks * most + i;
            group = unit / channels / blocks;
        } else if (plan->cut.way == BP__FOURIER_GROUPS) {
            row = unit % rows;
            group = unit / rows * most + order[i];
        } else {
            row = (unit * most + order[i]) % rows;
            group = (unit * most + order[i]) / rows;
        }
        if (row < rows && group < plan->cut.groups) {
            lane[count] = i;
            at[count++] = kernel_at(plan, group, row, channel);
        }
    }
    bp__fourier_read_weight(&plan->cut, &plan->set, count, lane, at, w->weight, tile);
}

/* Stores transformed kernels in order, as pairs. */
static void pack_pairs(const call *w, int64_t first, char *tile) {
    const prepared *plan = w->plan;
    const int64_t kernels = plan->cut.groups * plan->cut.job.rows;
    int64_t offset[BP__FFT_LANES_MOST];
    for (int i = 0; i < lanes(plan); i++) {
        offset[i] = 2 * (first + i) * plan->cut.frequencies;
    }
    const bp__fft_lines lines = {w->packed, offset, (int)bp__least(lanes(plan), kernels - first), 2, 1, false};
    plan->set.transforms[0]->scatter(tile, &lines, false, plan->cut.frequencies);
}

static int64_t weight_units(const prepared *plan) {
    const int64_t rows = plan->cut.job.rows, groups = plan->cut.groups;
    return plan->cut.way == BP__FOURIER_MATRICES ? groups * parts(rows, lanes(plan)) * plan->cut.job.channels
           : plan->cut.way == BP__FOURIER_GROUPS ? parts(groups, lanes(plan)) * rows
                                                 : parts(groups * rows, lanes(plan));
}

static void pack_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    const bp__fourier_box all = whole(plan);
    int64_t unit;
    while (take_unit(w, &unit)) {
        const bool in_place = plan->cut.way == BP__FOURIER_GROUPS;
        char *tile = in_place ? w->packed + (size_t)unit * plan->tile_bytes : tile_of(w, task, 0);
        read_kernels(w, unit, tile);
        forward(plan, tile, &all, work_of(w, task));
        if (plan->cut.way == BP__FOURIER_MATRICES) {
            const int64_t channels = plan->cut.job.channels, blocks = parts(plan->cut.job.rows, lanes(plan));
            char *group = w->packed + unit / channels / blocks * plan->matrix * plan->cut.frequencies * real(plan);
            pack_rows(plan, tile, unit / channels % blocks * lanes(plan), unit % channels, group);
        } else if (!in_place) {
            pack_pairs(w, unit * lanes(plan), tile);
        }
    }
}

static bp_status pack(const bp_prepared *self, int operand, const bp_operand *source, bp_packed **result) {
    const prepared *plan = (const prepared *)self;
    bp__conv_packed *packed = NULL;
    (void)operand; /* dispatch only passes operands in bp_verdict.packs */
    char *scratch = plan->host->allocate((size_t)plan->threads * plan->thread_bytes);
    if (!scratch) {
        return plan->host->fail(BP_E_NO_MEMORY, "no memory for the transforms of a weight");
    }
    bp_status status = bp__conv_packed_new(plan->host, plan->weight_bytes, &packed);
    if (status == BP_OK) {
        call w = {.plan = plan,
                  .weight = bp_operand_address(source),
                  .packed = packed->panels,
                  .scratch = scratch,
                  .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
        share(&w, pack_units, weight_units(plan));
        status = bp__stop_status(&w.stop);
        *result = &packed->base; /* the caller also destroys it after a failure */
    }
    plan->host->release(scratch);
    return status;
}

/* ---- Planes ---- */

static void add_image(const prepared *plan, bp__fourier_planes *planes, int64_t tile, int64_t group, int64_t channel) {
    bp__fourier_add_image(&plan->cut, planes, tile,
                          (group * plan->cut.job.channels + channel) * plan->cut.job.image_channel);
}

static void add_result(const prepared *plan, bp__fourier_planes *planes, int64_t tile, int64_t group, int64_t row) {
    const int64_t channel = group * plan->cut.job.rows + row;
    bp__fourier_add_result(&plan->cut, planes, tile, channel, channel * plan->cut.job.result_channel);
}

/* Transforms spectra back, and writes the results. */
static void write_planes(const call *w, const bp__fourier_planes *planes, char *tile, char *work) {
    const prepared *plan = w->plan;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const bp__fourier_box needed = bp__fourier_needed(planes);
    bp__fourier_inverse(&plan->cut, &plan->set, &plan->tables, tile, &needed, work);
    bp__fourier_write(&plan->cut, &plan->set, planes, w->bias, c->bias, c->relu != 0, tile, w->result);
}

/* ---- One channel in a group ---- */

/* The tile and group in lane i of a unit. Returns false if the lane is empty. */
static bool find_plane(const prepared *plan, int64_t unit, int i, int64_t *tile, int64_t *group) {
    const int64_t tiles = plan->cut.tiles * plan->cut.job.batch;
    if (plan->cut.way == BP__FOURIER_GROUPS) {
        const int64_t blocks = parts(plan->cut.groups, lanes(plan));
        *tile = unit / blocks;
        *group = unit % blocks * lanes(plan) + i;
    } else {
        const int64_t blocks = parts(tiles, lanes(plan));
        *tile = unit % blocks * lanes(plan) + i;
        *group = unit / blocks;
    }
    return *tile < tiles && *group < plan->cut.groups;
}

static void multiply_tile(const call *w, int64_t unit, int64_t row, const char *x, char *y) {
    const prepared *plan = w->plan;
    const int64_t rows = plan->cut.job.rows;
    if (plan->cut.way == BP__FOURIER_GROUPS) {
        const int64_t block = unit % parts(plan->cut.groups, lanes(plan));
        plan->set.own->multiply(plan->cut.frequencies, y, x,
                                w->packed + (size_t)(block * rows + row) * plan->tile_bytes);
    } else {
        const int64_t group = unit / parts(plan->cut.tiles * plan->cut.job.batch, lanes(plan));
        plan->set.own->multiply_pairs(plan->cut.frequencies, y, x,
                                      w->packed + (group * rows + row) * plan->cut.frequencies * 2 * real(plan));
    }
}

static void compute_unit(const call *w, int64_t unit, int task) {
    const prepared *plan = w->plan;
    char *x = tile_of(w, task, 0), *y = tile_of(w, task, 1), *work = work_of(w, task);
    bp__fourier_planes planes = {.count = 0};
    int64_t tile, group;
    for (int i = 0; i < lanes(plan) && find_plane(plan, unit, i, &tile, &group); i++) {
        add_image(plan, &planes, tile, group, 0);
    }
    const bp__fourier_box data = bp__fourier_read(&plan->cut, &plan->set, &planes, w->image, x);
    forward(plan, x, &data, work);
    for (int64_t row = 0; row < plan->cut.job.rows; row++) {
        planes.count = 0;
        for (int i = 0; i < lanes(plan) && find_plane(plan, unit, i, &tile, &group); i++) {
            add_result(plan, &planes, tile, group, row);
        }
        multiply_tile(w, unit, row, x, y);
        write_planes(w, &planes, y, work);
    }
}

static void compute_units(void *context, int task) {
    call *w = context;
    int64_t unit;
    while (take_unit(w, &unit)) {
        compute_unit(w, unit, task);
    }
}

static int64_t compute_count(const prepared *plan) {
    const int64_t tiles = plan->cut.tiles * plan->cut.job.batch;
    return plan->cut.way == BP__FOURIER_GROUPS ? tiles * parts(plan->cut.groups, lanes(plan))
                                               : parts(tiles, lanes(plan)) * plan->cut.groups;
}

/* ---- Products of matrices ---- */

/* Returns where the spectrum of a tile's channel begins, in reals from the spectrum of its group. Columns of panels are
 * tiles.
 */
static int64_t panel_at(const call *w, int64_t tile, int64_t channel) {
    const prepared *plan = w->plan;
    const int64_t block = plan->set.products->k_block, panel = plan->set.products->q_panel;
    const int64_t k0 = channel / block * block, k = bp__least(block, plan->cut.job.channels - k0);
    return 2 *
           (bp__conv_round_up(w->tiles, panel) * k0 + tile / panel * panel * k + (channel - k0) * panel + tile % panel);
}

/* Transforms tiles of one group until none are left. Lanes are channels of one tile after another. */
static void transform_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    const int64_t channels = plan->cut.job.channels, blocks = parts(w->tiles * channels, lanes(plan));
    char *tile = tile_of(w, task, 0);
    int64_t unit;
    while (take_unit(w, &unit)) {
        const int64_t group = unit / blocks, first = unit % blocks * lanes(plan);
        int64_t offset[BP__FFT_LANES_MOST];
        bp__fourier_planes planes = {.count = 0};
        for (int64_t i = first; i < first + lanes(plan) && i < w->tiles * channels; i++) {
            offset[planes.count] = panel_at(w, i / channels, i % channels);
            add_image(plan, &planes, w->first + i / channels, group, i % channels);
        }
        const bp__fourier_box data = bp__fourier_read(&plan->cut, &plan->set, &planes, w->image, tile);
        forward(plan, tile, &data, work_of(w, task));
        const bp__fft_lines lines = {
            w->panels + group * plan->panels_group * real(plan), offset, planes.count, plan->panels, 1, false};
        plan->set.transforms[0]->scatter(tile, &lines, false, plan->cut.frequencies);
    }
}

static void multiply_frequency(const call *w, int64_t group, int64_t f) {
    const prepared *plan = w->plan;
    const bp__native_kernels *products = plan->set.products;
    const int64_t rows = plan->cut.job.rows, across = bp__conv_round_up(rows, lanes(plan));
    const int64_t columns = bp__conv_round_up(w->tiles, products->q_panel);
    const char *weight = w->packed + (group * plan->cut.frequencies + f) * plan->matrix * real(plan);
    const char *image = w->panels + (group * plan->panels_group + f * plan->panels) * real(plan);
    bp__native_view view = {.c = w->sums + (group * plan->sums_group + f * plan->sums) * real(plan),
                            .p = rows,
                            .q = w->tiles,
                            .c_p = 1,
                            .c_q = across,
                            .alpha = {1, 0}};
    for (int64_t k0 = 0; k0 < plan->cut.job.channels; k0 += products->k_block) {
        view.k = bp__least(products->k_block, plan->cut.job.channels - k0);
        view.v = weight + 2 * across * k0 * real(plan);
        view.s = image + 2 * columns * k0 * real(plan);
        view.beta[0] = k0 > 0;
        products->block(&view);
    }
}

static void multiply_units(void *context, int task) {
    call *w = context;
    const int64_t all = w->plan->cut.frequencies, blocks = parts(all, FREQUENCIES);
    int64_t unit;
    (void)task;
    while (take_unit(w, &unit)) {
        const int64_t first = unit % blocks * FREQUENCIES;
        for (int64_t f = first; f < bp__least(all, first + FREQUENCIES); f++) {
            multiply_frequency(w, unit / blocks, f);
        }
    }
}

/* Transforms products back until none are left. Lanes are rows of one tile. */
static void result_units(void *context, int task) {
    call *w = context;
    const prepared *plan = w->plan;
    const int64_t rows = plan->cut.job.rows, blocks = parts(rows, lanes(plan));
    char *tile = tile_of(w, task, 0);
    const bp__fft_view to = {.at = tile, .step = 2 * lanes(plan), .part = lanes(plan), .layout = BP__FFT_LANES};
    int64_t unit;
    while (take_unit(w, &unit)) {
        const int64_t row = unit % blocks * lanes(plan), column = unit / blocks % w->tiles;
        const int64_t group = unit / blocks / w->tiles;
        const int64_t at = group * plan->sums_group + 2 * (column * bp__conv_round_up(rows, lanes(plan)) + row);
        const bp__fft_view from = {.at = w->sums + at * real(plan), .step = plan->sums, .layout = BP__FFT_PAIRS};
        bp__fourier_planes planes = {.count = 0};
        for (int64_t i = row; i < bp__least(rows, row + lanes(plan)); i++) {
            add_result(plan, &planes, w->first + column, group, i);
        }
        bp__fourier_copy(&plan->set, &from, &to, plan->cut.frequencies);
        write_planes(w, &planes, tile, work_of(w, task));
    }
}

static void compute_blocks(call *w) {
    const prepared *plan = w->plan;
    const int64_t tiles = plan->cut.tiles * plan->cut.job.batch, groups = plan->cut.groups, rows = plan->cut.job.rows;
    /* Rows and columns that pad vectors and panels are read, but change nothing. */
    memset(w->panels, 0, plan->shared_bytes);
    for (w->first = 0; w->first < tiles && !bp__stopped(&w->stop); w->first += plan->cut.block) {
        w->tiles = bp__least(plan->cut.block, tiles - w->first);
        share(w, transform_units, groups * parts(w->tiles * plan->cut.job.channels, lanes(plan)));
        if (!bp__stopped(&w->stop)) {
            share(w, multiply_units, groups * parts(plan->cut.frequencies, FREQUENCIES));
        }
        if (!bp__stopped(&w->stop)) {
            share(w, result_units, groups * w->tiles * parts(rows, lanes(plan)));
        }
    }
}

/* ---- Calls ---- */

static bp_status run_fourier(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    enum { IMAGE, WEIGHT, BIAS, RESULT };
    const prepared *plan = (const prepared *)self;
    const bp__conv_packed *given = exec->packed ? (const bp__conv_packed *)exec->packed[WEIGHT] : NULL;
    char *workspace = bp_operand_address(&exec->workspace), *shared = workspace + plan->weight_bytes;
    call w = {.plan = plan,
              .image = bp_operand_address(&operands[IMAGE]),
              .weight = bp_operand_address(&operands[WEIGHT]),
              .bias = plan->problem.of.conv.has_bias ? bp_operand_address(&operands[BIAS]) : NULL,
              .result = bp_operand_address(&operands[RESULT]),
              .packed = given ? given->panels : workspace,
              .panels = shared,
              .sums = shared + (size_t)(plan->panels_group * plan->cut.groups * real(plan)),
              .scratch = shared + plan->shared_bytes,
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    if (!given) {
        share(&w, pack_units, weight_units(plan));
    }
    if (!bp__stopped(&w.stop)) {
        if (plan->cut.way == BP__FOURIER_MATRICES) {
            compute_blocks(&w);
        } else {
            share(&w, compute_units, compute_count(plan));
        }
    }
    return bp__stop_status(&w.stop);
}

static void destroy(bp_prepared *self) {
    prepared *plan = (prepared *)self;
    bp__fourier_tables_free(plan->host, &plan->tables);
    plan->host->release(plan);
}

/* ---- Plans ---- */

/* Computes the sizes of memory. bp__fourier_cut_for() has checked that they are far from overflow. */
static void size_memory(prepared *plan) {
    const bp__fourier_cut *cut = &plan->cut;
    const int64_t channels = cut->job.channels, rows = bp__conv_round_up(cut->job.rows, lanes(plan));
    const int64_t line = 64 / real(plan), f = cut->frequencies;
    plan->tile_bytes = (size_t)bp__conv_round_up(f * bp__fourier_element(cut, &plan->set), 64);
    plan->thread_bytes =
        2 * plan->tile_bytes + 2 * (size_t)(bp__fourier_work(cut) * bp__fourier_element(cut, &plan->set));
    plan->thread_bytes = (plan->thread_bytes + 63) / 64 * 64;
    if (cut->way == BP__FOURIER_MATRICES) {
        /* Odd numbers of cache lines, so that the spectra of a plane are not in the same set of a cache. */
        plan->panels =
            (parts(2 * bp__conv_round_up(cut->block, plan->set.products->q_panel) * channels, line) | 1) * line;
        plan->sums = (parts(2 * cut->block * rows, line) | 1) * line;
        plan->matrix = (parts(2 * rows * channels, line) | 1) * line;
        plan->panels_group = plan->panels * f;
        plan->sums_group = plan->sums * f;
        plan->shared_bytes = (size_t)((plan->panels_group + plan->sums_group) * cut->groups * real(plan));
        plan->weight_bytes = (size_t)(plan->matrix * f * cut->groups * real(plan));
    } else if (cut->way == BP__FOURIER_GROUPS) {
        plan->weight_bytes = plan->tile_bytes * (size_t)(parts(cut->groups, lanes(plan)) * cut->job.rows);
    } else {
        plan->weight_bytes = (size_t)bp__conv_round_up(cut->groups * cut->job.rows * f * 2 * real(plan), 64);
    }
    plan->base.workspace = plan->weight_bytes + plan->shared_bytes + (size_t)plan->threads * plan->thread_bytes;
}

bp_status bp__fourier_plan(const bp_host *host, const bp_problem *problem, const bp__fourier_set *set,
                           const bp__fourier_cut *cut, int threads, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base =
        (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_fourier, .destroy = destroy, .pack = pack};
    plan->host = host;
    plan->problem = *problem;
    plan->set = *set;
    plan->cut = *cut;
    plan->threads = threads;
    size_memory(plan);
    const bp_status status = bp__fourier_tables_make(host, cut, set, &plan->tables);
    if (status != BP_OK) {
        destroy(&plan->base);
        return status;
    }
    *result = &plan->base;
    return BP_OK;
}
