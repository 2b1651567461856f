/* tune_machine.c - `backplane tune --machine`: measures all libraries over lattices of sizes (backplane/calibrate.h).
 */
#include "tune_machine.h"

#include <unistd.h>

enum { DEFAULT_SECONDS = 60 };

typedef struct watch {
    int measured;
    bool shows; /* progress on the terminal */
} watch;

static int on_progress(void *user, const char *library, const char *what) {
    watch *w = user;
    w->measured++;
    if (w->shows) {
        fprintf(stderr, "\r\033[K%d: %s, %s ", w->measured, library, what);
    }
    return 1;
}

int tune_machine(const cli_args *args, int64_t seconds) {
    const bool json = cli_has(args, "json");
    watch w = {.shows = !json && isatty(STDERR_FILENO)};
    const bp_status status = bp_calibrate(seconds > 0 ? (double)seconds : (double)DEFAULT_SECONDS, on_progress, &w);
    if (w.shows && w.measured > 0) {
        fprintf(stderr, "\r\033[K");
    }
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
