"""eval and explain of pooling: results equal NumPy's."""

import numpy as np
import pytest

from conftest import NO_LEAK_CHECK


def test_pooling(backplane, tmp_path):
    x = np.arange(2 * 3 * 6 * 6, dtype="f4").reshape(2, 3, 6, 6)
    np.save(tmp_path / "x.npy", x)
    blocks = x.reshape(2, 3, 3, 2, 3, 2)
    done = backplane("eval", "max_pool2d", "x.npy", "-o", "y.npy", "--kernel", "2")
    assert done.code == 0 and ", by " in done.out, done
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), blocks.max((3, 5)))
    done = backplane("eval", "max_pool2d", "x.npy", "-o", "y.npy", "-o", "i.npy", "--kernel", "2", "--stride", "2")
    assert done.code == 0, done
    flat, at = x.reshape(2, 3, -1), np.load(tmp_path / "i.npy")
    assert at.dtype == np.int64
    np.testing.assert_array_equal(np.take_along_axis(flat, at.reshape(2, 3, -1), -1), blocks.max((3, 5)).reshape(2, 3, -1))
    done = backplane("eval", "avg_pool2d", "x.npy", "-o", "y.npy", "--kernel", "2,2", "--divisor", "2")
    assert done.code == 0, done
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), blocks.sum((3, 5)) / 2)
    done = backplane("eval", "adaptive_avg_pool2d", "x.npy", "-o", "y.npy", "--output-size", "1")
    assert done.code == 0, done
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), x.mean((2, 3), keepdims=True))
    done = backplane("eval", "avg_pool2d", "x.npy", "-o", "y.npy", "--kernel", "4", "--stride", "3", "--ceil", "--exclude-padding")
    assert done.code == 0 and np.load(tmp_path / "y.npy").shape == (2, 3, 2, 2), done


def test_wrong_words(backplane, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((1, 2, 5, 5), "f4"))
    done = backplane("eval", "max_pool2d", "x.npy", "-o", "y.npy")
    assert done.code == 2 and "--kernel is missing" in done.err
    done = backplane("eval", "adaptive_max_pool2d", "x.npy", "-o", "y.npy")
    assert done.code == 2 and "--output-size is missing" in done.err
    done = backplane("eval", "max_pool2d", "x.npy", "-o", "y.npy", "--kernel", "2", "--padding", "2")
    assert done.code != 0 and "at most half of the kernel's span" in done.err
    done = backplane("eval", "avg_pool2d", "x.npy", "-o", "y.npy", "--kernel", "2", "--divisor", "0")
    assert done.code == 2 and "--divisor takes one number" in done.err


def test_explain(backplane):
    done = backplane("explain", "max_pool2d", "f32", "8x64x56x56", "--kernel", "3", "--stride", "2", "--padding", "1")
    assert done.code == 0, done
    assert "f32 8 x 64x56x56 to 28x28, kernel 3x3, stride 2x2, padding 1x1" in done.out


POOLINGS = [["max_pool2d", "--kernel", "3", "--stride", "2", "--padding", "1"],
            ["avg_pool2d", "--kernel", "3", "--stride", "2", "--padding", "1", "--ceil"],
            ["avg_pool2d", "--kernel", "2", "--exclude-padding", "--padding", "1"],
            ["avg_pool2d", "--kernel", "3", "--divisor", "2"],
            ["adaptive_avg_pool2d", "--output-size", "3,4"],
            ["adaptive_max_pool2d", "--output-size", "2"]]


@pytest.mark.parametrize("words", POOLINGS)
def test_compare(backplane, tmp_path, words):
    x = np.random.default_rng(1).standard_normal((2, 3, 10, 9)).astype("f4")
    np.save(tmp_path / "x.npy", x)
    done = backplane("compare", words[0], "x.npy", *words[1:], "--json", "--repeat", "2", env=NO_LEAK_CHECK)
    assert done.code == 0, done
    facts = done.json
    ran = [row for row in facts["libraries"] if row["ran"]]
    assert facts["operation"] == words[0] and sum(row["chosen"] for row in facts["libraries"]) == 1
    assert ran and all(0 <= row["error"] <= facts["error_bound"] and not row["wrong"] for row in ran), facts


def test_compare_runs_each_library(backplane, tmp_path):
    """No setting prefers a library for pooling: each runs with the others excluded."""
    if "onednn" not in backplane("list").out:
        pytest.skip("oneDNN is not installed")
    np.save(tmp_path / "x.npy", np.ones((1, 4, 8, 8), "f4"))
    done = backplane("compare", "avg_pool2d", "x.npy", "--kernel", "2", "--json", "--repeat", "2", env=NO_LEAK_CHECK)
    assert done.code == 0, done
    assert {"native", "onednn"} <= {row["library"] for row in done.json["libraries"] if row["ran"]}, done.json
