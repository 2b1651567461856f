/* mkl.c - opens MKL's ScaLAPACK: its BLACS for the MPI of the process, its BLAS, and its routines.
 *
 * The files name no dependencies, so that each takes what it lacks from the libraries that all of the process sees.
 * MKL puts its own BLAS there anyway (libmkl_rt). MPI and BLACS are added, and the file is refused if another BLACS,
 * MPI or BLAS comes first, because it would call that one. */
#include "providers/driver/mkl_layer.h"
#include "providers/scalapack/scalapack.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the file that has the symbol; NULL if it is unknown. */
static const char *file_of(void *symbol) {
    Dl_info at;
    return symbol && dladdr(symbol, &at) ? at.dli_fname : NULL;
}

bool bp__scalapack_share_folder(const char *path, const char *other) {
    const char *slash = strrchr(path, '/'), *end = strrchr(other, '/');
    return slash && end && slash - path == end - other && memcmp(path, other, (size_t)(slash - path)) == 0;
}

/* Lets all libraries of the process see a file that is loaded. */
static bp_status show(const bp_host *host, void *symbol) {
    const char *file = file_of(symbol);
    return file && dlopen(file, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL)
               ? BP_OK
               : host->fail(BP_E_LOAD, "%s cannot be made visible to MKL's ScaLAPACK", file ? file : "a library");
}

/* Fails if a symbol that MKL's files look up is not the one of its own folder. */
static bp_status check_seen(const bp_host *host, const char *symbol, const bp_dist_engine *engine) {
    char real[PATH_MAX];
    const char *file = file_of(dlsym(RTLD_DEFAULT, symbol));
    return file && realpath(file, real) && bp__scalapack_share_folder(real, engine->path)
               ? BP_OK
               : host->fail(BP_E_UNSUPPORTED,
                            "MKL's ScaLAPACK would call %s of %s, which the program has loaded before", symbol,
                            file ? file : "no library");
}

static bp_status open_blas(const bp__scalapack_instance *instance, bp__scalapack_handles *handles) {
    const bp_host *host = instance->host;
    const bp_status status = host->open_library(instance->library, &handles->blas);
    if (status != BP_OK) {
        return status;
    }
    bp__mkl_choose_layer(host, handles->blas, instance->library->path);
    int (*count)(void) = (int (*)(void))host->symbol(handles->blas, "MKL_Get_Max_Threads");
    if (!count) {
        return host->fail(BP_E_SYMBOL, "%s has no function MKL_Get_Max_Threads", instance->library->path);
    }
    count(); /* loads the layers */
    return BP_OK;
}

/* Returns the name of the BLACS for the MPI, with the ending of the file of routines. */
static void name_blacs(const bp_dist_place *place, const bp_dist_engine *engine, char *name, size_t size) {
    const char *ending = strstr(engine->file, ".so");
    snprintf(name, size, "libmkl_blacs_%s_lp64%s", strcmp(place->family, "Open MPI") == 0 ? "openmpi" : "intelmpi",
             ending ? ending : "");
}

static bp_status open_blacs(const bp_host *host, const bp_dist_place *place, const bp_dist_engine *engine,
                            bp__scalapack_handles *handles) {
    char name[64];
    name_blacs(place, engine, name, sizeof name);
    bp_status status = show(host, host->symbol(place->mpi, "MPI_Comm_rank"));
    status = status == BP_OK ? host->open_named(name, &handles->blacs) : status;
    return status == BP_OK ? show(host, host->symbol(handles->blacs, "Cblacs_gridinit")) : status;
}

bp_status bp__scalapack_open_mkl_files(const bp__scalapack_instance *instance, const bp_dist_place *place,
                                       const bp_dist_engine *engine, bp__scalapack_handles *handles) {
    static const char *const own[] = {"Cblacs_gridinit", "Cdgesd2d", "dgemm_", "dgetrf_"};
    const bp_host *host = instance->host;
    bp_status status = open_blas(instance, handles);
    status = status == BP_OK ? open_blacs(host, place, engine, handles) : status;
    for (size_t i = 0; i < sizeof own / sizeof *own && status == BP_OK; i++) {
        status = check_seen(host, own[i], engine);
    }
    /* A tool for profiling may have replaced MPI_..., but not PMPI_... */
    if (status == BP_OK && dlsym(RTLD_DEFAULT, "PMPI_Comm_rank") != host->symbol(place->mpi, "PMPI_Comm_rank")) {
        status = host->fail(BP_E_UNSUPPORTED, "MKL's ScaLAPACK would call another MPI than the program");
    }
    return status == BP_OK ? host->open_named(engine->file, &handles->routines) : status;
}
