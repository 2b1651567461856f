/* inspect_elf.c - reads the dynamic symbols, the needed libraries and the SONAME of an ELF file.
 *
 * The file may be damaged, or be written to while it is read. So it is read with pread(), and every size and offset is
 * checked before it is used.
 */
#include "inspect.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tables that are larger than in any known library are taken for damage. */
#define MOST_BYTES (UINT64_C(256) << 20)
enum { MOST_SECTIONS = 4096 };

typedef struct table {
    char *bytes;
    size_t size;
} table;

struct inspect_elf {
    table symbols, symbol_names, dynamic, dynamic_names;
};

/* Reads a part of the file. Texts end with a zero byte behind the table. */
static bool read_part(int file, uint64_t offset, uint64_t size, table *to) {
    if (size == 0 || size > MOST_BYTES || offset > (UINT64_C(1) << 62)) {
        return false;
    }
    to->bytes = malloc((size_t)size + 1);
    size_t got = 0;
    while (to->bytes && got < size) {
        const ssize_t now = pread(file, to->bytes + got, (size_t)size - got, (off_t)(offset + got));
        if (now <= 0) {
            break;
        }
        got += (size_t)now;
    }
    if (!to->bytes || got < size) {
        free(to->bytes);
        *to = (table){NULL, 0};
        return false;
    }
    to->bytes[got] = '\0';
    to->size = got;
    return true;
}

static bool read_section(int file, const Elf64_Shdr *sections, int count, int index, table *to) {
    return index > 0 && index < count && sections[index].sh_type != SHT_NOBITS &&
           read_part(file, sections[index].sh_offset, sections[index].sh_size, to);
}

static void read_sections(int file, const Elf64_Shdr *sections, int count, inspect_elf *elf) {
    for (int i = 0; i < count; i++) {
        table *entries = sections[i].sh_type == SHT_DYNSYM    ? &elf->symbols
                         : sections[i].sh_type == SHT_DYNAMIC ? &elf->dynamic
                                                              : NULL;
        table *names = entries == &elf->symbols ? &elf->symbol_names : &elf->dynamic_names;
        if (entries && !entries->bytes && read_section(file, sections, count, i, entries) &&
            !read_section(file, sections, count, (int)sections[i].sh_link, names)) {
            free(entries->bytes);
            *entries = (table){NULL, 0};
        }
    }
}

inspect_elf *inspect_elf_open(int file) {
    Elf64_Ehdr head;
    struct stat facts;
    table sections = {NULL, 0};
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shnum == 0 ||
        head.e_shnum > MOST_SECTIONS ||
        !read_part(file, head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr), &sections)) {
        return NULL;
    }
    inspect_elf *elf = cli_allocate(sizeof *elf);
    read_sections(file, (const Elf64_Shdr *)(void *)sections.bytes, head.e_shnum, elf);
    free(sections.bytes);
    return elf;
}

void inspect_elf_free(inspect_elf *elf) {
    if (elf) {
        free(elf->symbols.bytes);
        free(elf->symbol_names.bytes);
        free(elf->dynamic.bytes);
        free(elf->dynamic_names.bytes);
        free(elf);
    }
}

void inspect_elf_symbols(const inspect_elf *elf,
                         void (*each)(void *context, const char *name, uint64_t value, int type), void *context) {
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= elf->symbols.size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, elf->symbols.bytes + at, sizeof symbol);
        if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < elf->symbol_names.size) {
            each(context, elf->symbol_names.bytes + symbol.st_name, symbol.st_value, ELF64_ST_TYPE(symbol.st_info));
        }
    }
}

char *inspect_elf_needed(const inspect_elf *elf, char **soname) {
    char *needed = NULL;
    *soname = NULL;
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= elf->dynamic.size; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, elf->dynamic.bytes + at, sizeof entry);
        if (entry.d_tag == DT_NULL) {
            break;
        }
        const char *name =
            entry.d_un.d_val < elf->dynamic_names.size ? elf->dynamic_names.bytes + entry.d_un.d_val : NULL;
        if (name && entry.d_tag == DT_NEEDED) {
            needed = cli_join(needed, "\n", name);
        } else if (name && entry.d_tag == DT_SONAME && !*soname) {
            *soname = cli_format("%s", name);
        }
    }
    return needed;
}
