/* svg.c - draws the charts of bench's page.
 *
 * The view box is about as wide as a phone, so that texts have a readable size there; wider screens show it larger or
 * put several charts side by side. Series differ by the shape of their markers, not by colour alone.
 */
#include "svg.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define WIDTH 400
#define LEFT 52
#define RIGHT 18
#define TOP 12
#define PLOT 230     /* height of a chart's plot */
#define BOTTOM 40    /* axis labels */
#define LEGEND 17    /* height of a line of the legend */
#define ROW 24       /* height of a row of marks */
#define ROW_LEFT 112 /* width of the labels of rows */

void svg_escape(bp__text *out, const char *text) {
    static const struct {
        char character;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (const char *at = text; *at; at++) {
        const char *entity = NULL;
        for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
            entity = entities[i].character == *at ? entities[i].entity : entity;
        }
        bool control = (unsigned char)*at < 0x20 || *at == 0x7f;
        if (entity || control) {
            bp__text_add(out, control ? "?" : entity);
        } else {
            bp__text_add_n(out, at, 1);
        }
    }
}

/* ---- Markers and the legend ---- */

void svg_marker(bp__text *out, int style, double x, double y) {
    /* Paths around (0, 0); those with an `h` class are hollow. */
    static const struct {
        const char *path, *kind;
    } shapes[SVG_STYLES] = {
        {"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "m"},
        {"M-3.6-3.6h7.2v7.2h-7.2z", "m"},
        {"M0-4.8l4.6 8h-9.2z", "m"},
        {"M0-5l4.4 5l-4.4 5l-4.4-5z", "m"},
        {"M0-5v10M-5 0h10", "h"},
        {"M-3.8-3.8l7.6 7.6M-3.8 3.8l7.6-7.6", "h"},
        {"M0 4.8l4.6-8h-9.2z", "m"},
        {"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "h"},
        {"M-3.6-3.6h7.2v7.2h-7.2z", "h"},
        {"M0-5l4.4 5l-4.4 5l-4.4-5z", "h"},
        {"M0-4.8l4.6 8h-9.2z", "h"},
        {"M0-5v10M-4.3-2.5l8.6 5M-4.3 2.5l8.6-5", "h"},
        {"M0 4.8l4.6-8h-9.2z", "h"},
        {"M-5 0h10", "h"},
        {"M0-5v10", "h"},
        {"M-5-3l5 6l5-6", "h"},
    };
    const int which = style % SVG_STYLES;
    bp__text_addf(out, "<path class=\"%s c%d\" transform=\"translate(%.1f %.1f)\" d=\"%s\"/>", shapes[which].kind,
                  which, x, y, shapes[which].path);
}

static void text_at(bp__text *out, const char *anchor, double x, double y, const char *text) {
    bp__text_addf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    svg_escape(out, text);
    bp__text_add(out, "</text>");
}

static int legend_columns(int longest) {
    return longest > 22 ? 1 : longest > 13 ? 2 : 3;
}

static double legend_height(int count, int longest) {
    int columns = legend_columns(longest);
    return count ? LEGEND * ((count + columns - 1) / columns) + 6 : 0;
}

/* Draws entry `index` of a legend that begins at `top`. */
static void legend_entry(bp__text *out, int index, int longest, double top, int style, const char *name) {
    int columns = legend_columns(longest);
    double x = 18 + (double)(index % columns) * (WIDTH - 20) / columns, y = top + LEGEND * (index / columns) + 8;
    if (style == SVG_BAND) {
        bp__text_addf(out, "<path class=\"band\" d=\"M%.1f %.1fh9\"/>", x - 6, y);
    } else {
        svg_marker(out, style, x, y);
    }
    text_at(out, "start", x + 13, y + 4, name);
}

/* ---- Axes ---- */

typedef struct axis {
    double low, high;     /* logarithms */
    double start, length; /* on the page; a negative length goes up */
    double top, bottom;   /* of the plot */
} axis;

static double place_log(const axis *a, double logarithm) {
    return a->start + a->length * (logarithm - a->low) / (a->high - a->low);
}

static double place(const axis *a, double value) {
    return place_log(a, log10(value));
}

static axis make_axis(double least, double most, double margin, double start, double length, double bottom) {
    if (!(least > 0) || !(most > 0) || least > most) {
        least = most = 1;
    }
    double low = log10(least), high = log10(most);
    double extra = fmax(margin * (high - low), 0.08);
    return (axis){low - extra, high + extra, start, length, TOP, bottom};
}

static void format_value(double value, char *text, size_t size) {
    if (value >= 1e-3 && value < 1e7) {
        snprintf(text, size, "%.7g", value);
    } else {
        snprintf(text, size, "%.0e", value);
    }
}

/* Calls `draw` for the powers of ten on an axis, or for their multiples too if they are few. */
static void each_tick(const axis *a, void (*draw)(bp__text *, const axis *, double), bp__text *out) {
    static const double multiples[] = {1, 2, 5};
    double span = a->high - a->low;
    int kinds = span < 1.6 ? 3 : 1, step = span > 7 ? 2 : 1;
    for (int decade = (int)floor(a->low); decade <= (int)ceil(a->high); decade++) {
        for (int i = 0; i < kinds && decade % step == 0; i++) {
            double value = multiples[i] * pow(10, decade), at = log10(value);
            if (at >= a->low && at <= a->high) {
                draw(out, a, value);
            }
        }
    }
}

static void y_tick(bp__text *out, const axis *a, double value) {
    char text[32];
    double y = place(a, value);
    bp__text_addf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
    format_value(value, text, sizeof text);
    text_at(out, "end", LEFT - 6, y + 4, text);
}

static void x_tick(bp__text *out, const axis *a, double value) {
    char text[32];
    double x = place(a, value);
    bp__text_addf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, a->top, a->bottom);
    format_value(value, text, sizeof text);
    bool last = x + 3.5 * (double)strlen(text) > WIDTH;
    text_at(out, last ? "end" : "middle", last ? WIDTH - 2 : x, a->bottom + 15, text);
}

static void begin_svg(bp__text *out, const char *title, const char *description, double height) {
    size_t id = out->length; /* is different for each chart of a page */
    bp__text_addf(out,
                  "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-labelledby=\"t%zu d%zu\" "
                  "xmlns=\"http://www.w3.org/2000/svg\"><title id=\"t%zu\">",
                  WIDTH, height, id, id, id);
    svg_escape(out, title);
    bp__text_addf(out, "</title><desc id=\"d%zu\">", id);
    svg_escape(out, description);
    bp__text_add(out, "</desc>");
}

/* ---- The chart with two axes ---- */

static void widen(double value, double *least, double *most) {
    *least = fmin(*least, value);
    *most = fmax(*most, value);
}

static void find_ranges(const svg_chart *c, axis *x, axis *y) {
    double range[4] = {DBL_MAX, 0, DBL_MAX, 0};
    for (int s = 0; s < c->count; s++) {
        for (int i = 0; i < c->series[s].count; i++) {
            widen(c->series[s].x[i], &range[0], &range[1]);
            widen(c->series[s].y[i], &range[2], &range[3]);
        }
    }
    if (c->roof > 0) {
        widen(c->roof, &range[2], &range[3]);
    }
    if (c->roof > 0 && c->slope > 0) {
        widen(c->roof / c->slope / 2, &range[0], &range[1]);
        widen(c->roof / c->slope * 2, &range[0], &range[1]);
    }
    *x = make_axis(range[0], range[1], 0.04, LEFT, WIDTH - LEFT - RIGHT, TOP + PLOT);
    *y = make_axis(range[2], range[3], 0.05, TOP + PLOT, -PLOT, TOP + PLOT);
}

static void draw_line(bp__text *out, const svg_series *s, const axis *x, const axis *y) {
    for (int i = 0; i < s->count; i++) {
        bp__text_addf(out, "%s%.1f %.1f", i ? "L" : "M", place(x, s->x[i]), place(y, s->y[i]));
    }
    /* The band of one point is a dot. */
    bp__text_add(out, s->count == 1 ? "h0.1\"/>" : "\"/>");
}

/* Clips at the left and lower edge of the plot. In logarithms the slope is the line y = x + slope. */
static void draw_roof(bp__text *out, const svg_chart *c, const axis *x, const axis *y) {
    double roof = log10(c->roof), slope = c->slope > 0 ? log10(c->slope) : 0;
    double left = fmax(x->low, y->low - slope), knee = roof - slope;
    bp__text_add(out, "<path class=\"roof\" d=\"");
    if (c->slope > 0 && knee > left) {
        bp__text_addf(out, "M%.1f %.1fL%.1f %.1f", place_log(x, left), place_log(y, left + slope), place_log(x, knee),
                      place_log(y, roof));
    } else {
        bp__text_addf(out, "M%.1f %.1f", x->start, place_log(y, roof));
    }
    bp__text_addf(out, "H%d\"/>", WIDTH - RIGHT);
}

static void draw_series(bp__text *out, const svg_chart *c, const axis *x, const axis *y) {
    for (int s = 0; s < c->count; s++) {
        const svg_series *one = &c->series[s];
        if (one->style == SVG_BAND && one->count > 0) {
            bp__text_add(out, "<path class=\"band\" d=\"");
            draw_line(out, one, x, y);
        }
    }
    for (int s = 0; s < c->count; s++) {
        const svg_series *one = &c->series[s];
        if (one->style == SVG_BAND) {
            continue;
        }
        if (one->line && one->count > 1) {
            bp__text_addf(out, "<path class=\"line c%d\" d=\"", one->style % SVG_STYLES);
            draw_line(out, one, x, y);
        }
        for (int i = 0; i < one->count; i++) {
            svg_marker(out, one->style, place(x, one->x[i]), place(y, one->y[i]));
        }
    }
}

void svg_draw_chart(bp__text *out, const svg_chart *c) {
    int longest = 0;
    axis x, y;
    for (int s = 0; s < c->count; s++) {
        int width = cli_text_width(c->series[s].name);
        longest = width > longest ? width : longest;
    }
    find_ranges(c, &x, &y);
    begin_svg(out, c->title, c->description, TOP + PLOT + BOTTOM + legend_height(c->count, longest));
    each_tick(&y, y_tick, out);
    for (int i = 0; i < c->x_tick_count; i++) {
        x_tick(out, &x, c->x_ticks[i]);
    }
    if (c->x_tick_count == 0) {
        each_tick(&x, x_tick, out);
    }
    bp__text_addf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>", LEFT, TOP, TOP + PLOT, WIDTH - RIGHT);
    text_at(out, "end", WIDTH - RIGHT, TOP + PLOT + 31, c->x_label);
    bp__text_addf(out, "<text transform=\"translate(13 %d) rotate(-90)\" text-anchor=\"middle\">", TOP + PLOT / 2);
    svg_escape(out, c->y_label);
    bp__text_add(out, "</text>");
    if (c->roof > 0) {
        draw_roof(out, c, &x, &y);
    }
    draw_series(out, c, &x, &y);
    for (int s = 0; s < c->count; s++) {
        legend_entry(out, s, longest, TOP + PLOT + BOTTOM, c->series[s].style, c->series[s].name);
    }
    bp__text_add(out, "</svg>");
}

/* ---- Rows of marks ---- */

static void draw_row(bp__text *out, const svg_row *row, const axis *x, double y) {
    text_at(out, "end", ROW_LEFT - 8, y + 4, row->label);
    bp__text_addf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", ROW_LEFT, y, WIDTH - RIGHT);
    for (int i = 0; i < row->count; i++) {
        const svg_mark *mark = &row->marks[i];
        if (mark->limit) {
            bp__text_addf(out, "<path class=\"roof\" d=\"M%.1f %.1fv%d\"/>", place(x, mark->value), y - 9, 18);
        } else {
            svg_marker(out, mark->style, place(x, mark->value), y);
        }
    }
}

void svg_draw_rows(bp__text *out, const svg_rows *rows) {
    double least = DBL_MAX, most = 0;
    int longest = 0, entries = rows->legend_count + (rows->limit_name != NULL);
    for (int r = 0; r < rows->count; r++) {
        for (int i = 0; i < rows->rows[r].count; i++) {
            widen(rows->rows[r].marks[i].value, &least, &most);
        }
    }
    for (int i = 0; i < rows->legend_count; i++) {
        int width = cli_text_width(rows->legend[i].name);
        longest = width > longest ? width : longest;
    }
    double bottom = TOP + ROW * rows->count;
    axis x = make_axis(least, most, 0.04, ROW_LEFT, WIDTH - ROW_LEFT - RIGHT, bottom);
    begin_svg(out, rows->title, rows->description, bottom + BOTTOM + legend_height(entries, longest));
    each_tick(&x, x_tick, out);
    for (int r = 0; r < rows->count; r++) {
        draw_row(out, &rows->rows[r], &x, TOP + ROW * (r + 0.5));
    }
    bp__text_addf(out, "<path class=\"axis\" d=\"M%d %.1fH%d\"/>", ROW_LEFT, bottom, WIDTH - RIGHT);
    text_at(out, "end", WIDTH - RIGHT, bottom + 31, rows->x_label);
    for (int i = 0; i < rows->legend_count; i++) {
        legend_entry(out, i, longest, bottom + BOTTOM, rows->legend[i].style, rows->legend[i].name);
    }
    if (rows->limit_name) {
        int columns = legend_columns(longest), at = rows->legend_count;
        double left = 18 + (double)(at % columns) * (WIDTH - 20) / columns;
        double top = bottom + BOTTOM + LEGEND * (at / columns);
        bp__text_addf(out, "<path class=\"roof\" d=\"M%.1f %.1fv14\"/>", left, top + 1);
        text_at(out, "start", left + 13, top + 12, rows->limit_name);
    }
    bp__text_add(out, "</svg>");
}
