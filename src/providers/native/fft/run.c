/* run.c - plans and runs transforms: makes the tables of all axes, and runs them on the caller's memory. */
#include "choose.h"

#include <string.h>

typedef struct plan {
    bp_prepared prepared;
    const bp_host *host;
    bp__fft_choice choice;
    size_t element; /* bytes of a real */
    size_t between; /* bytes of the memory between axes */
    size_t each;    /* bytes of scratch for the axes of one task */
    int64_t chunk;  /* items between two interrupt checks */
} plan;

/* State of one call. `in` and `out` point to the current item. */
typedef struct call {
    const plan *plan;
    const char *in;
    char *out;
    char *scratch;
    const bp__fft_axis *axis; /* the axis that all threads share */
    bp__stop *stop;
} call;

static void run_axis(const call *c, const bp__fft_axis *axis, int part, int parts, int threads, char *between,
                     char *scratch) {
    char *const memory[] = {
        [BP__FFT_INPUT] = (char *)(uintptr_t)c->in, [BP__FFT_OUTPUT] = c->out, [BP__FFT_BETWEEN] = between};
    bp__fft_axis_run(axis, memory[axis->from], memory[axis->to], part, parts, threads, scratch, c->stop);
}

/* Transforms one item in the calling thread. */
static void run_item(const call *c, char *scratch) {
    const bp__fft_choice *choice = &c->plan->choice;
    for (int i = 0; i < choice->axes && !bp__stopped(c->stop); i++) {
        run_axis(c, choice->axis + i, 0, 1, 1, scratch, scratch + c->plan->between);
    }
}

static call item_at(const call *c, int64_t item) {
    const plan *p = c->plan;
    const bp__fft_grid *items = &p->choice.items;
    int64_t in = 0, out = 0;
    for (int d = items->ndim - 1; d >= 0; d--) {
        in += item % items->size[d] * items->in[d];
        out += item % items->size[d] * items->out[d];
        item /= items->size[d];
    }
    call at = *c;
    at.in += in * (int64_t)p->element;
    at.out += out * (int64_t)p->element;
    return at;
}

static void items_task(void *context, int task) {
    const call *c = context;
    const int64_t count = c->plan->choice.items.count, tasks = c->plan->choice.threads;
    char *scratch = c->scratch + (size_t)task * (c->plan->between + c->plan->each);
    const int64_t until = count * (task + 1) / tasks;
    for (int64_t item = count * task / tasks; item < until && !bp__stops(c->stop);) {
        const int64_t end = item + (until - item < c->plan->chunk ? until - item : c->plan->chunk);
        for (; item < end; item++) {
            const call one = item_at(c, item);
            run_item(&one, scratch);
        }
    }
}

static void axis_task(void *context, int task) {
    const call *c = context;
    run_axis(c, c->axis, task, c->plan->choice.threads, 1, c->scratch,
             c->scratch + c->plan->between + (size_t)task * c->plan->each);
}

/* Transforms one item with all threads sharing each axis. */
static void run_shared(call *c) {
    const bp__fft_choice *choice = &c->plan->choice;
    for (int i = 0; i < choice->axes && !bp__stops(c->stop); i++) {
        c->axis = choice->axis + i;
        if (choice->split_lines) {
            c->plan->host->parallel(choice->threads, choice->threads, axis_task, c);
        } else {
            run_axis(c, c->axis, 0, 1, choice->threads, c->scratch, c->scratch + c->plan->between);
        }
    }
}

static size_t scratch_of(const plan *p) {
    const bp__fft_choice *choice = &p->choice;
    const size_t tasks = (size_t)choice->threads;
    return choice->split_items ? tasks * (p->between + p->each)
                               : p->between + (choice->split_lines ? tasks : 1) * p->each;
}

static bp__stop stop_of(const plan *p) {
    return (bp__stop){.host = p->host, .op = BP_OP_FFT};
}

static bp_status enqueue(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const plan *p = (const plan *)(const void *)self;
    bp__stop stop = stop_of(p);
    call c = {.plan = p,
              .stop = &stop,
              .in = bp_operand_address(&operands[0]),
              .out = bp_operand_address(&operands[1]),
              .scratch = bp_operand_address(&exec->workspace)};
    if (p->choice.split_items && p->choice.threads > 1) {
        p->host->parallel(p->choice.threads, p->choice.threads, items_task, &c);
    } else if (p->choice.split_items) {
        items_task(&c, 0);
    } else {
        for (int64_t item = 0; item < p->choice.items.count && !bp__stopped(&stop); item++) {
            call one = item_at(&c, item);
            run_shared(&one);
        }
    }
    return bp__stop_status(&stop);
}

/* Transforms one contiguous line in the calling thread. For short lines the general path would take longer than the
 * transform. */
static bp_status enqueue_line(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const plan *p = (const plan *)(const void *)self;
    const bp__fft_axis *axis = p->choice.axis;
    bp__stop stop = stop_of(p);
    bp__fft_line_run(axis->line, bp_operand_address(&operands[0]), bp_operand_address(&operands[1]), axis->swapped,
                     axis->scale, bp_operand_address(&exec->workspace), 1, &stop);
    return bp__stop_status(&stop);
}

static bp_status enqueue_nothing(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    (void)self, (void)operands, (void)exec;
    return BP_OK;
}

static void destroy(bp_prepared *self) {
    plan *p = (plan *)(void *)self;
    for (int i = 0; i < p->choice.axes; i++) {
        bp__fft_axis_free(p->host, p->choice.axis + i);
    }
    p->host->release(p);
}

static bool is_line(const bp__fft_choice *choice) {
    const bp__fft_axis *axis = choice->axis;
    return choice->axes == 1 && choice->items.count == 1 && choice->threads == 1 && axis->lines.count == 1 &&
           !axis->in_lanes && bp__fft_plain(axis);
}

static double work_of_item(const bp__fft_choice *choice) {
    double work = 0;
    for (int i = 0; i < choice->axes; i++) {
        work += bp__fft_line_work(choice->axis + i) * (double)choice->axis[i].lines.count;
    }
    return work;
}

bp_status bp__fft_prepare(const bp_host *host, const bp__fft_choice *choice, bp_prepared **prepared) {
    plan *p = host->allocate(sizeof *p);
    if (!p) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the plan of a transform");
    }
    memset(p, 0, sizeof *p);
    p->prepared.struct_size = sizeof p->prepared;
    p->prepared.enqueue = choice->empty ? enqueue_nothing : is_line(choice) ? enqueue_line : enqueue;
    p->prepared.destroy = destroy;
    p->host = host;
    p->choice = *choice;
    p->element = choice->f64 ? 8 : 4;
    p->chunk = bp__stop_chunk(work_of_item(&p->choice), INT64_MAX);
    p->between = ((size_t)choice->between * 2 * p->element + 63) / 64 * 64;
    const int threads = choice->split_lines ? 1 : choice->threads;
    for (int i = 0; i < choice->axes; i++) {
        const bp_status status = bp__fft_axis_make(host, choice->kernels, choice->f64, p->choice.axis + i);
        if (status != BP_OK) {
            destroy(&p->prepared);
            return status;
        }
        const size_t size = bp__fft_axis_scratch(p->choice.axis + i, threads);
        p->each = size > p->each ? size : p->each;
    }
    p->each = (p->each + 63) / 64 * 64;
    p->prepared.workspace = choice->empty ? 0 : is_line(choice) ? p->each : scratch_of(p);
    *prepared = &p->prepared;
    return BP_OK;
}
