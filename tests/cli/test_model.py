"""`run`, `explain` and `bench` of an ONNX model. NumPy computes what the model does."""

import numpy as np
import pytest

from conftest import ROOT

MODEL = str(ROOT / "examples/data/components.onnx")
DIGITS = ROOT / "examples/data/digits.npy"


def expected(images):
    axes = np.load(ROOT / "examples/data/axes_f64.npy")[:, :8].astype("f4").astype("f8")
    coordinates = images.astype("f8") @ axes
    return coordinates, ((images - coordinates @ axes.T) ** 2).mean(1)


def test_run_writes_outputs(backplane, tmp_path):
    done = backplane("run", MODEL, DIGITS, "--dimension", "count=1797", "-o", tmp_path / "c.npy", "-o", tmp_path / "e.npy")
    assert done.code == 0, done
    coordinates, error = expected(np.load(DIGITS))
    np.testing.assert_allclose(np.load(tmp_path / "c.npy"), coordinates, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), error, rtol=1e-4)
    assert "coordinates" in done.out and "1797x8" in done.out


def test_run_with_random_inputs(backplane):
    first, again, other = (
        backplane("run", MODEL, "--dimension", "images[0]=4", "--json", *more).json["outputs"] for more in ((), ("--seed", "1"), ("--seed", "2"))
    )
    assert first == again != other
    assert [(one["name"], one["dtype"], one["shape"]) for one in first] == [("coordinates", "f32", [4, 8]), ("error", "f32", [4])]
    assert first[0]["least"] < first[0]["mean"] < first[0]["greatest"]


def test_constants(backplane, tmp_path):
    np.save(tmp_path / "x.npy", np.load(DIGITS)[:3])
    done = backplane("run", MODEL, "--constant", f"images={tmp_path / 'x.npy'}", "-o", tmp_path / "c.npy")
    assert done.code == 0, done
    np.testing.assert_allclose(np.load(tmp_path / "c.npy"), expected(np.load(DIGITS)[:3])[0], rtol=1e-4, atol=1e-4)


def test_explain_shows_each_node(backplane):
    done = backplane("explain", MODEL, "--dimension", "count=10")
    assert done.code == 0, done
    assert all(f"node {i} " in done.out for i in range(5)) and "matmul" in done.out and "candidates" in done.out
    assert backplane("explain", MODEL, "--dimension", "count=10", "--json").json["parts"]
    only = backplane("explain", MODEL, "--dimension", "count=10", "--set", "providers.enabled=native")
    assert only.code == 2 or "openblas" not in only.out.split("candidates")[0]


def test_bench_measures_runs(backplane):
    done = backplane("bench", MODEL, "--dimension", "count=10", "--seconds", "0", "--json").json
    assert done["runs"] >= 5 and 0 < done["least_ns"] <= done["median_ns"] and done["read_ns"] > 0
    assert "the median of" in backplane("bench", MODEL, "--dimension", "count=10", "--seconds", "0").out


@pytest.mark.parametrize(
    "words, code, message",
    [
        (("run", MODEL), 3, "dimension 0 of input 'images', named count"),
        (("run", MODEL, "--dimension", "count"), 2, "must be as NAME=N"),
        (("run", MODEL, "--dimension", "count=x"), 2, "must be a whole number"),
        (("run", MODEL, "--dimension", "count=-1"), 2, "must be a whole number"),
        (("run", MODEL, "--dimension", "count=2", "--dimension", "rows=2"), 3, "no open size 'rows'"),
        (("run", MODEL, "--constant", "images=absent.npy"), 6, "absent.npy"),
        (("run", MODEL, "--dimension", "count=2", DIGITS, DIGITS), 2, "has 1 input, and 2 files are given"),
        (("run", MODEL, "--dimension", "count=2", DIGITS), 3, "1797"),
        (("run", MODEL, "--dimension", "count=2", DIGITS, "--seed", "3"), 2, "--seed is for random inputs"),
        (("run", MODEL, "--dimension", "count=2", "-o", "a", "-o", "a"), 2, "given twice"),
        (("run", MODEL, "--dimension", "count=2", "-o", "a", "-o", "b", "-o", "c"), 2, "one too many"),
        (("run", DIGITS), 2, "must end with .onnx"),
        (("run", "absent.onnx"), 6, "absent.onnx"),
        (("explain", MODEL, "f32"), 2, "one operand too many"),
        (("explain", "matmul", "3x3", "3x3", "--dimension", "n=3"), 2, "--dimension is for ONNX models"),
        (("explain", MODEL, "--dimension", "count=2", "--device", "opencl:0"), 2, "graphs run on the host"),
        (("bench", "matmul", "--constant", "x=y.npy"), 2, "--constant is for ONNX models"),
        (("bench", MODEL, "--threads", "1"), 2, "--threads is for operations"),
        (("bench", MODEL, MODEL), 2, "one model is measured"),
    ],
)
def test_what_is_refused(backplane, tmp_path, words, code, message):
    done = backplane(*words, cwd=tmp_path)
    assert done.code == code and message in done.err, done
    assert not list(tmp_path.glob("[abc]"))


def test_damaged_files(backplane, tmp_path):
    whole = (ROOT / "examples/data/components.onnx").read_bytes()
    for content in (b"", whole[:100], b"\x00" * 50, whole + b"\x12\xff"):
        (tmp_path / "m.onnx").write_bytes(content)
        done = backplane("run", tmp_path / "m.onnx", "--dimension", "count=2")
        assert done.code == 3 and "m.onnx" in done.err, done
