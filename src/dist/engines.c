/* engines.c - finds the ScaLAPACK libraries that belong to the MPI of a communicator, on all of its ranks.
 *
 * Ranks must run one library together, and the machines of a program may differ in what is installed. So each rank
 * searches when the communicator is opened, and an engine that one rank lacks is refused on all of them. */
#include "dist/internal.h"

#include "base/path_buffer.h"
#include "registry/scan.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The files of an engine for one family of MPI. */
typedef struct build {
    const char *family;
    const char *needs;   /* the MPI library that its file names; NULL: none, it takes what the process has */
    const char *others;  /* a further file in the same folder; NULL: none */
    const char *package; /* what installs it */
    const char *files[3];
} build;

#define MKL_FILES                                                                                                      \
    { "libmkl_scalapack_lp64.so.2", "libmkl_scalapack_lp64.so.1", NULL }

static const struct {
    const char *name;
    build builds[2];
} engines[BP_DIST_ENGINES] = {
    {"scalapack",
     {{"Open MPI",
       "libmpi.so.40",
       NULL,
       "Debian: libscalapack-openmpi2.2",
       {"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so.2.1", NULL}},
      {"MPICH",
       "libmpich.so.12",
       NULL,
       "Debian: libscalapack-mpich2.2",
       {"libscalapack-mpich.so.2.2", "libscalapack-mpich.so.2.1", NULL}}}},
    {"mkl",
     {{"Open MPI", NULL, "libmkl_blacs_openmpi_lp64", "PyPI, conda: mkl", MKL_FILES},
      {"MPICH", NULL, "libmkl_blacs_intelmpi_lp64", "PyPI, conda: mkl", MKL_FILES}}},
};

static const build *build_for(int engine, const char *family) {
    for (int i = 0; i < BP__COUNT(engines[engine].builds); i++) {
        if (strcmp(engines[engine].builds[i].family, family) == 0) {
            return &engines[engine].builds[i];
        }
    }
    return NULL;
}

/* ---- On this rank ---- */

/* Whether the name of a library stands for the MPI that the process uses. Two of them in a process abort it. */
static bool is_used(const char *name, const bp__mpi *mpi) {
    void *handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    const bool same = handle && dlsym(handle, "MPI_Comm_rank") == dlsym(mpi->handle, "MPI_Comm_rank");
    if (handle) {
        dlclose(handle);
    }
    return same;
}

/* Sets the file and its path without symbolic links, or writes why there is none. */
static void search_files(const build *own, bp_dist_engine *found, char *path, bp__text *reason) {
    BP__PATH_BUFFER(real);
    for (int i = 0; real && own->files[i] && !*found->path; i++) {
        if (bp__search_named(own->files[i], path)) {
            const char *kept = realpath(path, real) ? bp__intern(real) : NULL;
            found->file = own->files[i];
            found->path = kept ? kept : "";
        }
    }
    if (!*found->path) {
        bp__text_addf(reason, "%s was not found (%s)", own->files[0], own->package);
    }
}

/* Searches the second file, which has the same ending as the first: "libmkl_blacs_openmpi_lp64.so.2". */
static void search_other(const build *own, const bp_dist_engine *found, char *path, bp__text *reason) {
    const char *slash = strrchr(found->path, '/'), *ending = strstr(found->file, ".so");
    struct stat facts;
    if (!slash || !ending) {
        return;
    }
    snprintf(path, PATH_MAX, "%.*s/%s%s", (int)(slash - found->path), found->path, own->others, ending);
    if (stat(path, &facts) != 0) {
        bp__text_addf(reason, "%s was not found", path);
    }
}

static void search_build(const build *own, bp_dist_engine *found, char *path, bp__text *reason) {
    search_files(own, found, path, reason);
    if (*found->path && own->others) {
        search_other(own, found, path, reason);
    }
}

/* Fills what this rank has of an engine. The reason is "" if all is there. */
static bp_status search(const bp__mpi *mpi, int engine, bp_dist_engine *found) {
    BP__PATH_BUFFER(path);
    const build *own = build_for(engine, bp__mpi_name(mpi));
    bp__text reason = {0};
    if (!path) {
        return bp__fail_memory(PATH_MAX, "a path");
    }
    if (!own) {
        bp__text_addf(&reason, "there is none for %s, but for Open MPI and MPICH", bp__mpi_name(mpi));
    } else if (own->needs && !is_used(own->needs, mpi)) {
        bp__text_addf(&reason, "%s needs the library %s, and the process uses %s", own->files[0], own->needs,
                      mpi->path);
    } else {
        search_build(own, found, path, &reason);
    }
    found->reason = reason.failed ? NULL : bp__intern(bp__text_get(&reason));
    if (found->reason && !*found->reason &&
        own->needs) { /* the registry has tested MKL's BLAS, and its files need that */
        found->reason = bp__engine_why_broken(mpi, found);
    }
    bp__text_free(&reason);
    return found->reason ? BP_OK : bp__fail_memory(sizeof *found, "the search for ScaLAPACK");
}

/* ---- On all ranks ---- */

static void clear(bp_comm *comm) {
    for (int i = 0; i < BP_DIST_ENGINES; i++) {
        comm->engines[i] = (bp_dist_engine){.name = engines[i].name, .file = "", .path = "", .reason = ""};
    }
}

/* Refuses an engine that another rank lacks. */
static bp_status refuse_absent(bp_dist_engine *found, int rank) {
    char reason[80];
    if (*found->reason) {
        return BP_OK;
    }
    snprintf(reason, sizeof reason, "rank %d has none for its MPI", rank);
    found->reason = bp__intern(reason);
    return found->reason ? BP_OK : bp__fail_memory(sizeof reason, "the search for ScaLAPACK");
}

bp_status bp__comm_find_engines(bp_comm *comm) {
    double absent[BP_DIST_ENGINES + 1] = {0}; /* the numbers of ranks, larger for a lower rank; the last: no memory */
    const int of_rank = comm->size - comm->rank;
    clear(comm);
    for (int i = 0; comm->mpi && i < BP_DIST_ENGINES; i++) {
        const bp_status status = search(comm->mpi, i, &comm->engines[i]);
        absent[BP_DIST_ENGINES] = status != BP_OK ? of_rank : absent[BP_DIST_ENGINES];
        absent[i] = status != BP_OK || *comm->engines[i].reason ? of_rank : 0;
    }
    BP__TRY(comm->mpi && comm->size > 1 ? bp__comm_reduce(comm, absent, BP__COUNT(absent), true) : BP_OK);
    for (int i = 0; i < BP_DIST_ENGINES && absent[BP_DIST_ENGINES] == 0; i++) {
        BP__TRY(absent[i] > 0 ? refuse_absent(&comm->engines[i], comm->size - (int)absent[i]) : BP_OK);
    }
    return absent[BP_DIST_ENGINES] == 0 ? BP_OK
                                        : bp__fail_memory(sizeof *comm->engines, "the search for ScaLAPACK, on a rank");
}

/* ---- Without a communicator ---- */

static const char *family_of(const char *library) {
    return strcmp(library, "libmpi.so.40") == 0      ? "Open MPI"
           : strncmp(library, "libmpi_abi", 10) == 0 ? "MPI ABI"
                                                     : "MPICH";
}

int bp__dist_engines_here(void) {
    BP__PATH_BUFFER(path);
    const char *const *names = bp__launcher_libraries();
    int count = 0;
    while (path && *names && !bp__search_named(*names, path)) {
        names++;
    }
    for (int i = 0; path && *names && i < BP_DIST_ENGINES; i++) {
        const build *own = build_for(i, family_of(*names));
        bp_dist_engine found = {.path = ""};
        bp__text reason = {0};
        if (own && (!own->needs || strcmp(own->needs, *names) == 0)) {
            search_build(own, &found, path, &reason);
            count += *found.path && reason.length == 0 && !reason.failed;
        }
        bp__text_free(&reason);
    }
    return count;
}
