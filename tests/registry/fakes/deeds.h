/* deeds.h - harmful actions of constructors of fake libraries. Each process that one of them starts writes its number
 * to the file named by the variable FAKE_NOTES. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
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

DEED spin(void) {
    for (volatile unsigned turn = 0;; turn++) {
    }
}

static long used_ms(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* Uses 600 ms of a processor in 1.2 s, as on a busy machine, unless FAKE_QUICK is set. */
DEED work_with_pauses(void) {
    const struct timespec pause = {.tv_nsec = 2000000};
    for (long used = used_ms(); !getenv("FAKE_QUICK") && used < 600; nanosleep(&pause, NULL)) {
        for (long start = used; used < start + 2;) {
            used = used_ms();
        }
    }
}

DEED be_terminated(void) {
    if (getenv("FAKE_NOTES")) {
        raise(SIGTERM);
    }
}

/* Crashes if the address space is limited. */
DEED need_memory(void) {
    void *volatile block = malloc((size_t)1 << 30); /* volatile: clang removes memory that nothing reads */
    if (!block) {
        raise(SIGSEGV);
    }
    free(block);
}

/* Maps a buffer for each calling thread, of FAKE_MIB or 64 MiB, and ends the process if there is none, as OpenBLAS
 * does.
 */
DEED take_buffer(void) {
    static __thread void *buffer;
    if (!buffer) {
        const char *mib = getenv("FAKE_MIB");
        buffer = mmap(NULL, (size_t)(mib ? atoi(mib) : 64) << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    }
    if (buffer == MAP_FAILED) {
        exit(1);
    }
}

/* Takes 100 KiB of stack. */
DEED take_stack(void) {
    volatile char array[100 << 10];
    for (size_t i = 0; i < sizeof array; i += 64) {
        array[i] = 0;
    }
}

/* Asks for a buffer until it gets one, as OpenBLAS does. */
DEED wait_for_buffer(void) {
    static __thread void *buffer;
    while (!buffer || buffer == MAP_FAILED) {
        buffer = mmap(NULL, (size_t)64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
}

__attribute__((unused)) static void *end_at_once(void *user) {
    return user;
}

/* Starts a thread and waits for it, which is a cancellation point. */
DEED wait_for_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

DEED take_little(void) {
    static void *buffer;
    buffer = buffer ? buffer : malloc(2 << 20);
}

/* Leaves this process no address space for a thread. */
DEED limit_itself(void) {
    char path[64] = "/proc/self/statm";
    long pages = 0;
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%ld", &pages) != 1) {
        abort();
    }
    fclose(file);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (4 << 20);
    setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
}

/* Uses 4 MiB of the stack. */
DEED need_stack(void) {
    volatile char block[4 << 20];
    for (size_t i = sizeof block; i > 0; i -= 4096) {
        block[i - 1] = 1;
    }
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
