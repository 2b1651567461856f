/* html.h - the parts of a page that all reports have: one file, no script, no network, for phones and wide screens,
 * light and dark. */
#ifndef BP_CLI_HTML_H
#define BP_CLI_HTML_H

#include "cli/command/cli.h"

/* Adds formatted text, escaped. */
void html_text(bp__text *out, const char *format, ...) BP_PRINTF(2, 3);

/* Begins a page, up to the begin of its body. */
void html_page_begin(bp__text *out, const char *title);

/* Begins a table that scrolls on narrow screens. Headers are separated by '|'; '>' aligns a column to the right. A row
 * is between <tr> and </tr>. */
void html_table_begin(bp__text *out, const char *caption, const char *headers);
void html_table_end(bp__text *out);
void html_head_cell(bp__text *out, const char *text);
/* Adds a cell of these classes of the style sheet; "" for none. */
void html_cell(bp__text *out, const char *kind, const char *format, ...) BP_PRINTF(3, 4);

#endif
