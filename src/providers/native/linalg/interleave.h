/* interleave.h - template: copies matrices between memory and the interleaved layout, and fills or checks interleaved
 * matrices. Parameters: as in interleaved_kernels.h.
 *
 * If memory is contiguous along rows, along columns, or as a whole, vectors of each lane's matrix are loaded and
 * transposed in registers. Otherwise elements are copied one by one.
 */
#define ELEMENT_BYTES ((int64_t)(PARTS * sizeof(REAL)))

typedef REAL NAME(loose) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

/* Order in which a copy reads the elements in memory: line by line. Lines are the contiguous direction, if there is
 * one. */
typedef struct NAME(lines) {
    int count, length;
    int64_t next_line, next;                 /* bytes */
    int64_t element_next_line, element_next; /* vector elements */
} NAME(lines);

/* Returns the lines of a copy: along columns if they are contiguous, otherwise along rows. */
INLINE NAME(lines) NAME(lines_of)(const bp__interleaved_copy *t) {
    NAME(lines) l = {t->rows, t->columns, t->row, t->column, t->element_row, t->element_column};
    if (!t->order && t->row == ELEMENT_BYTES) {
        l = (NAME(lines)){t->columns, t->rows, t->column, t->row, t->element_column, t->element_row};
    }
    if (!t->order && l.next == ELEMENT_BYTES && l.next_line == l.length * ELEMENT_BYTES) {
        /* The whole matrix is one contiguous line; NAME(position) handles the ends of its rows. */
        l.count = 1;
    }
    return l;
}

/* Position in the interleaved matrix of the next vectors of a contiguous run. */
typedef struct NAME(position) {
    VECTOR *at;
    int64_t next, jump; /* in vectors: to the next element, and additionally at the end of a line */
    int in_line, length;
} NAME(position);

INLINE NAME(position) NAME(position_of)(const bp__interleaved_copy *t, const NAME(lines) * l, int line, int element) {
    const int into = element % l->length;
    return (NAME(position)){.at = (VECTOR *)((VELEMENT *)t->elements +
                                             (line + element / l->length) * l->element_next_line +
                                             into * l->element_next),
                            .next = l->element_next * PARTS,
                            .jump = (l->element_next_line - l->length * l->element_next) * PARTS,
                            .in_line = into,
                            .length = l->length};
}

/* Returns in at[i] where each of the next VL reals of memory is in the interleaved matrix, and advances the position.
 */
INLINE void NAME(next_positions)(NAME(position) * p, VECTOR **at) {
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

/* Copies a contiguous run of `reals` reals, at least one vector. The last vector overlaps the one before. */
INLINE void NAME(copy_run)(bool store, int lanes, const bp__interleaved_copy *t, const NAME(lines) * l, int line,
                           char **memory, int reals) {
    NAME(position) p = NAME(position_of)(t, l, line, 0);
    for (int done = 0; done < reals; done += VL) {
        if (done + VL > reals) {
            done = reals - VL;
            p = NAME(position_of)(t, l, line, done / PARTS);
        }
        VECTOR *at[VL], v[VL];
        NAME(next_positions)(&p, at);
        UNROLL
        for (int i = 0; i < VL; i++) {
            const void *from = memory[i] + (size_t)done * sizeof(REAL);
            v[i] = store ? *at[i] : (VECTOR) * (const NAME(loose) *)from;
        }
        OF_PART(transpose)(v);
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

/* Copies one line, element by element. */
INLINE void NAME(copy_line)(bool store, int lanes, const bp__interleaved_copy *t, const NAME(lines) * l, int line,
                            char **memory, int elements) {
    NAME(position) p = NAME(position_of)(t, l, line, 0);
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

/* Copies all lines, by vectors if lines are contiguous and long enough. */
INLINE void NAME(copy)(bool store, int lanes, const bp__interleaved_copy *t) {
    const NAME(lines) l = NAME(lines_of)(t);
    const int elements = l.count == 1 ? t->rows * t->columns : l.length;
    const bool whole = l.next == ELEMENT_BYTES && elements * PARTS >= VL;
    for (int line = 0; line < l.count; line++) {
        char *memory[VL];
        UNROLL
        for (int lane = 0; lane < VL; lane++) {
            memory[lane] = t->memory[lane] + (t->order ? t->order[line * VL + lane] : line) * l.next_line;
        }
        if (whole) {
            NAME(copy_run)(store, lanes, t, &l, line, memory, elements * PARTS);
        } else {
            NAME(copy_line)(store, lanes, t, &l, line, memory, elements);
        }
    }
}

static void NAME(load)(const bp__interleaved_copy *t) {
    NAME(copy)(false, VL, t);
}

static void NAME(store)(const bp__interleaved_copy *t) {
    if (t->lanes == VL) {
        NAME(copy)(true, VL, t);
    } else {
        NAME(copy)(true, t->lanes, t);
    }
}

/* ---- Operations on interleaved matrices ---- */

/* Returns bits that are not all zero in lanes with NaN or infinity: a number times zero is NaN then, and otherwise
 * zero. The bits are combined with OR, because sums would depend on each other. */
INLINE INTS NAME(not_finite)(VELEMENT a) {
    INTS bits = (INTS)(a.part[0] * 0);
    UNROLL
    for (int part = 1; part < PARTS; part++) {
        bits |= (INTS)(a.part[part] * 0);
    }
    return bits;
}

/* Checks the elements of `shape` in all lanes at once: see bp__interleaved_kernels. */
static unsigned NAME(examine)(const bp__interleaved_copy *t, bp__interleaved_shape shape) {
    INTS bits = {0};
    for (int i = 0; i < t->rows; i++) {
        const int end = shape == BP__SHAPE_ALL ? t->columns : shape == BP__SHAPE_STRICT ? i : i + 1;
        VELEMENT *a = (VELEMENT *)t->elements + i * t->element_row;
        if (PARTS == 2 && shape == BP__SHAPE_HERMITIAN) {
            a[i * t->element_column].part[PARTS - 1] = OF_PART(splat)(0);
        }
        if (t->element_column == 1) {
            for (int j = 0; j < end; j++) {
                bits |= NAME(not_finite)(a[j]);
            }
        } else {
            for (int j = 0; j < end; j++) {
                bits |= NAME(not_finite)(a[j * t->element_column]);
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

/* Returns the element of row i, column j outside of `shape`. i == j is the diagonal of UNIT. */
INLINE VELEMENT NAME(filling)(const VELEMENT *mirrored, bp__interleaved_shape shape, int i, int j) {
    if (shape != BP__SHAPE_HERMITIAN) {
        return (VELEMENT){{OF_PART(splat)(i == j)}};
    }
    VELEMENT x = *mirrored;
    NAME(conjugate)(&x, 1);
    return x;
}

static void NAME(trim)(void *to, int64_t to_row, const void *from, int64_t from_row, int rows, int columns,
                       bp__interleaved_shape shape) {
    for (int i = 0; i < rows; i++) {
        VELEMENT *target = (VELEMENT *)to + i * to_row;
        const VELEMENT *source = (const VELEMENT *)from + i * from_row;
        /* Columns [start, end) belong to the shape. A lower shape ends before the diagonal (UNIT) or with it. */
        const int until = shape == BP__SHAPE_UPPER ? columns : shape == BP__SHAPE_UNIT ? i : i + 1;
        const int start = shape == BP__SHAPE_UPPER ? (i < columns ? i : columns) : 0;
        const int end = until < columns ? until : columns;
        for (int j = start; j < end && target != source; j++) {
            target[j] = source[j];
        }
        for (int j = 0; j < start; j++) {
            target[j] = (VELEMENT){{OF_PART(splat)(0)}};
        }
        for (int j = end; j < columns; j++) {
            target[j] = NAME(filling)((const VELEMENT *)from + j * from_row + i, shape, i, j);
        }
        if (PARTS == 2 && shape == BP__SHAPE_HERMITIAN) {
            target[i].part[PARTS - 1] = OF_PART(splat)(0);
        }
    }
}

static void NAME(identity)(void *elements, int64_t row, int n) {
    for (int i = 0; i < n; i++) {
        VELEMENT *a = (VELEMENT *)elements + i * row;
        for (int j = 0; j < n; j++) {
            a[j] = (VELEMENT){{OF_PART(splat)(0)}};
        }
        a[i].part[0] = OF_PART(splat)(1);
    }
}

#undef ELEMENT_BYTES
