/* run.c - runs calls that pad, reverse and rotate tensors.
 *
 * Along the last dimension a row of the output consists of a few runs: elements of the input in order, in reverse, the
 * same one repeated, or the value. They are the same for all rows. Elements that stay next to each other are moved as
 * one. Threads take ranges of rows, or of pieces of long rows. */
#include "pad.h"

#include "providers/least.h"
#include "providers/native/stop.h"

#include <string.h>

enum { RUNS = 3, PIECE = 1 << 16 /* elements of a row that are a unit of work */ };

/* `count` elements of a row of the output from element `at` on, and where they come from. */
typedef struct run {
    int64_t at, count, from; /* from: the first one in the input; -1: the value */
    int step;                /* to the next one in the input: 1, -1, or 0 */
} run;

typedef struct prepared {
    bp_prepared base; /* must be first */
    const bp_host *host;
    bp_problem problem; /* the last dimension is the dimension of the rows */
    int threads, runs;
    run run[RUNS];
    int64_t element, unit; /* bytes of an element, and of what is moved as one */
    int64_t x, y;          /* bytes between units of a row */
    int64_t rows, pieces;  /* pieces of a row */
} prepared;

typedef struct call {
    const prepared *plan;
    const char *x;
    char *y;
    _Atomic int64_t next;
    bp__stop stop;
} call;

/* ---- Where elements come from ---- */

/* Returns the longest run of dimension d that begins at an element of the output. */
static run run_at(const bp_pad_problem *p, int d, int64_t at) {
    const int64_t n = p->inner[d], i = at - p->before[d], left = p->size[d] - at;
    if (p->flipped >> d & 1) {
        return (run){at, left, n - 1 - at, -1};
    }
    if (i >= 0 && i < n) {
        return (run){at, bp__least(n - i, left), i, 1};
    }
    const int64_t count = i < 0 ? bp__least(-i, left) : left;
    switch (p->mode) {
    case BP_PAD_REFLECT:
        return (run){at, count, i < 0 ? -i : 2 * (n - 1) - i, -1};
    case BP_PAD_REPLICATE:
        return (run){at, count, i < 0 ? 0 : n - 1, 0};
    case BP_PAD_CIRCULAR:
        return (run){at, count, i < 0 ? i + n : i - n, 1};
    default:
        return (run){at, count, -1, 0};
    }
}

/* ---- Moving units ---- */

#define EACH_UNIT(bytes)                                                                                               \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        memcpy(to + i * to_step, from + i * from_step, bytes);                                                         \
    }                                                                                                                  \
    break

/* Writes copies of one unit next to each other, each time as many as are there. */
static void repeat(char *to, const char *from, int64_t count, int64_t unit) {
    enum { TOGETHER = 1 << 12 };
    const int64_t bytes = count * unit;
    memcpy(to, from, (size_t)unit);
    for (int64_t done = unit; done < bytes;) {
        const int64_t more = bp__least(bp__least(done, bp__most(TOGETHER / unit, 1) * unit), bytes - done);
        memcpy(to + done, to, (size_t)more);
        done += more;
    }
}

/* Vectors of elements of 2, 4 and 8 bytes, and their elements in reverse. */
typedef uint16_t words __attribute__((vector_size(16)));
typedef uint32_t singles __attribute__((vector_size(16)));
typedef uint64_t doubles __attribute__((vector_size(16)));
#define REVERSED_WORDS(x) __builtin_shufflevector(x, x, 7, 6, 5, 4, 3, 2, 1, 0)
#define REVERSED_SINGLES(x) __builtin_shufflevector(x, x, 3, 2, 1, 0)
#define REVERSED_DOUBLES(x) __builtin_shufflevector(x, x, 1, 0)
#define REVERSED_BYTES(x) __builtin_bswap64(x)

/* Moves whole vectors of neighbours whose first element is the last one in memory, and adds their elements to `done`.
 */
#define REVERSE(type, bytes, reversed)                                                                                 \
    do {                                                                                                               \
        enum { EACH = sizeof(type) / (bytes) };                                                                        \
        for (; done + EACH <= count; done += EACH) {                                                                   \
            type x;                                                                                                    \
            memcpy(&x, from - (done + EACH - 1) * (bytes), sizeof x);                                                  \
            x = reversed(x);                                                                                           \
            memcpy(to + done * (bytes), &x, sizeof x);                                                                 \
        }                                                                                                              \
    } while (0)

/* Moves elements whose first one is the last one in memory, as far as they are whole vectors. Returns how many these
 * are. */
static int64_t reverse(char *to, const char *from, int64_t count, int64_t unit) {
    int64_t done = 0;
    if (unit == 1) {
        REVERSE(uint64_t, 1, REVERSED_BYTES);
    } else if (unit == 2) {
        REVERSE(words, 2, REVERSED_WORDS);
    } else if (unit == 4) {
        REVERSE(singles, 4, REVERSED_SINGLES);
    } else if (unit == 8) {
        REVERSE(doubles, 8, REVERSED_DOUBLES);
    }
    return done;
}

static void move(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t count, int64_t unit) {
    if (to_step == unit && from_step == unit) {
        memcpy(to, from, (size_t)(count * unit));
        return;
    }
    if (to_step == unit && from_step == 0) {
        repeat(to, from, count, unit);
        return;
    }
    if (to_step == unit && from_step == -unit) {
        const int64_t done = reverse(to, from, count, unit);
        to += done * unit;
        from -= done * unit;
        count -= done;
    }
    switch (unit) {
    case 1:
        EACH_UNIT(1);
    case 2:
        EACH_UNIT(2);
    case 4:
        EACH_UNIT(4);
    case 8:
        EACH_UNIT(8);
    case 16:
        EACH_UNIT(16);
    default:
        EACH_UNIT((size_t)unit);
    }
}

/* Writes the value to units, which are elements or several next to each other. */
static void fill(const prepared *plan, char *to, int64_t count) {
    const uint8_t *value = plan->problem.of.pad.value;
    const int64_t element = plan->element, in_unit = plan->unit / element;
    if (plan->y == plan->unit) {
        move(to, element, (const char *)value, 0, count * in_unit, element);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        move(to + i * plan->y, element, (const char *)value, 0, in_unit, element);
    }
}

/* ---- Rows ---- */

/* The row that is written: its indices, and for each dimension the offsets of all up to it. */
typedef struct place {
    int64_t index[BP_MAX_PAD_NDIM], x[BP_MAX_PAD_NDIM + 1], y[BP_MAX_PAD_NDIM + 1];
    bool known[BP_MAX_PAD_NDIM + 1]; /* whether the row is in the input */
} place;

/* Finds the offsets from dimension `from` on. */
static void find_offsets(const bp_pad_problem *p, place *at, int from) {
    for (int d = from; d < p->ndim - 1; d++) {
        const run r = run_at(p, d, at->index[d]);
        at->known[d + 1] = at->known[d] && r.from >= 0;
        at->x[d + 1] = at->x[d] + (r.from >= 0 ? r.from * p->x[d] : 0);
        at->y[d + 1] = at->y[d] + at->index[d] * p->y[d];
    }
}

static void begin_rows(const bp_pad_problem *p, place *at, int64_t row) {
    at->x[0] = at->y[0] = 0;
    at->known[0] = true;
    for (int d = p->ndim - 2; d >= 0; d--) {
        at->index[d] = row % p->size[d];
        row /= p->size[d];
    }
    find_offsets(p, at, 0);
}

static void next_row(const bp_pad_problem *p, place *at) {
    int d = p->ndim - 2;
    for (; d >= 0 && ++at->index[d] == p->size[d]; d--) {
        at->index[d] = 0;
    }
    find_offsets(p, at, d < 0 ? 0 : d);
}

static void write_row(const call *c, const place *at, int64_t from, int64_t to) {
    const prepared *plan = c->plan;
    const int last = plan->problem.of.pad.ndim - 1;
    const char *x = at->known[last] && c->x ? c->x + at->x[last] * plan->element : NULL;
    char *y = c->y + at->y[last] * plan->element;
    for (int i = 0; i < plan->runs; i++) {
        const run *r = &plan->run[i];
        const int64_t first = bp__most(r->at, from), end = bp__least(r->at + r->count, to);
        if (first >= end) {
            continue;
        }
        if (r->from < 0 || !at->known[last]) {
            fill(plan, y + first * plan->y, end - first);
        } else {
            move(y + first * plan->y, plan->y, x + (r->from + (first - r->at) * r->step) * plan->x, plan->x * r->step,
                 end - first, plan->unit);
        }
    }
}

static void run_units(void *context, int task) {
    call *c = context;
    const prepared *plan = c->plan;
    const bp_pad_problem *p = &plan->problem.of.pad;
    const int64_t length = p->size[p->ndim - 1], all = plan->rows * plan->pieces;
    const int64_t grain = bp__stop_chunk((double)bp__least(length, PIECE), all);
    (void)task;
    for (;;) {
        const int64_t from = atomic_fetch_add_explicit(&c->next, grain, memory_order_relaxed);
        place at;
        if (from >= all || bp__stops(&c->stop)) {
            return;
        }
        begin_rows(p, &at, from / plan->pieces);
        for (int64_t i = from; i < bp__least(from + grain, all); i++) {
            const int64_t piece = i % plan->pieces;
            if (piece == 0 && i > from) {
                next_row(p, &at);
            }
            write_row(c, &at, piece * PIECE, piece == plan->pieces - 1 ? length : (piece + 1) * PIECE);
        }
    }
}

/* ---- Plans ---- */

static bp_status run_pad(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    const prepared *plan = (const prepared *)self;
    call c = {.plan = plan,
              .x = bp_operand_address(&operands[0]),
              .y = bp_operand_address(&operands[1]),
              .stop = {.host = plan->host, .op = (bp_op)plan->problem.op}};
    (void)exec;
    if (plan->threads > 1) {
        plan->host->parallel(plan->threads, plan->threads, run_units, &c);
    } else {
        run_units(&c, 0);
    }
    return bp__stop_status(&c.stop);
}

static void destroy(bp_prepared *self) {
    ((prepared *)self)->host->release(self);
}

/* Makes the last dimension a part of the units, if it stays as it is and neither tensor has gaps before the next of
 * them. There is at least one dimension afterwards. */
static void set_units(prepared *plan) {
    bp_pad_problem *p = &plan->problem.of.pad;
    if (p->ndim == 0) {
        p->ndim = 1;
        p->size[0] = p->inner[0] = 1;
    }
    plan->unit = plan->element;
    const int last = p->ndim - 1, next = last - 1;
    const bool stays = p->before[last] == 0 && p->size[last] == p->inner[last] && !(p->flipped >> last & 1);
    if (last > 0 && stays && p->x[last] == 1 && p->y[last] == 1 && p->x[next] == p->size[last] &&
        p->y[next] == p->size[last]) {
        plan->unit *= p->size[last];
        p->ndim--;
    }
    plan->x = p->x[p->ndim - 1] * plan->element;
    plan->y = p->y[p->ndim - 1] * plan->element;
}

bp_status bp__native_pad_plan(const bp_host *host, const bp_problem *problem, int threads, bp_prepared **result) {
    prepared *plan = host->allocate(sizeof *plan);
    if (!plan) {
        return host->fail(BP_E_NO_MEMORY, "no memory for the %zu bytes of a plan", sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->base = (bp_prepared){.struct_size = sizeof plan->base, .enqueue = run_pad, .destroy = destroy};
    plan->host = host;
    plan->problem = *problem;
    plan->threads = threads;
    plan->element = (int64_t)bp_dtype_size((bp_dtype)problem->dtype);
    set_units(plan);
    const bp_pad_problem *p = &plan->problem.of.pad;
    const int last = p->ndim - 1;
    for (int64_t at = 0; at < p->size[last] && plan->runs < RUNS; plan->runs++) {
        plan->run[plan->runs] = run_at(p, last, at);
        at += plan->run[plan->runs].count;
    }
    plan->rows = 1;
    for (int d = 0; d < last; d++) {
        plan->rows *= p->size[d];
    }
    plan->pieces = (p->size[last] + PIECE - 1) / PIECE;
    *result = &plan->base;
    return BP_OK;
}
