/* route.c - derives the arguments of a kernel from the layout of a problem.
 *
 * Kernels work on column-major matrices with a leading dimension. Their second operand may be stored transposed, their
 * first one may not. Row-major products are computed as their transposes, with the operands exchanged. Nothing is
 * copied, because a copy costs as much as the product.
 */
#include "providers/xsmm/xsmm.h"

/* Addresses in a kernel are sums of a base and an offset of 32 bits with sign. */
#define MOST_SPAN ((double)(1 << 30))

/* Returns the leading dimension of a column-major matrix; 0 if the matrix is not one. */
static int64_t leading(int64_t rows, int64_t columns, int64_t row, int64_t column) {
    if (rows > 1 && row != 1) {
        return 0;
    }
    return columns == 1 ? rows : column >= rows ? column : 0;
}

/* Returns NULL, or why the problem cannot be computed in this orientation. */
static const char *orient(bp__xsmm_route *route, const bp_gemm_problem *g, bool swap) {
    route->swap = swap;
    route->k = g->k;
    if (swap) {
        route->m = g->n;
        route->n = g->m;
        route->ld_first = leading(g->n, g->k, g->b_column, g->b_row);
        route->ld_second = leading(g->k, g->m, g->a_column, g->a_row);
        route->transposed = route->ld_second == 0;
        route->ld_second = route->transposed ? leading(g->m, g->k, g->a_row, g->a_column) : route->ld_second;
        route->ld_c = leading(g->n, g->m, g->c_column, g->c_row);
    } else {
        route->m = g->m;
        route->n = g->n;
        route->ld_first = leading(g->m, g->k, g->a_row, g->a_column);
        route->ld_second = leading(g->k, g->n, g->b_row, g->b_column);
        route->transposed = route->ld_second == 0;
        route->ld_second = route->transposed ? leading(g->n, g->k, g->b_column, g->b_row) : route->ld_second;
        route->ld_c = leading(g->m, g->n, g->c_row, g->c_column);
    }
    return !route->ld_c        ? "C must be row-major or column-major, with unit stride"
           : !route->ld_first  ? (swap ? "its kernels take no transposed first operand: B must be row-major, as C is"
                                       : "its kernels take no transposed first operand: A must be column-major, as C is")
           : !route->ld_second ? (swap ? "A must be row-major or column-major, with unit stride"
                                       : "B must be row-major or column-major, with unit stride")
                               : NULL;
}

static const char *choose_orientation(bp__xsmm_route *route, const bp_gemm_problem *g, const bp__driver *driver) {
    bp__xsmm_route other = *route;
    const char *why = orient(route, g, false), *why_other = orient(&other, g, true);
    bool better = !why_other && (why || bp__xsmm_kernel_ns(driver, &other) < bp__xsmm_kernel_ns(driver, route));
    bool tells_more = why && why_other && !route->ld_c && other.ld_c;
    if (better || tells_more) {
        *route = other;
        return why_other;
    }
    return why;
}

static double span(int64_t leading_dimension, int64_t columns, bool single) {
    return (double)leading_dimension * (double)columns * (single ? 4 : 8);
}

const char *bp__xsmm_route_of(bp__xsmm_route *route, const bp_problem *problem, const bp__driver *driver) {
    const bp_gemm_problem *g = &problem->of.gemm;
    *route = (bp__xsmm_route){.single = problem->dtype == BP_F32, .adds = g->beta == BP_FACTOR_ONE};
    const char *why = choose_orientation(route, g, driver);
    if (why) {
        return why;
    }
    if (span(route->ld_first, route->k, route->single) > MOST_SPAN ||
        span(route->ld_second, route->transposed ? route->k : route->n, route->single) > MOST_SPAN ||
        span(route->ld_c, route->n, route->single) > MOST_SPAN) {
        return "the distance between two rows or columns is too large for the offsets in a kernel";
    }
    bp__batch_take(&route->batch, g, route->swap);
    return NULL;
}
