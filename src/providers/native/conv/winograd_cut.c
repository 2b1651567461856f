/* winograd_cut.c - decides which convolutions Winograd's algorithm can compute, cuts them into units and estimates
 * their time. */
#include "winograd.h"

#include "providers/native/isa.h"

#include <math.h>

/* The transformed image of a unit and its products: most of a second-level cache. Units have fewer tiles if there are
 * more channels, but enough that reading the weight takes less time than the multiplications. */
#define UNIT_BYTES ((int64_t)384 << 10)
enum { LEAST_TILES = 48, MOST_TILES = 96, LEAST_SHARED = 16 /* if threads need more units */ };

bool bp__winograd_runs(const bp_problem *problem) {
    const bp_conv_problem *c = &problem->of.conv;
    bool runs = problem->dtype == BP_F32 && problem->op != BP_OP_CONV_WEIGHT;
    runs = runs && c->in[0] == 1 && c->out[0] == 1 && c->kernel[0] == 1 && c->padding[0] == 0;
    for (int d = 1; d < BP_MAX_CONV_NDIM; d++) {
        runs = runs && c->kernel[d] == BP__WINOGRAD_TAPS && c->stride[d] == 1 && c->dilation[d] == 1;
    }
    return runs;
}

static int64_t parts(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit;
}

/* Cuts the tiles of a job into blocks of similar size. */
static void cut_tiles(const bp__conv_job *job, const bp__native_kernels *products, int64_t others, int threads,
                      bp__winograd_cut *cut) {
    const int64_t panel = cut->tiles_are_v ? products->lanes : products->q_panel;
    const int64_t tile =
        BP__WINOGRAD_PRODUCTS * (int64_t)sizeof(float) * (bp__least(job->channels, products->k_block) + job->rows);
    const int64_t fit = UNIT_BYTES / tile, most = fit < LEAST_TILES ? LEAST_TILES : bp__least(fit, MOST_TILES);
    int64_t blocks = parts(cut->tiles, most);
    while (threads > 1 && blocks * others < 2 * threads && 2 * blocks <= parts(cut->tiles, LEAST_SHARED)) {
        blocks *= 2;
    }
    cut->block = bp__conv_round_up(blocks > 0 ? parts(cut->tiles, blocks) : 1, panel);
    cut->blocks = parts(cut->tiles, cut->block);
}

/* Cuts the rows if there are fewer units than threads. Each unit then transforms the image again, so rows of a unit are
 * several panels. */
static void cut_rows(const bp__conv_job *job, const bp__native_kernels *products, int64_t others, int threads,
                     bp__winograd_cut *cut) {
    const int64_t unit = cut->tiles_are_v ? products->q_panel : products->p_panel, panels = parts(job->rows, unit);
    const int64_t least = parts(2 * products->p_panel, unit);
    int64_t blocks = 1;
    while (cut->blocks * others * blocks < threads && 2 * blocks * least <= panels) {
        blocks *= 2;
    }
    cut->rows = bp__least(parts(panels, blocks) * unit, job->rows);
    cut->row_blocks = parts(job->rows, cut->rows);
}

void bp__winograd_cut_for(const bp_problem *problem, const bp__conv_job *job, const bp__native_kernels *products,
                          int threads, bp__winograd_cut *cut) {
    const int64_t groups = problem->of.conv.groups;
    /* Vectors follow the channels where these are contiguous and there are enough of them. */
    cut->tiles_are_v = job->result_channel != 1 || job->rows < products->lanes;
    cut->by_channel = job->image_channel == 1 && job->channels >= products->lanes;
    cut->tiles = job->batch;
    for (int d = 0; d < 2; d++) {
        cut->across[d] = parts(job->axis[1 + d].grid, BP__WINOGRAD_OUT);
        cut->tiles *= cut->across[d];
    }
    cut_tiles(job, products, groups, threads, cut);
    cut_rows(job, products, groups, threads, cut);
    cut->units = cut->blocks * cut->row_blocks * groups;
}

/* ---- Cost ---- */

/* Nanoseconds, measured on a Zen 3 core near 3 GHz with vectors of 8 elements: for each element of a transformed image,
 * weight or result, for each call of the products and for each of their sums. Tiles are copied element by element at
 * the edges of an image, or if their rows are not contiguous. A weight that does not fit the cache takes longer to
 * write.
 */
#define BY_CHANNEL_NS 0.45
#define BY_TILE_NS 0.37
#define COPIED_NS 1.3
#define BY_ROW_NS 0.22
#define RESULT_BY_TILE_NS 0.31
#define WRITTEN_NS 0.5
#define WEIGHT_NS 0.4
#define LARGE_WEIGHT_NS 0.85
#define PRODUCT_NS 45
#define SUM_NS 0.06
#define CALL_NS 500

/* Bytes per nanosecond from the third-level cache, and from memory. */
#define CACHE_RATE 25
#define MEMORY_RATE 12

static double cached(const bp_host *host) {
    return host->machine->l3_bytes > 0 ? (double)host->machine->l3_bytes / 2 : 4e6;
}

/* Returns the part of the tiles that are not inside the image, for a padding of one element. */
static double at_edges(const bp__winograd_cut *cut) {
    const double rows = (double)cut->across[0], columns = (double)cut->across[1];
    return 1 - (rows > 2 ? (rows - 2) / rows : 0) * (columns > 2 ? (columns - 2) / columns : 0);
}

/* Returns the time of the transforms of image and result for one tile, channel or row, and element. */
static double image_ns(const bp__conv_job *job, const bp__winograd_cut *cut) {
    const double copied = job->axis[2].stride == 1 ? at_edges(cut) : 1;
    return cut->by_channel ? BY_CHANNEL_NS : BY_TILE_NS + COPIED_NS * copied;
}

static double result_ns(const bp__conv_job *job, const bp__winograd_cut *cut) {
    return !cut->tiles_are_v ? BY_ROW_NS : RESULT_BY_TILE_NS + (job->axis[2].result == 1 ? 0 : WRITTEN_NS);
}

/* Returns the time of the products. They wait for a part of the weight, which each block of tiles reads. */
static double products_ns(const bp_host *host, const bp__conv_job *job, const bp__winograd_cut *cut,
                          const bp__native_kernels *products, double groups, double rate) {
    const double lanes = (double)(cut->tiles_are_v ? cut->tiles : job->rows);
    const double columns = (double)(cut->tiles_are_v ? job->rows : cut->tiles);
    const double sums =
        ceil(lanes / products->lanes) * products->lanes * ceil(columns / products->q_panel) * products->q_panel;
    const double weight = (double)job->channels * (double)job->rows * (double)sizeof(float);
    const double read = (double)cut->blocks * weight /
                        (weight * BP__WINOGRAD_PRODUCTS * groups < cached(host) ? CACHE_RATE : MEMORY_RATE);
    const double multiply = sums * ((double)job->channels / rate + SUM_NS) + PRODUCT_NS * (double)cut->blocks;
    return BP__WINOGRAD_PRODUCTS * groups * (multiply + read / 2 > read ? multiply + read / 2 : read);
}

double bp__winograd_cost(const bp_host *host, const bp_problem *problem, const bp__native_kernels *products,
                         double rate) {
    bp__conv_job job;
    bp__winograd_cut cut;
    bp__conv_job_of(problem, 0, &job);
    bp__winograd_cut_for(problem, &job, products, 1, &cut);
    const double groups = (double)problem->of.conv.groups, elements = BP__WINOGRAD_PRODUCTS * groups;
    const double tiles = (double)cut.tiles, channels = (double)job.channels, rows = (double)job.rows;
    const double slower = 8.0 / products->lanes, weights = elements * channels * rows;
    const double large = weights * (double)sizeof(float) < cached(host) / 4 ? WEIGHT_NS : LARGE_WEIGHT_NS;
    const double transforms = elements * tiles * (channels * image_ns(&job, &cut) + rows * result_ns(&job, &cut)) +
                              (problem->policy.packed & 2u ? 0 : weights * large);
    const double positions = tiles * BP__WINOGRAD_OUT * BP__WINOGRAD_OUT;
    const double bytes = groups * positions * (channels + rows) * (double)sizeof(float);
    return CALL_NS + products_ns(host, &job, &cut, products, groups, rate) + transforms * slower +
           (bytes < cached(host) ? 0 : bytes / MEMORY_RATE);
}
