/* contact.c - finds the devices of a runtime in a child process, which a driver that hangs, crashes or prints cannot
 * leave, and keeps the result for later processes.
 *
 * The helper (probe/devices.c) sends lines "name=value". "facts" begins a line of a text, "more" continues it. This
 * text has the facts of each device after a line "device"; facts that a device shares with the one before are left out.
 * It is what the cache keeps, if the runtime names everything that its devices depend on. Failures are not kept: their
 * cause may disappear without a trace in any file.
 */
#include "device/private.h"

#include "registry/child.h"
#include "settings/internal.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STORED_IN "devices.txt"
enum { MOST_DEVICES = 256 };

/* ---- Reading ---- */

typedef struct outcome {
    bp__text text;       /* facts */
    const char *step;    /* what the child did last */
    const char *end;     /* how it ended, if not by itself */
    const char *failure; /* "STATUS message" of the runtime */
    bool done;
} outcome;

/* Reads a line, which it ends with NUL. */
static void read_line(outcome *found, char *line) {
    char *value = strchr(line, '=');
    if (!value) {
        return;
    }
    *value++ = '\0';
    if (strcmp(line, "facts") == 0) {
        bp__text_add(&found->text, "\n");
        bp__text_add(&found->text, value);
    } else if (strcmp(line, "more") == 0) {
        bp__text_add(&found->text, value);
    } else if (strcmp(line, "step") == 0) {
        found->step = value;
    } else if (strcmp(line, "end") == 0) {
        found->end = value;
    } else if (strcmp(line, "failed") == 0) {
        found->failure = value;
    } else if (strcmp(line, "unstarted") == 0) {
        found->end = value;
    } else if (strcmp(line, "done") == 0) {
        found->done = true;
    }
}

static void read_report(outcome *found, char *report) {
    while (*report) {
        char *end = report + strcspn(report, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        read_line(found, report);
        report = next;
    }
}

static bp_status set_reason(bp__runtime *row, bp_device_state state, const char *reason) {
    row->state = state;
    row->reason = bp__intern(reason);
    return row->reason ? BP_OK : bp__fail_memory(strlen(reason), "the reason why a device cannot be used");
}

static int count_devices(const char *text) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, "\ndevice\n")); at++) {
        count++;
    }
    return count < MOST_DEVICES ? count : MOST_DEVICES;
}

/* Reads a line of facts for the last device. A line "device" begins the next one, with the facts of that before. */
static bool read_facts(bp_device_info *devices, int *at, int count, char *line) {
    if (strcmp(line, "device") == 0) {
        ++*at;
        if (*at < count) {
            devices[*at] = *at > 0 ? devices[*at - 1] : (bp_device_info){0};
            if (*at == 0) {
                bp__facts_empty(&devices[0]);
            }
        }
        return true;
    }
    char *space = strchr(line, ' ');
    if (!space || *at < 0 || *at >= count) {
        return true;
    }
    *space = '\0';
    return bp__facts_read(&devices[*at], line, space + 1);
}

/* Reads the text of all facts, which ends with a line end. Returns BP_E_FORMAT if it is wrong; *devices is NULL then.
 */
static bp_status read_devices(char *text, bp_device_info **devices, int *count) {
    *devices = NULL;
    *count = count_devices(text);
    if (*count == 0) {
        return BP_OK;
    }
    *devices = bp__alloc_zero((size_t)*count, sizeof **devices);
    if (!*devices) {
        return bp__fail_memory((size_t)*count * sizeof **devices, "the list of devices");
    }
    int at = -1;
    bool right = true;
    for (char *line = text; right && *line;) {
        char *end = line + strcspn(line, "\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        right = read_facts(*devices, &at, *count, line);
        line = next;
    }
    if (!right) {
        bp__free(*devices);
        *devices = NULL;
        *count = 0;
        return bp__fail(BP_E_FORMAT, "a fact of a device is wrong");
    }
    return BP_OK;
}

/* Sets the state of a runtime whose child has found nothing. Not inlined, because of its text. */
__attribute__((noinline)) static bp_status read_failure(bp__runtime *row, const outcome *found) {
    char reason[1024];
    if (!found->failure && !found->done) {
        snprintf(reason, sizeof reason, "%s in the child process that looks for devices, %s",
                 found->end ? found->end : "ended early", found->step ? found->step : "before it was loaded");
        return set_reason(row, BP_DEVICE_BROKEN, reason);
    }
    if (!found->failure) {
        return set_reason(row, BP_DEVICE_NO_DEVICE, "the driver lists no device");
    }
    char *message;
    long status = strtol(found->failure, &message, 10);
    snprintf(reason, sizeof reason, "%s", *message == ' ' ? message + 1 : message);
    return set_reason(row, status == BP_E_NOT_FOUND ? BP_DEVICE_NO_LIBRARY : BP_DEVICE_BROKEN, reason);
}

/* Reads a report. *text has all facts, if there are devices; it must be freed. */
static bp_status take_report(bp__runtime *row, char *report, bp__text *text, bp_device_info **devices, int *count) {
    outcome found = {0};
    read_report(&found, report);
    bp__text_add(&found.text, "\n");
    *devices = NULL;
    *count = 0;
    bp_status status = found.text.failed ? bp__fail_memory(strlen(report), "the list of devices") : BP_OK;
    char *copy = status == BP_OK && found.done ? bp__strdup(bp__text_get(&found.text)) : NULL;
    if (copy) {
        status = read_devices(copy, devices, count);
    } else if (status == BP_OK && found.done) {
        status = bp__fail_memory(found.text.length, "the list of devices");
    }
    if (status == BP_E_FORMAT) {
        status = set_reason(row, BP_DEVICE_BROKEN, "its facts cannot be read");
    } else if (status == BP_OK && *count == 0) {
        status = read_failure(row, &found);
    } else if (status == BP_OK) {
        status = set_reason(row, BP_DEVICE_READY, "");
    }
    if (status != BP_OK) {
        bp__free(*devices);
        *devices = NULL;
        *count = 0;
    }
    bp__free(copy);
    *text = found.text;
    return status;
}

bp_status bp__contact_read(bp__runtime *row, char *report, bp_device_info **devices, int *count) {
    bp__text text = {0};
    bp_status status = take_report(row, report, &text, devices, count);
    bp__text_free(&text);
    return status;
}

/* ---- The cache ---- */

static bool cache_is(const char *least) {
    static const char *const words[] = {"off", "read-only", "read-write"};
    int64_t word = bp__setting_int(BP_SET_registry_cache);
    return word >= 0 && word < BP__COUNT(words) && strcmp(words[word], "off") != 0 &&
           (strcmp(least, "read-only") == 0 || strcmp(words[word], least) == 0);
}

/* Reads the devices of an earlier process. Leaves *devices NULL if there are none. */
static bp_status recall(const char *key, bp_device_info **devices, int *count) {
    bp__store *store;
    *devices = NULL;
    *count = 0;
    if (!*key || !cache_is("read-only")) {
        return BP_OK;
    }
    BP__TRY(bp__store_open(&store, STORED_IN));
    const char *value = bp__store_find(store, key, NULL);
    char *copy = value ? bp__strdup(value) : NULL;
    bool found = value != NULL;
    bp__store_close(store);
    if (!found) {
        return BP_OK;
    }
    if (!copy) {
        return bp__fail_memory(1, "the list of devices");
    }
    bp_status status = read_devices(copy, devices, count);
    bp__free(copy);
    return status == BP_E_FORMAT ? BP_OK : status;
}

/* Keeps or removes (NULL) the facts. A failure is no failure of the caller: later processes look again. */
static void remember(const char *key, const char *value) {
    const bp__store_record record = {.key = key, .value = value};
    if (*key && cache_is("read-write")) {
        bp__held_error held;
        bp__error_hold(&held);
        (void)bp__store_put(STORED_IN, &record, 1);
        bp__error_return(&held);
    }
}

void bp__contact_forget(const bp__runtime *row) {
    char key[128];
    if (bp__contact_key(row, key, sizeof key)) {
        remember(key, NULL);
    }
}

/* ---- The child ---- */

static bp_status ask_child(bp__runtime *row, const char *key, bp_device_info **devices, int *count) {
    char milliseconds[24], mebibytes[24];
    const int64_t most = bp__setting_int(BP_SET_registry_probe_timeout);
    snprintf(milliseconds, sizeof milliseconds, "%lld", (long long)most);
    snprintf(mebibytes, sizeof mebibytes, "%lld", (long long)bp__probe_memory());
    const char *words[] = {"--devices", row->module, row->runtime->name, milliseconds, mebibytes, NULL};
    char *report;
    bp__text text = {0};
    bp_status status = bp__helper_run(words, most, &report);
    if (status == BP_E_NOT_FOUND || status == BP_E_BROKEN) {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", bp_last_error());
        return set_reason(row, BP_DEVICE_BROKEN, reason);
    }
    BP__TRY(status);
    status = take_report(row, report, &text, devices, count);
    bp__free(report);
    if (status == BP_OK && *count > 0) {
        remember(key, bp__text_get(&text));
    }
    bp__text_free(&text);
    return status;
}

bp_status bp__contact(bp__runtime *row, bp_device_info **devices, int *count) {
    char key[128] = "";
    if (!bp__contact_key(row, key, sizeof key)) {
        *key = '\0';
    }
    BP__TRY(recall(key, devices, count));
    if (*count > 0) {
        return set_reason(row, BP_DEVICE_READY, "");
    }
    bp__held_error held;
    bp__error_hold(&held);
    bp_status status = ask_child(row, key, devices, count);
    if (status == BP_OK) {
        bp__error_return(&held); /* what went wrong in the child is the row's reason */
    }
    return status;
}
