"""Quality of searches: cost with a memory limit, greedy compared with opt_einsum's, auto-hq compared with random-greedy, and
limits of work."""

import math
import sys
import time

import pytest

import backplane as bp
from conftest import ROOT

sys.path.append(str(ROOT / "bench"))
from networks import circuit, regular  # noqa: E402

# rand_equation(60, 3, d_min=2, d_max=4, seed=0) of opt_einsum: labels of each operand, and the size of each label.
NETWORK = """
0.1.2.3 4.5 6.7.8 9.10 11.12.13 11.14.15 16.17.18 19.20.21 22.23.24.25.26 27.28.29 30.31 32.33.34.35 34.36 37.38.39 13.40 6.39.3 41.42
41.18.43.16 44.45.46.47.48 49.46.50.51 15.52.53 48.54.55 56.7.52.57.58 59.50.20.14 60 61.40.62 63.64 65.66.47.36.44 67.32.68.38.69.70
71.72.73 74.75.76.5 57 76.55.77.28 78 19.79 2.29.80 22.61.25 81.66 0 31.30.65.21 63 59.82.83.69 77.49.84.85 86.64.9.87 75.10 71.68.23
12.56.67.88 26.81 54 72.73.87 1.45 89.62.27.70 83.60.53.42 86.82.37.33.80.85 79 88.4.8 24.74.35 58 51.84.17.78 89.43
"""
SIZES = "223322423222343223234424432343344322432422234424323443333223322343342323222242243442332432"


@pytest.fixture(autouse=True)
def without_cache():
    bp.set_flags(**{"einsum.path_cache.max_size": 0})


def search(terms, sizes, output=(), **keywords):
    call = [each for term in terms for each in (tuple(sizes[label] for label in term), term)]
    return bp.einsum_path(*call, list(output), shapes=True, **keywords)[1]


def network():
    return [[int(label) for label in term.split(".")] for term in NETWORK.split()], [int(size) for size in SIZES]


@pytest.mark.parametrize("strategy", ["auto", "greedy", "random-greedy-128", "branch-1", "auto-hq"])
def test_a_limit_that_the_path_already_satisfies_costs_nothing(strategy):
    work = 0 if strategy != "auto-hq" else 20_000_000
    terms, sizes = network()
    free = search(terms, sizes, optimize=strategy, work=work)
    # 55296 is the largest result of all strategies except greedy and branch-1, which satisfy the limit by other orders
    for limit in {int(free.largest), int(free.largest) + 1, 2 * int(free.largest), 55296}:
        kept = search(terms, sizes, optimize=strategy, work=work, memory_limit=limit)
        assert kept.largest <= limit
        assert kept.flops <= free.flops
    # A smaller limit changes the order: 41472 can be satisfied, at twice the least known cost.
    tight = search(terms, sizes, optimize=strategy, work=work, memory_limit=41472)
    assert tight.largest <= 41472 and tight.flops < 2.5e7


def test_an_impossible_limit_is_refused_soon():
    terms, sizes = network()
    began = time.process_time()
    for strategy in "auto", "random-greedy", "greedy", "branch-1":
        with pytest.raises(bp.Error) as refused:
            search(terms, sizes, optimize=strategy, memory_limit=100)
        assert refused.value.status == "E_CONSTRAINT"
    assert time.process_time() - began < 60  # all orders of 60 operands would take years


# log10 of the operations of the path of opt_einsum 3.4.0's greedy.
CIRCUITS = {(3, 3, 6): 3.520, (3, 3, 8): 4.016, (3, 3, 10): 4.527, (3, 3, 12): 4.736, (4, 4, 6): 6.035, (4, 4, 8): 7.094,
            (4, 4, 10): 7.958, (4, 4, 12): 7.424, (4, 5, 6): 4.726, (4, 5, 8): 8.069, (4, 5, 10): 9.345, (4, 5, 12): 8.864,
            (5, 6, 6): 5.957, (5, 6, 8): 7.737, (5, 6, 10): 9.663, (5, 6, 12): 12.052, (6, 9, 12): 17.256}
REGULAR = {(10, 0): 4.054, (10, 1): 3.760, (10, 2): 3.356, (10, 3): 4.165, (25, 0): 5.158, (25, 1): 4.744, (25, 2): 4.495,
           (25, 3): 4.934, (50, 0): 6.527, (50, 1): 5.552, (50, 2): 7.118, (50, 3): 7.285, (100, 0): 13.112, (100, 1): 9.789,
           (100, 2): 13.669, (100, 3): 12.267}


@pytest.mark.parametrize("make, last, theirs", [(circuit, 0, CIRCUITS), (regular, 6, REGULAR)])
def test_plain_greedy_is_as_good_as_opt_einsums(make, last, theirs):
    for arguments, cost in theirs.items():
        ours = math.log10(search(*make(*arguments, last), optimize="greedy").flops)
        assert ours <= cost + 0.01, arguments


def test_auto_hq_is_at_least_as_good_as_random_greedy():
    for net in regular(100, 0, 6), regular(100, 2, 6), circuit(5, 6, 12, 0):
        assert search(*net, optimize="auto-hq", work=100_000_000).flops <= search(*net, optimize="random-greedy-128").flops
