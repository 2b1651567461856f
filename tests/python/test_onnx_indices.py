"""ONNX operators that write, take and reorder elements by indices, at their edges, against NumPy."""

import numpy as np
import pytest
from onnx_support import run_node

import backplane as bp

pytest.importorskip("onnx.helper", reason="the package onnx is not installed")
rng = np.random.default_rng(11)
COMBINES = {"none": None, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.fixture
def run(tmp_path):
    return lambda *given, **words: run_node(tmp_path / "m.onnx", *given, **words)


def numbers(*shape, kind="f4"):
    return (10 * rng.standard_normal(shape)).astype(kind)


def write(result, place, value, combine):
    with np.errstate(all="ignore"):
        result[place] = value if combine is None else combine(result[place], value)


def scatter_nd(data, indices, updates, combine):
    result = data.copy()
    for at in np.ndindex(indices.shape[:-1]):
        write(result, tuple(indices[at]), updates[at], combine)
    return result


def scatter_elements(data, indices, updates, axis, combine):
    result = data.copy()
    for at in np.ndindex(indices.shape):
        place = list(at)
        place[axis] = indices[at]
        write(result, tuple(place), updates[at], combine)
    return result


def same(got, wanted):
    got = np.asarray(got)
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    assert np.array_equal(got, wanted, equal_nan=wanted.dtype.kind in "fc")


# ---- Writes ----


@pytest.mark.parametrize("reduction", COMBINES)
@pytest.mark.parametrize(
    ("shape", "indices"),
    [
        ((4, 3), [[0], [-1], [0], [0]]),  # a row that is written three times
        ((4, 3), [[3, 0], [-4, -3], [3, 0]]),
        ((2, 3, 4), [[[1], [0]], [[-1], [1]]]),
        ((2, 3, 4), [[1, 2, 3], [1, 2, -1], [0, 0, 0]]),
        ((5,), [[2]]),
        ((3, 2), np.zeros((0, 1))),
        ((3, 0), [[1], [1]]),
        ((2, 3), np.zeros((2, 0, 2))),
    ],
)
def test_scatter_nd(run, shape, indices, reduction):
    indices = np.asarray(indices, "i8")
    for kind in ("f4", "f8", "f2", "i4", "i8", "i1", "u1"):
        data = numbers(*shape, kind="i4").astype(kind)
        updates = numbers(*indices.shape[:-1], *shape[indices.shape[-1] :], kind="i4").astype(kind)
        if kind == "f4" and updates.size:
            updates.flat[-1] = np.nan
        got = run(18, "ScatterND", [data, indices, updates], [1], reduction=reduction)
        same(got, scatter_nd(data, indices, updates, COMBINES[reduction]))


def test_scatter_of_other_types(run):
    data, indices = np.array([True, False, True]), np.array([[1], [-1]])
    same(run(16, "ScatterND", [data, indices, np.array([True, False])], [1]), np.array([True, True, False]))
    data = (numbers(3, 2) + 1j * numbers(3, 2)).astype("c8")
    same(run(18, "ScatterElements", [data, np.array([[2, 0]]), data[:1]], [1]), scatter_elements(data, np.array([[2, 0]]), data[:1], 0, None))


@pytest.mark.parametrize("reduction", COMBINES)
@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize(("shape", "size", "axis"), [((4, 3), (2, 2), 0), ((4, 3), (4, 9), 1), ((2, 3, 4), (1, 3, 2), -2), ((5,), (0,), 0), ((0, 2), (0, 2), 0), ((3,), (7,), -1)])
def test_scatter_elements(run, shape, size, axis, kind, reduction):
    many = shape[axis]
    indices = rng.integers(-many, max(many, 1), size=size).astype(kind)
    data, updates = numbers(*shape), numbers(*size)
    got = run(18, "ScatterElements", [data, indices, updates], [1], axis=axis, reduction=reduction)
    same(got, scatter_elements(data, indices, updates, axis, COMBINES[reduction]))


def test_scatter_of_old_files(run):
    data, indices, updates = numbers(3, 3), np.array([[1, 0, -1]]), numbers(1, 3)
    for opset, operation in ((9, "Scatter"), (10, "Scatter"), (11, "ScatterElements")):
        same(run(opset, operation, [data, indices, updates], [1]), scatter_elements(data, indices, updates, 0, None))


def test_more_indices_than_are_folded(run):
    """Large initializers, and the last of many updates of one place."""
    data, indices = numbers(300, 100), rng.integers(300, size=(20000, 1))
    updates = numbers(20000, 100)
    same(run(18, "ScatterND", [data, indices, updates], [1]), scatter_nd(data, indices, updates, None))


@pytest.mark.parametrize(
    ("operation", "arrays", "constants", "words", "text"),
    [
        ("ScatterND", [np.zeros(3, "f4"), np.array([[0]]), np.zeros(1, "f4")], [], {}, "'indices' depends on elements"),
        ("ScatterND", [np.zeros(3, "f4"), np.array([[3]]), np.zeros(1, "f4")], [1], {}, "an index is 3, of 3 elements"),
        ("ScatterND", [np.zeros(3, "f4"), np.array([[-4]]), np.zeros(1, "f4")], [1], {}, "an index is -4, of 3 elements"),
        ("ScatterND", [np.zeros(3, "f4"), np.array([[0, 0]]), np.zeros(1, "f4")], [1], {}, "tuples of 2, of 1 dimensions"),
        ("ScatterND", [np.zeros((3, 2), "f4"), np.array([[0]]), np.zeros((1, 3), "f4")], [1], {}, "'updates' has another shape"),
        ("ScatterND", [np.zeros(3, "f4"), np.zeros((65, 1), "i8"), np.zeros(65, "f4")], [1], {"reduction": "add"}, "more than 64 updates"),
        ("ScatterND", [np.zeros(3, "f4"), np.array([[0]]), np.zeros(1, "f4")], [1], {"reduction": "mean"}, "reduction"),
        ("ScatterElements", [np.zeros(3, "f4"), np.array([0]), np.zeros(1, "f4")], [], {}, "'indices' depends on elements"),
        ("ScatterElements", [np.zeros(3, "f4"), np.array([0]), np.zeros(2, "f4")], [1], {}, "not one shape"),
        ("ScatterElements", [np.zeros((2, 2), "f4"), np.zeros((3, 2), "i8"), np.zeros((3, 2), "f4")], [1], {"axis": 1}, "fits into"),
        ("ScatterElements", [np.zeros(3, "f4"), np.array([-4]), np.zeros(1, "f4")], [1], {}, "an index is -4"),
    ],
)
def test_refused_scatters(run, operation, arrays, constants, words, text):
    with pytest.raises(bp.Error, match=text):
        run(18, operation, arrays, constants, **words)


# ---- Caches ----


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize(("past", "size", "axis", "first"), [((2, 3, 5, 4), 2, -2, [3, 0]), ((3, 6, 2), 6, 1, [0, 0, 0]), ((2, 4), 1, 1, [3, 1]), ((2, 4), 0, 1, [0, 0]), ((2, 1, 5, 1), 3, 2, None)])
def test_tensor_scatter(run, past, size, axis, first, mode):
    data, update = numbers(*past), numbers(*(size if d == axis % len(past) else many for d, many in enumerate(past)))
    first = first if first is None or mode == "linear" else [one + 4 for one in first]
    wanted = np.moveaxis(data, axis, 1).copy()
    for item, start in enumerate(first or [0] * past[0]):
        for step in range(size):
            wanted[item, (start + step) % past[axis]] = np.moveaxis(update, axis, 1)[item, step]
    writes = None if first is None else np.array(first)
    for constants in ([], [2]) if first else ([],):
        same(run(24, "TensorScatter", [data, update, writes], constants, axis=axis, mode=mode), np.moveaxis(wanted, 1, axis))


# ---- Parts ----


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("shape", "batch", "indices"),
    [
        ((2, 3, 4), 1, [[[0], [-1]], [[2], [1]]]),
        ((2, 3, 4), 1, [[[0, 3]], [[-3, -4]]]),
        ((2, 3, 4), 2, [[[0], [-1], [2]], [[2], [1], [3]]]),
        ((2, 3, 4), 1, [[1, 1], [0, 2]]),
        ((2, 3, 4), 0, [[1, 1, -1], [0, 2, 0]]),
        ((2, 3, 4), 1, np.zeros((2, 0, 1))),
        ((0, 3), 1, np.zeros((0, 1))),
    ],
)
def test_gather_nd(run, shape, batch, indices, known):
    data, indices = numbers(*shape), np.asarray(indices, "i8")
    wanted = np.zeros((*indices.shape[:-1], *shape[batch + indices.shape[-1] :]), "f4")
    for at in np.ndindex(indices.shape[:-1]):
        wanted[at] = data[at[:batch]][tuple(indices[at])]
    same(run(13, "GatherND", [data, indices], [1] if known else [], batch_dims=batch), wanted)


def test_refused_gathers(run):
    for batch in (1, 2, 3, -1):
        with pytest.raises(bp.Error, match="batch_dims"):
            run(13, "GatherND", [numbers(2, 3), np.zeros((1, 1), "i8")], batch_dims=batch)


@pytest.mark.parametrize(
    ("condition", "axis"),
    [([True, False, True], 0), ([False, True], 0), ([False], 1), ([], None), ([True] * 12, None), ([False, True, False, True, True], None), ([True, True, True, True, False, False], -1)],
)
def test_compress(run, condition, axis):
    data, condition = numbers(3, 4), np.array(condition, bool)
    words = {} if axis is None else {"axis": axis}
    same(run(11, "Compress", [data, condition], [1], **words), np.compress(condition, data, axis))


def test_refused_compress(run):
    with pytest.raises(bp.Error, match="depends on elements of 'condition'"):
        run(11, "Compress", [numbers(3, 4), np.array([True, False])])
    with pytest.raises(bp.Error, match="behind the last of 3"):
        run(11, "Compress", [numbers(3, 4), np.array([True] * 4)], [1], axis=0)


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (7,), (0, 3), (3, 0), ()])
def test_non_zero(run, shape, kind):
    data = rng.integers(0, 2, size=shape).astype(kind)
    if data.size > 4 and data.dtype.kind == "f":
        data.flat[:4] = -0.0, np.nan, np.inf, np.nextafter(data.dtype.type(0), data.dtype.type(1))
    wanted = np.stack(np.nonzero(data)) if shape else np.zeros((0, int(data != 0)))
    same(run(13, "NonZero", [data], [0]), wanted.astype("i8"))


def test_refused_non_zero(run):
    with pytest.raises(bp.Error, match=r"NonZero of opset 13\): the shape of the result depends on elements"):
        run(13, "NonZero", [numbers(3)])
    with pytest.raises(bp.Error, match="not complex"):
        run(13, "NonZero", [numbers(3).astype("c8")], [0])


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(("shape", "batch", "time", "lengths"), [((4, 3), 1, 0, [4, 0, 1]), ((3, 4), 0, 1, [3, 2, 4]), ((2, 3, 2, 2), 0, 2, [2, 1]), ((0, 2), 1, 0, [0, 0]), ((5, 1), -1, -2, [5])])
def test_reverse_sequence(run, shape, batch, time, lengths, known):
    for kind in ("f4", "i8", "?"):
        data, wanted = numbers(*shape, kind="i4").astype(kind), None
        wanted = data.copy()
        for item, length in enumerate(lengths):
            at = [slice(None)] * len(shape)
            at[batch], at[time] = item, slice(0, length)
            to = np.take(data, item, batch)
            axis = time % len(shape) - (time % len(shape) > batch % len(shape))
            wanted[tuple(at)] = np.flip(np.take(to, range(length), axis), axis)
        same(run(10, "ReverseSequence", [data, np.array(lengths)], [1] if known else [], batch_axis=batch, time_axis=time), wanted)


def test_refused_reversals(run):
    with pytest.raises(bp.Error, match="both axes are equal"):
        run(10, "ReverseSequence", [numbers(2, 2), np.array([1, 1])], batch_axis=1, time_axis=1)
    with pytest.raises(bp.Error, match="for each item"):
        run(10, "ReverseSequence", [numbers(2, 2), np.array([1])])


@pytest.mark.parametrize(
    ("shape", "sizes", "axes", "first"),
    [((20, 10, 3), (10, 7, 3), None, (5, 1, 0)), ((10, 7), (20, 10), None, (-5, -1)), ((4, 9), (7,), [-1], (0, 1)), ((4, 9), (6,), [0], (-1, 0)), ((3, 4), (0, 4), None, (1, 0)), ((3, 4), (3, 4), None, (0, 0))],
)
def test_center_crop_pad(run, shape, sizes, axes, first):
    """`first` is where the result begins in the input."""
    data, to = numbers(*shape), list(shape)
    for axis, size in zip(axes or range(len(shape)), sizes):
        to[axis] = size
    wanted = np.zeros(to, "f4")
    for at in np.ndindex(*to):
        place = tuple(a + b for a, b in zip(at, first))
        wanted[at] = data[place] if all(0 <= p < n for p, n in zip(place, shape)) else 0
    words = {} if axes is None else {"axes": axes}
    same(run(18, "CenterCropPad", [data, np.array(sizes)], [1], **words), wanted)
