/* cost.c - estimates the time of a call. The estimates only rank libraries; they are not predictions.
 *
 * The sum of: the arithmetic at a fraction of the rate that the library's kernels reach in products; for each column
 * the panel work, which runs at the speed of memory and loops; and the copies of the operands.
 */
#include "providers/lapack/lapack.h"

#include <math.h>

#define ITEM 120.0        /* nanoseconds of an item, however small */
#define PANEL_ELEMENT 1.0 /* nanoseconds per element of A in columns that are processed one by one */
#define PANEL_COLUMN 45.0 /* nanoseconds per such column */
#define COPY_ELEMENT 0.5
#define DEFAULT_EFFICIENCY 0.55
#define DEFAULT_BARRIERS 0.5
#define BARRIER 8000.0    /* nanoseconds of a thread barrier on a machine that is not idle */
#define HALF_COLUMNS 90.0 /* matrices with so many columns reach half of the rate, since all blocks are short */
#define GRAIN 20000.0     /* nanoseconds of work that repay waking another thread of our thread pool */
#define SHARED_START 3000.0
#define SHARED_PART 0.92 /* fraction of the ideal rate of several threads */

double bp__lapack_cost(const bp__driver *driver, const bp__lapack_operation *operation, const bp_problem *problem,
                       int threads) {
    const bp_linalg_problem *l = &problem->of.linalg;
    bool is_complex = problem->dtype == BP_C64 || problem->dtype == BP_C128;
    int precision = problem->dtype == BP_F64 || problem->dtype == BP_C128;
    double wide = is_complex ? 2 : 1, elements = (double)l->m * (double)l->n, columns = (double)l->n;
    double efficiency = operation->efficiency > 0 ? operation->efficiency : DEFAULT_EFFICIENCY;
    double arithmetic = operation->work(l) * wide * wide / (driver->peak[precision] * efficiency);
    double short_blocks = arithmetic * HALF_COLUMNS / fmax(columns, 1); /* the same on more threads */
    double panels = elements * wide * PANEL_ELEMENT + columns * PANEL_COLUMN;
    double copies = (2 * elements + 2 * columns * (double)l->k) * wide * COPY_ELEMENT;
    if (threads > 1) {
        double barriers = (operation->barriers > 0 ? operation->barriers : DEFAULT_BARRIERS) * columns;
        arithmetic = arithmetic / threads + driver->family->speed.start + barriers * BARRIER;
    }
    return (double)l->batch * (ITEM + arithmetic + short_blocks + panels + copies);
}

int bp__lapack_sharers(const bp_problem *problem, double alone_ns, int most) {
    double worth = fmin(1 + alone_ns / GRAIN, (double)problem->of.linalg.batch);
    return worth < most ? (int)worth : most;
}

double bp__lapack_shared_cost(double alone_ns, int sharers) {
    return SHARED_START + alone_ns / (SHARED_PART * sharers);
}
