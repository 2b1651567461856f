/* tune_api.c - the public functions for records of measured times. */
#include "backplane/tune.h"
#include "base/uncancelled.h"

#include "dispatch/times/tune.h"
#include "store/store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Reading ---- */

typedef struct visitor {
    int (*visit)(void *user, const bp_tuning_record *record);
    void *user;
} visitor;

static bool show(void *user, const bp__store_record *record) {
    const visitor *v = user;
    const bp_tuning_record shown = {
        .struct_size = sizeof shown, .problem = record->key, .times = record->value, .written_s = record->written_s};
    return v->visit(v->user, &shown) != 0;
}

const char *bp_tuning_path(char *buffer, size_t size) {
    return buffer && size > 0 ? bp__tune_file(buffer, size) : "";
}

bp_status bp_tuning_visit(int (*visit)(void *user, const bp_tuning_record *record), void *user) {
    BP__UNCANCELLED;
    char path[PATH_MAX];
    bp__store *file;
    if (!visit) {
        return bp__fail(BP_E_ARGUMENT, "bp_tuning_visit: visit must not be NULL");
    }
    if (!*bp__tune_file(path, sizeof path)) {
        return BP_OK;
    }
    BP__TRY(bp__store_open(&file, path));
    bp__store_visit(file, show, &(visitor){visit, user});
    bp__store_close(file);
    return BP_OK;
}

bp_status bp_tuning_stats(bp_tuning_info *info) {
    BP__TRY(bp__struct_check(info, sizeof *info, "info"));
    const bp_tuning_info own = {
        .struct_size = sizeof own, .classes = bp__tune_measured(), .spent_ns = (double)bp__tune_spent_ns()};
    bp__struct_write(info, &own, sizeof own);
    return BP_OK;
}

/* ---- Changing ---- */

/* Records of one snapshot that are to be put into another file. */
typedef struct collection {
    bp__store_record *list;
    int count;
    const bp__store *target; /* its newer records stay; NULL: all records are put */
    bool remove;
} collection;

static bool collect(void *user, const bp__store_record *record) {
    collection *all = user;
    int64_t there_s;
    if (all->target && bp__store_find(all->target, record->key, &there_s) && there_s > record->written_s) {
        return true;
    }
    all->list[all->count] = *record;
    all->list[all->count++].value = all->remove ? NULL : record->value;
    return true;
}

/* Puts the records of `from` into the file `to`. */
static bp_status put_all(const char *to, const bp__store *from, const bp__store *target, bool remove) {
    collection all = {.target = target, .remove = remove};
    all.list = bp__alloc_zero((size_t)bp__store_count(from) + 1, sizeof *all.list);
    if (!all.list) {
        return bp__fail_memory((size_t)bp__store_count(from) * sizeof *all.list, "measured times");
    }
    bp__store_visit(from, collect, &all);
    bp_status status = bp__store_put(to, all.list, all.count);
    bp__free(all.list);
    return status;
}

/* Writes the path of the file that may be changed. */
static bp_status own_file(const char *function, char *path, size_t size) {
    enum { READ_WRITE = 2 };
    if (*bp__setting_text(BP_SET_tuning_store_path) || bp__setting_int(BP_SET_tuning_store) != READ_WRITE) {
        return bp__fail(BP_E_READ_ONLY, "%s: measured times are not written, as tuning.store%s says", function,
                        *bp__setting_text(BP_SET_tuning_store_path) ? "_path" : "");
    }
    return *bp__tune_file(path, size)
               ? BP_OK
               : bp__fail(BP_E_NOT_FOUND, "%s: there is no cache directory; set registry.cache_dir", function);
}

/* Makes plans again, by the records that are there now. */
static void start_over(void) {
    bp__tune_forget();
    bp__plan_epoch_next();
}

bp_status bp_tuning_clear(void) {
    BP__UNCANCELLED;
    char path[PATH_MAX];
    bp__store *file;
    BP__TRY(own_file("bp_tuning_clear", path, sizeof path));
    BP__TRY(bp__store_open(&file, path));
    bp_status status = bp__store_count(file) > 0 ? put_all(path, file, NULL, true) : BP_OK;
    bp__store_close(file);
    start_over();
    return status;
}

/* Makes a path of the caller absolute. */
static bp_status make_absolute(const char *function, const char *given, char *path, size_t size) {
    char here[PATH_MAX];
    if (!given || !*given) {
        return bp__fail(BP_E_ARGUMENT, "%s: path must not be %s", function, given ? "empty" : "NULL");
    }
    bool relative = *given != '/';
    if (relative && !getcwd(here, sizeof here)) {
        return bp__fail(BP_E_IO, "%s: the current directory cannot be read", function);
    }
    int length = snprintf(path, size, "%s%s%s", relative ? here : "", relative ? "/" : "", given);
    return length > 0 && (size_t)length < size ? BP_OK : bp__fail(BP_E_IO, "%s: path is too long", function);
}

bp_status bp_tuning_export(const char *given) {
    BP__UNCANCELLED;
    char path[PATH_MAX], from[PATH_MAX];
    bp__store *file;
    BP__TRY(make_absolute("bp_tuning_export", given, path, sizeof path));
    if (!*bp__tune_file(from, sizeof from)) {
        return bp__fail(BP_E_NOT_FOUND, "bp_tuning_export: there is no cache directory; set registry.cache_dir");
    }
    BP__TRY(bp__store_open(&file, from));
    bp_status status = put_all(path, file, NULL, false);
    bp__store_close(file);
    return status;
}

/* Opens a file of the caller, whose defects are errors. */
static bp_status open_given(bp__store **file, const char *path) {
    char *text;
    size_t size;
    int damaged;
    BP__TRY(bp__file_trusted(path));
    BP__TRY(bp__file_read(path, BP__STORE_MOST, &text, &size));
    BP__TRY(bp__store_parse(file, text, path, &damaged));
    if (damaged > 0) {
        bp__warn("%s: %d damaged lines are not imported", path, damaged);
    }
    return BP_OK;
}

bp_status bp_tuning_import(const char *given) {
    BP__UNCANCELLED;
    char path[PATH_MAX], to[PATH_MAX];
    bp__store *file, *own;
    BP__TRY(make_absolute("bp_tuning_import", given, path, sizeof path));
    BP__TRY(own_file("bp_tuning_import", to, sizeof to));
    BP__TRY(open_given(&file, path));
    bp_status status = bp__store_open(&own, to);
    if (status == BP_OK) {
        status = put_all(to, file, own, false);
        bp__store_close(own);
    }
    bp__store_close(file);
    start_over();
    return status;
}
