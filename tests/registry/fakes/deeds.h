/* deeds.h - what constructors of bad libraries do to the process that they are loaded into. Each process that one of
 * them starts writes its number into the file that the variable FAKE_NOTES names. */
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

/* Lets the caller wait until the other process has written its number. */
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

/* A daemon as in the books: forked twice, in a session of its own, and deaf to signals that can be ignored. */
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

/* The process that loads the library ends, and a copy in the background goes on as if nothing had happened. */
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

/* Writes to 12 GiB, and ends the process where it gets no more. */
DEED take_memory(void) {
    enum { PIECES = 12 * 64, PIECE = 16 << 20 };
    for (int i = 0; i < PIECES; i++) {
        char *piece = malloc(PIECE);
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

/* Stops the process that would end this one: the parent of the leader of the session. */
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
