/* direct_rows.c - runs the direct algorithm with vectors along the positions of a row: a unit of work is one channel of
 * one item.
 *
 * The rows of the image are packed with zeros around the image, and in phases if there is a stride: for stride 2, first
 * the elements with even indexes and then the others. So the elements that a tap needs are always contiguous, and rows
 * have no edges. Zeros are packed behind the positions too, so that vectors are full. If there are many terms, or the
 * kernel reaches far, each term packs its own elements. */
#include "direct.h"

#include <stdlib.h>
#include <string.h>

#define ROW_BYTES ((int64_t)128 << 10) /* at least TERMS rows of RUN elements */
#define SUM_BYTES ((int64_t)32 << 10)
#define FAR ((int64_t)1 << 16) /* shifts from which on elements are not shared */
enum { RUN = BP__DIRECT_RUN, TERMS = BP__DIRECT_TERMS, LAST = BP_MAX_CONV_NDIM - 1 };
_Static_assert(ROW_BYTES >= TERMS * RUN * (int64_t)sizeof(double), "each term can pack its own elements");
_Static_assert(SUM_BYTES >= RUN * (int64_t)sizeof(double), "a row of sums fits");

typedef bp__direct_call call;

size_t bp__direct_row_bytes(const bp__conv_set *set) {
    (void)set;
    return (size_t)(ROW_BYTES + SUM_BYTES);
}

/* ---- Cutting ---- */

/* Finds the least shift of the taps in a dimension. Returns the distance to the largest one. */
static int64_t reach_of(const bp__conv_axis *axis, int64_t *low) {
    const int64_t reach = (axis->taps - 1) * axis->change;
    *low = bp__least(reach, 0);
    return reach < 0 ? -reach : reach;
}

/* Finds where the packed elements of each term begin. */
static void list_rows(call *w) {
    const bp__conv_job *job = &w->job;
    const bp__direct_cut *cut = &w->cut;
    for (int64_t t = 0; t < job->terms; t++) {
        const int64_t *shift = w->terms[t].shift, step = job->axis[LAST].step, column = shift[LAST] - cut->low[LAST];
        const int64_t tap = t / job->channels / (job->axis[1].taps * job->axis[LAST].taps);
        const int64_t row = (tap * job->channels + t % job->channels) * cut->rows + shift[1] - cut->low[1];
        w->terms[t].row = (row * step + column % step) * cut->columns + column / step;
    }
}

void bp__direct_cut_job(call *w) {
    const bp__conv_job *job = &w->job;
    const bp__conv_axis *row = &job->axis[1], *column = &job->axis[LAST];
    const int64_t packed = (int64_t)w->plan->set.products->packed, lanes = w->plan->set.products->lanes;
    bp__direct_cut *cut = &w->cut;
    *cut = (bp__direct_cut){.run = bp__least(column->grid, RUN), .band = 1};
    if (job->terms == 0 || job->terms > TERMS) {
        return;
    }
    reach_of(&job->axis[0], &cut->low[0]);
    const int64_t height = reach_of(row, &cut->low[1]), width = reach_of(column, &cut->low[LAST]);
    if (height > FAR || width > FAR || row->step > FAR || column->step > FAR) {
        return;
    }
    const int64_t run = bp__conv_round_up(cut->run, lanes);
    cut->columns = run + width / column->step;
    const int64_t bytes = job->axis[0].taps * job->channels * cut->columns * column->step * packed;
    if (bytes * (height + 1) > ROW_BYTES) {
        return;
    }
    cut->shared = true;
    while (cut->band < row->grid && bytes * (cut->band * row->step + height + 1) <= ROW_BYTES &&
           (cut->band + 1) * run * packed <= SUM_BYTES) {
        cut->band++;
    }
    cut->rows = (cut->band - 1) * row->step + height + 1;
    list_rows(w);
}

/* Nanoseconds for each channel of an item, for each row that is packed, and for each element that is packed or written.
 * Multiply-adds load about one vector each, of two that a processor loads at a time. */
#define CHANNEL_NS 100
#define ROW_NS 10
#define ELEMENT_NS 0.1
#define PART_OF_RATE 0.48

double bp__direct_rows_cost(const bp_problem *problem, const bp__native_kernels *kernels, double rate) {
    bp__conv_job job;
    bp__conv_job_of(problem, 0, &job);
    const bp__conv_axis *depth = &job.axis[0], *row = &job.axis[1], *column = &job.axis[LAST];
    const double channels = (double)(job.batch * problem->of.conv.groups * job.rows), terms = (double)job.terms;
    const double planes = channels * (double)depth->grid, results = planes * (double)row->grid;
    const double run = (double)bp__conv_round_up(column->grid, kernels->lanes);
    const double reach = (double)(row->taps - 1) * (double)llabs(row->change);
    const double shared =
        planes * (double)(depth->taps * job.channels) * ((double)row->grid * (double)row->step + reach);
    const double rows = (job.terms <= TERMS ? shared : results * terms) * (double)column->step;
    const double each = CHANNEL_NS * channels + (ROW_NS + ELEMENT_NS * run) * (rows + results) +
                        results * run * terms / (PART_OF_RATE * rate);
    return 200 + (double)bp__conv_jobs(problem) * each;
}

/* ---- Packing ---- */

/* Converts `count` rows of n elements each. Element i has the image index at + i * step in the last dimension;
 * they are 0 outside the image. `row` is the first row, and `from_row` and `to_row` are elements between rows. */
static void pack_rows(const call *w, const char *row, int64_t at, int64_t step, int64_t n, int64_t count,
                      int64_t from_row, char *to, int64_t to_row) {
    const bp__conv_axis *axis = &w->job.axis[LAST];
    const int64_t element = (int64_t)w->plan->set.products->element;
    int64_t before = at < 0 ? (-at + step - 1) / step : 0;
    int64_t end = at < axis->size ? (axis->size - at + step - 1) / step : 0;
    before = bp__least(before, n);
    end = end < before ? before : bp__least(end, n);
    const char *from = end > before ? row + (at + before * step) * axis->stride * element : row;
    w->plan->set.own->widen_rows(&(bp__conv_rows){.n = n,
                                                  .count = count,
                                                  .before = before,
                                                  .end = end,
                                                  .from = from,
                                                  .row = from_row,
                                                  .step = step * axis->stride,
                                                  .to = to,
                                                  .to_row = to_row});
}

/* Packs the rows of one plane of the image from image index `first` on. */
static void pack_plane(const call *w, const char *plane, const int64_t first[BP_MAX_CONV_NDIM], int64_t rows,
                       char *to) {
    const bp__conv_axis *row = &w->job.axis[1], *column = &w->job.axis[LAST];
    const bp__direct_cut *cut = &w->cut;
    const int64_t element = (int64_t)w->plan->set.products->element, packed = (int64_t)w->plan->set.products->packed;
    const int64_t width = cut->columns * column->step;
    const int64_t above = first[1] < 0 ? bp__least(-first[1], rows) : 0;
    const int64_t below = first[1] + rows > row->size ? bp__least(first[1] + rows - row->size, rows - above) : 0;
    memset(to, 0, (size_t)(above * width * packed));
    memset(to + (rows - below) * width * packed, 0, (size_t)(below * width * packed));
    for (int64_t phase = 0; phase < column->step && above + below < rows; phase++) {
        pack_rows(w, plane + (first[1] + above) * row->stride * element, first[LAST] + phase, column->step,
                  cut->columns, rows - above - below, row->stride, to + (above * width + phase * cut->columns) * packed,
                  width);
    }
}

/* Packs the planes that some results need, and finds the elements of each term for the first result. */
static void pack_shared(const call *w, const char *image, const int64_t index[1 + BP_MAX_CONV_NDIM], int64_t count,
                        char *rows, const char *from[TERMS]) {
    const bp__conv_job *job = &w->job;
    const bp__direct_cut *cut = &w->cut;
    const int64_t element = (int64_t)w->plan->set.products->element, packed = (int64_t)w->plan->set.products->packed;
    const int64_t row = cut->columns * job->axis[LAST].step * packed;
    const int64_t needed = cut->rows - (cut->band - count) * job->axis[1].step;
    int64_t first[BP_MAX_CONV_NDIM];
    for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
        first[d] = index[1 + d] * job->axis[d].step + job->axis[d].first + cut->low[d];
    }
    for (int64_t tap = 0; tap < job->axis[0].taps; tap++) {
        const int64_t at = first[0] - cut->low[0] + tap * job->axis[0].change;
        for (int64_t c = 0; c < job->channels && at >= 0 && at < job->axis[0].size; c++) {
            pack_plane(w, image + (at * job->axis[0].stride + c * job->image_channel) * element, first, needed,
                       rows + (tap * job->channels + c) * cut->rows * row);
        }
    }
    for (int64_t t = 0; t < job->terms; t++) {
        const int64_t depth = first[0] - cut->low[0] + w->terms[t].shift[0];
        from[t] = depth < 0 || depth >= job->axis[0].size ? NULL : rows + w->terms[t].row * packed;
    }
}

/* Packs the elements of some terms for n results of one row. */
static void pack_terms(const call *w, const char *image, const int64_t index[1 + BP_MAX_CONV_NDIM], int64_t n,
                       int64_t t0, int64_t terms, char *rows, const char *from[TERMS]) {
    const bp__conv_job *job = &w->job;
    const int64_t element = (int64_t)w->plan->set.products->element, packed = (int64_t)w->plan->set.products->packed;
    for (int64_t t = 0; t < terms; t++, rows += RUN * packed) {
        int64_t at[BP_MAX_CONV_NDIM];
        const bp__direct_term *term = &w->terms[t0 + t];
        bool inside = true;
        for (int d = 0; d < BP_MAX_CONV_NDIM; d++) {
            at[d] = index[1 + d] * job->axis[d].step + job->axis[d].first + term->shift[d];
            inside = inside && (d == LAST || (at[d] >= 0 && at[d] < job->axis[d].size));
        }
        from[t] = inside ? rows : NULL;
        if (inside) {
            const int64_t channel = (t0 + t) % job->channels * job->image_channel;
            const char *row = image + (at[0] * job->axis[0].stride + at[1] * job->axis[1].stride + channel) * element;
            pack_rows(w, row, at[LAST], job->axis[LAST].step, n, 1, 0, rows, 0);
        }
    }
}

/* ---- Results ---- */

/* Computes `count` rows of n positions each. `image` is the first channel of the item and the group. */
static void compute_rows(const call *w, const int64_t index[1 + BP_MAX_CONV_NDIM], int64_t count, int64_t n,
                         int64_t channel, const char *image, const char *weights, char *rows) {
    const bp__direct_plan *plan = w->plan;
    const bp__conv_job *job = &w->job;
    const int64_t packed = (int64_t)plan->set.products->packed, width = bp__conv_round_up(n, plan->set.products->lanes);
    char *const sums = rows + ROW_BYTES;
    const char *from[TERMS];
    memset(sums, 0, (size_t)(count * width * packed));
    bp__conv_sums s = {.n = width,
                       .runs = count,
                       .sums = sums,
                       .from = from,
                       .run = job->axis[1].step * w->cut.columns * job->axis[LAST].step,
                       .step = 1,
                       .weight_term = 1};
    if (w->cut.shared) {
        pack_shared(w, image, index, count, rows, from);
        s.terms = job->terms;
        s.weights = weights;
        plan->set.plain->add(&s);
    }
    for (int64_t t = 0; !w->cut.shared && t < job->terms; t += TERMS) {
        s.terms = bp__least(job->terms - t, TERMS);
        s.weights = weights + t * packed;
        pack_terms(w, image, index, width, t, s.terms, rows, from);
        plan->set.plain->add(&s);
    }
    plan->set.own->finish(
        &(bp__conv_results){.n = n,
                            .runs = count,
                            .to = w->result + (bp__direct_result_at(job, index) + channel * job->result_channel) *
                                                  (int64_t)plan->set.products->element,
                            .to_run = job->axis[1].result,
                            .to_step = job->axis[LAST].result,
                            .sums = sums,
                            .sums_run = width,
                            .bias = bp__direct_bias(w, channel),
                            .relu = plan->problem.of.conv.relu != 0});
}

void bp__direct_channel(call *w, int64_t unit, char *weights) {
    const bp__direct_plan *plan = w->plan;
    const bp__conv_job *job = &w->job;
    const bp_conv_problem *c = &plan->problem.of.conv;
    const int64_t element = (int64_t)plan->set.products->element, packed = (int64_t)plan->set.products->packed;
    const int64_t item = unit / (c->groups * job->rows), channel = unit % (c->groups * job->rows);
    const int64_t group = channel / job->rows;
    const int64_t first = group * c->out_channels * c->w_out + channel % job->rows * job->weight_row;
    for (int64_t t = 0; t < job->terms; t++) {
        plan->set.own->widen(1, weights + t * packed, w->weight + (first + w->terms[t].weight) * element, 1);
    }
    int64_t index[1 + BP_MAX_CONV_NDIM] = {item};
    const char *image = w->image + (item * job->image_batch + group * job->channels * job->image_channel) * element;
    for (index[1] = 0; index[1] < job->axis[0].grid; index[1]++) {
        for (index[2] = 0; index[2] < job->axis[1].grid && !bp__stops(&w->stop); index[2] += w->cut.band) {
            for (index[3] = 0; index[3] < job->axis[LAST].grid; index[3] += w->cut.run) {
                compute_rows(w, index, bp__least(job->axis[1].grid - index[2], w->cut.band),
                             bp__least(job->axis[LAST].grid - index[3], w->cut.run), channel, image, weights,
                             weights + plan->weight_bytes);
            }
        }
    }
}
