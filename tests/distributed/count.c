/* count.c - counts what MPI is given to send, for the comparison with explanations. Loaded with LD_PRELOAD.
 *
 * It has no header of MPI: handles are as wide as a register. A broadcast counts as one message to each other rank, and
 * a reduction as one from each rank but one. Messages of a rank to itself are not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

typedef intptr_t handle;

static long long bytes, messages;

void count_take(long long *taken_bytes, long long *taken_messages);
void count_take(long long *taken_bytes, long long *taken_messages) {
    *taken_bytes = bytes, *taken_messages = messages;
    bytes = messages = 0;
}

#define NEXT(name) ((name##_function)dlsym(RTLD_NEXT, #name))

typedef int (*MPI_Type_size_function)(handle, int *);
typedef int (*MPI_Comm_function)(handle, int *);

static void add(int count, handle type, int times) {
    int size = 0;
    ((MPI_Type_size_function)dlsym(RTLD_DEFAULT, "MPI_Type_size"))(type, &size);
    bytes += (long long)count * size * times;
    messages += times;
}

static int number(const char *name, handle comm) {
    int value = 0;
    ((MPI_Comm_function)dlsym(RTLD_DEFAULT, name))(comm, &value);
    return value;
}

typedef int (*MPI_Send_function)(const void *, int, handle, int, int, handle);
int MPI_Send(const void *from, int count, handle type, int to, int tag, handle comm);
int MPI_Send(const void *from, int count, handle type, int to, int tag, handle comm) {
    add(count, type, to != number("MPI_Comm_rank", comm));
    return NEXT(MPI_Send)(from, count, type, to, tag, comm);
}

typedef MPI_Send_function MPI_Rsend_function;
int MPI_Rsend(const void *from, int count, handle type, int to, int tag, handle comm);
int MPI_Rsend(const void *from, int count, handle type, int to, int tag, handle comm) {
    add(count, type, to != number("MPI_Comm_rank", comm));
    return NEXT(MPI_Rsend)(from, count, type, to, tag, comm);
}

typedef int (*MPI_Isend_function)(const void *, int, handle, int, int, handle, void *);
int MPI_Isend(const void *from, int count, handle type, int to, int tag, handle comm, void *request);
int MPI_Isend(const void *from, int count, handle type, int to, int tag, handle comm, void *request) {
    add(count, type, to != number("MPI_Comm_rank", comm));
    return NEXT(MPI_Isend)(from, count, type, to, tag, comm, request);
}

typedef int (*MPI_Sendrecv_function)(const void *, int, handle, int, int, void *, int, handle, int, int, handle,
                                     void *);
int MPI_Sendrecv(const void *from, int count, handle type, int to, int tag, void *into, int into_count,
                 handle into_type, int source, int into_tag, handle comm, void *status);
int MPI_Sendrecv(const void *from, int count, handle type, int to, int tag, void *into, int into_count,
                 handle into_type, int source, int into_tag, handle comm, void *status) {
    add(count, type, to != number("MPI_Comm_rank", comm));
    return NEXT(MPI_Sendrecv)(from, count, type, to, tag, into, into_count, into_type, source, into_tag, comm, status);
}

typedef int (*MPI_Bcast_function)(void *, int, handle, int, handle);
int MPI_Bcast(void *data, int count, handle type, int root, handle comm);
int MPI_Bcast(void *data, int count, handle type, int root, handle comm) {
    add(count, type, root == number("MPI_Comm_rank", comm) ? number("MPI_Comm_size", comm) - 1 : 0);
    return NEXT(MPI_Bcast)(data, count, type, root, comm);
}

typedef int (*MPI_Reduce_function)(const void *, void *, int, handle, handle, int, handle);
int MPI_Reduce(const void *from, void *to, int count, handle type, handle op, int root, handle comm);
int MPI_Reduce(const void *from, void *to, int count, handle type, handle op, int root, handle comm) {
    add(count, type, root != number("MPI_Comm_rank", comm));
    return NEXT(MPI_Reduce)(from, to, count, type, op, root, comm);
}

typedef int (*MPI_Allreduce_function)(const void *, void *, int, handle, handle, handle);
int MPI_Allreduce(const void *from, void *to, int count, handle type, handle op, handle comm);
int MPI_Allreduce(const void *from, void *to, int count, handle type, handle op, handle comm) {
    add(count, type, number("MPI_Comm_size", comm) > 1);
    return NEXT(MPI_Allreduce)(from, to, count, type, op, comm);
}

/* One message to each other rank. */
typedef int (*MPI_Alltoall_function)(const void *, int, handle, void *, int, handle, handle);
int MPI_Alltoall(const void *from, int count, handle type, void *into, int into_count, handle into_type, handle comm);
int MPI_Alltoall(const void *from, int count, handle type, void *into, int into_count, handle into_type, handle comm) {
    add(count, type, number("MPI_Comm_size", comm) - 1);
    return NEXT(MPI_Alltoall)(from, count, type, into, into_count, into_type, comm);
}

typedef int (*MPI_Alltoallv_function)(const void *, const int *, const int *, handle, void *, const int *, const int *,
                                      handle, handle);
int MPI_Alltoallv(const void *from, const int *counts, const int *at, handle type, void *into, const int *into_counts,
                  const int *into_at, handle into_type, handle comm);
int MPI_Alltoallv(const void *from, const int *counts, const int *at, handle type, void *into, const int *into_counts,
                  const int *into_at, handle into_type, handle comm) {
    const int own = number("MPI_Comm_rank", comm);
    for (int i = 0; i < number("MPI_Comm_size", comm); i++) {
        add(counts[i], type, i != own);
    }
    return NEXT(MPI_Alltoallv)(from, counts, at, type, into, into_counts, into_at, into_type, comm);
}
