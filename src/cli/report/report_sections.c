/* report_sections.c - keeps the sections of a report. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

void report_begin(report *r, const char *id, const char *title, const char *columns, const char *none) {
    r->sections[r->count++] = (report_section){.id = id, .title = title, .columns = columns, .none = none};
}

static void add_section(report *r, char *text) {
    report_section *section = &r->sections[r->count - 1];
    section->cells = cli_grow(section->cells, (size_t)(section->count + 1) * sizeof *section->cells);
    section->cells[section->count++] = report_private(text);
}

void report_cell(report *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_section(r, cli_format_v(format, args));
    va_end(args);
}

void report_value(report *r, const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *value = cli_format_v(format, args);
    va_end(args);
    if (value[0]) {
        add_section(r, cli_format("%s", name));
        add_section(r, value);
    } else {
        free(value);
    }
}

int report_columns(const report_section *section) {
    int columns = section->columns ? 1 : 2;
    for (const char *at = section->columns; at && *at; at++) {
        columns += *at == '|';
    }
    return columns;
}

void report_free(report *r) {
    for (int i = 0; i < r->count; i++) {
        for (int j = 0; j < r->sections[i].count; j++) {
            free(r->sections[i].cells[j]);
        }
        free(r->sections[i].cells);
    }
}
