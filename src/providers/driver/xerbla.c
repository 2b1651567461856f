/* xerbla.c - captures reports of illegal arguments from LAPACK libraries.
 *
 * Routines report to xerbla, which prints; netlib's version then ends the process. Arguments are checked before every
 * call, so a report means that a check is missing. A library that was linked so that others may replace xerbla, as
 * Fortran libraries are, calls it through its GOT entries. We redirect those entries, in every loaded object, if they
 * point to this library's xerbla. Calls that no thread captures go to the original function, since the program may use
 * the library too. A library that binds such calls internally (SciPy's OpenBLAS, MKL) has no entries; its own xerbla
 * prints and returns.
 */
#include "providers/driver/driver.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void function(const char *routine, const void *argument, size_t length);

static _Thread_local bp__driver_illegal *capture;

bp__driver_illegal *bp__driver_capture_xerbla(bp__driver_illegal *illegal) {
    bp__driver_illegal *before = capture;
    capture = illegal;
    return before;
}

/* ---- One handler for each redirected library, because each must know its original function ---- */

#define HANDLERS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define COUNT(i) +1
enum { MOST = HANDLERS(COUNT) };

static struct {
    _Atomic(function *) original;
    int bits; /* of the library's integer */
} intercepted[MOST];

static void report(int index, const char *routine, const void *argument, size_t length) {
    if (!capture) {
        atomic_load (&intercepted[index].original)(routine, argument, length);
        return;
    }
    size_t most = sizeof capture->routine - 1, size = length < most ? length : most;
    while (size > 0 && routine[size - 1] == ' ') {
        size--;
    }
    memcpy(capture->routine, routine, size);
    capture->routine[size] = '\0';
    capture->argument = intercepted[index].bits == 64 ? *(const int64_t *)argument : *(const int32_t *)argument;
}

#define DEFINE(i)                                                                                                      \
    static void report_##i(const char *routine, const void *argument, size_t length) {                                 \
        report(i, routine, argument, length);                                                                          \
    }
HANDLERS(DEFINE)
#define NAME(i) report_##i,
static function *const handlers[] = {HANDLERS(NAME)};

/* ---- GOT entries ---- */

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#endif

#ifdef JUMP_SLOT
typedef struct search {
    const char *name;
    function *original, *instead;
} search;

typedef struct tables {
    const Elf64_Sym *symbols;
    const char *names;
    const Elf64_Rela *slots;
    size_t count;
    uintptr_t read_only, read_only_end; /* pages that are read-only after relocation */
} tables;

/* Returns an absolute address. glibc makes these addresses absolute, but not in every object. */
static const void *pointer(const struct dl_phdr_info *object, Elf64_Addr address) {
    return (const void *)(address < object->dlpi_addr ? object->dlpi_addr + address : address);
}

static void read_dynamic(const struct dl_phdr_info *object, const Elf64_Dyn *entry, tables *t) {
    bool with_addend = false;
    for (; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            t->symbols = pointer(object, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            t->names = pointer(object, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            t->slots = pointer(object, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            t->count = entry->d_un.d_val / sizeof(Elf64_Rela);
            break;
        case DT_PLTREL:
            with_addend = entry->d_un.d_val == DT_RELA;
            break;
        default:
            break;
        }
    }
    t->count = with_addend && t->symbols && t->names && t->slots ? t->count : 0;
}

static tables tables_of(const struct dl_phdr_info *object) {
    tables t = {0};
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const Elf64_Phdr *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_DYNAMIC) {
            read_dynamic(object, (const Elf64_Dyn *)start, &t);
        } else if (segment->p_type == PT_GNU_RELRO) {
            t.read_only = start;
            t.read_only_end = start + segment->p_memsz;
        }
    }
    return t;
}

/* Redirects one entry. Other threads see the old or the new address. Changes nothing if the page cannot be made
 * writable. */
static void redirect(_Atomic(function *) *slot, function *to, const tables *t) {
    uintptr_t address = (uintptr_t)slot, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)(address & ~(page - 1));
    bool is_read_only = address >= t->read_only && address < (t->read_only_end & ~(page - 1));
    if (is_read_only && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) {
        return;
    }
    atomic_store(slot, to);
    if (is_read_only) {
        mprotect(start, page, PROT_READ);
    }
}

/* Redirects the entries of one object. The loader's lock is held, so no object is unloaded and no other thread is here.
 */
static int redirect_object(struct dl_phdr_info *object, size_t size, void *context) {
    const search *s = context;
    tables t = tables_of(object);
    (void)size;
    for (size_t i = 0; i < t.count; i++) {
        const Elf64_Rela *relocation = &t.slots[i];
        const Elf64_Sym *symbol = &t.symbols[ELF64_R_SYM(relocation->r_info)];
        if (ELF64_R_TYPE(relocation->r_info) != JUMP_SLOT || strcmp(t.names + symbol->st_name, s->name) != 0) {
            continue;
        }
        _Atomic(function *) *slot = (_Atomic(function *) *)(object->dlpi_addr + relocation->r_offset);
        if (atomic_load(slot) == s->original) {
            redirect(slot, s->instead, &t);
        }
    }
    return 0;
}
#endif

void bp__driver_intercept_xerbla(bp__driver *driver) {
#ifdef JUMP_SLOT
    const bp_library_info *library = driver->library;
    char name[64];
    snprintf(name, sizeof name, "%sxerbla%s", library->prefix, library->suffix);
    function *original = (function *)driver->host->symbol(driver->handle, name);
    for (int i = 0; original && i < MOST; i++) {
        function *seen = NULL;
        if (atomic_compare_exchange_strong(&intercepted[i].original, &seen, original)) {
            intercepted[i].bits = library->int_bits;
            dl_iterate_phdr(redirect_object, &(search){name, original, handlers[i]});
            return;
        }
        if (seen == original) {
            return;
        }
    }
#else
    (void)driver;
    (void)handlers;
#endif
}

bp_status bp__driver_fail_illegal(const bp__driver *driver, const bp__driver_illegal *illegal) {
    return driver->host->fail(BP_E_INTERNAL, "library '%s' reports argument %d of %s as illegal", driver->library->id,
                              (int)illegal->argument, illegal->routine);
}
