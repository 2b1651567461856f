/* measuring.c - what measuring random numbers needs. */
#include "ops/random/random.h"
#include "tuning/trial.h"

static void finish_trial(bp__trial *trial) {
    enum { LARGEST_ERROR = 16 }; /* of normal numbers */
    trial->roundings = LARGEST_ERROR;
}

const bp__measuring bp__measuring_random = {
    .finish_trial = finish_trial,
};
