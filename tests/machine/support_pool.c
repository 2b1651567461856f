/* support_pool.c - see support_pool.h. */
#include "machine/support_pool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

int wait_for(pid_t child) {
    for (int i = 0; i < 2000; i++) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) {
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 2000;
}
