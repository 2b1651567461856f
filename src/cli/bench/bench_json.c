/* bench_json.c - prints the report of bench as JSON. docs/reference/bench.md describes it. */
#include "bench.h"

#include <math.h>
#include <string.h>

#define SCHEMA_VERSION 1

static double number_or_null(double value) {
    return value > 0 ? value : NAN; /* written as null */
}

static void machine_json(const bench_report *report) {
    bp_machine_info machine = {.struct_size = sizeof machine};
    json_open("machine", '{');
    if (bp_machine(&machine) == BP_OK) {
        json_text("cpu_model", machine.cpu_model);
        json_text("architecture", machine.architecture);
        json_int("usable_cpus", machine.usable_cpus);
        json_int("l1d_bytes", machine.l1d_bytes);
        json_int("l2_bytes", machine.l2_bytes);
        json_int("l3_bytes", machine.l3_bytes);
        json_int("memory_bytes", machine.memory_bytes);
    }
    json_text("kernels", bp_cpu_capability());
    json_open("bandwidth", '[');
    for (int i = 0; i < report->bandwidth_count; i++) {
        json_open(NULL, '{');
        json_int("threads", report->bandwidths[i].threads);
        json_number("gb_per_s", number_or_null(report->bandwidths[i].gb_per_s));
        json_close();
    }
    json_close();
    json_open("peak", '[');
    for (int i = 0; i < report->peak_count; i++) {
        const bench_peak *p = &report->peaks[i];
        json_open(NULL, '{');
        json_text("dtype", bp_dtype_name(p->dtype));
        json_int("threads", p->threads);
        json_number("gflops", number_or_null(p->gflops));
        json_text("library", p->gflops > 0 ? p->library : NULL);
        json_close();
    }
    json_close();
    json_close();
}

static void libraries_json(const bench_report *report) {
    bp_library_info info = {.struct_size = sizeof info};
    json_open("libraries", '[');
    for (int i = 0; i < report->library_count; i++) {
        bool found =
            strcmp(report->libraries[i], CANDIDATE_MIXED) != 0 && bp_library_find(report->libraries[i], &info) == BP_OK;
        json_open(NULL, '{');
        json_text("id", report->libraries[i]);
        json_text("version", found ? info.version : "");
        json_text("kernels", found ? info.kernels : "");
        json_text("threading", found ? info.threading : "");
        json_close();
    }
    json_close();
}

static void result_json(const bench_result *r) {
    bool ran = r->times.count > 0;
    json_open(NULL, '{');
    json_text("library", r->library);
    json_text("provider", r->provider);
    json_text("algorithm", r->algorithm);
    json_text("version", r->version);
    json_int("threads", r->threads);
    json_bool("chosen", r->chosen);
    json_int("samples", r->times.count);
    json_number("median_ns", ran ? r->times.median : NAN);
    json_number("fastest_ns", ran ? r->times.fastest : NAN);
    json_number("low_ns", ran ? r->times.low : NAN);
    json_number("high_ns", ran ? r->times.high : NAN);
    json_number("speed", ran ? r->speed : NAN);
    json_number("error", r->error >= 0 ? r->error : NAN);
    json_bool("wrong", r->wrong);
    json_text("failure", r->failure);
    json_close();
}

static void case_json(const bench_case *c) {
    json_open(NULL, '{');
    json_text("operation", c->operation->name);
    json_text("dtype", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
    json_int("size", c->size);
    json_int("threads", c->threads);
    json_text("problem", c->problem);
    json_text("skipped", c->skipped);
    json_number("flops", c->flops);
    json_number("bytes", number_or_null(c->bytes));
    json_text("unit", bench_unit(c->operation));
    json_text("chosen", c->chosen >= 0 ? c->results[c->chosen].library : NULL);
    json_text("best", c->best >= 0 ? c->results[c->best].library : NULL);
    json_number("ratio", number_or_null(c->ratio));
    json_number("slowdown", number_or_null(c->slowdown));
    json_text("error_text", c->error_text);
    json_number("error_bound", number_or_null(c->error_bound));
    json_open("results", '[');
    for (int i = 0; i < c->count; i++) {
        result_json(&c->results[i]);
    }
    json_close();
    json_close();
}

void bench_print_json(const bench_report *report) {
    json_open(NULL, '{');
    json_text("schema", "backplane-bench");
    json_int("schema_version", SCHEMA_VERSION);
    json_text("version", bp_version());
    json_text("date", report->date);
    json_number("seconds", report->elapsed);
    json_bool("interrupted", report->interrupted);
    machine_json(report);
    libraries_json(report);
    json_open("cases", '[');
    for (int i = 0; i < report->case_count; i++) {
        case_json(&report->cases[i]);
    }
    json_close();
    json_open("overheads", '[');
    for (int i = 0; i < report->overhead_count; i++) {
        const bench_overhead *o = &report->overheads[i];
        json_open(NULL, '{');
        json_text("operation", o->operation->name);
        json_text("dtype", bp_dtype_name(bench_dtype(o->operation, o->dtype)));
        json_int("size", o->size);
        json_text("library", o->library);
        json_number("one_shot_ns", o->one_shot_ns);
        json_number("plan_ns", o->plan_ns);
        json_close();
    }
    json_close();
    json_close();
}
