/* tune_machine.c - `backplane tune --machine`: measures all libraries over lattices of sizes (backplane/calibrate.h).
 */
#include "tune_machine.h"

#include <time.h>

enum { DEFAULT_SECONDS = 60 };

typedef struct watch {
    int measured;
    double start, seconds; /* the begin; the limit, after which nothing is begun */
} watch;

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* How many groups there are is not known before, but the time that they may take is. */
static int on_progress(void *user, const char *library, const char *what) {
    watch *w = user;
    w->measured++;
    cli_progress((seconds_now() - w->start) / w->seconds, "group %d: %s, %s", w->measured, library, what);
    return 1;
}

int tune_machine(const cli_args *args, int64_t seconds) {
    const bool json = cli_has(args, "json");
    watch w = {.start = seconds_now(), .seconds = seconds > 0 ? (double)seconds : (double)DEFAULT_SECONDS};
    cli_progress_begin(CLI_EXAMINING);
    const bp_status status = bp_calibrate(w.seconds, on_progress, &w);
    cli_progress_end();
    if (status != BP_OK && status != BP_E_TIMEOUT) {
        return cli_fail_status(status);
    }
    if (json) {
        json_open(NULL, '{');
        json_int("measured", w.measured);
        json_bool("complete", status == BP_OK);
        json_close();
    } else if (status != BP_OK) {
        cli_say(CLI_CAUTION, "Measured %d groups; the time was over. Run the command again to go on.\n", w.measured);
    } else if (w.measured == 0) {
        cli_say(CLI_PLAIN, "Everything was measured before.\n");
    } else {
        cli_say(CLI_PLAIN, "Measured %d groups. The machine is measured completely.\n", w.measured);
    }
    return CLI_OK;
}
