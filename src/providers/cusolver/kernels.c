/* kernels.c - has the kernels that copy matrices between operands and the library's memory, and report failing items,
 * as PTX, and launches them.
 *
 * PTX is compiled by the driver, so that no compiler of the toolkit is needed. A thread works on one element. Its
 * number is divided into the row, the column and the item, and the item into indices of the batch, the innermost one
 * first, until nothing is left. Values are integers of 64 bits, whose lower half has the numbers of single precision:
 * most kernels compute nothing with them, and an exponent of ones means NaN or infinity. Version and target are the
 * oldest ones that we need. */
#include "providers/cusolver/cusolver.h"

#include "providers/cuda/ptx.h"

#include <stddef.h>

enum { GROUP = 256 };

/* The places of the parameter's members, for the text. */
_Static_assert(offsetof(bp__cusolver_walk, count) == 16 && offsetof(bp__cusolver_walk, flags) == 24 &&
                   offsetof(bp__cusolver_walk, report) == 32 && offsetof(bp__cusolver_walk, first) == 40 &&
                   offsetof(bp__cusolver_walk, last) == 48 && offsetof(bp__cusolver_walk, diagonal) == 56 &&
                   offsetof(bp__cusolver_walk, conjugate) == 64 && offsetof(bp__cusolver_walk, diagonal_im) == 72 &&
                   offsetof(bp__cusolver_walk, size) == 80 && offsetof(bp__cusolver_walk, dst_stride) == 144 &&
                   offsetof(bp__cusolver_walk, src_stride) == 208 && sizeof(bp__cusolver_walk) == 272,
               "the kernels have these numbers");

/* ---- Where an element is ---- */

/* Takes the index of a dimension off %number. */
#define DIMENSION(index, size, dst_stride, src_stride)                                                                 \
    "ld.param.u64 %size, [all+" #size "];\n"                                                                           \
    "div.u64 %rest, %number, %size;\n"                                                                                 \
    "mul.lo.u64 %index, %rest, %size;\n"                                                                               \
    "sub.u64 " index ", %number, %index;\n"                                                                            \
    "ld.param.u64 %stride, [all+" #dst_stride "];\n"                                                                   \
    "mad.lo.u64 %to, " index ", %stride, %to;\n"                                                                       \
    "ld.param.u64 %stride, [all+" #src_stride "];\n"                                                                   \
    "mad.lo.u64 %from, " index ", %stride, %from;\n"                                                                   \
    "mov.u64 %number, %rest;\n"
#define BATCH_DIMENSION(size, dst_stride, src_stride)                                                                  \
    "setp.eq.u64 %done, %number, 0;\n"                                                                                 \
    "@%done bra WORK;\n" DIMENSION("%index", size, dst_stride, src_stride)

/* Finds the row, the column, the item and its flag, whether the element is kept, and whether it is on the diagonal. */
#define BEGIN(name)                                                                                                    \
    ".visible .entry " name "(.param .align 8 .b8 all[272])\n"                                                         \
    "{\n"                                                                                                              \
    ".reg .pred %done, %kept, %other, %wrong;\n"                                                                       \
    ".reg .b64 %row, %column, %item, %flag, %position, %value, %im, %mask, %bits, %one;\n" BP__PTX_FIND_ELEMENT        \
        DIMENSION("%row", 80, 144, 208)                                                                                \
            DIMENSION("%column", 88, 152, 216) "mov.u64 %item, %number;\n" BATCH_DIMENSION(96, 160, 224)               \
                BATCH_DIMENSION(104, 168, 232) BATCH_DIMENSION(112, 176, 240) BATCH_DIMENSION(120, 184, 248)           \
                    BATCH_DIMENSION(128, 192, 256)                                                                     \
                        BATCH_DIMENSION(136, 200, 264) "WORK:\n"                                                       \
                                                       "ld.param.u64 %flag, [all+24];\n"                               \
                                                       "mad.lo.u64 %flag, %item, 4, %flag;\n"                          \
                                                       "sub.u64 %position, %column, %row;\n"                           \
                                                       "ld.param.u64 %mask, [all+40];\n"                               \
                                                       "setp.ge.s64 %kept, %position, %mask;\n"                        \
                                                       "ld.param.u64 %mask, [all+48];\n"                               \
                                                       "setp.le.s64 %other, %position, %mask;\n"                       \
                                                       "and.pred %kept, %kept, %other;\n"                              \
                                                       "setp.eq.u64 %other, %position, 0;\n"                           \
                                                       "mov.u64 %one, 1;\n"
#define END                                                                                                            \
    "END:\n"                                                                                                           \
    "ret;\n"                                                                                                           \
    "}\n"

/* ---- Copies of matrices ---- */

#define EXPONENT_32 "2139095040"
#define EXPONENT_64 "9218868437227405312"
#define NAN_32 "2143289344"
#define NAN_64 "9221120237041090560"

/* The value of an element that is not kept is 0, or on the diagonal a number of the parameter. */
#define READ(bits)                                                                                                     \
    "mov.u64 %value, 0;\n"                                                                                             \
    "mov.u64 %im, 0;\n"                                                                                                \
    "@%other ld.param.u64 %value, [all+56];\n"                                                                         \
    "@%kept ld.u" bits " %value, [%from];\n"
#define READ_IM(bits, bytes)                                                                                           \
    "add.u64 %from, %from, " bytes ";\n"                                                                               \
    "@%kept ld.u" bits " %im, [%from];\n"
#define ADAPT_IM                                                                                                       \
    "ld.param.u64 %mask, [all+64];\n"                                                                                  \
    "@%kept xor.b64 %im, %im, %mask;\n"                                                                                \
    "ld.param.u64 %mask, [all+72];\n"                                                                                  \
    "@%other and.b64 %im, %im, %mask;\n"
/* The library gets 0 in place of NaN and infinity, and the item a flag. */
#define CHECK(value, exponent)                                                                                         \
    "and.b64 %bits, " value ", " exponent ";\n"                                                                        \
    "setp.eq.u64 %wrong, %bits, " exponent ";\n"                                                                       \
    "@%wrong st.u32 [%flag], %one;\n"                                                                                  \
    "@%wrong mov.u64 " value ", 0;\n"
/* Results of items with a flag are NaN. */
#define FILL_NAN(nan)                                                                                                  \
    "ld.u32 %bits, [%flag];\n"                                                                                         \
    "setp.eq.u64 %wrong, %bits, 1;\n"                                                                                  \
    "@%wrong mov.u64 %value, " nan ";\n"                                                                               \
    "@%wrong mov.u64 %im, " nan ";\n"
#define WRITE(bits) "st.u" bits " [%to], %value;\n"
#define WRITE_IM(bits, bytes)                                                                                          \
    "add.u64 %to, %to, " bytes ";\n"                                                                                   \
    "st.u" bits " [%to], %im;\n"

#define LOAD_REAL(name, bits, exponent) BEGIN(name) READ(bits) CHECK("%value", exponent) WRITE(bits) END
#define LOAD_COMPLEX(name, bits, bytes, exponent)                                                                      \
    BEGIN(name)                                                                                                        \
    READ(bits)                                                                                                         \
    CHECK("%value", exponent) READ_IM(bits, bytes) CHECK("%im", exponent) ADAPT_IM WRITE(bits) WRITE_IM(bits, bytes) END
#define STORE_REAL(name, bits, nan) BEGIN(name) READ(bits) FILL_NAN(nan) WRITE(bits) END
#define STORE_COMPLEX(name, bits, bytes, nan)                                                                          \
    BEGIN(name) READ(bits) READ_IM(bits, bytes) ADAPT_IM FILL_NAN(nan) WRITE(bits) WRITE_IM(bits, bytes) END

static const char copies[] =
    ".version 7.4\n"
    ".target sm_50\n"
    ".address_size 64\n" LOAD_REAL("load_f32", "32", EXPONENT_32) LOAD_REAL("load_f64", "64", EXPONENT_64)
        LOAD_COMPLEX("load_c64", "32", "4", EXPONENT_32) LOAD_COMPLEX("load_c128", "64", "8", EXPONENT_64)
            STORE_REAL("store_f32", "32", NAN_32) STORE_REAL("store_f64", "64", NAN_64)
                STORE_COMPLEX("store_c64", "32", "4", NAN_32) STORE_COMPLEX("store_c128", "64", "8", NAN_64);

/* ---- Pivots and failing items ---- */

/* An element that is kept is a pivot of the program, else the pivot of a row that is not exchanged is made. A wrong
 * pivot becomes such a one, and the second word of the report becomes the number of the first wrong element, and its
 * value. */
#define PIVOTS_IN                                                                                                      \
    BEGIN("pivots_in")                                                                                                 \
    "mov.u64 %value, 0;\n"                                                                                             \
    "@%kept ld.u32 %value, [%from];\n"                                                                                 \
    "sub.u64 %index, %value, 1;\n"                                                                                     \
    "ld.param.u64 %size, [all+80];\n"                                                                                  \
    "setp.ge.u64 %wrong, %index, %size;\n"                                                                             \
    "and.pred %kept, %kept, %wrong;\n"                                                                                 \
    "mad.lo.u64 %index, %item, %size, %row;\n"                                                                         \
    "mad.lo.u64 %index, %index, 4294967296, %value;\n"                                                                 \
    "ld.param.u64 %flag, [all+32];\n"                                                                                  \
    "add.u64 %flag, %flag, 8;\n"                                                                                       \
    "@%kept atom.min.u64 %rest, [%flag], %index;\n"                                                                    \
    "add.u64 %bits, %row, 1;\n"                                                                                        \
    "@%wrong mov.u64 %value, %bits;\n"                                                                                 \
    "st.u64 [%to], %value;\n" END

/* A pivot of the library that is no row becomes the pivot of a row that is not exchanged. The library may leave such
 * pivots where a matrix is singular. The parameter has the number of rows as `diagonal`. */
#define PIVOTS_REPAIR                                                                                                  \
    BEGIN("pivots_repair")                                                                                             \
    "ld.u64 %value, [%from];\n"                                                                                        \
    "ld.param.u64 %mask, [all+56];\n"                                                                                  \
    "sub.u64 %index, %value, 1;\n"                                                                                     \
    "setp.ge.u64 %wrong, %index, %mask;\n"                                                                             \
    "add.u64 %bits, %row, 1;\n"                                                                                        \
    "@%wrong mov.u64 %value, %bits;\n"                                                                                 \
    "st.u64 [%to], %value;\n" END

#define PIVOTS_OUT                                                                                                     \
    BEGIN("pivots_out")                                                                                                \
    "ld.u64 %value, [%from];\n"                                                                                        \
    "ld.u32 %bits, [%flag];\n"                                                                                         \
    "setp.eq.u64 %wrong, %bits, 1;\n"                                                                                  \
    "@%wrong mov.u64 %value, 0;\n"                                                                                     \
    "st.u32 [%to], %value;\n" END

/* Tells how an item has ended: the library's info, masked, or -1 for an item with a flag. It is written if it is kept.
 * The first word of the report becomes the first item that has failed, and its info. */
#define REPORT                                                                                                         \
    BEGIN("report")                                                                                                    \
    "ld.u32 %value, [%from];\n"                                                                                        \
    "ld.param.u64 %mask, [all+56];\n"                                                                                  \
    "and.b64 %value, %value, %mask;\n"                                                                                 \
    "ld.u32 %bits, [%flag];\n"                                                                                         \
    "setp.eq.u64 %wrong, %bits, 1;\n"                                                                                  \
    "@%wrong mov.u64 %value, 4294967295;\n"                                                                            \
    "@%kept st.u32 [%to], %value;\n"                                                                                   \
    "setp.eq.u64 %done, %value, 0;\n"                                                                                  \
    "@%done bra END;\n"                                                                                                \
    "ld.param.u64 %flag, [all+32];\n"                                                                                  \
    "setp.eq.u64 %done, %flag, 0;\n"                                                                                   \
    "@%done bra END;\n"                                                                                                \
    "mad.lo.u64 %value, %item, 4294967296, %value;\n"                                                                  \
    "atom.min.u64 %rest, [%flag], %value;\n" END

/* Writes the ones of a permutation matrix, one in each column: the row of A that the exchanges move to the column's
 * number. They are followed back from there. The parameter has the distance of rows as `conjugate`, and the number of
 * pivots as `diagonal_im`. */
#define PERMUTE(name, bits)                                                                                            \
    BEGIN(name)                                                                                                        \
    "ld.u32 %bits, [%flag];\n"                                                                                         \
    "setp.eq.u64 %done, %bits, 1;\n"                                                                                   \
    "@%done bra END;\n"                                                                                                \
    "mov.u64 %value, %row;\n"                                                                                          \
    "ld.param.u64 %position, [all+72];\n"                                                                              \
    "BACK:\n"                                                                                                          \
    "setp.eq.u64 %done, %position, 0;\n"                                                                               \
    "@%done bra FOUND;\n"                                                                                              \
    "sub.u64 %position, %position, 1;\n"                                                                               \
    "mad.lo.u64 %index, %position, 8, %from;\n"                                                                        \
    "ld.u64 %mask, [%index];\n"                                                                                        \
    "sub.u64 %mask, %mask, 1;\n"                                                                                       \
    "setp.eq.u64 %kept, %value, %position;\n"                                                                          \
    "setp.eq.u64 %other, %value, %mask;\n"                                                                             \
    "@%kept mov.u64 %value, %mask;\n"                                                                                  \
    "@%other mov.u64 %value, %position;\n"                                                                             \
    "bra BACK;\n"                                                                                                      \
    "FOUND:\n"                                                                                                         \
    "ld.param.u64 %stride, [all+64];\n"                                                                                \
    "mad.lo.u64 %to, %value, %stride, %to;\n"                                                                          \
    "ld.param.u64 %value, [all+56];\n"                                                                                 \
    "st.u" bits " [%to], %value;\n" END

/* Writes the number of the first element of a diagonal that is zero, from 1, as info. The parameter has the distance of
 * these elements as `conjugate`, and their number as `diagonal_im`. */
#define FIND_ZERO(name, bits, magnitude, read_im)                                                                      \
    BEGIN(name)                                                                                                        \
    "ld.param.u64 %mask, [all+72];\n"                                                                                  \
    "ld.param.u64 %stride, [all+64];\n"                                                                                \
    "mov.u64 %position, 0;\n"                                                                                          \
    "NEXT:\n"                                                                                                          \
    "setp.ge.u64 %done, %position, %mask;\n"                                                                           \
    "@%done bra END;\n"                                                                                                \
    "mad.lo.u64 %index, %position, %stride, %from;\n"                                                                  \
    "ld.u" bits " %value, [%index];\n" read_im "and.b64 %value, %value, " magnitude ";\n"                              \
    "add.u64 %position, %position, 1;\n"                                                                               \
    "setp.eq.u64 %done, %value, 0;\n"                                                                                  \
    "@%done st.u32 [%to], %position;\n"                                                                                \
    "@%done bra END;\n"                                                                                                \
    "bra NEXT;\n" END
#define OR_IM(bits, bytes)                                                                                             \
    "add.u64 %index, %index, " bytes ";\n"                                                                             \
    "ld.u" bits " %im, [%index];\n"                                                                                    \
    "or.b64 %value, %value, %im;\n"
#define MAGNITUDE_32 "2147483647"
#define MAGNITUDE_64 "9223372036854775807"

static const char others[] =
    ".version 7.4\n"
    ".target sm_50\n"
    ".address_size 64\n" PIVOTS_IN PIVOTS_OUT PIVOTS_REPAIR REPORT PERMUTE("permute_32", "32")
        PERMUTE("permute_64", "64") FIND_ZERO("zero_f32", "32", MAGNITUDE_32, "")
            FIND_ZERO("zero_f64", "64", MAGNITUDE_64, "") FIND_ZERO("zero_c64", "32", MAGNITUDE_32, OR_IM("32", "4"))
                FIND_ZERO("zero_c128", "64", MAGNITUDE_64, OR_IM("64", "8"));

/* ---- Determinants ---- */

/* clang-format off */

/* Multiplies a number by the power of two that makes its larger part about 1, and counts it in %power. Numbers below the
 * normal ones are multiplied by 2^64 only. */
#define MODERATE(re, im)                                                                                               \
    "and.b64 %bits, " re ", 9223372036854775807;\n"                                                                    \
    "and.b64 %value, " im ", 9223372036854775807;\n"                                                                   \
    "setp.ge.u64 %other, %value, %bits;\n"                                                                             \
    "@%other mov.u64 %bits, %value;\n"                                                                                 \
    "shr.u64 %bits, %bits, 52;\n"                                                                                      \
    "setp.ge.u64 %other, %bits, 2046;\n"                                                                               \
    "@%other mov.u64 %bits, 2045;\n"                                                                                   \
    "setp.eq.u64 %other, %bits, 0;\n"                                                                                  \
    "@%other mov.u64 %bits, 959;\n"                                                                                    \
    "add.u64 %power, %power, %bits;\n"                                                                                 \
    "sub.u64 %power, %power, 1023;\n"                                                                                  \
    "mov.u64 %value, 2046;\n"                                                                                          \
    "sub.u64 %value, %value, %bits;\n"                                                                                 \
    "shl.b64 %value, %value, 52;\n"                                                                                    \
    "mul.rn.f64 " re ", " re ", %value;\n"                                                                                \
    "mul.rn.f64 " im ", " im ", %value;\n"

/* The product of a diagonal, whose sign each exchange of rows changes. It is in double precision, with an exponent of
 * its own, so that no part of it overflows. The parameter has the distance of the elements as `conjugate`, their number as
 * `diagonal_im`, the address of the pivots as `first`, and the address of the infos as `report`. A singular matrix has the
 * product 0, whatever the library has left behind its zero pivot. */
#define PRODUCT(name, read, read_im)                                                                                   \
    BEGIN(name)                                                                                                        \
    ".reg .b64 %pr, %pi, %ar, %ai, %tr, %ti, %power;\n"                                                                \
    ".reg .b32 %narrow;\n"                                                                                             \
    "mov.u64 %pr, 4607182418800017408;\n"                                                                              \
    "mov.u64 %pi, 0;\n"                                                                                                \
    "mov.u64 %power, 0;\n"                                                                                             \
    "mov.u64 %position, 0;\n"                                                                                          \
    "ld.param.u64 %mask, [all+72];\n"                                                                                  \
    "ld.param.u64 %stride, [all+64];\n"                                                                                \
    "ld.param.u64 %column, [all+40];\n"                                                                                \
    "mul.lo.u64 %index, %item, %mask;\n"                                                                               \
    "mad.lo.u64 %column, %index, 8, %column;\n"                                                                        \
    "NEXT:\n"                                                                                                          \
    "setp.ge.u64 %done, %position, %mask;\n"                                                                           \
    "@%done bra LAST;\n"                                                                                               \
    "mad.lo.u64 %index, %position, %stride, %from;\n" read read_im                                                     \
    "mad.lo.u64 %index, %position, 8, %column;\n"                                                                      \
    "ld.u64 %value, [%index];\n"                                                                                       \
    "add.u64 %position, %position, 1;\n"                                                                               \
    "setp.eq.u64 %kept, %value, %position;\n"                                                                          \
    "mov.u64 %bits, 9223372036854775808;\n"                                                                            \
    "@%kept mov.u64 %bits, 0;\n"                                                                                       \
    "xor.b64 %ar, %ar, %bits;\n"                                                                                       \
    "xor.b64 %ai, %ai, %bits;\n" MODERATE("%ar", "%ai")                                                                \
    "mul.rn.f64 %tr, %pr, %ar;\n"                                                                                         \
    "mul.rn.f64 %ti, %pi, %ai;\n"                                                                                         \
    "sub.rn.f64 %tr, %tr, %ti;\n"                                                                                         \
    "mul.rn.f64 %ti, %pr, %ai;\n"                                                                                         \
    "mul.rn.f64 %pi, %pi, %ar;\n"                                                                                         \
    "add.rn.f64 %pi, %pi, %ti;\n"                                                                                         \
    "mov.u64 %pr, %tr;\n" MODERATE("%pr", "%pi")                                                                       \
    "bra NEXT;\n"                                                                                                      \
    "LAST:\n"                                                                                                          \
    "ld.param.u64 %bits, [all+32];\n"                                                                                  \
    "mad.lo.u64 %bits, %item, 4, %bits;\n"                                                                             \
    "ld.u32 %bits, [%bits];\n"                                                                                         \
    "setp.ge.u64 %wrong, %bits, 1;\n"                                                                                  \
    "@%wrong mov.u64 %pr, 0;\n"                                                                                        \
    "@%wrong mov.u64 %pi, 0;\n"

/* The result of an item with a flag is NaN. */
#define NAN_IF_FLAGGED                                                                                                 \
    "ld.u32 %bits, [%flag];\n"                                                                                         \
    "setp.eq.u64 %wrong, %bits, 1;\n"                                                                                  \
    "@%wrong mov.u64 %pr, " NAN_64 ";\n"                                                                               \
    "@%wrong mov.u64 %pi, " NAN_64 ";\n"

/* Multiplies the product by a power of two, whose bits are given, until `test` is true for %power. */
#define UNSCALE(label, test, bits, count, end)                                                                         \
    label ":\n"                                                                                                        \
    "setp." test ";\n"                                                                                             \
    "@%done bra " end ";\n"                                                                                            \
    "mov.u64 %value, " bits ";\n"                                                                                      \
    "mul.rn.f64 %pr, %pr, %value;\n"                                                                                      \
    "mul.rn.f64 %pi, %pi, %value;\n"                                                                                      \
    count ".u64 %power, %power, 1000;\n"                                                                               \
    "bra " label ";\n"

#define DETERMINANT(name, read, read_im, write, write_im)                                                              \
    PRODUCT(name, read, read_im)                                                                                       \
    UNSCALE("LARGE", "le.s64 %done, %power, 1000", "9110782046170513408", "sub", "SMALL")                              \
    UNSCALE("SMALL", "ge.s64 %done, %power, -1000", "103582791429521408", "add", "NEAR")                               \
    "NEAR:\n"                                                                                                          \
    "add.u64 %value, %power, 1023;\n"                                                                                  \
    "shl.b64 %value, %value, 52;\n"                                                                                    \
    "mul.rn.f64 %pr, %pr, %value;\n"                                                                                      \
    "mul.rn.f64 %pi, %pi, %value;\n" NAN_IF_FLAGGED write write_im END

/* The product is a sign, whose length is 1, times a length, which is between 0.7 and 1.5 after one more step. The logarithm
 * of the length is 2 (z + z^3 / 3 + z^5 / 5 ...) with z = (length - 1) / (length + 1), where twelve terms are enough. It is
 * written to the buffer that the parameter has as `last`. Without a length, the sign is 0. */
#define TERM(coefficient)                                                                                              \
    "mul.rn.f64 %tr, %tr, %ai;\n"                                                                                         \
    "mov.u64 %value, " coefficient ";\n"                                                                               \
    "add.rn.f64 %tr, %tr, %value;\n"
#define TERMS                                                                                                          \
    "mov.u64 %tr, 4586426698778222948;\n"                                                                              \
    TERM("4587023449039406616")                                                                                        \
    TERM("4587745830934523688")                                                                                        \
    TERM("4588638185040256542")                                                                                        \
    TERM("4589468260265693457")                                                                                        \
    TERM("4590207312512236308")                                                                                        \
    TERM("4591215111030249286")                                                                                        \
    TERM("4592670820000712476")                                                                                        \
    TERM("4594314991293244562")                                                                                        \
    TERM("4596373779694328218")                                                                                        \
    TERM("4599676419421066581")                                                                                        \
    TERM("4607182418800017408")
#define LOGARITHM(name, read, read_im, write, write_im, bytes, write_log)                                              \
    PRODUCT(name, read, read_im)                                                                                       \
    "mul.rn.f64 %ar, %pr, %pr;\n"                                                                                         \
    "mul.rn.f64 %ai, %pi, %pi;\n"                                                                                         \
    "add.rn.f64 %ar, %ar, %ai;\n"                                                                                         \
    "sqrt.rn.f64 %ar, %ar;\n"                                                                                          \
    "setp.eq.u64 %kept, %ar, 0;\n"                                                                                     \
    "div.rn.f64 %pr, %pr, %ar;\n"                                                                                      \
    "div.rn.f64 %pi, %pi, %ar;\n"                                                                                      \
    "setp.ge.u64 %other, %ar, 4609047870845172685;\n"                                                                  \
    "mov.u64 %value, 4602678819172646912;\n"                                                                           \
    "@%other mul.rn.f64 %ar, %ar, %value;\n"                                                                              \
    "@%other add.u64 %power, %power, 1;\n"                                                                             \
    "mov.u64 %value, 4607182418800017408;\n"                                                                           \
    "sub.rn.f64 %ti, %ar, %value;\n"                                                                                      \
    "add.rn.f64 %ar, %ar, %value;\n"                                                                                      \
    "div.rn.f64 %ti, %ti, %ar;\n"                                                                                      \
    "mul.rn.f64 %ai, %ti, %ti;\n" TERMS                                                                                   \
    "mul.rn.f64 %tr, %tr, %ti;\n"                                                                                         \
    "add.rn.f64 %tr, %tr, %tr;\n"                                                                                         \
    "cvt.rn.f64.s64 %ti, %power;\n"                                                                                    \
    "mov.u64 %value, 4604418534313441775;\n"                                                                           \
    "mul.rn.f64 %ti, %ti, %value;\n"                                                                                      \
    "add.rn.f64 %tr, %tr, %ti;\n"                                                                                         \
    "@%kept mov.u64 %pr, 0;\n"                                                                                         \
    "@%kept mov.u64 %pi, 0;\n"                                                                                         \
    "@%kept mov.u64 %tr, 18442240474082181120;\n" NAN_IF_FLAGGED write write_im                                        \
    "ld.param.u64 %to, [all+48];\n"                                                                                    \
    "mad.lo.u64 %to, %item, " bytes ", %to;\n" write_log END

#define GET_F32(to)                                                                                                    \
    "ld.f32 %narrow, [%index];\n"                                                                                      \
    "cvt.f64.f32 " to ", %narrow;\n"
#define GET_F64(to) "ld.f64 " to ", [%index];\n"
#define PUT_F32(from)                                                                                                  \
    "cvt.rn.f32.f64 %narrow, " from ";\n"                                                                              \
    "st.f32 [%to], %narrow;\n"
#define PUT_F64(from) "st.f64 [%to], " from ";\n"
#define NO_IM "mov.u64 %ai, 0;\n"
#define AFTER(name, bytes) "add.u64 " name ", " name ", " bytes ";\n"

static const char determinants[] =
    ".version 7.4\n"
    ".target sm_50\n"
    ".address_size 64\n"
    DETERMINANT("det_f32", GET_F32("%ar"), NO_IM, PUT_F32("%pr"), "")
    DETERMINANT("det_f64", GET_F64("%ar"), NO_IM, PUT_F64("%pr"), "")
    DETERMINANT("det_c64", GET_F32("%ar"), AFTER("%index", "4") GET_F32("%ai"), PUT_F32("%pr"),
                AFTER("%to", "4") PUT_F32("%pi"))
    DETERMINANT("det_c128", GET_F64("%ar"), AFTER("%index", "8") GET_F64("%ai"), PUT_F64("%pr"),
                AFTER("%to", "8") PUT_F64("%pi"))
    LOGARITHM("log_f32", GET_F32("%ar"), NO_IM, PUT_F32("%pr"), "", "4", PUT_F32("%tr"))
    LOGARITHM("log_f64", GET_F64("%ar"), NO_IM, PUT_F64("%pr"), "", "8", PUT_F64("%tr"))
    LOGARITHM("log_c64", GET_F32("%ar"), AFTER("%index", "4") GET_F32("%ai"), PUT_F32("%pr"),
              AFTER("%to", "4") PUT_F32("%pi"), "4", PUT_F32("%tr"))
    LOGARITHM("log_c128", GET_F64("%ar"), AFTER("%index", "8") GET_F64("%ai"), PUT_F64("%pr"),
              AFTER("%to", "8") PUT_F64("%pi"), "8", PUT_F64("%tr"));

/* clang-format on */

/* ---- Loading and launching ---- */

static const char *const names[BP__CUSOLVER_KERNELS] = {
    [BP__CUSOLVER_LOAD] = "load_f32",
    "load_f64",
    "load_c64",
    "load_c128",
    [BP__CUSOLVER_STORE] = "store_f32",
    "store_f64",
    "store_c64",
    "store_c128",
    [BP__CUSOLVER_PIVOTS_IN] = "pivots_in",
    [BP__CUSOLVER_PIVOTS_OUT] = "pivots_out",
    [BP__CUSOLVER_PIVOTS_REPAIR] = "pivots_repair",
    [BP__CUSOLVER_REPORT] = "report",
    [BP__CUSOLVER_PERMUTE] = "permute_32",
    "permute_64",
    [BP__CUSOLVER_FIND_ZERO] = "zero_f32",
    "zero_f64",
    "zero_c64",
    "zero_c128",
    [BP__CUSOLVER_LOGDET] = "log_f32",
    "log_f64",
    "log_c64",
    "log_c128",
    [BP__CUSOLVER_DET] = "det_f32",
    "det_f64",
    "det_c64",
    "det_c128",
};

CUresult bp__cusolver_kernels_load(bp__cusolver_kernels *kernels) {
    static const char *const texts[BP__CUSOLVER_MODULES] = {copies, others, determinants};
    CUresult code = BP__CU_SUCCESS;
    for (int i = 0; i < BP__CUSOLVER_MODULES && code == BP__CU_SUCCESS; i++) {
        code = bp__cu.ModuleLoadData(&kernels->module[i], texts[i]);
        kernels->module[i] = code == BP__CU_SUCCESS ? kernels->module[i] : NULL;
    }
    for (int i = 0; i < BP__CUSOLVER_KERNELS && code == BP__CU_SUCCESS; i++) {
        const int module = i < BP__CUSOLVER_PIVOTS_IN ? 0 : i < BP__CUSOLVER_DET ? 1 : 2;
        code = bp__cu.ModuleGetFunction(&kernels->function[i], kernels->module[module], names[i]);
    }
    return code;
}

void bp__cusolver_kernels_unload(bp__cusolver_kernels *kernels) {
    for (int i = 0; i < BP__CUSOLVER_MODULES; i++) {
        if (kernels->module[i]) {
            bp__cu.ModuleUnload(kernels->module[i]);
        }
    }
}

CUresult bp__cusolver_launch(const bp__cusolver_kernels *kernels, int kernel, const bp__cusolver_walk *walk,
                             CUstream stream) {
    bp__cusolver_walk own = *walk;
    void *parameters[] = {&own};
    const uint64_t groups = (own.count + GROUP - 1) / GROUP;
    return own.count == 0       ? BP__CU_SUCCESS
           : groups > INT32_MAX ? BP__CU_NOT_SUPPORTED
                                : bp__cu.LaunchKernel(kernels->function[kernel], (unsigned)groups, 1, 1, GROUP, 1, 1, 0,
                                                      stream, parameters, NULL);
}
