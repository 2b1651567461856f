/* report_write.c - writes a report as text or as JSON. report_page.c writes a page. */
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
