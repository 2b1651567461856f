/* support_einsum.c - random networks, and the reference: sets of operands as bits, every split of every set, no bounds.
 */
#include "einsum/support_einsum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static bool has(const network *net, int term, int32_t label) {
    for (int i = 0; i < net->rank[term]; i++) {
        if (net->label[term][i] == label) {
            return true;
        }
    }
    return false;
}

network network_random(uint64_t seed, int terms, bool hyper) {
    static const int64_t sizes[] = {1, 2, 3, 5, 20, 100};
    network net = {.terms = terms};
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
    for (int i = 0; i < 8; i++) {
        next(&state);
    }
    int labels = terms + (int)(next(&state) % (unsigned)terms) + 1;
    for (int32_t label = 0; label < labels; label++) {
        int times = 1 + (int)(next(&state) % (hyper ? 3 : 2)) + (next(&state) % 4 != 0 ? 1 : 0);
        times = times > (hyper ? 3 : 2) ? (hyper ? 3 : 2) : times;
        for (int i = 0; i < times; i++) {
            int term = (int)(next(&state) % (unsigned)terms);
            if (net.rank[term] < NET_RANK && !has(&net, term, label)) {
                net.label[term][net.rank[term]++] = label;
            }
        }
        net.size[label] = sizes[next(&state) % 6];
    }
    net.labels = labels;
    for (int32_t label = 0; label < labels; label++) {
        bool used = false;
        for (int t = 0; t < terms; t++) {
            used |= has(&net, t, label);
        }
        if (used && next(&state) % 6 == 0) {
            net.output[net.outputs++] = label;
        }
    }
    return net;
}

bp_status network_path(const network *net, const bp_einsum_search *search, bp_contraction_path **path) {
    bp_einsum_operand operands[NET_TERMS];
    int64_t shapes[NET_TERMS][NET_RANK];
    for (int t = 0; t < net->terms; t++) {
        for (int i = 0; i < net->rank[t]; i++) {
            shapes[t][i] = net->size[net->label[t][i]];
        }
        operands[t] = (bp_einsum_operand){net->rank[t], shapes[t], net->label[t], net->rank[t]};
    }
    return bp_einsum_path_sublists(path, search, net->terms, operands, net->outputs, net->output);
}

bp_contraction_path_info network_info(const network *net, const bp_einsum_search *search) {
    bp_contraction_path *path;
    bp_contraction_path_info info = {.struct_size = sizeof info};
    if (network_path(net, search, &path) != BP_OK || bp_contraction_path_describe(path, &info) != BP_OK) {
        abort();
    }
    bp_contraction_path_release(path);
    return info;
}

/* ---- The reference ---- */

static uint32_t labels_of(const network *net, int term) {
    uint32_t labels = 0;
    for (int i = 0; i < net->rank[term]; i++) {
        labels |= 1u << net->label[term][i];
    }
    return labels;
}

static double product(const network *net, uint32_t labels) {
    double elements = 1;
    for (int32_t label = 0; label < net->labels; label++) {
        elements *= labels >> label & 1 ? (double)net->size[label] : 1;
    }
    return elements;
}

/* Returns the labels that the result of a set of terms must have. */
static uint32_t result_of(const network *net, unsigned set) {
    uint32_t inside = 0, outside = 0;
    for (int t = 0; t < net->terms; t++) {
        *(set >> t & 1 ? &inside : &outside) |= labels_of(net, t);
    }
    for (int i = 0; i < net->outputs; i++) {
        outside |= 1u << net->output[i];
    }
    return inside & outside;
}

typedef enum measure { FLOPS, SIZE, WRITE, COMBO } measure;

static double step(measure m, double flops, double size) {
    return m == FLOPS ? flops : m == COMBO ? flops + 64 * size : size;
}

static double join(measure m, double a, double b) {
    return m == SIZE ? fmax(a, b) : a + b;
}

/* Returns the cost of contracting two sets; an operand may be summed alone first. */
static double pair_cost(const network *net, measure m, double limit, unsigned a, unsigned b) {
    double best = HUGE_VAL;
    uint32_t result = result_of(net, a | b);
    for (unsigned choice = 0; choice < 4; choice++) {
        unsigned sides[2] = {a, b};
        uint32_t both = 0;
        double cost = 0;
        bool allowed = true;
        for (int k = 0; k < 2; k++) {
            bool operand = (sides[k] & (sides[k] - 1)) == 0;
            uint32_t kept = result_of(net, sides[k]);
            uint32_t all = operand ? labels_of(net, __builtin_ctz(sides[k])) : kept;
            if (choice >> k & 1) {
                allowed = allowed && operand && all != kept && product(net, kept) <= limit;
                cost = join(m, cost, step(m, 2 * product(net, all), product(net, kept)));
                all = kept;
            }
            both |= all;
        }
        cost = join(m, cost, step(m, product(net, both) * (both != result ? 2 : 1), product(net, result)));
        best = allowed && cost < best ? cost : best;
    }
    return best;
}

static double least(const network *net, measure m, double limit) {
    unsigned all = (1u << net->terms) - 1;
    double *cost = malloc((all + 1) * sizeof *cost);
    for (unsigned set = 1; set <= all; set++) {
        cost[set] = (set & (set - 1)) == 0 ? 0 : HUGE_VAL;
        bool fits = set == all || product(net, result_of(net, set)) <= limit;
        for (unsigned a = (set - 1) & set; a > 0 && cost[set] != 0 && fits; a = (a - 1) & set) {
            unsigned b = set ^ a;
            if (a < b) {
                double c = join(m, join(m, cost[a], cost[b]), pair_cost(net, m, limit, a, b));
                cost[set] = c < cost[set] ? c : cost[set];
            }
        }
    }
    double found = cost[all];
    free(cost);
    return found;
}

reference network_reference(const network *net, double limit) {
    reference r = {least(net, FLOPS, limit), least(net, SIZE, limit), least(net, WRITE, limit),
                   least(net, COMBO, limit), 0};
    r.flops_in_size = least(net, FLOPS, fmin(limit, r.size));
    return r;
}

/* ---- Recomputing the cost of a path ---- */

double network_recount(const network *net, const bp_contraction_path *path, double *largest) {
    uint32_t left[2 * NET_TERMS];
    int count = net->terms;
    double flops = 0;
    uint32_t output = 0;
    bp_contraction_step s = {.struct_size = sizeof s};
    for (int t = 0; t < net->terms; t++) {
        left[t] = labels_of(net, t);
    }
    for (int i = 0; i < net->outputs; i++) {
        output |= 1u << net->output[i];
    }
    *largest = 0;
    for (int i = 0; bp_contraction_path_at(path, i, &s); i++) {
        uint32_t all = 0, needed = output;
        for (int k = s.count - 1; k >= 0; k--) {
            all |= left[s.position[k]];
            memmove(&left[s.position[k]], &left[s.position[k] + 1], (size_t)(count - s.position[k] - 1) * sizeof *left);
            count--;
        }
        for (int k = 0; k < count; k++) {
            needed |= left[k];
        }
        left[count++] = all & needed;
        flops += product(net, all) * ((all & ~needed) != 0 ? 2 : 1);
        *largest = fmax(*largest, product(net, all & needed));
    }
    return count == 1 && left[0] == output ? flops : -1;
}

/* ---- Text ---- */

bp_status text_path(bp_contraction_path **path, const bp_einsum_search *search, const char *expression,
                    const char *shapes) {
    bp_einsum_operand operands[16] = {{0}};
    int64_t sizes[16][8];
    int count = 0;
    for (const char *at = shapes; *at || count == 0;) {
        bp_einsum_operand *o = &operands[count];
        o->shape = sizes[count++];
        for (; *at && *at != ','; at += *at == 'x') {
            char *end;
            sizes[count - 1][o->ndim++] = strtoll(at, &end, 10);
            at = end;
        }
        if (!*at) {
            break;
        }
        at++;
        if (!*at) { /* a comma at the end: a scalar follows */
            operands[count].shape = sizes[count];
            count++;
        }
    }
    return bp_einsum_path(path, search, expression, count, operands);
}
