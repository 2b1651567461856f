/* xsmm.h - declarations that the files of the xsmm provider share: small matrix products on kernels that libxsmm
 * generates at run time.
 *
 * route.c derives the arguments of a kernel from the layout alone. cost.c and accept.c evaluate that.
 * kernels.c gets the kernel when a plan is made, plan.c holds it, run.c calls it. A kernel has no state, so a run makes
 * no other call of the library. The provider's instance is the library's driver.
 */
#ifndef BP_XSMM_XSMM_H
#define BP_XSMM_XSMM_H

#include "backplane/provider.h"
#include "providers/batch/products.h"
#include "providers/driver/driver.h"
#include "providers/xsmm/api.h"

#include <stdatomic.h>
#include <stdbool.h>

/* ---- Routes (route.c) ---- */

/* c (m x n) = first * second + (adds ? c : 0), column-major. With `swap`, first is B and second is A, both transposed,
 * so that a row-major C is written in place. */
typedef struct bp__xsmm_route {
    bool single; /* f32 */
    bool swap;
    bool transposed; /* second is stored transposed: n x k */
    bool adds;
    int64_t m, n, k, ld_first, ld_second, ld_c;
    bp__batch_products batch;
} bp__xsmm_route;

/* Derives the route of a problem in f32 or f64 that is not empty. Returns NULL, or why no kernel has its layout. */
const char *bp__xsmm_route_of(bp__xsmm_route *route, const bp_problem *problem, const bp__driver *driver);

/* ---- Evaluation (accept.c, cost.c) ---- */

typedef struct bp__xsmm_judgement {
    bp__xsmm_route route;
    int sharers; /* threads of our pool that take items; 1: the calling thread only */
} bp__xsmm_judgement;

void bp__xsmm_accept(void *driver, const bp_problem *problem, bp_offers *offers);

/* Returns the estimated nanoseconds of one kernel, and of a whole problem on one thread and on several. */
double bp__xsmm_kernel_ns(const bp__driver *driver, const bp__xsmm_route *route);
double bp__xsmm_alone_ns(const bp__driver *driver, const bp__xsmm_route *route);
double bp__xsmm_shared_ns(double alone_ns, int sharers);
/* Returns how many threads repay their start, at least 1 and at most `most`. */
int bp__xsmm_sharers(const bp__xsmm_route *route, double alone_ns, int most);

/* ---- Kernels (kernels.c) ---- */

typedef BP__XSMM_KERNEL(bp__xsmm_kernel, void);

/* Kernels that a process generates at most. libxsmm never frees one, and each takes two pages. */
#define BP__XSMM_MOST_KERNELS 8192

/* Opens the library if necessary and gets the kernel of a route. Errors: BP_E_UNSUPPORTED if the library generates
 * none, if too many exist, if memory may not be made executable, or if the process is ending. */
bp_status bp__xsmm_kernel_of(bp__driver *driver, const bp__xsmm_route *route, bp__xsmm_kernel **kernel);

/* Returns NULL, or why no kernel can be requested for a route, as far as this is known without a request: the text of a
 * refusal. */
const char *bp__xsmm_unavailable(const bp__driver *driver, const bp__xsmm_route *route);

/* Whether the process is ending: libxsmm then unmaps its kernels. */
extern atomic_bool bp__xsmm_ended;
bp_status bp__xsmm_fail_ended(const bp__driver *driver);

/* ---- Plans (plan.c, run.c) ---- */

typedef struct bp__xsmm_plan {
    bp_prepared prepared; /* must be first */
    bp__xsmm_kernel *kernel;
    bool swap;
    bool wide; /* kernels use registers of 256 bits or more */
    bp__driver *driver;
    int sharers;
    bp__xsmm_route route;
} bp__xsmm_plan;

bp_status bp__xsmm_plan_make(void *driver, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                             bp_prepared **prepared);

/* Runs one product. */
bp_status bp__xsmm_run_single(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);
/* Runs a batch, on as many threads as the plan says. */
bp_status bp__xsmm_run_batch(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec);

#endif
