/* command_inspect.c - `backplane inspect`: shows the math libraries of another process, without stopping it. */
#include "inspect.h"
#include "cli/program/program.h"

#include <stdlib.h>
#include <string.h>

/* ---- Output ---- */

static const char *interfaces_of(const inspect_library *library, char *text, size_t size) {
    static const char *const names[] = {"blas", "lapack", "fftw", "openmp", "dnn"};
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < sizeof names / sizeof names[0] && used < size; i++) {
        if (library->interfaces & (1U << i)) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", names[i]);
        }
    }
    return text;
}

static int bits_of(const inspect_library *library) {
    return !(library->interfaces & (INSPECT_BLAS | INSPECT_LAPACK)) ? 0
           : library->wide || library->wide_names                   ? 64
                                                                    : 32;
}

static const char *or_dash(const char *text) {
    return text && *text ? text : "-";
}

static void print_library(cli_table *table, const inspect_library *library) {
    const bp_library_info *facts = library->facts.id ? &library->facts : NULL;
    char interfaces[64];
    cli_cell(table, CLI_PLAIN, "%s", library->family);
    cli_cell(table, CLI_PLAIN, "%s", or_dash(facts ? facts->version : NULL));
    cli_cell(table, CLI_PLAIN, "%s", interfaces_of(library, interfaces, sizeof interfaces));
    if (bits_of(library)) {
        cli_cell(table, CLI_PLAIN, "%d", bits_of(library));
    } else {
        cli_cell(table, CLI_PLAIN, "-");
    }
    cli_cell(table, CLI_PLAIN, "%s", or_dash(inspect_kernels(library)));
    cli_cell(table, CLI_PLAIN, "%s", or_dash(facts ? facts->threading : NULL));
    if (library->threads) {
        cli_cell(table, CLI_PLAIN, "%d", library->threads);
    } else {
        cli_cell(table, CLI_PLAIN, "-");
    }
    cli_cell(table, CLI_PLAIN, "%s", library->users ? library->users : "opened by name");
    cli_cell(table, CLI_PLAIN, "%s%s", library->file->path, library->file->deleted ? " (deleted)" : "");
}

/* What the process could save: measured times, and the commands. */
static void print_times(const inspect_process *p) {
    char time[32];
    if (p->time_count == 0) {
        return;
    }
    cli_say(CLI_STRONG, "\nA product of %dx%d matrices in f64, measured now", INSPECT_PRODUCT, INSPECT_PRODUCT);
    printf("\n");
    cli_table *table = cli_table_new(">TIME|LIBRARY|KERNELS|>THREADS|HOW");
    for (int i = 0; i < p->time_count; i++) {
        const inspect_time *one = &p->times[i];
        cli_cell(table, CLI_PLAIN, "%s", bp__duration(one->ns, time, sizeof time));
        cli_cell(table, CLI_PLAIN, "%s", one->library);
        cli_cell(table, CLI_PLAIN, "%s", or_dash(one->kernels));
        cli_cell(table, CLI_PLAIN, "%d", one->threads);
        cli_cell(table, CLI_PLAIN, "%s", one->how);
    }
    cli_table_end(table);
    if (p->command_count == 0) {
        cli_say(CLI_GOOD, "No command makes products of the process faster.\n");
    }
    for (int i = 0; i < p->command_count; i++) { /* not wrapped, so that it can be copied */
        cli_say(CLI_STRONG, "%.1f times as fast  ", p->commands[i].times);
        cli_say(CLI_PLAIN, "%s\n", p->commands[i].command);
    }
}

static void print_text(const inspect_process *p) {
    cli_say(CLI_STRONG, "process %d", (int)p->pid);
    cli_say(CLI_PLAIN, "  %s", p->name ? p->name : "?"); /* may have any bytes */
    if (p->tasks) {
        printf(", %d thread%s", p->tasks, p->tasks == 1 ? "" : "s");
    }
    if (p->processors) {
        printf(", may use %d processor%s", p->processors, p->processors == 1 ? "" : "s");
    }
    printf("\n");
    cli_table *table = cli_table_new("FAMILY|VERSION|INTERFACES|>INT|KERNELS|THREADING|>THREADS|~NEEDED BY|FILE");
    for (int i = 0; i < p->library_count; i++) {
        print_library(table, &p->libraries[i]);
    }
    cli_table_end(table);
    if (p->library_count == 0) {
        printf("It has loaded no BLAS, LAPACK, FFTW, oneDNN or OpenMP runtime as a shared library.\n");
    }
    if (p->preload) {
        cli_say(CLI_PLAIN, "LD_PRELOAD  %s\n", p->preload);
    }
    if (p->audit) {
        cli_say(CLI_PLAIN, "LD_AUDIT    %s\n", p->audit);
    }
    for (int i = 0; i < p->finding_count; i++) {
        cli_say(CLI_CAUTION, "warning ");
        cli_paragraph(8, p->findings[i].text);
        printf("     -> ");
        cli_paragraph(8, p->findings[i].advice);
    }
    for (int i = 0; i < p->problem_count; i++) {
        cli_say(CLI_FAINT, "note    ");
        cli_paragraph(8, p->problems[i]);
    }
    print_times(p);
}

static void print_json_library(const inspect_library *library) {
    const bp_library_info *facts = library->facts.id ? &library->facts : NULL;
    char interfaces[64];
    json_open(NULL, '{');
    json_text("family", library->family);
    json_text("id", facts ? facts->id : "");
    json_text("version", facts ? facts->version : "");
    json_list("interfaces", interfaces_of(library, interfaces, sizeof interfaces), ',');
    json_int("int_bits", bits_of(library));
    json_text("kernels", inspect_kernels(library));
    json_text("threading", facts ? facts->threading : "");
    json_int("threads", library->threads);
    json_text("needed_by", library->users ? library->users : "");
    json_text("path", library->file->path);
    json_bool("deleted", library->file->deleted);
    json_close();
}

static void print_json_times(const inspect_process *p) {
    json_open("times", '[');
    for (int i = 0; i < p->time_count; i++) {
        json_open(NULL, '{');
        json_text("library", p->times[i].library);
        json_text("kernels", p->times[i].kernels);
        json_text("how", p->times[i].how);
        json_int("threads", p->times[i].threads);
        json_number("time_ns", p->times[i].ns);
        json_close();
    }
    json_close();
    json_open("commands", '[');
    for (int i = 0; i < p->command_count; i++) {
        json_open(NULL, '{');
        json_text("command", p->commands[i].command);
        json_number("times_as_fast", p->commands[i].times);
        json_close();
    }
    json_close();
}

static void print_json(const inspect_process *p) {
    json_open(NULL, '{');
    json_int("pid", p->pid);
    json_text("name", p->name ? p->name : "");
    json_int("threads", p->tasks);
    json_int("processors", p->processors);
    json_text("ld_preload", p->preload ? p->preload : "");
    json_text("ld_audit", p->audit ? p->audit : "");
    json_open("libraries", '[');
    for (int i = 0; i < p->library_count; i++) {
        print_json_library(&p->libraries[i]);
    }
    json_close();
    json_open("findings", '[');
    for (int i = 0; i < p->finding_count; i++) {
        json_open(NULL, '{');
        json_text("finding", p->findings[i].text);
        json_text("advice", p->findings[i].advice);
        json_close();
    }
    json_close();
    json_open("not_known", '[');
    for (int i = 0; i < p->problem_count; i++) {
        json_text(NULL, p->problems[i]);
    }
    json_close();
    print_json_times(p);
    json_close();
}

static void print_process(inspect_process *p, const cli_args *args) {
    inspect_complete(p);
    if (!cli_has(args, "quick")) {
        inspect_measure(p);
    }
    if (cli_has(args, "json")) {
        print_json(p);
    } else {
        print_text(p);
    }
}

/* ---- A process that runs ---- */

static int inspect_pid(const cli_args *args, int64_t pid) {
    inspect_process process;
    const int code = inspect_read(&process, (pid_t)pid);
    if (code == CLI_OK) {
        print_process(&process, args);
    }
    inspect_free(&process);
    return code;
}

/* ---- A program that is started ---- */

/* A number that is no program is probably meant as a process. */
static void hint_at_process(const cli_args *args) {
    const char *word = args->operands[0];
    if (args->count == 1 && word[0] && !word[strspn(word, "0123456789")]) {
        cli_fail(CLI_USAGE, "for the process of this number, use `backplane inspect -p %s`", word);
    }
}

static int print_to(inspect_process *p, const cli_args *args, const char *file) {
    const int code = program_output_begin(file);
    if (code != CLI_OK) {
        return code;
    }
    print_process(p, args);
    return program_output_end(file);
}

static int inspect_program(const cli_args *args) {
    cli_program program;
    inspect_watched seen = {.files = 0};
    const char *file = cli_value(args, "output");
    int code = file ? program_check_target(file) : CLI_OK;
    if (code != CLI_OK) {
        return code;
    }
    code = program_find(&program, args->operands[0]);
    if (code != CLI_OK) {
        hint_at_process(args);
        return code;
    }
    char **words = cli_allocate(((size_t)args->count + 1) * sizeof *words);
    for (int i = 0; i < args->count; i++) {
        words[i] = (char *)(uintptr_t)args->operands[i];
    }
    words[args->count] = NULL;
    cli_signals_watch_children();
    code = program_wait(program.path, words, inspect_watch, &seen);
    int written = CLI_OK;
    if (seen.best.pid) {
        written = print_to(&seen.best, args, file);
    } else {
        cli_warn(NULL, "the program ended before its files could be read");
    }
    inspect_free(&seen.best);
    program_free(&program);
    free(words);
    return code ? code : written;
}

static int inspect(const cli_args *args) {
    int64_t pid;
    const int code = cli_number(args, "pid", 1, INT32_MAX, 0, &pid);
    if (code != CLI_OK) {
        return code;
    }
    if ((pid > 0) == (args->count > 0)) {
        return cli_fail(CLI_USAGE, "give either --pid N or a program");
    }
    if (pid > 0 && cli_has(args, "output")) {
        return cli_fail(CLI_USAGE, "--output is for a program, whose own output goes to standard output");
    }
    return pid > 0 ? inspect_pid(args, pid) : inspect_program(args);
}

static const cli_option options[] = {
    {"pid", 'p', "N", "The process."},
    {"output", 'o', "FILE", "With a program: write to a file in place of the standard error output."},
    {"quick", 0, NULL, "Do not measure products on the libraries."},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL},
};

const cli_command command_inspect = {
    .name = "inspect",
    .summary = "Show the math libraries of a running process or of a program, their threads and conflicts.",
    .operands = "[[--] PROGRAM [ARGUMENT ...]]",
    .details =
        "\nExamples: backplane inspect --pid 1234; backplane inspect -- python3 script.py\n"
        "\nThe process is not stopped. Of a program, what it had loaded when it used the most libraries is shown "
        "after its end, and the exit code is the program's. A product is measured on these libraries, in processes "
        "of this command: as the program runs it, with the best kernels on all processors, and on the library that "
        "`backplane launch` takes.",
    .least = 0,
    .most = 1 << 24,
    .program = true,
    .options = options,
    .run = inspect,
};
