/* guards.c - memory regions between pages without access. */
#include "probe/guards.h"

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
static number_type real; /* of the elements */
static volatile sig_atomic_t worst;

static size_t guard_bytes(void) {
    return GUARDS * page;
}

/* Returns the page next to a region with that number, in front of it or behind it. */
static char *guard_at(const region *r, int behind, int which) {
    return behind ? r->start + region_size + (size_t)which * page : r->start - (size_t)(which + 1) * page;
}

static void fill(char *at) {
    for (int64_t i = 0; i < (int64_t)(page / (real.is_double ? 8 : 4)); i++) {
        put_number(&real, at, i, INFINITY);
    }
}

/* Fills a page and makes it readable, or makes a readable page writable. */
static bool open_guard(region *r, int behind, int which) {
    volatile signed char *state = &r->pages[behind][which];
    char *at = guard_at(r, behind, which);
    const bool written = *state == READABLE;
    const guard_access how = written ? GUARD_WRITTEN : which > 0 ? GUARD_READ_FAR : GUARD_READ_NEAR;
    *state = written ? WRITABLE : READABLE;
    worst = (int)how > worst ? (int)how : worst;
    if (mprotect(at, page, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    if (written) {
        return true;
    }
    fill(at);
    return mprotect(at, page, PROT_READ) == 0;
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

static bool open_region(region *r) {
    const size_t around = guard_bytes();
    char *block = mmap(NULL, region_size + 2 * around, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) {
        return false;
    }
    *r = (region){.start = block + around};
    region_count++;
    return mprotect(r->start, region_size, PROT_READ | PROT_WRITE) == 0;
}

static void close_regions(void) {
    for (int i = 0; i < region_count; i++) {
        munmap(regions[i].start - guard_bytes(), region_size + 2 * guard_bytes());
    }
    region_count = 0;
}

static bool open_regions(int count, size_t size) {
    if (count <= region_count && size <= region_size) {
        return true;
    }
    close_regions();
    region_size = (size + page - 1) / page * page;
    while (region_count < count && open_region(&regions[region_count])) {
    }
    return region_count == count;
}

bool guards_begin(int count, size_t size, const number_type *type) {
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = handle;
    page = (size_t)sysconf(_SC_PAGESIZE);
    real = (number_type){type->letter, type->is_double, false};
    worst = GUARD_UNTOUCHED;
    return open_regions(count, size) && sigaction(SIGSEGV, &action, NULL) == 0;
}

void guards_end(void) {
    signal(SIGSEGV, SIG_DFL);
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
