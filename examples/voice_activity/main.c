/* main.c - finds speech in a recording with the network silero-vad: convolutions, an LSTM and a sigmoid.
 *
 *     voice_activity [--explain] [--set NAME=VALUE] [--repeat N] [--probabilities] WEIGHTS FILE.wav
 *
 * WEIGHTS come from the Python package silero-vad (MIT licence), which ../networks/fetch.py gets; FILE.wav has one
 * channel of 16-bit samples, 16000 a second. Prints the segments with speech in seconds, or with --probabilities the
 * probability of each block of 512 samples. --explain prints which library and algorithm runs each part, --repeat
 * computes all N times more and prints the median time. */
#include "../networks/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RATE = 16000,
    BLOCK = 512,  /* samples for each probability */
    CONTEXT = 64, /* samples before them, which the network also sees */
    PADDED = 640, /* both, and 64 mirrored ones */
    FRAMES = 4,   /* of the short-time Fourier transform */
    BINS = 129,   /* frequencies of a frame */
    HIDDEN = 128, /* of the LSTM */
    AT_ONCE = 32, /* blocks that are computed together; they depend on each other in the LSTM only */
};

typedef struct detector {
    bp_weights *file;
    network network;
    bp_view samples, speech, states[4]; /* hidden and cell state, before and after */
    struct {
        float samples[AT_ONCE * PADDED], speech[AT_ONCE], states[4][HIDDEN];
    } memory;
} detector;

/* The magnitudes of the frequencies of each frame: blocks x bins x frames. */
static bp_value add_spectrum(bp_graph *graph, bp_weights *file, bp_value samples) {
    bp_value real, imaginary;
    const bp_value basis = add_weight(graph, file, "model.stft.forward_basis_buffer");
    const bp_value both = CALL(graph, "conv", "ndim=1, stride=[128]", samples, basis);
    CHECK(bp_graph_slice(graph, both, 1, 0, BINS, 1, &real));
    CHECK(bp_graph_slice(graph, both, 1, BINS, 2L * BINS, 1, &imaginary));
    const bp_value squares = CALL(graph, "binary", "kind=multiply", real, real);
    const bp_value others = CALL(graph, "binary", "kind=multiply", imaginary, imaginary);
    return CALL(graph, "unary", "kind=sqrt", CALL(graph, "binary", "kind=add", squares, others));
}

static bp_value add_convolutions(bp_graph *graph, bp_weights *file, bp_value image) {
    static const int strides[] = {1, 2, 2, 1};
    for (int i = 0; i < 4; i++) {
        char fields[64];
        snprintf(fields, sizeof fields, "ndim=1, stride=[%d], padding=[1], activation=relu", strides[i]);
        image = CALL(graph, "conv", fields, image, add_weight(graph, file, "model.encoder.%d.reparam_conv.weight", i),
                     add_weight(graph, file, "model.encoder.%d.reparam_conv.bias", i));
    }
    return image;
}

/* The blocks are the steps of the LSTM. Its states after one piece of the recording are those before the next one. */
static bp_value add_lstm(bp_graph *graph, bp_weights *file, bp_value features, const bp_value state[2]) {
    bp_value steps, hidden, after[2], rows;
    CHECK(bp_graph_reshape(graph, features, 3, (int64_t[]){AT_ONCE, 1, HIDDEN}, &steps));
    const bp_value operands[] = {steps,
                                 add_weight(graph, file, "model.decoder.rnn.weight_ih"),
                                 add_weight(graph, file, "model.decoder.rnn.weight_hh"),
                                 0,
                                 add_weight(graph, file, "model.decoder.rnn.bias_ih"),
                                 add_weight(graph, file, "model.decoder.rnn.bias_hh"),
                                 state[0],
                                 state[1]};
    CHECK(bp_graph_call(graph, "rnn", "mode=lstm", 8, operands, 3, (bp_value *[]){&hidden, &after[0], &after[1]}));
    CHECK(bp_graph_reshape(graph, hidden, 2, (int64_t[]){AT_ONCE, HIDDEN}, &rows));
    CHECK(bp_graph_output(graph, "hidden", after[0]));
    CHECK(bp_graph_output(graph, "cell", after[1]));
    return CALL(graph, "unary", "kind=relu", rows);
}

static bp_graph *build(bp_weights *file) {
    bp_graph *graph;
    bp_value samples, state[2], weight;
    CHECK(bp_graph_create(&graph));
    CHECK(bp_graph_input(graph, "samples", BP_F32, 3, (int64_t[]){AT_ONCE, 1, PADDED}, &samples));
    CHECK(bp_graph_input(graph, "hidden", BP_F32, 3, (int64_t[]){1, 1, HIDDEN}, &state[0]));
    CHECK(bp_graph_input(graph, "cell", BP_F32, 3, (int64_t[]){1, 1, HIDDEN}, &state[1]));
    const bp_value features = add_convolutions(graph, file, add_spectrum(graph, file, samples));
    const bp_value hidden = add_lstm(graph, file, features, state);
    const bp_value last = add_weight(graph, file, "model.decoder.decoder.2.weight"); /* of a convolution */
    CHECK(bp_graph_reshape(graph, last, 2, (int64_t[]){1, HIDDEN}, &weight));
    const bp_value speech = CALL(graph, "linear", "activation=sigmoid", hidden, weight,
                                 add_weight(graph, file, "model.decoder.decoder.2.bias"));
    CHECK(bp_graph_output(graph, "speech", speech));
    CHECK(bp_graph_finish(graph));
    return graph;
}

static void make_detector(detector *d, const char *path) {
    network *n = &d->network;
    CHECK(bp_weights_open(&d->file, path));
    n->graph = build(d->file);
    CHECK(bp_view_init(&d->samples, d->memory.samples, BP_F32, 3, (int64_t[]){AT_ONCE, 1, PADDED}, NULL));
    CHECK(bp_view_matrix(&d->speech, d->memory.speech, BP_F32, AT_ONCE, 1));
    for (int i = 0; i < 4; i++) {
        CHECK(bp_view_init(&d->states[i], d->memory.states[i], BP_F32, 3, (int64_t[]){1, 1, HIDDEN}, NULL));
    }
    n->in[0] = &d->samples.tensor;
    n->out[2] = &d->speech.tensor;
    for (int i = 0; i < 2; i++) {
        n->in[1 + i] = &d->states[i].tensor;
        n->out[i] = &d->states[2 + i].tensor;
    }
    explain_network(n);
}

/* Reads the samples of a recording, from -1 to 1. */
static float *read_wav(const char *path, int64_t *count) {
    unsigned char head[12], chunk[8], format[16];
    FILE *file = fopen(path, "rb");
    bool known = false;
    if (!file || fread(head, 1, 12, file) != 12 || memcmp(head, "RIFF", 4) != 0 || memcmp(head + 8, "WAVE", 4) != 0) {
        stop("%s is no WAV file", path);
    }
    while (fread(chunk, 1, 8, file) == 8) {
        const uint32_t size = chunk[4] | (uint32_t)chunk[5] << 8 | (uint32_t)chunk[6] << 16 | (uint32_t)chunk[7] << 24;
        if (memcmp(chunk, "fmt ", 4) == 0 && size >= 16 && fread(format, 1, 16, file) == 16) {
            const unsigned rate = format[4] | (unsigned)format[5] << 8 | (unsigned)format[6] << 16;
            known = format[0] == 1 && format[2] == 1 && rate == RATE && format[14] == 16;
            fseek(file, (long)(size - 16 + size % 2), SEEK_CUR);
        } else if (memcmp(chunk, "data", 4) == 0 && known) {
            unsigned char *bytes = need(malloc((size_t)size + 1));
            *count = (int64_t)fread(bytes, 1, size, file) / 2;
            float *samples = need(malloc((size_t)(*count + 1) * sizeof *samples));
            for (int64_t i = 0; i < *count; i++) {
                samples[i] = (float)(int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8) / 32768;
            }
            free(bytes);
            fclose(file);
            return samples;
        } else {
            fseek(file, (long)(size + size % 2), SEEK_CUR);
        }
    }
    stop("%s must have one channel of 16-bit samples, %d a second", path, RATE);
}

/* The samples of a block, those before it, and the last ones mirrored. Outside the recording samples are 0. */
static void fill_block(float *to, const float *samples, int64_t count, int64_t begin) {
    for (int i = 0; i < CONTEXT + BLOCK; i++) {
        const int64_t at = begin - CONTEXT + i;
        to[i] = at >= 0 && at < count ? samples[at] : 0;
    }
    for (int i = CONTEXT + BLOCK; i < PADDED; i++) {
        to[i] = to[2 * (CONTEXT + BLOCK - 1) - i];
    }
}

static void print_segment(int64_t first, int64_t end) {
    enum { LEAST = RATE / 4 };
    if (end - first >= LEAST) {
        printf("%.2f %.2f\n", (double)first / RATE, (double)end / RATE);
    }
}

/* A recording and its results. */
typedef struct recording {
    detector *d;
    const float *samples;
    int64_t count;
    float *probability; /* of each block */
} recording;

static void detect_all(void *context) {
    const recording *r = context;
    const int64_t blocks = (r->count + BLOCK - 1) / BLOCK;
    detector *d = r->d;
    memset(d->memory.states, 0, sizeof d->memory.states);
    for (int64_t first = 0; first < blocks; first += AT_ONCE) {
        const int64_t many = blocks - first < AT_ONCE ? blocks - first : AT_ONCE;
        for (int64_t i = 0; i < AT_ONCE; i++) {
            fill_block(d->memory.samples + i * PADDED, r->samples, r->count, (first + i) * BLOCK);
        }
        run_network(&d->network);
        memcpy(r->probability + first, d->memory.speech, (size_t)many * sizeof(float));
        memcpy(d->memory.states[0], d->memory.states[2], sizeof d->memory.states / 2);
    }
}

/* Speech begins at 0.5 and ends at 0.35, if it does not continue within a tenth of a second. */
static void print_segments(const float *probability, int64_t blocks, int64_t samples) {
    enum { PAUSE = RATE / 10 };
    int64_t first = -1, silent = -1;
    for (int64_t i = 0; i < blocks; i++) {
        if (probability[i] >= 0.5F) {
            first = first < 0 ? i * BLOCK : first;
            silent = -1;
        } else if (first >= 0 && probability[i] < 0.35F) {
            silent = silent < 0 ? i * BLOCK : silent;
            if (i * BLOCK - silent >= PAUSE) {
                print_segment(first, silent);
                first = silent = -1;
            }
        }
    }
    if (first >= 0) {
        print_segment(first, silent >= 0 ? silent : samples);
    }
}

int main(int argc, char **argv) {
    static detector d;
    int repeats = 0, at = read_options(argc, argv, &d.network.options, &repeats);
    const bool probabilities = at < argc && strcmp(argv[at], "--probabilities") == 0;
    at += probabilities;
    if (argc - at != 2) {
        stop("usage: voice_activity [--explain] [--set NAME=VALUE] [--repeat N] [--probabilities] WEIGHTS FILE.wav");
    }
    int64_t count;
    float *samples = read_wav(argv[at + 1], &count);
    make_detector(&d, argv[at]);
    const int64_t blocks = (count + BLOCK - 1) / BLOCK;
    float *probability = need(malloc((size_t)(blocks + 1) * sizeof *probability));
    recording r = {&d, samples, count, probability};
    detect_all(&r);
    if (repeats > 0) {
        time_runs("recording", repeats, detect_all, &r);
    }
    for (int64_t i = 0; i < blocks && probabilities; i++) {
        printf("%.6f\n", (double)probability[i]);
    }
    if (!probabilities) {
        print_segments(probability, blocks, count);
    }
    free(samples);
    free(probability);
    bp_graph_release(d.network.graph);
    bp_weights_close(d.file);
    bp_options_release(d.network.options);
    return 0;
}
