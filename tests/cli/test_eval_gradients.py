"""eval of gradients, of the passes of training, and of random numbers: results equal NumPy's formulas in f64."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from conftest import NO_LEAK_CHECK

RANDOM = np.random.default_rng(5)


@pytest.fixture
def evaluate(backplane, tmp_path):
    """Returns a function that runs an operation on arrays, and returns its results."""

    def run(operation, arrays, *options, results=1):
        names = [f"in{i}.npy" for i in range(len(arrays))]
        for name, array in zip(names, arrays):
            np.save(tmp_path / name, array)
        outputs = [f"out{i}.npy" for i in range(results)]
        done = backplane("eval", operation, *names, *options, "-o", ",".join(outputs), env=NO_LEAK_CHECK)
        assert done.code == 0, done
        made = [np.load(tmp_path / name) for name in outputs]
        return made if results > 1 else made[0]

    return run


def normal(*shape):
    return RANDOM.standard_normal(shape)


def near(got, want, bound=1e-12):
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound * max(1, np.abs(want).max(initial=0)))


def windows(x, kernel):
    return sliding_window_view(x, kernel, axis=tuple(range(x.ndim - len(kernel), x.ndim)))


@pytest.mark.parametrize("padding", [0, 1])
def test_convolution(evaluate, padding):
    x, w, g = normal(2, 3, 7, 8), normal(4, 3, 3, 2), normal(2, 4, 5 + 2 * padding, 7 + 2 * padding)
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    options = ["--padding", padding]
    got = evaluate("conv2d_weight", [x, g], "--size", "4,3,3,2", *options, results=2)
    near(got[0], np.einsum("ncijkl,nmij->mckl", windows(padded, (3, 2)), g))
    near(got[1], g.sum((0, 2, 3)))
    full = np.pad(g, ((0, 0), (0, 0), (2, 2), (1, 1)))
    want = np.einsum("nmijkl,mckl->ncij", windows(full, (3, 2)), w[:, :, ::-1, ::-1])
    want = want[:, :, padding : padding + 7, padding : padding + 8]
    near(evaluate("conv2d_input", [g, w], "--size", "2,3,7,8", *options), want)
    # A transposed convolution is the gradient of a convolution by its input; so its gradient by the input is a convolution.
    near(evaluate("conv_transpose2d_input", [x, w], "--size", f"2,4,{5 + 2 * padding},{7 + 2 * padding}", *options),
         np.einsum("ncijkl,mckl->nmij", windows(padded, (3, 2)), w))
    got = evaluate("conv_transpose2d_weight", [g, x], "--size", "4,3,3,2", *options, results=2)
    near(got[0], np.einsum("ncijkl,nmij->mckl", windows(padded, (3, 2)), g))
    near(got[1], x.sum((0, 2, 3)))


def test_linear(evaluate):
    x, w, g = normal(2, 5, 3), normal(4, 3), normal(2, 5, 4)
    near(evaluate("linear_input", [g, w]), g @ w)
    by_weight, by_bias = evaluate("linear_weight", [x, g], results=2)
    near(by_weight, np.einsum("abi,abo->oi", x, g))
    near(by_bias, g.sum((0, 1)))


def test_pooling(evaluate):
    x, g = normal(2, 3, 8), normal(2, 3, 4)
    y, places = evaluate("max_pool1d", [x], "--kernel", 2, results=2)
    want = np.zeros_like(x)
    np.put_along_axis(want, places, g, -1)
    near(evaluate("max_pool1d_input", [g, places], "--kernel", 2, "--size", "2,3,8"), want)
    near(evaluate("avg_pool1d_input", [g], "--kernel", 2, "--size", "2,3,8"), np.repeat(g, 2, -1) / 2)
    near(evaluate("adaptive_avg_pool1d_input", [g], "--output-size", 4, "--size", "2,3,8"), np.repeat(g, 2, -1) / 2)
    near(evaluate("adaptive_max_pool1d_input", [g, places], "--output-size", 4, "--size", "2,3,8"), want)


def norm_gradients(g, x, w, axes, centred=True):
    """Gradients of (x - mean) / sqrt(variance + eps) w by x and w, with statistics over `axes`."""
    mean = x.mean(axes, keepdims=True) if centred else 0
    scale = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + 1e-5)
    z, d = (x - mean) * scale, g * w
    by_x = scale * (d - (d.mean(axes, keepdims=True) if centred else 0) - z * (d * z).mean(axes, keepdims=True))
    return by_x, g * z, mean, scale


def test_normalization(evaluate, backplane):
    x, g, w = normal(4, 6), normal(4, 6), normal(6)
    by_x, by_w, mean, scale = norm_gradients(g, x, w, (1,))
    y, means, scales = evaluate("layer_norm", [x, w], results=3)
    near(means, mean[:, 0])
    near(scales, scale[:, 0])
    for arrays in ([g, x, w], [g, x, w, means, scales]):
        got = evaluate("layer_norm_gradients", arrays, results=3)
        near(got[0], by_x)
        near(got[1], by_w.sum(0))
        near(got[2], g.sum(0))
    done = backplane("eval", "layer_norm_gradients", "in0.npy", "in1.npy", "in2.npy", "in3.npy", "in4.npy", "--eps", 1, "-o", "y.npy")
    assert done.code != 0 and "it must be 0 in BACKWARD with inverse_std" in done.err
    by_x, by_w, _, _ = norm_gradients(g, x, w, (1,), centred=False)
    got = evaluate("rms_norm_gradients", [g, x, w], "--eps", "1e-5", results=2)
    near(got[0], by_x)
    near(got[1], by_w.sum(0))
    by_x, by_w, mean, scale = norm_gradients(g, x, w, (0,))
    y, means, scales = evaluate("batch_norm_training", [x, w], results=3)
    near(y, (x - mean) * scale * w)
    got = evaluate("batch_norm_gradients", [g, x, means, scales, w], results=3)
    near(got[0], by_x)
    near(got[1], by_w.sum(0))
    near(got[2], g.sum(0))
    channels, image, by_image = w[:2], x.reshape(4, 2, 3), g.reshape(4, 2, 3)
    by_x, by_w, _, _ = norm_gradients(by_image, image, channels[:, None], (2,))
    got = evaluate("group_norm_gradients", [by_image, image, channels], "--groups", 2, results=3)
    near(got[0], by_x)
    near(got[1], by_w.sum((0, 2)))
    near(got[2], by_image.sum((0, 2)))


def test_rms_norm_has_the_epsilon_of_the_computation(evaluate):
    x = (normal(3, 8) * 1e-3).astype("f2")
    wide = x.astype("f8")
    near(evaluate("rms_norm", [x]), wide / np.sqrt((wide * wide).mean(1, keepdims=True) + 2.0**-23), 1e-3)


def test_attention(evaluate):
    q, k, v, g, mask = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 6), normal(2, 3, 6), normal(2, 3, 5)
    y, logs = evaluate("sdpa", [q, k, v, mask], results=2)
    scores = q @ k.transpose(0, 2, 1) / 2 + mask
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    near(y, p @ v)
    by_p = g @ v.transpose(0, 2, 1)
    by_scores = p * (by_p - (by_p * p).sum(-1, keepdims=True))
    got = evaluate("sdpa_gradients", [g, q, k, v, y, logs, mask], results=4)
    near(got[0], by_scores @ k / 2)
    near(got[1], by_scores.transpose(0, 2, 1) @ q / 2)
    near(got[2], p.transpose(0, 2, 1) @ g)
    near(got[3], by_scores)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def layer(kind, x, wi, wh, bi, bh, h, c):
    """The output of a recurrent layer of one direction."""
    rows = []
    for step in x:
        if kind == "gru":
            a, b = np.split(step @ wi.T + bi, 3, -1), np.split(h @ wh.T + bh, 3, -1)
            r, z = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
            h = (1 - z) * np.tanh(a[2] + r * b[2]) + z * h
        elif kind == "lstm":
            i, f, m, o = np.split(step @ wi.T + bi + h @ wh.T + bh, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(m)
            h = sigmoid(o) * np.tanh(c)
        else:
            h = np.tanh(step @ wi.T + bi + h @ wh.T + bh)
        rows.append(h)
    return np.stack(rows)


def differences(function, array):
    """The gradient of a number by an array, from central differences of the fourth order."""
    made, step = np.zeros_like(array), 1e-3
    for index in np.ndindex(array.shape):
        values = []
        for by in (-2, -1, 1, 2):
            other = array.copy()
            other[index] += by * step
            values.append(function(other))
        made[index] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
    return made


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_recurrent_layers(evaluate, kind):
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[kind]
    x, wi, wh = normal(3, 2, 2), normal(1, gates * 2, 2), normal(1, gates * 2, 2)
    bi, bh, h, c, g = normal(1, gates * 2), normal(1, gates * 2), normal(1, 2, 2), normal(1, 2, 2), normal(3, 2, 2)
    states = [h, c] if kind == "lstm" else [h]
    if kind == "rnn":
        y, saved = evaluate("rnn", [x, wi, wh, bi, bh, h]), []
    else:
        y, reserve = evaluate(f"{kind}_training", [x, wi, wh, bi, bh, *states], results=2)
        saved = [reserve]
    operands = [x, wi[0], wh[0], bi[0], bh[0], h[0], c[0]]
    near(y, layer(kind, *operands))
    count = 7 if kind == "lstm" else 6
    got = evaluate(f"{kind}_gradients", [g, x, wi, wh, y, *saved, *states], results=count)
    for i in range(count):
        def loss(value, i=i):
            return (layer(kind, *operands[:i], value, *operands[i + 1 :]) * g).sum()

        near(got[i].reshape(operands[i].shape), differences(loss, operands[i]), 1e-9)


def test_random_numbers(evaluate):
    x = evaluate("random_uniform", [], "--size", "3,1000", "--seed", 7, "--to", "f64")
    assert x.shape == (3, 1000) and x.dtype == np.float64 and 0 <= x.min() and x.max() < 1 and abs(x.mean() - 0.5) < 0.05
    np.testing.assert_array_equal(x, evaluate("random_uniform", [x], "--seed", 7))
    later = evaluate("random_uniform", [], "--size", 1000, "--seed", 7, "--offset", 1000, "--to", "f64")
    np.testing.assert_array_equal(later, x[2])  # a block has two numbers of 64 bits
    assert abs(evaluate("random_normal", [], "--size", 4000).std() - 1) < 0.1
    bits = evaluate("random_bits", [], "--size", 100)
    assert bits.dtype == np.int64 and len(set(bits)) == 100


def test_wrong_words(backplane, tmp_path):
    np.save(tmp_path / "g.npy", np.ones((1, 1, 2, 2), "f4"))
    done = backplane("eval", "conv2d_input", "g.npy", "g.npy", "-o", "y.npy")
    assert done.code == 2 and "--size is missing; conv2d_input needs it" in done.err
    done = backplane("eval", "conv2d_input", "g.npy", "g.npy", "--size", "1,1,9,9", "-o", "y.npy")
    assert done.code != 0 and "shape" in done.err
    done = backplane("eval", "random_normal", "-o", "y.npy")
    assert done.code == 2 and "--size is missing" in done.err
    done = backplane("eval", "random_normal", "--size", 3, "--to", "f33", "-o", "y.npy")
    assert done.code == 2 and "no such element type" in done.err
    done = backplane("eval", "random_normal", "--size", 3, "--to", "i8", "-o", "y.npy")
    assert done.code != 0 and "must be f16, bf16, f32 or f64" in done.err
    assert not (tmp_path / "y.npy").exists()


def test_explain_and_compare(backplane, tmp_path):
    done = backplane("explain", "conv2d_weight", "f32", "2x3x8x8", "2x4x6x6", "--size", "4,3,3,3")
    assert done.code == 0 and "conv_weight f32 2 x 3x8x8 to 4x6x6" in done.out, done
    done = backplane("explain", "conv2d_weight", "f32", "2x3x8x8", "2x4x6x6", "--size", "4,3,3,3", "--size", "4,3,5,5")
    assert done.code == 2 and "--size is given twice" in done.err, done
    done = backplane("explain", "random_bits", "i32", "10x10")
    assert done.code == 0 and "random bits" in done.out, done
    np.save(tmp_path / "x.npy", np.ones((4, 6), "f4"))
    done = backplane("compare", "layer_norm_gradients", "x.npy", "x.npy", "--repeat", 1, env=NO_LEAK_CHECK)
    assert done.code == 0 and "native" in done.out and "not checked" not in done.out, done
