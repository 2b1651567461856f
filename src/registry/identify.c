/* identify.c - finds a file's family and what it offers, from its symbols and its dynamic section alone.
 *
 * The file's name is used only for a version number that the library does not report otherwise.
 */
#include "registry/facts.h"

#include <stdio.h>
#include <string.h>

enum { SMALL_FILE = 2 << 20 };

/* Finds `stem` with one of the affixes that libraries add to their names. */
static bool find_affixed(const bp__elf *elf, const char *stem, const char *const *suffixes, const char **prefix,
                         const char **suffix) {
    char name[256];
    for (int p = 0; bp__affix_prefixes[p]; p++) {
        for (int s = 0; suffixes[s]; s++) {
            int length = snprintf(name, sizeof name, "%s%s%s", bp__affix_prefixes[p], stem, suffixes[s]);
            if (length > 0 && (size_t)length < sizeof name && bp__elf_defines(elf, name)) {
                *prefix = bp__affix_prefixes[p];
                *suffix = suffixes[s];
                return true;
            }
        }
    }
    return false;
}

static bool needs(const bp__elf *elf, const char *head) {
    for (int i = 0; i < elf->needed_count; i++) {
        if (bp__text_starts(elf->needed[i], head)) {
            return true;
        }
    }
    return false;
}

/* The kinds that the symbols show, and their affixes. */
typedef struct spelling {
    const char *prefix, *fortran, *c;
    unsigned kinds;
} spelling;

static spelling read_spelling(const bp__elf *elf) {
    spelling found = {"", "", "", 0};
    const char *prefix = "", *suffix = "";
    if (find_affixed(elf, "dpotrf", bp__affix_fortran, &found.prefix, &found.fortran) ||
        find_affixed(elf, "LAPACKE_dpotrf", bp__affix_c, &prefix, &suffix)) {
        found.kinds |= BP_LIB_LAPACK;
    }
    if (find_affixed(elf, "cblas_dgemm", bp__affix_c, &found.prefix, &found.c)) {
        found.kinds |= BP_LIB_CBLAS;
    }
    if (find_affixed(elf, "dgemm", bp__affix_fortran, &found.prefix, &found.fortran)) {
        found.kinds |= BP_LIB_BLAS;
    }
    return found;
}

static bool part_holds(const bp__elf *elf, const spelling *found, const char *part) {
    const char *prefix, *suffix;
    if (strcmp(part, "blas") == 0) {
        return (found->kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) != 0;
    }
    if (strcmp(part, "lapack") == 0) {
        return (found->kinds & BP_LIB_LAPACK) != 0;
    }
    if (strcmp(part, "small") == 0) {
        return elf->size < SMALL_FILE;
    }
    if (bp__text_starts(part, "needed:")) {
        return needs(elf, part + 7);
    }
    if (bp__text_starts(part, "soname:")) {
        return bp__text_starts(elf->soname, part + 7);
    }
    if (bp__text_starts(part, "text:")) {
        return bp__elf_contains(elf, part + 5);
    }
    if (bp__text_starts(part, "not:")) {
        return !bp__elf_defines(elf, part + 4);
    }
    return find_affixed(elf, part, bp__affix_c, &prefix, &suffix);
}

/* Returns whether one alternative matches: parts joined by '+'. */
static bool alternative_holds(const bp__elf *elf, const spelling *found, const char *text, size_t length) {
    char part[128];
    while (length > 0) {
        size_t size = strcspn(text, "+ ");
        size = size < length ? size : length;
        if (size >= sizeof part) {
            return false;
        }
        memcpy(part, text, size);
        part[size] = 0;
        if (!part_holds(elf, found, part)) {
            return false;
        }
        size_t step = size < length ? size + 1 : size;
        text += step;
        length -= step;
    }
    return true;
}

/* Returns the alternative that matches, or NULL. */
static const char *match(const bp__elf *elf, const spelling *found, const char *markers, size_t *length) {
    for (const char *text = markers; *text;) {
        *length = strcspn(text, " ");
        if (alternative_holds(elf, found, text, *length)) {
            return text;
        }
        text += *length;
        text += *text == ' ';
    }
    return NULL;
}

/* Returns the runtime that a library is linked to, judged from its own NEEDED entries and imports. */
static const char *threading_of(const bp__elf *elf, char how[128]) {
    static const struct {
        const char *head, *name;
    } runtimes[] = {{"libgomp", "libgomp"}, {"libiomp5", "libiomp5"}, {"libomp", "libomp"}, {"libtbb", "tbb"}};
    for (int r = 0; r < BP__COUNT(runtimes); r++) {
        for (int i = 0; i < elf->needed_count; i++) {
            if (bp__text_starts(elf->needed[i], runtimes[r].head)) {
                snprintf(how, 128, "NEEDED %.100s", elf->needed[i]);
                return runtimes[r].name;
            }
        }
    }
    if (bp__elf_imports(elf, "pthread_create")) {
        snprintf(how, 128, "imports pthread_create");
        return "pthread";
    }
    snprintf(how, 128, "needs no thread library");
    return "serial";
}

/* Reads a version from the file's name, after ".so.", for libraries that report none. */
static bool version_from_name(const char *path, char *buffer, size_t size) {
    const char *slash = strrchr(path, '/');
    const char *mark = strstr(slash ? slash : path, ".so.");
    if (!mark || strspn(mark + 4, "0123456789.") != strlen(mark + 4)) {
        return false;
    }
    return bp__copy_text(buffer, size, mark + 4);
}

static bool set_version(const bp__elf *elf, const bp__library_family *family, const char *path, bp__facts *facts) {
    char text[128];
    if (family->version == BP__ANSWER_DATA_WORD && bp__elf_text_at(elf, family->version_symbol, text, sizeof text)) {
        text[strcspn(text, " ")] = 0; /* "fftw-3.3.10-sse2-avx": the version follows the first dash */
        char *number = text + strcspn(text, "-");
        number += *number == '-';
        number[strcspn(number, "-")] = 0;
        return bp__facts_set(&facts->version, number) &&
               bp__facts_learn(&facts->fact_sources, "version", family->version_symbol);
    }
    if (family->flags & BP__FAMILY_NAMED && version_from_name(path, text, sizeof text)) {
        return bp__facts_set(&facts->version, text) && bp__facts_learn(&facts->fact_sources, "version", "file name");
    }
    return true;
}

/* Copies of a file without a build-id are recognised by the addresses and sizes of all their definitions. */
static bool set_likeness(const bp__elf *elf, bp__facts *facts) {
    char text[32];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)bp__elf_symbols_hash(elf));
    return bp__facts_set(&facts->likeness, *elf->build_id ? elf->build_id : text);
}

static bool set_needed(const bp__elf *elf, bp__facts *facts) {
    bp__text list = {0};
    for (int i = 0; i < elf->needed_count; i++) {
        bp__text_addf(&list, "%s%s", i ? "\n" : "", elf->needed[i]);
    }
    bool done = !list.failed && bp__facts_set(&facts->needed, bp__text_get(&list));
    bp__text_free(&list);
    return done;
}

static bool set_affixes(const spelling *found, bp__facts *facts) {
    char how[256] = "";
    int used = 0;
    if (found->kinds & BP_LIB_BLAS) {
        used = snprintf(how, sizeof how, "symbol %sdgemm%s", found->prefix, found->fortran);
    }
    if ((found->kinds & BP_LIB_CBLAS) && used >= 0 && (size_t)used < sizeof how) {
        snprintf(how + used, sizeof how - (size_t)used, "%s%scblas_dgemm%s", used ? ", " : "symbol ", found->prefix,
                 found->c);
    }
    return bp__facts_set(&facts->prefix, found->prefix) && bp__facts_set(&facts->suffix, found->fortran) &&
           bp__facts_set(&facts->cblas_suffix, found->c) &&
           (how[0] == 0 || bp__facts_learn(&facts->fact_sources, "suffix", how));
}

static bool describe(const bp__elf *elf, const char *path, const bp__library_family *family, const char *marker,
                     const spelling *found, bp__facts *facts) {
    char how[128] = "";
    const char *threading = family->kinds & (BP_LIB_OPENMP | BP_LIB_GPU) ? "unknown" : threading_of(elf, how);
    bool own = !(family->kinds & (BP_LIB_GPU | BP_LIB_OPENCL)) && !(family->flags & BP__FAMILY_WRAPS);
    facts->kinds = family->kinds | (own ? found->kinds : 0);
    facts->flags = family->flags;
    facts->marked = family->version != BP__ANSWER_NONE && !strstr(marker, "text:");
    if (family->kinds & BP_LIB_OPENMP) {
        threading = family->name;
    }
    return bp__facts_set(&facts->family, family->name) && bp__facts_set(&facts->base, family->id) &&
           bp__facts_set(&facts->soname, elf->soname) && bp__facts_set(&facts->runpath, elf->runpath) &&
           set_needed(elf, facts) && set_likeness(elf, facts) &&
           bp__facts_learn(&facts->fact_sources, "family", marker) && set_affixes(found, facts) &&
           bp__facts_set(&facts->threading, threading) &&
           (how[0] == 0 || bp__facts_learn(&facts->fact_sources, "threading", how)) &&
           set_version(elf, family, path, facts);
}

bp_status bp__identify(const bp__elf *elf, const char *path, bp__facts *facts) {
    bp__facts_clear(facts);
    if (!bp__facts_set(&facts->build_id, elf->build_id)) {
        return bp__fail_memory(strlen(elf->build_id), "a build-id");
    }
    if (!elf->usable) {
        return BP_OK;
    }
    spelling found = read_spelling(elf);
    for (int i = 0; i < bp__library_family_count; i++) {
        size_t length = 0;
        const char *marker = match(elf, &found, bp__library_families[i].markers, &length);
        if (!marker) {
            continue;
        }
        char how[160];
        snprintf(how, sizeof how, "%.*s", (int)length, marker);
        return describe(elf, path, &bp__library_families[i], how, &found, facts) ? BP_OK
                                                                                 : bp__fail_memory(sizeof *facts, path);
    }
    return BP_OK;
}
