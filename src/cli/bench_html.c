/* bench_html.c - writes the report of bench as one page: no script, no network, for phones and wide screens, light and
 * dark. bench_charts.c makes its charts. */
#include "bench_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Colours of the markers after Okabe and Ito, darker on light and lighter on dark pages. */
static const char style_sheet[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#59636e;--line:#d1d9e0;--card:#f6f8fa;--good:#1a7f37;"
    "--mid:#8a5a00;--bad:#c02a2a;--k0:#0072b2;--k1:#c4570a;--k2:#00805e;--k3:#a8407f;--k4:#2f7fb0;--k5:#8a6d00;"
    "--k6:#6a4fb3;--k7:#3d7a2a;--k8:#b03a2e;--k9:#4a5a6a;--k10:#00707a;--k11:#7a4a20}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1117;--fg:#e6edf3;--soft:#9198a1;--line:#3d444d;--card:#161b22;"
    "--good:#3fb950;--mid:#d8a031;--bad:#ff7b72;--k0:#56b4e9;--k1:#f28b3c;--k2:#2fc79b;--k3:#e28fc0;--k4:#8fc7ee;"
    "--k5:#e0c341;--k6:#b3a0f0;--k7:#8fd07a;--k8:#ff8f80;--k9:#a8b8c8;--k10:#4fd0d8;--k11:#d8a878}}"
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}"
    "body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--bg);color:var(--fg);"
    "font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "h1{font-size:1.6rem;margin:.4rem 0}h2{font-size:1.3rem;margin:2.2rem 0 .4rem;padding-top:.6rem;"
    "border-top:1px solid var(--line)}h3{font-size:1.05rem;margin:1.4rem 0 .2rem}p{margin:.4rem 0;max-width:46rem}"
    ".soft,figcaption{color:var(--soft)}nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.6rem 0}"
    "a{color:var(--k0)}nav a{padding:.35rem 0}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.6rem;margin:1rem 0;padding:0}"
    ".cards div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}"
    ".cards dt{color:var(--soft);font-size:.85rem}.cards dd{margin:0;font-size:1.25rem;font-weight:600}"
    ".cards dd small{display:block;font-size:.8rem;font-weight:400;color:var(--soft)}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,25rem),1fr));gap:1rem}"
    "figure{margin:0;padding:.5rem;background:var(--card);border:1px solid var(--line);border-radius:.5rem}"
    "figcaption{font-size:.9rem;padding:0 .2rem "
    ".3rem}svg{display:block;width:100%;height:auto;max-width:38rem;margin:0 auto}"
    "svg text{font:11.5px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--fg)}"
    ".grid{stroke:var(--line);stroke-width:.7;fill:none}.axis{stroke:var(--soft);fill:none}"
    ".roof{stroke:var(--fg);stroke-width:1.6;stroke-dasharray:5 3;fill:none}"
    ".band{stroke:var(--fg);stroke-opacity:.2;stroke-width:11;fill:none;stroke-linecap:round;stroke-linejoin:round}"
    ".line{fill:none;stroke:var(--k);stroke-width:1.4}.m{fill:var(--k)}.h{fill:none;stroke:var(--k);stroke-width:1.8}"
    ".c0{--k:var(--k0)}.c1{--k:var(--k1)}.c2{--k:var(--k2)}.c3{--k:var(--k3)}.c4{--k:var(--k4)}.c5{--k:var(--k5)}"
    ".c6{--k:var(--k6)}.c7{--k:var(--k7)}.c8{--k:var(--k8)}.c9{--k:var(--k9)}.c10{--k:var(--k10)}.c11{--k:var(--k11)}"
    ".c12{--k:var(--k0)}.c13{--k:var(--k1)}.c14{--k:var(--k2)}.c15{--k:var(--k3)}"
    ".scroll{overflow-x:auto;margin:.6rem 0;border:1px solid var(--line);border-radius:.5rem}"
    ".scroll:focus-visible{outline:2px solid var(--k0)}"
    "table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;padding:.4rem .6rem;color:var(--soft)}"
    "th,td{padding:.3rem .6rem;text-align:left;white-space:nowrap;border-top:1px solid var(--line)}"
    "thead th{background:var(--card);border-top:0}.n{text-align:right}td.wide{white-space:normal;min-width:14rem}"
    ".good{color:var(--good)}.mid{color:var(--mid)}.bad{color:var(--bad);font-weight:600}"
    "tr.ours td,tr.ours th{font-weight:600}summary{cursor:pointer;padding:.4rem 0}";

void html_text(bp__text *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    svg_escape(out, text);
    free(text);
}

/* ---- Tables ---- */

/* Begins a table that scrolls on narrow screens. Headers are separated by '|'; '>' aligns a column to the right. */
static void table_begin(bp__text *out, const char *caption, const char *headers) {
    bp__text_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    svg_escape(out, caption);
    bp__text_add(out, "\"><table><caption>");
    svg_escape(out, caption);
    bp__text_add(out, "</caption><thead><tr>");
    while (*headers) {
        bool right = *headers == '>';
        headers += right;
        size_t length = strcspn(headers, "|");
        bp__text_addf(out, "<th scope=\"col\"%s>", right ? " class=\"n\"" : "");
        html_text(out, "%.*s", (int)length, headers);
        bp__text_add(out, "</th>");
        headers += length + (headers[length] == '|');
    }
    bp__text_add(out, "</tr></thead><tbody>\n");
}

static void table_end(bp__text *out) {
    bp__text_add(out, "</tbody></table></div>\n");
}

static void head_cell(bp__text *out, const char *text) {
    bp__text_add(out, "<th scope=\"row\">");
    svg_escape(out, text);
    bp__text_add(out, "</th>");
}

static void cell(bp__text *out, const char *kind, const char *format, ...) BP_PRINTF(3, 4);
static void cell(bp__text *out, const char *kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    bp__text_addf(out, kind[0] ? "<td class=\"%s\">" : "<td>", kind);
    svg_escape(out, text);
    bp__text_add(out, "</td>");
    free(text);
}

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
    bp__text_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>");
    html_text(out, "Backplane bench: %s", model);
    bp__text_addf(out, "</title><style>%s</style></head>\n<body><header><h1>Libraries on ", style_sheet);
    svg_escape(out, model);
    bp__text_add(out, "</h1><p class=\"soft\">");
    html_text(out, "%d cores, %s kernels, Backplane %s, %s. Measured in %.0f s%s.", known ? machine.usable_cpus : 0,
              bp_cpu_capability(), bp_version(), report->date, report->elapsed,
              report->interrupted ? "; interrupted, so the rest is missing" : "");
    bp__text_add(out, "</p></header>\n<nav aria-label=\"Sections\"><a href=\"#speed\">Speed</a>"
                      "<a href=\"#roofline\">Roofline</a><a href=\"#overhead\">Overhead</a>"
                      "<a href=\"#error\">Error</a><a href=\"#table\">All measurements</a>"
                      "<a href=\"#machine\">Machine and versions</a></nav>\n<main>");
    add_scores(out, report);
}

/* ---- Sections ---- */

static void add_speed(bp__text *out, const bench_report *report) {
    const bench_request *q = report->request;
    bp__text_add(out, "<h2 id=\"speed\">Speed against size</h2><p>Each marker is the median of interleaved samples of "
                      "one library; higher is faster. The broad band is the library that Backplane chooses for each "
                      "size without preferences. Where it follows the upper envelope, the choice is the fastest "
                      "one.</p>\n");
    for (int o = 0; o < q->operation_count; o++) {
        const bench_operation *operation = q->operations[o];
        bp__text_add(out, "<section><h3>");
        html_text(out, "%s (%s; %s operations)", operation->name, operation->shapes, operation->count);
        bp__text_add(out, "</h3><div class=\"charts\">");
        for (int d = 0; d < q->dtype_count; d++) {
            for (int t = 0; t < q->thread_count; t++) {
                chart_speed(out, report, operation, q->dtypes[d], (int)q->threads[t]);
            }
        }
        bp__text_add(out, "</div></section>\n");
    }
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
    table_begin(out, "Time of the smallest call", "Operation|Type|Library|>One-shot|>Kept plan");
    for (int i = 0; i < report->overhead_count; i++) {
        const bench_overhead *o = &report->overheads[i];
        bp__text_add(out, "<tr>");
        head_cell(out, o->operation->name);
        cell(out, "", "%s", bp_dtype_name(bench_dtype(o->operation, o->dtype)));
        cell(out, "", "%s", o->library);
        cell(out, "n", "%s", bp__duration(o->one_shot_ns, one, sizeof one));
        cell(out, "n", "%s", bp__duration(o->plan_ns, two, sizeof two));
        bp__text_add(out, "</tr>\n");
    }
    table_end(out);
}

static void error_rows(bp__text *out, const bench_case *c) {
    for (int i = 0; i < c->count; i++) {
        const bench_result *r = &c->results[i];
        if (r->error < 0) {
            continue;
        }
        bp__text_add(out, r->chosen ? "<tr class=\"ours\">" : "<tr>");
        head_cell(out, c->operation->name);
        cell(out, "", "%s", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
        cell(out, "n", "%lld", (long long)c->size);
        cell(out, "", "%s", r->library);
        cell(out, r->wrong ? "n bad" : "n", "%.1e%s", r->error, r->wrong ? " wrong" : "");
        cell(out, "n", "%.1e", c->error_bound);
        cell(out, "wide", "%s", c->error_text);
        bp__text_add(out, "</tr>\n");
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
    table_begin(out, "Errors", "Operation|Type|>n|Library|>Error|>Bound|What it is");
    for (int o = 0; o < q->operation_count; o++) {
        for (int d = 0; d < q->dtype_count; d++) {
            const bench_case *c = bench_checked_case(report, q->operations[o], q->dtypes[d]);
            if (c) {
                error_rows(out, c);
            }
        }
    }
    table_end(out);
    bp__text_add(out, "</details>\n");
}

static const char *ratio_kind(double ratio) {
    return ratio <= 1.1 ? "n good" : ratio <= 1.5 ? "n mid" : "n bad";
}

static void result_row(bp__text *out, const bench_case *c, const bench_result *r) {
    char time[32];
    double fastest = c->best >= 0 ? c->results[c->best].times.median : 0;
    bool ran = r->times.count > 0, several = r->times.count > 2;
    bp__text_add(out, r->chosen ? "<tr class=\"ours\">" : "<tr>");
    head_cell(out, c->operation->name);
    cell(out, "", "%s", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
    cell(out, "n", "%lld", (long long)c->size);
    cell(out, "n", "%d", c->threads);
    cell(out, "", "%s%s", r->library, r->chosen ? " (choice)" : "");
    cell(out, "", "%s", r->algorithm);
    cell(out, "n", "%s", ran ? bp__duration(r->times.median, time, sizeof time) : "-");
    cell(out, "n", several ? "%.0f %%" : "-", several ? 100 * (r->times.high - r->times.low) / r->times.median : 0);
    cell(out, "n", ran ? "%.3g %s" : "-", r->speed, bench_unit(c->operation));
    double ratio = ran && fastest > 0 ? r->times.median / fastest : 0;
    cell(out, ratio > 0 ? ratio_kind(ratio) : "n", ratio > 0 ? "%.2f" : "-", ratio);
    if (ran && c->slowdown > BENCH_SLOW) {
        cell(out, "wide", "%sprocessor %.2f times slower", r->wrong ? "wrong result; " : "", c->slowdown);
    } else {
        cell(out, "wide", "%s", r->failure ? r->failure : r->wrong ? "wrong result" : "");
    }
    bp__text_add(out, "</tr>\n");
}

static void skipped_row(bp__text *out, const bench_case *c) {
    bp__text_add(out, "<tr>");
    head_cell(out, c->operation->name);
    cell(out, "", "%s", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
    cell(out, "n", "%lld", (long long)c->size);
    cell(out, "n", "%d", c->threads);
    bp__text_add(out, "<td colspan=\"7\">not measured: ");
    svg_escape(out, c->skipped);
    bp__text_add(out, "</td></tr>\n");
}

static void add_table(bp__text *out, const bench_report *report) {
    const bench_request *q = report->request;
    bp__text_add(out, "<h2 id=\"table\">All measurements</h2>");
    for (int o = 0; o < q->operation_count; o++) {
        bp__text_add(out, "<details><summary>");
        svg_escape(out, q->operations[o]->name);
        bp__text_add(out, "</summary>");
        table_begin(out, q->operations[o]->name,
                    "Operation|Type|>n|>Threads|Library|Algorithm|>Time|>IQR|>Speed|>Time / fastest|Remark");
        for (int i = 0; i < report->case_count; i++) {
            const bench_case *c = &report->cases[i];
            for (int r = 0; c->operation == q->operations[o] && r < c->count; r++) {
                result_row(out, c, &c->results[r]);
            }
            if (c->operation == q->operations[o] && c->skipped) {
                skipped_row(out, c);
            }
        }
        table_end(out);
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
    table_begin(out, "Libraries that ran", "Library|Version|Kernel set|Threading");
    for (int i = 0; i < report->library_count; i++) {
        const char *name = report->libraries[i];
        bool mixed = strcmp(name, CANDIDATE_MIXED) == 0, found = !mixed && bp_library_find(name, &info) == BP_OK;
        bp__text_add(out, "<tr>");
        head_cell(out, name);
        cell(out, mixed ? "wide" : "", "%s",
             mixed   ? "each part of an operation chooses by itself"
             : found ? info.version
                     : "");
        cell(out, "", "%s", found ? info.kernels : "");
        cell(out, "", "%s", found ? info.threading : "");
        bp__text_add(out, "</tr>\n");
    }
    table_end(out);
    bp__text_add(out, "<p class=\"soft\">Each library runs kept plans. Their samples alternate, so that a slow spell "
                      "of the machine affects all of them. IQR is the interquartile range of the samples, relative to "
                      "the median. Differences below the spread mean nothing. A remark tells that the processor "
                      "ran slower during a case than at its best; ratios of such a case are still of the same "
                      "moments.</p></main></body></html>\n");
}

int bench_write_html(const bench_report *report, const char *path) {
    bp__text page = {.length = 0};
    npy_error error;
    add_head(&page, report);
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
