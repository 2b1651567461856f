"""Elements of backplane.Tensor: indexing, writing, conversion and text, against nested lists of Python."""

import array
import ctypes
import gc
import itertools
import math
import re
import weakref

import pytest

import backplane as bp

SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 4), (0, 3), (2, 1, 0)]


def nested(shape, values):
    if not shape:
        return next(values)
    return [nested(shape[1:], values) for _ in range(shape[0])]


def zeros(shape):
    """Returns ctypes memory, which has any shape in the buffer protocol, also sizes of 0."""
    kind = ctypes.c_double
    for size in reversed(shape):
        kind = kind * size
    return kind()


def tensor(*shape, start=0):
    """Returns a Tensor with the numbers from `start`, and the same as nested lists."""
    made = bp.fft.fftshift(zeros(shape or (1,)))
    made = made if shape else made[0]
    for number, at in enumerate(itertools.product(*map(range, shape)), start):
        made[at] = number
    return made, nested(shape, map(float, itertools.count(start)))


def take(values, keys):
    """Indexes nested lists by a tuple of ints, slices and None that has an entry for each dimension."""
    if not keys:
        return values
    key, rest = keys[0], keys[1:]
    if key is None:
        return [take(values, rest)]
    if isinstance(key, slice):
        return [take(value, rest) for value in values[key]]
    return take(values[key], rest)


def complete(keys, ndim):
    """Replaces Ellipsis and what is missing by slices."""
    keys = keys if isinstance(keys, tuple) else (keys,)
    read = sum(key is not None and key is not ... for key in keys)
    at = keys.index(...) if ... in keys else len(keys)
    return keys[:at] + (slice(None),) * (ndim - read) + keys[at + 1:]


KEYS = [0, -1, 1, slice(None), slice(1, None), slice(None, None, -1), slice(-1, 0, -2), slice(4, 1), slice(None, None, 2), None, ...]


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
def test_indices(shape):
    made, values = tensor(*shape)
    for keys in itertools.chain(((key,) for key in KEYS), itertools.product(KEYS, KEYS), itertools.product(KEYS[:6], KEYS, KEYS)):
        read = sum(key is not None and key is not ... for key in keys)
        if read > len(shape) or keys.count(...) > 1:
            with pytest.raises(IndexError):
                made[keys]
            continue
        wanted = take(values, complete(keys, len(shape)))
        assert made[keys].tolist() == wanted
        if len(keys) == 1:
            assert made[keys[0]].tolist() == wanted
    assert made[()].tolist() == values


@pytest.mark.parametrize("shape", SHAPES)
def test_lists_lengths_and_iteration(shape):
    made, values = tensor(*shape)
    assert made.shape == shape and made.tolist() == values and made.size == math.prod(shape)
    if shape:
        assert len(made) == shape[0] and [part.tolist() for part in made] == values
        assert [part.tolist() for part in reversed(made)] == values[::-1]
    else:
        for call in (len, iter, list):
            with pytest.raises(TypeError, match="rank 0"):
                call(made)


def test_wrong_indices():
    made, _ = tensor(2, 3)
    for key, kind, words in (
        (2, IndexError, "index 2 is out of range for dimension 0 of size 2"),
        ((0, -4), IndexError, "index -4 is out of range for dimension 1 of size 3"),
        ((0, 0, 0), IndexError, "has 2 dimensions, but 3"),
        ((..., ...), IndexError, "one"),
        (1.0, TypeError, "ints, slices"),
        (True, TypeError, "got True"),
        ([0, 1], TypeError, "numpy.asarray"),
        ("a", TypeError, "got 'a'"),
        (2**80, IndexError, "too large|cannot fit"),
        (slice(None, None, 0), ValueError, "zero"),
        ((None,) * 63, IndexError, "64"),
    ):
        with pytest.raises(kind, match=words):
            made[key]
        with pytest.raises(kind):
            made[key] = 1
    with pytest.raises(TypeError, match="deleted"):
        del made[0]


def test_views_share_the_memory_and_keep_it():
    made, values = tensor(3, 4)
    view = made[1:, ::-2][0]
    reference = weakref.ref(made)
    made[1, 3] = 100
    assert view.tolist() == [100.0, 5.0]
    view[...] = -1
    assert made.tolist() == [values[0], [4.0, -1.0, 6.0, -1.0], values[2]]
    del made
    gc.collect()
    assert reference() is None and view.tolist() == [-1.0, -1.0] and memoryview(view).tolist() == [-1.0, -1.0]
    exported = memoryview(view[1:])
    del view
    assert exported.tolist() == [-1.0]


def test_strided_views_reach_other_libraries():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    made, values = tensor(3, 4)
    wanted = np.array(values)
    for key in ((slice(None, None, -1), slice(1, None, 2)), (..., 0), (None, 1), (slice(5, None),)):
        view = made[key]
        for got in (np.asarray(view), np.from_dlpack(view), view.__array__(), np.array(view)):
            assert np.array_equal(got, wanted[key])
        assert not view.size or np.shares_memory(np.asarray(view), np.asarray(made))
    assert np.array_equal(bp.matmul(made[::-1, ::2].T, made.mT.mT), wanted[::-1, ::2].T @ wanted)
    assert np.array_equal(bp.matmul(made.T, made), wanted.T @ wanted)
    single = made.__array__("float32")
    assert single.dtype == np.float32 and np.array_equal(single, wanted) and not np.shares_memory(made.__array__(copy=True), np.asarray(made))
    with pytest.raises(ValueError, match="needs a copy"):
        made.__array__("f4", copy=False)


def test_a_copy_of_a_view_by_dlpack():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")

    class Copying:
        def __init__(self, tensor):
            self.tensor = tensor
            self.__dlpack_device__ = tensor.__dlpack_device__

        def __dlpack__(self, **names):
            return self.tensor.__dlpack__(copy=True, max_version=names.get("max_version"))

        def __dlpack_device__(self):
            return (1, 0)

    made, values = tensor(3, 4)
    copied = np.from_dlpack(Copying(made.T[::-1]))
    made[...] = 0
    assert np.array_equal(copied, np.array(values).T[::-1])


def test_numbers_are_written():
    made, values = tensor(2, 3)
    made[0, 1] = 7
    made[:, 2] = 2.5
    made[1, :2] = True
    assert made.tolist() == [[0.0, 7.0, 2.5], [1.0, 1.0, 2.5]]
    for wrong in (1j, "a", None, [1, 2, 3]):
        with pytest.raises(TypeError):
            made[...] = wrong
    scalar, _ = tensor()
    scalar[()] = 4
    assert scalar.item() == 4
    made[1:1] = 9
    spectrum = bp.fft.fft(made)
    spectrum[...] = 1 - 2j
    spectrum[0] = 3
    assert spectrum.tolist() == [[3 + 0j] * 3, [1 - 2j] * 3]


def test_arrays_are_written():
    made, _ = tensor(3, 4)
    other, values = tensor(4, start=20)
    made[1:] = other
    assert made.tolist() == [[0.0, 1.0, 2.0, 3.0], values, values]
    made[:, :1] = other[:3, None]
    assert [row[0] for row in made.tolist()] == values[:3]
    made[2] = array.array("f", [0.5])
    assert made[2].tolist() == [0.5] * 4
    made[0] = other[None, None]
    assert made[0].tolist() == values
    for wrong in (tensor(3)[0], tensor(2, 4)[0]):
        with pytest.raises(ValueError, match="broadcast"):
            made[1:2] = wrong
    with pytest.raises(TypeError):
        made[...] = array.array("q", [1])
    assert made[1].tolist() == [21.0, *values[1:]]


def test_parts_that_overlap_are_copied():
    made, values = tensor(6)
    made[1:] = made[:-1]
    assert made.tolist() == [0.0, *values[:-1]]
    made[...] = made[::-1]
    assert made.tolist() == [0.0, *values[:-1]][::-1]


WHOLE = {"b": 8, "h": 16, "i": 32, "q": 64, "B": 8, "H": 16, "I": 32, "Q": 64}


@pytest.mark.parametrize("letter", WHOLE)
def test_integers(letter):
    bits = WHOLE[letter]
    low, high = (0, 2**bits - 1) if letter.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    made = bp.fft.ifftshift(array.array(letter, [low, high, 1]), ())
    assert made.tolist() == [low, high, 1] and int(made[1]) == high and made[2].item() == 1
    made[2], made[0] = low, high
    assert made.tolist() == [high, high, low] and int(made[2]) == low
    for wrong in (low - 1, high + 1, 2**70):
        with pytest.raises(ValueError, match="out of range"):
            made[0] = wrong
    with pytest.raises(TypeError):
        made[0] = 1.5


def test_one_element_as_a_number():
    made, _ = tensor(2, 3)
    one = made[1:, 1]
    assert float(one) == 4.0 and int(one) == 4 and complex(one) == 4 and bool(one) and one.item() == 4.0 and not made[0, 0]
    spectrum = bp.fft.fft(one)
    assert complex(spectrum) == 4 and spectrum.item() == 4 + 0j and bool(spectrum)
    with pytest.raises(TypeError):
        float(spectrum)
    for convert in (float, int, complex, bool, bp.Tensor.item):
        for several in (made, made[:0]):
            with pytest.raises(ValueError, match="elements has no single value"):
                convert(several)
    numbers = bp.fft.ifftshift(array.array("i", [1, 0]), ())
    assert ["a", "b"][numbers[0]] == "b" and range(5)[numbers[0]] == 1 and made[numbers[0]].tolist() == [3.0, 4.0, 5.0]
    for wrong in (numbers, one):
        with pytest.raises(TypeError):
            ["a", "b"][wrong]


def test_truth_and_half_precision():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    flags = bp._core.fftshift(memoryview(np.array([True, False, True])), (), False)
    assert flags.tolist() == [True, False, True] and flags[0].item() is True
    flags[1] = 5
    assert flags.tolist() == [True] * 3 and repr(flags) == "backplane.Tensor([True, True, True], dtype=bool)"
    half = bp.matmul(memoryview(np.array([[0.1, 2]], "f2")), memoryview(np.eye(2, dtype="f2")))
    assert half.tolist() == [[float(np.float16(0.1)), 2.0]]
    half[0, 1] = 70000
    assert half.tolist()[0][1] == float("inf")


def test_bfloat16():
    import dlpack

    made = bp.matmul(dlpack.bf16_array([1.5, -2.0], (1, 2)), dlpack.bf16_array([1.0, 0.0, 0.0, 1.0], (2, 2)))
    assert made.dtype == "bf16" and made.tolist() == [[1.5, -2.0]] and float(made[0, 0]) == 1.5
    made[0, 0] = 3
    assert repr(made) == "backplane.Tensor([[ 3., -2.]], dtype=bf16)"
    assert made.bits()[0, 0].item() == 0x4040 and made[:, 1:].bits().tolist() == [[0xC000]]


def test_transposes():
    made, values = tensor(2, 3, 4)
    assert made.T.shape == (4, 3, 2) and made.T[3, 1, 0].item() == values[0][1][3]
    assert made.mT.shape == (2, 4, 3) and made.mT[1, 3, 2].item() == values[1][2][3]
    assert made[0, 0].T.tolist() == values[0][0]
    with pytest.raises(ValueError, match="mT: needs two dimensions"):
        made[0, 0].mT


def test_text():
    made, _ = tensor(2, 2)
    made[1, 1] = 15.25
    assert repr(made) == "backplane.Tensor([[ 0.  ,  1.  ],\n                  [ 2.  , 15.25]], dtype=f64)"
    assert repr(made[0, 1]) == "backplane.Tensor(1., dtype=f64)"
    assert repr(made[:0]) == "backplane.Tensor([], shape=(0, 2), dtype=f64)"
    made[0] = array.array("d", [float("nan"), float("-inf")])
    assert repr(made[0]) == "backplane.Tensor([ nan, -inf], dtype=f64)"
    made[0] = array.array("d", [1e-9, -1e20])
    assert repr(made[0]) == "backplane.Tensor([ 1e-09, -1e+20], dtype=f64)"
    assert repr(bp.fft.fft(array.array("d", [1, 2.5]))) == "backplane.Tensor([ 3.5+0.j, -1.5+0.j], dtype=c128)"
    big, _ = tensor(40, 50)
    text = repr(big)
    assert text.count("...") == 7 and len(text.splitlines()) == 7 and text.endswith("shape=(40, 50), dtype=f64)")
    assert "1999." in text and "1000." not in text
    cube = repr(tensor(2, 2, 2)[0])
    assert cube == ("backplane.Tensor([[[0., 1.],\n                   [2., 3.]],\n\n"
                    "                  [[4., 5.],\n                   [6., 7.]]], dtype=f64)")
    assert max(len(line) for line in repr(tensor(200)[0]).splitlines()) <= 100


def test_text_agrees_with_numpy():
    np = pytest.importorskip("numpy", reason="NumPy is not installed")
    for values in ([1, 2.5, -3], [[1e3, 0.001], [0.5, 22]], [0.1, 1 / 3], [1e10, 1], [5e-5, 1], [float("nan"), 1.5]):
        wanted = np.array(values, "f8")
        text = repr(bp.fft.fftshift(memoryview(wanted), ()))
        numbers = re.findall(r"-?(?:\d+\.?\d*(?:e[+-]\d+)?|nan|inf)", text.partition("(")[2].partition(", dtype")[0])
        np.testing.assert_allclose(np.array(numbers, "f8"), wanted.ravel(), rtol=1e-7)


def test_html():
    made, _ = tensor(2, 2)
    html = made._repr_html_()
    assert html.startswith("<table>") and html.count("<tr>") == 2 and html.count("<td>") == 4 and "f64 (2, 2)" in html
    assert tensor(5)[0]._repr_html_().count("<td>") == 5
    assert tensor(2, 2, 2)[0]._repr_html_().startswith("<pre>backplane.Tensor(")
    assert tensor(100, 100)[0]._repr_html_().count("<td>...</td>") == 6 + 7
