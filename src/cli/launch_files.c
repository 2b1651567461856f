/* launch_files.c - writes a program's calls to files: as JSON, a line for each routine, its sizes and library; and as a
 * list of problems for `backplane tune --from`. A file is written completely or not at all. */
#include "launch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct output {
    const char *path;
    char *temporary;
    FILE *file;
} output;

static int fail(output *to, int error) {
    const int code = cli_fail(CLI_IO, "%s cannot be written: %s", to->path, strerror(error));
    free(to->temporary);
    return code;
}

static int begin(output *to, const char *path) {
    *to = (output){.path = path, .temporary = cli_format("%s.XXXXXX", path)};
    const int file = mkstemp(to->temporary);
    to->file = file >= 0 ? fdopen(file, "w") : NULL;
    return to->file ? CLI_OK : fail(to, errno);
}

static int end(output *to) {
    errno = 0;
    const bool written = fflush(to->file) == 0 && !ferror(to->file);
    const bool closed = fclose(to->file) == 0;
    if (written && closed && rename(to->temporary, to->path) == 0) {
        free(to->temporary);
        return CLI_OK;
    }
    const int error = errno ? errno : EIO;
    unlink(to->temporary);
    return fail(to, error);
}

int launch_check_target(const char *path) {
    output to;
    const int code = begin(&to, path);
    if (code == CLI_OK) {
        fclose(to.file);
        unlink(to.temporary);
        free(to.temporary);
    }
    return code;
}

/* ---- JSON ---- */

static void print_text(FILE *file, const char *name, const char *text) {
    fprintf(file, "\"%s\": \"", name);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            fprintf(file, "\\%c", c);
        } else if (c < ' ' || c > '~') { /* paths may have bytes of any encoding */
            fprintf(file, "\\u%04x", c);
        } else {
            fputc(c, file);
        }
    }
    fputs("\", ", file);
}

static void print_row(FILE *file, const bp__record_row *row) {
    const bp__record_key *key = &row->key;
    fputc('{', file);
    print_text(file, "routine", key->routine);
    print_text(file, "family", key->family);
    fprintf(file, "\"int_bits\": %d, ", (int)key->width);
    print_text(file, "options", key->options);
    fputs("\"sizes\": [", file);
    for (int i = 0; i < key->sizes; i++) {
        fprintf(file, "%s%lld", i ? ", " : "", (long long)key->size[i]);
    }
    fprintf(file, "], \"calls\": %llu, \"time_ns\": %llu, \"least_ns\": %llu, \"most_ns\": %llu, \"flops\": %.17g, ",
            (unsigned long long)row->calls, (unsigned long long)row->time_ns, (unsigned long long)row->least_ns,
            (unsigned long long)row->most_ns, row->flops * (double)row->calls);
    print_text(file, "library", key->ran);
    print_text(file, "own_library", key->own);
    print_text(file, "why", row->why);
    fprintf(file, "\"through_backplane\": %s}\n", key->through ? "true" : "false");
}

int launch_trace(const launch_calls *calls, const char *path) {
    output to;
    const int code = begin(&to, path);
    if (code != CLI_OK) {
        return code;
    }
    for (int i = 0; i < calls->count; i++) {
        print_row(to.file, calls->rows[i]);
    }
    return end(&to);
}

/* ---- Problems ---- */

/* Prints a product or a factorization as the words of `backplane tune`. Returns false if the row is neither. */
static bool print_problem(FILE *file, const bp__record_row *row) {
    static const struct {
        const char *routine, *operation;
        int shapes; /* 1: the matrix; 2: the matrix and the right-hand sides */
    } solvers[] = {{"getrf", "lu_factor", 1}, {"potrf", "cholesky", 1}, {"gesv", "solve", 2}};
    const bp__record_key *key = &row->key;
    launch_product p;
    if (launch_product_of(row, &p)) {
        fprintf(file, "gemm %s %lldx%lld %lldx%lld%s%s\n", bp_dtype_name(p.dtype),
                (long long)(p.transposed_a ? p.k : p.m), (long long)(p.transposed_a ? p.m : p.k),
                (long long)(p.transposed_b ? p.n : p.k), (long long)(p.transposed_b ? p.k : p.n),
                p.transposed_a ? " --trans-a" : "", p.transposed_b ? " --trans-b" : "");
        return true;
    }
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        static const char letters[] = "sdcz";
        static const char *const dtypes[] = {"f32", "f64", "c64", "c128"};
        const char *letter = key->routine[0] ? strchr(letters, key->routine[0]) : NULL;
        if (letter && strcmp(key->routine + 1, solvers[i].routine) == 0 && key->sizes > 0) {
            const long long m = key->size[0], n = key->sizes > 1 ? key->size[1] : m;
            fprintf(file, "%s %s %lldx%lld", solvers[i].operation, dtypes[letter - letters], m,
                    solvers[i].shapes == 1 ? n : m);
            fprintf(file, solvers[i].shapes == 2 ? " %lldx%lld\n" : "\n", m, n);
            return true;
        }
    }
    return false;
}

int launch_tune(const launch_calls *calls, const char *path) {
    output to;
    int others = 0;
    const int code = begin(&to, path);
    if (code != CLI_OK) {
        return code;
    }
    fprintf(to.file, "# Problems of a run, the one with the longest time first, for `backplane tune --from`.\n");
    for (int i = 0; i < calls->count; i++) {
        others += !print_problem(to.file, calls->rows[i]);
    }
    fprintf(to.file, "# %d other lines of the trace are calls that `backplane tune` does not measure.\n", others);
    return end(&to);
}
