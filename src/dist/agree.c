/* agree.c - lets all ranks compare what they are about to do, so that none waits for a call that another does not make,
 * and none computes with other sizes.
 *
 * One reduction carries everything: the largest value and the largest negative of each part of a hash, which are
 * opposite where all ranks have the same; the worst status with its rank; a flag. Numbers are f64, the only type whose
 * constant is needed of each MPI; whole numbers up to 2^53 are exact. */
#include "dist/internal.h"

#include <stdio.h>
#include <string.h>

enum { STATUS_AT = 2 * BP__DIST_PARTS, FLAG_AT };

/* A rank as a number that is larger for a lower rank, so that the largest one is of the lowest rank. */
#define RANKS 67108864.0

static double of_rank(const bp_comm *comm) {
    return RANKS - 1 - comm->rank;
}

static int rank_of(double value) {
    return (int)(RANKS - 1 - value);
}

/* `sent` and `received` stay valid if the request never ends. */
static bp_status reduce(bp_comm *comm, double *values, int count, bool largest, double *sent, double *received) {
    const bp__mpi *mpi = comm->mpi;
    intptr_t request = 0;
    memcpy(sent, values, (size_t)count * sizeof *values);
    const int started =
        mpi->Iallreduce(sent, received, count, mpi->real, largest ? mpi->largest : mpi->sum, comm->handle, &request);
    BP__TRY(bp__comm_wait(comm, &request, started, "the comparison of the ranks"));
    memcpy(values, received, (size_t)count * sizeof *values);
    return BP_OK;
}

bp_status bp__comm_reduce(bp_comm *comm, double *values, int count, bool largest) {
    if (count <= BP__AGREED) {
        return reduce(comm, values, count, largest, comm->sent, comm->received);
    }
    double *memory = bp__alloc(2 * (size_t)count * sizeof *memory), without = memory == NULL;
    bp_status status = bp__comm_reduce(comm, &without, 1, true);
    if (status == BP_OK && without > 0) {
        status = bp__fail_memory(2 * (size_t)count * sizeof *memory, "a sum over the ranks, on one of them");
    }
    status = status == BP_OK ? reduce(comm, values, count, largest, memory, memory + count) : status;
    if (!comm->lost) {
        bp__free(memory);
    }
    return status;
}

/* Gives the message of one rank to all. */
static bp_status share_failure(bp_comm *comm, bp_status status, int rank) {
    enum { DOUBLES = BP__MESSAGE_BYTES / sizeof(double) };
    intptr_t request = 0;
    if (rank == comm->rank) {
        bp__copy_text(comm->message, sizeof comm->message,
                      bp_last_status() == status ? bp_last_error() : bp_status_text(status));
    }
    const int started = comm->mpi->Ibcast(comm->message, DOUBLES, comm->mpi->real, rank, comm->handle, &request);
    BP__TRY(bp__comm_wait(comm, &request, started, "the message of a rank that failed"));
    comm->message[BP__MESSAGE_BYTES - 1] = '\0';
    return comm->size > 1 ? bp__fail(status, "rank %d: %s", rank, comm->message)
                          : bp__fail(status, "%s", comm->message);
}

/* Sets `rank` to the lowest rank whose part differs from the part of rank 0. */
static bp_status find_other(bp_comm *comm, uint32_t part, int *rank) {
    intptr_t request = 0;
    double own = part;
    memcpy(comm->message, &own, sizeof own);
    const int started = comm->mpi->Ibcast(comm->message, 1, comm->mpi->real, 0, comm->handle, &request);
    BP__TRY(bp__comm_wait(comm, &request, started, "the search for a rank that differs"));
    double of_first;
    memcpy(&of_first, comm->message, sizeof of_first);
    double lowest = own == of_first ? -1 : of_rank(comm);
    BP__TRY(bp__comm_reduce(comm, &lowest, 1, true));
    *rank = rank_of(lowest);
    return BP_OK;
}

static bp_status tell_difference(bp_comm *comm, const bp__dist_hashes *hashes, int part) {
    static const char *const what[] = {"another operation, type or size", "another grid, block or source",
                                       "other settings", "another version of this library or of MPI",
                                       "another library, or another version of it, for this call (dist.preferred)"};
    int rank = 0;
    BP__TRY(find_other(comm, hashes->part[part], &rank));
    return bp__fail(BP_E_ARGUMENT, "rank %d has %s than rank 0: all ranks must make the same call", rank, what[part]);
}

static void fill(const bp_comm *comm, double *values, const bp__dist_hashes *hashes, bp_status status, int flag) {
    for (int i = 0; i < BP__DIST_PARTS; i++) {
        values[2 * i] = hashes->part[i];
        values[2 * i + 1] = -(double)hashes->part[i];
    }
    values[STATUS_AT] = status == BP_OK ? 0 : (double)status * RANKS + of_rank(comm);
    values[FLAG_AT] = flag ? of_rank(comm) + 1 : 0;
}

bp_status bp__comm_agree(bp_comm *comm, const bp__dist_hashes *hashes, bp_status status, int *flag) {
    double values[BP__AGREED];
    if (!comm->mpi) {
        return status;
    }
    fill(comm, values, hashes, status, flag ? *flag : 0);
    comm->agreed = true;
    BP__TRY(bp__comm_reduce(comm, values, BP__AGREED, true));
    if (values[STATUS_AT] > 0) {
        const int worst = (int)(values[STATUS_AT] / RANKS);
        return share_failure(comm, (bp_status)worst, rank_of(values[STATUS_AT] - worst * RANKS));
    }
    for (int i = 0; i < BP__DIST_PARTS; i++) {
        if (values[2 * i] != -values[2 * i + 1]) {
            return tell_difference(comm, hashes, i);
        }
    }
    if (flag) {
        *flag = values[FLAG_AT] > 0 ? rank_of(values[FLAG_AT] - 1) + 1 : 0;
    }
    return BP_OK;
}
