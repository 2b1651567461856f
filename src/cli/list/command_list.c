/* command_list.c - `backplane list`: shows the libraries found, the providers and the backends. */
#include "list_devices.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *text_or_dash(const char *text) {
    return text[0] ? text : "-";
}

static cli_style state_style(bp_library_state state) {
    switch (state) {
    case BP_LIBRARY_OK:
        return CLI_GOOD;
    case BP_LIBRARY_BROKEN:
    case BP_LIBRARY_UNTRUSTED:
        return CLI_BAD;
    default:
        return CLI_FAINT;
    }
}

/* " (products by openblas; not for eig f32, eig c64; see --all)" */
static char *remark_of(const bp_library_info *row) {
    char *topics = cli_join_lines(row->faults, ":\n", ", ");
    char *remark = !row->blas[0] && !topics
                       ? cli_format("%s", "")
                       : cli_format(" (%s%s%s%s%s%s)", row->blas[0] ? "products by " : "", row->blas,
                                    row->blas[0] && topics ? "; " : "", topics ? "not for " : "", topics ? topics : "",
                                    topics ? "; see --all" : "");
    free(topics);
    return remark;
}

static void add_row(cli_table *table, const bp_library_info *row) {
    char *offers = cli_library_kinds(row->kinds);
    /* No OpenMP runtime is probed, so the reason is left out. */
    bool tell = row->reason[0] && !(row->state == BP_LIBRARY_UNPROBED && (row->kinds & BP_LIB_OPENMP));
    cli_cell(table, CLI_STRONG, "%s", row->id);
    cli_cell(table, CLI_PLAIN, "%s", text_or_dash(row->version));
    cli_cell(table, CLI_PLAIN, "%s", offers);
    cli_cell(table, CLI_PLAIN, row->int_bits ? "%d" : "-", row->int_bits);
    cli_cell(table, CLI_PLAIN, "%s", text_or_dash(row->threading));
    cli_cell(table, CLI_PLAIN, "%s", text_or_dash(row->kernels));
    cli_cell(table, state_style(row->state), "%s", bp_library_state_name(row->state));
    char *remark = remark_of(row);
    cli_cell(table, CLI_PLAIN, "%s%s%s%s", row->path[0] ? row->path : "(built in)", tell ? ": " : "",
             tell ? row->reason : "", remark);
    free(offers);
    free(remark);
}

/* Prints a property of a library; for --all. */
static void detail(const char *name, const char *text) {
    if (text[0]) {
        printf("    %s", name);
        cli_paragraph(cli_behind_label(4 + cli_text_width(name), 20), text);
    }
}

enum { MIB = 1 << 20 };

/* Prints what a library needs. */
static void print_need(const char *name, const bp_library_need *need) {
    char *text = cli_format(
        "%.1f MiB to be opened, %.1f for its first calls, %.1f for each further thread, %.1f for each "
        "further caller",
        (double)need->open / MIB, (double)need->call / MIB, (double)need->thread / MIB, (double)need->caller / MIB);
    detail(name, need->open || need->call ? text : "");
    free(text);
}

static void need_json(const char *name, const bp_library_need *need) {
    json_open(name, '{');
    json_int("open", need->open);
    json_int("call", need->call);
    json_int("thread", need->thread);
    json_int("caller", need->caller);
    json_close();
}

/* Returns the element types in which LAPACK's routines read next to their operands: "c64,c128". */
static char *overreading_types(const bp_library_info *row) {
    char *list = cli_format("%s", "");
    for (bp_dtype type = BP_F32; type <= BP_C128; type = (bp_dtype)(type + 1)) {
        if (row->overreads & BP_OVERREAD_BIT(type)) {
            char *longer = cli_format("%s%s%s", list, *list ? "," : "", bp_dtype_name(type));
            free(list);
            list = longer;
        }
    }
    return list;
}

/* Prints which routines access memory that is not theirs. */
static void print_accesses(const bp_library_info *row) {
    char *types = overreading_types(row);
    char *lapack = cli_format("LAPACK in %s", types);
    detail("reads outside", strcmp(row->outside, "*") == 0 ? "not tested" : row->outside);
    detail("reads next to", *types ? lapack : "");
    free(lapack);
    free(types);
}

static void print_inexact_lengths(const bp_library_info *row) {
    static const char *const names[] = {"inexact f32", "inexact f64"};
    for (int i = 0; i < 2; i++) {
        char *text = cli_format("transforms of larger multiples of %s", row->inexact[i]);
        detail(names[i], *row->inexact[i] ? text : "");
        free(text);
    }
}

static void print_details(const bp_library_info *row) {
    cli_say(CLI_STRONG, "\n%s", row->id);
    cli_say(CLI_PLAIN, "  %s%s\n", bp_library_state_name(row->state), row->loaded ? ", loaded in this process" : "");
    detail("path", row->path);
    detail("also at", row->aliases);
    detail("reason", row->reason);
    detail("family", row->family);
    detail("soname", row->soname);
    detail("build id", row->build_id);
    detail("symbols", row->suffix[0] || row->prefix[0] ? row->suffix : "");
    detail("symbol prefix", row->prefix);
    detail("complex return", row->kinds & BP_LIB_BLAS ? row->complex_return : "");
    detail("f2c floats", row->f2c ? "yes" : "");
    detail("thread setter", row->thread_scope);
    detail("products by", row->blas);
    detail("not offered", row->faults);
    print_accesses(row);
    print_inexact_lengths(row);
    print_need("address space", &row->space);
    print_need("data", &row->data);
    char *stack = row->stack > 0 ? cli_format("%" PRId64 " KiB", row->stack >> 10) : NULL;
    detail("stack", stack ? stack : "");
    free(stack);
    detail("fact sources", row->fact_sources);
}

static void library_json(const bp_library_info *row) {
    json_open(NULL, '{');
    json_text("id", row->id);
    json_text("family", row->family);
    char *offers = cli_library_kinds(row->kinds);
    json_list("kinds", offers[0] == '-' ? "" : offers, ',');
    free(offers);
    json_text("state", bp_library_state_name(row->state));
    json_text("reason", row->reason);
    json_text("path", row->path);
    json_list("aliases", row->aliases, '\n');
    json_text("soname", row->soname);
    json_text("build_id", row->build_id);
    json_text("version", row->version);
    json_text("kernels", row->kernels);
    json_int("int_bits", row->int_bits);
    json_text("suffix", row->suffix);
    json_text("prefix", row->prefix);
    json_text("complex_return", row->complex_return);
    json_bool("f2c", row->f2c);
    json_text("threading", row->threading);
    json_text("thread_scope", row->thread_scope);
    json_bool("loaded", row->loaded);
    json_text("blas", row->blas);
    json_list("faults", row->faults, '\n');
    json_list("outside", row->outside, ' ');
    char *types = overreading_types(row);
    json_list("overreads", types, ',');
    free(types);
    json_list("inexact_f32", row->inexact[0], ' ');
    json_list("inexact_f64", row->inexact[1], ' ');
    need_json("space", &row->space);
    need_json("data", &row->data);
    json_int("stack", row->stack);
    json_text("fact_sources", row->fact_sources);
    json_number("probe_ms", row->probe_ms);
    json_close();
}

/* Its file could not be read in this process, and might be no library. */
static bool is_unread(const bp_library_info *row) {
    return row->state == BP_LIBRARY_UNPROBED && row->kinds == 0;
}

static void print_libraries(int count, bool all) {
    cli_table *table = cli_table_new("ID|~VERSION|INTERFACES|INT BITS|THREADING|KERNEL SET|STATE|PATH");
    bp_library_info row = {.struct_size = sizeof row};
    int hidden = 0, unread = 0;
    for (int i = 0; i < count; i++) {
        if (!bp_library_at(i, &row)) {
            continue;
        }
        if (is_unread(&row) && !all) {
            unread++;
        } else if (row.state == BP_LIBRARY_FACADE && !all) {
            hidden++;
        } else {
            add_row(table, &row);
        }
    }
    cli_table_end(table);
    if (hidden > 0) {
        char *text = cli_format("%d facade librar%s (forward%s to a listed library): see --all", hidden,
                                hidden == 1 ? "y" : "ies", hidden == 1 ? "s" : "");
        cli_remark(CLI_FAINT, 0, text);
        free(text);
    }
    if (unread > 0) {
        char *text = cli_format("%d file%s not read, because this process has too little address space: see --all",
                                unread, unread == 1 ? " was" : "s were");
        cli_remark(CLI_CAUTION, 0, text);
        free(text);
    }
    for (int i = 0; i < count && all; i++) {
        if (bp_library_at(i, &row)) {
            print_details(&row);
        }
    }
}

static void print_providers(void) {
    cli_table *table = cli_table_new("PROVIDER|~VERSION|~STATE|DESCRIPTION");
    bp_provider_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_provider_at(i, &info); i++) {
        bool good = info.status == BP_OK;
        cli_cell(table, CLI_STRONG, "%s", text_or_dash(info.name));
        cli_cell(table, CLI_PLAIN, "%s", text_or_dash(info.version));
        cli_cell(table, good ? CLI_GOOD : CLI_BAD, "%s", good ? "ok" : bp_status_name(info.status));
        cli_cell(table, CLI_PLAIN, "%s (%s)%s%s", info.description, info.path[0] ? info.path : "built in",
                 info.reason[0] ? ": " : "", info.reason);
    }
    cli_table_end(table);
}

static const char *yes_no(int value) {
    return value ? "yes" : "no";
}

static void print_backends(void) {
    cli_table *table = cli_table_new("BACKEND|~VERSION|BUILT|PRESENT|AVAILABLE|ENABLED|REASON");
    bp_backend_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_backend_at(i, &info); i++) {
        cli_cell(table, CLI_STRONG, "%s", info.name);
        cli_cell(table, CLI_PLAIN, "%s", text_or_dash(info.version));
        cli_cell(table, CLI_PLAIN, "%s", yes_no(info.built));
        cli_cell(table, CLI_PLAIN, "%s", yes_no(info.present));
        cli_cell(table, info.available ? CLI_GOOD : CLI_PLAIN, "%s", yes_no(info.available));
        cli_cell(table, CLI_PLAIN, "%s", yes_no(info.enabled));
        bool off = info.available && !info.enabled;
        cli_cell(table, CLI_PLAIN, "%s%s", off ? info.setting : info.reason, off ? " is false" : "");
    }
    cli_table_end(table);
}

/* Backends of graphs. What a program adds is in its process only. */
static void print_graph_backends(void) {
    cli_table *table = cli_table_new("GRAPH BACKEND|DESCRIPTION");
    bp_graph_backend_info info = {.struct_size = sizeof info};
    for (int i = 0; bp_graph_backend_at(i, &info); i++) {
        cli_cell(table, CLI_STRONG, "%s", info.name);
        cli_cell(table, CLI_PLAIN, "%s", info.description);
    }
    cli_table_end(table);
}

static void graph_backends_json(void) {
    bp_graph_backend_info info = {.struct_size = sizeof info};
    json_open("graph_backends", '[');
    for (int i = 0; bp_graph_backend_at(i, &info); i++) {
        json_open(NULL, '{');
        json_text("name", info.name);
        json_text("description", info.description);
        json_close();
    }
    json_close();
}

static void backends_json(void) {
    bp_backend_info info = {.struct_size = sizeof info};
    json_open("backends", '[');
    for (int i = 0; bp_backend_at(i, &info); i++) {
        json_open(NULL, '{');
        json_text("name", info.name);
        json_text("version", info.version);
        json_int("version_number", info.version_number);
        json_bool("built", info.built);
        json_bool("present", info.present);
        json_bool("available", info.available);
        json_bool("enabled", info.enabled);
        json_text("setting", info.setting);
        json_text("reason", info.reason);
        json_close();
    }
    json_close();
}

static void print_places(void) {
    cli_table *table = cli_table_new("SEARCHED|OUTCOME");
    const char *place, *outcome;
    for (int i = 0; bp_search_location_at(i, &place, &outcome); i++) {
        cli_cell(table, CLI_PLAIN, "%s", place);
        cli_cell(table, CLI_PLAIN, "%s", outcome);
    }
    cli_table_end(table);
}

static void providers_json(void) {
    bp_provider_info info = {.struct_size = sizeof info};
    json_open("providers", '[');
    for (int i = 0; bp_provider_at(i, &info); i++) {
        json_open(NULL, '{');
        json_text("name", info.name);
        json_text("version", info.version);
        json_text("description", info.description);
        json_text("path", info.path);
        json_text("status", bp_status_name(info.status));
        json_text("reason", info.reason);
        json_close();
    }
    json_close();
}

static void print_json(int count) {
    const char *place, *outcome, *problem;
    bp_library_info row = {.struct_size = sizeof row};
    json_open(NULL, '{');
    json_open("libraries", '[');
    for (int i = 0; i < count; i++) {
        if (bp_library_at(i, &row)) {
            library_json(&row);
        }
    }
    json_close();
    providers_json();
    backends_json();
    graph_backends_json();
    json_open("searched", '[');
    for (int i = 0; bp_search_location_at(i, &place, &outcome); i++) {
        json_open(NULL, '{');
        json_text("place", place);
        json_text("outcome", outcome);
        json_close();
    }
    json_close();
    json_open("problems", '[');
    for (int i = 0; (problem = bp_config_error_at(i)); i++) {
        json_text(NULL, problem);
    }
    json_close();
    json_close();
}

static int show_devices(const cli_args *args) {
    const char *path = cli_value(args, "record");
    bp_device_info first = {.struct_size = sizeof first};
    if (path) {
        return list_devices_record(cli_value(args, "device"), path);
    }
    cli_progress_begin("looking for devices");
    bp_device_at(0, &first);
    cli_progress_end();
    if (cli_has(args, "json")) {
        json_open(NULL, '{');
        list_devices_json();
        json_close();
    } else {
        list_devices();
    }
    return CLI_OK;
}

static int list(const cli_args *args) {
    int count = 0;
    if (cli_has(args, "devices") || cli_has(args, "record")) {
        return show_devices(args);
    }
    cli_progress_begin(CLI_EXAMINING);
    bp_status status = cli_has(args, "probe") ? bp_libraries_refresh(1) : BP_OK;
    if (status == BP_OK) {
        status = bp_library_count(&count);
    }
    cli_progress_end();
    if (status != BP_OK) {
        return cli_fail_status(status);
    }
    if (cli_has(args, "json")) {
        print_json(count);
        return CLI_OK;
    }
    bool all = cli_has(args, "all"), backends = cli_has(args, "backends");
    if (!backends || all) {
        print_libraries(count, all);
        putchar('\n');
        print_providers();
    }
    if (all) {
        putchar('\n');
    }
    if (backends || all) {
        print_backends();
        putchar('\n');
        print_graph_backends();
    }
    if (all) {
        putchar('\n');
        print_places();
    }
    return CLI_OK;
}

static const cli_option options[] = {
    {"all", 'a', NULL, "Show every file and property, the source of each, and the search locations."},
    {"backends", 'b', NULL,
     "Show the backends of torch.backends instead, and why each one is unavailable; and the backends of graphs."},
    {"devices", 'd', NULL,
     "Show the devices instead: GPUs and others that a runtime such as OpenCL drives, and why not."},
    {"device", 0, "ID", "Device that --record describes; the first one besides the host unless given."},
    {"record", 0, "FILE", "Write the description of a device to a file, for explain --device FILE on another machine."},
    {"probe", 'p', NULL, "Probe every library again and replace the results in the probe cache."},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL},
};

const cli_command command_list = {
    .name = "list",
    .summary = "Show the math libraries of this machine and the providers that call them.",
    .operands = "",
    .details = "\nINTERFACES: the groups of routines that a library exports. KERNEL SET: the kernels that it selected "
               "for this processor in the probe; `backplane doctor` reports slower ones than the processor can run. A "
               "facade is a library that forwards calls to another one.",
    .options = options,
    .run = list,
};
