/* build_list.c - builds the library list: search, facts from the probe cache or the ELF files, relations, probes,
 * update of the probe cache, entries. */
#include "registry/build_list.h"

#include "machine/internal.h"
#include "registry/child.h"
#include "registry/probe_cache.h"

#include <string.h>
#include <unistd.h>

/* Reads a file's facts from the probe cache, or else from its ELF data. */
static bp_status learn_file(const bp__probe_cache *store, bp__file *file, bool probe_all) {
    bp__elf elf;
    const char *why;
    if (file->trust != BP_OK) {
        return BP_OK; /* not read, because another user could change the file meanwhile */
    }
    if (!probe_all) {
        BP__TRY(bp__probe_cache_get(store, file));
    }
    if (file->stored || !bp__elf_open(&elf, file->path, &why)) {
        return BP_OK;
    }
    bp_status status = bp__identify(&elf, file->path, &file->facts);
    bp__elf_close(&elf);
    return status;
}

static bool is_row(const bp__file *file) {
    return !file->same_as && (file->trust != BP_OK || (*file->facts.family && !(file->facts.flags & BP__FAMILY_LAYER)));
}

bool bp__has_gpu_driver(void) {
    return access("/proc/driver/nvidia/version", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0;
}

static bool wants_probe(const bp__list_entry *row) {
    return row->file->trust == BP_OK && !row->target && row->file->facts.outcome == BP__OUTCOME_NONE &&
           !(row->file->facts.flags & BP__FAMILY_QUIET) &&
           (!(row->file->facts.flags & BP__FAMILY_HEAVY) || bp__has_gpu_driver());
}

static bp_status make_rows(bp__library_list *generation) {
    bp__search *search = &generation->search;
    generation->rows = bp__alloc_zero((size_t)search->file_count + 1, sizeof *generation->rows);
    if (!generation->rows) {
        return bp__fail_memory((size_t)search->file_count * sizeof *generation->rows, "the library list");
    }
    for (int i = 0; i < search->file_count; i++) {
        bp__file *file = &search->files[i];
        if (is_row(file)) {
            bp__list_entry *row = &generation->rows[generation->count++];
            row->file = file;
            row->target = bp__facade_target(search, file, &row->via);
            const bp__family *family = bp__family_with_id(row->target ? row->target->facts.base : file->facts.base);
            row->rank = (int)(family - bp__families);
        }
    }
    return BP_OK;
}

/* Updates facts after the probes. A runtime that was really loaded overrides NEEDED entries; the table provides a
 * thread scope that the probe could not determine. */
static bool refine(bp__file *file) {
    bp__facts *facts = &file->facts;
    const bp__family *family = bp__family_with_id(facts->base);
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

static bp_status probe_rows(bp__library_list *generation) {
    bp__file **files = bp__alloc_zero((size_t)generation->count + 1, sizeof *files);
    int count = 0;
    if (!files) {
        return bp__fail_memory((size_t)generation->count * sizeof *files, "the libraries to probe");
    }
    for (int i = 0; i < generation->count; i++) {
        if (wants_probe(&generation->rows[i])) {
            files[count] = generation->rows[i].file;
            files[count++]->stored = false;
        }
    }
    bp_status status = count > 0 ? bp__probe(files, count) : BP_OK;
    for (int i = 0; i < count && status == BP_OK; i++) {
        status = refine(files[i]) ? BP_OK : bp__fail_memory(sizeof **files, "a library's facts");
    }
    bp__free(files);
    for (int i = 0; i < generation->count && status == BP_OK; i++) {
        bp__list_entry *row = &generation->rows[i];
        if (*row->file->facts.forwards && !row->target) {
            row->target = bp__file_at(&generation->search, row->file->facts.forwards);
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

static bp_status fill(bp__library_list *generation, bp__probe_cache *store, bool probe_all) {
    bp__search *search = &generation->search;
    BP__TRY(bp__scan(search));
    for (int i = 0; i < search->file_count; i++) {
        BP__TRY(learn_file(store, &search->files[i], probe_all));
    }
    bp__loaded_visit(mark_loaded, search);
    bp__merge_copies(search);
    BP__TRY(make_rows(generation));
    BP__TRY(probe_rows(generation));
    if (search->no_memory) {
        return bp__fail_memory(sizeof(bp__file), "the search for libraries");
    }
    BP__TRY(bp__probe_cache_save(store, search));
    return bp__list_entries_finish(generation);
}

bp_status bp__library_list_new(bp__library_list **generation, bool probe_all) {
    bp__probe_cache store;
    *generation = NULL;
    bp__library_list *made = bp__alloc_zero(1, sizeof *made);
    if (!made) {
        return bp__fail_memory(sizeof *made, "the library list");
    }
    bp_status status = bp__probe_cache_open(&store);
    if (status == BP_OK) {
        status = fill(made, &store, probe_all);
        bp__probe_cache_close(&store);
    }
    if (status != BP_OK) {
        bp__library_list_free(made);
        return status;
    }
    *generation = made;
    return BP_OK;
}

void bp__library_list_free(bp__library_list *generation) {
    bp__search_free(&generation->search);
    bp__free(generation->rows);
    bp__free(generation->infos);
    bp__free(generation);
}
