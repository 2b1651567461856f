/* run.c - starts the helper program that measures a candidate, and reads its report. */
#include "calibration/internal.h"
#include "base/number.h"
#include "base/path_buffer.h"

#include "machine/internal.h"
#include "registry/child.h"
#include "registry/internal.h"
#include "registry/modules.h"
#include "settings/internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN_NS = 10000, /* of runs per point: enough for an error below 10 %, which the choice tolerates */
    START_MS = 4000, /* for loading the libraries, in addition to the measurement */
    LOADED = 8,      /* how much longer than its budget a measurement may take on a loaded machine */
    MOST_SETTINGS = 24,
    SETTING_BYTES = 3 * PATH_MAX + 64 /* registry.library_path has up to three paths */
};

/* The settings by which the helper finds the stored facts of the library. */
static const bp_setting_id passed[] = {
    BP_SET_registry_cache,         BP_SET_registry_cache_dir,    BP_SET_registry_deepbind,
    BP_SET_registry_probe_timeout, BP_SET_registry_probe_memory,
};

/* Writes the settings as NAME=VALUE. The helper searches for the library and the one that it calls only, which saves
 * time. It searches for modules next to this library, because it may be in another directory itself. */
static int write_settings(const bp__calibrated *candidate, char texts[MOST_SETTINGS][SETTING_BYTES]) {
    static const char library_path[] = "registry.library_path=";
    int count = 0;
    snprintf(texts[count++], SETTING_BYTES, "registry.system=false");
    memcpy(texts[count], library_path, sizeof library_path);
    if (candidate->library) {
        bp__library_write_paths(candidate->library, texts[count] + sizeof library_path - 1,
                                SETTING_BYTES - sizeof library_path);
    }
    count++;
    BP__PATH_BUFFER(folder);
    const char *value;
    for (int i = 0; i < BP__COUNT(passed); i++) {
        const char *name = bp_setting_at((int)passed[i])->name;
        if (bp_get(name, &value, NULL, NULL) == BP_OK) {
            snprintf(texts[count++], SETTING_BYTES, "%s=%s", name, value);
        }
    }
    const char *paths = bp__setting_text(BP_SET_registry_provider_path);
    if (folder && bp__own_folder(folder)) {
        snprintf(texts[count++], SETTING_BYTES, "registry.provider_path=%s%s%s/backplane-providers", paths,
                 *paths ? ":" : "", folder);
    }
    return count;
}

/* Returns the value of "CLASS.NAME=value" if the line has this name. */
static const char *value_of(const char *line, const char *class, const char *name) {
    const size_t length = strlen(class);
    if (strncmp(line, class, length) != 0 || line[length] != '.') {
        return NULL;
    }
    const char *rest = line + length + 1;
    const size_t used = strlen(name);
    return strncmp(rest, name, used) == 0 ? rest + used : NULL;
}

static void read_line(const char *line, const bp__class *class, bp__measured *measured) {
    const char *value;
    if ((value = value_of(line, "speed", "native="))) {
        bp__read_times(value, measured->native, BP__FIRST_POINTS);
    } else if ((value = value_of(line, class->name, "first="))) {
        bp__read_times(value, measured->first, BP__FIRST_POINTS);
        measured->slow = true; /* until times follow */
        measured->failed = false;
    } else if ((value = value_of(line, class->name, "times."))) {
        char *text;
        const long from = strtol(value, &text, 10);
        if (*text == '=' && from >= 0 && from < BP__LATTICE_POINTS) {
            bp__read_times(text + 1, measured->times + from, BP__LATTICE_POINTS - (int)from);
            measured->slow = false;
            measured->failed = false;
        }
    }
}

/* A class without times was not reached: its measurement ended the helper. */
static void read_report(char *report, const bp__class_set *classes, bp__measured *measured) {
    char *rest = NULL;
    for (char *line = strtok_r(report, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        for (int class = 0; class < BP__CLASSES; class ++) {
            if (bp__class_in(classes, class)) {
                read_line(line, &bp__classes[class], &measured[class]);
            }
        }
    }
}

static void write_classes(const bp__class_set *classes, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (int class = 0; class < BP__CLASSES; class ++) {
        if (bp__class_in(classes, class) && used < size) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", bp__classes[class].name);
        }
    }
}

/* The words of the helper's command line. */
typedef struct words {
    char names[BP__CLASSES * BP__CLASS_NAME_BYTES], threads[16], turn[16], budget[24], limit[24], memory[24];
    char settings[MOST_SETTINGS][SETTING_BYTES];
    const char *arguments[8 + MOST_SETTINGS + 1];
} words;

static void write_words(words *w, const bp__calibrated *candidate, const bp__class_set *classes, double budget_ms,
                        int64_t milliseconds) {
    write_classes(classes, w->names, sizeof w->names);
    snprintf(w->threads, sizeof w->threads, "%d", bp__available_cpus());
    snprintf(w->turn, sizeof w->turn, "%d", TURN_NS);
    bp__format(w->budget, sizeof w->budget, "%.0f", budget_ms);
    snprintf(w->limit, sizeof w->limit, "%lld", (long long)milliseconds);
    snprintf(w->memory, sizeof w->memory, "%lld", (long long)bp__probe_memory());
    const char *const first[] = {
        "--measure", candidate->provider->name, w->names, w->threads, w->turn, w->budget, w->limit, w->memory};
    memcpy(w->arguments, first, sizeof first);
    const int settings = write_settings(candidate, w->settings);
    for (int i = 0; i < settings; i++) {
        w->arguments[BP__COUNT(first) + i] = w->settings[i];
    }
}

bp_status bp__measure_classes(const bp__calibrated *candidate, const bp__class_set *classes, double budget_ms,
                              bp__measured measured[BP__CLASSES]) {
    const int64_t milliseconds = (int64_t)(budget_ms * LOADED) * bp__class_count(classes) + START_MS;
    words *w = bp__alloc_zero(1, sizeof *w);
    char *report;
    for (int class = 0; class < BP__CLASSES; class ++) {
        measured[class] = (bp__measured){.failed = true};
    }
    if (!w) {
        return bp__fail_memory(sizeof *w, "the settings of a measurement");
    }
    write_words(w, candidate, classes, budget_ms, milliseconds);
    bp_status status = bp__helper_run(w->arguments, milliseconds, &report);
    bp__free(w);
    BP__TRY(status);
    read_report(report, classes, measured);
    bp__free(report);
    return BP_OK;
}
