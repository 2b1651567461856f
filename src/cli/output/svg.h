/* svg.h - draws the charts of bench's page as inline SVG. Colours and fonts come from the page's style sheet. */
#ifndef BP_CLI_BENCH_SVG_H
#define BP_CLI_BENCH_SVG_H

#include "cli/command/cli.h"

#define SVG_MOST_POINTS 64
#define SVG_MOST_SERIES 24
#define SVG_STYLES 16 /* markers; each of the first 12 has a colour of its own */

/* Adds text for HTML and XML: & < > and quotes are escaped, control characters become '?'. */
void svg_escape(bp__text *out, const char *text);

/* Adds a marker of that style. */
void svg_marker(bp__text *out, int style, double x, double y);

typedef struct svg_series {
    char name[64];
    int style; /* of the markers; the one at -1 is a broad band without markers */
    bool line; /* connects the points */
    double x[SVG_MOST_POINTS], y[SVG_MOST_POINTS];
    int count;
} svg_series;

#define SVG_BAND (-1)

/* A chart with two logarithmic axes and a legend. */
typedef struct svg_chart {
    const char *title, *description; /* for screen readers; the title is not drawn */
    const char *x_label, *y_label;
    svg_series series[SVG_MOST_SERIES];
    int count;
    double x_ticks[SVG_MOST_POINTS];
    int x_tick_count;   /* 0: powers of ten */
    double roof, slope; /* a roofline: the least of `roof` and slope times x; 0: none */
} svg_chart;

void svg_draw_chart(bp__text *out, const svg_chart *chart);

/* Rows of marks on one logarithmic axis. */
typedef struct svg_mark {
    int style;
    double value;
    bool limit; /* a line in place of a marker */
} svg_mark;

typedef struct svg_row {
    char label[64];
    svg_mark marks[SVG_MOST_SERIES];
    int count;
} svg_row;

typedef struct svg_rows {
    const char *title, *description, *x_label;
    svg_row rows[SVG_MOST_SERIES];
    int count;
    struct {
        char name[64];
        int style;
    } legend[SVG_MOST_SERIES];
    int legend_count;
    const char *limit_name; /* of the limits, in the legend; NULL if there are none */
} svg_rows;

void svg_draw_rows(bp__text *out, const svg_rows *rows);

#endif
