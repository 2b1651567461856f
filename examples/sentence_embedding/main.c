/* main.c - finds the sentences that mean the same as a query, with the transformer all-MiniLM-L6-v2.
 *
 *     sentence_embedding [--explain] [--set NAME=VALUE] [--repeat N] [--tokens] WEIGHTS SENTENCES [QUERY]
 *
 * ../networks/fetch.py makes WEIGHTS (Apache licence). SENTENCES is a text file with a sentence on each line, in UTF-8.
 * Prints the sentences in descending order of the cosine similarity to QUERY; without QUERY the 384 numbers of each
 * sentence, with --tokens its word pieces. --explain prints which library and algorithm runs each part, and --repeat
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
    WIDE = 1536,   /* between the two last layers of a block */
    LONGEST = 256, /* tokens of a sentence: max_seq_length of this network in sentence-transformers */
    AT_ONCE = 16,  /* sentences */
    TOKENS = AT_ONCE * LONGEST,
    STEP = 8, /* the number of tokens is a multiple of it, so that there are few graphs */
};

/* ---- The network: a BERT with 6 blocks, and the mean over the tokens of each sentence ---- */

typedef struct encoder {
    bp_weights *file;
    int64_t batch, length; /* of the network; 0: there is none yet */
    network network;
    bp_view ids, mask, share, vectors;
    struct {
        int32_t ids[TOKENS];
        bool mask[TOKENS];   /* which tokens are there */
        float share[TOKENS]; /* of the sentence's mean: 1 / the number of tokens, or 0 */
        float vectors[AT_ONCE * HIDDEN];
    } memory;
} encoder;

/* Adds a linear layer or a normalization, whose weight and bias have this name. */
static bp_value add_layer(encoder *e, const char *call, const char *fields, bp_value input, const char *name,
                          int block) {
    bp_graph *graph = e->network.graph;
    char path[96];
    if (block < 0) {
        snprintf(path, sizeof path, "embeddings.%s", name);
    } else {
        snprintf(path, sizeof path, "encoder.layer.%d.%s", block, name);
    }
    return CALL(graph, call, fields, input, add_weight(graph, e->file, "%s.weight", path),
                add_weight(graph, e->file, "%s.bias", path));
}

static bp_value add_norm(encoder *e, bp_value input, const char *name, int block) {
    return add_layer(e, "layer_norm", "row_ndim=1, eps=1e-12", input, name, block);
}

/* The heads in columns `first` and up: batch x heads x tokens x columns of a head. */
static bp_value add_heads(encoder *e, bp_value of, int64_t first) {
    bp_graph *graph = e->network.graph;
    bp_value columns, apart, heads;
    CHECK(bp_graph_slice(graph, of, 2, first, first + HIDDEN, 1, &columns));
    CHECK(bp_graph_reshape(graph, columns, 4, (int64_t[]){e->batch, e->length, HEADS, HIDDEN / HEADS}, &apart));
    CHECK(bp_graph_permute(graph, apart, 4, (int[]){0, 2, 1, 3}, &heads));
    return heads;
}

static bp_value add_block(encoder *e, bp_value hidden, bp_value mask, int block) {
    bp_graph *graph = e->network.graph;
    bp_value together, joined;
    const bp_value qkv = add_layer(e, "linear", NULL, hidden, "attention.self.qkv", block); /* joined by fetch.py */
    const bp_value heads = CALL(graph, "attention", NULL, add_heads(e, qkv, 0), add_heads(e, qkv, HIDDEN),
                                add_heads(e, qkv, 2L * HIDDEN), mask);
    CHECK(bp_graph_permute(graph, heads, 4, (int[]){0, 2, 1, 3}, &together));
    CHECK(bp_graph_reshape(graph, together, 3, (int64_t[]){e->batch, e->length, HIDDEN}, &joined));
    const bp_value attended = add_layer(e, "linear", NULL, joined, "attention.output.dense", block);
    hidden = add_norm(e, CALL(graph, "binary", "kind=add", attended, hidden), "attention.output.LayerNorm", block);
    const bp_value wide = add_layer(e, "linear", "activation=gelu", hidden, "intermediate.dense", block);
    const bp_value down = add_layer(e, "linear", NULL, wide, "output.dense", block);
    return add_norm(e, CALL(graph, "binary", "kind=add", down, hidden), "output.LayerNorm", block);
}

/* Builds the network for `batch` sentences of `length` tokens. */
static void build(encoder *e) {
    bp_value ids, mask, share, places;
    CHECK(bp_graph_create(&e->network.graph));
    bp_graph *graph = e->network.graph;
    CHECK(bp_graph_input(graph, "ids", BP_I32, 2, e->ids.shape, &ids));
    CHECK(bp_graph_input(graph, "mask", BP_BOOL, 4, e->mask.shape, &mask));
    CHECK(bp_graph_input(graph, "share", BP_F32, 3, e->share.shape, &share));
    const bp_value words = add_weight(graph, e->file, "embeddings.word_embeddings.weight");
    CHECK(bp_graph_slice(graph, add_weight(graph, e->file, "embeddings.positions_of_type_0"), 0, 0, e->length, 1,
                         &places));
    bp_value hidden = CALL(graph, "binary", "kind=add", CALL(graph, "take", "axis=0", words, ids), places);
    hidden = add_norm(e, hidden, "LayerNorm", -1);
    for (int block = 0; block < BLOCKS; block++) {
        hidden = add_block(e, hidden, mask, block);
    }
    CHECK(bp_graph_output(graph, "mean", CALL(graph, "matmul", NULL, share, hidden)));
    CHECK(bp_graph_finish(graph));
}

/* Makes the network for `batch` sentences of `length` tokens, unless it is the one for this shape. */
static void set_shape(encoder *e, int64_t batch, int64_t length) {
    network *n = &e->network;
    if (batch == e->batch && length == e->length) {
        return;
    }
    bp_graph_release(n->graph);
    e->batch = batch;
    e->length = length;
    CHECK(bp_view_matrix(&e->ids, e->memory.ids, BP_I32, batch, length));
    CHECK(bp_view_init(&e->mask, e->memory.mask, BP_BOOL, 4, (int64_t[]){batch, 1, 1, length}, NULL));
    CHECK(bp_view_init(&e->share, e->memory.share, BP_F32, 3, (int64_t[]){batch, 1, length}, NULL));
    CHECK(bp_view_init(&e->vectors, e->memory.vectors, BP_F32, 3, (int64_t[]){batch, 1, HIDDEN}, NULL));
    build(e);
    n->in[0] = &e->ids.tensor;
    n->in[1] = &e->mask.tensor;
    n->in[2] = &e->share.tensor;
    n->out[0] = &e->vectors.tensor;
    explain_network(n);
}

static void run_encoder(void *context) {
    run_network(&((encoder *)context)->network);
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
    int repeats = 0, at = read_options(argc, argv, &e.network.options, &repeats);
    const bool tokens = at < argc && strcmp(argv[at], "--tokens") == 0;
    at += tokens;
    if (argc - at < 2 || argc - at > 3 || strncmp(argv[at], "--", 2) == 0) {
        stop("usage: sentence_embedding [--explain] [--set NAME=VALUE] [--repeat N] [--tokens] WEIGHTS SENTENCES "
             "[QUERY]");
    }
    char *const query = argc - at == 3 ? argv[at + 2] : NULL;
    CHECK(bp_weights_open(&e.file, argv[at]));
    tokenizer_open(e.file);
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
    bp_graph_release(e.network.graph);
    bp_weights_close(e.file);
    bp_options_release(e.network.options);
    return 0;
}
