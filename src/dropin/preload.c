/* preload.c - finds the routine that a program's call would have reached if this library were not preloaded.
 *
 * It is the way without an audit object: the names of the routines are exported and precede the names of all libraries.
 * One name may have several definitions, of different widths, in libraries that were opened locally. So the caller
 * decides: if no definition is visible to the whole process, it is the one that the caller's own dependencies have. The
 * answer is kept for each caller, and the caller stays loaded, so that its addresses are not reused.
 */
#define _GNU_SOURCE
#include "dropin/entry.h"
#include "dropin/files.h"
#include "dropin/search.h"

#include <dlfcn.h>
#include <fenv.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* An object of the process that has called a routine. */
typedef struct caller {
    uintptr_t low, high;
    void *handle; /* NULL: the program itself */
    bool exempt;
} caller;

/* What an entry does for calls from one object. */
typedef struct binding {
    const caller *from;
    bp__dropin_target target;
    bool plain; /* the call is passed on: its caller is a math library, or the routine has other integers */
} binding;

enum { MOST_CALLERS = 256, MOST_BINDINGS = 4 };
static caller callers[MOST_CALLERS];
static int caller_count;
static binding bindings[BP__DROPIN_ENTRIES][MOST_BINDINGS];
static unsigned char binding_count[BP__DROPIN_ENTRIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of fork() has one thread, so the lock of another one is free there. */
static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_fork(void) {
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* ---- Callers ---- */

typedef struct range {
    uintptr_t address, low, high;
} range;

static int find_range(struct dl_phdr_info *info, size_t size, void *user) {
    range *r = user;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD) {
            uintptr_t start = info->dlpi_addr + segment->p_vaddr;
            low = start < low ? start : low;
            high = start + segment->p_memsz > high ? start + segment->p_memsz : high;
        }
    }
    if (r->address < low || r->address >= high) {
        return 0;
    }
    r->low = low;
    r->high = high;
    return 1;
}

static const caller *caller_at(uintptr_t address) {
    int count = __atomic_load_n(&caller_count, __ATOMIC_ACQUIRE);
    for (int i = 0; i < count; i++) {
        if (address >= callers[i].low && address < callers[i].high) {
            return &callers[i];
        }
    }
    return NULL;
}

/* Describes the object of an address. Returns false if the address is in none. Holds no lock: the loader's own one must
 * not be taken inside another, because a thread that holds it may run a constructor that calls a routine. */
static bool describe_caller(uintptr_t address, caller *found) {
    range r = {.address = address};
    Dl_info where;
    if (!dl_iterate_phdr(find_range, &r) || !dladdr((void *)address, &where) || !where.dli_fname) {
        return false;
    }
    *found = (caller){.low = r.low, .high = r.high, .exempt = bp__dropin_is_exempt(where.dli_fname)};
    found->handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD); /* the program itself has none by its name */
    return true;
}

/* Adds the object of an address, unless another thread has done it. Returns NULL if there are too many. */
static const caller *add_caller(uintptr_t address) {
    caller made;
    if (!describe_caller(address, &made)) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    const caller *known = caller_at(address);
    if (!known && caller_count < MOST_CALLERS) {
        known = &callers[caller_count];
        callers[caller_count] = made;
        __atomic_store_n(&caller_count, caller_count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return known;
}

/* ---- Definitions ---- */

/* Returns the object of an address if it is not this one. */
static const char *object_of(void *address) {
    Dl_info there, here;
    if (!address || !dladdr(address, &there) || !dladdr((void *)(uintptr_t)&bp__dropin_enter, &here) ||
        there.dli_fbase == here.dli_fbase) {
        return NULL;
    }
    return there.dli_fname;
}

static bool is_of_another_object(void *definition, const void *user) {
    (void)user;
    return object_of(definition) != NULL;
}

/* The order is the loader's: what is visible to the whole process, then the caller's own dependencies. All objects are
 * searched for a caller whose dependencies do not tell. */
static void *definition_for(const caller *from, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!object_of(found) && from && from->handle) {
        found = dlsym(from->handle, name);
    }
    return object_of(found) ? found : bp__dropin_search(name, is_of_another_object, NULL);
}

/* Makes the exported name of an entry: the stem with the prefix and the suffix of its spelling. */
static void spell(const bp__dropin_slot *slot, char *name, size_t size) {
    int routine = bp__dropin_routine(slot);
    bp__dropin_family family = bp__dropin_family_of(routine);
    bool fftw = family == BP__DROPIN_FAMILY_FFTW, c = family == BP__DROPIN_FAMILY_CBLAS;
    bool prefixed = bp__dropin_index(slot) % BP__DROPIN_SLOTS == 1;
    c = c || (fftw && !bp__dropin_is_fftw_fortran(routine));
    const char *suffix = bp__dropin_wide(slot) ? (c ? "64_" : "_64_") : c ? "" : "_";
    snprintf(name, size, "%s%s%s", prefixed ? "scipy_" : "", bp__dropin_names[routine], suffix);
}

/* ---- Calls ---- */

static const binding *binding_of(int index, const caller *from) {
    int count = __atomic_load_n(&binding_count[index], __ATOMIC_ACQUIRE);
    for (int i = 0; i < count; i++) {
        if (bindings[index][i].from == from) {
            return &bindings[index][i];
        }
    }
    return NULL;
}

/* Fills what an entry does for calls from an object. */
static void bind(const bp__dropin_slot *slot, const caller *from, bool in_loader, binding *made) {
    char name[128];
    spell(slot, name, sizeof name);
    void *original = definition_for(from, name);
    const char *own = object_of(original);
    if (!own) {
        bp__dropin_say("backplane: the program calls %s, which no loaded library defines\n", name);
        bp__dropin_end();
    }
    bool other_width = !bp__dropin_wide(slot) && bp__dropin_is_wide(bp__dropin_file_name(own));
    own = bp__dropin_keep(own);
    *made = (binding){.from = from, .plain = !from || from->exempt || other_width};
    made->target = (bp__dropin_target){.routine = original, .library = own, .own = own};
    if (!made->plain && !in_loader) {
        bp__dropin_choose_launched(slot, original, own, &made->target);
        made->target.deed = bp__dropin_deed_of(bp__dropin_routine(slot), &made->target);
    }
}

static void learn_binding(bp__dropin_slot *slot, uintptr_t address, binding *made) {
    int index = bp__dropin_index(slot);
    bp__dropin_visit visit;
    bp__dropin_visit_begin(&visit);
    const caller *from = caller_at(address);
    from = from ? from : add_caller(address);
    fenv_t state; /* choosing computes, and the program must see no exception of that */
    feholdexcept(&state);
    bool in_loader = bp__dropin_in_loader();
    const int64_t start = bp__dropin_policy_get()->record ? bp__dropin_now() : 0;
    bind(slot, from, in_loader, made); /* may open libraries, so the lock is not held */
    if (bp__dropin_policy_get()->record) {
        bp__dropin_record_discovery(bp__dropin_now() - start);
    }
    fesetenv(&state);
    pthread_mutex_lock(&lock);
    if (from && (made->plain || !in_loader) && binding_count[index] < MOST_BINDINGS && !binding_of(index, from)) {
        bindings[index][binding_count[index]] = *made;
        __atomic_store_n(&binding_count[index], binding_count[index] + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    bp__dropin_visit_end(&visit);
}

void *bp__dropin_entry(bp__dropin_slot *slot, bp__dropin_frame *frame) {
    uintptr_t address = (uintptr_t)frame->caller;
    const caller *from = caller_at(address);
    bool inside = bp__dropin_inside();
    const binding *known = from ? binding_of(bp__dropin_index(slot), from) : NULL;
    binding made;
    if (!known) {
        learn_binding(slot, address, &made);
        known = &made;
    }
    return bp__dropin_run(slot, frame, &known->target, inside || known->plain);
}
