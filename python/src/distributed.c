/* distributed.c - opens communicators of MPI and runs operations on distributed matrices (backplane/distributed.h).
 *
 * A communicator is a capsule. The package keeps the local parts in NumPy's arrays, and passes their addresses. Calls
 * run without the interpreter's lock, because ranks wait for each other. */
#include "distributed.h"

#include <string.h>

#define CAPSULE "backplane.communicator"
enum { MOST_OPERANDS = 6 };

/* The program closes communicators, because all ranks do it together; a forgotten one stays open. */
static bp_comm *comm_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, CAPSULE);
}

static PyObject *wrap_comm(core_state *state, bp_status status, bp_comm *comm) {
    return status == BP_OK ? PyCapsule_New(comm, CAPSULE, NULL) : core_finish(state, core_fail(state, status, NULL));
}

PyObject *core_comm_open(PyObject *module, PyObject *initialize) {
    bp_comm *comm;
    bp_status status;
    const int wanted = PyObject_IsTrue(initialize);
    if (wanted < 0) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = bp_comm_open(&comm, wanted ? BP_COMM_INIT : 0);
    Py_END_ALLOW_THREADS return wrap_comm(core_state_of(module), status, comm);
}

PyObject *core_comm_from_mpi(PyObject *module, PyObject *arguments) {
    unsigned long long address;
    Py_ssize_t size;
    const char *library;
    bp_comm *comm;
    bp_status status;
    if (!PyArg_ParseTuple(arguments, "Knz", &address, &size, &library)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = bp_comm_from_mpi(&comm, (const void *)(uintptr_t)address, (size_t)size, library);
    Py_END_ALLOW_THREADS return wrap_comm(core_state_of(module), status, comm);
}

PyObject *core_comm_close(PyObject *module, PyObject *capsule) {
    bp_comm *comm = comm_of(capsule);
    bp_status status;
    if (!comm) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = bp_comm_close(comm);
    Py_END_ALLOW_THREADS if (status != BP_OK) {
        return core_finish(core_state_of(module), core_fail(core_state_of(module), status, NULL));
    }
    Py_RETURN_NONE;
}

PyObject *core_comm_describe(PyObject *module, PyObject *capsule) {
    bp_comm_info info = {.struct_size = sizeof info};
    const bp_comm *comm = comm_of(capsule);
    (void)module;
    if (!comm || bp_comm_describe(comm, &info) != BP_OK) {
        return NULL;
    }
    return Py_BuildValue("{s:i, s:i, s:N, s:N, s:N, s:d, s:d}", "rank", info.rank, "size", info.size, "mpi",
                         core_text(info.mpi), "version", core_text(info.version), "library", core_text(info.library),
                         "latency_ns", info.latency_ns, "bytes_per_sec", info.bytes_per_sec);
}

/* Reads the communicator, grid, block, source and shape of a distribution. */
static bool read_dist(PyObject *arguments, bp_dist *dist, int *rank) {
    PyObject *capsule;
    long long rows, columns;
    memset(dist, 0, sizeof *dist);
    dist->struct_size = sizeof *dist;
    if (!PyArg_ParseTuple(arguments, "OiiiiiiLLi", &capsule, &dist->grid[0], &dist->grid[1], &dist->block[0],
                          &dist->block[1], &dist->source[0], &dist->source[1], &rows, &columns, rank)) {
        return false;
    }
    dist->comm = comm_of(capsule);
    dist->shape[0] = rows, dist->shape[1] = columns;
    return dist->comm != NULL;
}

PyObject *core_dist_complete(PyObject *module, PyObject *arguments) {
    bp_dist dist;
    int rank, at[2];
    int64_t local[2];
    if (!read_dist(arguments, &dist, &rank)) {
        return NULL;
    }
    bp_status status = bp_dist_complete(&dist);
    status = status == BP_OK ? bp_dist_position(&dist, rank, at) : status;
    status = status == BP_OK ? bp_dist_local_shape(&dist, rank, local) : status;
    if (status != BP_OK) {
        return core_finish(core_state_of(module), core_fail(core_state_of(module), status, NULL));
    }
    return Py_BuildValue("((ii)(ii)(LL)(ii))", (int)dist.grid[0], (int)dist.grid[1], (int)dist.block[0],
                         (int)dist.block[1], (long long)local[0], (long long)local[1], at[0], at[1]);
}

/* ---- Operands ---- */

/* Makes the view of an array in C order. */
static bool view_array(core_state *state, PyObject *sizes, bp_dist_view *view, void *local, int dtype,
                       const bp_dist *dist) {
    long long n[BP_MAX_DIST_NDIM] = {0};
    int64_t shape[BP_MAX_DIST_NDIM];
    if (!PyArg_ParseTuple(sizes, "LL|L", &n[0], &n[1], &n[2])) {
        return false;
    }
    for (int i = 0; i < BP_MAX_DIST_NDIM; i++) {
        shape[i] = n[i];
    }
    const bp_status status = bp_dist_view_array(view, local, (bp_dtype)dtype, (int)PyTuple_Size(sizes), shape, dist);
    return status == BP_OK || core_fail(state, status, NULL);
}

/* An operand: the arguments of read_dist(), address, leading dimension and element type, and the shape of an array; the
 * rank is the number of dimensions. */
static bool read_operand(core_state *state, PyObject *given, bp_dist_view *view, DLTensor **tensor) {
    PyObject *dist_arguments, *sizes = NULL;
    unsigned long long address;
    long long leading;
    int dtype, ndim;
    bp_dist dist;
    *tensor = NULL;
    if (given == Py_None) {
        return true;
    }
    if (!PyArg_ParseTuple(given, "O!KLi|O!", &PyTuple_Type, &dist_arguments, &address, &leading, &dtype, &PyTuple_Type,
                          &sizes) ||
        !read_dist(dist_arguments, &dist, &ndim)) {
        return false;
    }
    void *local = (void *)(uintptr_t)address;
    if (sizes) {
        *tensor = &view->tensor;
        return view_array(state, sizes, view, local, dtype, &dist);
    }
    const int64_t size = dist.shape[0];
    const bp_status status = ndim == 2 ? bp_dist_view_init(view, local, leading, (bp_dtype)dtype, &dist)
                                       : bp_dist_view_replicated(view, local, (bp_dtype)dtype, ndim, size, &dist);
    *tensor = &view->tensor;
    return status == BP_OK || core_fail(state, status, NULL);
}

static bool read_operands(core_state *state, PyObject *given, bp_dist_view *views, DLTensor **tensors, int most) {
    const Py_ssize_t count = PyTuple_Size(given);
    for (Py_ssize_t i = 0; i < count && i < most; i++) {
        if (!read_operand(state, PyTuple_GetItem(given, i), &views[i], &tensors[i])) {
            return false;
        }
    }
    return count >= 0;
}

/* ---- Calls ---- */

static PyObject *told(core_state *state, bp_status status, bp_explanation *explanation) {
    if (status != BP_OK) {
        return core_finish(state, core_fail(state, status, NULL));
    }
    PyObject *text = explanation ? core_text(bp_explanation_text(explanation)) : Py_None;
    if (!explanation) {
        Py_INCREF(Py_None);
    }
    bp_explanation_release(explanation);
    return core_finish(state, text);
}

PyObject *core_dist_gemm(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    int explains, turn_a, turn_b;
    bp_scalar alpha, beta;
    PyObject *given;
    bp_dist_view views[3];
    DLTensor *t[3];
    bp_explanation *explanation = NULL;
    bp_status status;
    if (!PyArg_ParseTuple(arguments, "piiddddO!", &explains, &turn_a, &turn_b, &alpha.re, &alpha.im, &beta.re, &beta.im,
                          &PyTuple_Type, &given) ||
        !read_operands(state, given, views, t, 3)) {
        return NULL;
    }
    const bp_transform a = (bp_transform)turn_a, b = (bp_transform)turn_b;
    Py_BEGIN_ALLOW_THREADS status = explains
                                        ? bp_gemm_explain(&explanation, NULL, a, b, &alpha, t[0], t[1], &beta, t[2])
                                        : bp_gemm(a, b, &alpha, t[0], t[1], &beta, t[2]);
    Py_END_ALLOW_THREADS return told(state, status, explanation);
}

static const struct {
    const char *name;
    bp_op op;
} operations[] = {{"inv", BP_OP_INV},
                  {"cholesky", BP_OP_CHOLESKY},
                  {"cholesky_solve", BP_OP_CHOLESKY_SOLVE},
                  {"lu_factor", BP_OP_LU_FACTOR},
                  {"lu_solve", BP_OP_LU_SOLVE},
                  {"solve", BP_OP_SOLVE},
                  {"qr", BP_OP_QR},
                  {"lstsq", BP_OP_LSTSQ},
                  {"eigh", BP_OP_EIGH},
                  {"svd", BP_OP_SVD},
                  {"norm", BP_OP_MATRIX_NORM}};

static bp_op operation_of(const char *name) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strcmp(operations[i].name, name) == 0) {
            return operations[i].op;
        }
    }
    return (bp_op)0;
}

PyObject *core_dist_linalg(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    int explains, mode, upper, adjoint;
    double order;
    const char *name;
    PyObject *inputs, *outputs;
    bp_dist_view views[2 * MOST_OPERANDS];
    DLTensor *read[3] = {NULL}, *written[4] = {NULL};
    bp_explanation *explanation = NULL;
    bp_status status;
    if (!PyArg_ParseTuple(arguments, "psippdO!O!", &explains, &name, &mode, &upper, &adjoint, &order, &PyTuple_Type,
                          &inputs, &PyTuple_Type, &outputs) ||
        !read_operands(state, inputs, views, read, 3) ||
        !read_operands(state, outputs, views + MOST_OPERANDS, written, 4)) {
        return NULL;
    }
    bp_linalg_call call = {.struct_size = sizeof call,
                           .op = operation_of(name),
                           .mode = (bp_linalg_mode)mode,
                           .upper = upper,
                           .adjoint = adjoint,
                           .order = order};
    for (int i = 0; i < 3; i++) {
        call.input[i] = read[i];
    }
    memcpy(call.output, written, sizeof written);
    Py_BEGIN_ALLOW_THREADS status =
        explains ? bp_linalg_explain(&explanation, NULL, &call) : bp_linalg_run(NULL, &call);
    Py_END_ALLOW_THREADS return told(state, status, explanation);
}

/* Transforms all dimensions. The last one has `length` elements; 0: as many as the input. */
PyObject *core_dist_fft(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    int explains, transform, norm;
    long long length;
    PyObject *given;
    bp_dist_view views[2];
    DLTensor *t[2];
    bp_explanation *explanation = NULL;
    bp_status status;
    if (!PyArg_ParseTuple(arguments, "piiLO!", &explains, &transform, &norm, &length, &PyTuple_Type, &given) ||
        !read_operands(state, given, views, t, 2)) {
        return NULL;
    }
    int64_t s[BP_MAX_DIST_NDIM] = {BP_FFT_LENGTH, BP_FFT_LENGTH, BP_FFT_LENGTH};
    s[t[0]->ndim - 1] = length > 0 ? length : BP_FFT_LENGTH;
    const bp_fft_call call = {sizeof call, (bp_fft_transform)transform, (bp_fft_norm)norm, t[0]->ndim, NULL, s};
    Py_BEGIN_ALLOW_THREADS status =
        explains ? bp_fft_explain(&explanation, NULL, &call, t[0], t[1]) : bp_fft_run(NULL, &call, t[0], t[1]);
    Py_END_ALLOW_THREADS return told(state, status, explanation);
}

PyObject *core_dist_redistribute(PyObject *module, PyObject *operands) {
    core_state *state = core_state_of(module);
    bp_dist_view views[2];
    DLTensor *t[2] = {NULL};
    bp_status status;
    if (!PyTuple_Check(operands) || !read_operands(state, operands, views, t, 2)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = bp_redistribute(t[0], t[1]);
    Py_END_ALLOW_THREADS return told(state, status, NULL);
}

/* ---- Files ---- */

PyObject *core_dist_file(PyObject *module, PyObject *path) {
    core_state *state = core_state_of(module);
    const char *name = PyBytes_AsString(path);
    bp_dtype dtype;
    int64_t shape[2];
    bp_status status;
    if (!name) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = bp_dist_file(name, &dtype, shape);
    Py_END_ALLOW_THREADS if (status != BP_OK) {
        return core_finish(state, core_fail(state, status, NULL));
    }
    return Py_BuildValue("(iLL)", (int)dtype, (long long)shape[0], (long long)shape[1]);
}

PyObject *core_dist_transfer(PyObject *module, PyObject *arguments) {
    core_state *state = core_state_of(module);
    int writes;
    const char *path;
    PyObject *operands;
    bp_dist_view view;
    DLTensor *tensor = NULL;
    bp_status status;
    if (!PyArg_ParseTuple(arguments, "pyO!", &writes, &path, &PyTuple_Type, &operands) ||
        !read_operands(state, operands, &view, &tensor, 1)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS status = writes ? bp_dist_write(path, tensor) : bp_dist_read(path, tensor);
    Py_END_ALLOW_THREADS return told(state, status, NULL);
}
