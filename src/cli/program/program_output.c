/* program_output.c - writes reports about a program, whose own output goes to standard output. */
#include "program.h"
#include "cli/arrays/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int program_check_target(const char *path) {
    bp__npy_error error;
    const bp_status status = npy_check_target(path, &error);
    if (status != BP_OK) {
        return cli_fail(cli_exit_of(status), "%s", error.text);
    }
    /* A file that exists is written to, or replaced. Neither is meant if it is read-only. */
    if (strcmp(path, "-") != 0 && access(path, W_OK) != 0 && errno != ENOENT) {
        return cli_fail(CLI_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    return CLI_OK;
}

int program_output_begin(const char *path) {
    return cli_out_capture(path ? -1 : STDERR_FILENO);
}

int program_output_end(const char *path) {
    bp__npy_error error;
    size_t length;
    char *text = cli_out_captured(&length);
    if (!text) {
        return CLI_MEMORY;
    }
    bp_status status = BP_OK;
    if (path) {
        status = npy_write_text(path, text, length, &error);
    } else if (fwrite(text, 1, length, stderr) < length) {
        status = bp__npy_fail(&error, BP_E_IO, "the report cannot be written: %s", strerror(errno));
    }
    free(text);
    return status == BP_OK ? CLI_OK : cli_fail(cli_exit_of(status), "%s", error.text);
}
