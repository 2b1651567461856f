/* deeds.h - harmful actions of constructors of fake libraries. Each process that one of them starts writes its number
 * to the file named by the variable FAKE_NOTES. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEED __attribute__((unused)) static void

DEED note(void) {
    const char *path = getenv("FAKE_NOTES");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file >= 0) {
        dprintf(file, "%d\n", (int)getpid());
        close(file);
    }
}

/* Makes the caller wait until the other process has written its number. */
static int ends[2];

static void wait_for_note(void) {
    char byte;
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1) {
        abort();
    }
    close(ends[0]);
}

static void say_noted(void) {
    note();
    if (write(ends[1], "", 1) != 1) {
        abort();
    }
    close(ends[0]);
    close(ends[1]);
}

/* A classic daemon: forked twice, in its own session, and ignoring all signals that can be ignored. */
DEED start_daemon(void) {
    if (pipe(ends) != 0) {
        abort();
    }
    pid_t first = fork();
    if (first == 0) {
        setsid();
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            say_noted();
            for (;;) {
                pause();
            }
        }
        _exit(0);
    }
    wait_for_note();
    waitpid(first, NULL, 0);
}

/* Ends the process that loads the library, and continues in a background copy. */
DEED go_to_background(void) {
    if (pipe(ends) != 0) {
        abort();
    }
    if (fork() > 0) {
        wait_for_note();
        _exit(0);
    }
    setsid();
    say_noted();
}

/* Writes to 12 GiB, and ends the process if an allocation fails. */
DEED take_memory(void) {
    enum { PIECES = 12 * 64, PIECE = 16 << 20 };
    for (int i = 0; i < PIECES; i++) {
        char *volatile piece = malloc(PIECE); /* volatile: clang removes memory that nothing reads */
        if (!piece) {
            abort();
        }
        memset(piece, 1, PIECE);
    }
}

DEED hang_noted(void) {
    note();
    for (;;) {
        pause();
    }
}

DEED hang_with_daemon(void) {
    start_daemon();
    hang_noted();
}

/* Stops the supervising process: the parent of the leader of the session. */
DEED stop_supervisor(void) {
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getsid(0));
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %*c %d", &parent) != 1) {
        abort();
    }
    fclose(file);
    kill(parent, SIGSTOP);
    hang_noted();
}
