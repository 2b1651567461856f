/* inspect_watch.c - looks at a program while it runs, and keeps what it had loaded when it used the most libraries. */
#include "inspect.h"

#include <fcntl.h>
#include <unistd.h>

/* Returns a number that changes when the process maps or unmaps a file; 0 if it cannot be read. */
static uint64_t files_of(pid_t pid) {
    inspect_process p = {.pid = pid};
    uint64_t sum = 0;
    if (inspect_maps(&p) == 0) {
        for (int i = 0; i < p.file_count; i++) {
            sum += p.files[i].start ^ p.files[i].inode << 20 ^ p.files[i].device << 40;
        }
    }
    inspect_free(&p);
    return sum;
}

void inspect_watch(pid_t pid, void *context) {
    inspect_watched *seen = context;
    inspect_process now = {.pid = pid};
    const uint64_t files = files_of(pid);
    if (files == 0 || files == seen->files) {
        return;
    }
    const int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), messages = dup(STDERR_FILENO);
    dup2(quiet, STDERR_FILENO); /* the process may end while it is read */
    const int code = inspect_read(&now, pid);
    dup2(messages, STDERR_FILENO);
    close(quiet);
    close(messages);
    seen->files = code == CLI_OK ? files : seen->files;
    if (code == CLI_OK && now.library_count >= seen->best.library_count) {
        inspect_free(&seen->best);
        seen->best = now;
    } else {
        inspect_free(&now);
    }
}
