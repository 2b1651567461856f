/* redirect.c - makes an opened library call the process's error handlers.
 *
 * A program may define xerbla_ to handle wrong arguments, as R, Octave and the testers of BLAS and LAPACK do. A library
 * that was opened with RTLD_DEEPBIND calls its own definition. So its entries of the global offset table for these few
 * names are changed to the definition that it would have found without RTLD_DEEPBIND.
 */
#define _GNU_SOURCE
#include "dropin/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const redirected[] = {"xerbla_", "cblas_xerbla", "ilaenv_", "ilaenv2stage_"};

/* Returns the process's definition of a name that the library would call, unless it is the library's or one of ours
 * that only jumps to a library. */
static void *definition(const char *name, const struct link_map *map) {
    void *found = dlsym(RTLD_DEFAULT, name);
    Dl_info there, here;
    if (!found || dladdr(found, &there) == 0 || dladdr((void *)(uintptr_t)&bp__dropin_redirect, &here) == 0) {
        return NULL;
    }
    bool own = there.dli_fbase == here.dli_fbase && name[0] == 'i';
    return own || (uintptr_t)there.dli_fbase == map->l_addr ? NULL : found;
}

/* Writes a slot, which is in memory that may be read-only after relocation. */
static void write_slot(void **slot, void *value) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)slot & ~(page - 1));
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) == value) {
        return;
    }
    /* The page may have been read-only. It stays writable, as those of libraries without RELRO are. */
    if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0) {
        __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    }
}

static void redirect_one(const struct link_map *map, const Elf64_Sym *symbols, const char *strings,
                         const Elf64_Rela *relocation) {
    const char *name = strings + symbols[ELF64_R_SYM(relocation->r_info)].st_name;
    for (size_t i = 0; i < sizeof redirected / sizeof redirected[0]; i++) {
        if (strcmp(name, redirected[i]) == 0) {
            void *value = definition(name, map);
            if (value) {
                write_slot((void **)(map->l_addr + relocation->r_offset), value);
            }
        }
    }
}

static void redirect_map(const struct link_map *map) {
    const Elf64_Sym *symbols = NULL;
    const char *strings = NULL;
    const Elf64_Rela *relocations = NULL;
    size_t size = 0;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            symbols = (const Elf64_Sym *)entry->d_un.d_ptr;
            break;
        case DT_STRTAB:
            strings = (const char *)entry->d_un.d_ptr;
            break;
        case DT_JMPREL:
            relocations = (const Elf64_Rela *)entry->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            size = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (!symbols || !strings || !relocations || (uintptr_t)symbols < map->l_addr) {
        return; /* musl does not relocate these addresses */
    }
    for (size_t i = 0; i < size / sizeof *relocations; i++) {
        if (ELF64_R_TYPE(relocations[i].r_info) == R_X86_64_JUMP_SLOT) {
            redirect_one(map, symbols, strings, &relocations[i]);
        }
    }
}

void bp__dropin_redirect(void *handle) {
    struct link_map *map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        redirect_map(map);
    }
}
