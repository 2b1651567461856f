/* report_machine.c - reports the system, the processor, the libraries, the providers and the devices. */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Returns the name of the distribution; "" if /etc/os-release has none. */
static char *distribution(void) {
    static const char key[] = "PRETTY_NAME=";
    char line[512], *name = NULL;
    FILE *file = fopen("/etc/os-release", "re");
    while (file && !name && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *from = line + strlen(key) + strspn(line + strlen(key), "\"'");
            name = cli_format("%.*s", (int)strcspn(from, "\"'\n"), from);
        }
    }
    if (file) {
        fclose(file);
    }
    return name ? name : cli_format("%s", "");
}

static void add_system(report *r) {
    struct utsname system;
    char date[32] = "", library[64] = "";
    const time_t now = time(NULL);
    struct tm parts;
    char *name = distribution();
    if (gmtime_r(&now, &parts)) {
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &parts);
    }
#ifdef _CS_GNU_LIBC_VERSION
    confstr(_CS_GNU_LIBC_VERSION, library, sizeof library);
#endif
    report_begin(r, "system", "System", NULL, "");
    report_value(r, "backplane", "%s", bp_version());
    report_value(r, "date", "%s", date);
    report_value(r, "distribution", "%s", name);
    if (uname(&system) == 0) {
        report_value(r, "kernel", "%s %s %s", system.sysname, system.release, system.machine);
    }
    report_value(r, "c library", "%s", library);
    free(name);
}

static void add_size(report *r, const char *name, int64_t bytes) {
    const bool small = bytes < INT64_C(1) << 30;
    if (bytes > 0) {
        report_value(r, name, small ? "%.0f KiB" : "%.1f GiB", (double)bytes / (double)(1 << (small ? 10 : 30)));
    }
}

static void add_processor(report *r, const bp_machine_info *machine) {
    report_begin(r, "machine", "Processor and memory", NULL, "");
    report_value(r, "processor", "%s", machine->cpu_model);
    report_value(r, "vendor", "%s", machine->cpu_vendor);
    if (machine->cpu_family >= 0) {
        report_value(r, "family, model, stepping", "%d, %d, %d", machine->cpu_family, machine->cpu_model_number,
                     machine->cpu_stepping);
    }
    report_value(r, "instruction set", "%s", bp_cpu_hardware_capability());
    report_value(r, "instruction set of native kernels", "%s", bp_cpu_capability());
    report_value(r, "logical processors", "%d, %d of them usable", machine->logical_cpus, machine->usable_cpus);
    report_value(r, "cores", "%.0d", machine->physical_cores);
    report_value(r, "sockets", "%.0d", machine->packages);
    report_value(r, "NUMA nodes", "%.0d", machine->numa_nodes);
    add_size(r, "L1 data cache", machine->l1d_bytes);
    add_size(r, "L2 cache", machine->l2_bytes);
    add_size(r, "L3 cache", machine->l3_bytes);
    add_size(r, "memory", machine->memory_bytes);
}

int report_machine(report *r) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    const bp_status status = bp_machine(&machine);
    add_system(r);
    if (status == BP_OK) {
        add_processor(r, &machine);
    }
    return status == BP_OK ? CLI_OK : cli_fail_status(status);
}

static void add_library(report *r, const bp_library_info *row) {
    char *offers = cli_library_kinds(row->kinds), *faults = cli_join_lines(row->faults, "\n", "; ");
    report_cell(r, "%s", row->id);
    report_cell(r, "%s", row->version);
    report_cell(r, "%s", offers);
    report_cell(r, "%.0d", row->int_bits);
    report_cell(r, "%s", row->threading);
    report_cell(r, "%s", row->kernels);
    report_cell(r, "%s", bp_library_state_name(row->state));
    report_cell(r, "%s", row->path[0] ? row->path : "(built in)");
    report_cell(r, "%s%s%s", row->reason, row->reason[0] && faults ? "; " : "", faults ? faults : "");
    free(faults);
    free(offers);
}

static void add_providers(report *r) {
    bp_provider_info info = {.struct_size = sizeof info};
    report_begin(r, "providers", "Providers", "NAME|VERSION|STATE|PATH|~REASON", "none");
    for (int i = 0; bp_provider_at(i, &info); i++) {
        report_cell(r, "%s", info.name);
        report_cell(r, "%s", info.version);
        report_cell(r, "%s", info.status == BP_OK ? "ok" : bp_status_name(info.status));
        report_cell(r, "%s", info.path[0] ? info.path : "(built in)");
        report_cell(r, "%s", info.reason);
    }
}

static void add_devices(report *r) {
    bp_device_info device = {.struct_size = sizeof device};
    report_begin(r, "devices", "Devices", "ID|STATE|>UNITS|NAME|PLATFORM|DRIVER|~REASON", "none");
    for (int i = 0; bp_device_at(i, &device); i++) {
        report_cell(r, "%s", device.id);
        report_cell(r, "%s", bp_device_state_name(device.state));
        report_cell(r, "%.0u", device.units);
        report_cell(r, "%s", device.name);
        report_cell(r, "%s", device.platform);
        report_cell(r, "%s", device.driver);
        report_cell(r, "%s", device.reason);
    }
}

int report_libraries(report *r) {
    int count = 0;
    bp_library_info row = {.struct_size = sizeof row};
    const bp_status status = bp_library_count(&count);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    report_begin(r, "libraries", "Libraries",
                 "ID|VERSION|INTERFACES|>INT BITS|THREADING|KERNEL SET|STATE|~PATH|~REMARK", "none");
    for (int i = 0; i < count; i++) {
        if (bp_library_at(i, &row)) {
            add_library(r, &row);
        }
    }
    add_providers(r);
    add_devices(r);
    return CLI_OK;
}
