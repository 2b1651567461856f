/* layers.c - lists the 53 convolutions of ResNet-50 (He et al., 2015, with the stride in the 3x3 layers) and the
 * depthwise layers of MobileNet (Howard et al., 2017), for images of 224 x 224. */
#include "conv.h"

const layer layers[] = {
    {"resnet50", 1, 3, 64, 224, 7, 2, 1},      {"resnet50", 1, 64, 64, 56, 1, 1, 1},
    {"resnet50", 3, 64, 64, 56, 3, 1, 1},      {"resnet50", 4, 64, 256, 56, 1, 1, 1},
    {"resnet50", 2, 256, 64, 56, 1, 1, 1},     {"resnet50", 1, 256, 128, 56, 1, 1, 1},
    {"resnet50", 1, 128, 128, 56, 3, 2, 1},    {"resnet50", 4, 128, 512, 28, 1, 1, 1},
    {"resnet50", 1, 256, 512, 56, 1, 2, 1},    {"resnet50", 3, 512, 128, 28, 1, 1, 1},
    {"resnet50", 3, 128, 128, 28, 3, 1, 1},    {"resnet50", 1, 512, 256, 28, 1, 1, 1},
    {"resnet50", 1, 256, 256, 28, 3, 2, 1},    {"resnet50", 6, 256, 1024, 14, 1, 1, 1},
    {"resnet50", 1, 512, 1024, 28, 1, 2, 1},   {"resnet50", 5, 1024, 256, 14, 1, 1, 1},
    {"resnet50", 5, 256, 256, 14, 3, 1, 1},    {"resnet50", 1, 1024, 512, 14, 1, 1, 1},
    {"resnet50", 1, 512, 512, 14, 3, 2, 1},    {"resnet50", 3, 512, 2048, 7, 1, 1, 1},
    {"resnet50", 1, 1024, 2048, 14, 1, 2, 1},  {"resnet50", 2, 2048, 512, 7, 1, 1, 1},
    {"resnet50", 2, 512, 512, 7, 3, 1, 1},     {"mobilenet", 1, 32, 32, 112, 3, 1, 32},
    {"mobilenet", 1, 64, 64, 112, 3, 2, 64},   {"mobilenet", 1, 128, 128, 56, 3, 1, 128},
    {"mobilenet", 1, 128, 128, 56, 3, 2, 128}, {"mobilenet", 1, 256, 256, 28, 3, 1, 256},
    {"mobilenet", 1, 256, 256, 28, 3, 2, 256}, {"mobilenet", 5, 512, 512, 14, 3, 1, 512},
    {"mobilenet", 1, 512, 512, 14, 3, 2, 512}, {"mobilenet", 1, 1024, 1024, 7, 3, 1, 1024},
};
const int layer_count = sizeof layers / sizeof *layers;
