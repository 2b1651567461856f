/* einsum_path.c - times the search for a contraction path, without the cache, and reports the cost of the path.
 *
 *     einsum_path [operands] [rounds]      e.g. einsum_path 4,8,20 15
 *
 * Networks are random, with three labels of sizes 2 to 9 for each operand, and square lattices of size 2. Strategies
 * are timed in interleaved rounds over five small networks: median time per network in microseconds with quartiles and
 * minimum, and the mean of log10 of the operations. Lattices of 4,900 and 490,000 operands run once.
 */
#include "backplane.h"
#include "timing.h"

#include <string.h>

enum { NETWORKS = 5, STRATEGIES = 5, MOST_TERMS = 128 };

typedef struct tensor_network {
    int terms, labels;
    bp_einsum_operand *operands;
    int (*label)[4];
    int64_t (*shape)[4];
} tensor_network;

typedef struct job {
    const tensor_network *networks;
    bp_einsum_search search;
    double log10; /* mean over the networks */
} job;

static void check(bp_status status) {
    if (status != BP_OK) {
        fprintf(stderr, "einsum_path: %s\n", bp_last_error());
        exit(1);
    }
}

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static tensor_network network_of(int terms) {
    tensor_network network = {.terms = terms};
    network.operands = calloc((size_t)terms, sizeof *network.operands);
    network.label = calloc((size_t)terms, sizeof *network.label);
    network.shape = calloc((size_t)terms, sizeof *network.shape);
    if (!network.operands || !network.label || !network.shape) {
        exit(1);
    }
    for (int i = 0; i < terms; i++) {
        network.operands[i] = (bp_einsum_operand){0, network.shape[i], network.label[i], 0};
    }
    return network;
}

static void network_free(tensor_network *network) {
    free(network->operands);
    free(network->label);
    free(network->shape);
}

static void add_label(tensor_network *network, int term, int label, int64_t size) {
    bp_einsum_operand *o = &network->operands[term];
    network->label[term][o->ndim] = label;
    network->shape[term][o->ndim++] = size;
    o->label_count = o->ndim;
}

static int shares(const tensor_network *network, int term, int label) {
    return network->operands[term].ndim > 0 && network->label[term][network->operands[term].ndim - 1] == label;
}

/* Makes a random network. The ends of labels are shuffled over the operands. A label with both ends on one operand is a
 * diagonal, and is kept. */
static tensor_network regular(int terms, uint64_t seed) {
    tensor_network network = network_of(terms);
    int ends[3 * MOST_TERMS] = {0}, count = 3 * terms;
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < count; i++) {
        ends[i] = i / 3;
    }
    for (int i = count - 1; i > 0; i--) {
        int j = (int)(next(&state) % (unsigned)(i + 1)), moved = ends[i];
        ends[i] = ends[j];
        ends[j] = moved;
    }
    for (int i = 0; i + 1 < count; i += 2) {
        int64_t size = 2 + (int64_t)(next(&state) % 8);
        add_label(&network, ends[i], network.labels, size);
        if (!shares(&network, ends[i + 1], network.labels)) {
            add_label(&network, ends[i + 1], network.labels, size);
        }
        network.labels++;
    }
    return network;
}

static tensor_network lattice(int side) {
    tensor_network network = network_of(side * side);
    for (int i = 0; i < side * side; i++) {
        int right = i % side < side - 1, below = i / side < side - 1;
        if (right) {
            add_label(&network, i, 2 * i, 2);
            add_label(&network, i + 1, 2 * i, 2);
        }
        if (below) {
            add_label(&network, i, 2 * i + 1, 2);
            add_label(&network, i + side, 2 * i + 1, 2);
        }
    }
    return network;
}

static double plan(const tensor_network *network, const bp_einsum_search *search) {
    bp_contraction_path *path;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    check(bp_einsum_path_sublists(&path, search, network->terms, network->operands, 0, NULL));
    check(bp_contraction_path_describe(path, &info));
    bp_contraction_path_release(path);
    return info.flops_log10;
}

static void run_job(void *context) {
    job *j = context;
    j->log10 = 0;
    for (int i = 0; i < NETWORKS; i++) {
        j->log10 += plan(&j->networks[i], &j->search) / NETWORKS;
    }
}

static void small(int terms, int rounds) {
    static const char *const names[STRATEGIES] = {"auto", "dp", "optimal", "greedy", "random-greedy-128"};
    tensor_network networks[NETWORKS];
    job jobs[STRATEGIES];
    candidate list[STRATEGIES] = {{0}};
    int count = 0;
    for (int i = 0; i < NETWORKS; i++) {
        networks[i] = regular(terms, (uint64_t)i + 1);
    }
    for (int i = 0; i < STRATEGIES; i++) {
        if ((i == 1 && terms > 24) || (i == 2 && terms > 12)) {
            continue; /* exact searches that would take seconds or more */
        }
        jobs[count] = (job){.networks = networks, .search = {.struct_size = sizeof jobs[count].search}};
        check(bp_path_strategy_from_name(names[i], &jobs[count].search.strategy, &jobs[count].search.trials));
        list[count] = (candidate){.name = names[i], .run = run_job, .context = &jobs[count]};
        count++;
    }
    timing_interleave(list, count, rounds, 2e6, 1);
    for (int i = 0; i < count; i++) {
        printf("%4d operands  %-18s %10.1f us [%.1f, %.1f], fastest %.1f  log10 of operations %.3f\n", terms,
               list[i].name, timing_median(&list[i]) / NETWORKS / 1e3, timing_quantile(&list[i], 0.25) / NETWORKS / 1e3,
               timing_quantile(&list[i], 0.75) / NETWORKS / 1e3, timing_quantile(&list[i], 0) / NETWORKS / 1e3,
               jobs[i].log10);
    }
    for (int i = 0; i < NETWORKS; i++) {
        network_free(&networks[i]);
    }
}

static void large(int side, const char *strategy) {
    tensor_network network = lattice(side);
    bp_einsum_search search = {.struct_size = sizeof search};
    check(bp_path_strategy_from_name(strategy, &search.strategy, &search.trials));
    int64_t start = timing_now();
    double cost = plan(&network, &search);
    printf("%6d operands (%dx%d)  %-8s %8.3f s  log10 of operations %.3f\n", network.terms, side, side, strategy,
           (double)(timing_now() - start) / 1e9, cost);
    network_free(&network);
}

int main(int argc, char **argv) {
    const char *sizes = argc > 1 ? argv[1] : "4,5,6,8,10,12,16,20,25,50,100";
    int rounds = 11;
    char *end;
    if (argc > 2) {
        rounds = timing_number(argv[2], &end);
    }
    check(bp_set_einsum_path_cache_max_size(0));
    while (*sizes) {
        int terms = timing_number(sizes, &end);
        if (terms < 2 || terms > MOST_TERMS || rounds < 1) {
            fprintf(stderr, "usage: einsum_path [operands] [rounds]; up to %d operands\n", MOST_TERMS);
            return 2;
        }
        small(terms, rounds);
        fflush(stdout);
        sizes = *end ? end + 1 : end;
    }
    static const struct {
        int side;
        const char *strategy;
    } rows[] = {{8, "auto"}, {70, "greedy"}, {70, "auto"}, {700, "greedy"}, {700, "auto"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        large(rows[i].side, rows[i].strategy);
    }
    return 0;
}
