/* elf.c - reads facts from ELF files and checks every offset; see elf.h. */
#include "registry/elf.h"
#include "base/uncancelled.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The linker places this symbol at our own ELF header. The header describes what this process can load. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static bool is_inside(const bp__elf *elf, uint64_t offset, uint64_t length) {
    return offset <= elf->size && length <= elf->size - offset;
}

/* Returns the unsigned number of `width` bytes at a file offset; 0 if it is outside the file. */
static uint64_t number_at(const bp__elf *elf, uint64_t offset, unsigned width) {
    if (!is_inside(elf, offset, width)) {
        return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        unsigned place = elf->big ? width - 1 - i : i;
        value |= (uint64_t)elf->bytes[offset + i] << (8 * place);
    }
    return value;
}

static unsigned word(const bp__elf *elf) {
    return elf->wide ? 8 : 4;
}

/* Returns the file offset of what is loaded at `address`; `left` is the rest of that segment. 0 means an invalid
 * address. */
static uint64_t offset_of(const bp__elf *elf, uint64_t address, uint64_t *left) {
    for (int i = 0; i < elf->load_count; i++) {
        const bp__elf_segment *segment = &elf->load[i];
        if (address >= segment->address && address - segment->address < segment->size) {
            uint64_t skip = address - segment->address;
            *left = segment->size - skip;
            return segment->offset + skip;
        }
    }
    *left = 0;
    return 0;
}

/* Returns a string of the dynamic string table; NULL unless it ends inside the table. */
static const char *string_at(const bp__elf *elf, uint64_t index) {
    if (index >= elf->strings_size) {
        return NULL;
    }
    const char *text = (const char *)elf->bytes + elf->strings + index;
    return memchr(text, 0, (size_t)(elf->strings_size - index)) ? text : NULL;
}

static void read_notes(bp__elf *elf, uint64_t offset, uint64_t size) {
    static const char digits[] = "0123456789abcdef";
    if (!is_inside(elf, offset, size)) {
        return;
    }
    uint64_t end = offset + size;
    while (end - offset >= 12) {
        uint64_t name_size = number_at(elf, offset, 4);
        uint64_t data_size = number_at(elf, offset + 4, 4);
        uint64_t type = number_at(elf, offset + 8, 4);
        uint64_t name = offset + 12;
        uint64_t name_padded = (name_size + 3) & ~UINT64_C(3);
        uint64_t data_padded = (data_size + 3) & ~UINT64_C(3);
        if (name_padded > end - name || data_padded > end - name - name_padded) {
            return;
        }
        uint64_t data = name + name_padded;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(elf->bytes + name, "GNU", 4) == 0 && data_size > 0 &&
            data_size * 2 < sizeof elf->build_id) {
            for (uint64_t i = 0; i < data_size; i++) {
                elf->build_id[2 * i] = digits[elf->bytes[data + i] >> 4];
                elf->build_id[2 * i + 1] = digits[elf->bytes[data + i] & 15];
            }
            elf->build_id[2 * data_size] = 0;
            return;
        }
        offset = data + data_padded;
    }
}

static bool read_header(bp__elf *elf, const char **why) {
    const unsigned char *id = elf->bytes;
    if (elf->size < EI_NIDENT + 8 || memcmp(id, ELFMAG, SELFMAG) != 0) {
        *why = "not an ELF file";
        return false;
    }
    if ((id[EI_CLASS] != ELFCLASS32 && id[EI_CLASS] != ELFCLASS64) ||
        (id[EI_DATA] != ELFDATA2LSB && id[EI_DATA] != ELFDATA2MSB)) {
        *why = "an ELF file of unknown class or byte order";
        return false;
    }
    elf->wide = id[EI_CLASS] == ELFCLASS64;
    elf->big = id[EI_DATA] == ELFDATA2MSB;
    if (number_at(elf, 16, 2) != ET_DYN) {
        *why = "not a shared object";
        return false;
    }
    const unsigned char *own = __ehdr_start.e_ident;
    elf->usable =
        id[EI_CLASS] == own[EI_CLASS] && id[EI_DATA] == own[EI_DATA] && number_at(elf, 18, 2) == __ehdr_start.e_machine;
    return true;
}

/* Walks the program headers: loaded segments, notes, and the location of the dynamic section. */
static bool read_segments(bp__elf *elf, uint64_t *dynamic, uint64_t *dynamic_size, const char **why) {
    uint64_t table = number_at(elf, elf->wide ? 32 : 28, word(elf));
    uint64_t entry = number_at(elf, elf->wide ? 54 : 42, 2);
    uint64_t count = number_at(elf, elf->wide ? 56 : 44, 2);
    *dynamic_size = 0;
    if (entry < (elf->wide ? 56u : 32u) || !is_inside(elf, table, entry * count)) {
        *why = "program headers outside the file";
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = table + i * entry;
        uint64_t type = number_at(elf, at, 4);
        uint64_t offset = number_at(elf, at + (elf->wide ? 8 : 4), word(elf));
        uint64_t address = number_at(elf, at + (elf->wide ? 16 : 8), word(elf));
        uint64_t size = number_at(elf, at + (elf->wide ? 32 : 16), word(elf));
        if (type == PT_LOAD && elf->load_count < BP__ELF_MAX_SEGMENTS && is_inside(elf, offset, size)) {
            elf->load[elf->load_count++] = (bp__elf_segment){address, offset, size};
        } else if (type == PT_DYNAMIC && is_inside(elf, offset, size)) {
            *dynamic = offset;
            *dynamic_size = size;
        } else if (type == PT_NOTE && elf->build_id[0] == 0) {
            read_notes(elf, offset, size);
        }
    }
    if (*dynamic_size == 0) {
        *why = "no dynamic section";
        return false;
    }
    return true;
}

/* Returns the number of symbols that the GNU hash table covers, which is the end of its last chain. */
static uint64_t count_gnu_symbols(const bp__elf *elf) {
    uint64_t buckets = number_at(elf, elf->gnu_hash, 4);
    uint64_t first = number_at(elf, elf->gnu_hash + 4, 4);
    uint64_t bloom = number_at(elf, elf->gnu_hash + 8, 4);
    uint64_t table = elf->gnu_hash + 16 + bloom * word(elf);
    if (!is_inside(elf, table, buckets * 4)) {
        return 0;
    }
    uint64_t last = 0;
    for (uint64_t i = 0; i < buckets; i++) {
        uint64_t start = number_at(elf, table + i * 4, 4);
        last = start > last ? start : last;
    }
    if (last < first) {
        return first;
    }
    uint64_t chain = table + buckets * 4;
    while (is_inside(elf, chain + (last - first) * 4, 4)) {
        if (number_at(elf, chain + (last - first) * 4, 4) & 1) {
            return last + 1;
        }
        last++;
    }
    return 0;
}

static void count_symbols(bp__elf *elf) {
    uint64_t size = elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    elf->symbol_count = elf->sysv_hash ? number_at(elf, elf->sysv_hash + 4, 4) : 0;
    if (elf->symbol_count == 0 && elf->gnu_hash) {
        elf->symbol_count = count_gnu_symbols(elf);
    }
    uint64_t left = elf->symbols && elf->symbols < elf->size ? (elf->size - elf->symbols) / size : 0;
    if (elf->symbol_count > left) {
        elf->symbol_count = left;
    }
}

static bool read_dynamic(bp__elf *elf, uint64_t at, uint64_t size, const char **why) {
    uint64_t needed[BP__ELF_MAX_NEEDED];
    uint64_t strings = 0, strings_size = 0, symbols = 0, gnu = 0, sysv = 0;
    uint64_t soname = UINT64_MAX, rpath = UINT64_MAX, runpath = UINT64_MAX, left;
    int needed_count = 0;
    for (uint64_t i = 0; i + 2 * word(elf) <= size; i += 2 * word(elf)) {
        uint64_t tag = number_at(elf, at + i, word(elf));
        uint64_t value = number_at(elf, at + i + word(elf), word(elf));
        if (tag == DT_NULL) {
            break;
        }
        switch (tag) {
        case DT_STRTAB:
            strings = value;
            break;
        case DT_STRSZ:
            strings_size = value;
            break;
        case DT_SYMTAB:
            symbols = value;
            break;
        case DT_GNU_HASH:
            gnu = value;
            break;
        case DT_HASH:
            sysv = value;
            break;
        case DT_SONAME:
            soname = value;
            break;
        case DT_RPATH:
            rpath = value;
            break;
        case DT_RUNPATH:
            runpath = value;
            break;
        case DT_NEEDED:
            if (needed_count < BP__ELF_MAX_NEEDED) {
                needed[needed_count++] = value;
            }
            break;
        default:
            break;
        }
    }
    elf->strings = offset_of(elf, strings, &left);
    elf->strings_size = strings_size < left ? strings_size : left;
    if (elf->strings == 0 || elf->strings_size == 0) {
        *why = "no dynamic string table";
        return false;
    }
    elf->symbols = offset_of(elf, symbols, &left);
    elf->gnu_hash = gnu ? offset_of(elf, gnu, &left) : 0;
    elf->sysv_hash = sysv ? offset_of(elf, sysv, &left) : 0;
    count_symbols(elf);
    const char *text = string_at(elf, soname);
    elf->soname = text ? text : "";
    text = string_at(elf, runpath != UINT64_MAX ? runpath : rpath);
    elf->runpath = text ? text : "";
    for (int i = 0; i < needed_count; i++) {
        text = string_at(elf, needed[i]);
        if (text) {
            elf->needed[elf->needed_count++] = text;
        }
    }
    return true;
}

bool bp__elf_read(bp__elf *elf, const void *bytes, size_t size, const char **why) {
    uint64_t dynamic = 0, dynamic_size = 0;
    memset(elf, 0, sizeof *elf);
    elf->bytes = bytes;
    elf->size = size;
    elf->soname = elf->runpath = "";
    return read_header(elf, why) && read_segments(elf, &dynamic, &dynamic_size, why) &&
           read_dynamic(elf, dynamic, dynamic_size, why);
}

bool bp__elf_open(bp__elf *elf, const char *path, const char **why) {
    BP__UNCANCELLED;
    struct stat facts;
    memset(elf, 0, sizeof *elf);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) {
        *why = "cannot be read";
        elf->unread = true;
        return false;
    }
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size <= 0) {
        *why = "not a regular file with content";
        close(file);
        return false;
    }
    size_t size = (size_t)facts.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    const int error = errno;
    close(file);
    if (bytes == MAP_FAILED) {
        *why = "cannot be mapped";
        elf->unread = true;
        elf->no_space = error == ENOMEM;
        return false;
    }
    if (!bp__elf_read(elf, bytes, size, why)) {
        munmap(bytes, size);
        memset(elf, 0, sizeof *elf);
        return false;
    }
    return true;
}

void bp__elf_close(bp__elf *elf) {
    if (elf->bytes) {
        munmap((void *)(uintptr_t)elf->bytes, elf->size);
    }
    memset(elf, 0, sizeof *elf);
}

typedef struct symbol {
    const char *name;
    uint64_t value;
    uint64_t size;
    unsigned section;
    unsigned binding;
} symbol;

static bool symbol_at(const bp__elf *elf, uint64_t index, symbol *out) {
    if (index >= elf->symbol_count) {
        return false;
    }
    uint64_t at = elf->symbols + index * (elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    out->name = string_at(elf, number_at(elf, at, 4));
    out->binding = (unsigned)number_at(elf, at + (elf->wide ? 4 : 12), 1) >> 4;
    out->section = (unsigned)number_at(elf, at + (elf->wide ? 6 : 14), 2);
    out->value = number_at(elf, at + (elf->wide ? 8 : 4), word(elf));
    out->size = number_at(elf, at + (elf->wide ? 16 : 8), word(elf));
    return out->name != NULL;
}

static bool is_definition(const symbol *s) {
    return s->section != SHN_UNDEF &&
           (s->binding == STB_GLOBAL || s->binding == STB_WEAK || s->binding == STB_GNU_UNIQUE);
}

/* Finds a definition in the GNU hash table, as the loader does. */
static bool find_gnu(const bp__elf *elf, const char *name, symbol *out) {
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        hash = hash * 33 + *c;
    }
    uint64_t buckets = number_at(elf, elf->gnu_hash, 4);
    uint64_t first = number_at(elf, elf->gnu_hash + 4, 4);
    uint64_t bloom = number_at(elf, elf->gnu_hash + 8, 4);
    uint64_t table = elf->gnu_hash + 16 + bloom * word(elf);
    if (buckets == 0) {
        return false;
    }
    uint64_t index = number_at(elf, table + (hash % buckets) * 4, 4);
    if (index < first) {
        return false;
    }
    for (; index < elf->symbol_count; index++) {
        uint64_t at = table + buckets * 4 + (index - first) * 4;
        uint32_t entry = (uint32_t)number_at(elf, at, 4);
        if (!is_inside(elf, at, 4)) {
            return false;
        }
        if ((entry | 1) == (hash | 1) && symbol_at(elf, index, out) && strcmp(out->name, name) == 0 &&
            is_definition(out)) {
            return true;
        }
        if (entry & 1) {
            return false;
        }
    }
    return false;
}

static bool find_linear(const bp__elf *elf, const char *name, bool defined, symbol *out) {
    for (uint64_t i = 0; i < elf->symbol_count; i++) {
        if (symbol_at(elf, i, out) && strcmp(out->name, name) == 0 &&
            (defined ? is_definition(out) : out->section == SHN_UNDEF)) {
            return true;
        }
    }
    return false;
}

static bool find_definition(const bp__elf *elf, const char *name, symbol *out) {
    return elf->gnu_hash ? find_gnu(elf, name, out) : find_linear(elf, name, true, out);
}

bool bp__elf_defines(const bp__elf *elf, const char *name) {
    symbol found;
    return find_definition(elf, name, &found);
}

bool bp__elf_imports(const bp__elf *elf, const char *name) {
    symbol found;
    return find_linear(elf, name, false, &found);
}

uint64_t bp__elf_symbols_hash(const bp__elf *elf) {
    uint64_t size = elf->symbol_count * (elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    uint64_t parts[2] = {0, 0};
    if (elf->symbols && is_inside(elf, elf->symbols, size)) {
        parts[0] = bp__hash(elf->bytes + elf->symbols, (size_t)size);
    }
    parts[1] = bp__hash(elf->bytes + elf->strings, (size_t)elf->strings_size);
    return bp__hash(parts, sizeof parts);
}

bool bp__elf_text_at(const bp__elf *elf, const char *name, char *buffer, size_t size) {
    symbol found;
    uint64_t left = 0;
    if (!find_definition(elf, name, &found)) {
        return false;
    }
    uint64_t at = offset_of(elf, found.value, &left);
    left = left < found.size ? left : found.size;
    size_t length = 0;
    while (at && length < left && length + 1 < size && elf->bytes[at + length] >= ' ' &&
           elf->bytes[at + length] <= '~') {
        buffer[length] = (char)elf->bytes[at + length];
        length++;
    }
    buffer[length] = 0;
    return length > 0;
}

bool bp__elf_contains(const bp__elf *elf, const char *text) {
    size_t length = strlen(text);
    for (int i = 0; i < elf->load_count; i++) {
        const bp__elf_segment *segment = &elf->load[i];
        if (memmem(elf->bytes + segment->offset, (size_t)segment->size, text, length)) {
            return true;
        }
    }
    return false;
}
