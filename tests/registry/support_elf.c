/* support_elf.c - implements support_elf.h. Addresses are file offsets plus BASE; every part has a fixed offset. */
#include "registry/support_elf.h"

#include <elf.h>
#include <string.h>

enum { BASE = 0x10000, NOTE = 256, SYMBOLS = 1024, HASH = 1536, DYNAMIC = 2048, TEXT = 3072, STRINGS = 3584 };

typedef struct writer {
    const elf_image_spec *image_spec;
    unsigned char *bytes;
    uint64_t strings; /* used so far */
    int symbols;
} writer;

static void put(const writer *to, uint64_t at, unsigned width, uint64_t value) {
    for (unsigned i = 0; i < width; i++) {
        to->bytes[at + i] = (unsigned char)(value >> 8 * (to->image_spec->big ? width - 1 - i : i));
    }
}

static unsigned word(const writer *to) {
    return to->image_spec->wide ? 8 : 4;
}

static uint64_t add_string(writer *to, const char *text) {
    uint64_t at = to->strings;
    memcpy(to->bytes + STRINGS + at, text, strlen(text) + 1);
    to->strings += strlen(text) + 1;
    return at;
}

static void put_segment(const writer *to, int index, unsigned type, uint64_t offset, uint64_t size) {
    uint64_t at = (to->image_spec->wide ? 64u : 52u) + (uint64_t)index * (to->image_spec->wide ? 56u : 32u);
    put(to, at, 4, type);
    put(to, at + (to->image_spec->wide ? 8 : 4), word(to), offset);
    put(to, at + (to->image_spec->wide ? 16 : 8), word(to), BASE + offset);
    put(to, at + (to->image_spec->wide ? 32 : 16), word(to), size);
}

static void put_header(const writer *to) {
    const elf_image_spec *image_spec = to->image_spec;
    memcpy(to->bytes, ELFMAG, SELFMAG);
    to->bytes[EI_CLASS] = image_spec->wide ? ELFCLASS64 : ELFCLASS32;
    to->bytes[EI_DATA] = image_spec->big ? ELFDATA2MSB : ELFDATA2LSB;
    put(to, 16, 2, ET_DYN);
    put(to, 18, 2, image_spec->machine);
    put(to, image_spec->wide ? 32 : 28, word(to), image_spec->wide ? 64 : 52);
    put(to, image_spec->wide ? 54 : 42, 2, image_spec->wide ? 56 : 32);
    put(to, image_spec->wide ? 56 : 44, 2, 3);
    put_segment(to, 0, PT_LOAD, 0, ELF_BYTES);
    put_segment(to, 1, PT_DYNAMIC, DYNAMIC, 512);
    put_segment(to, 2, PT_NOTE, NOTE, 512);
    put(to, NOTE, 4, 4);
    put(to, NOTE + 4, 4, image_spec->build_id_size ? image_spec->build_id_size : 4);
    put(to, NOTE + 8, 4, NT_GNU_BUILD_ID);
    memcpy(to->bytes + NOTE + 12, "GNU\0\xde\xad\xbe\xef", 8);
}

static void add_symbol(writer *to, const char *name, unsigned section, uint64_t value, uint64_t size) {
    uint64_t at = SYMBOLS + (uint64_t)++to->symbols * (to->image_spec->wide ? 24u : 16u);
    put(to, at, 4, add_string(to, name));
    put(to, at + (to->image_spec->wide ? 4 : 12), 1, STB_GLOBAL << 4);
    put(to, at + (to->image_spec->wide ? 6 : 14), 2, section);
    put(to, at + (to->image_spec->wide ? 8 : 4), word(to), value);
    put(to, at + (to->image_spec->wide ? 16 : 8), word(to), size);
}

static uint32_t gnu_hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++) {
        hash = hash * 33 + (unsigned char)*name;
    }
    return hash;
}

/* One bucket with all definitions, which follow the imports. */
static void put_hash(const writer *to, int imports) {
    if (!to->image_spec->gnu_hash) {
        put(to, HASH, 4, 1);
        put(to, HASH + 4, 4, (uint64_t)to->symbols + 1);
        return;
    }
    put(to, HASH, 4, 1);
    put(to, HASH + 4, 4, (uint64_t)imports + 1);
    put(to, HASH + 8, 4, 1);
    uint64_t buckets = HASH + 16 + word(to);
    int definitions = to->symbols - imports;
    put(to, buckets, 4, definitions ? (uint64_t)imports + 1 : 0);
    for (int i = 0; i < definitions; i++) {
        put(to, buckets + 4 + 4 * (uint64_t)i, 4,
            (gnu_hash_of(to->image_spec->defined[i]) & ~1u) | (i == definitions - 1));
    }
}

static void add_dynamic(const writer *to, int *entry, uint64_t tag, uint64_t value) {
    uint64_t at = DYNAMIC + (uint64_t)(*entry)++ * 2 * word(to);
    put(to, at, word(to), tag);
    put(to, at + word(to), word(to), value);
}

void make_elf(const elf_image_spec *image_spec, unsigned char bytes[ELF_BYTES]) {
    writer to = {.image_spec = image_spec, .bytes = bytes, .strings = 1};
    int entry = 0, imports = 0;
    memset(bytes, 0, ELF_BYTES);
    put_header(&to);
    memcpy(bytes + TEXT, image_spec->text, strlen(image_spec->text) + 1);
    for (; imports < 4 && image_spec->imported[imports]; imports++) {
        add_symbol(&to, image_spec->imported[imports], SHN_UNDEF, 0, 0);
    }
    for (int i = 0; i < 8 && image_spec->defined[i]; i++) {
        add_symbol(&to, image_spec->defined[i], 1, BASE + TEXT, strlen(image_spec->text) + 1);
    }
    put_hash(&to, imports);
    for (int i = 0; i < 4 && image_spec->needed[i]; i++) {
        add_dynamic(&to, &entry, DT_NEEDED, add_string(&to, image_spec->needed[i]));
    }
    uint64_t soname = add_string(&to, image_spec->soname);
    add_dynamic(&to, &entry, DT_RUNPATH, add_string(&to, image_spec->runpath));
    if (image_spec->unterminated) {
        soname = to.strings;
        memset(bytes + STRINGS + soname, 'A', ELF_BYTES - STRINGS - soname);
        to.strings = ELF_BYTES - STRINGS;
    }
    add_dynamic(&to, &entry, DT_SONAME, soname);
    add_dynamic(&to, &entry, DT_STRTAB, BASE + STRINGS);
    add_dynamic(&to, &entry, DT_STRSZ, to.strings);
    add_dynamic(&to, &entry, DT_SYMTAB, BASE + SYMBOLS);
    add_dynamic(&to, &entry, image_spec->gnu_hash ? (uint64_t)DT_GNU_HASH : (uint64_t)DT_HASH, BASE + HASH);
}
