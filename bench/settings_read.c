/* settings_read.c - measures the time to read a setting, in nanoseconds: without a scope, inside one, and as text. */
#include <backplane.h>

#include <stdio.h>
#include <time.h>

enum { TIMES = 200000, ROUNDS = 300 }; /* short rounds, so that some of them run undisturbed on a busy machine */

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void read_number(int times) {
    for (int i = 0; i < times; i++) {
        (void)bp_get_num_threads();
    }
}

static void read_word(int times) {
    for (int i = 0; i < times; i++) {
        (void)bp_get_dispatch_fallback();
    }
}

static void read_resolved(int times) {
    for (int i = 0; i < times; i++) {
        (void)bp_get_mkldnn_matmul_fp32_precision();
    }
}

static void read_as_text(int times) {
    const char *value, *where;
    bp_layer layer;
    for (int i = 0; i < times; i++) {
        (void)bp_get("num_threads", &value, &layer, &where);
    }
}

static void enter_and_leave(int times) {
    bp_scope *scope;
    for (int i = 0; i < times; i++) {
        (void)bp_scope_enter(&scope, "num_threads=1");
        (void)bp_scope_leave(&scope);
    }
}

/* Prints the minimum over all rounds, because disturbances only add time. */
static void report(const char *what, void (*run)(int times), int times) {
    double best = 1e30;
    run(times / 10);
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        run(times);
        double each = (now_ns() - start) / times;
        best = each < best ? each : best;
    }
    printf("%-46s %8.2f ns\n", what, best);
}

int main(void) {
    bp_scope *scope;
    printf("backplane %s\n", bp_version());
    report("bp_get_num_threads, no scope", read_number, TIMES);
    report("bp_get_dispatch_fallback (a word), no scope", read_word, TIMES);
    report("bp_get_mkldnn_matmul_fp32_precision, inherited", read_resolved, TIMES);
    report("bp_get as text, with layer and origin", read_as_text, TIMES / 50);
    report("bp_scope_enter and bp_scope_leave", enter_and_leave, TIMES / 50);
    if (bp_scope_enter(&scope, "num_threads=1") != BP_OK) {
        fprintf(stderr, "%s\n", bp_last_error());
        return 1;
    }
    report("bp_get_num_threads, inside a scope", read_number, TIMES);
    return bp_scope_leave(&scope) == BP_OK ? 0 : 1;
}
