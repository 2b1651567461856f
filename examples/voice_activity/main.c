/* main.c - finds speech in a recording with the network silero-vad: convolutions, an LSTM and a sigmoid.
 *
 *     voice_activity [--explain] [--set NAME=VALUE] [--repeat N] [--probabilities] WEIGHTS FILE.wav
 *
 * WEIGHTS come from the Python package silero-vad (MIT licence), which ../networks/fetch.py gets; FILE.wav has one
 * channel of 16-bit samples, 16000 a second. Prints the segments with speech in seconds, or with --probabilities the
 * probability of each block of 512 samples. --explain prints which library and algorithm runs each layer, --repeat
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

/* The images between the layers, channels-last: blocks x channels x frames. */
typedef struct image {
    bp_view view;
    float *data;
} image;

typedef struct detector {
    bp_options *options;
    weights file;
    image samples, spectrum, magnitude, features[4], hidden, speech;
    bp_view real, imaginary; /* parts of the spectrum */
    layer stft, conv[4], last;
    bp_view lstm[4]; /* weight_ih, weight_hh, bias_ih, bias_hh */
    float state[2][2][HIDDEN];
    int current; /* index of the state before the next block */
} detector;

static void make_image(image *i, int64_t blocks, int64_t channels, int64_t frames) {
    i->data = need(aligned_alloc(64, (size_t)(blocks * channels * frames * 4 + 63) / 64 * 64));
    CHECK(bp_view_init(&i->view, i->data, BP_F32, 3, (const int64_t[]){blocks, channels, frames},
                       (const int64_t[]){channels * frames, 1, channels}));
}

static void make_conv(detector *d, layer *l, const bp_view *weight, const bp_view *bias, image *in, image *out,
                      int64_t stride, int64_t padding) {
    const bp_conv_call call = {.struct_size = sizeof call,
                               .ndim = 1,
                               .stride = &stride,
                               .padding = &padding,
                               .activation = bias ? BP_UNARY_RELU : BP_UNARY_COPY,
                               .input = &in->view.tensor,
                               .weight = &weight->tensor,
                               .bias = bias ? &bias->tensor : NULL,
                               .output = &out->view.tensor};
    layer_conv(l, d->options, &call);
}

static void make_detector(detector *d, const char *path) {
    static const struct {
        int64_t channels, frames, stride;
    } layers[] = {{128, 4, 1}, {64, 2, 2}, {64, 1, 2}, {HIDDEN, 1, 1}};
    static const char *const names[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    bp_view pair[2], rows, result;
    weights_open(&d->file, path);
    make_image(&d->samples, AT_ONCE, 1, PADDED);
    make_image(&d->spectrum, AT_ONCE, 2 * BINS, FRAMES);
    make_image(&d->magnitude, AT_ONCE, BINS, FRAMES);
    weights_find(&d->file, pair, BP_F32, (int64_t[]){2 * BINS, 1, 256, 0}, "model.stft.forward_basis_buffer");
    make_conv(d, &d->stft, pair, NULL, &d->samples, &d->spectrum, 128, 0);
    CHECK(bp_view_copy(&d->real, &d->spectrum.view));
    d->real.shape[1] = BINS;
    CHECK(bp_view_copy(&d->imaginary, &d->real));
    d->imaginary.tensor.byte_offset = BINS * sizeof(float);
    for (int i = 0; i < 4; i++) {
        image *in = i ? &d->features[i - 1] : &d->magnitude, *out = &d->features[i];
        make_image(out, AT_ONCE, layers[i].channels, layers[i].frames);
        weights_pair(&d->file, pair, (int64_t[]){layers[i].channels, in->view.shape[1], 3, 0},
                     "model.encoder.%d.reparam_conv", i);
        make_conv(d, &d->conv[i], &pair[0], &pair[1], in, out, layers[i].stride, 1);
    }
    for (int i = 0; i < 4; i++) {
        const int64_t shape[] = {4 * HIDDEN, i < 2 ? HIDDEN : 0, 0};
        weights_find(&d->file, &d->lstm[i], BP_F32, shape, "model.decoder.rnn.%s", names[i]);
    }
    make_image(&d->hidden, AT_ONCE, HIDDEN, 1);
    make_image(&d->speech, AT_ONCE, 1, 1);
    weights_pair(&d->file, pair, (int64_t[]){1, HIDDEN, 1, 0}, "model.decoder.decoder.2");
    pair[0].tensor.ndim = 2;
    CHECK(bp_view_matrix(&rows, d->hidden.data, BP_F32, AT_ONCE, HIDDEN));
    CHECK(bp_view_matrix(&result, d->speech.data, BP_F32, AT_ONCE, 1));
    layer_linear(&d->last, d->options, &rows, pair, &result, BP_UNARY_SIGMOID);
}

/* The states of the LSTM after one piece of the recording are those before the next one. */
static void run_lstm(detector *d, int64_t blocks) {
    bp_view in, out, state[4];
    CHECK(bp_view_init(&in, d->features[3].data, BP_F32, 3, (const int64_t[]){blocks, 1, HIDDEN}, NULL));
    CHECK(bp_view_init(&out, d->hidden.data, BP_F32, 3, (const int64_t[]){blocks, 1, HIDDEN}, NULL));
    for (int i = 0; i < 4; i++) {
        float *memory = d->state[i < 2 ? d->current : !d->current][i % 2];
        CHECK(bp_view_init(&state[i], memory, BP_F32, 2, (const int64_t[]){1, HIDDEN}, NULL));
    }
    const bp_rnn_call call = {.struct_size = sizeof call,
                              .mode = BP_RNN_LSTM,
                              .input = &in.tensor,
                              .weight_ih = &d->lstm[0].tensor,
                              .weight_hh = &d->lstm[1].tensor,
                              .bias_ih = &d->lstm[2].tensor,
                              .bias_hh = &d->lstm[3].tensor,
                              .initial_hidden = &state[0].tensor,
                              .initial_cell = &state[1].tensor,
                              .output = &out.tensor,
                              .final_hidden = &state[2].tensor,
                              .final_cell = &state[3].tensor};
    RUN("lstm", bp_rnn_run(d->options, &call));
    d->current = !d->current;
}

/* Computes the probabilities of the blocks in d->samples. */
static void detect(detector *d, int64_t blocks, float *probabilities) {
    static const char *const names[] = {"conv1", "conv2", "conv3", "conv4"};
    DLTensor *re = &d->real.tensor, *im = &d->imaginary.tensor, *m = &d->magnitude.view.tensor;
    RUN("stft", layer_run(&d->stft, d->samples.data, d->spectrum.data));
    CHECK(bp_binary_run(d->options, BP_BINARY_MULTIPLY, re, re, m));
    CHECK(bp_binary_run(d->options, BP_BINARY_MULTIPLY, im, im, im));
    CHECK(bp_binary_run(d->options, BP_BINARY_ADD, m, im, m));
    RUN("magnitude", bp_unary_run(d->options, BP_UNARY_SQRT, m, m));
    for (int i = 0; i < 4; i++) {
        const image *in = i ? &d->features[i - 1] : &d->magnitude;
        RUN(names[i], layer_run(&d->conv[i], in->data, d->features[i].data));
    }
    run_lstm(d, blocks);
    DLTensor *hidden = &d->hidden.view.tensor;
    CHECK(bp_unary_run(d->options, BP_UNARY_RELU, hidden, hidden));
    RUN("last", layer_run(&d->last, d->hidden.data, d->speech.data));
    memcpy(probabilities, d->speech.data, (size_t)blocks * sizeof(float));
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
    memset(r->d->state, 0, sizeof r->d->state);
    for (int64_t first = 0; first < blocks; first += AT_ONCE) {
        const int64_t many = blocks - first < AT_ONCE ? blocks - first : AT_ONCE;
        for (int64_t i = 0; i < AT_ONCE; i++) {
            fill_block(r->d->samples.data + i * PADDED, r->samples, r->count, (first + i) * BLOCK);
        }
        detect(r->d, many, r->probability + first);
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

static void release(detector *d) {
    image *const images[] = {&d->samples,     &d->spectrum,    &d->magnitude, &d->features[0], &d->features[1],
                             &d->features[2], &d->features[3], &d->hidden,    &d->speech};
    layer *const layers[] = {&d->stft, &d->conv[0], &d->conv[1], &d->conv[2], &d->conv[3], &d->last};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        free(images[i]->data);
    }
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        layer_release(layers[i]);
    }
    weights_close(&d->file);
    bp_options_release(d->options);
}

int main(int argc, char **argv) {
    static detector d;
    int repeats = 0, at = read_options(argc, argv, &d.options, &repeats);
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
    release(&d);
    return 0;
}
