/* report_page.c - writes a report as a page: findings first, then what to do, then the facts. */
#include "cli/output/html.h"
#include "report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const report_section *section_of(const report *r, const char *id) {
    for (int i = 0; i < r->count; i++) {
        if (strcmp(r->sections[i].id, id) == 0) {
            return &r->sections[i];
        }
    }
    return NULL;
}

/* Returns the value of a name of a list; "" if it is not there. */
static const char *value_of(const report_section *section, const char *name) {
    for (int i = 0; section && i < section->count; i += 2) {
        if (strcmp(section->cells[i], name) == 0) {
            return section->cells[i + 1];
        }
    }
    return "";
}

static void heading(bp__text *out, const report_section *section) {
    bp__text_addf(out, "<h2 id=\"%s\">", section->id);
    html_text(out, "%s", section->title);
    bp__text_add(out, "</h2>\n");
}

static void paragraph(bp__text *out, const char *kind, const char *text) {
    bp__text_addf(out, kind[0] ? "<p class=\"%s\">" : "<p>", kind);
    html_prose(out, text);
    bp__text_add(out, "</p>\n");
}

/* ---- Findings, and what to do ---- */

enum { SEVERITY, CHECK, FINDING, ADVICE, SAVES, FINDING_COLUMNS };

static int count_findings(const report_section *section, const char *severity) {
    int count = 0;
    for (int i = 0; i < section->count; i += FINDING_COLUMNS) {
        count += strcmp(section->cells[i + SEVERITY], severity) == 0;
    }
    return count;
}

static void summary_card(bp__text *out, const report_section *section, const char *severity) {
    const int count = count_findings(section, severity);
    bp__text_addf(out, "<div class=\"%s\"><dt>%c%s%s</dt><dd>%d</dd></div>\n", count > 0 ? severity : "ok",
                  toupper(severity[0]), severity + 1, count == 1 ? "" : "s", count);
}

/* A finding says what is wrong, and what would be saved if it was not. */
static void findings_of(bp__text *out, const report_section *section, const char *severity) {
    bp__text_add(out, "<ul class=\"findings\">\n");
    for (int i = 0; i < section->count; i += FINDING_COLUMNS) {
        char *const *cells = &section->cells[i];
        if (strcmp(cells[SEVERITY], severity) != 0) {
            continue;
        }
        bp__text_addf(out, "<li class=\"%s\"><b>%s</b> <span class=\"soft\">", severity, severity);
        html_text(out, "%s", cells[CHECK]);
        bp__text_add(out, "</span>\n");
        paragraph(out, "", cells[FINDING]);
        if (cells[SAVES][0]) {
            bp__text_add(out, "<p class=\"soft\">Cost: ");
            html_prose(out, cells[SAVES]);
            bp__text_add(out, "</p>\n");
        }
        if (strcmp(severity, "note") == 0) {
            paragraph(out, "soft", cells[ADVICE]);
        }
        bp__text_add(out, "</li>\n");
    }
    bp__text_add(out, "</ul>\n");
}

static void page_findings(bp__text *out, const report_section *section) {
    static const char *const severities[] = {"error", "warning"};
    heading(out, section);
    if (section->count == 0) {
        paragraph(out, "good", section->none);
        return;
    }
    bp__text_add(out, "<dl class=\"cards counts\">");
    summary_card(out, section, "error");
    summary_card(out, section, "warning");
    summary_card(out, section, "note");
    bp__text_add(out, "</dl>\n");
    for (size_t i = 0; i < sizeof severities / sizeof severities[0]; i++) {
        if (count_findings(section, severities[i]) > 0) {
            findings_of(out, section, severities[i]);
        }
    }
    if (count_findings(section, "note") > 0) {
        bp__text_add(out, "<details><summary>Notes, which need no action</summary>\n");
        findings_of(out, section, "note");
        bp__text_add(out, "</details>\n");
    }
}

static void page_actions(bp__text *out, const report_section *section) {
    heading(out, section);
    if (section->count == 0) {
        paragraph(out, "", section->none);
        return;
    }
    bp__text_add(out, "<ol class=\"steps\">\n");
    for (int i = 0; i < section->count; i += 3) {
        char *const *cells = &section->cells[i];
        char *action = cli_format("%s", cells[0]);
        action[0] = (char)toupper((unsigned char)action[0]);
        bp__text_add(out, "<li>");
        html_prose(out, action);
        bp__text_add(out, "<small>");
        html_text(out, "Findings: %s%s%s", cells[1], cells[2][0] ? ". Cost: " : "", cells[2]);
        bp__text_add(out, "</small></li>\n");
        free(action);
    }
    bp__text_add(out, "</ol>\n");
}

/* ---- Facts ---- */

enum { LONG_CELL = 28 };

static const char *cell_kind(const char *text) {
    return strlen(text) > LONG_CELL ? "wide" : "";
}

/* Returns the name of the column at `at`, with a capital at its begin only: "Int bits". */
static char *column_name(const char *at) {
    char *name = cli_format("%.*s", (int)strcspn(at, "|"), at);
    for (char *c = name + (*name == '>') + 1; c[-1] && *c; c++) {
        *c = (char)tolower((unsigned char)*c);
    }
    return name;
}

static const char *next_column(const char *at) {
    at += strcspn(at, "|");
    return at + (*at == '|');
}

/* Returns the headers of the columns from `columns` on that are not below their rows. */
static char *page_headers(const char *columns) {
    char *headers = NULL;
    for (const char *at = columns; *at; at = next_column(at)) {
        char *name = column_name(at);
        headers = *at == '~' ? headers : cli_join(headers, "|", name);
        free(name);
    }
    return headers;
}

/* Adds the cells of one row. Columns with a '~' are below it. */
static void row_cells(html_table *table, const char *columns, char *const *cells) {
    int i = 0;
    html_row(table, "");
    for (const char *at = columns; *at; at = next_column(at), i++) {
        if (*at != '~') {
            html_cell(table, cell_kind(cells[i]), "%s", cells[i]);
        }
    }
    i = 0;
    for (const char *at = columns; *at; at = next_column(at), i++) {
        if (*at == '~' && cells[i][0]) {
            char *name = column_name(at + 1);
            html_below(table, name, cells[i]);
            free(name);
        }
    }
}

/* Adds a table of the rows in from..until, without the first `skip` columns. */
static void section_table(bp__text *out, const report_section *section, const char *title, int from, int until,
                          int skip) {
    html_table table;
    const char *columns = section->columns ? section->columns : "NAME|VALUE";
    for (int i = 0; i < skip; i++) {
        columns = next_column(columns);
    }
    char *headers = page_headers(columns);
    html_table_begin(&table, out, title, headers);
    for (int i = from; i < until; i += report_columns(section)) {
        row_cells(&table, columns, &section->cells[i + skip]);
    }
    html_table_end(&table);
    free(headers);
}

/* Returns where the rows end that have the same first cell as the row at `from`. */
static int end_of_group(const report_section *section, int from) {
    const int columns = report_columns(section);
    int end = from;
    while (end < section->count && strcmp(section->cells[end], section->cells[from]) == 0) {
        end += columns;
    }
    return end;
}

/* Each problem has a table of its own, which is closed: its title has the choice. */
static void problem_tables(bp__text *out, const report_section *section) {
    enum { PROBLEM, LIBRARY, VERDICT = 4, TIME = 6, SOURCE };
    const int columns = report_columns(section);
    for (int from = 0; from < section->count;) {
        const int end = end_of_group(section, from);
        bp__text_add(out, "<details><summary>");
        html_text(out, "%s", section->cells[from + PROBLEM]);
        for (int i = from; i < end; i += columns) {
            char *const *cells = &section->cells[i];
            if (strcmp(cells[VERDICT], "chosen") == 0) {
                bp__text_add(out, ": <b>");
                html_text(out, "%s", cells[LIBRARY]);
                bp__text_add(out, "</b>, ");
                html_text(out, "%s (%s)", cells[TIME], cells[SOURCE]);
            }
        }
        bp__text_add(out, "</summary>\n");
        section_table(out, section, section->cells[from + PROBLEM], from, end, 1);
        bp__text_add(out, "</details>\n");
        from = end;
    }
}

static void page_facts(bp__text *out, const report_section *section) {
    bp__text_add(out, section->columns ? "<section>" : "<section class=\"list\">");
    heading(out, section);
    if (section->count == 0) {
        paragraph(out, "soft", section->none);
    } else if (strcmp(section->id, "choices") == 0) {
        problem_tables(out, section);
    } else {
        section_table(out, section, section->title, 0, section->count, 0);
    }
    bp__text_add(out, "</section>\n");
}

/* ---- The page ---- */

static void page_head(bp__text *out, const report *r) {
    const report_section *system = section_of(r, "system"), *machine = section_of(r, "machine");
    html_page_begin(out, "Backplane report");
    bp__text_add(out, "<header><h1>Backplane report</h1><p class=\"soft\">");
    html_text(out, "%s, %s; %s; Backplane %s; %s", value_of(machine, "processor"), value_of(machine, "instruction set"),
              value_of(system, "distribution"), value_of(system, "backplane"), value_of(system, "date"));
    bp__text_add(out, "</p></header>\n<nav aria-label=\"Sections\">");
    for (int i = 0; i < r->count; i++) {
        bp__text_addf(out, "<a href=\"#%s\">", r->sections[i].id);
        html_text(out, "%s", r->sections[i].title);
        bp__text_add(out, "</a>");
    }
    bp__text_add(out, "</nav>\n<main>\n");
}

char *report_page(const report *r) {
    bp__text page = {.length = 0};
    const report_section *findings = section_of(r, "findings"), *actions = section_of(r, "actions");
    page_head(&page, r);
    page_findings(&page, findings);
    page_actions(&page, actions);
    bp__text_add(&page, "<div class=\"facts\">\n");
    for (int i = 0; i < r->count; i++) {
        if (&r->sections[i] != findings && &r->sections[i] != actions) {
            page_facts(&page, &r->sections[i]);
        }
    }
    bp__text_add(&page, "</div></main></body></html>\n");
    char *text = cli_format("%s", bp__text_get(&page));
    bp__text_free(&page);
    return text;
}
