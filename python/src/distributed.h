/* distributed.h - declares the functions of the extension for communicators of MPI and distributed matrices. */
#ifndef BACKPLANE_PYTHON_DISTRIBUTED_H
#define BACKPLANE_PYTHON_DISTRIBUTED_H

#include "core.h"

PyObject *core_comm_open(PyObject *module, PyObject *initialize);
PyObject *core_comm_from_mpi(PyObject *module, PyObject *arguments);
PyObject *core_comm_close(PyObject *module, PyObject *capsule);
PyObject *core_comm_describe(PyObject *module, PyObject *capsule);
PyObject *core_dist_complete(PyObject *module, PyObject *arguments);
PyObject *core_dist_gemm(PyObject *module, PyObject *arguments);
PyObject *core_dist_linalg(PyObject *module, PyObject *arguments);
PyObject *core_dist_fft(PyObject *module, PyObject *arguments);
PyObject *core_dist_redistribute(PyObject *module, PyObject *operands);
PyObject *core_dist_file(PyObject *module, PyObject *path);
PyObject *core_dist_transfer(PyObject *module, PyObject *arguments);

#endif
