/* twin_provider.c - a provider of transforms and norms on BLAS libraries.
 *
 * Its refusals are like FFTW's: the library whose id equals the family supports c128, the others of the family support
 * c64, and none accepts any layout. */
#include "backplane/provider.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

typedef struct instance {
    const bp_host *host;
    bp_dtype own;
} instance;

static bp_status twin_open(const bp_host *host, const bp_library_info *library, void **made) {
    instance *twin = host->allocate(sizeof *twin);
    if (!twin) {
        return host->fail(BP_E_NO_MEMORY, "no memory for an instance");
    }
    *twin = (instance){host, strcmp(library->id, library->family) == 0 ? BP_C128 : BP_C64};
    *made = twin;
    return BP_OK;
}

static void twin_close(void *made) {
    ((instance *)made)->host->release(made);
}

static void twin_accept(void *made, const bp_problem *problem, bp_offers *offers) {
    bp_verdict verdict = BP_VERDICT_INIT;
    const instance *twin = made;
    bool offered = problem->op == BP_OP_FFT || problem->op == BP_OP_MATRIX_NORM;
    verdict.reason = !offered ? BP_REASON_OP : problem->dtype != twin->own ? BP_REASON_DTYPE : BP_REASON_LAYOUT;
    snprintf(verdict.text, sizeof verdict.text, "%s",
             !offered                      ? "neither transform nor norm"
             : problem->dtype != twin->own ? "another type"
                                           : "no layout will do");
    offers->add(offers, &verdict, NULL, 0);
}

static bp_status twin_plan(void *made, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                           bp_prepared **prepared) {
    (void)problem, (void)verdict, (void)found, (void)prepared;
    return ((instance *)made)->host->fail(BP_E_UNSUPPORTED, "everything was refused");
}

BP_PROVIDER_DEFINE(twin) = {
    .abi = BP_PROVIDER_ABI,
    .struct_size = sizeof(bp_provider),
    .name = "twin",
    .version = "1",
    .description = "refuses everything",
    .library_kinds = BP_LIB_BLAS,
    .open = twin_open,
    .close = twin_close,
    .accept = twin_accept,
    .plan = twin_plan,
};
