/* main.c - finds the sentences that mean the same as a query, with the transformer all-MiniLM-L6-v2.
 *
 *     sentence_embedding [--explain] [--set NAME=VALUE] [--repeat N] [--tokens] WEIGHTS SENTENCES [QUERY]
 *
 * ../networks/fetch.py makes WEIGHTS (Apache licence). SENTENCES is a text file with a sentence on each line, in UTF-8.
 * Prints the sentences in descending order of the cosine similarity to QUERY; without QUERY the 384 numbers of each
 * sentence, with --tokens its word pieces. --explain prints which library and algorithm runs each layer, and --repeat
 * computes the first 16 sentences N times more and prints the median in milliseconds. */
#include "tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCKS = 6,
    HIDDEN = 384,
    HEADS = 12,
    WIDE = 1536,     /* between the two last layers of a block */
    WORDS = 30522,   /* word pieces */
    POSITIONS = 512, /* rows of the table; LONGEST of them are used */
    LONGEST = 256,   /* tokens of a sentence: max_seq_length of this network in sentence-transformers */
    AT_ONCE = 16,    /* sentences */
    TOKENS = AT_ONCE * LONGEST,
    STEP = 8, /* the number of tokens is a multiple of it, so that few shapes need layers */
};

/* ---- The network: a BERT with 6 blocks, and the mean over the tokens of each sentence ---- */

/* The linear layers and the normalizations of a block, and their weights. */
enum { QKV, ATTENDED, UP, DOWN, LAYERS, ATTENDED_NORM = LAYERS, NORM, PARTS };
static const struct {
    const char *name;
    int64_t shape[3];                                               /* of the weight; 0 ends it */
} parts[] = {[QKV] = {"attention.self.qkv", {3L * HIDDEN, HIDDEN}}, /* query, key and value, joined by fetch.py */
             [ATTENDED] = {"attention.output.dense", {HIDDEN, HIDDEN}},
             [UP] = {"intermediate.dense", {WIDE, HIDDEN}},
             [DOWN] = {"output.dense", {HIDDEN, WIDE}},
             [ATTENDED_NORM] = {"attention.output.LayerNorm", {HIDDEN}},
             [NORM] = {"output.LayerNorm", {HIDDEN}}};

typedef struct encoder {
    bp_options *options;
    weights file;
    bp_view words, positions, norm[2], of[BLOCKS][PARTS][2]; /* weights and biases */
    int64_t batch, length;                                   /* the shape; 0: none yet */
    layer layers[BLOCKS][LAYERS];                            /* for this shape, as the views */
    bp_view ids, mask, share, hidden, sum, qkv, query, key, value, attended, heads, wide, vectors;
    struct {
        int32_t ids[TOKENS];
        bool mask[TOKENS];   /* which tokens are there */
        float share[TOKENS]; /* of the sentence's mean: 1 / the number of tokens, or 0 */
        float hidden[TOKENS * HIDDEN], sum[TOKENS * HIDDEN], qkv[TOKENS * 3 * HIDDEN], attended[TOKENS * HIDDEN];
        float wide[TOKENS * WIDE], vectors[AT_ONCE * HIDDEN];
    } memory;
} encoder;

static void open_encoder(encoder *e, const char *path) {
    weights_open(&e->file, path);
    weights_find(&e->file, &e->words, BP_F32, (int64_t[]){WORDS, HIDDEN, 0}, "embeddings.word_embeddings.weight");
    weights_find(&e->file, &e->positions, BP_F32, (int64_t[]){POSITIONS, HIDDEN, 0}, "embeddings.positions_of_type_0");
    weights_pair(&e->file, e->norm, (int64_t[]){HIDDEN, 0}, "embeddings.LayerNorm");
    for (int i = 0; i < BLOCKS * PARTS; i++) {
        const int block = i / PARTS, part = i % PARTS;
        weights_pair(&e->file, e->of[block][part], parts[part].shape, "encoder.layer.%d.%s", block, parts[part].name);
    }
}

static void release_layers(encoder *e) {
    for (int i = 0; i < BLOCKS * LAYERS && e->batch; i++) {
        layer_release(&e->layers[i / LAYERS][i % LAYERS]);
    }
}

static void view(bp_view *v, void *memory, bp_dtype type, int64_t batch, int64_t rows, int64_t columns) {
    CHECK(bp_view_init(v, memory, type, 3, (int64_t[]){batch, rows, columns}, NULL));
}

/* Views the heads in columns `first` and up of a tensor: batch x heads x tokens x columns of a head. */
static void view_heads(bp_view *heads, const bp_view *of, int64_t first) {
    const int64_t batch = of->shape[0], length = of->shape[1], columns = of->shape[2], own = HIDDEN / HEADS;
    CHECK(bp_view_init(heads, (float *)of->tensor.data + first, BP_F32, 4, (int64_t[]){batch, HEADS, length, own},
                       (int64_t[]){length * columns, own, columns, 1}));
}

/* Prepares the layers for `batch` sentences of `length` tokens, unless they are ready for this shape. */
static void set_shape(encoder *e, int64_t batch, int64_t length) {
    if (batch == e->batch && length == e->length) {
        return;
    }
    release_layers(e);
    e->batch = batch;
    e->length = e->positions.shape[0] = length;
    CHECK(bp_view_matrix(&e->ids, e->memory.ids, BP_I32, batch, length));
    CHECK(bp_view_init(&e->mask, e->memory.mask, BP_BOOL, 4, (int64_t[]){batch, 1, 1, length}, NULL));
    view(&e->share, e->memory.share, BP_F32, batch, 1, length);
    view(&e->hidden, e->memory.hidden, BP_F32, batch, length, HIDDEN);
    view(&e->sum, e->memory.sum, BP_F32, batch, length, HIDDEN);
    view(&e->qkv, e->memory.qkv, BP_F32, batch, length, 3L * HIDDEN);
    view_heads(&e->query, &e->qkv, 0);
    view_heads(&e->key, &e->qkv, HIDDEN);
    view_heads(&e->value, &e->qkv, 2L * HIDDEN);
    view(&e->attended, e->memory.attended, BP_F32, batch, length, HIDDEN);
    view_heads(&e->heads, &e->attended, 0);
    view(&e->wide, e->memory.wide, BP_F32, batch, length, WIDE);
    view(&e->vectors, e->memory.vectors, BP_F32, batch, 1, HIDDEN);
    const bp_view *in[] = {&e->hidden, &e->attended, &e->hidden, &e->wide};
    bp_view *out[] = {&e->qkv, &e->sum, &e->wide, &e->sum};
    for (int i = 0; i < BLOCKS * LAYERS; i++) {
        const int part = i % LAYERS;
        layer_linear(&e->layers[i / LAYERS][part], e->options, in[part], e->of[i / LAYERS][part], out[part],
                     part == UP ? BP_UNARY_GELU : BP_UNARY_COPY);
    }
}

/* Adds a tensor to e->sum, and normalizes the rows to e->hidden. */
static void add_and_normalize(encoder *e, const bp_view *to, const bp_view *pair) {
    DLTensor *sum = &e->sum.tensor;
    const bp_layer_norm_call norm = {.struct_size = sizeof norm,
                                     .kind = BP_LAYER_NORM,
                                     .row_ndim = 1,
                                     .eps = 1e-12,
                                     .input = sum,
                                     .weight = &pair[0].tensor,
                                     .bias = &pair[1].tensor,
                                     .output = &e->hidden.tensor};
    RUN("add", bp_binary_run(e->options, BP_BINARY_ADD, sum, &to->tensor, sum));
    RUN("layer_norm", bp_layer_norm_run(e->options, &norm));
}

/* Computes e->vectors from ids, mask and share. */
static void run_encoder(void *context) {
    encoder *e = context;
    const bp_attention_call attention = {.struct_size = sizeof attention,
                                         .query = &e->query.tensor,
                                         .key = &e->key.tensor,
                                         .value = &e->value.tensor,
                                         .mask = &e->mask.tensor,
                                         .output = &e->heads.tensor};
    RUN("words", bp_take_run(e->options, &e->words.tensor, &e->ids.tensor, 0, &e->sum.tensor));
    add_and_normalize(e, &e->positions, e->norm);
    for (int b = 0; b < BLOCKS; b++) {
        const layer *l = e->layers[b];
        RUN("query_key_value", layer_run(&l[QKV], e->memory.hidden, e->memory.qkv));
        RUN("attention", bp_attention_run(e->options, &attention));
        RUN("attended", layer_run(&l[ATTENDED], e->memory.attended, e->memory.sum));
        add_and_normalize(e, &e->hidden, e->of[b][ATTENDED_NORM]);
        RUN("up", layer_run(&l[UP], e->memory.hidden, e->memory.wide));
        RUN("down", layer_run(&l[DOWN], e->memory.wide, e->memory.sum));
        add_and_normalize(e, &e->hidden, e->of[b][NORM]);
    }
    RUN("mean", bp_matmul_run(e->options, &e->share.tensor, &e->hidden.tensor, &e->vectors.tensor));
}

/* ---- Sentences ---- */

typedef struct sentence {
    char *text;
    int32_t ids[LONGEST];
    int count;                        /* of the ids */
    float vector[HIDDEN], similarity; /* to the query */
} sentence;

typedef struct list {
    sentence *at;
    int count;
} list;

/* Adds a sentence. Takes ownership of the text. */
static void add_sentence(list *l, char *text, size_t size, const char *from, int line) {
    l->at = need(realloc(l->at, (size_t)(l->count + 1) * sizeof *l->at));
    sentence *s = &l->at[l->count++];
    s->text = text;
    s->count = tokenizer_run(text, size, s->ids, LONGEST);
    if (s->count < 0) {
        stop("%s, line %d: the text is not UTF-8", from, line);
    }
}

static void read_sentences(list *l, const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t capacity = 0;
    ssize_t size;
    if (!file) {
        stop("cannot open %s", path);
    }
    for (int line = 1; (size = getline(&text, &capacity, file)) >= 0; line++, text = NULL, capacity = 0) {
        while (size > 0 && strchr(" \t\r\n", text[size - 1])) { /* also zeros at the end */
            text[--size] = 0;
        }
        if (size > 0) {
            add_sentence(l, text, (size_t)size, path, line);
        } else {
            free(text);
        }
    }
    free(text);
    if (ferror(file) || l->count == 0) {
        stop(ferror(file) ? "cannot read %s" : "%s has no sentences", path);
    }
    fclose(file);
}

static float product(const float *a, const float *b) {
    float sum = 0;
    for (int i = 0; i < HIDDEN; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Computes the vectors of at most AT_ONCE sentences: the means, divided by their lengths. */
static void embed(encoder *e, sentence *s, int batch) {
    int longest = 0;
    for (int i = 0; i < batch; i++) {
        longest = s[i].count > longest ? s[i].count : longest;
    }
    set_shape(e, batch, (longest + STEP - 1) / STEP * STEP);
    for (int i = 0, at = 0; i < batch; i++) {
        for (int j = 0; j < e->length; j++, at++) {
            const bool there = j < s[i].count;
            e->memory.ids[at] = there ? s[i].ids[j] : 0;
            e->memory.mask[at] = there;
            e->memory.share[at] = there ? 1.0F / (float)s[i].count : 0;
        }
    }
    run_encoder(e);
    for (int i = 0; i < batch; i++) {
        const float *mean = e->memory.vectors + (ptrdiff_t)i * HIDDEN, length = sqrtf(product(mean, mean));
        for (int j = 0; j < HIDDEN; j++) {
            s[i].vector[j] = mean[j] / length;
        }
    }
}

static int by_similarity(const void *a, const void *b) {
    const sentence *x = a, *y = b;
    return (x->similarity < y->similarity) - (x->similarity > y->similarity);
}

static void print_numbers(const sentence *s, bool tokens) {
    for (int i = 0; i < (tokens ? s->count : HIDDEN); i++) {
        const char *before = i ? " " : "";
        tokens ? printf("%s%d", before, s->ids[i]) : printf("%s%.8f", before, (double)s->vector[i]);
    }
    putchar('\n');
}

int main(int argc, char **argv) {
    static encoder e;
    list l = {0};
    int repeats = 0, at = read_options(argc, argv, &e.options, &repeats);
    const bool tokens = at < argc && strcmp(argv[at], "--tokens") == 0;
    at += tokens;
    if (argc - at < 2 || argc - at > 3 || strncmp(argv[at], "--", 2) == 0) {
        stop("usage: sentence_embedding [--explain] [--set NAME=VALUE] [--repeat N] [--tokens] WEIGHTS SENTENCES "
             "[QUERY]");
    }
    char *const query = argc - at == 3 ? argv[at + 2] : NULL;
    open_encoder(&e, argv[at]);
    tokenizer_open(&e.file);
    read_sentences(&l, argv[at + 1]);
    if (query) {
        add_sentence(&l, need(strdup(query)), strlen(query), "QUERY", 1);
    }
    for (int i = 0; i < l.count && !tokens; i += AT_ONCE) {
        embed(&e, l.at + i, l.count - i < AT_ONCE ? l.count - i : AT_ONCE);
        if (i == 0 && repeats > 0) {
            time_runs("sentences", repeats, run_encoder, &e);
        }
    }
    const int count = l.count - (query != NULL);
    for (int i = 0; i < count && query; i++) {
        l.at[i].similarity = product(l.at[i].vector, l.at[count].vector);
    }
    qsort(l.at, query ? (size_t)count : 0, sizeof *l.at, by_similarity);
    for (int i = 0; i < l.count; i++) {
        if (!query || tokens) {
            print_numbers(&l.at[i], tokens);
        } else if (i < count) {
            printf("%.4f %s\n", (double)l.at[i].similarity, l.at[i].text);
        }
        free(l.at[i].text);
    }
    free(l.at);
    release_layers(&e);
    weights_close(&e.file);
    bp_options_release(e.options);
    return 0;
}
