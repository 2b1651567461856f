/* main.c - finds the sentences that mean the same as a query, with the transformer all-MiniLM-L6-v2.
 *
 *     sentence_embedding [--explain] [--set NAME=VALUE] [--repeat N] [--vectors|--tokens]
 *                        WEIGHTS VOCABULARY SENTENCES [QUERY]
 *
 * ../networks/fetch.py gets WEIGHTS and VOCABULARY (Apache licence). SENTENCES is a text file with a sentence on each
 * line, in UTF-8; empty lines are skipped, and sentences are cut off after 256 tokens. Prints them in descending order
 * of the cosine similarity to QUERY; without QUERY, or with --vectors, the 384 numbers of each sentence, and with
 * --tokens its word pieces. The query then is the last sentence.
 *
 * Sentences are computed 16 at a time, in descending order of their lengths. --explain prints which library and
 * algorithm runs each layer of the first ones, and --repeat runs these N times more and prints the median in
 * milliseconds. */
#include "encoder.h"
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 16, STEP = 8 /* lengths are multiples of it, so that few shapes need layers */ };

typedef struct sentence {
    char *text;
    int32_t *ids;
    int count, line; /* of the ids; its place in the file */
    float vector[HIDDEN], similarity;
} sentence;

typedef struct list {
    sentence *at;
    size_t count, capacity;
} list;

static void add_sentence(list *l, const tokenizer *t, const char *text, size_t length, const char *from, int line) {
    int32_t ids[LONGEST];
    const int count = tokenizer_run(t, text, length, ids, LONGEST);
    if (count < 0) {
        stop("%s, line %d: the text is not UTF-8", from, line);
    }
    if (l->count == l->capacity) {
        l->capacity = 2 * l->capacity + 16;
        l->at = need(realloc(l->at, l->capacity * sizeof *l->at));
    }
    sentence *s = &l->at[l->count++];
    *s = (sentence){.text = need(strndup(text, length)),
                    .ids = need(malloc((size_t)count * sizeof *ids)),
                    .count = count,
                    .line = (int)l->count};
    memcpy(s->ids, ids, (size_t)count * sizeof *ids);
}

static void read_sentences(list *l, const tokenizer *t, const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;
    if (!file) {
        stop("cannot open %s", path);
    }
    for (int line = 1; (length = getline(&text, &capacity, file)) >= 0; line++) {
        while (length > 0 && strchr(" \t\r\n", text[length - 1])) { /* also zeros at the end */
            length--;
        }
        if (length > 0) {
            add_sentence(l, t, text, (size_t)length, path, line);
        }
    }
    if (ferror(file) || l->count == 0) {
        stop(ferror(file) ? "cannot read %s" : "%s has no sentences", path);
    }
    free(text);
    fclose(file);
}

/* ---- The network ---- */

static void fill(encoder *e, const sentence *of, int64_t batch) {
    const int64_t length = (of[0].count + STEP - 1) / STEP * STEP;
    encoder_shape(e, batch, length);
    int32_t *ids = e->ids.tensor.data;
    unsigned char *mask = e->mask.tensor.data;
    float *share = e->share.tensor.data;
    for (int64_t i = 0; i < batch; i++) {
        for (int64_t j = 0; j < length; j++) {
            const bool there = j < of[i].count;
            ids[i * length + j] = there ? of[i].ids[j] : 0;
            mask[i * length + j] = there;
            share[i * length + j] = there ? 1.0F / (float)of[i].count : 0;
        }
    }
}

static int by_length(const void *a, const void *b) {
    const sentence *x = a, *y = b;
    return x->count != y->count ? y->count - x->count : x->line - y->line;
}

static int by_line(const void *a, const void *b) {
    return ((const sentence *)a)->line - ((const sentence *)b)->line;
}

static int by_similarity(const void *a, const void *b) {
    const sentence *x = a, *y = b;
    return (x->similarity < y->similarity) - (x->similarity > y->similarity);
}

static void run_encoder(void *context) {
    encoder_run(context);
}

/* Computes the vectors of all sentences. */
static void embed(encoder *e, list *l, int repeats) {
    qsort(l->at, l->count, sizeof *l->at, by_length);
    for (size_t first = 0; first < l->count; first += AT_ONCE) {
        const size_t batch = l->count - first < AT_ONCE ? l->count - first : AT_ONCE;
        fill(e, l->at + first, (int64_t)batch);
        encoder_run(e);
        for (size_t i = 0; i < batch; i++) {
            memcpy(l->at[first + i].vector, (float *)e->vectors.tensor.data + i * HIDDEN, HIDDEN * sizeof(float));
        }
        if (first == 0 && repeats > 0) {
            char name[64];
            snprintf(name, sizeof name, "%d x %d tokens", (int)e->batch, (int)e->length);
            time_runs(name, repeats, run_encoder, e);
        }
    }
    qsort(l->at, l->count, sizeof *l->at, by_line);
}

/* Prints all sentences but the last one, the query. */
static void print_similar(list *l) {
    const float *query = l->at[l->count - 1].vector;
    for (size_t i = 0; i + 1 < l->count; i++) {
        for (int j = 0; j < HIDDEN; j++) {
            l->at[i].similarity += query[j] * l->at[i].vector[j];
        }
    }
    qsort(l->at, l->count - 1, sizeof *l->at, by_similarity);
    for (size_t i = 0; i + 1 < l->count; i++) {
        printf("%.4f %s\n", (double)l->at[i].similarity, l->at[i].text);
    }
}

static void print_numbers(const list *l, bool tokens) {
    for (size_t i = 0; i < l->count; i++) {
        const sentence *s = &l->at[i];
        for (int j = 0; j < s->count && tokens; j++) {
            printf(j ? " %d" : "%d", s->ids[j]);
        }
        for (int j = 0; j < HIDDEN && !tokens; j++) {
            printf(j ? " %.8f" : "%.8f", (double)s->vector[j]);
        }
        putchar('\n');
    }
}

int main(int argc, char **argv) {
    static encoder e;
    tokenizer t;
    list l = {0};
    int repeats = 0, at = read_options(argc, argv, &e.options, &e.explain, &repeats);
    const bool vectors = at < argc && strcmp(argv[at], "--vectors") == 0;
    const bool tokens = at < argc && strcmp(argv[at], "--tokens") == 0;
    at += vectors || tokens;
    if (argc - at < 3 || argc - at > 4 || strncmp(argv[at], "--", 2) == 0) {
        stop("usage: sentence_embedding [--explain] [--set NAME=VALUE] [--repeat N] [--vectors|--tokens] WEIGHTS "
             "VOCABULARY SENTENCES [QUERY]");
    }
    const char *query = argc - at == 4 ? argv[at + 3] : NULL;
    tokenizer_open(&t, argv[at + 1], WORDS);
    read_sentences(&l, &t, argv[at + 2]);
    if (query) {
        add_sentence(&l, &t, query, strlen(query), "QUERY", 1);
    }
    if (!tokens) {
        encoder_open(&e, argv[at]);
        embed(&e, &l, repeats);
        encoder_close(&e);
    }
    if (query && !vectors && !tokens) {
        print_similar(&l);
    } else {
        print_numbers(&l, tokens);
    }
    for (size_t i = 0; i < l.count; i++) {
        free(l.at[i].text);
        free(l.at[i].ids);
    }
    free(l.at);
    tokenizer_close(&t);
    return 0;
}
