/* support_elf.h - makes small shared objects of any class and byte order in memory. */
#ifndef SUPPORT_ELF_H
#define SUPPORT_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct elf_image_spec {
    bool wide, big;
    unsigned machine;
    bool gnu_hash; /* else the older table */
    const char *soname, *runpath;
    const char *needed[4];
    const char *defined[8]; /* symbols; the first one is data that begins with `text` */
    const char *imported[4];
    const char *text;
    unsigned build_id_size; /* 0: 4 bytes, deadbeef */
    bool unterminated;      /* the string table ends within the SONAME, at the end of the file */
} elf_image_spec;

enum { ELF_BYTES = 4096 };

/* Fills `bytes` (ELF_BYTES of them); all of them are the file. */
void make_elf(const elf_image_spec *image_spec, unsigned char bytes[ELF_BYTES]);

#endif
