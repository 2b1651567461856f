/* launch_report.c - prints what a program's calls were, where they ran and why, and what another choice would have
 * saved. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* Returns the file's name of a path, or an id as it is. */
static const char *short_name(const char *library) {
    const char *slash = strrchr(library, '/');
    return slash ? slash + 1 : library;
}

static const char *time_text(double ns, char *buffer, size_t size) {
    const double scale[] = {1e9, 1e6, 1e3};
    static const char *const units[] = {"s", "ms", "us"};
    int unit = ns >= 1e9 ? 0 : ns >= 1e6 ? 1 : 2;
    snprintf(buffer, size, "%.4g %s", ns / scale[unit], units[unit]);
    return buffer;
}

static double total_time(const launch_calls *calls) {
    double sum = 0;
    for (int i = 0; i < calls->count; i++) {
        sum += (double)calls->rows[i]->time_ns;
    }
    return sum;
}

static void print_discovery(const launch_calls *calls) {
    char time[32];
    if (calls->file->discovery_ns > 0) {
        cli_say(CLI_PLAIN, "Discovery of the libraries: %s, not counted.\n",
                time_text((double)calls->file->discovery_ns, time, sizeof time));
    }
}

/* The first call of a process that Backplane runs takes much longer than the others, which may surprise. */
static void print_first_call(const launch_calls *calls) {
    const double noticed_ns = 1e8;
    char time[32];
    double longest = 0;
    for (int i = 0; i < calls->count; i++) {
        const bp__record_row *row = calls->rows[i];
        const bool other = strcmp(row->key.ran, row->key.own) != 0;
        longest = other && (double)row->most_ns > longest ? (double)row->most_ns : longest;
    }
    if (longest > noticed_ns) {
        cli_say(CLI_PLAIN, "The longest call took %s. The first one on a library also opens it.\n",
                time_text(longest, time, sizeof time));
    }
}

static void print_end(const launch_calls *calls) {
    print_discovery(calls);
    print_first_call(calls);
    if (calls->file->lost > 0) {
        cli_say(CLI_CAUTION, "%llu calls are missing: too many different sizes\n",
                (unsigned long long)calls->file->lost);
    }
}

/* ---- What another choice would have saved ---- */

/* Returns the shortest measured time of a product's candidates in ns, and its library; 0 if nothing was measured. */
static double best_time(const launch_product *p, char *library, size_t size) {
    const int64_t a_shape[] = {p->transposed_a ? p->k : p->m, p->transposed_a ? p->m : p->k};
    const int64_t b_shape[] = {p->transposed_b ? p->n : p->k, p->transposed_b ? p->k : p->n};
    bp_view a, b, c;
    bp_explanation *explanation;
    double best = 0;
    if (bp_view_matrix(&a, NULL, p->dtype, a_shape[0], a_shape[1]) != BP_OK ||
        bp_view_matrix(&b, NULL, p->dtype, b_shape[0], b_shape[1]) != BP_OK ||
        bp_view_matrix(&c, NULL, p->dtype, p->m, p->n) != BP_OK ||
        bp_gemm_explain(&explanation, NULL, p->transposed_a ? BP_TRANSPOSE : BP_AS_IS,
                        p->transposed_b ? BP_TRANSPOSE : BP_AS_IS, NULL, &a.tensor, &b.tensor, NULL,
                        &c.tensor) != BP_OK) {
        return 0;
    }
    bp_candidate_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_explanation_at(explanation, i, &info); i++) {
        const bool measured = info.time_source == BP_TIME_MEASURED || info.time_source == BP_TIME_INTERPOLATED;
        if (info.accepted && measured && (best == 0 || info.cost_ns < best)) {
            best = info.cost_ns;
            snprintf(library, size, "%s", info.library);
        }
    }
    bp_explanation_release(explanation);
    return best;
}

/* Returns the usual time of a call in ns: the mean without the longest one, which may have been the first. That one
 * also opens the library. Returns 0 if there was only one call. */
static double usual_time(const bp__record_row *row) {
    return row->calls > 1 ? (double)(row->time_ns - row->most_ns) / (double)(row->calls - 1) : 0;
}

typedef struct savings {
    int products, measured; /* rows that are products, and how many of them had measured candidates */
    double total;
} savings;

/* Adds a line for each product that a measured candidate would have computed in less time. */
static savings print_savings(const launch_calls *calls) {
    savings found = {.products = 0};
    cli_table *table = cli_table_new("ROUTINE|SIZES|>CALLS|>TIME|LIBRARY|>SAVED|BY");
    for (int i = 0; i < calls->count; i++) {
        const bp__record_row *row = calls->rows[i];
        launch_product product;
        char best[64], time[32], saved[32];
        if (!launch_product_of(row, &product)) {
            continue;
        }
        cli_progress((double)i / calls->count, "times of other libraries, call %d/%d", i + 1, calls->count);
        const double least = best_time(&product, best, sizeof best);
        const double gain = (usual_time(row) - least) * (double)row->calls;
        found.products++;
        found.measured += least > 0;
        if (least <= 0 || gain <= 0 || strcmp(best, row->key.ran) == 0) {
            continue;
        }
        found.total += gain;
        cli_cell(table, CLI_PLAIN, "%s", row->key.routine);
        cli_cell(table, CLI_PLAIN, "%s", launch_sizes(row));
        cli_cell(table, CLI_PLAIN, "%llu", (unsigned long long)row->calls);
        cli_cell(table, CLI_PLAIN, "%s", time_text((double)row->time_ns, time, sizeof time));
        cli_cell(table, CLI_PLAIN, "%s", short_name(row->key.ran));
        cli_cell(table, CLI_PLAIN, "%s", time_text(gain, saved, sizeof saved));
        cli_cell(table, CLI_PLAIN, "%s", best);
    }
    if (found.total > 0) {
        cli_say(CLI_STRONG, "\nAnother library would have saved\n");
    }
    cli_table_end(table);
    return found;
}

static void print_saved(const launch_calls *calls) {
    char time[32];
    const savings found = print_savings(calls);
    if (found.products > 0 && found.measured == 0) {
        cli_say(CLI_PLAIN, "\nWhat another library would have saved is not known: `backplane tune --machine` measures "
                           "the libraries.\n");
    } else if (found.total > 0) {
        cli_say(CLI_PLAIN,
                "%s in all, for routines that were called more than once. The time of the library in BY is from "
                "measurements on this machine (`backplane tune`), for matrices without gaps between columns.\n",
                time_text(found.total, time, sizeof time));
    } else if (found.products > 0) {
        cli_say(CLI_PLAIN, "\nNo other library would have saved time, by the measurements on this machine.\n");
    }
}

/* Returns whether a file is netlib's reference code. */
static bool is_reference(const char *path) {
    bp_library_info info = {.struct_size = sizeof info};
    return path[0] == '/' && bp_library_find(path, &info) == BP_OK && strcmp(info.family, "netlib") == 0;
}

/* Finds a library that can take all routines of a program. */
static bool find_whole_library(bp_library_info *info) {
    const unsigned kinds = BP_LIB_BLAS | BP_LIB_CBLAS | BP_LIB_LAPACK;
    info->struct_size = sizeof *info;
    for (int i = 0; bp_library_at(i, info); i++) {
        if (info->state == BP_LIBRARY_OK && (info->kinds & kinds) == kinds && strcmp(info->family, "netlib") != 0) {
            return true;
        }
    }
    return false;
}

/* Only products and some factorizations are sent to another library without being asked, so a program that has a slow
 * one may lose much time in other routines. */
static void print_reference(const launch_calls *calls) {
    char time[32];
    bp_library_info info;
    double spent = 0;
    for (int i = 0; i < calls->count; i++) {
        spent += is_reference(calls->rows[i]->key.ran) ? (double)calls->rows[i]->time_ns : 0;
    }
    if (spent > 0.05 * total_time(calls) && find_whole_library(&info)) {
        cli_say(CLI_CAUTION,
                "\n%s of this were in netlib's reference code, which is slow; `launch --library %s` sends all "
                "routines to %s.\n",
                time_text(spent, time, sizeof time), info.id, info.id);
    }
}

/* ---- Profile ---- */

typedef struct profile_row {
    const char *routine, *ran;
    uint64_t calls;
    double time_ns, flops;
    bool all_flops; /* of all calls the operations are known */
} profile_row;

static int by_time(const void *a, const void *b) {
    const profile_row *x = a, *y = b;
    return x->time_ns < y->time_ns ? 1 : x->time_ns > y->time_ns ? -1 : strcmp(x->routine, y->routine);
}

/* Adds the rows of equal routine and library. */
static int merge(const launch_calls *calls, profile_row *merged) {
    int count = 0;
    for (int i = 0; i < calls->count; i++) {
        const bp__record_row *row = calls->rows[i];
        int at = 0;
        while (at < count &&
               (strcmp(merged[at].routine, row->key.routine) != 0 || strcmp(merged[at].ran, row->key.ran) != 0)) {
            at++;
        }
        if (at == count) {
            merged[count++] = (profile_row){.routine = row->key.routine, .ran = row->key.ran, .all_flops = true};
        }
        merged[at].calls += row->calls;
        merged[at].time_ns += (double)row->time_ns;
        merged[at].flops += row->flops * (double)row->calls;
        merged[at].all_flops = merged[at].all_flops && row->flops > 0;
    }
    qsort(merged, (size_t)count, sizeof *merged, by_time);
    return count;
}

void launch_profile(const launch_calls *calls) {
    profile_row *merged = cli_allocate(((size_t)calls->count + 1) * sizeof *merged);
    const int count = merge(calls, merged);
    const double total = total_time(calls);
    char time[32];
    cli_table *table = cli_table_new("ROUTINE|>CALLS|>TIME|>SHARE|>GFLOP/s|LIBRARY");
    for (int i = 0; i < count; i++) {
        const profile_row *row = &merged[i];
        cli_cell(table, CLI_PLAIN, "%s", row->routine);
        cli_cell(table, CLI_PLAIN, "%llu", (unsigned long long)row->calls);
        cli_cell(table, CLI_PLAIN, "%s", time_text(row->time_ns, time, sizeof time));
        cli_cell(table, CLI_PLAIN, "%.1f %%", total > 0 ? 100 * row->time_ns / total : 0);
        if (row->all_flops && row->time_ns > 0) {
            cli_cell(table, CLI_PLAIN, "%.3g", row->flops / row->time_ns);
        } else {
            cli_cell(table, CLI_PLAIN, "-");
        }
        cli_cell(table, CLI_PLAIN, "%s", short_name(row->ran));
    }
    cli_table_end(table);
    cli_say(CLI_PLAIN, "%s in math routines, the sum over all threads and processes.\n",
            time_text(total, time, sizeof time));
    print_reference(calls);
    print_saved(calls);
    print_end(calls);
    free(merged);
}

/* ---- Explanation ---- */

void launch_explain(const launch_calls *calls) {
    char time[32];
    cli_table *table = cli_table_new("ROUTINE|SIZES|>CALLS|>TIME OF ONE|RAN ON|WHY");
    for (int i = 0; i < calls->count; i++) {
        const bp__record_row *row = calls->rows[i];
        const bool own = strcmp(row->key.ran, row->key.own) == 0;
        cli_cell(table, CLI_PLAIN, "%s", row->key.routine);
        cli_cell(table, CLI_PLAIN, "%s", row->key.sizes ? launch_sizes(row) : "any");
        cli_cell(table, CLI_PLAIN, "%llu", (unsigned long long)row->calls);
        cli_cell(table, CLI_PLAIN, "%s", time_text((double)row->time_ns / (double)row->calls, time, sizeof time));
        cli_cell(table, CLI_PLAIN, "%s", short_name(row->key.ran));
        cli_cell(table, CLI_PLAIN, "%s",
                 row->why[0] ? row->why
                 : own       ? "the program's own library"
                             : "--library, or the choice for this routine and size");
    }
    cli_table_end(table);
    print_end(calls);
}
