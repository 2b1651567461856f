"""eval, explain and compare of convolutions: results equal sums of the definition."""

import numpy as np
import pytest

from conftest import NO_LEAK_CHECK


def integers(*shape, dtype="f4"):
    return np.random.default_rng(11).integers(-3, 4, shape).astype(dtype)


def reference(x, w, stride, padding):
    x = np.pad(x.astype("f8"), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,kcij->nkhw", windows, w.astype("f8"))


@pytest.fixture
def convolve(backplane, tmp_path):
    def run(name, *words, **arrays):
        for file, values in arrays.items():
            np.save(tmp_path / f"{file}.npy", values)
        done = backplane("eval", name, *(f"{file}.npy" for file in arrays), "-o", "y.npy", *words)
        return (np.load(tmp_path / "y.npy") if done.code == 0 else None), done

    return run


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_conv2d(convolve, dtype):
    x, w, b = integers(2, 3, 9, 8, dtype=dtype), integers(5, 3, 3, 3, dtype=dtype), integers(5, dtype=dtype)
    got, done = convolve("conv2d", "--stride", "2", "--padding", "1", x=x, w=w)
    assert done.code == 0, done
    np.testing.assert_array_equal(got, reference(x, w, 2, 1))
    assert got.dtype == x.dtype and ", by " in done.out
    got, done = convolve("conv2d", "--padding", "same", "--relu", x=x, w=w, b=b)
    assert done.code == 0, done
    np.testing.assert_array_equal(got, np.maximum(reference(x, w, 1, 1) + b.reshape(1, -1, 1, 1), 0))


def test_other_dimensions(convolve):
    x, w = integers(2, 4, 9), integers(4, 1, 3)
    got, done = convolve("conv1d", "--groups", "4", "--dilation", "2", x=x, w=w)
    assert done.code == 0, done
    wanted = sum(x[:, :, 2 * t : 2 * t + 5] * w[:, 0, t].reshape(1, -1, 1) for t in range(3))
    np.testing.assert_array_equal(got, wanted)
    x, w = integers(1, 2, 3, 3, 3), integers(2, 3, 2, 2, 2)
    got, done = convolve("conv_transpose3d", "--stride", "2", "--output-padding", "1", x=x, w=w)
    assert done.code == 0 and got.shape == (1, 3, 7, 7, 7), done
    assert got.sum() == (x.sum((0, 2, 3, 4)) * w.sum((1, 2, 3, 4))).sum()


def test_wrong_words(convolve):
    x, w = integers(1, 2, 5, 5), integers(1, 2, 3, 3)
    _, done = convolve("conv2d", "--stride", "1,2,3", x=x, w=w)
    assert done.code == 2 and "--stride has 3 numbers" in done.err
    _, done = convolve("conv2d", "--padding", "same", "--stride", "2", x=x, w=w)
    assert done.code != 0 and "'same' needs stride 1" in done.err
    _, done = convolve("conv2d", x=x, w=integers(1, 3, 3, 3))
    assert done.code != 0 and "input has 2 channels" in done.err


def test_explain_lists_the_algorithms(backplane):
    done = backplane("explain", "conv2d", "f32", "1x16x28x28", "32x16x3x3", "--padding", "1")
    assert done.code == 0, done
    assert "f32 16x28x28 to 32x28x28, kernel 3x3, padding 1x1" in done.out
    assert all(name in done.out for name in ("implicit gemm", "direct", "winograd", "fft"))


@pytest.mark.parametrize("words", [["conv2d", "--padding", "1"], ["conv_transpose2d", "--stride", "2"]])
def test_compare(backplane, tmp_path, words):
    np.save(tmp_path / "x.npy", integers(2, 8, 9, 9))
    np.save(tmp_path / "w.npy", integers(8, 8, 3, 3))
    done = backplane("compare", words[0], "x.npy", "w.npy", *words[1:], "--json", "--repeat", "2", env=NO_LEAK_CHECK)
    assert done.code == 0, done
    facts = done.json
    ran = [row for row in facts["libraries"] if row["ran"]]
    assert facts["operation"] == words[0] and sum(row["chosen"] for row in facts["libraries"]) == 1
    assert ran and all(0 <= row["error"] <= facts["error_bound"] and not row["wrong"] for row in ran)


@pytest.mark.parametrize("algorithm", ["winograd", "fft"])
def test_compare_measures_errors_by_the_inputs_of_a_tile(backplane, tmp_path, algorithm):
    x = integers(2, 8, 9, 9) * 0
    x[:, :, ::6, ::6] = 1000 / 3
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "w.npy", integers(8, 8, 3, 3) / np.float32(7))
    done = backplane("compare", "conv2d", "x.npy", "w.npy", "--padding", "1", "--json", "--repeat", "2",
                     "--set", f"conv.preferred=native:{algorithm}", env=NO_LEAK_CHECK)
    assert done.code == 0, done
    rows = [row for row in done.json["libraries"] if row["ran"]]
    assert any(row["algorithm"] == algorithm for row in rows) and not any(row["wrong"] for row in rows), done
