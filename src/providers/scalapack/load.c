/* load.c - opens the ScaLAPACK that belongs to the MPI of a communicator, and makes grids of BLACS.
 *
 * A ScaLAPACK is built for one MPI. The library that belongs to another MPI would load that too, and two of them in a
 * process abort it. So the library is the one that the communicator has found for its MPI (bp_dist_place.engines). */
#include "providers/scalapack/scalapack.h"

#include <dlfcn.h>
#include <link.h>

static bp_status open_instance(const bp_host *host, const char *engine, const bp_library_info *library, void **made) {
    bp__scalapack_instance *instance = host->allocate(sizeof *instance);
    if (!instance) {
        return host->fail(BP_E_NO_MEMORY, "scalapack: no memory for an instance");
    }
    memset(instance, 0, sizeof *instance);
    instance->host = host;
    instance->engine = engine;
    instance->library = library;
    pthread_mutex_init(&instance->mutex, NULL);
    *made = instance;
    return BP_OK;
}

bp_status bp__scalapack_open(const bp_host *host, const bp_library_info *library, void **made) {
    return open_instance(host, "scalapack", library, made);
}

bp_status bp__scalapack_open_mkl(const bp_host *host, const bp_library_info *library, void **made) {
    return open_instance(host, "mkl", library, made);
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

const bp_dist_engine *bp__scalapack_engine(const bp__scalapack_instance *instance, const bp_dist_place *place) {
    for (int i = 0; i < BP_DIST_ENGINES; i++) {
        if (strcmp(place->engines[i].name, instance->engine) == 0) {
            return &place->engines[i];
        }
    }
    return NULL;
}

/* Returns the function that a library calls by that name; NULL if it calls none or that is unknown. */
static void *called_by(void *handle, const char *name) {
    struct link_map *map = NULL;
    const ElfW(Sym) *symbols = NULL;
    const ElfW(Rela) *calls = NULL;
    const char *names = NULL;
    size_t bytes = 0;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        return NULL;
    }
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const uintptr_t address = d->d_un.d_ptr;
        symbols = d->d_tag == DT_SYMTAB ? BP__ADDRESS_CAST(const ElfW(Sym) *, address) : symbols;
        names = d->d_tag == DT_STRTAB ? BP__ADDRESS_CAST(const char *, address) : names;
        calls = d->d_tag == DT_JMPREL ? BP__ADDRESS_CAST(const ElfW(Rela) *, address) : calls;
        bytes = d->d_tag == DT_PLTRELSZ ? d->d_un.d_val : bytes;
    }
    for (size_t i = 0; symbols && names && calls && i < bytes / sizeof *calls; i++) {
        if (strcmp(names + symbols[ELF64_R_SYM(calls[i].r_info)].st_name, name) == 0) {
            return *BP__ADDRESS_CAST(void **, map->l_addr + calls[i].r_offset);
        }
    }
    return NULL;
}

/* Without RTLD_DEEPBIND the library calls another BLACS if all of the process sees one, such as MKL's after its use. */
static bp_status check_calls(const bp_host *host, const bp_dist_engine *engine, void *handle) {
    static const char name[] = "Cblacs_gridinfo";
    const void *called = called_by(handle, name);
    return !called || called == host->symbol(handle, name)
               ? BP_OK
               : host->fail(
                     BP_E_UNSUPPORTED,
                     "%s would call another BLACS, which the process has opened before: set registry.deepbind to "
                     "auto, or use one ScaLAPACK in a program",
                     engine->path);
}

/* The library brings its BLACS, and the BLAS that it names. */
static bp_status open_whole(const bp_host *host, const bp_dist_engine *engine, bp__scalapack_handles *handles) {
    const bp_status status = host->open_named(engine->file, &handles->routines);
    handles->blacs = handles->blas = handles->routines;
    return status == BP_OK ? check_calls(host, engine, handles->routines) : status;
}

static bp_status find_blacs(bp__scalapack_instance *instance, const bp__scalapack_handles *handles) {
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
        void *address = host->symbol(handles->blacs, all[i].name);
        if (!address) {
            return host->fail(BP_E_SYMBOL, "ScaLAPACK has no function %s", all[i].name);
        }
        memcpy(all[i].to, &address, sizeof address);
    }
    for (size_t i = 0; i < sizeof setters / sizeof *setters && !instance->set_threads; i++) {
        void *address = host->symbol(handles->blas, setters[i]);
        memcpy(&instance->set_threads, &address, sizeof address);
    }
    return BP_OK;
}

static bp_status load(bp__scalapack_instance *instance, const bp_dist_place *place) {
    const bp_dist_engine *engine = bp__scalapack_engine(instance, place);
    bp__scalapack_handles handles = {0};
    bp_status status = !engine || *engine->reason
                           ? instance->host->fail(BP_E_UNSUPPORTED, "%s", engine ? engine->reason : "it is unknown")
                       : instance->library ? bp__scalapack_open_mkl_files(instance, place, engine, &handles)
                                           : open_whole(instance->host, engine, &handles);
    status = status == BP_OK ? find_blacs(instance, &handles) : status;
    instance->handle = status == BP_OK ? handles.routines : NULL;
    return status;
}

bp_status bp__scalapack_load(bp__scalapack_instance *instance, const bp_dist_place *place) {
    pthread_mutex_lock(&instance->mutex);
    const bp_status status = instance->handle ? BP_OK : load(instance, place);
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
