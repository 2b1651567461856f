/* line.c - chooses the algorithm for a transform length and makes its tables. */
#include "line.h"
#include "twiddle.h"

#include <math.h>
#include <string.h>

/* Lengths from which a line is split into columns and rows, so that passes stay in the first-level cache. SPLIT_FROM:
 * the length suits vectors along the line that are the widest, or have at least WIDE_BYTES. Columns and rows may fill
 * wider ones, but are padded, multiplied by twiddles and transposed. SPLIT_ODD_FROM: it does not. */
#define SPLIT_FROM 8192
#define SPLIT_ODD_FROM 256
#define WIDE_BYTES 32

static const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, BP__FFT_PRIME_MOST};
#define PRIMES ((int)(sizeof primes / sizeof primes[0]))

/* Returns n divided by all its prime factors that have a butterfly. */
static int64_t rough_factor(int64_t n) {
    for (int i = 0; i < PRIMES; i++) {
        while (n % primes[i] == 0) {
            n /= primes[i];
        }
    }
    return n;
}

/* Returns the widest kernels that can run along one line of n: n must be a multiple of the lanes and at least their
 * square. */
static const bp__fft_kernels *across_for(const bp__fft_kernels *const *kernels, int64_t n) {
    int i = 0;
    while (kernels[i]->lanes > 1 && (n % kernels[i]->lanes != 0 || n / kernels[i]->lanes < kernels[i]->lanes)) {
        i++;
    }
    return kernels[i];
}

/* Returns the factor by which padding to whole vectors increases a count of lines. */
static double padding(int64_t count, int lanes) {
    return (double)((count + lanes - 1) / lanes * lanes) / (double)count;
}

/* Returns the factor of n closest to its square root that fills vectors, or 1. */
static int64_t columns_for(int64_t n, int lanes) {
    int64_t best = 1;
    double least = HUGE_VAL;
    for (int64_t a = (int64_t)sqrt((double)n); a > 1; a--) {
        const double uneven = 1 + (double)n / (double)a / (double)a / 16;
        if (2 * uneven >= least) {
            break;
        }
        if (n % a == 0) {
            const double cost = uneven * (padding(a, lanes) + padding(n / a, lanes));
            if (cost < least) {
                least = cost;
                best = a;
            }
        }
    }
    return best;
}

/* Returns the cheapest smooth length of at least `least` that runs in whole vectors. */
static int64_t convolution_for(int64_t least, int lanes) {
    int64_t best = lanes * lanes;
    while (best < least) {
        best *= 2;
    }
    static const int64_t odd[] = {3, 5, 9, 15};
    for (int i = 0; i < (int)(sizeof odd / sizeof odd[0]); i++) {
        int64_t n = odd[i] * lanes * lanes;
        while (n < least) {
            n *= 2;
        }
        best = n < best ? n : best;
    }
    return best;
}

bp__fft_algorithm bp__fft_algorithm_of(const bp__fft_kernels *const *kernels, int64_t n) {
    bp__fft_algorithm algorithm = {.n = n, .wide = kernels[0], .across = across_for(kernels, n)};
    const int lanes = kernels[0]->lanes;
    for (algorithm.narrow = kernels[0]; algorithm.narrow->lanes > 1; kernels++) {
        algorithm.narrow = kernels[1];
    }
    if (rough_factor(n) != 1) {
        algorithm.way = BP__FFT_CHIRP;
        algorithm.inner = convolution_for(2 * n - 1, lanes);
    } else if (n >= (algorithm.across->lanes == lanes || algorithm.across->bytes >= WIDE_BYTES ? SPLIT_FROM
                                                                                               : SPLIT_ODD_FROM)) {
        algorithm.columns = columns_for(n, lanes);
        algorithm.rows = n / algorithm.columns;
        algorithm.way = algorithm.columns > 1 ? BP__FFT_SPLIT : BP__FFT_DIRECT;
    }
    return algorithm;
}

int bp__fft_radices(const bp__fft_algorithm *algorithm, int *radix) {
    int64_t n = algorithm->n;
    int count = 0, twos = 0;
    if (algorithm->across->lanes > 1) {
        radix[count++] = algorithm->across->lanes;
        n /= algorithm->across->lanes;
    }
    for (int i = PRIMES - 1; i > 0; i--) {
        for (; n % primes[i] == 0; n /= primes[i]) {
            radix[count++] = primes[i];
        }
    }
    for (; n > 1; n /= 2) {
        twos++;
    }
    /* Radix 4 takes the factors of two that radix 8 leaves. */
    for (; twos > 0 && twos % 3 != 0 && twos != 1; twos -= 2) {
        radix[count++] = 4;
    }
    for (; twos >= 3; twos -= 3) {
        radix[count++] = 8;
    }
    if (twos == 1) {
        radix[count++] = 2;
    }
    if (count == 0) {
        radix[count++] = 1;
    }
    return count;
}

/* ---- Tables ---- */

static bool roots_table(const bp__fft_line *line, bp__fft_pass *pass) {
    bp__fft_roots roots;
    void *table = line->host->allocate((size_t)pass->radix * line->pair);
    pass->roots = table;
    if (!table || !bp__fft_roots_open(line->host, pass->radix, &roots)) {
        return false;
    }
    for (int j = 0; j < pass->radix; j++) {
        bp__fft_root root = bp__fft_root_at(&roots, j);
        root.im = -root.im;
        bp__fft_put(table, line->f64, j, root);
    }
    bp__fft_roots_close(line->host, &roots);
    return true;
}

static bool twiddle_table(const bp__fft_line *line, const bp__fft_roots *roots, bp__fft_pass *pass) {
    const int64_t length = pass->radix * pass->m, apart = roots->n / length;
    void *table = line->host->allocate((size_t)(pass->m * (pass->radix - 1)) * line->pair);
    pass->twiddle = table;
    if (!table) {
        return false;
    }
    for (int64_t p = 0, i = 0; p < pass->m; p++) {
        for (int64_t k = 1; k < pass->radix; k++, i++) {
            bp__fft_put(table, line->f64, i, bp__fft_root_at(roots, p * k % length * apart));
        }
    }
    return true;
}

static bool direct_tables(bp__fft_line *line, bool alone) {
    int radix[BP__FFT_PASSES_MOST];
    bp__fft_roots roots;
    int64_t s = 1, n = line->algorithm.n;
    const bp__fft_kernels *across = line->algorithm.across;
    if (!bp__fft_roots_open(line->host, n, &roots)) {
        return false;
    }
    bool fine = true;
    line->count = bp__fft_radices(&line->algorithm, radix);
    for (int i = 0; fine && i < line->count; i++) {
        bp__fft_pass *pass = line->pass + i;
        *pass = (bp__fft_pass){.radix = radix[i], .m = n / s / radix[i], .s = s};
        fine = (radix[i] % 2 == 0 || radix[i] == 1 || roots_table(line, pass)) &&
               (pass->m == 1 || twiddle_table(line, &roots, pass));
        s *= radix[i];
    }
    if (fine && alone && across->lanes > 1) {
        const int64_t m = line->pass[0].m, blocks = (m + across->lanes - 1) / across->lanes;
        line->first_twiddles =
            line->host->allocate((size_t)(blocks * across->lanes * (across->lanes - 1)) * line->pair);
        fine = line->first_twiddles != NULL;
        if (fine) {
            across->interleave_twiddles(line->first_twiddles, line->pass[0].twiddle, m);
        }
    }
    bp__fft_roots_close(line->host, &roots);
    return fine;
}

/* Makes the vectors of twiddle_transpose(): for each group of columns, one vector for each element of a column, with
 * ones as padding. */
static bool split_table(bp__fft_line *line) {
    const bp__fft_kernels *wide = line->algorithm.wide;
    const int64_t lanes = wide->lanes, n = line->algorithm.n, a = line->algorithm.columns, b = line->algorithm.rows;
    const int64_t groups = (b + lanes - 1) / lanes, length = (a + lanes - 1) / lanes * lanes;
    bp__fft_roots roots;
    line->twiddle = line->host->allocate((size_t)(groups * length * lanes) * line->pair);
    if (!line->twiddle || !bp__fft_roots_open(line->host, n, &roots)) {
        return false;
    }
    for (int64_t g = 0; g < groups; g++) {
        for (int64_t k = 0; k < length; k++) {
            for (int64_t i = 0; i < lanes; i++) {
                const int64_t j = g * lanes + wide->order[i];
                const bp__fft_root root = bp__fft_root_at(&roots, j < b && k < a ? j * k : 0);
                const int64_t at = (g * length + k) * 2 * lanes + i;
                if (line->f64) {
                    ((double *)line->twiddle)[at] = (double)root.re;
                    ((double *)line->twiddle)[at + lanes] = (double)root.im;
                } else {
                    ((float *)line->twiddle)[at] = (float)root.re;
                    ((float *)line->twiddle)[at + lanes] = (float)root.im;
                }
            }
        }
    }
    bp__fft_roots_close(line->host, &roots);
    return true;
}

/* Makes the chirp e^(-pi i j j / n), and the spectrum of its conjugate around 0, with the factor of the inverse
 * transform. */
static bool chirp_tables(bp__fft_line *line) {
    const int64_t n = line->algorithm.n, inner = line->algorithm.inner;
    const bp_host *host = line->host;
    bp__fft_roots roots;
    line->twiddle = host->allocate((size_t)n * line->pair);
    line->spectrum = host->allocate((size_t)inner * line->pair);
    char *scratch = host->allocate(bp__fft_line_scratch(line->first, 1));
    bool fine = line->twiddle && line->spectrum && scratch && bp__fft_roots_open(host, 2 * n, &roots);
    if (fine) {
        memset(line->spectrum, 0, (size_t)inner * line->pair);
        /* j*j modulo 2n is updated incrementally, because the product could overflow. */
        for (int64_t j = 0, square = 0; j < n; square = (square + 2 * j + 1) % (2 * n), j++) {
            bp__fft_root root = bp__fft_root_at(&roots, square);
            bp__fft_put(line->twiddle, line->f64, j, root);
            root.im = -root.im;
            bp__fft_put(line->spectrum, line->f64, j, root);
            bp__fft_put(line->spectrum, line->f64, j > 0 ? inner - j : 0, root);
        }
        bp__fft_roots_close(host, &roots);
        bp__stop never = {.host = host, .op = BP_OP_FFT, .since = BP__STOP_NEVER};
        bp__fft_line_run(line->first, line->spectrum, line->spectrum, false, 1 / (double)inner, scratch, 1, &never);
    }
    host->release(scratch);
    return fine;
}

/* Makes the inner lines of SPLIT and CHIRP. Inner lines of SPLIT run in lanes, whatever their length. */
static bp_status make_sublines(const bp__fft_kernels *const *kernels, bp__fft_line *line) {
    const bp__fft_algorithm *algorithm = &line->algorithm;
    if (algorithm->way == BP__FFT_DIRECT) {
        return BP_OK;
    }
    if (algorithm->way == BP__FFT_CHIRP) {
        return bp__fft_line_make(line->host, kernels, line->f64, algorithm->inner, BP__FFT_ALONE, &line->first);
    }
    const bp_status status =
        bp__fft_line_make(line->host, kernels, line->f64, algorithm->columns, BP__FFT_IN_LANES, &line->first);
    return status == BP_OK
               ? bp__fft_line_make(line->host, kernels, line->f64, algorithm->rows, BP__FFT_IN_LANES, &line->second)
               : status;
}

static bool make_tables(bp__fft_line *line, bp__fft_use use) {
    switch (line->algorithm.way) {
    case BP__FFT_SPLIT:
        return split_table(line);
    case BP__FFT_CHIRP:
        return chirp_tables(line);
    case BP__FFT_DIRECT:
        break;
    }
    return direct_tables(line, use == BP__FFT_ALONE);
}

bp_status bp__fft_line_make(const bp_host *host, const bp__fft_kernels *const *kernels, bool f64, int64_t n,
                            bp__fft_use use, bp__fft_line **line) {
    static const char failure[] = "no memory for the tables of a transform of %lld elements";
    bp__fft_line *made = host->allocate(sizeof *made);
    if (!made) {
        return host->fail(BP_E_NO_MEMORY, failure, (long long)n);
    }
    *made =
        (bp__fft_line){.host = host, .algorithm = bp__fft_algorithm_of(kernels, n), .f64 = f64, .pair = f64 ? 16 : 8};
    if (use == BP__FFT_IN_LANES) {
        made->algorithm.way = BP__FFT_DIRECT;
    }
    bp_status status = make_sublines(kernels, made);
    if (status == BP_OK && !make_tables(made, use)) {
        status = host->fail(BP_E_NO_MEMORY, failure, (long long)n);
    }
    if (status != BP_OK) {
        bp__fft_line_free(made);
        return status;
    }
    *line = made;
    return BP_OK;
}

void bp__fft_line_free(bp__fft_line *line) {
    if (!line) {
        return;
    }
    for (int i = 0; i < line->count; i++) {
        line->host->release((void *)(uintptr_t)line->pass[i].twiddle);
        line->host->release((void *)(uintptr_t)line->pass[i].roots);
    }
    line->host->release(line->first_twiddles);
    line->host->release(line->twiddle);
    line->host->release(line->spectrum);
    bp__fft_line_free(line->first);
    bp__fft_line_free(line->second);
    line->host->release(line);
}
