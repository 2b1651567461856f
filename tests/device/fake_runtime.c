/* fake_runtime.c - a module with two runtimes, "fake" and "other", whose devices are threads of this process.
 *
 * Bases of memory of "fake" are handles, bases of "other" addresses. FAKE_RUNTIME tells how opening goes wrong (hang,
 * crash, print, exit, fail, missing, none), in the processes that FAKE_RUNTIME_IN names: "parent" is the one whose
 * number is FAKE_PARENT, "child" all others. FAKE_DEVICES is the number of devices. */
#include "fake_parts.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct fake_state {
    bool addresses;
} fake_state;

const bp_host *fake_host;
pid_t fake_opener;
fake_controls fake_control = {.fail_with = FAKE_FAULT,
                              .add = fake_add,
                              .bytes_of = fake_bytes_of,
                              .release_event = fake_event_release,
                              .device_of = fake_device_of,
                              .pending_of = fake_pending_of,
                              .allocate = fake_allocate_block,
                              .release = fake_release_block,
                              .native_queue = fake_native_queue,
                              .free_native_queue = fake_free_native_queue,
                              .open_gate = fake_open_gate,
                              .capture_begin = fake_capture_begin,
                              .capture_end = fake_capture_end,
                              .graph_release = fake_graph_release};

void fake_violate(const char *what) {
    if (atomic_fetch_add(&fake_control.violations, 1) == 0) {
        snprintf(fake_control.violation, sizeof fake_control.violation, "%s", what);
    }
}

void fake_check_process(const char *function) {
    if (fake_opener && getpid() != fake_opener) {
        fake_violate(function);
    }
}

/* ---- Opening ---- */

static bool misbehaves(void) {
    const char *in = getenv("FAKE_RUNTIME_IN"), *parent = getenv("FAKE_PARENT");
    const bool is_parent = parent && strtol(parent, NULL, 10) == getpid();
    return !in || (strcmp(in, "child") == 0 ? !is_parent : is_parent);
}

static bp_status open_runtime(const bp_host *host, void **state, bool addresses) {
    const char *how = getenv("FAKE_RUNTIME");
    fake_host = host;
    if (how && *how && misbehaves()) {
        if (strcmp(how, "hang") == 0) {
            for (;;) {
                pause();
            }
        }
        if (strcmp(how, "crash") == 0) {
            raise(SIGSEGV);
        }
        if (strcmp(how, "exit") == 0) {
            _exit(0);
        }
        if (strcmp(how, "print") == 0) {
            printf("the fake driver prints\n");
            fflush(stdout);
        }
        if (strcmp(how, "fail") == 0) {
            return host->fail(BP_E_BROKEN, "the fake driver does not start");
        }
        if (strcmp(how, "missing") == 0) {
            return host->fail(BP_E_NOT_FOUND, "libfake.so.1 was not found");
        }
    }
    fake_state *made = malloc(sizeof *made);
    if (!made) {
        return BP_E_NO_MEMORY;
    }
    made->addresses = addresses;
    fake_opener = getpid();
    fake_control.opened++;
    *state = made;
    return BP_OK;
}

static bp_status open_fake(const bp_host *host, void **state) {
    return open_runtime(host, state, false);
}

static bp_status open_other(const bp_host *host, void **state) {
    return open_runtime(host, state, true);
}

static void close_runtime(void *state, int forked) {
    if (forked) {
        fake_control.forked_closes++;
    } else {
        fake_check_process("close in a child without 'forked'");
    }
    fake_control.opened--;
    free(state);
}

static int count_devices(void *state) {
    const char *how = getenv("FAKE_RUNTIME"), *count = getenv("FAKE_DEVICES");
    (void)state;
    return how && strcmp(how, "none") == 0 ? 0 : count ? (int)strtol(count, NULL, 10) : 2;
}

static bp_status describe(void *state, int index, bp_device_info *info) {
    static char names[8][64], extensions[5000];
    (void)state;
    if (!*extensions) {
        for (int i = 0; strlen(extensions) < 4500; i++) {
            snprintf(extensions + strlen(extensions), 32, "%sfake_extension_%d", i ? " " : "", i);
        }
    }
    snprintf(names[index % 8], sizeof names[0], "Fake \\device\nnumber %d", index + fake_control.changed);
    info->name = names[index % 8];
    info->vendor = "No vendor";
    info->driver = "1.0";
    info->version = "3.0";
    info->extensions = extensions;
    info->uuid = index == 1 ? "0123-fake" : "";
    info->can = BP_DEVICE_CAN_F64 | BP_DEVICE_CAN_MAP | BP_DEVICE_CAN_TIME | (index == 1 ? BP_DEVICE_CAN_F16 : 0);
    info->units = 4;
    info->arch = index == 1 ? "fake_90" : NULL;
    info->capability = 900;
    info->driver_number = 13000;
    info->l2 = UINT64_C(50) << 20;
    info->shared_optin = 232448;
    info->memory = UINT64_C(1) << 33;
    return BP_OK;
}

static bp_status device_open(void *state, int index, void *context, void **device) {
    fake_device *made;
    fake_check_process("device_open in a child");
    if (context && context != (void *)0x1000) {
        return fake_host->fail(BP_E_ARGUMENT, "the context does not contain the device");
    }
    made = calloc(1, sizeof *made);
    if (!made) {
        return fake_host->fail(BP_E_NO_MEMORY, "no memory for a device");
    }
    made->index = index;
    made->addresses = ((fake_state *)state)->addresses;
    fake_control.devices++;
    *device = made;
    return BP_OK;
}

static void device_close(void *device) {
    fake_check_process("device_close in a child");
    fake_control.devices--;
    if (((fake_device *)device)->zero) {
        fake_free_native_queue(((fake_device *)device)->zero);
    }
    free(device);
}

static void *device_context(void *device) {
    (void)device;
    return (void *)0x1000;
}

/* ---- Memory of the host ---- */

static bp_status host_allocate(void *device, size_t size, void **address) {
    fake_check_process("host_allocate in a child");
    (void)device;
    *address = aligned_alloc(64, (size + 63) / 64 * 64);
    if (!*address) {
        return fake_host->fail(BP_E_NO_MEMORY, "no memory of the host");
    }
    fake_control.pinned++;
    return BP_OK;
}

static void host_release(void *device, void *address) {
    fake_check_process("host_release in a child");
    (void)device;
    fake_control.pinned--;
    free(address);
}

static const char *error_name(int64_t code, int *lost) {
    if (lost) {
        *lost = code == FAKE_LOST;
    }
    return code == FAKE_FAULT         ? "FAKE_FAULT"
           : code == FAKE_LOST        ? "FAKE_DEVICE_LOST"
           : code == FAKE_AFTER_FAULT ? "FAKE_AFTER_FAULT"
                                      : "FAKE_UNKNOWN";
}

#ifndef FAKE_SIZE
#define FAKE_SIZE sizeof(bp_runtime)
#endif
#define DESCRIBE(NAME, TYPE, OPEN, ...)                                                                                \
    {                                                                                                                  \
        .abi = BP_PROVIDER_ABI, .struct_size = FAKE_SIZE, .name = NAME, .version = "1",                                \
        .description = "threads that look like devices", .device_type = TYPE, .open = OPEN, .close = close_runtime,    \
        .count = count_devices, .describe = describe, .device_open = device_open, .device_close = device_close,        \
        .device_context = device_context, .allocate = fake_allocate, .release = fake_release, .size = fake_size,       \
        .queue_open = fake_queue_open, .queue_close = fake_queue_close, .queue_native = fake_queue_native,             \
        .copy = fake_copy, .wait = fake_wait, .map = fake_map, .unmap = fake_unmap, .event_state = fake_event_state,   \
        .event_sync = fake_event_sync, .event_times = fake_event_times, .event_wrap = fake_event_wrap,                 \
        .event_release = fake_event_release, .error_name = error_name,                                                 \
        .depends = "FAKE_DEVICES FAKE_FOLDER /etc/hostname", __VA_ARGS__                                               \
    }

/* "fake" has none of the members that a runtime may lack, "other" has all. */
static const bp_runtime fake = DESCRIBE("fake", kDLVulkan, open_fake, .queue_flags = 0);
static const bp_runtime other =
    DESCRIBE("other", kDLROCM, open_other, .queue_flags = BP_QUEUE_NATIVE_ZERO, .event_elapsed = fake_event_elapsed,
             .host_allocate = host_allocate, .host_release = host_release, .copy_peer = fake_copy_peer,
             .queue_state = fake_queue_state, .capture_begin = fake_capture_begin, .capture_end = fake_capture_end,
             .graph_launch = fake_graph_launch, .graph_release = fake_graph_release);

BP_RUNTIMES_DEFINE = {&fake, &other, NULL};
