/* ranks_fft_calls.c - checks views of arrays, their files and products, and refusals of transforms.
 *
 * With MPICH, for which there is no FFTW-MPI, all transforms are refused. */
#include "distributed/ranks_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Refusals ---- */

static void expect(bp_status got, bp_status wanted, const char *words, const char *what) {
    CHECK(got == wanted && bp_last_status() == wanted, "%s: %s, not %s", what, bp_status_name(got),
          bp_status_name(wanted));
    CHECK(strstr(bp_last_error(), words) != NULL, "%s: no '%s' in the message", what, words);
}

static void check_distributions(void) {
    ranks_matrix in, out;
    const bp_dist cyclic = {.struct_size = sizeof cyclic, .comm = ranks_comm, .grid = {1, ranks_size}, .block = {8, 2}};
    const bp_dist rows = {.struct_size = sizeof rows, .comm = ranks_comm, .grid = {ranks_size, 1}, .block = {64, 64}};
    const bp_dist moved = {.struct_size = sizeof moved,
                           .comm = ranks_comm,
                           .grid = {1, ranks_size},
                           .block = {8, 64},
                           .source = {0, ranks_size - 1}};
    const bp_dist *const all[] = {&cyclic, &rows, &moved};
    for (int i = 0; i < 3 && ranks_size > 1; i++) {
        ranks_make(&in, all[i], BP_C128, 30, 40, ranks_random);
        ranks_make(&out, all[i], BP_C128, 30, 40, NULL);
        expect(bp_fft2(&in.view.tensor, NULL, NULL, BP_FFT_BACKWARD, &out.view.tensor), BP_E_NO_CANDIDATE,
               "bp_redistribute() moves up to 19.2 kB", "another distribution");
        ranks_free(&in), ranks_free(&out);
    }
}

static void check_transforms(void) {
    const int64_t n[2] = {6, 8}, longer[2] = {6, 9}, shorter[2] = {6, 4}, half[2] = {6, 5};
    const int one = 1, swapped[2] = {1, 0};
    ranks_array in, out, real, other, spectrum;
    ranks_make_array(&in, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&out, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&real, ranks_comm, BP_F64, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&other, ranks_comm, BP_C128, 2, longer, 0, IN_C_ORDER);
    ranks_make_array(&spectrum, ranks_comm, BP_C128, 2, half, 0, IN_C_ORDER);
    ranks_fill(&in, NULL);
    const DLTensor *x = &in.view.tensor;
    expect(bp_fft(x, BP_FFT_LENGTH, one, BP_FFT_BACKWARD, &out.view.tensor), BP_E_NO_CANDIDATE, "all dimensions",
           "one");
    expect(bp_fft(x, BP_FFT_LENGTH, 0, BP_FFT_BACKWARD, &out.view.tensor), BP_E_NO_CANDIDATE, "all dimensions",
           "other");
    expect(bp_fft2(x, longer, NULL, BP_FFT_BACKWARD, &other.view.tensor), BP_E_NO_CANDIDATE, "as long", "padding");
    expect(bp_hfft2(&spectrum.view.tensor, NULL, NULL, BP_FFT_BACKWARD, &real.view.tensor), BP_E_NO_CANDIDATE, "hfft",
           "hfft");
    ranks_array columns;
    const int64_t turned[2] = {4, 8};
    ranks_make_array(&columns, ranks_comm, BP_C128, 2, turned, in.dist.block[1], IN_C_ORDER);
    expect(bp_rfft2(&real.view.tensor, NULL, swapped, BP_FFT_BACKWARD, &columns.view.tensor), BP_E_NO_CANDIDATE,
           "divided", "the divided dimension halved");
    ranks_free_array(&columns);
    ranks_make_array(&columns, ranks_comm, BP_C128, 2, shorter, 0, IN_C_ORDER);
    expect(bp_fft2(x, shorter, NULL, BP_FFT_BACKWARD, &columns.view.tensor), BP_E_NO_CANDIDATE, "parts", "a part");
    ranks_free_array(&columns);
    int64_t fewer[2] = {4, 8};
    DLTensor cropped = in.view.tensor;
    cropped.shape = fewer;
    ranks_make_array(&columns, ranks_comm, BP_C128, 2, fewer, in.dist.block[1], IN_C_ORDER);
    expect(bp_fft2(&cropped, NULL, NULL, BP_FFT_BACKWARD, &columns.view.tensor), BP_E_LAYOUT, "operand 0",
           "fewer rows");
    ranks_free_array(&columns);
    ranks_array again = out;
    CHECK(bp_dist_view_array(&again.view, out.memory, BP_C128, 2, n, &out.dist) == BP_OK, "view");
    CHECK(bp_dist_view_array(&out.view, in.memory, BP_C128, 2, n, &in.dist) == BP_OK, "view");
    expect(bp_fft2(x, NULL, NULL, BP_FFT_BACKWARD, &out.view.tensor), BP_E_OVERLAP, "overlaps", "a shared part");
    ranks_free_array(&in), ranks_free_array(&out), ranks_free_array(&real), ranks_free_array(&other),
        ranks_free_array(&spectrum);
}

static void check_vectors(void) {
    const int64_t n[2] = {12, 1};
    ranks_array in, out;
    ranks_make_array(&in, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&out, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    if (ranks_size > 1) {
        expect(bp_fft2(&in.view.tensor, NULL, NULL, BP_FFT_BACKWARD, &out.view.tensor), BP_E_NO_CANDIDATE, "vectors",
               "a vector");
    }
    ranks_free_array(&in), ranks_free_array(&out);
}

/* One rank differs. */
static void check_differences(void) {
    enum { DIRECTION, NORM, TYPE, SIZE, MEMORY, NOTHING };
    static const char *const words[] = {"operation", "operation", "type", "size", "NULL"};
    for (int what = 0; what < NOTHING && ranks_size > 1; what++) {
        for (int round = 0; round < 2; round++) {
            const bool differs = round == 0 && ranks_rank == ranks_size - 1;
            const int64_t n[2] = {differs && what == SIZE ? 7 : 8, 6};
            const bp_dtype dtype = differs && what == TYPE ? BP_C64 : BP_C128;
            const ranks_trial t = {.norm = differs && what == NORM ? BP_FFT_ORTHO : BP_FFT_BACKWARD};
            ranks_array in, out;
            ranks_make_array(&in, ranks_comm, dtype, 2, n, 4, IN_C_ORDER);
            ranks_make_array(&out, ranks_comm, dtype, 2, n, 4, IN_C_ORDER);
            void *local = in.view.local;
            in.view.local = differs && what == MEMORY ? NULL : local;
            in.view.columns += differs && what == MEMORY ? 1 : 0; /* the last rank may have no part */
            const bp_status status = ranks_run(differs && what == DIRECTION ? BP_IFFT : BP_FFT, &t, &in, &out);
            if (round == 0) {
                expect(status, BP_E_ARGUMENT, words[what], "a rank differs");
            } else {
                CHECK(status == BP_OK, "the next call");
            }
            ranks_free_array(&in), ranks_free_array(&out);
        }
    }
}

/* A run of a plan that fails on one rank fails on all. */
static void check_failing_run(void) {
    const int64_t n[2] = {8, 6};
    const bp_fft_call call = {sizeof call, BP_FFT, BP_FFT_BACKWARD, BP_FFT_ALL, NULL, NULL};
    ranks_array in, out;
    bp_plan *plan = NULL;
    char rank[32] = "";
    ranks_make_array(&in, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&out, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    CHECK(bp_fft_plan(&plan, NULL, &call, &in.view.tensor, &out.view.tensor) == BP_OK, "plan");
    const bp_operand right[] = {{&in.view, 0}, {&out.view, 0}}, wrong[] = {{&in.view, 8}, {&out.view, 0}};
    if (ranks_size > 1) {
        snprintf(rank, sizeof rank, "rank %d", ranks_size - 1);
    }
    expect(bp_execute(plan, ranks_rank == ranks_size - 1 ? wrong : right, NULL), BP_E_ARGUMENT, rank, "a run");
    CHECK(bp_execute(plan, right, NULL) == BP_OK, "the next run");
    bp_plan_release(plan);
    ranks_free_array(&in), ranks_free_array(&out);
}

/* Arguments of views, and redistribution of arrays. */
static void check_views(void) {
    const int64_t n[3] = {7, 3, 2}, wrong[3] = {7, -1, 2}, huge[3] = {7, INT64_MAX / 2, 4};
    ranks_array a, b;
    ranks_whole w = ranks_input(3, n, false);
    bp_dist_view view;
    ranks_make_array(&a, ranks_comm, BP_C128, 3, n, 0, IN_C_ORDER);
    ranks_make_array(&b, ranks_comm, BP_C128, 3, n, 1, IN_C_ORDER);
    expect(bp_dist_view_array(&view, a.memory, BP_C128, 1, n, &a.dist), BP_E_ARGUMENT, "ndim", "one dimension");
    expect(bp_dist_view_array(&view, a.memory, BP_C128, 4, n, &a.dist), BP_E_ARGUMENT, "ndim", "four dimensions");
    expect(bp_dist_view_array(&view, a.memory, BP_C128, 2, NULL, &a.dist), BP_E_ARGUMENT, "shape", "no shape");
    expect(bp_dist_view_array(&view, a.memory, BP_C128, 3, wrong, &a.dist), BP_E_SHAPE, "shape[1]", "a negative size");
    expect(bp_dist_view_array(&view, a.memory, BP_C128, 3, huge, &a.dist), BP_E_OVERFLOW, "memory", "too many");
    expect(bp_dist_view_array(NULL, a.memory, BP_C128, 3, n, &a.dist), BP_E_ARGUMENT, "view", "no view");
    bp_dist large = {.struct_size = sizeof large, .comm = ranks_comm, .shape = {1, INT64_MAX}};
    expect(bp_dist_slabs(&large), BP_E_OVERFLOW, "columns", "too many columns");
    expect(bp_dist_slabs(NULL), BP_E_ARGUMENT, "dist", "no distribution");
    ranks_fill(&a, &w), ranks_fill(&b, NULL);
    CHECK(bp_redistribute(&a.view.tensor, &b.view.tensor) == BP_OK, "redistribute");
    CHECK(ranks_difference(&b, &w, 2) == 0, "redistributed values");
    ranks_array c;
    ranks_make_array(&c, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    expect(bp_redistribute(&a.view.tensor, &c.view.tensor), BP_E_SHAPE, "dimensions", "an array and another");
    ranks_free_array(&a), ranks_free_array(&b), ranks_free_array(&c);
    free(w.x);
}

/* A file has the whole array in C order, and other distributions read it. */
static void check_files(void) {
    static const int64_t shapes[2][3] = {{7, 5}, {6, 3, 4}};
    char path[64];
    snprintf(path, sizeof path, "/tmp/backplane-ranks-fft-%d.npy", (int)getppid()); /* the launcher's number */
    for (int ndim = 2; ndim <= 3; ndim++) {
        const int64_t *n = shapes[ndim - 2];
        ranks_array a, b;
        ranks_whole w = ranks_input(ndim, n, false);
        bp_dtype dtype;
        int found = 0;
        int64_t shape[BP_MAX_DIST_NDIM];
        ranks_make_array(&a, ranks_comm, BP_C128, ndim, n, 0, IN_C_ORDER);
        ranks_make_array(&b, ranks_comm, BP_C128, ndim, n, 1, IN_C_ORDER);
        ranks_fill(&a, &w), ranks_fill(&b, NULL);
        CHECK(bp_dist_write(path, &a.view.tensor) == BP_OK, "write");
        CHECK(bp_dist_file_array(path, &dtype, &found, shape) == BP_OK && dtype == BP_C128 && found == ndim &&
                  memcmp(shape, n, (size_t)ndim * sizeof *n) == 0,
              "the shape of the file");
        CHECK(bp_dist_read(path, &b.view.tensor) == BP_OK, "read");
        CHECK(ranks_difference(&b, &w, n[ndim - 1]) == 0, "values of the file");
        ranks_free_array(&b);
        ranks_make_array(&b, ranks_comm, BP_C128, 5 - ndim, shapes[3 - ndim], 1, IN_C_ORDER);
        expect(bp_dist_read(path, &b.view.tensor), BP_E_SHAPE, "shape", "a file of another shape");
        expect(bp_dist_file_array("/nowhere/x.npy", &dtype, &found, shape), BP_E_IO, "/nowhere", "no file");
        ranks_free_array(&a), ranks_free_array(&b);
        free(w.x);
    }
    if (ranks_rank == 0) {
        unlink(path);
    }
}

/* A matrix in Fortran order is a file of an array of two dimensions, too. */
static void check_file_of_matrix(void) {
    const int64_t n[2] = {5, 8};
    char path[64];
    snprintf(path, sizeof path, "/tmp/backplane-ranks-fft-%d.npy", (int)getppid());
    ranks_array matrix, a;
    ranks_whole w = ranks_input(2, n, false);
    ranks_make_array(&matrix, ranks_comm, BP_C128, 2, n, 0, MATRIX); /* 8x5, the transpose */
    ranks_fill(&matrix, &w);
    CHECK(bp_dist_write(path, &matrix.view.tensor) == BP_OK, "write");
    const int64_t turned[2] = {8, 5};
    ranks_make_array(&a, ranks_comm, BP_C128, 2, turned, 0, IN_C_ORDER);
    CHECK(bp_dist_read(path, &a.view.tensor) == BP_OK, "read");
    ranks_whole t = ranks_new_whole(2, turned);
    for (int i = 0; i < 40; i++) {
        t.x[i % 8 * 5 + i / 8] = w.x[i];
    }
    CHECK(ranks_difference(&a, &t, 5) == 0, "values of the file");
    CHECK(bp_redistribute(&a.view.tensor, &a.view.tensor) == BP_E_OVERLAP, "one array");
    if (ranks_rank == 0) {
        unlink(path);
    }
    ranks_free_array(&matrix), ranks_free_array(&a);
    free(w.x), free(t.x);
}

/* A view of two dimensions in C order is an operand of products. */
static void check_products(void) {
    enum { N = 5 };
    const int64_t n[2] = {N, N};
    ranks_array a, b, c;
    ranks_whole w = ranks_input(2, n, true), sums = ranks_new_whole(2, n);
    ranks_make_array(&a, ranks_comm, BP_F64, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&b, ranks_comm, BP_F64, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&c, ranks_comm, BP_F64, 2, n, 0, IN_C_ORDER);
    ranks_fill(&a, &w), ranks_fill(&b, &w), ranks_fill(&c, NULL);
    for (int i = 0; i < N * N * N; i++) {
        sums.x[i / N / N * N + i % N] += w.x[i / N / N * N + i / N % N] * w.x[i / N % N * N + i % N];
    }
    CHECK(bp_matmul(&a.view.tensor, &b.view.tensor, &c.view.tensor) == BP_OK, "product");
    CHECK(ranks_difference(&c, &sums, N) <= 1e-14, "product: error %g", ranks_difference(&c, &sums, N));
    ranks_free_array(&a), ranks_free_array(&b), ranks_free_array(&c);
    free(w.x), free(sums.x);
}

static void check_mpich(void) {
    const int64_t n[2] = {6, 5};
    ranks_array in, out;
    ranks_make_array(&in, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    ranks_make_array(&out, ranks_comm, BP_C128, 2, n, 0, IN_C_ORDER);
    expect(bp_fft2(&in.view.tensor, NULL, NULL, BP_FFT_BACKWARD, &out.view.tensor), BP_E_NO_CANDIDATE, "Open MPI",
           "a transform with MPICH");
    ranks_free_array(&in), ranks_free_array(&out);
}

int main(void) {
    bp_comm_info info = {.struct_size = sizeof info};
    ranks_open();
    CHECK(bp_comm_describe(ranks_comm, &info) == BP_OK, "describe");
    check_views();
    check_files();
    check_file_of_matrix();
    if (strcmp(info.mpi, "Open MPI") != 0) {
        check_mpich();
        return ranks_end();
    }
    check_distributions();
    check_transforms();
    check_vectors();
    check_differences();
    check_failing_run();
    check_products();
    return ranks_end();
}
