/* transforms.c - checks Fourier transforms of FFTW and MKL's DFTI against the defining sum, in sizes that use different
 * algorithms of these libraries. Both operands lie between pages without access, at their end and then at their start.
 */
#include "probe/checks.h"
#include "probe/guards.h"

#include "providers/fftw/api.h"
#include "providers/mkl/api.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 128 };
static const int sizes[] = {1, 2,  4,  8,  16, 32, 64, 128, /* powers of two */
                            3, 9,  15, 21, 25, 45, 63, 105, /* odd */
                            6, 12, 20, 5,  7,  11, 13, 17,  31, 61, 97};

typedef struct transform {
    transform_kind kind;
    int n;
    bool inverse;
    number in[MOST], expected[MOST]; /* for a half spectrum, the full one */
} transform;

/* Return the number of elements on each side. */
static int count_in(const transform *x) {
    return x->kind == COMPLEX_TO_REAL ? x->n / 2 + 1 : x->n;
}

static int count_out(const transform *x) {
    return x->kind == REAL_TO_COMPLEX ? x->n / 2 + 1 : x->n;
}

/* ---- Expected results ---- */

static void sum_up(transform *x) {
    number root[MOST];
    for (int i = 0; i < x->n; i++) {
        double angle = (x->inverse ? 2 : -2) * 3.14159265358979323846 * i / x->n;
        root[i] = make_number(cos(angle), sin(angle));
    }
    for (int k = 0; k < x->n; k++) {
        number sum = 0;
        for (int j = 0; j < x->n; j++) {
            sum += times(x->in[j], root[j * k % x->n]);
        }
        x->expected[k] = sum;
    }
}

/* Makes a signal of the sample's kind, with the symmetry that the transform requires, and its expected result. */
static void make_signal(const trial *t, transform *x) {
    for (int i = 0; i < x->n; i++) {
        number value = t->general[i];
        value = t->kind == CLUSTERED ? 1 + value * 0x1p-12 : value;
        value *= t->kind == GRADED ? ldexp(1, -i / 4) : 1;
        value = x->kind == REAL_TO_COMPLEX ? creal(value) : value;
        x->in[i] = t->type->is_double ? value : make_number((double)(float)creal(value), (double)(float)cimag(value));
    }
    for (int i = 0; i <= x->n / 2 && x->kind == COMPLEX_TO_REAL; i++) {
        int mirror = (x->n - i) % x->n;
        x->in[mirror] = mirror == i ? creal(x->in[i]) : conj(x->in[i]);
    }
    sum_up(x);
}

static void store_side(const trial *t, const transform *x, array *to) {
    number_type real = *t->type;
    real.is_complex = x->kind != REAL_TO_COMPLEX;
    for (int i = 0; i < count_in(x); i++) {
        put_number(&real, to, i, x->in[i] * t->scale);
    }
}

static bool is_expected(const trial *t, const transform *x, const array *from) {
    number_type real = *t->type;
    number out[MOST];
    real.is_complex = x->kind != COMPLEX_TO_REAL;
    for (int i = 0; i < count_out(x); i++) {
        out[i] = get_number(&real, from, i) / t->scale;
    }
    return is_near(t, out, x->expected, count_out(x), norm_of(x->expected, x->n));
}

/* One transform: `run` transforms `in` to `out`, which are equal for one in place. */
typedef struct prepared {
    void *plan;
    array *in, *out;
    void (*run)(const struct prepared *self);
    void (*end)(struct prepared *self);
    const void *api;
    bool inverse;
    transform_kind kind;
} prepared;

/* Describes what was wrong with a transform: its results, or an access of memory. */
static const char *describe(const trial *t, const transform *x, bool in_place, guard_access access) {
    static char text[192];
    char call[64];
    snprintf(call, sizeof call, "%s transform%s of %d elements", x->inverse ? "backward" : "forward",
             in_place ? " in place" : "", x->n);
    if (access != GUARD_UNTOUCHED) {
        snprintf(text, sizeof text, "%s memory outside of its operands in probe: %s, %s", guard_access_text(access),
                 t->state->routine, call);
    } else {
        snprintf(text, sizeof text, "wrong results in probe: %s, %s signal: %s", t->state->routine,
                 sample_names[t->kind], call);
    }
    return text;
}

static const char *try_samples(trial *t, const transform *samples, const prepared *with) {
    for (int kind = 0; kind < SAMPLES; kind++) {
        const transform *x = &samples[kind];
        begin_sample(t, (sample_kind)kind);
        store_side(t, x, with->in);
        with->run(with);
        const guard_access access = guards_accessed();
        if (access != GUARD_UNTOUCHED || !is_expected(t, x, with->out)) {
            return describe(t, x, with->in == with->out, access);
        }
    }
    return NULL;
}

/* A function of a library's interface, and where to store its address. */
typedef struct entry {
    const char *name;
    size_t slot;
} entry;

static bool find_all(const trial *t, const char *head, const entry *entries, size_t count, void *api) {
    char name[64];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%s", head, entries[i].name);
        void *found = own_symbol(t->library, name);
        if (!found) {
            return false;
        }
        memcpy((char *)api + entries[i].slot, &found, sizeof found);
    }
    return true;
}

/* ---- FFTW ---- */

static void run_fftw(const prepared *self) {
    const bp__fftw_api *api = self->api;
    (self->kind == REAL_TO_COMPLEX   ? api->execute_dft_r2c
     : self->kind == COMPLEX_TO_REAL ? api->execute_dft_c2r
                                     : api->execute_dft)(self->plan, self->in, self->out);
}

static void end_fftw(prepared *self) {
    ((const bp__fftw_api *)self->api)->destroy_plan(self->plan);
}

static bool find_fftw(const trial *t, bp__fftw_api *api) {
    static const entry functions[] = {
#define X(name, result, arguments) {#name, offsetof(bp__fftw_api, name)},
        BP__FFTW_FUNCTIONS(X, bp__fftw_handle, bp__fftw_dim, void, void)
#undef X
    };
    char head[32];
    snprintf(head, sizeof head, "%s_", t->library->family->id);
    return find_all(t, head, functions, sizeof functions / sizeof *functions, api);
}

static bool plan_fftw(const bp__fftw_api *api, const transform *x, prepared *made) {
    const bp__fftw_dim dim = {x->n, 1, 1};
    unsigned flags = BP__FFTW_ESTIMATE | (made->in == made->out ? 0 : BP__FFTW_PRESERVE_INPUT);
    made->plan = x->kind == REAL_TO_COMPLEX ? api->plan_guru64_dft_r2c(1, &dim, 0, NULL, made->in, made->out, flags)
                 : x->kind == COMPLEX_TO_REAL
                     ? api->plan_guru64_dft_c2r(1, &dim, 0, NULL, made->in, made->out, flags)
                     : api->plan_guru64_dft(1, &dim, 0, NULL, made->in, made->out,
                                            x->inverse ? BP__FFTW_BACKWARD : BP__FFTW_FORWARD, flags);
    made->api = api;
    made->run = run_fftw;
    made->end = end_fftw;
    return made->plan != NULL;
}

/* ---- MKL ---- */

static void run_mkl(const prepared *self) {
    const bp__mkl_api *api = self->api;
    if (self->in == self->out) {
        (self->inverse ? api->ComputeBackward : api->ComputeForward)(self->plan, self->in);
    } else {
        (self->inverse ? api->ComputeBackward : api->ComputeForward)(self->plan, self->in, self->out);
    }
}

static void end_mkl(prepared *self) {
    ((const bp__mkl_api *)self->api)->FreeDescriptor(&self->plan);
}

static bool find_mkl(const trial *t, bp__mkl_api *api) {
    static const entry functions[] = {
#define X(name, result, arguments) {#name, offsetof(bp__mkl_api, name)},
        BP__MKL_FUNCTIONS(X, void *, int, int)
#undef X
    };
    return find_all(t, "Dfti", functions, sizeof functions / sizeof *functions, api);
}

static bool plan_mkl(const trial *t, const bp__mkl_api *api, const transform *x, prepared *made) {
    long error = api->CreateDescriptor(&made->plan, t->type->is_double ? BP__MKL_DOUBLE : BP__MKL_SINGLE,
                                       x->kind == COMPLEX_TO_COMPLEX ? BP__MKL_COMPLEX : BP__MKL_REAL, 1L, (long)x->n);
    void *d = made->plan;
    error = error ? error
                  : api->SetValue(d, BP__MKL_PLACEMENT, made->in == made->out ? BP__MKL_INPLACE : BP__MKL_NOT_INPLACE);
    if (x->kind != COMPLEX_TO_COMPLEX) {
        error = error ? error : api->SetValue(d, BP__MKL_CONJUGATE_EVEN_STORAGE, BP__MKL_COMPLEX_COMPLEX);
        error = error ? error : api->SetValue(d, BP__MKL_DESTROY_INPUT, BP__MKL_AVOID);
    }
    made->api = api;
    made->run = run_mkl;
    made->end = end_mkl;
    return (error ? error : api->CommitDescriptor(d)) == 0;
}

/* ---- Lengths with large errors ---- */

/* A fast transform errs by a small multiple of log2(n) units of rounding. MKL 2026 errs up to a hundred times as much
 * in double precision for multiples of the primes from 17 to 149, which is still within the bound of the check above.
 * So each prime is tried. A signal of few impulses has a spectrum of short sums. */
enum { FIRST_PRIME = 17, LAST_PRIME = 199, LONGEST = 2 * LAST_PRIME, IMPULSES = 8, SIGNALS = 3 };

_Static_assert((int)LONGEST <= (int)ELEMENTS && IMPULSES * SIGNALS <= (int)ELEMENTS,
               "signals fit into arrays and into the sample");

static bool is_prime(int n) {
    int divisor = 2;
    while (divisor * divisor <= n && n % divisor != 0) {
        divisor++;
    }
    return divisor * divisor > n;
}

static void put_impulses(const trial *t, int n, int signal, array *in) {
    memset(in, 0, sizeof *in);
    for (int i = 0; i < IMPULSES; i++) {
        put_number(t->type, in, (5 * i * i + 3 * signal + 1) % n, t->general[IMPULSES * signal + i]);
    }
}

typedef struct root {
    long double re, im;
} root;

/* Computes the powers of exp(2 pi i / n). */
static void find_roots(int n, root *roots) {
    const long double turn = 2 * 3.14159265358979323846264338327950288L / n;
    for (int i = 0; i < n; i++) {
        roots[i] = (root){cosl(turn * i), sinl(turn * i)};
    }
}

/* Returns whether an element of the spectrum differs by more than `most` times the norm of the signal, or is NaN. */
static bool differs(const trial *t, int n, const root *roots, const array *in, const array *out, double most) {
    double square = 0;
    for (int j = 0; j < n; j++) {
        const number x = get_number(t->type, in, j);
        square += creal(x) * creal(x) + cimag(x) * cimag(x);
    }
    for (int k = 0; k < n; k++) {
        const number got = get_number(t->type, out, k);
        long double re = creal(got), im = cimag(got);
        for (int j = 0; j < n; j++) {
            const number x = get_number(t->type, in, j);
            if (x != 0) {
                const root *r = &roots[j * k % n];
                re -= (long double)creal(x) * r->re + (long double)cimag(x) * r->im;
                im -= (long double)cimag(x) * r->re - (long double)creal(x) * r->im;
            }
        }
        if (!(hypotl(re, im) <= (long double)(most * sqrt(square)))) {
            return true;
        }
    }
    return false;
}

/* Returns whether transforms of `n` elements err by more than half of what `compare` allows. Other signals may have
 * larger errors than the few here. */
static bool errs(trial *t, int n, const prepared *with) {
    static root roots[LONGEST];
    const double unit = t->type->is_double ? 0x1p-53 : 0x1p-24, most = 4 * (log2(n) + 4) * unit;
    bool found = false;
    find_roots(n, roots);
    for (int signal = 0; signal < SIGNALS && !found; signal++) {
        put_impulses(t, n, signal, with->in);
        with->run(with);
        put_impulses(t, n, signal, with->in); /* a library may have written its input */
        found = differs(t, n, roots, with->in, with->out, most);
    }
    return found;
}

static void report_inexact_lengths(trial *t, const bp__fftw_api *fftw, const bp__mkl_api *mkl) {
    static array in, out;
    static transform x;
    char primes[256] = "";
    x.kind = COMPLEX_TO_COMPLEX;
    begin_sample(t, RANDOM);
    for (int prime = FIRST_PRIME; prime <= LAST_PRIME; prime++) {
        prepared made = {.in = &in, .out = &out};
        x.n = 2 * prime;
        if (is_prime(prime) && (fftw ? plan_fftw(fftw, &x, &made) : plan_mkl(t, mkl, &x, &made))) {
            const size_t length = strlen(primes);
            if (errs(t, x.n, &made)) {
                snprintf(primes + length, sizeof primes - length, "%s%d", length > 0 ? " " : "", prime);
            }
            made.end(&made);
        }
    }
    if (*primes) {
        report(t->type->is_double ? "inexact_f64" : "inexact_f32", "%s", primes);
    }
}

/* ---- Both ---- */

static size_t bytes_of(const trial *t, int elements, bool real) {
    return (size_t)elements * (t->type->is_double ? 8 : 4) * (real ? 1 : 2);
}

/* Tries a transform of all samples with both operands at one end of their regions. */
static const char *try_place(trial *t, const transform *samples, const bp__fftw_api *fftw, const bp__mkl_api *mkl,
                             bool in_place, bool at_end) {
    const transform *x = samples;
    void *in = guards_place(0, bytes_of(t, count_in(x), x->kind == REAL_TO_COMPLEX), at_end);
    void *out = in_place ? in : guards_place(1, bytes_of(t, count_out(x), x->kind == COMPLEX_TO_REAL), at_end);
    prepared made = {.in = in, .out = out, .inverse = x->inverse, .kind = x->kind};
    bool planned = fftw ? plan_fftw(fftw, x, &made) : plan_mkl(t, mkl, x, &made);
    if (!planned) {
        return "wrong results in probe: it returns no plan";
    }
    const char *wrong = try_samples(t, samples, &made);
    made.end(&made);
    return wrong;
}

/* Tries all places of transforms of one kind, size and direction. Transforms of real numbers are not in place. */
static const char *try_places(trial *t, const transform *x, const bp__fftw_api *fftw, const bp__mkl_api *mkl) {
    static transform samples[SAMPLES];
    const char *wrong = NULL;
    for (int kind = 0; kind < SAMPLES; kind++) {
        samples[kind].kind = x->kind;
        samples[kind].n = x->n;
        samples[kind].inverse = x->inverse;
        begin_sample(t, (sample_kind)kind);
        make_signal(t, &samples[kind]);
    }
    for (int way = 0; way < (x->kind == COMPLEX_TO_COMPLEX ? 4 : 2) && !wrong; way++) {
        wrong = try_place(t, samples, fftw, mkl, way & 2, way & 1);
    }
    return wrong;
}

/* Tries all sizes, directions and places of a kind of transforms. */
static const char *try_sizes(trial *t, transform_kind kind, const bp__fftw_api *fftw, const bp__mkl_api *mkl) {
    static transform x;
    const char *wrong = NULL;
    x.kind = kind;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !wrong; i++) {
        x.n = sizes[i];
        for (int inverse = 0; inverse < 2 && !wrong; inverse++) {
            x.inverse = inverse;
            const bool fits = kind == COMPLEX_TO_COMPLEX || x.inverse == (kind == COMPLEX_TO_REAL);
            wrong = fits ? try_places(t, &x, fftw, mkl) : NULL;
        }
    }
    return wrong;
}

const char *check_transforms(trial *t, transform_kind kind) {
    bp__fftw_api fftw;
    bp__mkl_api mkl;
    bool is_mkl = strcmp(t->library->family->name, "mkl") == 0;
    if (!(is_mkl ? find_mkl(t, &mkl) : find_fftw(t, &fftw))) {
        return NULL;
    }
    snprintf(t->state->routine, sizeof t->state->routine, "%s", is_mkl ? "DFTI" : t->library->family->id);
    const char *wrong = "not tested: no memory";
    if (guards_begin(2, sizeof(array), t->type)) {
        wrong = try_sizes(t, kind, is_mkl ? NULL : &fftw, &mkl);
    }
    guards_end();
    if (!wrong && kind == COMPLEX_TO_COMPLEX) {
        report_inexact_lengths(t, is_mkl ? NULL : &fftw, &mkl);
    }
    return wrong;
}
