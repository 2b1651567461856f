/* speed.c - follows the speed of the processor during a measurement.
 *
 * Its clock may change, and other work may take a part of its time. The same small product of `native` is timed between
 * the points. Its time relative to the first one corrects the times of the points. */
#include "probe/measure.h"

#include "base/base.h"

#include <math.h>
#include <unistd.h>

enum {
    SIDE = 32,           /* of the product, which then takes a few microseconds and fits the first-level cache */
    RUNS = 6,            /* the fastest one counts */
    REFRESH_NS = 200000, /* after which the product is timed again: it takes a few percent of the measurement */
};
#define NOISE 0.05 /* a change of the speed below this is an error of the measurement */

static struct {
    double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    bp_plan *plan;
    double first_ns, last_ns, least_ns;
    int64_t timed_at;
} speed;

static double least_of_runs(void) {
    const bp_operand operands[] = {{speed.a, 0}, {speed.b, 0}, {speed.c, 0}};
    double least = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        const int64_t begin = bp__now_ns();
        if (bp_execute(speed.plan, operands, NULL) != BP_OK) {
            _exit(1);
        }
        least = fmin(least, (double)(bp__now_ns() - begin));
    }
    return fmax(least, 1);
}

void speed_begin(const bp_options *native) {
    bp_view a, b, c;
    for (int i = 0; i < SIDE * SIDE; i++) {
        speed.a[i] = speed.b[i] = 1 + i % 7;
    }
    bp_view_matrix(&a, NULL, BP_F64, SIDE, SIDE);
    bp_view_matrix(&b, NULL, BP_F64, SIDE, SIDE);
    bp_view_matrix(&c, NULL, BP_F64, SIDE, SIDE);
    if (bp_matmul_plan(&speed.plan, native, &a.tensor, &b.tensor, &c.tensor) != BP_OK) {
        _exit(1);
    }
    speed.first_ns = speed.last_ns = speed.least_ns = least_of_runs();
    speed.timed_at = bp__now_ns();
}

double speed_now(void) {
    if (bp__now_ns() - speed.timed_at > REFRESH_NS) {
        speed.last_ns = least_of_runs();
        speed.least_ns = fmin(speed.least_ns, speed.last_ns);
        speed.timed_at = bp__now_ns();
    }
    return speed.last_ns;
}

double speed_share(double product_ns) {
    return speed.least_ns / product_ns;
}

double speed_corrected(double time, double before) {
    const double change = speed.first_ns / sqrt(before * speed_now());
    return fabs(log(change)) > NOISE ? time * change : time;
}
