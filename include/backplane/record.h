/* record.h - keeps which plans the calls of a process run: with what library, algorithm and reason, how often, how
 * long.
 *
 * A record takes all calls of all threads from bp_record_start() to bp_record_stop(): one-shot calls, bp_execute(), and
 * the parts of contractions and graphs, which are marked. Several records may run at once. While one does, a call takes
 * about 0.2 us more. All functions are thread-safe, also while calls are added, but bp_record_release() must be the
 * last one.
 *
 *     bp_record *record;
 *     bp_record_start(&record, 0);
 *     ... calls ...
 *     bp_record_stop(record);
 *     bp_recorded_plan row = {.struct_size = sizeof row};
 *     for (int64_t i = 0; bp_record_plan_at(record, i, &row); i++) {
 *         printf("%s on %s: %lld runs, %.3f ms\n", row.problem, row.library, (long long)row.runs, row.total_ns / 1e6);
 *     }
 *     bp_record_release(record);
 */
#ifndef BACKPLANE_RECORD_H
#define BACKPLANE_RECORD_H

#include "backplane/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bp_record bp_record;

/* Starts a record of at most `most` calls (0: 100,000). Further calls are counted in the plans' rows only. Errors:
 * BP_E_ARGUMENT (NULL, a negative number), BP_E_NO_MEMORY; *record is NULL then. */
BP_API bp_status bp_record_start(bp_record **record, int64_t most);

/* Calls that end later are not added. NULL and a stopped record are allowed. */
BP_API void bp_record_stop(bp_record *record);
BP_API void bp_record_release(bp_record *record); /* stops it, too; NULL is allowed */

/* One row for all runs of equal plans. Strings are valid until the record is released. */
typedef struct bp_recorded_plan {
    size_t struct_size;    /* set by the caller: sizeof(bp_recorded_plan) */
    const char *operation; /* as in bp_plan_info, likewise the next six */
    const char *provider;
    const char *library;
    const char *algorithm;
    const char *problem;
    const char *reason;
    uint32_t properties;
    int threads;    /* 0: the library decides */
    double cost_ns; /* expected time of a run in ns */
    int part;       /* 1: it ran as a part of a contraction or a graph, and its time is part of the whole's */
    int queued;     /* 1: on a device; the times are of enqueueing */
    int64_t runs;
    int64_t failed;                      /* runs among them that returned an error */
    int64_t total_ns, least_ns, most_ns; /* time of all runs, the shortest and the longest one */
} bp_recorded_plan;

/* Fills *plan with row `index` (0, 1, ...), in the order of the first runs, and returns 1. Returns 0 past the end, for
 * NULL and for an unknown struct_size. */
BP_API int bp_record_plan_at(const bp_record *record, int64_t index, bp_recorded_plan *plan);

typedef struct bp_recorded_call {
    size_t struct_size;  /* set by the caller: sizeof(bp_recorded_call) */
    int64_t plan;        /* its row */
    int64_t start_ns;    /* of the monotonic clock */
    int64_t duration_ns; /* without the search for the plan, or its creation */
    int64_t thread;      /* the kernel's number of the calling thread */
    int fresh;           /* 1: the plan was made for this call */
    bp_status status;
} bp_recorded_call;

/* Fills *call with call `index` (0, 1, ...), in the order in which the calls ended, and returns 1. The parts of a
 * whole end before it. Returns 0 past the end, for NULL and for an unknown struct_size. */
BP_API int bp_record_call_at(const bp_record *record, int64_t index, bp_recorded_call *call);

/* Returns the number of runs that have no entry, because there were too many or memory was short; 0 for NULL. */
BP_API int64_t bp_record_left_out(const bp_record *record);

#ifdef __cplusplus
}
#endif
#endif
