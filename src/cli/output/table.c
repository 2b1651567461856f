/* table.c - prints aligned columns that fit the terminal.
 *
 * A table that is too wide is laid out in up to three ways: the last column wraps in its cells; it goes to lines of its
 * own below each row; columns that are marked for it go there, too. In each of them, columns shrink at the price of
 * more lines. The way with the fewest lines is taken, where those that are hard to read count more. The first column
 * holds names that users copy, so it is never wrapped: the rest of a row with a long name begins on the next line.
 */
#include "cli/command/cli.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COLUMNS 16
#define GAP 2         /* columns of the terminal between two cells */
#define INDENT 4      /* of the cells below a row */
#define MOST_LEAST 32 /* longer pieces are broken, so that one of them does not rule out a layout */

typedef struct cell {
    char *text;
    cli_style style;
} cell;

/* A layout: the widths of the columns, and which of them are below the row. */
typedef struct layout {
    int width[MOST_COLUMNS];
    bool below[MOST_COLUMNS];
} layout;

struct cli_table {
    int columns;
    cell header[MOST_COLUMNS];
    bool right[MOST_COLUMNS];
    bool movable[MOST_COLUMNS];
    int natural[MOST_COLUMNS]; /* widths at which nothing is broken */
    int least[MOST_COLUMNS];   /* widths below which words and names would be broken */
    cell *cells;
    int count;
};

cli_table *cli_table_new(const char *headers) {
    cli_table *table = cli_allocate(sizeof *table);
    while (table->columns < MOST_COLUMNS) {
        int i = table->columns++;
        table->right[i] = headers[0] == '>';
        table->movable[i] = headers[0] == '~';
        headers += table->right[i] || table->movable[i];
        size_t length = strcspn(headers, "|");
        table->header[i] = (cell){cli_format("%.*s", (int)length, headers), CLI_STRONG};
        table->natural[i] = cli_text_width(table->header[i].text);
        table->least[i] = cli_longest_piece(table->header[i].text);
        if (!headers[length]) {
            break;
        }
        headers += length + 1;
    }
    table->movable[table->columns - 1] = true;
    return table;
}

static int wider(int a, int b) {
    return a > b ? a : b;
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
    int column = table->count % table->columns, width = cli_text_width(text), piece = cli_longest_piece(text);
    table->natural[column] = wider(width, table->natural[column]);
    piece = table->right[column] ? width : piece > MOST_LEAST ? MOST_LEAST : piece; /* numbers keep their units */
    table->least[column] = column == 0 ? table->least[0] : wider(piece, table->least[column]);
    table->cells[table->count++] = (cell){text, style};
}

/* ---- Layout ---- */

static int lines_of(const char *text, int width) {
    int lines = 0;
    for (size_t next; *text; text += next) {
        cli_break(text, width, &next);
        lines++;
    }
    return lines;
}

/* Whether the rest of a row begins below its name. */
static bool is_overlong(const cell *row, const layout *l) {
    return cli_text_width(row[0].text) > l->width[0];
}

/* Returns the lines of a row, and more for what makes it harder to read: a name on a line of its own, wrapped cells
 * that are not in the last column. */
static int cost_of(const cli_table *table, const cell *row, const layout *l) {
    int height[2] = {0, 0}, cost = is_overlong(row, l) ? 3 : 0;
    for (int i = is_overlong(row, l); i < table->columns; i++) {
        int lines = lines_of(row[i].text, l->width[i]);
        height[l->below[i]] = wider(height[l->below[i]], lines);
        cost += lines > 1 && i + 1 < table->columns;
    }
    return cost + height[0] + height[1];
}

static int total_cost(const cli_table *table, const layout *l) {
    int cost = cost_of(table, table->header, l);
    for (int at = 0; at + table->columns <= table->count; at += table->columns) {
        cost += cost_of(table, table->cells + at, l);
    }
    return cost;
}

/* Columns of the terminal that the row takes, or what is below it. */
static int total_width(const cli_table *table, const layout *l, bool below) {
    int width = below ? INDENT - GAP : -GAP;
    for (int i = 0; i < table->columns; i++) {
        width += l->below[i] == below ? l->width[i] + GAP : 0;
    }
    return width;
}

/* Takes one from the width of the column where this costs least, the widest one of several. False if no
 * column can be narrower. */
static bool shrink(const cli_table *table, layout *l, bool below) {
    int chosen = -1, least = INT_MAX;
    for (int i = 0; i < table->columns; i++) {
        if (l->below[i] != below || l->width[i] <= table->least[i]) {
            continue;
        }
        l->width[i]--;
        int cost = total_cost(table, l);
        l->width[i]++;
        if (cost < least || (cost == least && l->width[i] > l->width[chosen])) {
            chosen = i;
            least = cost;
        }
    }
    if (chosen >= 0) {
        l->width[chosen]--;
    }
    return chosen >= 0;
}

/* Fits both parts of a row into the terminal. False if that cannot be. */
static bool fit(const cli_table *table, layout *l) {
    memcpy(l->width, table->natural, sizeof l->width);
    bool fits = true;
    for (int below = 0; below < 2; below++) {
        while (fits && total_width(table, l, below) > cli_out_width()) {
            fits = shrink(table, l, below);
        }
    }
    return fits;
}

static layout choose_layout(const cli_table *table) {
    layout best = {.below = {false}};
    int last = table->columns - 1, least = INT_MAX;
    memcpy(best.width, table->natural, sizeof best.width);
    if (!cli_out_width() || total_width(table, &best, false) <= cli_out_width()) {
        return best;
    }
    for (int way = 0; way < 3; way++) {
        layout l = {.below = {false}};
        for (int i = 1; i < table->columns; i++) {
            l.below[i] = way > 0 && table->movable[i] && (way > 1 || i == last);
        }
        bool fits = fit(table, &l);
        int cost = fits ? total_cost(table, &l) : INT_MAX;
        if (cost < least || (way == 2 && least == INT_MAX)) {
            best = l;
            least = cost;
        }
    }
    return best;
}

/* ---- Output ---- */

/* The next line of a cell; *at moves on. Spaces are written when something follows them: no line ends with any. */
static void print_cell(const cell *c, const char **at, int width, bool right, int *pending) {
    size_t next, length = cli_break(*at, width, &next);
    char *piece = cli_format("%.*s", (int)length, *at);
    int padding = wider(width - cli_text_width(piece), 0);
    *at += next;
    *pending += right ? padding : 0;
    if (length > 0) {
        printf("%*s", *pending, "");
        cli_say(c->style, "%s", piece);
        *pending = 0;
    }
    *pending += GAP + (right ? 0 : padding);
    free(piece);
}

static void print_part(const cli_table *table, const cell *row, const layout *l, bool below, int first) {
    const char *at[MOST_COLUMNS];
    bool more = false;
    for (int i = 0; i < table->columns; i++) {
        at[i] = i < first || l->below[i] != below ? "" : row[i].text;
        more |= at[i][0];
    }
    while (more) {
        int pending = below ? INDENT : 0;
        more = false;
        for (int i = 0; i < table->columns; i++) {
            if (l->below[i] == below) {
                print_cell(&row[i], &at[i], l->width[i], table->right[i], &pending);
                more |= at[i][0];
            }
        }
        putchar('\n');
    }
}

static void print_row(const cli_table *table, const cell *row, const layout *l) {
    bool overlong = is_overlong(row, l);
    if (overlong) {
        cli_say(row[0].style, "%s", row[0].text);
        putchar('\n');
    }
    print_part(table, row, l, false, overlong);
    print_part(table, row, l, true, overlong);
}

static void print_header(const cli_table *table, const layout *l) {
    print_row(table, table->header, l);
    if (cli_out_terminal()) {
        int width = wider(total_width(table, l, false), total_width(table, l, true));
        for (int i = 0; i < width && i < cli_out_width(); i++) {
            fputs("\xe2\x94\x80", stdout);
        }
        putchar('\n');
    }
}

void cli_table_end(cli_table *table) {
    if (table->count >= table->columns) {
        layout l = choose_layout(table);
        print_header(table, &l);
        for (int at = 0; at + table->columns <= table->count; at += table->columns) {
            print_row(table, table->cells + at, &l);
        }
    }
    for (int i = 0; i < table->count; i++) {
        free(table->cells[i].text);
    }
    for (int i = 0; i < table->columns; i++) {
        free(table->header[i].text);
    }
    free(table->cells);
    free(table);
}
