/* tune_text.c - converts problem texts, as in traces and logs, to words of the command line. */
#include "tune_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 12 };

typedef struct words {
    char **list;
    int count;
} words;

static void add_text(words *w, char *text) {
    if (!w->list) {
        w->list = cli_allocate(MOST_WORDS * sizeof *w->list);
    }
    w->list[w->count++] = text;
}

/* Takes `word` if the text begins with it. */
static bool take_text(const char **text, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) {
        return false;
    }
    *text += length;
    return true;
}

static bool take_number(const char **text, int64_t *value) {
    char *end;
    if (**text < '0' || **text > '9') {
        return false;
    }
    *value = strtoll(*text, &end, 10);
    *text = end;
    return true;
}

/* Takes the element type and the space behind it. */
static bool take_dtype(const char **text, char *dtype, size_t size) {
    size_t length = strcspn(*text, " ");
    if (length == 0 || length >= size || (*text)[length] != ' ') {
        return false;
    }
    memcpy(dtype, *text, length);
    dtype[length] = '\0';
    *text += length + 1;
    return bp_dtype_from_name(dtype) != BP_DTYPE_NONE;
}

/* Takes "100 x " and writes "100x"; "" if there is no batch. */
static void take_batch(const char **text, char *batch, size_t size) {
    const char *at = *text;
    int64_t count;
    batch[0] = '\0';
    if (take_number(&at, &count) && take_text(&at, " x ")) {
        snprintf(batch, size, "%" PRId64 "x", count);
        *text = at;
    }
}

/* ---- Products: "f32 8 x alpha 5x6 @ 6x7^T ld 9 -> 5x7 + beta C" ---- */

typedef struct matrix {
    int64_t rows, columns;
    bool transposed;
    int64_t leading; /* 0: there are no gaps */
} matrix;

static bool take_matrix(const char **text, matrix *m) {
    if (!take_number(text, &m->rows) || !take_text(text, "x") || !take_number(text, &m->columns)) {
        return false;
    }
    m->transposed = take_text(text, "^T");
    m->leading = 0;
    if (take_text(text, " ld ") && !take_number(text, &m->leading)) {
        return false;
    }
    return **text != '*' && strncmp(*text, " strided", 8) != 0; /* conjugated, or of unknown strides */
}

static void add_matrix(words *w, const char *batch, const matrix *m, bool reversed) {
    add_text(w, cli_format("%s%" PRId64 "x%" PRId64, batch, reversed ? m->columns : m->rows,
                           reversed ? m->rows : m->columns));
}

static void add_leading(words *w, const char *option, const matrix *m) {
    if (m->leading > 0) {
        add_text(w, cli_format("--%s=%" PRId64, option, m->leading));
    }
}

static bool product_words(words *w, const char *text) {
    char dtype[8], batch[32];
    matrix a, b, c;
    if (!take_dtype(&text, dtype, sizeof dtype)) {
        return false;
    }
    take_batch(&text, batch, sizeof batch);
    bool alpha = take_text(&text, "alpha ");
    if (!take_matrix(&text, &a) || !take_text(&text, " @ ") || !take_matrix(&text, &b) || !take_text(&text, " -> ") ||
        !take_matrix(&text, &c) || c.transposed) {
        return false;
    }
    bool any = take_text(&text, " + beta C"), one = !any && take_text(&text, " + C"), gemm = alpha || any || one;
    if (*text || (gemm && *batch)) {
        return false;
    }
    add_text(w, cli_format("%s", gemm ? "gemm" : "matmul"));
    add_text(w, cli_format("%s", dtype));
    add_matrix(w, batch, &a, gemm && a.transposed); /* for gemm the option means the operation, else the layout */
    add_matrix(w, batch, &b, gemm && b.transposed);
    if (any || one) {
        add_matrix(w, batch, &c, false);
    }
    if (gemm) {
        add_text(w, cli_format("--alpha=%s", alpha ? "2" : "1"));
        add_text(w, cli_format("--beta=%s", any ? "0.5" : one ? "1" : "0"));
    }
    if (a.transposed) {
        add_text(w, cli_format("--trans-a"));
    }
    if (b.transposed) {
        add_text(w, cli_format("--trans-b"));
    }
    add_leading(w, "lda", &a);
    add_leading(w, "ldb", &b);
    add_leading(w, "ldc", &c);
    return true;
}

/* ---- Transforms: "c64 64 x 512x512 inverse complex to real" ---- */

enum { MOST_DIMENSIONS = 8 };

static bool transform_words(words *w, const char *text) {
    char dtype[8], batch[32];
    int64_t n[MOST_DIMENSIONS];
    int ndim = 0;
    if (!take_dtype(&text, dtype, sizeof dtype)) {
        return false;
    }
    take_batch(&text, batch, sizeof batch);
    do {
        if (ndim == MOST_DIMENSIONS || !take_number(&text, &n[ndim++])) {
            return false;
        }
    } while (take_text(&text, "x"));
    bool inverse = take_text(&text, " inverse"), forward = !inverse && take_text(&text, " forward");
    bool to_real = take_text(&text, " complex to real"), from_real = !to_real && take_text(&text, " real to complex");
    if (*text || !(inverse || forward) || to_real != (inverse && (to_real || from_real))) {
        return false;
    }
    char *shape = cli_format("%.*s", *batch ? (int)strlen(batch) - 1 : 0, batch), *sizes = NULL, *dims = NULL, item[32];
    for (int i = 0; i < ndim; i++) {
        bool halved = to_real && i == ndim - 1;
        snprintf(item, sizeof item, "%" PRId64, halved ? n[i] / 2 + 1 : n[i]);
        shape = cli_join(shape, *shape ? "x" : "", item);
        snprintf(item, sizeof item, "%" PRId64, n[i]);
        sizes = cli_join(sizes, i ? "," : "", item);
        snprintf(item, sizeof item, "%d", i - ndim);
        dims = cli_join(dims, i ? "," : "", item);
    }
    add_text(w, cli_format("%s%sfftn", inverse ? "i" : "", to_real || from_real ? "r" : ""));
    add_text(w, cli_format("%s", !from_real ? dtype : strcmp(dtype, "c64") == 0 ? "f32" : "f64"));
    add_text(w, shape);
    add_text(w, cli_format("--s=%s", sizes));
    add_text(w, cli_format("--dim=%s", dims));
    free(sizes);
    free(dims);
    return true;
}

/* ---- Linear algebra: "f64 100 x 60x40, 3 right sides gelsy" ---- */

/* Operations by the arrays that they take. */
static const char *const of_one[] = {
    "inv", "cholesky", "cholesky_inverse", "lu_factor", "lu",         "qr", "eigh", "eig",
    "svd", "det",      "slogdet",          "pinv",      "matrix_rank"};
static const char *const of_two[] = {"solve", "solve_triangular", "lstsq"};

static bool listed(const char *name, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void add_mode(words *w, const char *operation, const char *mode) {
    if (strcmp(operation, "qr") == 0) {
        add_text(w, cli_format("--mode=%s", mode));
    } else if (strcmp(operation, "lstsq") == 0) {
        add_text(w, cli_format("--driver=%s", mode));
    } else if (strcmp(mode, "full") == 0) {
        add_text(w, cli_format("--full-matrices"));
    }
}

static bool matrix_words(words *w, const char *operation, const char *text) {
    char dtype[8], batch[32];
    bool one = listed(operation, of_one, sizeof of_one / sizeof of_one[0]);
    bool two = listed(operation, of_two, sizeof of_two / sizeof of_two[0]);
    matrix a;
    int64_t sides = 0;
    if ((!one && !two) || !take_dtype(&text, dtype, sizeof dtype)) {
        return false;
    }
    take_batch(&text, batch, sizeof batch);
    if (!take_matrix(&text, &a) ||
        (two && !(take_text(&text, ", ") && take_number(&text, &sides) && take_text(&text, " right sides")))) {
        return false;
    }
    bool values = strcmp(operation, "svd") == 0 && !*text;
    add_text(w, cli_format("%s%s", operation, values ? "vals" : ""));
    add_text(w, cli_format("%s", dtype));
    add_matrix(w, batch, &a, false);
    if (two) {
        add_matrix(w, batch, &(matrix){.rows = a.rows, .columns = sides}, false);
    }
    if (take_text(&text, " ")) {
        add_mode(w, operation, text);
    }
    return true;
}

char **tune_words(const char *operation, const char *text, int *count) {
    words w = {0};
    bool known = strcmp(operation, "gemm") == 0  ? product_words(&w, text)
                 : strcmp(operation, "fft") == 0 ? transform_words(&w, text)
                                                 : matrix_words(&w, operation, text);
    *count = w.count;
    return known ? w.list : NULL;
}
