/* placement.c - lists threads that libraries started for us, and sets their affinity. See placement.h. */
#include "providers/driver/placement.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Lists are taken once and never given back; one whose caller has ended is used again. */
enum { LISTS = 64, MOST_WORKERS = 127, MOST_THREADS = 512, ORIGINS = 64 };

/* The system gives the id of an ended thread to another one: only id and time of the start are one thread's alone. */
typedef struct worker {
    int id;
    uint64_t start;
} worker;

struct bp__workers {
    atomic_int caller; /* thread id; 0: not in use; SHARED: all callers */
    atomic_int number;
    atomic_flag busy; /* a thread reads or writes what follows. Others do without it: they do not wait */
    int count;
    worker worker[MOST_WORKERS];
    atomic_int avoided; /* the processor that they must not use now; -1: none */
    int before_count;   /* threads that existed before a call; 0: not expected */
    int before[MOST_THREADS];
};

enum { SHARED = -1 };
typedef enum origin { UNKNOWN, OURS, PROGRAM } origin;

static bp__workers lists[LISTS];
static atomic_uchar origins[ORIGINS];

static int own_id(void) {
    return (int)syscall(SYS_gettid);
}

static bool exists(int thread) {
    return syscall(SYS_tgkill, getpid(), thread, 0) == 0;
}

void bp__placement_origin(int number, bool ours) {
    unsigned char unknown = UNKNOWN;
    if (number >= 0 && number < ORIGINS) {
        atomic_compare_exchange_strong(&origins[number], &unknown, (unsigned char)(ours ? OURS : PROGRAM));
    }
}

/* ---- Lists ---- */

bp__workers *bp__workers_of(int number, bool shared) {
    const int caller = shared ? SHARED : own_id();
    for (int i = 0; i < LISTS; i++) {
        const int used = atomic_load_explicit(&lists[i].caller, memory_order_acquire);
        if (used == caller && atomic_load_explicit(&lists[i].number, memory_order_relaxed) == number) {
            return &lists[i];
        }
    }
    return NULL;
}

/* A list is free if it has no caller, or one that has ended. */
static bp__workers *take_list(int number, bool shared) {
    const int caller = shared ? SHARED : own_id();
    for (int i = 0; i < LISTS; i++) {
        int used = atomic_load_explicit(&lists[i].caller, memory_order_relaxed);
        const bool is_free = used == 0 || (used != SHARED && !exists(used));
        if (is_free && atomic_compare_exchange_strong(&lists[i].caller, &used, caller)) {
            atomic_store_explicit(&lists[i].number, number, memory_order_relaxed);
            lists[i].count = lists[i].before_count = 0;
            atomic_store_explicit(&lists[i].avoided, -1, memory_order_relaxed);
            return &lists[i];
        }
    }
    return NULL;
}

/* ---- The threads of the process ---- */

/* Writes the threads' numbers. Returns how many there are; 0 if they cannot be read, or are more than fit. */
static int list_threads(int threads[MOST_THREADS]) {
    DIR *folder = opendir("/proc/self/task");
    int count = 0;
    if (!folder) {
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(folder)) && count <= MOST_THREADS;) {
        const int thread = (int)strtol(entry->d_name, NULL, 10);
        if (thread > 0 && count++ < MOST_THREADS) {
            threads[count - 1] = thread;
        }
    }
    closedir(folder);
    return count <= MOST_THREADS ? count : 0;
}

static bool is_in(const int *threads, int count, int thread) {
    for (int i = 0; i < count; i++) {
        if (threads[i] == thread) {
            return true;
        }
    }
    return false;
}

static bool begin(bp__workers *workers) {
    return !atomic_flag_test_and_set_explicit(&workers->busy, memory_order_acquire);
}

static void end(bp__workers *workers) {
    atomic_flag_clear_explicit(&workers->busy, memory_order_release);
}

bp__workers *bp__workers_expect(int number, bool shared) {
    if (number < 0 || number >= ORIGINS || atomic_load(&origins[number]) != OURS) {
        return NULL;
    }
    bp__workers *workers = bp__workers_of(number, shared);
    workers = workers ? workers : take_list(number, shared);
    if (workers && begin(workers)) {
        workers->before_count = list_threads(workers->before);
        end(workers);
    }
    return workers;
}

/* Returns when the thread of this process started, in ticks since the system did; 0 if there is none. */
static uint64_t start_of(int thread) {
    enum { BEFORE_START = 20 }; /* spaces between the name, which is in parentheses, and the time */
    char path[48], line[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? -1 : read(file, line, sizeof line - 1);
    if (file >= 0) {
        close(file);
    }
    line[size > 0 ? size : 0] = '\0';
    const char *at = strrchr(line, ')');
    for (int i = 0; at && i < BEFORE_START; i++) {
        at = strchr(at + 1, ' ');
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

static bool is_there(const worker *one) {
    return one->start > 0 && start_of(one->id) == one->start;
}

/* Whether the thread is not bound: it may run where its caller may. */
static bool is_unbound(int thread, const cpu_set_t *of_caller) {
    cpu_set_t own;
    return sched_getaffinity(thread, sizeof own, &own) == 0 && CPU_EQUAL(&own, of_caller);
}

/* Threads end when a smaller number is set, and in a child of fork. */
static void remove_ended(bp__workers *workers) {
    int left = 0;
    for (int i = 0; i < workers->count; i++) {
        if (is_there(&workers->worker[i])) {
            workers->worker[left++] = workers->worker[i];
        }
    }
    workers->count = left;
}

/* Adds the threads that exist since `before`, if as many have started as expected. Otherwise others have started
 * threads, too. */
static void add_started(bp__workers *workers, int expected) {
    cpu_set_t of_caller;
    int now[MOST_THREADS], found = 0, unbound = 0;
    const int count = list_threads(now);
    const bool known = count > 0 && sched_getaffinity(0, sizeof of_caller, &of_caller) == 0;
    for (int i = 0; i < count && known; i++) {
        if (!is_in(workers->before, workers->before_count, now[i])) {
            now[found++] = now[i];
            unbound += is_unbound(now[found - 1], &of_caller);
        }
    }
    if (found != expected || unbound != found) {
        return;
    }
    for (int i = 0; i < found && workers->count < MOST_WORKERS; i++) {
        workers->worker[workers->count++] = (worker){now[i], start_of(now[i])};
    }
    atomic_store_explicit(&workers->avoided, -1, memory_order_relaxed);
}

void bp__workers_find(bp__workers *workers, int expected) {
    if (!workers || expected <= 0 || !begin(workers)) {
        return;
    }
    if (workers->before_count > 0) {
        remove_ended(workers);
        add_started(workers, expected);
        workers->before_count = 0;
    }
    end(workers);
}

/* ---- Affinity ---- */

static void move_workers(bp__workers *workers, int processor) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    CPU_CLR((size_t)processor, &allowed);
    for (int i = 0; CPU_COUNT(&allowed) > 0 && i < workers->count; i++) {
        /* The id of one that has ended may be another thread's, of this process or of another one. */
        if (is_there(&workers->worker[i])) {
            sched_setaffinity(workers->worker[i].id, sizeof allowed, &allowed);
        }
    }
}

void bp__workers_place(bp__workers *workers) {
    const int processor = workers ? sched_getcpu() : -1;
    if (processor < 0 || processor >= CPU_SETSIZE ||
        atomic_load_explicit(&workers->avoided, memory_order_relaxed) == processor || !begin(workers)) {
        return;
    }
    if (workers->count > 0) {
        atomic_store_explicit(&workers->avoided, processor, memory_order_relaxed);
        move_workers(workers, processor);
    }
    end(workers);
}
