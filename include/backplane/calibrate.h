/* calibrate.h - measures the libraries of this machine, so that choices use measured times.
 *
 * Without these times, candidates are ranked by estimates. With the setting calibration=auto, the first choice on a
 * machine measures matrix products in f32 and f64 on one thread, in less than 0.1 s per library. bp_calibrate()
 * measures the rest: complex types, transposed, strided and batched operands, each algorithm of a library, sizes that
 * leave remainders, all threads, transforms, linear algebra, the other operations in f32, f64, f16 and bf16, and
 * gradients in f32. Times are kept in the cache directory (registry.cache_dir), in the file calibration.txt, until a
 * library, Backplane, the processor or a variable that steers libraries changes. They are not used if `deterministic`
 * is set.
 */
#ifndef BACKPLANE_CALIBRATE_H
#define BACKPLANE_CALIBRATE_H

#include "backplane/dispatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called before something is measured: the library's id and what is measured, such as "gemm.f32.threaded". Returns
 * nonzero to go on, 0 to stop. Must not call the library. Strings are valid during the call. */
typedef int (*bp_calibrate_progress)(void *user, const char *library, const char *what);

/* Measures what has no stored times, each library in a process of its own, one after the other. Stops after `seconds`;
 * 0 means no limit. What was measured is stored at once, so the next call continues. `progress` may be NULL. The
 * machine should be idle. Plans that exist keep their library; the plan caches are cleared. Thread-safe; other threads
 * do not wait, and use the new times afterwards.
 *
 * Errors: BP_E_ARGUMENT (seconds negative or NaN), BP_E_TIMEOUT (time over; what was measured is kept), BP_E_BUSY
 * (another process or thread measures), BP_E_IO, BP_E_NOT_FOUND (no cache directory, or no helper), BP_E_NO_MEMORY. */
BP_API bp_status bp_calibrate(double seconds, bp_calibrate_progress progress, void *user);

#ifdef __cplusplus
}
#endif
#endif
