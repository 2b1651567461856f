/* build_list.c - builds the library list: search, facts from the probe cache or the ELF files, relations, probes,
 * update of the probe cache, entries. */
#include "registry/build_list.h"

#include "base/path_buffer.h"
#include "machine/internal.h"
#include "registry/child.h"
#include "registry/probe_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Only the name tells that such a file may be a library. */
static bp_status note_no_space(bp__file *file) {
    char reason[160];
    bp__memory left;
    snprintf(reason, sizeof reason, "not read: its %" PRId64 " KiB do not fit into the address space",
             file->key.size >> 10);
    if (bp__memory_left(&left)) {
        snprintf(reason, sizeof reason,
                 "not read: the limit of the address space (RLIMIT_AS) leaves %" PRId64
                 " KiB, and the file has %" PRId64 " KiB",
                 left.space >> 10, file->key.size >> 10);
    }
    file->facts.outcome = BP__OUTCOME_NO_PROBE;
    return bp__facts_set(&file->facts.reason, reason) ? BP_OK : bp__fail_memory(sizeof reason, "a library's reason");
}

static bp_status identify_opened(bp__elf *elf, bp__file *file) {
    const char *why;
    if (!bp__elf_open(elf, file->path, &why)) {
        file->facts.momentary = elf->unread;
        return elf->no_space ? note_no_space(file) : BP_OK;
    }
    bp_status status = bp__identify(elf, file->path, &file->facts);
    bp__elf_close(elf);
    return status;
}

/* Learns what the ELF data of a file tells, and forgets all else. */
static bp_status identify_file(bp__file *file) {
    bp__elf *elf = bp__alloc(sizeof *elf); /* large: not on the stack */
    if (!elf) {
        return bp__fail_memory(sizeof *elf, "the data of a file");
    }
    bp_status status = identify_opened(elf, file);
    bp__free(elf);
    return status;
}

/* Reads a file's facts from the probe cache, or else from its ELF data. */
static bp_status learn_file(const bp__probe_cache *cache, bp__file *file, bool probe_all) {
    if (file->trust != BP_OK) {
        return BP_OK; /* not read, because another user could change the file meanwhile */
    }
    if (!probe_all) {
        BP__TRY(bp__probe_cache_get(cache, file));
    }
    return file->stored ? BP_OK : identify_file(file);
}

/* The file could not be mapped. */
static bool is_unread(const bp__file *file) {
    return !*file->facts.family && file->facts.outcome == BP__OUTCOME_NO_PROBE;
}

static bool is_entry(const bp__file *file) {
    return !file->same_as && (file->trust != BP_OK || is_unread(file) ||
                              (*file->facts.family && !(file->facts.flags & BP__FAMILY_LAYER)));
}

/* A driver's library that the user names counts, too: some systems have neither of the two files. */
bool bp__has_gpu_driver(void) {
    BP__PATH_BUFFER(path);
    return access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0 ||
           (path && bp__search_listed("libcuda.so.1", path));
}

static bool may_be_probed(const bp__list_entry *entry) {
    return entry->file->trust == BP_OK && !entry->target && !(entry->file->facts.flags & BP__FAMILY_QUIET) &&
           (!(entry->file->facts.flags & BP__FAMILY_HEAVY) || bp__has_gpu_driver());
}

bool bp__list_entry_waits(const bp__list_entry *entry) {
    return entry->file->facts.outcome == BP__OUTCOME_NONE && may_be_probed(entry);
}

/* ---- What is probed ---- */

/* Marks the entry's file as brief or not. Returns whether it must be probed for what is needed of the list. */
static bool is_due(const bp__library_list *list, const bp__list_entry *entry) {
    bp__file *file = entry->file;
    const bool whole = file->chosen || list->wholly == BP__NEED_ALL.kinds || (file->facts.kinds & list->wholly) != 0;
    file->brief = !whole;
    return (whole && file->facts.left && may_be_probed(entry)) ||
           (bp__list_entry_waits(entry) && (whole || (file->facts.kinds & list->briefly) != 0));
}

bool bp__library_list_covers(const bp__library_list *list, bp__need need) {
    return (need.kinds & ~(need.brief ? list->briefly | list->wholly : list->wholly)) == 0;
}

/* A LAPACK is shown with the threads and kernels of its BLAS. The ids of libraries of one family depend on each other,
 * and only BLAS and LAPACK are offered by some of a family and not by others. */
static void add_need(bp__library_list *list, bp__need need) {
    *(need.brief ? &list->briefly : &list->wholly) |= need.kinds;
    list->briefly |= need.kinds & BP_LIB_LAPACK ? BP_LIB_BLAS | BP_LIB_CBLAS : 0;
}

/* Notes if nothing is left to be probed, whatever else will be needed. */
static void note_completeness(bp__library_list *list) {
    bool all = true;
    for (int i = 0; i < list->count; i++) {
        const bp__list_entry *entry = &list->entries[i];
        all = all && !bp__list_entry_waits(entry) && !(entry->file->facts.left && may_be_probed(entry));
    }
    list->wholly = all ? BP__NEED_ALL.kinds : list->wholly;
}

static bp_status make_entries(bp__library_list *list) {
    bp__search *search = &list->search;
    list->entries = bp__alloc_zero((size_t)search->file_count + 1, sizeof *list->entries);
    if (!list->entries) {
        return bp__fail_memory((size_t)search->file_count * sizeof *list->entries, "the library list");
    }
    for (int i = 0; i < search->file_count; i++) {
        bp__file *file = &search->files[i];
        if (is_entry(file)) {
            bp__list_entry *entry = &list->entries[list->count++];
            entry->file = file;
            entry->target = bp__facade_target(search, file, &entry->via);
            const bp__library_family *family =
                bp__library_family_with_id(entry->target ? entry->target->facts.base : file->facts.base);
            entry->rank = (int)(family - bp__library_families);
        }
    }
    return BP_OK;
}

/* Updates facts after the probes. A runtime that was really loaded overrides NEEDED entries; the table provides a
 * thread scope that the probe could not determine. */
static bool refine(bp__file *file) {
    bp__facts *facts = &file->facts;
    const bp__library_family *family = bp__library_family_with_id(facts->base);
    bool enough = true;
    if (facts->outcome == BP__OUTCOME_OK && *facts->runtimes && !strchr(facts->runtimes, ' ') &&
        strcmp(facts->threading, facts->runtimes) != 0) {
        enough = bp__facts_set(&facts->threading, facts->runtimes) &&
                 bp__facts_learn(&facts->probed, "threading", "the runtime that was loaded with it");
    }
    if (!*facts->thread_scope && family->thread_scope) {
        const char *scope = strcmp(facts->threading, "serial") == 0 ? "none" : family->thread_scope;
        enough = enough && bp__facts_set(&facts->thread_scope, scope);
    }
    return enough && bp__note_blas(facts);
}

/* Probes the files from the start. What is known of them by now is forgotten, because a probe does not add to that. */
static bp_status probe_files(bp__file *const *files, int count) {
    for (int i = 0; i < count; i++) {
        files[i]->stored = false;
        if (files[i]->facts.outcome != BP__OUTCOME_NONE) {
            BP__TRY(identify_file(files[i]));
        }
    }
    BP__TRY(bp__probe(files, count));
    for (int i = 0; i < count; i++) {
        if (!refine(files[i])) {
            return bp__fail_memory(sizeof **files, "a library's facts");
        }
    }
    return BP_OK;
}

static bp_status probe_entries(bp__library_list *list, bp__list_mode mode) {
    bp__file **files = bp__alloc_zero((size_t)list->count + 1, sizeof *files);
    int count = 0;
    if (!files) {
        return bp__fail_memory((size_t)list->count * sizeof *files, "the libraries to probe");
    }
    for (int i = 0; i < list->count; i++) {
        if (is_due(list, &list->entries[i])) {
            files[count++] = list->entries[i].file;
        }
    }
    list->unknown = count > 0 && mode == BP__LIST_CACHED;
    bp_status status = count > 0 && !list->unknown ? probe_files(files, count) : BP_OK;
    bp__free(files);
    for (int i = 0; i < list->count && status == BP_OK; i++) {
        bp__list_entry *entry = &list->entries[i];
        if (*entry->file->facts.forwards && !entry->target) {
            entry->target = bp__file_at(&list->search, entry->file->facts.forwards);
        }
    }
    return status;
}

static bool mark_loaded(void *user, const char *path, uintptr_t base) {
    bp__search *search = user;
    struct stat facts;
    (void)base;
    if (path[0] == '/' && stat(path, &facts) == 0) {
        bp__file_key key = bp__file_key_of(&facts);
        for (int i = 0; i < search->file_count; i++) {
            if (search->files[i].key.inode == key.inode && search->files[i].key.device == key.device) {
                search->files[i].loaded = true;
            }
        }
    }
    return true;
}

/* Makes the entries of what is known now. */
static bp_status finish(bp__library_list *list, const bp__probe_cache *cache) {
    note_completeness(list);
    BP__TRY(bp__probe_cache_save(cache, &list->search));
    return bp__list_entries_finish(list);
}

static bp_status fill(bp__library_list *list, bp__probe_cache *cache, bp__list_mode mode, bp__need need) {
    bp__search *search = &list->search;
    BP__TRY(bp__scan(search));
    for (int i = 0; i < search->file_count; i++) {
        BP__TRY(learn_file(cache, &search->files[i], mode == BP__LIST_PROBED));
    }
    bp__loaded_visit(mark_loaded, search);
    bp__merge_copies(search);
    BP__TRY(make_entries(list));
    add_need(list, need);
    BP__TRY(probe_entries(list, mode));
    if (list->unknown) {
        return BP_OK;
    }
    if (search->no_memory) {
        return bp__fail_memory(sizeof(bp__file), "the search for libraries");
    }
    return finish(list, cache);
}

bp_status bp__library_list_grow(bp__library_list *list, bp__need need) {
    bp__probe_cache cache;
    add_need(list, need);
    BP__TRY(bp__probe_cache_open(&cache));
    bp_status status = probe_entries(list, BP__LIST_USUAL);
    status = status == BP_OK ? finish(list, &cache) : status;
    bp__probe_cache_close(&cache);
    return status;
}

bp_status bp__library_list_new(bp__library_list **list, bp__list_mode mode, bp__need need) {
    bp__probe_cache cache;
    *list = NULL;
    bp__library_list *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "the library list");
    }
    bp_status status = bp__probe_cache_open(&cache);
    if (status == BP_OK) {
        status = fill(made, &cache, mode, need);
        bp__probe_cache_close(&cache);
    }
    if (status != BP_OK) {
        bp__library_list_free(made);
        return status;
    }
    *list = made;
    return BP_OK;
}

void bp__library_list_free(bp__library_list *list) {
    bp__search_free(&list->search);
    bp__free(list->entries);
    bp__free(list->infos);
    bp__free(list);
}
