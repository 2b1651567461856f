/* support_attention.h - checks attention on the doubles of cuDNN and CUDA's driver. */
#ifndef BP_TESTS_CUDNN_SUPPORT_ATTENTION_H
#define BP_TESTS_CUDNN_SUPPORT_ATTENTION_H

#include "cudnn/support_cudnn.h"

enum {
    SDPA_QUERY,
    SDPA_KEY,
    SDPA_VALUE,
    SDPA_MASK,
    SDPA_OUTPUT,
    SDPA_LOGSUMEXP,
    SDPA_OUTPUT_GRADIENT,
    SDPA_QUERY_GRADIENT,
    SDPA_KEY_GRADIENT,
    SDPA_VALUE_GRADIENT,
    SDPA_TENSORS
};

/* How query, key, value, output and their gradients lie in memory. */
typedef enum sdpa_layout {
    SDPA_COMPACT,
    SDPA_HEADS_INSIDE, /* rows of all heads, as items x rows x heads x columns is */
    SDPA_GAPS,         /* 8 elements between rows, heads and items */
    SDPA_ODD_ROWS,     /* 4 elements between rows */
    SDPA_COLUMNS,      /* columns are 2 elements apart */
    SDPA_BACKWARDS     /* heads in descending order */
} sdpa_layout;

/* A call: batch x heads items. Key and value heads are 0 if there are as many as of the query. */
typedef struct sdpa_case {
    bp_dtype dtype;
    int64_t batch, heads, key_heads, value_heads, queries, keys, size, value_size;
    bool causal, logsumexp, backward;
    bool lower_right;
    int64_t window; /* on both sides; 0: none */
    double softcap;
    bp_dtype mask;                                      /* 0: none */
    bool mask_batch, mask_heads, mask_row, mask_column; /* these sizes of the mask are 1 */
    bool mask_turned;                                   /* its rows are 1 element apart */
    bool flat;                                          /* tensors have no batch and heads: rows x columns */
    bool repeats;                                       /* items share the first item's key */
    bool expanded;                                      /* heads of the key are one in memory */
    bool spread;                                        /* logsumexp has gaps */
    int unwanted;                                       /* mask of the gradients 0 to 2 that are not wanted */
    sdpa_layout layout;
    double scale, dropout; /* scale 0: the usual one */
    int device;
    size_t past; /* bytes by which the addresses of query and output are moved */
} sdpa_case;

typedef struct sdpa_trial {
    sdpa_case c;
    test_array host[SDPA_TENSORS], seed; /* memory NULL: absent */
    on_device device[SDPA_TENSORS], device_seed;
    bp_attention_call on_host, call;
    char text[200];
} sdpa_trial;

/* Makes tensors with random elements. Of a mask, every fourth element is -infinity or false. */
void make_sdpa(sdpa_trial *t, const sdpa_case *c);
void free_sdpa(sdpa_trial *t);
/* Copies a tensor to the device again, after the test has changed it. */
void renew_sdpa(sdpa_trial *t, int which);
/* Makes the calls, since the tensors may have moved; run_sdpa() does it, too. */
void connect_sdpa(sdpa_trial *t);
/* Runs it with settings; of a call for gradients, the forward call before, too. */
bp_status run_sdpa(sdpa_trial *t, const char *settings);
/* Copies all tensors back, and compares the results with the reference; nothing else may have been written. */
void expect_sdpa(sdpa_trial *t);
/* Makes, runs and checks a case. */
void check_sdpa(const sdpa_case *c);
/* The case fails with this message. */
void refuse_sdpa(const sdpa_case *c, const char *settings, const char *text);
/* Returns the explanation, valid until the next call. */
const char *explained_sdpa(const sdpa_trial *t, const char *settings);

/* ---- Cases that forward calls and gradients share. `make` makes a small case ---- */

typedef sdpa_case (*sdpa_make)(bp_dtype dtype);

/* Numbers of columns of key and value. */
void check_sdpa_columns(sdpa_make make, int count, const int64_t sizes[][2]);
/* Heads of key and value may differ, and there may be no heads. */
void check_sdpa_heads(sdpa_make make);
void check_sdpa_layouts(sdpa_make make);

#endif
