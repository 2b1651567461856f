/* tune.h - reads, exports and removes the times that were measured for classes of problems.
 *
 * With `benchmark` on, the candidates of a problem that takes much time are run on private operands, checked against
 * each other and timed; then the fastest runs. A class is a problem (operation, type, sizes, strides) with every
 * constraint of the settings. Its record, which has the time of each candidate, is kept in a file and used by later
 * processes on this machine, also with `benchmark` off. It is used only if the same candidates, from the same files,
 * accept the problem; under `deterministic` only if tuning.store_path names the file. The settings benchmark,
 * benchmark_limit, tuning.start, tuning.store and tuning.store_path are described in settings.h.
 *
 * A matrix product without a record is chosen by the record of a neighbour, if there is one: a product with sizes
 * within a factor of 1.25 and the same layout and constraints. For each candidate, the ratio of its measured to its
 * expected time there is multiplied by its expected time here.
 *
 * Measuring a class takes at most 20 ms, or 50 times its own time (the time of its fastest candidate) if this is more.
 * The limit covers the private operands, the check of the results, warm-up and timed calls. Candidates are run in the
 * order of their expected times, and what does not fit is not measured. A call that has begun is not interrupted. Not
 * covered are the first use of a library in the process (loading it, starting its threads); planning of transforms, for
 * which `fft.planner` has limits; a run of `native` if results differ and no other run shows which is right; and
 * writing the file.
 *
 * One thread measures at a time. The others go on without; with tuning.start=now they wait for at most two seconds
 * first. The thread's interrupt check (interrupt.h) does not stop a measurement.
 *
 * A candidate with a wrong result is written to the file quarantine.txt in the same directory, and refused afterwards;
 * by this process alone if the file cannot be written.
 *
 * To measure a class at once, make its plan under "benchmark=true, tuning.start=now". All functions are thread-safe.
 */
#ifndef BACKPLANE_TUNE_H
#define BACKPLANE_TUNE_H

#include "backplane/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The record of a class. The strings are valid during the visit. */
typedef struct bp_tuning_record {
    size_t struct_size;
    const char *problem; /* "matmul f32 512x512 @ 512x512 -> 512x512; 2 threads; machine ...; layout ...; class ..." */
    const char *times;   /* "took 9.1 ms with 6 ms for the first use of libraries, machine 1.02, expected times
                          * estimated|1.24e+06/1.1e+06 LIBRARY:PROVIDER:ALGORITHM@BUILD|...": what the measurement took,
                          * the ratio of the machine's slowest to its fastest speed meanwhile, and the source of the
                          * expected times (estimated or calibrated); then each candidate with its measured and its
                          * expected time in ns, "-" (not measured: its expected time was much longer, or the time was
                          * over) or "failed" */
    int64_t written_s;   /* time of the measurement, in seconds since 1970 */
} bp_tuning_record;

/* Calls `visit` for each record of the file, the oldest first, until it returns 0. `visit` may call the library.
 * Errors: BP_E_ARGUMENT, BP_E_NO_MEMORY. */
BP_API bp_status bp_tuning_visit(int (*visit)(void *user, const bp_tuning_record *record), void *user);

/* Writes the path of the file to `buffer` (`size` bytes) and returns it; "" if there is no cache directory. */
BP_API const char *bp_tuning_path(char *buffer, size_t size);

/* Removes all records; the next choices use estimates again. Plans that exist are made again. Does not change the
 * quarantine. Errors: BP_E_READ_ONLY (tuning.store or tuning.store_path forbids it), BP_E_IO, BP_E_UNTRUSTED, BP_E_BUSY
 * (another process writes the file), BP_E_NO_MEMORY. */
BP_API bp_status bp_tuning_clear(void);

/* Adds all records to a file, which is made if it does not exist; or adds the records of a file, in place of older ones
 * for the same class. Records of other machines are kept, but not used here. Errors: BP_E_ARGUMENT, BP_E_NOT_FOUND (no
 * such file), BP_E_FORMAT, BP_E_IO, BP_E_UNTRUSTED (others may change the file), BP_E_READ_ONLY (import: as
 * bp_tuning_clear), BP_E_BUSY, BP_E_NO_MEMORY. */
BP_API bp_status bp_tuning_export(const char *path);
BP_API bp_status bp_tuning_import(const char *path);

typedef struct bp_tuning_info {
    size_t struct_size; /* set by the caller: sizeof(bp_tuning_info) */
    int64_t classes;    /* measured by this process */
    double spent_ns;    /* time that this took */
} bp_tuning_info;
BP_API bp_status bp_tuning_stats(bp_tuning_info *info);

#ifdef __cplusplus
}
#endif
#endif
