/* backplane.h - includes the whole public C interface.
 *
 *   status.h    status codes, error messages, allocator, bp_reset
 *   interrupt.h stop a long call
 *   tensor.h    create, copy and print DLPack tensors and views
 *   device.h    devices, memory on them, queues, events
 *   settings.h  settings, their layers, scopes and options
 *   distributed.h communicators of MPI, and matrices that are spread over their ranks
 *   machine.h   properties of the processor and of this process
 *   library.h   the math libraries found on this machine
 *   backends.h  the backends of torch.backends: built, present, available, enabled, and why not
 *   record.h    which plans ran, how often and how long
 *   verbose.h   verbose modes of oneMKL and oneDNN
 *   dispatch.h  plans, plan cache, explanations
 *   calibrate.h measures libraries for the choice
 *   tune.h      measured times of problems
 *   matmul.h    matrix products
 *   linalg.h    linear algebra
 *   fft.h       Fourier transforms
 *   conv.h      convolutions and their gradients
 *   linear.h    linear layers and their gradients
 *   pool.h      pooling and its gradients
 *   norm.h      batch, layer, RMS and group normalization and their gradients
 *   attention.h attention and its gradients
 *   rnn.h       recurrent layers and their gradients
 *   elementwise.h functions of single elements, conversions, taking by indices, concatenation
 *   reduce.h    sums, means, extremes; softmax and its gradients
 *   cumsum.h    cumulative sums
 *   pad.h       padding, flips and rolls
 *   random.h    random numbers
 *   einsum.h    einsum and its contraction paths
 *   calls.h     descriptions of the calls of operations, and functions that run any of them by name
 *   graph.h     graphs: networks of calls, built once and run as one call
 *   graph_backend.h functions of the program that run regions of graphs
 *   weights.h   weights of networks from safetensors files
 *
 * dispatch.h also includes provider.h, the interface for programs that add a provider. C++17 programs may include
 * backplane.hpp instead, which wraps all of this.
 */
#ifndef BACKPLANE_H
#define BACKPLANE_H

#include "backplane/version.h"
#include "backplane/status.h"
#include "backplane/interrupt.h"
#include "backplane/tensor.h"
#include "backplane/device.h"
#include "backplane/distributed.h"
#include "backplane/settings.h"
#include "backplane/machine.h"
#include "backplane/library.h"
#include "backplane/backends.h"
#include "backplane/record.h"
#include "backplane/verbose.h"
#include "backplane/dispatch.h"
#include "backplane/calibrate.h"
#include "backplane/tune.h"
#include "backplane/matmul.h"
#include "backplane/linalg.h"
#include "backplane/conv.h"
#include "backplane/linear.h"
#include "backplane/pool.h"
#include "backplane/norm.h"
#include "backplane/attention.h"
#include "backplane/rnn.h"
#include "backplane/elementwise.h"
#include "backplane/reduce.h"
#include "backplane/cumsum.h"
#include "backplane/pad.h"
#include "backplane/random.h"
#include "backplane/fft.h"
#include "backplane/einsum.h"
#include "backplane/calls.h"
#include "backplane/graph.h"
#include "backplane/graph_backend.h"
#include "backplane/weights.h"

#endif
