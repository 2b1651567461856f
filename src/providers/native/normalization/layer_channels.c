/* layer_channels.c - runs group normalization of images whose channels are the last ones in memory.
 *
 * The lanes of vectors are channels, and the kernels of batch normalization compute them. A part is neighbouring groups
 * of one item, with about LANES channels. The moments of each channel in BLOCK positions are merged to the moments of
 * its group. Parts, blocks and the order of merging depend on the problem only. */
#include "layer_work.h"

#include <math.h>
#include <string.h>

enum { LANES = 128, BLOCK = 64 };

/* The dimensions of such a problem; NONE: there is none, and the size is 1. */
typedef struct image {
    int group, position, channel;        /* dimensions */
    int64_t groups, positions, channels; /* their sizes; channels of a group */
} image;

enum { NONE = -1, PROBLEM_X = 0, PROBLEM_WEIGHT = 1, PROBLEM_BIAS = 2, PROBLEM_Y = 3 };

static bool has_weights_along(const bp_layer_norm_problem *p, int d) {
    return d != NONE && (p->stride[PROBLEM_WEIGHT][d] != 0 || p->stride[PROBLEM_BIAS][d] != 0);
}

/* Finds the dimensions. The elements of a row are positions, and the channels of a group if there are several. The
 * groups are the rows' last dimension: neighbours in memory are at the same position. */
static image find_image(const bp_layer_norm_problem *p) {
    const int elements = p->ndim - p->row_ndim, last = p->row_ndim - 1;
    image found = {NONE, p->row_ndim, elements == 2 ? p->ndim - 1 : NONE, 1, 0, 1};
    if (elements == 1 || elements == 2) {
        found.positions = p->size[found.position];
        found.channels = elements == 2 ? p->size[found.channel] : 1;
        const bool grouped =
            last >= 0 && p->stride[PROBLEM_X][last] == found.channels && p->stride[PROBLEM_Y][last] == found.channels;
        found.group = grouped ? last : NONE;
        found.groups = grouped ? p->size[last] : 1;
    }
    return found;
}

bool bp__layer_by_channels(const bp_problem *problem) {
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    if (problem->op != BP_OP_LAYER_NORM || !p->subtract_mean) {
        return false;
    }
    const image of = find_image(p);
    bool fits =
        of.positions > 0 && of.channels > 0 && of.groups > 0 &&
        (of.channel == NONE || (p->stride[PROBLEM_X][of.channel] == 1 && p->stride[PROBLEM_Y][of.channel] == 1));
    /* Without weights, few dimensions tell images from rows with gaps, which other kernels compute. */
    fits = fits && (has_weights_along(p, of.group) || (of.channel != NONE && of.group != NONE) ||
                    has_weights_along(p, of.channel));
    for (int d = 0; d < p->ndim && fits; d++) {
        fits = d == of.group || d == of.channel || !has_weights_along(p, d);
    }
    return fits;
}

/* Returns how many groups a part has: fewer if there are few parts for threads. */
static int64_t part_of(const bp_problem *problem, const image *of, int64_t *parts) {
    enum { PARTS = 4, FEW_LANES = 32 };
    const bp_layer_norm_problem *p = &problem->of.layer_norm;
    int64_t part = of->channels < LANES ? LANES / of->channels : 1, items = 1;
    for (int d = 0; d < p->row_ndim; d++) {
        items *= d == of->group ? 1 : p->size[d];
    }
    while (part > 1 && items * ((of->groups + part - 1) / part) < PARTS && part * of->channels > FEW_LANES) {
        part = (part + 1) / 2;
    }
    *parts = items * ((of->groups + part - 1) / part);
    return part;
}

int64_t bp__layer_channel_parts(const bp_problem *problem) {
    const image of = find_image(&problem->of.layer_norm);
    int64_t parts;
    part_of(problem, &of, &parts);
    return parts;
}

void bp__layer_cut_channels(bp__layer_work *plan) {
    const image of = find_image(&plan->problem.of.layer_norm);
    plan->part = part_of(&plan->problem, &of, &plan->parts);
    memset(plan->staged, 0, sizeof plan->staged); /* nothing is copied */
}

/* Numbers of neighbouring channels, as the kernels take them. REAL is f64 at most. */
typedef struct channel_numbers {
    double of[BP__BATCH_NORM_SLOPE][LANES]; /* all but the last */
    bool has_rest, twice;                   /* as in run.c */
    bool fits;                              /* all scales are normal numbers */
} channel_numbers;

/* Memory for one of the two passes. */
typedef union scratch {
    struct {
        double center[LANES], mean[LANES], squares[LANES];
    } moments;
    channel_numbers numbers;
} scratch;

/* The groups of a part. */
typedef struct groups {
    const bp__layer_run *w;
    image of;
    int64_t row, count; /* the first group's number among the rows */
    int64_t offset[2];  /* of X and Y: to the first channel */
    bp__batch_norm_moments moments[LANES];
    scratch scratch;
} groups;

static int64_t lanes_of(const groups *g) {
    return g->count * g->of.channels;
}

/* A grid whose lanes are the channels from `lane` on, at the positions from `from` on. */
static bp__batch_norm_grid grid_at(const groups *g, int operand, int64_t lane, int64_t from) {
    const int64_t next = bp__layer_strides(g->w->plan, operand)[g->of.position];
    const int64_t offset = g->offset[operand] + lane + from * next;
    return (bp__batch_norm_grid){bp__layer_vector_at(g->w, operand, offset, 0).at, 1, next};
}

/* Returns the first element of a group. */
static double center_of(const groups *g, int64_t group) {
    return g->w->plan->set.channels->load(grid_at(g, X, group * g->of.channels, 0).at);
}

/* Adds the moments of neighbouring channels, of `positions` elements each, to the moments of their group. */
static void merge_channels(bp__batch_norm_moments *group, int64_t channels, int64_t positions, const double *mean,
                           const double *squares) {
    bp__batch_norm_moments all = {(double)(channels * positions), 0, 0};
    double between = 0;
    for (int64_t c = 0; c < channels; c++) {
        all.mean += mean[c] / (double)channels;
        all.squares += squares[c];
    }
    for (int64_t c = 0; c < channels; c++) {
        between += (mean[c] - all.mean) * (mean[c] - all.mean);
    }
    all.squares += (double)positions * between;
    bp__batch_norm_merge(group, all);
}

/* Adds the channels from `lane` on to the moments of their groups, which belong to differences to the center. */
static void add_channels(groups *g, int64_t lane, int64_t lanes) {
    const bp__batch_norm_kernels *kernels = g->w->plan->set.channels;
    double *center = g->scratch.moments.center, *mean = g->scratch.moments.mean, *squares = g->scratch.moments.squares;
    for (int64_t l = 0; l < lanes; l++) {
        center[l] = center_of(g, (lane + l) / g->of.channels);
    }
    for (int64_t from = 0; from < g->of.positions; from += BLOCK) {
        const int64_t count = bp__least(BLOCK, g->of.positions - from);
        const bp__batch_norm_grid x = grid_at(g, X, lane, from);
        kernels->moments(lanes, count, &x, center, 1, mean, squares);
        for (int64_t l = 0; l < lanes; l += g->of.channels) {
            merge_channels(&g->moments[(lane + l) / g->of.channels], bp__least(g->of.channels, lanes - l), count,
                           mean + l, squares + l);
        }
    }
}

static void find_moments(groups *g) {
    for (int64_t i = 0; i < g->count; i++) {
        g->moments[i] = (bp__batch_norm_moments){0, 0, 0};
    }
    for (int64_t lane = 0; lane < lanes_of(g); lane += LANES) {
        add_channels(g, lane, bp__least(LANES, lanes_of(g) - lane));
    }
}

static double inverse_std_of(const groups *g, int64_t group) {
    const bp__batch_norm_moments *m = &g->moments[group];
    return 1 / sqrt(m->squares / m->count + g->w->plan->problem.of.layer_norm.eps);
}

static double weight_at(const bp__layer_work *plan, const char *weights, int64_t index) {
    const char *at = weights + (size_t)index * plan->set.images->number;
    return plan->set.images->number == sizeof(float) ? (double)*(const float *)(const void *)at
                                                     : *(const double *)(const void *)at;
}

/* Sets the numbers, from `to` on, of channels of one group: those from `first` on. */
static void set_numbers(const groups *g, int64_t group, int64_t first, int64_t channels, channel_numbers *numbers,
                        int64_t to) {
    const bp__layer_work *plan = g->w->plan;
    const bp__batch_norm_kernels *kernels = plan->set.channels;
    const double center = center_of(g, group), mean = g->moments[group].mean, inverse_std = inverse_std_of(g, group);
    const double rest = bp__batch_norm_rest(kernels, center, mean);
    const int64_t next = g->of.channel == NONE ? 0 : plan->weight[g->of.channel];
    int64_t weight = g->of.group == NONE ? 0 : (g->row % g->of.groups + group) * plan->weight[g->of.group];
    weight += first * next;
    for (int64_t c = to; c < to + channels; c++, weight += next) {
        const double factor = weight_at(plan, g->w->weights, weight), scale = inverse_std * factor;
        kernels->set(numbers->of[BP__BATCH_NORM_CENTER], c, center + mean);
        kernels->set(numbers->of[BP__BATCH_NORM_REST], c, rest);
        kernels->set(numbers->of[BP__BATCH_NORM_SCALE], c, numbers->twice ? factor : scale);
        kernels->set(numbers->of[BP__BATCH_NORM_SHIFT], c, weight_at(plan, g->w->biases, weight));
        kernels->set(numbers->of[BP__BATCH_NORM_FACTOR], c, inverse_std);
        numbers->fits &= bp__batch_norm_has_scale(kernels, scale);
    }
    numbers->has_rest |= rest != 0;
}

static void set_all_numbers(const groups *g, int64_t lane, int64_t lanes, channel_numbers *numbers) {
    numbers->has_rest = false;
    numbers->fits = true;
    for (int64_t l = 0, channels; l < lanes; l += channels) {
        const int64_t group = (lane + l) / g->of.channels, first = (lane + l) % g->of.channels;
        channels = bp__least(g->of.channels - first, lanes - l);
        set_numbers(g, group, first, channels, numbers, l);
    }
}

/* Writes the elements of the channels from `lane` on. */
static void apply_channels(groups *g, int64_t lane, int64_t lanes) {
    channel_numbers *numbers = &g->scratch.numbers;
    numbers->twice = false;
    set_all_numbers(g, lane, lanes, numbers);
    if (!numbers->fits) {
        numbers->twice = true;
        set_all_numbers(g, lane, lanes, numbers);
    }
    const void *given[BP__BATCH_NORM_NUMBERS] = {NULL};
    for (int i = 0; i < BP__BATCH_NORM_SLOPE; i++) {
        const bool absent =
            !numbers->twice && (i == BP__BATCH_NORM_FACTOR || (i == BP__BATCH_NORM_REST && !numbers->has_rest));
        given[i] = absent ? NULL : numbers->of[i];
    }
    const bp__batch_norm_grid x = grid_at(g, X, lane, 0), y = grid_at(g, Y, lane, 0);
    g->w->plan->set.channels->apply(lanes, g->of.positions, &y, &x, given, 1, false);
}

void bp__layer_channels_part(bp__layer_run *w, int64_t part) {
    const bp__layer_work *plan = w->plan;
    const bp_layer_norm_problem *p = &plan->problem.of.layer_norm;
    groups g; /* large: not cleared */
    g.w = w;
    g.of = find_image(p);
    const int64_t parts = (g.of.groups + plan->part - 1) / plan->part, first = part % parts * plan->part;
    g.row = part / parts * g.of.groups + first;
    g.count = bp__least(plan->part, g.of.groups - first);
    for (int k = X; k <= Y; k++) {
        g.offset[k] = bp__layer_offset(p, bp__layer_strides(plan, k), 0, p->row_ndim, g.row);
    }
    find_moments(&g);
    for (int64_t i = 0; i < g.count; i++) {
        bp__layer_store_statistics(w, g.row + i, center_of(&g, i) + g.moments[i].mean, inverse_std_of(&g, i));
    }
    for (int64_t lane = 0; lane < lanes_of(&g); lane += LANES) {
        apply_channels(&g, lane, bp__least(LANES, lanes_of(&g) - lane));
    }
}
