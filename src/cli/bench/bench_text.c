/* bench_text.c - prints the report of bench on the terminal. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* One column, so that a table with many libraries fits a narrow terminal: "openblas 51.2 (7 %), mkl 48.0 (9 %)". */
static char *others_text(const bench_case *c) {
    char *text = NULL;
    for (int i = 0; i < c->count; i++) {
        const bench_result *r = &c->results[i];
        if (i == c->chosen || r->times.count == 0) {
            continue;
        }
        char *one = cli_format("%s\xc2\xa0%.3g%s", r->library, r->speed, r->wrong ? "\xc2\xa0(wrong)" : "");
        text = text ? cli_join(text, ", ", one) : cli_format("%s", one);
        free(one);
    }
    return text ? text : cli_format("-");
}

static cli_style ratio_style(double ratio) {
    return ratio == 0 ? CLI_FAINT : ratio <= 1.1 ? CLI_GOOD : ratio <= 1.5 ? CLI_CAUTION : CLI_BAD;
}

static double spread_of(const samples *s) {
    return s->median > 0 ? (s->high - s->low) / s->median : 0;
}

static void add_row(cli_table *table, const bench_case *c) {
    char time[32];
    const bench_result *ours = c->chosen >= 0 && c->results[c->chosen].times.count ? &c->results[c->chosen] : NULL;
    char *others = others_text(c);
    cli_cell(table, CLI_STRONG, "%s", c->operation->name);
    cli_cell(table, CLI_PLAIN, "%s", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
    cli_cell(table, CLI_PLAIN, "%lld", (long long)c->size);
    cli_cell(table, CLI_PLAIN, "%d", c->threads);
    cli_cell(table, CLI_PLAIN, "%s", ours ? ours->library : "-");
    cli_cell(table, CLI_PLAIN, "%s", ours ? bp__duration(ours->times.median, time, sizeof time) : "-");
    cli_cell(table, CLI_PLAIN, ours && ours->times.count > 2 ? "%.0f %%" : "-",
             ours ? 100 * spread_of(&ours->times) : 0);
    cli_cell(table, CLI_PLAIN, ours ? "%.3g" : "-", ours ? ours->speed : 0);
    cli_cell(table, ratio_style(c->ratio), c->ratio > 0 ? "%.2f" : "-", c->ratio);
    cli_cell(table, CLI_PLAIN, "%s", c->skipped ? c->skipped : others);
    free(others);
}

static void print_cases(const bench_report *report) {
    cli_table *table = cli_table_new("OPERATION|TYPE|>N|~THREADS|~CHOICE|>TIME|>IQR|>SPEED|>RATIO|OTHERS");
    const bench_request *q = report->request;
    for (int o = 0; o < q->operation_count; o++) {
        for (int i = 0; i < report->case_count; i++) {
            if (report->cases[i].operation == q->operations[o]) {
                add_row(table, &report->cases[i]);
            }
        }
    }
    cli_table_end(table);
}

static void print_errors(const bench_report *report) {
    const bench_request *q = report->request;
    cli_table *table = cli_table_new("OPERATION|TYPE|>N|>BOUND|ERROR");
    for (int o = 0; o < q->operation_count; o++) {
        for (int d = 0; d < q->dtype_count; d++) {
            const bench_case *c = bench_checked_case(report, q->operations[o], q->dtypes[d]);
            char *errors = NULL;
            for (int i = 0; c && i < c->count; i++) {
                if (c->results[i].error >= 0) {
                    char *one = cli_format("%s\xc2\xa0%.1e", c->results[i].library, c->results[i].error);
                    errors = errors ? cli_join(errors, ", ", one) : cli_format("%s", one);
                    free(one);
                }
            }
            if (errors) {
                cli_cell(table, CLI_STRONG, "%s", c->operation->name);
                cli_cell(table, CLI_PLAIN, "%s", bp_dtype_name(bench_dtype(c->operation, c->dtype)));
                cli_cell(table, CLI_PLAIN, "%lld", (long long)c->size);
                cli_cell(table, CLI_PLAIN, "%.1e", c->error_bound);
                cli_cell(table, CLI_PLAIN, "%s", errors);
            }
            free(errors);
        }
    }
    cli_table_end(table);
}

static void print_overheads(const bench_report *report) {
    char one[32], two[32];
    cli_table *table = cli_table_new("SMALLEST CALL|TYPE|>N|~LIBRARY|>ONE-SHOT|>KEPT PLAN");
    for (int i = 0; i < report->overhead_count; i++) {
        const bench_overhead *o = &report->overheads[i];
        cli_cell(table, CLI_STRONG, "%s", o->operation->name);
        cli_cell(table, CLI_PLAIN, "%s", bp_dtype_name(bench_dtype(o->operation, o->dtype)));
        cli_cell(table, CLI_PLAIN, "%lld", (long long)o->size);
        cli_cell(table, CLI_PLAIN, "%s", o->library);
        cli_cell(table, CLI_PLAIN, "%s", bp__duration(o->one_shot_ns, one, sizeof one));
        cli_cell(table, CLI_PLAIN, "%s", bp__duration(o->plan_ns, two, sizeof two));
    }
    cli_table_end(table);
}

static void print_machine(const bench_report *report) {
    cli_table *table = cli_table_new("MACHINE|>THREADS|>MEASURED|BY");
    for (int i = 0; i < report->peak_count; i++) {
        const bench_peak *p = &report->peaks[i];
        if (p->gflops > 0) {
            cli_cell(table, CLI_STRONG, "peak %s", bp_dtype_name(p->dtype));
            cli_cell(table, CLI_PLAIN, "%d", p->threads);
            cli_cell(table, CLI_PLAIN, "%.3g GFLOP/s", p->gflops);
            cli_cell(table, CLI_PLAIN, "the fastest matrix product: %s", p->library);
        }
    }
    for (int i = 0; i < report->bandwidth_count; i++) {
        const bench_bandwidth *b = &report->bandwidths[i];
        if (b->gb_per_s > 0) {
            cli_cell(table, CLI_STRONG, "memory");
            cli_cell(table, CLI_PLAIN, "%d", b->threads);
            cli_cell(table, CLI_PLAIN, "%.3g GB/s", b->gb_per_s);
            cli_cell(table, CLI_PLAIN, "a[i] = b[i] + x * c[i] on arrays beyond the caches");
        }
    }
    cli_table_end(table);
}

static void print_score(const bench_report *report) {
    bench_score score = bench_score_of(report);
    char *text =
        cli_format("N is the size, see `backplane bench --help`. TIME: median of interleaved samples of the choice. "
                   "IQR: their interquartile range / TIME. SPEED and OTHERS: GFLOP/s, or GB/s for vecdot and "
                   "vector_norm. RATIO: time of the choice / time of the fastest library; geometric mean %.2f, largest "
                   "%.2f, of %d cases. Measured in %.0f s%s.",
                   score.mean, score.worst, score.count, report->elapsed, report->interrupted ? "; interrupted" : "");
    cli_paragraph(0, text);
    free(text);
    if (score.slow > 0) {
        text =
            cli_format("%d of %d cases ran while the processor was more than %.1f times slower than at its best. Their "
                       "times are too long; their ratios are of the same moments.",
                       score.slow, score.count, BENCH_SLOW);
        cli_paragraph(0, text);
        free(text);
    }
}

void bench_print_text(const bench_report *report) {
    print_cases(report);
    putchar('\n');
    print_score(report);
    putchar('\n');
    print_errors(report);
    putchar('\n');
    print_overheads(report);
    putchar('\n');
    print_machine(report);
}
