/* tokenizer.c - text to word pieces: replaces characters by simpler ones, splits words at spaces and around
 * punctuation, and takes the longest word pieces from the left. */
#include "tokenizer.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* A row of the table tokenizer.rules: what a character becomes, in UTF-8. Those after the table stay as they are. */
typedef struct rule {
    unsigned char kind, size, characters; /* size: bytes of the text */
    char text[9];
} rule;
enum { RULES = 0x30000, PART_OF_WORD = 0, SPACE = 1, OWN_WORD = 2 };

/* A row of the table tokenizer.pieces. Pieces inside a word begin with "##". */
typedef struct piece {
    char text[28];
    int32_t id;
} piece;
enum { PIECES = 30522 };

static const rule *rules;
static const piece *pieces; /* sorted by text */

void tokenizer_open(bp_weights *file) {
    bp_view view;
    view_weight(file, &view, BP_U8, (int64_t[]){RULES, sizeof(rule), 0}, "tokenizer.rules");
    rules = view.tensor.data;
    view_weight(file, &view, BP_U8, (int64_t[]){PIECES, sizeof(piece), 0}, "tokenizer.pieces");
    pieces = view.tensor.data;
    if (!setlocale(LC_CTYPE, "C.UTF-8")) { /* for mbrtowc() */
        stop("the C library has no locale C.UTF-8");
    }
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const piece *)a)->text, ((const piece *)b)->text);
}

/* Returns the id of a piece of `size` bytes, which are less than sizeof(piece.text) - 2; -1: there is none. */
static int find(const char *before, const char *text, size_t size) {
    piece key;
    snprintf(key.text, sizeof key.text, "%s%.*s", before, (int)size, text);
    const piece *found = bsearch(&key, pieces, PIECES, sizeof key, by_text);
    return found ? found->id : -1;
}

static int special(const char *text) {
    return find("", text, strlen(text));
}

/* The word that is being read, and the ids of those before it. */
typedef struct word {
    char text[1024]; /* more than MOST_CHARACTERS have */
    size_t size;
    int characters, count, most;
    int32_t *ids;
} word;
enum { MOST_CHARACTERS = 100 }; /* a longer word is unknown */

/* Adds the ids of the longest pieces from the left, or the id of [UNK] if some part is no piece. Empties the word. */
static void end_word(word *w) {
    int32_t ids[MOST_CHARACTERS];
    int count = 0;
    bool known = w->characters <= MOST_CHARACTERS;
    for (size_t at = 0, size; known && at < w->size; at += size) {
        size = w->size - at < sizeof pieces->text - 2 ? w->size - at : sizeof pieces->text - 3;
        while (size > 0 && (ids[count] = find(at ? "##" : "", w->text + at, size)) < 0) {
            size--;
        }
        known = size > 0;
        count++;
    }
    if (!known) {
        ids[0] = special("[UNK]");
        count = 1;
    }
    for (int i = 0; i < count && w->count < w->most; i++) {
        w->ids[w->count++] = ids[i];
    }
    w->size = 0;
    w->characters = 0;
}

static void add_character(word *w, const rule *r) {
    if (r->kind != PART_OF_WORD) {
        end_word(w);
    }
    w->characters += r->characters;
    if (w->characters <= MOST_CHARACTERS) {
        memcpy(w->text + w->size, r->text, r->size);
        w->size += r->size;
    }
    if (r->kind == OWN_WORD) {
        end_word(w);
    }
}

int tokenizer_run(const char *text, size_t size, int32_t *ids, int most) {
    word w = {.ids = ids, .count = 1, .most = most - 1};
    mbstate_t state = {0};
    ids[0] = special("[CLS]");
    for (size_t at = 0, bytes; at < size; at += bytes) {
        wchar_t c;
        bytes = mbrtowc(&c, text + at, size - at, &state);
        if (bytes > 4) {
            return -1;
        }
        bytes += c == 0;
        rule same = {.kind = PART_OF_WORD, .size = (unsigned char)bytes, .characters = 1};
        memcpy(same.text, text + at, bytes);
        add_character(&w, (size_t)c < RULES ? &rules[c] : &same);
    }
    end_word(&w);
    ids[w.count++] = special("[SEP]");
    return w.count;
}
