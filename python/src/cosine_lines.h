/* cosine_lines.h - defines the loops over elements of cosine transforms for one type, REAL, with names that end in
 * SUFFIX.
 *
 * cosine.c includes it once for each type. A line is the elements of one transform. `packed` is the input, then the
 * output of the Fourier transform; complex elements are pairs.
 */
#define NAME_OF(name, suffix) name##_##suffix
#define NAMED(name, suffix) NAME_OF(name, suffix)

static void NAMED(reverse, SUFFIX)(REAL *line, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) {
        REAL first = line[i];
        line[i] = line[n - 1 - i];
        line[n - 1 - i] = first;
    }
}

static void NAMED(alternate, SUFFIX)(REAL *line, int64_t n) {
    for (int64_t i = 1; i < n; i += 2) {
        line[i] = -line[i];
    }
}

/* Changes a line of a sine transform to that of its cosine transform, and scales what orthogonalize= changes. */
static void NAMED(prepare, SUFFIX)(const cosine *of, REAL *line) {
    if (of->sine && of->type == 2) {
        NAMED(alternate, SUFFIX)(line, of->n);
    } else if (of->sine && of->type > 2) {
        NAMED(reverse, SUFFIX)(line, of->n);
    }
    if (of->orthogonal && (of->type == 3 || (of->type == 1 && !of->sine))) {
        line[0] *= (REAL)SQRT2;
    }
    if (of->orthogonal && of->type == 1 && !of->sine) {
        line[of->n - 1] *= (REAL)SQRT2;
    }
}

static void NAMED(finish, SUFFIX)(const cosine *of, REAL *line) {
    REAL scale = (REAL)of->scale;
    for (int64_t i = 0; i < of->n && of->scale != 1; i++) {
        line[i] *= scale;
    }
    if (of->orthogonal && (of->type == 2 || (of->type == 1 && !of->sine))) {
        line[0] *= (REAL)(SQRT2 / 2);
    }
    if (of->orthogonal && of->type == 1 && !of->sine) {
        line[of->n - 1] *= (REAL)(SQRT2 / 2);
    }
    if (of->sine && of->type == 2) {
        NAMED(reverse, SUFFIX)(line, of->n);
    } else if (of->sine && of->type > 2) {
        NAMED(alternate, SUFFIX)(line, of->n);
    }
}

/* Writes (re, im) times the table's factor exp(-i angle), or with the other sign of the angle. */
static void NAMED(turn, SUFFIX)(REAL *to, REAL re, REAL im, const double *factor, bool back) {
    REAL c = (REAL)factor[0], s = (REAL)(back ? -factor[1] : factor[1]);
    to[0] = re * c + im * s;
    to[1] = im * c - re * s;
}

/* The even or odd extension of a line to the period of type 1. */
static void NAMED(extend, SUFFIX)(const cosine *of, const REAL *line, REAL *packed) {
    int64_t first = of->sine ? 1 : 0, period = of->given;
    memset(packed, 0, (size_t)period * sizeof *packed);
    for (int64_t i = 0; i < of->n; i++) {
        int64_t mirror = period - i - first;
        packed[i + first] = line[i];
        if (mirror < period && mirror > i + first) {
            packed[mirror] = of->sine ? -line[i] : line[i];
        }
    }
}

static void NAMED(pack, SUFFIX)(const cosine *of, const REAL *line, REAL *packed) {
    int64_t n = of->n;
    if (of->type == 1) {
        NAMED(extend, SUFFIX)(of, line, packed);
    } else if (of->type == 2) { /* even elements forwards, then odd ones backwards */
        for (int64_t i = 0; i < n; i++) {
            packed[i % 2 == 0 ? i / 2 : n - 1 - i / 2] = line[i];
        }
    } else if (of->type == 3) {
        for (int64_t k = 0; k < of->given; k++) {
            NAMED(turn, SUFFIX)(packed + 2 * k, line[k], k == 0 ? 0 : -line[n - k], of->first + 2 * k, true);
        }
    } else {
        for (int64_t i = 0; i < of->given; i++) {
            bool pairs = n % 2 == 0;
            NAMED(turn, SUFFIX)
            (packed + 2 * i, line[pairs ? 2 * i : i], pairs ? line[n - 1 - 2 * i] : 0, of->first + 2 * i, false);
        }
    }
}

static void NAMED(unpack, SUFFIX)(const cosine *of, const REAL *packed, REAL *line) {
    int64_t n = of->n;
    REAL turned[2];
    if (of->type == 1) {
        for (int64_t k = 0; k < n; k++) {
            line[k] = of->sine ? -packed[2 * k + 3] : packed[2 * k];
        }
    } else if (of->type == 3) {
        for (int64_t i = 0; i < n; i++) {
            line[i] = packed[i % 2 == 0 ? i / 2 : n - 1 - i / 2];
        }
    } else if (of->type == 2) {
        for (int64_t k = 0; k <= n / 2; k++) {
            NAMED(turn, SUFFIX)(turned, packed[2 * k], packed[2 * k + 1], of->first + 2 * k, false);
            line[k == 0 ? 0 : n - k] = -2 * turned[1];
            line[k] = 2 * turned[0];
        }
    } else {
        for (int64_t k = 0; k < (n % 2 == 0 ? n / 2 : n); k++) {
            NAMED(turn, SUFFIX)(turned, packed[2 * k], packed[2 * k + 1], of->second + 2 * k, false);
            line[n % 2 == 0 ? 2 * k : k] = 2 * turned[0];
            if (n % 2 == 0) {
                line[n - 1 - 2 * k] = -2 * turned[1];
            }
        }
    }
}

static void NAMED(pack_all, SUFFIX)(const cosine *of, int64_t count, REAL *lines, REAL *packed) {
    int64_t step = of->given * (of->type > 2 ? 2 : 1);
    for (int64_t i = 0; i < count; i++) {
        NAMED(prepare, SUFFIX)(of, lines + i * of->n);
        NAMED(pack, SUFFIX)(of, lines + i * of->n, packed + i * step);
    }
}

static void NAMED(unpack_all, SUFFIX)(const cosine *of, int64_t count, const REAL *packed, REAL *lines) {
    int64_t step = of->result * (of->type == 3 ? 1 : 2);
    for (int64_t i = 0; i < count; i++) {
        NAMED(unpack, SUFFIX)(of, packed + i * step, lines + i * of->n);
        NAMED(finish, SUFFIX)(of, lines + i * of->n);
    }
}

#undef REAL
#undef SUFFIX
#undef NAMED
#undef NAME_OF
