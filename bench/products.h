/* products.h - lists the fixed matrix products of the benchmarks choice and grid: rows, terms, columns. */
#ifndef BP_BENCH_PRODUCTS_H
#define BP_BENCH_PRODUCTS_H

#include <stdint.h>

static const int64_t fixed_products[][3] = {
    {1, 1, 1},          {2, 2, 2},      {4, 4, 4},        {8, 8, 8},        {16, 16, 16},     {32, 32, 32},
    {64, 64, 64},       {96, 96, 96},   {128, 128, 128},  {192, 192, 192},  {256, 256, 256},  {512, 512, 512},
    {1024, 1024, 1024}, {1, 64, 64},    {1, 1000, 1000},  {1000, 1000, 1},  {64, 64, 1},      {1000, 1, 1000},
    {100, 1, 100},      {1, 100000, 1}, {16, 1024, 1024}, {1024, 16, 1024}, {1024, 1024, 16}, {512, 8, 512},
    {512, 512, 8},      {3, 1000, 3},   {1797, 64, 1797}, {64, 1797, 64},
};

#define FIXED_PRODUCTS ((int)(sizeof fixed_products / sizeof fixed_products[0]))

#endif
