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

static bool set_state(bp__list_entry *row, bp_library_state state, const char *reason) {
    row->state = state;
    return bp__facts_set(&row->reason, reason);
}

/* Some libraries forward their calls to a library that is not listed. */
static bool is_facade(const bp__list_entry *row) {
    return row->target || *row->file->facts.forwards || (row->file->facts.flags & BP__FAMILY_FORWARDS);
}

static bool set_facade(bp__list_entry *row) {
    char reason[4096];
    if (*row->file->facts.forwards) {
        snprintf(reason, sizeof reason, "forwards its products to %s, which it opens itself",
                 row->file->facts.forwards);
    } else if (row->file->facts.flags & BP__FAMILY_FORWARDS) {
        snprintf(reason, sizeof reason, "forwards its calls to a library that is chosen when it is loaded");
    } else if (*row->via) {
        snprintf(reason, sizeof reason, "forwards to %s, which the loader resolves to %s", row->via, row->target->path);
    } else {
        snprintf(reason, sizeof reason,
                 "holds the same library as %s in the same directory, with fewer exported names; that one is used",
                 row->target->path);
    }
    return set_state(row, BP_LIBRARY_FACADE, reason);
}

/* Sets state and reason from the facts alone. */
static bool decide_state(bp__list_entry *row) {
    const bp__file *file = row->file;
    const bp__facts *facts = &file->facts;
    row->reason = "";
    if (file->trust != BP_OK) {
        return set_state(row, BP_LIBRARY_UNTRUSTED, file->trust_reason);
    }
    if (is_facade(row)) {
        return set_facade(row);
    }
    switch ((bp__outcome)facts->outcome) {
    case BP__OUTCOME_BROKEN:
    case BP__OUTCOME_NO_LOAD:
        return set_state(row, BP_LIBRARY_BROKEN, facts->reason);
    case BP__OUTCOME_NO_PROBE:
        return set_state(row, BP_LIBRARY_UNPROBED, facts->reason);
    case BP__OUTCOME_OK:
    case BP__OUTCOME_NONE:
        break;
    }
    if (facts->flags & BP__FAMILY_GPU && !bp__has_gpu_driver()) {
        return set_state(row, BP_LIBRARY_UNPROBED, "needs a GPU driver, and this machine has none loaded");
    }
    if (facts->outcome == BP__OUTCOME_OK) {
        return set_state(row, BP_LIBRARY_OK, "");
    }
    return set_state(row, BP_LIBRARY_UNPROBED,
                     facts->kinds & BP_LIB_OPENMP ? "an OpenMP runtime needs no probe: its ELF data is sufficient"
                                                  : "may not be called without a GPU and a configuration file");
}

static int group_of(const bp__list_entry *row) {
    int64_t kinds = row->file->facts.kinds;
    if (row->state == BP_LIBRARY_UNTRUSTED) {
        return 6;
    }
    if (kinds & (BP_LIB_BLAS | BP_LIB_CBLAS)) {
        return 0;
    }
    return kinds & BP_LIB_LAPACK ? 1 : kinds & BP_LIB_FFT ? 2 : kinds & BP_LIB_DNN ? 3 : kinds & BP_LIB_OPENMP ? 5 : 4;
}

static int threading_rank(const bp__list_entry *row) {
    static const char *const order[] = {"pthread", "libgomp", "libiomp5", "libomp", "tbb", "serial"};
    for (int i = 0; i < BP__COUNT(order); i++) {
        if (strcmp(order[i], row->file->facts.threading) == 0) {
            return i;
        }
    }
    return BP__COUNT(order);
}

static int state_rank(const bp__list_entry *row) {
    static const int ranks[] = {[BP_LIBRARY_OK] = 0,
                                [BP_LIBRARY_UNPROBED] = 1,
                                [BP_LIBRARY_BROKEN] = 2,
                                [BP_LIBRARY_FACADE] = 3,
                                [BP_LIBRARY_UNTRUSTED] = 4};
    return ranks[row->state];
}

/* Sorts by kind, facades last, family, state, width, affix, threading; then files that the user named, then by path. */
static int compare_rows(const void *left, const void *right) {
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

static bool is_taken(const bp__library_list *generation, const char *id) {
    for (int i = 0; i < generation->count; i++) {
        if (generation->rows[i].id && strcmp(generation->rows[i].id, id) == 0) {
            return true;
        }
    }
    return strcmp(id, "native") == 0;
}

static void make_base(const bp__library_list *generation, const bp__list_entry *row, char *base, size_t size) {
    const bp__facts *facts = &row->file->facts;
    if (row->state == BP_LIBRARY_UNTRUSTED) {
        snprintf(base, size, "untrusted");
        return;
    }
    for (int i = 0; row->target && i < generation->count; i++) {
        if (generation->rows[i].file == row->target) {
            const char *name = *facts->soname ? facts->soname : strrchr(row->file->path, '/') + 1;
            const char *end = strstr(name, ".so");
            snprintf(base, size, "%s-%.*s", generation->rows[i].id ? generation->rows[i].id : "facade",
                     (int)(end ? end - name : (ptrdiff_t)strlen(name)), name);
            return;
        }
    }
    size_t prefix = strcspn(facts->prefix, "_");
    bool lapack_alone = (facts->kinds & (BP_LIB_LAPACK | BP_LIB_BLAS | BP_LIB_CBLAS)) == BP_LIB_LAPACK;
    snprintf(base, size, "%.*s%s%s%s%s", (int)prefix, facts->prefix, prefix ? "-" : "", facts->base,
             facts->int_bits == 64 ? "64" : "", lapack_alone ? "-lapack" : "");
}

static bool name_row(const bp__library_list *generation, bp__list_entry *row) {
    char base[256], id[320];
    const char *threading = row->file->facts.threading;
    if (strcmp(threading, "libgomp") == 0 || strcmp(threading, "libomp") == 0 || strcmp(threading, "libiomp5") == 0) {
        threading = "openmp";
    }
    make_base(generation, row, base, sizeof base);
    snprintf(id, sizeof id, "%s", base);
    bool plain =
        *threading == 0 || strcmp(threading, "unknown") == 0 || row->file->facts.kinds & BP_LIB_OPENMP || row->target;
    if (is_taken(generation, id) && !plain) {
        snprintf(id, sizeof id, "%s-%s", base, threading);
        snprintf(base, sizeof base, "%.250s", id);
    }
    for (int number = 2; is_taken(generation, id); number++) {
        snprintf(id, sizeof id, "%s-%d", base, number);
    }
    return (row->id = bp__intern(id)) != NULL;
}

static bool fill_info(const bp__list_entry *row, bp_library_info *info) {
    const bp__file *file = row->file;
    const bp__facts *facts = &file->facts;
    const char *fact_sources = facts->fact_sources;
    *info = (bp_library_info){
        .struct_size = sizeof *info,
        .id = row->id,
        .family = *facts->family ? facts->family : "unknown",
        .kinds = (unsigned)facts->kinds,
        .state = row->state,
        .reason = row->reason,
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
    };
    if (!bp__facts_learn_all(&fact_sources, facts->probed)) {
        return false;
    }
    info->fact_sources = fact_sources;
    return true;
}

/* Shows the target of a facade: family, version and width are those of the target. */
static void borrow(bp_library_info *facade, const bp__facts *target) {
    facade->family = target->family;
    facade->version = target->version;
    facade->kernels = target->kernels;
    facade->int_bits = (int)target->int_bits;
    facade->threading = target->threading;
    facade->thread_scope = target->thread_scope;
    facade->complex_return = *target->complex_return ? target->complex_return : "unknown";
}

/* A LAPACK without BLAS uses the threads and kernels of its BLAS. */
static bool show_blas(bp__library_list *generation, bp_library_info *info) {
    const bp__file *file = *info->blas ? bp__file_at(&generation->search, info->blas) : NULL;
    for (int i = 0; i < generation->count && file; i++) {
        const bp__list_entry *row = &generation->rows[i];
        file = row->file == file && row->target ? row->target : file;
    }
    for (int i = 0; i < generation->count && file; i++) {
        if (generation->rows[i].file == file) {
            const bp__facts *facts = &file->facts;
            info->blas = generation->infos[i].id;
            info->kernels = facts->kernels;
            info->threading = *facts->threading ? facts->threading : "unknown";
            info->thread_scope = *facts->thread_scope ? facts->thread_scope : "unknown";
            return bp__facts_learn(&info->fact_sources, "threading", "that of its BLAS");
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

bp_status bp__list_entries_finish(bp__library_list *generation) {
    bool enough = true;
    for (int i = 0; i < generation->count; i++) {
        enough = enough && decide_state(&generation->rows[i]);
    }
    if (enough && generation->count > 1) {
        qsort(generation->rows, (size_t)generation->count, sizeof *generation->rows, compare_rows);
    }
    size_t room = (size_t)generation->count + 1;
    generation->infos = bp__alloc_zero(room, sizeof *generation->infos);
    if (!enough || !generation->infos) {
        return bp__fail_memory(room * sizeof *generation->infos, "the library list");
    }
    for (int i = 0; i < generation->count; i++) {
        bp__list_entry *row = &generation->rows[i];
        if (!name_row(generation, row) || !fill_info(row, &generation->infos[i])) {
            return bp__fail_memory(room, "the library list");
        }
        if (row->target) {
            borrow(&generation->infos[i], &row->target->facts);
        }
    }
    for (int i = 0; i < generation->count; i++) {
        if (!show_blas(generation, &generation->infos[i])) {
            return bp__fail_memory(room, "the library list");
        }
    }
    fill_native(&generation->infos[generation->count]);
    if (!(generation->list = bp__list_keep(generation->infos, generation->count + 1))) {
        return bp__fail_memory(room * sizeof *generation->list, "the library list");
    }
    return describe_places(&generation->search) ? BP_OK : bp__fail_memory(room, "the locations searched");
}
