/* clock.c - measures the time of a call.
 *
 * The least of several times is taken, because interruptions only add time. Runs of a few nanoseconds are repeated
 * until they take long enough for the clock. */
#include "probe/measure.h"

#include "base/base.h"

enum {
    CLOCK_NS = 2500,  /* least time between two readings of the clock, for an error of about 1 % */
    SHORT_NS = 50000, /* shorter runs are repeated more often, which costs little */
    LONG_NS = 200000, /* the first of longer runs counts too: what else it does takes little time by comparison */
    SHORT_TURNS = 4,
    MEDIUM_TURNS = 2,
    LONG_TURNS = 1
};

static bool run_plan(const call *one, int64_t repeats) {
    const bp_exec exec = {.struct_size = sizeof exec,
                          .packed = (const bp_packed *const *)one->packed,
                          .operand_count = (size_t)one->count};
    for (int64_t i = 0; i < repeats; i++) {
        if (bp_execute(one->plan, one->operands, one->is_packed ? &exec : NULL) != BP_OK) {
            return false;
        }
    }
    return true;
}

double call_time(const call *one, double turn_ns) {
    const int64_t first = bp__now_ns();
    if (!run_plan(one, 1)) { /* the first run of a shape may load or compile code */
        return 0;
    }
    const double cold = (double)(bp__now_ns() - first);
    double least = cold > LONG_NS ? cold : 0, spent = least;
    int64_t repeats = 1;
    for (int turn = 0; turn < (least > LONG_NS    ? LONG_TURNS
                               : least > SHORT_NS ? MEDIUM_TURNS
                                                  : SHORT_TURNS) ||
                       spent < turn_ns;
         turn++) {
        const int64_t begin = bp__now_ns();
        if (!run_plan(one, repeats)) {
            return 0;
        }
        const double took = (double)(bp__now_ns() - begin), each = took / (double)repeats;
        spent += took;
        if (took < CLOCK_NS) {
            repeats *= took < CLOCK_NS / 4 ? 4 : 2;
            turn = -1; /* the turns begin again, also if the first run took long: it may have initialized the library */
        } else {
            least = least == 0 || each < least ? each : least;
        }
    }
    return least;
}
