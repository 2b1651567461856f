/* distributed.h - matrices and arrays that are spread over the processes of an MPI program, and their communicators.
 *
 * A program of several processes ("ranks") opens a communicator, describes how a matrix is divided (bp_dist), and makes
 * a view of the part that its own process has (bp_dist_view). Views go to the ordinary functions: bp_matmul(),
 * bp_gemm(), bp_cholesky(), bp_cholesky_solve(), bp_lu_factor(), bp_lu_solve(), bp_solve(), bp_inv(), bp_qr(),
 * bp_lstsq(), bp_eigh(), bp_svd(), bp_matrix_norm(), and, in two and three dimensions, the transforms of fft.h. All
 * operands of a call have the same communicator, grid, block and source; nothing is moved from one distribution to
 * another except by bp_redistribute(). Element types are f32, f64, c64 and c128.
 *
 * MPI, ScaLAPACK and FFTW-MPI are found at run time: an MPI that the program has loaded is used, and never a second
 * one. MPI is initialized only if the program asks for it, and finalized only if it was initialized here. The setting
 * dist.preferred chooses among the ScaLAPACK that is built for the MPI and MKL's; all ranks run the same one.
 *
 * Every rank of the communicator makes the same calls in the same order. A call of an operation, and the making of a
 * plan, begin with one reduction by which the ranks compare what they are about to do. If they differ, or if a check
 * fails on one of them, the call fails on all ranks with the same status, and the message names the rank. A run of a
 * plan (bp_execute) compares nothing, unless it may fail on one rank alone. A rank that does not take part within
 * dist.timeout seconds makes the others fail with BP_E_TIMEOUT; the communicator cannot be used after that.
 *
 * These libraries have state of the process, so one thread at a time calls them; further threads wait. If MPI was
 * initialized for one thread, that thread makes all calls (BP_E_UNSUPPORTED otherwise). A child of fork cannot use the
 * communicators of its parent (BP_E_FORKED).
 */
#ifndef BACKPLANE_DISTRIBUTED_H
#define BACKPLANE_DISTRIBUTED_H

#include "backplane/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Communicators ----------------------------------------------------------------------------------------------- */

/* The ranks that compute together. Closed by bp_comm_close(), when no thread uses it or a view of it. */
typedef struct bp_comm bp_comm;

#define BP_COMM_INIT 1u /* bp_comm_open(): initialize MPI if the program has not */

/* Opens a communicator of the ranks of the program's own one. `handle` points to the program's MPI_Comm, and
 * `handle_size` is sizeof(MPI_Comm), which tells the two kinds of MPI apart. `library` is the file of the MPI that the
 * handle belongs to; NULL if the process has only one MPI. The communicator is duplicated, and latency and bandwidth
 * are measured: all its ranks make this call.
 * Errors: BP_E_NOT_FOUND (no MPI is loaded), BP_E_ARGUMENT (NULL; MPI_COMM_NULL or an intercommunicator; another size
 * than this MPI's handles have; several MPIs, and no `library`; a library that is not loaded), BP_E_UNSUPPORTED (MPI is
 * not initialized, or finalized; the launcher belongs to another MPI), BP_E_SYMBOL, BP_E_FORKED, BP_E_NO_MEMORY,
 * BP_E_SYSTEM (MPI reports an error). */
BP_API bp_status bp_comm_from_mpi(bp_comm **comm, const void *handle, size_t handle_size, const char *library);

/* Opens a communicator of all ranks of the program. If no MPI is loaded, the MPI of the launcher is, or, without a
 * launcher, the first that is found; the program then has one rank. MPI must be initialized, unless `flags` has
 * BP_COMM_INIT. Errors: as for bp_comm_from_mpi(), BP_E_ARGUMENT (unknown flags). */
BP_API bp_status bp_comm_open(bp_comm **comm, uint32_t flags);

/* What bp_comm_from_machine() takes. */
typedef struct bp_comm_machine {
    size_t struct_size; /* set by the caller: sizeof(bp_comm_machine) */
    int ranks;
    double latency_ns;    /* of a small message */
    double bytes_per_sec; /* that a rank sends */
    double flops_per_sec; /* of a rank, in f64; 0: of a usual processor with as many threads as a call here has */
} bp_comm_machine;

/* Makes a communicator of ranks that are not here, to explain what operations would cost there. It needs neither MPI
 * nor ScaLAPACK, and this process stands for rank 0. Explanations have bytes, messages, memory and times, as with a
 * communicator of a program. What would run or be planned, or read or write a file, fails with BP_E_UNSUPPORTED. Close
 * it with bp_comm_close().
 * Errors: BP_E_ARGUMENT (NULL, unknown struct_size, no rank, a negative or infinite number), BP_E_NO_MEMORY. */
BP_API bp_status bp_comm_from_machine(bp_comm **comm, const bp_comm_machine *machine);

/* Closes a communicator, on all its ranks. Finalizes MPI if bp_comm_open() had initialized it and this is the last
 * communicator; but not after a call has failed with BP_E_TIMEOUT. Views and plans of it cannot be used after that
 * (BP_E_DEVICE). NULL is allowed. Errors: BP_E_FORKED. */
BP_API bp_status bp_comm_close(bp_comm *comm);

typedef struct bp_comm_info {
    size_t struct_size; /* set by the caller: sizeof(bp_comm_info) */
    int rank, size;     /* number of this process, and number of all */
    const char *mpi;    /* "Open MPI", "MPICH", "MPI ABI"; "none" of bp_comm_from_machine() */
    const char *version;
    const char *library;  /* the file */
    double latency_ns;    /* of a small message, between the two slowest neighbours; 0 for one rank */
    double bytes_per_sec; /* of a large message, likewise */
    int initialized_here; /* 1: bp_comm_open() has initialized MPI */
} bp_comm_info;

/* Fills *info. Strings are valid as long as the communicator. Errors: BP_E_ARGUMENT (NULL, unknown struct_size). */
BP_API bp_status bp_comm_describe(const bp_comm *comm, bp_comm_info *info);

/* ---- Distributions ----------------------------------------------------------------------------------------------- */

/* How a matrix is divided: 2-D block-cyclic, as in ScaLAPACK. The matrix is cut into blocks. Block (i, j) belongs to
 * the rank at row (i + source[0]) mod grid[0] and column (j + source[1]) mod grid[1] of the grid. Ranks are numbered
 * row by row: the rank at row p and column q is p * grid[1] + q. A rank has its blocks as one matrix, its local part,
 * whose columns are contiguous. */
typedef struct bp_dist {
    size_t struct_size; /* set by the caller: sizeof(bp_dist) */
    bp_comm *comm;
    int32_t grid[2];   /* rows and columns of ranks; 0, 0: of the setting dist.grid */
    int32_t block[2];  /* rows and columns of a block; 0: of the setting dist.block */
    int32_t source[2]; /* where block (0, 0) is */
    int64_t shape[2];  /* of the whole matrix */
} bp_dist;

/* Checks *dist, and sets grid and block where they are 0. Without other settings the grid has all ranks, and is as
 * square as possible, with no more rows than columns, and blocks are 64x64. Errors: BP_E_ARGUMENT (NULL, a grid that
 * has more ranks than the communicator, a source outside of the grid, a block below 1, dist.grid is no grid),
 * BP_E_SHAPE (a negative size). */
BP_API bp_status bp_dist_complete(bp_dist *dist);

/* Sets grid and block of *dist so that each rank has whole columns, one after another, as transforms need: a grid of
 * one row with all ranks of the communicator, and blocks of ceil(shape[1] / ranks) columns. `comm` and `shape` are set.
 * Errors: as for bp_dist_complete(), BP_E_OVERFLOW (blocks of more than 2^31 - 1 columns). */
BP_API bp_status bp_dist_slabs(bp_dist *dist);

/* Sets at[0] and at[1] to the row and column of a rank in the grid; -1 if the rank has no place in it. rank -1: this
 * process. `dist` is complete. Errors: BP_E_ARGUMENT. */
BP_API bp_status bp_dist_position(const bp_dist *dist, int rank, int at[2]);

/* Sets shape[0] and shape[1] to the rows and columns of the local part of a rank; 0 if the rank has no place in the
 * grid. rank -1: this process. Errors: BP_E_ARGUMENT. */
BP_API bp_status bp_dist_local_shape(const bp_dist *dist, int rank, int64_t shape[2]);

/* Returns the row (dimension 0) or column (1) of the whole matrix that is number `local` in the local parts at row or
 * column `position` of the grid. The arguments must be valid. */
static inline int64_t bp_dist_to_global(const bp_dist *dist, int dimension, int position, int64_t local) {
    const int64_t block = dist->block[dimension], grid = dist->grid[dimension];
    const int64_t behind = (position + grid - dist->source[dimension]) % grid; /* the source */
    return (local / block * grid + behind) * block + local % block;
}

/* Sets *position to the row or column of the grid that has row or column `global` of the whole matrix, and returns its
 * number in the local parts there. The arguments must be valid. */
static inline int64_t bp_dist_to_local(const bp_dist *dist, int dimension, int64_t global, int *position) {
    const int64_t block = dist->block[dimension], grid = dist->grid[dimension], number = global / block;
    *position = BP__CAST(int, (number + dist->source[dimension]) % grid);
    return number / grid * block + global % block;
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */

#define BP_MAX_DIST_NDIM 3

/* A tensor of the whole matrix, with the local part of this process. Pass &view.tensor to operations. Its device is
 * DLPack's kDLExtDev, and its data points to the view itself, so it must not be copied by value or moved. No other
 * library can read it. */
typedef struct bp_dist_view {
    size_t struct_size;
    DLTensor tensor;
    int64_t shape[BP_MAX_DIST_NDIM], strides[BP_MAX_DIST_NDIM]; /* of the tensor */
    void *local;
    int64_t leading;       /* elements from one column of the local part to the next */
    int64_t rows, columns; /* of the local part */
} bp_dist_view;

/* Fills a view of a distributed matrix. `local` is the local part: column-major, `leading` elements from column to
 * column; leading 0: as many as it has rows. It may be NULL for plans and explanations. Errors: BP_E_ARGUMENT (NULL;
 * leading below the number of rows), BP_E_SHAPE, BP_E_DTYPE, BP_E_LAYOUT (not aligned), BP_E_OVERFLOW, BP_E_BUSY (more
 * than 65535 distributions), BP_E_NO_MEMORY. */
BP_API bp_status bp_dist_view_init(bp_dist_view *view, void *local, int64_t leading, bp_dtype dtype,
                                   const bp_dist *dist);

/* Fills a view of a value (ndim 0) or a vector (ndim 1). Every rank has all its elements, one after another:
 * pivots, eigenvalues, singular values, norms, info. `dist` is the one of the matrices of the call; its shape does not
 * matter. Errors: as above. */
BP_API bp_status bp_dist_view_replicated(bp_dist_view *view, void *local, bp_dtype dtype, int ndim, int64_t size,
                                         const bp_dist *dist);

/* Fills a view of an array of two or three dimensions in C order that is divided along its first one. It is the
 * transpose of a matrix: `dist` describes the matrix whose columns are the shape[0] parts array[i], each with
 * shape[1] * ... elements; its shape does not matter. `local` has the parts of this rank one after another, without
 * gaps. A view of two dimensions can be an operand of a product, too. Errors: as for bp_dist_view_init(), BP_E_ARGUMENT
 * (ndim). */
BP_API bp_status bp_dist_view_array(bp_dist_view *view, void *local, bp_dtype dtype, int ndim, const int64_t *shape,
                                    const bp_dist *dist);

/* Copies a distributed matrix to one of the same shape and type with another distribution, of the same communicator:
 * another grid, block or source; or an array to an array (bp_dist_view_array). It moves each element at most once,
 * through buffers of at most 32 MiB on each rank. Elements of all types are copied bit by bit. All ranks make this
 * call. Errors: BP_E_ARGUMENT (NULL, or a tensor that is not distributed), BP_E_SHAPE, BP_E_DTYPE, BP_E_DEVICE (two
 * communicators), BP_E_OVERLAP, BP_E_TIMEOUT, BP_E_NO_MEMORY, BP_E_SYSTEM. */
BP_API bp_status bp_redistribute(const DLTensor *from, DLTensor *to);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Files are NumPy's (.npy, versions 1 to 3; numpy.load and numpy.save read and write them). A file has the whole
 * matrix, whatever its distribution is, so that a program can go on with another number of ranks. Each rank reads or
 * writes only its own part, through 1 MiB of memory: the matrix may be larger than the memory of one rank. All ranks
 * must see the file under `path`. A vector is a matrix of one column. */

/* Sets *dtype and the shape to what the file has. Does not communicate. Errors: BP_E_ARGUMENT (NULL), BP_E_IO,
 * BP_E_FORMAT (not such a file), BP_E_TRUNCATED, BP_E_SHAPE (neither a matrix nor a vector), BP_E_DTYPE (an element
 * type that Backplane has not), BP_E_OVERFLOW, BP_E_NO_MEMORY. */
BP_API bp_status bp_dist_file(const char *path, bp_dtype *dtype, int64_t shape[2]);

/* As bp_dist_file(), of an array of two or three dimensions. Errors: as above, BP_E_SHAPE (other dimensions). */
BP_API bp_status bp_dist_file_array(const char *path, bp_dtype *dtype, int *ndim, int64_t shape[BP_MAX_DIST_NDIM]);

/* Reads a matrix or an array that has the shape and type of the file, in either order of elements and of bytes; three
 * dimensions in C order only (BP_E_FORMAT). All ranks make this call. After a failure it may be partly filled. Errors:
 * as above, BP_E_ARGUMENT (not a distributed matrix), BP_E_SHAPE and BP_E_DTYPE (of another shape or type),
 * BP_E_TIMEOUT, BP_E_SYSTEM. */
BP_API bp_status bp_dist_read(const char *path, DLTensor *matrix);

/* Writes a matrix in Fortran order, or an array in C order. All ranks make this call. They write `path` with the ending
 * .NUMBER.partial, and rank 0 renames it when all have succeeded: an old file is there until the new one is complete. A
 * process that is killed leaves the partial file. Errors: as above. */
BP_API bp_status bp_dist_write(const char *path, const DLTensor *matrix);

/* ---- For providers ----------------------------------------------------------------------------------------------- */

/* What bp_comm_close() calls before it ends the communicator's handles, on all ranks together, with the lock of MPI.
 * A provider's struct begins with it. */
typedef struct bp_dist_closing {
    struct bp_dist_closing *next;
    /* `usable` is 0 if nothing can be sent any more: a rank was lost, or MPI was finalized. */
    void (*close)(struct bp_dist_closing *self, int usable);
} bp_dist_closing;

/* A library that may compute on distributed operands, as this rank sees it. Strings are never NULL. */
typedef struct bp_dist_engine {
    const char *name;   /* "scalapack", "mkl" */
    const char *file;   /* its name, for bp_host.open_named(); "": there is none, or the ranks are not here */
    const char *path;   /* where it is */
    const char *reason; /* why it cannot run here, or on another rank; "": it can run on all ranks */
} bp_dist_engine;

#define BP_DIST_ENGINES 2

/* What bp_host.device_open() gives for the place of a distributed operand. The runtime is "mpi". */
typedef struct bp_dist_place {
    size_t struct_size;
    const bp_dist *dist; /* its shape does not matter */
    uint64_t serial;     /* of the communicator: no other one of the process has it */
    int rank, size;
    int at[2];            /* this rank's row and column of the grid; -1: it has none */
    int64_t communicator; /* the handle of MPI, as its functions take it: an int is in the low half */
    void *mpi;            /* of dlopen(); NULL: the ranks are not here, and nothing can run */
    const char *family;   /* as bp_comm_info.mpi */
    double latency_ns, bytes_per_sec;
    void *opaque;
    /* Compares what the ranks are about to do, and their statuses. Returns BP_OK on all ranks or the same failure on
     * all. *flag, at least 0, becomes the lowest rank, plus 1, on which it is not 0; NULL: none is exchanged. In runs
     * of plans of the program without a flag it returns `status`. Call it once in each run, before anything else that
     * communicates. */
    bp_status (*agree)(const struct bp_dist_place *place, bp_status status, int *flag);
    /* Replace `count` values of each rank by their sums, or by their largest values, on all ranks. */
    bp_status (*sum)(const struct bp_dist_place *place, double *values, int count);
    bp_status (*largest)(const struct bp_dist_place *place, double *values, int count);
    double flops_per_sec; /* of a rank, in f64; 0: unknown */
    /* Since 5.5. For runs: what is to be closed with the communicator. */
    void (*at_close)(const struct bp_dist_place *place, bp_dist_closing *closing);
    /* BP_DIST_ENGINES entries. */
    const bp_dist_engine *engines;
} bp_dist_place;

#ifdef __cplusplus
}
#endif
#endif
