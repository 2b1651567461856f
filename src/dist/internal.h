/* internal.h - declares communicators, distributions and the agreement of ranks.
 *
 * A place (a number of a device, see tensor/internal.h) whose type is kDLExtDev stands for a map: a communicator with a
 * grid, a block and a source. So the problem of a call with distributed operands has its map as its place, and all
 * that holds for operands on devices holds for them. */
#ifndef BP_DIST_INTERNAL_H
#define BP_DIST_INTERNAL_H

#include "backplane/distributed.h"
#include "backplane/device.h"
#include "base/base.h"

/* ---- For dispatch and device ---- */

static inline bool bp__place_is_map(int32_t place) {
    return place >> 16 == kDLExtDev;
}

/* Returns the facts of a map as of a device, NULL if there is none with this place or its communicator was closed. */
const bp_device_info *bp__map_facts(int32_t place);
/* Returns BP_OK if the map's communicator can be used. Errors: BP_E_DEVICE, BP_E_TIMEOUT, BP_E_FORKED. */
bp_status bp__map_check(int32_t place);
/* Checks too that the ranks of the communicator are here. Errors: as above, BP_E_UNSUPPORTED. */
bp_status bp__map_can_run(int32_t place);
/* Tells that a function takes no distributed operands. Returns BP_E_DEVICE. */
bp_status bp__map_refuse(void);
/* Sets *opened to the bp_dist_place of the map. Errors: as for bp__map_check(). */
bp_status bp__map_open(int32_t place, void **opened);

/* What the ranks compare, a hash for each part. */
typedef enum bp__dist_part {
    BP__DIST_CALL,    /* operation, type and sizes */
    BP__DIST_LAYOUT,  /* grid, block and source */
    BP__DIST_OPTIONS, /* settings that change the result */
    BP__DIST_VERSION, /* of this library and of MPI */
    BP__DIST_ENGINE,  /* the library that runs it */
    BP__DIST_PARTS
} bp__dist_part;

typedef struct bp__dist_hashes {
    uint32_t part[BP__DIST_PARTS];
} bp__dist_hashes;

/* Enclose a run on a map: take the lock of MPI, and note what is about to run. `held`: it is a run of a plan of the
 * program, which compares nothing. bp__map_leave() is called after bp__map_enter() has succeeded. */
bp_status bp__map_enter(int32_t place, const bp__dist_hashes *hashes, bool held);
void bp__map_leave(int32_t place);

/* Ends a call that has not reached a run, with this status on this rank: tells the other ranks, and returns the status
 * of all. With BP_OK the ranks agree that nothing is left to do, or that a plan was made. */
bp_status bp__map_conclude(int32_t place, const bp__dist_hashes *hashes, bp_status status);

/* Returns the number of open communicators; frees the maps, for bp_reset(). */
int64_t bp__comms_held(void);
void bp__maps_reset(void);

/* ---- MPI (mpi.c) ---- */

typedef enum bp__mpi_family { BP__OPEN_MPI, BP__MPICH, BP__MPI_ABI } bp__mpi_family;

/* The functions of MPI. A handle is an int or a pointer; intptr_t holds both, and both are passed in the same
 * register. */
#define BP__MPI_FUNCTIONS(X)                                                                                           \
    X(Initialized, (int *flag))                                                                                        \
    X(Finalized, (int *flag))                                                                                          \
    X(Init_thread, (int *argc, char ***argv, int required, int *provided))                                             \
    X(Query_thread, (int *provided))                                                                                   \
    X(Is_thread_main, (int *flag))                                                                                     \
    X(Finalize, (void))                                                                                                \
    X(Comm_dup, (intptr_t comm, void *made))                                                                           \
    X(Comm_free, (void *comm))                                                                                         \
    X(Comm_rank, (intptr_t comm, int *rank))                                                                           \
    X(Comm_size, (intptr_t comm, int *size))                                                                           \
    X(Comm_test_inter, (intptr_t comm, int *flag))                                                                     \
    X(Comm_set_errhandler, (intptr_t comm, intptr_t handler))                                                          \
    X(Get_library_version, (char *text, int *length))                                                                  \
    X(Iallreduce, (const void *from, void *to, int count, intptr_t type, intptr_t op, intptr_t comm, void *request))   \
    X(Ibcast, (void *data, int count, intptr_t type, int root, intptr_t comm, void *request))                          \
    X(Ialltoallv, (const void *from, const int *from_counts, const int *from_at, intptr_t from_type, void *to,         \
                   const int *to_counts, const int *to_at, intptr_t to_type, intptr_t comm, void *request))            \
    X(Test, (void *request, int *done, void *status))                                                                  \
    X(Sendrecv, (const void *from, int from_count, intptr_t from_type, int to_rank, int to_tag, void *into,            \
                 int into_count, intptr_t into_type, int from_rank, int from_tag, intptr_t comm, void *status))

typedef struct bp__mpi {
    void *handle; /* of dlopen() */
    const char *path;
    bp__mpi_family family;
    bool handles_are_ints;
    intptr_t world, null, real, byte, sum, largest, errors_return, errors_are_fatal;
#define X(name, parameters) int(*name) parameters;
    BP__MPI_FUNCTIONS(X)
#undef X
} bp__mpi;

/* Finds the MPI of the process, or with `open` opens one. `library` is the file, or NULL. There is one for the life of
 * the process. Errors: as for bp_comm_from_mpi(). */
bp_status bp__mpi_find(const bp__mpi **mpi, const char *library, bool open);

/* Returns the name of the family. */
const char *bp__mpi_name(const bp__mpi *mpi);

/* Returns a handle that MPI has stored at `slot`, which was 0 before. */
intptr_t bp__mpi_handle(const bp__mpi *mpi, const intptr_t *slot);

/* Fails if the launcher has started more processes than the one that this MPI knows (launcher.c). */
bp_status bp__launcher_check(const bp__mpi *mpi, int world_size);
/* Returns the names of the MPI libraries that belong to the launcher, best first, and ends with NULL. */
const char *const *bp__launcher_libraries(void);

/* ---- Communicators (comm.c) ---- */

enum { BP__AGREED = 2 + 2 * BP__DIST_PARTS, BP__MESSAGE_BYTES = 512 };

struct bp_comm {
    struct bp_comm *next;
    const bp__mpi *mpi; /* NULL: the ranks are not here (bp_comm_from_machine()) */
    intptr_t handle;    /* ours: a duplicate, whose functions return errors */
    intptr_t engine;    /* for ScaLAPACK, which ignores errors: they end the program, not the correctness of a result */
    int rank, size;
    uint64_t serial;
    uint32_t process; /* number of forks when it was opened */
    bool lost;        /* a rank did not take part; requests on it never end */
    bool held;        /* what runs is a plan of the program */
    bool agreed;      /* the ranks have compared what runs */
    double latency_ns, bytes_per_sec, flops_per_sec;
    bp__dist_hashes hashes;   /* of what runs */
    bp_dist_closing *closing; /* what providers close with it */
    bp_dist_engine engines[BP_DIST_ENGINES];
    char version[96];
    /* Memory of requests that may never end. */
    double sent[BP__AGREED], received[BP__AGREED];
    char message[BP__MESSAGE_BYTES];
};

/* The lock of MPI and of ScaLAPACK: one thread at a time. */
void bp__mpi_lock(void);
void bp__mpi_unlock(void);

/* Fails in a child of fork, where another thread of the parent may have held the lock for ever. */
bp_status bp__comm_check_process(const bp_comm *comm);
/* Checks, with the lock held, that this thread and process may use the communicator. */
bp_status bp__comm_usable(const bp_comm *comm);
/* Checks too that its ranks are here. */
bp_status bp__comm_can_run(const bp_comm *comm);

/* Waits for a request, at most dist.timeout. `what` is for the message. */
bp_status bp__comm_wait(bp_comm *comm, intptr_t *request, int started, const char *what);

/* Compares hashes and statuses (agree.c). */
bp_status bp__comm_agree(bp_comm *comm, const bp__dist_hashes *hashes, bp_status status, int *flag);
bp_status bp__comm_reduce(bp_comm *comm, double *values, int count, bool largest);

/* Finds the libraries that all ranks have (engines.c). All ranks call it. */
bp_status bp__comm_find_engines(bp_comm *comm);
/* Returns how many of them this machine has for the MPI of the process or, if there is none yet, of its launcher. */
int bp__dist_engines_here(void);

/* Returns why a library of ScaLAPACK cannot be used, after a test in a child process; "" if it can, NULL without
 * memory. Interned. The second function switches that off, in this child itself; the third forgets what this process
 * knows. */
const char *bp__engine_why_broken(const bp__mpi *mpi, const bp_dist_engine *engine);
void bp__engines_leave_probe(void);
void bp__engines_reset(void);

/* Measures latency and bandwidth (measure.c). All ranks call it. */
bp_status bp__comm_measure(bp_comm *comm);

/* ---- Maps (map.c) ---- */

/* Forgets the maps of a communicator that is closed. */
void bp__maps_close(const bp_comm *comm);

/* Sets shape[0] and shape[1] to the rows and columns of the matrix that the distribution of a view describes. */
void bp__dist_view_matrix(const bp_dist_view *view, int64_t shape[2]);

/* Returns the view of a tensor; NULL with an error if it is none, or of a closed communicator. *place may be NULL. */
const bp_dist_view *bp__dist_view_of(const DLTensor *tensor, const char *name, const bp_dist_place **place);

#endif
