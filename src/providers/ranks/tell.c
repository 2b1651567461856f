/* tell.c - writes what a call on distributed operands would send between the ranks, and estimates its time. */
#include "providers/ranks/ranks.h"

#include <stdio.h>

#define RATE 1.5e10 /* operations per second and thread in f64, of a usual processor: only for the estimate */

const char *bp__ranks_amount(char *buffer, double value, const char *unit) {
    static const char *const prefixes[] = {"", " k", " M", " G", " T", " P"};
    int power = 0;
    while (value >= 999.5 && power < 5) {
        value /= 1000;
        power++;
    }
    const int tenths = (int)(value * 10 + 0.5);
    const char *prefix = power == 0 && *unit ? " " : prefixes[power];
    if (power > 0 && tenths < 1000) {
        snprintf(buffer, BP__RANKS_TEXT, "%d.%d%s%s", tenths / 10, tenths % 10, prefix, unit);
    } else {
        snprintf(buffer, BP__RANKS_TEXT, "%d%s%s", (tenths + 5) / 10, prefix, unit);
    }
    return buffer;
}

/* Writes a time in microseconds, milliseconds or seconds. */
static const char *duration(char *buffer, double seconds) {
    if (seconds < 1e-3) {
        snprintf(buffer, BP__RANKS_TEXT, "%.0f us", seconds * 1e6);
    } else if (seconds < 1) {
        snprintf(buffer, BP__RANKS_TEXT, "%.0f ms", seconds * 1e3);
    } else {
        snprintf(buffer, BP__RANKS_TEXT, "%.0f s", seconds);
    }
    return buffer;
}

typedef struct seconds {
    double work, transfer, latency;
} seconds;

static seconds times_of(const bp_verdict *verdict, uint32_t dtype, const bp_dist_place *place,
                        const bp__ranks_model *model) {
    const double single = dtype == BP_F32 || dtype == BP_C64 ? 2 : 1;
    const double given = place->struct_size >= sizeof *place ? place->flops_per_sec : 0;
    const double rank = given > 0 ? given : RATE * verdict->threads, rate = rank * single * place->size;
    return (seconds){.work = model->flops / rate,
                     .transfer = place->bytes_per_sec > 0 ? model->most_bytes / place->bytes_per_sec : 0,
                     .latency = model->steps * place->latency_ns * 1e-9};
}

static void write_text(bp_verdict *verdict, const bp__ranks_model *m, double least_bytes, const seconds *s,
                       const char *as) {
    char least[BP__RANKS_TEXT + 32] = "", number[BP__RANKS_TEXT];
    if (least_bytes > 0) {
        snprintf(least, sizeof least, " (at least %s)", bp__ranks_amount(number, least_bytes, "B"));
    }
    char bytes[BP__RANKS_TEXT], messages[BP__RANKS_TEXT], most[BP__RANKS_TEXT], most_messages[BP__RANKS_TEXT],
        operands[BP__RANKS_TEXT], work[BP__RANKS_TEXT], times[3][BP__RANKS_TEXT];
    snprintf(verdict->text, sizeof verdict->text,
             "%ssends %s in %s messages, busiest rank %s in %s%s; memory of a rank %s + %s; %s work, %s transfer, %s "
             "latency",
             as, bp__ranks_amount(bytes, m->bytes, "B"), bp__ranks_amount(messages, m->messages, ""),
             bp__ranks_amount(most, m->most_bytes, "B"), bp__ranks_amount(most_messages, m->most_messages, ""), least,
             bp__ranks_amount(operands, m->operand_bytes, "B"), bp__ranks_amount(work, m->work_bytes, "B"),
             duration(times[0], s->work), duration(times[1], s->transfer), duration(times[2], s->latency));
}

void bp__ranks_tell(bp_verdict *verdict, uint32_t dtype, const bp_dist_place *place, const bp__ranks_model *model,
                    double least_bytes, const char *as) {
    const seconds times = times_of(verdict, dtype, place, model);
    write_text(verdict, model, least_bytes, &times, as);
    verdict->cost_ns = (times.work + times.transfer + times.latency) * 1e9;
}
