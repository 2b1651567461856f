"""eval: results equal NumPy's on every library of this machine, and the report is right."""

import resource
import subprocess

import numpy as np
import pytest

from conftest import BUILD, COMMAND, NO_LEAK_CHECK, SANITIZED


@pytest.fixture
def arrays(tmp_path):
    """Saves arrays as a.npy, b.npy, c.npy and returns them."""

    def save(*values):
        for name, value in zip("abc", values):
            np.save(tmp_path / f"{name}.npy", value)
        return values

    return save


def usable(backplane):
    """The libraries that can multiply, and native."""
    rows = backplane("list", "--json").json["libraries"]
    return [row["id"] for row in rows if row["state"] == "ok" and "blas" in row["kinds"] and "gpu" not in row["kinds"]]


def random(dtype, *shape):
    rng = np.random.default_rng(7)
    values = rng.standard_normal(shape)
    return (
        (values + 1j * rng.standard_normal(shape)).astype(dtype)
        if np.dtype(dtype).kind == "c"
        else values.astype(dtype)
    )


TOLERANCE = {"f4": 1e-5, "f8": 1e-13, "c8": 1e-5, "c16": 1e-13, "f2": 2e-3}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shapes", [((33, 65), (65, 17)), ((2, 3, 8, 9), (9, 4)), ((100,), (100, 3))])
def test_results_on_every_library(backplane, arrays, tmp_path, dtype, shapes):
    a, b = arrays(random(dtype, *shapes[0]), random(dtype, *shapes[1]))
    wide = "c16" if np.dtype(dtype).kind == "c" else "f8"
    wanted = a.astype(wide) @ b.astype(wide)
    ran = 0
    for library in ["native", *usable(backplane)]:
        wanted_library = ["--set", f"blas.preferred={library}", "--set", "dispatch.fallback=strict"]
        environment = {} if library == "native" else NO_LEAK_CHECK
        done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", *wanted_library, env=environment)
        if done.code == 4:
            # BLAS has no f16, and the probe refuses products that access memory outside of their operands.
            assert library != "native" and (dtype == "f2" or "memory outside of its operands" in done.err), done
            continue
        assert done.code == 0, done
        assert f", by {library}" in done.out
        out = np.load(tmp_path / "out.npy")
        assert out.dtype == np.dtype(dtype) and out.shape == wanted.shape
        assert np.abs(out - wanted).max() <= TOLERANCE[dtype] * max(1, np.abs(wanted).max())
        ran += 1
    assert ran > 0


@pytest.mark.parametrize(
    "words", [[], ["--trans-a"], ["--trans-b"], ["--trans-a", "--trans-b"], ["--conj-a"], ["--trans-b", "--conj-b"]]
)
@pytest.mark.parametrize("old", [False, True])
def test_gemm(backplane, arrays, tmp_path, words, old):
    def op(x, name):
        x = x.T if f"--trans-{name}" in words else x
        return x.conj() if f"--conj-{name}" in words else x

    a = random("c16", *((5, 3) if "--trans-a" in words else (3, 5)))
    b = random("c16", *((4, 5) if "--trans-b" in words else (5, 4)))
    c = random("c16", 3, 4)
    arrays(a, b, c)
    files = ["a.npy", "b.npy"] + (["c.npy"] if old else [])
    factors = ["--alpha", "2,-1"] + (["--beta", "-0.5,0.25"] if old else [])
    done = backplane("eval", "gemm", *files, "-o", "out.npy", *factors, *words)
    assert done.code == 0, done
    wanted = (2 - 1j) * (op(a, "a") @ op(b, "b")) + ((-0.5 + 0.25j) * c if old else 0)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), wanted, rtol=1e-12)


def test_gemm_adds_to_c_unless_told_otherwise(backplane, arrays, tmp_path):
    a, b, c = arrays(random("f8", 2, 2), random("f8", 2, 2), np.asfortranarray(random("f8", 2, 2)))
    assert backplane("eval", "gemm", "a.npy", "b.npy", "c.npy", "-o", "out.npy").code == 0
    out = np.load(tmp_path / "out.npy")
    np.testing.assert_allclose(out, a @ b + c, rtol=1e-14)
    assert out.flags.f_contiguous and not out.flags.c_contiguous
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), c)


def test_shapes_that_do_not_fit(backplane, arrays, tmp_path):
    arrays(np.ones((2, 3)), np.ones((4, 5)), np.ones((9, 9)))
    for words in (
        ["matmul", "a.npy", "b.npy"],
        ["gemm", "a.npy", "b.npy"],
        ["gemm", "a.npy", "a.npy", "c.npy", "--trans-b"],
    ):
        done = backplane("eval", *words, "-o", "out.npy")
        assert done.code == 3 and done.err.count("\n") == 1 and not (tmp_path / "out.npy").exists(), done


def test_types_that_differ(backplane, arrays, tmp_path):
    arrays(np.ones((2, 2)), np.ones((2, 2), "f4"))
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy")
    assert done.code == 3 and "f32" in done.err and "f64" in done.err and not (tmp_path / "out.npy").exists()


def test_absent_library(backplane, arrays, tmp_path):
    arrays(np.ones((2, 2)), np.ones((2, 2)))
    wanted = ["--set", "blas.preferred=nosuchblas"]
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", *wanted, "--set", "dispatch.fallback=strict")
    assert done.code == 4 and "nosuchblas" in done.err and not (tmp_path / "out.npy").exists()
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", *wanted)
    assert done.code == 0 and done.err.startswith("backplane: warning: ") and "nosuchblas" in done.err
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", *wanted, "--set", "dispatch.fallback=allow")
    assert done.code == 0 and done.err == ""


def test_settings_with_commas(backplane, arrays):
    arrays(np.ones((2, 2)), np.ones((2, 2)))
    for value in ["dispatch.exclude=mkl,blis", 'dispatch.exclude="mkl,blis"']:
        done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", "--set", value)
        assert done.code == 0, done


def test_explain_with_the_result(backplane, arrays):
    arrays(np.ones((2, 2)), np.ones((2, 2)))
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "out.npy", "--explain")
    assert done.code == 0 and "candidates" in done.out and "native" in done.out and "out.npy: f64 2x2" in done.out
    done = backplane("eval", "matmul", "a.npy", "b.npy", "-o", "-", "--explain")
    assert done.bytes.startswith(b"\x93NUMPY") and "candidates" in done.err


@pytest.mark.skipif(bool(SANITIZED), reason=f"a sanitizer ({SANITIZED}) reserves more address space than this test allows")
def test_more_than_memory(arrays, environment, tmp_path):
    arrays(np.ones((300000, 1)), np.ones((1, 300000)))
    limit = 4 << 30
    done = subprocess.run(
        [COMMAND, "eval", "matmul", "a.npy", "b.npy", "-o", "out.npy"],
        cwd=tmp_path,
        capture_output=True,
        env=environment,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        timeout=60,
    )
    assert done.returncode == 5, done
    assert b"memory" in done.stderr and not (tmp_path / "out.npy").exists()
