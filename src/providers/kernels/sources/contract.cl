/* contract.cl - sums products of elements: C = alpha * sum of A B + beta C, over any dimensions.
 *
 * X is the type of A and B, Y the type of C, NUMBER the type of the computation. If there are several parts, each writes its sum
 * to the workspace, for each part and result, and a second kernel joins them in their order. */
#include "common.cl"
#include "walk.cl"

#define X_STORAGE JOIN(storage, X)
#define Y_STORAGE JOIN(storage, Y)
#define WIDEN(x) ((NUMBER)JOIN(widen, X)(x))
#define WIDEN_Y(x) JOIN(widen, Y)(x)
#define NARROW_Y(x) JOIN(narrow, Y)(x)
#define BLOCK 128 /* elements of a lane whose sum is added to the lane's sum at once */

typedef struct factors {
    int has_b;
    int conjugate_a, conjugate_b;
    int alpha, beta; /* 0: zero, 1: one, 2: any */
    int reserved;
} factors;

static inline void store(const factors *f, __global Y_STORAGE *c, NUMBER sum, SCALAR alpha, SCALAR beta) {
    sum = f->alpha == 2 ? MULTIPLY(alpha, sum) : sum;
    if (f->beta == 2) {
        sum = sum + MULTIPLY(beta, WIDEN_Y(*c));
    } else if (f->beta == 1) {
        sum = sum + WIDEN_Y(*c);
    }
    *c = NARROW_Y(sum);
}

/* Adds the products of LANES lanes, with the strides A_LANE and B_LANE between lanes. */
#define ADD_LANES(lanes, A_LANE, B_LANE)                                                                               \
    for (long i = from; i < to; i++) {                                                                                 \
        __global const X_STORAGE *left = a + s->at[0] + i * s->next[0];                                                \
        __global const X_STORAGE *right = b + s->at[1] + i * s->next[1];                                               \
        _Pragma("unroll") for (int l = 0; l < lanes; l++) {                                                            \
            const NUMBER x = CONJUGATED(WIDEN(left[l * A_LANE]), f->conjugate_a);                                      \
            const NUMBER y = CONJUGATED(WIDEN(right[l * B_LANE]), f->conjugate_b);                                     \
            block[l] = MULTIPLY_ADD(x, y, block[l]);                                                                   \
        }                                                                                                              \
    }

#define PRODUCT_STEP(l, i, place)                                                                                      \
    {                                                                                                                  \
        const NUMBER x = CONJUGATED(WIDEN(a[place]), f->conjugate_a);                                                  \
        const NUMBER y = CONJUGATED(WIDEN(b[s->at[1] + (i) * s->next[1] + (l) * s->lane[1]]), f->conjugate_b);         \
        block[l] = MULTIPLY_ADD(x, y, block[l]);                                                                       \
    }
#define ELEMENT_STEP(l, i, place) block[l] += WIDEN(a[place]);

static inline void add_strip(const strip *s, const factors *f, __global const X_STORAGE *a,
                             __global const X_STORAGE *b, NUMBER sum[LANES]) {
    for (long from = 0; from < s->count; from += BLOCK) {
        const long to = min(from + BLOCK, s->count);
        NUMBER block[LANES];
        for (int l = 0; l < LANES; l++) {
            block[l] = ZERO;
        }
        if (!f->has_b) {
            EACH_ELEMENT(*s, from, to, ELEMENT_STEP)
#if GROUP > 1
        } else {
            EACH_ELEMENT(*s, from, to, PRODUCT_STEP)
        }
#else
        } else if (s->lanes == LANES && s->lane[0] == 0 && s->lane[1] == 1) {
            ADD_LANES(LANES, 0, 1)
        } else if (s->lanes == LANES && s->lane[0] == 1 && s->lane[1] == 0) {
            ADD_LANES(LANES, 1, 0)
        } else if (s->lanes == LANES && s->lane[0] == 1 && s->lane[1] == 1) {
            ADD_LANES(LANES, 1, 1)
        } else {
            ADD_LANES(s->lanes, s->lane[0], s->lane[1])
        }
#endif
        for (int l = 0; l < LANES; l++) {
            sum[l] += block[l];
        }
    }
}

#define PLUS(a, b) ((a) + (b))
JOIN_MEMBERS(sum_of_members, NUMBER, PLUS)

__kernel void contract_part(__global const X_STORAGE *a, ulong a_first, __global const X_STORAGE *b, ulong b_first,
                            __global Y_STORAGE *c, ulong c_first, __global NUMBER *partial, ulong partial_first,
                            const walk w, const factors f, SCALAR alpha, SCALAR beta) {
    SHARED NUMBER values[GROUP];
    const long number = part_of();
    NUMBER sum[LANES];
    a += (long)a_first;
    b += (long)b_first;
    EACH_TILE(w, t) {
        for (int l = 0; l < LANES; l++) {
            sum[l] = ZERO;
        }
        EACH_STRIP(&w, &t, number, s) {
            add_strip(&s, &f, a, b, sum);
        }
        if (!COLUMNS(&w)) {
            for (int l = 1; l < LANES; l++) {
                sum[0] += sum[l];
            }
        }
        sum[0] = sum_of_members(&w, values, sum[0]);
        EACH_RESULT(t, l) {
            if (w.parts > 1) {
                partial[(long)partial_first + number * w.results + t.result + l] = sum[l];
            } else {
                store(&f, c + (long)c_first + t.at[2] + l * t.lane[2], sum[l], alpha, beta);
            }
        }
    }
}

__kernel void contract_join(__global Y_STORAGE *c, ulong c_first, __global const NUMBER *partial, ulong partial_first,
                            const walk w, const factors f, SCALAR alpha, SCALAR beta) {
    SHARED NUMBER values[GROUP];
    EACH_TILE(w, t) {
        NUMBER sum[LANES];
        for (int l = 0; l < RESULTS; l++) {
            sum[l] = ZERO;
            for (long part = member_of(&w); part < w.parts && l < t.lanes; part += MEMBERS(&w)) {
                sum[l] += partial[(long)partial_first + part * w.results + t.result + l];
            }
        }
        sum[0] = sum_of_members(&w, values, sum[0]);
        EACH_RESULT(t, l) {
            store(&f, c + (long)c_first + t.at[2] + l * t.lane[2], sum[l], alpha, beta);
        }
    }
}
