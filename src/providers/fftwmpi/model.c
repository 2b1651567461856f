/* model.c - computes what FFTW-MPI sends between the ranks.
 *
 * Each rank transforms the dimensions that it has. Then the array is transposed, so that the first dimension is whole
 * and the others, taken as one, are divided among all ranks; the first dimension is transformed, and the array is
 * transposed back. In a transposition each pair of the ranks that have elements before or behind it exchanges one
 * message. Where FFTW may destroy the input, it calls MPI_Alltoall, in which all ranks take part. */
#include "providers/fftwmpi/fftwmpi.h"

#include <math.h>

/* Transforms reach this part of the rate of a product. */
#define PART_OF_RATE 0.25

/* How the array is divided before and after the first transposition. */
typedef struct division {
    int64_t first, rest, block, part; /* sizes, and the sizes of their blocks */
    int64_t second;                   /* the second dimension */
    int64_t ranks, active;            /* all, and those that take part in transpositions */
} division;

static division divide(const bp__fftwmpi_transform *t, int64_t ranks) {
    division d = {.first = t->n[0], .rest = bp__fftwmpi_rest(t), .block = t->block, .ranks = ranks};
    d.part = (d.rest - 1) / ranks + 1;
    d.second = t->kind != BP_FFT_C2C && t->ndim == 2 ? d.rest : t->n[1];
    const int64_t blocks = (d.first - 1) / d.block + 1;
    d.active = blocks == 1 ? 1 : t->kind == BP_FFT_C2R ? ranks : bp__most(blocks, (d.rest - 1) / d.part + 1);
    return d;
}

/* Elements that rank 0, the busiest, sends in both transpositions: what it has, but for the part that it keeps. */
static double most_sent(const division *d) {
    const int64_t own = bp__least(d->block, d->first);
    return (double)own * (double)(d->rest - d->part) + (double)d->part * (double)(d->first - own);
}

/* Elements of memory that FFTW needs on a rank (fftw_mpi_local_size_many). */
static double needed_by(const division *d, int64_t rank) {
    const int64_t own = bp__fftwmpi_part(d->first, d->block, rank);
    const int64_t others = d->first * (d->rest / d->second), share = (others - 1) / d->ranks + 1;
    const double needs[] = {
        (double)d->first * (double)bp__fftwmpi_part(d->rest, d->part, rank),
        (double)others * (double)bp__fftwmpi_part(d->second, (d->second - 1) / d->ranks + 1, rank),
        (double)d->second * (double)bp__fftwmpi_part(others, share, rank),
    };
    double most = (double)own * (double)d->rest;
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        most = bp__most_real(most, needs[i]);
    }
    return most;
}

/* Returns the elements of a copy of the output on the rank that needs most. Ranks behind the last ones with elements
 * are as the first of them. */
static double copied(const division *d) {
    const int64_t last[] = {(d->first - 1) / d->block, (d->first - 1) / d->block + 1};
    double most = 0;
    for (int i = 0; i < 2 && last[i] < d->ranks; i++) {
        const double own = (double)bp__fftwmpi_part(d->first, d->block, last[i]) * (double)d->rest;
        const double needed = needed_by(d, last[i]);
        most = bp__most_real(most, needed > own ? needed : 0);
    }
    return most;
}

static void count(const division *d, double item, bp__ranks_model *m) {
    const int64_t blocks = (d->first - 1) / d->block + 1, parts = (d->rest - 1) / d->part + 1;
    const int64_t shared = bp__least(blocks, parts) - 1;
    const double stay =
        (double)shared * (double)d->block * (double)d->part +
        (double)bp__fftwmpi_part(d->first, d->block, shared) * (double)bp__fftwmpi_part(d->rest, d->part, shared);
    const bool sends = d->active > 1;
    m->bytes = sends ? 2 * item * ((double)d->first * (double)d->rest - stay) : 0;
    m->most_bytes = sends ? item * most_sent(d) : 0;
    m->most_messages = 2 * (double)(d->active - 1);
    m->messages = m->most_messages * (double)d->active;
    m->steps = m->most_messages;
    m->work_bytes = sends ? item * (copied(d) + (double)d->block * (double)d->part) : 0;
}

void bp__fftwmpi_model(const bp_problem *problem, const bp_dist_place *place, bp__ranks_model *m) {
    bp__fftwmpi_transform t;
    bp__fftwmpi_transform_of(&t, problem, place);
    const division d = divide(&t, place->size);
    const double item = t.single ? 8 : 16, elements = (double)d.first * (double)d.rest;
    const double own = item * (double)bp__least(d.block, d.first) * (double)d.rest;
    const bool real = problem->of.fft.kind != BP_FFT_C2C;
    count(&d, item, m);
    m->flops = 5 * elements * log2(bp__most_real(elements, 2)) / PART_OF_RATE;
    m->operand_bytes = own * (problem->of.fft.in_place ? 1 : 2);
    m->work_bytes += real || problem->of.fft.in_place ? own : 0;
}
