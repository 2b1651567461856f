/* dnn.c - a library in front of oneDNN, for the tests of its probe: names that it does not have come from the real
 * library, to which it is linked.
 *
 * FAKE_NONE: nothing is wrong. FAKE_SUM: products do not add. FAKE_RELU: ReLU is left out. FAKE_AVERAGE: averages count
 * the padding. FAKE_EPS: a normalization has another eps. FAKE_RNN, FAKE_LSTM, FAKE_GRU, FAKE_GRU_BEFORE (the reset
 * gate comes before the product): such a layer takes descending steps in ascending order. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const int *dnnl_version(void);
const int *dnnl_version(void) {
    static const int numbers[16] = {3, 2, 0};
    return numbers;
}

#ifdef FAKE_SUM
EXPORT int dnnl_post_ops_append_sum(void *ops, float scale, int32_t zero, int type);
int dnnl_post_ops_append_sum(void *ops, float scale, int32_t zero, int type) {
    (void)ops, (void)scale, (void)zero, (void)type;
    return 0;
}
#endif

#ifdef FAKE_RELU
EXPORT int dnnl_post_ops_append_eltwise(void *ops, int algorithm, float alpha, float beta);
int dnnl_post_ops_append_eltwise(void *ops, int algorithm, float alpha, float beta) {
    (void)ops, (void)algorithm, (void)alpha, (void)beta;
    return 0;
}
#endif

#ifdef FAKE_AVERAGE
typedef int pooling(void **made, void *engine, int kind, int algorithm, const void *x, const void *y,
                    const int64_t *stride, const int64_t *kernel, const int64_t *dilation, const int64_t *begin,
                    const int64_t *end, const void *attributes);
EXPORT pooling dnnl_pooling_forward_primitive_desc_create;
int dnnl_pooling_forward_primitive_desc_create(void **made, void *engine, int kind, int algorithm, const void *x,
                                               const void *y, const int64_t *stride, const int64_t *kernel,
                                               const int64_t *dilation, const int64_t *begin, const int64_t *end,
                                               const void *attributes) {
    void *next = dlsym(RTLD_NEXT, "dnnl_pooling_forward_primitive_desc_create");
    pooling *real;
    memcpy(&real, &next, sizeof real);
    (void)algorithm;
    return real(made, engine, kind, 0x2ff, x, y, stride, kernel, dilation, begin, end, attributes);
}
#endif

#ifdef FAKE_EPS
typedef int normalization(void **made, void *engine, int kind, const void *x, const void *y, float eps, unsigned flags,
                          const void *attributes);
EXPORT normalization dnnl_batch_normalization_forward_primitive_desc_create;
int dnnl_batch_normalization_forward_primitive_desc_create(void **made, void *engine, int kind, const void *x,
                                                           const void *y, float eps, unsigned flags,
                                                           const void *attributes) {
    void *next = dlsym(RTLD_NEXT, "dnnl_batch_normalization_forward_primitive_desc_create");
    normalization *real;
    memcpy(&real, &next, sizeof real);
    return real(made, engine, kind, x, y, 2 * eps, flags, attributes);
}
#endif

#if defined(FAKE_RNN)
typedef int layer(void **made, void *engine, int kind, int activation, int direction, const void *x, const void *hidden,
                  const void *weight, const void *iter, const void *bias, const void *y, const void *last,
                  unsigned flags, float alpha, float beta, const void *attributes);
EXPORT layer dnnl_vanilla_rnn_forward_primitive_desc_create;
int dnnl_vanilla_rnn_forward_primitive_desc_create(void **made, void *engine, int kind, int activation, int direction,
                                                   const void *x, const void *hidden, const void *weight,
                                                   const void *iter, const void *bias, const void *y, const void *last,
                                                   unsigned flags, float alpha, float beta, const void *attributes) {
    void *next = dlsym(RTLD_NEXT, "dnnl_vanilla_rnn_forward_primitive_desc_create");
    layer *real;
    memcpy(&real, &next, sizeof real);
    return real(made, engine, kind, activation, direction == 2 ? 1 : direction, x, hidden, weight, iter, bias, y, last,
                flags, alpha, beta, attributes);
}
#elif defined(FAKE_LSTM)
typedef int layer(void **made, void *engine, int kind, int direction, const void *x, const void *hidden,
                  const void *cell, const void *weight, const void *iter, const void *peephole, const void *projection,
                  const void *bias, const void *y, const void *last, const void *last_cell, unsigned flags,
                  const void *attributes);
EXPORT layer dnnl_lstm_forward_primitive_desc_create;
int dnnl_lstm_forward_primitive_desc_create(void **made, void *engine, int kind, int direction, const void *x,
                                            const void *hidden, const void *cell, const void *weight, const void *iter,
                                            const void *peephole, const void *projection, const void *bias,
                                            const void *y, const void *last, const void *last_cell, unsigned flags,
                                            const void *attributes) {
    void *next = dlsym(RTLD_NEXT, "dnnl_lstm_forward_primitive_desc_create");
    layer *real;
    memcpy(&real, &next, sizeof real);
    return real(made, engine, kind, direction == 2 ? 1 : direction, x, hidden, cell, weight, iter, peephole, projection,
                bias, y, last, last_cell, flags, attributes);
}
#elif defined(FAKE_GRU) || defined(FAKE_GRU_BEFORE)
#ifdef FAKE_GRU
#define CREATE dnnl_lbr_gru_forward_primitive_desc_create
#else
#define CREATE dnnl_gru_forward_primitive_desc_create
#endif
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)
typedef int layer(void **made, void *engine, int kind, int direction, const void *x, const void *hidden,
                  const void *weight, const void *iter, const void *bias, const void *y, const void *last,
                  unsigned flags, const void *attributes);
EXPORT layer CREATE;
int CREATE(void **made, void *engine, int kind, int direction, const void *x, const void *hidden, const void *weight,
           const void *iter, const void *bias, const void *y, const void *last, unsigned flags,
           const void *attributes) {
    void *next = dlsym(RTLD_NEXT, NAME_OF(CREATE));
    layer *real;
    memcpy(&real, &next, sizeof real);
    return real(made, engine, kind, direction == 2 ? 1 : direction, x, hidden, weight, iter, bias, y, last, flags,
                attributes);
}
#endif
