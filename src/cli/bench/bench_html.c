/* bench_html.c - writes the report of bench as one page. bench_charts.c makes its charts. */
#include "bench_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The head of the page ---- */

static void card(bp__text *out, const char *name, const char *detail, const char *format, ...) BP_PRINTF(4, 5);
static void card(bp__text *out, const char *name, const char *detail, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    bp__text_add(out, "<div><dt>");
    svg_escape(out, name);
    bp__text_add(out, "</dt><dd>");
    svg_escape(out, text);
    bp__text_add(out, "<small>");
    svg_escape(out, detail);
    bp__text_add(out, "</small></dd></div>");
    free(text);
}

static void add_scores(bp__text *out, const bench_report *report) {
    bench_score score = bench_score_of(report);
    char *detail = cli_format("geometric mean of %d cases", score.count);
    bp__text_add(out, "<dl class=\"cards\">");
    if (score.count > 0) {
        card(out, "Choice / fastest library", detail, "%.2f", score.mean);
        card(out, "Worst case", "time of the choice / time of the fastest", "%.2f", score.worst);
    }
    free(detail);
    for (int i = 0; i < report->peak_count; i++) {
        const bench_peak *p = &report->peaks[i];
        char *name = cli_format("Peak %s, %d thread%s", bp_dtype_name(p->dtype), p->threads, p->threads > 1 ? "s" : "");
        if (p->gflops > 0) {
            card(out, name, p->library, "%.3g GFLOP/s", p->gflops);
        }
        free(name);
    }
    for (int i = 0; i < report->bandwidth_count; i++) {
        const bench_bandwidth *b = &report->bandwidths[i];
        char *name = cli_format("Memory, %d thread%s", b->threads, b->threads > 1 ? "s" : "");
        if (b->gb_per_s > 0) {
            card(out, name, "triad", "%.3g GB/s", b->gb_per_s);
        }
        free(name);
    }
    bp__text_add(out, "</dl>\n");
}

static void add_head(bp__text *out, const bench_report *report) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    bool known = bp_machine(&machine) == BP_OK;
    const char *model = known && machine.cpu_model[0] ? machine.cpu_model : "this machine";
    char *title = cli_format("Backplane bench: %s", model);
    html_page_begin(out, title);
    free(title);
    bp__text_add(out, "<header><h1>Libraries on ");
    svg_escape(out, model);
    bp__text_add(out, "</h1><p class=\"soft\">");
    html_text(out, "%d cores, %s kernels, Backplane %s, %s. Measured in %.0f s%s.", known ? machine.usable_cpus : 0,
              bp_cpu_capability(), bp_version(), report->date, report->elapsed,
              report->interrupted ? "; interrupted, so the rest is missing" : "");
    bp__text_add(out, "</p></header>\n<nav aria-label=\"Sections\"><a href=\"#findings\">Findings</a>"
                      "<a href=\"#libraries\">Libraries</a><a href=\"#speed\">Speed</a>"
                      "<a href=\"#roofline\">Roofline</a><a href=\"#overhead\">Overhead</a>"
                      "<a href=\"#error\">Error</a><a href=\"#table\">All measurements</a>"
                      "<a href=\"#machine\">Machine and versions</a></nav>\n<main>");
}

/* ---- Findings ---- */

static void finding(bp__text *out, const char *severity, const char *topic, const char *format, ...) BP_PRINTF(4, 5);
static void finding(bp__text *out, const char *severity, const char *topic, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    bp__text_addf(out, "<li class=\"%s\"><b>%s</b> <span class=\"soft\">", severity, severity);
    html_text(out, "%s", topic);
    bp__text_add(out, "</span><p>");
    html_prose(out, text);
    bp__text_add(out, "</p></li>\n");
    free(text);
}

/* The choice is good enough within the spread of samples. */
#define GOOD_RATIO 1.1
#define BAD_RATIO 1.5
enum { MOST_LOSSES = 4 };

static const bench_case *worst_case(const bench_report *report, double below) {
    const bench_case *worst = NULL;
    for (int i = 0; i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        worst = c->ratio > BAD_RATIO && c->ratio < below && (!worst || c->ratio > worst->ratio) ? c : worst;
    }
    return worst;
}

static void find_losses(bp__text *out, const bench_report *report) {
    const bench_case *c = worst_case(report, HUGE_VAL);
    for (int i = 0; c && i < MOST_LOSSES; i++, c = worst_case(report, c->ratio)) {
        char time[32], least[32];
        finding(
            out, "warning", "choice",
            "%s of %s, n = %lld, %d thread%s: the choice, %s, takes %s, and %s takes %s. `backplane tune --machine` "
            "measures the times that choices use.",
            c->operation->name, bp_dtype_name(bench_dtype(c->operation, c->dtype)), (long long)c->size, c->threads,
            c->threads == 1 ? "" : "s", c->results[c->chosen].library,
            bp__duration(c->results[c->chosen].times.median, time, sizeof time), c->results[c->best].library,
            bp__duration(c->results[c->best].times.median, least, sizeof least));
    }
}

static void find_wrong(bp__text *out, const bench_report *report) {
    for (int i = 0; i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        for (int r = 0; r < c->count; r++) {
            if (c->results[r].wrong) {
                finding(out, "error", "result",
                        "%s gives a wrong result: %s, error %.1e; rounding explains at most %.1e. `backplane set "
                        "dispatch.exclude %s` excludes it.",
                        c->results[r].library, c->problem, c->results[r].error, c->error_bound, c->results[r].library);
            }
        }
    }
}

static int count_good(const bench_report *report) {
    int good = 0;
    for (int i = 0; i < report->case_count; i++) {
        good += report->cases[i].ratio > 0 && report->cases[i].ratio <= GOOD_RATIO;
    }
    return good;
}

static int count_skipped(const bench_report *report) {
    int skipped = 0;
    for (int i = 0; i < report->case_count; i++) {
        skipped += report->cases[i].skipped != NULL;
    }
    return skipped;
}

/* Tells of processes that took processors from the measurement. */
static void find_load(bp__text *out, const bench_report *report) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    if (report->load > 0.5 && bp_machine(&machine) == BP_OK) {
        finding(
            out, "warning", "load",
            "Other processes kept %.1f of %d processors busy. Measure again on an idle machine: times are too long, "
            "on several threads most.",
            report->load, machine.usable_cpus);
    }
}

static void add_findings(bp__text *out, const bench_report *report) {
    const bench_score score = bench_score_of(report);
    const int skipped = count_skipped(report);
    bp__text_add(out, "<h2 id=\"findings\">Findings</h2><ul class=\"findings\">\n");
    find_wrong(out, report);
    find_losses(out, report);
    if (score.count > 0) {
        finding(out, score.worst <= BAD_RATIO ? "ok" : "note", "choice",
                "The choice is the fastest library, or within %.0f %% of it, in %d of %d cases.",
                100 * (GOOD_RATIO - 1), count_good(report), score.count);
    }
    if (score.slow > 0) {
        finding(
            out, "note", "processor",
            "In %d of %d cases the processor ran more than %.1f times slower than at its best. Their speeds are too "
            "low; ratios are of the same moments.",
            score.slow, score.count, BENCH_SLOW);
    }
    find_load(out, report);
    if (skipped > 0) {
        finding(out, "note", "time", "%d of %d cases were not measured; the table of measurements says why.", skipped,
                report->case_count);
    }
    bp__text_add(out, "</ul>\n");
}

/* ---- Libraries ---- */

/* How one library compares with the fastest one, in all cases in which both ran. */
typedef struct comparison {
    int cases, fastest;
    double mean, worst;
} comparison;

static comparison compare_library(const bench_report *report, const char *library) {
    comparison found = {.cases = 0};
    for (int i = 0; i < report->case_count; i++) {
        const bench_case *c = &report->cases[i];
        for (int r = 0; r < c->count && c->best >= 0; r++) {
            const bench_result *one = &c->results[r];
            if (one->times.count > 0 && !one->wrong && strcmp(one->library, library) == 0) {
                const double ratio = one->times.median / c->results[c->best].times.median;
                found.cases++;
                found.fastest += r == c->best;
                found.mean += log(ratio);
                found.worst = fmax(found.worst, ratio);
            }
        }
    }
    found.mean = found.cases ? exp(found.mean / found.cases) : 0;
    return found;
}

static const char *ratio_kind(double ratio) {
    return ratio <= 0 ? "" : ratio <= GOOD_RATIO ? "good" : ratio <= BAD_RATIO ? "mid" : "bad";
}

static void add_comparison(bp__text *out, const bench_report *report) {
    html_table table;
    bp__text_add(out, "<h2 id=\"libraries\">Libraries compared</h2><p>Time of each library, divided by the time of the "
                      "fastest one in the same case. 1.00 is the fastest.</p>\n");
    bp__text_add(out, "<div class=\"compact\">");
    html_table_begin(&table, out, "Time / fastest", "Library|>Cases|>Fastest in|>Geometric mean|>Largest");
    for (int i = 0; i < report->library_count; i++) {
        const comparison c = compare_library(report, report->libraries[i]);
        html_row(&table, "");
        html_cell(&table, "", "%s", report->libraries[i]);
        html_cell(&table, "", "%d", c.cases);
        html_cell(&table, "", "%d", c.fastest);
        html_cell(&table, ratio_kind(c.mean), "%.2f", c.mean);
        html_cell(&table, "", "%.2f", c.worst);
    }
    html_table_end(&table);
    bp__text_add(out, "</div>\n");
}

/* ---- Sections ---- */

static void add_speed(bp__text *out, const bench_report *report) {
    const bench_request *q = report->request;
    bp__text_add(out, "<h2 id=\"speed\">Speed against size</h2><p>Each marker is the median of interleaved samples of "
                      "one library; higher is faster. The broad band is the library that Backplane chooses for each "
                      "size without preferences. Where it follows the upper envelope, the choice is the fastest "
                      "one.</p>\n<div class=\"pairs\">");
    for (int o = 0; o < q->operation_count; o++) {
        const cli_operation *operation = q->operations[o];
        bp__text_add(out, "<section><h3>");
        char *shapes = bench_shapes(operation);
        html_text(out, "%s (%s; %s operations)", operation->name, q->shapes ? q->shapes : shapes,
                  operation->sizing->count);
        free(shapes);
        bp__text_add(out, "</h3><div class=\"charts\">");
        for (int d = 0; d < q->dtype_count; d++) {
            for (int t = 0; t < q->thread_count; t++) {
                chart_speed(out, report, operation, q->dtypes[d], (int)q->threads[t]);
            }
        }
        bp__text_add(out, "</div></section>\n");
    }
    bp__text_add(out, "</div>\n");
}

static void add_roofline(bp__text *out, const bench_report *report) {
    const bench_request *q = report->request;
    bp__text_add(out, "<h2 id=\"roofline\">Roofline</h2><p>The dashed line is the limit of the machine as measured: "
                      "the bandwidth of the memory for operations with few calculations per byte, and the fastest "
                      "matrix product for the others. Markers are the choices, one for each size. Small arrays stay "
                      "in the caches, so they may be above the slope.</p><div class=\"charts\">");
    for (int d = 0; d < q->dtype_count; d++) {
        for (int t = 0; t < q->thread_count; t++) {
            chart_roofline(out, report, q->dtypes[d], (int)q->threads[t]);
        }
    }
    bp__text_add(out, "</div>\n");
}

static void add_overhead(bp__text *out, const bench_report *report) {
    char one[32], two[32];
    bp__text_add(out, "<h2 id=\"overhead\">Per-call overhead</h2><p>Time of the smallest call, of size 2, on one "
                      "thread: the library's own part is a few nanoseconds to a few hundred. A one-shot call finds its "
                      "plan in a cache. A kept plan skips the checks and the search.</p><div class=\"charts\">");
    chart_overhead(out, report);
    bp__text_add(out, "</div>");
    html_table table;
    html_table_begin(&table, out, "Time of the smallest call", "Operation|Type|Library|>One-shot|>Kept plan");
    for (int i = 0; i < report->overhead_count; i++) {
        const bench_overhead *o = &report->overheads[i];
        html_row(&table, "");
        html_cell(&table, "", "%s", o->operation->name);
        html_cell(&table, "", "%s", bp_dtype_name(bench_dtype(o->operation, o->dtype)));
        html_cell(&table, "", "%s", o->library);
        html_cell(&table, "", "%s", bp__duration(o->one_shot_ns, one, sizeof one));
        html_cell(&table, "", "%s", bp__duration(o->plan_ns, two, sizeof two));
    }
    html_table_end(&table);
}

static void error_rows(html_table *table, const bench_case *c) {
    for (int i = 0; i < c->count; i++) {
        const bench_result *r = &c->results[i];
        if (r->error < 0) {
            continue;
        }
        html_row(table, r->chosen ? "ours" : "");
        html_cell(table, "", "%s", c->operation->name);
        html_cell(table, "", "%s", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
        html_cell(table, "", "%lld", (long long)c->size);
        html_cell(table, "", "%s", r->library);
        html_cell(table, r->wrong ? "bad" : "", "%.1e%s", r->error, r->wrong ? " wrong" : "");
        html_cell(table, "", "%.1e", c->error_bound);
        html_cell(table, "wide", "%s", c->error_text);
    }
}

static void add_errors(bp__text *out, const bench_report *report) {
    const bench_request *q = report->request;
    bp__text_add(out, "<h2 id=\"error\">Error of each library and precision</h2><p>Results are compared with a "
                      "reference of higher precision, or by the equations that they must satisfy. The dashed marks are "
                      "the bounds below which rounding explains the error.</p><div class=\"charts\">");
    for (int d = 0; d < q->dtype_count; d++) {
        chart_errors(out, report, q->dtypes[d]);
    }
    bp__text_add(out, "</div><details><summary>Errors as a table</summary>");
    html_table table;
    html_table_begin(&table, out, "Errors", "Operation|Type|>n|Library|>Error|>Bound|What it is");
    for (int o = 0; o < q->operation_count; o++) {
        for (int d = 0; d < q->dtype_count; d++) {
            const bench_case *c = bench_checked_case(report, q->operations[o], q->dtypes[d]);
            if (c) {
                error_rows(&table, c);
            }
        }
    }
    html_table_end(&table);
    bp__text_add(out, "</details>\n");
}

static void case_cells(html_table *table, const bench_case *c, const char *kind) {
    html_row(table, kind);
    html_cell(table, "", "%s", c->operation->name);
    html_cell(table, "", "%s", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
    html_cell(table, "", "%lld", (long long)c->size);
    html_cell(table, "", "%d", c->threads);
}

static void result_row(html_table *table, const bench_case *c, const bench_result *r) {
    char time[32];
    double fastest = c->best >= 0 ? c->results[c->best].times.median : 0;
    bool ran = r->times.count > 0, several = r->times.count > 2;
    case_cells(table, c, r->chosen ? "ours" : "");
    html_cell(table, "", "%s%s", r->library, r->chosen ? " (choice)" : "");
    html_cell(table, "", "%s", r->algorithm);
    html_cell(table, "", "%s", ran ? bp__duration(r->times.median, time, sizeof time) : "-");
    html_cell(table, "", several ? "%.0f %%" : "-",
              several ? 100 * (r->times.high - r->times.low) / r->times.median : 0);
    html_cell(table, "", ran ? "%.3g %s" : "-", r->speed, bench_unit(c->operation));
    double ratio = ran && fastest > 0 ? r->times.median / fastest : 0;
    html_cell(table, ratio_kind(ratio), ratio > 0 ? "%.2f" : "-", ratio);
    if (ran && c->slowdown > BENCH_SLOW) {
        html_cell(table, "wide", "%sprocessor %.2f times slower", r->wrong ? "wrong result; " : "", c->slowdown);
    } else {
        html_cell(table, "wide", "%s", r->failure ? r->failure : r->wrong ? "wrong result" : "");
    }
}

static void add_table(bp__text *out, const bench_report *report) {
    const bench_request *q = report->request;
    bp__text_add(out, "<h2 id=\"table\">All measurements</h2>");
    for (int o = 0; o < q->operation_count; o++) {
        bp__text_add(out, "<details><summary>");
        svg_escape(out, q->operations[o]->name);
        bp__text_add(out, "</summary>");
        html_table table;
        html_table_begin(&table, out, q->operations[o]->name,
                         "Operation|Type|>n|>Threads|Library|Algorithm|>Time|>IQR|>Speed|>Time / fastest|Remark");
        for (int i = 0; i < report->case_count; i++) {
            const bench_case *c = &report->cases[i];
            for (int r = 0; c->operation == q->operations[o] && r < c->count; r++) {
                result_row(&table, c, &c->results[r]);
            }
            if (c->operation == q->operations[o] && c->skipped) {
                case_cells(&table, c, "");
                html_rest(&table, "not measured: %s", c->skipped);
            }
        }
        html_table_end(&table);
        bp__text_add(out, "</details>\n");
    }
}

static void add_versions(bp__text *out, const bench_report *report) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    bp_library_info info = {.struct_size = sizeof info};
    bp__text_add(out, "<h2 id=\"machine\">Machine and versions</h2>");
    if (bp_machine(&machine) == BP_OK) {
        bp__text_add(out, "<p>");
        html_text(out, "%s %s, %d of %d logical processors usable; caches: L1 %lld KiB, L2 %lld KiB, L3 %lld KiB.",
                  machine.architecture, machine.cpu_model, machine.usable_cpus, machine.logical_cpus,
                  (long long)machine.l1d_bytes / 1024, (long long)machine.l2_bytes / 1024,
                  (long long)machine.l3_bytes / 1024);
        bp__text_add(out, "</p>");
    }
    html_table table;
    html_table_begin(&table, out, "Libraries that ran", "Library|Version|Kernel set|Threading");
    for (int i = 0; i < report->library_count; i++) {
        const char *name = report->libraries[i];
        bool mixed = strcmp(name, CANDIDATE_MIXED) == 0, found = !mixed && bp_library_find(name, &info) == BP_OK;
        html_row(&table, "");
        html_cell(&table, "", "%s", name);
        html_cell(&table, mixed ? "wide" : "", "%s",
                  mixed   ? "each part of an operation chooses by itself"
                  : found ? info.version
                          : "");
        html_cell(&table, "", "%s", found ? info.kernels : "");
        html_cell(&table, "", "%s", found ? info.threading : "");
    }
    html_table_end(&table);
    bp__text_add(out, "<p class=\"soft\">Each library runs kept plans. Their samples alternate, so that a slow spell "
                      "of the machine affects all of them. IQR is the interquartile range of the samples, relative to "
                      "the median. Differences below the spread mean nothing. A remark tells that the processor "
                      "ran slower during a case than at its best; ratios of such a case are still of the same "
                      "moments.</p></main></body></html>\n");
}

int bench_write_html(const bench_report *report, const char *path) {
    bp__text page = {.length = 0};
    bp__npy_error error;
    add_head(&page, report);
    add_findings(&page, report);
    add_scores(&page, report);
    add_comparison(&page, report);
    add_speed(&page, report);
    add_roofline(&page, report);
    add_overhead(&page, report);
    add_errors(&page, report);
    add_table(&page, report);
    add_versions(&page, report);
    bp_status status = npy_write_text(path, bp__text_get(&page), page.length, &error);
    bp__text_free(&page);
    return status == BP_OK ? CLI_OK : cli_fail(cli_exit_of(status), "%s", error.text);
}
