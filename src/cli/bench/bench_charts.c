/* bench_charts.c - makes the figures of bench's page from the report. */
#include "bench_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void figure_begin(bp__text *out, const char *caption) {
    bp__text_add(out, "<figure><figcaption>");
    svg_escape(out, caption);
    bp__text_add(out, "</figcaption>");
}

static void figure_end(bp__text *out) {
    bp__text_add(out, "</figure>\n");
}

static char *caption_of(bp_dtype dtype, int threads) {
    return cli_format("%s, %d thread%s", bp_dtype_name(dtype), threads, threads == 1 ? "" : "s");
}

static svg_series *add_series(svg_chart *chart, const char *name, int style, bool line) {
    if (chart->count == SVG_MOST_SERIES) {
        return NULL;
    }
    svg_series *one = &chart->series[chart->count++];
    *one = (svg_series){.style = style, .line = line};
    bp__copy_text(one->name, sizeof one->name, name);
    return one;
}

static void add_point(svg_series *series, double x, double y) {
    if (series && series->count < SVG_MOST_POINTS && x > 0 && y > 0) {
        series->x[series->count] = x;
        series->y[series->count++] = y;
    }
}

static bool is_of(const bench_case *c, const cli_operation *operation, bp_dtype dtype, int threads) {
    return c->operation == operation && c->dtype == dtype && c->threads == threads;
}

/* ---- Speed against size ---- */

static const bench_result *result_of(const bench_case *c, const char *library) {
    for (int i = 0; i < c->count; i++) {
        if (c->results[i].times.count > 0 && strcmp(c->results[i].library, library) == 0) {
            return &c->results[i];
        }
    }
    return NULL;
}

static void add_tick(svg_chart *chart, double x) {
    for (int i = 0; i < chart->x_tick_count; i++) {
        if (chart->x_ticks[i] == x) {
            return;
        }
    }
    if (chart->x_tick_count < SVG_MOST_POINTS) {
        chart->x_ticks[chart->x_tick_count++] = x;
    }
}

/* Adds the points of one library; of the choice if `library` is NULL. Leaves out a series without points. */
static void add_library(svg_chart *chart, const bench_report *report, const cli_operation *operation, bp_dtype dtype,
                        int threads, const char *library, int style) {
    svg_series *series = add_series(chart, library ? library : "the choice", style, true);
    for (int i = 0; series && i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        if (is_of(c, operation, dtype, threads)) {
            const bench_result *chosen = c->chosen >= 0 ? &c->results[c->chosen] : NULL;
            const bench_result *r = library ? result_of(c, library) : chosen && chosen->times.count ? chosen : NULL;
            if (r) {
                add_point(series, (double)c->size, r->speed);
                add_tick(chart, (double)c->size);
            }
        }
    }
    chart->count -= series && series->count == 0;
}

/* "At n = 16 the choice is native with 70.1 GFLOP/s; ..." */
static char *describe_choices(const bench_report *report, const cli_operation *operation, bp_dtype dtype, int threads) {
    char *text = cli_format("Speed of each library against the size, on logarithmic axes.");
    for (int i = 0; i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        if (is_of(c, operation, dtype, threads) && c->ratio > 0) {
            const bench_result *r = &c->results[c->chosen];
            char *one = cli_format("At n = %lld the choice is %s with %.3g %s, %.2f times the time of the fastest.",
                                   (long long)c->size, r->library, r->speed, bench_unit(operation), c->ratio);
            text = cli_join(text, " ", one);
            free(one);
        }
    }
    return text;
}

void chart_speed(bp__text *out, const bench_report *report, const cli_operation *operation, bp_dtype dtype,
                 int threads) {
    svg_chart *chart = cli_allocate(sizeof *chart);
    char *caption = caption_of(bench_dtype(operation, dtype), threads);
    char *title = cli_format("%s, %s", operation->name, caption);
    char *description = describe_choices(report, operation, dtype, threads);
    chart->title = title;
    chart->description = description;
    chart->x_label = "n";
    chart->y_label = bench_unit(operation);
    add_library(chart, report, operation, dtype, threads, NULL, SVG_BAND);
    for (int i = 0; i < report->library_count; i++) {
        add_library(chart, report, operation, dtype, threads, report->libraries[i], i);
    }
    if (chart->count > 0) {
        figure_begin(out, caption);
        svg_draw_chart(out, chart);
        figure_end(out);
    }
    free(description);
    free(title);
    free(caption);
    free(chart);
}

/* ---- Roofline ---- */

void chart_roofline(bp__text *out, const bench_report *report, bp_dtype dtype, int threads) {
    const bench_request *q = report->request;
    svg_chart *chart = cli_allocate(sizeof *chart);
    chart->roof = bench_peak_of(report, dtype, threads);
    chart->slope = bench_bandwidth_of(report, threads);
    char *limits = caption_of(dtype, threads);
    char *caption = cli_format("%s: peak %.3g GFLOP/s, memory %.3g GB/s", limits, chart->roof, chart->slope);
    char *title = cli_format("Roofline, %s", limits);
    int points = 0;
    char *description =
        cli_format("GFLOP/s of the choices against operations per byte. The measured peak is %.3g GFLOP/s, the "
                   "measured bandwidth %.3g GB/s.",
                   chart->roof, chart->slope);
    chart->title = title;
    chart->description = description;
    chart->x_label = "operations per byte";
    chart->y_label = "GFLOP/s";
    for (int o = 0; o < q->operation_count; o++) {
        svg_series *series = add_series(chart, q->operations[o]->name, o, false);
        for (int i = 0; series && i < report->case_count; i++) {
            const bench_case *c = &report->cases[i];
            bool ran = is_of(c, q->operations[o], dtype, threads) && c->ratio > 0;
            if (ran) {
                add_point(series, c->flops / c->bytes, c->flops / c->results[c->chosen].times.median);
            }
        }
        points += series ? series->count : 0;
        chart->count -= series && series->count == 0;
    }
    if (points > 0) {
        figure_begin(out, caption);
        svg_draw_chart(out, chart);
        figure_end(out);
    }
    free(limits);
    free(description);
    free(title);
    free(caption);
    free(chart);
}

/* ---- Overhead and errors ---- */

static svg_row *add_row(svg_rows *rows, const char *label) {
    if (rows->count == SVG_MOST_SERIES) {
        return NULL;
    }
    svg_row *row = &rows->rows[rows->count++];
    bp__copy_text(row->label, sizeof row->label, label);
    return row;
}

static void add_mark(svg_row *row, int style, double value, bool limit) {
    if (row && row->count < SVG_MOST_SERIES && value > 0) {
        row->marks[row->count++] = (svg_mark){.style = style, .value = value, .limit = limit};
    }
}

static void add_legend(svg_rows *rows, const char *name, int style) {
    if (rows->legend_count < SVG_MOST_SERIES) {
        rows->legend[rows->legend_count].style = style;
        bp__copy_text(rows->legend[rows->legend_count].name, sizeof rows->legend[0].name, name);
        rows->legend_count++;
    }
}

void chart_overhead(bp__text *out, const bench_report *report) {
    svg_rows *rows = cli_allocate(sizeof *rows);
    rows->title = "Time of the smallest call";
    rows->description = "Nanoseconds of a one-shot call and of a kept plan for each operation. The table below has the "
                        "numbers.";
    rows->x_label = "nanoseconds";
    for (int i = 0; i < report->overhead_count; i++) {
        svg_row *row = add_row(rows, report->overheads[i].operation->name);
        add_mark(row, 1, report->overheads[i].one_shot_ns, false);
        add_mark(row, 0, report->overheads[i].plan_ns, false);
    }
    add_legend(rows, "one-shot", 1);
    add_legend(rows, "kept plan", 0);
    if (rows->count > 0) {
        figure_begin(out, "size 2, one thread");
        svg_draw_rows(out, rows);
        figure_end(out);
    }
    free(rows);
}

/* Marks an error that is exactly 0 a factor of ten below the rounding unit: a logarithmic axis has no 0. */
static double visible_error(double error, double bound) {
    return error > 0 ? error : bound / 1e5;
}

void chart_errors(bp__text *out, const bench_report *report, bp_dtype dtype) {
    const bench_request *q = report->request;
    svg_rows *rows = cli_allocate(sizeof *rows);
    bool used[SVG_MOST_SERIES] = {false};
    char *title = cli_format("Errors, %s", bp_dtype_name(dtype));
    rows->title = title;
    rows->description = "The error of each library for each operation, on a logarithmic axis. The table below has the "
                        "numbers.";
    rows->x_label = "relative error";
    rows->limit_name = "bound";
    for (int o = 0; o < q->operation_count; o++) {
        const bench_case *c = bench_checked_case(report, q->operations[o], dtype);
        if (!c) {
            continue;
        }
        char *label = cli_format("%s, n = %lld", c->operation->name, (long long)c->size);
        svg_row *row = add_row(rows, label);
        free(label);
        for (int i = 0; i < c->count; i++) {
            int library = bench_library_index(report, c->results[i].library);
            if (c->results[i].error >= 0 && library >= 0 && library < SVG_MOST_SERIES) {
                used[library] = true;
                add_mark(row, library, visible_error(c->results[i].error, c->error_bound), false);
            }
        }
        add_mark(row, 0, c->error_bound, true);
    }
    for (int i = 0; i < report->library_count && i < SVG_MOST_SERIES; i++) {
        if (used[i]) {
            add_legend(rows, report->libraries[i], i);
        }
    }
    if (rows->count > 0) {
        figure_begin(out, bp_dtype_name(dtype));
        svg_draw_rows(out, rows);
        figure_end(out);
    }
    free(title);
    free(rows);
}
