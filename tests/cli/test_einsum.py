"""eval and explain of einsum: results equal NumPy's, contraction paths, errors."""

import numpy as np
import pytest

EXPRESSIONS = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk", [(3, 4), (4, 5)]),
    (" ij , jk -> ki ", [(3, 4), (4, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("ii", [(4, 4)]),
    ("iij->ji", [(4, 4, 3)]),
    ("ij->", [(3, 4)]),
    ("i,j,k->kji", [(2,), (3,), (4,)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("ij,jk->ik", [(1, 4), (4, 1)]),
    ("ab,bc,cd,de,ef->af", [(2, 3), (3, 4), (4, 5), (5, 2), (2, 3)]),
    (",ij,", [(), (2, 3), ()]),
    ("ij,jk->ik", [(0, 4), (4, 5)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
    ("->", [()]),
]


def random(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values).astype(dtype)


@pytest.fixture
def contract(backplane, tmp_path):
    """Runs an expression on arrays. Returns the finished command and the result, None if it failed."""

    def run(expression, arrays, *words):
        files = []
        for i, array in enumerate(arrays):
            np.save(tmp_path / f"in{i}.npy", array)
            files.append(f"in{i}.npy")
        (tmp_path / "out.npy").unlink(missing_ok=True)
        done = backplane("eval", "einsum", expression, *files, "-o", "out.npy", *words)
        return done, np.load(tmp_path / "out.npy") if (tmp_path / "out.npy").exists() else None

    return run


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_expressions(contract, dtype):
    for expression, shapes in EXPRESSIONS:
        arrays = [random(dtype, shape, i) for i, shape in enumerate(shapes)]
        wanted = np.einsum(expression, *[array.astype("c16") for array in arrays])
        done, got = contract(expression, arrays)
        assert done.code == 0 and ", by " in done.out, (expression, done)
        assert got.dtype == np.dtype(dtype) and got.shape == wanted.shape
        bound = 1e-5 if dtype in ("f4", "c8") else 1e-13
        assert np.abs(got - wanted).max(initial=0) <= bound * max(1, np.abs(wanted).max(initial=0)), expression


def test_half_precision(contract):
    a, b = random("f2", (3, 4), 0), random("f2", (4, 5), 1)
    done, got = contract("ij,jk->ik", [a, b])
    assert done.code == 0 and got.dtype == np.float16
    assert np.abs(got - a.astype("f8") @ b.astype("f8")).max() < 4e-3


def test_layouts_as_they_are(contract):
    a, b = random("f8", (5, 3), 0), random("f8", (4, 5), 1)
    done, got = contract("ij,ki->jk", [np.asfortranarray(a), np.asfortranarray(b)])
    assert done.code == 0
    np.testing.assert_allclose(got, np.einsum("ij,ki->jk", a, b), rtol=1e-13, atol=1e-13)


def test_many_arrays(contract):
    matrices = [random("f8", (3, 3), i) for i in range(40)]
    letters = [chr(65 + i) if i < 26 else chr(97 + i - 26) for i in range(41)]
    expression = ",".join(map("".join, zip(letters, letters[1:])))
    done, got = contract(expression + "->" + letters[0] + letters[-1], matrices)
    wanted = np.linalg.multi_dot(matrices)
    assert done.code == 0 and np.abs(got - wanted).max() <= 1e-11 * np.abs(wanted).max()


CHAIN = ("ij,jk,kl->il", [(30, 2), (2, 40), (40, 3)])


@pytest.mark.parametrize(
    ("words", "strategy", "steps"),
    [
        ([], "auto", "kl,jk->"),
        (["--contraction-path", "0-1,0-1"], "given", "jk,ij->"),
        (["--contraction-path", "0-1-2"], "given", "jk,ij->"),
        (["--strategy", "left-to-right"], "left-to-right", "jk,ij->"),
        (["--strategy", "random-greedy-8", "--seed", "3", "--trials", "4", "--seconds", "10", "--work", "1000"], "random-greedy", "kl,jk->"),
        (["--strategy", "optimal", "--minimize", "size"], "optimal", "kl,jk->"),
        (["--strategy", "greedy", "--memory-limit", "max_input"], "greedy", "kl,jk->"),
        (["--set", "opt_einsum.enabled=false"], "left-to-right", "jk,ij->"),
    ],
)
def test_the_order_is_the_callers(contract, words, strategy, steps):
    arrays = [random("f8", shape, i) for i, shape in enumerate(CHAIN[1])]
    done, got = contract(CHAIN[0], arrays, *words, "--explain")
    assert done.code == 0 and f"path found by {strategy}" in done.out and steps in done.out, done
    np.testing.assert_allclose(got, np.einsum(*[CHAIN[0], *arrays]), rtol=1e-12, atol=1e-12)


def test_explain(backplane):
    text = backplane("explain", "einsum", "ij,jk,kl->il", "f32", "30x20", "20x40", "40x3")
    facts = backplane("explain", "einsum", "ij,jk,kl->il", "f32", "30x20", "20x40", "40x3", "--json")
    assert text.code == facts.code == 0 and "(30, 20), (20, 40), (40, 3)" in text.out
    facts = facts.json
    assert facts["operation"] == "einsum" and facts["path"]["expression"] == "ij,jk,kl->il" and facts["path"]["dtype"] == "f32"
    assert [step["positions"] for step in facts["path"]["steps"]] == [[1, 2], [0, 1]]
    assert len(facts["parts"]) == len(facts["schedule"]) >= 2 and all(part["explanation"]["chosen"] for part in facts["parts"])
    given = backplane("explain", "einsum", "ij,jk,kl->il", "30x20", "20x40", "40x3", "--contraction-path", "0-1,0-1", "--json").json
    assert [step["positions"] for step in given["path"]["steps"]] == [[0, 1], [0, 1]] and given["path"]["dtype"] == "f64"
    scalar = backplane("explain", "einsum", ",i", "c64", "", "5", "--json").json
    assert scalar["path"]["output_shape"] == [5]


def test_explain_takes_the_type_for_granted(backplane):
    assert "f64 20x3 @ 3x4" in backplane("explain", "matmul", "20x3", "3x4").out


def test_a_preference_decides_products(backplane):
    words = ["explain", "einsum", "ij,jk->ik", "f64", "300x300", "300x300", "--set", "blas.preferred=native", "--json"]
    facts = backplane(*words).json
    assert [part["explanation"]["chosen"] for part in facts["parts"]] == ["native"]


def test_nothing_left(backplane):
    done = backplane("explain", "einsum", "ij->ji", "f64", "3x4", "--set", "dispatch.exclude=native")
    assert done.code == 4 and "chosen    none" in done.out and "refused: named by dispatch.exclude" in done.out


def test_mistakes_are_pointed_at(contract):
    done, got = contract("ij,j?->i", [np.ones((2, 3)), np.ones((3, 4))])
    assert done.code == 3 and done.out == "" and got is None
    first, expression, caret = done.err.splitlines()
    assert first.startswith("backplane: eval: einsum: '?' is not a label") and "offset 4" in first
    assert expression[caret.index("^")] == "?"


@pytest.mark.parametrize(
    ("expression", "arrays", "hint"),
    [
        ("ij,jk->ik", [np.ones((2, 3))], "more operands than the 1"),
        ("ij->ij", [np.ones((2, 3)), np.ones((2, 3))], "1 operand"),
        ("ij,jk->ik", [np.ones((2, 3)), np.ones((4, 5))], "label j"),
        ("ijk->ij", [np.ones((2, 3))], "dimension"),
        ("ij,jk->ik", [np.ones((2, 3)), np.ones((3, 4), "f4")], "same type"),
        ("ij,jk->ik", [np.ones((2, 3), "i4"), np.ones((3, 4), "i4")], "i32"),
        ("ij->ijj", [np.ones((2, 3))], "twice"),
        ("ij->k", [np.ones((2, 3))], "label k"),
    ],
)
def test_what_does_not_fit(contract, expression, arrays, hint):
    done, got = contract(expression, arrays)
    assert done.code == 3 and done.out == "" and hint in done.err and got is None, done


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "einsum", "ij->ji"],
        ["eval", "einsum", "ij->ji", "a.npy"],
        ["eval", "einsum", "ij->ji", "-o", "out.npy"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--alpha", "2"],
        ["eval", "matmul", "a.npy", "a.npy", "-o", "out.npy", "--contraction-path", "0-1"],
        ["eval", "einsum", "ij,jk", "-", "-", "-o", "out.npy"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--contraction-path", "0-"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--contraction-path", ""],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--contraction-path", "0;1"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--contraction-path", "99999999999999999999"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--contraction-path", "0", "--strategy", "auto"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--strategy", "given"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--strategy", "best"],
        ["eval", "einsum", "ij->ji", "a.npy", "-o", "out.npy", "--trials", "0"],
        ["explain", "einsum", "ij->ji"],
        ["explain", "einsum", "ij->ji", "f64"],
        ["explain", "einsum"],
        ["explain", "einsum", "ij->ji", "f65", "2x3"],
        ["explain", "einsum", "ij->ji", "f64", "2x"],
        ["explain", "matmul"],
    ],
)
def test_wrong_usage(backplane, tmp_path, words):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    done = backplane(*words)
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1, done
    assert not (tmp_path / "out.npy").exists()


def test_a_path_that_does_not_fit(contract, backplane):
    done, _ = contract("ij,jk->ik", [np.ones((2, 3)), np.ones((3, 4))], "--contraction-path", "0-7")
    assert done.code == 3 and "position 7" in done.err
    done = backplane("einsum-path", "ij,jk,kl->il", "--shapes", "2x3,3x4,4x5", "--contraction-path", "0-1,0-1", "--json")
    assert [step["positions"] for step in done.json["steps"]] == [[0, 1], [0, 1]]


def test_a_limit_that_cannot_be_kept(contract):
    done, got = contract("ab,bc,cd->ad", [np.ones((9, 9))] * 3, "--memory-limit", "80")
    assert done.code == 4 and "80 elements" in done.err and got is None
