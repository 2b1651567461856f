/* table.c - columns: aligned text anywhere; on a terminal also a line under the headers, colours, and the last column
 * broken at words so that it stays in its place. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 16

typedef struct cell {
    char *text;
    cli_style style;
} cell;

struct cli_table {
    int columns;
    char *header[MOST_COLUMNS];
    bool right[MOST_COLUMNS];
    int width[MOST_COLUMNS];
    cell *cells;
    int count;
};

cli_table *cli_table_new(const char *headers) {
    cli_table *table = cli_allocate(sizeof *table);
    while (table->columns < MOST_COLUMNS) {
        int i = table->columns++;
        table->right[i] = headers[0] == '>';
        headers += table->right[i];
        size_t length = strcspn(headers, "|");
        table->header[i] = cli_format("%.*s", (int)length, headers);
        table->width[i] = cli_text_width(table->header[i]);
        if (!headers[length]) {
            break;
        }
        headers += length + 1;
    }
    return table;
}

void cli_cell(cli_table *table, cli_style style, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    for (char *at = text; *at; at++) {
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
    }
    table->cells = cli_grow(table->cells, (size_t)(table->count + 1) * sizeof *table->cells);
    int column = table->count % table->columns, width = cli_text_width(text);
    table->width[column] = width > table->width[column] ? width : table->width[column];
    table->cells[table->count++] = (cell){text, style};
}

static void print_row(const cli_table *table, const cell *row) {
    int indent = 0, columns = table->columns;
    while (columns > 1 && !row[columns - 1].text[0]) {
        columns--;
    }
    for (int i = 0; i < columns; i++) {
        bool last = i + 1 == columns;
        int padding = table->width[i] - cli_text_width(row[i].text);
        if (table->right[i]) {
            printf("%*s", padding, "");
        }
        if (last && !table->right[i] && row[i].style == CLI_PLAIN) {
            cli_paragraph(indent, row[i].text);
            return;
        }
        cli_say(row[i].style, "%s", row[i].text);
        if (!last) {
            printf("%*s", (table->right[i] ? 0 : padding) + 2, "");
        }
        indent += table->width[i] + 2;
    }
    putchar('\n');
}

static void print_header(const cli_table *table) {
    cell row[MOST_COLUMNS];
    int total = 0;
    for (int i = 0; i < table->columns; i++) {
        row[i] = (cell){table->header[i], CLI_STRONG};
        total += table->width[i] + (i > 0 ? 2 : 0);
    }
    print_row(table, row);
    if (cli_out_terminal()) {
        total = total < cli_out_width() ? total : cli_out_width();
        for (int i = 0; i < total; i++) {
            fputs("\xe2\x94\x80", stdout);
        }
        putchar('\n');
    }
}

void cli_table_end(cli_table *table) {
    if (table->count >= table->columns) {
        print_header(table);
    }
    for (int at = 0; at + table->columns <= table->count; at += table->columns) {
        print_row(table, table->cells + at);
    }
    for (int i = 0; i < table->count; i++) {
        free(table->cells[i].text);
    }
    for (int i = 0; i < table->columns; i++) {
        free(table->header[i]);
    }
    free(table->cells);
    free(table);
}
