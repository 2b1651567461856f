/* list_entries.c - makes the public entries of the library list from files: state and reason, order, ids.
 *
 * Ids are the same in each run on an unchanged machine. They are assigned in list order: an entry gets the first free
 * one of  <family>  (with "64" appended for 64-bit integers, "scipy-" prefixed for SciPy's wheels, "-lapack" appended
 * for a LAPACK without BLAS),  <that>-<threading>,  <that>-<threading>-2, -3, ... A facade is  <id of the library it
 * forwards to>-<its SONAME's stem>.
 */
#include "registry/build_list.h"

#include "machine/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool set_state(bp__list_entry *entry, bp_library_state state, const char *reason) {
    entry->state = state;
    return bp__facts_set(&entry->reason, reason);
}

/* Returns whether the library forwards its calls. Some forward them to a library that is not listed. */
static bool is_facade(const bp__list_entry *entry) {
    return entry->target || *entry->file->facts.forwards || (entry->file->facts.flags & BP__FAMILY_FORWARDS);
}

static bool set_facade(bp__list_entry *entry) {
    bp__text reason = {0};
    if (*entry->file->facts.forwards) {
        bp__text_addf(&reason, "forwards its products to %s, which it opens itself", entry->file->facts.forwards);
    } else if (entry->file->facts.flags & BP__FAMILY_FORWARDS) {
        bp__text_addf(&reason, "forwards its calls to a library that is chosen when it is loaded");
    } else if (*entry->via) {
        bp__text_addf(&reason, "forwards to %s, which the loader resolves to %s", entry->via, entry->target->path);
    } else {
        bp__text_addf(&reason,
                      "holds the same library as %s in the same directory, with fewer exported names; that one is used",
                      entry->target->path);
    }
    bool enough = !reason.failed && set_state(entry, BP_LIBRARY_FACADE, bp__text_get(&reason));
    bp__text_free(&reason);
    return enough;
}

/* Sets state and reason from the facts alone. */
static bool decide_state(bp__list_entry *entry) {
    const bp__file *file = entry->file;
    const bp__facts *facts = &file->facts;
    entry->reason = "";
    if (file->trust != BP_OK) {
        return set_state(entry, BP_LIBRARY_UNTRUSTED, file->trust_reason);
    }
    if (is_facade(entry)) {
        return set_facade(entry);
    }
    switch ((bp__outcome)facts->outcome) {
    case BP__OUTCOME_BROKEN:
    case BP__OUTCOME_NO_LOAD:
        return set_state(entry, BP_LIBRARY_BROKEN, facts->reason);
    case BP__OUTCOME_NO_PROBE:
        return set_state(entry, BP_LIBRARY_UNPROBED, facts->reason);
    case BP__OUTCOME_OK:
    case BP__OUTCOME_NONE:
        break;
    }
    if (facts->flags & BP__FAMILY_GPU && !bp__has_gpu_driver()) {
        return set_state(entry, BP_LIBRARY_UNPROBED, "needs a GPU driver, and this machine has none loaded");
    }
    if (facts->outcome == BP__OUTCOME_OK) {
        return set_state(entry, BP_LIBRARY_OK, "");
    }
    return set_state(entry, BP_LIBRARY_UNPROBED,
                     facts->kinds & BP_LIB_OPENMP ? "an OpenMP runtime needs no probe: its ELF data is sufficient"
                                                  : "may not be called without a GPU and a configuration file");
}

static int group_of(const bp__list_entry *entry) {
    int64_t kinds = entry->file->facts.kinds;
    if (entry->state == BP_LIBRARY_UNTRUSTED) {
        return 7;
    }
    if (kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) {
        return 0;
    }
    static const unsigned order[] = {0, BP_LIB_LAPACK, BP_LIB_SMM, BP_LIB_FFT, BP_LIB_DNN};
    for (int i = 1; i < BP__COUNT(order); i++) {
        if (kinds & order[i]) {
            return i;
        }
    }
    return kinds & BP_LIB_OPENMP ? 6 : 5;
}

static int threading_rank(const bp__list_entry *entry) {
    static const char *const order[] = {"pthread", "libgomp", "libiomp5", "libomp", "tbb", "serial"};
    for (int i = 0; i < BP__COUNT(order); i++) {
        if (strcmp(order[i], entry->file->facts.threading) == 0) {
            return i;
        }
    }
    return BP__COUNT(order);
}

static int state_rank(const bp__list_entry *entry) {
    static const int ranks[] = {[BP_LIBRARY_OK] = 0,
                                [BP_LIBRARY_UNPROBED] = 1,
                                [BP_LIBRARY_BROKEN] = 2,
                                [BP_LIBRARY_FACADE] = 3,
                                [BP_LIBRARY_UNTRUSTED] = 4};
    return ranks[entry->state];
}

/* Sorts by kind, facades last, family, state, width, affix, threading; then files that the user named, then by path. */
static int compare_entries(const void *left, const void *right) {
    const bp__list_entry *a = left, *b = right;
    const int keys[][2] = {
        {group_of(a), group_of(b)},
        {is_facade(a), is_facade(b)},
        {a->rank, b->rank},
        {state_rank(a), state_rank(b)},
        {(int)a->file->facts.int_bits, (int)b->file->facts.int_bits},
        {*a->file->facts.prefix != 0, *b->file->facts.prefix != 0},
        {threading_rank(a), threading_rank(b)},
        {!a->file->asked_for, !b->file->asked_for},
    };
    for (int i = 0; i < BP__COUNT(keys); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return strcmp(a->file->path, b->file->path);
}

static bool is_taken(const bp__library_list *list, const char *id) {
    for (int i = 0; i < list->count; i++) {
        if (list->entries[i].id && strcmp(list->entries[i].id, id) == 0) {
            return true;
        }
    }
    return strcmp(id, "native") == 0;
}

static void make_base(const bp__library_list *list, const bp__list_entry *entry, char *base, size_t size) {
    const bp__facts *facts = &entry->file->facts;
    if (entry->state == BP_LIBRARY_UNTRUSTED || !*facts->family) {
        snprintf(base, size, entry->state == BP_LIBRARY_UNTRUSTED ? "untrusted" : "unread");
        return;
    }
    for (int i = 0; entry->target && i < list->count; i++) {
        if (list->entries[i].file == entry->target) {
            const char *name = *facts->soname ? facts->soname : strrchr(entry->file->path, '/') + 1;
            const char *end = strstr(name, ".so");
            snprintf(base, size, "%s-%.*s", list->entries[i].id ? list->entries[i].id : "facade",
                     (int)(end ? end - name : (ptrdiff_t)strlen(name)), name);
            return;
        }
    }
    size_t prefix = strcspn(facts->prefix, "_");
    bool lapack_alone = (facts->kinds & (BP_LIB_LAPACK | BP_LIB_BLAS | BP_LIB_CBLAS)) == BP_LIB_LAPACK;
    snprintf(base, size, "%.*s%s%s%s%s", (int)prefix, facts->prefix, prefix ? "-" : "", facts->base,
             facts->int_bits == 64 ? "64" : "", lapack_alone ? "-lapack" : "");
}

static bool name_entry(const bp__library_list *list, bp__list_entry *entry) {
    char base[256], id[320];
    const char *threading = entry->file->facts.threading;
    if (strcmp(threading, "libgomp") == 0 || strcmp(threading, "libomp") == 0 || strcmp(threading, "libiomp5") == 0) {
        threading = "openmp";
    }
    make_base(list, entry, base, sizeof base);
    snprintf(id, sizeof id, "%s", base);
    bool plain = *threading == 0 || strcmp(threading, "unknown") == 0 || entry->file->facts.kinds & BP_LIB_OPENMP ||
                 entry->target;
    if (is_taken(list, id) && !plain) {
        snprintf(id, sizeof id, "%s-%s", base, threading);
        snprintf(base, sizeof base, "%.250s", id);
    }
    for (int number = 2; is_taken(list, id); number++) {
        snprintf(id, sizeof id, "%s-%d", base, number);
    }
    return (entry->id = bp__intern(id)) != NULL;
}

enum { KIB = 1024 };

static bool fill_info(const bp__list_entry *entry, bp_library_info *info) {
    const bp__file *file = entry->file;
    const bp__facts *facts = &file->facts;
    const char *fact_sources = facts->fact_sources;
    *info = (bp_library_info){
        .struct_size = sizeof *info,
        .id = entry->id,
        .family = *facts->family ? facts->family : "unknown",
        .kinds = (unsigned)facts->kinds,
        .state = entry->state,
        .reason = entry->reason,
        .path = file->path,
        .aliases = file->aliases,
        .soname = facts->soname,
        .build_id = facts->build_id,
        .version = facts->version,
        .kernels = facts->kernels,
        .int_bits = (int)facts->int_bits,
        .suffix = facts->suffix,
        .prefix = facts->prefix,
        .complex_return = *facts->complex_return ? facts->complex_return : "unknown",
        .f2c = (int)facts->f2c,
        .threading = *facts->threading ? facts->threading : "unknown",
        .thread_scope = *facts->thread_scope ? facts->thread_scope : "unknown",
        .loaded = file->loaded,
        .probe_ms = facts->probe_ms,
        .cblas_suffix = facts->cblas_suffix,
        .faulty = bp__faulty_checks(facts->faults),
        .faults = facts->faults,
        .blas = facts->blas,
        .space = {facts->open_space * KIB, facts->call_space * KIB, facts->thread_space * KIB,
                  facts->caller_space * KIB},
        .data = {facts->open_data * KIB, facts->call_data * KIB, facts->thread_data * KIB, facts->caller_data * KIB},
        .stack = facts->stack * KIB,
        .overreads = (uint32_t)facts->overreads,
        .inexact = {facts->inexact_f32, facts->inexact_f64},
        .outside = facts->outside,
    };
    if (!bp__facts_learn_all(&fact_sources, facts->probed)) {
        return false;
    }
    info->fact_sources = fact_sources;
    return true;
}

/* Shows the target of a facade: family, version and width are the target's. */
static void copy_from_target(bp_library_info *facade, const bp__facts *target) {
    facade->family = target->family;
    facade->version = target->version;
    facade->kernels = target->kernels;
    facade->int_bits = (int)target->int_bits;
    facade->threading = target->threading;
    facade->thread_scope = target->thread_scope;
    facade->complex_return = *target->complex_return ? target->complex_return : "unknown";
}

/* Copies threads and kernels from the BLAS of a LAPACK, because the LAPACK uses those. */
static bool show_blas(bp__library_list *list, bp_library_info *info) {
    const bp__file *file = *info->blas ? bp__file_at(&list->search, info->blas) : NULL;
    for (int i = 0; i < list->count && file; i++) {
        const bp__list_entry *entry = &list->entries[i];
        file = entry->file == file && entry->target ? entry->target : file;
    }
    for (int i = 0; i < list->count && file; i++) {
        if (list->entries[i].file == file) {
            const bp__facts *facts = &file->facts;
            info->blas = list->infos[i].id;
            info->kernels = facts->kernels;
            info->threading = *facts->threading ? facts->threading : "unknown";
            info->thread_scope = *facts->thread_scope ? facts->thread_scope : "unknown";
            return bp__facts_learn(&info->fact_sources, "threading", "as its BLAS");
        }
    }
    if (*info->blas) {
        info->threading = info->thread_scope = "unknown";
    }
    return true;
}

static void fill_native(bp_library_info *info) {
    *info = (bp_library_info){
        .struct_size = sizeof *info,
        .id = "native",
        .family = "native",
        .kinds = BP_LIB_BUILTIN,
        .state = BP_LIBRARY_OK,
        .reason = "",
        .path = "",
        .aliases = "",
        .soname = "",
        .build_id = "",
        .version = BP_VERSION_STRING,
        .kernels = bp__capability_name(bp__cpu_capability()),
        .int_bits = 64,
        .suffix = "",
        .prefix = "",
        .complex_return = "unknown",
        .threading = "pthread",
        .thread_scope = "thread",
        .loaded = 1,
        .fact_sources = "built in",
        .cblas_suffix = "",
        .faults = "",
        .blas = "",
        .inexact = {"", ""},
        .outside = "",
    };
}

static bool describe_places(bp__search *search) {
    char text[96];
    for (int i = 0; i < search->place_count; i++) {
        bp__place *place = &search->places[i];
        int libraries = 0;
        for (int j = 0; j < place->file_count; j++) {
            const bp__file *file = &search->files[place->files[j]];
            libraries += file->trust != BP_OK || (*file->facts.family && !(file->facts.flags & BP__FAMILY_LAYER));
        }
        snprintf(text, sizeof text, libraries == 1 ? "%d library" : "%d libraries", libraries);
        if (!*place->problem && !(place->problem = bp__intern(text))) {
            return false;
        }
    }
    return true;
}

/* Keeps the entries that are known, and native's. */
static bool keep_known(bp__library_list *list) {
    const bp_library_info **known = bp__alloc(((size_t)list->count + 1) * sizeof *known);
    int count = 0;
    for (int i = 0; i <= list->count && known; i++) {
        if (i == list->count || !bp__list_entry_waits(&list->entries[i])) {
            known[count++] = &list->infos[i];
        }
    }
    list->kept_count = count;
    list->kept = known ? bp__list_keep(known, count) : NULL;
    bp__free(known);
    return list->kept != NULL;
}

bp_status bp__list_entries_finish(bp__library_list *list) {
    bool enough = true;
    for (int i = 0; i < list->count; i++) {
        list->entries[i].id = NULL; /* the list may have been finished before, with less knowledge */
        enough = enough && decide_state(&list->entries[i]);
    }
    if (enough && list->count > 1) {
        qsort(list->entries, (size_t)list->count, sizeof *list->entries, compare_entries);
    }
    size_t size = (size_t)list->count + 1;
    bp__free(list->infos);
    list->infos = bp__alloc_zero(size, sizeof *list->infos);
    if (!enough || !list->infos) {
        return bp__fail_memory(size * sizeof *list->infos, "the library list");
    }
    for (int i = 0; i < list->count; i++) {
        bp__list_entry *entry = &list->entries[i];
        if (!name_entry(list, entry) || !fill_info(entry, &list->infos[i])) {
            return bp__fail_memory(size, "the library list");
        }
        if (entry->target) {
            copy_from_target(&list->infos[i], &entry->target->facts);
        }
    }
    for (int i = 0; i < list->count; i++) {
        if (!show_blas(list, &list->infos[i])) {
            return bp__fail_memory(size, "the library list");
        }
    }
    fill_native(&list->infos[list->count]);
    if (!keep_known(list)) {
        return bp__fail_memory(size * sizeof *list->kept, "the library list");
    }
    return describe_places(&list->search) ? BP_OK : bp__fail_memory(size, "the locations searched");
}
