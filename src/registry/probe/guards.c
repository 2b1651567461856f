/* guards.c - memory regions between pages without access. */
#include "registry/probe/guards.h"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_REGIONS = 12, FAR_PAGES = 15, GUARDS = FAR_PAGES + 1 }; /* on each side of a region */

/* A page without access that is read becomes readable. If it is accessed again, it is written. */
enum { CLOSED, READABLE, WRITABLE };

typedef struct region {
    char *start;                           /* after the pages in front of it */
    volatile signed char pages[2][GUARDS]; /* in front of it and behind it, the nearest first */
} region;

static region regions[MOST_REGIONS];
static int region_count;
static size_t page, region_size;
static volatile sig_atomic_t worst;

static size_t guard_bytes(void) {
    return GUARDS * page;
}

/* Returns the page next to a region with that number, in front of it or behind it. */
static char *guard_at(const region *r, int behind, int which) {
    return behind ? r->start + region_size + (size_t)which * page : r->start - (size_t)(which + 1) * page;
}

static bool open_guard(region *r, int behind, int which) {
    volatile signed char *state = &r->pages[behind][which];
    const guard_access how = *state == READABLE ? GUARD_WRITTEN : which > 0 ? GUARD_READ_FAR : GUARD_READ_NEAR;
    *state = *state == CLOSED ? READABLE : WRITABLE;
    worst = (int)how > worst ? (int)how : worst;
    return mprotect(guard_at(r, behind, which), page, *state == READABLE ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
}

/* Any other access ends the process, when the instruction is repeated. */
static void handle(int signal_number, siginfo_t *info, void *context) {
    const uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    for (int i = 0; i < region_count; i++) {
        const uintptr_t start = (uintptr_t)regions[i].start, end = start + region_size;
        if ((at < start && start - at <= guard_bytes() && open_guard(&regions[i], 0, (int)((start - at - 1) / page))) ||
            (at >= end && at - end < guard_bytes() && open_guard(&regions[i], 1, (int)((at - end) / page)))) {
            return;
        }
    }
    signal(signal_number, SIG_DFL);
}

static void fill(char *at, size_t bytes, const number_type *type) {
    const number_type real = {type->letter, type->is_double, false};
    for (int64_t i = 0; i < (int64_t)(bytes / (type->is_double ? 8 : 4)); i++) {
        put(&real, at, i, INFINITY);
    }
}

static bool open_region(region *r, const number_type *type) {
    const size_t around = guard_bytes();
    char *block = mmap(NULL, region_size + 2 * around, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) {
        return false;
    }
    *r = (region){.start = block + around};
    for (int behind = 0; behind < 2; behind++) {
        fill(guard_at(r, behind, 0), page, type);
    }
    return mprotect(block, around, PROT_NONE) == 0 && mprotect(r->start + region_size, around, PROT_NONE) == 0;
}

bool guards_open(int count, size_t size, const number_type *type) {
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = handle;
    page = (size_t)sysconf(_SC_PAGESIZE);
    region_size = (size + page - 1) / page * page;
    worst = GUARD_UNTOUCHED;
    for (region_count = 0; region_count < count; region_count++) {
        if (!open_region(&regions[region_count], type)) {
            return false;
        }
    }
    return sigaction(SIGSEGV, &action, NULL) == 0;
}

void guards_close(void) {
    signal(SIGSEGV, SIG_DFL);
    for (int i = 0; i < region_count; i++) {
        munmap(regions[i].start - guard_bytes(), region_size + 2 * guard_bytes());
    }
    region_count = 0;
}

char *guards_place(int index, size_t bytes, bool at_end) {
    return regions[index].start + (at_end ? region_size - bytes : 0);
}

guard_access guards_accessed(void) {
    const guard_access how = (guard_access)worst;
    for (int i = 0; i < region_count && how != GUARD_UNTOUCHED; i++) {
        for (int at = 0; at < 2 * GUARDS; at++) {
            volatile signed char *state = &regions[i].pages[at / GUARDS][at % GUARDS];
            if (*state != CLOSED) {
                *state = CLOSED;
                mprotect(guard_at(&regions[i], at / GUARDS, at % GUARDS), page, PROT_NONE);
            }
        }
    }
    worst = GUARD_UNTOUCHED;
    return how;
}
