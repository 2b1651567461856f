/* transforms.c - checks Fourier transforms of FFTW and MKL's DFTI against the defining sum, in sizes that use different
 * algorithms of these libraries. */
#include "probe/checks.h"

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

/* Makes a signal of the sample's kind, with the symmetry that the transform requires. */
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
        put(&real, to, i, x->in[i] * t->scale);
    }
}

static bool is_expected(const trial *t, const transform *x, const array *from) {
    number_type real = *t->type;
    number out[MOST];
    real.is_complex = x->kind != COMPLEX_TO_REAL;
    for (int i = 0; i < count_out(x); i++) {
        out[i] = get(&real, from, i) / t->scale;
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

static const char *try_samples(trial *t, transform *x, const prepared *with) {
    static char wrong[96];
    for (int kind = 0; kind < SAMPLES; kind++) {
        begin_sample(t, (sample_kind)kind);
        make_signal(t, x);
        store_side(t, x, with->in);
        with->run(with);
        if (!is_expected(t, x, with->out)) {
            snprintf(wrong, sizeof wrong, "%s transform%s of %d elements", x->inverse ? "backward" : "forward",
                     with->in == with->out ? " in place" : "", x->n);
            return wrong;
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

/* ---- Both ---- */

static const char *try_place(trial *t, transform *x, const bp__fftw_api *fftw, const bp__mkl_api *mkl, bool in_place) {
    static array in, out;
    prepared made = {.in = &in, .out = in_place ? &in : &out, .inverse = x->inverse, .kind = x->kind};
    bool planned = fftw ? plan_fftw(fftw, x, &made) : plan_mkl(t, mkl, x, &made);
    if (!planned) {
        return "it returns no plan";
    }
    const char *wrong = try_samples(t, x, &made);
    made.end(&made);
    return wrong;
}

const char *check_transforms(trial *t, transform_kind kind) {
    static transform x;
    bp__fftw_api fftw;
    bp__mkl_api mkl;
    const char *wrong = NULL;
    bool is_mkl = strcmp(t->library->family->name, "mkl") == 0;
    if (!(is_mkl ? find_mkl(t, &mkl) : find_fftw(t, &fftw))) {
        return NULL;
    }
    snprintf(t->state->routine, sizeof t->state->routine, "%s", is_mkl ? "DFTI" : t->library->family->id);
    x.kind = kind;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !wrong; i++) {
        x.n = sizes[i];
        for (int way = 0; way < 4 && !wrong; way++) {
            x.inverse = way & 1;
            bool in_place = way & 2,
                 fits = kind == COMPLEX_TO_COMPLEX || (!in_place && x.inverse == (kind == COMPLEX_TO_REAL));
            wrong = fits ? try_place(t, &x, is_mkl ? NULL : &fftw, &mkl, in_place) : NULL;
        }
    }
    return wrong;
}
