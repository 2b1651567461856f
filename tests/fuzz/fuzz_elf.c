/* fuzz_elf.c - reads any bytes as each kind of foreign file that the registry reads: shared objects, the loader's
 * cache, the probe cache, and the report of a probe. */
#include "registry/child.h"
#include "registry/facts.h"
#include "registry/ldcache.h"
#include "registry/probe_cache.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool visit(void *user, const char *name, const char *path) {
    size_t *total = user;
    *total += strlen(name) + strlen(path);
    return *total < 1 << 20;
}

static void try_elf(const uint8_t *data, size_t size) {
    bp__elf elf;
    bp__facts facts;
    const char *why;
    char text[64];
    if (bp__elf_read(&elf, data, size, &why)) {
        elf.usable = true;
        bp__elf_imports(&elf, "pthread_create");
        bp__elf_text_at(&elf, "fftw_version", text, sizeof text);
        bp__identify(&elf, "/lib/libx.so.1.2.3", &facts);
    }
}

static char *as_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (text) {
        memcpy(text, data, size);
        text[size] = 0;
    }
    return text;
}

static void try_texts(const uint8_t *data, size_t size) {
    bp__probe_cache store = {0};
    bp__facts facts;
    char *text = as_text(data, size);
    if (text && bp__probe_cache_parse(&store, text) == BP_OK) {
        bp__file file = {.path = "/lib/libx.so", .aliases = "", .loader_names = "", .trust_reason = ""};
        bp__facts_clear(&file.facts);
        bp__probe_cache_get(&store, &file);
    }
    bp__probe_cache_close(&store);
    free(text);
    text = as_text(data, size);
    bp__facts_clear(&facts);
    if (text) {
        bp__probe_take_report(&facts, text, "SIGSEGV");
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t total = 0;
    try_elf(data, size);
    bp__ldcache_visit(data, size, visit, &total);
    try_texts(data, size);
    bp__intern_reset();
    return 0;
}
