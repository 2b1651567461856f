/* quarantine.c - refuses candidates that computed wrong results here.
 *
 * The file quarantine.txt in the cache directory has a line for each:
 *     LIBRARY[:PROVIDER][:ALGORITHM][@BUILD] OPERATION reason
 * OPERATION may be *. With @BUILD, the line is for the library with that build-id only. Users may add and remove lines;
 * those that begin with # are comments. If the file cannot be written, the process keeps the line for itself. */
#include "dispatch/times/tune.h"
#include "base/path_buffer.h"

#include "store/place.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "quarantine.txt"
enum { MOST_BYTES = 1 << 20, WAIT_MS = 500 };

static struct {
    atomic_bool loaded;
    atomic_bool any;
    char *text;   /* of the file; NULL if there is none */
    bp__text own; /* lines that could not be written */
} state;

void bp__quarantine_refresh(void) {
    BP__PATH_BUFFER(path);
    char *text = NULL;
    size_t given, size;
    bp__held_error held;
    bp__error_hold(&held);
    if (path && bp__cache_path(FILE_NAME, path, &given)) {
        bp_status status = bp__file_trusted(path);
        status = status == BP_OK ? bp__file_read(path, MOST_BYTES, &text, &size) : status;
        if (status != BP_OK && status != BP_E_NOT_FOUND && status != BP_E_NO_MEMORY) {
            bp__warn("%s is not used: %s", path, bp_last_error());
        }
    }
    pthread_mutex_lock(&bp__tune_mutex);
    char *old = state.text;
    state.text = text;
    atomic_store(&state.any, text != NULL || state.own.length > 0);
    atomic_store(&state.loaded, true);
    pthread_mutex_unlock(&bp__tune_mutex);
    bp__free(old);
    bp__error_return(&held);
}

/* Copies the next word of a line; returns the position after it and its spaces. */
static const char *take_word(const char *line, char *word, size_t size) {
    size_t length = strcspn(line, " \t\n");
    snprintf(word, size, "%.*s", (int)(length < size ? length : size - 1), line);
    line += length;
    return line + strspn(line, " \t");
}

static bool names(const char *line, const bp__offer *offer, bp_op op, char *why, size_t size) {
    char name[256], operation[64];
    const char *rest = take_word(take_word(line, name, sizeof name), operation, sizeof operation);
    char *build = strchr(name, '@');
    if (*name == '#' || !*operation || (strcmp(operation, "*") != 0 && strcmp(operation, bp_op_name(op)) != 0)) {
        return false;
    }
    if (build) {
        const bp_library_info *library = offer->candidate->library;
        *build++ = '\0';
        if (!library || strncmp(library->build_id, build, strlen(build)) != 0) {
            return false;
        }
    }
    if (bp__name_matches(name, offer->candidate, offer->verdict.algorithm) == 0) {
        return false;
    }
    snprintf(why, size, "in quarantine: %.*s", (int)strcspn(rest, "\n"), rest);
    return true;
}

static bool find_quarantined(const char *text, const bp__offer *offer, bp_op op, char *why, size_t size) {
    bool found = false;
    for (const char *line = text; line && *line && !found;) {
        found = names(line, offer, op, why, size);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return found;
}

bool bp__quarantined(const bp__offer *offer, bp_op op, char *why, size_t size) {
    if (!atomic_load(&state.loaded)) {
        bp__quarantine_refresh();
    }
    if (!atomic_load(&state.any)) {
        return false;
    }
    pthread_mutex_lock(&bp__tune_mutex);
    const bool found = find_quarantined(state.text, offer, op, why, size) ||
                       find_quarantined(bp__text_get(&state.own), offer, op, why, size);
    pthread_mutex_unlock(&bp__tune_mutex);
    return found;
}

/* Writes the file with one more line, while it is locked. */
static bp_status append(const char *path, size_t given, const char *line) {
    char *old = NULL;
    size_t size = 0;
    bp__text text = {0};
    bp_status status = bp__file_trusted(path);
    status = status == BP_OK ? bp__file_read(path, MOST_BYTES, &old, &size) : status;
    if (status == BP_OK || status == BP_E_NOT_FOUND) {
        bp__text_add(&text, old ? old
                                : "# Candidates that computed wrong results: LIBRARY[:PROVIDER][:ALGORITHM][@BUILD] "
                                  "OPERATION reason\n");
        bp__text_add(&text, text.length > 0 && text.bytes[text.length - 1] != '\n' ? "\n" : "");
        bp__text_add(&text, line);
        status = text.failed ? bp__fail_memory(text.length, FILE_NAME)
                             : bp__file_replace(path, given, text.bytes, text.length);
    }
    bp__text_free(&text);
    bp__free(old);
    return status;
}

/* Writes the line of an offer. Texts of providers may have line ends, which would begin another line. */
static void make_line(char *line, size_t size, const bp__offer *offer, bp_op op, const char *why) {
    const bp__candidate *candidate = offer->candidate;
    const char *algorithm = offer->verdict.algorithm, *build = candidate->library ? candidate->library->build_id : "";
    const int length =
        snprintf(line, size - 1, "%s:%s:%.*s%s%.16s %s %s", bp__candidate_id(candidate), candidate->provider->name,
                 (int)strcspn(algorithm, " "), algorithm, *build ? "@" : "", build, bp_op_name(op), why);
    for (char *at = line; *at; at++) {
        *at = (char)((unsigned char)*at < ' ' ? ' ' : *at);
    }
    memcpy(line + (length < (int)size - 1 ? length : (int)size - 2), "\n", 2);
}

static bool write_line(const char *line) {
    BP__PATH_BUFFER(path);
    size_t given;
    int lock;
    if (!path || !bp__cache_path(FILE_NAME, path, &given)) {
        return false;
    }
    bp_status status = bp__file_lock(path, given, WAIT_MS, &lock);
    if (status == BP_OK) {
        status = append(path, given, line);
        bp__file_unlock(lock);
    }
    if (status != BP_OK) {
        bp__warn("%s could not be written: %s", path, bp_last_error());
    }
    return status == BP_OK;
}

void bp__quarantine_add(const bp__offer *offer, bp_op op, const char *why) {
    char line[768];
    make_line(line, sizeof line, offer, op, why);
    if (!write_line(line)) {
        pthread_mutex_lock(&bp__tune_mutex);
        bp__text_add(&state.own, line);
        pthread_mutex_unlock(&bp__tune_mutex);
    }
    bp__quarantine_refresh();
}

void bp__quarantine_reset(void) {
    pthread_mutex_lock(&bp__tune_mutex);
    bp__free(state.text);
    state.text = NULL;
    bp__text_free(&state.own);
    atomic_store(&state.loaded, false);
    atomic_store(&state.any, false);
    pthread_mutex_unlock(&bp__tune_mutex);
}
