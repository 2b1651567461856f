/* test_svg.c - tests the charts of bench's page: escaped texts, and finite coordinates on any data. */
#include "cli/output/svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

static void texts_are_escaped(void **state) {
    (void)state;
    bp__text out = {.length = 0};
    svg_escape(&out, "<a href=\"x\">'&amp;\x01\x7f\n");
    assert_string_equal(bp__text_get(&out), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;???");
    bp__text_free(&out);
}

/* Every text of a chart is escaped: titles, labels, names. */
static void charts_escape_names(void **state) {
    (void)state;
    svg_chart *chart = calloc(1, sizeof *chart);
    bp__text out = {.length = 0};
    assert_non_null(chart);
    chart->title = chart->description = chart->x_label = chart->y_label = "<script>";
    chart->count = 1;
    chart->series[0] = (svg_series){.name = "<script>", .x = {1}, .y = {1}, .count = 1};
    svg_draw_chart(&out, chart);
    assert_null(strstr(bp__text_get(&out), "<script>"));
    assert_non_null(strstr(bp__text_get(&out), "&lt;script&gt;"));
    bp__text_free(&out);
    free(chart);
}

static void check_numbers(const char *text) {
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    assert_true(strlen(text) < 100000);
}

/* One point, equal points, and points that are far apart. */
static void coordinates_are_finite(void **state) {
    (void)state;
    static const double pairs[][2] = {{1, 1}, {1e-300, 1e300}, {1, 16777216}, {5, 5.0000001}, {DBL_MIN, DBL_MAX}};
    svg_chart *chart = calloc(1, sizeof *chart);
    assert_non_null(chart);
    chart->title = chart->description = chart->x_label = chart->y_label = "";
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int count = 0; count <= 2; count++) {
            bp__text out = {.length = 0};
            chart->count = 1;
            chart->series[0] = (svg_series){.x = {pairs[i][0], pairs[i][1]},
                                            .y = {pairs[i][1], pairs[i][0]},
                                            .line = true,
                                            .style = i % 2 ? SVG_BAND : 3,
                                            .count = count};
            chart->roof = count == 2 ? 1e3 : 0;
            chart->slope = i % 2 ? 10 : 0;
            svg_draw_chart(&out, chart);
            check_numbers(bp__text_get(&out));
            bp__text_free(&out);
        }
    }
    free(chart);
}

static void rows_may_be_empty(void **state) {
    (void)state;
    svg_rows *rows = calloc(1, sizeof *rows);
    assert_non_null(rows);
    rows->title = rows->description = rows->x_label = "";
    for (int count = 0; count <= 2; count++) {
        bp__text out = {.length = 0};
        rows->count = count;
        rows->rows[0].count = count / 2;
        rows->rows[0].marks[0] = (svg_mark){.value = 1e-16, .limit = count == 2};
        svg_draw_rows(&out, rows);
        check_numbers(bp__text_get(&out));
        bp__text_free(&out);
    }
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(charts_escape_names),
        cmocka_unit_test(coordinates_are_finite),
        cmocka_unit_test(rows_may_be_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
