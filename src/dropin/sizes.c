/* sizes.c - reads the options and sizes of a call from its arguments, and counts its operations.
 *
 * One table has the routines by name without the letter of the type. The Fortran and the C function have the same order
 * of arguments, except that C's have the order of storage first and pass values.
 */
#include "dropin/entry.h"

#include <string.h>

/* Formulas of operations, of multiplications and additions of real numbers. */
typedef enum formula {
    NONE,
    TWO_PRODUCT,    /* 2 times the product of the sizes */
    TWO_SQUARE,     /* 2 n^2 */
    SQUARE,         /* n^2, of one triangle */
    SIDE_M_OR_N,    /* symm: 2 m n times m or n */
    TRIANGLE_SIDE,  /* trmm, trsm: m n times m or n */
    RANK_K,         /* n (n + 1) k */
    RANK_2K,        /* 2 n^2 k */
    ONE,            /* n */
    TWO,            /* 2 n */
    LU,             /* m n min - (m + n) min^2 / 2 + min^3 / 3, doubled */
    CUBE_THIRD,     /* n^3 / 3 */
    LU_SOLVE,       /* 2 n^3 / 3 + 2 n^2 nrhs */
    CHOLESKY_SOLVE, /* n^3 / 3 + 2 n^2 nrhs */
    SOLVE,          /* 2 n^2 nrhs */
    QR              /* 2 n^2 (m - n / 3) for m >= n */
} formula;

typedef struct shape {
    const char *name;
    int letters; /* number of character arguments, which come first */
    int sizes;   /* number of sizes, which follow */
    formula formula;
} shape;

static const shape shapes[] = {
    {"gemm", 2, 3, TWO_PRODUCT},   {"gemv", 1, 2, TWO_PRODUCT}, {"ger", 0, 2, TWO_PRODUCT},
    {"gerc", 0, 2, TWO_PRODUCT},   {"geru", 0, 2, TWO_PRODUCT}, {"symm", 2, 2, SIDE_M_OR_N},
    {"hemm", 2, 2, SIDE_M_OR_N},   {"syrk", 2, 2, RANK_K},      {"herk", 2, 2, RANK_K},
    {"syr2k", 2, 2, RANK_2K},      {"her2k", 2, 2, RANK_2K},    {"trmm", 4, 2, TRIANGLE_SIDE},
    {"trsm", 4, 2, TRIANGLE_SIDE}, {"symv", 1, 1, TWO_SQUARE},  {"hemv", 1, 1, TWO_SQUARE},
    {"trmv", 3, 1, SQUARE},        {"trsv", 3, 1, SQUARE},      {"syr", 1, 1, SQUARE},
    {"her", 1, 1, SQUARE},         {"syr2", 1, 1, TWO_SQUARE},  {"her2", 1, 1, TWO_SQUARE},
    {"axpy", 0, 1, TWO},           {"dot", 0, 1, TWO},          {"dotc", 0, 1, TWO},
    {"dotu", 0, 1, TWO},           {"dotc_sub", 0, 1, TWO},     {"dotu_sub", 0, 1, TWO},
    {"scal", 0, 1, ONE},           {"sscal", 0, 1, ONE},        {"dscal", 0, 1, ONE},
    {"nrm2", 0, 1, TWO},           {"asum", 0, 1, ONE},         {"copy", 0, 1, NONE},
    {"swap", 0, 1, NONE},          {"getrf", 0, 2, LU},         {"getrs", 1, 2, SOLVE},
    {"getri", 0, 1, NONE},         {"gesv", 0, 2, LU_SOLVE},    {"potrf", 1, 1, CUBE_THIRD},
    {"potrs", 1, 2, SOLVE},        {"potri", 1, 1, NONE},       {"posv", 1, 2, CHOLESKY_SOLVE},
    {"trtrs", 3, 2, NONE},         {"trtri", 2, 1, CUBE_THIRD}, {"geqrf", 0, 2, QR},
    {"orgqr", 0, 3, NONE},         {"ungqr", 0, 3, NONE},       {"ormqr", 2, 3, NONE},
    {"unmqr", 2, 3, NONE},         {"gels", 1, 3, NONE},        {"gelsd", 0, 3, NONE},
    {"gelsy", 0, 3, NONE},         {"gelss", 0, 3, NONE},       {"syev", 2, 1, NONE},
    {"heev", 2, 1, NONE},          {"syevd", 2, 1, NONE},       {"heevd", 2, 1, NONE},
    {"syevr", 3, 1, NONE},         {"heevr", 3, 1, NONE},       {"geev", 2, 1, NONE},
    {"gesvd", 2, 2, NONE},         {"gesdd", 1, 2, NONE},       {"geqp3", 0, 2, NONE},
};

static const shape *shape_of(const char *name) {
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (strcmp(name, shapes[i].name) == 0) {
            return &shapes[i];
        }
    }
    return NULL;
}

static double minimum(double a, double b) {
    return a < b ? a : b;
}

/* `letters` are the routine's own, without the order of CBLAS. */
static double count(formula which, const char *letters, const bp__dropin_call *call) {
    double m = (double)call->size[0], n = (double)call->size[1], k = (double)call->size[2];
    double side = letters[0] == 'R' || letters[0] == 'r' ? n : m;
    double least = minimum(m, n);
    switch (which) {
    case TWO_PRODUCT:
        return 2 * m * n * (call->sizes > 2 ? k : 1);
    case TWO_SQUARE:
        return 2 * m * m;
    case SQUARE:
        return m * m;
    case SIDE_M_OR_N:
        return 2 * m * n * side;
    case TRIANGLE_SIDE:
        return m * n * side;
    case RANK_K:
        return m * (m + 1) * n;
    case RANK_2K:
        return 2 * m * m * n;
    case ONE:
        return m;
    case TWO:
        return 2 * m;
    case LU:
        return 2 * (m * n * least - (m + n) * least * least / 2 + least * least * least / 3);
    case CUBE_THIRD:
        return m * m * m / 3;
    case LU_SOLVE:
        return 2 * m * m * m / 3 + 2 * m * m * n;
    case CHOLESKY_SOLVE:
        return m * m * m / 3 + 2 * m * m * n;
    case SOLVE:
        return 2 * m * m * n;
    case QR:
        return 2 * least * least * ((m > n ? m : n) - least / 3);
    default:
        return 0;
    }
}

/* Returns the letter for an enumerator of CBLAS: order, transposition, triangle, diagonal, side. */
static char letter_of(uint64_t number) {
    switch ((uint32_t)number) {
    case 101:
        return 'R';
    case 102:
        return 'C';
    case 111:
        return 'N';
    case 112:
        return 'T';
    case 113:
        return 'C';
    case 121:
        return 'U';
    case 122:
        return 'L';
    case 131:
        return 'N';
    case 132:
        return 'U';
    case 141:
        return 'L';
    case 142:
        return 'R';
    default:
        return '?';
    }
}

static uint64_t word(const bp__dropin_frame *frame, int index) {
    return index < 6 ? frame->integers[index] : frame->stack[index - 6];
}

/* Returns where the routine's own letters are in the options. */
static const char *read_arguments(const shape *s, bool c, bool wide, const bp__dropin_frame *frame,
                                  bp__dropin_call *call) {
    int at = c && s->letters + (s->sizes > 1) > 0 ? 1 : 0; /* functions of vectors have no order of storage */
    char *letters = call->options + at;
    call->options[0] = at ? letter_of(word(frame, 0)) : '\0';
    for (int i = 0; i < s->letters; i++, at++) {
        letters[i] = c ? letter_of(word(frame, at)) : *(const char *)bp__dropin_address(frame, at);
    }
    for (int i = 0; i < s->sizes; i++, at++) {
        call->size[i] = c && wide ? (int64_t)word(frame, at)
                        : c       ? (int64_t)(int32_t)(uint32_t)word(frame, at)
                                  : bp__dropin_integer(bp__dropin_address(frame, at), wide);
    }
    call->sizes = s->sizes;
    return letters;
}

void bp__dropin_measure(const bp__dropin_slot *slot, const bp__dropin_frame *frame, bp__dropin_call *call) {
    const char *name = bp__dropin_names[bp__dropin_routine(slot)];
    bp__dropin_family family = bp__dropin_family_of(bp__dropin_routine(slot));
    bool c = family == BP__DROPIN_FAMILY_CBLAS;
    if (family == BP__DROPIN_FAMILY_FFTW || family == BP__DROPIN_FAMILY_LAPACKE) {
        return;
    }
    name += c ? 6 : 0;
    const shape *s = shape_of(name + 1);
    if (!s || (name[0] != 's' && name[0] != 'd' && name[0] != 'c' && name[0] != 'z')) {
        return;
    }
    const char *letters = read_arguments(s, c, bp__dropin_wide(slot), frame, call);
    bool complex = name[0] == 'c' || name[0] == 'z';
    call->flops = count(s->formula, letters, call) * (complex ? 4 : 1);
}
