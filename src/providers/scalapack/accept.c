/* accept.c - decides whether ScaLAPACK can run a problem, and tells what it would move between the ranks.
 *
 * All ranks come to the same result, since it follows from the problem, the distribution and the figures of the
 * communicator, which are the same on all of them. */
#include "providers/scalapack/scalapack.h"

#include <limits.h>
#include <stdio.h>

static void refuse(bp_verdict *verdict, bp_reason reason, const char *text) {
    verdict->reason = reason;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

/* ---- Refusals ---- */

/* Whether a local matrix of this size has at most 2^31 - 1 elements on each rank, as the routines count them. */
static bool fits(const bp_dist_place *place, int64_t rows, int64_t columns) {
    const int64_t r = bp__scalapack_most(place, 0, rows), c = bp__scalapack_most(place, 1, columns);
    return rows <= INT_MAX && columns <= INT_MAX && (c == 0 || r <= INT_MAX / c);
}

static bool sizes_fit(const bp_problem *problem, const bp_dist_place *place) {
    const bp_gemm_problem *g = &problem->of.gemm;
    if (problem->op == BP_OP_GEMM) {
        return fits(place, g->m, g->k) && fits(place, g->k, g->m) && fits(place, g->k, g->n) &&
               fits(place, g->n, g->k) && fits(place, g->m, g->n) && fits(place, g->n, g->m);
    }
    bool right = true;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *o = &problem->of.linalg.operand[i];
        right = right && (o->dtype == 0 || fits(place, o->rows, o->columns));
    }
    return right;
}

/* Whether the matrices of linear algebra are whole distributed matrices (bp_dist_view_init), not transposed. */
static bool operands_are_whole(const bp_problem *problem, const bp__scalapack_operation *operation) {
    bool right = true;
    for (int i = 0; i < BP_LINALG_OPERANDS; i++) {
        const bp_linalg_operand *o = &problem->of.linalg.operand[i];
        const bool matrix = o->dtype != 0 && (operation->matrices >> i & 1);
        right = right &&
                (!matrix || ((o->rows <= 1 || o->row == 1) && (o->columns <= 1 || o->column == bp__most(o->rows, 2))));
    }
    return right;
}

static bool refuse_linalg(const bp_problem *problem, const bp__scalapack_operation *operation, bp_verdict *verdict) {
    const bp_linalg_problem *l = &problem->of.linalg;
    if (l->batch_ndim > 0 || l->batch > 1) {
        refuse(verdict, BP_REASON_LAYOUT, "batches of distributed matrices");
    } else if (!operands_are_whole(problem, operation)) {
        refuse(verdict, BP_REASON_LAYOUT, "parts or transposes of distributed matrices");
    } else {
        return false;
    }
    return true;
}

/* Refuses what the library cannot run for any problem of the communicator. */
static bool refuse_engine(const bp__scalapack_instance *instance, const bp_dist_place *place, bp_verdict *verdict) {
    const bp_dist_engine *engine = bp__scalapack_engine(instance, place);
    const bp_library_info *library = instance->library;
    if (!engine || *engine->reason) {
        refuse(verdict, BP_REASON_BROKEN, engine ? engine->reason : "the communicator does not know this library");
    } else if (library && *engine->path && !bp__scalapack_share_folder(library->path, engine->path)) {
        refuse(verdict, BP_REASON_BROKEN, "its ScaLAPACK is not in the folder of this MKL");
    } else if (library && library->int_bits != 32) {
        refuse(verdict, BP_REASON_BROKEN, "this MKL takes 64-bit integers, and its ScaLAPACK here 32-bit ones");
    } else {
        return false;
    }
    return true;
}

static bool is_refused(const bp__scalapack_instance *instance, const bp_problem *problem, const bp_dist_place *place,
                       const bp__scalapack_operation *operation, bp_verdict *verdict) {
    const bp_dist *dist = place ? place->dist : NULL;
    if (!operation) {
        refuse(verdict, BP_REASON_OP, "");
    } else if (!dist) {
        refuse(verdict, BP_REASON_DEVICE, "the communicator was closed");
    } else if (refuse_engine(instance, place, verdict)) {
        return true;
    } else if (problem->dtype < BP_F32 || problem->dtype > BP_C128) {
        refuse(verdict, BP_REASON_DTYPE, "ScaLAPACK has f32, f64, c64 and c128");
    } else if (dist->grid[0] * dist->grid[1] != place->size) {
        refuse(verdict, BP_REASON_LAYOUT, "the grid must have all ranks of the communicator");
    } else if (!operation->any_blocks && dist->block[0] != dist->block[1]) {
        refuse(verdict, BP_REASON_LAYOUT, "the blocks must be square; bp_redistribute() changes them");
    } else if (operation->at_origin && (dist->source[0] != 0 || dist->source[1] != 0)) {
        refuse(verdict, BP_REASON_LAYOUT, "the source must be 0, 0; bp_redistribute() changes it");
    } else if (!sizes_fit(problem, place)) {
        refuse(verdict, BP_REASON_SIZE, "a rank would have more than 2^31 - 1 elements of a matrix");
    } else if (operation->refuse && operation->refuse(problem, place)) {
        refuse(verdict, BP_REASON_LAYOUT, operation->refuse(problem, place));
    } else {
        return problem->op != BP_OP_GEMM && refuse_linalg(problem, operation, verdict);
    }
    return true;
}

/* ---- The offer ---- */

void bp__scalapack_accept(void *opaque, const bp_problem *problem, bp_offers *offers) {
    const bp__scalapack_instance *instance = opaque;
    const bp__scalapack_operation *operation = bp__scalapack_operation_of(problem);
    bp_verdict verdict = BP_VERDICT_INIT;
    void *place = NULL;
    bp__ranks_model model = {0};
    if (operation && instance->host->device(problem->place)) {
        instance->host->device_open(problem->place, &place);
    }
    verdict.algorithm = operation ? operation->algorithm : "";
    if (is_refused(instance, problem, place, operation, &verdict)) {
        offers->add(offers, &verdict, NULL, 0);
        return;
    }
    operation->model(problem, place, &model);
    verdict.threads = problem->policy.threads;
    bp__ranks_tell(&verdict, problem->dtype, place, &model,
                   operation->is_bounded ? bp__scalapack_least_bytes(problem, place, &model) : 0,
                   instance->library ? "as scalapack " : ""); /* the model has the loops of the reference */
    verdict.properties = BP_PROPERTY_REPRODUCIBLE;
    offers->add(offers, &verdict, NULL, 0);
}
