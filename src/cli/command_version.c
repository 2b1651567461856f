/* command_version.c - `backplane version`: shows version, build and processor, for bug reports. */
#include "cli/command/cli.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

static void print_json(const bp_machine_info *machine) {
    json_open(NULL, '{');
    json_text("version", bp_version());
    json_text("header_version", BP_VERSION_STRING);
    json_open("provider_abi", '{');
    json_int("major", BP_PROVIDER_ABI_MAJOR);
    json_int("minor", BP_PROVIDER_ABI_MINOR);
    json_close();
    json_text("compiler", COMPILER);
    json_text("architecture", machine->architecture);
    json_text("cpu", machine->cpu_model);
    json_text("cpu_capability", bp_cpu_capability());
    json_text("cpu_hardware_capability", bp_cpu_hardware_capability());
    json_int("usable_cpus", machine->usable_cpus);
    json_int("physical_cores", machine->physical_cores);
    json_int("numa_nodes", machine->numa_nodes);
    json_int("l1d_bytes", machine->l1d_bytes);
    json_int("l2_bytes", machine->l2_bytes);
    json_int("l3_bytes", machine->l3_bytes);
    json_int("memory_bytes", machine->memory_bytes);
    json_text("topology_source", machine->topology_source);
    json_close();
}

static int version(const cli_args *args) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    bp_status status = bp_machine(&machine);
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (cli_has(args, "json")) {
        print_json(&machine);
        return CLI_OK;
    }
    printf("backplane %s\n", bp_version());
    printf("provider ABI    %u.%u\n", BP_PROVIDER_ABI_MAJOR, BP_PROVIDER_ABI_MINOR);
    printf("compiler        %s\n", COMPILER);
    printf("processor       %s (%s), %d of %d logical CPUs available\n", machine.cpu_model, machine.architecture,
           machine.usable_cpus, machine.logical_cpus);
    printf("CPU capability  %s (hardware: %s)\n", bp_cpu_capability(), bp_cpu_hardware_capability());
    printf("topology from   %s\n", machine.topology_source);
    return CLI_OK;
}

static const cli_option options[] = {CLI_OPTION_JSON, {NULL, 0, NULL, NULL}};

const cli_command command_version = {
    .name = "version",
    .summary = "Show the version, the provider ABI, the build and the processor.",
    .operands = "",
    .details = "",
    .options = options,
    .run = version,
};
