"""einsum_path: paths are valid for NumPy and opt_einsum, costs match an independent count, both forms, and errors."""

import array
import math
import threading

import numpy as np
import pytest

import backplane as bp

CHAIN = ("ij,jk,kl,lm->im", np.ones((10, 20)), np.ones((20, 30)), np.ones((30, 5)), np.ones((5, 7)))


def count(inputs, output, sizes, path):
    """Counts the operations of a path as opt_einsum does, from the definition."""
    left = [frozenset(each) for each in inputs]
    total = 0
    for step in path:
        taken = [left.pop(i) for i in sorted(step, reverse=True)]
        kept = frozenset(output).union(*left)
        labels = frozenset().union(*taken)
        total += math.prod(sizes[label] for label in labels) * (max(1, len(taken) - 1) + bool(labels - kept))
        left.append(labels & kept)
    return total


def test_path_and_report():
    path, report = bp.einsum_path(*CHAIN)
    assert path == [(1, 2), (0, 2), (0, 1)] == report.path
    assert report.flops == 8700 and report.naive_flops == 840000 and report.largest == 100
    assert report.scaling == 3 and report.naive_scaling == 5 and report.output_shape == (10, 7)
    assert report.exact and report.strategy == "auto" and report.expression == CHAIN[0]
    assert math.isclose(report.speedup, 840000 / 8700) and report.cost == report.flops and report.written == 220
    assert "Optimized FLOP count:  8.700e+3" in str(report) and "8700 flops" in repr(report)
    assert [step.expression for step in report.steps] == ["kl,jk->lj", "lj,ij->li", "li,lm->im"]
    assert report.steps[1] == bp.Step((0, 2), (0, 4), 5, "lj,ij->li", "gemm", 3, 2000, 50)
    assert bp.einsum_path(*CHAIN, dtype="float32")[1].peak_bytes * 2 == report.peak_bytes > 0


@pytest.mark.parametrize("seed", range(30))
def test_numpy_runs_the_paths(seed):
    """Random expressions: NumPy's result with our path equals its result without one, and the costs match a second count."""
    random = np.random.default_rng(seed)
    letters = "abcdefgh"
    sizes = {letter: int(random.integers(1, 5)) for letter in letters}
    terms = ["".join(random.choice(list(letters), random.integers(0, 4), replace=False)) for _ in range(random.integers(1, 7))]
    output = "".join(letter for letter in letters if any(letter in term for term in terms) and random.random() < 0.3)
    arrays = [random.standard_normal([sizes[letter] for letter in term]) for term in terms]
    expression = ",".join(terms) + "->" + output
    plain = np.einsum(expression, *arrays)
    for strategy in ("auto", "optimal", "dp", "branch-2", "greedy", "random-greedy-20", False):
        path, report = bp.einsum_path(expression, *arrays, optimize=strategy)
        assert report.flops == count(terms, output, sizes, path)
        if all(len(step) == 2 for step in path):
            assert np.allclose(np.einsum(expression, *arrays, optimize=["einsum_path", *path]), plain)


def test_sublists_and_shapes():
    a, b = np.ones((2, 3)), np.ones((3, 4))
    for operands in ((a, [0, 1], b, [1, 2], [0, 2]), (a, [0, 1], b, [1, 2]), (a, (70, 80), b, (80, 10**9), (70, 10**9)),
                     (a, [Ellipsis, 1], b, [1, 2], [Ellipsis, 2])):
        path, report = bp.einsum_path(*operands)
        assert path == [(0, 1)] and report.output_shape == (2, 4)
    assert bp.einsum_path("ij,jk", (2, 3), (3, 4), shapes=True)[1].output_shape == (2, 4)
    assert bp.einsum_path((2, 3), [0, 1], (3, 4), [1, 2], shapes=True)[1].output_shape == (2, 4)
    assert bp.einsum_path("ij,jk", [a, b])[1].output_shape == (2, 4)
    assert bp.einsum_path("i,i", array.array("d", [1, 2]), np.ones(2))[1].output_shape == ()
    many = [shape for i in range(200) for shape in ((2, 2), [i, i + 1])]
    assert len(bp.einsum_path(*many, [0, 200], shapes=True)[0]) == 199


def test_given_paths():
    path, report = bp.einsum_path(*CHAIN, optimize=[(0, 1), (0, 2), (0, 1)])
    assert path == [(0, 1), (0, 2), (0, 1)] and report.strategy == "given"
    assert bp.einsum_path(*CHAIN, optimize=["einsum_path", (0, 1, 2, 3)])[0] == [(0, 1), (0, 2), (0, 1)]
    ours = bp.einsum_path(*CHAIN)[0]
    assert bp.einsum_path(*CHAIN, optimize=np.einsum_path(*CHAIN, optimize="optimal")[0])[0] == ours
    with pytest.raises(ValueError, match="position 9"):
        bp.einsum_path(*CHAIN, optimize=[(0, 9), (0, 1), (0, 1)])


def test_options():
    words = ("i,j,k,ij,jk->", (10,), (10,), (10,), (10, 10), (10, 10))
    assert bp.einsum_path(*words, shapes=True, optimize=False)[1].largest == 1000
    assert bp.einsum_path(*words, shapes=True, memory_limit=100)[1].largest <= 100
    assert bp.einsum_path(*words, shapes=True, memory_limit="max_input")[1].largest <= 100
    assert bp.einsum_path(*words, shapes=True, memory_limit=-1)[0] == bp.einsum_path(*words, shapes=True)[0]
    assert bp.einsum_path(*words, shapes=True, minimize="size")[1].cost <= 10
    one, two = (bp.einsum_path(*words, shapes=True, optimize="random-greedy-50", seed=7)[0] for _ in range(2))
    assert one == two
    with bp.flags(**{"opt_einsum.strategy": "greedy"}):
        assert bp.einsum_path(*CHAIN)[1].strategy == "greedy"
    with bp.flags(**{"opt_einsum.enabled": False}):
        assert bp.einsum_path(*CHAIN)[1].strategy == "left-to-right"


@pytest.mark.parametrize(
    ("operands", "names", "kind", "words"),
    [
        (("ij,j?->i", (2, 3), (3,)), {}, ValueError, "'\\?' is not a label.*offset 4"),
        (("ij,jk->ik", (2, 3), (4, 5)), {}, ValueError, "label j has size 4"),
        (("ij", (2, 3), (4, 5)), {}, ValueError, "1 operand, but 2"),
        (("ij", (2, 3)), {"optimize": "best"}, ValueError, "strategy 'best' is unknown"),
        (("ij", (2, 3)), {"minimize": "time"}, ValueError, "objective .* is unknown"),
        (("ij", (2, 3)), {"memory_limit": 0}, ValueError, "memory_limit"),
        (("ij", (2, 3)), {"memory_limit": 1.5}, TypeError, "memory_limit"),
        (("ij", (2, 3)), {"memory_limit": "max"}, TypeError, "memory_limit"),
        (("ij", (2, 3)), {"dtype": "f33"}, ValueError, "f33"),
        (((2, 3), [0, -1]), {}, ValueError, "0 or more"),
        (((2, 3), [0, "a"]), {}, TypeError, "whole number"),
        (((2, 3), [0, 2**40]), {}, ValueError, "32 bits"),
        (((2, 3), [0, 1], [0, 0]), {}, ValueError, "twice"),
        ((), {}, ValueError, "operands"),
        (("ij", ("2", 3)), {}, TypeError, "integer"),
    ],
)
def test_refused(operands, names, kind, words):
    with pytest.raises(kind, match=words):
        bp.einsum_path(*operands, shapes=True, **names)


def test_memory_limit_that_cannot_be_satisfied():
    with pytest.raises(bp.Error, match="within 80 elements") as caught:
        bp.einsum_path("ab,bc,cd->ad", (9, 9), (9, 9), (9, 9), shapes=True, memory_limit=80)
    assert caught.value.status == "E_CONSTRAINT"


def test_threads():
    wrong = []

    def work():
        for i in range(50):
            report = bp.einsum_path("ij,jk,kl->il", (2, i + 1), (i + 1, 3), (3, 4), shapes=True)[1]
            if "Complete contraction" not in str(report) or report.output_shape != (2, 4):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_cost_is_at_most_that_of_opt_einsum():
    """The cost, by opt_einsum's count, is at most the cost of its best strategies, if it is installed."""
    opt_einsum = pytest.importorskip("opt_einsum")
    random = np.random.default_rng(1)
    for _ in range(10):
        ends = random.permutation(np.repeat(np.arange(10), 3)).reshape(-1, 2)  # 15 labels on pairs of 10 operands
        terms = ["".join(chr(97 + label) for label in range(15) if operand in ends[label]) for operand in range(10)]
        sizes = random.integers(2, 10, 15)
        shapes = [tuple(int(sizes[ord(letter) - 97]) for letter in term) for term in terms]
        expression = ",".join(terms) + "->"
        path, report = bp.einsum_path(expression, *shapes, shapes=True)
        for strategy in ("dp", "greedy", "branch-2"):
            info = opt_einsum.contract_path(expression, *shapes, shapes=True, optimize=strategy)[1]
            assert report.flops <= float(info.opt_cost) * (1 + 1e-9)
        mine = opt_einsum.contract_path(expression, *shapes, shapes=True, optimize=path)[1]
        assert math.isclose(float(mine.opt_cost), report.flops)
