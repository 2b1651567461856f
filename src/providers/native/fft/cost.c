/* cost.c - how long a transform takes, roughly, so that a dispatcher can compare this provider with a library. */
#include "choose.h"

#include <math.h>

/* Work that is worth a thread: what waking one takes, several times over. */
#define GRAIN_NS 25000

double bp__fft_cost(const bp_host *host, const bp__fft_choice *choice) {
    (void)host;
    double total = 20;
    for (int i = 0; i < choice->stages; i++) {
        const bp__fft_stage *stage = choice->stage + i;
        const double n = (double)stage->length;
        total += (double)stage->lines.count * (10 + n * (1 + log2(n)) * 0.1);
    }
    return total * (double)choice->items.count;
}

int bp__fft_worth(double alone_ns, int most) {
    const double worth = 1 + alone_ns / GRAIN_NS;
    return most < 1 ? 1 : worth < most ? (int)worth : most;
}

double bp__fft_cost_threads(double alone_ns, int threads) {
    return threads <= 1 ? alone_ns : alone_ns / (0.85 * threads) + 2000;
}
