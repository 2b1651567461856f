/* bounds_lapack.c - checks whether LAPACK's routines access memory near their operands.
 *
 * Each array argument lies between pages that cannot be accessed, at their end and then at their start, in sizes around
 * the lengths of vectors and in one that is computed by blocks. A write there, and a read far away, is a fault. A read
 * in the next page, on which no result depends, is a property of the library in this type: the lapack provider then
 * gives it copies with a page of their own on each side. The routines are those that the provider calls.
 *
 * A table has the arguments of each routine, a character for each:
 * - 0 1 2 3: options, by their position in a variant
 * - m n k j: sizes; j is the smaller one of m and n
 * - a h H g: matrices: general, m x n; Hermitian and positive definite, n x n; Hermitian with diagonal blocks of 2x2,
 *   n x n; positive definite, of the order that trsm needs
 * - b x: right sides: m x k; max(m, n) x k
 * - u v e: vectors: m x m or m x j; n x n or j x n; n x n
 * - d: leading dimension of the matrix before it
 * - s t y: j reals; j elements; m reals
 * - p o z: integers: pivots; pivots of blocks of 2x2; n zeros
 * - w r q, W R Q: workspace of elements, reals, integers; their sizes
 * - c f l i: a tolerance; a factor of one; a matrix that is not referenced; an integer for a result
 */
#include "registry/probe/checks.h"
#include "registry/probe/guards.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ARGUMENTS = 22, REGIONS = 12, REGION = 6 << 20, LETTERS = 5 };

typedef struct routine {
    int check;
    const char *stem;
    bool square;          /* m and n are equal */
    bool early;           /* the last shape is left out: a smaller one has blocks, or another routine has the same */
    const char *variants; /* the options of each, separated by spaces */
    const char *of_real, *of_complex;
} routine;

static const routine routines[] = {
    {BP_CHECK_LU, "getrf", false, false, "-", "mnadpi", "mnadpi"},
    {BP_CHECK_LU, "getri", true, false, "-", "nhdpwWi", "nhdpwWi"},
    {BP_CHECK_LU, "getrs", true, false, "N T C", "0nkhdpbdi", "0nkhdpbdi"},
    {BP_CHECK_LU, "lange", false, false, "F O I", "0mnady", "0mnady"},
    {BP_CHECK_CHOLESKY, "potrf", true, false, "L U", "0nhdi", "0nhdi"},
    {BP_CHECK_CHOLESKY, "potrs", true, false, "L U", "0nkhdbdi", "0nkhdbdi"},
    {BP_CHECK_CHOLESKY, "potri", true, false, "L U", "0nhdi", "0nhdi"},
    {BP_CHECK_CHOLESKY, "sytrf", true, false, "L", "0nHdowWi", "0nHdowWi"},
    {BP_CHECK_CHOLESKY, "sytrs", true, false, "L", "0nkHdobdi", "0nkHdobdi"},
    {BP_CHECK_CHOLESKY, "hetrf", true, false, "L", NULL, "0nHdowWi"},
    {BP_CHECK_CHOLESKY, "hetrs", true, false, "L", NULL, "0nkHdobdi"},
    {BP_CHECK_QR, "geqrf", false, false, "-", "mnadtwWi", "mnadtwWi"},
    {BP_CHECK_QR, "orgqr", false, false, "-", "mjjadtwWi", NULL},
    {BP_CHECK_QR, "ungqr", false, false, "-", NULL, "mjjadtwWi"},
    {BP_CHECK_EIGH, "syevd", true, true, "VL VU NL NU", "01nhdswWqQi", NULL},
    {BP_CHECK_EIGH, "heevd", true, true, "VL VU NL NU", NULL, "01nhdswWrRqQi"},
    {BP_CHECK_EIG, "geev", true, false, "NV NN", "01nhdssldedwWi", "01nhdtldedwWri"},
    {BP_CHECK_SVD, "gesdd", false, false, "S A N", "0mnadsudvdwWqi", "0mnadsudvdwWrqi"},
    {BP_CHECK_LSTSQ, "gels", false, false, "N", "0mnkadxdwWi", "0mnkadxdwWi"},
    {BP_CHECK_LSTSQ, "gelsy", false, false, "-", "mnkadxdzciwWi", "mnkadxdzciwWri"},
    {BP_CHECK_LSTSQ, "gelsd", false, true, "-", "mnkadxdsciwWqi", "mnkadxdsciwWrqi"},
    {BP_CHECK_LSTSQ, "gelss", false, true, "-", "mnkadxdsciwWi", "mnkadxdsciwWri"},
    {BP_CHECK_TRIANGULAR, "trsm", false, false, "LLNN LUTN LLTU LUNN LLCN RLNN RUTN RUNU RLCN", "0123mkfgdbd",
     "0123mkfgdbd"},
};

/* Workspaces: as large as the routine asks for; or enough for every one, because some libraries ask for too little. */
typedef enum work_size { ASKS, ASKED_FOR, ENOUGH } work_size;

/* One call. */
typedef struct trial_call {
    trial *t;
    const routine *what;
    const char *arguments;
    char letters[LETTERS];
    int64_t m, n, k, gap; /* gap: between the columns of each matrix */
    bool at_end;
    work_size work;
    int64_t asked[3]; /* sizes of workspaces of elements, reals and integers */
    /* The arguments themselves. */
    int64_t integers[ARGUMENTS];
    double numbers[2], answers[3][2], unused[2];
    void *argument[ARGUMENTS];
    int regions; /* in use */
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

static size_t bytes_of(const trial_call *c, bool real) {
    const number_type *type = c->t->type;
    return (size_t)(type->is_double ? 8 : 4) * (type->is_complex && !real ? 2 : 1);
}

static char *new_array(trial_call *c, int64_t count, size_t size) {
    return guards_place(c->regions++, (size_t)count * size, c->at_end);
}

static char *new_result(trial_call *c, int64_t count, bool real) {
    char *at = new_array(c, count, bytes_of(c, real));
    c->result[c->regions - 1].at = at;
    c->result[c->regions - 1].count = count;
    c->result[c->regions - 1].real = real;
    return at;
}

typedef enum matrix_kind { ANY, DEFINITE, INDEFINITE } matrix_kind; /* all but the first are Hermitian */

/* Returns whether an element is large: on the diagonal, or next to it in every second row. */
static bool is_large(const trial_call *c, int64_t i, int64_t j, matrix_kind kind) {
    const bool alone = i == j && i == c->n - 1 && c->n % 2;
    return kind == INDEFINITE ? alone || (i / 2 == j / 2 && i != j) : i == j;
}

/* Small numbers, and large ones whose sum is larger than that of the others in a Hermitian matrix. */
static number element(const trial_call *c, int64_t i, int64_t j, matrix_kind kind) {
    const bool hermitian = kind != ANY;
    const int64_t low = hermitian ? smaller(i, j) : i, high = hermitian ? larger(i, j) : j;
    const uint32_t mixed = ((uint32_t)low * 2654435761u) ^ ((uint32_t)(high + 1) * 2246822519u);
    const double re = (double)(mixed >> 8 & 1023) / 8192 - 0x1p-4, im = (double)(mixed >> 20 & 1023) / 8192 - 0x1p-4;
    const double sign = hermitian && i < j ? -1 : 1;
    return is_large(c, i, j, kind) ? 4 : i == j ? 0 : make_number(re, c->t->type->is_complex ? sign * im : 0);
}

static void *new_matrix(trial_call *c, int64_t rows, int64_t columns, matrix_kind kind, int64_t *ld) {
    *ld = rows + c->gap;
    char *at = new_result(c, (columns - 1) * *ld + rows, false);
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t i = 0; i < *ld && (i < rows || j < columns - 1); i++) {
            put(c->t->type, at, i + j * *ld, i < rows ? element(c, i, j, kind) : 0);
        }
    }
    return at;
}

static void *new_vector(trial_call *c, int64_t count, bool real) {
    const number_type type = {c->t->type->letter, c->t->type->is_double, c->t->type->is_complex && !real};
    char *at = new_result(c, count, real);
    for (int64_t i = 0; i < count; i++) {
        put(&type, at, i, 1);
    }
    return at;
}

/* Integers of the library's width: 1, 2, 3 and so on; or -2, -2, -4, -4 and so on, and the last one of an odd count is
 * as before; or zeros. */
static void *new_integers(trial_call *c, int64_t count, char code) {
    const bool wide = c->t->library->int_bits == 64;
    char *at = new_array(c, count, wide ? 8 : 4);
    for (int64_t i = 0; i < count; i++) {
        const bool paired = code == 'o' && (i % 2 || i + 1 < count);
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
static int64_t enough(const trial_call *c) {
    const int64_t most = larger(c->m, c->n);
    return 7 * most * most + 128 * (c->m + c->n + c->k) + 1024;
}

static int64_t work_count(const trial_call *c, int which) {
    return c->work == ASKED_FOR && c->asked[which] > 0 ? c->asked[which] : enough(c);
}

static void *new_work(trial_call *c, char code) {
    const int which = work_of(code);
    if (c->work == ASKS) {
        return c->answers[which];
    }
    const size_t size = which == INTEGERS_WORK ? (size_t)c->t->library->int_bits / 8 : bytes_of(c, which == REALS_WORK);
    return new_array(c, work_count(c, which), size);
}

static void read_answers(trial_call *c) {
    const number_type real = {c->t->type->letter, c->t->type->is_double, false};
    int64_t integers = 0;
    memcpy(&integers, c->answers[INTEGERS_WORK], (size_t)c->t->library->int_bits / 8);
    for (int which = 0; which < INTEGERS_WORK; which++) {
        const double asked = creal(get(&real, c->answers[which], 0));
        c->asked[which] = asked >= 1 && asked < (double)enough(c) ? (int64_t)ceil(asked) : 0;
    }
    c->asked[INTEGERS_WORK] = integers >= 1 && integers < enough(c) ? integers : 0;
}

/* ---- Calls ---- */

static int64_t *new_integer(trial_call *c, int at, int64_t value) {
    c->integers[at] = value;
    return &c->integers[at];
}

static void *new_matrix_of(trial_call *c, char code, int64_t *ld) {
    const int64_t least = smaller(c->m, c->n);
    switch (code) {
    case 'a':
        return new_matrix(c, c->m, c->n, ANY, ld);
    case 'h':
        return new_matrix(c, c->n, c->n, DEFINITE, ld);
    case 'H':
        return new_matrix(c, c->n, c->n, INDEFINITE, ld);
    case 'g':
        return c->letters[0] == 'L' ? new_matrix(c, c->m, c->m, DEFINITE, ld) : new_matrix(c, c->k, c->k, DEFINITE, ld);
    case 'b':
        return new_matrix(c, c->m, c->k, ANY, ld);
    case 'x':
        return new_matrix(c, larger(c->m, c->n), c->k, ANY, ld);
    case 'u':
        return new_matrix(c, c->m, c->letters[0] == 'A' ? c->m : least, ANY, ld);
    case 'v':
        return new_matrix(c, c->letters[0] == 'A' ? c->n : least, c->n, ANY, ld);
    case 'e':
        return new_matrix(c, c->n, c->n, ANY, ld);
    default:
        *ld = 1;
        return c->unused;
    }
}

static void *new_number(trial_call *c, char code) {
    const number one = code == 'f' ? 1 : c->t->type->is_double ? 0x1p-52 : 0x1p-23;
    put(c->t->type, c->numbers, 0, one);
    return c->numbers;
}

static void *new_argument(trial_call *c, int at, int64_t *ld) {
    const char code = c->arguments[at];
    switch (code) {
    case '0':
    case '1':
    case '2':
    case '3':
        return &c->letters[code - '0'];
    case 'm':
        return new_integer(c, at, c->m);
    case 'n':
        return new_integer(c, at, c->n);
    case 'k':
        return new_integer(c, at, c->k);
    case 'j':
        return new_integer(c, at, smaller(c->m, c->n));
    case 'd':
        return new_integer(c, at, *ld);
    case 'i':
        return new_integer(c, at, 0);
    case 's':
    case 't':
        return new_vector(c, smaller(c->m, c->n), code == 's');
    case 'y':
        return new_vector(c, c->m, true);
    case 'p':
    case 'o':
    case 'z':
        return new_integers(c, code == 'p' ? smaller(c->m, c->n) : c->n, code);
    case 'w':
    case 'r':
    case 'q':
        return new_work(c, code);
    case 'W':
    case 'R':
    case 'Q':
        return new_integer(c, at, c->work == ASKS ? -1 : work_count(c, work_of(code)));
    case 'c':
    case 'f':
        return new_number(c, code);
    default:
        return new_matrix_of(c, code, ld);
    }
}

/* Every argument is an address, or the length of an option behind the others. A routine does not see the arguments that
 * it does not have. */
typedef void any_routine(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                         void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);

static void make_call(trial_call *c, void *address) {
    const int count = (int)strlen(c->arguments);
    void **a = c->argument;
    int64_t ld = 1;
    c->regions = 0;
    memset(c->result, 0, sizeof c->result);
    for (int i = 0; i < ARGUMENTS; i++) {
        a[i] = i < count ? new_argument(c, i, &ld) : (void *)(uintptr_t)1;
    }
    ((any_routine *)address)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                             a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21]);
}

/* Returns info: the last argument of all routines but products and norms. */
static int64_t info_of(const trial_call *c) {
    const size_t last = strlen(c->arguments) - 1;
    return c->arguments[last] != 'i'       ? 0
           : c->t->library->int_bits == 64 ? c->integers[last]
                                           : (int32_t)(uint32_t)(uint64_t)c->integers[last];
}

static bool results_are_finite(const trial_call *c) {
    for (int i = 0; i < c->regions; i++) {
        const number_type type = {c->t->type->letter, c->t->type->is_double,
                                  c->t->type->is_complex && !c->result[i].real};
        for (int64_t at = 0; at < c->result[i].count; at++) {
            const number x = get(&type, c->result[i].at, at);
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
    snprintf(line, sizeof line, "%s: %s (%s%s%dx%d, %d right sides)", text, c->t->state->routine,
             c->letters[0] == '-' ? "" : c->letters, c->letters[0] == '-' ? "" : ", ", (int)c->m, (int)c->n, (int)c->k);
    return line;
}

static const char *judge(trial_call *c, guard_access access) {
    progress *state = c->t->state;
    const unsigned type = 1u << (c->t->type - number_types);
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
    c->at_end = at_end;
    memset(c->asked, 0, sizeof c->asked);
    if (strchr(c->arguments, 'W')) {
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

/* With `last` alone, of eigenvalues and singular values without vectors, which take less time. */
static const char *try_variants(trial_call *c, void *address, bool last) {
    const char *wrong = NULL;
    for (const char *variant = c->what->variants; *variant && !wrong;) {
        const size_t length = strcspn(variant, " "), next = length + (variant[length] == ' ');
        if (!last || !variant[next]) {
            snprintf(c->letters, sizeof c->letters, "%.*s", (int)length, variant);
            wrong = try_place(c, address, true);
            wrong = wrong ? wrong : try_place(c, address, false);
        }
        variant += next;
    }
    return wrong;
}

/* The last two take most of the time. In the last one LAPACK computes orthogonal factors by blocks (beyond 128), and
 * reductions to bidiagonal and Hessenberg matrices, which gesdd and geev stand for. */
static const int64_t shapes[][2] = {{1, 1},  {2, 1},  {3, 2},   {2, 5},   {5, 5},   {7, 4},   {8, 8},   {9, 7},
                                    {7, 13}, {13, 9}, {16, 16}, {17, 15}, {15, 33}, {34, 31}, {66, 33}, {131, 131}};
enum { SHAPES = sizeof shapes / sizeof *shapes, LARGE = 2 };

static const char *try_shapes(trial_call *c, void *address) {
    const char *wrong = NULL;
    for (int i = 0; i < (c->what->early ? SHAPES - 1 : SHAPES) && !wrong; i++) {
        c->m = shapes[i][0];
        c->n = c->what->square ? c->m : shapes[i][1];
        c->k = 1 + i % 3;
        c->gap = i % 4 == 3 ? 3 : 0;
        wrong = try_variants(c, address, i >= SHAPES - LARGE);
    }
    return wrong;
}

const char *check_lapack_memory(trial *t, int check) {
    static trial_call c;
    const char *wrong = NULL;
    const bool open = guards_open(REGIONS, REGION, t->type);
    for (size_t i = 0; i < sizeof routines / sizeof *routines && open && !wrong; i++) {
        const routine *what = &routines[i];
        const char *arguments = t->type->is_complex ? what->of_complex : what->of_real;
        void *address = what->check == check && arguments ? routine_of(t, what->stem) : NULL;
        if (address) {
            c = (trial_call){.t = t, .what = what, .arguments = arguments};
            wrong = try_shapes(&c, address);
        }
    }
    guards_close();
    return open ? wrong : "not tested: no memory";
}
