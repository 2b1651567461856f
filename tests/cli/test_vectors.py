"""eval and explain of vector norms, vecdot, multi_dot and matrix_power: results against NumPy, options, refusals."""

import numpy as np
import pytest


@pytest.fixture
def evaluate(backplane, tmp_path):
    """Writes arrays, runs an operation on them, and gives back its result."""

    def run(operation, *arrays, options=()):
        names = [f"{i}.npy" for i in range(len(arrays))]
        for name, array in zip(names, arrays):
            np.save(tmp_path / name, array)
        done = backplane("eval", operation, *names, *options, "-o", "out.npy")
        assert done.code == 0, done
        return np.load(tmp_path / "out.npy")

    return run


A = np.arange(1.0, 13).reshape(3, 4)


@pytest.mark.parametrize("order", [2, 1, 0, np.inf, -np.inf, 3, -1.5])
def test_vector_norm(evaluate, order):
    options = ["--ord", str(order)]
    assert np.allclose(evaluate("vector_norm", A, options=options), np.linalg.norm(A.ravel(), order))
    along = evaluate("vector_norm", A + 1j, options=[*options, "--dim", "-1", "--keepdim"])
    assert along.shape == (3, 1) and np.allclose(along, np.linalg.norm(np.abs(A + 1j), order, axis=1, keepdims=True))


def test_products(evaluate):
    z = A + 1j * A[::-1]
    assert np.allclose(evaluate("vecdot", z, z[0]), (z.conj() * z[0]).sum(-1))
    assert np.allclose(evaluate("vecdot", z, z, options=["--dim", "0"]), (z.conj() * z).sum(0))
    assert np.allclose(evaluate("multi_dot", A, A.T, A), A @ A.T @ A)
    square = A[:, :3] + np.eye(3)
    for power in (0, 1, 5, -2):
        want = np.linalg.matrix_power(square, power)
        assert np.allclose(evaluate("matrix_power", square, options=["--power", str(power)]), want)


def test_explanations(backplane):
    assert "vector_norm" in backplane("explain", "vector_norm", "f32", "3x4", "--dim", "0").out
    assert "gemm" in backplane("explain", "vecdot", "3x4", "3x4").out
    assert "part 2" in backplane("explain", "multi_dot", "10x100", "100x5", "5x50").out
    power = backplane("explain", "matrix_power", "c64", "8x8", "--power", "3", "--json").json
    assert [part["title"] for part in power["parts"]] == ["square", "times A"]
    copied = backplane("explain", "matrix_power", "8x8", "--power", "1")
    assert copied.code == 0 and "a copy of A" in copied.out


@pytest.mark.parametrize("words, message", [
    (("vector_norm", "3x4", "--ord", "fro"), "--ord is 'fro'; it must be a number, inf or -inf"),
    (("vector_norm", "3x4", "--dim", "2"), "dimension 2 is outside A"),
    (("vecdot", "3x4", "3x4", "--dim", "0,1"), "vecdot takes one"),
    (("multi_dot", "3x4", "3x4"), "operand 1 has 3 rows"),
    (("matrix_power", "3x3"), "--power N"),
    (("matrix_power", "3x4", "--power", "2"), "it must be square"),
    (("matmul", "3x3", "3x3", "--power", "2"), "--power; it is for matrix_power"),
])
def test_refusals(backplane, words, message):
    done = backplane("explain", *words)
    assert done.code in (2, 3) and message in done.err, done
