/* audit.c - redirects the program's calls of math routines to the stubs of the hooks library, while the loader binds
 * them.
 *
 * The loader loads this object into a namespace of its own, for LD_AUDIT. It must need no library, because the C
 * library would be loaded a second time, and it must compute nothing, because the process's libraries are not in its
 * namespace. So it reads the hooks library through its link map, writes the program's own routine into an entry there,
 * and returns the address of that entry's stub.
 *
 * Bindings whose caller is a math library, an OpenMP runtime or Backplane are left alone. The width of integers follows
 * from the name, or else from the object that defines it.
 */
#define _GNU_SOURCE
#include "dropin/files.h"
#include "dropin/routines.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- Texts ---- */

static int same_text(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* ---- Symbols of a loaded object ---- */

typedef struct symbols {
    const Elf64_Sym *table;
    const char *strings;
    const uint32_t *gnu;
    const uint32_t *sysv;
    uintptr_t base;
} symbols;

static void read_symbols(const struct link_map *map, symbols *s) {
    *s = (symbols){.base = map->l_addr};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        /* The loader has made addresses of these offsets, but not in read-only dynamic sections such as the vDSO's. */
        uintptr_t at = entry->d_un.d_ptr;
        at += at < map->l_addr ? map->l_addr : 0;
        switch (entry->d_tag) {
        case DT_SYMTAB:
            s->table = (const Elf64_Sym *)at;
            break;
        case DT_STRTAB:
            s->strings = (const char *)at;
            break;
        case DT_GNU_HASH:
            s->gnu = (const uint32_t *)at;
            break;
        case DT_HASH:
            s->sysv = (const uint32_t *)at;
            break;
        default:
            break;
        }
    }
}

static int defines_at(const symbols *s, uint32_t index, const char *name) {
    const Elf64_Sym *symbol = &s->table[index];
    return symbol->st_shndx != SHN_UNDEF && same_text(s->strings + symbol->st_name, name);
}

static const Elf64_Sym *find_gnu(const symbols *s, const char *name) {
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        hash = hash * 33 + *c;
    }
    uint32_t buckets = s->gnu[0], first = s->gnu[1], words = s->gnu[2], shift = s->gnu[3];
    const uint64_t *bloom = (const uint64_t *)(const void *)(s->gnu + 4);
    const uint32_t *bucket = (const uint32_t *)(const void *)(bloom + words);
    const uint32_t *chain = bucket + buckets;
    if (!buckets || !words) {
        return 0;
    }
    uint64_t word = bloom[hash / 64 % words];
    if (!(word >> (hash % 64) & word >> ((hash >> shift) % 64) & 1)) {
        return 0;
    }
    for (uint32_t index = bucket[hash % buckets]; index >= first && index != 0; index++) {
        uint32_t entry = chain[index - first];
        if ((entry | 1) == (hash | 1) && defines_at(s, index, name)) {
            return &s->table[index];
        }
        if (entry & 1) {
            return 0;
        }
    }
    return 0;
}

static const Elf64_Sym *find_symbol(const symbols *s, const char *name) {
    if (!s->table || !s->strings) {
        return 0;
    }
    if (s->gnu) {
        return find_gnu(s, name);
    }
    for (uint32_t i = 1; s->sysv && i < s->sysv[1]; i++) {
        if (defines_at(s, i, name)) {
            return &s->table[i];
        }
    }
    return 0;
}

/* ---- Names ---- */

static const char *const names[] = {
#define X(name, ...) #name,
    BP__DROPIN_NAMES(X)
#undef X
};

enum { BUCKETS = 8192 };
static uint16_t buckets[BUCKETS]; /* number of a routine plus 1 */

static uint32_t hash_of(const char *text, unsigned length) {
    uint32_t hash = 2166136261u;
    for (unsigned i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    }
    return hash % BUCKETS;
}

static unsigned length_of(const char *text) {
    unsigned length = 0;
    while (text[length]) {
        length++;
    }
    return length;
}

static void fill_buckets(void) {
    for (unsigned i = 0; i < BP__DROPIN_ROUTINES; i++) {
        uint32_t at = hash_of(names[i], length_of(names[i]));
        while (buckets[at]) {
            at = (at + 1) % BUCKETS;
        }
        buckets[at] = (uint16_t)(i + 1);
    }
}

static int lookup(const char *text, unsigned length) {
    for (uint32_t at = hash_of(text, length); buckets[at]; at = (at + 1) % BUCKETS) {
        const char *name = names[buckets[at] - 1];
        unsigned i = 0;
        while (i < length && name[i] == text[i]) {
            i++;
        }
        if (i == length && name[i] == 0) {
            return buckets[at] - 1;
        }
    }
    return -1;
}

static int ends(const char *text, unsigned length, const char *tail) {
    unsigned size = length_of(tail);
    for (unsigned i = 0; i < size; i++) {
        if (length < size || text[length - size + i] != tail[i]) {
            return 0;
        }
    }
    return 1;
}

/* Finds the routine of a name: dgemm_, dgemm_64_, scipy_dgemm_64_, dgemm_64, cblas_dgemm, cblas_dgemm64_,
 * cblas_dgemm_64, fftw_execute. Sets *wide to 1 or 0, or to -1 if the name does not tell. */
static int parse_routine(const char *name, int *wide) {
    const char *rest = bp__dropin_after(name, "scipy_");
    name = rest ? rest : name;
    unsigned length = length_of(name);
    if (bp__dropin_after(name, "fftw")) {
        *wide = 0;
        return lookup(name, length);
    }
    int c = bp__dropin_after(name, "cblas_") != 0;
    static const char *const tails[] = {"_64_", "_64", "64_"};
    for (unsigned i = 0; i < 3; i++) {
        if (ends(name, length, tails[i])) {
            *wide = 1;
            return lookup(name, length - length_of(tails[i]));
        }
    }
    *wide = -1;
    if (c) {
        return lookup(name, length);
    }
    if (!ends(name, length, "_")) {
        return -1;
    }
    /* FFTW's Fortran functions also have a form with two underscores, which some compilers use. */
    bool two = ends(name, length, "__") && bp__dropin_after(name + 1, "fftw_");
    return lookup(name, length - (two ? 2 : 1));
}

/* ---- Objects of the process ---- */

/* What an object is. The loader keeps it with the object, as its cookie. The flags that la_objopen() returns are not
 * sufficient: for dlsym(), glibc asks if either the caller or the definer wants it. */
enum { PLAIN = 0, NARROW_LIBRARY = 1, WIDE_LIBRARY = 2, WIDTH = 3, EXEMPT = 4 };

/* The hooks library. Its object is not relocated when the first names are bound, so only addresses of its symbols and
 * plain numbers are used. */
static struct {
    bp__dropin_slot *entries;
    char *sized_stubs, *stubs;
    void *enter;
} hooks;
static int is_probe;                   /* the program is Backplane's own helper, which calls each library itself */
static const struct link_map *program; /* it is opened before the hooks library */

/* Routines: any math library, or any program with its own copy of one, defines at least one of them. */
static const char *const typical[] = {"dgemm_",       "sgemm_",        "cblas_dgemm",       "cblas_sgemm",
                                      "dgemm_64_",    "dgemm_64",      "dgetrf_",           "sgetrf_",
                                      "dgetrf_64_",   "dsyevd_",       "scipy_dgemm_",      "scipy_dgemm_64_",
                                      "fftw_execute", "fftwf_execute", "fftw_init_threads", "fftwf_init_threads"};

static int defines_math(const symbols *s) {
    for (unsigned i = 0; i < sizeof typical / sizeof typical[0]; i++) {
        if (find_symbol(s, typical[i])) {
            return 1;
        }
    }
    return 0;
}

static void *address(const symbols *s, const char *name) {
    const Elf64_Sym *symbol = find_symbol(s, name);
    return symbol ? (void *)(s->base + symbol->st_value) : 0;
}

static void find_hooks(const symbols *s) {
    const bp__dropin_hooks *found = address(s, "bp_hooks");
    hooks.sized_stubs = address(s, "bp_hooks_sized_stubs");
    hooks.stubs = address(s, "bp_hooks_stubs");
    hooks.enter = address(s, "bp_hooks_enter");
    if (found && hooks.sized_stubs && hooks.stubs && hooks.enter && found->version == BP__DROPIN_VERSION &&
        found->routines == BP__DROPIN_ROUTINES && found->slots == BP__DROPIN_SLOTS) {
        fill_buckets();
        hooks.entries = address(s, "bp_hooks_entries");
    }
}

/* Calls the system, because there is no C library here. */
static long call_system(long number, const void *first, uintptr_t second, unsigned long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

static long read_link(const char *path, char *buffer, unsigned long size) {
    return call_system(89 /* readlink */, path, (uintptr_t)buffer, size);
}

static long protect(uintptr_t first, uintptr_t end, unsigned long protection) {
    return call_system(10 /* mprotect */, (const void *)first, end - first, protection);
}

/* ---- Addresses of routines in tables ----
 *
 * The loader asks auditors about calls, which are relocations of the kind JUMP_SLOT. An address of a routine in a
 * table, as in SciPy's modules that f2py makes, or of a program that is compiled with -fno-plt, has the kind 64 or
 * GLOB_DAT, about which it does not ask. With an addend of 0 the kinds mean the same. So la_objopen(), which runs
 * before the object is relocated, makes JUMP_SLOT of them. Before glibc 2.35 the loader does not ask about these
 * either. */

enum { READ = 1, WRITE = 2, EXECUTE = 4, PAGE = 4096 };

typedef struct relocations {
    Elf64_Rela *table;
    uintptr_t size;
} relocations;

static relocations relocations_of(const struct link_map *map) {
    relocations r = {0};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        uintptr_t at = entry->d_un.d_ptr;
        if (entry->d_tag == DT_RELA) {
            r.table = (Elf64_Rela *)(at < map->l_addr ? at + map->l_addr : at);
        } else if (entry->d_tag == DT_RELASZ) {
            r.size = entry->d_un.d_val;
        }
    }
    return r;
}

/* Returns how the segment with the address is mapped; 0 if the object's header does not tell. */
static unsigned long protection_of(uintptr_t base, uintptr_t at) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)base;
    if (!base || !bp__dropin_after((const char *)header->e_ident, ELFMAG) ||
        header->e_phentsize != sizeof(Elf64_Phdr)) {
        return 0;
    }
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(base + header->e_phoff);
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && at - base - segments[i].p_vaddr < segments[i].p_memsz) {
            return (segments[i].p_flags & PF_R ? READ : 0u) | (segments[i].p_flags & PF_W ? WRITE : 0u) |
                   (segments[i].p_flags & PF_X ? EXECUTE : 0u);
        }
    }
    return 0;
}

static bool is_address_of_routine(const Elf64_Rela *relocation, const symbols *s) {
    const unsigned long kind = ELF64_R_TYPE(relocation->r_info);
    const Elf64_Sym *symbol = &s->table[ELF64_R_SYM(relocation->r_info)];
    int wide;
    return (kind == R_X86_64_64 || kind == R_X86_64_GLOB_DAT) && relocation->r_addend == 0 &&
           symbol->st_shndx == SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT &&
           parse_routine(s->strings + symbol->st_name, &wide) >= 0;
}

/* Makes calls of the addresses of routines, so that the loader asks about them. */
static void convert_addresses(const struct link_map *map, const symbols *s) {
    const relocations r = relocations_of(map);
    const uintptr_t first = (uintptr_t)r.table & ~(uintptr_t)(PAGE - 1);
    const uintptr_t end = ((uintptr_t)r.table + r.size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    const unsigned long protection = r.table && s->table && s->strings ? protection_of(s->base, (uintptr_t)r.table) : 0;
    bool writable = (protection & WRITE) != 0;
    for (uintptr_t i = 0; protection && i < r.size / sizeof *r.table; i++) {
        if (!is_address_of_routine(&r.table[i], s)) {
            continue;
        }
        writable = writable || protect(first, end, protection | WRITE) == 0;
        if (!writable) {
            return;
        }
        r.table[i].r_info = ELF64_R_INFO(ELF64_R_SYM(r.table[i].r_info), (uint64_t)R_X86_64_JUMP_SLOT);
    }
    if (writable && !(protection & WRITE)) {
        protect(first, end, protection);
    }
}

/* ---- What the loader calls ---- */

EXPORT unsigned int la_version(unsigned int version) {
    char path[4096];
    long length = read_link("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    is_probe = bp__dropin_after(bp__dropin_file_name(path), "backplane-probe") != 0;
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie) {
    const char *path = map->l_name ? map->l_name : "";
    const char *name = bp__dropin_file_name(path);
    symbols s;
    *cookie = EXEMPT;
    if (space != LM_ID_BASE || is_probe) {
        return 0;
    }
    read_symbols(map, &s);
    if (bp__dropin_after(name, "libbackplane-hooks")) {
        find_hooks(&s);
        if (hooks.entries && program) {
            read_symbols(program, &s);
            convert_addresses(program, &s);
        }
        return 0;
    }
    program = program ? program : map;
    bool exempt = bp__dropin_is_exempt(path);
    bool library = !bp__dropin_after(name, "libbackplane") && defines_math(&s);
    if (hooks.entries && !exempt && !library) {
        convert_addresses(map, &s);
    }
    *cookie = (exempt ? EXEMPT : 0) | (!library ? PLAIN : bp__dropin_is_wide(name) ? WIDE_LIBRARY : NARROW_LIBRARY);
    return (exempt ? 0 : LA_FLG_BINDFROM) | (library ? LA_FLG_BINDTO : 0);
}

/* ---- Bindings ---- */

/* Gives a word its first value. */
static void fill_stub(void **word, void *value) {
    void *none = 0;
    __atomic_compare_exchange_n(word, &none, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Returns the entry of a routine's definition, or -1 if it has too many of them. Threads bind names at the same time,
 * and a lock could be held while another one forks, so each word is written with one exchange. */
static long entry_of(int routine, int wide, uintptr_t definition) {
    long first = ((long)routine * 2 + wide) * BP__DROPIN_SLOTS;
    for (long i = first; i < first + BP__DROPIN_SLOTS; i++) {
        bp__dropin_slot *entry = &hooks.entries[i];
        fill_stub(&entry->small, hooks.enter);
        fill_stub(&entry->large, hooks.enter);
        fill_stub(&entry->original, (void *)definition);
        if ((uintptr_t)__atomic_load_n(&entry->original, __ATOMIC_RELAXED) == definition) {
            return i;
        }
    }
    return -1;
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned int index, uintptr_t *caller, uintptr_t *definer,
                              unsigned int *flags, const char *name) {
    (void)index;
    (void)flags;
    int wide;
    if (!hooks.entries || *caller & EXEMPT || (*definer & WIDTH) == PLAIN) {
        return symbol->st_value;
    }
    int routine = parse_routine(name, &wide);
    if (routine < 0) {
        return symbol->st_value;
    }
    long entry = entry_of(routine, wide < 0 ? (*definer & WIDTH) == WIDE_LIBRARY : wide, symbol->st_value);
    if (entry < 0) {
        return symbol->st_value;
    }
    const long sized = BP__DROPIN_SIZED_ENTRIES;
    return (uintptr_t)(entry < sized ? hooks.sized_stubs + entry * BP__DROPIN_SIZED_STUB
                                     : hooks.stubs + (entry - sized) * BP__DROPIN_STUB);
}
