/* batch_norm.c - batch normalization and its gradients, for the commands that take an operation. */
#include "rows.h"

static const char *const batch_options[] = {"eps", "relu", NULL};
static const char *const eps_options[] = {"eps", NULL};

static const cli_described
    batch_norm = {"batch_norm", "pass=inference", "input,running_mean,running_var,weight,bias", "output", NULL, NULL},
    batch_norm_training = {"batch_norm", "pass=training", "input,weight,bias", "output,mean,inverse_std", NULL, NULL},
    batch_norm_gradients = {"batch_norm",
                            "pass=backward",
                            "output_gradient,input,mean,inverse_std,weight",
                            "input_gradient,weight_gradient,bias_gradient",
                            NULL,
                            NULL};

static const cli_sizing batch_norm_sizing = NORM("8x32xnxn 32 32:positive 32 32", NULL, IMAGE_SIZES, 0),
                        batch_training_sizing = NORM("8x32xnxn 32 32", NULL, IMAGE_SIZES, 3),
                        batch_gradient_sizing = NORM("8x32xnxn 8x32xnxn 32 32:positive 32", NULL, IMAGE_SIZES, 3);

const cli_operation operations_batch_norm[] = {
    ROW("batch_norm", "INPUT MEAN VARIANCE [WEIGHT [BIAS]]", 3, 5, 1, batch_options, &batch_norm, &batch_norm_sizing),
    ROW("batch_norm_training", "INPUT [WEIGHT [BIAS]]", 1, 3, 3, eps_options, &batch_norm_training,
        &batch_training_sizing),
    ROW("batch_norm_gradients", "OUTPUT_GRADIENT INPUT MEAN INVERSE_STD [WEIGHT]", 4, 5, 3, NULL, &batch_norm_gradients,
        &batch_gradient_sizing),
    {.name = NULL},
};
