/* convert_resize.c - adds resizing, along one axis after the other.
 *
 * An element of the result is a sum of one, two or four elements of the input along an axis, whose places and weights
 * follow from the sizes: the input is taken at the places, multiplied by the weights, and added. */
#include "onnx/read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_TAPS = 4, MOST_SIZE = 1 << 24 };
typedef enum how { NEAREST, LINEAR, CUBIC } how;
typedef enum coordinates {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    HALF_PIXEL_SYMMETRIC
} coordinates;
typedef enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL } rounding;

typedef struct resizing {
    int mode, coordinates, rounding;
    bool excludes; /* elements outside have no weight */
    double a;      /* of cubic */
    double scale[BP_MAX_NDIM];
    int64_t size[BP_MAX_NDIM];
} resizing;

/* ---- Places ---- */

/* Returns where an element of the result lies among elements of the input. */
static double place_of(const resizing *of, int64_t i, double scale, int64_t from, int64_t to) {
    const double x = (double)i, half = (x + 0.5) / scale - 0.5, whole = scale * (double)from; /* not rounded */
    switch (of->coordinates) {
    case PYTORCH_HALF_PIXEL:
        return to > 1 ? half : 0;
    case ALIGN_CORNERS:
        return whole != 1 ? x * (double)(from - 1) / (whole - 1) : 0;
    case ASYMMETRIC:
        return x / scale;
    case HALF_PIXEL_SYMMETRIC:
        return half + (double)from / 2 * (1 - (double)to / (scale * (double)from));
    default:
        return half;
    }
}

static double rounded(const resizing *of, double place) {
    return of->rounding == FLOOR         ? floor(place)
           : of->rounding == CEIL        ? ceil(place)
           : of->rounding == PREFER_CEIL ? floor(place + 0.5)
                                         : ceil(place - 0.5);
}

/* Writes the weights of the elements around a place, whose first one is at `first`. */
static int weigh(const resizing *of, double place, int64_t *first, double weights[MOST_TAPS]) {
    const double below = of->mode == NEAREST ? rounded(of, place) : floor(place), t = place - below, a = of->a;
    *first = (int64_t)fmax(-0x1p60, fmin(below, 0x1p60));
    if (of->mode == NEAREST) {
        weights[0] = 1;
        return 1;
    }
    if (of->mode == LINEAR) {
        weights[0] = 1 - t;
        weights[1] = t;
        return 2;
    }
    *first -= 1;
    weights[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    weights[2] = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1;
    weights[3] = ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a;
    return 4;
}

/* Leaves out elements outside, or takes the nearest ones in their place. */
static void keep_inside(const resizing *of, int taps, int64_t first, int64_t size, double *weights, int64_t *places) {
    double sum = 0;
    for (int i = 0; i < taps; i++) {
        const int64_t at = first + i;
        weights[i] = of->excludes && (at < 0 || at >= size) ? 0 : weights[i];
        places[i] = at < 0 ? 0 : at >= size ? size - 1 : at;
        sum += weights[i];
    }
    for (int i = 0; i < taps && of->excludes && sum != 0; i++) {
        weights[i] /= sum;
    }
}

/* ---- One axis ---- */

/* Adds one of the elements that are joined: taken at its places, and multiplied by its weights. */
static bp_status add_tap(bp__onnx *r, bp__onnx_value *x, int axis, bp__onnx_value *places, bp__onnx_value *weights,
                         bp__onnx_value **sum) {
    int64_t shape[BP_MAX_NDIM];
    bp__onnx_value *taken;
    BP__TRY(bp__onnx_call_one(r, "take", 2, ((bp__onnx_value *[]){x, places}), &taken, "axis=%d", axis));
    if (!weights) {
        *sum = taken;
        return BP_OK;
    }
    for (int d = 0; d < x->ndim; d++) {
        shape[d] = d == axis ? weights->shape[0] : 1;
    }
    BP__TRY(bp__onnx_cast(r, weights, x->dtype, &weights));
    BP__TRY(bp__onnx_reshape(r, weights, x->ndim, shape, &weights));
    BP__TRY(bp__onnx_binary(r, "multiply", taken, weights, &taken));
    if (*sum) {
        return bp__onnx_binary(r, "add", *sum, taken, sum);
    }
    *sum = taken;
    return BP_OK;
}

static bp_status resize_axis(bp__onnx *r, const resizing *of, int axis, bp__onnx_value *x, bp__onnx_value **result) {
    const int64_t from = x->shape[axis], to = of->size[axis];
    const int taps = of->mode == NEAREST ? 1 : of->mode == LINEAR ? 2 : 4;
    bp__onnx_value *places[MOST_TAPS], *weights[MOST_TAPS], *sum = NULL;
    int64_t *place[MOST_TAPS], inside[MOST_TAPS] = {0}, first;
    double *weight[MOST_TAPS], one[MOST_TAPS] = {0};
    for (int t = 0; t < taps; t++) {
        BP__TRY(bp__onnx_known(r, BP_I64, 1, &to, &places[t], (void **)&place[t]));
        BP__TRY(bp__onnx_known(r, BP_F64, 1, &to, &weights[t], (void **)&weight[t]));
    }
    for (int64_t i = 0; i < to; i++) {
        weigh(of, place_of(of, i, of->scale[axis], from, to), &first, one);
        keep_inside(of, taps, first, from, one, inside);
        for (int t = 0; t < taps; t++) {
            place[t][i] = inside[t];
            weight[t][i] = one[t];
        }
    }
    for (int t = 0; t < taps; t++) {
        BP__TRY(add_tap(r, x, axis, places[t], taps == 1 ? NULL : weights[t], &sum));
    }
    *result = sum;
    return BP_OK;
}

/* ---- Sizes ---- */

/* Finds the axes of scales and sizes: all, or what an attribute has. */
static bp_status read_axes(bp__onnx *r, int ndim, int *count, int axes[BP_MAX_NDIM]) {
    const int64_t *given;
    BP__TRY(bp__onnx_attribute_ints(r, "axes", -1, count, &given));
    *count = given ? *count : ndim;
    if (*count > ndim) {
        return bp__fail(BP_E_FORMAT, "there are %d axes, of %d dimensions", *count, ndim);
    }
    for (int i = 0; i < *count; i++) {
        BP__TRY(bp__onnx_axis(given ? given[i] : i, ndim, &axes[i]));
    }
    return BP_OK;
}

static bp_status from_scales(bp__onnx *r, bp__onnx_value *scales, int count, const int *axes, resizing *of) {
    const bp__onnx_value *x = r->inputs[0];
    bp__onnx_value *one;
    if (scales->ndim != 1 || scales->shape[0] != count) {
        return bp__fail(BP_E_FORMAT, "input 'scales' has not %d elements", count);
    }
    for (int i = 0; i < count; i++) {
        double *scale = &of->scale[axes[i]];
        one = scales->data ? bp__onnx_new_value(r, scales->dtype, 0, NULL) : NULL;
        if (one) {
            one->data = (const char *)scales->data + (size_t)i * bp_dtype_size(scales->dtype);
        }
        if (!one || !bp__onnx_real_known(r, one, scale)) {
            return bp__fail(BP_E_UNSUPPORTED, "input 'scales' must be known when the model is read");
        }
        const double size = floor((double)x->shape[axes[i]] * *scale);
        if (!(*scale > 0 && size <= MOST_SIZE)) {
            return bp__fail(BP_E_UNSUPPORTED, "scale %d is %g", i, *scale);
        }
        of->size[axes[i]] = (int64_t)size;
    }
    return BP_OK;
}

/* Sizes that keep the ratio of the input are at most, or at least, the given ones. */
static bp_status keep_ratio(int policy, int count, const int *axes, const int64_t *shape, resizing *of) {
    double scale = policy == 1 ? HUGE_VAL : 0;
    for (int i = 0; i < count; i++) {
        const double own = of->scale[axes[i]];
        scale = policy == 1 ? fmin(scale, own) : fmax(scale, own);
    }
    for (int i = 0; i < count; i++) {
        const double size = floor(scale * (double)shape[axes[i]] + 0.5);
        if (!(size <= MOST_SIZE)) {
            return bp__fail(BP_E_UNSUPPORTED, "size %d is %g", i, size);
        }
        of->scale[axes[i]] = scale;
        of->size[axes[i]] = (int64_t)size;
    }
    return BP_OK;
}

static bp_status from_sizes(bp__onnx *r, int policy, int count, const int *axes, resizing *of) {
    const bp__onnx_value *x = r->inputs[0];
    int given;
    int64_t *sizes;
    BP__TRY(bp__onnx_numbers(r, 3, "sizes", &given, &sizes));
    if (given != count) {
        return bp__fail(BP_E_FORMAT, "input 'sizes' has %d elements; it must have %d", given, count);
    }
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 0 || sizes[i] > MOST_SIZE || x->shape[axes[i]] == 0) {
            return bp__fail(BP_E_UNSUPPORTED, "size %d is %" PRId64, i, sizes[i]);
        }
        of->size[axes[i]] = sizes[i];
        of->scale[axes[i]] = (double)sizes[i] / (double)x->shape[axes[i]];
    }
    return policy != 0 ? keep_ratio(policy, count, axes, x->shape, of) : BP_OK;
}

/* ---- The operator ---- */

/* Before opset 11 there are scales alone, and places of the output are divided by them. */
static bp_status read_scaling(bp__onnx *r, resizing *of) {
    of->coordinates = ASYMMETRIC;
    of->rounding = FLOOR;
    return bp__onnx_attribute_word(r, "mode", "nearest,linear", NEAREST, &of->mode);
}

static bp_status read_resizing(bp__onnx *r, resizing *of) {
    bool antialias;
    double outside;
    BP__TRY(bp__onnx_attribute_word(r, "mode", "nearest,linear,cubic", NEAREST, &of->mode));
    BP__TRY(bp__onnx_attribute_word(r, "coordinate_transformation_mode",
                                    "half_pixel,pytorch_half_pixel,align_corners,asymmetric,half_pixel_symmetric",
                                    HALF_PIXEL, &of->coordinates));
    BP__TRY(bp__onnx_attribute_word(r, "nearest_mode", "round_prefer_floor,round_prefer_ceil,floor,ceil", PREFER_FLOOR,
                                    &of->rounding));
    BP__TRY(bp__onnx_attribute_flag(r, "exclude_outside", false, &of->excludes));
    BP__TRY(bp__onnx_attribute_real(r, "cubic_coeff_a", -0.75, &of->a));
    BP__TRY(bp__onnx_attribute_real(r, "extrapolation_value", 0, &outside)); /* of a mode that is refused */
    BP__TRY(bp__onnx_attribute_flag(r, "antialias", false, &antialias));
    return antialias ? bp__fail(BP_E_UNSUPPORTED, "attribute 'antialias' is not supported") : BP_OK;
}

bp_status bp__onnx_convert_resize(bp__onnx *r, const bp__onnx_row *row) {
    resizing of;
    int count, axes[BP_MAX_NDIM], policy = 0;
    const bool scales_only = row->fields != NULL;
    bp__onnx_value *x = r->inputs[0], *scales = bp__onnx_input(r, scales_only ? 1 : 2);
    memset(&of, 0, sizeof of);
    memcpy(of.size, x->shape, (size_t)x->ndim * sizeof *of.size);
    BP__TRY(scales_only ? read_scaling(r, &of) : read_resizing(r, &of));
    BP__TRY(read_axes(r, x->ndim, &count, axes));
    if (!scales_only) {
        BP__TRY(bp__onnx_attribute_word(r, "keep_aspect_ratio_policy", "stretch,not_larger,not_smaller", 0, &policy));
    }
    if (scales && bp__onnx_count(scales) > 0) {
        BP__TRY(bp__onnx_load(r, scales));
        BP__TRY(from_scales(r, scales, count, axes, &of));
    } else {
        BP__TRY(from_sizes(r, policy, count, axes, &of));
    }
    const bp_dtype dtype = x->dtype;
    if (of.mode != NEAREST && !bp__onnx_is_float(dtype)) {
        return bp__fail(BP_E_UNSUPPORTED, "elements of type %s are not supported", bp_dtype_name(dtype));
    }
    for (int d = 0; d < r->inputs[0]->ndim; d++) {
        if (of.size[d] != x->shape[d] || (of.scale[d] != 0 && of.scale[d] != 1)) {
            BP__TRY(resize_axis(r, &of, d, x, &x));
        }
    }
    r->results[0] = x;
    return BP_OK;
}
