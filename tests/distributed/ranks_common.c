/* ranks_common.c - implements ranks.h. */
#include "distributed/ranks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bp_comm *ranks_comm;
int ranks_rank, ranks_size;
static long checks, failures;

void ranks_open(void) {
    bp_comm_info info = {.struct_size = sizeof info};
    if (bp_comm_open(&ranks_comm, BP_COMM_INIT) != BP_OK || bp_comm_describe(ranks_comm, &info) != BP_OK) {
        printf("no communicator: %s\n", bp_last_error());
        exit(2);
    }
    ranks_rank = info.rank;
    ranks_size = info.size;
}

bool ranks_check(bool condition, const char *file, int line, const char *format, ...) {
    checks++;
    if (!condition) {
        va_list args;
        char text[1024];
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        failures++;
        printf("%s:%d: rank %d of %d: %s (%s)\n", file, line, ranks_rank, ranks_size, text, bp_last_error());
        fflush(stdout);
    }
    return condition;
}

void ranks_each_distribution(void (*check)(const bp_dist *like, bool all)) {
    static const int blocks[] = {1, 32, 64};
    for (int rows = 1; rows <= ranks_size; rows++) {
        for (int b = 0; b < 3 && ranks_size % rows == 0; b++) {
            const bp_dist like = {.struct_size = sizeof like,
                                  .comm = ranks_comm,
                                  .grid = {rows, ranks_size / rows},
                                  .block = {blocks[b], blocks[b]},
                                  .source = {b == 1 ? rows - 1 : 0, b == 2 ? ranks_size / rows - 1 : 0}};
            check(&like, getenv("TESTED_ALL") != NULL);
        }
    }
}

int ranks_end(void) {
    printf("rank %d of %d: %ld checks, %ld failed\n", ranks_rank, ranks_size, checks, failures);
    fflush(stdout);
    CHECK(bp_comm_close(ranks_comm) == BP_OK, "close");
    return failures > 0;
}

static double mixed(int64_t i, int64_t j, int part) {
    uint64_t x =
        (uint64_t)i * 0x9E3779B97F4A7C15u + (uint64_t)j * 0xC2B2AE3D27D4EB4Fu + (uint64_t)part * 0x165667B19E3779F9u;
    x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 32) * 0x94D049BB133111EBu;
    return (double)(x >> 11) / (double)(1ull << 53) - 0.5;
}

double ranks_shift;

double ranks_random(int64_t i, int64_t j, int part) {
    return mixed(i, j, part);
}

double ranks_random_b(int64_t i, int64_t j, int part) {
    return mixed(i + 77, j + 1234567, part);
}

double ranks_positive(int64_t i, int64_t j, int part) {
    const double value = i <= j ? mixed(i, j, part) : mixed(j, i, part);
    return part == 1 ? (i == j ? 0 : i < j ? value : -value) : value + (i == j ? ranks_shift : 0);
}

double ranks_diagonal_heavy(int64_t i, int64_t j, int part) {
    return mixed(i, j, part) + (i == j && part == 0 ? 4 : 0);
}

static void set(void *memory, bp_dtype dtype, int64_t at, double re, double im) {
    if (dtype == BP_F32) {
        ((float *)memory)[at] = (float)re;
    } else if (dtype == BP_F64) {
        ((double *)memory)[at] = re;
    } else if (dtype == BP_C64) {
        ((float *)memory)[2 * at] = (float)re, ((float *)memory)[2 * at + 1] = (float)im;
    } else {
        ((double *)memory)[2 * at] = re, ((double *)memory)[2 * at + 1] = im;
    }
}

void ranks_make(ranks_matrix *m, const bp_dist *like, bp_dtype dtype, int64_t rows, int64_t columns,
                ranks_value value) {
    int64_t local[2];
    int at[2];
    m->dist = *like;
    m->dist.shape[0] = rows, m->dist.shape[1] = columns;
    m->dtype = dtype;
    CHECK(bp_dist_complete(&m->dist) == BP_OK, "complete");
    CHECK(bp_dist_local_shape(&m->dist, -1, local) == BP_OK, "local shape");
    CHECK(bp_dist_position(&m->dist, -1, at) == BP_OK, "position");
    const int64_t leading = local[0] + 3;
    m->memory = calloc((size_t)(leading * local[1]) + 1, bp_dtype_size(dtype));
    CHECK(bp_dist_view_init(&m->view, m->memory, leading, dtype, &m->dist) == BP_OK, "view");
    for (int64_t j = 0; j < local[1] && value; j++) {
        for (int64_t i = 0; i < local[0]; i++) {
            const int64_t row = bp_dist_to_global(&m->dist, 0, at[0], i),
                          column = bp_dist_to_global(&m->dist, 1, at[1], j);
            set(m->memory, dtype, i + j * leading, value(row, column, 0), value(row, column, 1));
        }
    }
}

void ranks_free(ranks_matrix *m) {
    free(m->memory);
    m->memory = NULL;
}

void *ranks_gather(const ranks_matrix *m, bp_view *view) {
    const int64_t rows = m->dist.shape[0], columns = m->dist.shape[1], strides[2] = {1, rows > 1 ? rows : 1};
    bp_dist whole = {.struct_size = sizeof whole, .comm = m->dist.comm, .grid = {1, 1}, .shape = {rows, columns}};
    bp_dist_view all;
    void *memory = ranks_rank == 0 ? calloc((size_t)(rows * columns) + 1, bp_dtype_size(m->dtype)) : NULL;
    CHECK(bp_dist_view_init(&all, memory, 0, m->dtype, &whole) == BP_OK, "view of the whole");
    CHECK(bp_redistribute(&m->view.tensor, &all.tensor) == BP_OK, "redistribute to one rank");
    if (memory && view) {
        CHECK(bp_view_init(view, memory, m->dtype, 2, whole.shape, strides) == BP_OK, "view on rank 0");
    }
    return memory;
}
