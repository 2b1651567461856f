"""eval, explain and compare of recurrent layers: results equal NumPy's, in f64."""

import numpy as np
import pytest

from conftest import NO_LEAK_CHECK


def logistic(x):
    return 1 / (1 + np.exp(-x))


def layer(mode, x, w, u, b, c, h, cell, projection=None, reverse=False, relu=False, before=False):
    """Returns the output and the final states of one direction."""
    output = np.zeros((*x.shape[:2], h.shape[1]))
    size = len(w) // {"rnn": 1, "lstm": 4, "gru": 3}[mode]
    for t in range(len(x))[:: -1 if reverse else 1]:
        p, q = x[t] @ w.T + b, h @ u.T + c
        if mode == "lstm":
            i, f, g, o = np.split(p + q, 4, axis=1)
            cell = logistic(f) * cell + logistic(i) * np.tanh(g)
            h = logistic(o) * np.tanh(cell)
            h = h if projection is None else h @ projection.T
        elif mode == "gru":
            r, z = logistic(p + q)[:, :size], logistic(p + q)[:, size : 2 * size]
            part = (r * h) @ u[2 * size :].T + c[2 * size :] if before else r * q[:, 2 * size :]
            n = np.tanh(p[:, 2 * size :] + part)
            h = (1 - z) * n + z * h
        else:
            h = np.maximum(p + q, 0) if relu else np.tanh(p + q)
        output[t] = h
    return output, h, cell


def reference(mode, x, w, u, b, c, h, cell=None, projection=None, **options):
    """Returns the output and the final states; weights have a direction each."""
    done = [
        layer(
            mode,
            x.astype("f8"),
            *(a[d].astype("f8") for a in (w, u, b, c, h)),
            None if cell is None else cell[d].astype("f8"),
            None if projection is None else projection[d].astype("f8"),
            **{"reverse": d == 1, **options},
        )
        for d in range(len(w))
    ]
    return [np.concatenate([d[0] for d in done], axis=2), *(np.stack([d[i] for d in done]) for i in (1, 2))]


def arrays(mode, directions=1, steps=5, batch=3, size=4, hidden=6, projection=0, dtype="f4"):
    """Returns input, weights, biases and initial states, and WEIGHT_HR or None."""
    rng = np.random.default_rng(5)
    rows, columns = {"rnn": 1, "lstm": 4, "gru": 3}[mode] * hidden, projection or hidden
    shapes = [(steps, batch, size), (directions, rows, size), (directions, rows, columns)]
    shapes += [(directions, rows)] * 2 + [(directions, batch, columns)]
    shapes += [(directions, batch, hidden)] if mode == "lstm" else []
    made = [(0.5 * rng.standard_normal(shape)).astype(dtype) for shape in shapes]
    return made, (0.5 * rng.standard_normal((directions, columns, hidden))).astype(dtype) if projection else None


@pytest.fixture
def recur(backplane, tmp_path):
    """Runs an operation; returns what the command wrote, and what it said."""

    def run(mode, tensors, *words, results=1, command="eval"):
        files = []
        for i, array in enumerate(tensors):
            np.save(tmp_path / f"{i}.npy", array)
            files.append(f"{i}.npy")
        outputs = [f"o{i}.npy" for i in range(results)]
        done = backplane(command, mode, *files, *(word for name in outputs for word in ("-o", name)), *words)
        return [np.load(tmp_path / name) for name in outputs] if done.code == 0 else [], done

    return run


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("mode", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 2e-6), ("f8", 1e-14)])
def test_layers(recur, mode, directions, dtype, tolerance):
    tensors, _ = arrays(mode, directions, dtype=dtype)
    results = 3 if mode == "lstm" else 2
    got, done = recur(mode, tensors, results=results)
    assert done.code == 0 and ", by native" in done.out, done
    for a, b in zip(got, reference(mode, *tensors)[:results], strict=True):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_options(recur):
    tensors, projection = arrays("lstm", projection=2)
    (got,), done = recur("lstm", [*tensors[:3], projection, *tensors[3:]], "--projection", "--reverse")
    assert done.code == 0, done
    expected = reference("lstm", *tensors, projection=projection, reverse=True)
    np.testing.assert_allclose(got, expected[0], rtol=2e-6, atol=2e-6)
    tensors, _ = arrays("rnn")
    (got,), done = recur("rnn", tensors, "--relu")
    assert done.code == 0, done
    np.testing.assert_allclose(got, reference("rnn", *tensors, relu=True)[0], rtol=2e-6, atol=2e-6)
    tensors, _ = arrays("gru", 2)
    (got, last), done = recur("gru", tensors, "--reset-before", results=2)
    assert done.code == 0, done
    for a, b in zip((got, last), reference("gru", *tensors, before=True)):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)
    _, done = recur("gru", tensors, "--reset-before", command="compare", results=0)
    assert done.code == 0, done
    _, done = recur("lstm", arrays("lstm")[0], "--reset-before")
    assert done.code == 2 and "lstm takes no option --reset-before" in done.err, done


def test_matrices_and_no_biases(recur):
    """Tensors of one direction may lack its dimension."""
    tensors, _ = arrays("gru")
    (got,), done = recur("gru", [tensors[0], tensors[1][0], tensors[2][0]])
    assert done.code == 0, done
    none = [0 * a for a in tensors[3:]]
    np.testing.assert_allclose(got, reference("gru", *tensors[:3], *none)[0], rtol=2e-6, atol=2e-6)


def test_wrong_words(recur):
    tensors, _ = arrays("lstm")
    for mode, given, words, text in (
        ("lstm", tensors[:2], [], "INPUT WEIGHT_IH WEIGHT_HH"),
        ("gru", tensors[:3], [], "a multiple of 3 rows"),
        ("lstm", tensors, ["--relu"], "lstm takes no option --relu"),
        ("lstm", tensors, ["--projection"], "weight_hr has shape"),
        ("gru", arrays("gru", 2)[0], ["--reverse"], "reverse is for one direction"),
        ("lstm", [tensors[0][0], *tensors[1:]], [], "input has shape (3, 4)"),
    ):
        if mode == "gru" and text.startswith("a multiple"):
            given = [given[0], given[1], given[2][:, :-1]]
        _, done = recur(mode, given, *words)
        assert done.code in (2, 3) and text in done.err, done


def test_explain(backplane):
    done = backplane("explain", "lstm", "f32", "64x32x256", "2x4096x256", "2x4096x1024")
    assert done.code == 0, done
    assert "f32 lstm, 64 steps of 32 items, 256 columns to 1024, 2 directions" in done.out
    done = backplane("explain", "gru", "f32", "64x32x256", "3072x256", "3072x1024", "--reset-before")
    assert done.code == 0, done
    assert "f32 gru, reset before the product, 64 steps of 32 items, 256 columns to 1024" in done.out


@pytest.mark.parametrize("mode", ["rnn", "lstm", "gru"])
def test_compare(backplane, tmp_path, mode):
    for i, array in enumerate(arrays(mode, 2)[0]):
        np.save(tmp_path / f"{i}.npy", array)
    files = [f"{i}.npy" for i in range(7 if mode == "lstm" else 6)]
    done = backplane("compare", mode, *files, "--json", "--repeat", "2", env=NO_LEAK_CHECK)
    assert done.code == 0, done
    ran = [row for row in done.json["libraries"] if row["ran"]]
    assert ran and all(0 <= row["error"] <= done.json["error_bound"] and not row["wrong"] for row in ran)
