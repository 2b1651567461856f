/* launch_savings.c - prints what another library would have saved, whether that is measured or estimated, and the
 * command that saves it; and the kernels and threads of the program. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* The times of the candidates of a product in ns; 0 if there is none. */
typedef struct product_times {
    double measured, estimated, ran; /* the shortest of each kind; the estimated one of the library that ran it */
    char measured_by[64], estimated_by[64];
} product_times;

static bp_explanation *explain_product(const launch_product *p) {
    const int64_t a_shape[] = {p->transposed_a ? p->k : p->m, p->transposed_a ? p->m : p->k};
    const int64_t b_shape[] = {p->transposed_b ? p->n : p->k, p->transposed_b ? p->k : p->n};
    bp_view a, b, c;
    bp_explanation *explanation = NULL;
    if (bp_view_matrix(&a, NULL, p->dtype, a_shape[0], a_shape[1]) != BP_OK ||
        bp_view_matrix(&b, NULL, p->dtype, b_shape[0], b_shape[1]) != BP_OK ||
        bp_view_matrix(&c, NULL, p->dtype, p->m, p->n) != BP_OK ||
        bp_gemm_explain(&explanation, NULL, p->transposed_a ? BP_TRANSPOSE : BP_AS_IS,
                        p->transposed_b ? BP_TRANSPOSE : BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL,
                        &c.tensor) != BP_OK) {
        return NULL;
    }
    return explanation;
}

static void take_least(double *least, char *by, size_t size, const bp_candidate_info *info) {
    if (*least == 0 || info->cost_ns < *least) {
        *least = info->cost_ns;
        snprintf(by, size, "%s", info->library);
    }
}

/* Finds the only library of the list whose file has this name. */
static bool find_by_name(const char *name, bp_library_info *info) {
    bp_library_info other = {.struct_size = sizeof other};
    int found = 0;
    for (int i = 0; bp_library_at(i, &other); i++) {
        if (strcmp(launch_short_name(other.path), name) == 0) {
            *info = other;
            found++;
        }
    }
    return found == 1;
}

/* Returns the id of the library that ran a row: its file, or an id already. The beginning of a long path is not known,
 * and a path may lead over links. */
static const char *id_of(const char *ran) {
    bp_library_info info = {.struct_size = sizeof info};
    const char *name = launch_short_name(ran);
    const bool file = name != ran;
    return file && (bp_library_find(ran, &info) == BP_OK || find_by_name(name, &info)) ? info.id : ran;
}

static product_times times_of(const launch_product *p, const char *ran) {
    product_times found = {.measured = 0};
    bp_explanation *explanation = explain_product(p);
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; explanation && bp_explanation_at(explanation, i, &info); i++) {
        const bool measured = info.time_source == BP_TIME_MEASURED || info.time_source == BP_TIME_INTERPOLATED;
        if (info.accepted && measured) {
            take_least(&found.measured, found.measured_by, sizeof found.measured_by, &info);
        } else if (info.accepted) {
            take_least(&found.estimated, found.estimated_by, sizeof found.estimated_by, &info);
        }
        const bool least = found.ran == 0 || info.cost_ns < found.ran;
        found.ran = info.accepted && !measured && least && strcmp(info.library, ran) == 0 ? info.cost_ns : found.ran;
    }
    bp_explanation_release(explanation);
    return found;
}

/* Returns the usual time of a call in ns: the mean without the longest one, which may have been the first. That one
 * also opens the library. Returns 0 if there was only one call. */
static double usual_time(const bp__record_row *row) {
    return row->calls > 1 ? (double)(row->time_ns - row->most_ns) / (double)(row->calls - 1) : 0;
}

/* What another library would have saved of a row. */
typedef struct saving {
    double ns;
    bool measured;
    char by[64];
} saving;

/* Without measured times the estimates of both libraries are compared: their ratio is better than each of them. */
static bool find_saving(const bp__record_row *row, saving *found) {
    launch_product product;
    *found = (saving){.ns = 0};
    if (!launch_product_of(row, &product)) {
        return false;
    }
    const char *ran = id_of(row->key.ran);
    const product_times times = times_of(&product, ran);
    const double ratio = times.ran > 0 ? times.estimated / times.ran : 1;
    found->measured = times.measured > 0;
    const double gain = found->measured ? usual_time(row) - times.measured : usual_time(row) * (1 - ratio);
    memcpy(found->by, found->measured ? times.measured_by : times.estimated_by, sizeof found->by);
    found->ns = gain > 0 && strcmp(found->by, ran) != 0 ? gain * (double)row->calls : 0;
    return true;
}

typedef struct savings {
    int products;               /* rows that are products */
    double measured, estimated; /* ns */
    char by[64];                /* the library that saves the most in a row */
} savings;

static void print_saving(cli_table *table, const bp__record_row *row, const saving *one) {
    char time[32], saved[32];
    cli_cell(table, CLI_PLAIN, "%s", row->key.routine);
    cli_cell(table, CLI_PLAIN, "%s", launch_sizes(row));
    cli_cell(table, CLI_PLAIN, "%llu", (unsigned long long)row->calls);
    cli_cell(table, CLI_PLAIN, "%s", launch_time((double)row->time_ns, time, sizeof time));
    cli_cell(table, CLI_PLAIN, "%s", launch_short_name(row->key.ran));
    cli_cell(table, CLI_PLAIN, "%s", launch_time(one->ns, saved, sizeof saved));
    cli_cell(table, CLI_PLAIN, "%s", one->by);
    cli_cell(table, CLI_PLAIN, "%s", one->measured ? "measured" : "estimated");
}

/* Adds a line for each product that another library would have computed in less time. */
static savings print_savings(const launch_calls *calls) {
    savings found = {.products = 0};
    double most = 0;
    cli_table *table = cli_table_new("ROUTINE|SIZES|>CALLS|>TIME|LIBRARY|>SAVED|BY|SOURCE");
    for (int i = 0; i < calls->count; i++) {
        const bp__record_row *row = calls->rows[i];
        saving one;
        cli_progress((double)i / calls->count, "times of other libraries, call %d/%d", i + 1, calls->count);
        found.products += find_saving(row, &one);
        if (one.ns <= 0) {
            continue;
        }
        *(one.measured ? &found.measured : &found.estimated) += one.ns;
        memcpy(found.by, one.ns > most ? one.by : found.by, sizeof found.by);
        most = one.ns > most ? one.ns : most;
        print_saving(table, row, &one);
    }
    if (most > 0) {
        cli_say(CLI_STRONG, "\nAnother library would have saved\n");
    }
    cli_table_end(table);
    return found;
}

/* An observed program runs on its own libraries, which `launch` replaces. A launched one already has the choice, which
 * another library can only be preferred to. */
static void print_command(const cli_args *args, const savings *found) {
    char *words = NULL;
    for (int i = 0; i < args->count; i++) {
        words = cli_join_word(words, args->operands[i]);
    }
    if (cli_has(args, "observe")) {
        cli_say(CLI_STRONG, "To save it: backplane launch -- %s\n", words);
    } else if (found->estimated > found->measured) {
        cli_say(CLI_STRONG, "To measure it: backplane tune --machine\n");
    } else {
        cli_say(CLI_STRONG, "To save it: backplane launch --set blas.preferred=%s -- %s\n", found->by, words);
    }
    free(words);
}

/* Returns "118 ms measured, 20 ms estimated", without what is 0. */
static char *sums_of(const savings *found) {
    char time[32], *text = NULL;
    const double sums[] = {found->measured, found->estimated};
    static const char *const sources[] = {"measured", "estimated"};
    for (int i = 0; i < 2; i++) {
        if (sums[i] > 0) {
            char *one = cli_format("%s %s", launch_time(sums[i], time, sizeof time), sources[i]);
            text = cli_join(text, ", ", one);
            free(one);
        }
    }
    return text;
}

void launch_print_savings(const launch_calls *calls, const cli_args *args) {
    const savings found = print_savings(calls);
    char *sums = sums_of(&found);
    if (sums) {
        cli_say(CLI_PLAIN,
                "In all %s, for routines that were called more than once, and matrices without gaps between columns. "
                "Measured times are from `backplane tune --machine`; estimates compare two libraries.\n",
                sums);
        print_command(args, &found);
    } else if (found.products > 0) {
        cli_say(CLI_PLAIN, "\nNo other library would have saved time, by the times that choices use. `backplane tune "
                           "--machine` measures them.\n");
    }
    free(sums);
}

/* ---- Kernels and threads ---- */

static const char *or_dash(const char *text) {
    return text[0] ? text : "-";
}

void launch_print_libraries(inspect_process *process) {
    if (process->pid == 0 || process->library_count == 0) {
        return;
    }
    inspect_complete(process);
    cli_say(CLI_STRONG, "\nLibraries of %s, which may use %d processor%s\n", process->name ? process->name : "?",
            process->processors, process->processors == 1 ? "" : "s");
    cli_table *table = cli_table_new("LIBRARY|KERNELS|>THREADS");
    for (int i = 0; i < process->library_count; i++) {
        const inspect_library *library = &process->libraries[i];
        cli_cell(table, CLI_PLAIN, "%s", launch_short_name(library->file->path));
        cli_cell(table, CLI_PLAIN, "%s", or_dash(inspect_kernels(library)));
        cli_cell(table, CLI_PLAIN, library->threads ? "%d" : "-", library->threads);
    }
    cli_table_end(table);
    for (int i = 0; i < process->finding_count; i++) {
        cli_say(CLI_CAUTION, "warning ");
        cli_paragraph(8, process->findings[i].text);
        printf("     -> ");
        cli_paragraph(8, process->findings[i].advice);
    }
}
