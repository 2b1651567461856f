"""Results of single elements have the order of dimensions of their first array; results that are images have their channels where
the image they are computed from has them."""

import itertools

import numpy as np
import pytest

import backplane as bp
from backplane import elementwise
from backplane.nn import functional as F

SHAPE = (3, 4, 2, 5)


def random_array(shape, dtype):
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def arrangements():
    """Arrays of one shape in each order of the dimensions, with gaps, reversed and repeated."""
    for order in itertools.permutations(range(4)):
        yield random_array([SHAPE[d] for d in order], "f4").transpose(np.argsort(order))
    wide = random_array((6, 8, 4, 10), "f4")
    yield wide[::2, ::2, ::2, ::2]
    yield wide.transpose(3, 2, 1, 0)[:5, :2, :4, :3].transpose(3, 2, 1, 0)
    yield random_array(SHAPE, "f4").transpose(2, 0, 3, 1)[::-1].transpose(1, 3, 0, 2)
    yield np.broadcast_to(random_array((5, 1, 4, 3), "f4").T, SHAPE)
    yield random_array((1, 4, 1, 5), "f4").transpose(3, 1, 0, 2)
    yield random_array((0, 4, 2), "f4").T


@pytest.mark.parametrize("x", list(arrangements()), ids=lambda x: "x".join(map(str, x.strides)))
def test_order_of_single_elements(x):
    """NumPy's order is the same, for arrays whose dimensions all have more than one element."""
    for ours, theirs in ((elementwise.exp, np.exp), (elementwise.isnan, np.isnan), (lambda x: elementwise.add(x, x), lambda x: x + x)):
        result, want = ours(x), theirs(x)
        np.testing.assert_allclose(result, want, rtol=1e-6)
        if min(x.shape) > 1 and 0 not in x.strides:
            assert result.strides == want.strides and elementwise.where(x > 0, x, x).strides == np.exp(x).strides


def test_first_array_of_the_shape_decides():
    rows, columns, row = random_array((3, 4), "f4"), random_array((4, 3), "f4").T, random_array((1, 4), "f4")
    assert elementwise.add(rows, columns).strides == (16, 4) and elementwise.add(columns, rows).strides == (4, 12)
    assert elementwise.add(row, columns).strides == (4, 12) and elementwise.multiply(columns, 2).strides == (4, 12)
    assert elementwise.where(rows > 0, columns, row).strides == (16, 4)
    assert elementwise.where(columns > 0, np.float32(1), np.float32(0)).strides == (4, 12)
    assert elementwise.add(np.broadcast_to(row, (3, 4)), columns).strides == (4, 12)
    np.testing.assert_array_equal(elementwise.add(columns, row), columns + row)
    out = np.empty((3, 4), "f4")
    assert elementwise.exp(columns, out=out) is out
    assert elementwise.flip(columns, axis=0).strides == (4, 12) and elementwise.roll(columns, 1, axis=1).strides == (4, 12)
    np.testing.assert_array_equal(elementwise.flip(columns), np.flip(columns))


@pytest.mark.parametrize("axis", [0, 1])
def test_order_of_concat(axis):
    rows, columns = random_array((3, 4), "f4"), random_array((4, 3), "f4").T
    for arrays in ([columns, rows], [rows, columns], [columns, columns], [last((2, 3, 4, 5)), last((2, 3, 4, 5))]):
        result = elementwise.concat(arrays, axis=axis)
        np.testing.assert_array_equal(result, np.concatenate(arrays, axis))
        assert np.argsort(result.strides).tolist() == np.argsort(arrays[0].strides).tolist()


def test_tensors_of_the_package():
    x = bp.from_dlpack(random_array((4, 3), "f4").T)
    assert elementwise.exp(x).stride() == (1, 3) and elementwise.add(x, x).stride() == (1, 3)
    np.testing.assert_allclose(np.asarray(elementwise.exp(x)), np.exp(np.asarray(x)), rtol=1e-6)


def last(shape, dtype="f4"):
    """An image whose channels, dimension 1, are the last ones in memory."""
    return np.moveaxis(random_array((shape[0], *shape[2:], shape[1]), dtype), -1, 1)


def is_last(x):
    return np.moveaxis(x, 1, -1).flags.c_contiguous and not x.flags.c_contiguous


IMAGES = {
    "conv2d": lambda x: F.conv2d(x, random_array((4, 3, 3, 3), "f4")),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "indices": lambda x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda x: F.avg_pool2d(x, 3, stride=2, padding=1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
    "batch_norm": lambda x: F.batch_norm(x, np.zeros(3, "f4"), np.ones(3, "f4")),
    "group_norm": lambda x: F.group_norm(x, 3, weight=np.array([1, 2, 3], "f4")),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1)),
}


@pytest.mark.parametrize("name", IMAGES)
def test_channels_stay_last(name):
    x = last((2, 3, 6, 7))
    result, rows = IMAGES[name](x), IMAGES[name](np.ascontiguousarray(x))
    assert is_last(result) and rows.flags.c_contiguous
    np.testing.assert_allclose(result, rows, rtol=1e-5, atol=1e-6)


def test_channels_stay_last_in_one_and_three_dimensions():
    assert is_last(F.max_pool3d(last((2, 3, 4, 4, 4)), 2)) and is_last(F.avg_pool1d(last((2, 3, 8)), 2))
    assert is_last(F.batch_norm(last((2, 3, 4, 4, 4)), np.zeros(3, "f4"), np.ones(3, "f4")))
    one = last((1, 3, 6, 7))[0]
    assert F.max_pool2d(one, 2).strides == (4, 36, 12)


def test_other_layouts_give_rows():
    for x in (random_array((2, 3, 7, 6), "f4").transpose(0, 1, 3, 2), random_array((2, 1, 6, 7), "f4"), last((2, 3, 6, 7))[:, :, ::-1]):
        assert F.max_pool2d(x, 2).flags.c_contiguous
    assert F.max_pool2d(random_array((2, 3, 1, 1), "f4"), 1).flags.c_contiguous
    assert F.softmax(last((2, 3, 6, 7)), 1).flags.c_contiguous and F.layer_norm(last((2, 3, 6, 7)), 7).flags.c_contiguous
    x, mean = last((2, 6, 7)), F.group_norm(last((2, 6, 7)), 3, return_statistics=True)[1]
    assert mean.shape == (2, 3) and mean.flags.c_contiguous and is_last(F.group_norm(x, 3))


def test_slices_and_dimensions_of_one_element_are_channels_last():
    """As in PyTorch, which asks only that the strides ascend."""
    for x in (last((2, 6, 6, 7))[:, :3], last((2, 3, 6, 14))[..., ::2], last((2, 3, 6, 1)), last((2, 3, 1, 5)), last((1, 3, 6, 7))):
        result = F.max_pool2d(x, 1)
        assert is_last(result)
        np.testing.assert_array_equal(result, x)
    x = last((2, 4, 6, 1))
    assert is_last(F.max_pool2d(elementwise.exp(x), (2, 1)))


def test_gradients_of_images():
    x, by = last((2, 3, 6, 6)), last((2, 3, 3, 3))
    result = bp.nn.grad.avg_pool2d_input(x.shape, by, 2)
    assert is_last(result)
    np.testing.assert_allclose(result, np.repeat(np.repeat(by, 2, 2), 2, 3) / 4, rtol=1e-6)
