/* elf.h - reads facts of a shared object from its file without loading it, to identify the library and to choose its
 * probe.
 *
 * The bytes may be hostile: every offset, count and string is checked against the file's size before it is used. Files
 * of 32 and 64 bits and of either byte order are read. `usable` tells whether this process could load the file.
 */
#ifndef BP_REGISTRY_ELF_H
#define BP_REGISTRY_ELF_H

#include "base/base.h"

#define BP__ELF_MAX_SEGMENTS 64
#define BP__ELF_MAX_NEEDED 64

typedef struct bp__elf_segment {
    uint64_t address;
    uint64_t offset;
    uint64_t size; /* bytes in the file */
} bp__elf_segment;

typedef struct bp__elf {
    const unsigned char *bytes;
    size_t size;
    bool wide;     /* ELF64 */
    bool big;      /* big endian */
    bool usable;   /* class, byte order and machine are as in the running program */
    bool unread;   /* bp__elf_open could not open or map the file */
    bool no_space; /* because the process has no address space for it */
    bp__elf_segment load[BP__ELF_MAX_SEGMENTS];
    int load_count;
    uint64_t strings; /* file offset and size of the dynamic string table */
    uint64_t strings_size;
    uint64_t symbols; /* file offset of the dynamic symbols, 0 if there are none */
    uint64_t symbol_count;
    uint64_t gnu_hash; /* file offsets, 0 if absent */
    uint64_t sysv_hash;
    const char *soname;  /* "" if absent */
    const char *runpath; /* RUNPATH, or else RPATH; "" if absent */
    const char *needed[BP__ELF_MAX_NEEDED];
    int needed_count;
    char build_id[129]; /* hexadecimal, "" if absent */
} bp__elf;

/* Reads the facts from `size` bytes, which must outlive `elf`. On failure *why is a static text for a message: "not an
 * ELF file", "no dynamic section", ... */
bool bp__elf_read(bp__elf *elf, const void *bytes, size_t size, const char **why);

/* Maps a file and reads it; bp__elf_close unmaps it. On failure `elf` is cleared. */
bool bp__elf_open(bp__elf *elf, const char *path, const char **why);
void bp__elf_close(bp__elf *elf);

/* Returns whether the file exports a definition of `name`. */
bool bp__elf_defines(const bp__elf *elf, const char *name);

/* Returns a hash that is equal for files that define the same symbols at the same addresses with the same sizes. */
uint64_t bp__elf_symbols_hash(const bp__elf *elf);

/* Returns whether the file uses `name` from another object. */
bool bp__elf_imports(const bp__elf *elf, const char *name);

/* Copies the text at the data symbol `name`, at most size - 1 printable characters. Returns false if there is none. */
bool bp__elf_text_at(const bp__elf *elf, const char *name, char *buffer, size_t size);

/* Returns whether the file's loaded bytes contain `text`. */
bool bp__elf_contains(const bp__elf *elf, const char *text);

#endif
