/* bounds_blas.c - checks that the routines of BLAS other than gemv and gemm access their operands only.
 *
 * Programs call them, and drop-in libraries and `launch` hand these calls on (src/dropin/names_blas.h). Each array lies
 * between pages that cannot be accessed, at their end and then at their start. Sizes are around the lengths of vectors,
 * and beyond those from which on kernels have blocks. A routine that accesses more is not called with the memory of a
 * program if another library has it.
 */
#include "probe/bounds_call.h"

#include <stdio.h>
#include <string.h>

enum { REGIONS = 3, REGION = 5 << 16 };

typedef enum shape_kind { VECTORS, PLANE, SQUARE, BAND, BLOCKS } shape_kind;

/* In names, ? stands for the letter of the type, and . for the letter of its precision. Letters of arguments, besides
 * the letters of bounds_call.h:
 *     f e r z   factors: alpha and beta; alpha and beta that are real
 *     x y       vectors: n elements; m elements. With an option T or C of a plane's first one, the other way round
 *     i         increment of the vector before it
 *     a t s c   matrices: m x n; n x n; of the order that a side has; m x n
 *     q         n x k, or k x n if the second option is a transposition
 *     g h p     band of m x n; triangular band; packed triangle
 *     l u       the widths of a band
 *     o         the five parameters of rotm
 *     *         the address for a complex result, in libraries that take one */
typedef struct routine {
    const char *of_real, *of_complex, *arguments;
    shape_kind shape;
    const char *variants; /* the options of each, separated by spaces */
} routine;

#define TRIANGULAR "LNN UNU LTU UTN LCN UCU"
#define SIDES_OF_TRIANGLES "LLNN LUTN LUCU RUNN RLTU RLCN"

static const routine routines[] = {
    {"?dot", NULL, "nxixi", VECTORS, "-"},
    {"d?dot", NULL, "nxixi", VECTORS, "-"},
    {"?dsdot", NULL, "nfxixi", VECTORS, "-"},
    {NULL, "?dotu", "*nxixi", VECTORS, "-"},
    {NULL, "?dotc", "*nxixi", VECTORS, "-"},
    {"?axpy", "?axpy", "nfxixi", VECTORS, "-"},
    {"?copy", "?copy", "nxixi", VECTORS, "-"},
    {"?swap", "?swap", "nxixi", VECTORS, "-"},
    {"?scal", "?scal", "nfxi", VECTORS, "-"},
    {NULL, "?.scal", "nrxi", VECTORS, "-"},
    {"?nrm2", ".?nrm2", "nxi", VECTORS, "-"},
    {"?asum", ".?asum", "nxi", VECTORS, "-"},
    {"i?amax", "i?amax", "nxi", VECTORS, "-"},
    {"?rot", "?.rot", "nxixirz", VECTORS, "-"},
    {"?rotm", NULL, "nxixio", VECTORS, "-"},
    {"?ger", "?geru", "mnfyixiad", PLANE, "-"},
    {NULL, "?gerc", "mnfyixiad", PLANE, "-"},
    {"?gbmv", "?gbmv", "0mnlufgdxieyi", BAND, "N T C"},
    {"?symv", "?hemv", "0nftdxiexi", SQUARE, "L U"},
    {"?sbmv", "?hbmv", "0nkfhdxiexi", BAND, "L U"},
    {"?spmv", "?hpmv", "0nfpxiexi", SQUARE, "L U"},
    {"?syr", NULL, "0nfxitd", SQUARE, "L U"},
    {NULL, "?her", "0nrxitd", SQUARE, "L U"},
    {"?spr", NULL, "0nfxip", SQUARE, "L U"},
    {NULL, "?hpr", "0nrxip", SQUARE, "L U"},
    {"?syr2", "?her2", "0nfxixitd", SQUARE, "L U"},
    {"?spr2", "?hpr2", "0nfxixip", SQUARE, "L U"},
    {"?trmv", "?trmv", "012ntdxi", SQUARE, TRIANGULAR},
    {"?trsv", "?trsv", "012ntdxi", SQUARE, TRIANGULAR},
    {"?tpmv", "?tpmv", "012npxi", SQUARE, TRIANGULAR},
    {"?tpsv", "?tpsv", "012npxi", SQUARE, TRIANGULAR},
    {"?tbmv", "?tbmv", "012nkhdxi", BAND, TRIANGULAR},
    {"?tbsv", "?tbsv", "012nkhdxi", BAND, TRIANGULAR},
    {"?symm", "?symm", "01mnfsdcdecd", BLOCKS, "LL LU RL RU"},
    {NULL, "?hemm", "01mnfsdcdecd", BLOCKS, "LL LU RL RU"},
    {"?syrk", "?syrk", "01nkfqdetd", BLOCKS, "LN UN LT UT"},
    {NULL, "?herk", "01nkrqdztd", BLOCKS, "LN UN LC UC"},
    {"?syr2k", "?syr2k", "01nkfqdqdetd", BLOCKS, "LN UN LT UT"},
    {NULL, "?her2k", "01nkfqdqdztd", BLOCKS, "LN UN LC UC"},
    {"?trmm", "?trmm", "0123mnfsdcd", BLOCKS, SIDES_OF_TRIANGLES},
    {"?trsm", "?trsm", "0123mnfsdcd", BLOCKS, SIDES_OF_TRIANGLES},
};
enum { ROUTINES = sizeof routines / sizeof *routines };

/* One call. */
typedef struct blas_call {
    bounds_call call;
    const routine *what;
    void *address;
    int64_t increment[2];
    int vectors, factors;
    bool beta;
    double numbers[2][2], rotation[5], result[2];
} blas_call;

/* ---- Arguments ---- */

static char *new_array(blas_call *c, int64_t count) {
    return bounds_array(&c->call, count, bounds_size(&c->call, false));
}

/* Ones, which a call may change. */
enum { MOST_ONES = 3 * 515 };
static double ones[2 * MOST_ONES];

static void *new_ones(blas_call *c, int64_t count) {
    return memcpy(new_array(c, count), ones, (size_t)count * bounds_size(&c->call, false));
}

static void *new_matrix(blas_call *c, int64_t rows, int64_t columns, bool changes) {
    c->call.ld = rows + c->call.gap;
    const int64_t count = (columns - 1) * c->call.ld + rows;
    return changes ? new_ones(c, count) : new_array(c, count);
}

static void *new_vector(blas_call *c, int64_t length) {
    const int64_t step = c->increment[c->vectors++];
    return new_ones(c, (length - 1) * (step < 0 ? -step : step) + 1);
}

static void *new_factor(blas_call *c, double value, bool is_real) {
    const number_type type = {c->call.t->type->letter, c->call.t->type->is_double,
                              c->call.t->type->is_complex && !is_real};
    double *at = c->numbers[c->factors++];
    put_number(&type, at, 0, value);
    return at;
}

/* Parameters with a flag of -1, after which all elements of the matrix are given. */
static void *new_rotation(blas_call *c) {
    static const double parameters[] = {-1, 1, 0.5, -0.5, 1};
    for (int i = 0; i < 5; i++) {
        put_number(c->call.t->type, c->rotation, i, parameters[i]);
    }
    return c->rotation;
}

static void *new_array_of(blas_call *c, char code) {
    const char *o = c->call.letters;
    const bool swaps = c->what->shape == BAND && (o[0] == 'T' || o[0] == 'C');
    switch (code) {
    case 'x':
        return new_vector(c, swaps ? c->call.m : c->call.n);
    case 'y':
        return new_vector(c, swaps ? c->call.n : c->call.m);
    case 't':
        return new_matrix(c, c->call.n, c->call.n, false);
    case 's':
        return new_matrix(c, o[0] == 'L' ? c->call.m : c->call.n, o[0] == 'L' ? c->call.m : c->call.n, false);
    case 'q':
        return new_matrix(c, o[1] == 'N' ? c->call.n : c->call.k, o[1] == 'N' ? c->call.k : c->call.n, false);
    case 'g':
        return new_matrix(c, 2 * c->call.k + 1, c->call.n, false);
    case 'h':
        return new_matrix(c, c->call.k + 1, c->call.n, false);
    case 'p':
        return new_array(c, c->call.n * (c->call.n + 1) / 2);
    default:
        return new_matrix(c, c->call.m, c->call.n, code == 'c');
    }
}

static void *new_argument(void *user, int at) {
    blas_call *c = user;
    const char code = c->call.arguments[at];
    switch (code) {
    case 'l':
    case 'u':
        return bounds_integer(&c->call, at, c->call.k);
    case 'i':
        return bounds_integer(&c->call, at, c->increment[c->vectors - 1]);
    case 'f':
    case 'r':
        return new_factor(c, 0.5, code == 'r');
    case 'e':
    case 'z':
        return new_factor(c, c->beta, code == 'z');
    case 'o':
        return new_rotation(c);
    case '*':
        return c->result;
    default:
        return new_array_of(c, code);
    }
}

/* ---- Calls ---- */

static guard_access try_places(blas_call *c) {
    guard_access access = GUARD_UNTOUCHED;
    for (int at_end = 1; at_end >= 0 && access == GUARD_UNTOUCHED; at_end--) {
        c->call.at_end = at_end;
        c->vectors = c->factors = 0;
        bounds_make_call(&c->call, c->address, new_argument, c);
        access = guards_accessed();
    }
    return access;
}

/* Number `index` selects the layout and the factors, so that all of them occur with sizes of every kind. */
static guard_access try_shape(blas_call *c, int64_t m, int64_t n, int64_t k, int index) {
    static const int64_t increments[] = {1, 1, 2, 1, -1, 1, -3};
    c->call.m = m;
    c->call.n = n;
    c->call.k = k;
    c->call.gap = index % 5 == 4 ? 3 : 0;
    c->increment[0] = increments[index % 7];
    c->increment[1] = increments[index / 2 % 7];
    c->beta = index % 3 == 0;
    return try_places(c);
}

static const int64_t lengths[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 12, 14,  15,  16,  17, 18,
                                  23, 31, 32, 33, 34, 63, 64, 65, 66, 96, 97, 127, 130, 257, 515};
static const int64_t orders[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 34, 63, 66, 130};
static const int64_t widths[] = {1, 2, 3, 5, 8, 17};
static const int64_t sides[] = {1, 2, 3, 7, 8, 17, 34};
enum {
    LENGTHS = sizeof lengths / sizeof *lengths,
    ORDERS = sizeof orders / sizeof *orders,
    WIDTHS = sizeof widths / sizeof *widths,
    SIDES_OF_BLOCKS = sizeof sides / sizeof *sides
};

static int shapes_of(shape_kind kind) {
    return kind == VECTORS ? LENGTHS : kind == SQUARE ? ORDERS : kind == BLOCKS ? SIDES_OF_BLOCKS : 2 * ORDERS;
}

/* One of the shapes of a kind. Planes have many rows and few columns, or the other way round. In blocks, each variant
 * combines the sides in another way. */
static guard_access try_numbered(blas_call *c, int shape, int variant, int index) {
    const bool wide = shape >= ORDERS;
    const int64_t order = orders[shape % ORDERS], width = widths[shape % WIDTHS];
    const int64_t side = sides[shape % SIDES_OF_BLOCKS], other = sides[(shape + variant) % SIDES_OF_BLOCKS];
    switch (c->what->shape) {
    case VECTORS:
        return try_shape(c, lengths[shape], lengths[shape], 0, index);
    case SQUARE:
        return try_shape(c, order, order, 0, index);
    case PLANE:
        return try_shape(c, wide ? width : order, wide ? order : width, 0, index);
    case BAND:
        return try_shape(c, order, order, width < order ? width : order - 1, index);
    case BLOCKS:
        break;
    }
    return try_shape(c, other, side, other, index);
}

/* Every shape in the plain layout, and every third one in another one. */
static guard_access try_all(blas_call *c) {
    guard_access access = GUARD_UNTOUCHED;
    const int shapes = shapes_of(c->what->shape);
    int index = 0, variant = 0;
    for (const char *rest = c->what->variants; *rest; variant++) {
        rest = bounds_next_variant(&c->call, rest);
        for (int shape = 0; shape < shapes && access == GUARD_UNTOUCHED; shape++, index++) {
            access = try_numbered(c, shape, variant, 0);
            if (access == GUARD_UNTOUCHED && index % 3 == 0) {
                access = try_numbered(c, shape, variant, index);
            }
        }
    }
    return access;
}

/* ---- The check ---- */

static void write_name(const trial *t, const char *pattern, char *name, size_t size) {
    size_t length = 0;
    for (; *pattern && length < size - 1; pattern++) {
        name[length++] = *pattern == '?'      ? t->type->letter
                         : *pattern != '.'    ? *pattern
                         : t->type->is_double ? 'd'
                                              : 's';
    }
    name[length] = 0;
}

static void describe(const blas_call *c, guard_access access) {
    char text[160];
    const bool vectors = c->vectors > 0, options = c->call.letters[0] != '-';
    int length = snprintf(text, sizeof text, "%s memory outside of its operands in probe: %s (%s%s%dx%d",
                          guard_access_text(access), c->call.t->state->routine, options ? c->call.letters : "",
                          options ? ", " : "", (int)c->call.m, (int)c->call.n);
    snprintf(text + length, sizeof text - (size_t)length, vectors ? ", increments %d and %d)" : ")",
             (int)c->increment[0], (int)c->increment[1]);
    report_how("outside", text);
}

void note_outside(progress *state) {
    const size_t length = strlen(state->outside);
    snprintf(state->outside + length, sizeof state->outside - length, "%s%s", length > 0 ? " " : "", state->routine);
}

static void check_routine(trial *t, const routine *what) {
    progress *state = t->state;
    const char *pattern = t->type->is_complex ? what->of_complex : what->of_real;
    const char *arguments = what->arguments + (*what->arguments == '*' && !t->library->hidden);
    if (!pattern) {
        return;
    }
    write_name(t, pattern, state->routine, sizeof state->routine);
    blas_call c = {.call = {.t = t, .arguments = arguments}, .what = what};
    c.address = fortran_routine(t->library, state->routine);
    const guard_access access = c.address ? try_all(&c) : GUARD_UNTOUCHED;
    if (access != GUARD_UNTOUCHED) {
        if (!*state->outside) {
            describe(&c, access);
        }
        note_outside(state);
    }
}

/* Writes ones into the regions, which are larger than what the calls change. */
static void write_ones(const number_type *type) {
    const number_type real = {type->letter, type->is_double, false};
    const int64_t size = type->is_double ? 8 : 4;
    for (int64_t i = 0; i < (int64_t)sizeof ones / size; i++) {
        put_number(&real, ones, i, 1);
    }
    for (int region = 0; region < REGIONS; region++) {
        for (int at_end = 0; at_end < 2; at_end++) {
            char *at = guards_place(region, REGION, at_end);
            for (size_t done = 0; done < REGION; done += sizeof ones) {
                memcpy(at + done, ones, REGION - done < sizeof ones ? REGION - done : sizeof ones);
            }
        }
    }
}

bool check_blas_memory(trial *t) {
    progress *state = t->state;
    const bool open = guards_begin(REGIONS, REGION, t->type);
    if (open) {
        write_ones(t->type);
    }
    for (; state->row < ROUTINES && open; state->row++) {
        check_routine(t, &routines[state->row]);
    }
    state->row = 0;
    guards_end();
    return open;
}
