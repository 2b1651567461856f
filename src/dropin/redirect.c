/* redirect.c - makes an opened library call the process's error handlers.
 *
 * A program may define xerbla_ to handle wrong arguments, as R, Octave and the testers of BLAS and LAPACK do. A library
 * that was opened with RTLD_DEEPBIND calls its own definition. So its entries of the global offset table for these few
 * names are changed to the definition that it would have found without RTLD_DEEPBIND.
 */
#define _GNU_SOURCE
#include "dropin/files.h"
#include "dropin/library.h"
#include "dropin/search.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const redirected[] = {"xerbla_", "cblas_xerbla", "ilaenv_", "ilaenv2stage_"};

/* The library whose calls are redirected. */
typedef struct object {
    const struct link_map *map;
    const Elf64_Sym *symbols;
    const char *strings;
    bool wide;
} object;

/* Returns whether an object is a drop-in library: this one, or the one for BLAS or for LAPACK. */
static bool is_dropin(const Dl_info *found) {
    Dl_info there;
    void *handle = dlopen(found->dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void *mark = handle ? dlsym(handle, "bp_dropin_forwards") : NULL;
    bool same = mark && dladdr(mark, &there) != 0 && there.dli_fbase == found->dli_fbase;
    if (handle) {
        dlclose(handle);
    }
    return same;
}

static bool is_handler(const char *name) {
    return strstr(name, "xerbla") != NULL;
}

/* Returns whether a definition is the program's own one. Definitions of other math libraries do not count: netlib's
 * definition ends the program, and their integers may have another width. */
static bool is_of_program(void *definition, const void *user) {
    const object *library = user;
    Dl_info there;
    return dladdr(definition, &there) != 0 && (uintptr_t)there.dli_fbase != library->map->l_addr &&
           !bp__dropin_is_exempt(there.dli_fname);
}

/* Returns whether a definition belongs to a module that calls BLAS, and has none itself. */
static bool is_of_module(void *definition, const void *user) {
    Dl_info there, routine;
    void *handle = is_of_program(definition, user) && dladdr(definition, &there)
                       ? dlopen(there.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                       : NULL;
    void *called = handle ? dlsym(handle, "dgemm_") : NULL; /* its own one, or one of a library that it needs */
    if (handle) {
        dlclose(handle);
    }
    return called && dladdr(called, &routine) && routine.dli_fbase != there.dli_fbase;
}

/* Returns the definition that the library would call without RTLD_DEEPBIND, if it is the program's own one, or the
 * error handler of a drop-in library. If the whole process sees none, BLAS was opened locally, with a module that may
 * have the handler, as Python's modules do. */
static void *definition(const char *name, const object *library) {
    void *found = dlsym(RTLD_DEFAULT, name);
    Dl_info there;
    if (!found) {
        return is_handler(name) ? bp__dropin_search(name, is_of_module, library) : NULL;
    }
    if (dladdr(found, &there) != 0 && is_dropin(&there)) {
        return is_handler(name) && !library->wide ? found : NULL; /* our ilaenv_ only jumps to a library */
    }
    return is_of_program(found, library) ? found : NULL;
}

/* Writes a slot, which is in memory that may be read-only after relocation. */
static void write_slot(void **slot, void *value) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)slot & ~(page - 1));
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) == value) {
        return;
    }
    /* The page may have been read-only. It stays writable, as pages of libraries without RELRO are. */
    if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0) {
        __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    }
}

static void redirect_one(const object *library, const Elf64_Rela *relocation) {
    const char *name = library->strings + library->symbols[ELF64_R_SYM(relocation->r_info)].st_name;
    for (size_t i = 0; i < sizeof redirected / sizeof redirected[0]; i++) {
        if (strcmp(name, redirected[i]) == 0) {
            void *value = definition(name, library);
            if (value) {
                write_slot((void **)(library->map->l_addr + relocation->r_offset), value);
            }
        }
    }
}

/* musl leaves offsets in the dynamic section, and glibc makes addresses of them. */
static const void *address(const struct link_map *map, uintptr_t at) {
    return (const void *)(at < map->l_addr ? at + map->l_addr : at);
}

static void redirect_all(object *library) {
    const struct link_map *map = library->map;
    const Elf64_Rela *relocations = NULL;
    size_t size = 0;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB:
            library->symbols = address(map, entry->d_un.d_ptr);
            break;
        case DT_STRTAB:
            library->strings = address(map, entry->d_un.d_ptr);
            break;
        case DT_JMPREL:
            relocations = address(map, entry->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            size = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    if (!library->symbols || !library->strings || !relocations) {
        return;
    }
    for (size_t i = 0; i < size / sizeof *relocations; i++) {
        if (ELF64_R_TYPE(relocations[i].r_info) == R_X86_64_JUMP_SLOT) {
            redirect_one(library, &relocations[i]);
        }
    }
}

void bp__dropin_redirect(void *handle, bool wide) {
    struct link_map *map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        object library = {.map = map, .wide = wide};
        redirect_all(&library);
    }
}

bool bp__dropin_has_handler_of_c(void) {
    void *found = dlsym(RTLD_DEFAULT, "cblas_xerbla");
    Dl_info there;
    return found && dladdr(found, &there) != 0 && !is_dropin(&there) && !strstr(there.dli_fname, "libmkl_");
}
