/* ranks_volume.c - compares what explanations say that is sent with what MPI is given (count.c). With TESTED_ALL it
 * takes blocks of 32, too. On more ranks than four, matrices have few blocks for each rank: there the limits of
 * factorizations and of messages are wider. */
#include "distributed/ranks.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*take)(long long *bytes, long long *messages);

/* Reads "12.3 MB" or "45 k" behind a word of the explanation. */
static double read_after(const char *text, const char *word) {
    const char *at = strstr(text, word);
    char *end = NULL;
    double value = at ? strtod(at + strlen(word), &end) : -1;
    while (end && *end == ' ') {
        end++;
    }
    const char *units = "kMGT", *unit = end && *end ? strchr(units, *end) : NULL;
    return unit ? value * pow(1000, (double)(unit - units + 1)) : value;
}

/* Sums over the ranks what was counted since the last call: bytes and messages, and of the rank with most of each. */
static void counted(double sums[4]) {
    long long bytes, messages;
    take(&bytes, &messages);
    bp_dist one = {.struct_size = sizeof one, .comm = ranks_comm, .grid = {1, ranks_size}, .block = {1, 1}};
    ranks_matrix row;
    ranks_make(&row, &one, BP_F64, 2, ranks_size, NULL);
    ((double *)row.memory)[0] = (double)bytes, ((double *)row.memory)[1] = (double)messages;
    bp_view all;
    double *values = ranks_gather(&row, &all);
    memset(sums, 0, 4 * sizeof *sums);
    for (int i = 0; i < 2 * ranks_size && values; i++) {
        sums[i % 2] += values[i];
        sums[2 + i % 2] = fmax(sums[2 + i % 2], values[i]);
    }
    free(values);
    ranks_free(&row);
    take(&bytes, &messages);
}

/* An explanation for ranks that are not here says the same as one for these ranks. */
static void compare_planned(const bp_explanation *explanation, const bp_explanation *planned, const char *name) {
    bp_candidate_info here = {.struct_size = sizeof here}, there = here;
    bool same = false;
    for (int i = 0; bp_explanation_at(explanation, i, &here) && bp_explanation_at(planned, i, &there); i++) {
        same = same ||
               (here.chosen && there.chosen && strcmp(here.text, there.text) == 0 && here.cost_ns == there.cost_ns);
    }
    CHECK(same, "%s: planned:\n%s\nhere:\n%s", name, bp_explanation_text(planned), bp_explanation_text(explanation));
}

/* Makes the same distribution of ranks that are not here. */
static bp_dist planned_of(const bp_dist *like) {
    bp_comm_info info = {.struct_size = sizeof info};
    bp_dist planned = *like;
    CHECK(bp_comm_describe(like->comm, &info) == BP_OK, "describe");
    const bp_comm_machine machine = {sizeof machine, info.size, info.latency_ns, info.bytes_per_sec, 0};
    CHECK(bp_comm_from_machine(&planned.comm, &machine) == BP_OK, "plan");
    return planned;
}

static void compare(const bp_explanation *explanation, const char *name, double limit, double message_limit) {
    double sums[4];
    counted(sums);
    if (ranks_rank == 0) {
        const char *text = bp_explanation_text(explanation);
        const bool product = strncmp(name, "gemm", 4) == 0;
        if (strstr(text, "chosen    mkl")) { /* the model has other loops */
            limit = product ? limit : 0.8;
            message_limit = 1e9;
        }
        const double bytes = read_after(text, "sends "), messages = read_after(text, "B in ");
        printf("%-28s bytes %.3g, said %.3g; messages %g, said %g\n", name, sums[0], bytes, sums[1], messages);
        CHECK(fabs(bytes - sums[0]) <= limit * sums[0], "%s: %g bytes, said %g", name, sums[0], bytes);
        CHECK(fabs(messages - sums[1]) <= message_limit * sums[1], "%s: %g messages, said %g", name, sums[1], messages);
    }
}

static void check_planned_product(const bp_dist *like, const bp_explanation *explanation, int64_t m, int64_t n,
                                  int64_t k, bp_transform ta, bp_transform tb, const char *name) {
    const bp_dist planned = planned_of(like);
    bp_explanation *other = NULL;
    bp_dist_view views[3];
    const int64_t shapes[3][2] = {{ta ? k : m, ta ? m : k}, {tb ? n : k, tb ? k : n}, {m, n}};
    for (int i = 0; i < 3; i++) {
        bp_dist dist = planned;
        memcpy(dist.shape, shapes[i], sizeof dist.shape);
        CHECK(bp_dist_view_init(&views[i], NULL, 0, BP_F64, &dist) == BP_OK, "view");
    }
    CHECK(bp_gemm_explain(&other, NULL, ta, tb, NULL, &views[0].tensor, &views[1].tensor, NULL, &views[2].tensor) ==
              BP_OK,
          "explain");
    compare_planned(explanation, other, name);
    bp_explanation_release(other);
    CHECK(bp_comm_close(planned.comm) == BP_OK, "close");
}

static void check_product(const bp_dist *like, int64_t m, int64_t n, int64_t k, bp_transform ta, bp_transform tb) {
    char name[128];
    ranks_matrix a, b, c;
    bp_explanation *explanation = NULL;
    snprintf(name, sizeof name, "gemm %dx%dx%d %d%d nb %d grid %dx%d", (int)m, (int)n, (int)k, (int)ta, (int)tb,
             (int)like->block[0], (int)like->grid[0], (int)like->grid[1]);
    ranks_make(&a, like, BP_F64, ta ? k : m, ta ? m : k, ranks_random);
    ranks_make(&b, like, BP_F64, tb ? n : k, tb ? k : n, ranks_random);
    ranks_make(&c, like, BP_F64, m, n, NULL);
    CHECK(bp_gemm(ta, tb, NULL, &a.view.tensor, &b.view.tensor, NULL, &c.view.tensor) == BP_OK,
          "gemm"); /* makes the grid */
    double ignored[4];
    counted(ignored);
    CHECK(bp_gemm(ta, tb, NULL, &a.view.tensor, &b.view.tensor, NULL, &c.view.tensor) == BP_OK, "gemm");
    CHECK(bp_gemm_explain(&explanation, NULL, ta, tb, NULL, &a.view.tensor, &b.view.tensor, NULL, &c.view.tensor) ==
              BP_OK,
          "explain");
    compare(explanation, name, 0.05, ranks_size > 4 ? 0.6 : 0.3);
    check_planned_product(like, explanation, m, n, k, ta, tb, name);
    bp_explanation_release(explanation);
    ranks_free(&a), ranks_free(&b), ranks_free(&c);
}

static void check_linalg(const bp_dist *like, bp_op op, const char *what, int64_t n, double limit) {
    char name[128];
    ranks_matrix a, b, x;
    bp_explanation *explanation = NULL;
    ranks_shift = (double)n;
    const bool solves = op != BP_OP_CHOLESKY;
    ranks_make(&a, like, BP_F64, n, n, op == BP_OP_SOLVE ? ranks_random : ranks_positive);
    ranks_make(&b, like, BP_F64, n, n / 10 + 1, ranks_random);
    ranks_make(&x, like, BP_F64, n, solves ? n / 10 + 1 : n, NULL);
    bp_linalg_call call = {.struct_size = sizeof call, .op = op, .output = {&x.view.tensor}};
    call.input[0] = op == BP_OP_CHOLESKY_SOLVE ? &b.view.tensor : &a.view.tensor;
    call.input[1] = op == BP_OP_CHOLESKY_SOLVE ? &a.view.tensor : solves ? &b.view.tensor : NULL;
    snprintf(name, sizeof name, "%s %d nb %d grid %dx%d", what, (int)n, (int)like->block[0], (int)like->grid[0],
             (int)like->grid[1]);
    CHECK(bp_linalg_run(NULL, &call) == BP_OK, "%s", what);
    double ignored[4];
    counted(ignored);
    CHECK(bp_linalg_run(NULL, &call) == BP_OK, "%s", what);
    CHECK(bp_linalg_explain(&explanation, NULL, &call) == BP_OK, "explain");
    compare(explanation, name, limit, limit > 0.1 ? 1e9 : 0.3);
    bp_explanation_release(explanation);
    ranks_free(&a), ranks_free(&b), ranks_free(&x);
}

/* ---- Transforms: all numbers are exact, but for the digits that are printed ---- */

typedef struct transform {
    bp_fft_transform what;
    int ndim;
    int64_t n[3];
    int32_t block; /* 0: the smallest */
} transform;

static void make_view(bp_dist_view *view, const transform *t, bp_comm *comm, bp_dtype dtype, bool half, void **memory) {
    bp_dist dist = {.struct_size = sizeof dist, .comm = comm, .shape = {1, t->n[0]}};
    int64_t n[3], local[2];
    memcpy(n, t->n, sizeof n);
    n[t->ndim - 1] = half ? n[t->ndim - 1] / 2 + 1 : n[t->ndim - 1];
    CHECK(bp_dist_slabs(&dist) == BP_OK, "slabs");
    dist.block[1] = t->block ? t->block : dist.block[1];
    CHECK(bp_dist_local_shape(&dist, -1, local) == BP_OK, "local shape");
    *memory = calloc((size_t)(local[1] * n[1] * (t->ndim > 2 ? n[2] : 1)) + 1, bp_dtype_size(dtype));
    CHECK(bp_dist_view_array(view, *memory, dtype, t->ndim, n, &dist) == BP_OK, "view");
}

static bp_explanation *explain_transform(const transform *t, const bp_dist_view *in, const bp_dist_view *out) {
    bp_explanation *explanation = NULL;
    const bp_fft_call call = {sizeof call, t->what, BP_FFT_BACKWARD, t->ndim, NULL, t->n};
    CHECK(bp_fft_explain(&explanation, NULL, &call, &in->tensor, &out->tensor) == BP_OK, "explain");
    return explanation;
}

/* Half of the last digit that is printed of a number. */
static double half_digit(double number) {
    const double unit = number < 999.5 ? 1 : pow(1000, floor(log(number * 1.0005) / log(1000)));
    return unit == 1 ? 0 : number / unit < 99.95 ? 0.0501 * unit : 0.501 * unit;
}

static void compare_exactly(const bp_explanation *explanation, const char *name) {
    double sums[4];
    counted(sums);
    const char *text = bp_explanation_text(explanation), *busiest = strstr(text, "busiest rank ");
    const double said[4] = {read_after(text, "sends "), read_after(text, "B in "), read_after(text, "busiest rank "),
                            busiest ? read_after(busiest, "B in ") : -1};
    for (int i = 0; i < 4 && ranks_rank == 0; i++) {
        CHECK(fabs(said[i] - sums[i]) <= half_digit(sums[i]), "%s: number %d is %g, said %g", name, i, sums[i],
              said[i]);
    }
}

static void check_transform(const transform *t, bool single) {
    char name[128];
    bp_dist_view in, out, planned_in, planned_out;
    void *memory[2], *none[2];
    const bp_dtype real = single ? BP_F32 : BP_F64, complex = single ? BP_C64 : BP_C128;
    const bool from = t->what == BP_RFFT, to = t->what == BP_IRFFT;
    snprintf(name, sizeof name, "transform %d of %dx%dx%d, block %d", (int)t->what, (int)t->n[0], (int)t->n[1],
             t->ndim > 2 ? (int)t->n[2] : 1, (int)t->block);
    make_view(&in, t, ranks_comm, from ? real : complex, to, &memory[0]);
    make_view(&out, t, ranks_comm, to ? real : complex, from, &memory[1]);
    const bp_fft_call call = {sizeof call, t->what, BP_FFT_BACKWARD, t->ndim, NULL, t->n};
    CHECK(bp_fft_run(NULL, &call, &in.tensor, &out.tensor) == BP_OK, "%s", name); /* makes the plan */
    double ignored[4];
    counted(ignored);
    CHECK(bp_fft_run(NULL, &call, &in.tensor, &out.tensor) == BP_OK, "%s", name);
    bp_explanation *explanation = explain_transform(t, &in, &out);
    compare_exactly(explanation, name);
    bp_dist planned = planned_of(&(bp_dist){.struct_size = sizeof(bp_dist), .comm = ranks_comm});
    make_view(&planned_in, t, planned.comm, from ? real : complex, to, &none[0]);
    make_view(&planned_out, t, planned.comm, to ? real : complex, from, &none[1]);
    bp_explanation *other = explain_transform(t, &planned_in, &planned_out);
    compare_planned(explanation, other, name);
    bp_explanation_release(explanation), bp_explanation_release(other);
    CHECK(bp_comm_close(planned.comm) == BP_OK, "close");
    free(memory[0]), free(memory[1]), free(none[0]), free(none[1]);
}

static void check_transforms(void) {
    static const transform all[] = {
        {BP_FFT, 2, {64, 48}, 0},      {BP_FFT, 2, {65, 47}, 0},       {BP_FFT, 2, {5, 3}, 0},
        {BP_FFT, 2, {16, 16}, 0},      {BP_FFT, 2, {2, 100}, 0},       {BP_FFT, 2, {100, 2}, 0},
        {BP_FFT, 2, {30, 30}, 30},     {BP_FFT, 2, {33, 30}, 20},      {BP_FFT, 2, {200, 300}, 0},
        {BP_IFFT, 3, {16, 12, 10}, 0}, {BP_FFT, 3, {7, 4, 6}, 0},      {BP_FFT, 3, {32, 2, 3}, 0},
        {BP_FFT, 3, {32, 32, 64}, 0},  {BP_RFFT, 2, {20, 31}, 0},      {BP_RFFT, 3, {17, 6, 8}, 0},
        {BP_IRFFT, 2, {20, 31}, 0},    {BP_IRFFT, 3, {17, 6, 8}, 0},   {BP_IRFFT, 2, {32, 30}, 0},
        {BP_RFFT, 2, {32, 30}, 0},     {BP_IRFFT, 3, {16, 16, 30}, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_transform(&all[i], false);
        check_transform(&all[i], true);
    }
}

int main(void) {
    void *symbol = dlsym(RTLD_DEFAULT, "count_take");
    if (!symbol) {
        printf("count.so is not preloaded\n");
        return 2;
    }
    const bool all = getenv("TESTED_ALL") != NULL;
    memcpy(&take, &symbol, sizeof take);
    bp_set("registry.deepbind", "off"); /* else the preloaded functions are not called */
    ranks_open();
    for (int rows = 1; rows <= ranks_size; rows++) {
        for (int block = all ? 32 : 64; block <= 64 && ranks_size % rows == 0; block *= 2) {
            const bp_dist like = {.struct_size = sizeof like,
                                  .comm = ranks_comm,
                                  .grid = {rows, ranks_size / rows},
                                  .block = {block, block}};
            check_product(&like, 500, 500, 500, BP_AS_IS, BP_AS_IS);
            check_product(&like, 600, 400, 500, BP_AS_IS, BP_AS_IS);
            check_product(&like, 500, 500, 500, BP_TRANSPOSE, BP_AS_IS);
            check_product(&like, 500, 500, 500, BP_AS_IS, BP_TRANSPOSE);
            check_product(&like, 800, 100, 100, BP_AS_IS, BP_AS_IS);
            check_product(&like, 100, 100, 800, BP_AS_IS, BP_AS_IS);
            check_product(&like, 100, 800, 100, BP_AS_IS, BP_TRANSPOSE);
            check_product(&like, 100, 100, 800, BP_TRANSPOSE, BP_TRANSPOSE);
            check_linalg(&like, BP_OP_CHOLESKY, "cholesky", 1000, ranks_size > 4 ? 0.2 : 0.05);
            check_linalg(&like, BP_OP_CHOLESKY_SOLVE, "cholesky_solve", 1000, ranks_size > 4 ? 0.7 : 0.3);
            check_linalg(&like, BP_OP_SOLVE, "solve", 1200, ranks_size > 4 ? 0.4 : 0.3);
        }
    }
    check_transforms();
    return ranks_end();
}
