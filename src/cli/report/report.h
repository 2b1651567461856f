/* report.h - shared by the files of `backplane report`: what is found out about this machine, as sections.
 *
 * A section is a table of texts, or a list of named values. The files report_*.c gather the sections, and
 * report_write.c writes all of them as text, JSON or a page. Every text goes through report_private(), so that no
 * section can show a home directory.
 */
#ifndef BP_CLI_REPORT_H
#define BP_CLI_REPORT_H

#include "cli/command/cli.h"

typedef struct report_section {
    const char *id; /* key in JSON, and anchor of the page */
    const char *title;
    const char *columns; /* separated by '|', as cli_table_new() takes them, with '~' for long texts; NULL for a list */
    const char *none;    /* what to write if there are no rows */
    char **cells;        /* row by row; of a list, name and value in turn */
    int count;
} report_section;

enum { REPORT_MOST_SECTIONS = 16 };

typedef struct report {
    report_section sections[REPORT_MOST_SECTIONS];
    int count;
} report;

/* Begins a section. report_cell() adds to the last one; "%.0d" of 0 is an empty cell. (report_sections.c) */
void report_begin(report *r, const char *id, const char *title, const char *columns, const char *none);
void report_cell(report *r, const char *format, ...) BP_PRINTF(2, 3);
/* Adds a name and a value to a list; nothing if the value is "". */
void report_value(report *r, const char *name, const char *format, ...) BP_PRINTF(3, 4);
void report_free(report *r);
/* Returns the columns of a section: 2 for a list. */
int report_columns(const report_section *section);

/* Replaces the user's home directory by ~, other home directories by /home/?, and a directory that has the user's name
 * by USER. Frees `text`; returns a new one. (report_private.c) */
char *report_private(char *text);

/* Gather the sections. Those that return int return CLI_OK, or an exit code after a message. */
int report_machine(report *r);      /* report_machine.c: the system and the processor */
int report_libraries(report *r);    /* report_machine.c: libraries, providers and devices */
int report_settings(report *r);     /* report_state.c: settings that differ from their defaults, and their origin */
void report_environment(report *r); /* report_variables.c: variables that libraries read, known by their names */
int report_findings(report *r);     /* report_state.c: the findings of `backplane doctor`, and what to do */
void report_files(report *r);       /* report_state.c: the files of measured times */
int report_choices(report *r);      /* report_choices.c: candidates of some typical problems, and their times */
void report_programs(report *r);    /* report_programs.c: NumPy, PyTorch, R and others that are installed */

/* Write all sections. */
void report_text(const report *r); /* to standard output, as the next one */
void report_json(const report *r);
char *report_page(const report *r); /* free() it */

#endif
