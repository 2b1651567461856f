"""Calls by their descriptions (calls.h): names, words, and the arguments that messages name."""

import numpy as np
import pytest

import backplane as bp
from backplane import _core
from backplane.nn import functional, grad

ROW = np.ones((2, 3), "f4")
IMAGE = np.ones((1, 2, 4, 4), "f4")
KERNEL = np.ones((2, 2, 3, 3), "f4")
CHANNELS = np.ones(2, "f4")
HEADS = np.ones((1, 2, 3, 4), "f4")
SUMS = np.ones((1, 2, 3), "f4")

# A call of each family, forward and gradients, with its arrays by the names of their arguments.
CALLS = {
    "max_pool2d": (functional.max_pool2d, dict(input=IMAGE, out=np.ones((1, 2, 2, 2), "f4")), dict(kernel_size=2)),
    "max_pool2d_input": (
        grad.max_pool2d_input,
        dict(indices=np.zeros((1, 2, 2, 2), "i8"), grad_output=np.ones((1, 2, 2, 2), "f4"), out=IMAGE),
        dict(input_size=IMAGE.shape, kernel_size=2),
    ),
    "layer_norm": (
        functional.layer_norm,
        dict(input=ROW, weight=ROW[0], bias=ROW[0], out=ROW.copy()),
        dict(normalized_shape=(3,)),
    ),
    "layer_norm_gradients": (
        grad.layer_norm_gradients,
        dict(input=ROW, grad_output=ROW, weight=ROW[0], mean=ROW[:, 0], inverse_std=ROW[:, 0]),
        dict(normalized_shape=(3,)),
    ),
    "batch_norm": (
        functional.batch_norm,
        dict(input=IMAGE, running_mean=CHANNELS, running_var=CHANNELS, weight=CHANNELS, bias=CHANNELS, out=IMAGE.copy()),
        {},
    ),
    "batch_norm_gradients": (
        grad.batch_norm_gradients,
        dict(input=IMAGE, grad_output=IMAGE, weight=CHANNELS),
        dict(mean=CHANNELS, spread=CHANNELS),
    ),
    "linear": (functional.linear, dict(input=ROW, bias=ROW[:, 0], out=np.ones((2, 2), "f4")), dict(weight=ROW)),
    "linear_input": (grad.linear_input, dict(grad_output=np.ones((5, 2), "f4")), dict(weight=ROW)),
    "conv2d": (functional.conv2d, dict(input=IMAGE, weight=KERNEL, bias=CHANNELS, out=np.ones((1, 2, 2, 2), "f4")), {}),
    "conv2d_input": (
        grad.conv2d_input,
        dict(weight=KERNEL, grad_output=np.ones((1, 2, 2, 2), "f4"), out=IMAGE.copy()),
        dict(input_size=IMAGE.shape),
    ),
    "conv2d_weight": (
        grad.conv2d_weight,
        dict(input=IMAGE, grad_output=np.ones((1, 2, 2, 2), "f4"), out=KERNEL.copy()),
        dict(weight_size=KERNEL.shape),
    ),
    "scaled_dot_product_attention": (
        functional.scaled_dot_product_attention,
        dict(query=HEADS, key=HEADS, value=HEADS, attn_mask=np.ones((3, 3), "f4"), out=HEADS.copy()),
        {},
    ),
    "scaled_dot_product_attention_gradients": (
        grad.scaled_dot_product_attention_gradients,
        dict(grad_output=HEADS, query=HEADS, key=HEADS, value=HEADS, output=HEADS, logsumexp=SUMS),
        {},
    ),
    "gru": (
        functional.gru,
        dict(input=np.ones((2, 1, 3), "f4")),
        dict(hx=None, params=[np.ones((6, 3), "f4"), np.ones((6, 2), "f4")], has_biases=False),
    ),
}


@pytest.mark.parametrize(("name", "array"), [(name, array) for name, (_, arrays, _) in CALLS.items() for array in arrays])
def test_messages_name_the_argument(name, array):
    function, arrays, others = CALLS[name]
    with pytest.raises(bp.BadTypeError, match=f"^{array}: a object supports neither the buffer protocol nor __dlpack__"):
        function(**{**arrays, array: object()}, **others)


def test_explanations_need_no_memory():
    """An explanation reads and writes nothing, also not the array for the result."""
    for function, arrays, others in CALLS.values():
        before = {name: array.copy() for name, array in arrays.items()}
        page = bp.explain(function, **arrays, **others)
        assert page.candidates, function.__name__
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, before[name])


def call(name, wanted=("output",), **fields):
    return _core.call(name, wanted, None, None, None, False, **fields)


def test_what_a_pass_writes_must_be_writable():
    """Running statistics are read by inference, and written by training: also in an unaligned array, which is copied back."""
    image = np.arange(32, dtype="f4").reshape(1, 2, 4, 4)
    fixed = CHANNELS.copy()
    fixed.flags.writeable = False
    functional.batch_norm(image, fixed, fixed)
    with pytest.raises(bp.BadValueError, match="^running_var: is read-only"):
        functional.batch_norm(image, CHANNELS.copy(), fixed, training=True)
    rows = np.ones(2, [("tag", "u1"), ("mean", "f4")])
    functional.batch_norm(image, rows["mean"], CHANNELS.copy(), training=True, momentum=0.5)
    np.testing.assert_array_equal(rows["mean"], (1 + image.mean((0, 2, 3))) / 2)


def fresh(text):
    """Returns another object with the same text, as a program makes it at run time."""
    return "".join(list(text))


def test_names_are_compared_by_their_text():
    fields = dict(kind="max", pass_="forward", ndim=2, kernel_size=(2, 2), input=IMAGE)
    fields = {fresh(name): fresh(value) if isinstance(value, str) else value for name, value in fields.items()}
    (result,) = call(fresh("pool"), (fresh("output"),), **fields)
    np.testing.assert_array_equal(result, functional.max_pool2d(IMAGE, 2))


def test_refusals():
    with pytest.raises(bp.BadValueError, match="there is no call 'pol'"):
        call("pol")
    with pytest.raises(TypeError, match="pool has no field 'kernel'"):
        call("pool", kernel=(2, 2))
    with pytest.raises(TypeError, match="pool has no field 'result'"):
        call("pool", ("result",), pass_="forward", ndim=2, kernel_size=(2, 2), input=IMAGE)
    with pytest.raises(bp.BadValueError, match="pass_ 'backwards' is unknown; it must be one of forward,backward"):
        call("pool", pass_="backwards")
    for weight in (ROW, ROW[0]):
        with pytest.raises(bp.BadTypeError, match="activation 1 is unknown"):
            functional.linear(ROW, weight, activation=1)
        for name in ("gel", "isnan"):
            with pytest.raises(bp.BadValueError, match=f"activation '{name}' is unknown; it must be one of copy,negative,.*,gelu,.*,tanhshrink$"):
                functional.linear(ROW, weight, activation=name)
    with pytest.raises(TypeError, match="random: a result needs an array"):
        call("random", kind="uniform")
    with pytest.raises(bp.BadValueError, match="writes operands 1 to 2"):
        call("pool", ("input",), pass_="forward", ndim=2, kernel_size=(2, 2), input=IMAGE)
    with pytest.raises(bp.Error, match="does not follow from other tensors"):
        call("pool", ("input_gradient",), kind="average", pass_="backward", ndim=2, kernel_size=(2, 2), grad_output=IMAGE)
    with pytest.raises(TypeError, match="name, wanted, size, out, settings, explains"):
        _core.call("pool", ("output",))


def test_values_of_a_wrong_type_name_their_argument():
    for values in (dict(eps="a"), dict(eps=None), dict(momentum=[1], training=True)):
        with pytest.raises(bp.BadTypeError, match=f"^{next(iter(values))}: expects a number, but got "):
            functional.batch_norm(IMAGE, CHANNELS.copy(), CHANNELS.copy(), **values)
    for number in 1.0, "1", None:
        with pytest.raises(bp.BadTypeError, match="^groups: expects a whole number, but got "):
            functional.group_norm(IMAGE, number)
        with pytest.raises(bp.BadTypeError, match="^groups: expects a whole number, but got "):
            functional.conv2d(IMAGE, KERNEL, groups=number)
    with pytest.raises(bp.BadValueError, match="^groups: is 0; it must be at least 1"):
        functional.conv2d(IMAGE, KERNEL, groups=0)
    for divisor in 2.5, 0.5, "3", (2,):
        with pytest.raises(bp.BadTypeError, match="^divisor_override: expects a whole number or None"):
            functional.avg_pool2d(IMAGE, 2, divisor_override=divisor)
        with pytest.raises(bp.BadTypeError, match="^divisor_override: expects a whole number or None"):
            grad.avg_pool2d_input(IMAGE.shape, IMAGE[..., ::2, ::2], 2, divisor_override=divisor)
    for shape in 3.0, None:
        with pytest.raises(bp.BadTypeError, match="^normalized_shape: expects a shape"):
            functional.layer_norm(ROW, shape)


@pytest.mark.parametrize("two", [np.int64(2), np.array(2), np.array([2]), np.array([2, 2]), [2, 2]], ids=repr)
def test_sizes_of_numpy(two):
    np.testing.assert_array_equal(functional.max_pool2d(IMAGE, two, two), functional.max_pool2d(IMAGE, 2, 2))
    np.testing.assert_array_equal(functional.conv2d(IMAGE, KERNEL, stride=two, padding=two), functional.conv2d(IMAGE, KERNEL, None, 2, 2))
    np.testing.assert_array_equal(functional.adaptive_avg_pool2d(IMAGE, two), functional.adaptive_avg_pool2d(IMAGE, 2))


@pytest.mark.parametrize("stride", [(), [], None])
def test_an_empty_stride_is_that_of_the_kernel(stride):
    """The default of torch.max_pool2d() is an empty list."""
    assert functional.max_pool2d(IMAGE, 2, stride).shape == (1, 2, 2, 2)


@pytest.mark.parametrize("size", [3, np.int64(3), np.array([3]), [3]], ids=repr)
def test_shapes_of_rows(size):
    row = np.arange(6, dtype="f4").reshape(2, 3)
    np.testing.assert_array_equal(functional.layer_norm(row, size), functional.layer_norm(row, (3,)))


def test_numbers_of_64_bits():
    """The seed is a number modulo 2^64; other numbers that do not fit are refused."""
    first, second = (bp.empty(8) for _ in range(2))
    for out, seed in ((first, 2**64 - 1), (second, -1)):
        _core.call("random", ("output",), None, out, None, False, kind="uniform", seed=seed, offset=0)
    assert first.tolist() == second.tolist()
    with pytest.raises(OverflowError):
        functional.group_norm(IMAGE, 2**64 + 1)
