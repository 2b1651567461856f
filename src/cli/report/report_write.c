/* report_write.c - writes a report as text, as JSON or as a page. */
#include "cli/output/html.h"
#include "report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ---- */

static void list_text(const report_section *section) {
    for (int i = 0; i < section->count; i += 2) {
        printf("  %s", section->cells[i]);
        cli_paragraph(cli_behind_label(2 + cli_text_width(section->cells[i]), 38), section->cells[i + 1]);
    }
}

static void table_text(const report_section *section) {
    cli_table *table = cli_table_new(section->columns);
    for (int i = 0; i < section->count; i++) {
        cli_cell(table, CLI_PLAIN, "%s", section->cells[i][0] ? section->cells[i] : "-");
    }
    cli_table_end(table);
}

void report_text(const report *r) {
    for (int i = 0; i < r->count; i++) {
        const report_section *section = &r->sections[i];
        cli_say(CLI_STRONG, "%s%s\n", i > 0 ? "\n" : "", section->title);
        if (section->count == 0) {
            printf("%s\n", section->none);
        } else if (section->columns) {
            table_text(section);
        } else {
            list_text(section);
        }
    }
}

/* ---- JSON ---- */

/* Returns the key of a name or of the column at *at, which moves to the next column: "INT BITS" is "int_bits". */
static char *key_of(const char **at) {
    *at += **at == '>' || **at == '~';
    const size_t length = strcspn(*at, "|");
    char *key = cli_format("%.*s", (int)length, *at);
    size_t used = 0;
    for (const char *from = key; *from; from++) {
        if (*from != ',') {
            key[used++] = *from == ' ' ? '_' : (char)tolower((unsigned char)*from);
        }
    }
    key[used] = '\0';
    *at += length + ((*at)[length] == '|');
    return key;
}

static void list_json(const report_section *section) {
    json_open(section->id, '{');
    for (int i = 0; i < section->count; i += 2) {
        const char *name = section->cells[i];
        char *key = key_of(&name);
        json_text(key, section->cells[i + 1]);
        free(key);
    }
    json_close();
}

static void row_json(const report_section *section, int first) {
    const char *at = section->columns;
    json_open(NULL, '{');
    for (int i = first; *at; i++) {
        const bool number = *at == '>';
        char *key = key_of(&at), *end;
        const long long value = strtoll(section->cells[i], &end, 10);
        if (number && !section->cells[i][0]) {
            json_raw(key, "null");
        } else if (number && !*end) {
            json_int(key, value);
        } else {
            json_text(key, section->cells[i]);
        }
        free(key);
    }
    json_close();
}

void report_json(const report *r) {
    json_open(NULL, '{');
    for (int i = 0; i < r->count; i++) {
        const report_section *section = &r->sections[i];
        if (!section->columns) {
            list_json(section);
            continue;
        }
        json_open(section->id, '[');
        for (int at = 0; at < section->count; at += report_columns(section)) {
            row_json(section, at);
        }
        json_close();
    }
    json_close();
}

/* ---- A page ---- */

static void page_rows(bp__text *out, const report_section *section) {
    const int columns = report_columns(section);
    for (int i = 0; i < section->count; i++) {
        if (i % columns == 0) {
            bp__text_add(out, "<tr>");
            html_head_cell(out, section->cells[i]);
        } else {
            html_cell(out, strlen(section->cells[i]) > 40 ? "wide" : "", "%s", section->cells[i]);
        }
        bp__text_add(out, i % columns == columns - 1 ? "</tr>\n" : "");
    }
}

/* Writes a row of the headers with capitals at their begin only, for a page: "Int bits". */
static char *page_headers(const char *columns) {
    char *headers = cli_format("%s", columns ? columns : "NAME|VALUE");
    bool first = true;
    for (char *at = headers; *at; at++) {
        *at = first ? *at : (char)tolower((unsigned char)*at);
        first = *at == '|' || *at == '>';
    }
    return headers;
}

static void page_section(bp__text *out, const report_section *section) {
    bp__text_addf(out, "<h2 id=\"%s\">", section->id);
    html_text(out, "%s", section->title);
    bp__text_add(out, "</h2>\n");
    if (section->count == 0) {
        bp__text_add(out, "<p>");
        html_text(out, "%s", section->none);
        bp__text_add(out, "</p>\n");
        return;
    }
    char *headers = page_headers(section->columns);
    html_table_begin(out, section->title, headers);
    page_rows(out, section);
    html_table_end(out);
    free(headers);
}

char *report_page(const report *r) {
    bp__text page = {.length = 0};
    html_page_begin(&page, "Backplane report");
    bp__text_add(&page, "<header><h1>Backplane report</h1></header>\n<nav aria-label=\"Sections\">");
    for (int i = 0; i < r->count; i++) {
        bp__text_addf(&page, "<a href=\"#%s\">", r->sections[i].id);
        html_text(&page, "%s", r->sections[i].title);
        bp__text_add(&page, "</a>");
    }
    bp__text_add(&page, "</nav>\n<main>\n");
    for (int i = 0; i < r->count; i++) {
        page_section(&page, &r->sections[i]);
    }
    bp__text_add(&page, "</main></body></html>\n");
    char *text = cli_format("%s", bp__text_get(&page));
    bp__text_free(&page);
    return text;
}
