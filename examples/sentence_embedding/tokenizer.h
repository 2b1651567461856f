/* tokenizer.h - splits sentences into the word pieces of an uncased BERT network. */
#ifndef EXAMPLES_TOKENIZER_H
#define EXAMPLES_TOKENIZER_H

#include "../networks/network.h"

/* Finds the tables that fetch.py makes. They are read until the weights are closed. */
void tokenizer_open(bp_weights *file);
/* Writes the ids of a sentence, [CLS] and [SEP] included; there are at most `most`, others are cut off.
 * Returns their number, or -1 if the text is not UTF-8. */
int tokenizer_run(const char *text, size_t size, int32_t *ids, int most);

#endif
