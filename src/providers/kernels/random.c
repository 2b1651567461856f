/* random.c - offers and plans random numbers. The seed is in host memory: each run passes it to the kernel by value. */
#include "providers/kernels/families.h"

#include <string.h>

BP__KERNEL_SOURCE(random);

/* The struct of the same name in sources/random.cl. */
typedef struct layout {
    int64_t total;
    int32_t ndim, dense;
    int64_t size[BP__KERNEL_DIMS];
    int64_t stride[BP__KERNEL_DIMS];
} layout;

static void accept(const bp_host *host, const bp_device_info *facts, const bp_problem *problem, bp_offers *offers) {
    const bp_random_problem *p = &problem->of.random;
    const double bytes = (double)p->total * (double)bp__kernel_bytes(problem->dtype);
    (void)host;
    if (problem->dtype == BP_F64 && bp__kernel_lacks_f64(facts, "numbers of type f64", offers)) {
        return;
    }
    if (p->ndim > BP__KERNEL_DIMS) {
        bp__kernel_refuse(offers, BP_REASON_LAYOUT, "more than 24 dimensions are left after neighbours were merged");
        return;
    }
    bp__kernel_offer(facts, "philox", BP__KERNEL_REPRODUCIBLE, bytes, 40 * (double)p->total, 1, 0, offers, NULL, 0);
}

static bp_status find_program(bp__kernel_device *device, const bp_problem *problem, bp__kernel_program **program) {
    static const char *const kinds[] = {"UNIFORM", "NORMAL", "BITS"};
    static const char *const words[] = {[1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong"};
    static const char *const blocks[] = {[1] = "uint", [2] = "uint2", [4] = "uint4", [8] = "uint4"};
    static const int upper[] = {[BP_F16] = 11, [BP_BF16] = 8, [BP_F32] = 24, [BP_F64] = 53};
    const bool bits = problem->of.random.kind == BP_RANDOM_BITS;
    const size_t size = bp__kernel_bytes(problem->dtype);
    bp__kernel_options options;
    bp__kernel_options_begin(&options, device);
    bp__kernel_options_add(&options, " -DKIND_%s -DBLOCK=%s%s%s", kinds[problem->of.random.kind], blocks[size],
                           size == 8 ? " -DWIDE" : "", size == 8 && !bits ? " -DCOMPUTE_F64" : "");
    if (bits) { /* signed types are stored like unsigned ones */
        bp__kernel_options_add(&options, " -DY=bits -Dstorage_bits=%s", words[size]);
    } else {
        bp__kernel_options_add(&options, " -DY=%s -DBITS_OF=%d", bp__kernel_type(problem->dtype),
                               upper[problem->dtype]);
    }
    return bp__kernel_program_get(device, bp__kernel_source_random, options.text, program);
}

static bp_status add_step(bp__kernel_device *device, const bp_problem *problem, bp__kernel_plan *plan) {
    const bp_random_problem *p = &problem->of.random;
    const int64_t blocks = bp__kernel_divide_up(p->total, bp__kernel_bytes(problem->dtype) == 8 ? 2 : 4);
    layout l = {.total = p->total, .ndim = p->ndim, .dense = p->ndim == 0 || (p->ndim == 1 && p->stride[0] == 1)};
    bp__kernel_step step = {.kernel = "random_all"};
    int64_t run;
    const bp_status status = find_program(device, problem, &step.program);
    memcpy(l.size, p->size, sizeof l.size);
    memcpy(l.stride, p->stride, sizeof l.stride);
    bp__kernel_spread(&step, device->facts, blocks, 10, &run);
    bp__kernel_host_bytes(&step, 0, 2 * sizeof(uint64_t));
    bp__kernel_operand(&step, 1, bp__kernel_bytes(problem->dtype));
    bp__kernel_value(&step, &l, sizeof l);
    return status == BP_OK ? bp__kernel_plan_add(plan, &step) : status;
}

static bp_status plan(bp__kernel_device *device, const bp_problem *problem, const bp_verdict *verdict,
                      const void *found, bp_prepared **prepared) {
    bp__kernel_plan *steps;
    bp_status status = bp__kernel_plan_new(device, verdict->workspace, &steps);
    (void)found;
    if (status != BP_OK) {
        return status;
    }
    if (problem->of.random.total > 0) {
        status = add_step(device, problem, steps);
    }
    return bp__kernel_plan_finish(status, steps, prepared);
}

const bp__kernel_family bp__kernel_random = {accept, plan};
