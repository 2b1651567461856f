/* bench_html.h - the parts of bench's page. */
#ifndef BP_CLI_BENCH_HTML_H
#define BP_CLI_BENCH_HTML_H

#include "bench.h"
#include "cli/output/svg.h"
#include "cli/output/html.h"

/* Add a figure each (bench_charts.c); nothing if there is nothing to show. */
void chart_speed(bp__text *out, const bench_report *report, const bench_operation *operation, bp_dtype dtype,
                 int threads);
void chart_roofline(bp__text *out, const bench_report *report, bp_dtype dtype, int threads);
void chart_overhead(bp__text *out, const bench_report *report);
void chart_errors(bp__text *out, const bench_report *report, bp_dtype dtype);

#endif
