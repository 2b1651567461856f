/* comm.c - opens and closes communicators.
 *
 * MPI is initialized only on request. What the program has initialized is never finalized here, nor is an MPI in which
 * a collective call has failed, because MPI_Finalize would wait for ever. */
#include "dist/internal.h"

#include "base/uncancelled.h"
#include "machine/internal.h"
#include "settings/internal.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mpi_mutex = PTHREAD_MUTEX_INITIALIZER;
static bp_comm *first_comm;   /* under the mutex, as all below */
static bool initialized_here; /* MPI is to be finalized */
static bool stuck;            /* a request never ended */
static uint64_t last_serial;
static int64_t planned_count; /* of communicators whose ranks are not here, which are not in the list */

static uint32_t process_number(void) {
    return (uint32_t)getpid();
}

void bp__mpi_lock(void) {
    pthread_mutex_lock(&mpi_mutex);
}

void bp__mpi_unlock(void) {
    pthread_mutex_unlock(&mpi_mutex);
}

int64_t bp__comms_held(void) {
    bp__mpi_lock();
    int64_t count = planned_count;
    for (const bp_comm *each = first_comm; each; each = each->next) {
        count++;
    }
    bp__mpi_unlock();
    return count;
}

/* ---- Checks ---- */

enum { THREAD_SINGLE = 0, THREAD_FUNNELED = 1, THREAD_SERIALIZED = 2, ABI_THREAD_STEP = 1024 };

static int thread_level(const bp__mpi *mpi, int level) {
    return mpi->family == BP__MPI_ABI ? (level == 0 ? 0 : ABI_THREAD_STEP << (level - 1)) : level;
}

/* An MPI for one thread serves the thread that has initialized it. */
static bp_status check_thread(const bp__mpi *mpi) {
    int level = 0, is_main = 1;
    mpi->Query_thread(&level);
    mpi->Is_thread_main(&is_main);
    return level >= thread_level(mpi, THREAD_SERIALIZED) || is_main
               ? BP_OK
               : bp__fail(BP_E_UNSUPPORTED, "MPI was initialized for its main thread only (MPI_THREAD_FUNNELED), and "
                                            "another thread makes this call: initialize it with MPI_THREAD_SERIALIZED");
}

bp_status bp__comm_check_process(const bp_comm *comm) {
    return comm->process == process_number()
               ? BP_OK
               : bp__fail(BP_E_FORKED, "a child of fork cannot use the communicators of its parent");
}

/* Other functions of MPI would end the process then. */
static bool is_finalized(const bp__mpi *mpi) {
    int over = 0;
    mpi->Finalized(&over);
    return over;
}

bp_status bp__comm_usable(const bp_comm *comm) {
    BP__TRY(bp__comm_check_process(comm));
    if (!comm->mpi) {
        return BP_OK;
    }
    if (is_finalized(comm->mpi)) {
        return bp__fail(BP_E_UNSUPPORTED, "MPI was finalized, and cannot be used again in this process");
    }
    if (comm->lost) {
        return bp__fail(BP_E_TIMEOUT,
                        "this communicator cannot be used any more, because a rank did not take part in an "
                        "earlier call within dist.timeout");
    }
    return check_thread(comm->mpi);
}

bp_status bp__comm_can_run(const bp_comm *comm) {
    BP__TRY(bp__comm_usable(comm));
    return comm->mpi
               ? BP_OK
               : bp__fail(BP_E_UNSUPPORTED, "the ranks of this communicator are not here (bp_comm_from_machine): calls "
                                            "can be explained only");
}

static bp_status check_state(const bp__mpi *mpi, bool initialize) {
    int on = 0;
    mpi->Initialized(&on);
    if (is_finalized(mpi)) {
        return bp__fail(BP_E_UNSUPPORTED, "MPI was finalized, and cannot be used again in this process");
    }
    if (!on && !initialize) {
        return bp__fail(BP_E_UNSUPPORTED, "MPI is not initialized: call MPI_Init_thread first, or bp_comm_open() with "
                                          "BP_COMM_INIT");
    }
    int provided = 0;
    if (!on && mpi->Init_thread(NULL, NULL, thread_level(mpi, THREAD_SERIALIZED), &provided) != 0) {
        return bp__fail(BP_E_SYSTEM, "MPI_Init_thread failed in %s", mpi->path);
    }
    initialized_here |= !on;
    return check_thread(mpi);
}

/* ---- Requests ---- */

bp_status bp__comm_wait(bp_comm *comm, intptr_t *request, int started, const char *what) {
    enum { SPINS = 200 };
    const int64_t seconds = bp__setting_int(BP_SET_dist_timeout), end = bp__now_ns() + seconds * 1000000000;
    int64_t status[16]; /* MPI_Status of any family */
    int done = 0;
    if (started != 0) {
        return bp__fail(BP_E_SYSTEM, "%s: MPI reports error %d on rank %d", what, started, comm->rank);
    }
    for (int64_t i = 0; !done; i++) {
        const int code = comm->mpi->Test(request, &done, status);
        if (code != 0) {
            comm->lost = stuck = true;
            return bp__fail(BP_E_SYSTEM, "%s: MPI reports error %d on rank %d", what, code, comm->rank);
        }
        if (!done && i >= SPINS) { /* ranks may share a processor */
            sched_yield();
            if (seconds > 0 && i % SPINS == 0 && bp__now_ns() > end) {
                comm->lost = stuck = true;
                return bp__fail(
                    BP_E_TIMEOUT,
                    "%s: a rank did not take part within %lld s (dist.timeout). It failed, or it makes other "
                    "calls than rank %d",
                    what, (long long)seconds, comm->rank);
            }
        }
    }
    return BP_OK;
}

/* ---- Open and close ---- */

static void tell_version(bp_comm *comm) {
    char text[8192] = "";
    int length = 0;
    comm->mpi->Get_library_version(text, &length);
    text[sizeof text - 1] = '\0';
    for (char *at = text; *at; at++) {
        *at = *at == '\n' ? '\0' : *at == '\t' ? ' ' : *at;
    }
    bp__copy_text(comm->version, sizeof comm->version, text);
}

static bp_status make_handle(const bp__mpi *mpi, intptr_t of, intptr_t errors, intptr_t *handle) {
    intptr_t slot = 0;
    if (mpi->Comm_dup(of, &slot) != 0) {
        return bp__fail(BP_E_SYSTEM, "MPI_Comm_dup failed in %s", mpi->path);
    }
    *handle = bp__mpi_handle(mpi, &slot);
    mpi->Comm_set_errhandler(*handle, errors);
    return BP_OK;
}

static bp_status duplicate(bp_comm *comm, intptr_t of) {
    const bp__mpi *mpi = comm->mpi;
    int world = 0;
    BP__TRY(mpi->Comm_size(mpi->world, &world) == 0
                ? bp__launcher_check(mpi, world)
                : bp__fail(BP_E_SYSTEM, "MPI_Comm_size of MPI_COMM_WORLD failed in %s", mpi->path));
    BP__TRY(make_handle(mpi, of, mpi->errors_return, &comm->handle));
    BP__TRY(make_handle(mpi, of, mpi->errors_are_fatal, &comm->engine));
    mpi->Comm_rank(comm->handle, &comm->rank);
    mpi->Comm_size(comm->handle, &comm->size);
    tell_version(comm);
    BP__TRY(bp__comm_find_engines(comm));
    return bp__comm_measure(comm);
}

static void end_handles(bp_comm *comm) {
    intptr_t handles[] = {comm->handle, comm->engine};
    for (int i = 0; i < BP__COUNT(handles) && !comm->lost && !is_finalized(comm->mpi); i++) {
        if (handles[i]) {
            comm->mpi->Comm_free(&handles[i]);
        }
    }
}

/* Tells `backplane run` that this rank has communicators, or has closed all of them: a rank that ends before is lost.
 */
static void record_rank(const bp_comm *comm, bool closed) {
    const char *folder = bp__env("BACKPLANE_RANK_RECORDS");
    char opened[512], ended[512];
    int world_rank = comm->rank;
    if (!folder) {
        return;
    }
    if (!is_finalized(comm->mpi)) {
        comm->mpi->Comm_rank(comm->mpi->world, &world_rank);
    }
    snprintf(opened, sizeof opened, "%s/%d.open", folder, world_rank);
    snprintf(ended, sizeof ended, "%s/%d.closed", folder, world_rank);
    if (closed) {
        rename(opened, ended);
        return;
    }
    const int file = open(opened, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        close(file);
    }
    unlink(ended);
}

static bp_status open_duplicate(bp_comm **comm, const bp__mpi *mpi, intptr_t of) {
    bp_comm *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "a communicator");
    }
    made->mpi = mpi;
    made->serial = ++last_serial;
    made->process = process_number();
    bp_status status = duplicate(made, of);
    if (status != BP_OK) {
        end_handles(made);
        bp__free(made);
        return status;
    }
    if (!first_comm) {
        record_rank(made, false);
    }
    made->next = first_comm;
    first_comm = made;
    *comm = made;
    return BP_OK;
}

static bp_status handle_of(const bp__mpi *mpi, const void *handle, size_t size, intptr_t *value) {
    const size_t right = mpi->handles_are_ints ? sizeof(int) : sizeof(void *);
    intptr_t slot = 0;
    if (size != right) {
        return bp__fail(BP_E_ARGUMENT,
                        "handle_size is %zu, but a communicator of %s (%s) has %zu bytes: the handle is of "
                        "another MPI",
                        size, bp__mpi_name(mpi), mpi->path, right);
    }
    memcpy(&slot, handle, size);
    *value = bp__mpi_handle(mpi, &slot);
    return BP_OK;
}

/* MPI itself would end the program. */
static bp_status check_handle(const bp__mpi *mpi, intptr_t of) {
    int between_groups = 0;
    if (of == mpi->null) {
        return bp__fail(BP_E_ARGUMENT, "the handle is MPI_COMM_NULL: this process is not in the communicator");
    }
    mpi->Comm_test_inter(of, &between_groups);
    return between_groups ? bp__fail(BP_E_ARGUMENT, "the handle is an intercommunicator, whose two groups have no "
                                                    "common numbers of ranks")
                          : BP_OK;
}

bp_status bp_comm_from_mpi(bp_comm **comm, const void *handle, size_t handle_size, const char *library) {
    BP__UNCANCELLED;
    const bp__mpi *mpi;
    intptr_t of = 0;
    if (!comm || !handle) {
        return bp__fail(BP_E_ARGUMENT, "bp_comm_from_mpi: %s must not be NULL", comm ? "handle" : "comm");
    }
    *comm = NULL;
    BP__TRY(bp__mpi_find(&mpi, library, false));
    BP__TRY(handle_of(mpi, handle, handle_size, &of));
    bp__mpi_lock();
    bp_status status = check_state(mpi, false);
    status = status == BP_OK ? check_handle(mpi, of) : status;
    status = status == BP_OK ? open_duplicate(comm, mpi, of) : status;
    bp__mpi_unlock();
    return status;
}

bp_status bp_comm_open(bp_comm **comm, uint32_t flags) {
    BP__UNCANCELLED;
    const bp__mpi *mpi;
    if (!comm || (flags & ~BP_COMM_INIT)) {
        return bp__fail(BP_E_ARGUMENT, "bp_comm_open: %s", comm ? "unknown flags" : "comm must not be NULL");
    }
    *comm = NULL;
    BP__TRY(bp__mpi_find(&mpi, NULL, flags & BP_COMM_INIT));
    bp__mpi_lock();
    bp_status status = check_state(mpi, flags & BP_COMM_INIT);
    status = status == BP_OK ? open_duplicate(comm, mpi, mpi->world) : status;
    bp__mpi_unlock();
    return status;
}

static bool is_amount(double value) {
    return value >= 0 && value < INFINITY;
}

bp_status bp_comm_from_machine(bp_comm **comm, const bp_comm_machine *machine) {
    BP__UNCANCELLED;
    if (!comm) {
        return bp__fail(BP_E_ARGUMENT, "bp_comm_from_machine: comm must not be NULL");
    }
    *comm = NULL;
    BP__TRY(bp__struct_check(machine, sizeof *machine, "machine"));
    if (machine->ranks < 1 || !is_amount(machine->latency_ns) || !is_amount(machine->bytes_per_sec) ||
        !is_amount(machine->flops_per_sec)) {
        return bp__fail(BP_E_ARGUMENT,
                        "bp_comm_from_machine: there must be a rank, and no number may be negative or infinite");
    }
    bp_comm *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "a communicator");
    }
    made->size = machine->ranks;
    made->latency_ns = machine->latency_ns;
    made->bytes_per_sec = machine->bytes_per_sec;
    made->flops_per_sec = machine->flops_per_sec;
    made->process = process_number();
    bp__comm_find_engines(made); /* searches nothing: all are taken as present */
    bp__mpi_lock();
    made->serial = ++last_serial;
    planned_count++;
    bp__mpi_unlock();
    *comm = made;
    return BP_OK;
}

static void take_off_list(const bp_comm *comm) {
    bp_comm **at = &first_comm;
    while (*at && *at != comm) {
        at = &(*at)->next;
    }
    *at = *at ? (*at)->next : NULL;
}

/* Closes what providers have made for the communicator, the last one first. */
static void close_all(bp_comm *comm) {
    const int usable = !comm->lost && !is_finalized(comm->mpi);
    while (comm->closing) {
        bp_dist_closing *closing = comm->closing;
        comm->closing = closing->next;
        closing->close(closing, usable);
    }
}

/* Ends what a communicator has of MPI, and MPI itself with the last one if it was initialized here. */
static void leave_mpi(bp_comm *comm) {
    close_all(comm);
    take_off_list(comm);
    if (!first_comm && !comm->lost) {
        record_rank(comm, true);
    }
    end_handles(comm);
    if (initialized_here && !first_comm && !stuck && !is_finalized(comm->mpi)) {
        comm->mpi->Finalize();
        initialized_here = false;
    }
}

bp_status bp_comm_close(bp_comm *comm) {
    BP__UNCANCELLED;
    if (!comm) {
        return BP_OK;
    }
    if (comm->process != process_number()) {
        return bp__fail(BP_E_FORKED, "bp_comm_close: a child of fork cannot close the communicators of its parent");
    }
    bp__mpi_lock();
    bp__maps_close(comm);
    if (comm->mpi) {
        leave_mpi(comm);
    } else {
        planned_count--;
    }
    bp__mpi_unlock();
    if (!comm->lost) { /* else a request that has not ended may write to it */
        bp__free(comm);
    }
    return BP_OK;
}

bp_status bp_comm_describe(const bp_comm *comm, bp_comm_info *info) {
    if (!comm) {
        return bp__fail(BP_E_ARGUMENT, "bp_comm_describe: comm must not be NULL");
    }
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    bp_comm_info own;
    memset(&own, 0, sizeof own); /* padding too: the whole struct is copied to the caller */
    own.rank = comm->rank;
    own.size = comm->size;
    own.mpi = comm->mpi ? bp__mpi_name(comm->mpi) : "none";
    own.version = comm->version;
    own.library = comm->mpi ? comm->mpi->path : "";
    own.latency_ns = comm->latency_ns;
    own.bytes_per_sec = comm->bytes_per_sec;
    own.initialized_here = initialized_here;
    bp__struct_write(info, &own, sizeof own);
    return BP_OK;
}
