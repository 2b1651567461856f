/* pad.c - offers and plans padding, flips and rolls. */
#include "providers/kernels/families.h"

#include <string.h>

BP__KERNEL_SOURCE(pad);

enum { DIMS = 16 }; /* most dimensions: arguments of a kernel have 1024 bytes */

/* The struct of the same name in sources/pad.cl. */
typedef struct padding {
    int64_t total, run;
    int32_t ndim, reserved;
    uint64_t flipped;
    uint8_t value[16];
    int64_t size[DIMS], inner[DIMS], before[DIMS], x[DIMS], y[DIMS];
} padding;

/* Returns false if there are too many dimensions or elements. */
static bool padding_of(padding *made, const bp_pad_problem *p) {
    const size_t line = sizeof made->size;
    if (p->ndim > DIMS) {
        return false;
    }
    *made = (padding){.total = 1, .ndim = p->ndim, .flipped = p->flipped};
    memcpy(made->value, p->value, sizeof made->value);
    memcpy(made->size, p->size, line);
    memcpy(made->inner, p->inner, line);
    memcpy(made->before, p->before, line);
    memcpy(made->x, p->x, line);
    memcpy(made->y, p->y, line);
    for (int d = 0; d < p->ndim; d++) {
        if (!bp__kernel_multiply(&made->total, p->size[d])) {
            return false;
        }
    }
    return true;
}

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    padding made;
    (void)host;
    if (!padding_of(&made, &problem->of.pad)) {
        bp__kernel_refuse(offers, BP_REASON_LAYOUT, "more than 16 dimensions are left after neighbours were merged");
        return;
    }
    const double all = (double)made.total;
    bp__kernel_offer(facts, "elements", BP__KERNEL_REPRODUCIBLE, 2 * all * (double)bp__kernel_bytes(problem->dtype),
                     20 * all * (made.ndim + 1), 1, 0, offers, NULL, 0);
}

static bp_status add_step(bp__kernel_device *device, const bp_problem *problem, padding *made, bp__kernel_plan *plan) {
    static const char *const units[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong", [16] = "uint4"};
    const size_t element = bp__kernel_bytes(problem->dtype);
    bp__kernel_step step = {.kernel = "pad_all"};
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -Dstorage_unit=%s -DDIMS=%d -DMODE=%d", units[element], DIMS,
                           (int)problem->of.pad.mode);
    const bp_status status = bp__kernel_program_get(device, bp__kernel_source_pad, options.text, &step.program);
    bp__kernel_spread(&step, device->facts, made->total, 2 + 3 * (double)made->ndim, &made->run);
    bp__kernel_operand(&step, 0, element);
    bp__kernel_operand(&step, 1, element);
    bp__kernel_value(&step, made, sizeof *made);
    return status == BP_OK ? bp__kernel_plan_add(plan, &step) : status;
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    bp__kernel_plan *steps;
    padding made;
    (void)found;
    padding_of(&made, &problem->of.pad);
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    if (status != BP_OK) {
        return status;
    }
    if (made.total > 0) {
        status = add_step(device, problem, &made, steps);
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_pad = {accept, plan};
