/* constraints.c - sets constraints for a block of code: a result that is the same bit for bit on any number of threads,
 * and an error instead of a silent fallback. */
#include <backplane.h>

#include <stdio.h>
#include <string.h>

enum { ROWS = 33, INNER = 257, COLUMNS = 29 };

static float a[ROWS][INNER], b[INNER][COLUMNS], first[ROWS][COLUMNS], second[ROWS][COLUMNS];

static bp_status multiply(const bp_options *options, void *out) {
    bp_view view_a, view_b, view_out;
    bp_status status = bp_view_matrix(&view_a, a, BP_F32, ROWS, INNER);
    if (status == BP_OK) {
        status = bp_view_matrix(&view_b, b, BP_F32, INNER, COLUMNS);
    }
    if (status == BP_OK) {
        status = bp_view_matrix(&view_out, out, BP_F32, ROWS, COLUMNS);
    }
    return status == BP_OK ? bp_matmul_run(options, &view_a.tensor, &view_b.tensor, &view_out.tensor) : status;
}

/* Compares bytes. As numbers, 0 equals -0, and NaN does not even equal itself. */
static int same_bytes(const void *x, const void *y, size_t size) {
    return memcmp(x, y, size) == 0;
}

/* Returns whether one thread and three give the same result bit for bit. While the scope is open, candidates without
 * that guarantee are refused. */
static int same_bits(void) {
    bp_scope *scope = NULL;
    bp_options *three = NULL;
    int same = bp_scope_enter(&scope, "deterministic=threads, num_threads=1") == BP_OK &&
               bp_options_new(&three, "num_threads=3") == BP_OK && multiply(NULL, first) == BP_OK &&
               multiply(three, second) == BP_OK && same_bytes(first, second, sizeof first);
    if (!same) {
        fprintf(stderr, "reproducible product: %s\n", bp_last_error());
    }
    bp_options_release(three);
    return bp_scope_leave(&scope) == BP_OK && same;
}

/* Requests a library that does not exist. With dispatch.fallback=strict the call fails instead of using another one. */
static int no_silent_fallback(void) {
    bp_options *options = NULL;
    if (bp_options_new(&options, "blas.preferred=no-such-library, dispatch.fallback=strict") != BP_OK) {
        return 0;
    }
    bp_status status = multiply(options, first);
    printf("no-such-library: %s\n", bp_status_text(status));
    bp_options_release(options);
    return status != BP_OK;
}

int main(void) {
    for (int i = 0; i < ROWS * INNER; i++) {
        (&a[0][0])[i] = (float)(i % 17) / 17 - 0.5f;
    }
    for (int i = 0; i < INNER * COLUMNS; i++) {
        (&b[0][0])[i] = (float)(i % 13) / 13 - 0.5f;
    }
    int fine = same_bits();
    printf("same result on 1 and 3 threads: %s\n", fine ? "yes" : "no");
    return fine & no_silent_fallback() ? 0 : 1;
}
