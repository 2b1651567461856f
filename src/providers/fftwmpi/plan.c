/* plan.c - makes plans of the provider. They have no plan of FFTW, which all ranks make together in a run. */
#include "providers/fftwmpi/fftwmpi.h"

static void destroy(bp_prepared *self) {
    const bp__fftwmpi_plan *plan = (const bp__fftwmpi_plan *)self;
    plan->instance->host->release(self);
}

bp_status bp__fftwmpi_plan_make(void *opaque, const bp_problem *problem, const bp_verdict *verdict, const void *found,
                                bp_prepared **prepared) {
    bp__fftwmpi_instance *instance = opaque;
    const bp_host *host = instance->host;
    const bool single = problem->dtype == BP_C64;
    void *place;
    (void)verdict, (void)found;
    bp_status status = host->device_open(problem->place, &place);
    status = status == BP_OK ? bp__fftwmpi_load(instance, place, single) : status;
    bp__fftwmpi_plan *plan = status == BP_OK ? host->allocate(sizeof *plan) : NULL;
    if (!plan) {
        return status != BP_OK ? status : host->fail(BP_E_NO_MEMORY, "fftw-mpi: no memory for a plan");
    }
    *plan = (bp__fftwmpi_plan){
        .prepared = {.struct_size = sizeof plan->prepared, .enqueue = bp__fftwmpi_run, .destroy = destroy},
        .instance = instance,
        .place = place,
        .library = &instance->libraries[single],
        .scale = problem->of.fft.scale,
        .in_place = problem->of.fft.in_place,
        .real_input = problem->of.fft.kind == BP_FFT_R2C};
    bp__fftwmpi_transform_of(&plan->transform, problem, place);
    *prepared = &plan->prepared;
    return BP_OK;
}
