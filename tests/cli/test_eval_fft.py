"""eval and explain of Fourier transforms and shifts: results equal NumPy's."""

import numpy as np
import pytest

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = [name + form for name in ["fft", "ifft", "rfft", "irfft"] for form in ("2", "n")]
REAL = ("rfft", "ihfft")


def random(dtype, *shape):
    rng = np.random.default_rng(11)
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def types_of(name):
    if name.startswith(REAL):
        return ["f4", "f8"]
    return ["c8", "c16"] if name.startswith(("irfft", "hfft")) else ["f4", "f8", "c8", "c16"]


def close(got, wanted, dtype):
    narrow = dtype in ("f4", "c8")
    assert got.dtype.itemsize == (wanted.dtype.itemsize // 2 if narrow else wanted.dtype.itemsize)
    assert got.shape == wanted.shape and got.dtype.kind == wanted.dtype.kind
    assert np.abs(got - wanted).max() <= (1e-5 if narrow else 1e-13) * max(1, np.abs(wanted).max())


@pytest.fixture
def transform(backplane, tmp_path):
    def run(name, values, *words):
        np.save(tmp_path / "a.npy", values)
        done = backplane("eval", name, "a.npy", "-o", "out.npy", *words)
        assert done.code == 0, done
        return np.load(tmp_path / "out.npy"), done

    return run


@pytest.mark.parametrize("name", ONE)
def test_one_dimension(transform, name):
    for dtype in types_of(name):
        x = random(dtype, 4, 9, 5)
        wide = x.astype("c16" if x.dtype.kind == "c" else "f8")
        got, done = transform(name, x)
        close(got, getattr(np.fft, name)(wide), dtype)
        assert ", by " in done.out
        got, _ = transform(name, x, "--n", 12, "--dim", 1, "--norm", "ortho")
        close(got, getattr(np.fft, name)(wide, 12, 1, "ortho"), dtype)
        got, _ = transform(name, np.asfortranarray(x), "--n", 4, "--dim", "-2", "--norm", "forward")
        close(got, getattr(np.fft, name)(wide, 4, -2, "forward"), dtype)


@pytest.mark.parametrize("name", MANY)
def test_more_dimensions(transform, name):
    for dtype in types_of(name):
        x = random(dtype, 4, 6, 5)
        wide = x.astype("c16" if x.dtype.kind == "c" else "f8")
        got, _ = transform(name, x)
        close(got, getattr(np.fft, name)(wide), dtype)
        got, _ = transform(name, x, "--s", "3,8", "--dim", "2,0", "--norm", "ortho")
        close(got, getattr(np.fft, name)(wide, (3, 8), (2, 0), "ortho"), dtype)


def test_hermitian_forms_of_more_dimensions(transform):
    half, signal = random("c16", 4, 5), random("f8", 4, 6)
    for form in ("2", "n"):
        got, _ = transform("hfft" + form, half)
        close(got, np.fft.irfft2(half.conj(), norm="forward"), "c16")
        got, _ = transform("ihfft" + form, signal)
        close(got, np.fft.rfft2(signal, norm="forward").conj(), "f8")


@pytest.mark.parametrize("dtype", ["f4", "c16", "i8", "?", "u2"])
def test_shifts(transform, dtype):
    x = (random("f8", 5, 4) * 9).astype(dtype)
    for name in ("fftshift", "ifftshift"):
        got, done = transform(name, x)
        assert got.dtype == x.dtype and ", by " not in done.out
        np.testing.assert_array_equal(got, getattr(np.fft, name)(x))
        got, _ = transform(name, x, "--dim", "1")
        np.testing.assert_array_equal(got, getattr(np.fft, name)(x, 1))


def test_what_is_refused(backplane, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 4), "i4"))
    for words, hint in ((["fft"], "i32"), (["irfft"], "complex"), (["fftn"], "i32")):
        done = backplane("eval", *words, "a.npy", "-o", "out.npy")
        assert done.code == 3 and hint in done.err and not (tmp_path / "out.npy").exists()
    np.save(tmp_path / "a.npy", np.ones((4, 4)))
    for words, hint in ((["--dim", "2"], "dimension 2"), (["--n", "0"], "data points")):
        done = backplane("eval", "fft", "a.npy", "-o", "out.npy", *words)
        assert done.code == 3 and hint in done.err, done


def test_explain(backplane, tmp_path):
    facts = backplane("explain", "rfft", "f32", "64x100", "--n", "128", "--json").json
    assert facts["problem"] == "c64 64 x 128 forward real to complex, padded" and facts["chosen"]
    assert "padded with zeros" in facts["decision"]
    done = backplane("explain", "fft2", "c128", "512x256", "--trans-a")
    assert done.code == 0 and "c128 512x256 forward" in done.out
    np.save(tmp_path / "a.npy", np.ones(8))
    done = backplane("eval", "fft", "a.npy", "-o", "out.npy", "--explain")
    assert done.code == 0 and "filled in by symmetry" in done.out and "out.npy: c128 8" in done.out
