"""einsum: results against NumPy, all forms of arguments of NumPy, PyTorch and opt_einsum, and errors."""

import array
import json
import threading

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import backplane as bp

EXPRESSIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("ba", (3, 4)),
    (" i j , jk -> k i ", (3, 4), (4, 5)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bhqk,bhkd->bhqd", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("ijk,jil->kl", (4, 5, 6), (5, 4, 3)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("ii", (4, 4)),
    ("ii->i", (4, 4)),
    ("iijj->ji", (4, 4, 3, 3)),
    ("ij->ji", (3, 4)),
    ("ijb,jb->ib", (3, 4, 5), (4, 5)),
    ("i,j->ij", (3,), (4,)),
    ("i,i->i", (3,), (3,)),
    ("bij,bj->bi", (2, 3, 4), (2, 4)),
    ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)),
    ("ab,bc,cd,de,ef->af", (2, 3), (3, 4), (4, 5), (5, 2), (2, 3)),
    ("apb,bqc,crd,dse->apqrse", (1, 2, 3), (3, 2, 4), (4, 2, 3), (3, 2, 1)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...,...", (2, 3), (3,)),
    ("i...->...", (3, 2)),
    ("...ii->i...", (2, 3, 3)),
    (",ij,", (), (2, 3), ()),
    ("->", ()),
    (",->", (), ()),
    ("ij,jk->ik", (1, 4), (4, 1)),
    ("ij,jk->ik", (0, 4), (4, 5)),
    ("ij,jk->ik", (3, 0), (0, 5)),
    ("ij->i", (3, 0)),
    ("aA,Ab->ab", (2, 3), (3, 2)),
    ("ab,ab,ab,ab->b", (2, 3), (2, 3), (2, 3), (2, 3)),
    ("abcdefghij->jihgfedcba", (2,) * 10),
]
TYPES = {"f4": 2e-5, "f8": 1e-12, "c8": 2e-5, "c16": 1e-12}


def random(dtype, shape, seed=0):
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(dtype)


def operands_of(shapes, dtype="f8"):
    return [random(dtype, shape, i) for i, shape in enumerate(shapes)]


def close(got, wanted, bound):
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max(initial=0) <= bound * max(1, np.abs(wanted).max(initial=0))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("row", EXPRESSIONS, ids=lambda row: row[0])
def test_expressions(row, dtype):
    expression, *shapes = row
    arrays = operands_of(shapes, dtype)
    wanted = np.einsum(expression, *[each.astype("c16") for each in arrays])
    got = bp.einsum(expression, *arrays)
    assert type(got) is np.ndarray and got.dtype == np.dtype(dtype)
    close(got, wanted, TYPES[dtype])
    out = np.full(wanted.shape, 9, dtype)
    assert bp.einsum(expression, arrays, out=out) is out
    close(out, got, TYPES[dtype])  # the result may have another layout, and then come from another kernel


@pytest.mark.parametrize("optimize", [True, False, None, "optimal", "greedy", "dp", "random-greedy-4", "left-to-right", "eager"])
def test_any_order(optimize):
    expression = "ab,bcd,de,efa,cf->f"
    arrays = operands_of([(2, 3), (3, 4, 5), (5, 6), (6, 3, 2), (4, 3)])
    close(bp.einsum(expression, *arrays, optimize=optimize), np.einsum(expression, *arrays), 1e-12)


def strided(values, how):
    """Returns the same values in another layout."""
    if values.ndim == 0:
        return values
    if how == "fortran":
        return np.asfortranarray(values)
    if how == "negative":
        return values[(slice(None, None, -1),) * values.ndim].copy()[(slice(None, None, -1),) * values.ndim]
    wide = np.zeros([2 * size for size in values.shape], values.dtype)
    view = wide[(slice(None, None, 2),) * values.ndim]
    view[...] = values
    return view


@pytest.mark.parametrize("how", ["fortran", "negative", "gaps"])
def test_layouts(how):
    for expression, *shapes in EXPRESSIONS:
        arrays = operands_of(shapes)
        wanted = np.einsum(expression, *arrays)
        out = strided(np.zeros(wanted.shape), how)
        bp.einsum(expression, *[strided(each, how) for each in arrays], out=out)
        close(out, wanted, 1e-12)


def test_broadcast_views():
    a, b = np.broadcast_to(random("f8", (4,)), (3, 4)), np.broadcast_to(random("f8", (1, 5)), (4, 5))
    close(bp.einsum("ij,jk->ik", a, b), np.einsum("ij,jk->ik", a, b), 1e-13)
    same = random("f8", (4, 4))
    close(bp.einsum("ij,kj,kl->il", same, same, same), same @ same.T @ same, 1e-12)


def test_sizes_of_one_broadcast_as_in_torch():
    a, b = random("f8", (3, 1)), random("f8", (4, 5))
    close(bp.einsum("ij,jk->ik", a, b), np.einsum("ij,jk->ik", np.broadcast_to(a, (3, 4)), b), 1e-13)


LETTERS = "abcdefgh"


@st.composite
def networks(draw):
    sizes = {letter: draw(st.integers(0, 4)) for letter in LETTERS}
    terms = draw(st.lists(st.text(LETTERS, max_size=4), min_size=1, max_size=5))
    used = sorted(set("".join(terms)))
    output = "".join(draw(st.permutations(used)))[: draw(st.integers(0, len(used)))]
    return terms, output, [tuple(sizes[letter] for letter in term) for term in terms]


@settings(max_examples=300, deadline=None)
@given(networks(), st.sampled_from(sorted(TYPES)), st.sampled_from(["c", "fortran", "negative", "gaps"]))
def test_random_expressions(network, dtype, how):
    """Random labels, including diagonals and empty dimensions."""
    terms, output, shapes = network
    arrays = [each if how == "c" else strided(each, how) for each in operands_of(shapes, dtype)]
    expression = ",".join(terms) + "->" + output
    wide = [each.astype("c16") for each in arrays]
    wanted = np.einsum(expression, *wide)
    scale = np.einsum(expression, *[np.abs(each) for each in wide]).real
    got = bp.einsum(expression, *arrays)
    assert got.shape == wanted.shape and got.dtype == np.dtype(dtype)
    assert (np.abs(got - wanted) <= TYPES[dtype] * scale + 1e-30).all()


def test_sublists():
    a, b = operands_of([(2, 3), (3, 4)])
    for lists in (([0, 1], [1, 2], [0, 2]), ((70, 80), (80, 10**9), (70, 10**9)), ([Ellipsis, 1], [1, 2], [..., 2])):
        close(bp.einsum(a, lists[0], b, lists[1], lists[2]), a @ b, 1e-13)
    close(bp.einsum(a, [0, 1], b, [1, 2]), a @ b, 1e-13)
    close(bp.einsum(a, [1, 0]), a.T, 0)
    batch = random("f8", (5, 2, 3))
    close(bp.einsum(batch, [..., 0, 1], b, [1, 2]), batch @ b, 1e-13)
    close(bp.einsum(a, np.array([0, 1]), b, np.array([1, 2]), np.array([2, 0])), (a @ b).T, 1e-13)
    close(np.asarray(bp.einsum(a, [0, 1], [])), a.sum(), 1e-13)
    many = [each for i in range(60) for each in (random("f8", (2, 2), i), [i, i + 1])]
    close(bp.einsum(*many, [0, 60]), np.linalg.multi_dot(many[0::2]), 1e-11)


def test_a_list_of_operands():
    a, b = operands_of([(2, 3), (3, 4)])
    for several in ([a, b], (a, b)):
        close(bp.einsum("ij,jk->ik", several), a @ b, 1e-13)
    close(bp.einsum("ij->ji", [a]), a.T, 0)


def test_paths_of_numpy_and_opt_einsum():
    expression = "ij,jk,kl,lm->im"
    arrays = operands_of([(10, 2), (2, 30), (30, 5), (5, 7)])
    wanted = np.linalg.multi_dot(arrays)
    for optimize in ([(0, 1), (0, 2), (0, 1)], ["einsum_path", (0, 1), (0, 2), (0, 1)], [(0, 1, 2, 3)], ((1, 2), (0, 2), (0, 1)),
                     np.einsum_path(expression, *arrays, optimize="greedy")[0], bp.einsum_path(expression, *arrays)[0],
                     ("greedy", 1000), ["optimal", 1e6]):
        close(bp.einsum(expression, *arrays, optimize=optimize), wanted, 1e-12)
    why = bp.explain(bp.einsum, expression, *arrays, optimize=[(0, 1), (0, 2), (0, 1)])
    assert [tuple(step["positions"]) for step in json.loads(why.json)["path"]["steps"]] == [(0, 1), (0, 2), (0, 1)]
    assert "found by given" in why.decision
    with pytest.raises(bp.Error, match="within 80 elements"):
        bp.einsum("ab,bc,cd->ad", *[np.ones((9, 9))] * 3, optimize=("auto", 80))


def test_search_arguments():
    words = ("i,j,k,ij,jk->", *operands_of([(9,), (9,), (9,), (9, 9), (9, 9)]))

    def path(**names):
        return json.loads(bp.explain(bp.einsum, *words, **names).json)["path"]

    assert path(optimize=False)["largest"] == 729 and path(memory_limit=81)["largest"] <= 81
    assert path(minimize="size")["minimize"] == "size" and path(optimize="random-greedy", trials=3, seed=5)["strategy"] == "random-greedy"
    with bp.flags({"opt_einsum.enabled": False}):
        assert path()["strategy"] == "left-to-right"
        assert np.allclose(bp.einsum(*words), np.einsum(*words))
    assert path(settings={"opt_einsum.strategy": "greedy"})["strategy"] == "greedy"
    for names in ({"minimize": "write"}, {"memory_limit": "max_input"}, {"trials": 2}, {"seconds": 1.0}, {"seed": 4},
                  {"settings": bp.Options({"num_threads": 1})}):
        assert np.allclose(bp.einsum(*words, **names), np.einsum(*words))


class Subclass(np.ndarray):
    pass


def test_other_arrays():
    numbers = memoryview(array.array("d", [1, 2, 3, 4])).cast("B").cast("d", (2, 2))
    result = bp.einsum("ij,jk->ik", numbers, numbers)
    assert type(result) is bp.Tensor and memoryview(result).tolist() == [[7, 10], [15, 22]]
    assert type(bp.einsum("ij,jk->ik", numbers, np.eye(2))) is np.ndarray
    trace = bp.einsum("ii", numbers)
    assert trace.shape == () and memoryview(trace).tolist() == 5
    half = random("f2", (3, 4)), random("f2", (4, 5))
    got = bp.einsum("ij,jk->ik", *half)
    assert got.dtype == np.float16 and np.abs(got - half[0].astype("f8") @ half[1].astype("f8")).max() < 4e-3
    assert type(bp.einsum("ij->ji", np.eye(2).view(Subclass))) is np.ndarray


def test_torch():
    torch = pytest.importorskip("torch")
    a, b = torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    for got in (bp.einsum("ij,jk->ik", a, b), bp.einsum("ij,jk->ik", [a, b]), bp.einsum(a, [0, 1], b, [1, 2], [0, 2])):
        assert isinstance(got, torch.Tensor) and torch.allclose(got, a @ b)
    narrow = bp.einsum("ij,jk->ik", a.bfloat16(), b.bfloat16())
    assert narrow.dtype == torch.bfloat16 and torch.allclose(narrow.double(), a @ b, atol=0.1)


def test_without_numpy(python):
    done = python("-c", "import array, sys, backplane as bp\n"
                        "a = array.array('d', [1, 2, 3])\n"
                        "print(memoryview(bp.einsum('i,i', a, a)).tolist(), 'numpy' in sys.modules)")
    assert done.stdout == "14.0 False\n", done.stderr


def test_results_are_new_memory():
    a = random("f8", (3, 3))
    view = bp.einsum("ii->i", a)
    view[:] = 7
    assert view.flags.writeable and view.flags.owndata and not (np.diag(a) == 7).any()
    a = np.arange(6.0).reshape(2, 3)
    assert not np.shares_memory(bp.einsum("ij", a), a)


def test_explain_and_last_plan():
    arrays = operands_of([(30, 20), (20, 40), (40, 3)], "f4")
    why = bp.explain(bp.einsum, "ij,jk,kl->il", *arrays)
    assert why.candidates == () and why.chosen is None and len(why.parts) >= 2
    assert all(part.chosen and part.candidates for part in why.parts)
    assert why.parts[0].chosen.library in repr(why) and "ij,jk,kl->il" in repr(why) and "found by auto" in why.decision
    assert str(why).startswith("problem") and json.loads(why.json)["workspace"] > 0
    bp.einsum("ij,jk,kl->il", *arrays)
    plan = bp.last_plan()
    assert plan.operation == "einsum" and "ij,jk,kl->il" in plan.problem and plan.workspace == json.loads(why.json)["workspace"]
    bp.matmul(np.eye(2), np.eye(2))
    assert bp.last_plan().workspace == 0 and bp.explain(bp.matmul, np.eye(2), np.eye(2)).parts == ()
    whole = bp.explain(bp.einsum, arrays[0], [0, 1], arrays[1], [1, 2], out=np.empty((30, 40), "f4"))
    assert len(whole.parts) == 1
    big = operands_of([(200, 200)] * 2)
    preferred = bp.explain(bp.einsum, "ij,jk->ik", *big, settings={"blas.preferred": "native"})
    assert preferred.parts[0].chosen.library == "native" and "preferred" in preferred.parts[0].decision


@pytest.mark.parametrize(
    ("operands", "names", "kind", "words"),
    [
        (("ij,j?->i", np.ones((2, 3)), np.ones(3)), {}, ValueError, "'\\?' is not a label.*offset 4"),
        (("ij,jk->ik", np.ones((2, 3)), np.ones((4, 5))), {}, ValueError, "label j has size 4"),
        (("ij", np.ones((2, 3)), np.ones(3)), {}, ValueError, "1 operand, but 2"),
        (("ij,jk", np.ones((2, 3))), {}, ValueError, "more operands"),
        (("ij,jk", []), {}, ValueError, "operand"),
        (("ij",), {}, ValueError, "operand"),
        ((), {}, ValueError, "operand"),
        (("ij\0", np.ones((2, 3))), {}, ValueError, "NUL"),
        (("ij\ud800", np.ones((2, 3))), {}, ValueError, "surrogate|not a label"),
        (("ij->ijk", np.ones((2, 3))), {}, ValueError, "label k"),
        (("ij,jk", np.ones((2, 3)), memoryview(np.ones((3, 4), "f4"))), {}, TypeError, "same type"),
        (("ij", np.full((2, 3), 2**40)), {"out": np.ones((2, 3), "i4")}, TypeError, "out: .*int32.* cannot hold"),
        (("i,i,i,i", np.ones(2), np.ones(2), np.ones(2), "x"), {}, TypeError, "operand 3: a str"),
        (("ij", np.ma.masked_array(np.ones((2, 3)), True)), {}, TypeError, "operand 0: a masked"),
        (("ij,jk", np.ones((2, 3)), np.ma.masked_array(np.ones((3, 4)))), {}, TypeError, "operand 1: a masked"),
        (("ij", np.ones((2, 3))), {"out": np.ma.masked_array(np.ones((2, 3)))}, TypeError, "out: a masked"),
        (("ij", np.ones((2, 3))), {"out": np.ones((3, 2))}, ValueError, "output has shape"),
        (("ij", np.ones((2, 3))), {"out": np.ones((2, 3), "f4")}, TypeError, "output is f32"),
        (("ij", np.ones((2, 3))), {"out": np.broadcast_to(np.ones(3), (2, 3))}, ValueError, "read-only"),
        (("ij", np.ones((2, 3))), {"optimize": "best"}, ValueError, "strategy 'best' is unknown"),
        (("ij", np.ones((2, 3))), {"optimize": 3}, TypeError, "optimize"),
        (("ij", np.ones((2, 3))), {"optimize": [(0, 1), 2]}, TypeError, "path"),
        (("ij", np.ones((2, 3))), {"optimize": [("a",)]}, TypeError, "int"),
        (("ij", np.ones((2, 3))), {"optimize": [(7,)]}, ValueError, "position 7"),
        (("ij", np.ones((2, 3))), {"minimize": "time"}, ValueError, "objective .* is unknown"),
        (("ij", np.ones((2, 3))), {"memory_limit": 0}, ValueError, "memory_limit"),
        (("ij", np.ones((2, 3))), {"trials": "many"}, TypeError, "int"),
        (("ij", np.ones((2, 3))), {"seconds": "few"}, TypeError, "real number"),
        (("ij", np.ones((2, 3))), {"seed": "s"}, TypeError, "int"),
        (("ij", np.ones((2, 3))), {"settings": {"num_thread": 1}}, AttributeError, "num_threads"),
        ((np.ones((2, 3)), [0, -1]), {}, ValueError, "0 or more"),
        ((np.ones((2, 3)), [0, "a"]), {}, TypeError, "whole number"),
        ((np.ones((2, 3)), [0, 2**40]), {}, ValueError, "32 bits"),
        ((np.ones((2, 3)), [0, 1, 2]), {}, ValueError, "dimension"),
        ((np.ones((2, 3)), np.ones((2, 3))), {}, TypeError, "label"),
        ((np.ones((2, 3)), 5), {}, TypeError, "expression first"),
    ],
)
def test_refused(operands, names, kind, words):
    with pytest.raises(kind, match=words):
        bp.einsum(*operands, **names)


def test_overlap():
    a = np.eye(4)
    for out in (a, a.T, a[::-1]):
        with pytest.raises(ValueError, match=r"overlaps operands\[0\]") as caught:
            bp.einsum("ij,jk->ik", a, np.eye(4), out=out)
        assert caught.value.status == "E_OVERLAP"
    assert (a == np.eye(4)).all()


def test_no_library_is_left():
    with pytest.raises(bp.Error) as caught:
        bp.einsum("ij->ji", np.eye(3), settings={"dispatch.exclude": "native"})
    assert caught.value.status in ("E_NO_CANDIDATE", "E_FALLBACK")
    with pytest.raises(bp.Error, match="within 80 elements") as caught:
        bp.einsum("ab,bc,cd->ad", *[np.ones((9, 9))] * 3, memory_limit=80)
    assert caught.value.status == "E_CONSTRAINT"


def test_names_of_torch():
    """torch.backends.opt_einsum determines the order, as in PyTorch."""
    opt = bp.backends.opt_einsum
    arrays = operands_of([(30, 2), (2, 40), (40, 3)])

    def strategy():
        return json.loads(bp.explain(bp.einsum, "ij,jk,kl->il", *arrays).json)["path"]["strategy"]

    assert opt.is_available() and opt.enabled
    with opt.flags(strategy="greedy"):
        assert strategy() == "greedy" and np.allclose(bp.einsum("ij,jk,kl->il", *arrays), np.linalg.multi_dot(arrays))
    with opt.flags(enabled=False):
        assert strategy() == "left-to-right"
    assert strategy() == "auto"
    opt.strategy = "optimal"
    assert strategy() == "optimal"
    opt.strategy = "random-greedy-3"
    assert strategy() == "random-greedy"
    with pytest.raises(ValueError):
        opt.strategy = "best"


def test_threads():
    """Runs the same plans in several threads at once, each with its own operands, large enough to overlap in time."""
    wrong = []

    def work(seed):
        arrays = operands_of([(40, 30 + seed), (30 + seed, 50), (50, 20)])
        wanted = np.linalg.multi_dot(arrays)
        for _ in range(60):
            if not np.allclose(bp.einsum("ij,jk,kl->il", *arrays), wanted) or not np.allclose(bp.einsum("ij->ji", arrays[0]), arrays[0].T):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed % 2,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
