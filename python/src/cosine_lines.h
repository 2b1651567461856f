/* cosine_lines.h - defines the loops over elements of cosine transforms for one type, REAL, with names that end in
 * SUFFIX.
 *
 * cosine.c includes it once for each type. A line is the elements of one transform. `packed` is the input, then the
 * output of the Fourier transform; complex elements are pairs. `x` and `y` are the first element of a line in the order
 * of the cosine transform, and `step` is 1, or -1 for the reverse order of a sine transform. The pointers are
 * `restrict` so that the compiler vectorizes the loops: lines, packed elements and factors never overlap.
 */
#define NAME_OF(name, suffix) name##_##suffix
#define NAMED(name, suffix) NAME_OF(name, suffix)

/* ---- Type 1: the even or odd extension of a line to its period ---- */

static void NAMED(pack_1, SUFFIX)(const cosine *of, const REAL *restrict line, REAL *restrict packed) {
    const int64_t n = of->n, period = of->given, first = of->sine ? 1 : 0;
    const REAL sign = of->sine ? -1 : 1;
    packed[0] = 0;
    packed[period / 2] = 0;
    for (int64_t i = 0; i < n; i++) {
        packed[first + i] = line[i];
    }
    for (int64_t i = 1 - first; i < n - 1 + first; i++) {
        packed[period - first - i] = sign * line[i];
    }
    if (of->orthogonal && !of->sine) {
        packed[0] *= (REAL)SQRT2;
        packed[n - 1] *= (REAL)SQRT2;
    }
}

static void NAMED(unpack_1, SUFFIX)(const cosine *of, const REAL *restrict packed, REAL *restrict line) {
    const int64_t n = of->n, first = of->sine ? 3 : 0;
    const REAL scale = (REAL)(of->sine ? -of->scale : of->scale);
    for (int64_t k = 0; k < n; k++) {
        line[k] = scale * packed[2 * k + first];
    }
    if (of->orthogonal && !of->sine) {
        line[0] *= (REAL)(SQRT2 / 2);
        line[n - 1] *= (REAL)(SQRT2 / 2);
    }
}

/* ---- Type 2: even elements forwards, then odd ones backwards ---- */

static void NAMED(pack_2, SUFFIX)(const cosine *of, const REAL *restrict line, REAL *restrict packed) {
    const int64_t n = of->n;
    const REAL odd = of->sine ? -1 : 1;
    for (int64_t i = 0; i < n / 2; i++) {
        packed[i] = line[2 * i];
        packed[n - 1 - i] = odd * line[2 * i + 1];
    }
    if (n % 2 == 1) {
        packed[n / 2] = line[n - 1];
    }
}

static inline void NAMED(unpack_2_in_order, SUFFIX)(const cosine *of, const REAL *restrict packed, REAL *restrict y,
                                                    int64_t step) {
    const REAL *factors = (const REAL *)of->table->factors, two = (REAL)(2 * of->scale);
    const int64_t n = of->n;
    REAL *restrict near = y, *restrict far = y + step * n;
    near[0] = two * packed[0] * (REAL)(of->orthogonal ? SQRT2 / 2 : 1);
    for (int64_t k = 1; k <= (n - 1) / 2; k++) {
        const REAL re = packed[2 * k], im = packed[2 * k + 1], c = factors[2 * k], s = factors[2 * k + 1];
        far[-step * k] = two * (re * s - im * c);
        near[step * k] = two * (re * c + im * s);
    }
    if (n % 2 == 0) {
        near[step * (n / 2)] = two * (packed[n] * factors[n] + packed[n + 1] * factors[n + 1]);
    }
}

static void NAMED(unpack_2, SUFFIX)(const cosine *of, const REAL *restrict packed, REAL *restrict line) {
    if (of->sine) {
        NAMED(unpack_2_in_order, SUFFIX)(of, packed, line + of->n - 1, -1);
    } else {
        NAMED(unpack_2_in_order, SUFFIX)(of, packed, line, 1);
    }
}

/* ---- Type 3 ---- */

static inline void NAMED(pack_3_in_order, SUFFIX)(const cosine *of, const REAL *restrict x, int64_t step,
                                                  REAL *restrict packed) {
    const REAL *factors = (const REAL *)of->table->factors;
    const int64_t n = of->n;
    packed[0] = x[0] * (REAL)(of->orthogonal ? SQRT2 : 1);
    packed[1] = 0;
    for (int64_t k = 1; k <= n / 2; k++) {
        const REAL near = x[step * k], far = x[step * (n - k)], c = factors[2 * k], s = factors[2 * k + 1];
        packed[2 * k] = near * c + far * s;
        packed[2 * k + 1] = near * s - far * c;
    }
}

static void NAMED(pack_3, SUFFIX)(const cosine *of, const REAL *restrict line, REAL *restrict packed) {
    if (of->sine) {
        NAMED(pack_3_in_order, SUFFIX)(of, line + of->n - 1, -1, packed);
    } else {
        NAMED(pack_3_in_order, SUFFIX)(of, line, 1, packed);
    }
}

static void NAMED(unpack_3, SUFFIX)(const cosine *of, const REAL *restrict packed, REAL *restrict line) {
    const int64_t n = of->n;
    const REAL even = (REAL)of->scale, odd = of->sine ? -even : even;
    for (int64_t i = 0; i < n / 2; i++) {
        line[2 * i] = even * packed[i];
        line[2 * i + 1] = odd * packed[n - 1 - i];
    }
    if (n % 2 == 1) {
        line[n - 1] = even * packed[n / 2];
    }
}

/* ---- Type 4 of an even length: pairs of elements from both ends ---- */

static void NAMED(pack_4, SUFFIX)(const cosine *of, const REAL *restrict line, REAL *restrict packed) {
    const REAL *factors = (const REAL *)of->table->factors, *x = of->sine ? line + of->n - 1 : line;
    const int64_t n = of->n, step = of->sine ? -1 : 1;
    for (int64_t i = 0; i < n / 2; i++) {
        const REAL re = x[step * 2 * i], im = x[step * (n - 1 - 2 * i)], c = factors[2 * i], s = factors[2 * i + 1];
        packed[2 * i] = re * c + im * s;
        packed[2 * i + 1] = im * c - re * s;
    }
}

static void NAMED(unpack_4, SUFFIX)(const cosine *of, const REAL *restrict packed, REAL *restrict line) {
    const REAL *factors = (const REAL *)of->table->factors + of->table->second;
    const int64_t n = of->n;
    const REAL even = (REAL)(2 * of->scale), odd = of->sine ? -even : even;
    for (int64_t k = 0; k < n / 2; k++) {
        const REAL re = packed[2 * k], im = packed[2 * k + 1], c = factors[2 * k], s = factors[2 * k + 1];
        line[2 * k] = even * (re * c + im * s);
        line[n - 1 - 2 * k] = odd * (re * s - im * c);
    }
}

/* ---- Type 4 of an odd length: every fourth element of the line's extension to four lengths ----
 *
 * The line x and its mirror images continue as x, -x reversed, -x, x reversed. From n/2 on, every fourth element of
 * this is one of x, each once, with a sign. With y as these n elements and Y as their Fourier transform, 2 * sum(x[j] *
 * cos(pi * (2*k+1) * (2*j+1) / (4*n))) = 2 * sum(y[i] * cos(pi * (2*k+1) * (1/4 + 2*i/n))), which is sqrt(2) * (+-Re
 * Y[2*k+1] +- Im Y[2*k+1]). The signs are the signs of the cosine and sine of pi * (2*k+1) / 4. */

static void NAMED(pack_odd_4, SUFFIX)(const cosine *of, const REAL *restrict line, REAL *restrict packed) {
    const int64_t n = of->n, step = of->sine ? -1 : 1;
    const REAL *x = of->sine ? line + n - 1 : line;
    for (int64_t i = 0, at = n / 2; i < n; i++, at = at + 4 < 4 * n ? at + 4 : at + 4 - 4 * n) {
        const bool second_half = at >= 2 * n;
        const int64_t in_half = second_half ? at - 2 * n : at;
        const bool mirrored = in_half >= n;
        const REAL element = x[step * (mirrored ? 2 * n - 1 - in_half : in_half)];
        packed[i] = second_half != mirrored ? -element : element;
    }
}

static void NAMED(unpack_odd_4, SUFFIX)(const cosine *of, const REAL *restrict packed, REAL *restrict line) {
    const int64_t n = of->n;
    const REAL scale = (REAL)(SQRT2 * of->scale), cosine_signs[] = {1, -1, -1, 1}, sine_signs[] = {1, 1, -1, -1};
    for (int64_t k = 0; k < n; k++) {
        const int64_t at = 2 * k + 1 < n ? 2 * k + 1 : 2 * k + 1 - n;
        const bool mirrored = at > n / 2; /* Y[n - at] is the conjugate of Y[at] */
        const REAL re = packed[2 * (mirrored ? n - at : at)], im = packed[2 * (mirrored ? n - at : at) + 1];
        const REAL sum = cosine_signs[k % 4] * re + (mirrored ? -sine_signs[k % 4] : sine_signs[k % 4]) * im;
        line[k] = scale * (of->sine && k % 2 == 1 ? -sum : sum);
    }
}

/* ---- All lines of a chunk ---- */

static void NAMED(pack_all, SUFFIX)(const cosine *of, int64_t count, const REAL *lines, REAL *restrict packed) {
    static void (*const packers[])(const cosine *, const REAL *,
                                   REAL *) = {NAMED(pack_1, SUFFIX), NAMED(pack_2, SUFFIX), NAMED(pack_3, SUFFIX),
                                              NAMED(pack_4, SUFFIX), NAMED(pack_odd_4, SUFFIX)};
    const int64_t step = of->given * (of->call.transform == BP_RFFT ? 1 : 2);
    for (int64_t i = 0; i < count; i++) {
        packers[of->type - 1 + is_odd_4(of)](of, lines + i * of->n, packed + i * step);
    }
}

static void NAMED(unpack_all, SUFFIX)(const cosine *of, int64_t count, const REAL *restrict packed, REAL *lines) {
    static void (*const unpackers[])(const cosine *, const REAL *, REAL *) = {
        NAMED(unpack_1, SUFFIX), NAMED(unpack_2, SUFFIX), NAMED(unpack_3, SUFFIX), NAMED(unpack_4, SUFFIX),
        NAMED(unpack_odd_4, SUFFIX)};
    const int64_t step = of->result * (of->call.transform == BP_IRFFT ? 1 : 2);
    for (int64_t i = 0; i < count; i++) {
        unpackers[of->type - 1 + is_odd_4(of)](of, packed + i * step, lines + i * of->n);
    }
}

#undef REAL
#undef SUFFIX
#undef NAMED
#undef NAME_OF
