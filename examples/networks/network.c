/* network.c - weights, nodes and messages of the example networks. */
#include "network.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void stop(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

void check(bp_status status, const char *call) {
    if (status != BP_OK) {
        stop("%s: %s", call, bp_last_error());
    }
}

void *need(void *memory) {
    if (!memory) {
        stop("out of memory");
    }
    return memory;
}

/* ---- Weights and nodes ---- */

void view_weight(bp_weights *file, bp_view *view, bp_dtype type, const int64_t *shape, const char *name) {
    bp_weight_info info = {.struct_size = sizeof info};
    const int index = bp_weights_index(file, name);
    int ndim = 0;
    if (!bp_weights_at(file, index, &info)) {
        stop("the weights have no tensor %s", name);
    }
    while (shape[ndim] && ndim < info.ndim && info.shape[ndim] == shape[ndim]) {
        ndim++;
    }
    if (info.dtype != type || ndim != info.ndim || shape[ndim] != 0) {
        stop("%s has another type or shape than this program needs", name);
    }
    CHECK(bp_weights_view(view, file, index));
}

bp_value add_weight(bp_graph *graph, bp_weights *file, const char *name, ...) {
    char text[128];
    bp_value value;
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    CHECK(bp_graph_weight(graph, NULL, file, text, &value));
    return value;
}

bp_value add_call(bp_graph *graph, const char *call, const char *fields, int count, const bp_value *operands) {
    bp_value value;
    CHECK(bp_graph_call(graph, call, fields, count, operands, 1, (bp_value *[]){&value}));
    return value;
}

/* ---- Messages, times and options ---- */

static bool explain;

void run_network(const network *n) {
    CHECK(bp_graph_run(n->options, n->graph, n->in, n->out));
}

void explain_network(const network *n) {
    bp_explanation *page;
    if (explain) {
        CHECK(bp_graph_explain(&page, n->options, n->graph, n->in, (const DLTensor *const *)n->out));
        const char *text = bp_explanation_text(page), *end = strstr(text, "\n\n"); /* what follows has all candidates */
        fprintf(stderr, "%.*s\n", end ? (int)(end - text) : -1, text);
        bp_explanation_release(page);
    }
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void time_runs(const char *name, int repeats, void (*run)(void *context), void *context) {
    double *times = need(malloc((size_t)repeats * sizeof *times));
    for (int i = 0; i < repeats; i++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        run(context);
        clock_gettime(CLOCK_MONOTONIC, &to);
        times[i] = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6;
    }
    qsort(times, (size_t)repeats, sizeof *times, by_value);
    fprintf(stderr, "%s: %.3f ms\n", name, times[repeats / 2]);
    free(times);
}

int read_options(int count, char **arguments, bp_options **options, int *repeats) {
    char text[4096] = "";
    int i = 1;
    for (; i < count && strncmp(arguments[i], "--", 2) == 0; i++) {
        if (strcmp(arguments[i], "--explain") == 0) {
            explain = true;
        } else if (strcmp(arguments[i], "--repeat") == 0 && i + 1 < count) {
            *repeats = atoi(arguments[++i]);
        } else if (strcmp(arguments[i], "--set") == 0 && i + 1 < count) {
            const size_t used = strlen(text);
            if ((size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "," : "", arguments[++i]) >=
                sizeof text - used) {
                stop("too many settings");
            }
        } else {
            break;
        }
    }
    *options = NULL;
    if (*text) {
        CHECK(bp_options_new(options, text));
    }
    return i;
}
