/* encoder.c - embeddings, six blocks of attention and two wide layers, and the mean of each sentence. */
#include "encoder.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Weights ---- */

/* Makes a tensor with memory of its own. */
static void make(bp_view *v, bp_dtype type, int ndim, const int64_t *shape) {
    size_t bytes = bp_dtype_size(type);
    for (int d = 0; d < ndim; d++) {
        bytes *= (size_t)shape[d];
    }
    CHECK(bp_view_init(v, need(aligned_alloc(64, (bytes + 63) / 64 * 64)), type, ndim, shape, NULL));
}

/* Finds NAME.weight (rows x columns; 0 columns: a vector) and NAME.bias of a block, or of the embeddings (-1). */
static void find(const encoder *e, bp_view *pair, int number, const char *name, int64_t rows, int64_t columns) {
    static const char *const parts[] = {"weight", "bias"};
    for (int i = 0; i < 2; i++) {
        char text[128];
        if (number < 0) {
            snprintf(text, sizeof text, "embeddings.%s.%s", name, parts[i]);
        } else {
            snprintf(text, sizeof text, "encoder.layer.%d.%s.%s", number, name, parts[i]);
        }
        weights_find(&e->file, text, &pair[i], i == 0 && columns ? 2 : 1, (const int64_t[]){rows, columns});
    }
}

void encoder_open(encoder *e, const char *path) {
    weights_open(&e->file, path);
    weights_find(&e->file, "embeddings.word_embeddings.weight", &e->words, 2, (const int64_t[]){WORDS, HIDDEN});
    weights_find(&e->file, "embeddings.position_embeddings.weight", &e->positions, 2,
                 (const int64_t[]){POSITIONS, HIDDEN});
    weights_find(&e->file, "embeddings.token_type_embeddings.weight", &e->type, 2, (const int64_t[]){2, HIDDEN});
    e->type.shape[0] = 1; /* all tokens are of the first sentence */
    find(e, e->norm, -1, "LayerNorm", HIDDEN, 0);
    for (int b = 0; b < BLOCKS; b++) {
        block_weights *w = &e->weights[b];
        bp_view query[2], key[2], value[2];
        find(e, query, b, "attention.self.query", HIDDEN, HIDDEN);
        find(e, key, b, "attention.self.key", HIDDEN, HIDDEN);
        find(e, value, b, "attention.self.value", HIDDEN, HIDDEN);
        for (int i = 0; i < 2; i++) {
            const DLTensor *const parts[] = {&query[i].tensor, &key[i].tensor, &value[i].tensor};
            make(&w->qkv[i], BP_F32, 2 - i, (const int64_t[]){3L * HIDDEN, HIDDEN});
            CHECK(bp_concat_run(e->options, parts, 3, 0, &w->qkv[i].tensor));
        }
        find(e, w->attended, b, "attention.output.dense", HIDDEN, HIDDEN);
        find(e, w->attended_norm, b, "attention.output.LayerNorm", HIDDEN, 0);
        find(e, w->wide, b, "intermediate.dense", WIDE, HIDDEN);
        find(e, w->narrow, b, "output.dense", HIDDEN, WIDE);
        find(e, w->norm, b, "output.LayerNorm", HIDDEN, 0);
    }
}

/* ---- Layers and memory of one shape ---- */

static void make_layer(const encoder *e, layer *l, const bp_view *in, const bp_view *pair, const bp_view *out) {
    bp_linear_call call = {
        .input = &in->tensor, .weight = &pair[0].tensor, .bias = &pair[1].tensor, .output = &out->tensor};
    layer_linear(l, e->options, &call);
}

/* The heads in columns `first` and up of a matrix: batch x heads x tokens x columns of a head. */
static void make_heads(const encoder *e, bp_view *heads, const bp_view *of, int64_t first) {
    const int64_t columns = of->shape[2], shape[] = {e->batch, HEADS, e->length, HIDDEN / HEADS};
    CHECK(bp_view_init(heads, (float *)of->tensor.data + first, BP_F32, 4, shape,
                       (const int64_t[]){e->length * columns, HIDDEN / HEADS, columns, 1}));
}

static void release_shape(encoder *e) {
    bp_view *const views[] = {&e->ids, &e->mask,     &e->share,   &e->hidden,  &e->sum,  &e->wide,
                              &e->qkv, &e->attended, &e->vectors, &e->squares, &e->norms};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        free(views[i]->tensor.data);
    }
    for (int b = 0; b < BLOCKS && e->batch; b++) {
        layer_release(&e->blocks[b].qkv);
        layer_release(&e->blocks[b].attended);
        layer_release(&e->blocks[b].wide);
        layer_release(&e->blocks[b].narrow);
    }
}

void encoder_shape(encoder *e, int64_t batch, int64_t length) {
    if (batch == e->batch && length == e->length) {
        return;
    }
    release_shape(e);
    e->batch = batch;
    e->length = length;
    make(&e->ids, BP_I32, 2, (const int64_t[]){batch, length});
    make(&e->mask, BP_BOOL, 4, (const int64_t[]){batch, 1, 1, length});
    make(&e->share, BP_F32, 3, (const int64_t[]){batch, length, 1});
    make(&e->hidden, BP_F32, 3, (const int64_t[]){batch, length, HIDDEN});
    make(&e->sum, BP_F32, 3, (const int64_t[]){batch, length, HIDDEN});
    make(&e->wide, BP_F32, 3, (const int64_t[]){batch, length, WIDE});
    make(&e->qkv, BP_F32, 3, (const int64_t[]){batch, length, 3L * HIDDEN});
    make(&e->attended, BP_F32, 3, (const int64_t[]){batch, length, HIDDEN});
    make(&e->vectors, BP_F32, 2, (const int64_t[]){batch, HIDDEN});
    make(&e->squares, BP_F32, 2, (const int64_t[]){batch, HIDDEN});
    make(&e->norms, BP_F32, 2, (const int64_t[]){batch, 1});
    make_heads(e, &e->query, &e->qkv, 0);
    make_heads(e, &e->key, &e->qkv, HIDDEN);
    make_heads(e, &e->value, &e->qkv, 2L * HIDDEN);
    make_heads(e, &e->heads, &e->attended, 0);
    e->positions.shape[0] = length;
    for (int b = 0; b < BLOCKS; b++) {
        const block_weights *w = &e->weights[b];
        make_layer(e, &e->blocks[b].qkv, &e->hidden, w->qkv, &e->qkv);
        make_layer(e, &e->blocks[b].attended, &e->attended, w->attended, &e->sum);
        make_layer(e, &e->blocks[b].wide, &e->hidden, w->wide, &e->wide);
        make_layer(e, &e->blocks[b].narrow, &e->wide, w->narrow, &e->sum);
    }
}

void encoder_close(encoder *e) {
    release_shape(e);
    for (int b = 0; b < BLOCKS; b++) {
        free(e->weights[b].qkv[0].tensor.data);
        free(e->weights[b].qkv[1].tensor.data);
    }
    weights_close(&e->file);
    bp_options_release(e->options);
}

/* ---- Execution ---- */

static void run_layer(const encoder *e, const char *name, const layer *l, const bp_view *in, const bp_view *out) {
    layer_run(l, in->tensor.data, out->tensor.data);
    report(e->explain, name);
}

/* Normalizes the rows of e->sum to e->hidden. */
static void normalize(const encoder *e, const bp_view *pair) {
    const bp_layer_norm_call call = {.struct_size = sizeof call,
                                     .kind = BP_LAYER_NORM,
                                     .dims = 1,
                                     .eps = 1e-12,
                                     .input = &e->sum.tensor,
                                     .weight = &pair[0].tensor,
                                     .bias = &pair[1].tensor,
                                     .output = &e->hidden.tensor};
    CHECK(bp_layer_norm_run(e->options, &call));
    report(e->explain, "layer_norm");
}

static void run_block(const encoder *e, const block *b, const block_weights *w) {
    const DLTensor *hidden = &e->hidden.tensor, *sum = &e->sum.tensor, *wide = &e->wide.tensor;
    const bp_attention_call attention = {.struct_size = sizeof attention,
                                         .query = &e->query.tensor,
                                         .key = &e->key.tensor,
                                         .value = &e->value.tensor,
                                         .mask = &e->mask.tensor,
                                         .output = &e->heads.tensor};
    run_layer(e, "query_key_value", &b->qkv, &e->hidden, &e->qkv);
    CHECK(bp_attention_run(e->options, &attention));
    report(e->explain, "attention");
    run_layer(e, "attended", &b->attended, &e->attended, &e->sum);
    CHECK(bp_binary_run(e->options, BP_BINARY_ADD, sum, hidden, sum));
    report(e->explain, "add");
    normalize(e, w->attended_norm);
    run_layer(e, "wide", &b->wide, &e->hidden, &e->wide);
    CHECK(bp_unary_run(e->options, BP_UNARY_GELU, wide, wide));
    report(e->explain, "gelu");
    run_layer(e, "narrow", &b->narrow, &e->wide, &e->sum);
    CHECK(bp_binary_run(e->options, BP_BINARY_ADD, sum, hidden, sum));
    normalize(e, w->norm);
}

void encoder_run(encoder *e) {
    const DLTensor *hidden = &e->hidden.tensor, *sum = &e->sum.tensor, *share = &e->share.tensor;
    const DLTensor *vectors = &e->vectors.tensor, *squares = &e->squares.tensor, *norms = &e->norms.tensor;
    static const int32_t one = 1;
    CHECK(bp_take_run(e->options, &e->words.tensor, &e->ids.tensor, 0, sum));
    report(e->explain, "words");
    CHECK(bp_binary_run(e->options, BP_BINARY_ADD, sum, &e->type.tensor, sum));
    CHECK(bp_binary_run(e->options, BP_BINARY_ADD, sum, &e->positions.tensor, sum));
    normalize(e, e->norm);
    for (int b = 0; b < BLOCKS; b++) {
        run_block(e, &e->blocks[b], &e->weights[b]);
    }
    CHECK(bp_binary_run(e->options, BP_BINARY_MULTIPLY, hidden, share, sum));
    CHECK(bp_reduce_run(e->options, BP_REDUCE_SUM, sum, &one, 1, 0, vectors));
    report(e->explain, "mean");
    CHECK(bp_binary_run(e->options, BP_BINARY_MULTIPLY, vectors, vectors, squares));
    CHECK(bp_reduce_run(e->options, BP_REDUCE_SUM, squares, &one, 1, 1, norms));
    CHECK(bp_unary_run(e->options, BP_UNARY_SQRT, norms, norms));
    CHECK(bp_binary_run(e->options, BP_BINARY_DIVIDE, vectors, norms, vectors));
}
