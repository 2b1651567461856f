"""Cumulative sums: NumPy's and torch's results, in all element types and layouts."""

from array import array

import numpy as np
import pytest

import backplane as bp

FLOATS = ("float16", "float32", "float64")
WHOLE = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")


@pytest.fixture
def x():
    return np.random.default_rng(5).standard_normal((4, 9, 5))


def wanted(x, dim, exclusive, reverse):
    """The definition."""
    x = np.flip(x, dim) if reverse else x
    sums = np.cumsum(x, dim)
    sums = sums - x if exclusive else sums
    return np.flip(sums, dim) if reverse else sums


@pytest.mark.parametrize("reverse", (False, True))
@pytest.mark.parametrize("exclusive", (False, True))
@pytest.mark.parametrize("dim", (0, 1, 2, -1, -3))
def test_definition(x, dim, exclusive, reverse):
    got = bp.cumsum(x, dim, exclusive=exclusive, reverse=reverse)
    assert got.dtype == x.dtype and np.allclose(got, wanted(x, dim, exclusive, reverse), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floating_types(x, dtype):
    x = x.astype(dtype)
    got = bp.cumsum(x, 1)
    exact = np.cumsum(x.astype("float64"), 1)
    assert got.dtype == x.dtype
    assert np.all(np.abs(got.astype("float64") - exact) <= 1.01 * np.finfo(dtype).eps / 2 * np.abs(exact) + 1e-14)


@pytest.mark.parametrize("dtype", WHOLE)
def test_integers_are_int64_as_in_torch(dtype):
    x = np.arange(-60, 60).astype(dtype).reshape(4, 30)
    got = bp.cumsum(x, 1)
    assert got.dtype == np.int64 and np.array_equal(got, np.cumsum(x.astype("int64"), 1))


def test_unsigned_integers_of_64_bits_wrap_around():
    x = np.array([2**64 - 1, 1, 2**63], dtype="uint64")
    got = bp.cumsum(x, 0)
    assert got.dtype == np.uint64 and np.array_equal(got, np.cumsum(x))


@pytest.mark.parametrize("dtype", (*WHOLE, "uint64", *FLOATS))
def test_dtype(dtype):
    x = np.arange(-300, 300, dtype="int32").reshape(20, 30)
    got = bp.cumsum(x, 1, dtype=dtype)
    assert got.dtype == np.dtype(dtype) and np.array_equal(got, np.cumsum(x.astype("int64"), 1).astype(dtype))
    assert bp.cumsum(x, 1, dtype=np.dtype(dtype)).dtype == np.dtype(dtype)


def test_layouts_and_out(x):
    for view in (x.T, x[::-1, ::2], np.broadcast_to(x[0, 0], (3, 5)), np.asfortranarray(x)):
        assert np.allclose(bp.cumsum(view, 0), np.cumsum(view, 0), rtol=0, atol=1e-14)
    out = np.zeros_like(x)
    assert bp.cumsum(x, 1, out=out) is out and np.array_equal(out, bp.cumsum(x, 1))
    expected = bp.cumsum(x, 2)
    assert bp.cumsum(x, 2, out=x) is x and np.array_equal(x, expected)
    narrow = np.zeros(3, dtype="int32")
    assert bp.cumsum(np.array([1, 2, 3], dtype="int32"), 0, out=narrow) is narrow and narrow.tolist() == [1, 3, 6]


def test_empty_scalars_and_lists():
    assert bp.cumsum(np.zeros((3, 0)), 1).shape == (3, 0)
    assert bp.cumsum(np.float64(7), 0).tolist() == 7
    assert bp.cumsum([[1, 2], [3, 4]], 0).tolist() == [[1, 2], [4, 6]]
    plain = bp.cumsum(memoryview(array("f", [1, 2, 3])), 0)
    assert isinstance(plain, bp.Tensor) and plain.tolist() == [1, 3, 6]
    assert bp.cumsum(memoryview(array("b", [100, 100])), 0).tolist() == [100, 200]


def test_gradient(x):
    g = np.random.default_rng(6).standard_normal(x.shape)
    for exclusive in (False, True):
        forward = (g * bp.cumsum(x, 1, exclusive=exclusive)).sum()
        backward = (x * bp.cumsum(g, 1, exclusive=exclusive, reverse=True)).sum()
        assert abs(forward - backward) < 1e-10


def test_errors(x):
    with pytest.raises(bp.Error, match="axis is 3"):
        bp.cumsum(x, 3)
    with pytest.raises(bp.Error, match="axis is -2147483648"):
        bp.cumsum(x, -(2**70))
    with pytest.raises(TypeError, match="dim: expects a whole number"):
        bp.cumsum(x, 1.5)
    with pytest.raises(TypeError, match="c128"):
        bp.cumsum(x.astype("complex128"), 0)
    with pytest.raises(ValueError, match="shape"):
        bp.cumsum(x, 0, out=np.zeros((4, 9)))
    with pytest.raises(TypeError, match="output is f32"):
        bp.cumsum(x, 0, out=np.zeros(x.shape, dtype="float32"))


def test_explanation(x):
    page = bp.explain(bp.cumsum, x, 1, reverse=True)
    assert "f64 cumsum of 20 x 9 elements, reverse" in str(page)


def test_threads_change_no_bit():
    x = np.random.default_rng(7).standard_normal(300000, dtype="float32")
    one = bp.cumsum(x, 0, settings={"num_threads": 1})
    assert np.array_equal(one, bp.cumsum(x, 0, settings={"num_threads": 2, "deterministic": "threads"}))


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.randn(5, 7, 3, dtype=torch.float64)
    for dim in (0, 1, -1):
        got = bp.cumsum(x, dim)
        assert isinstance(got, torch.Tensor) and torch.allclose(got, torch.cumsum(x, dim), rtol=0, atol=1e-14)
    for dtype in (torch.bool, torch.int32, torch.uint8, torch.int16):
        whole = torch.arange(-5, 5).to(dtype)
        got = bp.cumsum(whole, 0)
        assert got.dtype == torch.cumsum(whole, 0).dtype == torch.int64 and torch.equal(got, torch.cumsum(whole, 0))
        assert torch.equal(bp.cumsum(whole, 0, dtype=torch.float32), torch.cumsum(whole, 0, dtype=torch.float32))
        assert torch.equal(bp.cumsum(whole, 0, dtype=torch.int8), torch.cumsum(whole, 0, dtype=torch.int8))
    short = torch.randn(4, 100).to(torch.bfloat16)
    assert bp.cumsum(short, 1).dtype == torch.bfloat16
    assert bp.cumsum(torch.tensor(3.0), 0).item() == 3
