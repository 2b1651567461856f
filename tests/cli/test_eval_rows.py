"""eval and explain of reductions, softmax, and layer, RMS and group normalization: results equal NumPy's."""

import numpy as np
import pytest

from conftest import NO_LEAK_CHECK


@pytest.fixture
def compute(backplane, tmp_path):
    """Runs an operation on arrays; returns its result."""

    def run(operation, *arrays_and_words):
        arrays = [word for word in arrays_and_words if isinstance(word, np.ndarray)]
        words = [word for word in arrays_and_words if isinstance(word, str)]
        files = []
        for i, array in enumerate(arrays):
            np.save(tmp_path / f"{i}.npy", array)
            files.append(f"{i}.npy")
        done = backplane("eval", operation, *files, "-o", "out.npy", *words)
        assert done.code == 0, done
        return np.load(tmp_path / "out.npy")

    return run


def draw(*shape, dtype="f8"):
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def test_reduce(compute):
    x = draw(4, 5, 6)
    np.testing.assert_allclose(compute("reduce", x), x.sum())
    np.testing.assert_allclose(compute("reduce", x, "--kind", "mean", "--dim", "0,-1"), x.mean((0, 2)))
    np.testing.assert_array_equal(compute("reduce", x, "--kind", "max", "--dim", "1", "--keepdim"), x.max(1, keepdims=True))
    np.testing.assert_array_equal(compute("reduce", x, "--kind", "argmin", "--dim", "1"), x.argmin(1))
    whole = np.arange(6, dtype="i4")
    assert compute("reduce", whole).dtype == np.int64


def test_softmax(compute):
    x = draw(4, 5)
    e = np.exp(x - x.max(0))
    np.testing.assert_allclose(compute("softmax", x, "--dim", "0"), e / e.sum(0))
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(compute("log_softmax", x), np.log(e / e.sum(1, keepdims=True)))


def test_softmax_gradients(compute):
    y, d = draw(4, 5), draw(5, 4).T
    np.testing.assert_allclose(compute("softmax_input", y, d, "--dim", "0"), y * (d - (y * d).sum(0)))
    np.testing.assert_allclose(compute("log_softmax_input", y, d), d - np.exp(y) * d.sum(1, keepdims=True))


def test_normalizations(compute):
    x, weight, bias = draw(3, 4, 5), draw(4, 5), draw(4, 5) + 1

    def normal(axes, eps=1e-5, mean=True):
        center = x.mean(axes, keepdims=True) * mean
        return (x - center) / np.sqrt(((x - center) ** 2).mean(axes, keepdims=True) + eps)

    np.testing.assert_allclose(compute("layer_norm", x), normal(2))
    np.testing.assert_allclose(compute("layer_norm", x, weight, bias), normal((1, 2)) * weight + bias)
    np.testing.assert_allclose(compute("layer_norm", x, "--row-dims", "2", "--eps", "0.5"), normal((1, 2), 0.5))
    np.testing.assert_allclose(compute("rms_norm", x), normal(2, 2.0**-52, False))
    groups = x.reshape(3, 2, 10)
    want = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(compute("group_norm", x, "--groups", "2"), want.reshape(x.shape))


def test_explanations(backplane):
    def explain(*words):
        done = backplane("explain", *words)
        assert done.code == 0, done
        return done.out

    assert "f32 sum of 4 x 5 elements" in explain("reduce", "f32", "4x5", "--dim", "1")
    assert "f32 softmax of 4 x 5 elements" in explain("softmax", "f32", "4x5")
    assert "gradient" in explain("log_softmax_input", "f32", "4x5", "4x5")
    assert "f32 4 rows of 5 elements" in explain("layer_norm", "f32", "4x5")


def test_refused(backplane, tmp_path):
    np.save(tmp_path / "x.npy", draw(4, 5))

    def refused(*words):
        done = backplane("eval", *words, "-o", "out.npy")
        assert done.code != 0 and not (tmp_path / "out.npy").exists()
        return done.err

    assert "there is no kind 'median'; did you mean 'mean'" in refused("reduce", "x.npy", "--kind", "median")
    assert "axis 2" in refused("reduce", "x.npy", "--dim", "2")
    assert "takes one" in refused("softmax", "x.npy", "--dim", "0,1")
    assert "4 to 15 dimensions" in refused("layer_norm", "x.npy", "--row-dims", "4")
    assert "multiple of 2 groups" in refused("group_norm", "x.npy", "--groups", "2")


def test_linear(compute):
    x, weight, bias = draw(3, 4, 7), draw(7, 5).T, draw(5)
    np.testing.assert_allclose(compute("linear", x, weight, bias), x @ weight.T + bias)
    np.testing.assert_allclose(compute("linear", x[0, 0], weight, "--relu"), np.maximum(weight @ x[0, 0], 0), atol=1e-12)


def test_functions_of_linear_layers(backplane, compute, tmp_path):
    x, weight, bias = draw(3, 4, 7), draw(7, 5).T, draw(5)
    y = x @ weight.T + bias
    np.testing.assert_allclose(compute("linear", x, weight, bias, "--activation", "silu"), y / (1 + np.exp(-y)))
    np.testing.assert_allclose(compute("linear", x, weight, bias, "--activation", "relu"), np.maximum(y, 0))
    done = backplane("explain", "linear", "f32", "3x7", "5x7", "--activation", "gelu")
    assert done.code == 0 and ", gelu" in done.out
    for words, message in [
        (["--activation", "gelo"], "there is no activation 'gelo'; did you mean 'gelu'"),
        (["--activation", "relu", "--relu"], "--relu is the same as --activation relu"),
    ]:
        done = backplane("explain", "linear", "f32", "3x7", "5x7", *words)
        assert done.code == 2 and message in done.err


# log and sqrt have no value for half of the elements.
@pytest.mark.parametrize("kind", ["gelu", "gelu_tanh", "tanh", "sigmoid", "silu", "hardswish", "exp", "log", "sqrt", "rsqrt", "sin", "tan", "erf", "reciprocal"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_compare_checks_functions_of_linear_layers(backplane, tmp_path, dtype, kind):
    for name, shape in [("x", (33, 65)), ("w", (17, 65)), ("b", (17,))]:
        np.save(tmp_path / f"{name}.npy", draw(*shape).astype(dtype))
    done = backplane("compare", "linear", "x.npy", "w.npy", "b.npy", "--activation", kind, "--repeat", "1", "--json",
                     env=NO_LEAK_CHECK)
    assert done.code == 0, done
    ran = [row for row in done.json["libraries"] if row["ran"]]
    assert ran and all(0 < row["error"] <= done.json["error_bound"] and not row["wrong"] for row in ran)
