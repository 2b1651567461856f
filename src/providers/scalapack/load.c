/* load.c - opens the ScaLAPACK that belongs to the MPI of a communicator, and makes grids of BLACS.
 *
 * A ScaLAPACK is built for one MPI. The library that belongs to another MPI would load that too, and two of them in a
 * process abort it. So the MPI that the library needs must be the one that the process has. */
#include "providers/scalapack/scalapack.h"

/* A file of ScaLAPACK, and the name of the MPI library that it needs. */
typedef struct build {
    const char *family, *needs, *files[4];
} build;

static const build builds[] = {
    {"Open MPI", "libmpi.so.40", {"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so.2.1", NULL}},
    {"MPICH", "libmpich.so.12", {"libscalapack-mpich.so.2.2", "libscalapack-mpich.so.2.1", NULL}},
};

bp_status bp__scalapack_open(const bp_host *host, const bp_library_info *library, void **made) {
    (void)library;
    bp__scalapack_instance *instance = host->allocate(sizeof *instance);
    if (!instance) {
        return host->fail(BP_E_NO_MEMORY, "scalapack: no memory for an instance");
    }
    memset(instance, 0, sizeof *instance);
    instance->host = host;
    pthread_mutex_init(&instance->mutex, NULL);
    *made = instance;
    return BP_OK;
}

void bp__scalapack_close(void *opaque) {
    bp__scalapack_instance *instance = opaque;
    while (instance->contexts) {
        bp__scalapack_context *next = instance->contexts->next;
        instance->host->release(instance->contexts);
        instance->contexts = next;
    }
    pthread_mutex_destroy(&instance->mutex);
    instance->host->release(instance);
}

/* ---- Loading ---- */

static const build *build_for(const bp_dist_place *place) {
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        if (strcmp(builds[i].family, place->family) == 0) {
            return &builds[i];
        }
    }
    return NULL;
}

static bp_status open_build(const bp_host *host, const bp_dist_place *place, void **handle) {
    const build *own = build_for(place);
    if (!own) {
        return host->fail(BP_E_UNSUPPORTED, "there is no ScaLAPACK for %s: start the program with Open MPI or MPICH",
                          place->family);
    }
    if (!bp__ranks_is_mpi(host, place, own->needs)) {
        return host->fail(
            BP_E_UNSUPPORTED,
            "ScaLAPACK for %s (%s) needs the library %s, and the process uses another MPI, which has another "
            "name",
            own->family, own->files[0], own->needs);
    }
    bp_status status = BP_E_NOT_FOUND;
    for (int i = 0; own->files[i] && status == BP_E_NOT_FOUND; i++) {
        status = host->open_named(own->files[i], handle);
    }
    return status == BP_E_NOT_FOUND
               ? host->fail(status, "%s was not found: install ScaLAPACK for %s (Debian: libscalapack-%s)",
                            own->files[0], own->family, own == builds ? "openmpi2.2" : "mpich2.2")
               : status;
}

static bp_status find_blacs(bp__scalapack_instance *instance, void *handle) {
    const struct {
        const char *name;
        void *to;
    } all[] = {{"Csys2blacs_handle", &instance->to_blacs},
               {"Cblacs_gridinit", &instance->grid_init},
               {"Cblacs_set", &instance->set}};
    static const char *const setters[] = {"openblas_set_num_threads", "MKL_Set_Num_Threads",
                                          "bli_thread_set_num_threads"};
    const bp_host *host = instance->host;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *address = host->symbol(handle, all[i].name);
        if (!address) {
            return host->fail(BP_E_SYMBOL, "ScaLAPACK has no function %s", all[i].name);
        }
        memcpy(all[i].to, &address, sizeof address);
    }
    for (size_t i = 0; i < sizeof setters / sizeof *setters && !instance->set_threads; i++) {
        void *address = host->symbol(handle, setters[i]);
        memcpy(&instance->set_threads, &address, sizeof address);
    }
    return BP_OK;
}

bp_status bp__scalapack_load(bp__scalapack_instance *instance, const bp_dist_place *place) {
    void *handle = NULL;
    bp_status status = BP_OK;
    pthread_mutex_lock(&instance->mutex);
    if (!instance->handle) {
        status = open_build(instance->host, place, &handle);
        status = status == BP_OK ? find_blacs(instance, handle) : status;
        instance->handle = status == BP_OK ? handle : NULL;
    }
    pthread_mutex_unlock(&instance->mutex);
    return status;
}

/* ---- Grids ---- */

/* Sums over ranks are then added in a fixed order. */
static void make_repeatable(const bp__scalapack_instance *instance, int context) {
    enum { TOPOLOGIES_REPEATABLE = 15 };
    const int on = 1;
    instance->set(context, TOPOLOGIES_REPEATABLE, &on);
}

bp_status bp__scalapack_context_of(bp__scalapack_instance *instance, const bp_dist_place *place, int *context) {
    const int rows = place->dist->grid[0], columns = place->dist->grid[1];
    for (const bp__scalapack_context *each = instance->contexts; each; each = each->next) {
        if (each->serial == place->serial && each->grid[0] == rows && each->grid[1] == columns) {
            *context = each->number;
            return BP_OK;
        }
    }
    bp__scalapack_context *made = instance->host->allocate(sizeof *made);
    double without = made == NULL;
    bp_status status = place->largest(place, &without, 1);
    if (status != BP_OK || without > 0) {
        instance->host->release(made);
        return status != BP_OK ? status : instance->host->fail(BP_E_NO_MEMORY, "scalapack: no memory for a grid");
    }
    *made = (bp__scalapack_context){.next = instance->contexts, .serial = place->serial, .grid = {rows, columns}};
    made->number = instance->to_blacs((intptr_t)place->communicator);
    instance->grid_init(&made->number, "R", rows, columns);
    make_repeatable(instance, made->number);
    instance->contexts = made;
    *context = made->number;
    return BP_OK;
}
