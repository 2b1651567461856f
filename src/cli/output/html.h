/* html.h - the parts of a page that all reports have: one file, no script, no network, for phones and wide screens,
 * light and dark. */
#ifndef BP_CLI_HTML_H
#define BP_CLI_HTML_H

#include "cli/command/cli.h"

/* Adds formatted text, escaped. */
void html_text(bp__text *out, const char *format, ...) BP_PRINTF(2, 3);
/* Adds text, escaped; what is between backquotes is code. */
void html_prose(bp__text *out, const char *text);

/* Begins a page, up to the begin of its body. */
void html_page_begin(bp__text *out, const char *title);

/* A table. On narrow screens each row is a block, and each of its cells a line with the name of its column, so that no
 * table is wider than the screen. */
typedef struct html_table {
    bp__text *out;
    const char *headers; /* separated by '|'; '>' aligns a column to the right */
    const char *at;      /* the header of the next cell */
    bool below;          /* html_below() has begun a row */
} html_table;

void html_table_begin(html_table *table, bp__text *out, const char *caption, const char *headers);
void html_table_end(html_table *table);
/* Begins a row of these classes of the style sheet; "" for none. The row before it, if there is one, ends. */
void html_row(html_table *table, const char *kind);
/* Adds a cell of these classes of the style sheet; "" for none. The first one of a row is its header. */
void html_cell(html_table *table, const char *kind, const char *format, ...) BP_PRINTF(3, 4);
/* Adds a text below the row, over all columns, with its name. */
void html_below(html_table *table, const char *name, const char *text);
/* Adds a cell that takes all columns that are left. */
void html_rest(html_table *table, const char *format, ...) BP_PRINTF(2, 3);

#endif
