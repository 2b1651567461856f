/* measure.c - measures latency and bandwidth between neighbouring ranks, when a communicator is opened.
 *
 * Transports differ by a factor of 100, so that no constant would be right. All ranks get the figures of the slowest
 * pair, so that their estimates are equal. */
#include "dist/internal.h"

#include <string.h>

enum { SMALL = 8, LARGE = 1 << 20, SMALL_ROUNDS = 40, LARGE_ROUNDS = 4 };

/* Returns the time of a message to the next rank, while one of the previous rank arrives: the shortest of the rounds.
 */
static double time_of(const bp_comm *comm, char *buffer, int bytes, int rounds) {
    const int next = (comm->rank + 1) % comm->size, before = (comm->rank + comm->size - 1) % comm->size;
    int64_t status[16], shortest = INT64_MAX;
    for (int i = 0; i < rounds; i++) {
        const int64_t start = bp__now_ns();
        comm->mpi->Sendrecv(buffer, bytes, comm->mpi->byte, next, i, buffer + LARGE, bytes, comm->mpi->byte, before, i,
                            comm->handle, status);
        const int64_t took = bp__now_ns() - start;
        shortest = took < shortest ? took : shortest;
    }
    return (double)shortest;
}

bp_status bp__comm_measure(bp_comm *comm) {
    if (comm->size == 1) {
        return BP_OK;
    }
    char *buffer = bp__alloc_zero(2, LARGE);
    double values[3] = {buffer == NULL, 0, 0};
    BP__TRY(bp__comm_reduce(comm, values, 1, true)); /* without memory on one rank, none may wait for its messages */
    if (values[0] > 0) {
        bp__free(buffer);
        return bp__fail_memory(2 * (size_t)LARGE, "the measuring of a communicator, on one of its ranks");
    }
    values[1] = time_of(comm, buffer, SMALL, SMALL_ROUNDS);
    values[2] = time_of(comm, buffer, LARGE, LARGE_ROUNDS);
    bp__free(buffer);
    BP__TRY(bp__comm_reduce(comm, values, 3, true));
    comm->latency_ns = values[1];
    comm->bytes_per_sec = LARGE * 1e9 / (values[2] > values[1] ? values[2] - values[1] : 1);
    return BP_OK;
}
