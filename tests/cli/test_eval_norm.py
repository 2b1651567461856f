"""eval, explain and compare of batch normalization: results equal NumPy's."""

import numpy as np

from conftest import NO_LEAK_CHECK


def save(folder, **arrays):
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)


def arrays():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 5, 4, 3)).astype("f4")
    mean, variance, weight, bias = (rng.uniform(0.5, 2, 5).astype("f4") for _ in range(4))
    return dict(x=x, mean=mean, variance=variance, weight=weight, bias=bias)


def reference(x, mean, variance, weight=None, bias=None, eps=1e-5):
    shape = (1, -1, 1, 1)
    y = (x - mean.reshape(shape).astype("f8")) / np.sqrt(variance.reshape(shape) + eps)
    y = y if weight is None else y * weight.reshape(shape)
    return y if bias is None else y + bias.reshape(shape)


def test_batch_norm(backplane, tmp_path):
    a = arrays()
    save(tmp_path, **a)
    every = ["x.npy", "mean.npy", "variance.npy", "weight.npy", "bias.npy"]
    done = backplane("eval", "batch_norm", *every, "-o", "y.npy")
    assert done.code == 0 and ", by " in done.out, done
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), reference(**a), rtol=1e-5, atol=1e-5)
    done = backplane("eval", "batch_norm", *every[:3], "-o", "y.npy", "--eps", "0.5", "--relu")
    assert done.code == 0, done
    expected = np.maximum(reference(a["x"], a["mean"], a["variance"], eps=0.5), 0)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected, rtol=1e-5, atol=1e-5)


def test_wrong_words(backplane, tmp_path):
    save(tmp_path, **arrays())
    done = backplane("eval", "batch_norm", "x.npy", "mean.npy", "-o", "y.npy")
    assert done.code == 2 and "INPUT MEAN VARIANCE" in done.err
    for eps in ("few", "-1", "inf"):
        done = backplane("eval", "batch_norm", "x.npy", "mean.npy", "variance.npy", "-o", "y.npy", "--eps", eps)
        assert done.code != 0 and "eps" in done.err, done


def test_explain(backplane):
    done = backplane("explain", "batch_norm", "f32", "8x64x56x56", "64", "64")
    assert done.code == 0, done
    assert "f32 64 channels of 25088 values" in done.out


def test_compare(backplane, tmp_path):
    save(tmp_path, **arrays())
    done = backplane("compare", "batch_norm", "x.npy", "mean.npy", "variance.npy", "weight.npy", "bias.npy", "--json",
                     "--repeat", "2", env=NO_LEAK_CHECK)
    assert done.code == 0, done
    facts = done.json
    ran = [row for row in facts["libraries"] if row["ran"]]
    assert facts["operation"] == "batch_norm" and sum(row["chosen"] for row in facts["libraries"]) == 1
    assert ran and all(0 <= row["error"] <= facts["error_bound"] and not row["wrong"] for row in ran)
