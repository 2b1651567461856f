/* bounds_lapack.c - checks whether LAPACK's routines access memory near their operands.
 *
 * Each array argument lies between pages that cannot be accessed, at their end and then at their start, in sizes around
 * the lengths of vectors and in one that is computed by blocks. A write there, and a read far away, is a fault. A read
 * in the next page, on which no result depends, is a property of the library in this type: the lapack provider then
 * gives it copies with a page of their own on each side. The routines are those that the provider calls.
 */
#include "probe/bounds_call.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REGIONS = 12, REGION = 6 << 20 };

/* The arguments of a routine, besides the arguments of bounds_call.h:
 *     j         the smaller one of m and n
 *     a h H     matrices: general, m x n; Hermitian and positive definite, n x n; Hermitian with diagonal blocks of 2x2
 *     g         a positive definite matrix of the order that trsm needs
 *     b x       right sides: m x k; max(m, n) x k
 *     u v e     vectors: m x m or m x j; n x n or j x n; n x n
 *     s t y o   j reals; j elements; m reals; 2 n reals
 *     p P z     integers: pivots; pivots of blocks of 2x2; n zeros
 *     w r q     workspace: elements, reals, integers
 *     W R Q     their sizes
 *     c f l i   a tolerance; a factor of one; a matrix that is not referenced; an integer for a result */
typedef struct routine {
    int check;
    const char *stem;
    bool square;  /* m and n are equal */
    int64_t last; /* the order of the last shape, which LAPACK computes by blocks; 0: an earlier one has blocks */
    const char *variants; /* the options of each, separated by spaces */
    const char *of_real, *of_complex;
} routine;

/* Netlib's LAPACK computes LU and Cholesky factors by blocks beyond an order of 64, tridiagonal reductions beyond 32,
 * and orthogonal factors and the reductions of gesdd and geev beyond 128. gels has the factors of geqrf. */
static const routine routines[] = {
    {BP_CHECK_LU, "getrf", false, 70, "-", "mnadpi", "mnadpi"},
    {BP_CHECK_LU, "getri", true, 0, "-", "nhdpwWi", "nhdpwWi"},
    {BP_CHECK_LU, "getrs", true, 0, "N T C", "0nkhdpbdi", "0nkhdpbdi"},
    {BP_CHECK_LU, "lange", false, 0, "F O I", "0mnady", "0mnady"},
    {BP_CHECK_CHOLESKY, "potrf", true, 0, "L U", "0nhdi", "0nhdi"},
    {BP_CHECK_CHOLESKY, "potrs", true, 0, "L U", "0nkhdbdi", "0nkhdbdi"},
    {BP_CHECK_CHOLESKY, "potri", true, 0, "L U", "0nhdi", "0nhdi"},
    {BP_CHECK_CHOLESKY, "sytrf", true, 70, "L", "0nHdPwWi", "0nHdPwWi"},
    {BP_CHECK_CHOLESKY, "sytrs", true, 0, "L", "0nkHdPbdi", "0nkHdPbdi"},
    {BP_CHECK_CHOLESKY, "hetrf", true, 70, "L", NULL, "0nHdPwWi"},
    {BP_CHECK_CHOLESKY, "hetrs", true, 0, "L", NULL, "0nkHdPbdi"},
    {BP_CHECK_QR, "geqrf", false, 131, "-", "mnadtwWi", "mnadtwWi"},
    {BP_CHECK_QR, "orgqr", false, 131, "-", "mjjadtwWi", NULL},
    {BP_CHECK_QR, "ungqr", false, 131, "-", NULL, "mjjadtwWi"},
    {BP_CHECK_EIGH, "syevd", true, 0, "VL VU NL NU", "01nhdswWqQi", NULL},
    {BP_CHECK_EIGH, "heevd", true, 0, "VL VU NL NU", NULL, "01nhdswWrRqQi"},
    {BP_CHECK_EIG, "geev", true, 131, "NV NN", "01nhdssldedwWi", "01nhdtldedwWoi"},
    {BP_CHECK_SVD, "gesdd", false, 131, "S A N", "0mnadsudvdwWqi", "0mnadsudvdwWrqi"},
    {BP_CHECK_LSTSQ, "gels", false, 0, "N", "0mnkadxdwWi", "0mnkadxdwWi"},
    {BP_CHECK_LSTSQ, "gelsy", false, 131, "-", "mnkadxdzciwWi", "mnkadxdzciwWri"},
    {BP_CHECK_LSTSQ, "gelsd", false, 0, "-", "mnkadxdsciwWqi", "mnkadxdsciwWrqi"},
    {BP_CHECK_LSTSQ, "gelss", false, 0, "-", "mnkadxdsciwWi", "mnkadxdsciwWri"},
    {BP_CHECK_TRIANGULAR, "trsm", false, 0, "LLNN LUTN LLTU LUNN LLCN RLNN RUTN RUNU RLCN", "0123mkfgdbd",
     "0123mkfgdbd"},
};

/* Workspaces: as large as the routine asks for; or enough for every one, because some libraries ask for too little. */
typedef enum work_size { ASKS, ASKED_FOR, ENOUGH } work_size;

/* One call. */
typedef struct trial_call {
    bounds_call call;
    const routine *what;
    work_size work;
    int64_t asked[3]; /* sizes of workspaces of elements, reals and integers */
    double numbers[2], answers[3][2], unused[2];
    struct {
        const char *at;
        int64_t count; /* elements, or reals; 0 if its contents are not looked at */
        bool real;
    } result[REGIONS];
} trial_call;

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- Arrays ---- */

static char *new_result(trial_call *c, int64_t count, bool real) {
    const int region = c->call.regions;
    char *at = bounds_array(&c->call, count, bounds_size(&c->call, real));
    c->result[region].at = at;
    c->result[region].count = count;
    c->result[region].real = real;
    return at;
}

typedef enum matrix_kind { ANY, DEFINITE, INDEFINITE, KINDS } matrix_kind; /* all but the first are Hermitian */

/* Returns whether an element is large: on the diagonal, or next to it in every second row. */
static bool is_large(int64_t i, int64_t j, matrix_kind kind) {
    return kind == INDEFINITE ? i / 2 == j / 2 && i != j : i == j;
}

/* Small numbers, and large ones whose sum is larger than the sum of the others in a Hermitian matrix. Outside of the
 * first rows and columns a matrix is 4 to rounding, so that eigenvalues and singular values converge at once: large
 * matrices are there for the kernels on long vectors and on blocks. */
static number element(const number_type *type, int64_t i, int64_t j, matrix_kind kind) {
    enum { ORDINARY = 34 };
    const bool hermitian = kind != ANY;
    const int64_t low = hermitian ? smaller(i, j) : i, high = hermitian ? larger(i, j) : j;
    const uint32_t mixed = ((uint32_t)low * 2654435761u) ^ ((uint32_t)(high + 1) * 2246822519u);
    const double re = (double)(mixed >> 8 & 1023) / 8192 - 0x1p-4, im = (double)(mixed >> 20 & 1023) / 8192 - 0x1p-4;
    const double sign = hermitian && i < j ? -1 : 1;
    const double size = larger(i, j) < ORDINARY ? 1 : type->is_double ? 0x1p-60 : 0x1p-30;
    return is_large(i, j, kind) ? 4 : i == j ? 0 : make_number(size * re, type->is_complex ? size * sign * im : 0);
}

enum { MOST_ROWS = 131, MOST_ELEMENTS = MOST_ROWS * MOST_ROWS };

/* Returns a matrix of MOST_ROWS rows, from which others are copied. */
static const char *pattern_of(const number_type *type, matrix_kind kind) {
    static double patterns[4][KINDS][2 * MOST_ELEMENTS];
    static bool made[4][KINDS];
    const int64_t which = type - number_types;
    double *pattern = patterns[which][kind];
    for (int64_t i = 0; i < MOST_ELEMENTS && !made[which][kind]; i++) {
        put_number(type, pattern, i, element(type, i % MOST_ROWS, i / MOST_ROWS, kind));
    }
    made[which][kind] = true;
    return (const char *)pattern;
}

static void *new_matrix(trial_call *c, int64_t rows, int64_t columns, matrix_kind kind) {
    const size_t size = bounds_size(&c->call, false);
    const char *from = pattern_of(c->call.t->type, kind);
    c->call.ld = rows + c->call.gap;
    char *at = new_result(c, (columns - 1) * c->call.ld + rows, false);
    for (int64_t j = 0; j < columns; j++) {
        char *column = at + (size_t)(j * c->call.ld) * size;
        memcpy(column, from + (size_t)(j * MOST_ROWS) * size, (size_t)rows * size);
        memset(column + (size_t)rows * size, 0, j < columns - 1 ? (size_t)c->call.gap * size : 0);
    }
    if (kind == INDEFINITE && rows % 2) { /* the last row is a block of its own */
        put_number(c->call.t->type, at, (rows - 1) * (c->call.ld + 1), 4);
    }
    return at;
}

static void *new_vector(trial_call *c, int64_t count, bool real) {
    const number_type type = {c->call.t->type->letter, c->call.t->type->is_double,
                              c->call.t->type->is_complex && !real};
    char *at = new_result(c, count, real);
    for (int64_t i = 0; i < count; i++) {
        put_number(&type, at, i, 1);
    }
    return at;
}

/* Integers of the library's width: 1, 2, 3 and so on; or -2, -2, -4, -4 and so on, and the last one of an odd count is
 * as before; or zeros. */
static void *new_integers(trial_call *c, int64_t count, char code) {
    const bool wide = c->call.t->library->int_bits == 64;
    char *at = bounds_array(&c->call, count, wide ? 8 : 4);
    for (int64_t i = 0; i < count; i++) {
        const bool paired = code == 'P' && (i % 2 || i + 1 < count);
        const int64_t value = code == 'z' ? 0 : paired ? -(i / 2 + 1) * 2 : i + 1;
        memcpy(at + (wide ? 8 : 4) * i, &value, wide ? 8 : 4);
    }
    return at;
}

/* ---- Workspaces ---- */

enum { ELEMENTS_WORK, REALS_WORK, INTEGERS_WORK };

static int work_of(char code) {
    return code == 'w' || code == 'W' ? ELEMENTS_WORK : code == 'r' || code == 'R' ? REALS_WORK : INTEGERS_WORK;
}

/* Returns a count that is enough for every routine, by LAPACK's documentation. */
static int64_t enough_work(const trial_call *c) {
    const int64_t most = larger(c->call.m, c->call.n);
    return 7 * most * most + 128 * (c->call.m + c->call.n + c->call.k) + 1024;
}

static int64_t work_count(const trial_call *c, int which) {
    return c->work == ASKED_FOR && c->asked[which] > 0 ? c->asked[which] : enough_work(c);
}

static void *new_work(trial_call *c, char code) {
    const int which = work_of(code);
    if (c->work == ASKS) {
        return c->answers[which];
    }
    const size_t size =
        which == INTEGERS_WORK ? (size_t)c->call.t->library->int_bits / 8 : bounds_size(&c->call, which == REALS_WORK);
    return bounds_array(&c->call, work_count(c, which), size);
}

static void read_answers(trial_call *c) {
    const number_type real = {c->call.t->type->letter, c->call.t->type->is_double, false};
    int64_t integers = 0;
    memcpy(&integers, c->answers[INTEGERS_WORK], (size_t)c->call.t->library->int_bits / 8);
    for (int which = 0; which < INTEGERS_WORK; which++) {
        const double asked = creal(get_number(&real, c->answers[which], 0));
        c->asked[which] = asked >= 1 && asked < (double)enough_work(c) ? (int64_t)ceil(asked) : 0;
    }
    c->asked[INTEGERS_WORK] = integers >= 1 && integers < enough_work(c) ? integers : 0;
}

/* ---- Calls ---- */

static void *new_matrix_of(trial_call *c, char code) {
    const int64_t least = smaller(c->call.m, c->call.n);
    const char first = c->call.letters[0];
    switch (code) {
    case 'a':
        return new_matrix(c, c->call.m, c->call.n, ANY);
    case 'h':
        return new_matrix(c, c->call.n, c->call.n, DEFINITE);
    case 'H':
        return new_matrix(c, c->call.n, c->call.n, INDEFINITE);
    case 'g':
        return first == 'L' ? new_matrix(c, c->call.m, c->call.m, DEFINITE)
                            : new_matrix(c, c->call.k, c->call.k, DEFINITE);
    case 'b':
        return new_matrix(c, c->call.m, c->call.k, ANY);
    case 'x':
        return new_matrix(c, larger(c->call.m, c->call.n), c->call.k, ANY);
    case 'u':
        return new_matrix(c, c->call.m, first == 'A' ? c->call.m : least, ANY);
    case 'v':
        return new_matrix(c, first == 'A' ? c->call.n : least, c->call.n, ANY);
    case 'e':
        return new_matrix(c, c->call.n, c->call.n, ANY);
    default:
        c->call.ld = 1;
        return c->unused;
    }
}

static void *new_number(trial_call *c, char code) {
    const number one = code == 'f' ? 1 : c->call.t->type->is_double ? 0x1p-52 : 0x1p-23;
    put_number(c->call.t->type, c->numbers, 0, one);
    return c->numbers;
}

static void *new_argument(void *user, int at) {
    trial_call *c = user;
    const char code = c->call.arguments[at];
    switch (code) {
    case 'j':
        return bounds_integer(&c->call, at, smaller(c->call.m, c->call.n));
    case 'i':
        return bounds_integer(&c->call, at, 0);
    case 's':
    case 't':
        return new_vector(c, smaller(c->call.m, c->call.n), code == 's');
    case 'y':
        return new_vector(c, c->call.m, true);
    case 'o':
        return new_vector(c, 2 * c->call.n, true);
    case 'p':
    case 'P':
    case 'z':
        return new_integers(c, code == 'p' ? smaller(c->call.m, c->call.n) : c->call.n, code);
    case 'w':
    case 'r':
    case 'q':
        return new_work(c, code);
    case 'W':
    case 'R':
    case 'Q':
        return bounds_integer(&c->call, at, c->work == ASKS ? -1 : work_count(c, work_of(code)));
    case 'c':
    case 'f':
        return new_number(c, code);
    default:
        return new_matrix_of(c, code);
    }
}

static void make_call(trial_call *c, void *address) {
    memset(c->result, 0, sizeof c->result);
    bounds_make_call(&c->call, address, new_argument, c);
}

/* Returns info: the last argument of all routines but products and norms. */
static int64_t info_of(const trial_call *c) {
    const size_t last = strlen(c->call.arguments) - 1;
    return c->call.arguments[last] != 'i'       ? 0
           : c->call.t->library->int_bits == 64 ? c->call.integers[last]
                                                : (int32_t)(uint32_t)(uint64_t)c->call.integers[last];
}

static bool results_are_finite(const trial_call *c) {
    for (int i = 0; i < c->call.regions; i++) {
        const number_type type = {c->call.t->type->letter, c->call.t->type->is_double,
                                  c->call.t->type->is_complex && !c->result[i].real};
        for (int64_t at = 0; at < c->result[i].count; at++) {
            const number x = get_number(&type, c->result[i].at, at);
            if (!isfinite(creal(x)) || !isfinite(cimag(x))) {
                return false;
            }
        }
    }
    return true;
}

/* ---- Judgement ---- */

static const char *describe(const trial_call *c, const char *text) {
    static char line[160];
    const char first = c->call.letters[0];
    snprintf(line, sizeof line, "%s: %s (%s%s%dx%d, %d right sides)", text, c->call.t->state->routine,
             first == '-' ? "" : c->call.letters, first == '-' ? "" : ", ", (int)c->call.m, (int)c->call.n,
             (int)c->call.k);
    return line;
}

static const char *judge(trial_call *c, guard_access access) {
    progress *state = c->call.t->state;
    const unsigned type = 1u << (c->call.t->type - number_types);
    if (access > GUARD_READ_NEAR) {
        return describe(c, access == GUARD_WRITTEN ? "writes memory outside of its operands in probe"
                                                   : "reads memory far outside of its operands in probe");
    }
    if (access == GUARD_READ_NEAR && !results_are_finite(c)) {
        return describe(c, "its results depend on memory outside of its operands in probe");
    }
    if (access == GUARD_READ_NEAR && !(state->overreads & type)) {
        state->overreads |= type;
        report("overreads", "%u", state->overreads);
        report_how("overreads", describe(c, "reads memory next to its operands in probe"));
    }
    return NULL;
}

/* Calls the routine with operands at one end of their regions. */
static const char *try_place(trial_call *c, void *address, bool at_end) {
    const char *wrong = NULL;
    c->call.at_end = at_end;
    memset(c->asked, 0, sizeof c->asked);
    if (strchr(c->call.arguments, 'W')) {
        c->work = ASKS;
        memset(c->answers, 0, sizeof c->answers);
        make_call(c, address);
        guards_accessed();
        read_answers(c);
    }
    for (c->work = ASKED_FOR; c->work <= ENOUGH; c->work++) {
        make_call(c, address);
        wrong = judge(c, guards_accessed());
        if (!wrong && info_of(c) >= 0) {
            break;
        }
    }
    return wrong;
}

/* In a large shape, only the last variant, of eigenvalues and singular values without vectors, which takes less time,
 * and only the ends of operands: what blocks and long vectors have in front of them is looked at in bounds_blas.c. */
static const char *try_variants(trial_call *c, void *address, bool large) {
    const char *wrong = NULL;
    for (const char *rest = c->what->variants; *rest && !wrong;) {
        rest = bounds_next_variant(&c->call, rest);
        if (!large || !*rest) {
            wrong = try_place(c, address, true);
            wrong = wrong || large ? wrong : try_place(c, address, false);
        }
    }
    return wrong;
}

static const int64_t shapes[][2] = {{1, 1},  {2, 1},  {3, 2},   {2, 5},   {5, 5},   {7, 4},   {8, 8},  {9, 7},
                                    {7, 13}, {13, 9}, {16, 16}, {17, 15}, {15, 33}, {34, 31}, {66, 33}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const char *try_shapes(trial_call *c, void *address) {
    const char *wrong = NULL;
    for (int i = 0; i <= SHAPES && !wrong; i++) {
        const bool last = i == SHAPES;
        c->call.m = last ? c->what->last : shapes[i][0];
        c->call.n = last || c->what->square ? c->call.m : shapes[i][1];
        c->call.k = 1 + i % 3;
        c->call.gap = i % 4 == 3 ? 3 : 0;
        wrong = c->call.m > 0 ? try_variants(c, address, i >= SHAPES - 1) : NULL;
    }
    return wrong;
}

const char *check_lapack_memory(trial *t, int check) {
    static trial_call c;
    const char *wrong = NULL;
    const bool open = guards_begin(REGIONS, REGION, t->type);
    for (size_t i = 0; i < sizeof routines / sizeof *routines && open && !wrong; i++) {
        const routine *what = &routines[i];
        const char *arguments = t->type->is_complex ? what->of_complex : what->of_real;
        void *address = what->check == check && arguments ? routine_of(t, what->stem) : NULL;
        if (address) {
            c = (trial_call){.call = {.t = t, .arguments = arguments}, .what = what};
            wrong = try_shapes(&c, address);
        }
    }
    guards_end();
    return open ? wrong : "not tested: no memory";
}
