/* forward.c - finds libraries that only forward products to another BLAS, which they open themselves.
 *
 * The test is by behaviour: the page on which the other library's product begins is made unexecutable, and a product of
 * the library is called. If it faults on this page, the other library does the work.
 */
#include "probe/probe.h"

#include "machine/internal.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_OBJECTS = 256 };

static uintptr_t before[MOST_OBJECTS]; /* load addresses */
static int count_before;

static bool note_object(void *user, const char *path, uintptr_t base) {
    (void)user, (void)path;
    before[count_before++] = base;
    return count_before < MOST_OBJECTS;
}

void note_loaded(void) {
    count_before = 0;
    bp__loaded_visit(note_object, NULL);
}

static bool was_there(uintptr_t base) {
    for (int i = 0; i < count_before; i++) {
        if (before[i] == base) {
            return true;
        }
    }
    return false;
}

/* ---- The trap ---- */

static struct {
    char *page;
    size_t size;
    volatile sig_atomic_t sprung;
} trap;

static void spring(int number, siginfo_t *what, void *context) {
    char *at = what->si_addr;
    (void)context;
    if (at < trap.page || at >= trap.page + trap.size) {
        signal(number, SIG_DFL); /* a fault of the library itself: it occurs again */
        return;
    }
    trap.sprung = 1;
    mprotect(trap.page, trap.size, PROT_READ | PROT_EXEC);
}

static bool is_called(const subject *library, const void *routine) {
    struct sigaction on_fault = {.sa_sigaction = spring, .sa_flags = SA_SIGINFO}, kept;
    trap.size = (size_t)sysconf(_SC_PAGESIZE);
    trap.page = (char *)((uintptr_t)routine / trap.size * trap.size);
    trap.sprung = 0;
    if (mprotect(trap.page, trap.size, PROT_READ) != 0) {
        return false;
    }
    sigaction(SIGSEGV, &on_fault, &kept);
    try_product(library);
    sigaction(SIGSEGV, &kept, NULL);
    mprotect(trap.page, trap.size, PROT_READ | PROT_EXEC);
    return trap.sprung;
}

/* ---- Candidates for the target ---- */

/* Returns whether the object at `base` contains the routine, and the library calls it there. */
static bool leads_to(const subject *library, void *handle, uintptr_t base, const char *name) {
    Dl_info where;
    void *routine = dlsym(handle, name);
    return routine && dladdr(routine, &where) && (uintptr_t)where.dli_fbase == base && is_called(library, routine);
}

static bool leads_into(const subject *library, const char *path, uintptr_t base) {
    static const char *const stems[] = {"sgemm", "cblas_sgemm"};
    char name[64];
    bool found = false;
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    for (int i = 0; i < 2 && handle; i++) {
        const char *const *suffixes = i == 0 ? bp__affix_fortran : bp__affix_c;
        for (int p = 0; bp__affix_prefixes[p]; p++) {
            for (int s = 0; suffixes[s] && !found; s++) {
                snprintf(name, sizeof name, "%s%s%s", bp__affix_prefixes[p], stems[i], suffixes[s]);
                found = leads_to(library, handle, base, name);
            }
        }
    }
    if (handle) {
        dlclose(handle);
    }
    return found;
}

typedef struct suspicion {
    const subject *library;
    uintptr_t own; /* load address of the library itself */
} suspicion;

static bool suspect(void *user, const char *path, uintptr_t base) {
    const suspicion *s = user;
    if (base == s->own || was_there(base) || !leads_into(s->library, path, base)) {
        return true;
    }
    report("forwards", "%s", path);
    report_how("forwards", "its products are computed there");
    return false;
}

void find_forwarding(const subject *library) {
    Dl_info own;
    void *routine = library->kinds & BP_LIB_BLAS    ? fortran_routine(library, "sgemm")
                    : library->kinds & BP_LIB_CBLAS ? c_routine(library, "cblas_sgemm")
                                                    : NULL;
    if (!routine || !dladdr(routine, &own) || (library->family->flags & BP__FAMILY_PARTS)) {
        return;
    }
    report("step", "while testing whether it forwards products");
    bp__loaded_visit(suspect, &(suspicion){library, (uintptr_t)own.dli_fbase});
}
