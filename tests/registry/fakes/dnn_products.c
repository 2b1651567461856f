/* dnn_products.c - products of integers and of f16 for a library in front of oneDNN, so that the provider's are tested
 * on processors for which the real library has none, or wrong ones. All other calls reach the real library.
 *
 * FAKE_SATURATES: sums of two products of integers saturate at 16 bits. FAKE_ROUNDS: sums of integers are rounded to
 * f32. FAKE_F16: there is no product of f16. FAKE_REFERENCE: the primitive says that it is the reference
 * implementation, as it does in all of these libraries if the result has 97 columns. FAKE_PEEKS: products of u8 read
 * the byte after B if A has 9 rows. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { F16 = 1, S8 = 5, U8 = 6, PLACES = 3, UNIMPLEMENTED = 3 };
enum { NDIMS = 256, SIZES = 257, TYPE = 258, FORMAT = 262, STRIDES = 14, ANY = 1 };

/* Functions of the real library that the provider does not call. */
int dnnl_memory_desc_query(const void *md, int what, void *result);
int dnnl_memory_desc_clone(void **to, const void *md);
int dnnl_memory_desc_destroy(void *md);
int dnnl_memory_desc_create_with_tag(void **md, int ndims, const int64_t *dims, int type, int tag);
int dnnl_primitive_attr_get_post_ops(const void *attributes, const void **after);
int dnnl_post_ops_len(const void *after);
int dnnl_memory_get_memory_desc(const void *memory, const void **md);
int dnnl_memory_get_data_handle(const void *memory, void **address);

/* A description of a primitive, or a primitive. The real ones begin with the address of a table. */
static const char ours[] = "ours";
typedef struct product {
    const char *mark;
    void *operand[PLACES];
    bool adds; /* to the result that was there */
} product;

static bool is_ours(const void *object) {
    const char *first;
    memcpy(&first, object, sizeof first);
    return first == ours;
}

#define REAL(name, type)                                                                                               \
    static type *real_##name(void) {                                                                                   \
        void *found = dlsym(RTLD_NEXT, "dnnl_" #name);                                                                 \
        type *real;                                                                                                    \
        memcpy(&real, &found, sizeof real);                                                                            \
        return real;                                                                                                   \
    }                                                                                                                  \
    EXPORT type dnnl_##name;

/* ---- Operands ---- */

typedef struct tensor {
    int ndim, type;
    const int64_t *size, *stride;
    char *data;
} tensor;

static tensor describe(const void *md) {
    tensor t = {0};
    const int64_t *size = NULL, *stride = NULL;
    dnnl_memory_desc_query(md, NDIMS, &t.ndim);
    dnnl_memory_desc_query(md, TYPE, &t.type);
    dnnl_memory_desc_query(md, SIZES, &size);
    dnnl_memory_desc_query(md, STRIDES, &stride);
    t.size = size;
    t.stride = stride;
    return t;
}

/* Makes a plain layout of one that the library may choose: the last of the transpositions. */
static void make_plain(void **md) {
    const tensor t = describe(*md);
    static const int tags[] = {0, 0, 3, 6}; /* ba, acb */
    void *plain;
    if (t.ndim < 4 && tags[t.ndim] &&
        dnnl_memory_desc_create_with_tag(&plain, t.ndim, t.size, t.type, tags[t.ndim]) == 0) {
        dnnl_memory_desc_destroy(*md);
        *md = plain;
    }
}

/* ---- Functions ---- */

typedef int describe_product(void **made, void *engine, const void *a, const void *b, const void *bias, const void *c,
                             const void *attributes);
REAL(matmul_primitive_desc_create, describe_product)
int dnnl_matmul_primitive_desc_create(void **made, void *engine, const void *a, const void *b, const void *bias,
                                      const void *c, const void *attributes) {
    const tensor x = describe(a), y = describe(b);
    const void *after = NULL;
    const bool integer = (x.type == S8 || x.type == U8) && y.type == S8;
    int format = 0;
#ifdef FAKE_F16
    if (x.type == F16) {
        return UNIMPLEMENTED;
    }
#endif
    if (!integer && x.type != F16) {
        return real_matmul_primitive_desc_create()(made, engine, a, b, bias, c, attributes);
    }
    product *p = calloc(1, sizeof *p);
    p->mark = ours;
    p->adds = attributes && dnnl_primitive_attr_get_post_ops(attributes, &after) == 0 && dnnl_post_ops_len(after) > 0;
    dnnl_memory_desc_clone(&p->operand[0], a);
    dnnl_memory_desc_clone(&p->operand[1], b);
    dnnl_memory_desc_clone(&p->operand[2], c);
    dnnl_memory_desc_query(b, FORMAT, &format);
    if (format == ANY) {
        make_plain(&p->operand[1]);
    }
    *made = p;
    return 0;
}

static void destroy_product(product *p) {
    for (int i = 0; i < PLACES; i++) {
        dnnl_memory_desc_destroy(p->operand[i]);
    }
    free(p);
}

typedef int destroy(void *object);
REAL(primitive_desc_destroy, destroy)
int dnnl_primitive_desc_destroy(void *object) {
    if (!is_ours(object)) {
        return real_primitive_desc_destroy()(object);
    }
    destroy_product(object);
    return 0;
}

REAL(primitive_destroy, destroy)
int dnnl_primitive_destroy(void *object) {
    if (!is_ours(object)) {
        return real_primitive_destroy()(object);
    }
    free(object);
    return 0;
}

typedef int create(void **made, const void *description);
REAL(primitive_create, create)
int dnnl_primitive_create(void **made, const void *description) {
    if (!is_ours(description)) {
        return real_primitive_create()(made, description);
    }
    product *p = calloc(1, sizeof *p);
    p->mark = ours;
    p->adds = ((const product *)description)->adds;
    *made = p;
    return 0;
}

typedef const void *query_md(const void *description, int what, int index);
REAL(primitive_desc_query_md, query_md)
const void *dnnl_primitive_desc_query_md(const void *description, int what, int index) {
    enum { ARGUMENT = 255, WEIGHTS = 33 };
    return !is_ours(description)                  ? real_primitive_desc_query_md()(description, what, index)
           : what == ARGUMENT && index == WEIGHTS ? ((const product *)description)->operand[1]
                                                  : NULL;
}

typedef int query(const void *description, int what, int index, void *result);
REAL(primitive_desc_query, query)
int dnnl_primitive_desc_query(const void *description, int what, int index, void *result) {
    enum { WITHOUT_KERNEL = 97 };
    if (!is_ours(description)) {
        return real_primitive_desc_query()(description, what, index, result);
    }
    const tensor c = describe(((const product *)description)->operand[2]);
    const char *name = c.size[c.ndim - 1] == WITHOUT_KERNEL ? "ref_int8:any" : "fake";
#ifdef FAKE_REFERENCE
    name = "ref_int8:any";
#endif
    memcpy(result, &name, sizeof name);
    return 0;
}

/* ---- Products ---- */

typedef struct argument {
    int number;
    void *memory;
} argument;

static int value_of(const tensor *t, int64_t at) {
    const unsigned char byte = (unsigned char)t->data[at];
    return t->type == U8 ? byte : (signed char)byte;
}

static void multiply_integers(const tensor *a, const tensor *b, int64_t at_a, int64_t at_b, int64_t k, int64_t step_a,
                              int64_t step_b, bool adds, char *to) {
    uint32_t sum = 0;
    if (adds) {
        memcpy(&sum, to, sizeof sum);
    }
    for (int64_t l = 0; l < k; l += 2) {
        int pair = value_of(a, at_a + l * step_a) * value_of(b, at_b + l * step_b);
        pair += l + 1 < k ? value_of(a, at_a + (l + 1) * step_a) * value_of(b, at_b + (l + 1) * step_b) : 0;
#ifdef FAKE_SATURATES
        pair = pair > INT16_MAX ? INT16_MAX : pair < INT16_MIN ? INT16_MIN : pair;
#endif
        sum += (uint32_t)pair;
    }
#ifdef FAKE_ROUNDS
    const float rounded = (float)(int32_t)sum;
    sum = rounded >= 0x1p31F ? INT32_MAX : (uint32_t)(int32_t)rounded;
#endif
    memcpy(to, &sum, sizeof sum);
}

/* Zero, and numbers that are normal in f16 and need no rounding. */
static float from_half(const char *at) {
    uint16_t half;
    uint32_t bits;
    float value;
    memcpy(&half, at, sizeof half);
    bits = (uint32_t)(half & 0x8000) << 16;
    bits |= half & 0x7fff ? ((uint32_t)(half & 0x7fff) << 13) + (112u << 23) : 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void write_half(char *at, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t size = bits & 0x7fffffff;
    const uint16_t half = (uint16_t)((bits >> 16 & 0x8000) | (size ? (size - (112u << 23)) >> 13 : 0));
    memcpy(at, &half, sizeof half);
}

static void multiply_halves(const tensor *a, const tensor *b, int64_t at_a, int64_t at_b, int64_t k, int64_t step_a,
                            int64_t step_b, bool adds, char *to) {
    float sum = adds ? from_half(to) : 0;
    for (int64_t l = 0; l < k; l++) {
        sum += from_half(a->data + 2 * (at_a + l * step_a)) * from_half(b->data + 2 * (at_b + l * step_b));
    }
    write_half(to, sum);
}

static void multiply(const tensor *a, const tensor *b, const tensor *c, bool adds) {
    const int d = c->ndim;
    const int64_t k = a->size[d - 1];
    int64_t elements = 1;
    for (int i = 0; i < d; i++) {
        elements *= c->size[i];
    }
    for (int64_t n = 0; n < elements; n++) {
        int64_t at_a = 0, at_b = 0, at_c = 0, rest = n;
        for (int i = d - 1; i >= 0; i--) {
            const int64_t index = rest % c->size[i];
            rest /= c->size[i];
            at_a += i == d - 1 || a->size[i] == 1 ? 0 : index * a->stride[i];
            at_b += i == d - 2 || b->size[i] == 1 ? 0 : index * b->stride[i];
            at_c += index * c->stride[i];
        }
        char *to = c->data + at_c * (c->type == F16 ? 2 : 4);
        (a->type == F16 ? multiply_halves : multiply_integers)(a, b, at_a, at_b, k, a->stride[d - 1], b->stride[d - 2],
                                                               adds, to);
    }
}

typedef int execute(const void *primitive, void *stream, int count, const argument *list);
REAL(primitive_execute, execute)
int dnnl_primitive_execute(const void *primitive, void *stream, int count, const argument *list) {
    tensor operand[PLACES];
    if (!is_ours(primitive)) {
        return real_primitive_execute()(primitive, stream, count, list);
    }
    for (int i = 0; i < count; i++) {
        const void *md;
        void *data;
        const int place = list[i].number == 1 ? 0 : list[i].number == 33 ? 1 : 2;
        dnnl_memory_get_memory_desc(list[i].memory, &md);
        dnnl_memory_get_data_handle(list[i].memory, &data);
        operand[place] = describe(md);
        operand[place].data = data;
    }
#ifdef FAKE_PEEKS
    const tensor *b = &operand[1];
    const int d = b->ndim;
    if (operand[0].type == U8 && operand[0].size[d - 2] == 9) {
        (void)*(const volatile char *)(b->data + (b->size[d - 1] - 1) * b->stride[d - 1] +
                                       (b->size[d - 2] - 1) * b->stride[d - 2] + 1);
    }
#endif
    multiply(&operand[0], &operand[1], &operand[2], ((const product *)primitive)->adds);
    return 0;
}
