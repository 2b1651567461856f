/* doctor_times.c - tells how long a large product takes on a library and on the fastest one, from the times that
 * choices use. Nothing is measured. */
#include "doctor.h"

#include <string.h>

enum { SIZE = 1024 };

/* Returns the candidates of a product of square matrices in f64; NULL if there are none. 0 threads: as set. */
static bp_explanation *explain_product(int threads) {
    char settings[80] = "calibration=read";
    bp_explanation *explanation = NULL;
    bp_options *options = NULL;
    bp_view a, b, c;
    if (threads > 0) {
        snprintf(settings, sizeof settings, "calibration=read, threads.adapt=false, num_threads=%d", threads);
    }
    if (bp_options_new(&options, settings) == BP_OK && bp_view_matrix(&a, NULL, BP_F64, SIZE, SIZE) == BP_OK &&
        bp_view_matrix(&b, NULL, BP_F64, SIZE, SIZE) == BP_OK &&
        bp_view_matrix(&c, NULL, BP_F64, SIZE, SIZE) == BP_OK &&
        bp_gemm_explain(&explanation, options, BP_AS_IS, BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL, &c.tensor) !=
            BP_OK) {
        explanation = NULL;
    }
    bp_options_release(options);
    return explanation;
}

/* Returns the accepted candidate with the shortest time; of one library, unless `library` is NULL. */
static bool fastest_of(const bp_explanation *explanation, const char *library, bp_candidate_info *best) {
    bp_candidate_info info = {.struct_size = sizeof info};
    bool found = false;
    for (int i = 0; bp_explanation_at(explanation, i, &info); i++) {
        const bool mine = info.accepted && (!library || strcmp(info.library, library) == 0);
        if (mine && (!found || info.cost_ns < best->cost_ns)) {
            *best = info;
            found = true;
        }
    }
    return found;
}

static bool is_measured(const bp_candidate_info *info) {
    return info->time_source == BP_TIME_MEASURED || info->time_source == BP_TIME_INTERPOLATED;
}

char *doctor_saving(const char *library) {
    bp_explanation *explanation = explain_product(0);
    bp_candidate_info slow, fast;
    char *text = NULL, slow_time[32], fast_time[32];
    if (explanation && fastest_of(explanation, library, &slow) && fastest_of(explanation, NULL, &fast) &&
        slow.cost_ns > 1.1 * fast.cost_ns) {
        text = cli_format("a product of %dx%d matrices in f64 takes %s on %s and %s on %s (%s)", SIZE, SIZE,
                          bp__duration(slow.cost_ns, slow_time, sizeof slow_time), library,
                          bp__duration(fast.cost_ns, fast_time, sizeof fast_time), fast.library,
                          is_measured(&slow) && is_measured(&fast) ? "measured on this machine" : "estimated");
    }
    bp_explanation_release(explanation);
    return text;
}

static const char *plural(int count) {
    return count == 1 ? "" : "s";
}

char *doctor_threads_saving(int few, int more) {
    bp_explanation *slow = explain_product(few), *fast = explain_product(more);
    bp_candidate_info on_few, on_more;
    char *text = NULL, slow_time[32], fast_time[32];
    if (slow && fast && fastest_of(slow, NULL, &on_few) && fastest_of(fast, NULL, &on_more) &&
        on_few.cost_ns > 1.1 * on_more.cost_ns) {
        text = cli_format("a product of %dx%d matrices in f64 takes %s on %d thread%s and %s on %d thread%s (%s)", SIZE,
                          SIZE, bp__duration(on_few.cost_ns, slow_time, sizeof slow_time), few, plural(few),
                          bp__duration(on_more.cost_ns, fast_time, sizeof fast_time), more, plural(more),
                          is_measured(&on_few) && is_measured(&on_more) ? "measured on this machine" : "estimated");
    }
    bp_explanation_release(slow);
    bp_explanation_release(fast);
    return text;
}
