/* interleave.h - template: matrices from memory to cells and back, and what is done to cells on the way. Parameters as
 * of interleaved_kernels.h, and PART_LANES.
 *
 * Where memory is contiguous along rows, along columns, or altogether, whole vectors of each lane's matrix are read and
 * transposed in registers; otherwise elements move one by one.
 */
#define ELEMENT ((int64_t)(PARTS * sizeof(REAL)))

typedef REAL NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

/* Exchanges the halves of pairs of vectors, at each distance in turn. */
#define LOWER_LANE(lane, distance) ((lane) & (distance) ? VL + (lane) - (distance) : (lane))
#define UPPER_LANE(lane, distance) ((lane) & (distance) ? VL + (lane) : (lane) + (distance))
#define EXCHANGE_AT(distance)                                                                                          \
    UNROLL                                                                                                             \
    for (int i = 0; i < VL; i++) {                                                                                     \
        if (!(i & (distance))) {                                                                                       \
            const VECTOR low = v[i], high = v[i + (distance)];                                                         \
            v[i] = __builtin_shufflevector(low, high, PART_LANES(LOWER_LANE, distance));                               \
            v[i + (distance)] = __builtin_shufflevector(low, high, PART_LANES(UPPER_LANE, distance));                  \
        }                                                                                                              \
    }
INLINE void NAME(transpose)(VECTOR *v) {
    EXCHANGE_AT(1)
#if VL > 2
    EXCHANGE_AT(2)
#endif
#if VL > 4
    EXCHANGE_AT(4)
#endif
#if VL > 8
    EXCHANGE_AT(8)
#endif
}
#undef LOWER_LANE
#undef UPPER_LANE
#undef EXCHANGE_AT

/* The order in which elements of a move lie in memory: lines, of which each is contiguous if any is. */
typedef struct NAME(lines) {
    int count, length;
    int64_t next_line, next;           /* bytes */
    int64_t cell_next_line, cell_next; /* cells */
} NAME(lines);

INLINE NAME(lines) NAME(lines_of)(const bp__interleaved_move *t) {
    NAME(lines) l = {t->rows, t->columns, t->row, t->column, t->cell_row, t->cell_column};
    if (!t->order && t->row == ELEMENT) {
        l = (NAME(lines)){t->columns, t->rows, t->column, t->row, t->cell_column, t->cell_row};
    }
    if (!t->order && l.next == ELEMENT && l.next_line == l.length * ELEMENT) {
        /* One line whose cells jump where a line of the matrix ends: see NAME(place). */
        l.count = 1;
    }
    return l;
}

/* Where the next vectors of a run of memory are among the cells. */
typedef struct NAME(place) {
    VECTOR *at;
    int64_t next, jump; /* vectors: from element to element, and more at the end of a line */
    int in_line, length;
} NAME(place);

INLINE NAME(place) NAME(place_of)(const bp__interleaved_move *t, const NAME(lines) * l, int line, int element) {
    const int into = element % l->length;
    return (NAME(place)){
        .at = (VECTOR *)((CELL *)t->cells + (line + element / l->length) * l->cell_next_line + into * l->cell_next),
        .next = l->cell_next * PARTS,
        .jump = (l->cell_next_line - l->length * l->cell_next) * PARTS,
        .in_line = into,
        .length = l->length};
}

/* The cells that a vector of memory holds parts of. */
INLINE void NAME(next_places)(NAME(place) * p, VECTOR **at) {
    UNROLL
    for (int i = 0; i < VL; i += PARTS) {
        UNROLL
        for (int part = 0; part < PARTS; part++) {
            at[i + part] = p->at + part;
        }
        p->at += p->next;
        if (++p->in_line == p->length) {
            p->in_line = 0;
            p->at += p->jump;
        }
    }
}

/* One run of contiguous memory, `reals` long, which is at least a vector; the last vector overlaps the one before. */
INLINE void NAME(move_run)(bool store, int lanes, const bp__interleaved_move *t, const NAME(lines) * l, int line,
                           char **memory, int reals) {
    NAME(place) p = NAME(place_of)(t, l, line, 0);
    for (int done = 0; done < reals; done += VL) {
        if (done + VL > reals) {
            done = reals - VL;
            p = NAME(place_of)(t, l, line, done / PARTS);
        }
        VECTOR *at[VL], v[VL];
        NAME(next_places)(&p, at);
        UNROLL
        for (int i = 0; i < VL; i++) {
            const void *from = memory[i] + (size_t)done * sizeof(REAL);
            v[i] = store ? *at[i] : (VECTOR) * (const NAME(loose) *)from;
        }
        NAME(transpose)(v);
        if (store) {
            UNROLL
            for (int lane = 0; lane < lanes; lane++) {
                *(NAME(loose) *)(void *)(memory[lane] + (size_t)done * sizeof(REAL)) = v[lane];
            }
        } else {
            UNROLL
            for (int i = 0; i < VL; i++) {
                *at[i] = v[i];
            }
        }
    }
}

/* One line, element by element. */
INLINE void NAME(move_line)(bool store, int lanes, const bp__interleaved_move *t, const NAME(lines) * l, int line,
                            char **memory, int elements) {
    NAME(place) p = NAME(place_of)(t, l, line, 0);
    for (int i = 0; i < elements; i++) {
        UNROLL
        for (int part = 0; part < PARTS; part++) {
            VECTOR x = p.at[part];
            UNROLL
            for (int lane = 0; lane < lanes; lane++) {
                REAL *at = (REAL *)(void *)(memory[lane] + i * l->next) + part;
                if (store) {
                    *at = x[lane];
                } else {
                    x[lane] = *at;
                }
            }
            if (!store) {
                p.at[part] = x;
            }
        }
        p.at += p.next;
        if (++p.in_line == p.length) {
            p.in_line = 0;
            p.at += p.jump;
        }
    }
}

INLINE void NAME(move)(bool store, int lanes, const bp__interleaved_move *t) {
    const NAME(lines) l = NAME(lines_of)(t);
    const int elements = l.count == 1 ? t->rows * t->columns : l.length;
    const bool whole = l.next == ELEMENT && elements * PARTS >= VL;
    for (int line = 0; line < l.count; line++) {
        char *memory[VL];
        UNROLL
        for (int lane = 0; lane < VL; lane++) {
            memory[lane] = t->memory[lane] + (t->order ? t->order[line * VL + lane] : line) * l.next_line;
        }
        if (whole) {
            NAME(move_run)(store, lanes, t, &l, line, memory, elements * PARTS);
        } else {
            NAME(move_line)(store, lanes, t, &l, line, memory, elements);
        }
    }
}

static void NAME(load)(const bp__interleaved_move *t) {
    NAME(move)(false, VL, t);
}

static void NAME(store)(const bp__interleaved_move *t) {
    if (t->lanes == VL) {
        NAME(move)(true, VL, t);
    } else {
        NAME(move)(true, t->lanes, t);
    }
}

/* ---- Cells in place ---- */

/* A cell times zero is zero, with some sign, unless it is NaN or infinite: then it is NaN. The bits of these are
 * gathered, since sums would wait for each other. */
INLINE WORDS NAME(not_finite)(CELL a) {
    WORDS bits = (WORDS)(a.part[0] * 0);
    UNROLL
    for (int part = 1; part < PARTS; part++) {
        bits |= (WORDS)(a.part[part] * 0);
    }
    return bits;
}

static unsigned NAME(examine)(const bp__interleaved_move *t, bp__interleaved_shape shape) {
    WORDS bits = {0};
    for (int i = 0; i < t->rows; i++) {
        const int end = shape == BP__LANES_ALL ? t->columns : shape == BP__LANES_STRICT ? i : i + 1;
        CELL *a = (CELL *)t->cells + i * t->cell_row;
        if (PARTS == 2 && shape == BP__LANES_HERMITIAN) {
            a[i * t->cell_column].part[PARTS - 1] = OF_PART(splat)(0);
        }
        if (t->cell_column == 1) {
            for (int j = 0; j < end; j++) {
                bits |= NAME(not_finite)(a[j]);
            }
        } else {
            for (int j = 0; j < end; j++) {
                bits |= NAME(not_finite)(a[j * t->cell_column]);
            }
        }
    }
    const VECTOR found = (VECTOR)bits;
    unsigned wrong = 0;
    for (int lane = 0; lane < VL; lane++) {
        wrong |= (unsigned)(found[lane] != 0) << lane;
    }
    return wrong;
}

/* What stands in row i, column j outside of what counts; i == j is the unit diagonal. */
INLINE CELL NAME(filling)(const CELL *mirrored, bp__interleaved_shape shape, int i, int j) {
    if (shape != BP__LANES_HERMITIAN) {
        return (CELL){{OF_PART(splat)(i == j)}};
    }
    CELL x = *mirrored;
    NAME(conjugate)(&x, 1);
    return x;
}

static void NAME(trim)(void *to, int64_t to_row, const void *from, int64_t from_row, int rows, int columns,
                       bp__interleaved_shape shape) {
    for (int i = 0; i < rows; i++) {
        CELL *target = (CELL *)to + i * to_row;
        const CELL *source = (const CELL *)from + i * from_row;
        /* Columns start to end count; those of a lower shape are before the diagonal, or with it. */
        const int until = shape == BP__LANES_UPPER ? columns : shape == BP__LANES_UNIT ? i : i + 1;
        const int start = shape == BP__LANES_UPPER ? (i < columns ? i : columns) : 0;
        const int end = until < columns ? until : columns;
        for (int j = start; j < end && target != source; j++) {
            target[j] = source[j];
        }
        for (int j = 0; j < start; j++) {
            target[j] = (CELL){{OF_PART(splat)(0)}};
        }
        for (int j = end; j < columns; j++) {
            target[j] = NAME(filling)((const CELL *)from + j * from_row + i, shape, i, j);
        }
        if (PARTS == 2 && shape == BP__LANES_HERMITIAN) {
            target[i].part[PARTS - 1] = OF_PART(splat)(0);
        }
    }
}

static void NAME(identity)(void *cells, int64_t row, int n) {
    for (int i = 0; i < n; i++) {
        CELL *a = (CELL *)cells + i * row;
        for (int j = 0; j < n; j++) {
            a[j] = (CELL){{OF_PART(splat)(0)}};
        }
        a[i].part[0] = OF_PART(splat)(1);
    }
}

#undef ELEMENT
