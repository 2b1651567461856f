/* fourier.h - declares the parts of convolutions by Fourier transforms: tiles, kernels and plans.
 *
 * The image is cut into tiles that overlap (overlap-save). A tile of n elements in one direction has n - span + 1
 * results, for a kernel of `span` elements with its dilation. The spectrum of a result is the sum over the channels of
 * the products of the spectra of image and weight. With one channel in a group these are products of elements.
 * Otherwise there is a product of matrices for each frequency.
 *
 * Lines of the transforms (../fft/line.h) fill the lanes of vectors: each lane has a plane, which is one tile of one
 * channel. A spectrum is the same in every lane, next to any other planes. Sizes of tiles depend neither on the batch
 * nor on threads. So the bits of a result do not either. */
#ifndef BP_NATIVE_CONV_FOURIER_H
#define BP_NATIVE_CONV_FOURIER_H

#include "conv.h"
#include "providers/native/fft/axis.h"

enum { BP__FOURIER_AXES = BP_MAX_CONV_NDIM, BP__FOURIER_LAST = BP__FOURIER_AXES - 1 };

/* Kernels of one instruction set for one type. A vector has the lanes of the transforms. */
typedef struct bp__fourier_kernels {
    /* Copies n elements to or from one lane of vectors: to[i * lanes] = from[i * step], and the reverse. */
    void (*to_lane)(int64_t n, int lanes, void *to, const void *from, int64_t step);
    void (*from_lane)(int64_t n, int lanes, void *to, int64_t step, const void *from);
    /* Multiplies n elements of spectra in lanes: to = x * w. w has lanes too, or pairs, the same for all lanes. */
    void (*multiply)(int64_t n, void *to, const void *x, const void *w);
    void (*multiply_pairs)(int64_t n, void *to, const void *x, const void *w);
    /* Copies n complex vectors, as real and imaginary parts, to places `step` bytes apart; the parts of each are `part`
     * bytes apart there. */
    void (*spread)(int64_t n, char *to, int64_t step, int64_t part, const void *from);
    /* Adds a vector of biases to n vectors, and replaces negative results by 0 if `relu`. */
    void (*finish)(int64_t n, void *x, const void *bias, bool relu);
} bp__fourier_kernels;

extern const bp__fourier_kernels bp__fourier_default[2]; /* f32, f64 */
extern const bp__fourier_kernels bp__fourier_avx2[2];
extern const bp__fourier_kernels bp__fourier_avx512[2];

/* The kernels that a plan uses. */
typedef struct bp__fourier_set {
    const bp__fft_kernels *const *transforms;
    const bp__native_kernels *products; /* of complex numbers */
    const bp__fourier_kernels *own;
    int isa;
} bp__fourier_set;

/* One direction of tiles. */
typedef struct bp__fourier_axis {
    bp__conv_axis of;
    int64_t span, first; /* elements that a result needs, and the image index of the first one for position 0 */
    int64_t n, results;  /* elements and results of a tile; n is 1 if the kernel has one tap */
    int64_t tiles;
} bp__fourier_axis;

typedef enum bp__fourier_way {
    BP__FOURIER_MATRICES, /* a product of matrices for each frequency */
    BP__FOURIER_GROUPS,   /* one channel in a group: lanes are groups */
    BP__FOURIER_TILES     /* one channel in a group: lanes are tiles */
} bp__fourier_way;

/* How a convolution is cut into tiles. The transform of the last axis is real. */
typedef struct bp__fourier_cut {
    bp__fourier_way way;
    bool f64;
    bp__conv_job job;
    bp__fourier_axis axis[BP__FOURIER_AXES];
    int64_t row;           /* elements of a row of the spectrum: n / 2 + 1 of the last axis */
    int64_t frequencies;   /* elements of the spectrum */
    int64_t tiles;         /* of an item */
    int64_t groups, block; /* block: tiles of all groups that are computed at once, for MATRICES */
    double cost_ns;        /* on one thread */
} bp__fourier_cut;

/* Returns why the algorithm does not compute the problem, or NULL. */
const char *bp__fourier_refusal(const bp_problem *problem);

/* Cuts the problem, and estimates the time. Returns false if the kernel does not fit a tile,
 * or the spectra need too much memory. */
bool bp__fourier_cut_for(const bp_problem *problem, const bp__fourier_set *set, bp__fourier_cut *cut);

bp_status bp__fourier_plan(const bp_host *host, const bp_problem *problem, const bp__fourier_set *set,
                           const bp__fourier_cut *cut, int threads, bp_prepared **prepared);

/* ---- Transforms of tiles in lanes: fourier_transform.c ---- */

typedef struct bp__fourier_tables {
    bp__fft_axis forward, inverse;         /* of the last axis */
    bp__fft_line *lines[BP__FOURIER_LAST]; /* of the others; NULL if they have one element */
} bp__fourier_tables;

bp_status bp__fourier_tables_make(const bp_host *host, const bp__fourier_cut *cut, const bp__fourier_set *set,
                                  bp__fourier_tables *tables);
void bp__fourier_tables_free(const bp_host *host, bp__fourier_tables *tables);

/* Elements of memory for transforms: two blocks of this size. */
int64_t bp__fourier_work(const bp__fourier_cut *cut);

/* The elements [low, high) of a tile in each direction. */
typedef struct bp__fourier_box {
    int64_t low[BP__FOURIER_AXES], high[BP__FOURIER_AXES];
} bp__fourier_box;

/* Transform a tile in place. Rows outside `data` are 0, or not needed in the inverse. */
void bp__fourier_forward(const bp__fourier_cut *cut, const bp__fourier_set *set, const bp__fourier_tables *tables,
                         void *tile, const bp__fourier_box *data, char *work);
void bp__fourier_inverse(const bp__fourier_cut *cut, const bp__fourier_set *set, const bp__fourier_tables *tables,
                         void *tile, const bp__fourier_box *data, char *work);

/* Copies elements between layouts. */
void bp__fourier_copy(const bp__fourier_set *set, const bp__fft_view *in, const bp__fft_view *out, int64_t count);

/* ---- Tiles of images and results: fourier_tile.c ---- */

/* A plane for each lane. Offsets are in elements of the operand. */
typedef struct bp__fourier_planes {
    int count;
    int64_t at[BP__FFT_LANES_MOST];          /* of the tile's first element, which may be outside the operand */
    bp__fourier_box box[BP__FFT_LANES_MOST]; /* the part that exists */
    int64_t channel[BP__FFT_LANES_MOST];     /* of the result */
} bp__fourier_planes;

/* Add a plane: tile `tile` of all items, with the offset of its channel. */
void bp__fourier_add_image(const bp__fourier_cut *cut, bp__fourier_planes *planes, int64_t tile, int64_t channel);
void bp__fourier_add_result(const bp__fourier_cut *cut, bp__fourier_planes *planes, int64_t tile, int64_t channel,
                            int64_t offset);

/* Reads planes of the image into a tile. Returns the elements of the tile that may not be 0; other rows are not
 * written. */
bp__fourier_box bp__fourier_read(const bp__fourier_cut *cut, const bp__fourier_set *set,
                                 const bp__fourier_planes *planes, const char *image, void *tile);

/* Returns the elements of a tile that are results of a plane. */
bp__fourier_box bp__fourier_needed(const bp__fourier_planes *planes);

/* Writes planes of the result. `bias` may be NULL. */
void bp__fourier_write(const bp__fourier_cut *cut, const bp__fourier_set *set, const bp__fourier_planes *planes,
                       const char *bias, int64_t bias_step, bool relu, void *tile, char *result);

/* Reads kernels of the weight into a tile. Lane `lane[i]` gets the kernel at element at[i]. */
void bp__fourier_read_weight(const bp__fourier_cut *cut, const bp__fourier_set *set, int count, const int *lane,
                             const int64_t *at, const char *weight, void *tile);

static inline int bp__fourier_lanes(const bp__fourier_set *set) {
    return set->transforms[0]->lanes;
}

static inline int64_t bp__fourier_real(const bp__fourier_cut *cut) {
    return cut->f64 ? 8 : 4;
}

/* Returns the bytes of one complex number in each lane. */
static inline int64_t bp__fourier_element(const bp__fourier_cut *cut, const bp__fourier_set *set) {
    return 2 * bp__fourier_real(cut) * bp__fourier_lanes(set);
}

#endif
