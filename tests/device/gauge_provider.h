/* gauge_provider.h - what gauge_provider.c has seen, for tests, which find it with dlsym("gauge"). */
#ifndef BP_TESTS_DEVICE_GAUGE_PROVIDER_H
#define BP_TESTS_DEVICE_GAUGE_PROVIDER_H

#include "backplane/provider.h"

typedef struct gauge_record {
    /* Set by the test. */
    uint32_t properties;         /* of the algorithm that it offers */
    size_t workspace, alignment; /* of its plans */
    int listed;                  /* number of algorithms of its own list */
    /* What has happened. */
    int plans;         /* made so far */
    bp_policy planned; /* of the last one */
    bp_policy ran;     /* of the plan that ran last */
    int runs;
    bp_operand given; /* workspace of the last run */
    size_t given_size;
    int misaligned; /* runs whose workspace had another alignment than `alignment` */
} gauge_record;

#endif
