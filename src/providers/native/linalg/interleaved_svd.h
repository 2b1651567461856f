/* interleaved_svd.h - template: singular values and vectors. Reflectors from both sides reduce each matrix to a real
 * bidiagonal one, and implicit QR steps make it diagonal (Golub and Kahan). Parameters: as in
 * interleaved_kernels.h.
 *
 * All lanes iterate on the same singular value, from the last to the first, until it has converged in each of them. A
 * lane in which it has converged, or whose matrix splits further down, gets the identity as rotation meanwhile.
 */

/* Reduces the matrix: the diagonal goes to d, the superdiagonal to e, where e[k] is above d[k] and e[0] is 0. Each
 * column of a becomes the vector v of a reflector from the left, and each row right of the diagonal the vector of one
 * from the right. */
static void NAME(make_bidiagonal)(const bp__interleaved_svd *t, VECTOR *d, VECTOR *e, VELEMENT *left, VELEMENT *right) {
    const int m = t->rows, n = t->columns;
    const int64_t row = t->row;
    e[0] = OF_PART(splat)(0);
    for (int k = 0; k < n; k++) {
        VELEMENT *corner = (VELEMENT *)t->elements + k * row + k;
        const NAME(reflector) down = NAME(reflect)(corner, row, m - k);
        d[k] = down.beta;
        left[k] = down.tau;
        if (k + 1 == n) {
            break;
        }
        NAME(reflect_left)(corner + 1, row, m - k, n - k - 1, corner, row, NAME(conjugated)(down.tau));
        NAME(conjugate)(corner + 1, n - k - 1);
        const NAME(reflector) across = NAME(reflect)(corner + 1, 1, n - k - 1);
        e[k + 1] = across.beta;
        right[k] = across.tau;
        NAME(reflect_right)(corner + row + 1, row, m - k - 1, n - k - 1, corner + 1, across.tau);
    }
}

/* Computes U and V as products of the reflectors. */
static void NAME(make_bases)(const bp__interleaved_svd *t, const VELEMENT *left, const VELEMENT *right) {
    const int m = t->rows, n = t->columns;
    VELEMENT *u = t->u, *v = t->v;
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < t->u_columns; j++) {
            u[i * t->u_row + j] = (VELEMENT){{OF_PART(splat)(i == j)}};
        }
    }
    NAME(identity)(v, t->v_row, n);
    for (int k = n - 1; k >= 0; k--) {
        const VELEMENT *corner = (const VELEMENT *)t->elements + k * t->row + k;
        NAME(reflect_left)(u + k * t->u_row + k, t->u_row, m - k, t->u_columns - k, corner, t->row, left[k]);
        if (k + 1 < n) {
            NAME(reflect_left)
            (v + (k + 1) * t->v_row + k + 1, t->v_row, n - k - 1, n - k - 1, corner + 1, 1, right[k]);
        }
    }
}

/* State of each lane while it computes singular value `at`. */
typedef struct NAME(qr_state) {
    VECTOR start; /* first row of the block that contains the value */
    INTS zero;    /* the diagonal element before the block is zero, but the superdiagonal element next to it is not */
    INTS active;  /* the block has more than one row */
} NAME(qr_state);

/* Sets negligible elements to zero and returns the block that contains value `at`. */
static NAME(qr_state) NAME(qr_split)(int at, VECTOR *d, VECTOR *e, VECTOR least) {
    const VECTOR none = OF_PART(splat)(0);
    NAME(qr_state) to = {.start = none, .zero = (INTS){0}};
    INTS open = none == none;
    for (int i = at; i > 0; i--) {
        /* With this comparison NaN counts as small, so that a lane with NaN does not delay the others. */
        const INTS neighbour = open & ~(OF_PART(absolute)(e[i]) > least);
        const INTS above = open & ~neighbour & (OF_PART(absolute)(d[i - 1]) <= least);
        e[i] = OF_PART(select)(neighbour, none, e[i]);
        d[i - 1] = OF_PART(select)(above, none, d[i - 1]);
        to.start = OF_PART(select)(neighbour | above, OF_PART(splat)((REAL)i), to.start);
        to.zero |= above;
        open &= ~(neighbour | above);
    }
    to.active = to.start < OF_PART(splat)((REAL)at);
    return to;
}

/* If d[first - 1] is zero in some lanes, rotates e[first] and the elements that result from it to zero, row by row. */
static void NAME(clear_row)(const bp__interleaved_svd *t, INTS zero, int first, int at, VECTOR *d, VECTOR *e) {
    const VECTOR none = OF_PART(splat)(0);
    VECTOR f = OF_PART(select)(zero, e[first], none);
    e[first] = OF_PART(select)(zero, none, e[first]);
    for (int i = first; i <= at && OF_PART(any)((INTS)(f != 0)); i++) {
        /* c d + s f = r. The row above becomes c (row above) - s (row i); row i becomes s (row above) + c (row i). */
        OF_PART(rotation) rotation = OF_PART(rotate)(d[i], f);
        rotation.c = OF_PART(select)(zero, rotation.c, OF_PART(splat)(1));
        rotation.s = OF_PART(select)(zero, rotation.s, none);
        d[i] = OF_PART(select)(zero, rotation.r, d[i]);
        if (i < at) {
            f = -rotation.s * e[i + 1];
            e[i + 1] *= rotation.c;
        }
        for (int k = 0; t->u && k < t->rows; k++) {
            VELEMENT *above = (VELEMENT *)t->u + k * t->u_row + first - 1, *here = (VELEMENT *)t->u + k * t->u_row + i;
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                const VECTOR x = above->part[part], y = here->part[part];
                above->part[part] = OF_PART(msub)(rotation.s, y, rotation.c * x);
                here->part[part] = OF_PART(madd)(rotation.s, x, rotation.c * y);
            }
        }
    }
}

/* Rotations of one step: of columns of V and of columns of U. */
typedef struct NAME(qr_rotations) {
    NAME(rotations) v, u;
} NAME(qr_rotations);

/* Returns the first element of the block's shifted column. The shift is an eigenvalue of the last 2x2 block of B^T B.
 */
static VECTOR NAME(qr_shift)(int at, VECTOR x, const VECTOR *d, const VECTOR *e) {
    const VECTOR y = d[at - 1], z = d[at], g = e[at - 1], h = e[at];
    const VECTOR f = ((y - z) * (y + z) + (g - h) * (g + h)) / (2 * h * y);
    const VECTOR root = OF_PART(root)(OF_PART(madd)(f, f, OF_PART(splat)(1)));
    return ((x - z) * (x + z) + h * (y / (f + OF_PART(signed)(root, f)) - h)) / x;
}

/* One QR step from row `from` down to row `at`. Each rotation depends on the one before. To use the waiting time, the
 * rotations of the previous step, `late`, are applied to the vectors here. */
static void NAME(qr_step)(const bp__interleaved_svd *t, const NAME(qr_state) * lanes, int from, int at, VECTOR *d,
                          VECTOR *e, NAME(qr_rotations) * made, const NAME(qr_rotations) * late) {
    const VECTOR one = OF_PART(splat)(1), zero = OF_PART(splat)(0);
    VECTOR x = zero, c = one, s = one;
    for (int i = from; i < at; i++) {
        x = OF_PART(select)(lanes->start == OF_PART(splat)((REAL)i), d[i], x);
    }
    VECTOR f = NAME(qr_shift)(at, x, d, e);
    made->u.first = made->v.first = from;
    made->u.step = made->v.step = 1;
    made->u.count = made->v.count = at - from;
    for (int i = from, k = 0; i < at; i++, k++) {
        const INTS first = lanes->active & (lanes->start == OF_PART(splat)((REAL)i));
        const INTS on = lanes->active & (lanes->start <= OF_PART(splat)((REAL)i));
        const VECTOR h = s * e[i + 1], g = c * e[i + 1], y = d[i + 1];
        const OF_PART(rotation) right = OF_PART(rotate)(f, h);
        if (k < late->v.count) {
            NAME(apply_rotation)(t->v, t->v_row, t->columns, &late->v, k);
        }
        e[i] = OF_PART(select)(on, OF_PART(select)(first, zero, right.r), e[i]);
        const VECTOR top = OF_PART(madd)(x, right.c, g * right.s), neighbour = OF_PART(msub)(x, right.s, g * right.c);
        const OF_PART(rotation) left = OF_PART(rotate)(top, y * right.s);
        const VECTOR low = y * right.c;
        d[i] = OF_PART(select)(on, left.r, d[i]);
        f = OF_PART(select)(on, OF_PART(madd)(left.c, neighbour, left.s * low), f);
        x = OF_PART(select)(on, OF_PART(msub)(left.s, neighbour, left.c * low), x);
        c = OF_PART(select)(on, left.c, c);
        s = OF_PART(select)(on, left.s, s);
        made->v.c[k] = OF_PART(select)(on, right.c, one);
        made->v.s[k] = OF_PART(select)(on, right.s, zero);
        made->u.c[k] = OF_PART(select)(on, left.c, one);
        made->u.s[k] = OF_PART(select)(on, left.s, zero);
        if (k < late->u.count) {
            NAME(apply_rotation)(t->u, t->u_row, t->rows, &late->u, k);
        }
    }
    e[at] = OF_PART(select)(lanes->active, f, e[at]);
    d[at] = OF_PART(select)(lanes->active, x, d[at]);
    NAME(apply_rotations)(t->u, t->u_row, t->rows, &late->u, made->u.count);
    NAME(apply_rotations)(t->v, t->v_row, t->columns, &late->v, made->v.count);
}

/* Two sets of rotations: those being computed, and those still to be applied to the vectors. */
typedef struct NAME(qr_work) {
    NAME(qr_rotations) rotations[2];
    int now;
} NAME(qr_work);

typedef struct NAME(svd_work) {
    VECTOR d[BP__SMALL_MOST], e[BP__SMALL_MOST];
    VELEMENT left[BP__SMALL_MOST], right[BP__SMALL_MOST];
    NAME(qr_work) qr;
} NAME(svd_work);

static void NAME(qr_finish)(const bp__interleaved_svd *t, NAME(qr_work) * work) {
    NAME(qr_rotations) *late = &work->rotations[!work->now];
    NAME(apply_rotations)(t->u, t->u_row, t->rows, &late->u, 0);
    NAME(apply_rotations)(t->v, t->v_row, t->columns, &late->v, 0);
    late->u.count = late->v.count = 0;
}

/* Makes one step in the lanes in which value `at` is in a block of several rows. Returns the mask of these lanes. */
static INTS NAME(qr_round)(const bp__interleaved_svd *t, int at, VECTOR *d, VECTOR *e, VECTOR least,
                           NAME(qr_work) * work) {
    const NAME(qr_state) lanes = NAME(qr_split)(at, d, e, least);
    if (OF_PART(any)(lanes.zero)) {
        NAME(qr_finish)(t, work);
    }
    for (int i = 1; OF_PART(any)(lanes.zero) && i <= at; i++) {
        const INTS here = lanes.zero & (lanes.start == OF_PART(splat)((REAL)i));
        if (OF_PART(any)(here)) {
            NAME(clear_row)(t, here, i, at, d, e);
        }
    }
    if (OF_PART(any)(lanes.active)) {
        NAME(qr_rotations) *made = &work->rotations[work->now];
        const int from = at - NAME(last_of)(OF_PART(splat)((REAL)at) - lanes.start, lanes.active);
        NAME(qr_step)(t, &lanes, from, at, d, e, made, &work->rotations[!work->now]);
        made->u.count = made->v.count = t->u ? made->u.count : 0;
        work->now = !work->now;
    }
    return lanes.active;
}

/* Computes all singular values. Returns info, in the real type. */
static VECTOR NAME(qr)(const bp__interleaved_svd *t, VECTOR *d, VECTOR *e) {
    VECTOR info = OF_PART(splat)(0), norm = info;
    NAME(qr_work) *work = &((NAME(svd_work) *)t->work)->qr;
    work->now = 0;
    work->rotations[1].u.count = work->rotations[1].v.count = 0;
    for (int i = 0; i < t->columns; i++) {
        norm = OF_PART(larger)(OF_PART(absolute)(d[i]) + OF_PART(absolute)(e[i]), norm);
    }
    const VECTOR least = norm * OF_PART(splat)(UNIT);
    for (int at = t->columns - 1; at > 0; at--) {
        INTS active = NAME(qr_round)(t, at, d, e, least, work);
        for (int tries = t->tries; OF_PART(any)(active) && tries > 1; tries--) {
            active = NAME(qr_round)(t, at, d, e, least, work);
        }
        info = NAME(first_failure)(info, active, at);
    }
    NAME(qr_finish)(t, work);
    return info;
}

/* Makes negative values positive and changes the sign of their columns of V. */
static void NAME(make_positive)(const bp__interleaved_svd *t, VECTOR *d) {
    for (int j = 0; j < t->columns; j++) {
        const INTS sign = (INTS)d[j] & (INTS)OF_PART(signed)(OF_PART(splat)(0), OF_PART(splat)(-1));
        d[j] = OF_PART(absolute)(d[j]);
        for (int i = 0; t->v && OF_PART(any)(sign) && i < t->columns; i++) {
            VELEMENT *x = (VELEMENT *)t->v + i * t->v_row + j;
            UNROLL
            for (int part = 0; part < PARTS; part++) {
                x->part[part] = (VECTOR)((INTS)x->part[part] ^ sign);
            }
        }
    }
}

/* Computes singular values and, on request, vectors: scale, bidiagonalize, QR steps, order. */
static void NAME(svd)(const bp__interleaved_svd *t) {
    NAME(svd_work) *work = t->work;
    VECTOR *d = work->d, *e = work->e, *values = t->values;
    const VECTOR scale = NAME(normalize)(t->elements, t->row, t->rows, t->columns);
    NAME(make_bidiagonal)(t, d, e, work->left, work->right);
    if (t->u) {
        NAME(make_bases)(t, work->left, work->right);
    }
    const VECTOR info = NAME(qr)(t, d, e);
    NAME(make_positive)(t, d);
    if (t->u) {
        NAME(clear_signs)(t->u, t->u_row, t->rows, t->u_columns);
        NAME(clear_signs)(t->v, t->v_row, t->columns, t->columns);
    }
    NAME(put_in_order)(d, t->columns, false, t->order);
    for (int i = 0; i < t->columns; i++) {
        values[i] = d[i] * scale;
    }
    for (int lane = 0; lane < VL; lane++) {
        t->info[lane] = (int32_t)info[lane];
    }
}

#undef UNIT
#undef LEAST_SQUARES
