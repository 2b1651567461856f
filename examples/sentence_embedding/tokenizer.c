/* tokenizer.c - text to word pieces: removes control characters, splits at spaces and around punctuation and Chinese
 * characters, removes accents, converts to lower case, and takes the longest word pieces from the left.
 *
 * Covers Latin letters up to U+017F. Accents and capitals of other scripts stay, and marks of Japanese and Korean
 * letters, so that such words have other pieces than in PyTorch's networks. Punctuation outside the blocks in
 * `punctuation` is part of words. Names such as [SEP] in a sentence are text. */
#include "tokenizer.h"
#include "../networks/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHARACTERS = 100 }; /* a longer word is unknown */

/* ---- The vocabulary ---- */

static int compare(const void *a, const void *b) {
    return strcmp(((const word_piece *)a)->text, ((const word_piece *)b)->text);
}

static int32_t find(const tokenizer *t, const char *text) {
    const word_piece key = {text, 0}, *found = bsearch(&key, t->words, t->count, sizeof key, compare);
    return found ? found->id : -1;
}

void tokenizer_open(tokenizer *t, const char *path, size_t count) {
    FILE *file = fopen(path, "rb");
    long size;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || size > 1 << 26 ||
        fseek(file, 0, SEEK_SET) != 0) {
        stop("cannot read %s; examples/networks/fetch.py gets it", path);
    }
    t->text = need(calloc(1, (size_t)size + 1));
    t->words = need(malloc(count * sizeof *t->words));
    t->count = 0;
    const size_t got = fread(t->text, 1, (size_t)size, file);
    fclose(file);
    for (char *line = t->text, *end; line < t->text + got; line = end + 1) {
        end = line + strcspn(line, "\n");
        if (t->count < count) {
            t->words[t->count] = (word_piece){line, (int32_t)t->count};
        }
        end[end > line && end[-1] == '\r' ? -1 : 0] = 0;
        *end = 0;
        t->count++;
    }
    if (t->count != count) {
        stop("%s has %zu lines; the network has %zu word pieces", path, t->count, count);
    }
    qsort(t->words, count, sizeof *t->words, compare);
    t->unknown = find(t, "[UNK]");
    t->first = find(t, "[CLS]");
    t->last = find(t, "[SEP]");
    if (t->unknown < 0 || t->first < 0 || t->last < 0) {
        stop("%s lacks [UNK], [CLS] or [SEP]", path);
    }
}

void tokenizer_close(tokenizer *t) {
    free(t->text);
    free(t->words);
}

/* ---- Characters ---- */

typedef struct range {
    uint32_t first, last;
} range;

static const range spaces[] = {{'\t', '\n'},     {'\r', '\r'},     {' ', ' '},       {0xA0, 0xA0},
                               {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                               {0x205F, 0x205F}, {0x3000, 0x3000}};
/* Control and format characters, and marks that are drawn over the letter before them. */
static const range removed[] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x300, 0x36F},
                                {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F}, {0x20D0, 0x20DC},
                                {0xE000, 0xF8FF}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},
                                {0xFFFD, 0xFFFF}};
static const range punctuation[] = {
    {'!', '/'},       {':', '@'},       {'[', '`'},       {'{', '~'},       {0xA1, 0xA1},     {0xA7, 0xA7},
    {0xAB, 0xAB},     {0xB6, 0xB7},     {0xBB, 0xBB},     {0xBF, 0xBF},     {0x2010, 0x2027}, {0x2030, 0x2043},
    {0x2045, 0x2051}, {0x2053, 0x205E}, {0x3001, 0x3003}, {0x3008, 0x3011}, {0x3014, 0x301F}, {0xFF01, 0xFF03},
    {0xFF05, 0xFF0A}, {0xFF0C, 0xFF0F}, {0xFF1A, 0xFF1B}, {0xFF1F, 0xFF20}, {0xFF5F, 0xFF65}};
static const range chinese[] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                {0x20000, 0x2A6DF}, {0x2A700, 0x2CEAF}, {0x2F800, 0x2FA1F}};
#define IN(ranges, c) is_in(ranges, sizeof(ranges) / sizeof *(ranges), c)

static bool is_in(const range *ranges, size_t count, uint32_t c) {
    for (size_t i = 0; i < count; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* The character in lower case and without its accent. */
static uint32_t plain(uint32_t c) {
    static const char letters[] = "aaaaaa.ceeeeiiii.nooooo..uuuuy..aaaaaa.ceeeeiiii.nooooo..uuuuy.y"  /* from U+00C0 */
                                  "aaaaaaccccccccdd..eeeeeeeeeegggggggghh..iiiiiiiii...jjkk.llllll."  /* from U+0100 */
                                  "...nnnnnn...oooooo..rrrrrrsssssssstttt..uuuuuuuuuuuuwwyyyzzzzzz."; /* from U+0140 */
    if (c < 0xC0 || c > 0x17F) {
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    }
    if (letters[c - 0xC0] != '.') {
        return (unsigned char)letters[c - 0xC0];
    }
    if (c < 0x100) {
        return c <= 0xDE && c != 0xD7 ? c + 32 : c;
    }
    return c >= 0x138 && c <= 0x148 ? c + (c & 1) : c | 1; /* the small letter has the next odd or even number */
}

/* Reads a character of `left` bytes. Returns how many it has; 0: not UTF-8. */
static size_t read_character(const char *text, size_t left, uint32_t *c) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char lead = (unsigned char)*text;
    const size_t size = lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
    *c = size < 2 ? lead : lead & (0x7FU >> size);
    for (size_t i = 1; i < size; i++) {
        if (i >= left || ((unsigned char)text[i] & 0xC0) != 0x80) {
            return 0;
        }
        *c = *c << 6 | ((unsigned char)text[i] & 0x3F);
    }
    return *c < least[size] || *c > 0x10FFFF || (*c >= 0xD800 && *c <= 0xDFFF) ? 0 : size;
}

static size_t write_character(char *to, uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    const size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6) {
        to[i] = (char)(0x80 | (c & 0x3F));
    }
    to[0] = (char)(0xF00 >> size | c);
    return size;
}

/* ---- Words ---- */

typedef struct word {
    char text[4 * MOST_CHARACTERS];
    size_t size, characters;
    int32_t *ids;
    int count, most;
} word;

/* Writes the word pieces of the word as far as they fit, and empties it. */
static void end_word(const tokenizer *t, word *w) {
    int count = w->count;
    char piece[4 * MOST_CHARACTERS + 3] = "##";
    bool known = w->characters <= MOST_CHARACTERS;
    for (size_t at = 0, size = 0; at < w->size && known; at += size) {
        int32_t id = -1;
        size = w->size - at;
        memcpy(piece + 2, w->text + at, size);
        for (piece[2 + size] = 0; size > 0 && (id = find(t, at ? piece : piece + 2)) < 0; piece[2 + size] = 0) {
            size--;
        }
        known = id >= 0;
        if (known && count < w->most) {
            w->ids[count++] = id;
        }
    }
    if (!known && w->count < w->most) {
        w->ids[w->count] = t->unknown;
        count = w->count + 1;
    }
    w->count = count;
    w->size = w->characters = 0;
}

static void add_character(word *w, uint32_t c) {
    if (w->characters++ < MOST_CHARACTERS) {
        w->size += write_character(w->text + w->size, c);
    }
}

int tokenizer_run(const tokenizer *t, const char *text, size_t length, int32_t *ids, int most) {
    word w = {.ids = ids, .count = 1, .most = most - 1};
    ids[0] = t->first;
    for (size_t at = 0, size; at < length; at += size) {
        uint32_t c;
        size = read_character(text + at, length - at, &c);
        if (size == 0) {
            return -1;
        }
        if (IN(spaces, c)) {
            end_word(t, &w);
        } else if (IN(punctuation, c) || IN(chinese, c)) {
            end_word(t, &w);
            add_character(&w, c);
            end_word(t, &w);
        } else if (!IN(removed, c)) {
            add_character(&w, plain(c));
        }
    }
    end_word(t, &w);
    ids[w.count++] = t->last;
    return w.count;
}
