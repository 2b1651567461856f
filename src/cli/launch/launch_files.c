/* launch_files.c - writes a program's calls to files: as JSON, a line for each routine, its sizes and library; and as a
 * list of problems for `backplane tune --from`. A file is written completely or not at all. */
#include "launch.h"
#include "cli/arrays/npy.h"

#include <string.h>

static int write_file(const char *path, bp__text *text) {
    bp__npy_error error;
    const bp_status status = text->failed
                                 ? bp__npy_fail(&error, BP_E_NO_MEMORY, "%s: there is no memory for its text", path)
                                 : npy_write_text(path, bp__text_get(text), text->length, &error);
    bp__text_free(text);
    return status == BP_OK ? CLI_OK : cli_fail(cli_exit_of(status), "%s", error.text);
}

/* ---- JSON ---- */

static void add_row(bp__text *to, const bp__record_row *row, uint64_t discovery_ns) {
    const bp__record_key *key = &row->key;
    bp__json json;
    bp__json_begin(&json, to);
    bp__json_open(&json, NULL, '{');
    bp__json_text(&json, "routine", key->routine);
    bp__json_text(&json, "family", key->family);
    bp__json_int(&json, "int_bits", key->width);
    bp__json_text(&json, "options", key->options);
    bp__json_open(&json, "sizes", '[');
    for (int i = 0; i < key->sizes; i++) {
        bp__json_int(&json, NULL, key->size[i]);
    }
    bp__json_close(&json, ']');
    bp__json_int(&json, "calls", (int64_t)row->calls);
    bp__json_int(&json, "time_ns", (int64_t)row->time_ns);
    bp__json_int(&json, "least_ns", (int64_t)row->least_ns);
    bp__json_int(&json, "most_ns", (int64_t)row->most_ns);
    bp__json_number(&json, "flops", row->flops * (double)row->calls);
    bp__json_text(&json, "library", key->ran);
    bp__json_text(&json, "own_library", key->own);
    bp__json_text(&json, "why", row->why);
    bp__json_bool(&json, "through_backplane", key->through);
    bp__json_int(&json, "discovery_ns", (int64_t)discovery_ns); /* of the run: a reader may take any line */
    bp__json_close(&json, '}');
    bp__text_add(to, "\n");
}

int launch_trace(const launch_calls *calls, const char *path) {
    bp__text text = {.length = 0};
    for (int i = 0; i < calls->count; i++) {
        add_row(&text, calls->rows[i], calls->file->discovery_ns);
    }
    return write_file(path, &text);
}

/* ---- Problems ---- */

/* Adds a product or a factorization as the words of `backplane tune`. Returns false if the row is neither. */
static bool add_problem(bp__text *to, const bp__record_row *row) {
    static const struct {
        const char *routine, *operation;
        int shapes; /* 1: the matrix; 2: the matrix and the right-hand sides */
    } solvers[] = {{"getrf", "lu_factor", 1}, {"potrf", "cholesky", 1}, {"gesv", "solve", 2}};
    const bp__record_key *key = &row->key;
    launch_product p;
    if (launch_product_of(row, &p)) {
        bp__text_addf(to, "gemm %s %lldx%lld %lldx%lld%s%s\n", bp_dtype_name(p.dtype),
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
            bp__text_addf(to, "%s %s %lldx%lld", solvers[i].operation, dtypes[letter - letters], m,
                          solvers[i].shapes == 1 ? n : m);
            if (solvers[i].shapes == 2) {
                bp__text_addf(to, " %lldx%lld", m, n);
            }
            bp__text_add(to, "\n");
            return true;
        }
    }
    return false;
}

int launch_tune(const launch_calls *calls, const char *path) {
    bp__text text = {.length = 0};
    int others = 0;
    bp__text_add(&text, "# Problems of a run, the one with the longest time first, for `backplane tune --from`.\n");
    for (int i = 0; i < calls->count; i++) {
        others += !add_problem(&text, calls->rows[i]);
    }
    bp__text_addf(&text, "# %d other lines of the trace are calls that `backplane tune` does not measure.\n", others);
    return write_file(path, &text);
}
