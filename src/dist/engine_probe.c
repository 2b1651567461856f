/* engine_probe.c - tests a ScaLAPACK in a child process before it is opened in the program, and keeps the verdict.
 *
 * The helper (probe/engines.c) opens the library with its MPI, which is initialized there as a program of one rank. It
 * knows nothing of the launcher. If MPI starts no process alone, or does not within the limit, the library counts as
 * usable: the fault is not its own. */
#include "dist/internal.h"

#include "registry/child.h"
#include "registry/probe_cache_key.h"
#include "settings/internal.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define STORED_IN "engines.txt"

static bool leaves_probe;
static const char *last_key, *last_reason; /* of this process; under the lock of MPI */

void bp__engines_leave_probe(void) {
    leaves_probe = true;
}

void bp__engines_reset(void) {
    last_key = last_reason = NULL;
}

/* ---- The key ---- */

static void add_file(bp__text *text, const char *path) {
    struct stat facts = {0};
    stat(path, &facts);
    bp__text_addf(text, " %s %lld %lld.%09ld", path, (long long)facts.st_size, (long long)facts.st_mtim.tv_sec,
                  facts.st_mtim.tv_nsec);
}

/* All that the verdict depends on: both files, the processor, variables, and what the loader finds. */
static void make_key(bp__text *key, const bp__mpi *mpi, const bp_dist_engine *engine) {
    int64_t loader = 0;
    const uint64_t machine = bp__probe_cache_key(&loader);
    bp__text_addf(key, "%s %016" PRIx64 " %" PRId64, engine->name, machine, loader);
    add_file(key, mpi->path);
    add_file(key, engine->path);
}

/* ---- The verdict ---- */

typedef struct verdict {
    const char *step, *end, *failure;
    bool done, momentary; /* momentary: time, memory or a signal from outside ended the child */
} verdict;

static void read_line(verdict *v, char *line) {
    char *value = strchr(line, '=');
    if (!value) {
        return;
    }
    *value++ = '\0';
    if (strcmp(line, "step") == 0) {
        v->step = value;
    } else if (strcmp(line, "end") == 0 || strcmp(line, "unstarted") == 0) {
        v->end = value;
    } else if (strcmp(line, "failed") == 0) {
        v->failure = value;
    } else if (strcmp(line, "moment") == 0 || strcmp(line, "limited") == 0) {
        v->momentary = true;
    } else if (strcmp(line, "done") == 0) {
        v->done = true;
    }
}

/* Writes why the library cannot be used, or nothing. Changes the report. Returns whether a later test would have the
 * same result. */
static bool judge(char *report, bp__text *reason) {
    verdict v = {.step = "before it was loaded"};
    for (char *line = report, *rest; (line = strtok_r(line, "\n", &rest)); line = NULL) {
        read_line(&v, line);
    }
    const bool blameless = strcmp(v.step, "while MPI was initialized") == 0;
    if (v.failure) {
        bp__text_add(reason, v.failure);
    } else if (!v.done && !blameless) {
        bp__text_addf(reason, "%s in the child process that tests it, %s", v.end ? v.end : "ended early", v.step);
    }
    return v.done || v.failure || (v.end && !v.momentary);
}

static bp_status ask_child(const bp__mpi *mpi, const bp_dist_engine *engine, bp__text *reason, bool *lasts) {
    char milliseconds[24], mebibytes[24], *report;
    const int64_t most = bp__setting_int(BP_SET_registry_probe_timeout);
    const char *slash = strrchr(engine->path, '/');
    char *folder = bp__strdup(engine->path);
    if (!folder) {
        return bp__fail_memory(strlen(engine->path), "a path");
    }
    folder[slash ? slash - engine->path : 0] = '\0';
    snprintf(milliseconds, sizeof milliseconds, "%lld", (long long)most);
    snprintf(mebibytes, sizeof mebibytes, "%lld", (long long)bp__probe_memory());
    const char *words[] = {"--engine", engine->name, engine->file, folder, mpi->path, milliseconds, mebibytes, NULL};
    const bp_status status = bp__helper_run(words, most, &report);
    bp__free(folder);
    if (status == BP_E_NOT_FOUND || status == BP_E_BROKEN) {
        bp__text_addf(reason, "not probed: %s", bp_last_error());
        return BP_OK;
    }
    if (status == BP_OK) {
        *lasts = judge(report, reason);
        bp__free(report);
    }
    return status;
}

/* ---- The cache ---- */

enum { OFF, READ_ONLY, READ_WRITE }; /* words of registry.cache */

/* Returns the interned reason of an earlier process, or NULL. */
static const char *recall(const char *key) {
    bp__store *store;
    if (bp__setting_int(BP_SET_registry_cache) == OFF || bp__store_open(&store, STORED_IN) != BP_OK) {
        return NULL;
    }
    const char *value = bp__store_find(store, key, NULL);
    const char *kept = value ? bp__intern(value) : NULL;
    bp__store_close(store);
    return kept;
}

/* Later processes look again if this fails. */
static void remember(const char *key, const char *reason) {
    const bp__store_record record = {.key = key, .value = reason};
    if (bp__setting_int(BP_SET_registry_cache) == READ_WRITE) {
        bp__held_error held;
        bp__error_hold(&held);
        (void)bp__store_put(STORED_IN, &record, 1);
        bp__error_return(&held);
    }
}

static const char *find_reason(const char *key, const bp__mpi *mpi, const bp_dist_engine *engine) {
    const char *known = recall(key);
    bool lasts = false;
    bp__text reason = {0};
    if (known) {
        return known;
    }
    known =
        ask_child(mpi, engine, &reason, &lasts) == BP_OK && !reason.failed ? bp__intern(bp__text_get(&reason)) : NULL;
    if (known && lasts) {
        remember(key, known);
    }
    bp__text_free(&reason);
    return known;
}

const char *bp__engine_why_broken(const bp__mpi *mpi, const bp_dist_engine *engine) {
    bp__text key = {0};
    if (leaves_probe) {
        return "";
    }
    make_key(&key, mpi, engine);
    const char *own = key.failed ? NULL : bp__intern(bp__text_get(&key));
    if (own && own != last_key) {
        last_reason = find_reason(own, mpi, engine);
        last_key = last_reason ? own : NULL;
    }
    bp__text_free(&key);
    return own ? last_reason : NULL;
}
