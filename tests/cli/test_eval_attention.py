"""eval, explain and compare of attention: results equal NumPy's, in f64."""

import numpy as np
import pytest

from conftest import NO_LEAK_CHECK


def reference(q, k, v, mask=None, causal=False, scale=None, gqa=False):
    """Returns the output, and the logarithms of the sums of weights."""
    q, k, v = (a.astype("f8") for a in (q, k, v))
    if gqa:
        k, v = (np.repeat(a, q.shape[-3] // a.shape[-3], axis=-3) for a in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(most), 0, most))
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        logarithms = np.log(total)[..., 0] + np.where(np.isinf(most), 0, most)[..., 0]
    return weights @ v / np.where(total == 0, 1, total), logarithms


def arrays(q, k, v, dtype="f4"):
    rng = np.random.default_rng(5)
    return tuple(rng.standard_normal(shape).astype(dtype) for shape in (q, k, v))


@pytest.fixture
def attend(backplane, tmp_path):
    """Runs `sdpa`; returns what the command wrote, and what it said."""

    def run(arrays, *words, results=1, command="eval"):
        files = []
        for i, array in enumerate(arrays):
            np.save(tmp_path / f"{i}.npy", array)
            files.append(f"{i}.npy")
        for name in ("o.npy", "l.npy"):
            (tmp_path / name).unlink(missing_ok=True)
        outputs = ["-o", "o.npy", "-o", "l.npy"][: 2 * results]
        done = backplane(command, "sdpa", *files, *outputs, *words)
        return [np.load(tmp_path / name) for name in ("o.npy", "l.npy")[:results]] if done.code == 0 else [], done

    return run


@pytest.mark.parametrize(("dtype", "tolerance"), [("f2", 2e-3), ("f4", 2e-6), ("f8", 1e-14)])
def test_attention(attend, dtype, tolerance):
    tensors = arrays((2, 3, 9, 8), (2, 3, 7, 8), (2, 3, 7, 5), dtype)
    (got, logarithms), done = attend(tensors, results=2)
    assert done.code == 0 and ", by " in done.out, done
    assert got.dtype == dtype and logarithms.dtype == ("f8" if dtype == "f8" else "f4")
    output, expected = reference(*tensors)
    np.testing.assert_allclose(got, output, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(logarithms, expected, rtol=max(tolerance, 2e-6) if dtype != "f8" else 1e-14, atol=1e-6)


def test_options(attend):
    tensors = arrays((6, 9, 4), (2, 9, 4), (2, 9, 3))
    (got,), done = attend(tensors, "--gqa", "--causal", "--scale", "-0.75")
    assert done.code == 0, done
    np.testing.assert_allclose(got, reference(*tensors, causal=True, scale=-0.75, gqa=True)[0], rtol=1e-5, atol=1e-6)


def test_limits(attend):
    q, k, v = arrays((2, 3, 6, 4), (2, 3, 9, 4), (2, 3, 9, 3))
    (got,), done = attend((q, k, v), "--window-left", "2", "--window-right", "1", "--lower-right", "--lengths", "9,5")
    assert done.code == 0, done
    query, key = np.arange(6)[:, None], np.arange(9)
    for item, own in enumerate((9, 5)):
        ahead = key - (query + own - 6)
        mask = (key < own) & (-2 <= ahead) & (ahead <= 1)
        np.testing.assert_allclose(got[item], reference(q[item], k[item], v[item], mask)[0], rtol=1e-5, atol=1e-6)
    (got,), done = attend((q, k, v), "--window-right", "0")
    (causal,), _ = attend((q, k, v), "--causal")
    assert done.code == 0 and np.array_equal(got, causal)
    (got,), done = attend((q, k, v), "--softcap", "1e-6")
    np.testing.assert_allclose(got, np.broadcast_to(v.mean(-2, keepdims=True), got.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["bool", "f4"])
def test_masks(attend, kind):
    q, k, v = arrays((2, 6, 4), (2, 5, 4), (2, 5, 3))
    rng = np.random.default_rng(6)
    mask = rng.random((6, 5)) < 0.6 if kind == "bool" else rng.standard_normal((2, 1, 5)).astype("f4")
    if kind == "bool":
        mask[2] = False  # a row without keys is 0
    (got,), done = attend((q, k, v, mask))
    assert done.code == 0, done
    np.testing.assert_allclose(got, reference(q, k, v, mask)[0], rtol=1e-5, atol=1e-6)
    assert kind != "bool" or not got[:, 2].any()


def test_dropout(attend):
    """With values of 1 a row is the sum of its kept weights; rows of equal keys tell how many were kept."""
    q, k, v = np.zeros((1, 40, 4), "f4"), np.zeros((1, 50, 4), "f4"), np.ones((1, 50, 1), "f4")
    (got,), done = attend((q, k, v), "--dropout", "0.5", "--seed", "3")
    assert done.code == 0, done
    kept = got.ravel() / 2 * 50
    np.testing.assert_allclose(kept, np.round(kept), atol=1e-4)
    assert 15 < kept.mean() < 35 and len(np.unique(np.round(kept))) > 3
    (again,), _ = attend((q, k, v), "--dropout", "0.5", "--seed", "3")
    (other,), _ = attend((q, k, v), "--dropout", "0.5", "--seed", "4")
    assert np.array_equal(got, again) and not np.array_equal(got, other)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--scale", "x"], "--scale is 'x'"),
        (["--scale", "inf"], "scale is inf"),
        (["--dropout", "2"], "dropout is 2"),
        (["--dropout", "0.5,1"], "dropout is nan"),
        (["--softcap", "-1"], "softcap is -1"),
        (["--window-left", "-2"], "window_left is -2"),
        (["--window-right", "x"], "--window-right"),
        (["--lower-right"], "lower_right is for is_causal and has_window"),
        (["--lengths", "3"], "with lengths one of them must have 3 or more"),
        (["--lengths", "3,x"], "--lengths is '3,x'"),
        (["--seed", "1"], "seed is for dropout"),
        (["--seed", "-1", "--dropout", "0.5"], "--seed"),
        (["--gqa"], "3 or more"),
        (["--relu"], "sdpa takes no option --relu"),
    ],
)
def test_wrong_words(attend, words, text):
    tensors = arrays((6, 4), (5, 4), (5, 3))
    _, done = attend(tensors, *words)
    assert done.code in (2, 3) and text in done.err, done


def test_wrong_arrays(attend):
    q, k, v = arrays((6, 4), (5, 4), (5, 3))
    for tensors, words, text in (
        ((q, k), [], "QUERY KEY VALUE [MASK]"),
        ((q, k, v[1:]), [], "numbers of keys"),
        ((q, k, v, np.ones((6, 4), bool)), [], "mask has shape"),
        ((q, k, v, np.ones((6, 5), bool)), ["--causal"], "is_causal"),
    ):
        _, done = attend(tensors, *words)
        assert done.code in (2, 3) and text in done.err, done


def test_explain(backplane):
    done = backplane("explain", "sdpa", "f32", "8x512x64", "8x512x64", "8x512x32", "--causal")
    assert done.code == 0, done
    assert "f32 8 x 512x64 queries, 512 keys, values of 32, causal" in done.out
    assert "flash" in done.out


def test_explain_limits(backplane):
    done = backplane("explain", "sdpa", "f16", "2x8x512x64", "2x8x512x64", "2x8x512x64", "--causal", "--window-left", "100", "--softcap", "50", "--lengths", "512,9", "--lower-right")
    assert done.code == 0, done
    assert "attention_lengths f16 16 x 512x64 queries, 512 keys at most, causal, window 100,-1, lower right, softcap 50" in done.out
    done = backplane("explain", "sdpa_gradients", *["f32"], *["4x9x8"] * 5, "4x9", "--window-left", "3")
    assert done.code == 0 and "window 3,-1" in done.out, done


def switches(*settings):
    return [word for name in settings for word in ("--set", name)]


KERNELS = {"flash": "cuda.flash_sdp", "mem_efficient": "cuda.mem_efficient_sdp", "math": "cuda.math_sdp"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_switches(attend, kernel):
    """With all other kernels disabled, this one runs and gives the same result."""
    tensors = arrays((2, 9, 4), (2, 7, 4), (2, 7, 3))
    off = [f"{name}=false" for other, name in KERNELS.items() if other != kernel]
    (got,), done = attend(tensors, *switches(*off))
    assert done.code == 0 and f"({kernel}," in done.out, done
    np.testing.assert_allclose(got, reference(*tensors)[0], rtol=1e-5, atol=1e-6)
    _, done = attend(tensors, *switches(*off, f"{KERNELS[kernel]}=false"))
    assert done.code == 4 and all(f"{name} is false" in done.err for name in KERNELS.values()), done


def test_order_of_kernels(attend):
    tensors = arrays((2, 9, 4), (2, 7, 4), (2, 7, 3))
    for order, first in (("math,flash", "math"), ("efficient,math", "mem_efficient"), ("cudnn,flash,math", "flash")):
        _, done = attend(tensors, *switches(f"cuda.sdp_priority={order}"))
        assert done.code == 0 and f"({first}," in done.out and "first kernel of cuda.sdp_priority" in done.out, done


def compare(backplane, *words):
    done = backplane("compare", "sdpa", *words, "--json", "--repeat", "2", env=NO_LEAK_CHECK)
    assert done.code == 0, done
    ran = [row for row in done.json["libraries"] if row["ran"]]
    assert done.json["operation"] == "sdpa" and sum(row["chosen"] for row in done.json["libraries"]) == 1
    assert ran and all(0 <= row["error"] <= done.json["error_bound"] and not row["wrong"] for row in ran)
    return {row["algorithm"] for row in ran}


@pytest.mark.parametrize("words", [[], ["--causal"], ["--dropout", "0.3", "--seed", "8"], ["--scale", "9"]])
def test_compare(backplane, tmp_path, words):
    for name, array in zip("qkv", arrays((2, 40, 8), (2, 70, 8), (2, 70, 5)), strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    assert compare(backplane, "q.npy", "k.npy", "v.npy", *words) == {"flash", "mem_efficient", "math"}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_compare_masks(backplane, tmp_path, dtype):
    rng = np.random.default_rng(7)
    for name, array in zip("qkv", arrays((4, 9, 8), (2, 70, 8), (2, 70, 5), dtype), strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    np.save(tmp_path / "m.npy", rng.random((4, 9, 70)) < 0.5)
    compare(backplane, "q.npy", "k.npy", "v.npy", "m.npy", "--gqa")


@pytest.mark.parametrize(
    ("tensor", "value", "words"),
    [(0, np.nan, []), (1, np.inf, []), (1, -np.inf, ["--causal"]), (2, np.nan, []), (2, np.inf, ["--causal"])],
)
def test_compare_values_that_are_not_finite(backplane, tmp_path, tensor, value, words):
    """The reference has NaN and infinity where the kernels have them. Excluded ones may reach the output or not."""
    tensors = arrays((20, 8), (30, 8), (30, 4))
    tensors[tensor][3, 2] = value
    for name, array in zip("qkv", tensors, strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    compare(backplane, "q.npy", "k.npy", "v.npy", *words)


@pytest.mark.parametrize(("queries", "keys", "size"), [(3, 0, 4), (0, 5, 4), (3, 5, 0), (1, 1, 1)])
def test_compare_small_sizes(backplane, tmp_path, queries, keys, size):
    for name, array in zip("qkv", arrays((queries, size), (keys, size), (keys, 2)), strict=True):
        np.save(tmp_path / f"{name}.npy", array)
    compare(backplane, "q.npy", "k.npy", "v.npy", "--scale", "2")
