/* launch_report.c - prints what a program's calls were, where they ran and why. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

/* Returns the file's name of a path, or an id as it is. */
const char *launch_short_name(const char *library) {
    const char *slash = strrchr(library, '/');
    return slash ? slash + 1 : library;
}

const char *launch_time(double ns, char *buffer, size_t size) {
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
                launch_time((double)calls->file->discovery_ns, time, sizeof time));
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
                launch_time(longest, time, sizeof time));
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

/* ---- netlib's reference code ---- */

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
                launch_time(spent, time, sizeof time), info.id, info.id);
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

void launch_profile(const launch_calls *calls, const cli_args *args, inspect_process *process) {
    profile_row *merged = cli_allocate(((size_t)calls->count + 1) * sizeof *merged);
    const int count = merge(calls, merged);
    const double total = total_time(calls);
    char time[32];
    cli_table *table = cli_table_new("ROUTINE|>CALLS|>TIME|>SHARE|>GFLOP/s|LIBRARY");
    for (int i = 0; i < count; i++) {
        const profile_row *row = &merged[i];
        cli_cell(table, CLI_PLAIN, "%s", row->routine);
        cli_cell(table, CLI_PLAIN, "%llu", (unsigned long long)row->calls);
        cli_cell(table, CLI_PLAIN, "%s", launch_time(row->time_ns, time, sizeof time));
        cli_cell(table, CLI_PLAIN, "%.1f %%", total > 0 ? 100 * row->time_ns / total : 0);
        if (row->all_flops && row->time_ns > 0) {
            cli_cell(table, CLI_PLAIN, "%.3g", row->flops / row->time_ns);
        } else {
            cli_cell(table, CLI_PLAIN, "-");
        }
        cli_cell(table, CLI_PLAIN, "%s", launch_short_name(row->ran));
    }
    cli_table_end(table);
    cli_say(CLI_PLAIN, "%s in math routines, the sum over all threads and processes.\n",
            launch_time(total, time, sizeof time));
    print_end(calls);
    print_reference(calls);
    launch_print_savings(calls, args);
    process->launched = !cli_has(args, "observe");
    launch_print_libraries(process);
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
        cli_cell(table, CLI_PLAIN, "%s", launch_time((double)row->time_ns / (double)row->calls, time, sizeof time));
        cli_cell(table, CLI_PLAIN, "%s", launch_short_name(row->key.ran));
        cli_cell(table, CLI_PLAIN, "%s",
                 row->why[0] ? row->why
                 : own       ? "the program's own library"
                             : "--library, or the choice for this routine and size");
    }
    cli_table_end(table);
    print_end(calls);
}
