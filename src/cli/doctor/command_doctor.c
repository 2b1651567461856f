/* command_doctor.c - `backplane doctor`: reports problems of the math libraries of this machine, each with advice.
 */
#include "doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const doctor_check checks[] = {
    {"configuration", "every line of the configuration is valid", doctor_configuration},
    {"missing", "nothing is missing", doctor_missing},
    {"broken", "every library that was found works", doctor_broken},
    {"providers", "every provider module is loaded", doctor_providers},
    {"shadowed", "no library shadows another of the same name", doctor_shadowed},
    {"alternatives", "the system's alternatives name one implementation", doctor_alternatives},
    {"kernels", "every library uses kernels for this processor", doctor_kernels},
    {"kernel variables", "no variable makes a library slow", doctor_kernel_variables},
    {"openmp", "no OpenMP runtimes conflict", doctor_openmp},
    {"pools", "no program runs two thread pools", doctor_pools},
    {"thread limits", "nothing limits the number of threads", doctor_thread_limits},
};

#define CHECK_COUNT ((int)(sizeof checks / sizeof checks[0]))

static const struct {
    const char *name;
    cli_style style;
} levels[] = {
    [SEVERITY_OK] = {"ok", CLI_GOOD},
    [SEVERITY_NOTE] = {"note", CLI_FAINT},
    [SEVERITY_WARNING] = {"warning", CLI_CAUTION},
    [SEVERITY_ERROR] = {"error", CLI_BAD},
};

void doctor_find(doctor *d, severity level, char *advice, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = cli_format_v(format, args);
    va_end(args);
    d->findings = cli_grow(d->findings, (size_t)(d->count + 1) * sizeof *d->findings);
    d->findings[d->count++] = (finding){d->check, level, text, advice ? advice : cli_format("%s", ""), NULL};
}

void doctor_find_saving(doctor *d, const char *library) {
    d->findings[d->count - 1].saves = doctor_saving(library);
}

bool doctor_usable(const bp_library_info *row, unsigned kinds) {
    return row->state == BP_LIBRARY_OK && (row->kinds & kinds) == kinds;
}

static bool has_line(const char *lines, const char *wanted) {
    size_t length = strlen(wanted);
    for (const char *at = lines; *at;) {
        size_t line = strcspn(at, "\n");
        if (line == length && memcmp(at, wanted, length) == 0) {
            return true;
        }
        at += line + (at[line] == '\n');
    }
    return false;
}

const bp_library_info *doctor_row_of(const doctor *d, const char *path) {
    for (int i = 0; i < d->row_count; i++) {
        if (strcmp(d->rows[i].path, path) == 0 || has_line(d->rows[i].aliases, path)) {
            return &d->rows[i];
        }
    }
    return NULL;
}

char *doctor_enumerate(char *list, const char *item) {
    return cli_join(list, ", ", item);
}

const char *doctor_variable(const char *name) {
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* Receives the warnings while the list is built: warnings of the probe cache go to its check, the others are shown. */
static void take_warning(void *user, const char *text) {
    doctor *d = user;
    if (strstr(text, "probe cache")) {
        free(d->store_problem);
        d->store_problem = cli_format("%s", text);
    } else {
        cli_warn(NULL, text);
    }
}

static int gather_checks(doctor *d) {
    int count = 0;
    d->machine.struct_size = sizeof d->machine;
    bp_status status = bp_machine(&d->machine);
    status = status == BP_OK ? bp_library_count(&count) : status;
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    bp_library_info *rows = cli_allocate((size_t)(count + 1) * sizeof *rows);
    for (int i = 0; i < count; i++) {
        rows[d->row_count].struct_size = sizeof *rows;
        if (bp_library_at(i, &rows[d->row_count])) {
            d->row_count++;
        }
    }
    d->rows = rows;
    int rank = doctor_kernel_rank(bp_cpu_hardware_capability());
    d->hardware = rank > 0 ? (bp_capability)rank : BP_CAPABILITY_DEFAULT;
    return CLI_OK;
}

static void examine_machine(doctor *d) {
    for (int i = 0; i < CHECK_COUNT; i++) {
        int before = d->count;
        d->check = checks[i].name;
        cli_progress(-1, "check %d/%d: %s", i + 1, CHECK_COUNT, checks[i].name);
        checks[i].run(d);
        if (d->count == before) {
            doctor_find(d, SEVERITY_OK, NULL, "%s", checks[i].fine);
        }
    }
}

static void print_text(const doctor *d) {
    for (int i = 0; i < d->count; i++) {
        const finding *f = &d->findings[i];
        cli_say(levels[f->severity].style, "%-8s", levels[f->severity].name);
        printf(" %s", f->check);
        const int at = cli_behind_label(9 + cli_text_width(f->check), 27);
        cli_paragraph(at, f->text);
        if (f->advice[0]) {
            printf("%*s-> ", at, "");
            cli_paragraph(at + 3, f->advice);
        }
        if (f->saves) {
            printf("%*s   cost: ", at, "");
            cli_paragraph(at + 9, f->saves);
        }
    }
}

static void print_json(const doctor *d) {
    json_open(NULL, '{');
    json_open("findings", '[');
    for (int i = 0; i < d->count; i++) {
        json_open(NULL, '{');
        json_text("check", d->findings[i].check);
        json_text("severity", levels[d->findings[i].severity].name);
        json_text("finding", d->findings[i].text);
        json_text("advice", d->findings[i].advice);
        json_text("saves", d->findings[i].saves ? d->findings[i].saves : "");
        json_close();
    }
    json_close();
    json_close();
}

int doctor_run(doctor *d) {
    *d = (doctor){.count = 0};
    bp_set_warning_handler(take_warning, d);
    int code = gather_checks(d);
    bp_set_warning_handler(cli_warn, NULL);
    if (code == CLI_OK) {
        examine_machine(d);
    } else {
        doctor_free(d);
    }
    return code;
}

void doctor_free(doctor *d) {
    for (int i = 0; i < d->count; i++) {
        free(d->findings[i].text);
        free(d->findings[i].advice);
        free(d->findings[i].saves);
    }
    free(d->findings);
    free(d->store_problem);
    free((void *)(uintptr_t)d->rows);
}

const char *doctor_severity_name(severity level) {
    return levels[level].name;
}

static int run_checks(const cli_args *args) {
    doctor d;
    cli_progress_begin(CLI_EXAMINING);
    int code = doctor_run(&d);
    cli_progress_end();
    if (code != CLI_OK) {
        return code;
    }
    if (cli_has(args, "json")) {
        print_json(&d);
    } else {
        print_text(&d);
    }
    for (int i = 0; i < d.count; i++) {
        code = d.findings[i].severity > SEVERITY_NOTE ? CLI_FINDING : code;
    }
    doctor_free(&d);
    return code;
}

static const cli_option options[] = {CLI_OPTION_JSON, {NULL, 0, NULL, NULL}};

const cli_command command_doctor = {
    .name = "doctor",
    .summary = "Report conflicts, slow kernels and missing parts, each with advice.",
    .operands = "",
    .details = "\nA note needs no action. A warning costs speed or may fail. An error does fail. Exit code 0: nothing "
               "above a note; 1: a warning or an error.",
    .quiet = true,
    .options = options,
    .run = run_checks,
};
