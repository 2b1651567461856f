"""networks.py - makes tensor networks (terms, label sizes, output) for bench/einsum_path.py and tests/python/test_einsum_search.py.

Equal arguments make the same network on every machine, so that costs can be compared with earlier results."""
import random


def regular(n, seed, largest):
    """Returns a network of random operands with three labels each."""
    chance = random.Random(seed)
    ends = [i for i in range(n) for _ in range(3)]
    chance.shuffle(ends)
    terms = [[] for _ in range(n)]
    for label, (a, b) in enumerate(zip(ends[0::2], ends[1::2])):
        for term in {a, b}:
            terms[term].append(label)
    return terms, [chance.randint(2, largest) for _ in range(3 * n // 2)], []


def circuit(rows, columns, depth, open_ends):
    """Returns a circuit: gates on neighbours of a grid in four patterns, between vectors, with `open_ends` open ends."""
    terms, wire, labels = [], {}, 0
    for place in ((r, c) for r in range(rows) for c in range(columns)):
        wire[place] = labels
        terms.append([labels])
        labels += 1
    for layer in range(depth):
        k = layer % 4
        for r, c in sorted(wire):
            other = (r, c + 1) if k < 2 else (r + 1, c)
            if (c % 2 == k if k < 2 else r % 2 == k - 2) and other in wire:
                terms.append([wire[r, c], wire[other], labels, labels + 1])
                wire[r, c], wire[other] = labels, labels + 1
                labels += 2
    ends = [wire[place] for place in sorted(wire)]
    return terms + [[end] for end in ends[open_ends:]], [2] * labels, ends[:open_ends]
