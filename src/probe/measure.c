/* measure.c - the measuring mode of backplane-probe: measures the times of one candidate and reports them.
 *
 * Started by the library only (calibration/run.c):
 *     backplane-probe --measure PROVIDER CLASSES THREADS TURN_NS BUDGET_MS MILLISECONDS MEBIBYTES [NAME=VALUE ...]
 * CLASSES are separated by commas. The settings name the only library that this process finds, if the provider needs
 * one. The report has these lines, with times in nanoseconds, "-" for what was not measured:
 *     speed.native=T T ...          native at the first points in f64, as the common measure of speed
 *     CLASS.first=T T ...           the candidate at the first points, for base classes of products
 *     CLASS.times.POINT=T T ...     the times, or the ratios to estimates, of the lattice's points from POINT on
 */
#include "probe/measure.h"

#include "base/base.h"
#include "dispatch/internal.h"
#include "probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    FIXED_WORDS = 9,
    LINE = 48,         /* times in one line of the report */
    SLOW = 3,          /* a library is measured no further if it is this much slower than native at the first points */
    WHOLE_POINTS = 16, /* points of a class that gets all of its time */
    DOUBTFUL = 4,      /* a value is measured again if it is this much larger than others make one expect */
    AGAIN_TURNS = 4,   /* times as long as before */
    REFUSED = 3,       /* a class is given up if the candidate refuses the points before this one */
    ROUNDS = 2         /* in which points are measured again that were measured at a low speed */
};
#define LOW_SPEED 0.9 /* share of the greatest speed so far */

typedef struct task {
    const bp__class *class;
    const char *name; /* of the candidate, as for blas.preferred */
    bp_options *candidate, *native;
    double turn_ns, budget_ms;
    int64_t deadline;                    /* by the clock of cpu_ns() */
    double times[BP__LATTICE_POINTS];    /* 0: not measured */
    double products[BP__LATTICE_POINTS]; /* time of the speed's product when the point was measured */
} task;

/* Returns the time of a point, or its ratio to the estimate; 0 if the candidate refuses it. `product_ns` gets the time
 * of the speed's product meanwhile. */
static double value_at(const bp__class *class, const bp_options *options, const int64_t sizes[BP__LATTICE_DIMENSIONS],
                       double turn_ns, double *product_ns) {
    call one;
    double value = 0;
    if (call_make(&one, class, sizes, options)) {
        bp_plan_info info = {.struct_size = sizeof info};
        const double before = speed_now();
        value = speed_corrected(call_time(&one, turn_ns), before);
        *product_ns = fmax(before, speed_now());
        if (!class->times) {
            bp_plan_describe(one.plan, &info);
            value = info.cost_ns > 0 ? value / info.cost_ns : 0;
        }
    }
    call_free(&one);
    return value;
}

static void report_times(const char *class, const char *what, int from, const double *times, int count) {
    char name[96], text[LINE * 16] = "";
    size_t used = 0;
    if (from >= 0) {
        snprintf(name, sizeof name, "%s.%s.%d", class, what, from);
    } else {
        snprintf(name, sizeof name, "%s.%s", class, what);
    }
    for (int i = 0; i < count && used < sizeof text; i++) {
        used += (size_t)(times[i] > 0 ? snprintf(text + used, sizeof text - used, "%s%.4g", i ? " " : "", times[i])
                                      : snprintf(text + used, sizeof text - used, "%s-", i ? " " : ""));
    }
    report(name, "%s", text);
}

static void measure_first(const bp__class *class, const bp_options *options, double turn_ns,
                          double values[BP__FIRST_POINTS]) {
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        double product_ns;
        values[i] = value_at(class, options, bp__first_sizes[i], turn_ns, &product_ns);
    }
}

/* Compares the candidate with native at the first points. Returns false if it is much slower in the mean, and faster at
 * one point at most. */
static bool keeps_up(const task *t) {
    double own[BP__FIRST_POINTS], native[BP__FIRST_POINTS], sum = 0;
    int count = 0, faster = 0;
    measure_first(t->class, t->native, t->turn_ns, native);
    measure_first(t->class, t->candidate, t->turn_ns, own);
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        if (own[i] > 0 && native[i] > BP__FIRST_NATIVE_NS) {
            faster += own[i] < native[i];
            sum += log(own[i] / native[i]);
            count++;
        }
    }
    report_times(t->class->name, "first", -1, own, BP__FIRST_POINTS);
    return count == 0 || faster > 1 || sum < count * log(SLOW);
}

/* Returns the time for which this thread has run. The budget is counted in it, so that a measurement on a loaded
 * machine is not less complete, but takes longer. */
static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool time_left(const task *t) {
    return cpu_ns() < t->deadline;
}

static void measure_points(task *t) {
    int order[BP__LATTICE_POINTS];
    const int count = bp__lattice_order(t->class->lattice, order);
    int measured = 0;
    for (int i = 0; i < count && time_left(t); i++) {
        int64_t sizes[BP__LATTICE_DIMENSIONS];
        bp__lattice_sizes(t->class->lattice, order[i], sizes);
        t->times[order[i]] = value_at(t->class, t->candidate, sizes, t->turn_ns, &t->products[order[i]]);
        measured += t->times[order[i]] > 0;
        if (i == REFUSED && measured == 0) {
            return; /* the candidate does not offer the operation */
        }
    }
}

/* Measures points again that were measured while the processor was slow, because not all work slows down as the speed's
 * product does. */
static void measure_slowed(task *t) {
    const int points = bp__lattice_points(t->class->lattice);
    for (int i = 0; i < ROUNDS * points && time_left(t); i++) {
        const int point = i % points;
        if (t->times[point] > 0 && speed_share(t->products[point]) < LOW_SPEED) {
            int64_t sizes[BP__LATTICE_DIMENSIONS];
            double product_ns;
            bp__lattice_sizes(t->class->lattice, point, sizes);
            const double again = value_at(t->class, t->candidate, sizes, t->turn_ns, &product_ns);
            if (again > 0 && product_ns < t->products[point]) {
                t->times[point] = again;
                t->products[point] = product_ns;
            }
        }
    }
}

/* Returns the time that the neighbours of a point make one expect: the least of the times of larger sizes, and of the
 * times of smaller sizes, which grow with the size. Returns 0 if no neighbour is measured. */
static double expected_time(const task *t, int point) {
    const bp__lattice *lattice = t->class->lattice;
    double least = 0;
    int stride = 1;
    for (int d = lattice->dimensions - 1; d >= 0; stride *= lattice->count[d--]) {
        const int knot = point / stride % lattice->count[d];
        const double larger = knot + 1 < lattice->count[d] ? t->times[point + stride] : 0;
        const double smaller =
            knot > 0 ? t->times[point - stride] * (double)lattice->knot[d][knot] / (double)lattice->knot[d][knot - 1]
                     : 0;
        least = larger > 0 && (least == 0 || larger < least) ? larger : least;
        least = smaller > 0 && (least == 0 || smaller < least) ? smaller : least;
    }
    return least;
}

static int ascending(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Returns the median of the ratios; 0 if none is measured. */
static double expected_ratio(const task *t) {
    double ratios[BP__LATTICE_POINTS];
    int count = 0;
    for (int point = 0; point < bp__lattice_points(t->class->lattice); point++) {
        ratios[count] = t->times[point];
        count += t->times[point] > 0;
    }
    qsort(ratios, (size_t)count, sizeof *ratios, ascending);
    return count ? ratios[count / 2] : 0;
}

/* Measures points again that take much longer than others make one expect. If that was an interruption, the new value
 * is right; if not, it is a property of the library. */
static void measure_doubtful(task *t) {
    const double ratio = t->class->times ? 0 : expected_ratio(t);
    for (int point = 0; point < bp__lattice_points(t->class->lattice) && time_left(t); point++) {
        const double expected = t->class->times ? expected_time(t, point) : ratio;
        if (expected > 0 && t->times[point] > DOUBTFUL * expected) {
            int64_t sizes[BP__LATTICE_DIMENSIONS];
            bp__lattice_sizes(t->class->lattice, point, sizes);
            double product_ns;
            const double again = value_at(t->class, t->candidate, sizes, AGAIN_TURNS * t->turn_ns, &product_ns);
            t->times[point] = again > 0 && again < t->times[point] ? again : t->times[point];
        }
    }
}

static bool is_any_measured(const task *t) {
    for (int point = 0; point < bp__lattice_points(t->class->lattice); point++) {
        if (t->times[point] > 0) {
            return true;
        }
    }
    return false;
}

static bp_options *options_for(const bp__class *class, const char *candidate, int threads) {
    bp__text text = {0};
    bp_options *options;
    bp__text_addf(&text, "num_threads=%d,dispatch.fallback=strict", threads);
    call_add_preferences(&text, class, candidate);
    bp__text_addf(&text, "%s%s", class->settings ? "," : "", class->settings ? class->settings : "");
    if (text.failed || bp_options_new(&options, bp__text_get(&text)) != BP_OK) {
        report("error", "%s", bp_last_error());
        _exit(1);
    }
    bp__text_free(&text);
    return options;
}

/* Returns the share of the time of a class that one with few points gets, so that the classes of other types and of
 * gradients do not double the time of all. */
static double share_of_time(const bp__class *class) {
    const int points = bp__lattice_points(class->lattice);
    return points < WHOLE_POINTS ? (double)points / WHOLE_POINTS : 1;
}

/* Measures the points with the number of threads of the class. A library whose threads cannot be limited refuses one
 * thread: its other operations are measured with all, because a ratio to an estimate holds for both. */
static void measure_with_threads(task *t, int own, int threads) {
    t->deadline = cpu_ns() + (int64_t)(t->budget_ms * 1e6);
    measure_points(t);
    if (!t->class->times && own < threads && !is_any_measured(t)) {
        bp_options_release(t->candidate);
        t->candidate = options_for(t->class, t->name, threads);
        measure_points(t);
    }
}

static void measure_class(task *t, int own, int threads) {
    const bool is_base = bp__class_is_base(t->class);
    const int points = bp__lattice_points(t->class->lattice);
    memset(t->times, 0, sizeof t->times);
    if (is_base && !keeps_up(t) && !bp__text_equal(t->name, "native")) {
        return;
    }
    measure_with_threads(t, own, threads);
    t->deadline += (int64_t)(t->budget_ms * 1e6 / 2);
    measure_slowed(t);
    measure_doubtful(t);
    for (int point = 0; point < points; point += LINE) {
        report_times(t->class->name, "times", point, t->times + point, points - point < LINE ? points - point : LINE);
    }
}

/* Returns the id of the library that is measured, the first of the paths, for operations like the one of the class. It
 * is probed no further. */
static const char *find_library(const char *paths, const bp__class *class) {
    const size_t length = strcspn(paths, ":");
    const bp_problem sample = {.op = class->op};
    const bp_library_info **entries;
    int count;
    bp__libraries_leave_rest();
    if (bp__libraries(bp__need_of(&sample), &entries, &count) != BP_OK) {
        report("error", "%s", bp_last_error());
        _exit(1);
    }
    for (int i = 0; i < count; i++) {
        if (strlen(entries[i]->path) == length && memcmp(entries[i]->path, paths, length) == 0) {
            return entries[i]->id;
        }
    }
    report("error", "%.*s is not listed", (int)length, paths);
    _exit(1);
}

/* Writes the name of the candidate, as for blas.preferred. */
static void write_candidate(char *name, size_t size, const char *provider, const char *classes) {
    const char *paths = "";
    char first[BP__CLASS_NAME_BYTES];
    bp_get("registry.library_path", &paths, NULL, NULL);
    snprintf(first, sizeof first, "%.*s", (int)strcspn(classes, ","), classes);
    const int class = bp__class_named(first);
    if (*paths && class >= 0) {
        snprintf(name, size, "%s:%s", find_library(paths, &bp__classes[class]), provider);
    } else {
        snprintf(name, size, "%s", provider);
    }
}

/* Sets the environment of this process: the settings of discovery are read from it, when the library is first used. */
static void set_all(char **settings, int count) {
    for (int i = 0; i < count; i++) {
        char *value = strchr(settings[i], '=');
        if (!value) {
            continue;
        }
        *value++ = '\0';
        const bp_setting_info *info = bp_setting_at(bp_setting_find(settings[i]));
        if (info) {
            setenv(info->environment, value, 1);
            unsetenv(info->alias); /* it would replace an empty value */
        }
    }
}

/* Adds times of native at the first points to the report's; the least ones count. */
static void measure_speed(double turn_ns, double least[BP__FIRST_POINTS]) {
    double times[BP__FIRST_POINTS];
    const bp__class *products = &bp__classes[bp__class_base(BP_F64)];
    bp_options *options = options_for(products, "native", 1);
    measure_first(products, options, turn_ns, times);
    for (int i = 0; i < BP__FIRST_POINTS; i++) {
        least[i] = least[i] > 0 && least[i] < times[i] ? least[i] : times[i];
    }
    bp_options_release(options);
    report_times("speed", "native", -1, least, BP__FIRST_POINTS);
}

_Noreturn void measure_main(int count, char **words) {
    if (count < FIXED_WORDS) {
        _exit(2);
    }
    start_supervised(strtoll(words[7], NULL, 10), strtoll(words[8], NULL, 10));
    isolate();
    set_all(words + FIXED_WORDS, count - FIXED_WORDS);
    bp_set("calibration", "off");
    bp_set("benchmark", "false");
    bp_set("tuning.store", "off");
    bp_set("plan_cache.max_size", "0");
    bp_set("fft.plan_cache.max_size", "0");
    char candidate[256];
    write_candidate(candidate, sizeof candidate, words[2], words[3]);
    const int threads = (int)strtol(words[4], NULL, 10);
    const double turn_ns = strtod(words[5], NULL);
    char *rest = NULL;
    double speeds[BP__FIRST_POINTS] = {0};
    bp_options *native = options_for(&bp__classes[0], "native", 1);
    speed_begin(native);
    bp_options_release(native);
    measure_speed(turn_ns, speeds);
    for (char *name = strtok_r(words[3], ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        static task t;
        const int index = bp__class_named(name);
        if (index < 0) {
            continue;
        }
        t.class = &bp__classes[index];
        t.name = candidate;
        const int own = t.class->times && t.class->variant == BP__VARIANT_THREADED ? threads : 1;
        t.candidate = options_for(t.class, candidate, own);
        t.native = options_for(t.class, "native", own);
        t.turn_ns = turn_ns;
        t.budget_ms = strtod(words[6], NULL) * share_of_time(t.class);
        measure_class(&t, own, threads);
        bp_options_release(t.candidate);
        bp_options_release(t.native);
    }
    measure_speed(turn_ns, speeds);
    report("done", "1");
    _exit(0); /* without running destructors of the library */
}
