/* list_devices.c - shows the devices for `backplane list --devices`, and records the description of one. */
#include "list_devices.h"
#include "cli/arrays/npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static cli_style state_style(bp_device_state state) {
    return state == BP_DEVICE_READY                               ? CLI_GOOD
           : state == BP_DEVICE_BROKEN || state == BP_DEVICE_LOST ? CLI_BAD
                                                                  : CLI_FAINT;
}

static char *size_text(uint64_t bytes) {
    return bytes == 0                  ? cli_format("-")
           : bytes < UINT64_C(1) << 30 ? cli_format("%.0f MiB", (double)bytes / (1 << 20))
                                       : cli_format("%.1f GiB", (double)bytes / (1 << 30));
}

static const char *text_or_dash(const char *text) {
    return text[0] ? text : "-";
}

static void add_row(cli_table *table, const bp_device_info *device) {
    char *memory = size_text(device->memory);
    cli_cell(table, CLI_STRONG, "%s", device->id);
    cli_cell(table, state_style(device->state), "%s", bp_device_state_name(device->state));
    cli_cell(table, CLI_PLAIN, device->units ? "%u" : "-", device->units);
    cli_cell(table, CLI_PLAIN, "%s", memory);
    cli_cell(table, CLI_PLAIN, "%s%s%s", device->can & BP_DEVICE_CAN_F64 ? "f64 " : "",
             device->can & BP_DEVICE_CAN_F16 ? "f16 " : "", device->can & BP_DEVICE_CAN_MAP ? "map" : "");
    cli_cell(table, CLI_PLAIN, "%s", text_or_dash(device->driver));
    cli_cell(table, CLI_PLAIN, "%s%s%s", device->reason[0] ? device->reason : text_or_dash(device->name),
             device->reason[0] || !device->platform[0] ? "" : ", ", device->reason[0] ? "" : device->platform);
    free(memory);
}

void list_devices(void) {
    cli_table *table = cli_table_new("DEVICE|STATE|UNITS|MEMORY|CAN|~DRIVER|NAME OR REASON");
    bp_device_info device = {.struct_size = sizeof device};
    for (int i = 0; bp_device_at(i, &device); i++) {
        add_row(table, &device);
    }
    cli_table_end(table);
}

void list_devices_json(void) {
    bp_device_info device = {.struct_size = sizeof device};
    json_open("devices", '[');
    for (int i = 0; bp_device_at(i, &device); i++) {
        json_open(NULL, '{');
        json_text("id", device.id);
        json_int("place", device.place);
        json_int("type", device.type);
        json_int("index", device.index);
        json_text("state", bp_device_state_name(device.state));
        json_text("reason", device.reason);
        json_text("runtime", device.runtime);
        json_text("name", device.name);
        json_text("vendor", device.vendor);
        json_text("platform", device.platform);
        json_text("driver", device.driver);
        json_text("version", device.version);
        json_int("units", device.units);
        json_int("clock_mhz", device.clock_mhz);
        json_number("memory", (double)device.memory);
        json_number("local_memory", (double)device.local_memory);
        json_text("arch", device.arch);
        json_int("capability", device.capability);
        json_int("driver_number", device.driver_number);
        json_number("l2", (double)device.l2);
        json_number("shared_optin", (double)device.shared_optin);
        json_bool("f64", (device.can & BP_DEVICE_CAN_F64) != 0);
        json_bool("f16", (device.can & BP_DEVICE_CAN_F16) != 0);
        json_close();
    }
    json_close();
}

/* Finds the device of --device; without it, the first one that is not the host. */
static int find_device(const char *id, int32_t *place) {
    bp_device_info device = {.struct_size = sizeof device};
    if (id) {
        bp_status status = bp_device_find(id, place);
        return status == BP_OK ? CLI_OK : cli_fail_status(status);
    }
    for (int i = 0; bp_device_at(i, &device); i++) {
        if (device.place != 0 && device.state == BP_DEVICE_READY) {
            *place = device.place;
            return CLI_OK;
        }
    }
    return cli_fail(CLI_LIBRARY, "there is no device besides the host; `backplane list --devices` shows why");
}

int list_devices_record(const char *id, const char *path) {
    bp__npy_error error;
    int32_t place = 0;
    size_t length = 0;
    int code = find_device(id, &place);
    if (code != CLI_OK) {
        return code;
    }
    bp_status status = bp_device_record(place, NULL, 0, &length);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    char *text = cli_allocate(length + 1);
    status = bp_device_record(place, text, length + 1, &length);
    if (status != BP_OK) {
        code = cli_fail_status(status);
    } else if (npy_write_text(path, text, strlen(text), &error) != BP_OK) {
        code = cli_fail(CLI_IO, "%s", error.text);
    }
    free(text);
    return code;
}

/* Reads a whole file; NULL after a message. */
static char *read_file(const char *path) {
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "r");
    if (!file) {
        cli_fail(CLI_IO, "cannot open '%s': %s", path, strerror(errno));
        return NULL;
    }
    char *text = cli_allocate(MOST + 1);
    const size_t length = fread(text, 1, MOST + 1, file);
    const bool bad = ferror(file) || length > MOST;
    fclose(file);
    if (bad) {
        cli_fail(CLI_IO,
                 length > MOST ? "'%s' has more than 1 MiB; it is no description of a device" : "cannot read '%s'",
                 path);
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

int device_option(const cli_args *args, DLDevice *device) {
    const char *given = cli_value(args, "device");
    bp_device_info info = {.struct_size = sizeof info};
    int32_t place = 0;
    *device = (DLDevice){kDLCPU, 0};
    if (!given) {
        return CLI_OK;
    }
    bp_status status;
    if (strchr(given, '/') || (strlen(given) > 5 && strcmp(given + strlen(given) - 5, ".json") == 0)) {
        char *text = read_file(given);
        if (!text) {
            return CLI_IO;
        }
        status = bp_device_load(text, &place);
        free(text);
    } else {
        status = bp_device_find(given, &place);
    }
    status = status == BP_OK ? bp_device_describe(place, &info) : status;
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    *device = (DLDevice){(DLDeviceType)info.type, info.index};
    return CLI_OK;
}
