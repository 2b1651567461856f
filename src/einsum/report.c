/* report.c - describes a path: the whole expression, a report with the lines of opt_einsum, and JSON.
 *
 * Each text is made on first use. */
#include "einsum/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Texts that are made on first use ---- */

static const char *written_once(_Atomic(char *) *place, void (*write)(bp__text *text, const bp_contraction_path *path),
                                const bp_contraction_path *path) {
    char *there = atomic_load_explicit(place, memory_order_acquire);
    if (there) {
        return there;
    }
    bp__text text = {0};
    write(&text, path);
    if (text.failed || !text.bytes) {
        bp__text_free(&text);
        return "";
    }
    if (!atomic_compare_exchange_strong(place, &there, text.bytes)) {
        bp__text_free(&text);
        return there;
    }
    return text.bytes;
}

static void write_expression(bp__text *text, const bp_contraction_path *path) {
    const bp__einsum *e = &path->einsum;
    for (int t = 0; t < e->count; t++) {
        bp__text_add(text, t ? "," : "");
        for (int32_t d = e->start[t]; d < e->start[t + 1]; d++) {
            bp__label_add(text, e, e->label[d]);
        }
    }
    bp__text_add(text, "->");
    for (int i = 0; i < e->output_ndim; i++) {
        bp__label_add(text, e, e->output[i]);
    }
}

/* ---- The report ---- */

/* Adds "1.234e+5". Uses the logarithm if the number is beyond a double, and a decimal point in any locale. */
static void add_number(bp__text *text, const char *head, double value, double log, const char *tail) {
    bool direct = isfinite(value) && value > 0;
    double exponent = direct ? floor(log10(value)) : floor(log);
    if (value == 0) {
        bp__text_addf(text, "%s0%s\n", head, tail);
        return;
    }
    /* Powers of ten up to 22 are exact, so that numbers in that range are rounded only once. */
    double digits = direct && exponent <= 22 ? value / pow(10, exponent) * 1000
                                             : 1000 * pow(10, direct ? log10(value) - exponent : log - exponent);
    long long rounded = llround(digits);
    if (rounded >= 10000) {
        rounded /= 10;
        exponent++;
    }
    bp__text_addf(text, "%s%lld.%03llde%+.0f%s\n", head, rounded / 1000, rounded % 1000, exponent, tail);
}

static void write_rows(bp__text *text, const bp_contraction_path *path, const bp__expressions *texts) {
    for (int i = 0; i < path->steps.count; i++) {
        const bp__step *s = &path->steps.step[i];
        const char *left = texts->left[i] == SIZE_MAX ? "..." : texts->text.bytes + texts->left[i];
        bp__text_addf(text, "%4d    %14s  %22s %37s\n", s->scaling, s->kind, texts->text.bytes + texts->at[i], left);
    }
}

static void write_report(bp__text *text, const bp_contraction_path *path) {
    static const char rule[] = "--------------------------------------------------------------------------------\n";
    const bp_contraction_path_info *info = &path->info;
    const bp__expressions *texts = bp__path_expressions(path);
    const char *expression = bp_contraction_path_expression(path);
    text->failed |= !texts || !*expression;
    if (text->failed) {
        return;
    }
    bp__text_addf(text, "  Complete contraction:  %s\n", expression);
    bp__text_addf(text, "              Strategy:  %s%s, least %s\n", info->strategy, info->exact ? " (exact)" : "",
                  bp_path_objective_name(path->search.objective));
    bp__text_addf(text, "         Naive scaling:  %d\n     Optimized scaling:  %d\n", info->naive_scaling,
                  info->scaling);
    add_number(text, "      Naive FLOP count:  ", info->naive_flops, info->naive_flops_log10, "");
    add_number(text, "  Optimized FLOP count:  ", info->flops, info->flops_log10, "");
    add_number(text, "   Theoretical speedup:  ", info->speedup, info->naive_flops_log10 - info->flops_log10, "");
    add_number(text, "  Largest intermediate:  ", info->largest, info->largest_log10, " elements");
    char tail[32];
    snprintf(tail, sizeof tail, " bytes of %s", bp_dtype_name(path->search.dtype));
    add_number(text, "   Peak of those alive:  ", info->peak_bytes, info->peak_bytes > 0 ? log10(info->peak_bytes) : 0,
               tail);
    bp__text_add(text, rule);
    bp__text_addf(text, "scaling %14s  %22s %37s\n", "kind", "current", "remaining");
    bp__text_add(text, rule);
    write_rows(text, path, texts);
}

/* ---- JSON ---- */

static void write_step(bp__json *json, const bp_contraction_path *path, int index) {
    bp_contraction_step step = {.struct_size = sizeof step};
    bp_contraction_path_at(path, index, &step);
    bp__json_open(json, NULL, '{');
    bp__json_open(json, "positions", '[');
    for (int i = 0; i < step.count; i++) {
        bp__json_int(json, NULL, step.position[i]);
    }
    bp__json_close(json, ']');
    bp__json_open(json, "operands", '[');
    for (int i = 0; i < step.count; i++) {
        bp__json_int(json, NULL, step.operand[i]);
    }
    bp__json_close(json, ']');
    bp__json_int(json, "result", step.result);
    bp__json_text(json, "expression", step.expression);
    bp__json_text(json, "kind", step.kind);
    bp__json_int(json, "scaling", step.scaling);
    bp__json_number(json, "flops", step.flops);
    bp__json_number(json, "size", step.size);
    bp__json_close(json, '}');
}

static void write_totals(bp__json *json, const bp_contraction_path *path) {
    const bp_contraction_path_info *info = &path->info;
    bp__json_text(json, "strategy", info->strategy);
    bp__json_text(json, "minimize", bp_path_objective_name(path->search.objective));
    bp__json_bool(json, "exact", info->exact != 0);
    bp__json_int(json, "operands", info->operands);
    bp__json_int(json, "labels", info->labels);
    bp__json_int(json, "naive_scaling", info->naive_scaling);
    bp__json_int(json, "scaling", info->scaling);
    bp__json_number(json, "naive_flops", info->naive_flops);
    bp__json_number(json, "naive_flops_log10", info->naive_flops_log10);
    bp__json_number(json, "flops", info->flops);
    bp__json_number(json, "flops_log10", info->flops_log10);
    bp__json_number(json, "speedup", info->speedup);
    bp__json_number(json, "cost", info->cost);
    bp__json_number(json, "cost_log10", info->cost_log10);
    bp__json_number(json, "largest", info->largest);
    bp__json_number(json, "largest_log10", info->largest_log10);
    bp__json_number(json, "written", info->written);
    bp__json_number(json, "peak_bytes", info->peak_bytes);
    bp__json_text(json, "dtype", bp_dtype_name(path->search.dtype));
    bp__json_open(json, "output_shape", '[');
    for (int i = 0; i < info->output_ndim; i++) {
        bp__json_int(json, NULL, info->output_shape[i]);
    }
    bp__json_close(json, ']');
}

static void write_json(bp__text *text, const bp_contraction_path *path) {
    bp__json json;
    const char *expression = bp_contraction_path_expression(path);
    text->failed |= !bp__path_expressions(path) || !*expression;
    bp__json_begin(&json, text);
    bp__json_open(&json, NULL, '{');
    bp__json_text(&json, "expression", expression);
    write_totals(&json, path);
    bp__json_open(&json, "steps", '[');
    for (int i = 0; i < path->steps.count && !text->failed; i++) {
        write_step(&json, path, i);
    }
    bp__json_close(&json, ']');
    bp__json_close(&json, '}');
}

/* ---- Public functions ---- */

static bp_contraction_path *writable_path(const bp_contraction_path *path) {
    return (bp_contraction_path *)(uintptr_t)path; /* to store texts that are made later */
}

const char *bp_contraction_path_expression(const bp_contraction_path *path) {
    return path ? written_once(&writable_path(path)->expression, write_expression, path) : "";
}

const char *bp_contraction_path_text(const bp_contraction_path *path) {
    return path ? written_once(&writable_path(path)->text, write_report, path) : "";
}

const char *bp_contraction_path_json(const bp_contraction_path *path) {
    return path ? written_once(&writable_path(path)->json, write_json, path) : "";
}
