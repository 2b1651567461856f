/* interleaved_eigh.h - template: eigenvalues and eigenvectors of Hermitian matrices. Reflectors reduce each matrix to a
 * real tridiagonal one, and implicit QL steps make it diagonal (LAPACK's steqr). Parameters: as in
 * interleaved_kernels.h.
 *
 * All lanes iterate on the same eigenvalue until it has converged in each of them. A lane in which it has converged, or
 * whose matrix splits further up, gets the identity as rotation meanwhile.
 */

/* a -= w v^H + v w^H */
static void NAME(update_twice)(VELEMENT *a, int64_t row, int n, const VELEMENT *v, const VELEMENT *w) {
    for (int i = 0; i < n; i++) {
        const VELEMENT left = v[i], right = w[i];
        for (int j = 0; j < n; j++) {
            VELEMENT x = a[i * row + j];
            x = NAME(subtract_product)(true, x, right, v[j]);
            a[i * row + j] = NAME(subtract_product)(true, x, left, w[j]);
        }
    }
}

/* to = a v */
INLINE void NAME(multiply_tile)(int rows, const VELEMENT *a, int64_t row, int n, const VELEMENT *v, VELEMENT *to) {
    VELEMENT sum[ROWS];
    UNROLL
    for (int i = 0; i < rows; i++) {
        sum[i] = (VELEMENT){{OF_PART(splat)(0)}};
    }
    for (int j = 0; j < n; j++) {
        UNROLL
        for (int i = 0; i < rows; i++) {
            sum[i] = NAME(subtract_product)(false, sum[i], a[i * row + j], v[j]);
        }
    }
    UNROLL
    for (int i = 0; i < rows; i++) {
        to[i] = NAME(negative)(sum[i]);
    }
}

/* a = H^H a H */
static void NAME(reflect_both)(VELEMENT *a, int64_t row, int n, const VELEMENT *v, VELEMENT tau) {
    VELEMENT w[BP__SMALL_MOST];
    int i = 0;
    for (; i + ROWS <= n; i += ROWS) {
        NAME(multiply_tile)(ROWS, a + i * row, row, n, v, w + i);
    }
    for (; i < n; i++) {
        NAME(multiply_tile)(1, a + i * row, row, n, v, w + i);
    }
    /* v^H a v is real. Half of it is subtracted from w, so that one rank-2 update applies both sides. */
    VECTOR inner = OF_PART(splat)(0), square = OF_PART(splat)(0);
    for (i = 0; i < n; i++) {
        UNROLL
        for (int part = 0; part < PARTS; part++) {
            inner = OF_PART(madd)(v[i].part[part], w[i].part[part], inner);
        }
    }
    UNROLL
    for (int part = 0; part < PARTS; part++) {
        square = OF_PART(madd)(tau.part[part], tau.part[part], square);
    }
    const VECTOR half = inner * square * OF_PART(splat)((REAL)0.5);
    const VELEMENT zero = {{OF_PART(splat)(0)}};
    for (i = 0; i < n; i++) {
        w[i] = NAME(subtract_product)(false, zero, NAME(negative)(w[i]), tau);
        UNROLL
        for (int part = 0; part < PARTS; part++) {
            w[i].part[part] = OF_PART(msub)(half, v[i].part[part], w[i].part[part]);
        }
    }
    NAME(update_twice)(a, row, n, v, w);
}

/* Reduces the matrix: the diagonal goes to d, the subdiagonal to e. Column k below the diagonal becomes the vector v of
 * reflector k. Not inlined, so that its vectors are not part of the frame of all that follows. */
static __attribute__((noinline)) void NAME(make_tridiagonal)(VELEMENT *a, int64_t row, int n, VECTOR *d, VECTOR *e,
                                                             VELEMENT *tau) {
    for (int k = 0; k + 1 < n; k++) {
        VELEMENT *below = a + (k + 1) * row + k, v[BP__SMALL_MOST];
        const int left = n - 1 - k;
        const NAME(reflector) h = NAME(reflect)(below, row, left);
        for (int i = 0; i < left; i++) {
            v[i] = below[i * row];
        }
        d[k] = a[k * row + k].part[0];
        e[k] = h.beta;
        tau[k] = h.tau;
        NAME(reflect_both)(below + 1, row, left, v, h.tau);
    }
    d[n - 1] = a[(n - 1) * row + n - 1].part[0];
}

/* Replaces the reflector vectors by the product of all reflectors. Step k only needs the vectors before k. */
static void NAME(make_unitary)(VELEMENT *a, int64_t row, int n, const VELEMENT *tau) {
    const VELEMENT zero = {{OF_PART(splat)(0)}};
    for (int k = n - 1; k >= 0; k--) {
        for (int i = k; i < n; i++) {
            a[k * row + i] = a[i * row + k] = zero;
        }
        a[k * row + k].part[0] = OF_PART(splat)(1);
        if (k > 0) {
            NAME(reflect_left)(a + k * row + k, row, n - k, n - k, a + k * row + k - 1, row, tau[k - 1]);
        }
    }
}

/* State of each lane while it computes eigenvalue `at`. */
typedef struct NAME(ql_state) {
    VECTOR end;    /* last row of the block that contains the value */
    VECTOR corner; /* diagonal element of that row */
    INTS active;   /* the block has more than one row */
} NAME(ql_state);

/* Splits the matrix where a subdiagonal element is negligible. */
static NAME(ql_state) NAME(ql_split)(int at, int n, const VECTOR *d, VECTOR *e, VECTOR least) {
    NAME(ql_state) to = {.end = OF_PART(splat)((REAL)(n - 1)), .corner = d[n - 1]};
    for (int i = n - 2; i >= at; i--) {
        const VECTOR around = OF_PART(absolute)(d[i]) + OF_PART(absolute)(d[i + 1]);
        /* With this comparison NaN counts as small, so that a lane with NaN does not delay the others. */
        const INTS small = ~(OF_PART(absolute)(e[i]) > OF_PART(madd)(around, OF_PART(splat)(UNIT), least));
        e[i] = OF_PART(select)(small, OF_PART(splat)(0), e[i]);
        to.end = OF_PART(select)(small, OF_PART(splat)((REAL)i), to.end);
        to.corner = OF_PART(select)(small, d[i], to.corner);
    }
    to.active = to.end > OF_PART(splat)((REAL)at);
    return to;
}

/* One QL step from row `from` up to row `at`. Each rotation depends on the one before. To use the waiting time, the
 * rotations of the previous step, `late`, are applied to the vectors here. */
static void NAME(ql_step)(const bp__interleaved_eigh *t, const NAME(ql_state) * lanes, int at, int from, VECTOR *d,
                          VECTOR *e, NAME(rotations) * made, const NAME(rotations) * late) {
    const VECTOR one = OF_PART(splat)(1), zero = OF_PART(splat)(0);
    const INTS active = lanes->active;
    const VECTOR ratio = (d[at + 1] - d[at]) / (e[at] + e[at]);
    const VECTOR root = OF_PART(root)(OF_PART(madd)(ratio, ratio, one));
    VECTOR g = lanes->corner - d[at] + e[at] / (ratio + OF_PART(signed)(root, ratio));
    VECTOR cosine = one, sine = one, p = zero;
    made->first = from, made->step = -1, made->count = from - at;
    for (int k = 0; k < from - at; k++) {
        const int i = from - 1 - k;
        const INTS on = active & (lanes->end > OF_PART(splat)((REAL)i));
        const INTS inside = active & (lanes->end > OF_PART(splat)((REAL)(i + 1)));
        const VECTOR f = sine * e[i], b = cosine * e[i];
        const OF_PART(rotation) rotation = OF_PART(rotate)(g, f);
        e[i + 1] = OF_PART(select)(inside, rotation.r, e[i + 1]);
        const VECTOR next = d[i + 1] - p, r = OF_PART(madd)(d[i] - next, rotation.s, 2 * rotation.c * b);
        p = OF_PART(select)(on, rotation.s * r, p);
        d[i + 1] = OF_PART(select)(on, next + p, d[i + 1]);
        g = OF_PART(select)(on, OF_PART(madd)(rotation.c, r, -b), g);
        cosine = OF_PART(select)(on, rotation.c, cosine);
        sine = OF_PART(select)(on, rotation.s, sine);
        made->c[k] = OF_PART(select)(on, rotation.c, one);
        made->s[k] = OF_PART(select)(on, rotation.s, zero);
        if (k < late->count) {
            NAME(apply_rotation)(t->elements, t->row, t->n, late, k);
        }
    }
    d[at] = OF_PART(select)(active, d[at] - p, d[at]);
    e[at] = OF_PART(select)(active, g, e[at]);
    NAME(apply_rotations)(t->elements, t->row, t->n, late, made->count);
}

typedef struct NAME(eigh_work) {
    VECTOR d[BP__SMALL_MOST], e[BP__SMALL_MOST];
    VELEMENT tau[BP__SMALL_MOST];
    NAME(rotations) rotations[2]; /* those being computed, and those still to be applied to the vectors */
} NAME(eigh_work);

/* Computes all eigenvalues. Returns info, in the real type. */
static VECTOR NAME(ql)(const bp__interleaved_eigh *t, VECTOR *d, VECTOR *e) {
    VECTOR info = OF_PART(splat)(0), norm = info;
    NAME(rotations) *rotations = ((NAME(eigh_work) *)t->work)->rotations;
    rotations[1].count = 0;
    int now = 0;
    e[t->n - 1] = info;
    for (int i = 0; i < t->n; i++) {
        norm = OF_PART(larger)(OF_PART(absolute)(d[i]) + OF_PART(absolute)(e[i]), norm);
    }
    const VECTOR least = norm * OF_PART(splat)(UNIT / 32);
    for (int at = 0; at + 1 < t->n; at++) {
        for (int tries = t->tries;; tries--) {
            const NAME(ql_state) lanes = NAME(ql_split)(at, t->n, d, e, least);
            if (!OF_PART(any)(lanes.active)) {
                break;
            }
            if (tries <= 0) {
                info = NAME(first_failure)(info, lanes.active, at);
                break;
            }
            const int from = NAME(last_of)(lanes.end, lanes.active);
            NAME(ql_step)(t, &lanes, at, from, d, e, &rotations[now], &rotations[!now]);
            rotations[now].count = t->vectors ? rotations[now].count : 0;
            now = !now;
        }
    }
    NAME(apply_rotations)(t->elements, t->row, t->n, &rotations[!now], 0);
    return info;
}

/* Computes eigenvalues and, on request, eigenvectors: scale, tridiagonalize, QL steps, order. */
static void NAME(eigh)(const bp__interleaved_eigh *t) {
    NAME(eigh_work) *work = t->work;
    VECTOR *d = work->d, *e = work->e, *values = t->values;
    const VECTOR scale = NAME(normalize)(t->elements, t->row, t->n, t->n);
    NAME(make_tridiagonal)(t->elements, t->row, t->n, d, e, work->tau);
    if (t->vectors) {
        NAME(make_unitary)(t->elements, t->row, t->n, work->tau);
    }
    const VECTOR info = NAME(ql)(t, d, e);
    if (t->vectors) {
        NAME(clear_signs)(t->elements, t->row, t->n, t->n);
    }
    NAME(put_in_order)(d, t->n, true, t->order);
    for (int i = 0; i < t->n; i++) {
        values[i] = d[i] * scale;
    }
    for (int lane = 0; lane < VL; lane++) {
        t->info[lane] = (int32_t)info[lane];
    }
}
