/* region_run.c - runs a region: all its functions on one block after another, on several threads. A call of a function
 * takes little more than its kernel: what it needs was found when the plan was made. */
#include "graph/region.h"

#include "tensor/internal.h"

#include <stdatomic.h>
#include <string.h>

enum {
    LINE = 64,   /* bytes of a cache line */
    LOOK = 8,    /* blocks between two looks at the interrupt */
    PATTERN = 64 /* bytes that are stored at once where an element is repeated */
};

typedef struct run {
    const bp__region_call *r;
    const bp_operand *operands;
    char *memory;
    int64_t lead;  /* elements of the first block of a single row */
    int64_t count; /* of blocks */
    int64_t since; /* of bp_host.interrupt_due */
    atomic_bool stopped;
} run;

/* Returns whether the run must end. Only the caller's thread asks. */
static bool stops(run *w) {
    if (!atomic_load_explicit(&w->stopped, memory_order_relaxed) && bp__host()->interrupt_due(&w->since) &&
        bp__operation_interrupted(BP_OP_GRAPH)) {
        atomic_store_explicit(&w->stopped, true, memory_order_relaxed);
    }
    return atomic_load_explicit(&w->stopped, memory_order_relaxed);
}

/* The addresses of a thread's blocks: of the operands, then of the slots. */
typedef struct blocks {
    char *base[BP__REGION_OPERANDS];
    void *at[BP__REGION_OPERANDS + BP__REGION_SLOTS];
    bp__tile tile;
} blocks;

static void begin_blocks(const run *w, int thread, blocks *b) {
    const bp__region_call *r = w->r;
    for (int slot = 0; slot < r->slot_count; slot++) {
        b->at[BP__REGION_OPERANDS + slot] = w->memory + thread * r->thread_bytes + r->slot_at[slot];
    }
    for (int i = 0; i < r->tiles.operands; i++) {
        b->base[i] = bp_operand_address(&w->operands[i]);
        b->at[i] = r->slot_of[i] >= 0 ? b->at[BP__REGION_OPERANDS + r->slot_of[i]] : NULL;
    }
}

static void *element_at(const blocks *b, int operand) {
    return (void *)((uintptr_t)b->base[operand] + (uintptr_t)b->tile.offset[operand]);
}

/* Repeats an element. */
static void repeat(char *to, const char *from, size_t item, size_t count) {
    const size_t bytes = item * count;
    memcpy(to, from, item);
    for (size_t done = item; done < bytes; done *= 2) {
        memcpy(to + done, to, done < bytes - done ? done : bytes - done);
    }
}

/* Fills each row with an element. Rows may be short, so that calls of memcpy() would take longer than the stores. */
#define REPEAT_ROWS(type)                                                                                              \
    static void repeat_rows_##type(int64_t rows, int64_t columns, char *to, const char *from, int64_t row) {           \
        typedef type __attribute__((may_alias)) item;                                                                  \
        enum { MANY = PATTERN / sizeof(type) };                                                                        \
        typedef type pattern __attribute__((vector_size(PATTERN), aligned(sizeof(type)), may_alias));                  \
        item *at = (item *)(void *)to;                                                                                 \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            const type x = ((const item *)(const void *)from)[r * row];                                                \
            const pattern many = x - (pattern){0};                                                                     \
            int64_t c = 0;                                                                                             \
            for (; c + MANY <= columns; c += MANY) {                                                                   \
                *(pattern *)(void *)(at + c) = many;                                                                   \
            }                                                                                                          \
            for (; c < columns; c++) {                                                                                 \
                at[c] = x;                                                                                             \
            }                                                                                                          \
            at += columns;                                                                                             \
        }                                                                                                              \
    }
REPEAT_ROWS(uint8_t)
REPEAT_ROWS(uint16_t)
REPEAT_ROWS(uint32_t)
REPEAT_ROWS(uint64_t)
#undef REPEAT_ROWS

static void repeat_rows(int64_t rows, int64_t columns, char *to, const char *from, int64_t row, int64_t item) {
    switch (item) {
    case 1:
        repeat_rows_uint8_t(rows, columns, to, from, row);
        break;
    case 2:
        repeat_rows_uint16_t(rows, columns, to, from, row);
        break;
    case 4:
        repeat_rows_uint32_t(rows, columns, to, from, row);
        break;
    case 8:
        repeat_rows_uint64_t(rows, columns, to, from, row);
        break;
    default:
        for (int64_t i = 0; i < rows; i++) {
            repeat(to + i * columns * item, from + i * row * item, (size_t)item, (size_t)columns);
        }
    }
}

/* Copies the elements of an input to its slot. */
static void read_input(const bp__tiles *t, int operand, int64_t rows, int64_t columns, char *to, char *from) {
    const bp__tile_operand *o = &t->operand[operand];
    const int64_t row = o->stride[t->ndim - 2], column = o->stride[t->ndim - 1];
    if (column != 0) {
        bp__copy_matrix(o->dtype, rows, columns, to, columns, 1, from, row, column, 0);
    } else if (row == 0) {
        repeat(to, from, (size_t)o->item, (size_t)(rows * columns));
    } else {
        repeat_rows(rows, columns, to, from, row, o->item);
    }
}

/* Finds or copies the elements of the operands. What is constant is copied for a whole block: a smaller one may come
 * first. */
static void locate(const bp__region_call *r, blocks *b, bool first) {
    const bp__tiles *t = &r->tiles;
    for (int i = 0; i < t->operands; i++) {
        const bp__tile_operand *o = &t->operand[i];
        if (o->direct) {
            b->at[i] = element_at(b, i);
        } else if (i < r->inputs && (first || !o->constant)) {
            const int64_t rows = o->constant ? t->rows : b->tile.rows;
            const int64_t columns = o->constant ? t->columns : b->tile.columns;
            read_input(t, i, rows, columns, b->at[i], element_at(b, i));
        }
    }
}

static void compute(const bp__region_call *r, const blocks *b) {
    const int64_t count = b->tile.rows * b->tile.columns;
    for (int s = 0; s < r->step_count; s++) {
        const bp__region_step *step = &r->step[s];
        void *at[BP__REGION_ARGUMENTS];
        for (int i = 0; i < BP__REGION_ARGUMENTS; i++) {
            at[i] = b->at[step->value[i]];
        }
        step->call->elements(step->call, count, at);
    }
}

/* Writes the results of outputs whose elements are not one after another. */
static void write_results(const bp__region_call *r, const blocks *b) {
    const bp__tiles *t = &r->tiles;
    for (int i = r->inputs; i < t->operands; i++) {
        const bp__tile_operand *o = &t->operand[i];
        if (!o->direct) {
            const int64_t *stride = o->stride + t->ndim - 2;
            bp__copy_matrix(o->dtype, b->tile.rows, b->tile.columns, element_at(b, i), stride[0], stride[1], b->at[i],
                            b->tile.columns, 1, 0);
        }
    }
}

/* Lets the second block and all others begin at a cache line of the last output, because a vector across two lines
 * takes twice the time to load or store. Inputs often have the same distance from lines as the output. */
static void choose_lead(run *w) {
    const bp__tiles *t = &w->r->tiles;
    const bp__tile_operand *o = &t->operand[t->operands - 1];
    const uintptr_t beyond = (uintptr_t)bp_operand_address(&w->operands[t->operands - 1]) % LINE;
    w->lead = t->columns;
    w->count = t->count;
    if (t->single_row && t->count > 1 && o->direct && beyond != 0) {
        const int64_t wanted = (int64_t)(LINE - beyond) / o->item;
        w->lead = wanted > 0 && wanted < t->columns ? wanted : t->columns;
        w->count = 1 + (t->size[t->ndim - 1] - w->lead + t->columns - 1) / t->columns;
    }
}

static void find_block(const run *w, int64_t index, bool first, bp__tile *tile) {
    const bp__tiles *t = &w->r->tiles;
    if (t->single_row && first) {
        bp__tile_find_in_row(t, w->lead, index, tile);
    } else if (t->single_row) {
        bp__tile_advance_in_row(t, w->lead, index, tile);
    } else if (first) {
        bp__tile_find(t, index, tile);
    } else {
        bp__tile_advance(t, index, tile);
    }
}

static void run_share(void *context, int thread) {
    run *w = context;
    const bp__region_call *r = w->r;
    const int64_t from = w->count * thread / r->threads, to = w->count * (thread + 1) / r->threads;
    blocks b;
    begin_blocks(w, thread, &b);
    for (int64_t i = from; i < to; i++) {
        if ((i - from) % LOOK == LOOK - 1 && stops(w)) {
            return;
        }
        find_block(w, i, i == from, &b.tile);
        locate(r, &b, i == from);
        compute(r, &b);
        write_results(r, &b);
    }
}

bp_status bp__region_run(const bp_prepared *self, const bp_operand *operands, const bp_exec *exec) {
    run w = {.r = (const bp__region_call *)self, .operands = operands, .memory = bp_operand_address(&exec->workspace)};
    choose_lead(&w);
    if (w.r->threads > 1) {
        bp__host()->parallel(w.r->threads, w.r->threads, run_share, &w);
    } else {
        run_share(&w, 0);
    }
    return atomic_load(&w.stopped) ? BP_E_CANCELLED : BP_OK;
}
