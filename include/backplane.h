/* backplane.h - the one header to include: every math library of a machine behind one interface.
 *
 *   status.h    what functions return, and the sentence behind a failure
 *   interrupt.h how a program stops a long call
 *   tensor.h    DLPack tensors in one line, copied and printed
 *   settings.h  every switch, its layers and its scopes
 *   machine.h   facts about the processor and this process
 *   library.h   the libraries found on this machine
 *   backends.h  the backends of torch.backends: built, present, available, enabled, and why not
 *   verbose.h   the verbose modes of vendors' libraries
 *   dispatch.h  plans, the plan cache, explain
 *   matmul.h    matrix products
 *   linalg.h    linear algebra
 *   fft.h       Fourier transforms
 *   einsum.h    paths of contractions in Einstein's notation
 *
 * provider.h, for those who write a provider of their own, comes along with dispatch.h.
 * C++17 and later have backplane.hpp, which wraps all of this.
 */
#ifndef BACKPLANE_H
#define BACKPLANE_H

#include "backplane/version.h"
#include "backplane/status.h"
#include "backplane/interrupt.h"
#include "backplane/tensor.h"
#include "backplane/settings.h"
#include "backplane/machine.h"
#include "backplane/library.h"
#include "backplane/backends.h"
#include "backplane/verbose.h"
#include "backplane/dispatch.h"
#include "backplane/matmul.h"
#include "backplane/linalg.h"
#include "backplane/fft.h"
#include "backplane/einsum.h"

#endif
