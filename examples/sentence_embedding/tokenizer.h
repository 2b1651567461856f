/* tokenizer.h - splits sentences into the word pieces of an uncased BERT network. */
#ifndef EXAMPLES_TOKENIZER_H
#define EXAMPLES_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

typedef struct word_piece {
    const char *text;
    int32_t id;
} word_piece;

typedef struct tokenizer {
    char *text;        /* the file */
    word_piece *words; /* sorted by text */
    size_t count;
    int32_t unknown, first, last; /* ids of [UNK], [CLS] and [SEP] */
} tokenizer;

/* Reads a vocabulary: a word piece on each line, whose number from 0 is its id. The program ends unless there are
 * `count` of them. */
void tokenizer_open(tokenizer *t, const char *path, size_t count);

/* Writes the ids of a sentence, [CLS] and [SEP] included, of which there are at most `most`: others are cut off.
 * Returns their number, or -1 if the text is not UTF-8. */
int tokenizer_run(const tokenizer *t, const char *text, size_t length, int32_t *ids, int most);
void tokenizer_close(tokenizer *t);

#endif
