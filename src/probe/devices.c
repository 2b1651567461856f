/* devices.c - the mode of backplane-probe that opens a runtime, and reports its devices.
 *
 * Started by the library only (device/contact.c):
 *     backplane-probe --devices MODULE RUNTIME MILLISECONDS MEBIBYTES
 * MODULE is the path of the module with the runtime, "" for one that is part of the library. The report has these
 * lines:
 *     step=...              what is done next
 *     failed=STATUS MESSAGE the runtime has no devices
 *     facts=LINE            a line of the text of all facts
 *     more=TEXT             its continuation
 *     done=1
 */
#include "device/private.h"

#include "dispatch/internal.h"
#include "probe/probe.h"
#include "registry/modules.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_IN_LINE = 1500, MOST_DEVICES = 256 };

static const bp_runtime *find_runtime(const char *module, const char *name) {
    const bp_runtime *const *list = bp__builtin_runtimes();
    if (*module) {
        void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
        list = handle ? dlsym(handle, BP_RUNTIME_ENTRIES) : NULL;
        if (!list) {
            report("failed", "%d %s", BP_E_LOAD, handle ? "its module has no runtime" : dlerror());
            return NULL;
        }
    }
    for (; *list; list++) {
        if (bp__runtime_check(*list) == BP_OK && strcmp((*list)->name, name) == 0) {
            return *list;
        }
    }
    report("failed", "%d its module has no such runtime", BP_E_LOAD);
    return NULL;
}

/* Reports a text of lines. Long lines are reported in parts. */
static void report_text(const char *text) {
    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *name = "facts";
        do {
            const size_t part = length < MOST_IN_LINE ? length : MOST_IN_LINE;
            report(name, "%.*s", (int)part, text);
            text += part;
            length -= part;
            name = "more";
        } while (length > 0);
        text += *text == '\n';
    }
}

static bool report_device(const bp_runtime *runtime, void *state, int index, bp_device_info *info,
                          const bp_device_info *before) {
    bp__text text = {0};
    *info = (bp_device_info){.struct_size = sizeof *info};
    bp__facts_empty(info);
    if (runtime->describe(state, index, info) != BP_OK) {
        report("failed", "%d %s", (int)bp_last_status(), bp_last_error());
        return false;
    }
    bp__text_add(&text, "device\n");
    bp__facts_write(&text, info, before);
    report_text(bp__text_get(&text));
    bp__text_free(&text);
    return true;
}

static void report_devices(const bp_runtime *runtime) {
    void *state = NULL;
    bp_device_info info[2];
    report("step", "while it was opened");
    bp_status status = runtime->open(bp__host(), &state);
    if (status != BP_OK) {
        report("failed", "%d %s", (int)status, bp_last_error());
        return;
    }
    report("step", "while its devices were listed");
    const int count = runtime->count(state);
    for (int i = 0; i < count && i < MOST_DEVICES; i++) {
        if (!report_device(runtime, state, i, &info[i % 2], i > 0 ? &info[(i + 1) % 2] : NULL)) {
            return;
        }
    }
    report("done", "1");
}

_Noreturn void devices_main(int count, char **words) {
    if (count != 6) {
        _exit(2);
    }
    start_supervised(strtoll(words[4], NULL, 10), strtoll(words[5], NULL, 10));
    isolate();
    report("step", "while its module was loaded");
    const bp_runtime *runtime = find_runtime(words[2], words[3]);
    if (runtime) {
        report_devices(runtime);
    }
    _exit(0); /* without running destructors of the driver */
}
