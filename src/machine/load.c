/* load.c - limits the threads of calls to the processors that other processes leave free.
 *
 * The threads of a product wait for each other. If another process has one of their processors, each wait takes until
 * the scheduler switches to this process, up to some milliseconds, and a product of 20 us takes a hundred times as
 * long. One thread fewer costs at most its share.
 *
 * Calls that use several threads compare a clock, and every tenth of a second one of them reads /proc/stat. What others
 * use is the time in which the processors were busy, less the time of this process. It needs no knowledge of how long a
 * call should take, and it is also known while calls use fewer threads.
 */
#include "machine/load.h"
#include "machine/available_cpus.h"
#include "machine/internal.h"

#include "settings/internal.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000
#define INTERVAL_NS 100000000 /* the kernel counts in steps of 10 ms */
/* Reading takes 20 us on two processors, and a millisecond on hundreds. */
#define INTERVAL_PER_READING 200
/* Processors that others keep busy: above the first number a processor counts as taken, up to the second as free. */
#define TAKEN 0.4
#define FREE 0.2
/* Each number of threads has plans of its own. */
#define MOST_LIMITS 16

_Atomic int32_t bp__load_limit;
static _Atomic int64_t due;     /* coarse monotonic time of the next reading */
static _Atomic int32_t percent; /* `others` of the last reading, for texts */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects the following */
static struct {
    bp__load load;
    bp__cpu_reader reader; /* of the thread that read first, as bp__available_cpus() */
} own;

/* ---- Readings ---- */

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec : 0;
}

/* Returns the ticks in which a processor was busy, from its line after the name. A process of lower priority gives the
 * processor to this one, so it does not count, unless the priority of this one is low too. */
static int64_t busy_ticks(const char *line, bool low_priority) {
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    int64_t field[FIELDS] = {0};
    for (int i = 0; i < FIELDS; i++) {
        char *rest;
        field[i] = strtoll(line, &rest, 10);
        if (rest == line) {
            break; /* an old kernel has fewer */
        }
        line = rest;
    }
    return field[USER] + (low_priority ? field[NICE] : 0) + field[SYSTEM] + field[IRQ] + field[SOFTIRQ] + field[STEAL];
}

/* Adds the ticks of the reader's processors. Returns false if the text has none of them. A line that was cut off does
 * not count. */
static bool add_ticks(const bp__cpu_reader *reader, int64_t *ticks) {
    const bool low_priority = getpriority(PRIO_PROCESS, 0) > 0;
    const char *line = reader->text, *end;
    bool found = false;
    for (; strncmp(line, "cpu", 3) == 0 && (end = strchr(line, '\n')); line = end + 1) {
        char *rest;
        const long cpu = strtol(line + 3, &rest, 10);
        const bool one = line[3] >= '0' && line[3] <= '9'; /* the first line is about all */
        if (one && CPU_ISSET_S((size_t)cpu, reader->set_size, reader->set)) {
            *ticks += busy_ticks(rest, low_priority);
            found = true;
        }
    }
    return found;
}

/* Returns the number of lines up to the last processor of the set: all lower ones may be online. */
static size_t lines_of(const cpu_set_t *set, size_t size) {
    size_t lines = size * 8;
    while (lines > 0 && !CPU_ISSET_S(lines - 1, size, set)) {
        lines--;
    }
    return lines + 1; /* the first line is about all */
}

bool bp__cpu_reader_make(bp__cpu_reader *reader) {
    enum { LINE = 128 }; /* bytes of a processor's line, or more */
    reader->set = bp__affinity(&reader->set_size);
    if (reader->set) {
        reader->text_size = (lines_of(reader->set, reader->set_size) + 1) * LINE;
        reader->text = bp__alloc(reader->text_size);
    }
    if (!reader->text) {
        bp__cpu_reader_free(reader);
    }
    return reader->text != NULL;
}

void bp__cpu_reader_free(bp__cpu_reader *reader) {
    bp__free(reader->text);
    bp__free(reader->set);
    *reader = (bp__cpu_reader){0};
}

bool bp__cpu_times_read(bp__cpu_times *times, const bp__cpu_reader *reader, const char *root) {
    const long per_second = sysconf(_SC_CLK_TCK);
    char path[512];
    int64_t ticks = 0;
    snprintf(path, sizeof path, "%s/proc/stat", root);
    const bool known =
        per_second > 0 && bp__read_text(path, reader->text, reader->text_size) && add_ticks(reader, &ticks);
    *times =
        (bp__cpu_times){bp__now_ns(), known ? ticks * (NS_PER_S / per_second) : 0, clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
    return known;
}

/* ---- The limit ---- */

/* `counted` is added to the processors that are left, before they are rounded down. */
static int threads_left(double others, int processors, int usable, double counted) {
    const int left = (int)(processors - others + counted), step = (usable + MOST_LIMITS - 1) / MOST_LIMITS;
    const bool rounded = left >= step && left < usable;
    return left < 1 ? 1 : rounded ? left - left % step : left;
}

/* The limit falls after two readings in a row, because some processes are short, and rises after one. */
void bp__load_add(bp__load *l, const bp__cpu_times *now, int processors, int usable) {
    const bp__cpu_times before = l->last;
    l->last = *now;
    if (before.at == 0 || now->at <= before.at || now->own < before.own) { /* the first one, also of a child */
        l->again = false;
        return;
    }
    const double elapsed = (double)(now->at - before.at);
    const double others = (double)((now->busy - before.busy) - (now->own - before.own)) / elapsed;
    /* A processor that comes back online adds the time since the machine started. */
    l->others = others < 0 ? 0 : others > processors ? processors : others;
    const int present = l->limit > 0 ? l->limit : usable;
    const int lower = threads_left(l->others, processors, usable, TAKEN),
              higher = threads_left(l->others, processors, usable, FREE);
    int next = present;
    if (higher > present) {
        next = higher;
    } else if (lower < present && l->again) {
        next = lower;
    }
    l->again = lower < present && next == present;
    l->limit = next < usable ? next : 0;
}

static void read_load(void) {
    bp__cpu_times now;
    const int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID); /* without the time of others on this processor */
    if ((own.reader.set || bp__cpu_reader_make(&own.reader)) && bp__cpu_times_read(&now, &own.reader, "")) {
        bp__load_add(&own.load, &now, CPU_COUNT_S(own.reader.set_size, own.reader.set), bp__available_cpus());
    } else {
        own.load = (bp__load){0}; /* a limit that nothing can end must not stay */
    }
    const int64_t wait = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) * INTERVAL_PER_READING;
    atomic_store_explicit(&percent, (int32_t)(own.load.others * 100), memory_order_relaxed);
    atomic_store_explicit(&due, clock_ns(CLOCK_MONOTONIC_COARSE) + (wait > INTERVAL_NS ? wait : INTERVAL_NS),
                          memory_order_relaxed);
}

/* A thread whose scope has no limit leaves the limit of others as it is. */
__attribute__((noinline)) static void read_if_alone(void) {
    const int kept = errno;
    fenv_t program; /* programs test the flags after a call, and some let exceptions trap */
    if (!bp__setting_int(BP_SET_threads_adapt) || pthread_mutex_trylock(&mutex) != 0) {
        return;
    }
    const bool on_hold = feholdexcept(&program) == 0;
    read_load();
    if (on_hold) {
        fesetenv(&program);
    }
    const int32_t limit = own.load.limit;
    pthread_mutex_unlock(&mutex);
    if (atomic_exchange(&bp__load_limit, limit) != limit) {
        bp__settings_changed();
    }
    errno = kept;
}

void bp__load_poll(void) {
    if (BP__UNLIKELY(clock_ns(CLOCK_MONOTONIC_COARSE) >= atomic_load_explicit(&due, memory_order_relaxed))) {
        read_if_alone();
    }
}

int bp_load_limit(double *others) {
    bp__load_poll();
    if (others) {
        *others = atomic_load_explicit(&percent, memory_order_relaxed) / 100.0;
    }
    return bp__setting_int(BP_SET_threads_adapt) ? atomic_load_explicit(&bp__load_limit, memory_order_relaxed) : 0;
}

void bp__load_reset(void) {
    pthread_mutex_lock(&mutex);
    own.load = (bp__load){0};
    bp__cpu_reader_free(&own.reader);
    atomic_store(&bp__load_limit, 0);
    atomic_store(&due, 0);
    pthread_mutex_unlock(&mutex);
}

void bp__load_fork_lock(void) {
    pthread_mutex_lock(&mutex);
}

void bp__load_fork_unlock(void) {
    pthread_mutex_unlock(&mutex);
}
